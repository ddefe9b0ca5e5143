"""The experiments of the charcoal grill paper: synthetic scores, two binary tasks, four networks.

Synthetic (section 3, equation 5): 1000 uniform scores to fit. Held out are 10⁵ evenly spread scores
with their true probabilities instead of labels, which the paper's 10⁶ labeled points approximate.
Binary tasks: our models on substitutes of the paper's data. Networks: rows are shuffled and cut in
half, as in the paper.

Coals are fitted by the paper's solver, with several classes among the raw logits, and by ours. The
paper's is also started at random, several times. Two more choices have two readings. Most of a
forest's probabilities are exactly 0, whose log-odds no method can scale. The paper does not
describe its treatment, so they are clipped at some level, or placed by maximum likelihood as in
this library. Isotonic regression of several classes uses each class's logit separately, as in the
paper, or the log-odds of that class against all others.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
from scipy.special import expit, logit

from trueodds import (
    CharcoalGrillCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    MatrixCalibrator,
    TemperatureCalibrator,
    VectorCalibrator,
)
from trueodds.calibrators import Calibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds.inputs import Floats, Weights
from trueodds.metrics import expected_calibration_error, maximum_calibration_error
from trueodds_studies._scratch import Arrays, Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed
from trueodds_studies.datasets import available
from trueodds_studies.papers.grill.numbers import CLIP, CLIPS, FIGURE_BINS, PAPER_TASKS, PLACED
from trueodds_studies.papers.grill.paper_grill import PaperGrill
from trueodds_studies.papers.grill.report import report
from trueodds_studies.papers.grill.scores import (
    SCORERS,
    forest_f1,
    halves,
    held_out,
    one_coal_by_descent,
    synthetic_scores,
)

__all__ = ["STUDY"]

TABLE_1 = 5.0
TEMPERATURES = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0)
REPLICATES = {"quick": (1, 1), "standard": (12, 3), "full": (100, 10)}
"""Synthetic samples at each temperature; splits or seeds of each real set."""
QUICK_TEMPERATURES = (1.1, 5.0)
QUICK_SETS = ("stocknet-movement",)
FRAUD = "creditcard-casecontrol"

GRILLS = {
    f"CGS-{n}-{word}": partial(CharcoalGrillCalibrator, n_components=n, bias=bias)
    for word, bias in (("nobias", False), ("withbias", True))
    for n in range(1, 6)
}
PAPERS_GRILLS: dict[str, Callable[..., Calibrator]] = {
    name: partial(PaperGrill, **grill.keywords) for name, grill in GRILLS.items()
}
METHODS: dict[str, Callable[..., Calibrator]] = {
    "original": IdentityCalibrator,
    "temperature": TemperatureCalibrator,
    "platt": partial(LogisticCalibrator, label_smoothing=None),
    "vector": VectorCalibrator,
    "matrix": partial(MatrixCalibrator, ridge=0.0),
    "isotonic": IsotonicCalibrator,
    "isotonic-odds": IsotonicCalibrator,
    **GRILLS,
}
BINARY = ["original", "temperature", "platt", "isotonic"]
NETWORKS = ["original", "temperature", "vector", "matrix", "isotonic", "isotonic-odds"]
WITH_BIAS = [name for name in GRILLS if not name.endswith("nobias")]
SCALED = ["temperature", "platt"]
"""Methods that depend on the treatment of probabilities of 0."""
DRAWN = ["CGS-2-withbias", "CGS-3-withbias", "CGS-5-withbias"]
N_STARTED = {"quick": 1, "standard": 4, "full": 20}
"""Synthetic samples that are fitted from several random starts."""
N_STARTS = 5
OPTIMIZERS = ("descent", "adam")
RATES = [0.001, 0.01, 0.1, 1.0]
"""How one coal is fitted for footnote 6, which sweeps learning rates."""
SEVERAL = [name for name in GRILLS if not name.startswith("CGS-1-")]


def tasks(profile: str) -> list[Task]:
    """Synthetic data at six temperatures, then the available real data."""
    n_synthetic, n_real = REPLICATES[profile]
    found = []
    for temperature in QUICK_TEMPERATURES if profile == "quick" else TEMPERATURES:
        grills = list(GRILLS) if temperature == TABLE_1 else WITH_BIAS
        samples = {"temperature": temperature, "replicate": range(n_synthetic)}
        found += _crossed_solvers("synthetic", BINARY, grills, **samples)
    started = range(N_STARTED[profile])
    found += crossed("starts", temperature=TABLE_1, replicate=started, start=range(N_STARTS),
                     method=SEVERAL, solver="paper")  # fmt: skip
    found += crossed("descent", temperature=TABLE_1, replicate=started, method=list(OPTIMIZERS),
                     rate=RATES, solver="none")  # fmt: skip
    found += crossed("population", temperature=TEMPERATURES, method=SCALED, solver="none")
    found += _crossed_solvers("figures", BINARY, DRAWN)
    places = available()
    for name in PAPER_TASKS:
        if name not in places or (profile == "quick" and name not in QUICK_SETS):
            continue
        options: dict[str, Any] = {"set": name, "replicate": range(n_real)}
        if name.startswith("nn-"):
            found += _crossed_solvers("networks", NETWORKS, list(GRILLS), **options)
            continue
        if name == FRAUD:
            found += _fraud_tasks(**options)
            found += crossed("forest", set=FRAUD, replicate=0, solver="none")
        else:
            found += _crossed_solvers("binary", BINARY, list(GRILLS), **options, zeros=PLACED)
    return found


def _crossed_solvers(
    part: str, methods: list[str], grills: list[str], **options: Any
) -> list[Task]:
    """Methods that need no solver, and coals with both."""
    return [
        *crossed(part, **options, method=methods, solver="none"),
        *crossed(part, **options, method=grills, solver=["paper", "joint"]),
    ]


def _fraud_tasks(**options: Any) -> list[Task]:
    """The paper's solver with zeros clipped at one level, ours with zeros placed by the fit."""
    found = crossed("binary", **options, zeros=PLACED, method=BINARY, solver="none")
    found += crossed("binary", **options, zeros=PLACED, method=list(GRILLS), solver="joint")
    found += crossed("binary", **options, zeros=list(CLIPS), method=SCALED, solver="none")
    found += crossed("binary", **options, zeros=CLIP, method=list(GRILLS), solver="paper")
    return found


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row | list[Row]]]:
    """All methods on one sample or one split."""
    part = todo[0].part
    if part in ("synthetic", "starts"):
        yield from _run_synthetic(todo)
        return
    if part in ALONE:
        yield from ALONE[part](todo)
        return
    name, replicate = todo[0].pick("set", "replicate")
    if part == "networks":
        data = halves(name, replicate)
    else:
        description = {"set": name, "replicate": replicate, "version": 1}
        data = scratch.arrays(description, lambda: SCORERS[name](replicate))
    for task in todo:
        yield task, _judge_real(task, data)


def _judge_real(task: Task, data: Arrays) -> Row:
    """Measures of one method on a network's logits or a model's probabilities."""
    scale, fit, test = "probability", data["fit"], data["test"]
    if task.part == "networks":
        # Raw decision values are used class by class, logits as log-odds against the rest.
        scale = "raw" if task["method"] == "isotonic" else "logit"
    elif task["zeros"] != PLACED:
        level = float(task["zeros"])
        scale = "logit"
        fit, test = (logit(np.clip(p, level, 1 - level)) for p in (fit, test))
    calibrator, notes = _fitted(task, fit, data["fit_y"], data.get("fit_weight"), scale)
    p = calibrator.predict_proba(test)
    own = calibrator.predict_proba(fit)
    if p.shape[1] == 2:
        p, own = p[:, 1], own[:, 1]
    row: dict[str, Any] = {**_errors(data["test_y"], p, data.get("test_weight"))}
    train = _errors(data["fit_y"], own, data.get("fit_weight"))
    row |= notes | {f"train_{name}": value for name, value in train.items()}
    if p.ndim == 2:
        return {**row, "accuracy": float(np.mean(p.argmax(axis=1) == data["test_y"]))}
    share = partial(np.average, weights=data.get("test_weight"))
    return {
        **row,
        "n_above_tenth": int((data["test"] > 0.1).sum()),
        "above_tenth": float(share(data["test"] > 0.1)),
        "zero": float(share(data["test"] == 0)),
    }


def _fitted(
    task: Task, scores: Floats, y: Any, weight: Any = None, scale: str = "probability"
) -> tuple[Any, dict[str, bool]]:
    """Return the calibrator; for coals also whether it converged, and within a CPU minute."""
    by_paper = task["solver"] == "paper"
    options = {"random_state": task["start"]} if by_paper and task.part == "starts" else {}
    methods = PAPERS_GRILLS if by_paper else METHODS
    calibrator = methods[task["method"]](scale=scale, **options)
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", TrueoddsWarning)
        calibrator.fit(scores, y, Weights.counted(weight))  # the paper's weights count rows
    seconds = time.process_time() - begin
    if task["solver"] == "none":
        return calibrator, {}
    stopped = any("did not converge" in str(warning.message) for warning in caught)
    return calibrator, {"stopped": stopped, "within_a_minute": seconds < 60}


def _errors(y: Any, p: Floats, weight: Any = None) -> dict[str, float]:
    """Both ECE in %, and the log-loss."""
    own = p[np.arange(len(y)), y] if p.ndim == 2 else np.where(y == 1, p, 1 - p)
    loss = -np.log(np.maximum(own, 1e-12))  # isotonic regression gives exact zeros
    ece = partial(expected_calibration_error, y, p, multiclass="pooled", sample_weight=weight)
    return {
        "weighted": 100 * ece(),
        "unweighted": 100 * ece(weighting="equal"),
        "maximum": 100 * _maximum(y, p, weight),
        "log_loss": float(np.average(loss, weights=weight)),
    }


def _maximum(y: Any, p: Floats, weight: Any) -> float:
    """MCE (equation 4); with several classes, of all their probabilities together."""
    if p.ndim == 2:
        y = (np.asarray(y)[:, None] == np.arange(p.shape[1])).astype(np.int64).ravel()
        weight = None if weight is None else np.repeat(weight, p.shape[1])
        p = p.ravel()
    return maximum_calibration_error(y, p, sample_weight=weight, classes=[0, 1])


def _run_synthetic(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    temperature, replicate = todo[0].pick("temperature", "replicate")
    data, fresh = synthetic_scores(temperature, replicate), held_out(temperature)
    labels, weight = fresh.weighted_labels()
    for task in todo:
        calibrator, notes = _fitted(task, data.scores, data.y)
        p = calibrator.predict_proba(fresh.scores)[:, 1]
        steps = np.diff(p)
        train = _errors(data.y, calibrator.predict_proba(data.scores)[:, 1])
        yield (
            task,
            {
                **_errors(labels, np.concatenate([p, p]), weight),
                **notes,
                **{f"train_{name}": value for name, value in train.items()},
                "n_used_bins": len(np.unique(np.minimum((10 * p).astype(np.intp), 9))),
                "flat": float(np.mean(np.abs(steps) < 1e-12)),
                "falls": bool(steps.min() < -1e-12),
                **_line(calibrator),
                "bias_below_half": float((p - fresh.true)[fresh.scores < 0.5].mean()),
            },
        )


def _line(calibrator: Any) -> dict[str, float]:
    """W and b of a map σ(w·z + b)."""
    at_half, at_one = logit(np.clip(calibrator.predict_proba(expit([0, 1]))[:, 1], 1e-9, None))
    return {"slope": float(at_one - at_half), "intercept": float(at_half)}


def _run_population(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    """The best T, w and b if all probabilities are known."""
    for task in todo:
        fresh = held_out(task["temperature"])
        labels, weight = fresh.weighted_labels()
        scores = np.concatenate([fresh.scores, fresh.scores])
        yield task, _line(_fitted(task, scores, labels, weight)[0])


def _run_figures(todo: Sequence[Task]) -> Iterator[tuple[Task, list[Row]]]:
    """Reliability diagrams and calibration functions of the first sample at T = 5."""
    data, fresh = synthetic_scores(TABLE_1, 0), held_out(TABLE_1)
    grid = np.linspace(0.0005, 0.9995, 400)
    for task in todo:
        calibrator, _ = _fitted(task, data.scores, data.y)
        rows: list[Row] = []
        sides = (("train", data.scores, data.y), ("held out", fresh.scores, fresh.true))
        for side, scores, rate in sides:
            p = calibrator.predict_proba(scores)[:, 1]
            n_bins = FIGURE_BINS.get(task["method"], 10)
            bins = np.minimum((n_bins * p).astype(np.intp), n_bins - 1)
            for place in np.unique(bins):
                here = bins == place
                means = {"forecast": float(p[here].mean()), "rate": float(rate[here].mean())}
                share = float(here.mean())
                rows.append({"side": side, "bin": int(place), "share": share, **means})
        p = calibrator.predict_proba(grid)[:, 1]
        heat = calibrator.map_.temperature(grid) if task["solver"] != "none" else np.ones_like(p)
        rows += [
            {"side": "curve", "score": float(s), "forecast": float(q), "heat": float(t)}
            for s, q, t in zip(grid, p, heat, strict=True)
        ]
        yield task, rows


def _run_descent(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    """One coal with bias by gradient descent (footnote 6)."""
    temperature, replicate = todo[0].pick("temperature", "replicate")
    data, fresh = synthetic_scores(temperature, replicate), held_out(temperature)
    labels, weight = fresh.weighted_labels()
    for task in todo:
        heat, bias = one_coal_by_descent(logit(data.scores), data.y, task["method"], task["rate"])
        p, own = (expit(logit(s) / heat + bias) for s in (fresh.scores, data.scores))
        train = _errors(data.y, own)["log_loss"]
        errors = _errors(labels, np.concatenate([p, p]), weight)
        yield task, {**errors, "train_log_loss": train, "heat": heat, "bias": bias}


def _run_forest(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    yield todo[0], {"f1": forest_f1()}


ALONE: dict[str, Callable[[Sequence[Task]], Iterator[tuple[Task, Any]]]] = {
    "population": _run_population,
    "figures": _run_figures,
    "descent": _run_descent,
    "forest": _run_forest,
}

COSTS = {"none": 0.1, "joint": 0.2, "paper": 1.5}


def cost(task: Task) -> float:
    """CPU seconds, roughly; most are those of 100 classes."""
    if task.part == "forest":
        return 100.0
    times = 5 if "cifar100" in str(task.options.get("set")) else 1
    return COSTS[task["solver"]] * (3 * times if task.part == "networks" else 1)


STUDY = Study(
    name="grill",
    title="Charcoal Grill Scaling: the paper's experiments again",
    paper="Benton, Calibration for Anomaly Detection.",
    version=4,
    profiles={
        "quick": "one synthetic sample at each of two temperatures, one split of one real set",
        "standard": "12 synthetic samples at each of six temperatures, 3 splits of the real sets",
        "full": "100 synthetic samples at each of six temperatures, 10 splits of the real sets",
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("temperature", "set", "replicate"),
    cost=cost,
)
