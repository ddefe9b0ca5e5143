"""The parts of Newton's method for softmax regression: solving for a step, and how far to go."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from trueodds.inputs import Floats

__all__ = [
    "STEEPNESS_LEFT",
    "Operator",
    "conjugate_gradient",
    "diagonal_inverse",
    "principal_axes_inverse",
    "row_block_inverse",
    "step_length",
]

Operator = Callable[[Floats], Floats]

MAX_CONJUGATE_STEPS = 250
INEXACTNESS = 0.1
"""Far from the optimum a rough Newton step does as well as an exact one."""
BLOCK_RIDGE = 1e-9  # against the diagonal; keeps a block of linearly dependent logits invertible
STEEPNESS_LEFT = 0.1  # of the slope at the start of a step
MAX_LENGTHS = 25


def diagonal_inverse(diagonal: Floats) -> Operator:
    """Division by a diagonal; entries of no curvature give 0."""
    inverse = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300), 0.0)
    return lambda vector: inverse * vector


def row_block_inverse(design: Floats, variance: Floats, ridge: Floats) -> Operator:
    """The inverse of those parts of a matrix model's Hessian that lie within one class.

    Class k's part is Σ_n variance_nk·x_n·x_nᵀ. Logits of different classes go up and down together,
    so a diagonal alone leaves conjugate gradients hundreds of steps to do; with these parts a few
    are enough, because what remains between classes is small or of the same size.

    Parameters
    ----------
    design : ndarray of shape (d, n)
    variance : ndarray of shape (k, n)
    ridge : ndarray of shape (k, d)
    """
    n_blocks, size = ridge.shape
    blocks = np.empty((n_blocks, size, size))
    for block, row, extra in zip(blocks, variance, ridge, strict=True):
        scaled = design * np.sqrt(row)
        np.matmul(scaled, scaled.T, out=block)
        diagonal = np.einsum("ii->i", block)
        diagonal += extra
        unit = 1 / np.sqrt(np.maximum(diagonal, 1e-300))
        block *= unit
        block *= unit[:, None]
        diagonal += BLOCK_RIDGE
        diagonal[diagonal < 0.5] = 1.0  # no curvature at all
        block[...] = np.linalg.inv(block)
        block *= unit
        block *= unit[:, None]
    return lambda vector: np.matmul(blocks, vector.reshape(n_blocks, size, 1)).ravel()


def principal_axes_inverse(design: Floats, variance: Floats, ridge: Floats) -> Operator:
    """The same parts, each by its diagonal along the principal axes of the logits.

    The axes are those of all classes together, Σ_k variance_k, so the correlation of the logits is
    accounted for once; how much of a class lies along each axis is exact, and so is the ridge.
    Conjugate gradients take some dozens of steps. But this costs a few products of large matrices
    where :func:`row_block_inverse` costs k of them and k inverses, which is what takes the time
    with hundreds of classes, and holds no more than one row of numbers for each class.

    Parameters
    ----------
    design : ndarray of shape (d, n)
    variance : ndarray of shape (k, n)
    ridge : ndarray of shape (k, d)
    """
    together = (design * variance.sum(axis=0)) @ design.T
    unit = 1 / np.sqrt(np.maximum(np.einsum("ii->i", together), 1e-300))
    together *= unit
    together *= unit[:, None]
    axes = np.linalg.eigh(together)[1] * unit[:, None]
    along = axes.T @ design
    along *= along
    inverse = diagonal_inverse(variance @ along.T + ridge @ axes**2)
    return lambda vector: (inverse(vector.reshape(ridge.shape) @ axes) @ axes.T).ravel()


def conjugate_gradient(
    times: Operator, right: Floats, inverse: Operator, diagonal: Floats
) -> Floats:
    """Solve H·x = right, with an approximate inverse of H; stop where there is no curvature.

    Superlinear: the closer to the optimum, the more exactly a step is solved.
    """
    x = np.zeros_like(right)
    residual = right.copy()
    first = z = inverse(residual)
    direction = z.copy()
    rz = float(residual @ z)
    tolerance = rz * min(INEXACTNESS, np.sqrt(max(rz, 0.0))) ** 2
    for _ in range(min(MAX_CONJUGATE_STEPS, 2 * len(right))):
        product = times(direction)
        curvature = float(direction @ product)
        if curvature <= 1e-18 * float(direction @ (direction * diagonal)):
            break
        alpha = rz / curvature
        x += alpha * direction
        residual -= alpha * product
        z = inverse(residual)
        rz, previous = float(residual @ z), rz
        if rz <= tolerance:
            break
        direction = z + (rz / previous) * direction
    return x if x.any() else first


def step_length(
    slope_and_curvature: Callable[[float], tuple[float, float]],
    slope: float,
    left: float = STEEPNESS_LEFT,
) -> float:
    """How far to go along a direction in which a convex loss first falls with ``slope`` < 0.

    Until no more than ``left`` of the slope's size is left: by Newton's method within a bracket.
    Scores are linear in the parameters, so a trial costs no product with the design.
    """
    low, high, length = 0.0, np.inf, 1.0
    for _ in range(MAX_LENGTHS):
        here, curvature = slope_and_curvature(length)
        if abs(here) <= left * abs(slope):
            break
        if here > 0:
            high = length
        else:
            low = length
        newton = length - here / curvature if curvature > 0 else np.inf
        furthest = min(high, 4 * length)
        if not low < newton < furthest:
            newton = (low + high) / 2 if high < np.inf else furthest
        length = newton
    return length
