"""Calibration maps: what was learned, as small frozen functions of a score.

A map is independent of fitting. It is called on scores, saved with :meth:`CalibrationMap.save`,
and read back with :func:`load`. The file format is described in ``docs/map-format.md``.
"""

from trueodds.maps._band import Band
from trueodds.maps._base import BoundMap, CalibrationMap
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
from trueodds.maps._group import GroupMap, GroupTerm
from trueodds.maps._tree import TreeMap

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
