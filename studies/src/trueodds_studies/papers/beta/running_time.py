"""Section 4 of the beta paper on running time: calibration compared with learning the classifier.

The base learner is the paper's AdaBoost of 200 stumps, here of 20 features. It learns from as many
rows as it is calibrated on, and scores are clipped at 2.2e-16 as in the paper. Learning is measured
with the compiled stumps of the studies and, on few rows, with scikit-learn's AdaBoost, whose trees
the authors' program grows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds import BetaCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.inputs import Floats
from trueodds_studies._learners import BoostedStumps
from trueodds_studies._optional import need
from trueodds_studies._protocol import cpu_seconds, quietly
from trueodds_studies._report import Claim, Table
from trueodds_studies._study import Results, Row, pick_rows
from trueodds_studies._task import Task, crossed, stable_seed

__all__ = ["run_time", "time_claims", "time_table", "time_tasks"]

SIZES = (100, 1000, 10_000, 100_000)
QUICK_SIZES = SIZES[:2]
THEIR_STUMPS, OUR_STUMPS = "stumps by scikit-learn", "compiled stumps"
FEW_ROWS = 1000
"""Most rows with which scikit-learn's stumps are timed."""
CALIBRATORS: dict[str, Callable[[], Any]] = {
    "logistic": lambda: LogisticCalibrator(axis="raw", label_smoothing=None),
    "am": lambda: BetaCalibrator("am"),
    "abm": BetaCalibrator,
    "ab": lambda: BetaCalibrator("ab"),
    "abm, loss=brier": lambda: BetaCalibrator(loss="brier"),
    "isotonic": IsotonicCalibrator,
}
N_ATTRIBUTES, N_STUMPS = 20, 200
TINY = float(np.finfo(np.float64).eps)
ORDER_OF_MAGNITUDE = 10.0


def time_tasks(profile: str) -> list[Task]:
    """Rows × what is fitted to them."""
    sizes = QUICK_SIZES if profile == "quick" else SIZES
    few = [n for n in sizes if n <= FEW_ROWS]
    return [
        *crossed("time", n=few, method=THEIR_STUMPS),
        *crossed("time", n=list(sizes), method=[OUR_STUMPS, *CALIBRATORS]),
    ]


def run_time(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    """Median CPU milliseconds of a fit."""
    for task in todo:
        with quietly():
            yield task, {"milliseconds": 1000 * cpu_seconds(_fit(task["method"], task["n"]))}


def _fit(method: str, n: int) -> Callable[[], object]:
    X, y, scores, labels = _sample(n)
    if method == THEIR_STUMPS:
        learner = need("sklearn.ensemble").AdaBoostClassifier(n_estimators=N_STUMPS, random_state=0)
        return lambda: learner.fit(X, y)
    if method == OUR_STUMPS:
        return lambda: BoostedStumps().fit(X, y)
    return lambda: CALIBRATORS[method]().fit(scores, labels)


@lru_cache(maxsize=1)
def _sample(n: int) -> tuple[Floats, npt.NDArray[Any], Floats, npt.NDArray[Any]]:
    """Return features and labels to learn from, and scores and labels of as many other rows."""
    rng = np.random.default_rng(stable_seed("time", n))
    X = rng.normal(size=(2 * n, N_ATTRIBUTES))
    logit = X[:, :6].sum(axis=1) + X[:, 6] * X[:, 7]
    y = (rng.random(2 * n) < 1 / (1 + np.exp(-logit))).astype(int)
    scores = BoostedStumps().fit(X[:n], y[:n]).predict_proba(X[n:])[:, 1]
    return X[:n], y[:n], np.clip(scores, TINY, 1 - TINY), y[n:]


def _milliseconds(results: Results) -> Any:
    """Lines are rows, columns what was fitted."""
    lines = pick_rows(results.frame, part="time")
    return lines.pivot_table(index="n", columns="method", values="milliseconds")


def time_table(results: Results) -> Table:
    """The table that the claims below are judged by."""
    found = _milliseconds(results)
    columns = [THEIR_STUMPS, OUR_STUMPS, *CALIBRATORS]
    rows = [
        [f"{n:,.0f}", *(_shown(line[column]) for column in columns)]
        for n, line in found.reindex(columns=columns).iterrows()
    ]
    note = (
        f"CPU milliseconds of one fit, medians; {N_STUMPS} stumps of {N_ATTRIBUTES} features. "
        "They depend on the machine, ratios less so."
    )
    return Table("Running time by rows", ["rows", *columns], rows, note=note)


def _shown(milliseconds: float) -> str:
    """Return three digits; an empty text if it was not measured."""
    if not milliseconds > 0:
        return ""
    return f"{milliseconds:,.0f}" if milliseconds >= 1000 else f"{milliseconds:.3g}"


def time_claims(results: Results) -> list[Claim]:
    """Verdicts by ratios of times that were measured in one process."""
    found = _milliseconds(results)
    rows = ", ".join(f"{n:,.0f}" for n in found.index)

    def ratios(first: str, second: str) -> list[float]:
        return list((found[first] / found[second]).dropna())

    def listed(values: list[float]) -> str:
        return ", ".join(f"{value:.3g}" for value in values)

    share, slower = ratios("am", "logistic"), ratios("abm", "am")
    theirs, ours = ratios(THEIR_STUMPS, "abm"), ratios(OUR_STUMPS, "abm")
    alike = max(share) <= 2 and min(share) >= 0.5
    return [
        Claim(
            "Beta with a = b takes about as long as logistic calibration.",
            "section 4",
            alike,
            f"times as long with {rows} rows: {listed(share)} (judged: 0.5 to 2)",
            None if alike else "criterion",
        ),
        Claim(
            "The version with three parameters can be slightly slower.",
            "section 4",
            max(slower) > 1,
            f"times as long as a = b: {listed(slower)} (judged: more than 1 somewhere)",
            None if max(slower) > 1 else "solver",
        ),
        Claim(
            "Both are usually orders of magnitude faster than learning the classifier.",
            "section 4",
            min(theirs) >= ORDER_OF_MAGNITUDE,
            f"learning {N_STUMPS} stumps takes this many times as long as beta: with "
            "scikit-learn's trees, "
            f"which the authors' program grows, {listed(theirs)} (up to {FEW_ROWS:,} rows); with "
            f"compiled stumps {listed(ours)} ({rows} rows)",
            None if min(theirs) >= ORDER_OF_MAGNITUDE else "learner",
        ),
    ]
