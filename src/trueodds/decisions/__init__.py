"""Acting on probabilities: thresholds and costs, and other base rates than that of the data."""

from trueodds.decisions._costs import (
    CostCurve,
    best_decision,
    cost_curve,
    expected_cost,
    optimal_threshold,
    realised_cost,
)
from trueodds.decisions._prior_maps import adjust_map_prior, undersampling_correction
from trueodds.decisions._priors import adjust_prior, estimate_prior

__all__ = [
    "CostCurve",
    "adjust_map_prior",
    "adjust_prior",
    "best_decision",
    "cost_curve",
    "estimate_prior",
    "expected_cost",
    "optimal_threshold",
    "realised_cost",
    "undersampling_correction",
]
