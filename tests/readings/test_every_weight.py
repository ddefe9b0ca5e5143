"""Every public function, method and command that takes weights, found by its signature.

Importances have no scale, and a count of k is k rows. What fits and metrics make of them is asked
in ``test_fit_weights.py`` and ``test_metric_weights.py``; a new name must have a case in one of the
three, or a reason in ``EXEMPT``.
"""

import importlib
import inspect
import json
import pkgutil
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import typer
from sklearn.frozen import FrozenEstimator
from sklearn.naive_bayes import GaussianNB

import trueodds
from readings.test_metric_weights import NAMES as METRICS_AND_DECISIONS
from trueodds import (
    BetaCalibrator,
    CalibratedClassifier,
    GroupCalibrator,
    ScoreTable,
    all_calibrators,
    compare_calibrators,
)
from trueodds.cli import main
from trueodds.cli.app import app
from trueodds.model_selection import fit_metadata, update_model
from trueodds.report import build_report

WEIGHTS = {"sample_weight", "counts", "weight"}
INNER = {"basics", "cli", "inputs", "kernels", "numerics", "rows", "watch"}
"""Modules that only the library itself imports."""
OF_STREAMS = "in test_stream_weights.py: importances are at most 1 and are not rescaled"
EXEMPT = {
    "logistic_intervals": "takes the weights that a model was fitted with, whose penalty they meet",
    "CalibrationMonitor.update": OF_STREAMS,
    "OnlineCalibrator.answer": OF_STREAMS,
    "OnlineCalibrator.replay": OF_STREAMS,
    "OnlineCalibrator.update": OF_STREAMS,
    "ScoreTable.from_codes": "takes Weights that were read",
    "ScoreTable.from_sorted_codes": "takes Weights that were read",
}


def takes_weights(function):
    """Whether a function of ours has an argument for weights of rows."""
    if not (getattr(function, "__module__", None) or "").startswith("trueodds"):
        return False
    return bool(WEIGHTS & set(inspect.signature(function).parameters))


def public_objects():
    """Every name that a user can import."""
    for name in trueodds.__all__:
        yield name, getattr(trueodds, name)
    for info in pkgutil.iter_modules(trueodds.__path__):
        if info.name in INNER or info.name.startswith("_"):
            continue
        try:
            module = importlib.import_module(f"trueodds.{info.name}")
        except ImportError:  # of a library that is not installed
            continue
        for name in module.__all__:
            yield name, getattr(module, name)


def takers():
    """Public functions, and methods of public classes by the class that defines them."""
    found = {}
    for name, each in public_objects():
        if inspect.isfunction(each) and takes_weights(each):
            found[name] = each
        elif inspect.isclass(each):
            for attribute in dir(each):
                method = getattr(each, attribute, None)
                if attribute.startswith("_") or not callable(method):
                    continue
                if inspect.isroutine(method) and takes_weights(method):
                    found[method.__qualname__] = method
    return found


@dataclass(frozen=True)
class Data:
    """Rows of two classes with two features, the fold of each, and what it is worth."""

    p: np.ndarray
    y: np.ndarray
    X: np.ndarray
    fold: np.ndarray

    def take(self, rows):
        return Data(*(column[rows] for column in vars(self).values()))

    @property
    def features(self):
        return pd.DataFrame({"town": np.where(self.fold == 0, "Graz", "Bern"), "age": self.X[:, 0]})

    def frame(self, **weights):
        return pd.DataFrame({"p": self.p, "y": self.y, **weights})


def sample(n=120):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(n, 2)).round(1)
    p = (1 / (1 + np.exp(-2 * X[:, 0]))).round(2).clip(0.01, 0.99)
    y = (rng.random(n) < p**1.2).astype(int)
    data = Data(p, y, X, rng.permutation(np.arange(n) % 3))
    return data, rng.lognormal(0, 1, n), rng.integers(0, 4, n)


def worth(table):
    """What a table is worth in a likelihood."""
    counted = table.in_counts()
    return [counted.score, counted.n_neg, counted.n_pos, table.effective]


def trained(data, **weights):
    """A model that knows no scale of weights either; a row and its repetitions are in one fold."""
    folds = [(np.flatnonzero(data.fold != k), np.flatnonzero(data.fold == k)) for k in range(3)]
    found = []
    for ensemble in (True, False):
        model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=folds, ensemble=ensemble)
        found.append(model.fit(data.X, data.y, **weights).predict_proba(DATA.X))
    frozen = FrozenEstimator(GaussianNB().fit(DATA.X, DATA.y))
    model = CalibratedClassifier(frozen, BetaCalibrator()).fit(data.X, data.y, **weights)
    low, high = model.predict_interval(DATA.X)
    labels = np.stack([data.y, data.X[:, 1] > 0], axis=1)
    several = FrozenEstimator(SeveralLabels().fit(DATA.X, DATA.y))
    both = CalibratedClassifier(several, BetaCalibrator()).fit(data.X, labels, **weights)
    return [*found, low, high, both.predict_proba(DATA.X)]


class SeveralLabels(GaussianNB):
    """A model of two labels that are alike."""

    def fit(self, X, y):
        super().fit(X, y)
        self.classes_ = np.array([0, 1])
        return self

    def predict_proba(self, X):
        return np.repeat(super().predict_proba(X)[:, 1:], 2, axis=1)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        return tags


def compared(data, **weights):
    methods = ["beta", "histogram", "isotonic"]
    found = compare_calibrators(data.p, data.y, calibrators=methods, cv=3, n_repeats=2, **weights)
    return plain(found.rows()), found.best_method


def reported(data, **weights):
    # Which of the rows of one score are in which fold is drawn, and groups distinguish them.
    groups = {"town": data.features["town"]} if "sample_weight" in weights else None
    return plain(
        build_report(data.p, data.y, groups=groups, calibrators=["beta"], cv=3, **weights).to_json()
    )


NOT_OF_THE_ROWS = {"seconds", "created", "fingerprint", "size", "reproduce"}
NAMES_OF_COLUMNS = {"weight", "counts"}
HASH = "sha256:"


def plain(value):
    """Without what a run alone decides: times, names of columns, fingerprints of the bytes."""
    if isinstance(value, dict):
        return {
            key: plain(each)
            for key, each in value.items()
            if key not in NOT_OF_THE_ROWS
            and not (key in NAMES_OF_COLUMNS and isinstance(each, (str, type(None))))
            and not str(each).startswith(HASH)
        }
    if isinstance(value, (list, tuple)):
        return [plain(each) for each in value]
    return value


def scored(data, **weights):
    features = {"features": data.features}
    return [
        BETA.score(data.p, data.y, **weights),
        GROUPED.score(data.p, data.y, **features, **weights),
    ]


def in_frame(data, sample_weight=None, counts=None):
    """A frame and the names of its columns of weights."""
    given = {"weight": sample_weight, "counts": counts}
    given = {name: values for name, values in given.items() if values is not None}
    return data.frame(**given), {name: name for name in given}


def framed(read):
    """A case of a function that takes names of columns."""

    def case(data, **weights):
        frame, names = in_frame(data, **weights)
        return read(frame, score="p", label="y", **names)

    return case


def updated(data, **weights):
    found = [
        update_model(data.y, data.p, X=X, method=method, **weights)
        for X, method in ((None, "closed_test"), (None, "curve"), (data.X[:, 1:], "closed_test"))
    ]
    return [
        [one.method, one.intercept, one.slope, one.coef, [s.p_value for s in one.steps]]
        for one in found
    ]


with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    DATA, IMPORTANCE, COUNTS = sample()
    BETA = BetaCalibrator().fit(DATA.p, DATA.y)
    GROUPED = GroupCalibrator().fit(DATA.p, DATA.y, features=DATA.features)
CASES = {
    "CalibratedClassifier.fit": trained,
    "Calibrator.fit_frame": framed(
        lambda frame, **names: BetaCalibrator().fit_frame(frame, **names).predict_interval(DATA.p)
    ),
    "Calibrator.read_rows": lambda data, sample_weight=None, counts=None: worth(
        BETA.read_rows(data.p, data.y, sample_weight, counts, [0, 1]).table
    ),
    "Calibrator.score": scored,
    "FeatureCalibrator.score": scored,
    "ScoreTable.from_arrays": lambda data, **weights: worth(
        ScoreTable.from_arrays(data.p, data.y, **weights)
    ),
    "ScoreTable.from_frame": framed(lambda *a, **names: worth(ScoreTable.from_frame(*a, **names))),
    "build_report": reported,
    "compare_calibrators": compared,
    "fit_metadata": lambda data, **weights: plain(fit_metadata(BETA, data.p, data.y, **weights)),
    "update_model": updated,
}


def assert_same(found, wanted, tolerance=0.0, place=""):
    """Equal texts and counts, and numbers within the tolerance."""
    if isinstance(wanted, dict):
        assert found.keys() == wanted.keys(), place
        for key in wanted:
            assert_same(found[key], wanted[key], tolerance, f"{place}/{key}")
    elif isinstance(wanted, (list, tuple)):
        assert len(found) == len(wanted), place
        for k, pair in enumerate(zip(found, wanted, strict=True)):
            assert_same(*pair, tolerance, f"{place}/{k}")
    elif isinstance(wanted, (str, bool, type(None))):
        assert found == wanted, place
    else:
        np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance, err_msg=place)


def test_whatever_takes_weights_is_asked_what_it_makes_of_them():
    found = takers()
    fits = {kind.fit.__qualname__ for kind in all_calibrators().values()} | {"AutoCalibrator.fit"}
    asked = {*CASES, *EXEMPT, *fits, *METRICS_AND_DECISIONS}
    assert set(found) - asked == set()
    assert {*CASES, *EXEMPT, *fits} - set(found) == set()  # no case of a name that is gone
    for name, function in found.items():
        parameters = set(inspect.signature(function).parameters) & WEIGHTS
        assert name in EXEMPT or "counts" in parameters, f"{name} takes no counts"


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
@pytest.mark.parametrize("name", CASES)
def test_importances_have_no_scale(name):
    once = CASES[name](DATA, sample_weight=IMPORTANCE)
    assert_same(CASES[name](DATA, sample_weight=np.ldexp(IMPORTANCE, -30)), once)
    assert_same(CASES[name](DATA, sample_weight=1e6 * IMPORTANCE), once, 1e-12)


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
@pytest.mark.parametrize("name", CASES)
def test_a_count_is_so_many_rows(name):
    repeated = DATA.take(np.repeat(np.arange(len(DATA.y)), COUNTS))
    assert_same(CASES[name](DATA, counts=COUNTS), CASES[name](repeated), 1e-9)


# ----- commands ------------------------------------------------------------------------------

COMMANDS = {
    "evaluate": ["--json", "--resamples", 50],
    "compare": ["--json", "-m", "beta", "-m", "isotonic"],
    "fit": ["-m", "beta", "--interval", 0.9, "-o", "OUT"],
    "report": ["--json", "-m", "beta"],
    "threshold": ["--json", "--at-most", 0.9],
    "update": ["--json"],
}
NO_WEIGHT = {
    "threshold": "its guarantee is one of counts",
    "monitor": OF_STREAMS,
    "stream": OF_STREAMS,
}


def options_of_commands():
    """The options of every command."""
    group = typer.main.get_command(app)
    context = group.make_context("trueodds", [], resilient_parsing=True)
    return {
        name: {option for each in group.get_command(context, name).params for option in each.opts}
        for name in group.list_commands(context)
    }


def test_every_command_that_takes_weights_takes_counts_and_is_asked():
    options = options_of_commands()
    counted = {name for name, has in options.items() if "--counts" in has}
    assert {name for name, has in options.items() if "--weight" in has} <= counted
    assert counted == {*COMMANDS, *NO_WEIGHT}


@pytest.fixture
def answer(tmp_path, capsys):
    """What a command answers to the rows of a frame."""

    def ask(name, frame, *words):
        frame.to_csv(tmp_path / "rows.csv", index=False)
        out = tmp_path / "map.json"
        own = [str(w).replace("OUT", str(out)) for w in COMMANDS[name]]
        force = ["--force"] if "-o" in own else []
        capsys.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([name, str(tmp_path / "rows.csv"), "-s", "p", "-l", "y", *own, *force, *words])
        text, err = capsys.readouterr()
        assert leave.value.code in (None, 0), err
        return plain(json.loads(out.read_text() if name == "fit" else text))

    return ask


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
@pytest.mark.parametrize("name", [name for name in COMMANDS if name not in NO_WEIGHT])
def test_commands_read_importances_without_their_scale(name, answer):
    once = answer(name, DATA.frame(w=IMPORTANCE), "--weight", "w")
    assert_same(answer(name, DATA.frame(w=np.ldexp(IMPORTANCE, -30)), "--weight", "w"), once)
    assert_same(answer(name, DATA.frame(w=1e6 * IMPORTANCE), "--weight", "w"), once, 1e-12)
    equal = answer(name, DATA.frame(w=np.full(len(DATA.y), 1e6)), "--weight", "w")
    assert_same(equal, answer(name, DATA.frame()))


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
@pytest.mark.parametrize("name", COMMANDS)
def test_commands_read_counts_as_rows(name, answer):
    repeated = DATA.take(np.repeat(np.arange(len(DATA.y)), COUNTS))
    found, rows = (
        answer(name, DATA.frame(k=COUNTS), "--counts", "k"),
        answer(name, repeated.frame()),
    )
    for each in (found, rows):
        for lines in ("rows", "rows_used", "rows_compared"):
            each.pop(lines, None)
    assert_same(found, rows, 1e-9)
