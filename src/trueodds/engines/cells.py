"""Cells of scores that every engine computes alike, to the last bit.

A score is rounded to ``bits`` significant binary digits of its distance from the nearer end of the
scale. That is p below one half, 1 − p above it, and |z| + unit for log-odds and raw decision
values. Cells are therefore narrow where scores crowd, near 0 and 1: of probabilities, each moves
by at most 2^−bits of that distance, and its log-odds by less than 2^(1−bits).

The rounding is Veltkamp's: with C = 2^s + 1 and c = C·x, c − (c − x) is x rounded to 53 − s bits
(Dekker 1971; Boldo 2006). IEEE 754 defines these three operations exactly, unlike logarithms and
ties of ``round``. So cells and their scores are equal on all engines and in any order of the rows.
A mean of the cell would not be.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from trueodds.inputs import Floats, InputScale

__all__ = ["ScoreCells", "cells_for"]

SIGNIFICAND_BITS = 53
FEWEST_BITS = 2
MOST_BITS = 51
"""Veltkamp's rounding is proved for 2 to 51 bits of 53."""
LARGEST_ROUNDED = 2.0**960
"""Scores from here on would overflow in between, and keep their value; so do infinities."""
MARGIN_OCTAVES = 20
"""Raw decision values have no natural unit: precision is relative down to 2^−20 of the largest."""


def _rounded(x: Any, bits: int) -> Any:
    """Round a number, an array, or a column of an engine to this many significant digits."""
    c = x * (2.0 ** (SIGNIFICAND_BITS - bits) + 1)
    return c - (c - x)


@dataclass(frozen=True)
class ScoreCells:
    """Resolution of scores.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}
    bits : int
        Significant binary digits that are kept.
    unit : float
        Constant added to |z| of log-odds and raw decision values, so that cells near 0 have equal
        width.
    """

    scale: InputScale
    bits: int
    unit: float = 1.0

    def of_array(self, score: Floats) -> Floats:
        """The score of the cell that each score is in."""
        if self.scale == "probability":
            below = _rounded(score, self.bits)
            above = 1.0 - _rounded(1.0 - score, self.bits)
            return np.asarray(np.where(score <= 0.5, below, above))
        usable = np.abs(score) < LARGEST_ROUNDED
        z = np.where(usable, score, 0.0)
        right = _rounded(self.unit + z, self.bits) - self.unit
        left = self.unit - _rounded(self.unit - z, self.bits)
        return np.asarray(np.where(usable, np.where(z >= 0, right, left), score))

    def of_column(self, score: Any) -> Any:
        """The same, as a narwhals expression."""
        import narwhals as nw

        if self.scale == "probability":
            below = _rounded(score, self.bits)
            above = 1.0 - _rounded(1.0 - score, self.bits)
            return nw.when(score <= 0.5).then(below).otherwise(above)
        usable = score.abs() < LARGEST_ROUNDED
        right = _rounded(self.unit + score, self.bits) - self.unit
        left = self.unit - _rounded(self.unit - score, self.bits)
        inner = nw.when(score >= 0).then(right).otherwise(left)
        return nw.when(usable).then(inner).otherwise(score)

    def change(self) -> str:
        """By how much scores move at most, in words."""
        if self.scale == "probability":
            return f"moves their log-odds by at most {2.0 ** (1 - self.bits):.1g}"
        return f"moves each by at most {2.0**-self.bits:.1g} of |score| + {self.unit:g}"

    def finer(self, factor: float) -> ScoreCells | None:
        """Cells at least ``factor`` times as fine; None if there are none."""
        bits = self.bits + max(1, math.floor(math.log2(factor)))
        return replace(self, bits=min(bits, MOST_BITS)) if self.bits < MOST_BITS else None

    def most(self, low: float, high: float) -> float:
        """How many cells there are at most between two finite scores, and the two ends."""
        if self.scale == "probability":
            left = _cells_between(low, min(high, 0.5), self.bits) if low <= 0.5 else 0
            right = _cells_between(1 - high, min(1 - low, 0.5), self.bits) if high > 0.5 else 0
            return left + right + 2
        zero, ends = self.unit, 2.0
        if high >= 0:
            ends += _cells_between(zero + max(low, 0.0), zero + high, self.bits)
        if low < 0:
            ends += _cells_between(zero + max(-high, 0.0), zero - low, self.bits)
        return ends


def _cells_between(low: float, high: float, bits: int) -> float:
    """Numbers of ``bits`` significant digits from the one next to low to the one next to high."""

    def rank(x: float) -> float:
        mantissa, exponent = math.frexp(x)
        return (exponent + 2 * (mantissa - 0.5)) * 2.0 ** (bits - 1)

    return rank(high) - rank(low) + 2


def cells_for(scale: InputScale, low: float, high: float, max_rows: int) -> ScoreCells:
    """The finest cells of which at most ``max_rows`` lie between two scores.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}
    low, high : float
        The lowest and the highest score but 0 and 1 (or the infinities).
    max_rows : int

    Returns
    -------
    ScoreCells
        With at least two bits, even if that makes more cells than ``max_rows``.
    """
    unit = 1.0
    if scale == "raw":
        size = min(max(abs(low), abs(high)), LARGEST_ROUNDED)
        unit = 2.0 ** (math.frexp(size)[1] - MARGIN_OCTAVES) if size > 0 else 1.0
    for bits in range(MOST_BITS, FEWEST_BITS, -1):
        cells = ScoreCells(scale, bits, unit)
        if cells.most(low, high) <= max_rows:
            return cells
    return ScoreCells(scale, FEWEST_BITS, unit)
