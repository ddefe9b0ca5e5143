"""Pictures of calibration. Each display first holds numbers and then draws them.

Drawing needs matplotlib: ``pip install "trueodds[plot]"``. Nothing here changes its settings.
"""

from trueodds.plots._map import CalibrationMapDisplay
from trueodds.plots._reliability import ReliabilityDisplay

__all__ = ["CalibrationMapDisplay", "ReliabilityDisplay"]
