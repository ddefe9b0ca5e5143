"""Labels of 0 and 1 as targets strictly between them."""

from __future__ import annotations

from trueodds.validation import Floats

__all__ = ["platt_targets", "smooth_counts"]


def platt_targets(n_neg: float, n_pos: float) -> tuple[float, float]:
    """What a negative and a positive count as: 1/(N₋ + 2) and (N₊ + 1)/(N₊ + 2)."""
    return 1 / (n_neg + 2), (n_pos + 1) / (n_pos + 2)


def smooth_counts(n_neg: Floats, n_pos: Floats, low: float, high: float) -> tuple[Floats, Floats]:
    """Weights of the classes when a negative counts as ``low`` and a positive as ``high``."""
    if (low, high) == (0.0, 1.0):
        return n_neg, n_pos
    return n_neg * (1 - low) + n_pos * (1 - high), n_pos * high + n_neg * low
