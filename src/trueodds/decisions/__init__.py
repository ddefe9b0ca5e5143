"""Decisions: thresholds, costs, net benefit, and changes of the base rate.

Names imported twice (``as``) are for other packages of this library.
"""

from trueodds.decisions._costs import (
    CostCurve,
    best_decision,
    cost_curve,
    costs_by_ratio as costs_by_ratio,
    expected_cost,
    optimal_threshold,
    realized_cost,
)
from trueodds.decisions._decision_curve import BenefitCurve, DecisionCurve, decision_curve
from trueodds.decisions._guarantees import (
    Risk as Risk,
    ThresholdGuarantee,
    guaranteed_threshold,
    guaranteed_thresholds,
)
from trueodds.decisions._net_benefit import net_benefit
from trueodds.decisions._prior_maps import adjust_map_prior, undersampling_correction
from trueodds.decisions._priors import adjust_prior, estimate_prior

__all__ = [
    "BenefitCurve",
    "CostCurve",
    "DecisionCurve",
    "ThresholdGuarantee",
    "adjust_map_prior",
    "adjust_prior",
    "best_decision",
    "cost_curve",
    "decision_curve",
    "estimate_prior",
    "expected_cost",
    "guaranteed_threshold",
    "guaranteed_thresholds",
    "net_benefit",
    "optimal_threshold",
    "realized_cost",
    "undersampling_correction",
]
