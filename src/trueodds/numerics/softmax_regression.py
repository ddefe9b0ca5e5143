"""Temperature, vector and matrix scaling as one convex problem, solved by Newton's method.

All three minimise Σ w·(logsumexp(η) − y·η) over η = A(θ) with A linear: θ times the logits, one θ
per class and a bias, or a full matrix and a bias. They differ in A and its adjoint only.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import logsumexp

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
MAX_CONJUGATE_STEPS = 250


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

    def ridge(self) -> Floats:
        """The penalty's curvature for each parameter."""
        return np.zeros_like(self.start)


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
        return np.concatenate([weights, residual.sum(axis=0)]) * np.tile(self.trainable, 2)

    def squared_adjoint(self, variance: Floats) -> Floats:  # noqa: D102
        weights = np.einsum("nk,nk->k", variance, self.logits**2)
        return np.concatenate([weights, variance.sum(axis=0)])

    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        k = self.logits.shape[1]
        return theta[:k], theta[k:]


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

    def ridge(self) -> Floats:
        """The ridge on weights from one class's logit to another's score."""
        k = self.logits.shape[1]
        off_diagonal = 1 - np.eye(k, k + 1)
        off_diagonal[:, k] = 0
        return self.off_diagonal_ridge * off_diagonal.ravel()


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
        then, without ridge or smoothing, no finite optimum exists.
    """
    ridge = model.ridge()
    column = row_weight[:, None]

    def loss_of(eta: Floats, theta: Floats) -> float:
        fit = logsumexp(eta, axis=1) - np.einsum("nk,nk->n", targets, eta)
        return float(row_weight @ fit + ridge @ theta**2 / 2)

    scale = _scale(model, row_weight)
    # Once the classes are separated, the loss falls for ever: there is nothing to converge to.
    unbounded = not ridge.any() and bool((targets.max(axis=1) == 1).all())
    theta = start
    eta = model.forward(theta)
    loss = loss_of(eta, theta)
    converged = False
    n_iter = 0
    while n_iter < MAX_ITERATIONS:
        n_iter += 1
        p = np.exp(eta - logsumexp(eta, axis=1, keepdims=True))
        residual = (p - targets) * column
        gradient = model.adjoint(residual) + ridge * theta
        size = float((np.abs(gradient) / (scale + ridge * np.abs(theta))).max())
        if size <= GRADIENT_TOLERANCE / 10:
            converged = True
            break
        curvature = model.squared_adjoint(p * (1 - p) * column) + ridge

        def hessian_times(v: Floats, p: Floats = p) -> Floats:
            u = model.forward(v)
            u -= np.einsum("nk,nk->n", p, u)[:, None]
            return model.adjoint(p * u * column) + ridge * v

        step = -_conjugate_gradient(hessian_times, gradient, curvature)
        slope = float(gradient @ step)
        length = 1.0
        for _ in range(40):
            candidate = theta + length * step
            new_eta = model.forward(candidate)
            new_loss = loss_of(new_eta, candidate)
            if new_loss <= loss + 1e-4 * length * slope + 4e-16 * abs(loss):
                break
            length /= 2
        else:  # the loss cannot fall any further in float64
            converged = size <= GRADIENT_TOLERANCE
            break
        theta, eta, loss = candidate, new_eta, new_loss
        if unbounded and _separates(eta, targets):
            break
    weights, bias = model.weights_and_bias(theta)
    return SoftmaxFit(theta, weights, bias, loss, converged, n_iter, _separates(eta, targets))


def _scale(model: SoftmaxModel, row_weight: Floats) -> Floats:
    square = model.squared_adjoint(np.broadcast_to(row_weight[:, None], model.logits.shape))
    return np.sqrt(np.maximum(square, 1e-300))


def _separates(eta: Floats, targets: Floats) -> bool:
    rows = np.arange(len(eta))
    truth = targets.argmax(axis=1)
    own = eta[rows, truth]
    others = eta.copy()
    others[rows, truth] = -np.inf
    return bool((own > others.max(axis=1)).all())


def _conjugate_gradient(
    times: Callable[[Floats], Floats], right: Floats, diagonal: Floats
) -> Floats:
    """Solve H·x = right, preconditioned by H's diagonal; directions of no curvature stay at 0."""
    inverse = np.where(diagonal > 0, 1 / np.maximum(diagonal, 1e-300), 0.0)
    x = np.zeros_like(right)
    residual = right.copy()
    z = inverse * residual
    direction = z.copy()
    rz = first = float(residual @ z)
    # Superlinear: the closer to the optimum, the more exactly each step is solved.
    tolerance = first * min(0.01, np.sqrt(first)) ** 2
    for _ in range(min(MAX_CONJUGATE_STEPS, 2 * len(right))):
        product = times(direction)
        curvature = float(direction @ product)
        if curvature <= 1e-18 * float(direction @ (direction * diagonal)):
            break
        alpha = rz / curvature
        x += alpha * direction
        residual -= alpha * product
        z = inverse * residual
        rz, previous = float(residual @ z), rz
        if rz <= tolerance:
            break
        direction = z + (rz / previous) * direction
    return x if x.any() else inverse * right
