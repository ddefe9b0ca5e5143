"""Parts of the beta study outside its tables: figure 2, small samples, signs, section 3.2."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import rel_entr
from scipy.stats import skew

from trueodds import BetaCalibrator, IdentityCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.inputs import Floats
from trueodds_studies._protocol import averaged, clipped_log_loss, quietly
from trueodds_studies._study import Row
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.papers.beta.numbers import SETS
from trueodds_studies.papers.beta.program import LiblinearCalibrator

__all__ = [
    "COPIES",
    "FIGURE_2",
    "N_BINS",
    "RUNS",
    "SIZES",
    "SIZE_METHODS",
    "FoldScores",
    "run_simulated",
    "tasks",
]

FIGURE_2 = ("landsat-satellite", "vowel")
"""The sets whose maps are in the authors' repository, left and right in the figure."""
MAP_METHODS = ("beta", "isotonic", "logistic")
N_BINS = 10
LARGE = 4000
SIZES = (50, 100, 200, 400, 800)
SIZE_METHODS = ("beta", "isotonic", "logistic")
EXTRA_REPEATS = 2
SCORED = ("naive-bayes", "ada-o", "ada-s", "ada-s-r")
COPIES = (1, 2, 4)
N_CALIBRATION, N_TEST, N_REPLICATES = 1000, 5000, 20
SIMULATED: dict[str, Callable[[], Any]] = {
    "uncalibrated": IdentityCalibrator,
    "beta": BetaCalibrator,
    "logistic": lambda: LogisticCalibrator(axis="raw", label_smoothing=None),
    "isotonic": IsotonicCalibrator,
}
TINY = float(np.finfo(np.float64).eps)

Factories = Mapping[str, Callable[[], Any]]


@dataclass(frozen=True)
class FoldScores:
    """Scores of one base model on an outer fold; see ``InnerScores``."""

    out_of_fold: Floats
    inner: npt.NDArray[Any]
    test: Floats
    y_train: npt.NDArray[Any]
    y_test: npt.NDArray[Any]

    def clipped(self, clip: float) -> FoldScores:
        """Return them with scores clipped to [``clip``, 1 − ``clip``]."""
        ends = (clip, 1 - clip)
        return replace(
            self, out_of_fold=np.clip(self.out_of_fold, *ends), test=np.clip(self.test, *ends)
        )

    def first_rows(self, n_rows: int, rng: np.random.Generator) -> FoldScores:
        """Return about ``n_rows`` rows to calibrate each inner model on, stratified by class."""
        kept = []
        for i in np.unique(self.inner):
            for label in (0, 1):
                rows = np.flatnonzero((self.inner == i) & (self.y_train == label))
                due = max(2, round(n_rows * len(rows) / (self.inner == i).sum()))
                kept.append(rng.permutation(rows)[:due])
        rows = np.concatenate(kept)
        return replace(
            self,
            out_of_fold=self.out_of_fold[rows],
            inner=self.inner[rows],
            y_train=self.y_train[rows],
        )


def tasks(profile: str, names: Sequence[str]) -> list[Task]:
    """The scores themselves, maps of figure 2, few rows of large sets, section 3.2."""
    large = [name for name in names if SETS[name] >= LARGE]
    repeats = range(1 if profile == "quick" else EXTRA_REPEATS)
    return [
        *crossed("scores", set=names, repeat=repeats, fold=range(5), model=SCORED),
        *crossed(
            "map",
            set=[name for name in FIGURE_2 if name in names],
            repeat=repeats,
            fold=range(5),
            model="ada-o",
            method=["empirical", *MAP_METHODS],
        ),
        *crossed(
            "size",
            set=large,
            repeat=repeats,
            fold=range(5),
            model=["naive-bayes", "ada-o", "ada-s-r"],
            method=list(SIZE_METHODS),
            n=list(SIZES),
        ),
        *crossed(
            "copies",
            k=list(COPIES),
            replicate=range(5 if profile == "quick" else N_REPLICATES),
            method=list(SIMULATED),
        ),
    ]


def _map(task: Task, found: FoldScores, methods: Factories) -> list[Row]:
    """Points of a calibration map, averaged over the inner models, or frequencies in ten bins."""
    if task["method"] == "empirical":
        which = np.minimum((found.out_of_fold * N_BINS).astype(int), N_BINS - 1)
        n = np.bincount(which, minlength=N_BINS)
        x = np.bincount(which, found.out_of_fold, N_BINS)[n > 0] / n[n > 0]
        y = np.bincount(which, found.y_train, N_BINS)[n > 0] / n[n > 0]
    else:
        found = found.clipped(TINY)
        x = np.linspace(0, 1, 201)
        everywhere = np.tile(np.clip(x, TINY, 1 - TINY), (len(found.test), 1))
        y = averaged(
            methods[task["method"]], found.out_of_fold, found.inner, everywhere, found.y_train
        )
    return [{"score": float(s), "probability": float(p)} for s, p in zip(x, y, strict=True)]


def _scores(_task: Task, found: FoldScores, _methods: Factories) -> Row:
    """How often a or b comes out negative, and how skewed the scores of each class are."""
    found = found.clipped(TINY)
    negative, by_program = 0, 0
    for i in range(len(found.test)):
        rows = found.inner == i
        scores, y = found.out_of_fold[rows], found.y_train[rows]
        with quietly():
            free: Any = BetaCalibrator(monotone=False, label_smoothing=1e-10).fit(scores, y).map_
        negative += min(free.a, free.b) < 0
        by_program += LiblinearCalibrator("abm").fit(scores, y).eliminated_
    classes = [found.out_of_fold[found.y_train == label] for label in (0, 1)]
    return {
        "fits": len(found.test),
        "negative": int(negative),
        "negative_by_program": int(by_program),
        "skew_negatives": _skewness(classes[0]),
        "skew_positives": _skewness(classes[1]),
    }


def _skewness(scores: Floats) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # nearly all scores are equal
        return float(skew(scores)) if np.ptp(scores) > 0 else 0.0


def _size(task: Task, found: FoldScores, methods: Factories) -> Row:
    """Losses after calibration on few rows; all methods use the same rows."""
    names = ("set", "repeat", "fold", "model", "n")
    rng = np.random.default_rng(stable_seed("size", *task.pick(*names)))
    few = found.first_rows(task["n"], rng)
    if task["method"] == "beta":
        few = few.clipped(TINY)
    p = averaged(methods[task["method"]], few.out_of_fold, few.inner, few.test, few.y_train)
    return {
        "log_loss": clipped_log_loss(few.y_test, p),
        "brier_score": float(np.mean((p - few.y_test) ** 2)),
    }


RUNS: dict[str, Callable[[Task, FoldScores, Factories], Row | Sequence[Row]]] = {
    "map": _map,
    "scores": _scores,
    "size": _size,
}


def run_simulated(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    """Section 3.2: a calibrated feature x, k copies of which naive Bayes takes for independent."""
    for task in todo:
        k, replicate = task.pick("k", "replicate")
        rng = np.random.default_rng(stable_seed("copies", k, replicate))
        x = rng.random(N_CALIBRATION + N_TEST)
        y = (rng.random(len(x)) < x).astype(int)
        s = x**k / (x**k + (1 - x) ** k)
        with quietly():
            fitted = SIMULATED[task["method"]]().fit(s[:N_CALIBRATION], y[:N_CALIBRATION])
            p = fitted.predict_proba(s[N_CALIBRATION:])[:, 1]
        truth, p = x[N_CALIBRATION:], np.clip(p, 1e-16, 1 - 1e-16)
        excess = rel_entr(truth, p) + rel_entr(1 - truth, 1 - p)
        row: dict[str, Any] = {"excess": float(excess.mean())}
        if task["method"] == "beta":
            row |= {"a": fitted.map_.a, "b": fitted.map_.b, "c": fitted.map_.c}
        yield task, row
