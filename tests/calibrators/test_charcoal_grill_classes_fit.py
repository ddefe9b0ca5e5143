"""Coals of several classes: the penalized loss and the path of fits."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from support.grill_examples import overconfident_classes
from trueodds.calibrators._charcoal_grill.classes_fit import (
    PULL,
    RIDGE,
    _ClassCoalProblem,
    choose_class_coals,
    fit_class_path,
)
from trueodds.numerics.charcoal_grill import ClassCoals, CoalRows, loss_and_gradient

K = 3
OPTIONS = {"bias": True, "fit_width": False, "lam": 1e-2}


def rows(n=300, seed=0, even=False):
    """Too sure everywhere, and more so where surest; or, if even, right as they are."""
    if even:
        rng = np.random.default_rng(seed)
        logs = log_softmax(2 * rng.normal(size=(n, K)), axis=1)
        codes = (np.exp(logs).cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    else:
        logits, codes = overconfident_classes(n, K, seed)
        logs = log_softmax(logits, axis=1)
    return CoalRows(logs, codes, np.ones(n), np.zeros(n), np.ones(n), np.ones(K, bool))


def temperature_scaling(data):
    """ln T₀ and its loss, by a search."""

    def loss(log_temperature):
        log_p = log_softmax(data.logs / np.exp(log_temperature), axis=1)
        return -data.weight @ log_p[np.arange(len(data.codes)), data.codes]

    found = minimize_scalar(loss, bounds=(-3, 3), method="bounded", options={"xatol": 1e-9})
    return float(found.x), float(found.fun)


def problem(data, **options):
    return _ClassCoalProblem(data, temperature_scaling(data)[0], **(OPTIONS | options))


def some_coals(n=2):
    rng = np.random.default_rng(1)
    return ClassCoals(
        rng.normal(-2, 1, (n, K)), rng.uniform(1, 2, n), rng.uniform(0.7, 2, n), rng.normal(size=K)
    )


@pytest.mark.parametrize("fit_width", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_parameters_are_packed_and_unpacked(bias, fit_width):
    task = problem(rows(50), bias=bias, fit_width=fit_width)
    coals = some_coals()
    again = task.unpack(task.pack(coals), 2)
    np.testing.assert_allclose(again.means, coals.means, rtol=1e-12)
    np.testing.assert_allclose(again.temperatures, coals.temperatures, rtol=1e-12)
    np.testing.assert_allclose(again.widths, coals.widths if fit_width else 1)
    np.testing.assert_allclose(again.bias, coals.bias if bias else 0)


@pytest.mark.parametrize("fit_width", [False, True])
@pytest.mark.parametrize("bias", [False, True])
def test_the_gradient_of_the_penalized_loss_agrees_with_finite_differences(bias, fit_width):
    task = problem(rows(50), bias=bias, fit_width=fit_width, lam=0.3)
    theta, h = task.pack(some_coals()), 1e-6
    _, gradient = task.objective(theta, 2)
    for i, step in enumerate(h * np.eye(len(theta))):
        up, down = (task.objective(theta + sign * step, 2)[0] for sign in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(gradient[i], abs=1e-5)


def test_the_penalty_is_that_of_the_stated_priors():
    data = rows(50)
    free, held = problem(data, lam=0.0), problem(data, lam=0.3)
    coals = some_coals()
    theta = held.pack(coals)
    share = data.weight / data.weight.sum()
    middle = share @ data.logs
    scale = np.sqrt(share @ np.sum((data.logs - middle) ** 2, axis=1))
    away = np.log(coals.temperatures) - held.log_temperature
    expected = 0.3 * PULL * np.sum(away**2) + 0.3 * RIDGE * (
        np.sum(((coals.means - middle) * scale) ** 2) + np.sum(coals.bias**2)
    )
    added = held.objective(theta, 2)[0] - free.objective(theta, 2)[0]
    assert added == pytest.approx(expected)
    # λ = 0.01 is a normal prior of variance ½ on ln T, and a standard normal one on the rest.
    assert (0.01 * PULL, 0.01 * RIDGE) == (1 / (2 * 0.5), 1 / (2 * 1.0))


def test_one_coal_without_bias_is_temperature_scaling():
    data = rows()
    log_temperature, least = temperature_scaling(data)
    (one,) = fit_class_path(data, 1, log_temperature, bias=False, fit_width=False, lam=1e-2)
    assert one.loss == pytest.approx(least, rel=1e-12)
    assert one.coals.temperatures[0] == pytest.approx(np.exp(log_temperature))


def test_one_coal_with_a_bias_is_at_its_optimum():
    data = rows()
    log_temperature, least = temperature_scaling(data)
    (one,) = fit_class_path(data, 1, log_temperature, bias=True, fit_width=False, lam=1e-2)
    assert one.loss <= least
    task = problem(data)
    _, gradient = task.objective(task.pack(one.coals), 1)
    assert np.abs(gradient[K:]).max() < 0.05  # of a sum over 300 rows


def test_losses_never_grow_along_the_path_and_two_coals_see_what_one_cannot():
    data = rows()
    path = fit_class_path(data, 3, temperature_scaling(data)[0], **OPTIONS)
    losses = [fit.loss for fit in path]
    assert (np.diff(losses) <= 0).all()
    assert losses[1] < losses[0] - 1
    for fit in path:
        assert fit.loss == pytest.approx(loss_and_gradient(data, fit.coals)[0], rel=1e-12)
        np.testing.assert_array_equal(fit.coals.widths, 1)


def test_a_solution_is_a_minimum_of_the_penalized_loss():
    data = rows()
    task = problem(data)
    start = next(task.starts(task.one_coal(), 2))
    found = task.solve(start, max_iter=500)
    theta = task.pack(found.coals)
    value, gradient = task.objective(theta, 2)
    assert value < task.objective(task.pack(start), 2)[0]
    assert np.abs(gradient).max() < 0.05
    rng = np.random.default_rng(0)
    for _ in range(20):
        assert task.objective(theta + 0.1 * rng.normal(size=len(theta)), 2)[0] > value


def test_starts_are_as_many_coals_as_asked_for_around_the_middle_row():
    task = problem(rows())
    hot, cold = task.starts(task.one_coal(), 2)
    np.testing.assert_allclose(hot.means.mean(axis=0), task.middle)
    np.testing.assert_allclose(hot.temperatures, cold.temperatures[::-1])
    # Three from two: the coal that is furthest from temperature scaling is split.
    fewer = replace(hot, temperatures=np.exp(task.log_temperature + np.array([0.1, -0.5])))
    (split,) = task.starts(fewer, 3)
    np.testing.assert_allclose(split.means[0], hot.means[0])
    np.testing.assert_allclose(split.means[1:].mean(axis=0), hot.means[1])
    assert (split.means[1] < split.means[2]).all()
    np.testing.assert_allclose(split.temperatures, fewer.temperatures[[0, 1, 1]])


def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter():
    data = rows(150)
    rng = np.random.default_rng(1)
    times = rng.integers(1, 3, 150)
    order = rng.permutation(np.repeat(np.arange(150), times))
    weighted = replace(data, weight=times.astype(float))
    log_temperature, _ = temperature_scaling(weighted)
    found, same = (
        fit_class_path(each, 2, log_temperature, **OPTIONS)[-1]
        for each in (weighted, data.take(order))
    )
    assert same.loss == pytest.approx(found.loss, rel=1e-5)


def test_a_class_without_instances_keeps_a_bias_of_zero():
    data = rows()
    seen = data.take(np.flatnonzero(data.codes != 1))
    seen = replace(seen, present=np.array([True, False, True]))
    path = fit_class_path(seen, 2, temperature_scaling(seen)[0], **OPTIONS)
    assert all(fit.coals.bias[1] == 0 for fit in path)
    assert (path[1].coals.bias[[0, 2]] != 0).all()


def test_one_coal_is_chosen_where_one_is_enough_and_two_where_not():
    for even, expected in ((True, 1), (False, 2)):
        data = rows(400 if even else 800, even=even)
        found = choose_class_coals(data, 2, temperature_scaling(data)[0], **OPTIONS)
        assert found == expected


def test_too_few_rows_for_folds_leave_one_coal():
    data = rows(1)
    assert choose_class_coals(data, 2, 0.0, **OPTIONS) == 1
