"""Margins of several classes on any scale that a float64 can hold."""

from __future__ import annotations

import numpy as np
import pytest

from trueodds import (
    CharcoalGrillCalibrator,
    MatrixCalibrator,
    TemperatureCalibrator,
    VectorCalibrator,
)
from trueodds.maps import CharcoalSoftmaxMap
from trueodds.metrics import log_loss
from trueodds.numerics.magnitude import spread_exponent

SIZES = [1e8, 1e12, 1e100, 1e300, 1e-8, 1e-12, 1e-100, 1e-300]
LARGE = [size for size in SIZES if size > 1]
AFFINE = [TemperatureCalibrator, VectorCalibrator, MatrixCalibrator]

every_size = pytest.mark.parametrize("size", SIZES)
every_scale = pytest.mark.parametrize("scale", ["raw", "logit"])


def margins(n=600, k=3, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    z = spread * rng.normal(size=(n, k))
    p = np.exp(z)
    p /= p.sum(axis=1, keepdims=True)
    return z, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def probabilities(calibrator, z, y):
    return calibrator.fit(z, y).predict_proba(z)


@every_scale
@every_size
@pytest.mark.parametrize("kind", AFFINE)
def test_margins_of_any_size_give_the_same_probabilities(kind, size, scale):
    z, y = margins()
    ordinary = probabilities(kind(scale=scale), z, y)
    np.testing.assert_allclose(probabilities(kind(scale=scale), size * z, y), ordinary, atol=1e-7)


@pytest.mark.parametrize("spread", [0.5, 1.0, 3.0, 6.0])
def test_the_temperature_is_proportional_to_the_size_of_the_margins(spread):
    for seed in range(4):
        z, y = margins(500, seed=seed, spread=spread)
        one = TemperatureCalibrator(scale="raw").fit(z, y).temperature_
        for size in (1e10, 1e12, 1e14, 1e16):
            found = TemperatureCalibrator(scale="raw").fit(size * z, y).temperature_
            assert found == pytest.approx(size * one, rel=1e-6)


@every_scale
@pytest.mark.parametrize("size", LARGE)
def test_charcoal_of_large_margins_is_at_least_as_good_as_temperature_scaling(size, scale):
    z, y = margins()
    temperature = log_loss(y, probabilities(TemperatureCalibrator(scale=scale), z, y))
    grill = log_loss(y, probabilities(CharcoalGrillCalibrator(scale=scale), size * z, y))
    assert temperature - 0.03 < grill < temperature


@every_scale
@pytest.mark.parametrize("size", [size for size in SIZES if size < 1])
def test_charcoal_of_small_margins_is_temperature_scaling_with_a_bias(size, scale):
    z, y = margins()
    one = CharcoalGrillCalibrator(scale=scale, n_components=1)
    expected = probabilities(one, z, y)
    grill = probabilities(CharcoalGrillCalibrator(scale=scale), size * z, y)
    np.testing.assert_allclose(grill, expected, atol=1e-4)


def test_scaling_by_a_power_of_two_changes_no_bit_of_the_probabilities():
    z, y = margins()
    for kind in (*AFFINE, CharcoalGrillCalibrator):
        large, larger = (
            probabilities(kind(scale="raw"), np.ldexp(z, shift), y) for shift in (60, 600)
        )
        np.testing.assert_array_equal(large, larger)


@pytest.mark.parametrize("kind", [*AFFINE, CharcoalGrillCalibrator])
def test_one_outlier_does_not_decide_the_scale(kind):
    z, y = margins()
    ordinary = log_loss(y, probabilities(kind(scale="raw"), z, y))
    z[0, y[0]] = 1e300  # rightly sure
    assert spread_exponent(z) == 0
    p = probabilities(kind(scale="raw"), z, y)
    np.testing.assert_allclose(p[0], np.eye(3)[y[0]], atol=1e-12)
    assert log_loss(y, p) < ordinary + 0.05


def test_the_ridge_acts_on_the_weights_of_the_map():
    # Weights that large margins need are far too small for a ridge to hold back.
    z, y = margins()
    free = probabilities(MatrixCalibrator(scale="raw", ridge=0.0), z, y)
    held = probabilities(MatrixCalibrator(scale="raw", ridge=1.0), 1e9 * z, y)
    np.testing.assert_allclose(held, free, atol=1e-7)
    small = np.abs(MatrixCalibrator(scale="raw", ridge=1.0).fit(1e-200 * z, y).map_.weights)
    assert (small - np.diag(np.diag(small))).max() < 1e-90 * np.diag(small).min()


@pytest.mark.parametrize("size", [1e8, 1e300])
def test_infinitely_low_logits_beside_large_ones_get_a_probability(size):
    z, y = margins()
    logits = size * z
    lowest = z.argmin(axis=1)
    logits[np.arange(0, 600, 3), lowest[::3]] = -np.inf
    for kind in (*AFFINE, CharcoalGrillCalibrator):
        p = probabilities(kind(scale="logit"), logits, y)
        assert np.isfinite(p).all()
        assert log_loss(y, p) < 0.75


def test_classes_that_large_margins_rank_the_wrong_way_round_get_even_probabilities():
    z, y = margins()
    with pytest.warns(match="rank the classes in reverse"):
        p = probabilities(CharcoalGrillCalibrator(scale="raw"), -1e12 * z, y)
    np.testing.assert_allclose(p, 1 / 3, atol=1e-4)


@pytest.mark.parametrize("size", SIZES)
def test_a_map_of_extreme_margins_is_exported_as_it_is(size):
    z, y = margins(200)
    fitted = CharcoalGrillCalibrator(scale="raw").fit(size * z, y).map_
    names: dict = {}
    exec(fitted.to_python(), names)  # noqa: S102
    exported = np.array([names["calibrate"](row) for row in (size * z).tolist()])
    np.testing.assert_allclose(exported, fitted(size * z), atol=1e-9)


def test_scores_that_have_no_square_are_still_calibrated():
    grill = CharcoalSoftmaxMap(
        means=[[0, -3, -3], [-1, -1, -1]],
        temperatures=[2, 1],
        widths=[1, 1],
        bias=[0, 0, 0],
        floor=-1e307,
        scale="logit",
    )
    np.testing.assert_array_equal(grill([[1e300, 0.0, -1e300]]), [[1, 0, 0]])
