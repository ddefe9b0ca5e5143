"""Calibration maps: what was learned, as small frozen functions of a score.

A map is independent of fitting. It is called on scores, saved with :meth:`CalibrationMap.save`,
and read back with :func:`load`. The file format is described in ``docs/map-format.md``.

Names imported twice (``as``) are for other packages of this library.
"""

from trueodds.maps._band import Band
from trueodds.maps._base import BoundMap, CalibrationMap
from trueodds.maps._binary import (
    LARGEST_LOG_ODDS as LARGEST_LOG_ODDS,
    LogOddsCurveMap,
    LogOddsMap,
    PiecewiseLinearMap,
    QuadraticMap,
    StepMap,
)
from trueodds.maps._charcoal import CharcoalGrillMap, CharcoalSoftmaxMap
from trueodds.maps._classes import (
    AverageMap,
    IdentityMap,
    OneVsRestMap,
    SoftmaxMap,
    StructuredSoftmaxMap,
)
from trueodds.maps._formulas import (
    as_pair as as_pair,
    feature_columns as feature_columns,
    formula_of as formula_of,
    score_names as score_names,
    usable_rows as usable_rows,
)
from trueodds.maps._group import (
    SCORE as SCORE,
    GroupMap,
    GroupTerm,
    base_log_odds as base_log_odds,
    codes_of_categories as codes_of_categories,
    codes_of_numbers as codes_of_numbers,
    codes_of_scores as codes_of_scores,
    standardized as standardized,
)
from trueodds.maps._tree import TreeMap, branch_text as branch_text, children_of as children_of

__all__ = [
    "AverageMap",
    "Band",
    "BoundMap",
    "CalibrationMap",
    "CharcoalGrillMap",
    "CharcoalSoftmaxMap",
    "GroupMap",
    "GroupTerm",
    "IdentityMap",
    "LogOddsCurveMap",
    "LogOddsMap",
    "OneVsRestMap",
    "PiecewiseLinearMap",
    "QuadraticMap",
    "SoftmaxMap",
    "StepMap",
    "StructuredSoftmaxMap",
    "TreeMap",
    "load",
]

load = CalibrationMap.load
