"""The temperature field: its weights, its limits, and its derivatives."""

import numpy as np
import pytest
from scipy.special import log_expit, softmax
from scipy.stats import norm

from trueodds.numerics.charcoal_grill import (
    Coals,
    Layout,
    coal_weights,
    evaluate,
    negative_log_likelihood,
)

LAYOUTS = [Layout(3, True, True), Layout(3, True, False), Layout(2, False, True), Layout(1, 0, 0)]
every_layout = pytest.mark.parametrize("layout", LAYOUTS, ids=str)
Z = np.linspace(-5, 5, 23)


def coals(n=3, seed=0):
    rng = np.random.default_rng(seed)
    return Coals(rng.normal(0, 2, n), rng.uniform(0.5, 3, n), rng.uniform(0.6, 2, n), -0.4)


def theta_of(layout):
    return layout.pack(coals(layout.n_coals))


def test_weights_are_those_of_gaussians_that_do_not_shrink_with_their_width():
    some = coals()
    heights = np.exp(
        [
            norm.logpdf(Z, mean, width) - norm.logpdf(mean, mean, width)
            for mean, width in zip(some.means, some.widths, strict=True)
        ]
    )
    weights = coal_weights(Z, some.means, some.widths)
    np.testing.assert_allclose(weights, heights / heights.sum(axis=0), rtol=1e-12)


def test_far_from_all_coals_the_nearest_or_widest_has_all_the_weight():
    far = np.array([-1e6, 1e6])
    same = coal_weights(far, np.array([-1.0, 1.0]), np.ones(2))
    np.testing.assert_array_equal(same, [[1, 0], [0, 1]])
    wider = coal_weights(far, np.array([-1.0, 1.0]), np.array([1.0, 2.0]))
    np.testing.assert_array_equal(wider, [[0, 0], [1, 1]])


def test_one_coal_divides_by_its_temperature_wherever_it_lies():
    for mean in (-3.0, 0.0, 100.0):
        one = Coals(np.array([mean]), np.array([2.5]), np.array([0.7]), 0.3)
        np.testing.assert_allclose(one.calibrated(Z), Z / 2.5 + 0.3, rtol=1e-14)


def test_coals_of_one_temperature_are_one_coal():
    some = coals()
    even = Coals(some.means, np.full(3, 1.7), some.widths, 0.0)
    np.testing.assert_allclose(even.calibrated(Z), Z / 1.7, rtol=1e-13)


def test_the_order_of_the_coals_does_not_matter():
    some, order = coals(), [2, 0, 1]
    other = Coals(some.means[order], some.temperatures[order], some.widths[order], some.bias)
    np.testing.assert_allclose(other.calibrated(Z), some.calibrated(Z), rtol=1e-13)


def test_a_field_in_other_units_is_the_same_field():
    some = coals()
    scaled = Coals(10 * some.means, 10 * some.temperatures, 10 * some.widths, some.bias)
    np.testing.assert_allclose(scaled.calibrated(10 * Z), some.calibrated(Z), rtol=1e-13)


@every_layout
def test_parameters_are_packed_and_unpacked(layout):
    theta = np.random.default_rng(1).normal(size=layout.size)
    assert len(theta_of(layout)) == layout.size
    np.testing.assert_allclose(layout.pack(layout.unpack(theta)), theta, atol=1e-15)
    some = layout.unpack(theta)
    assert (some.temperatures > 0).all()
    assert (some.widths > 0).all()
    if not layout.bias:
        assert some.bias == 0
    if not layout.fit_width:
        np.testing.assert_array_equal(some.widths, 1)


@every_layout
def test_the_value_of_a_field_is_that_of_its_coals(layout):
    theta = theta_of(layout)
    found = evaluate(Z, theta, layout)
    np.testing.assert_allclose(found.eta, layout.unpack(theta).calibrated(Z), rtol=1e-13)


@every_layout
def test_first_and_second_derivatives_agree_with_finite_differences(layout):
    theta, h = theta_of(layout), 1e-5
    residual = np.random.default_rng(1).normal(size=len(Z))
    found = evaluate(Z, theta, layout)
    around = [
        (evaluate(Z, theta + step, layout), evaluate(Z, theta - step, layout))
        for step in h * np.eye(layout.size)
    ]
    jacobian = [(up.eta - down.eta) / (2 * h) for up, down in around]
    np.testing.assert_allclose(found.jacobian, jacobian, atol=1e-8)
    field = [(up.field - down.field) / (2 * h) for up, down in around]
    np.testing.assert_allclose(found.field_jacobian, field, atol=1e-8)
    curvature = [(up.jacobian - down.jacobian) @ residual / (2 * h) for up, down in around]
    np.testing.assert_allclose(found.curvature(residual), curvature, atol=1e-7)


def test_the_loss_is_that_of_the_labels_and_does_not_overflow():
    rng = np.random.default_rng(0)
    eta, n_neg, n_pos = rng.normal(0, 3, 20), *rng.random((2, 20))
    expected = -(n_pos @ log_expit(eta) + n_neg @ log_expit(-eta))
    assert negative_log_likelihood(eta, n_neg, n_pos) == pytest.approx(expected, rel=1e-13)
    ends = np.array([-1e300, 1e300])
    assert negative_log_likelihood(ends, np.array([1.0, 0.0]), np.array([0.0, 1.0])) == 0
    assert negative_log_likelihood(ends, np.zeros(2), np.array([1.0, 0.0])) == 1e300


def test_a_coal_split_into_two_equals_leaves_the_field_as_it_was():
    one = Coals(np.array([1.0]), np.array([2.0]), np.array([0.8]), 0.3)
    same = one.split(0, apart=0.0, ratio=1.0)
    assert len(same.means) == 2
    np.testing.assert_allclose(same.calibrated(Z), one.calibrated(Z), rtol=1e-13)
    np.testing.assert_array_equal(one.means, [1.0])


def test_the_weights_of_a_softmax_of_distances_are_meant_and_not_of_heights():
    # The other reading of the paper's text, which differs by a factor of e at most.
    means, widths = np.array([-2.0, 2.0]), np.ones(2)
    z = np.array([2.0])
    heights = np.exp(-((z - means[:, None]) ** 2) / 2)
    assert coal_weights(z, means, widths)[1, 0] > 0.999 > softmax(heights, axis=0)[1, 0]


def test_splitting_a_coal_adds_one_next_to_it():
    coals = Coals(np.array([-1.0, 2.0]), np.array([1.0, 4.0]), np.ones(2), 0.0)
    split = coals.split(1, apart=1.0, ratio=4.0)
    np.testing.assert_allclose(split.means, [-1, 1.5, 2.5])
    np.testing.assert_allclose(split.temperatures, [1, 2, 8])
