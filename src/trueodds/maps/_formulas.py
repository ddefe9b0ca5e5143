"""From a map to the formula that is exported, and the parts that several families share.

The parts are the twins of ``numerics`` as expressions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown, suggestion
from trueodds.exceptions import InputError
from trueodds.export import Formula, Score, features_in
from trueodds.export.expressions import (
    INFINITE,
    LARGEST_FLOAT,
    All,
    Choose,
    Condition,
    Constant,
    Expression,
    Usable,
    absolute,
    clip,
    exp,
    log,
    maximum,
    minimum,
    total,
)
from trueodds.inputs import ROW_SUM_TOLERANCE, Floats, InputScale, as_names
from trueodds.numerics.log_odds import log_odds

if TYPE_CHECKING:
    from trueodds.maps._base import CalibrationMap

__all__ = [
    "SATURATED_LOG_ODDS",
    "as_pair",
    "class_logits_expression",
    "feature_columns",
    "formula_of",
    "log_or_infinite",
    "log_sum_exp",
    "one_vs_rest_expressions",
    "pair_expression",
    "positive_expression",
    "probability_bounds",
    "probability_log_odds",
    "score_names",
    "usable_rows",
]

SATURATED_LOG_ODDS = 1e4
"""Log-odds beyond which the logistic function is constant in float64."""
INFINITELY_LOW = Constant(-INFINITE)


def probability_log_odds(p: Expression) -> Expression:
    """ln(p/(1−p)) of a probability strictly between 0 and 1."""
    return log(p / (1 - p))


def probability_bounds(lower: float, upper: float) -> tuple[float, float]:
    """The largest p whose log-odds are at most ``lower``, the least of at least ``upper``.

    Comparing p with these decides as comparing its log-odds would, to the last digit, and needs no
    logarithm of 0.
    """
    low, high = _probability(lower), _probability(upper)
    while high < 1 and _log_odds(high) < upper:
        high = float(np.nextafter(high, 1))
    while high > 0 and _log_odds(float(np.nextafter(high, 0))) >= upper:
        high = float(np.nextafter(high, 0))
    while low > 0 and _log_odds(low) > lower:
        low = float(np.nextafter(low, 0))
    while low < 1 and _log_odds(float(np.nextafter(low, 1))) <= lower:
        low = float(np.nextafter(low, 1))
    return low, high


def _probability(z: float) -> float:
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def _log_odds(p: float) -> float:
    return float(log_odds(np.array([p]), "probability")[0])


def positive_expression(scores: Sequence[Expression], scale: InputScale) -> Expression:
    """Two columns as the score of the positive class, on the same scale."""
    negative, positive = scores
    if scale == "probability":
        return positive / (negative + positive)
    if scale == "logit":  # −inf − x would be infinite, which nothing may be
        return maximum(positive, -INFINITE) - maximum(negative, -INFINITE)
    return positive - negative


def as_pair(scores: Floats, scale: InputScale) -> Floats:
    """Scores of the positive class, of shape (n,), as those of both, of shape (n, 2)."""
    if scale == "probability":
        return np.stack([1 - scores, scores], axis=1)
    return np.stack([-np.maximum(scores, 0), np.minimum(scores, 0)], axis=1)


def pair_expression(score: Expression, scale: InputScale) -> tuple[Expression, Expression]:
    """The twin of :func:`as_pair`."""
    if scale == "probability":
        return 1 - score, score
    finite = clip(score, -INFINITE, INFINITE)
    return -maximum(finite, 0.0), minimum(finite, 0.0)


def log_or_infinite(p: Expression) -> Expression:
    """The logarithm of p, or what stands for −inf."""
    return Choose(((p > 0, log(p)),), INFINITELY_LOW)


def class_logits_expression(
    scores: Sequence[Expression], scale: InputScale, floor: float
) -> tuple[Expression, ...]:
    """Logits, or logarithms of probabilities, at most ``-floor`` below the largest of the row."""
    if scale == "probability":
        logits = [log_or_infinite(p) for p in scores]
        # Of the largest probability only one logarithm is needed; a row of zeros has none.
        top = log_or_infinite(maximum(*scores))
    else:
        logits = [maximum(x, -INFINITE) if scale == "logit" else x for x in scores]
        top = maximum(*scores)
    if floor == -np.inf:
        return tuple(logits)
    least = top + floor
    return tuple(maximum(logit, least) for logit in logits)


def one_vs_rest_expressions(
    scores: Sequence[Expression], scale: InputScale
) -> tuple[Expression, ...]:
    """Each column as a binary score: logits as log-odds, other scales unchanged."""
    if scale != "logit":
        return tuple(scores)
    logits = [maximum(x, -INFINITE) for x in scores]
    result = []
    for own in logits:
        rest = [logit for logit in logits if logit is not own]
        result.append(own - log_sum_exp(rest))
    return tuple(result)


def log_sum_exp(logits: Sequence[Expression]) -> Expression:
    """The logarithm of Σ exp(logits)."""
    if len(logits) == 1:
        return logits[0]
    top = maximum(*logits)
    return top + log(total([exp(maximum(logit - top, -700.0)) for logit in logits]))


def formula_of(drawn: CalibrationMap, n_scores: int) -> Formula:
    """The map's formula, missing where a score is missing or outside the range of its scale."""
    expected = drawn.n_classes
    one_is_enough = n_scores == 1 and drawn.takes_one_score
    if not one_is_enough and expected is not None and n_scores != expected:
        raise InputError(
            f"a map of {expected} classes needs a list of {expected} columns of scores; got "
            f"{n_scores}."
        )
    scores = tuple(Score(index) for index in range(n_scores))
    outputs = drawn.expression(scores)
    conditions: list[Condition] = [Usable(score, drawn.scale, n_scores > 1) for score in scores]
    if n_scores > 1 and drawn.scale == "probability" and drawn.rows_sum_to_one:
        conditions.append(absolute(total(scores) - 1) <= ROW_SUM_TOLERANCE)
    elif n_scores > 1 and drawn.scale == "logit":
        conditions.append(maximum(*scores) >= -LARGEST_FLOAT)
    usable = All(tuple(conditions))
    return Formula(n_scores, drawn.scale, usable, outputs, features_in(outputs))


def usable_rows(drawn: CalibrationMap, scores: Floats) -> npt.NDArray[np.bool_]:
    """Which rows of scores (n, n_scores) the formula is not missing for: its twin in NumPy."""
    several = scores.shape[1] > 1
    with np.errstate(invalid="ignore"):
        if drawn.scale == "probability":
            usable = ((scores >= 0) & (scores <= 1)).all(axis=1)
            if several and drawn.rows_sum_to_one:
                usable &= np.abs(scores.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE
        elif drawn.scale == "raw":
            usable = np.isfinite(scores).all(axis=1)
        elif several:
            usable = (scores < np.inf).all(axis=1) & ~np.isneginf(scores).all(axis=1)
        else:
            usable = ~np.isnan(scores).any(axis=1)
    return np.asarray(usable)


def score_names(column: Any) -> tuple[str, ...]:
    """One column's name, or those of several classes."""
    names = (column,) if isinstance(column, str) else column
    if not isinstance(names, Sequence) or not names or not all(isinstance(n, str) for n in names):
        raise InputError(f"column must be a name, or a list of names; got {shown(column)}.")
    if len(set(names)) != len(names):
        raise InputError(f"the columns of scores must be distinct; got {list(names)}.")
    return tuple(names)


def feature_columns(drawn: CalibrationMap, formula: Formula, features: Any) -> tuple[str, ...]:
    """The columns that hold the features of a formula.

    ``features`` is a list of columns in the order of the fit, a mapping from the map's names of
    features to columns, or None if they have the names of the fit.
    """
    if not formula.features:
        return ()
    known = [name for name in drawn.features if isinstance(name, str)]
    if features is None:
        if not known:
            raise InputError(
                "the map was fitted on an array, so its features have no names: pass "
                "features=[...] with their columns, in the order of the fit."
            )
        return tuple(feature.name for feature in formula.features)
    if isinstance(features, Mapping):
        for name in features:
            if name not in known:
                raise InputError(f"the map has no feature {shown(name)}; {suggestion(name, known)}")
        return tuple(features.get(feature.name, feature.name) for feature in formula.features)
    count = len(drawn.features)
    features = [] if isinstance(features, str) else as_names(features, "features")
    if len(features) != count:
        raise InputError(f"features must name {count} columns, in the order of the fit.")
    return tuple(features[feature.index] for feature in formula.features)
