"""Claims of the ENIR paper outside its tables: ABB and BBQ, and running times."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from scipy.special import expit

from trueodds import ABBCalibrator, BBQCalibrator, ENIRCalibrator
from trueodds.inputs import Floats
from trueodds_studies._protocol import cpu_seconds, quietly
from trueodds_studies._study import Row
from trueodds_studies._task import Task, crossed, stable_seed

__all__ = ["BINNINGS", "CURVES", "SMALL", "TIMED", "run_extras", "tasks"]

CURVES: dict[str, Callable[[Floats], Floats]] = {
    "calibrated": lambda s: s,
    "convex": lambda s: s**2,
    "sigmoid": lambda s: expit(8 * (s - 0.5)),
    "step": lambda s: np.where(s < 0.5, 0.2, 0.8),
}
"""True probabilities of uniform scores."""
SMALL = (100, 200, 500)
BINNINGS: dict[str, Callable[[], Any]] = {"ABB": ABBCalibrator, "BBQ": BBQCalibrator}
REPLICATES = {"quick": 3, "standard": 20, "full": 20}
TIMED = (10**3, 10**4, 10**5, 10**6)
QUICK_TIMED = TIMED[:3]
N_TEST = 2000


def tasks(profile: str) -> list[Task]:
    """Small samples of known curves; times of fits and of one prediction."""
    return [
        *crossed("binning", curve=list(CURVES), n=list(SMALL),
                 replicate=range(REPLICATES[profile]), method=list(BINNINGS)),
        *crossed("time", n=list(QUICK_TIMED if profile == "quick" else TIMED), method="ENIR"),
    ]  # fmt: skip


def run_extras(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    """Distances from the true curve, or CPU times."""
    for task in todo:
        with quietly():
            yield task, _time(task["n"]) if task.part == "time" else _distance(task)


def _distance(task: Task) -> Row:
    """Root mean square distance from the true probabilities of new rows."""
    curve, n, replicate = task.pick("curve", "n", "replicate")
    rng = np.random.default_rng(stable_seed("binning", curve, n, replicate))
    scores = rng.random(n)
    y = (rng.random(n) < CURVES[curve](scores)).astype(int)
    if y.min() == y.max():
        y[0] = 1 - y[0]
    new = (np.arange(N_TEST) + 0.5) / N_TEST
    p = BINNINGS[task["method"]]().fit(scores, y).predict_proba(new)[:, 1]
    return {"distance": float(np.sqrt(np.mean((p - CURVES[curve](new)) ** 2)))}


@lru_cache(maxsize=1)
def _sample(n: int) -> tuple[Floats, Any]:
    """Uniform scores whose order is mostly right: the true curve has a dent."""
    rng = np.random.default_rng(0)
    scores = rng.random(n)
    true = 0.1 + 0.8 * scores - 0.3 * np.exp(-(((scores - 0.6) / 0.08) ** 2))
    return scores, (rng.random(n) < true).astype(np.int64)


def _time(n: int) -> Row:
    scores, y = _sample(n)
    fitted = ENIRCalibrator().fit(scores, y)
    return {
        "fit_milliseconds": 1000 * cpu_seconds(lambda: ENIRCalibrator().fit(scores, y)),
        "predict_microseconds": 1e6 * cpu_seconds(lambda: fitted.predict_proba([0.3])),
    }
