"""Beta calibration by the Brier score."""

import warnings

import numpy as np
import pytest
from scipy.special import expit

from trueodds import BetaCalibrator
from trueodds.exceptions import (
    InputError,
    NonMonotoneWarning,
    SeparableScoresWarning,
    TrueoddsWarning,
)
from trueodds.maps import CalibrationMap
from trueodds.metrics import brier_score, log_loss


def sample(n=400, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(0.5, 0.6, n)
    return p, (rng.random(n) < expit(0.5 * np.log(p) - 0.9 * np.log1p(-p) + 0.2)).astype(int)


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_each_loss_is_lowest_where_it_is_minimized(parameters):
    p, y = sample()
    by_log, by_brier = (
        BetaCalibrator(parameters, loss=loss).fit(p, y).predict_proba(p)[:, 1]
        for loss in ("log", "brier")
    )
    assert brier_score(y, by_brier) < brier_score(y, by_log) - 1e-6
    assert log_loss(y, by_log) < log_loss(y, by_brier) - 1e-6


def test_the_default_is_maximum_likelihood():
    p, y = sample()
    assert BetaCalibrator().fit(p, y).map_ == BetaCalibrator(loss="log").fit(p, y).map_
    assert BetaCalibrator().get_params()["loss"] == "log"


def test_the_map_is_of_the_same_family_and_is_saved_like_any_other(tmp_path):
    p, y = sample()
    fitted = BetaCalibrator(loss="brier").fit(p, y).map_
    assert min(fitted.a, fitted.b) >= 0
    fitted.save(tmp_path / "map.json")
    assert CalibrationMap.load(tmp_path / "map.json") == fitted


def test_rows_far_out_on_the_wrong_side_move_it_less():
    """A wild row costs at most 1 by squares, and any amount by its logarithm."""
    rng = np.random.default_rng(1)
    z = rng.normal(0, 2, 1000)
    y = (rng.random(1000) < expit(z)).astype(int)
    wild_z, wild_y = np.append(z, [-12.0] * 5), np.append(y, [1] * 5)
    slopes = {
        loss: BetaCalibrator("am", loss=loss, scale="logit").fit(wild_z, wild_y).map_.a
        for loss in ("log", "brier")
    }
    assert slopes["log"] < 0.8
    assert 0.9 < slopes["brier"] < 1.1


def test_it_is_not_held_at_the_boundary_where_the_likelihood_is():
    """In this sample a negative slope is best, then two positive ones, then one alone."""
    rng = np.random.default_rng(1)
    z = np.append(rng.normal(0, 2, 1000), [np.log(1e-5)] * 5)
    y = np.append(rng.random(1000) < expit(z[:1000]), [True] * 5)
    likeliest, fitted = (
        BetaCalibrator(loss=loss, scale="logit").fit(z, y).map_ for loss in ("log", "brier")
    )
    assert likeliest.a < 0.01
    assert fitted.a > 0.4
    free = BetaCalibrator(loss="brier", scale="logit", monotone=False)
    with pytest.warns(NonMonotoneWarning, match="not increasing"):
        assert free.fit(z, y).map_.a < 0


def test_the_truth_is_found_with_many_rows():
    rng = np.random.default_rng(2)
    p = rng.beta(0.8, 0.8, 200_000)
    y = rng.random(200_000) < expit(0.6 * np.log(p) - 1.4 * np.log1p(-p) - 0.3)
    fitted = BetaCalibrator(loss="brier").fit(p, y).map_
    np.testing.assert_allclose((fitted.a, fitted.b, fitted.c), (0.6, 1.4, -0.3), atol=0.06)


@pytest.mark.parametrize("smoothing", ["platt", 0.2])
def test_smoothed_labels_are_what_is_aimed_at(smoothing):
    p, y = sample()
    calibrator = BetaCalibrator(loss="brier", label_smoothing=smoothing).fit(p, y)
    n_pos, n_neg = y.sum(), len(y) - y.sum()
    low, high = (1 / (n_neg + 2), (n_pos + 1) / (n_pos + 2)) if smoothing == "platt" else (0.1, 0.9)
    target = np.where(y == 1, high, low)
    assert min(calibrator.map_.a, calibrator.map_.b) > 0
    q = calibrator.map_(p)
    slope = (q - target) * q * (1 - q)
    for feature in (np.log(p), np.log1p(-p), np.ones_like(p)):
        assert abs(np.mean(slope * feature)) < 1e-12


def test_rows_that_nearly_separate_the_classes_get_a_finite_slope_and_a_warning():
    p = np.concatenate([np.linspace(0.05, 0.45, 30), np.linspace(0.55, 0.95, 30)])
    y = (p > 0.5).astype(int)
    y[9] = 1
    with pytest.warns(
        SeparableScoresWarning, match="or nearly so, and squared error has no finite"
    ):
        fitted = BetaCalibrator("am", loss="brier").fit(p, y).map_
    assert 1 < fitted.a < 50


@pytest.mark.parametrize("loss", ["Brier", "squared", None])
def test_other_losses_are_refused(loss):
    with pytest.raises(InputError, match="loss must be one of 'log', 'brier'"):
        BetaCalibrator(loss=loss).fit([0.1, 0.9], [0, 1])


@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
@pytest.mark.parametrize(
    ("scores", "scale"),
    [
        (10.0 ** np.random.default_rng(0).uniform(-320, -0.1, 300), "probability"),
        (0.5 + np.arange(300) * 2.0**-53, "probability"),
        (np.random.default_rng(0).choice([0.0, 5e-324, 1e-300, 0.5, 1.0], 300), "probability"),
        (np.random.default_rng(0).normal(0, 1, 300) * 1e300, "logit"),
        (np.random.default_rng(0).normal(0, 1, 300) * 1e-300, "raw"),
        (np.full(300, -np.inf), "logit"),
    ],
)
def test_scores_of_any_size_give_probabilities(scores, scale, parameters):
    y = np.random.default_rng(1).random(300) < 0.2 + 0.6 * np.argsort(np.argsort(scores)) / 300
    weights = 10.0 ** np.random.default_rng(2).uniform(-200, 12, 300)
    for weight in (None, weights):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", TrueoddsWarning)
            calibrator = BetaCalibrator(parameters, loss="brier", scale=scale)
            q = calibrator.fit(scores, y, weight).predict_proba(scores)
        assert ((q >= 0) & (q <= 1)).all()
