"""What AutoCalibrator says of its choice."""

from __future__ import annotations

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.evidence import ClassEvidence, Evidence
from trueodds.maps import IdentityMap

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


def explain_recommended(name: str, fitted: Calibrator, evidence: Evidence | ClassEvidence) -> str:
    """A sentence on what was taken, and whether it was worth it."""
    several = isinstance(evidence, ClassEvidence)
    scores = evidence.scores if isinstance(evidence, ClassEvidence) else evidence.score
    said = f"{name} was taken without a comparison, as the method that is best on average"
    if fitted.input == "score":
        return f"{said}."
    every = -(-len(scores) // MOST_ROWS)
    scores = np.ascontiguousarray(scores[::every])
    before = IdentityMap(input=fitted.input).apply(scores)
    change = np.abs(fitted.map_.apply(scores) - before)
    weight = None if evidence.row_weight is None else evidence.row_weight[::every]
    size = float(np.average(change.max(axis=1) if several else change, weights=weight))
    said += f"; it moves the scores by {size:.2g} on average"
    if size < UNCHANGED:
        said += ", so they could as well be left as they are"
    return f"{said}."
