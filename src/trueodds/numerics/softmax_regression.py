"""Temperature, vector and matrix scaling as one convex problem, solved by Newton's method.

All three minimise Σ w·(logsumexp(η) − y·η) over η = A(θ) with A linear: θ times the logits, one θ
per class and a bias, or a full matrix and a bias. They differ in A, its adjoint, and what stands in
for the inverse of the Hessian.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueodds.numerics.softmax_newton import (
    Operator,
    conjugate_gradient,
    diagonal_inverse,
    row_block_inverse,
    step_length,
)
from trueodds.validation import Floats

__all__ = [
    "MatrixModel",
    "SoftmaxFit",
    "SoftmaxModel",
    "TemperatureModel",
    "VectorModel",
    "fit_softmax",
]

GRADIENT_TOLERANCE = 1e-8
MAX_ITERATIONS = 200
INTERPOLATED = 0.01
"""Mean log-loss below which more parameters than rows are taken to have separated the classes."""
MOST_BLOCKS = 256
"""Classes up to which k matrices of size k + 1 are held, to solve for a step: 135 MB at most."""


class SoftmaxModel(ABC):
    """The linear operator from parameters to class scores, for fixed logits."""

    def __init__(self, logits: Floats, trainable: npt.NDArray[np.bool_]) -> None:
        self.logits = logits
        self.trainable = trainable.astype(np.float64)

    @property
    @abstractmethod
    def start(self) -> Floats:
        """The parameters that leave the logits as they are."""

    @abstractmethod
    def forward(self, theta: Floats) -> Floats:
        """η of shape (n, k); linear in theta."""

    @abstractmethod
    def adjoint(self, residual: Floats) -> Floats:
        """Σ_n residual·∂η/∂θ."""

    @abstractmethod
    def squared_adjoint(self, variance: Floats) -> Floats:
        """Σ_n variance·(∂η/∂θ)², for the diagonal of the Hessian."""

    @abstractmethod
    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:
        """What a SoftmaxMap stores."""

    @abstractmethod
    def free(self) -> Floats:
        """1 for parameters that are fitted, 0 for those of classes without instances."""

    def ridge(self) -> Floats:
        """The penalty's curvature for each parameter."""
        return np.zeros_like(self.start)

    def inverse(self, variance: Floats, diagonal: Floats) -> Operator:
        """What stands in for the inverse of the Hessian, whose diagonal is given."""
        return diagonal_inverse(diagonal)


class TemperatureModel(SoftmaxModel):
    """η = θ·logits, θ the inverse temperature."""

    @property
    def start(self) -> Floats:
        """Temperature 1."""
        return np.ones(1)

    def forward(self, theta: Floats) -> Floats:  # noqa: D102
        return np.asarray(theta[0] * self.logits)

    def adjoint(self, residual: Floats) -> Floats:  # noqa: D102
        return np.array([np.vdot(residual, self.logits)])

    def squared_adjoint(self, variance: Floats) -> Floats:  # noqa: D102
        return np.array([np.vdot(variance, self.logits**2)])

    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        k = self.logits.shape[1]
        return np.full(k, theta[0]), np.zeros(k)

    def free(self) -> Floats:  # noqa: D102
        return np.ones(1)


class VectorModel(SoftmaxModel):
    """η_k = θ_k·logit_k + bias_k; classes without instances keep θ = 1 and bias = 0."""

    @property
    def start(self) -> Floats:
        """Weights 1, biases 0."""
        k = self.logits.shape[1]
        return np.concatenate([np.ones(k), np.zeros(k)])

    def forward(self, theta: Floats) -> Floats:  # noqa: D102
        k = self.logits.shape[1]
        return self.logits * theta[:k] + theta[k:]

    def adjoint(self, residual: Floats) -> Floats:  # noqa: D102
        weights = np.einsum("nk,nk->k", residual, self.logits)
        return np.concatenate([weights, residual.sum(axis=0)]) * self.free()

    def squared_adjoint(self, variance: Floats) -> Floats:  # noqa: D102
        weights = np.einsum("nk,nk->k", variance, self.logits**2)
        return np.concatenate([weights, variance.sum(axis=0)])

    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        k = self.logits.shape[1]
        return theta[:k], theta[k:]

    def free(self) -> Floats:  # noqa: D102
        return np.tile(self.trainable, 2)


class MatrixModel(SoftmaxModel):
    """η = W·logits + bias; rows of classes without instances stay those of the identity."""

    def __init__(
        self,
        logits: Floats,
        trainable: npt.NDArray[np.bool_],
        off_diagonal_ridge: float = 0.0,
    ) -> None:
        super().__init__(logits, trainable)
        self.design = np.concatenate([logits, np.ones((len(logits), 1))], axis=1)
        self.off_diagonal_ridge = off_diagonal_ridge

    @property
    def start(self) -> Floats:
        """The identity matrix, biases 0."""
        k = self.logits.shape[1]
        return np.eye(k, k + 1).ravel()

    def forward(self, theta: Floats) -> Floats:  # noqa: D102
        k = self.logits.shape[1]
        return np.asarray(self.design @ theta.reshape(k, k + 1).T)

    def adjoint(self, residual: Floats) -> Floats:  # noqa: D102
        return np.asarray((residual * self.trainable).T @ self.design).ravel()

    def squared_adjoint(self, variance: Floats) -> Floats:  # noqa: D102
        return np.asarray(variance.T @ self.design**2).ravel()

    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        k = self.logits.shape[1]
        rows = theta.reshape(k, k + 1)
        return rows[:, :k].copy(), rows[:, k].copy()

    def free(self) -> Floats:  # noqa: D102
        return np.repeat(self.trainable, self.logits.shape[1] + 1)

    def ridge(self) -> Floats:
        """The ridge on weights from one class's logit to another's score."""
        k = self.logits.shape[1]
        off_diagonal = 1 - np.eye(k, k + 1)
        off_diagonal[:, k] = 0
        return self.off_diagonal_ridge * off_diagonal.ravel()

    def inverse(self, variance: Floats, diagonal: Floats) -> Operator:
        """The part of the Hessian within each class is inverted."""
        k = self.logits.shape[1]
        if k > MOST_BLOCKS:
            return diagonal_inverse(diagonal)
        return row_block_inverse(self.design, variance, self.ridge().reshape(k, k + 1))


@dataclass(frozen=True)
class SoftmaxFit:
    """Weights, bias, and how the solver ended."""

    theta: Floats
    weights: Floats
    bias: Floats
    loss: float
    converged: bool
    n_iter: int
    separates: bool


def fit_softmax(
    model: SoftmaxModel, targets: Floats, row_weight: Floats, start: Floats
) -> SoftmaxFit:
    """Minimise the weighted log-loss plus ½·Σ ridge·θ².

    Parameters
    ----------
    model : SoftmaxModel
    targets : ndarray of shape (n, k)
        Rows sum to 1; one-hot unless smoothed.
    row_weight : ndarray of shape (n,)
        Summing to 1.
    start : ndarray

    Returns
    -------
    SoftmaxFit
        ``separates`` tells that the solution gives every row's likeliest target the highest score:
        then, without ridge or smoothing, no finite optimum exists. With more parameters than rows
        it also tells that the rows are all but interpolated.
    """
    loss = _Loss(model, targets, row_weight)
    scale = np.sqrt(np.maximum(model.squared_adjoint(loss.column + 0 * targets), 1e-300))
    # Once the classes are separated, the loss falls for ever: there is nothing to converge to.
    unbounded = not loss.ridge.any() and bool((targets.max(axis=1) == 1).all())
    theta, eta, value = loss.scaled(start)
    converged = False
    n_iter = 0
    # With more parameters than rows, a few rows may stop the fall, but only far out and slowly.
    crowded = unbounded and len(start) >= len(targets)
    while n_iter < MAX_ITERATIONS:
        if (crowded and value < INTERPOLATED) or (unbounded and _separates(eta, targets)):
            break
        n_iter += 1
        p = _softmax(eta)
        gradient = loss.gradient(theta, p)
        size = float((np.abs(gradient) / (scale + loss.ridge * np.abs(theta))).max())
        if size <= GRADIENT_TOLERANCE / 10:
            converged = True
            break
        step = loss.newton_step(p, gradient)
        slope = float(gradient @ step)
        length = step_length(loss.along(theta, eta, step), slope)
        candidate = theta + length * step
        new_eta = model.forward(candidate)
        new_value = loss.value(candidate, new_eta)
        if not new_value <= value + 1e-4 * length * slope + 4e-16 * abs(value):
            converged = size <= GRADIENT_TOLERANCE
            break  # the loss cannot fall any further in float64
        theta, eta, value = candidate, new_eta, new_value
    weights, bias = model.weights_and_bias(theta)
    separates = (crowded and value < INTERPOLATED) or _separates(eta, targets)
    return SoftmaxFit(theta, weights, bias, value, converged, n_iter, separates)


class _Loss:
    """Weighted log-loss plus ½·Σ ridge·θ², with its derivatives."""

    def __init__(self, model: SoftmaxModel, targets: Floats, row_weight: Floats) -> None:
        self.model, self.targets, self.row_weight = model, targets, row_weight
        self.column = row_weight[:, None]
        self.ridge = model.ridge()

    def value(self, theta: Floats, eta: Floats) -> float:
        top = eta.max(axis=1)
        fit = np.log(np.exp(eta - top[:, None]).sum(axis=1)) + top
        fit -= np.einsum("nk,nk->n", self.targets, eta)
        return float(self.row_weight @ fit + self.ridge @ theta**2 / 2)

    def gradient(self, theta: Floats, p: Floats) -> Floats:
        return self.model.adjoint((p - self.targets) * self.column) + self.ridge * theta

    def scaled(self, theta: Floats) -> tuple[Floats, Floats, float]:
        """Temperature scaling of a start: the loss along θ is cheap, and most of the way."""
        eta = self.model.forward(theta)
        value = self.value(theta, eta)
        step = theta * self.model.free()
        slope = float(self.gradient(theta, _softmax(eta)) @ step)
        if slope == 0:
            return theta, eta, value
        step *= -np.sign(slope)
        moved = theta + step_length(self.along(theta, eta, step), -abs(slope)) * step
        new_eta = self.model.forward(moved)
        new_value = self.value(moved, new_eta)
        return (moved, new_eta, new_value) if new_value < value else (theta, eta, value)

    def newton_step(self, p: Floats, gradient: Floats) -> Floats:
        model, ridge = self.model, self.ridge
        weighted = p * self.column
        variance = weighted * (1 - p)

        def hessian_times(v: Floats) -> Floats:
            u = model.forward(v)
            u -= np.einsum("nk,nk->n", p, u)[:, None]
            u *= weighted
            return model.adjoint(u) + ridge * v

        diagonal = model.squared_adjoint(variance) + ridge
        inverse = model.inverse(variance, diagonal)
        return -conjugate_gradient(hessian_times, gradient, inverse, diagonal)

    def along(
        self, theta: Floats, eta: Floats, step: Floats
    ) -> Callable[[float], tuple[float, float]]:
        """Slope and curvature at a length of the step."""
        change = self.model.forward(step)
        fixed = float(self.ridge @ (theta * step))
        fixed -= float(self.row_weight @ np.einsum("nk,nk->n", self.targets, change))
        bend = float(self.ridge @ step**2)

        def slope_and_curvature(length: float) -> tuple[float, float]:
            p = _softmax(eta + length * change)
            mean = np.einsum("nk,nk->n", p, change)
            p *= change
            variance = np.einsum("nk,nk->n", p, change) - mean**2
            slope = float(self.row_weight @ mean) + fixed + bend * length
            return slope, float(self.row_weight @ variance) + bend

        return slope_and_curvature


def _softmax(eta: Floats) -> Floats:
    p = eta - eta.max(axis=1, keepdims=True)
    np.exp(p, out=p)
    p /= p.sum(axis=1, keepdims=True)
    return np.asarray(p)


def _separates(eta: Floats, targets: Floats) -> bool:
    rows = np.arange(len(eta))
    truth = targets.argmax(axis=1)
    own = eta[rows, truth]
    others = eta.copy()
    others[rows, truth] = -np.inf
    return bool((own > others.max(axis=1)).all())
