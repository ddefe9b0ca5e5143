"""Calibration maps: what was learned, as small frozen functions of a score.

A map is independent of fitting. It is called on scores, saved with :meth:`CalibrationMap.save`,
and read back with :func:`load`. The file format is described in ``docs/map-format.md``.
"""

from trueodds.maps._band import Band
from trueodds.maps._base import BoundMap, CalibrationMap

# For other packages of this library.
from trueodds.maps._binary import LARGEST_LOG_ODDS as LARGEST_LOG_ODDS
from trueodds.maps._binary import (
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
)
from trueodds.maps._formulas import (
    feature_columns as feature_columns,
)
from trueodds.maps._formulas import (
    formula_of as formula_of,
)
from trueodds.maps._formulas import (
    score_names as score_names,
)
from trueodds.maps._formulas import (
    usable_rows as usable_rows,
)
from trueodds.maps._group import (
    SCORE as SCORE,
)
from trueodds.maps._group import GroupMap, GroupTerm
from trueodds.maps._group import (
    base_log_odds as base_log_odds,
)
from trueodds.maps._group import (
    codes_of_categories as codes_of_categories,
)
from trueodds.maps._group import (
    codes_of_numbers as codes_of_numbers,
)
from trueodds.maps._group import (
    codes_of_scores as codes_of_scores,
)
from trueodds.maps._group import (
    standardized as standardized,
)
from trueodds.maps._tree import TreeMap
from trueodds.maps._tree import branch_text as branch_text
from trueodds.maps._tree import children_of as children_of

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
