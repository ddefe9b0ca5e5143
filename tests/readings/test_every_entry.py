"""Every public function, class and command gives the same for other readings of the same rows.

What is public is discovered. A new function, class or command must be added to a table here, or
exempted with a reason.
"""

import dataclasses
import importlib
import inspect
import json
import pkgutil

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LogisticRegression

import trueodds
from readings.test_groups import FORMATS, ids, write
from readings.test_groups import READINGS as COLUMNS
from readings.test_metric_weights import CASES, IDS, assert_equal, result, same
from support.threads_under_load import objects
from trueodds import CalibrationMonitor, metrics
from trueodds.cli import main
from trueodds.cli.app import COMMANDS
from trueodds.decisions import (
    adjust_prior,
    best_decision,
    estimate_prior,
    expected_cost,
    guaranteed_thresholds,
)
from trueodds.model_selection import fit_metadata, update_model, validate_model
from trueodds.report import build_report

PUBLIC_PACKAGES = (
    *("calibrators", "decisions", "engines", "export", "maps", "metrics", "mlflow"),
    *("model_selection", "monitoring", "online", "plots", "report", "river", "spark", "stats"),
    "testing",
)
INNER_PACKAGES = (
    *("basics", "cli", "estimator", "exceptions", "inputs", "kernels", "numerics", "rows"),
    "table",  # its class is public as trueodds.ScoreTable
)


def public():
    """All public functions and classes by name."""
    found = {}
    for name in ("trueodds", *(f"trueodds.{part}" for part in PUBLIC_PACKAGES)):
        package = importlib.import_module(name)
        found |= {member: getattr(package, member) for member in package.__all__}
    return found


PUBLIC = public()
FUNCTIONS = {n: f for n, f in PUBLIC.items() if callable(f) and not inspect.isclass(f)}
CLASSES = {n: kind for n, kind in PUBLIC.items() if inspect.isclass(kind)}


def parameters(function):
    return set(inspect.signature(function).parameters)


def test_every_package_is_searched():
    names = {part.name for part in pkgutil.iter_modules(trueodds.__path__)}
    assert names - {"__main__"} == {*PUBLIC_PACKAGES, *INNER_PACKAGES}


# ----- rows in every kind of array -----------------------------------------------------------


def in_frame(library):
    """A column or a matrix in a library of frames."""
    return lambda v: library.Series(v) if np.ndim(v) == 1 else library.DataFrame(v)


ARRAYS = {
    "list": lambda v: np.asarray(v).tolist(),
    "pandas": in_frame(pd),
    "pandas, another index": lambda v: in_frame(pd)(v).set_axis(np.arange(len(v))[::-1]),
    "polars": in_frame(pl),
    "strides": lambda v: np.repeat(np.asarray(v), 2, axis=0)[::2],
    "objects": lambda v: np.asarray(v).astype(object),
}
LABELS = {
    "bool": lambda y: y.astype(bool),
    "float": lambda y: y.astype(float),
    "text": lambda y: np.array(["no", "yes"])[y],
    "number as text": lambda y: y.astype(str),
    "category": lambda y: pd.Series(np.array(["no", "yes"])[y], dtype="category"),
}


def rows(n=120):
    rng = np.random.default_rng(4)
    p = rng.beta(1, 2, n).round(2).clip(0.01, 0.99)
    return p, (rng.random(n) < p**1.3).astype(int), rng.integers(1, 4, n)


def validated(p, y):
    model = LogisticRegression()
    X = np.log(np.asarray(p, dtype=float))[:, None]
    found = validate_model(model, X, y, n_resamples=5, random_state=0)
    return found.apparent, found.corrected


def with_metadata(p, y, **weights):
    fitted = trueodds.BetaCalibrator().fit(p, y, **weights)
    return {**fit_metadata(fitted, p, y, **weights)["losses"], "methods": None}


def compared(p, y, **weights):
    names = ["beta", "isotonic"]
    return trueodds.compare_calibrators(p, y, calibrators=names, **weights).rows()


def reported(p, y, **weights):
    return build_report(p, y, calibrators=["identity"], **weights).to_json()["metrics"]


COST = [[0, 3], [2, 0]]
CALLS = {
    "build_report": reported,
    "compare_calibrators": compared,
    "fit_metadata": with_metadata,
    "update_model": lambda p, y: update_model(y, p),
    "validate_model": validated,
    "adjust_prior": lambda p, _: adjust_prior(p, 0.5, 0.1),
    "best_decision": lambda p, _: best_decision(p, COST),
    "expected_cost": lambda p, _: expected_cost(p, COST),
    "estimate_prior": lambda p, _: estimate_prior(p, 0.4),
}
COUNTED = ("build_report", "compare_calibrators", "fit_metadata")
NOT_TRIED = {
    "accuracy_score": "scikit-learn's own",
    "roc_auc_score": "scikit-learn's own",
    "log_report": "passes its rows to build_report",
    "validation_sample_size": "takes scores that are expected, not rows",
}


def test_every_function_of_rows_is_tried():
    names = {"y", "y_true", "y_prob", "y_prob_unlabeled", "scores"}
    of_rows = {name for name, function in FUNCTIONS.items() if names & parameters(function)}
    assert of_rows - set(NOT_TRIED) <= {name for name, _ in CASES} | set(CALLS)


@pytest.mark.parametrize("reading", [*ARRAYS, *LABELS])
@pytest.mark.parametrize("name", CALLS)
def test_a_function_reads_the_same_rows_from_every_array(name, reading):
    p, y, counts = rows()
    weights = {"counts": counts} if name in COUNTED else {}
    read, label = ARRAYS.get(reading, same), LABELS.get(reading, same)
    found = CALLS[name](read(p), read(label(y)), **{k: read(v) for k, v in weights.items()})
    wanted = CALLS[name](p, y, **weights)
    assert plain(found) == pytest.approx(plain(wanted), rel=1e-12, abs=1e-12)


@pytest.mark.parametrize("reading", [*ARRAYS, *LABELS])
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_a_metric_reads_the_same_rows_from_every_array(name, options, reading):
    p, y, counts = rows()
    how = {"read": ARRAYS.get(reading, same), "label": LABELS.get(reading, same)}
    found = result(name, p, y, options, counts=counts, **how)
    wanted = result(name, p, y, options, counts=counts)
    assert plain(found) == pytest.approx(plain(wanted), rel=1e-12, abs=1e-12)


def plain(value):
    """All numbers of a result, in order; what is named after a class is left out."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in plain(part)]
    return [float(value)] if isinstance(value, (int, float, np.generic)) else []
