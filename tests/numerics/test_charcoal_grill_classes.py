"""Charcoal Grill Scaling of several classes: the loss against a loop, its gradient, invariances."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from trueodds.numerics import charcoal_grill
from trueodds.numerics.charcoal_grill import (
    ClassCoals,
    CoalRows,
    class_coal_weights,
    loss_and_gradient,
)

NAMES = ["means", "temperatures", "widths", "bias"]
N, K, COALS = 40, 4, 3


@pytest.fixture(autouse=True)
def _several_blocks(monkeypatch):
    monkeypatch.setattr(charcoal_grill, "BLOCK_VALUES", 60)  # 15 rows each


def rows(smoothing=0.1):
    rng = np.random.default_rng(0)
    return CoalRows(
        np.log(rng.dirichlet(np.ones(K), N)),
        rng.integers(0, K, N),
        np.full(N, 1 - smoothing),
        np.full(N, smoothing / (K - 1)),
        rng.uniform(0.5, 2, N),
        np.ones(K, bool),
    )


def coals():
    rng = np.random.default_rng(1)
    return ClassCoals(
        rng.normal(-1, 1, (COALS, K)),
        rng.uniform(0.5, 2, COALS),
        rng.uniform(0.7, 2, COALS),
        rng.normal(size=K),
    )


def naive_loss(data, some):
    """Equation 12 with vectors as means, one row at a time."""
    total = 0.0
    for logs, code, own, other, weight in zip(
        data.logs, data.codes, data.own, data.other, data.weight, strict=True
    ):
        distance = np.array([np.linalg.norm(logs - mean) for mean in some.means])
        at = softmax(-(distance**2) / (2 * some.widths**2))
        log_p = log_softmax(logs / (at @ some.temperatures) + some.bias)
        target = np.full(K, other)
        target[code] = own
        total -= weight * target @ log_p
    return total


def gradient(data, some):
    return loss_and_gradient(data, some)[1]


def test_weights_and_distances_are_those_of_each_row():
    data, some = rows(), coals()
    weights, distance = class_coal_weights(data.logs, data.squares, some)
    expected = np.array([[np.sum((row - mean) ** 2) for mean in some.means] for row in data.logs])
    np.testing.assert_allclose(distance, expected, atol=1e-12)
    np.testing.assert_allclose(
        weights, softmax(-expected / (2 * some.widths**2), axis=1), atol=1e-13
    )


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_is_that_of_each_row_by_itself(smoothing):
    data = rows(smoothing)
    assert loss_and_gradient(data, coals())[0] == pytest.approx(naive_loss(data, coals()))


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("name", NAMES)
def test_the_gradient_agrees_with_finite_differences(name, smoothing):
    data, some, h = rows(smoothing), coals(), 1e-6
    value, found = getattr(some, name), getattr(gradient(data, some), name)
    for index in np.ndindex(value.shape):
        step = np.zeros_like(value)
        step[index] = h
        up, down = (
            loss_and_gradient(data, replace(some, **{name: value + sign * step}))[0]
            for sign in (1, -1)
        )
        assert (up - down) / (2 * h) == pytest.approx(found[index], abs=1e-6)


def test_rows_in_one_block_or_in_many_give_the_same(monkeypatch):
    loss, slope = loss_and_gradient(rows(), coals())
    monkeypatch.setattr(charcoal_grill, "BLOCK_VALUES", 1 << 16)
    whole, same = loss_and_gradient(rows(), coals())
    assert whole == pytest.approx(loss, rel=1e-14)
    for name in NAMES:
        np.testing.assert_allclose(getattr(same, name), getattr(slope, name), atol=1e-12)


def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter():
    rng = np.random.default_rng(2)
    times = rng.integers(0, 4, N)
    weighted = replace(rows(), weight=times.astype(float))
    order = rng.permutation(np.repeat(np.arange(N), times))
    repeated = replace(rows(), weight=np.ones(N)).take(order)
    loss, slope = loss_and_gradient(weighted, coals())
    again, same = loss_and_gradient(repeated, coals())
    assert again == pytest.approx(loss, rel=1e-13)
    for name in NAMES:
        np.testing.assert_allclose(getattr(same, name), getattr(slope, name), atol=1e-11)


def test_one_coal_is_temperature_scaling_with_a_bias():
    data, bias = rows(0.0), np.array([0.3, -0.2, 0.0, 1.0])
    one = ClassCoals(np.zeros((1, K)), np.array([1.7]), np.ones(1), bias)
    log_p = log_softmax(data.logs / 1.7 + bias, axis=1)[np.arange(N), data.codes]
    loss, slope = loss_and_gradient(data, one)
    assert loss == pytest.approx(-data.weight @ log_p)
    np.testing.assert_allclose(slope.means, 0, atol=1e-12)  # where it lies does not matter
    np.testing.assert_allclose(slope.widths, 0, atol=1e-12)


def test_the_order_of_the_classes_and_of_the_coals_does_not_matter():
    data, some = rows(), coals()
    order, places = np.array([2, 0, 3, 1]), np.array([1, 2, 0])
    other = replace(data, logs=data.logs[:, order], codes=np.argsort(order)[data.codes])
    moved = ClassCoals(
        some.means[places][:, order],
        some.temperatures[places],
        some.widths[places],
        some.bias[order],
    )
    loss, slope = loss_and_gradient(data, some)
    again, same = loss_and_gradient(other, moved)
    assert again == pytest.approx(loss, rel=1e-13)
    np.testing.assert_allclose(same.means, slope.means[places][:, order], atol=1e-11)
    np.testing.assert_allclose(same.bias, slope.bias[order], atol=1e-11)


def test_the_bias_of_a_class_without_instances_is_held():
    data = replace(rows(), present=np.array([True, False, True, True]))
    found = gradient(data, coals())
    assert found.bias[1] == 0
    np.testing.assert_array_equal(found.bias[[0, 2, 3]], gradient(rows(), coals()).bias[[0, 2, 3]])
    assert gradient(rows(), coals()).bias[1] != 0


def test_logarithms_far_below_zero_give_finite_losses():
    data = replace(rows(), logs=1e6 * rows().logs)
    loss, slope = loss_and_gradient(data, coals())
    assert np.isfinite(loss)
    assert all(np.isfinite(getattr(slope, name)).all() for name in NAMES)
