"""The bounded Newton method on functions whose minimum is known."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, rosen, rosen_der, rosen_hess

from trueodds.calibrators._charcoal_grill.newton import MAX_STEP, minimize_bounded

OPEN = np.full(2, np.inf)


def as_objective(value, gradient, hessian, seen=None, derived=None):
    """The three functions as one that gives derivatives on demand."""

    def objective(theta):
        if seen is not None:
            seen.append(theta.copy())

        def derivatives():
            if derived is not None:
                derived.append(theta.copy())
            return gradient(theta), hessian(theta)

        return value(theta), derivatives

    return objective


def double_well(seen=None):
    """x⁴/4 − x²/2 + y²/2: minima at (±1, 0), a saddle at the origin."""
    return as_objective(
        lambda t: t[0] ** 4 / 4 - t[0] ** 2 / 2 + t[1] ** 2 / 2,
        lambda t: np.array([t[0] ** 3 - t[0], t[1]]),
        lambda t: np.diag([3 * t[0] ** 2 - 1, 1.0]),
        seen,
    )


ROSENBROCK = (rosen, rosen_der, rosen_hess)


def test_the_valley_of_rosenbrock_is_followed_to_its_end():
    found = minimize_bounded(as_objective(*ROSENBROCK), np.array([-1.2, 1.0]), -OPEN, OPEN)
    assert found.converged
    np.testing.assert_allclose(found.theta, 1, atol=1e-5)
    assert found.loss == rosen(found.theta)
    assert found.n_iter < 60


@pytest.mark.parametrize("seed", range(20))
def test_a_bounded_parabola_ends_where_karush_kuhn_and_tucker_say(seed):
    rng = np.random.default_rng(seed)
    design, right = rng.normal(size=(8, 4)), 3 * rng.normal(size=8)
    upper = rng.uniform(0.05, 0.5, 4)
    objective = as_objective(
        lambda t: np.sum((design @ t - right) ** 2) / 2,
        lambda t: design.T @ (design @ t - right),
        lambda t: design.T @ design,
    )
    found = minimize_bounded(objective, rng.normal(size=4), -upper, upper)
    assert found.converged
    expected = lsq_linear(design, right, (-upper, upper), method="bvls", tol=1e-14).x
    np.testing.assert_allclose(found.theta, expected, atol=1e-5)
    slope = design.T @ (design @ found.theta - right)
    inside = np.abs(found.theta) < upper
    assert np.abs(slope[inside]).max(initial=0) < 1e-4
    assert (slope[~inside] * np.sign(found.theta[~inside]) <= 0).all()


@pytest.mark.parametrize("side", [-1, 1])
def test_a_saddle_is_left_on_the_side_of_the_start(side):
    found = minimize_bounded(double_well(), np.array([side * 1e-3, 1.0]), -OPEN, OPEN)
    assert found.converged
    np.testing.assert_allclose(found.theta, [side, 0], atol=1e-5)
    assert found.loss == pytest.approx(-0.25)


def test_a_direction_that_bends_downwards_is_taken_at_the_length_of_its_curvature():
    seen = []
    minimize_bounded(double_well(seen), np.array([0.3, 0.0]), -OPEN, OPEN)
    # Slope 0.3³ − 0.3 and curvature 3·0.3² − 1, a little damped.
    assert seen[1][0] - 0.3 == pytest.approx(0.273 / 0.73, rel=1e-2)


def test_where_every_parameter_is_pushed_outwards_nothing_moves():
    objective = as_objective(np.sum, np.ones_like, lambda t: np.eye(2))
    found = minimize_bounded(objective, np.array([-3.0, 5.0]), np.zeros(2), np.array([1.0, 5.0]))
    np.testing.assert_array_equal(found.theta, [0, 0])
    assert found.converged
    start = minimize_bounded(objective, np.zeros(2), np.zeros(2), np.ones(2))
    assert (start.converged, start.n_iter) == (True, 0)


def test_no_step_leaves_the_bounds_or_is_longer_than_allowed():
    seen, derived = [], []
    lower, upper = np.array([-2.0, -0.5]), np.array([0.9, 3.0])
    found = minimize_bounded(
        as_objective(*ROSENBROCK, seen, derived), np.array([-9.0, 9.0]), lower, upper
    )
    assert found.converged
    np.testing.assert_allclose(found.theta, [0.9, 0.81], atol=1e-5)  # the valley at the bound
    assert (np.array(seen) >= lower).all()
    assert (np.array(seen) <= upper).all()
    assert np.abs(np.diff(derived, axis=0)).max() <= MAX_STEP
    losses = [rosen(theta) for theta in derived]
    assert (np.diff(losses) < 0).all()


def test_a_far_minimum_is_reached_by_steps_of_the_longest_length():
    objective = as_objective(
        lambda t: float(np.sum((t - 30) ** 2)), lambda t: 2 * (t - 30), lambda t: 2 * np.eye(2)
    )
    found = minimize_bounded(objective, np.zeros(2), -OPEN, OPEN)
    np.testing.assert_allclose(found.theta, 30, atol=1e-6)
    assert 20 <= found.n_iter <= 25


def test_derivatives_are_asked_for_only_where_a_step_was_taken():
    seen, derived = [], []
    found = minimize_bounded(
        as_objective(*ROSENBROCK, seen, derived), np.array([-1.2, 1.0]), -OPEN, OPEN
    )
    assert len(derived) == found.n_iter + 1
    assert len(seen) > len(derived)


def test_too_few_iterations_are_reported():
    found = minimize_bounded(
        as_objective(*ROSENBROCK), np.array([-1.2, 1.0]), -OPEN, OPEN, max_iter=3
    )
    assert not found.converged
    assert found.n_iter == 3
    assert found.loss < rosen([-1.2, 1.0])


def test_a_loss_that_does_not_fall_as_promised_is_left_where_it_is():
    # The gradient points uphill: no step can be accepted, and that is said.
    objective = as_objective(lambda t: float(t @ t), lambda t: -2 * t - 1, lambda t: np.eye(len(t)))
    found = minimize_bounded(objective, np.array([1.0, 1.0]), -OPEN, OPEN)
    assert not found.converged
    np.testing.assert_array_equal(found.theta, [1, 1])
