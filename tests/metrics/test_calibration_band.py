"""Bands with a guarantee."""

import numpy as np
import pytest

from trueodds.exceptions import InputError
from trueodds.metrics import calibration_band, reliability_curve


def sample(n, seed, truth=lambda x: x):
    rng = np.random.default_rng(seed)
    x = rng.random(n)
    return x, rng.random(n) < truth(x)


@pytest.mark.parametrize("n_cells", ["auto", 20, None])
def test_the_whole_curve_is_inside_more_often_than_promised(n_cells):
    def truth(x):
        return np.where(x < 0.5, 0.2, 0.3 + 0.6 * x)

    held = 0
    for seed in range(60):
        x, y = sample(150, seed, truth)
        low, high = calibration_band(y, x, level=0.5, n_cells=n_cells).interval(x)
        held += ((low <= truth(x)) & (truth(x) <= high)).all()
    assert held >= 30


def test_bounds_hold_between_scores_as_far_as_they_reach():
    x = np.repeat([0.2, 0.8], 100)
    y = np.arange(200) >= 100
    band = calibration_band(y, x)
    low, high = band.interval([0.0, 0.2, 0.5, 0.8, 1.0])
    assert low[0] == low[1] == low[2] == 0  # of the first, nothing is known from below
    assert high[2] == high[3] == high[4] == 1
    assert high[0] == high[1] < 0.1
    assert low[3] == low[4] > 0.9


def test_calibration_is_accepted_with_many_rows_only_and_never_if_wrong():
    x, y = sample(50_000, 0)
    band = calibration_band(y, x)
    assert not band.is_calibrated(tolerance=0.01)
    assert band.is_calibrated(tolerance=0.15)
    epsilon = band.max_error(0.1, 0.9)
    assert band.is_calibrated(tolerance=epsilon, between=(0.1, 0.9))
    assert not band.is_calibrated(tolerance=0.999 * epsilon, between=(0.1, 0.9))
    low, high = band.interval(x)
    inner = (x >= 0.1) & (x <= 0.9)
    worst = np.maximum(x - low, high - x)[inner].max()
    assert worst <= epsilon <= worst + 0.02
    x, y = sample(50_000, 0, lambda x: 0.8 * x)
    assert not calibration_band(y, x).is_calibrated(tolerance=0.15)


def test_a_curve_that_falls_is_found_out():
    x, y = sample(4000, 0, lambda x: 1 - x)
    band = calibration_band(y, x)
    assert band.is_nonmonotone
    assert not band.is_calibrated(tolerance=1.0)
    low, high = band.interval(np.linspace(0, 1, 50))
    assert (low <= high).all()
    x, y = sample(4000, 0)
    assert not calibration_band(y, x).is_nonmonotone


def test_counts_are_rows_and_importance_weights_are_refused():
    x, y = sample(300, 0)
    twice = calibration_band(np.tile(y, 2), np.tile(x, 2), n_cells=30)
    weighted = calibration_band(y, x, counts=np.full(300, 2), n_cells=30)
    np.testing.assert_array_equal(twice.lower, weighted.lower)
    np.testing.assert_array_equal(twice.upper, weighted.upper)
    with pytest.raises(InputError, match=r"a guaranteed band is one of counts.*pass it as counts"):
        reliability_curve(y, x, band="guaranteed", sample_weight=np.arange(1, 301))


def test_options_are_checked():
    x, y = sample(50, 0)
    with pytest.raises(InputError, match='n_cells must be "auto", None or an integer'):
        calibration_band(y, x, n_cells=0)
    with pytest.raises(InputError, match="level"):
        calibration_band(y, x, level=95)
    band = calibration_band(y, x)
    with pytest.raises(InputError, match="no probability lies between"):
        band.max_error(0.99999, 1.0)
    with pytest.raises(InputError, match="y_prob"):
        band.interval([1.5])


def test_several_classes_are_those_of_the_reliability_curve():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 2000)
    y = (p.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    assert calibration_band(y, p).event == "most probable class"
    own = calibration_band(y, p, pos_label=1)
    low, high = own.interval(p[:, 1])
    assert ((low <= p[:, 1]) & (p[:, 1] <= high)).all()


def test_a_reliability_curve_has_the_corners_of_the_band():
    x, y = sample(500, 0)
    curve = reliability_curve(y, x, band="guaranteed", level=0.8)
    band = calibration_band(y, x, level=0.8)
    assert curve.band_kind == "guaranteed"
    assert curve.band_x[0] == 0
    assert curve.band_x[-1] == 1
    assert (np.diff(curve.band_x) >= 0).all()
    assert (np.diff(curve.band_low) >= 0).all()
    assert (np.diff(curve.band_high) >= 0).all()
    # Within a step, the corners at either side are the bounds.
    middle = (curve.band_x[1:] + curve.band_x[:-1]) / 2
    inside = np.diff(curve.band_x) > 1e-9
    low, high = band.interval(middle[inside])
    np.testing.assert_array_equal(curve.band_low[:-1][inside], low)
    np.testing.assert_array_equal(curve.band_high[1:][inside], high)
