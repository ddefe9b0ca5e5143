"""The experiments of the Bayesian isotonic paper: synthetic scores, then sets × nine models.

Real data follow section 5.2: 20,000 rows in random order are cut into 5 × 5 nested folds. Models
are trained on 3000 rows of the inner training folds. Maps are fitted to 100, 1000 or 3000 rows of
the inner fold and tested on the outer one. Details that the paper leaves open follow the authors'
program (github.com/mlkruup/bayesiso):

- Folds and samples are not stratified, so a hundred rows may have one class only.
- The logistic function turns decision values of the support vector machine into scores.
- Log-loss clips probabilities at 1e-15.
- If all scores are equal, nothing is calibrated.

Bayes-Iso is the authors' sampler with 10,000 draws, within the limits of their program and, as
``bayes-iso-text``, within those that the paper describes. The library's Markov chains are run in
addition.

ENIR weights its models by their likelihood. The authors pass corrected labels to ENIR's program,
which counts every label but an exact 0 as a positive, so that the likelihood becomes the product of
all probabilities. That, like the penalty, prefers the smoothest model, isotonic regression.
``enir-platt-program`` is this model alone, with ENIR's smoothing. In the program, beta calibration
clips scores at 1e-16 (``beta-program``, ``beta-platt-program``); the library places such scores by
maximum likelihood.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds import (
    BayesianIsotonicCalibrator,
    BetaCalibrator,
    ENIRCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
)
from trueodds.calibrators import Calibrator
from trueodds.inputs import Floats
from trueodds.rows import Rows
from trueodds_studies._protocol import as_matrix, binary_labels, clipped_log_loss, quietly
from trueodds_studies._scratch import Arrays, Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import load, make_beta_mixture
from trueodds_studies.papers.bayes_isotonic.extras import PARTS, extra_tasks, run_extras
from trueodds_studies.papers.bayes_isotonic.models import MODELS, held_out_scores
from trueodds_studies.papers.bayes_isotonic.numbers import SIZES, sets_at_hand
from trueodds_studies.papers.bayes_isotonic.report import report
from trueodds_studies.papers.enir import AuthorsENIR

__all__ = ["STUDY"]

N_ROWS, N_TRAIN, N_FOLDS, N_TEST = 20_000, 3000, 5, 100_000
END = 0.025
"""The share of rows at either end of the ranking that figure 3 looks at."""
SMOOTHING = 1e-10  # maximum likelihood without optimum on separable data: see the beta study
CLIP = 1e-16
"""Distance from 0 and 1 at which the authors' beta calibration clips scores."""
FRAUDS = (492, 284_807)
"""Positives and rows of the whole credit card set."""
GRID = [round(i / 100, 2) for i in range(101)]

_importance = partial(BayesianIsotonicCalibrator, sampler="importance", progress=False)
METHODS: dict[str, Callable[..., Calibrator]] = {
    "log": partial(LogisticCalibrator, axis="raw", label_smoothing=SMOOTHING),
    "log-platt": partial(LogisticCalibrator, axis="raw", label_smoothing="platt"),
    "beta": partial(BetaCalibrator, label_smoothing=SMOOTHING),
    "beta-platt": partial(BetaCalibrator, label_smoothing="platt"),
    "beta-program": partial(BetaCalibrator, label_smoothing=SMOOTHING),
    "beta-platt-program": partial(BetaCalibrator, label_smoothing="platt"),
    "iso": IsotonicCalibrator,
    "iso-platt": partial(IsotonicCalibrator, label_smoothing="platt"),
    "enir": AuthorsENIR,  # the package that the paper used
    "enir-platt": partial(AuthorsENIR, label_smoothing="platt"),
    "enir-platt-program": partial(AuthorsENIR, label_smoothing="platt", max_models=1),
    "enir-text": partial(ENIRCalibrator, smoothing=None),
    "enir-text-platt": partial(ENIRCalibrator, smoothing=None, label_smoothing="platt"),
    "bayes-iso": _importance,
    "bayes-iso-text": partial(_importance, bounds="paper"),
    "chains": partial(BayesianIsotonicCalibrator, progress=False),
}
SURE = ("bayes-iso", "iso-platt", "enir-platt")
"""Methods that section 5.3 compares on accurate models."""
CURVES = ["bayes-iso", "enir-platt", "iso-platt", "beta", "log-platt", "chains"]

ALL = (N_FOLDS, N_FOLDS)
DEAR: dict[str, dict[str, tuple[int, int]]] = {
    "quick": {},
    "standard": {"bayes-iso-text": (1, 1), "chains": (1, 1)},
    "full": {},
}
"""Methods that are run on some outer and inner folds only."""
REPLICATES = {"quick": 2, "standard": 60, "full": 60}
RUNS = {"quick": 2, "standard": 10, "full": 10}
"""Samples in figure 5 and runs in figure 6."""
QUICK = {"set": ["2dplanes", "house_8L"], "model": ["DT", "NB", "LR"]}


def tasks(profile: str) -> list[Task]:
    """Table 1, curves for figures 5 and 6, available real sets, and confidence with 100 rows."""
    synthetic, runs = ["ideal", *METHODS], range(RUNS[profile])
    return [
        *crossed("synthetic", n=SIZES, replicate=range(REPLICATES[profile]), method=synthetic),
        *crossed("curves", n=1000, replicate=runs, method=CURVES),
        *crossed("runs", n=SIZES, replicate=0, method="bayes-iso", run=runs),
        *(real := _real_tasks(profile)),
        *(
            Task("confidence", task.options)
            for task in real
            if task["size"] == SIZES[0] and task["inner"] == 0 and task["method"] in SURE
        ),
        *extra_tasks(profile),
    ]


def _real_tasks(profile: str) -> list[Task]:
    names, models, folds = sets_at_hand(), list(MODELS), N_FOLDS
    if profile == "quick":
        names, models = [name for name in names if name in QUICK["set"]], QUICK["model"]
        folds = 1

    def included(task: Task) -> bool:
        outer, inner = DEAR[profile].get(task["method"], ALL)
        return bool(task["outer"] < outer and task["inner"] < inner)

    every = crossed(
        "real",
        set=names,
        model=models,
        outer=range(folds),
        inner=range(folds),
        size=SIZES,
        method=list(METHODS),
    )
    return [task for task in every if included(task)]


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row | list[Row]]]:
    """All methods on one synthetic sample, or on one trained model."""
    if todo[0].part in PARTS:
        yield from run_extras(todo, METHODS)
    elif todo[0].part in ("real", "confidence"):
        yield from _run_real(todo, scratch)
    elif todo[0].part == "synthetic":
        yield from _run_synthetic(todo)
    else:
        yield from _run_curves(todo)


class _Fitted:
    """A method's map; it may be learned from one class, which ``Calibrator.fit`` refuses."""

    def __init__(self, method: str, scores: Floats, y: Any, **options: Any) -> None:
        self._clips = method in ("beta-program", "beta-platt-program")
        self.calibrator: Any = METHODS[method](**options)
        with quietly():
            self._map = self.calibrator.fit_map(Rows(self._clipped(scores), np.asarray(y) == 1))

    def _clipped(self, scores: Any) -> Floats:
        plain: Floats = np.asarray(scores, dtype=np.float64)
        return np.clip(plain, CLIP, 1 - CLIP) if self._clips else plain

    def __call__(self, scores: Any) -> Floats:
        return np.asarray(self._map(self._clipped(scores)))

    @property
    def weight_of_heaviest(self) -> dict[str, float]:
        """The share of the heaviest sampled map, of Bayes-Iso only."""
        weight = getattr(self.calibrator, "max_weight_", None)
        return {} if weight is None else {"heaviest": float(weight)}


def _losses(y: Any, p: Floats) -> dict[str, float]:
    return {
        "log_loss": clipped_log_loss(y, p, clip=1e-15),
        "brier_score": float(np.mean((p - y) ** 2)),
    }


def _sample(task: Task) -> Any:
    n, replicate = task.pick("n", "replicate")
    return make_beta_mixture(n, random_state=stable_seed("fit", n, replicate))


def _run_synthetic(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    data = _sample(todo[0])
    test = make_beta_mixture(N_TEST, random_state=stable_seed("test", todo[0]["replicate"]))
    for task in todo:
        if task["method"] == "ideal":
            yield task, _losses(test.y, test.probability)
            continue
        fitted = _Fitted(task["method"], data.scores, data.y)
        yield task, {**_losses(test.y, fitted(test.scores)), **fitted.weight_of_heaviest}


def _run_curves(todo: Sequence[Task]) -> Iterator[tuple[Task, list[Row]]]:
    """Maps on a grid; with the limits of the sampler if it has any (figure 6)."""
    data = _sample(todo[0])
    for task in todo:
        seed = {"random_state": task["run"]} if task.part == "runs" else {}
        fitted = _Fitted(task["method"], data.scores, data.y, **seed)
        columns = {"score": GRID, "probability": fitted(GRID)}
        if task.part == "runs":
            posterior = fitted.calibrator.posterior_
            for name, bound in zip(("lower", "upper"), posterior.bounds, strict=True):
                columns[name] = np.interp(GRID, posterior.score, bound)
        rows = zip(*columns.values(), strict=True)
        yield task, [dict(zip(columns, map(float, row), strict=True)) for row in rows]


@lru_cache(maxsize=16)
def _data(name: str) -> tuple[Floats, Any]:
    """20,000 rows in random order, with the positive class of the authors' program."""
    dataset = load(name)
    y = np.asarray(dataset.y)
    positive = {"letter": "U", "skin-segmentation": 1}.get(name)
    y = binary_labels(y) if positive is None else np.asarray(y == positive, dtype=np.int8)
    rng = np.random.default_rng(stable_seed("rows", name))
    rows = rng.permutation(len(y))
    if name == "creditcard-casecontrol":
        rows = _at_natural_rate(rows, y, rng)
    rows = rows[:N_ROWS]
    return as_matrix(dataset.X)[rows], y[rows]


def _at_natural_rate(rows: Any, y: Any, rng: np.random.Generator) -> Any:
    """As many frauds as a random 20,000 rows of the whole set have, and where they would be."""
    frauds, total = FRAUDS
    n_frauds = int(rng.hypergeometric(frauds, total - frauds, N_ROWS))
    positive, negative = rows[y[rows] == 1][:n_frauds], rows[y[rows] == 0][: N_ROWS - n_frauds]
    return rng.permutation(np.concatenate([positive, negative]))


def _block(rows: npt.NDArray[Any], number: int) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The other rows and those of a fold, of rows in random order."""
    blocks = np.array_split(rows, N_FOLDS)
    return np.concatenate([*blocks[:number], *blocks[number + 1 :]]), blocks[number]


def _model_scores(name: str, model: str, outer: int, inner: int) -> Arrays:
    X, y = _data(name)
    rest, test = _block(np.arange(len(y)), outer)
    train, held_out = _block(rest, inner)
    seed = stable_seed("model", name, outer, inner)
    train = np.random.default_rng(seed).choice(train, N_TRAIN, replace=False)
    fit_scores, test_scores = held_out_scores(
        model, X[train], y[train], [X[held_out], X[test]], seed
    )
    return {"fit": fit_scores, "test": test_scores, "fit_y": y[held_out], "test_y": y[test]}


def _end_excess(key: Floats, y: Any, p: Floats) -> float:
    """Mean label less mean probability of the 2.5% of rows with the lowest key.

    Rows that are tied for the last places share them.
    """
    n_end = round(END * len(key))
    limit = np.partition(key, n_end - 1)[n_end - 1]
    below, tied = key < limit, key == limit
    share = (n_end - below.sum()) / tied.sum()
    gap = y - p
    return round(float((gap[below].sum() + share * gap[tied].sum()) / n_end), 12)


def _confidence(scores: Floats, y: Any, p: Floats) -> dict[str, float]:
    """Return how much nearer to 0 (low end) or 1 (high end) the map is than the labels are.

    By the ranking of the paper's text, that of the model's scores, and by that of the authors'
    program, which sorts calibrated probabilities.
    """
    # Rounded, because interpolation between equal values may differ in the last bits.
    keys = {"": scores, "_by_map": np.round(p, 12)}
    low = {f"low_excess{name}": _end_excess(key, y, p) for name, key in keys.items()}
    high = {f"high_excess{name}": _end_excess(-key, 1 - y, 1 - p) for name, key in keys.items()}
    return low | high


def _run_real(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row]]:
    name, model, outer, inner = todo[0].pick("set", "model", "outer", "inner")
    description = {"set": name, "model": model, "outer": outer, "inner": inner, "version": 2}
    data = scratch.arrays(description, lambda: _model_scores(name, model, outer, inner))
    y = data["test_y"]
    correct = float(np.mean((data["test"] > 0.5) == (y == 1)))
    for task in todo:
        seed = stable_seed("calibration", name, outer, inner, task["size"])
        rows = np.random.default_rng(seed).choice(len(data["fit_y"]), task["size"], replace=False)
        scores = data["fit"][rows]
        if scores.min() == scores.max():
            yield task, {"constant": 1.0}  # the authors' program leaves such a fold out
            continue
        fitted = _Fitted(task["method"], scores, data["fit_y"][rows])
        p = fitted(data["test"])
        if task.part == "confidence":
            sure, right = np.maximum(p, 1 - p), (p > 0.5) == (y == 1)
            yield task, {"sureness": float(np.mean(sure - right)), "constant": 0.0}
            continue
        yield (
            task,
            {
                **_losses(y, p),
                **_confidence(data["test"], y, p),
                # Rows whose label had probability 0: their log-loss would be infinite without the
                # clip.
                "impossible": float(np.mean(np.where(y == 1, p, 1 - p) <= 0)),
                "accuracy": correct,
                "constant": 0.0,
                **fitted.weight_of_heaviest,
            },
        )


def cost(task: Task) -> float:
    """Return a cost; only that of the authors' sampler is proportional to the rows.

    One worker runs the first inner fold of every outer fold before the others.
    """
    names = [name for name in ("size", "n") if name in task.options]
    size = float(task[names[0]]) if names else 100.0
    costs = {"bayes-iso": 0.01 + 3e-4 * size, "chains": 0.2}
    costs["bayes-iso-text"] = costs["bayes-iso"]
    turn = int(task["inner"]) if "inner" in task.options else 0
    return costs.get(str(task["method"]), 0.02) * (1 + 100 * turn)


STUDY = Study(
    name="bayes-isotonic",
    title="Bayesian isotonic calibration: the paper's experiments again",
    paper=(
        "Allikivi and Kull (2019), Non-parametric Bayesian Isotonic Calibration: Fighting "
        "Over-confidence in Binary Classification, ECML PKDD."
    ),
    version=2,
    profiles={
        "quick": "two synthetic samples of each size, one fold of two sets with three models",
        "standard": (
            "60 synthetic samples of each size, all 5 × 5 folds, nine models, as in the paper; the "
            "variants of Bayes-Iso on one fold"
        ),
        "full": "the same, with the variants of Bayes-Iso on all folds",
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("set", "outer", "inner", "model", "n", "replicate", "true"),
    cost=cost,
)
