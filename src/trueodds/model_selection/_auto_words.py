"""What AutoCalibrator says of its choice."""

from __future__ import annotations

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.maps import IdentityMap
from trueodds.rows import Rows

__all__ = ["FAILED", "TOO_FEW", "explain_recommended"]

UNCHANGED = 0.01
"""A mean change of probabilities that hardly any decision would notice."""

MOST_ROWS = 100_000
"""That decide how far scores are moved on average: two digits are said."""

TOO_FEW = (
    "identity was taken without a comparison, which needs at least two instances of two classes: "
    "the scores are left as they are."
)
FAILED = "what should have been taken could not be fitted: the scores are left as they are."


def explain_recommended(name: str, fitted: Calibrator, rows: Rows) -> str:
    """A sentence on what was taken, and whether it was worth it."""
    scores = rows.scores
    said = f"{name} was taken without a comparison, as the method that is best on average"
    if fitted.input == "score":
        return f"{said}."
    every = -(-len(scores) // MOST_ROWS)
    scores = np.ascontiguousarray(scores[::every])
    before = IdentityMap(input=fitted.input).apply(scores)
    change = np.abs(fitted.map_.apply(scores) - before)
    weight = None if rows.weight is None else rows.weight[::every]
    size = float(np.average(change.max(axis=1) if change.ndim == 2 else change, weights=weight))
    said += f"; it moves the scores by {size:.2g} on average"
    if size < UNCHANGED:
        said += ", so they could as well be left as they are"
    return f"{said}."
