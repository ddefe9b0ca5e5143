"""Pictures of calibration. Each display first holds numbers and then draws them.

Drawing needs matplotlib: ``pip install "trueodds[plot]"``. Nothing here changes its settings.
"""

from trueodds.plots._cost_curve import CostCurveDisplay
from trueodds.plots._decision_curve import DecisionCurveDisplay
from trueodds.plots._group_effects import GroupEffectsDisplay
from trueodds.plots._map import CalibrationMapDisplay
from trueodds.plots._reliability import ReliabilityDisplay
from trueodds.plots._tree import TreeDisplay

__all__ = [
    "CalibrationMapDisplay",
    "CostCurveDisplay",
    "DecisionCurveDisplay",
    "GroupEffectsDisplay",
    "ReliabilityDisplay",
    "TreeDisplay",
]
