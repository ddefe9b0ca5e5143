"""What is bet on: places where forecasts may be wrong, and the share of each in the evidence."""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats

__all__ = [
    "EDGES",
    "N_PARTS",
    "SHAPES",
    "SHIFTS",
    "SLOPES",
    "TILTS",
    "kept_for_later",
    "shares",
]

SHIFTS: Floats = np.array([2.0**power for power in range(-6, 2)])
"""Shifts of the log-odds. Betting on one that is off by √2 costs a sixth of the growth at most."""
TILTS: Floats = np.exp(np.concatenate([SHIFTS, -SHIFTS]))
"""What the odds are multiplied by: eight upwards, eight downwards."""
_FACTORS = np.exp(np.geomspace(1 / 32, 1, 8))
SLOPES: Floats = np.concatenate([1 / _FACTORS, _FACTORS]) - 1.0
"""Slopes of the log-odds less 1: eight below, eight above."""

EDGES: Floats = np.array(
    [0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 0.999]
)
"""Between the parts of the scale."""
N_PARTS = len(EDGES) + 1
SHAPES = 4
"""Too low, too high, too extreme, not extreme enough: places 0 to 3."""

EARLY_ROWS = 100.0


def kept_for_later(rows: Floats) -> Floats:
    """The share of the stake that waits for a start after so many rows.

    As in the kernel: 1 before the first row, ½ after it, then ½/(1 + ln(1 + (rows − 1)/100)).
    """
    rows = np.asarray(rows, dtype=np.float64)
    later = 0.5 / (1.0 + np.log1p(np.maximum(rows - 1.0, 0.0) / EARLY_ROWS))
    return np.where(rows < 1, 1.0, later)


def shares(n_classes: int, n_groups: int) -> Floats:
    """The share of each place in the evidence; they sum to 1.

    Parameters
    ----------
    n_classes : int
        0 for forecasts of two classes.
    n_groups : int
        Groups that have a place; 0 if rows have none.
    """
    families = (n_classes > 0) + (n_groups > 0)
    # Parts of the scale get little: one that is wrong soon makes up for it, and most are right.
    shapes, parts = ((0.95, 0.05), (0.65, 0.05), (0.55, 0.05))[families]
    rest = (1.0 - shapes - parts) / max(families, 1)
    return np.concatenate(
        [
            np.full(SHAPES, shapes / SHAPES),
            np.full(2 * N_PARTS, parts / (2 * N_PARTS)),
            np.full(2 * n_classes, rest / (2 * max(n_classes, 1))),
            np.full(2 * n_groups, rest / (2 * max(n_groups, 1))),
        ]
    )
