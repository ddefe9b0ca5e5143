"""The experiments of the charcoal grill paper: synthetic scores, two binary tasks, four networks.

Synthetic (section 3, equation 5): 1000 uniform scores to fit; held out are 10⁵ more with their true
probabilities in place of labels, which is what the paper's 10⁶ labelled points approximate. Binary
tasks: models of our own on substitutes of the paper's data. Networks: rows are shuffled and cut in
half, as in the paper. Methods are the library's; ``solver="paper"`` is run beside them on T = 5.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache, partial
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
from trueodds.metrics import expected_calibration_error
from trueodds.validation import Floats
from trueodds_studies._papers._grill_numbers import PAPER_TASKS
from trueodds_studies._papers._grill_report import report
from trueodds_studies._protocol import as_matrix, quietly
from trueodds_studies._scratch import Arrays, Scratch
from trueodds_studies._study import Row, Study
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import available, load, make_compressed_scores

__all__ = ["STUDY"]

N_FIT, N_HELD_OUT = 1000, 100_000
TABLE_1 = 5.0
TEMPERATURES = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0)
REPLICATES = {  # of synthetic data, of those with the paper's solver, of real data
    "quick": (2, 1, 1),
    "standard": (10, 5, 3),
    "full": (100, 50, 10),
}
QUICK_SETS = ("nn-mnist-mlp", "stocknet-movement")
LEGITIMATE = 12.44
"""The weight of a legitimate row of creditcard-casecontrol that restores the natural rate."""
N_STOCKNET = {"fit": 656, "test": 1008}

GRILLS: dict[str, Callable[..., Calibrator]] = {
    f"CGS-{n}-{word}": partial(CharcoalGrillCalibrator, n_coals=n, bias=bias)
    for word, bias in (("nobias", False), ("withbias", True))
    for n in range(1, 6)
}
METHODS: dict[str, Callable[..., Calibrator]] = {
    "original": IdentityCalibrator,
    "temperature": TemperatureCalibrator,
    "platt": partial(LogisticCalibrator, label_smoothing=None),
    "vector": VectorCalibrator,
    "matrix": partial(MatrixCalibrator, ridge=0.0),
    "isotonic": IsotonicCalibrator,
    **GRILLS,
}
BINARY = [name for name in METHODS if name not in ("vector", "matrix")]
FIGURE_9 = [name for name in BINARY if not name.endswith("nobias")]
NETWORKS = [name for name in METHODS if name != "platt"]
SOLVER = [name for name in GRILLS if "-1-" not in name]


def tasks(profile: str) -> list[Task]:
    """Synthetic data at six temperatures, then the real data that are at hand."""
    n_synthetic, n_solver, n_real = REPLICATES[profile]
    replicates = range(n_synthetic)
    found = []
    for temperature in TEMPERATURES:
        methods = BINARY if temperature == TABLE_1 else FIGURE_9
        found += crossed("synthetic", temperature=temperature, replicate=replicates, method=methods)
    found += crossed("solver", temperature=TABLE_1, replicate=range(n_solver), method=SOLVER)
    places = available()
    for name in PAPER_TASKS:
        if name in places and (profile != "quick" or name in QUICK_SETS):
            part, methods = ("networks", NETWORKS) if name[:3] == "nn-" else ("binary", BINARY)
            found += crossed(part, set=name, replicate=range(n_real), method=methods)
    return found


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Row]]:
    """All methods on one sample or one split."""
    part = todo[0].part
    if part in ("synthetic", "solver"):
        yield from _run_synthetic(todo)
        return
    name, replicate = todo[0].pick("set", "replicate")
    if part == "networks":
        data = _halves(name, replicate)
    else:
        description = {"set": name, "replicate": replicate, "version": 1}
        data = scratch.arrays(description, lambda: SCORERS[name](replicate))
    scale = "logit" if part == "networks" else "probability"
    weights = (data["fit_weight"], data["test_weight"]) if "fit_weight" in data else (None, None)
    for task in todo:
        calibrator = METHODS[task["method"]](input=scale)
        with quietly():
            calibrator.fit(data["fit"], data["fit_y"], weights[0])
        p = calibrator.predict_proba(data["test"])
        yield task, _errors(data["test_y"], p if p.shape[1] > 2 else p[:, 1], weights[1])


def _errors(y: Any, p: Floats, weight: Any = None) -> dict[str, float]:
    """Both ECE in %, and the log-loss."""
    own = p[np.arange(len(y)), y] if p.ndim == 2 else np.where(y == 1, p, 1 - p)
    loss = -np.log(np.maximum(own, 1e-12))  # isotonic regression gives exact zeros
    ece = partial(expected_calibration_error, y, p, multiclass="pooled", sample_weight=weight)
    return {
        "weighted": 100 * ece(),
        "unweighted": 100 * ece(weighting="equal"),
        "log_loss": float(np.average(loss, weights=weight)),
    }


def _run_synthetic(todo: Sequence[Task]) -> Iterator[tuple[Task, Row]]:
    temperature, replicate = todo[0].pick("temperature", "replicate")
    data = make_compressed_scores(
        N_FIT, temperature=temperature, random_state=stable_seed("fit", replicate)
    )
    held_out = make_compressed_scores(
        N_HELD_OUT, temperature=temperature, random_state=stable_seed("held out")
    )
    order = np.argsort(held_out.scores)
    scores, true = held_out.scores[order], held_out.probability[order]
    # A row with probability t counts as a positive of weight t and a negative of weight 1 − t.
    labels, weight = np.repeat([1, 0], len(true)), np.concatenate([true, 1 - true])
    solver = {"solver": "paper"} if todo[0].part == "solver" else {}
    for task in todo:
        with quietly():
            calibrator = METHODS[task["method"]](**solver).fit(data.scores, data.y)
        p = calibrator.predict_proba(scores)[:, 1]
        steps = np.diff(p)
        at_half, at_one = logit(np.clip(calibrator.predict_proba(expit([0, 1]))[:, 1], 1e-9, None))
        train = _errors(data.y, calibrator.predict_proba(data.scores)[:, 1])
        yield (
            task,
            {
                **_errors(labels, np.concatenate([p, p]), weight),
                "train_weighted": train["weighted"],
                "n_used_bins": len(np.unique(np.minimum((10 * p).astype(np.intp), 9))),
                "flat": float(np.mean(np.abs(steps) < 1e-12)),
                "falls": bool(steps.min() < -1e-12),
                "slope": float(at_one - at_half),
                "intercept": float(at_half),
                "bias_below_half": float((p - true)[scores < 0.5].mean()),
            },
        )


@lru_cache(maxsize=1)
def _network(name: str) -> tuple[Floats, Any]:
    dataset = load(name)
    return as_matrix(dataset.X), np.asarray(dataset.y).astype(np.int64)


def _halves(name: str, replicate: int) -> Arrays:
    scores, y = _network(name)
    order = np.random.default_rng(stable_seed("halves", name, replicate)).permutation(len(y))
    fit, test = np.array_split(order, 2)
    return {"fit": scores[fit], "fit_y": y[fit], "test": scores[test], "test_y": y[test]}


def _stocknet_scores(replicate: int) -> Arrays:
    """A small neural network on prices and numbers of tweets, cut by date as Stocknet was."""
    from sklearn.neural_network import MLPClassifier
    from sklearn.preprocessing import StandardScaler

    dataset = load("stocknet-movement")
    X, y = as_matrix(dataset.X.iloc[:, :35]), np.asarray(dataset.y).astype(np.int64)
    X = StandardScaler().fit(X[:14_983]).transform(X)
    seed = stable_seed("stocknet", replicate)
    model = MLPClassifier((64,), max_iter=40, tol=0, n_iter_no_change=40, random_state=seed)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Stochastic Optimizer")  # 40 epochs are meant
        model.fit(X[:14_983], y[:14_983])
    rng = np.random.default_rng(seed)
    arrays: Arrays = {}
    for name, rows in (("fit", np.arange(14_983, 16_933)), ("test", np.arange(16_933, len(y)))):
        some = np.sort(rng.choice(rows, N_STOCKNET[name], replace=False))
        arrays[name], arrays[f"{name}_y"] = model.predict_proba(X[some])[:, 1], y[some]
    return arrays


def _fraud_scores(replicate: int) -> Arrays:
    """The paper's random forest of 200 trees, on 80 % of the rows; 10 % to fit, 10 % to test."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split

    dataset = load("creditcard-casecontrol")
    X, y = as_matrix(dataset.X), np.asarray(dataset.y).astype(np.int64)
    weight = np.where(y == 0, LEGITIMATE, 1.0)
    seed = stable_seed("fraud", replicate)
    split = partial(train_test_split, random_state=seed)
    train, rest = split(np.arange(len(y)), test_size=0.2, stratify=y)
    fit, test = split(rest, test_size=0.5, stratify=y[rest])
    model = RandomForestClassifier(200, random_state=seed).fit(X[train], y[train], weight[train])
    arrays: Arrays = {}
    for name, rows in (("fit", fit), ("test", test)):
        arrays[name], arrays[f"{name}_y"] = model.predict_proba(X[rows])[:, 1], y[rows]
        arrays[f"{name}_weight"] = weight[rows]
    return arrays


SCORERS: dict[str, Callable[[int], Arrays]] = {
    "stocknet-movement": _stocknet_scores,
    "creditcard-casecontrol": _fraud_scores,
}
COSTS = {"synthetic": 0.1, "solver": 1.3, "binary": 1.0, "networks": 0.5}


def cost(task: Task) -> float:
    """CPU seconds, roughly; most are those of 100 classes."""
    return COSTS[task.part] * (4 if "cifar100" in str(task.options.get("set")) else 1)


STUDY = Study(
    name="grill",
    title="Charcoal Grill Scaling: the paper's experiments again",
    paper="Benton, Calibration for Anomaly Detection.",
    version=1,
    profiles={
        profile: f"{a} synthetic samples ({b} with the paper's solver), {c} splits of "
        + ("two real sets" if profile == "quick" else "the real sets")
        for profile, (a, b, c) in REPLICATES.items()
    },
    tasks=tasks,
    run=run,
    report=report,
    together=("temperature", "set", "replicate"),
    cost=cost,
)
