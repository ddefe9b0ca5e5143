"""Intervals of every calibrator: where the truth lies."""

import pickle

import numpy as np
import pytest
from scipy.special import expit

import trueodds
from trueodds import (
    AutoCalibrator,
    BayesianSmoothCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    IsotonicCalibrator,
)
from trueodds.calibrators._shared.intervals import FEW_ROWS, MOST_VALUES
from trueodds.exceptions import InputError
from trueodds.rows import Rows
from trueodds.table import ScoreTable


def sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 2, n)
    return expit(z), rng.random(n) < expit(0.6 * z + 0.3)


def class_sample(n=300, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet([1, 1, 1], n)
    return p, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


METHODS = sorted(set(trueodds.all_calibrators()) - {"group", "tree", "one_vs_rest"})


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_intervals_that_hold_its_forecasts(method):
    scores, y = sample()
    fitted = trueodds.all_calibrators()[method]().fit(scores, y)
    grid = np.linspace(0, 1, 41)
    low, high = fitted.predict_interval(grid, level=0.9)
    p = fitted.predict_proba(grid)[:, 1]
    assert low.shape == high.shape == (41,)
    assert ((low >= 0) & (low <= p) & (p <= high) & (high <= 1)).all()
    narrow_low, narrow_high = fitted.predict_interval(grid, level=0.5)
    assert (narrow_low >= low - 1e-12).all()
    assert (narrow_high <= high + 1e-12).all()
    both = np.stack([1 - grid, grid], axis=1)
    np.testing.assert_allclose(fitted.predict_interval(both), [low, high], atol=1e-12)


@pytest.mark.parametrize("method", ["temperature", "isotonic", "bayesian_structured", "identity"])
def test_several_classes_have_an_interval_each(method):
    p, y = class_sample()
    fitted = trueodds.all_calibrators()[method]().fit(p, y)
    low, high = fitted.predict_interval(p)
    forecast = fitted.predict_proba(p)
    assert low.shape == p.shape
    assert ((low <= forecast) & (forecast <= high)).all()
    inside = (low <= p) & (p <= high)  # the scores are the truth
    assert inside.mean() > 0.7


def test_the_error_of_a_method_that_cannot_bend_is_inside():
    rng = np.random.default_rng(0)
    p = rng.random(3000)
    truth = 0.5 + 0.35 * np.cos(2 * np.pi * p)
    fitted = BetaCalibrator(parameters="abm").fit(p, rng.random(3000) < truth)
    low, high = fitted.predict_interval(p)
    error = np.abs(fitted.predict_proba(p)[:, 1] - truth)
    assert error.mean() > 0.15
    assert ((low <= truth) & (truth <= high)).mean() > 0.8


def test_fitting_on_counts_gives_the_interval_of_the_rows():
    scores, y = sample(500)
    scores = scores.round(2)
    by_rows = BetaCalibrator().fit(scores, y).predict_interval([0.2, 0.7])
    table = ScoreTable.from_arrays(scores, y)
    by_table = BetaCalibrator().fit_table(table).predict_interval([0.2, 0.7])
    np.testing.assert_allclose(by_rows, by_table, atol=1e-9)
    repeated = BetaCalibrator().fit(np.tile(scores, 2), np.tile(y, 2))
    counted = BetaCalibrator().fit(scores, y, counts=np.full(500, 2.0))
    np.testing.assert_allclose(
        repeated.predict_interval([0.2, 0.7]), counted.predict_interval([0.2, 0.7]), atol=1e-9
    )
    important = BetaCalibrator().fit(scores, y, sample_weight=np.full(500, 2.0))
    np.testing.assert_array_equal(by_rows, important.predict_interval([0.2, 0.7]))


def test_many_rows_are_kept_as_cells_and_give_the_same_interval():
    scores, y = sample(FEW_ROWS + 2000)
    quick = BetaCalibrator().fit(scores, y)
    slow = IsotonicCalibrator().fit(scores, y)
    ends = [c._band_curves(0.9) for c in (quick, slow)]
    grid = np.linspace(0.02, 0.98, 30)
    for ours, theirs in zip(*ends, strict=True):
        np.testing.assert_allclose(ours[0](grid), theirs[0](grid), atol=0.003)


def test_a_fitted_calibrator_stays_small_and_asking_for_intervals_does_not_make_it_larger():
    scores, y = sample(100_000)
    fitted = BetaCalibrator().fit(scores, y)
    size = len(pickle.dumps(fitted))
    before = fitted.predict_interval([0.1, 0.9])
    assert size < 100_000
    assert len(pickle.dumps(fitted)) == size
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.predict_interval([0.1, 0.9]), before)
    assert fitted._kept.scores.base is None  # a copy: the caller's array may change, or go
    assert len(again._kept.z) <= 1500
    p, codes = class_sample(MOST_VALUES // 3 + 500)
    kept = trueodds.TemperatureCalibrator().fit(p, codes)._kept
    assert kept.scores.size <= MOST_VALUES


def test_changing_the_scores_after_fitting_changes_nothing():
    scores, y = sample()
    scores = scores.copy()
    fitted = BetaCalibrator().fit(scores, y)
    other = BetaCalibrator().fit(scores.copy(), y)
    scores[:] = 0.5
    np.testing.assert_array_equal(fitted.predict_interval([0.3]), other.predict_interval([0.3]))


def test_an_earlier_interval_is_forgotten_by_a_new_fit():
    scores, y = sample()
    fitted = BetaCalibrator().fit(scores, y)
    first = fitted.predict_interval([0.8])
    fitted.fit(scores**3, y)
    assert fitted.predict_interval([0.8])[0][0] > first[0][0] + 0.03


def test_auto_gives_the_interval_of_the_method_that_it_took():
    scores, y = sample(200)
    auto = AutoCalibrator(["bayesian_isotonic"], select="best").fit(scores, y)
    expected = auto.calibrator_.predict_interval([0.3, 0.9])
    np.testing.assert_array_equal(auto.predict_interval([0.3, 0.9]), expected)
    smooth = trueodds.BayesianSmoothCalibrator().fit(scores, y)
    recommended = AutoCalibrator().fit(scores, y)
    np.testing.assert_array_equal(
        recommended.predict_interval([0.3]), smooth.predict_interval([0.3])
    )
    pool = AutoCalibrator(["beta", "isotonic"], select="stack").fit(scores, y)
    low, high = pool.predict_interval([0.3])
    assert low[0] <= pool.predict_proba([0.3])[0, 1] <= high[0]


def test_a_tree_has_intervals_of_its_forecasts():
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 1500))
    truth = expit(np.where(x > 0, z / 4 + 1, z))
    tree = trueodds.TreeCalibrator(scale="logit")
    tree.fit(z, rng.random(1500) < truth, features=x[:, None])
    low, high = tree.predict_interval(z, features=x[:, None])
    p = tree.predict_proba(z, features=x[:, None])[:, 1]
    assert ((low <= p) & (p <= high)).all()
    with pytest.raises(InputError, match="a map with features needs them"):
        tree.to_map(interval=0.9).lower_map()


def test_a_classifier_with_a_calibrator_has_intervals():
    from sklearn.datasets import load_breast_cancer, load_wine
    from sklearn.naive_bayes import GaussianNB

    for load in (load_breast_cancer, load_wine):
        X, y = load(return_X_y=True)
        model = CalibratedClassifier(GaussianNB(), IsotonicCalibrator()).fit(X, y)
        low, high = model.predict_interval(X[:50], level=0.8)
        p = model.predict_proba(X[:50])
        p = p[:, 1] if p.shape[1] == 2 else p
        assert low.shape == p.shape
        assert (low <= p + 1e-12).all()
        assert (p <= high + 1e-12).all()


def test_evidence_can_be_learned_with_its_band():
    scores, y = sample()
    calibrator = BetaCalibrator()
    table = ScoreTable.from_arrays(scores, y)
    banded = calibrator.fit_map_with_band(Rows.of_table(table), level=0.8)
    assert banded.band.level == 0.8
    expected = BetaCalibrator().fit(scores, y).predict_interval([0.4], level=0.8)
    np.testing.assert_allclose(banded.interval([0.4]), expected, atol=1e-9)


def test_intervals_are_refused_before_fitting_and_at_no_level():
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted yet"):
        BetaCalibrator().predict_interval([0.5])
    fitted = BetaCalibrator().fit(*sample())
    with pytest.raises(InputError, match="level must be a number strictly between"):
        fitted.predict_interval([0.5], level=90)
    with pytest.raises(InputError, match="must lie in"):
        fitted.predict_interval([1.5])
    fitted._kept = None
    fitted._posteriors = None
    with pytest.raises(InputError, match="Fit it again"):
        fitted.predict_interval([0.5])


@pytest.mark.parametrize("kind", [BayesianSmoothCalibrator, BetaCalibrator])
def test_a_model_that_says_zero_or_one_only_has_intervals(kind):
    y = np.arange(400) // 200
    p = y.astype(float)
    p[:10], p[-20:] = 1.0, 0.0
    fitted = kind().fit(p, y)
    low, high = fitted.predict_interval([0.0, 0.5, 1.0])
    assert ((low >= 0) & (low < high) & (high <= 1)).all()
    assert low[0] < 20 / 210 < high[0]
    assert low[2] < 180 / 190 < high[2]
