"""What temperature, vector and matrix scaling share on more than two classes."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq

from trueodds.calibrators._log_odds import warn_not_converged, warn_separable
from trueodds.exceptions import MissingClassWarning, warn_user
from trueodds.maps import SoftmaxMap
from trueodds.numerics.class_logits import class_logits
from trueodds.numerics.softmax_regression import SoftmaxFit, SoftmaxModel, fit_softmax
from trueodds.table import LabelSmoothing
from trueodds.validation import Floats, InputScale, Labels

__all__ = ["fit_softmax_map"]

ModelOf = Callable[[Floats, np.ndarray[tuple[int], np.dtype[np.bool_]]], SoftmaxModel]

UNSEEN_FLOOR = float(np.log(np.finfo(np.float64).eps))
"""ln of what a probability of exactly 0 is taken for if fitting saw none."""


def fit_softmax_map(
    scores: Floats,
    codes: Labels,
    weight: Floats | None,
    n_classes: int,
    *,
    model_of: ModelOf,
    scale: InputScale,
    label_smoothing: LabelSmoothing,
    per_class: bool,
) -> SoftmaxMap:
    """Fit an affine map of the class logits.

    Probabilities of exactly 0 stand at a level (``floor``) that is estimated: where the mean
    fitted probability of those entries is (n₊ + 1)/(n + 2), n₊ of n of them being the true class.
    That is the likelihood's own equation for the level, with a uniform prior on the frequency.
    """
    row_weight = np.ones(len(codes)) if weight is None else weight
    counts = np.bincount(codes, row_weight, n_classes).astype(np.float64)
    if per_class and (counts == 0).any():
        absent = np.flatnonzero(counts == 0).tolist()
        warn_user(
            f"classes {absent} have no instance to calibrate on; their parameters stay neutral.",
            MissingClassWarning,
        )
    targets = smoothed_targets(codes, counts, label_smoothing)
    logits = class_logits(scores, scale)
    fit, floor = _fit_with_floor(logits, targets, row_weight, counts > 0, model_of, scale)
    if fit.separates and not label_smoothing:
        warn_separable()
        targets = smoothed_targets(codes, counts, "platt")
        fit, floor = _fit_with_floor(logits, targets, row_weight, counts > 0, model_of, scale)
    if not fit.converged:
        warn_not_converged(fit.n_iter)
    return SoftmaxMap(weights=fit.weights, bias=fit.bias, floor=floor, input=scale)


def smoothed_targets(codes: Labels, counts: Floats, label_smoothing: LabelSmoothing) -> Floats:
    """One-hot rows, or Platt's correction for k classes: (N_y + 1)/(N_y + k), 1/(N_y + k)."""
    n_classes = len(counts)
    one_hot = np.eye(n_classes)
    if label_smoothing == "platt":
        rows = (one_hot * counts[:, None] + 1) / (counts[:, None] + n_classes)
    else:
        epsilon = float(label_smoothing or 0.0)
        rows = one_hot * (1 - epsilon) + epsilon / n_classes
    return np.asarray(rows[codes])


def _fit_with_floor(
    logits: Floats,
    targets: Floats,
    row_weight: Floats,
    trainable: np.ndarray[tuple[int], np.dtype[np.bool_]],
    model_of: ModelOf,
    scale: InputScale,
) -> tuple[SoftmaxFit, float]:
    share = row_weight / row_weight.sum()
    relative = logits - logits.max(axis=1, keepdims=True)
    zero = np.isneginf(relative)
    edge = float(relative[~zero].min())
    if not zero.any():
        model = model_of(logits, trainable)
        floor = min(edge, UNSEEN_FLOOR) if scale == "probability" else -np.inf
        return fit_softmax(model, targets, share, model.start), floor
    rows = zero.any(axis=1)
    entries, of_rows = zero[rows], row_weight[rows, None]
    n = float((entries * of_rows).sum())
    hits = float((entries * of_rows * targets[rows]).sum())
    wanted = (hits + 1) / (n + 2)
    edge = min(edge, -1.0)
    floor = min(edge, float(np.log(wanted)))
    start: Floats | None = None
    for _ in range(50):
        model = model_of(_raised(logits, floor), trainable)
        fit = fit_softmax(model, targets, share, model.start if start is None else start)
        start = fit.theta

        def excess(level: float, theta: Floats = fit.theta) -> float:
            part = model_of(_raised(logits[rows], level), trainable)
            eta = part.forward(theta)
            p = np.exp(eta - eta.max(axis=1, keepdims=True))
            p /= p.sum(axis=1, keepdims=True)
            return float((p * entries * of_rows).sum()) / n - wanted

        previous, floor = floor, _solve_level(excess, edge)
        if abs(floor - previous) <= 1e-7 * abs(floor):
            break
    return fit, floor


def _raised(logits: Floats, floor: float) -> Floats:
    return np.asarray(np.maximum(logits, logits.max(axis=1, keepdims=True) + floor))


def _solve_level(excess: Callable[[float], float], edge: float) -> float:
    """The level at or below ``edge`` where the excess vanishes; ``edge`` if it is too low there."""
    if excess(edge) <= 0:
        return edge
    low = 2 * edge
    while excess(low) > 0:
        low *= 2
        if low < -1e6:
            return edge
    return float(brentq(excess, low, edge, xtol=1e-9, rtol=1e-10))
