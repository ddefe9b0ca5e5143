"""One row for each experiment and method, appended to a file as it comes (JSON lines).

Of several rows of the same experiment and method the last one counts, so that a method can be
redone without touching the others, and two runs may append to one file.
"""

from __future__ import annotations

import contextlib
import io
import json
import signal
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from contest.experiments import Experiment, Rows
from contest.methods import Method

Row = dict[str, Any]
SMALLEST = float(np.finfo(np.float32).tiny)
"""Probabilities are taken for at least this in the log-loss, as CalArena does (1.2e-38)."""


def losses(probabilities: Any, y: np.ndarray, n_classes: int) -> tuple[float, float]:
    """Brier score, summed over the classes, and log-loss: means over the rows.

    With two classes this Brier score is twice the usual one. Both are CalArena's.
    """
    p = np.asarray(probabilities, dtype=float)
    if p.ndim == 1:
        p = np.column_stack([1 - p, p])
    if p.shape != (len(y), n_classes) or not np.isfinite(p).all():
        raise ValueError(f"expected {(len(y), n_classes)} finite probabilities, got {p.shape}.")
    happened = np.zeros_like(p)
    happened[np.arange(len(y)), y] = 1
    brier = ((p - happened) ** 2).sum(axis=1).mean()
    clipped = np.maximum(p, SMALLEST)
    log_loss = np.log(clipped.sum(axis=1)) - np.log(clipped[np.arange(len(y)), y])
    return float(brier), float(log_loss.mean())


@contextlib.contextmanager
def patience(seconds: float) -> Iterator[None]:
    """Stop the block after this much CPU time, if the system can."""
    if not hasattr(signal, "setitimer"):
        yield
        return

    def stop(*_: Any) -> None:
        raise TimeoutError(f"stopped after {seconds:g} CPU seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


@contextlib.contextmanager
def silence() -> Iterator[None]:
    """No progress bars, remarks or warnings of others."""
    sink = io.StringIO()
    with (
        warnings.catch_warnings(),
        np.errstate(all="ignore"),
        contextlib.redirect_stdout(sink),
        contextlib.redirect_stderr(sink),
    ):
        warnings.simplefilter("ignore")
        yield


def warm_up(method: Method, n_classes: int) -> None:
    """Let a method import and compile what it needs; nothing of this is timed."""
    rng = np.random.default_rng(0)
    p = rng.dirichlet(np.ones(n_classes), size=60)
    y = np.arange(60) % n_classes
    with silence(), contextlib.suppress(Exception), patience(60):
        scores = p[:, 1] if n_classes == 2 else p.astype(np.float32)
        method(scores, y, scores)


def run_one(experiment: Experiment, rows: Rows, name: str, method: Method, limit: float) -> Row:
    """The row of one method in one experiment; an error becomes its text."""
    row: Row = {
        "experiment": experiment.name,
        "kind": experiment.kind,
        "set": experiment.set,
        "model": experiment.model,
        "n": experiment.n,
        "classes": experiment.n_classes,
        "method": name,
        "brier": None,
        "log_loss": None,
        "fit_seconds": None,
        "predict_seconds": None,
        "error": None,
    }
    try:
        with silence(), patience(limit):
            forecast = method(rows.p_cal, rows.y_cal, rows.p_test)
        brier, log_loss = losses(forecast.probabilities, rows.y_test, experiment.n_classes)
    except Exception as error:  # whatever it raises, it has failed
        row["error"] = f"{type(error).__name__}: {error}"[:300]
    else:
        row |= {
            "brier": brier,
            "log_loss": log_loss,
            "fit_seconds": round(forecast.fit_seconds, 6),
            "predict_seconds": round(forecast.predict_seconds, 6),
        }
    return row


def read_rows(path: Path) -> list[Row]:
    """The last row of each experiment and method; a line that was cut short is left out."""
    found: dict[tuple[str, str], Row] = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        with contextlib.suppress(json.JSONDecodeError):
            row = json.loads(line)
            found[row["experiment"], row["method"]] = row
    return list(found.values())


def append_row(path: Path, row: Row) -> None:
    """Append a line, also after a last line that was cut short."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        if file.tell():
            file.seek(-1, 2)
            if file.read(1) != b"\n":
                file.write(b"\n")
        file.write(json.dumps(row).encode() + b"\n")
