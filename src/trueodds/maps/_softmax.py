"""Affine functions of class logits through the softmax: temperature, vector, matrix scaling."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import INFINITE, Constant, Dot, Expression, Softmax, clip
from trueodds.inputs import Floats
from trueodds.kernels.maps import apply_softmax, deep_enough, far_enough
from trueodds.maps._base import ClassMap
from trueodds.maps._formulas import class_logits_expression
from trueodds.numerics.softmax.logits import class_logits, softmax

__all__ = ["SoftmaxMap"]

LARGEST_BIAS = 1e300
FEW_ROWS = 32
"""More than so many are multiplied with a matrix faster by BLAS."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SoftmaxMap(ClassMap):
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
    compiled: ClassVar[bool] = True
    trained_in_torch: ClassVar[tuple[str, ...]] = ("weights", "bias")

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
            raise InputError("weights and bias must be finite.")
        if np.abs(bias).max() > LARGEST_BIAS:
            raise InputError(f"bias must lie within ±{LARGEST_BIAS:g}; got {np.abs(bias).max():g}.")
        if self.floor > 0:
            raise InputError(f"floor must not be positive; got {self.floor}.")

    def _apply(self, scores: Floats) -> Floats:
        if self.weights.ndim == 2 and len(scores) > FEW_ROWS:
            with np.errstate(all="ignore"):
                logits = class_logits(scores, self.input, self.floor)
                np.clip(logits, -deep_enough(self.weights), far_enough(self.weights), out=logits)
                return softmax(logits @ self.weights.T + self.bias)
        out = np.empty_like(scores)
        weights = self.weights if self.weights.ndim == 2 else self.weights[None]
        is_probability = self.input == "probability"
        apply_softmax(scores, out, is_probability, self.floor, weights, self.bias)
        return out

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """Affine functions of the logits through the softmax."""
        logits = class_logits_expression(scores, self.input, self.floor)
        far = far_enough(np.atleast_2d(self.weights).astype(np.float64))  # of names, in torch
        if far < INFINITE or self.input != "probability":
            logits = tuple(clip(x, -far, far) for x in logits)
        if self.weights.ndim == 1:
            rows = [
                w * x if w != 0 else Constant(0.0)
                for w, x in zip(self.weights.tolist(), logits, strict=True)
            ]
        else:
            rows = [Dot(tuple(row), logits) for row in self.weights.tolist()]
        scaled = tuple(row + b for row, b in zip(rows, self.bias.tolist(), strict=True))
        return tuple(Softmax(scaled, index) for index in range(len(scaled)))
