"""What decisions cost before and after calibration, for every ratio of the two costs."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.decisions._costs import costs_by_ratio
from trueodds.inputs import Floats
from trueodds.report._evidence import ReportRows
from trueodds.report._plain import numbers

__all__ = ["decision_costs"]


def decision_costs(
    sample: ReportRows, out_of_fold: dict[str, Floats], baseline: str, level: float
) -> dict[str, Any]:
    """Mean cost per row of the best decisions by each method's probabilities."""
    costs = costs_by_ratio(
        sample.codes, out_of_fold, baseline=baseline, weight=sample.weight, level=level
    )
    return {
        "kind": "act" if sample.binary else "ask",
        "ratios": numbers(costs.ratio),
        "thresholds": numbers(costs.threshold),
        "start": int(np.argmin(np.abs(np.log(costs.ratio / costs.usual)))),
        "rows": len(sample),
        "default": numbers(costs.without_model),
        "methods": {
            method: {
                "cheap": numbers(costs.cheap[method]),
                "dear": numbers(costs.expensive[method]),
                "saving_low": numbers(costs.saving[method][0]),
                "saving_high": numbers(costs.saving[method][1]),
            }
            for method in out_of_fold
        },
    }
