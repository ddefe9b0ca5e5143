"""Whether forecasts are still calibrated, and if not, since when, where and by how much.

The results may be checked after every row: the chance of ever raising a false alarm is bounded.
See :class:`CalibrationMonitor`.
"""

from trueodds.monitoring._comparison import ForecastComparison
from trueodds.monitoring._findings import (
    ChangePoint,
    MiscalibratedRegion,
    Miscalibration,
    Recommendation,
)
from trueodds.monitoring._monitor import CalibrationMonitor

__all__ = [
    "CalibrationMonitor",
    "ChangePoint",
    "ForecastComparison",
    "MiscalibratedRegion",
    "Miscalibration",
    "Recommendation",
]
