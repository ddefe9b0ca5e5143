"""Scaling and binning: the authors' numbers, and where bins begin and end."""

import numpy as np
import pytest

from support.rival_samples import GRID, LABELS, SCORES
from trueodds import BetaCalibrator, LogisticCalibrator, ScalingBinningCalibrator
from trueodds.calibrators._scaling_binning import _cuts
from trueodds.exceptions import InputError, NonMonotoneWarning

# calibrator = calibration.PlattBinnerCalibrator(num_calibration=None, num_bins=10)
# calibrator.train_calibration(SCORES, LABELS)   (uncertainty-calibration 0.1.4)
# calibrator.calibrate(GRID)   stops 3e-6 before the optimum; with its utils.get_platt_scaler
# replaced by LogisticRegression(C=inf, tol=1e-12, max_iter=10000) of the log-odds:
AUTHORS = [
    0.071097649549, 0.071097649549, 0.168705339988, 0.272925932671, 0.272925932671, 0.434606966872,
    0.522508697996, 0.675676411486, 0.675676411486, 0.762607170505, 0.906188192172, 0.906188192172,
]  # fmt: skip


def test_predictions_equal_those_of_the_authors_when_their_solver_has_converged():
    calibrator = ScalingBinningCalibrator().fit(SCORES, LABELS)
    np.testing.assert_allclose(calibrator.predict_proba(GRID)[:, 1], AUTHORS, atol=1e-6)


@pytest.mark.parametrize(
    ("scaling", "curve"),
    [("logistic", LogisticCalibrator(label_smoothing=None)), ("beta", BetaCalibrator())],
)
def test_a_bin_says_the_mean_of_the_curve(scaling, curve):
    rng = np.random.default_rng(0)
    scores = rng.random(500)
    y = rng.random(500) < scores**2
    fitted = ScalingBinningCalibrator(n_bins=5, scaling=scaling).fit(scores, y).map_
    scaled = np.sort(curve.fit(scores, y).predict_proba(scores)[:, 1])
    np.testing.assert_allclose(fitted.values, scaled.reshape(5, 100).mean(axis=1))
    borders = curve.predict_proba(fitted.edges)[:, 1]
    np.testing.assert_allclose(borders, (scaled[99:-1:100] + scaled[100::100]) / 2)


@pytest.mark.parametrize(("n", "n_bins"), [(10, 3), (11, 4), (3, 5), (7, 7)])
def test_rows_are_dealt_out_as_array_split_does(n, n_bins):
    sizes = np.diff([0, *_cuts(np.ones(n), n_bins), n])
    expected = [len(part) for part in np.array_split(np.arange(n), n_bins) if len(part)]
    assert sizes.tolist() == expected


def test_equal_scores_belong_to_the_lower_bin():
    assert _cuts(np.array([3.0, 4.0, 3.0]), 2).tolist() == [2]
    scores = np.repeat([0.2, 0.5, 0.8], [3, 4, 3])
    fitted = ScalingBinningCalibrator(n_bins=2).fit(scores, np.arange(10) % 2).map_
    assert len(fitted.values) == 2


def test_infinite_log_odds_have_a_bin():
    z, y = [-np.inf, -2.0, -1.0, 1.0, 2.0, np.inf], [0, 0, 1, 0, 1, 1]
    p = ScalingBinningCalibrator(n_bins=6, scale="logit").fit(z, y).predict_proba(z)[:, 1]
    expected = LogisticCalibrator(label_smoothing=None, scale="logit").fit(z, y)
    np.testing.assert_allclose(p, expected.predict_proba(z)[:, 1])


def test_scores_that_are_inverted_get_one_probability():
    scores, y = np.linspace(0.1, 0.9, 50), np.repeat([1, 0, 1, 0], [20, 5, 5, 20])
    with pytest.warns(NonMonotoneWarning):
        p = ScalingBinningCalibrator().fit(scores, y).predict_proba(scores)[:, 1]
    np.testing.assert_allclose(p, 0.5)


def test_impossible_options_are_refused():
    with pytest.raises(InputError, match="n_bins must be an integer of at least 1"):
        ScalingBinningCalibrator(n_bins=0).fit([0.1, 0.9], [0, 1])
    with pytest.raises(InputError, match="scaling must be one of"):
        ScalingBinningCalibrator(scaling="isotonic").fit([0.1, 0.9], [0, 1])
