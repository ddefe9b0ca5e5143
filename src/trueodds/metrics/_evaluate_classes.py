"""All that rows of several classes say about their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueodds.metrics._calibration_error import (
    debiased_calibration_error,
    expected_calibration_error,
)
from trueodds.metrics._calibration_test import CalibrationTest, calibration_test
from trueodds.metrics._interval import MetricInterval, confidence_interval
from trueodds.metrics._losses import accuracy, brier_score, log_loss
from trueodds.validation import as_floats

__all__ = ["ClassEvaluation", "evaluate_classes"]

METRICS = (
    log_loss,
    brier_score,
    accuracy,
    expected_calibration_error,
    debiased_calibration_error,
)


@dataclass(frozen=True, eq=False)
class ClassEvaluation:
    """The result of :func:`evaluate_classes`.

    Attributes
    ----------
    metrics : dict of str to MetricInterval
        ``log_loss``, ``brier_score``, ``accuracy``, ``expected_calibration_error``,
        ``debiased_calibration_error``.
    test : CalibrationTest
        Spiegelhalter's, of the most probable class.
    n : int
        Rows.
    """

    metrics: dict[str, MetricInterval]
    test: CalibrationTest
    n: int

    @property
    def p_value(self) -> float:
        """How often a calibrated model would be at least as far off."""
        return self.test.p_value

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON values; None stands for what is infinite or undefined."""
        return {
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "n": self.n,
            "test": self.test.to_dict(),
            "p_value": self.p_value,
        }


def evaluate_classes(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    classes: Any = None,
    level: float = 0.9,
    n_resamples: int = 200,
    random_state: Any = 0,
    progress: bool | None = None,
) -> ClassEvaluation:
    """Metrics with intervals and calibration test of the probabilities of several classes.

    For two classes, and for more rows than fit in memory, there is :func:`evaluate_table`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_prob : array-like of shape (n, n_classes)
        Each row is divided by its sum.
    sample_weight : array-like of shape (n,), default=None
    classes : array-like, default=None
        The label of each column; by default the sorted labels.
    level : float, default=0.9
        Of the intervals.
    n_resamples : int, default=200
    random_state : int or Generator, default=0
    progress : bool, default=None
        Show progress; by default on a terminal.

    Returns
    -------
    ClassEvaluation

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import evaluate_classes
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=1000)
    >>> y = [rng.choice(["cat", "dog", "fox"], p=row) for row in p]
    >>> result = evaluate_classes(y, p)
    >>> bool(result.metrics["log_loss"].low < 0.8 < result.metrics["log_loss"].high)
    True
    >>> result.p_value > 0.05  # they are calibrated
    True
    """
    prob = as_floats(y_prob, "y_prob")
    prob = prob / prob.sum(axis=1, keepdims=True)
    rows = {"sample_weight": sample_weight, "classes": classes}
    options = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
    metrics = {
        metric.__name__: confidence_interval(
            metric, y_true, prob, progress=progress, **rows, **options
        )
        for metric in METRICS
    }
    return ClassEvaluation(metrics, calibration_test(y_true, prob, **rows), len(prob))
