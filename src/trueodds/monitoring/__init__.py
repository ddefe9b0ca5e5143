"""Keeping watch: is it still calibrated, since when not, where, by how much, and what to do.

Everything here may be looked at after every row without a false alarm: see
:class:`CalibrationMonitor`.
"""

from trueodds.monitoring._comparison import ForecastComparison
from trueodds.monitoring._findings import Advice, ChangePoint, Deviation, WrongPlace
from trueodds.monitoring._monitor import CalibrationMonitor

__all__ = [
    "Advice",
    "CalibrationMonitor",
    "ChangePoint",
    "Deviation",
    "ForecastComparison",
    "WrongPlace",
]
