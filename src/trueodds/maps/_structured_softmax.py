"""Softmax of structured features of class probabilities."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import (
    INFINITE,
    Choose,
    Constant,
    Dot,
    Expression,
    Softmax,
    exp,
    log,
    maximum,
    minimum,
    total,
)
from trueodds.inputs import Floats
from trueodds.maps._pairs import AnyClassesMap, as_pair, pair_expression
from trueodds.numerics.structured_softmax.base import LEAST_FLOOR, Base
from trueodds.numerics.structured_softmax.model import (
    ENTROPY_CENTRE,
    N_SHARED,
    Coefficients,
    structured_probabilities,
)
from trueodds.numerics.structured_softmax.rows import DEEPEST, class_probabilities, tops_of

__all__ = ["StructuredSoftmaxMap"]

LARGEST = 1e100
"""Coefficients beyond this would overflow in sums; none that was learned comes near."""
LEAST_SHARE = 1e-300
"""ε·π must not be less: what a class is given at least has a logarithm."""
SUM_TOLERANCE = 1e-9


@dataclass(frozen=True, eq=False, kw_only=True)
class StructuredSoftmaxMap(AnyClassesMap):
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
        What logits and margins are divided by.

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
        if any((np.abs(a) > LARGEST).any() for a in (bias, on_logs, on_probabilities, shared)):
            raise InputError(f"coefficients must lie within ±{LARGEST:g}.")
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
        rows = as_pair(scores, self.input) if scores.ndim == 1 else scores
        p = class_probabilities(rows, self.input, self.unit)
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
        rows = pair_expression(scores[0], self.input) if alone else tuple(scores)
        warmed = tuple(self.tau * log(p + self.floor) for p in self._probabilities(rows))
        shares = ((1 - self.mixing) * Softmax(warmed, k) for k in range(len(rows)))
        prior = (self.mixing * self.prior).tolist()
        q = tuple(share + least for share, least in zip(shares, prior, strict=True))
        if self._is_base:
            q = tuple(minimum(x, 1.0) for x in q)
        else:
            eta = self._predictors(rows, q)
            q = tuple(Softmax(eta, k) for k in range(len(eta)))
        return q[1:] if alone else q

    def _probabilities(self, rows: tuple[Expression, ...]) -> tuple[Expression, ...]:
        if self.input == "probability":
            whole = total(rows)
            return tuple(p / whole for p in rows)
        if self.input == "logit":
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
        steepness = by_entropy * (entropy - ENTROPY_CENTRE) + (1 + slope)
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
