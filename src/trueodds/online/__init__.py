"""Calibration that learns row by row, with bounds that hold for every sequence of labels.

See :class:`OnlineCalibrator`.
"""

from trueodds.online._calibrator import OnlineCalibrator
from trueodds.online._stream import Expert, PlaceCalibration

__all__ = ["Expert", "OnlineCalibrator", "PlaceCalibration"]
