"""Families of any number of classes: the identity, softmax, one-vs-rest and averages."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from trueodds.exceptions import InputError, NonFiniteError
from trueodds.export.expressions import (
    INFINITE,
    Choose,
    Constant,
    Dot,
    Expression,
    Softmax,
    clip,
    exp,
    log,
    maximum,
    minimum,
    sigmoid as sigmoid_expression,
    total,
)
from trueodds.inputs import Floats, as_tuple
from trueodds.kernels.maps import apply_softmax, safe_logit_floor, safe_logit_limit
from trueodds.maps._base import BinaryMap, CalibrationMap
from trueodds.maps._binary import LogOddsMap
from trueodds.maps._formulas import (
    as_pair,
    class_logits_expression,
    one_vs_rest_expressions,
    pair_expression,
)
from trueodds.numerics.log_odds import sigmoid
from trueodds.numerics.softmax.logits import class_logits, one_vs_rest_scores, softmax
from trueodds.numerics.structured_softmax.base import LEAST_FLOOR, Base
from trueodds.numerics.structured_softmax.model import (
    ENTROPY_CENTER,
    N_SHARED,
    Coefficients,
    structured_probabilities,
)
from trueodds.numerics.structured_softmax.rows import DEEPEST, class_probabilities, tops_of

__all__ = [
    "AverageMap",
    "IdentityMap",
    "OneVsRestMap",
    "SoftmaxMap",
    "StructuredSoftmaxMap",
]

LARGEST_BIAS = 1e300
FEW_ROWS = 32
"""BLAS multiplies more rows with a matrix faster."""
SUM_TOLERANCE = 1e-9
LARGEST_COEFFICIENT = 1e100
"""Coefficients beyond this would overflow in sums; none that was learned comes near."""
LEAST_SHARE = 1e-300
"""ε·π must not be less: what a class is given at least has a logarithm."""


@dataclass(frozen=True, eq=False, kw_only=True)
class IdentityMap(CalibrationMap):
    """Probabilities unchanged; log-odds and decision values through the logistic function.

    Examples
    --------
    >>> from trueodds.maps import IdentityMap
    >>> IdentityMap()([0.1, 1.0])
    array([0.1, 1. ])
    >>> IdentityMap(scale="logit")([0.0, float("inf")])
    array([0.5, 1. ])
    """

    family: ClassVar[str] = "identity"
    reduces_pairs: ClassVar[bool] = False

    @property
    def n_classes(self) -> int | None:
        """None: any number, unless ``classes`` is given."""
        return None if self.classes is None else len(self.classes)

    @property
    def takes_one_score(self) -> bool:
        """Unless there are more than two classes."""
        return self.n_classes in (None, 2)

    def _check(self) -> None:
        pass

    def _apply(self, scores: Floats) -> Floats:
        if self.scale == "probability":
            if scores.ndim == 1:
                return scores.copy()
            return np.asarray(scores / scores.sum(axis=1, keepdims=True))
        if scores.ndim == 1:
            return sigmoid(scores)
        return np.asarray(softmax(scores))

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        if len(scores) == 1:
            return (scores[0] if self.scale == "probability" else sigmoid_expression(scores[0]),)
        if self.scale == "probability":
            whole = total(scores)
            return tuple(p / whole for p in scores)
        logits = tuple(maximum(x, -INFINITE) if self.scale == "logit" else x for x in scores)
        return tuple(Softmax(logits, index) for index in range(len(logits)))

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> LogOddsMap:
        return LogOddsMap(a=1.0, b=1.0, c=shift, scale=self.scale, classes=self.classes)

    def _with_logit_shift(self, shift: Floats) -> SoftmaxMap:
        if self.scale == "raw":
            raise InputError("decision values of several classes have no probabilities to adjust.")
        return SoftmaxMap(
            weights=np.ones(len(shift)), bias=shift, scale=self.scale, classes=self.classes
        )


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxMap(CalibrationMap):
    """softmax(W·l + bias), where l are logits or the logarithms of probabilities.

    Parameters
    ----------
    weights : array of shape (n_classes,) or (n_classes, n_classes)
        The diagonal of W, or all of it.
    bias : array of shape (n_classes,)
    floor : float, default=-inf
        The logarithm that stands for a probability of exactly 0 (a logit of −inf), counted from
        the largest of its row. What lies below is treated alike.

    Examples
    --------
    >>> from trueodds.maps import SoftmaxMap
    >>> SoftmaxMap(weights=[0.5, 0.5, 0.5], bias=[0.0, 0.0, 0.0])([[0.01, 0.09, 0.9]]).round(3)
    array([[0.074, 0.222, 0.703]])
    """

    weights: Floats
    bias: Floats
    floor: float = -np.inf

    family: ClassVar[str] = "softmax"
    reduces_pairs: ClassVar[bool] = False
    compiled: ClassVar[bool] = True

    @property
    def n_classes(self) -> int:
        """The length of ``bias``."""
        return len(self.bias)

    def _check(self) -> None:
        weights, bias = self._freeze("weights"), self._freeze("bias")
        self._finite_number("floor", infinite=True)
        size = len(bias) if bias.ndim == 1 else 0
        if size < 2 or weights.shape not in ((size,), (size, size)):
            raise InputError("weights must have shape (k,) or (k, k), and bias (k,), with k ≥ 2.")
        if not (np.isfinite(weights).all() and np.isfinite(bias).all()):
            raise NonFiniteError("weights and bias must be finite.")
        if np.abs(bias).max() > LARGEST_BIAS:
            raise InputError(f"bias must lie within ±{LARGEST_BIAS:g}; got {np.abs(bias).max():g}.")
        if self.floor > 0:
            raise InputError(f"floor must not be positive; got {self.floor}.")

    def _apply(self, scores: Floats) -> Floats:
        if self.weights.ndim == 2 and len(scores) > FEW_ROWS:
            with np.errstate(all="ignore"):
                logits = class_logits(scores, self.scale, self.floor)
                lowest, limit = safe_logit_floor(self.weights), safe_logit_limit(self.weights)
                np.clip(logits, lowest, limit, out=logits)
                return softmax(logits @ self.weights.T + self.bias)
        out = np.empty_like(scores)
        weights = self.weights if self.weights.ndim == 2 else self.weights[None]
        is_probability = self.scale == "probability"
        apply_softmax(scores, out, is_probability, self.floor, weights, self.bias)
        return out

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        logits = class_logits_expression(scores, self.scale, self.floor)
        weights = np.atleast_2d(self.weights).astype(np.float64)  # of names, in torch
        limit = safe_logit_limit(weights)
        if limit < INFINITE or self.scale != "probability":
            logits = tuple(clip(x, -limit, limit) for x in logits)
        if self.weights.ndim == 1:
            rows = [
                w * x if w != 0 else Constant(0.0)
                for w, x in zip(self.weights.tolist(), logits, strict=True)
            ]
        else:
            rows = [Dot(tuple(row), logits) for row in self.weights.tolist()]
        scaled = tuple(row + b for row, b in zip(rows, self.bias.tolist(), strict=True))
        return tuple(Softmax(scaled, index) for index in range(len(scaled)))

    def _torch_names(self) -> dict[str, str]:
        if self.weights.ndim == 1 and np.ptp(self.weights) == 0 and not self.bias.any():
            return {"weights": "temperature"}
        return {"weights": "weights", "bias": "bias"}

    def _with_logit_shift(self, shift: Floats) -> SoftmaxMap:
        return replace(self, bias=self.bias + shift)


@dataclass(frozen=True, eq=False, kw_only=True)
class StructuredSoftmaxMap(CalibrationMap):
    """softmax(η), where η are functions of all classes' probabilities.

    With p the probabilities (of logits: their softmax), q = (1−ε)·softmax(τ·ln(p + δ)) + ε·π and
    the entropy H = −Σ q·ln q / ln k,

    η_k = (1 + s₁ + s₂·(H − 0.3))·ln q_k + s₃·√q_k + s₄·[k has the largest score]
    + Σ_j W_kj·ln q_j + Σ_j V_kj·q_j + b_k.

    Parameters
    ----------
    tau, floor, mixing : float
        τ ≥ 0, δ in [1e-304, 1] and ε in (0, 1).
    prior : array of shape (n_classes,)
        π: positive, with sum 1.
    bias : array of shape (n_classes,)
        b.
    on_logs : array of shape (n_classes,) or (n_classes, n_classes)
        The diagonal of W, or all of it.
    on_probabilities : array of shape (0,) or (n_classes, n_classes)
        V; empty if there is none.
    shared : array of shape (4,)
        s.
    unit : float, default=1.0
        What logits and decision values are divided by.

    Examples
    --------
    >>> from trueodds.maps import StructuredSoftmaxMap
    >>> cooler = StructuredSoftmaxMap(
    ...     tau=0.5, floor=1e-9, mixing=0.01, prior=[0.5, 0.3, 0.2], bias=[0, 0, 0],
    ...     on_logs=[0, 0, 0], on_probabilities=[], shared=[0, 0, 0, 0],
    ... )
    >>> cooler([[0.01, 0.09, 0.9]]).round(3)
    array([[0.078, 0.223, 0.698]])
    """

    tau: float
    floor: float
    mixing: float
    prior: Floats
    bias: Floats
    on_logs: Floats
    on_probabilities: Floats
    shared: Floats
    unit: float = 1.0

    family: ClassVar[str] = "structured_softmax"

    @property
    def n_classes(self) -> int:
        """The length of ``bias``."""
        return len(self.bias)

    def _check(self) -> None:
        names = ("prior", "bias", "on_logs", "on_probabilities", "shared")
        prior, bias, on_logs, on_probabilities, shared = [self._freeze(name) for name in names]
        k = len(bias) if bias.ndim == 1 else 0
        if k < 2 or prior.shape != (k,) or on_logs.shape not in ((k,), (k, k)):
            raise InputError(
                "bias and prior must have shape (k,) and on_logs (k,) or (k, k), with k ≥ 2."
            )
        if on_probabilities.shape not in ((0,), (k, k)) or shared.shape != (N_SHARED,):
            raise InputError(
                "on_probabilities must be empty or of shape (k, k), and shared of shape (4,)."
            )
        if any(
            (np.abs(a) > LARGEST_COEFFICIENT).any()
            for a in (bias, on_logs, on_probabilities, shared)
        ):
            raise InputError(f"coefficients must lie within ±{LARGEST_COEFFICIENT:g}.")
        for name, low, high in (
            ("tau", 0.0, 1e6),
            ("floor", LEAST_FLOOR, 1.0),
            ("mixing", LEAST_SHARE, 1 - 2**-53),
            ("unit", 1e-300, 1e300),
        ):
            self._finite_number(name)
            if not low <= getattr(self, name) <= high:
                raise InputError(f"{name} must lie in [{low:g}, {high:g}].")
        if not (abs(float(prior.sum()) - 1) <= SUM_TOLERANCE):
            raise InputError("prior must sum to 1.")
        if not (self.mixing * prior >= LEAST_SHARE).all():
            raise InputError(f"mixing·prior must not be less than {LEAST_SHARE:g}.")

    @property
    def base(self) -> Base:
        """Temperature, floor and mixing."""
        return Base(self.tau, self.floor, self.mixing, self.prior)

    def _apply(self, scores: Floats) -> Floats:
        rows = as_pair(scores, self.scale) if scores.ndim == 1 else scores
        p = class_probabilities(rows, self.scale, self.unit)
        if self._is_base:
            result = np.minimum(self.base.mixed(p), 1.0)  # the prior sums to 1 but for rounding
        else:
            coefficients = Coefficients(self.bias, self.on_logs, self.on_probabilities, self.shared)
            result = structured_probabilities(p, tops_of(rows), self.base, coefficients)
        return result[1] if scores.ndim == 1 else np.ascontiguousarray(result.T)

    @property
    def _is_base(self) -> bool:
        """Whether nothing is added to ln q."""
        parts = (self.bias, self.on_logs, self.on_probabilities, self.shared)
        return not any(part.any() for part in parts)

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        alone = len(scores) == 1
        rows = pair_expression(scores[0], self.scale) if alone else tuple(scores)
        tempered = tuple(self.tau * log(p + self.floor) for p in self._probabilities(rows))
        shares = ((1 - self.mixing) * Softmax(tempered, k) for k in range(len(rows)))
        prior = (self.mixing * self.prior).tolist()
        q = tuple(share + least for share, least in zip(shares, prior, strict=True))
        if self._is_base:
            q = tuple(minimum(x, 1.0) for x in q)
        else:
            eta = self._predictors(rows, q)
            q = tuple(Softmax(eta, k) for k in range(len(eta)))
        return q[1:] if alone else q

    def _probabilities(self, rows: tuple[Expression, ...]) -> tuple[Expression, ...]:
        if self.scale == "probability":
            whole = total(rows)
            return tuple(p / whole for p in rows)
        if self.scale == "logit":
            rows = tuple(maximum(x, -INFINITE) for x in rows)
        if self.unit != 1:  # what is divided must not overflow
            top = maximum(*rows)
            rows = tuple(maximum(x - top, DEEPEST * self.unit) / self.unit for x in rows)
        return tuple(Softmax(rows, k) for k in range(len(rows)))

    def _predictors(
        self, rows: tuple[Expression, ...], q: tuple[Expression, ...]
    ) -> tuple[Expression, ...]:
        logs = tuple(log(x) for x in q)
        slope, by_entropy, on_root, on_top = self.shared.tolist()
        entropy = total([x * y for x, y in zip(q, logs, strict=True)]) / -math.log(len(q))
        steepness = by_entropy * (entropy - ENTROPY_CENTER) + (1 + slope)
        top, one, zero = maximum(*rows), Constant(1.0), Constant(0.0)
        result = []
        for k, own in enumerate(logs):
            largest = Choose(((rows[k] >= top, one),), zero)
            weights: list[float] = [on_root, on_top]
            terms: list[Expression] = [exp(0.5 * own), largest]
            is_diagonal = self.on_logs.ndim == 1
            weights += [float(self.on_logs[k])] if is_diagonal else self.on_logs[k].tolist()
            terms += [own] if is_diagonal else logs
            if self.on_probabilities.size:
                weights += self.on_probabilities[k].tolist()
                terms += q
            rest = Dot(tuple(weights), tuple(terms))
            result.append(steepness * own + rest + float(self.bias[k]))
        return tuple(result)

    def _with_logit_shift(self, shift: Floats) -> StructuredSoftmaxMap:
        return replace(self, bias=self.bias + shift)


@dataclass(frozen=True, eq=False, kw_only=True)
class OneVsRestMap(CalibrationMap):
    """Each column through its own binary map; rows are then divided by their sum.

    Parameters
    ----------
    maps : tuple of binary maps
        One per class, of the same ``scale``. Logits are first turned into the log-odds of each
        class against all others.

    Notes
    -----
    A row that all maps send to 0 becomes uniform.

    Examples
    --------
    >>> from trueodds.maps import LogOddsMap, OneVsRestMap
    >>> half = LogOddsMap(a=0.5, b=0.5, c=0.0)
    >>> OneVsRestMap(maps=(half, half, half))([[0.0, 0.5, 0.5]]).round(6)
    array([[0. , 0.5, 0.5]])
    """

    maps: tuple[CalibrationMap, ...]

    family: ClassVar[str] = "one_vs_rest"
    reduces_pairs: ClassVar[bool] = False

    @property
    def n_classes(self) -> int:
        """The number of maps."""
        return len(self.maps)

    @property
    def rows_sum_to_one(self) -> bool:
        """False: each column is a separate score."""
        return False

    @property
    def band_of_forecasts(self) -> bool:
        """False: a band belongs to the score of each class, as the maps do."""
        return False

    def _check(self) -> None:
        object.__setattr__(self, "maps", as_tuple(self.maps, "maps"))
        if len(self.maps) < 2 or not all(
            isinstance(m, (BinaryMap, IdentityMap)) and m.scale == self.scale for m in self.maps
        ):
            raise InputError("maps must be two or more binary maps of the same scale.")

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return {"maps": cls._decode_maps(parameters["maps"], (cls.family,))}

    def _apply(self, scores: Floats) -> Floats:
        columns = one_vs_rest_scores(scores, self.scale)
        result = np.stack(
            [m._apply(np.ascontiguousarray(columns[:, k])) for k, m in enumerate(self.maps)], axis=1
        )
        total = result.sum(axis=1, keepdims=True)
        uniform = 1 / self.n_classes
        np.divide(result, total, out=result, where=total > 0)
        result[(total == 0).ravel()] = uniform
        return result

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        columns = one_vs_rest_expressions(scores, self.scale)
        values = [m.expression((x,))[0] for m, x in zip(self.maps, columns, strict=True)]
        whole = total(values)
        uniform = Constant(1 / self.n_classes)
        return tuple(Choose(((whole > 0, value / whole),), uniform) for value in values)


@dataclass(frozen=True, eq=False, kw_only=True)
class AverageMap(CalibrationMap):
    """Probabilities averaged over several maps.

    Parameters
    ----------
    maps : tuple of maps
        Maps of the same ``scale`` and number of classes; no averages, and none with features.
    weights : array of shape (len(maps),)
        Not negative, with sum 1.

    Examples
    --------
    >>> from trueodds.maps import AverageMap, IdentityMap, StepMap
    >>> half = StepMap(edges=[], values=[0.5])
    >>> AverageMap(maps=(IdentityMap(), half), weights=[0.8, 0.2])([0.0, 0.4])
    array([0.1 , 0.42])
    """

    maps: tuple[CalibrationMap, ...]
    weights: Floats

    family: ClassVar[str] = "average"

    @property
    def n_classes(self) -> int:
        """As many as the maps have; those that leave scores alone have any number."""
        return max(m.n_classes or 2 for m in self.maps)

    @property
    def rows_sum_to_one(self) -> bool:
        """Unless it holds for none of the maps."""
        return any(m.rows_sum_to_one for m in self.maps)

    def _check(self) -> None:
        object.__setattr__(self, "maps", as_tuple(self.maps, "maps"))
        if not self.maps or not all(
            isinstance(m, CalibrationMap)
            and not isinstance(m, AverageMap)
            and not m.features
            and m.scale == self.scale
            for m in self.maps
        ):
            raise InputError(
                "maps must be one or more maps of the same scale, none an average or a tree, "
                "and none with features."
            )
        known = {m.n_classes for m in self.maps} - {None}
        if len(known) > 1:
            raise InputError(f"maps must have equally many classes; got {sorted(known, key=str)}.")
        if self.n_classes == 2 and not all(m.takes_one_score for m in self.maps):
            raise InputError("with two classes, maps must take the positive class's score alone.")
        weights = self._freeze("weights")
        if weights.shape != (len(self.maps),):
            raise InputError(f"weights must be {len(self.maps)} numbers, one for each map.")
        if not ((weights >= 0).all() and abs(float(weights.sum()) - 1) <= SUM_TOLERANCE):
            raise InputError("weights must not be negative, and their sum must be 1.")

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        maps = cls._decode_maps(parameters["maps"], (cls.family, "group", "tree"))
        return {**super()._decode({"weights": parameters["weights"]}), "maps": maps}

    def _apply(self, scores: Floats) -> Floats:
        result = np.zeros(scores.shape)
        for weight, m in zip(self.weights.tolist(), self.maps, strict=True):
            result += weight * m._apply(scores)
        return np.minimum(result, 1.0, out=result)  # weights sum to 1 but for rounding

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        outputs = [m.expression(scores) for m in self.maps]
        weights = tuple(self.weights.tolist())
        return tuple(
            minimum(Dot(weights, tuple(terms)), 1.0) for terms in zip(*outputs, strict=True)
        )
