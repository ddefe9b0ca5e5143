"""How well probabilities agree with what happened, and how sure one can be of that.

All functions take ``y_true, y_prob`` and keyword-only options. Names ending in ``_error`` or
``_loss`` are better small. ``accuracy_score`` and ``roc_auc_score`` are scikit-learn's own.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from trueodds.metrics._calibration_error import (
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
)
from trueodds.metrics._calibration_test import CalibrationTest, calibration_test
from trueodds.metrics._curve import ReliabilityCurve, reliability_curve
from trueodds.metrics._decomposition import (
    CalibrationRefinement,
    CorpDecomposition,
    calibration_refinement,
    corp_decomposition,
)
from trueodds.metrics._ends import EndConfidence, end_confidence
from trueodds.metrics._evaluate import Evaluation, evaluate_table
from trueodds.metrics._evaluate_classes import ClassEvaluation, evaluate_classes
from trueodds.metrics._guaranteed_band import CalibrationBand, calibration_band
from trueodds.metrics._interval import (
    MetricComparison,
    MetricInterval,
    compare_metric,
    confidence_interval,
)
from trueodds.metrics._losses import accuracy, brier_score, log_loss, root_mean_squared_error
from trueodds.metrics._smooth import smooth_calibration_error

if TYPE_CHECKING:
    from sklearn.metrics import accuracy_score, roc_auc_score

__all__ = [
    "CalibrationBand",
    "CalibrationRefinement",
    "CalibrationTest",
    "ClassEvaluation",
    "CorpDecomposition",
    "EndConfidence",
    "Evaluation",
    "MetricComparison",
    "MetricInterval",
    "ReliabilityCurve",
    "accuracy",
    "accuracy_score",
    "brier_score",
    "calibration_band",
    "calibration_refinement",
    "calibration_test",
    "compare_metric",
    "confidence_interval",
    "corp_decomposition",
    "debiased_calibration_error",
    "end_confidence",
    "evaluate_classes",
    "evaluate_table",
    "expected_calibration_error",
    "log_loss",
    "maximum_calibration_error",
    "reliability_curve",
    "roc_auc_score",
    "root_mean_squared_error",
    "smooth_calibration_error",
]


def __getattr__(name: str) -> Any:
    if name in ("accuracy_score", "roc_auc_score"):
        # Half a second that nothing else here needs.
        from sklearn import metrics

        return getattr(metrics, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
