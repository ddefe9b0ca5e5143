"""What temperature, vector and matrix scaling share on more than two classes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np

from trueodds.calibrators._shared.log_odds import warn_not_converged, warn_separable
from trueodds.evidence import ClassEvidence
from trueodds.exceptions import MissingClassWarning, warn_user
from trueodds.maps import SoftmaxMap
from trueodds.numerics.softmax.floor import SoftmaxEvidence, fit_with_floor
from trueodds.numerics.softmax.logits import class_logits, margin_exponent, scaled_logits
from trueodds.numerics.softmax.regression import SoftmaxModel
from trueodds.validation import InputScale

__all__ = ["UNSEEN_FLOOR", "fit_softmax_map"]

UNSEEN_FLOOR = float(np.log(np.finfo(np.float64).eps))
"""ln of what a probability of exactly 0 is taken for if fitting saw none."""
MOST_RIDGE = 1e100  # no further off from infinity for any purpose


def fit_softmax_map(
    evidence: ClassEvidence,
    *,
    model_of: Callable[..., SoftmaxModel],
    scale: InputScale,
    per_class: bool,
    ridge: float = 0.0,
) -> SoftmaxMap:
    """Fit an affine map of the class logits; see :mod:`trueodds.numerics.softmax.floor`.

    Very large or small margins are scaled by a power of two, and the weights back again.
    ``ridge`` is that of a matrix model, on the weights as the map has them.
    """
    counts = evidence.class_weight
    if per_class and (counts == 0).any():
        absent = np.flatnonzero(counts == 0).tolist()
        warn_user(
            f"classes {absent} have no instance to calibrate on; their parameters stay neutral.",
            MissingClassWarning,
        )
    logits = class_logits(evidence.scores, scale)
    exponent = 0 if scale == "probability" else margin_exponent(logits)
    logits = np.ascontiguousarray(scaled_logits(logits, exponent).T)
    if ridge:
        with np.errstate(over="ignore", under="ignore"):
            ridge = min(float(np.ldexp(ridge, -2 * exponent)), MOST_RIDGE)
        model_of = partial(model_of, off_diagonal_ridge=ridge)

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
    return SoftmaxMap(
        weights=np.ldexp(fit.weights, -exponent),
        bias=fit.bias,
        floor=float(np.ldexp(floor, exponent)),
        input=scale,
    )
