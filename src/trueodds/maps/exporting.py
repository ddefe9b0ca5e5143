"""From a map to the formula that the renderers write, and the names of its columns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown, suggestion
from trueodds.exceptions import InputError
from trueodds.export import Formula, Score, features_in
from trueodds.export.expressions import LARGEST, All, Condition, Usable, absolute, maximum, total
from trueodds.inputs import (
    ROW_SUM_TOLERANCE,
    Floats,
    as_names,
)

if TYPE_CHECKING:
    from trueodds.maps._base import CalibrationMap

__all__ = ["feature_columns", "formula_of", "score_names", "usable_rows"]


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
    conditions: list[Condition] = [Usable(score, drawn.input, n_scores > 1) for score in scores]
    if n_scores > 1 and drawn.input == "probability" and drawn.rows_sum_to_one:
        conditions.append(absolute(total(scores) - 1) <= ROW_SUM_TOLERANCE)
    elif n_scores > 1 and drawn.input == "logit":
        conditions.append(maximum(*scores) >= -LARGEST)
    usable = All(tuple(conditions))
    return Formula(n_scores, drawn.input, usable, outputs, features_in(outputs))


def usable_rows(drawn: CalibrationMap, scores: Floats) -> npt.NDArray[np.bool_]:
    """Which rows of scores (n, n_scores) the formula is not missing for: its twin in NumPy."""
    several = scores.shape[1] > 1
    with np.errstate(invalid="ignore"):
        if drawn.input == "probability":
            usable = ((scores >= 0) & (scores <= 1)).all(axis=1)
            if several and drawn.rows_sum_to_one:
                usable &= np.abs(scores.sum(axis=1) - 1) <= ROW_SUM_TOLERANCE
        elif drawn.input == "score":
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
    attributes to columns, or None if they have the names of the fit.
    """
    if not formula.features:
        return ()
    known = [name for name in drawn.attributes if isinstance(name, str)]
    if features is None:
        if not known:
            raise InputError(
                "the map was fitted on an array, so its attributes have no names: pass "
                "features=[...] with their columns, in the order of the fit."
            )
        return tuple(feature.name for feature in formula.features)
    if isinstance(features, Mapping):
        for name in features:
            if name not in known:
                raise InputError(
                    f"the map has no attribute {shown(name)}; {suggestion(name, known)}"
                )
        return tuple(features.get(feature.name, feature.name) for feature in formula.features)
    count = len(drawn.attributes)
    features = [] if isinstance(features, str) else as_names(features, "features")
    if len(features) != count:
        raise InputError(f"features must name {count} columns, in the order of the fit.")
    return tuple(features[feature.index] for feature in formula.features)
