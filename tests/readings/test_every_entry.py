"""Every public function, class and command gives the same for other readings of the same rows.

What is public is discovered. A new function, class or command must be added to a table here, or
exempted with a reason.
"""

import dataclasses
import importlib
import inspect
import json
import pkgutil
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.linear_model import LogisticRegression

import trueodds
from readings.test_groups import FORMATS, READINGS as COLUMNS, ids, write
from readings.test_metric_weights import CASES, IDS, result
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
    *("testing", "watch"),
)
INNER_PACKAGES = (
    *("basics", "cli", "estimator", "exceptions", "inputs", "kernels", "numerics", "rows"),
    *("state_file", "table"),  # a table is public as trueodds.ScoreTable
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
    "list": lambda y: y.astype(bool),
    "pandas": lambda y: np.array(["no", "yes"])[y],
    "pandas, another index": lambda y: y.astype(str),
    "polars": lambda y: y.astype(float),
    "strides": lambda y: np.array(["no", "yes"])[y],
    "objects": lambda y: y.astype(bool),
}
"""Labels of another type in each, too."""


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
    return build_report(p, y, calibrators=["identity", "beta"], **weights).to_json()["figures"]


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


@cache
def expected(name):
    p, y, counts = rows()
    return plain(CALLS[name](p, y, **({"counts": counts} if name in COUNTED else {})))


@pytest.mark.parametrize("reading", ARRAYS)
@pytest.mark.parametrize("name", CALLS)
def test_a_function_reads_the_same_rows_from_every_array(name, reading):
    p, y, counts = rows()
    read, label = ARRAYS[reading], LABELS[reading]
    weights = {"counts": read(counts)} if name in COUNTED else {}
    found = CALLS[name](read(p), read(label(y)), **weights)
    assert plain(found) == pytest.approx(expected(name), rel=1e-12, abs=1e-12, nan_ok=True)


@pytest.mark.parametrize("reading", ARRAYS)
@pytest.mark.parametrize(("name", "options"), CASES, ids=IDS)
def test_a_metric_reads_the_same_rows_from_every_array(name, options, reading):
    p, y, counts = rows()
    how = {"read": ARRAYS[reading], "label": LABELS[reading]}
    found = plain(result(name, p, y, options, counts=counts, **how))
    wanted = plain(result(name, p, y, options, counts=counts))
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)


def plain(value):
    """All numbers of a result, in order, but for times."""
    if dataclasses.is_dataclass(value):
        value = {f.name: getattr(value, f.name) for f in dataclasses.fields(value)}
    if isinstance(value, dict):
        value = [part for key, part in value.items() if "seconds" not in str(key)]
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [number for part in value for number in plain(part)]
    return [float(value)] if isinstance(value, (int, float, np.generic)) else []


# ----- groups and features in every type of column -------------------------------------------


DRAWN = {"n_resamples": 20, "random_state": 0}
GROUPED = {
    "group_test": metrics.group_test,
    "worst_group_error": metrics.worst_group_error,
    "multicalibration_error": lambda y, p, groups: metrics.multicalibration_error(
        y, p, groups, n_resamples=20, random_state=0
    ),
    "guaranteed_thresholds": lambda y, p, groups: guaranteed_thresholds(
        y, p, groups=groups, at_most=0.45
    ),
    "calibration_test": lambda y, p, groups: metrics.calibration_test(
        y, p, method="exact", clusters=groups
    ),
    "confidence_interval": lambda y, p, groups: metrics.confidence_interval(
        metrics.brier_score, y, p, clusters=groups, **DRAWN
    ),
    "compare_metric": lambda y, p, groups: metrics.compare_metric(
        metrics.brier_score, y, p, 1 - p, clusters=groups, **DRAWN
    ),
    "validation_report": lambda y, p, groups: metrics.validation_report(
        y, p, clusters=groups, **DRAWN
    ),
    "validate_model": lambda y, p, groups: (
        validate_model(
            LogisticRegression(), p[:, None], y, clusters=groups, n_resamples=5, random_state=0
        ).corrected
    ),
    "CalibrationMonitor.update": lambda y, p, groups: (
        CalibrationMonitor().update(p, y, group=groups).to_dict()
    ),
}
NOT_GROUPED = {"evaluate_groups": "takes groups that were read and counted"}


def grouped():
    """Ids are numbers unless they are declared to be categories."""
    return trueodds.GroupCalibrator(categorical=["id"])


FITTED = {
    "GroupCalibrator": grouped,
    "TreeCalibrator": lambda: trueodds.TreeCalibrator(categorical=["id"]),
    "AutoCalibrator": lambda: trueodds.AutoCalibrator(calibrators=[grouped(), "beta"], cv=2),
}


def entries(words):
    """Public functions, and methods of classes that are called with rows, by these parameters."""
    found = {name for name, function in FUNCTIONS.items() if words & parameters(function)}
    for name, kind in CLASSES.items():
        for method in ("fit", "update"):
            if hasattr(kind, method) and words & parameters(getattr(kind, method)):
                found.add(name if method == "fit" else f"{name}.{method}")
    return found


def test_every_function_of_groups_and_features_is_tried():
    assert entries({"group", "groups", "clusters"}) == {*GROUPED, *NOT_GROUPED, "build_report"}
    elsewhere = {"apply_map", "render_dbt", "render_sql"}  # tests/readings/test_categories.py
    elsewhere.add("fit_metadata")  # takes those of the calibrator
    assert entries({"features"}) - elsewhere == {*FITTED, "compare_calibrators"}


def grouped_rows():
    y, p, own = ids(np.random.default_rng(0), 1_000_001, n=400)
    return y, p + 0.001 * (np.arange(400) % 200 - 100), own


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", GROUPED)
def test_a_group_is_the_same_in_every_type_of_column(name, column):
    y, p, own = grouped_rows()
    found, wanted = (GROUPED[name](y, p, groups) for groups in (COLUMNS[column](own), own))
    assert plain(found) == pytest.approx(plain(wanted), rel=1e-12, abs=1e-12, nan_ok=True)


def test_a_report_has_the_same_groups_in_every_type_of_column():
    y, p, own = grouped_rows()
    columns = set(COLUMNS) - {"list of int", "polars"}  # a report lists 25 groups
    groups = {column: COLUMNS[column](own) for column in columns}
    worst = build_report(p, y, groups=groups, calibrators=["identity", "beta"]).to_json()["groups"][
        "worst"
    ]
    found = {}
    for group in worst:
        found.setdefault(group["column"], []).append((group["value"], group["before"]))
    of_integers = sorted(found["int"], key=str)
    assert {column: sorted(parts, key=str) for column, parts in found.items()} == dict.fromkeys(
        columns, of_integers
    )


def frame_of(column, own):
    """A frame of the column's own library."""
    library = column.split()[0]
    frame = {"polars": pl.DataFrame, "arrow": pa.table}.get(library, pd.DataFrame)
    return frame({"id": COLUMNS[column](own)})


@pytest.mark.parametrize("column", COLUMNS)
@pytest.mark.parametrize("name", [*FITTED, "compare_calibrators"])
def test_a_feature_is_the_same_in_every_type_of_column(name, column):
    y, p, own = grouped_rows()
    results = []
    for features in (frame_of(column, own), frame_of("text", own)):
        if name == "compare_calibrators":
            found = trueodds.compare_calibrators(p, y, calibrators=[grouped()], features=features)
            results.append(found.rows())
        else:
            fitted = FITTED[name]().fit(p, y, features=features)
            results.append(fitted.predict_proba(p, features=features))
    found, wanted = map(plain, results)
    assert found == pytest.approx(wanted, rel=1e-12, abs=1e-12, nan_ok=True)


# ----- objects that several threads may share -------------------------------------------------

NOT_SHARED = {
    "Calibrator": "a base class",
    "Expression": "a base class",
    "Report": "a page that was made; tests/readings/test_shared_objects.py has what it is made of",
    "StreamWatch": "a scheduled job, one process at a time by the lock of its file",
    "Watch": "a scheduled job, one process at a time by the lock of its file",
    "SparkCalibratedModel": "a stage of Spark, which gives it to its own processes",
    "SparkCalibrator": "a stage of Spark, which gives it to its own processes",
}


def test_every_class_that_keeps_something_is_shared_by_threads():
    tried = {shared.name for shared in objects()}
    for name, kind in CLASSES.items():
        frozen = dataclasses.is_dataclass(kind) and kind.__dataclass_params__.frozen
        if frozen or issubclass(kind, (tuple, Exception)) or name.endswith("Display"):
            continue  # nothing in it can change, or it draws on the figure of one caller
        assert name in tried or name in NOT_SHARED, name


# ----- commands on every format ---------------------------------------------------------------

ROWS = ("-s", "p", "-l", "y", "--positive", "yes")
COUNTED_ROWS = (*ROWS, "--counts", "n")
OF_FILES = {
    "evaluate": ("data", *COUNTED_ROWS, "-g", "site", "-g", "age", "-g", "day"),
    "compare": ("data", *COUNTED_ROWS, "-m", "beta", "-m", "group", "--feature", "site"),
    "report": ("data", *COUNTED_ROWS, "-g", "site", "-m", "identity", "-o", "out.html"),
    "fit": ("data", *COUNTED_ROWS, "-m", "group", "--feature", "site", "-o", "out.json"),
    "apply": ("map", "data", "-s", "p", "-o", "out.jsonl"),
    "threshold": ("data", *COUNTED_ROWS, "-g", "site", "--at-most", "0.45"),
    "monitor": ("map", "data", *COUNTED_ROWS, "-g", "site", "--time", "day", "--state", "out"),
    "update": ("data", *ROWS, "-o", "out.json"),
    "stream": ("map", "data", *COUNTED_ROWS, "--time", "day", "--state", "out"),
}
NOT_OF_FILES = {
    **dict.fromkeys(("show", "diff", "export"), "reads maps"),
    "methods": "reads nothing",
    "demo": "writes its own files",
}


def test_every_command_is_tried():
    assert set(COMMANDS) == {*OF_FILES, *NOT_OF_FILES}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """The same rows in every format, and a map."""
    path = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(0)
    p = rng.uniform(0.2, 0.8, 240).round(4)
    site = np.array(["1", "2", "01"])[rng.integers(0, 3, 240)]
    y = rng.random(240) < p + np.where(site == "1", 0.2, 0)
    frame = pd.DataFrame({"p": p, "y": np.where(y, "yes", "no"), "site": site})
    frame["age"] = rng.integers(18, 95, 240)
    frame["day"] = [f"2026-03-{1 + k // 40:02}" for k in range(240)]
    frame["n"] = rng.integers(0, 4, 240)
    for suffix in FORMATS:
        write(frame, path / f"rows.{suffix}")
    features = frame[["site"]]
    trueodds.GroupCalibrator().fit(p, y, features=features).map_.save(path / "groups.json")
    trueodds.BetaCalibrator().fit(p, y).map_.save(path / "beta.json")
    return path


def run(folder, command, suffix, where, capsys):
    """The JSON of a command on a file, with what it wrote."""
    known = {
        "data": folder / f"rows.{suffix}",
        "map": folder / ("groups.json" if command == "apply" else "beta.json"),
    }
    words = [str(known.get(word, word)) for word in OF_FILES[command]]
    words = [str(where / word) if word.startswith("out") else word for word in words]
    capsys.readouterr()
    with pytest.raises(SystemExit) as leave:
        main([command, *words, "--json"])
    captured = capsys.readouterr()
    assert leave.value.code in (0, None, 4), captured.err
    written = where / "out.jsonl"
    lines = written.read_text().splitlines() if written.exists() else []
    return json.loads(captured.out), [json.loads(line)["probability"] for line in lines]


@pytest.mark.parametrize("command", OF_FILES)
def test_a_command_gives_the_same_for_every_format(command, folder, tmp_path, capsys):
    found = {}
    for suffix in FORMATS:
        where = tmp_path / suffix
        where.mkdir()
        found[suffix] = plain(run(folder, command, suffix, where, capsys))
    assert len(found["csv"]) > 3
    for suffix, numbers in found.items():
        assert numbers == pytest.approx(found["csv"], rel=1e-12, abs=1e-12), suffix
