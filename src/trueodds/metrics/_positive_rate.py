"""The share of positives among rows without labels, from a labeled sample and probabilities."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
from scipy.special import ndtri, stdtrit

from trueodds.basics.wording import percent_text
from trueodds.exceptions import InputError
from trueodds.inputs import METRIC_WORDS, check_level, validate_scores
from trueodds.metrics._sample import read_sample, top_label
from trueodds.numerics.standard_errors import wilson

__all__ = ["PositiveRate", "estimate_positive_rate"]

FEWEST = 10
"""Labeled rows below which the probabilities are not used: their slope would be noise."""
LEAST_UPPER = 0.5 + 1e-8
"""Nearer to 0.5, two quantiles are too small for their ratio."""


@dataclass(frozen=True)
class PositiveRate:
    """The result of :func:`estimate_positive_rate`.

    Attributes
    ----------
    estimate, low, high : float
        Share of positives among the unlabeled rows, and its interval.
    level : float
        Confidence level of the interval.
    n_labeled, n_unlabeled : int
    n_effective : float
        Labeled rows that would give the same interval without probabilities.

    Examples
    --------
    >>> from trueodds.metrics import estimate_positive_rate
    >>> print(estimate_positive_rate([0, 1] * 20, [0.2, 0.9] * 20, [0.9] * 75 + [0.2] * 25))
    75% of the 100 unlabeled rows are positive (90% interval 71–79%).
    """

    estimate: float
    low: float
    high: float
    level: float
    n_labeled: int
    n_unlabeled: int
    n_effective: float

    def __str__(self) -> str:
        ends = f"{percent_text(self.low).removesuffix('%')}–{percent_text(self.high)}"
        return (
            f"{percent_text(self.estimate)} of the {self.n_unlabeled:,} unlabeled rows are "
            f"positive ({percent_text(self.level)} interval {ends})."
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def estimate_positive_rate(
    y_true: Any,
    y_prob: Any,
    y_prob_unlabeled: Any,
    *,
    counts: Any = None,
    classes: Any = None,
    level: float = 0.9,
) -> PositiveRate:
    """Estimate the share of positives among unlabeled rows, with an interval.

    Use it to find, for example, how many of 10,000 answers of a language model are right, if 150
    were checked. The interval is narrower than that of the checked rows alone if the probabilities
    separate the classes. It is valid whether or not they are calibrated.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of a random sample of the rows.
    y_prob : array-like of shape (n,), (n, 2) or (n, n_classes)
        Probabilities of the labeled rows. They must not be fitted to these labels: pass
        out-of-fold probabilities, or those of a model fitted elsewhere. With three or more
        classes, the event is that the most probable class is right.
    y_prob_unlabeled : array-like of shape (m,), (m, 2) or (m, n_classes)
        Probabilities of the rows without labels.
    counts : array-like of shape (n,), default=None
        How often each labeled row occurred.
    classes : array-like, default=None
        As in :func:`log_loss`.
    level : float, default=0.9
        Confidence level of the interval.

    Returns
    -------
    PositiveRate

    Notes
    -----
    The estimate is ȳ + b·(mean of p over unlabeled − over labeled rows), where b is the slope of
    the regression of y on p in the labeled rows. This is prediction-powered inference with a tuned
    weight, and the regression estimator of survey sampling. It differs from the realized share by
    a difference of two means of y − b·p, so its variance is s²·(1/n + 1/m), where s² is the
    residual variance. The interval is Wilson's with the number of rows that gives this variance.
    The page "LLM confidence: which answers can you trust?" has its measured coverage. If the
    labeled rows are not a random sample of all rows, see
    :func:`trueodds.decisions.estimate_prior`.

    References
    ----------
    Angelopoulos, Bates, Fannjiang, Jordan and Zrnic (2023), Prediction-powered inference.
    Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import estimate_positive_rate
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(2, 1, 5000)
    >>> y = rng.random(5000) < p
    >>> found = estimate_positive_rate(y[:150], p[:150], p[150:])
    >>> round(found.low, 2), round(float(y[150:].mean()), 2), round(found.high, 2)
    (0.64, 0.67, 0.75)
    """
    level = check_level(level)
    sample = read_sample(y_true, y_prob, None, counts, classes)
    view = top_label(sample)
    words = replace(METRIC_WORDS, scores="y_prob_unlabeled")
    others = validate_scores(y_prob_unlabeled, "probability", words=words)
    if others.ndim == 2 and others.shape[1] == sample.n_classes == 2:
        others = others[:, 1]
    if others.shape[1:] != sample.prob.shape[1:]:
        raise InputError(
            "y_prob_unlabeled must have the columns of y_prob; got shape "
            f"{others.shape} and {sample.prob.shape}."
        )
    unlabeled = others if others.ndim == 1 else others.max(axis=1)
    y, p = view.hit.astype(np.float64), view.prob
    n, m = view.n_rows, len(unlabeled)
    slope, residual_share = 0.0, 1.0
    times = None if view.row_counts is None else view.row_counts.astype(np.int64)
    (of_y, of_both), (_, of_p) = np.cov(y, p, ddof=0, fweights=times)
    if n >= FEWEST and of_p > 0 and of_y > 0:
        slope = float(of_both / of_p)
        explained = float(of_both**2 / (of_y * of_p))
        # Student's quantile allows for an estimated variance in few rows.
        upper = max((1 + level) / 2, LEAST_UPPER)
        student = stdtrit(n - 2, upper) / ndtri(upper)
        residual_share = min(1.0, (1 - explained) * (n - 1) / (n - 2) * student**2)
        # Classes that are separated in n rows may overlap in the next: one row is as if wrong.
        residual_share = min(1.0, max(residual_share, 1 / (n * of_y)))
    estimate = view.mean(y) + slope * (float(unlabeled.mean()) - view.mean(p))
    estimate = float(np.clip(estimate, 0.0, 1.0))
    n_effective = 1 / (residual_share * (1 / n + 1 / m))
    low, high = wilson(np.array([estimate]), np.array([n_effective]), level)
    return PositiveRate(
        estimate=estimate,
        low=float(low[0]),
        high=float(high[0]),
        level=level,
        n_labeled=n,
        n_unlabeled=m,
        n_effective=n_effective,
    )
