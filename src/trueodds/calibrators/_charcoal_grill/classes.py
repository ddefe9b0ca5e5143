"""Charcoal Grill Scaling of more than two classes: from scores and labels to a map."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np

from trueodds.calibrators._charcoal_grill.classes_fit import ClassFit
from trueodds.calibrators._shared.parametric import warn_separable
from trueodds.calibrators._shared.softmax import HOTTEST, UNSEEN_FLOOR
from trueodds.exceptions import MissingClassWarning, NonMonotoneWarning, warn_user
from trueodds.inputs import Floats, InputScale, Labels, LabelSmoothing
from trueodds.maps import CharcoalSoftmaxMap
from trueodds.numerics.charcoal_grill import CoalRows
from trueodds.numerics.label_targets import class_targets
from trueodds.numerics.magnitude import scaled_logits, spread_exponent
from trueodds.numerics.softmax.floor import SoftmaxRows, fit_with_floor
from trueodds.numerics.softmax.logits import (
    class_logits,
    log_softmax,
)
from trueodds.numerics.softmax.regression import SoftmaxFit, TemperatureModel
from trueodds.rows import Rows

__all__ = ["fit_charcoal_softmax_map"]

Solve = Callable[[CoalRows, float, bool], ClassFit]
"""Fits coals to rows, given ln T₀ of temperature scaling and whether one coal is enough."""


def fit_charcoal_softmax_map(
    rows: Rows,
    *,
    bias: bool,
    solve: Solve,
    raw_logits: bool,
    scale: InputScale,
) -> CharcoalSoftmaxMap:
    """Fit a map of several classes, whose coals ``solve`` finds.

    Coals lie among logarithms of probabilities; with ``raw_logits`` they lie among the logits as
    they are given, unless the scores are probabilities, which have no others.

    Very large decision values are scaled by a power of two, and the fit is scaled back. With very
    small ones the logarithms of probabilities are much the same for all rows: one coal is used.
    """
    n_classes = rows.n_classes
    logits = class_logits(rows.scores, scale)
    order = _canonical_order(logits, rows.codes)
    logits, codes, row_weight = logits[order], rows.codes[order], rows.row_weight[order]
    counts = np.bincount(codes, row_weight, n_classes).astype(np.float64)
    absent = np.flatnonzero(counts == 0).tolist()
    if bias and absent:
        warn_user(
            f"classes {absent} have no rows; their biases stay 0.",
            MissingClassWarning,
        )
    exponent = 0 if scale == "probability" else spread_exponent(logits)
    base, floor, smoothing = _temperature(
        logits, exponent, codes, row_weight, counts, rows.label_smoothing
    )
    inverse = float(base.theta[0])
    if inverse <= 1 / HOTTEST:
        warn_user(
            "the scores rank the classes in reverse; the best temperature is infinite.",
            NonMonotoneWarning,
        )
        return CharcoalSoftmaxMap(
            means=np.zeros((1, n_classes)),
            temperatures=np.ldexp(np.full(1, HOTTEST), exponent),
            widths=np.ones(1),
            bias=np.zeros(n_classes),
            floor=floor,
            scale=scale,
        )
    own, other = _targets(counts, smoothing)
    np.maximum(logits, logits.max(axis=1, keepdims=True) + floor, out=logits)
    axis: Literal["log_probability", "raw"] = "log_probability"
    one_coal = False
    if raw_logits and scale != "probability":
        axis, logs = "raw", scaled_logits(logits, exponent)
    elif exponent >= 0:
        logs = scaled_logits(log_softmax(logits), exponent)
    else:
        logs = scaled_logits(logits - logits.max(axis=1, keepdims=True), exponent)
        one_coal = True
    coal_rows = CoalRows(logs, codes, own[codes], other[codes], row_weight, counts > 0)
    fit = solve(coal_rows, -float(np.log(inverse)), one_coal)
    return CharcoalSoftmaxMap(
        means=np.ldexp(fit.coals.means, exponent),
        temperatures=np.ldexp(fit.coals.temperatures, exponent),
        widths=np.ldexp(fit.coals.widths, exponent if axis == "raw" else max(exponent, 0)),
        bias=fit.coals.bias,
        floor=floor,
        axis=axis,
        scale=scale,
    )


def _canonical_order(logits: Floats, codes: Labels) -> Labels:
    """Rows sorted by what they hold, so that their order in the input leaves no trace."""
    keys = (codes, logits[:, 1], logits[:, 0], logits.max(axis=1))
    return np.asarray(np.lexsort(keys))


def _targets(counts: Floats, label_smoothing: LabelSmoothing) -> tuple[Floats, Floats]:
    """What a row of each class counts as for its own and for every other class."""
    own = np.diag(class_targets(counts, label_smoothing))
    return own, (1 - own) / (len(counts) - 1)


def _lowest(logits: Floats) -> float:
    """The lowest finite logit, counted from the largest of its row."""
    with np.errstate(over="ignore"):
        relative = logits - logits.max(axis=1, keepdims=True)
    return float(relative[np.isfinite(relative)].min())


def _temperature(
    logits: Floats,
    exponent: int,
    codes: Labels,
    row_weight: Floats,
    counts: Floats,
    label_smoothing: LabelSmoothing,
) -> tuple[SoftmaxFit, float, LabelSmoothing]:
    """Temperature scaling, the floor of probabilities of 0, and the smoothing that was needed.

    The temperature is that of logits·2^−exponent, the floor that of the logits.
    """
    scaled = np.ascontiguousarray(scaled_logits(logits, exponent).T)

    def softmax_rows(smoothing: LabelSmoothing) -> SoftmaxRows:
        own, other = _targets(counts, smoothing)
        targets = np.repeat(other[codes][None], len(counts), axis=0)
        targets[codes, np.arange(len(codes))] = own[codes]
        return SoftmaxRows(scaled, targets, row_weight, counts > 0)

    whole = softmax_rows(label_smoothing)
    fit, floor = fit_with_floor(whole, TemperatureModel)
    if fit.separates and not label_smoothing:
        warn_separable()
        label_smoothing = "platt"
        fit, floor = fit_with_floor(softmax_rows(label_smoothing), TemperatureModel)
    if floor is None:
        return fit, min(_lowest(logits), UNSEEN_FLOOR), label_smoothing
    return fit, float(np.ldexp(floor, exponent)), label_smoothing
