"""What weights mean in fits, in every way in which they can be given.

Importances (``sample_weight``) have no scale and leave a row one observation; counts are
repetitions. Both are asked of every method.
"""

import functools
import tracemalloc
import warnings
from dataclasses import dataclass, replace

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression

from trueodds import (
    AutoCalibrator,
    BayesianIsotonicCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    CalibrationMap,
    HistogramCalibrator,
    IdentityCalibrator,
    ScoreTable,
    all_calibrators,
    compare_calibrators,
)
from trueodds.calibrators import Calibrator
from trueodds.cli import main
from trueodds.metrics import log_loss
from trueodds.model_selection import fit_metadata

pytestmark = pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")

FEW = ["temperature", "logistic", "histogram"]
METHODS = dict(all_calibrators())
METHODS["auto"] = AutoCalibrator
METHODS["bayesian_isotonic"] = functools.partial(BayesianIsotonicCalibrator, max_draws=500)
for select in ("one_se", "best", "stack"):
    METHODS[f"auto-{select}"] = functools.partial(AutoCalibrator, FEW, select=select, cv=3)


@dataclass(frozen=True)
class Data:
    """Rows of two classes or more; features for the methods that need them."""

    scores: np.ndarray
    y: np.ndarray
    features: np.ndarray
    weight: np.ndarray | None = None
    counts: np.ndarray | None = None

    def take(self, rows):
        given = {name: value for name, value in vars(self).items() if value is not None}
        return Data(**{name: value[rows] for name, value in given.items()})

    def repeated(self):
        """Each row as often as it is counted."""
        return replace(self.take(np.repeat(np.arange(len(self.y)), self.counts)), counts=None)


@functools.cache
def sample(n_classes, n=80):
    rng = np.random.default_rng(n_classes)
    features = rng.integers(0, 3, (n, 1)).astype(float)
    z = rng.normal(size=(n, n_classes))
    odds = np.exp(z)
    y = (rng.random((n, 1)) < (odds / odds.sum(axis=1, keepdims=True)).cumsum(axis=1)).argmax(
        axis=1
    )
    sharp = np.exp(2 * z)
    scores = sharp / sharp.sum(axis=1, keepdims=True)
    counts = rng.integers(0, 4, n)
    return Data(
        scores[:, 1] if n_classes == 2 else scores, y, features, rng.lognormal(size=n), counts
    )


def fitted(name, data):
    calibrator = METHODS[name]()
    extra = {"features": data.features} if calibrator.needs_features else {}
    return calibrator.fit(data.scores, data.y, data.weight, counts=data.counts, **extra)


INTERVALS = ("auto", "auto-stack", "bayesian_isotonic", "beta", "group", "tree")
"""Every other method has the intervals of beta calibration."""


def forecasts(calibrator, asked, name):
    """Probabilities, and both ends of the intervals where a method has its own."""
    extra = {"features": asked.features} if calibrator.needs_features else {}
    p = calibrator.predict_proba(asked.scores, **extra)
    if name not in (INTERVALS if asked.scores.ndim == 1 else ("auto",)):
        return p
    low, high = calibrator.predict_interval(asked.scores, **extra)
    return np.column_stack([p, low, high])


def answer(name, data, asked):
    return forecasts(fitted(name, data), asked, name)


def tolerance(name):
    """Structured scaling iterates until its posterior is exact to about 1e-7."""
    return 2e-7 if name in ("bayesian_structured", "auto", "group") else 1e-9


BOTH = pytest.mark.parametrize("n_classes", [2, 4])
EVERY = pytest.mark.parametrize("name", METHODS)


@BOTH
@EVERY
def test_importances_have_no_scale(name, n_classes):
    data = replace(sample(n_classes), counts=None)
    asked = data.take(slice(40))
    expected = answer(name, data, asked)
    half = replace(data, weight=data.weight * 2.0**-20)
    np.testing.assert_array_equal(answer(name, half, asked), expected)
    large = replace(data, weight=data.weight * 1e6)
    np.testing.assert_allclose(answer(name, large, asked), expected, rtol=0, atol=1e-12)
    none = replace(data, weight=None)
    equal = replace(data, weight=np.full(len(data.y), 0.3))
    np.testing.assert_array_equal(answer(name, equal, asked), answer(name, none, asked))


@BOTH
@EVERY
def test_a_count_is_so_many_rows(name, n_classes):
    data = replace(sample(n_classes), weight=None)
    asked = data.take(slice(40))
    repeated = answer(name, data.repeated(), asked)
    np.testing.assert_allclose(answer(name, data, asked), repeated, rtol=0, atol=tolerance(name))


@BOTH
@EVERY
def test_an_importance_with_a_count_is_that_of_each_repeated_row(name, n_classes):
    if name == "tree":
        pytest.skip("a tree keeps the repetitions of an important row in one fold")
    data = sample(n_classes)
    asked = data.take(slice(40))
    repeated = answer(name, data.repeated(), asked)
    np.testing.assert_allclose(answer(name, data, asked), repeated, rtol=0, atol=tolerance(name))


@BOTH
@EVERY
def test_rows_without_weight_and_the_order_of_rows_change_nothing(name, n_classes):
    data = sample(n_classes)
    asked = data.take(slice(40))
    kept = np.arange(len(data.y)) % 5 > 0
    expected = answer(name, data.take(kept), asked)
    by_weight = replace(data, weight=data.weight * kept)
    np.testing.assert_allclose(answer(name, by_weight, asked), expected, rtol=0, atol=1e-12)
    by_counts = replace(data, counts=data.counts * kept)
    np.testing.assert_allclose(answer(name, by_counts, asked), expected, rtol=0, atol=1e-12)
    order = np.random.default_rng(1).permutation(np.flatnonzero(kept))
    np.testing.assert_allclose(answer(name, data.take(order), asked), expected, rtol=0, atol=1e-9)


KINDS = {
    "importances": lambda data: replace(data, counts=None),
    "class weights": lambda data: replace(
        data, counts=None, weight=np.where(data.y == 1, 20.0, 1.0)
    ),
    "counts": lambda data: replace(data, weight=None),
}
FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "duckdb": lambda columns: duckdb.from_df(pd.DataFrame(columns)),
}


def columns_of(data):
    """The columns of a frame, and their roles as ``fit_frame`` names them."""
    scores = data.scores if data.scores.ndim == 2 else data.scores[:, None]
    columns = {f"p{k}": scores[:, k] for k in range(scores.shape[1])}
    roles = {"score": list(columns), "label": "y"}
    columns["y"] = data.y
    if data.weight is not None:
        columns["w"], roles["weight"] = data.weight, "w"
    if data.counts is not None:
        columns["k"], roles["counts"] = data.counts, "k"
    return columns, roles


@pytest.mark.parametrize("kind", KINDS)
@BOTH
@EVERY
def test_frames_and_tables_give_what_arrays_give(name, n_classes, kind):
    data = KINDS[kind](sample(n_classes))
    asked = data.take(slice(40))
    method = METHODS[name]()
    if method.needs_features or not method.ignores_row_order:
        pytest.skip("frames give counts by score alone")
    expected, atol = answer(name, data, asked), tolerance(name)
    columns, roles = columns_of(data)
    for make in FRAMES.values() if kind == "class weights" else (FRAMES["duckdb"],):
        found = METHODS[name]().fit_frame(make(columns), **roles)
        np.testing.assert_allclose(forecasts(found, asked, name), expected, rtol=0, atol=atol)
    if n_classes == 2:
        table = ScoreTable.from_arrays(data.scores, data.y, data.weight, counts=data.counts)
        found = METHODS[name]().fit_table(table)
        np.testing.assert_allclose(forecasts(found, asked, name), expected, rtol=0, atol=atol)


def run(*words):
    with pytest.raises(SystemExit) as leave:
        main([str(word) for word in words])
    assert not leave.value.code


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("method", ["auto", "isotonic"])
def test_the_program_gives_what_arrays_give(method, n_classes, kind, tmp_path, capsys):
    data = KINDS[kind](sample(n_classes))
    columns, roles = columns_of(data)
    frame = pd.DataFrame(columns)
    frame.to_csv(tmp_path / "rows.csv", index=False)
    frame.to_parquet(tmp_path / "rows.parquet")
    words = [word for name in roles["score"] for word in ("--score", name)]
    words += ["--label", "y", *(["--weight", "w"] if "w" in columns else ["--counts", "k"])]
    expected = fitted(method, data).to_map(interval=0.9)
    for file in ("rows.csv", "rows.parquet"):
        out = tmp_path / "map.json"
        run("fit", tmp_path / file, *words, "-m", method, "--interval", 0.9, "-o", out, "--force")
        found = CalibrationMap.load(out)
        atol = tolerance(method)
        np.testing.assert_allclose(found(data.scores), expected(data.scores), rtol=0, atol=atol)
        ours, theirs = expected.interval(data.scores), found.interval(data.scores)
        np.testing.assert_allclose(theirs, ours, rtol=0, atol=atol)


@functools.cache
def noise(n=300):
    """Labels that are independent of the scores and the feature."""
    rng = np.random.default_rng(5)
    return Data(rng.random(n), rng.integers(0, 2, n), rng.integers(0, 3, (n, 1)).astype(float))


@pytest.mark.parametrize("select", ["default", "one_se", "best"])
def test_noise_is_noise_however_important_it_is(select):
    data = noise()

    def compared(weight):
        found = compare_calibrators(
            data.scores, data.y, calibrators=FEW, sample_weight=weight, cv=3, select=select
        )
        timed = {"seconds"}
        return found.best_method, [
            {key: value for key, value in row.items() if key not in timed} for row in found.rows()
        ]

    best, rows = compared(None)
    assert all(row["log_loss"] > 0.66 for row in rows)
    for weight in (1.0, 10.0, 100.0, 1e6):
        assert compared(np.full(len(data.y), weight)) == (best, rows)


@pytest.mark.parametrize("name", ["auto", "auto-one_se", "auto-best", "auto-stack", "tree"])
def test_methods_learn_nothing_from_the_importance_of_noise(name):
    data = noise()
    plain = fitted(name, data)
    asked = data.take(slice(40))
    expected = forecasts(plain, asked, name)
    for weight in (1.0, 10.0, 100.0, 1e6):
        found = fitted(name, replace(data, weight=np.full(len(data.y), weight)))
        np.testing.assert_array_equal(forecasts(found, asked, name), expected)
        for attribute in ("best_method_", "n_leaves_", "explanation_", "stack_weights_"):
            assert getattr(found, attribute, None) == getattr(plain, attribute, None)


def test_a_tree_hardly_notices_importances_that_hardly_differ():
    data = noise()
    almost = np.full(len(data.y), 5.0)
    almost[0] = 5.0000001
    a, b = (fitted("tree", replace(data, weight=weight)) for weight in (None, almost))
    assert a.n_leaves_ == b.n_leaves_
    asked = data.take(slice(40))
    found, expected = (forecasts(tree, asked, "tree") for tree in (a, b))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert a.out_of_fold_log_loss_ == pytest.approx(b.out_of_fold_log_loss_, abs=1e-6)


def drawn(n, seed):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return 1 / (1 + np.exp(-2 * z)), (rng.random(n) < 1 / (1 + np.exp(-z))).astype(int)


@pytest.mark.parametrize("seed", range(3))
def test_the_claimed_loss_is_that_of_fresh_rows(seed):
    """Importances are lognormal (σ = 1). The out-of-fold loss of a row is that of a fifth fewer."""
    scores, y = drawn(1500, seed)
    weight = np.random.default_rng(seed + 50).lognormal(size=len(y))
    names = ["isotonic", "beta", "histogram", "bayesian_smooth"]
    claimed = compare_calibrators(
        scores, y, calibrators=names, sample_weight=weight, select="best", random_state=seed
    )
    fresh, truth = drawn(100_000, seed + 100)
    for row in claimed.rows():
        if row["method"] == "isotonic":  # it forecasts 0 and 1
            continue
        method = claimed.calibrators[row["method"]].fit(scores, y, weight)
        loss = log_loss(truth, method.predict_proba(fresh)[:, 1])
        error = (row["log_loss_high"] - row["log_loss_low"]) / 2 / 1.6448536
        assert abs(row["log_loss"] - loss) < 2 * error
        assert error > 0.4 / np.sqrt(len(y))  # of the effective rows, which are fewer


def test_billions_of_rows_are_counted_and_never_repeated():
    scores = np.linspace(0.01, 0.99, 100).repeat(2)
    y = np.tile([0, 1], 100)
    counts = np.rint(4e10 * np.where(y, scores**2, 1 - scores**2))
    assert counts.sum() == 4e12
    model = LogisticRegression().fit(scores[:, None], y)
    tracemalloc.start()
    for name in ("auto", "beta", "isotonic", "auto-best", "auto-stack"):
        found = METHODS[name]().fit(scores, y, counts=counts)
        low, high = found.predict_interval([0.5])
        assert low <= found.predict_proba([0.5])[0, 1] <= high
        if name in ("auto", "isotonic", "beta"):
            assert high - low < 0.01
            assert found.predict_proba([0.5])[0, 1] == pytest.approx(0.25, abs=0.005)
    best = compare_calibrators(scores, y, counts=counts, calibrators=FEW)
    assert best.best_method == "bayesian_smooth"
    about = fit_metadata(BetaCalibrator().fit(scores, y, counts=counts), scores, y, counts=counts)
    assert (about["rows"], about["losses"]["rows"]) == (4_000_000_000_000, 50_000)
    assert about["losses"]["log_loss"]["after"] == pytest.approx(
        best.rows()[-1]["log_loss"], abs=0.01
    )
    frozen = CalibratedClassifier(FrozenEstimator(model)).fit(scores[:, None], y, counts=counts)
    asked = model.predict_proba(scores[:, None])[:, 1]
    same = AutoCalibrator().fit(asked, y, counts=counts).predict_proba(asked)
    np.testing.assert_allclose(frozen.predict_proba(scores[:, None]), same, rtol=0, atol=1e-9)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100e6


class Seen(Calibrator):
    """Notes which scores it is given to learn from, and how many rows they are."""

    fits: list = []  # noqa: RUF012

    def _fit(self, rows):
        at_half = rows.table.weight[rows.table.score == 0.5]
        Seen.fits.append(float(at_half.sum()))
        return IdentityCalibrator().fit([0.1, 0.9], [0, 1]).map_


def test_a_row_of_importance_100_is_in_one_fold_and_100_rows_are_in_all():
    scores, y = drawn(200, 0)
    scores[0], many = 0.5, np.ones(200)
    many[0] = 100
    seen = {}
    for key in ("sample_weight", "counts"):
        Seen.fits.clear()
        compare_calibrators(scores, y, calibrators=[Seen()], **{key: many}, select="best")
        seen[key] = sorted(Seen.fits)
    assert sum(seen["counts"]) == 400
    assert min(seen["counts"]) > 60
    assert seen["sample_weight"][0] == 0
    assert min(seen["sample_weight"][1:]) > 0


def test_importances_between_classes_are_those_of_the_target_population():
    """Undersampled negatives with class weights give the probabilities of all rows."""
    rng = np.random.default_rng(3)
    scores, y = drawn(40_000, 7)
    kept = (y == 1) | (rng.random(len(y)) < 0.1)
    weight = np.where(y == 1, 1.0, 10.0)[kept]
    grid = np.linspace(0.05, 0.95, 19)
    z = np.log(grid / (1 - grid)) / 2
    for method in (AutoCalibrator(), BetaCalibrator(), HistogramCalibrator(n_bins=10)):
        p = method.fit(scores[kept], y[kept], weight).predict_proba(grid)[:, 1]
        atol = 0.03 if not isinstance(method, HistogramCalibrator) else 0.08
        np.testing.assert_allclose(p, 1 / (1 + np.exp(-z)), rtol=0, atol=atol)


@pytest.fixture(autouse=True)
def quiet():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield
