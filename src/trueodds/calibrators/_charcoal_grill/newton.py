"""A bounded Newton method for a handful of parameters and a function with saddle points."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats

__all__ = ["Derivatives", "NewtonResult", "minimize_bounded"]

Derivatives = Callable[[], tuple[Floats, Floats]]
Objective = Callable[[Floats], tuple[float, Derivatives]]

MAX_STEP = 1.5
"""No parameter moves further in one step: all are log-odds or logarithms."""


@dataclass(frozen=True)
class NewtonResult:
    """Where the solver stopped."""

    theta: Floats
    loss: float
    converged: bool
    n_iter: int


def minimize_bounded(
    objective: Objective,
    start: Floats,
    lower: Floats,
    upper: Floats,
    *,
    max_iter: int = 200,
    tolerance: float = 1e-11,
) -> NewtonResult:
    """Minimize by damped Newton steps with the absolute values of the Hessian's eigenvalues.

    The absolute values turn a saddle's downward direction into a descent direction. Parameters at
    a bound that the gradient pushes outwards are held there.

    Parameters
    ----------
    objective : callable
        θ → loss, and a function that gives gradient and Hessian: a third of all steps tried are
        refused, for their loss alone.
    start, lower, upper : ndarray
    max_iter : int, default=200
    tolerance : float, default=1e-11
        Stop when the predicted decrease of a step is less than this times (1 + loss).
    """
    theta = np.clip(start, lower, upper)
    loss, derivatives = objective(theta)
    damping = 1e-3
    for n_iter in range(max_iter):
        gradient, hessian = derivatives()
        held = ((theta <= lower) & (gradient > 0)) | ((theta >= upper) & (gradient < 0))
        free = np.flatnonzero(~held)
        if not len(free):
            return NewtonResult(theta, loss, True, n_iter)
        values, vectors = np.linalg.eigh(hessian[np.ix_(free, free)])
        size = np.abs(values)
        along = vectors.T @ gradient[free]
        top = float(size.max()) + 1e-300
        promise = float((along**2 / np.maximum(size, 1e-9 * top)).sum()) / 2
        if promise <= tolerance * (1 + abs(loss)):
            return NewtonResult(theta, loss, True, n_iter)
        while True:
            step = np.zeros_like(theta)
            step[free] = -vectors @ (along / (np.maximum(size, 1e-9 * top) + damping * top))
            longest = float(np.abs(step).max())
            if longest > MAX_STEP:
                step *= MAX_STEP / longest
            candidate = np.clip(theta + step, lower, upper)
            new_loss, new_derivatives = objective(candidate)
            moved = candidate - theta
            if new_loss <= loss + 1e-4 * min(0.0, float(gradient @ moved)) and new_loss < loss:
                break
            damping = max(damping * 8, 1e-9)
            if damping > 1e8:  # the loss cannot fall any further in float64
                return NewtonResult(theta, loss, promise <= 1e-6 * (1 + abs(loss)), n_iter)
        theta, loss, derivatives = candidate, new_loss, new_derivatives
        damping = damping / 8 if damping > 1e-12 else 0.0
    return NewtonResult(theta, loss, False, max_iter)
