"""A process that runs one library's tasks on request, so that none can disturb another.

Requests and answers are lines of JSON. What a library prints is thrown away.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import gc
import importlib
import json
import os
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from adapters import Adapter

CHECKED_ROWS = 100_000


@functools.cache
def sample(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores of a model that is 2.5 times overconfident, labels, and the true probabilities."""
    rng = np.random.default_rng(0)
    log_odds = 1.5 * rng.normal(size=n)
    truth = 1 / (1 + np.exp(-log_odds))
    return 1 / (1 + np.exp(-2.5 * log_odds)), (rng.random(n) < truth).astype(np.int64), truth


@functools.cache
def class_sample(n: int, n_classes: int = 10) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The same for ten classes."""
    rng = np.random.default_rng(0)
    logits = 1.5 * rng.normal(size=(n, n_classes))
    truth = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    sure = truth**2.5
    labels = (rng.random((n, 1)) > truth.cumsum(axis=1)).sum(axis=1)
    return sure / sure.sum(axis=1, keepdims=True), labels.clip(max=n_classes - 1), truth


def model_and_data(n: int):
    from sklearn.datasets import make_classification
    from sklearn.naive_bayes import GaussianNB

    X, y = make_classification(n_samples=n + 10_000, n_features=10, random_state=0)
    return GaussianNB(), X[:n], y[:n], X[n:], y[n:]


def root_mean_squared(error: np.ndarray) -> float:
    return float(np.sqrt(np.mean(np.square(error))))


class Worker:
    """Answers requests with seconds, peak memory, and a value that shows the result's quality."""

    def __init__(self, adapter: Adapter) -> None:
        self.adapter = adapter
        self.fitted: dict[tuple[str, str, int], object] = {}

    def sort(self, n: int) -> dict[str, float | None]:
        """The limit of whatever has to put the scores in order."""
        p, _, _ = sample(n)
        return measured(1, lambda: np.sort(p))[0]

    def can(self) -> list[str]:
        """Tasks as ``kind:name``."""
        fits = [f"{kind}:{name}" for kind in ("fit", "predict") for name in self.adapter.fit]
        return [
            *fits,
            *(f"fit 10 classes:{name}" for name in self.adapter.fit_classes),
            *(f"metric:{name}" for name in self.adapter.measure),
            *(f"cross-fit:{name}" for name in self.adapter.cross_fit),
        ]

    def run(
        self, kind: str, name: str, n: int, calls: int = 1, memory: bool = False, warm: bool = False
    ) -> dict[str, float | None]:
        """One task: mean seconds of ``calls`` in a row, peak memory, and the result's quality.

        With ``warm``, after one call that is not timed.
        """
        if memory:
            give_back_memory()
        if warm:
            self.run(kind, name, n)
        if kind == "fit":
            p, y, truth = sample(n)
            answer, predictor = measured(calls, lambda: self.adapter.fit[name](p, y))
            rows = slice(0, min(n, CHECKED_ROWS))
            answer["value"] = root_mean_squared(predictor(p[rows]) - truth[rows])
        elif kind == "predict":
            p, y, truth = sample(n)
            key = kind, name, n
            if key not in self.fitted:
                rows = slice(0, min(n, CHECKED_ROWS))
                self.fitted = {key: self.adapter.fit[name](p[rows], y[rows])}
            answer, result = measured(calls, lambda: self.fitted[key](p))
            answer["value"] = root_mean_squared(result - truth)
        elif kind == "fit 10 classes":
            p, y, truth = class_sample(n)
            answer, predictor = measured(calls, lambda: self.adapter.fit_classes[name](p, y))
            answer["value"] = root_mean_squared(predictor(p) - truth)
        elif kind == "metric":
            p, y, _ = sample(n)
            answer, result = measured(calls, lambda: self.adapter.measure[name](y, p))
            answer["value"] = None if result is None else float(result)
        else:
            model, X, y, X_new, y_new = model_and_data(n)
            answer, q = measured(calls, lambda: self.adapter.cross_fit[name](model, X, y, X_new))
            answer["value"] = log_loss(y_new, q)
        return answer

    def held_out(self, name: str, path: str) -> dict[str, float]:
        """Mean losses over data sets: fitted on one half of the scores, judged on the other."""
        losses, briers = [], []
        with np.load(path, allow_pickle=False) as file:
            for key in sorted(k for k in file if k.endswith("/scores")):
                p, y = file[key], file[key.replace("/scores", "/y")]
                half = len(y) // 2
                q = np.asarray(self.adapter.fit[name](p[:half], y[:half])(p[half:]), dtype=float)
                losses.append(log_loss(y[half:], q))
                briers.append(np.mean((y[half:] - q) ** 2))
        return {"log_loss": float(np.mean(losses)), "brier": float(np.mean(briers))}


def log_loss(y: np.ndarray, q: np.ndarray) -> float:
    """Clipped at 1e-6, so that forecasts of 0 and 1 can be averaged."""
    return float(-np.log(np.clip(np.where(y == 1, q, 1 - q), 1e-6, 1)).mean())


def measured(calls, call):
    """Mean seconds, how far memory rose above where it stood, and the last result."""
    resettable = True
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        resettable = False
    before = status("VmRSS")
    start = time.perf_counter()
    for _ in range(calls):
        result = call()
    seconds = (time.perf_counter() - start) / calls
    peak = (status("VmHWM") - before) / 1024 if resettable else None
    return {"seconds": seconds, "megabytes": peak}, result


def give_back_memory() -> None:
    """Let what earlier calls have freed not hide what the next one takes (glibc keeps it)."""
    gc.collect()
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def status(field: str) -> float:
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(float(line.split()[1]) for line in lines if line.startswith(field))
    except (OSError, StopIteration):
        return 0.0


def main(name: str) -> None:
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, 1)
    os.dup2(nowhere, 2)
    warnings.simplefilter("ignore")
    try:
        worker = Worker(importlib.import_module(f"adapters.{name}").adapter())
    except ImportError as error:
        answers.write(json.dumps({"missing": str(error)}) + "\n")
        return
    answers.write(json.dumps({"can": worker.can()}) + "\n")
    for line in sys.stdin:
        request = json.loads(line)
        try:
            answer = getattr(worker, request.pop("do"))(**request)
        except Exception as error:  # any failure of a rival is a result
            answer = {"error": f"{type(error).__name__}: {error}"[:200]}
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
