"""Newton's method on functions whose minimum is known another way."""

import numpy as np
import pytest
from scipy.optimize import nnls, rosen, rosen_der, rosen_hess

from trueodds.numerics.newton import MAX_HALVINGS, Point, minimize


class Function:
    """Three functions as a problem that records where it was evaluated."""

    def __init__(self, value, gradient, hessian, rounding=0.0):
        self.parts, self.rounding, self.seen = (value, gradient, hessian), rounding, []

    def at(self, theta):
        self.seen.append(theta)
        value, gradient, hessian = (part(theta) for part in self.parts)
        return Point(float(value), self.rounding, np.asarray(gradient), np.asarray(hessian))


def parabola(hessian, center):
    return Function(
        lambda t: (t - center) @ hessian @ (t - center) / 2,
        lambda t: hessian @ (t - center),
        lambda t: hessian,
    )


def double_well():
    """x⁴/4 − x²/2 + y²/2: minima at (±1, 0), a saddle at the origin."""
    return Function(
        lambda t: t[0] ** 4 / 4 - t[0] ** 2 / 2 + t[1] ** 2 / 2,
        lambda t: np.array([t[0] ** 3 - t[0], t[1]]),
        lambda t: np.diag([3 * t[0] ** 2 - 1, 1.0]),
    )


@pytest.mark.parametrize("rule", [{"gradient": 1e-8}, {"decrement": 1e-12}, {"step": 1e-8}])
def test_a_parabola_of_any_scale_takes_one_step(rule):
    hessian = np.array([[1e12, 3e5], [3e5, 1.0]])
    found = minimize(parabola(hessian, np.array([1e-6, 2.0])), np.zeros(2), **rule)
    assert found.converged
    assert found.n_iter <= 3
    np.testing.assert_allclose(found.theta, [1e-6, 2.0], rtol=1e-9)


@pytest.mark.parametrize("saddles", [False, True])
def test_the_valley_of_rosenbrock_is_followed_to_its_end(saddles):
    problem = Function(rosen, rosen_der, rosen_hess)
    found = minimize(problem, np.array([-1.2, 1.0]), gradient=1e-6, saddles=saddles)
    assert found.converged
    np.testing.assert_allclose(found.theta, 1, atol=1e-10)
    assert found.point.value == rosen(problem.seen[-1])


@pytest.mark.parametrize("side", [-1, 1])
def test_a_saddle_is_left_on_the_side_of_the_start(side):
    found = minimize(double_well(), np.array([side * 1e-3, 1.0]), step=1e-7, saddles=True)
    assert found.converged
    np.testing.assert_allclose(found.theta, [side, 0], atol=1e-12)


def test_a_saddle_is_no_minimum():
    assert not minimize(double_well(), np.zeros(2), step=1e-7, saddles=True).converged


def test_parameters_that_cannot_be_told_apart_get_the_shortest_step():
    hessian = np.array([[2.0, 2.0], [2.0, 2.0]])
    problem = parabola(hessian, np.array([3.0, 1.0]))
    np.testing.assert_allclose(minimize(problem, np.zeros(2), gradient=1e-9).theta, [2, 2])
    near = minimize(problem, np.zeros(2), gradient=1e-9, ridge=1e-9)
    np.testing.assert_allclose(near.theta, [2, 2], atol=1e-6)


@pytest.mark.parametrize("seed", range(20))
def test_a_bounded_parabola_ends_where_nonnegative_least_squares_does(seed):
    rng = np.random.default_rng(seed)
    design, right = rng.normal(size=(8, 4)), rng.normal(size=8)
    problem = Function(
        lambda t: np.sum((design @ t - right) ** 2) / 2,
        lambda t: design.T @ (design @ t - right),
        lambda t: design.T @ design,
    )
    found = minimize(problem, np.ones(4), decrement=1e-14, lower=np.zeros(4))
    assert found.converged
    np.testing.assert_allclose(found.theta, nnls(design, right)[0], atol=1e-8)
    assert (np.array(problem.seen) >= 0).all()


def test_no_step_is_longer_than_allowed():
    problem = parabola(np.eye(2), np.full(2, 30.0))
    found = minimize(problem, np.zeros(2), step=1e-9, longest=lambda _: 1.5)
    assert found.converged
    assert np.abs(np.diff(problem.seen, axis=0)).max() <= 1.5 + 1e-12
    assert 20 <= found.n_iter <= 23


def test_a_step_that_overshoots_is_halved():
    # √(1 + x²): whole steps from beyond 1 diverge.
    problem = Function(
        lambda t: np.sqrt(1 + t[0] ** 2),
        lambda t: t / np.sqrt(1 + t[0] ** 2),
        lambda t: np.array([[(1 + t[0] ** 2) ** -1.5]]),
    )
    found = minimize(problem, np.array([3.0]), gradient=1e-8)
    assert found.converged
    assert found.theta[0] == pytest.approx(0, abs=1e-12)
    assert len(problem.seen) > found.n_iter


@pytest.mark.parametrize(("stalled", "converged"), [(0.0, False), (10.0, True)])
def test_where_no_step_lowers_the_value_the_decrement_decides(stalled, converged):
    # The gradient points uphill.
    problem = Function(lambda t: t @ t, lambda t: -2 * t, lambda t: np.eye(2))
    found = minimize(problem, np.ones(2), gradient=1e-9, stalled=stalled)
    assert (found.converged, len(problem.seen)) == (converged, 1 + MAX_HALVINGS)
    np.testing.assert_array_equal(found.theta, 1)


def test_an_optimum_at_infinity_gets_no_long_last_step():
    problem = Function(
        lambda t: np.exp(-t[0]), lambda t: -np.exp(-t), lambda t: np.exp(-t)[:, None]
    )
    near = minimize(problem, np.zeros(1), gradient=1e-8, last_step=1e-3)
    far = minimize(problem, np.zeros(1), gradient=1e-8)
    assert far.theta[0] == pytest.approx(near.theta[0] + 1)
    gone = minimize(problem, np.zeros(1), gradient=1e-8, diverges=lambda at: at.value < 1e-3)
    assert not gone.converged
    assert gone.n_iter == 7


def test_too_few_iterations_are_reported():
    problem = Function(rosen, rosen_der, rosen_hess)
    found = minimize(problem, np.array([-1.2, 1.0]), gradient=1e-9, max_iter=3)
    assert (found.converged, found.n_iter) == (False, 3)
