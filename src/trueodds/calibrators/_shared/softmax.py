"""What methods that learn several classes jointly share: affine maps of the class logits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueodds.calibrators._shared.base import Calibrator
from trueodds.calibrators._shared.parametric import warn_not_converged, warn_separable
from trueodds.exceptions import MissingClassWarning, warn_user
from trueodds.inputs import Floats, InputScale
from trueodds.maps import CalibrationMap, SoftmaxMap, StructuredSoftmaxMap, as_pair
from trueodds.numerics.magnitude import scaled_logits, spread_exponent, spread_unit
from trueodds.numerics.softmax.floor import ModelOf, SoftmaxRows, fit_with_floor
from trueodds.numerics.softmax.logits import class_logits
from trueodds.numerics.softmax.regression import (
    MOST_BLOCKS,
    MatrixModel,
    SoftmaxFit,
    SoftmaxModel,
    TemperatureModel,
    VectorModel,
)
from trueodds.numerics.structured_softmax.base import Base
from trueodds.numerics.structured_softmax.model import N_SHARED
from trueodds.numerics.structured_softmax.rows import class_probabilities
from trueodds.rows import Rows

__all__ = [
    "HOTTEST",
    "UNSEEN_FLOOR",
    "MixedStructuredCalibrator",
    "as_classes",
    "fit_mixed_structured_map",
    "fit_softmax_map",
    "fit_structured_map",
    "structured_map",
]

UNSEEN_FLOOR = float(np.log(np.finfo(np.float64).eps))
"""ln of what a probability of exactly 0 is taken for if fitting saw none."""
MOST_RIDGE = 1e100  # no further off from infinity for any purpose
LEAST_TOTAL = 1e-9
"""A weight of all rows together that is as good as none."""
SMALLEST_PROBABILITY = float(np.finfo(np.float32).tiny)
"""What a probability of 0 is taken for, as in the authors' program."""
NARROW_EXPONENT = 4
"""Logits that typically spread by more than 16 are scaled, lest many reach this probability."""
HOTTEST = 1e6
"""τ where the map allows no more; reached only if smoothed labels are separated too."""


def fit_softmax_map(
    rows: Rows,
    *,
    model_of: Callable[..., SoftmaxModel],
    scale: InputScale,
    per_class: bool,
    ridge: float = 0.0,
    bias_ridge: float = 0.0,
) -> SoftmaxMap:
    """Fit an affine map of the class logits; see :mod:`trueodds.numerics.softmax.floor`.

    Very large or small decision values are scaled by a power of two, and the weights back again.
    ``ridge`` penalizes the off-diagonal weights of a matrix model, as the map stores them;
    ``bias_ridge`` penalizes its biases.
    """
    scaled_rows = _ScaledRows(rows, scale, per_class)
    of_logits: ModelOf = model_of
    if ridge or bias_ridge:
        with np.errstate(over="ignore", under="ignore"):
            ridge = min(float(np.ldexp(ridge, -2 * scaled_rows.exponent)), MOST_RIDGE)
        bias_ridge = min(bias_ridge, MOST_RIDGE)
        of_logits = partial(model_of, off_diagonal_ridge=ridge, bias_ridge=bias_ridge)
    is_large = model_of is MatrixModel and rows.n_classes > MOST_BLOCKS
    level_by = VectorModel if is_large else None
    fit, floor = fit_with_floor(scaled_rows.whole, of_logits, level_by=level_by)
    if fit.separates and not rows.label_smoothing:
        warn_separable()
        fit, floor = fit_with_floor(scaled_rows.smoothed(), of_logits, fit.theta, level_by)
    return scaled_rows.as_map(fit, fit.weights, floor)


def fit_structured_map(
    rows: Rows,
    *,
    model_of: Callable[..., SoftmaxModel],
    scale: InputScale,
    strength: float,
) -> SoftmaxMap:
    """Fit a temperature, then a matrix or vector on top of it, penalized by its size.

    The penalty on the mean log-loss is strength·k/n for each squared bias and each squared
    deviation from the temperature on the diagonal. Off the diagonal it is strength·k·(k − 1)/n: the
    more parameters a part has, the more each is penalized. Weights are in units of the temperature,
    so the penalty is the same on every scale of the logits.
    """
    scaled_rows = _ScaledRows(rows, scale, per_class=True)
    part = scaled_rows.whole
    base, floor = fit_with_floor(part, TemperatureModel)
    if base.separates and not rows.label_smoothing:
        warn_separable()
        part = scaled_rows.smoothed()
        base, floor = fit_with_floor(part, TemperatureModel)
    slope = float(base.theta[0])
    k, n = rows.n_classes, max(float(rows.row_weight.sum()), LEAST_TOTAL)
    held = structured_ridges(model_of, k, n, strength)
    logits = part.with_floor(-np.inf if floor is None else floor)
    scaled = SoftmaxRows(slope * logits, part.targets, part.row_weight, part.trainable)
    fit = scaled.fit(partial(model_of, **held), -np.inf)
    return scaled_rows.as_map(fit, slope * fit.weights, floor)


def structured_ridges(
    model_of: Callable[..., SoftmaxModel], k: int, n: float, strength: float = 1.0
) -> dict[str, float]:
    """The penalty of :func:`fit_structured_map`, for k classes and a weight of n."""
    held = {"diagonal_ridge": 2 * strength * k / n}
    if model_of is MatrixModel:
        held["off_diagonal_ridge"] = 2 * strength * k * (k - 1) / n
    return held


def warn_missing_classes(rows: Rows) -> None:
    """Name the classes that have no rows."""
    absent = np.flatnonzero(rows.class_weight == 0).tolist()
    if absent:
        warn_user(
            f"classes {absent} have no rows; their parameters stay neutral.",
            MissingClassWarning,
        )


def neutralize_absent_classes(
    weights: Floats, bias: Floats, present: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """Remove what was fitted only because some classes have no rows.

    What all present classes share makes no difference among them, but it drives the absent ones to
    0. So the present classes' mean bias becomes 0, and the mean of a matrix's rows becomes that of
    the neutral matrix; a diagonal gives the absent classes the mean weight of the others.
    """
    if present.all():
        return weights, bias
    bias = np.where(present, bias - bias[present].mean(), 0.0)
    if weights.ndim == 1:
        return np.where(present, weights, weights[present].mean()), bias
    own = weights.diagonal()[~present][0]
    neutral = np.where(present, own / present.sum(), 0.0)
    shifted = weights - weights[present].mean(axis=0) + neutral
    return np.where(present[:, None], shifted, weights), bias


class _ScaledRows:
    """Rows in the form that a fit needs, and the way back to a map."""

    def __init__(self, rows: Rows, scale: InputScale, per_class: bool) -> None:
        self.rows, self.scale, self.per_class = rows, scale, per_class
        if per_class:
            warn_missing_classes(rows)
        logits = class_logits(rows.scores, scale)
        self.exponent = 0 if scale == "probability" else spread_exponent(logits)
        self.logits = np.ascontiguousarray(scaled_logits(logits, self.exponent).T)
        self.whole = self._with_targets(rows)

    def _with_targets(self, rows: Rows) -> SoftmaxRows:
        targets = np.take(rows.class_targets.T, rows.codes, axis=1)
        trainable = self.rows.class_weight > 0
        return SoftmaxRows(self.logits, targets, rows.row_weight, trainable)

    def smoothed(self) -> SoftmaxRows:
        """The same rows with Platt's correction."""
        return self._with_targets(self.rows.smoothed("platt"))

    def as_map(self, fit: SoftmaxFit, weights: Floats, floor: float | None) -> SoftmaxMap:
        if not fit.converged:
            warn_not_converged(fit.n_iter)
        if floor is None:
            is_probability = self.scale == "probability"
            floor = min(self.whole.edge, UNSEEN_FLOOR) if is_probability else -np.inf
        bias = fit.bias
        if self.per_class:
            weights, bias = neutralize_absent_classes(weights, bias, self.rows.class_weight > 0)
        largest = np.finfo(np.float64).max
        return SoftmaxMap(
            weights=np.clip(np.ldexp(weights, -self.exponent), -largest, largest),
            bias=bias,
            floor=float(np.ldexp(floor, self.exponent)),
            scale=self.scale,
        )


class MixedStructuredCalibrator(Calibrator):
    """Scaling of a temperature's forecasts with a little of chance: a subclass names its model."""

    model: ClassVar[type[SoftmaxModel]]

    def _fit(self, rows: Rows) -> CalibrationMap:
        return self._fit_multiclass(as_classes(rows, self.scale))

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        return fit_mixed_structured_map(rows, model_of=self.model, scale=self.scale)


def as_classes(rows: Rows, scale: InputScale) -> Rows:
    """Rows of two classes with two columns of scores."""
    rows = rows.uncounted()
    pair = as_pair(rows.scores, scale)
    return replace(rows, scores=pair, codes=rows.codes.astype(np.intp))


def fit_mixed_structured_map(
    rows: Rows, *, model_of: Callable[..., SoftmaxModel], scale: InputScale
) -> StructuredSoftmaxMap:
    """Fit a temperature, mix in a uniform part of 1/(n + 1), and fit what the model adds."""
    warn_missing_classes(rows)
    k, n = rows.n_classes, max(float(rows.row_weight.sum()), LEAST_TOTAL)
    unit = spread_unit(rows.scores, scale, NARROW_EXPONENT)
    p = class_probabilities(rows.scores, scale, unit)
    part = SoftmaxRows(
        np.log(p + SMALLEST_PROBABILITY),
        np.take(rows.class_targets.T, rows.codes, axis=1),
        rows.row_weight,
        rows.class_weight > 0,
    )
    heated = part.fit(TemperatureModel, -np.inf)
    if heated.separates and not rows.label_smoothing:
        warn_separable()
        targets = np.take(rows.smoothed("platt").class_targets.T, rows.codes, axis=1)
        part = SoftmaxRows(part.logits, targets, part.row_weight, part.trainable)
        heated = part.fit(TemperatureModel, -np.inf)
    tau = min(max(float(heated.theta[0]), 0.0), HOTTEST)
    base = Base(tau, SMALLEST_PROBABILITY, 1 / (n + 1), np.full(k, 1 / k))
    mixed = SoftmaxRows(base.logs(p), part.targets, part.row_weight, part.trainable)
    fit = mixed.fit(partial(model_of, **structured_ridges(model_of, k, n)), -np.inf)
    if not (heated.converged and fit.converged):
        warn_not_converged(fit.n_iter)
    weights, bias = neutralize_absent_classes(fit.weights, fit.bias, rows.class_weight > 0)
    weights = fit.weights if weights.ndim == 1 else weights  # whose neutral weight is 1, beside τ
    return structured_map(
        base,
        bias=bias,
        on_logs=weights - (np.eye(k) if weights.ndim == 2 else 1),
        on_probabilities=np.empty(0),
        shared=np.zeros(N_SHARED),
        unit=unit,
        scale=scale,
    )


def structured_map(base: Base, **what_is_added: Any) -> StructuredSoftmaxMap:
    """Map of a base and the layer fitted on top of it."""
    return StructuredSoftmaxMap(
        tau=base.tau, floor=base.floor, mixing=base.mixing, prior=base.prior, **what_is_added
    )
