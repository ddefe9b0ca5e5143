"""Calibration maps: what was learned, as small frozen functions of a score.

A map knows nothing of fitting. It is called on scores, saved with :meth:`CalibrationMap.save`,
and read back with :func:`load`. The file format is described in ``docs/map-format.md``.
"""

from trueodds.maps._average import AverageMap
from trueodds.maps._band import Band
from trueodds.maps._band_end import BandEndMap
from trueodds.maps._base import CalibrationMap
from trueodds.maps._charcoal_grill import CharcoalGrillMap
from trueodds.maps._charcoal_softmax import CharcoalSoftmaxMap
from trueodds.maps._identity import IdentityMap
from trueodds.maps._log_odds import LogOddsMap
from trueodds.maps._log_odds_curve import LogOddsCurveMap
from trueodds.maps._one_vs_rest import OneVsRestMap
from trueodds.maps._piecewise_linear import PiecewiseLinearMap
from trueodds.maps._quadratic import QuadraticMap
from trueodds.maps._softmax import SoftmaxMap
from trueodds.maps._step import StepMap
from trueodds.maps._structured_softmax import StructuredSoftmaxMap
from trueodds.maps._tree import TreeMap

__all__ = [
    "AverageMap",
    "Band",
    "BandEndMap",
    "CalibrationMap",
    "CharcoalGrillMap",
    "CharcoalSoftmaxMap",
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
