"""What temperature, vector and matrix scaling share on more than two classes."""

from __future__ import annotations

import numpy as np

from trueodds.calibrators._shared.log_odds import warn_not_converged, warn_separable
from trueodds.evidence import ClassEvidence
from trueodds.exceptions import MissingClassWarning, warn_user
from trueodds.maps import SoftmaxMap
from trueodds.numerics.class_logits import class_logits
from trueodds.numerics.softmax_floor import ModelOf, SoftmaxEvidence, fit_with_floor
from trueodds.validation import InputScale

__all__ = ["fit_softmax_map"]

UNSEEN_FLOOR = float(np.log(np.finfo(np.float64).eps))
"""ln of what a probability of exactly 0 is taken for if fitting saw none."""


def fit_softmax_map(
    evidence: ClassEvidence, *, model_of: ModelOf, scale: InputScale, per_class: bool
) -> SoftmaxMap:
    """Fit an affine map of the class logits; see :mod:`trueodds.numerics.softmax_floor`."""
    counts = evidence.class_weight
    if per_class and (counts == 0).any():
        absent = np.flatnonzero(counts == 0).tolist()
        warn_user(
            f"classes {absent} have no instance to calibrate on; their parameters stay neutral.",
            MissingClassWarning,
        )
    logits = np.ascontiguousarray(class_logits(evidence.scores, scale).T)

    def with_targets(evidence: ClassEvidence) -> SoftmaxEvidence:
        targets = np.take(evidence.targets.T, evidence.codes, axis=1)
        return SoftmaxEvidence(logits, targets, evidence.row_weight, counts > 0)

    whole = with_targets(evidence)
    fit, floor = fit_with_floor(whole, model_of)
    if fit.separates and not evidence.label_smoothing:
        warn_separable()
        fit, floor = fit_with_floor(with_targets(evidence.smoothed("platt")), model_of, fit.theta)
    if not fit.converged:
        warn_not_converged(fit.n_iter)
    if floor is None:
        floor = min(whole.edge, UNSEEN_FLOOR) if scale == "probability" else -np.inf
    return SoftmaxMap(weights=fit.weights, bias=fit.bias, floor=floor, input=scale)
