"""How well probabilities agree with what happened, with intervals and tests.

All functions take ``y_true, y_prob`` and keyword-only options. Names ending in ``_error`` or
``_loss`` are better small.
"""

from __future__ import annotations

from trueodds.inputs import Band
from trueodds.metrics._calibration_band import CalibrationBand, calibration_band
from trueodds.metrics._curve_errors import (
    CurveErrors,
    curve_errors,
    integrated_calibration_index,
)
from trueodds.metrics._curves import ReliabilityCurve, reliability_curve
from trueodds.metrics._decomposition import (
    CalibrationRefinement,
    CorpDecomposition,
    calibration_refinement,
    corp_decomposition,
)
from trueodds.metrics._errors import (
    debiased_calibration_error,
    expected_calibration_error,
    maximum_calibration_error,
)
from trueodds.metrics._estimates import MetricInterval
from trueodds.metrics._evaluation import (
    ClassEvaluation,
    Evaluation,
    evaluate_classes,
    evaluate_counts,
)
from trueodds.metrics._exact_test import BinTests, ExactTest
from trueodds.metrics._groups import (
    Excess,
    GroupCounts,
    GroupTest,
    WorstGroupError,
    evaluate_groups,
    group_test,
    worst_group_error,
)
from trueodds.metrics._intervals import (
    MetricComparison,
    compare_metric,
    confidence_interval,
)
from trueodds.metrics._labels import evaluate_labels, per_label
from trueodds.metrics._losses import (
    accuracy,
    brier_score,
    c_statistic,
    log_loss,
    root_mean_squared_error,
    scaled_brier_score,
)
from trueodds.metrics._multicalibration import (
    MulticalibrationError,
    Segment,
    multicalibration_error,
)
from trueodds.metrics._positive_rate import PositiveRate, estimate_positive_rate
from trueodds.metrics._recalibration import (
    calibration_intercept,
    calibration_slope,
    observed_expected_ratio,
)
from trueodds.metrics._sample_size import ValidationSampleSize, validation_sample_size
from trueodds.metrics._smooth import smooth_calibration_error
from trueodds.metrics._tails import TailCalibration, tail_calibration
from trueodds.metrics._tests import CalibrationTest, calibration_test
from trueodds.metrics._validation import GroupValidation, ValidationReport, validation_report

__all__ = [
    "Band",
    "BinTests",
    "CalibrationBand",
    "CalibrationRefinement",
    "CalibrationTest",
    "ClassEvaluation",
    "CorpDecomposition",
    "CurveErrors",
    "Evaluation",
    "ExactTest",
    "Excess",
    "GroupCounts",
    "GroupTest",
    "GroupValidation",
    "MetricComparison",
    "MetricInterval",
    "MulticalibrationError",
    "PositiveRate",
    "ReliabilityCurve",
    "Segment",
    "TailCalibration",
    "ValidationReport",
    "ValidationSampleSize",
    "WorstGroupError",
    "accuracy",
    "brier_score",
    "c_statistic",
    "calibration_band",
    "calibration_intercept",
    "calibration_refinement",
    "calibration_slope",
    "calibration_test",
    "compare_metric",
    "confidence_interval",
    "corp_decomposition",
    "curve_errors",
    "debiased_calibration_error",
    "estimate_positive_rate",
    "evaluate_classes",
    "evaluate_counts",
    "evaluate_groups",
    "evaluate_labels",
    "expected_calibration_error",
    "group_test",
    "integrated_calibration_index",
    "log_loss",
    "maximum_calibration_error",
    "multicalibration_error",
    "observed_expected_ratio",
    "per_label",
    "reliability_curve",
    "root_mean_squared_error",
    "scaled_brier_score",
    "smooth_calibration_error",
    "tail_calibration",
    "validation_report",
    "validation_sample_size",
    "worst_group_error",
]
