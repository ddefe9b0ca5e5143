"""Temperature, vector and matrix scaling as one convex problem, solved by Newton's method.

All three minimize Σ w·(logsumexp(η) − y·η) over η = A(θ) with A linear: θ times the logits, one θ
per class and a bias, or a full matrix and a bias. They differ in A, its adjoint, and what
replaces the inverse of the Hessian.

Arrays have one row for each class, (k, n): sums over classes are then sums of long rows.

Conjugate gradients solve for a Newton step; a line search decides how far to go.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats

__all__ = [
    "MOST_BLOCKS",
    "STEEPNESS_LEFT",
    "MatrixModel",
    "Operator",
    "SoftmaxFit",
    "SoftmaxModel",
    "TemperatureModel",
    "VectorModel",
    "conjugate_gradient",
    "diagonal_inverse",
    "fit_softmax",
    "principal_axes_inverse",
    "row_block_inverse",
    "step_length",
]

GRADIENT_TOLERANCE = 1e-8
NOTHING_LEFT = 1e-10  # of the slope at the start
MAX_ITERATIONS = 200
INTERPOLATED = 0.01
"""Mean log-loss below which more parameters than rows are taken to have separated the classes."""
MOST_BLOCKS = 100
"""Classes up to which k matrices of size k + 1 are inverted and held, to solve for a step."""


class SoftmaxModel(ABC):
    """The linear operator from parameters to class scores, for fixed logits."""

    def __init__(self, logits: Floats, trainable: npt.NDArray[np.bool_]) -> None:
        self.logits = logits
        self.trainable = trainable.astype(np.float64)

    @property
    @abstractmethod
    def start(self) -> Floats:
        """The parameters that leave the logits unchanged."""

    @abstractmethod
    def forward(self, theta: Floats) -> Floats:
        """η of shape (k, n); linear in theta."""

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
        """1 for parameters that are fitted, 0 for those of classes without rows."""

    def ridge(self) -> Floats:
        """The penalty's curvature for each parameter; it pulls towards ``start``."""
        return np.zeros_like(self.start)

    def inverse(self, variance: Floats, diagonal: Floats) -> Operator:
        """What replaces the inverse of the Hessian, whose diagonal is given."""
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
        return np.array([np.einsum("kn,kn->", residual, self.logits)])

    def squared_adjoint(self, variance: Floats) -> Floats:  # noqa: D102
        return np.array([np.einsum("kn,kn,kn->", variance, self.logits, self.logits)])

    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        k = len(self.logits)
        return np.full(k, theta[0]), np.zeros(k)

    def free(self) -> Floats:  # noqa: D102
        return np.ones(1)


class VectorModel(SoftmaxModel):
    """η_k = θ_k·logit_k + bias_k; classes without rows keep θ = 1 and bias = 0.

    ``diagonal_ridge`` pulls weights to 1 and biases to 0.
    """

    def __init__(
        self, logits: Floats, trainable: npt.NDArray[np.bool_], diagonal_ridge: float = 0.0
    ) -> None:
        super().__init__(logits, trainable)
        self.diagonal_ridge = diagonal_ridge

    @property
    def start(self) -> Floats:
        """Weights 1, biases 0."""
        k = len(self.logits)
        return np.concatenate([np.ones(k), np.zeros(k)])

    def forward(self, theta: Floats) -> Floats:  # noqa: D102
        k = len(self.logits)
        eta = self.logits * theta[:k, None]
        eta += theta[k:, None]
        return eta

    def adjoint(self, residual: Floats) -> Floats:  # noqa: D102
        weights = np.einsum("kn,kn->k", residual, self.logits)
        return np.concatenate([weights, residual.sum(axis=1)]) * self.free()

    def squared_adjoint(self, variance: Floats) -> Floats:  # noqa: D102
        weights = np.einsum("kn,kn,kn->k", variance, self.logits, self.logits)
        return np.concatenate([weights, variance.sum(axis=1)])

    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        k = len(self.logits)
        return theta[:k], theta[k:]

    def free(self) -> Floats:  # noqa: D102
        return np.tile(self.trainable, 2)

    def ridge(self) -> Floats:
        """The same ridge on all."""
        return np.full(2 * len(self.logits), self.diagonal_ridge)


class MatrixModel(SoftmaxModel):
    """η = W·logits + bias; rows of classes that do not occur stay those of the identity.

    ``off_diagonal_ridge`` pulls weights from one class's logit to another's score to 0;
    ``diagonal_ridge`` pulls those on the diagonal to 1, and ``bias_ridge``, by default the same,
    biases to 0.
    """

    def __init__(
        self,
        logits: Floats,
        trainable: npt.NDArray[np.bool_],
        off_diagonal_ridge: float = 0.0,
        diagonal_ridge: float = 0.0,
        bias_ridge: float | None = None,
    ) -> None:
        super().__init__(logits, trainable)
        self.design = np.concatenate([logits, np.ones((1, logits.shape[1]))])
        self.off_diagonal_ridge = off_diagonal_ridge
        self.diagonal_ridge = diagonal_ridge
        self.bias_ridge = diagonal_ridge if bias_ridge is None else bias_ridge

    @property
    def start(self) -> Floats:
        """The identity matrix, biases 0."""
        k = len(self.logits)
        return np.eye(k, k + 1).ravel()

    def forward(self, theta: Floats) -> Floats:  # noqa: D102
        k = len(self.logits)
        return np.asarray(theta.reshape(k, k + 1) @ self.design)

    def adjoint(self, residual: Floats) -> Floats:  # noqa: D102
        return np.asarray((residual * self.trainable[:, None]) @ self.design.T).ravel()

    def squared_adjoint(self, variance: Floats) -> Floats:  # noqa: D102
        return np.asarray(variance @ (self.design**2).T).ravel()

    def weights_and_bias(self, theta: Floats) -> tuple[Floats, Floats]:  # noqa: D102
        k = len(self.logits)
        rows = theta.reshape(k, k + 1)
        return rows[:, :k].copy(), rows[:, k].copy()

    def free(self) -> Floats:  # noqa: D102
        return np.repeat(self.trainable, len(self.logits) + 1)

    def ridge(self) -> Floats:
        """One ridge on the diagonal, one on the biases, one on what is off the diagonal."""
        k = len(self.logits)
        ridge = np.full((k, k + 1), self.off_diagonal_ridge)
        ridge[:, k] = self.bias_ridge
        np.fill_diagonal(ridge, self.diagonal_ridge)
        return ridge.ravel()

    def inverse(self, variance: Floats, diagonal: Floats) -> Operator:
        """The part of the Hessian within each class is inverted; roughly, if classes are many."""
        k = len(self.logits)
        invert = row_block_inverse if k <= MOST_BLOCKS else principal_axes_inverse
        return invert(self.design, variance, self.ridge().reshape(k, k + 1))


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
    """Minimize the weighted log-loss plus Σ ridge·(θ − θ₀)²/2, θ₀ the model's own start.

    Parameters
    ----------
    model : SoftmaxModel
    targets : ndarray of shape (k, n)
        Columns sum to 1; one-hot unless smoothed.
    row_weight : ndarray of shape (n,)
        Summing to 1.
    start : ndarray

    Returns
    -------
    SoftmaxFit
        ``separates`` means that the solution gives every row's likeliest target the highest score:
        then, without ridge or smoothing, no finite optimum exists. With more parameters than rows
        it also means that the rows are all but interpolated.
    """
    loss = _Loss(model, targets, row_weight)
    scale = np.sqrt(np.maximum(model.squared_adjoint(loss.row_weight + 0 * targets), 1e-300))
    # Once the classes are separated, the loss falls for ever: there is nothing to converge to.
    is_hard = bool((targets.max(axis=0) == 1).all())
    unbounded = is_hard and not loss.ridge.any()
    # So it may if a ridge spares some parameters. Below this loss, no row can be wrong again.
    can_fall = is_hard and not loss.ridge.all()
    all_right = np.log(2) * row_weight[row_weight > 0].min() if can_fall else 0.0

    def steepness(at: _SoftmaxPoint) -> float:
        """The largest part of the gradient, free of the scale of scores and weights."""
        return float((np.abs(at.gradient) / (scale + loss.ridge * np.abs(at.theta))).max())

    place = loss.rescaled(start)
    converged = False
    n_iter = 0
    # With more parameters than rows, a few rows may stop the fall, but only far out and slowly.
    crowded = unbounded and len(start) >= len(row_weight)
    while n_iter < MAX_ITERATIONS:
        interpolated = crowded and place.value < INTERPOLATED
        if interpolated or (unbounded and loss.separated_at(place)) or place.value < all_right:
            break
        n_iter += 1
        size = steepness(place)
        if size <= GRADIENT_TOLERANCE / 10:
            converged = True
            break
        step = loss.newton_step(place)
        slope = float(place.gradient @ step)
        candidate = loss.ahead(place, step, slope)
        if size <= GRADIENT_TOLERANCE and steepness(candidate) >= size:
            converged = True  # so near the optimum rounding decides where a step leads
            break
        length = float(np.abs(candidate.theta - place.theta).max() / np.abs(step).max())
        if not candidate.value <= place.value + 1e-4 * length * slope + 4e-16 * abs(place.value):
            converged = size <= GRADIENT_TOLERANCE
            break  # the loss cannot fall any further in float64
        place = candidate
    weights, bias = model.weights_and_bias(place.theta)
    separates = (crowded and place.value < INTERPOLATED) or loss.separated_at(place)
    return SoftmaxFit(place.theta, weights, bias, place.value, converged, n_iter, separates)


@dataclass(frozen=True)
class _SoftmaxPoint:
    """Parameters, and what the loss needs to go on from there."""

    theta: Floats
    eta: Floats
    p: Floats
    top: Floats
    value: float
    gradient: Floats


class _Loss:
    """Weighted log-loss plus Σ ridge·(θ − θ₀)²/2, with its derivatives."""

    def __init__(self, model: SoftmaxModel, targets: Floats, row_weight: Floats) -> None:
        self.model, self.targets, self.row_weight = model, targets, row_weight
        self.ridge, self.center = model.ridge(), model.start
        self.truth = targets.argmax(axis=0)

    def at(self, theta: Floats) -> _SoftmaxPoint:
        eta = self.model.forward(theta)
        top = eta.max(axis=0)
        p = eta - top
        np.exp(p, out=p)
        total = p.sum(axis=0)
        p /= total
        fit = np.log(total)
        fit += top
        fit -= np.einsum("kn,kn->n", self.targets, eta)
        residual = p - self.targets
        residual *= self.row_weight
        pulled = theta - self.center
        return _SoftmaxPoint(
            theta,
            eta,
            p,
            top,
            float(self.row_weight @ fit + self.ridge @ pulled**2 / 2),
            self.model.adjoint(residual) + self.ridge * pulled,
        )

    def separated_at(self, place: _SoftmaxPoint) -> bool:
        """Whether each row's likeliest target has the highest score, alone."""
        rows = np.arange(len(self.truth))
        if (place.eta[self.truth, rows] < place.top).any():
            return False
        return bool(((place.eta == place.top).sum(axis=0) == 1).all())

    def rescaled(self, theta: Floats) -> _SoftmaxPoint:
        """Temperature scaling of a start: the loss along θ is cheap, and most of the way."""
        place = self.at(theta)
        step = theta * self.model.free()
        slope = float(place.gradient @ step)
        if slope == 0:
            return place
        step *= -np.sign(slope)
        # A temperature alone is found on this line, so to the end; others go on from a rough one.
        left = NOTHING_LEFT if len(theta) == 1 else STEEPNESS_LEFT
        moved = self.at(theta + step_length(self.along(place, step), -abs(slope), left) * step)
        return moved if moved.value < place.value else place

    def newton_step(self, place: _SoftmaxPoint) -> Floats:
        model, ridge, p = self.model, self.ridge, place.p
        weighted = p * self.row_weight
        variance = weighted * (1 - p)

        def hessian_times(v: Floats) -> Floats:
            u = model.forward(v)
            u -= np.einsum("kn,kn->n", p, u)
            u *= weighted
            return model.adjoint(u) + ridge * v

        diagonal = model.squared_adjoint(variance) + ridge
        inverse = model.inverse(variance, diagonal)
        return -conjugate_gradient(hessian_times, place.gradient, inverse, diagonal)

    def ahead(self, place: _SoftmaxPoint, step: Floats, slope: float) -> _SoftmaxPoint:
        """The place that a step leads to: a whole step if that will do."""
        whole = self.at(place.theta + step)
        if abs(float(whole.gradient @ step)) <= STEEPNESS_LEFT * abs(slope):
            return whole
        length = step_length(self.along(place, step), slope)
        return self.at(place.theta + length * step)

    def along(self, place: _SoftmaxPoint, step: Floats) -> Callable[[float], tuple[float, float]]:
        """Slope and curvature at a length of the step."""
        change = self.model.forward(step)
        fixed = float(self.ridge @ ((place.theta - self.center) * step))
        fixed -= float(self.row_weight @ np.einsum("kn,kn->n", self.targets, change))
        bend = float(self.ridge @ step**2)

        def slope_and_curvature(length: float) -> tuple[float, float]:
            p = place.eta + length * change
            p -= p.max(axis=0)
            np.exp(p, out=p)
            p /= p.sum(axis=0)
            p *= change
            mean = p.sum(axis=0)
            variance = np.einsum("kn,kn->n", p, change) - mean**2
            slope = float(self.row_weight @ mean) + fixed + bend * length
            return slope, float(self.row_weight @ variance) + bend

        return slope_and_curvature


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

    Class k's part is Σ_n variance_nk·x_n·x_nᵀ. Logits of different classes are correlated. With a
    diagonal alone, conjugate gradients need hundreds of steps. With these parts a few are enough,
    because what remains between classes is small or of the same size.

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
    accounted for once. How much of a class lies along each axis is exact, and so is the ridge.
    Conjugate gradients take some dozens of steps. The cost is a few products of large matrices;
    :func:`row_block_inverse` needs k of them and k inverses, which is slow with hundreds of
    classes. Memory is one row of numbers for each class.

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
