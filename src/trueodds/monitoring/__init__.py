"""Monitoring of calibration over time: alarm, change point, regions and size of the error.

The results may be checked after every row: the chance of ever raising a false alarm is bounded.
See :class:`CalibrationMonitor`.

Names imported twice (``as``) are for other packages of this library.
"""

from trueodds.monitoring._comparison import ForecastComparison
from trueodds.monitoring._findings import (
    ChangePoint,
    MiscalibratedRegion,
    Miscalibration,
    Recommendation,
)
from trueodds.monitoring._monitor import CalibrationMonitor
from trueodds.monitoring._rows import (
    as_rows as as_rows,
    label_codes as label_codes,
    stream_weights as stream_weights,
)

__all__ = [
    "CalibrationMonitor",
    "ChangePoint",
    "ForecastComparison",
    "MiscalibratedRegion",
    "Miscalibration",
    "Recommendation",
]
