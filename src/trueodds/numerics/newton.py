"""Newton's method for a handful of parameters: step, line search and stopping rule.

A *problem* returns a *point* for every vector of parameters: the value to be minimized, its
rounding error, gradient and Hessian. Likelihoods, squared errors and penalized likelihoods are
such problems; they differ in what a point is and in the tolerances.

*Step.* The Hessian is scaled to a diagonal of 1 before the equations are solved. Directions that
the data does not determine get the shortest step, or a ridge. Where a function may curve down, the
absolute values of the Hessian's eigenvalues turn a saddle into a descent.

*Line search.* Steps are halved until the value does not rise by more than its rounding error.

*Bounds.* Parameters at a bound that the gradient pushes outwards are held there, and steps are
projected onto the bounds. This is the method of Bertsekas (1982), Projected Newton methods for
optimization problems with simple constraints, SIAM Journal on Control and Optimization 20.

Five solvers are not built on it:

- :mod:`trueodds.kernels.laplace` fits many models with one design in compiled code. Each starts
  with the Hessian of the model before.
- :class:`trueodds.numerics.level_search.ManyRegressions` solves many small problems at once, as
  arrays with one more axis. One problem after the other would take many times as long.
- :mod:`trueodds.numerics.softmax.regression` solves for the step by conjugate gradients: the
  Hessian of hundreds of parameters is never formed.
- :mod:`trueodds.numerics.structured_softmax` keeps a factor of the Hessian for several steps,
  because a gradient costs a small part of a Hessian.
- :mod:`trueodds.calibrators._charcoal_grill` damps its steps instead of halving them. Its loss has
  many minima, and another way of shortening steps ends in other ones.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

import numpy as np

from trueodds.inputs import Floats

__all__ = ["Minimum", "Point", "Problem", "minimize", "scaled_to_unit_diagonal"]

MAX_HALVINGS = 40
DISTINCT = 1e-8  # determinant of a scaled Hessian above which parameters can be told apart
RANK_TOLERANCE = 1e-14  # singular values, relative to the largest, of parameters that cannot
SINGULAR = 1e-13  # eigenvalues, relative to the largest, of parameters that do not matter


@dataclass(frozen=True, slots=True)
class Point:
    """Value, its rounding error, gradient and Hessian."""

    value: float
    rounding: float
    gradient: Floats
    hessian: Floats


P = TypeVar("P", bound=Point)
P_co = TypeVar("P_co", bound=Point, covariant=True)


class Problem(Protocol[P_co]):
    """A twice differentiable function of few parameters."""

    def at(self, theta: Floats) -> P_co:
        """Value and derivatives."""


@dataclass(frozen=True, slots=True)
class Minimum(Generic[P]):
    """Where the solver stopped.

    Parameters
    ----------
    theta : ndarray of shape (k,)
    point : Point
        The last one evaluated, one short step before ``theta`` if converged.
    converged : bool
    n_iter : int
    """

    theta: Floats
    point: P
    converged: bool
    n_iter: int


def minimize(
    problem: Problem[P],
    start: Floats,
    *,
    gradient: float = 0.0,
    decrement: float = 0.0,
    step: float = 0.0,
    last_step: float = np.inf,
    stalled: float = 0.0,
    longest: Callable[[Floats], float] | None = None,
    lower: Floats | None = None,
    ridge: float = 0.0,
    saddles: bool = False,
    diverges: Callable[[P], bool] | None = None,
    max_iter: int = 100,
) -> Minimum[P]:
    """Minimize a function of few parameters.

    It has converged where one of the tolerances ``gradient``, ``decrement`` and ``step`` is
    reached. One more step is taken then, which squares the error.

    Parameters
    ----------
    problem : Problem
    start : ndarray of shape (k,)
    gradient : float, default=0
        Tolerance of the gradient's largest component.
    decrement : float, default=0
        Tolerance of −gradient·step, twice the predicted gain of the step.
    step : float, default=0
        Tolerance of the step's largest component, relative to 1 + the largest parameter.
    last_step : float, default=inf
        Longest last step that is taken, in the same unit. A long one indicates an optimum at
        infinity.
    stalled : float, default=0
        Decrement below which a point has converged if no step decreases the value in float64.
    longest : callable, default=None
        Parameters -> largest component that a step may have.
    lower : ndarray of shape (k,), default=None
        Lower bounds.
    ridge : float, default=0
        Added to the scaled Hessian's diagonal of 1. Without it, a singular Hessian is solved by
        least squares, which takes longer with many parameters.
    saddles : bool, default=False
        Whether the function may curve down. A point has converged only if it does not there.
    diverges : callable, default=None
        Point -> whether it lies on the way to infinity; the search ends there.
    max_iter : int, default=100
    """
    theta, point, n_iter = start, problem.at(start), 0
    while n_iter < max_iter and not (diverges is not None and diverges(point)):
        n_iter += 1
        slope, convex = point.gradient, True
        if lower is not None:
            move = _step_within(theta, point, lower, ridge)
        elif saddles:
            move, convex = _step_off_saddles(slope, point.hessian)
        else:
            move = -_solve(point.hessian, slope, ridge)
        if (
            _largest(slope) <= gradient
            or (decrement and -float(slope @ move) <= decrement)
            or (step and _largest(move) <= step * (1 + _largest(theta)))
        ):
            if last_step == np.inf or _largest(move) <= last_step * (1 + _largest(theta)):
                theta = _bounded(theta + move, lower)
            return Minimum(theta, point, convex, n_iter)
        if longest is not None:
            move = move * min(1.0, longest(theta) / _largest(move))
        whole = move
        for _ in range(MAX_HALVINGS):
            candidate = _bounded(theta + move, lower)
            ahead = problem.at(candidate)
            if ahead.value <= point.value + ahead.rounding:
                break
            move = move / 2
        else:  # the value cannot fall any further in float64
            return Minimum(theta, point, -float(slope @ whole) < stalled, n_iter)
        theta, point = candidate, ahead
    return Minimum(theta, point, False, n_iter)


LONGEST = 1e300
"""Largest component of a step."""


def scaled_to_unit_diagonal(hessian: Floats) -> tuple[Floats, Floats]:
    """The Hessian with a diagonal of 1, and the roots of the diagonal that it had."""
    size = np.sqrt(np.maximum(hessian.diagonal(), 1e-300))
    return hessian / size / size[:, None], size


def _largest(vector: Floats) -> float:
    return float(np.abs(vector).max())


def _bounded(theta: Floats, lower: Floats | None) -> Floats:
    return theta if lower is None else np.maximum(theta, lower)


def _solve(hessian: Floats, right: Floats, ridge: float) -> Floats:
    """H⁻¹·right; what cannot be told apart gets the shortest solution."""
    scaled, size = scaled_to_unit_diagonal(hessian)
    if ridge:
        scaled += ridge * np.eye(len(size))
    with np.errstate(over="ignore"):  # where the curvature vanishes
        if ridge or np.linalg.det(scaled) > DISTINCT:
            step = np.linalg.solve(scaled, right / size) / size
        else:
            try:
                step = np.linalg.lstsq(scaled, right / size, rcond=RANK_TOLERANCE)[0] / size
            except np.linalg.LinAlgError:  # numbers beyond float64 determine nothing
                return np.zeros_like(right)
    return np.clip(step, -LONGEST, LONGEST)


def _step_within(theta: Floats, point: Point, lower: Floats, ridge: float) -> Floats:
    free = np.flatnonzero((theta > lower) | (point.gradient < 0))
    move = np.zeros_like(theta)
    move[free] = -_solve(point.hessian[np.ix_(free, free)], point.gradient[free], ridge)
    return move


def _step_off_saddles(gradient: Floats, hessian: Floats) -> tuple[Floats, bool]:
    """The step, and whether the function curves up in all directions that matter."""
    values, vectors = np.linalg.eigh(hessian)
    matters = np.abs(values) > SINGULAR * np.abs(values).max()
    along = vectors[:, matters]
    move = -along @ ((along.T @ gradient) / np.abs(values[matters]))
    return move, bool((values[matters] > 0).all())
