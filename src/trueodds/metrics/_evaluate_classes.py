"""All that rows of several classes say about their probabilities."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import (
    as_floats,
    as_generator,
    check_integer,
    check_level,
    check_number,
    repeat_rows,
)
from trueodds.metrics._block_sums import BlockSums
from trueodds.metrics._calibration_test import CalibrationTest, calibration_test
from trueodds.metrics._evaluate import interval_of
from trueodds.metrics._interval_result import MetricInterval
from trueodds.metrics._plain_words import TOLERANCE, class_finding
from trueodds.metrics._sample import binary_views, read_sample

__all__ = ["ClassEvaluation", "evaluate_classes"]

METRICS = (
    "log_loss",
    "brier_score",
    "accuracy",
    "expected_calibration_error",
    "debiased_calibration_error",
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
    mean_confidence : float
        The mean probability of the most probable class, which is the accuracy that it promises.

    Examples
    --------
    >>> from trueodds.metrics import evaluate_classes
    >>> scores = [[0.6, 0.3, 0.1], [0.2, 0.7, 0.1], [0.1, 0.2, 0.7]] * 10
    >>> found = evaluate_classes([0, 1, 2] * 10, scores, n_resamples=50)
    >>> found.n, round(found.mean_confidence, 3), found.metrics["accuracy"].estimate
    (30, 0.667, 1.0)
    """

    metrics: dict[str, MetricInterval]
    test: CalibrationTest
    n: int
    mean_confidence: float

    @property
    def p_value(self) -> float:
        """How often a calibrated model would be at least as far off."""
        return self.test.p_value

    def finding(
        self, tolerance: float = TOLERANCE, groups: list[dict[str, Any]] | None = None
    ) -> str:
        """What was found, in words and with its size.

        Parameters
        ----------
        tolerance : float, default=0.02
            What is significant is called small if confidence and accuracy differ by no more.
        groups : list of dict, default=None
            As in :meth:`Evaluation.finding`.
        """
        return class_finding(self, check_number(tolerance, "tolerance"), groups)

    def to_dict(self) -> dict[str, Any]:
        """The evaluation as plain JSON values; None stands for what is infinite or undefined."""
        return {
            "metrics": {name: found.to_dict() for name, found in self.metrics.items()},
            "n": self.n,
            "mean_confidence": self.mean_confidence,
            "test": self.test.to_dict(),
            "p_value": self.p_value,
        }


def evaluate_classes(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    level: float = 0.9,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> ClassEvaluation:
    """Metrics with intervals and calibration test of the probabilities of several classes.

    For two classes, and for more rows than fit in memory, there is :func:`evaluate_table`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_prob : array-like of shape (n, n_classes)
        Each row is divided by its sum.
    sample_weight : array-like of shape (n,), default=None
    counts : array-like of shape (n,), default=None
        How often each row occurred: the result is that of the rows written out. ``sample_weight``
        leaves a row one observation, whatever its weight.
    classes : array-like, default=None
        The label of each column; by default the sorted labels.
    level : float, default=0.9
        Of the intervals.
    n_resamples : int, default=200
    random_state : int or Generator, default=0

    Returns
    -------
    ClassEvaluation

    Notes
    -----
    Memory beside the probabilities is that of a few numbers per row. Intervals come from a
    bootstrap of at most 2,048 random blocks of rows, whose sums are all that a resample needs; bins
    of equal mass keep the edges that all rows give them.

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
    check_level(level)
    rng = as_generator(random_state)
    rows = repeat_rows(counts, y_true=y_true, y_prob=y_prob, sample_weight=sample_weight)
    prob = as_floats(rows["y_prob"], "y_prob")
    if prob.ndim == 2:
        with np.errstate(all="ignore"):  # a row of zeros is refused below
            prob = prob / prob.sum(axis=1, keepdims=True)
    rows["y_prob"] = prob
    sample = read_sample(**rows, classes=classes)
    if sample.prob.ndim == 1:
        raise InputError(
            "evaluate_classes needs three or more classes, and a column of y_prob for each; got "
            f"y_prob of shape {prob.shape}. For two classes use evaluate_table."
        )
    blocks = BlockSums.of(sample, rng)
    whole = blocks.metrics(np.ones((1, blocks.n_blocks)))
    drawn = blocks.bootstrap(check_integer(n_resamples, "n_resamples", 2), rng)
    left = blocks.jackknife(rng)
    metrics = {
        name: interval_of(float(whole[name][0]), drawn[name], left[name], level, name)
        for name in METRICS
    }
    top = binary_views(sample, "top_label")[0]
    return ClassEvaluation(
        metrics,
        calibration_test(**rows, classes=classes),
        len(prob),
        mean_confidence=sample.mean(top.prob),
    )
