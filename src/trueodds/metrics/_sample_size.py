"""How many rows an external validation needs, so that its intervals are as narrow as wanted."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.special import ndtri

from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    Weights,
    check_level,
    check_number,
    validate_scores,
)
from trueodds.numerics.concordance import concordance
from trueodds.numerics.log_odds import sigmoid

__all__ = ["ValidationSampleSize", "validation_sample_size"]

QUANTILES = 20_001
"""Points that stand for a normal distribution of log-odds."""
LARGEST_SAMPLE = 2**53
SMALLEST_QUANTILE = 2.0**-53
"""Of the normal distribution: float64 rounds the quantile of a smaller level to 0."""


@dataclass(frozen=True)
class ValidationSampleSize:
    """The result of :func:`validation_sample_size`.

    Attributes
    ----------
    n, events : int
        Rows that meet all criteria, and the events to expect among them.
    observed_expected, slope, c_statistic : int
        Rows that each criterion needs.
    net_benefit : int or None
        The same for the standardized net benefit, if a threshold was given.

    Examples
    --------
    >>> from trueodds.metrics import validation_sample_size
    >>> size = validation_sample_size(
    ...     log_odds_mean=-5, log_odds_sd=2.5, prevalence=0.018, c_statistic=0.8, level=0.95
    ... )
    >>> size.observed_expected, size.slope, size.c_statistic
    (21028, 4554, 4252)
    """

    n: int
    events: int
    observed_expected: int
    slope: int
    c_statistic: int
    net_benefit: int | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return asdict(self)


def validation_sample_size(
    *,
    y_prob: Any = None,
    log_odds_mean: float | None = None,
    log_odds_sd: float | None = None,
    prevalence: float | None = None,
    c_statistic: float | None = None,
    threshold: float | None = None,
    sensitivity: float | None = None,
    specificity: float | None = None,
    observed_expected_width: float = 0.2,
    slope_width: float = 0.2,
    c_statistic_width: float = 0.1,
    net_benefit_width: float = 0.2,
    level: float = 0.9,
) -> ValidationSampleSize:
    """Rows needed to validate a model with intervals of given widths, if it is calibrated.

    State how the model's probabilities will be distributed: by ``y_prob``, a sample of them (from
    where the model was made, say), or by a normal distribution of their log-odds.

    Parameters
    ----------
    y_prob : array-like of shape (n,), default=None
    log_odds_mean, log_odds_sd : float, default=None
    prevalence : float, default=None
        Frequency of the event; by default the mean probability.
    c_statistic : float, default=None
        By default that of a calibrated model with these probabilities.
    threshold : float, default=None
        Probability from which one acts; adds the criterion of the standardized net benefit.
    sensitivity, specificity : float, default=None
        At the threshold; by default those of a calibrated model with these probabilities.
    observed_expected_width, slope_width, c_statistic_width, net_benefit_width : float
        Widths of the intervals, if O:E and the slope are 1.
    level : float, default=0.9

    Returns
    -------
    ValidationSampleSize

    References
    ----------
    Riley et al. (2021), Minimum sample size for external validation of a clinical prediction model
    with a binary outcome, Statistics in Medicine 40.

    Examples
    --------
    >>> from trueodds.metrics import validation_sample_size
    >>> size = validation_sample_size(
    ...     log_odds_mean=-5, log_odds_sd=2.5, prevalence=0.018, c_statistic=0.8, level=0.95
    ... )
    >>> size.c_statistic
    4252
    """
    z = max(-float(ndtri((1 - check_level(level)) / 2)), SMALLEST_QUANTILE)
    prob = _probabilities(y_prob, log_odds_mean, log_odds_sd)
    share = float(prob.mean()) if prevalence is None else check_level(prevalence, "prevalence")
    c = _concordance(prob) if c_statistic is None else check_level(c_statistic, "c_statistic")
    widths = {
        name: check_number(width, f"{name}_width", 1e-100, 1e100)
        for name, width in (
            ("observed_expected", observed_expected_width),
            ("slope", slope_width),
            ("c_statistic", c_statistic_width),
            ("net_benefit", net_benefit_width),
        )
    }
    error = {name: width / (2 * z) for name, width in widths.items()}
    # Of ln(O:E), from the width of an interval around 1: 2·sinh(z·error).
    error["observed_expected"] = float(np.arcsinh(widths["observed_expected"] / 2)) / z
    needed = {
        "observed_expected": (1 - share) / (share * error["observed_expected"] ** 2),
        "slope": _slope_variance(prob) / error["slope"] ** 2,
        "c_statistic": _for_concordance(c, share, error["c_statistic"]),
    }
    net = None
    if threshold is not None:
        threshold = check_level(threshold, "threshold")
        found = _accuracy(prob, threshold, sensitivity, specificity)
        net = _whole(_net_benefit_variance(share, threshold, *found) / error["net_benefit"] ** 2)
    rows = {name: _whole(value) for name, value in needed.items()}
    n = max([*rows.values(), net or 0])
    return ValidationSampleSize(n=n, events=_whole(n * share), **rows, net_benefit=net)


def _whole(value: float) -> int:
    if not value < LARGEST_SAMPLE:
        raise InputError("no number of rows is enough for these probabilities and widths.")
    return int(np.ceil(value - 1e-9 * value))


def _probabilities(y_prob: Any, mean: float | None, sd: float | None) -> Floats:
    if y_prob is not None:
        if mean is not None or sd is not None:
            raise InputError("pass y_prob, or log_odds_mean and log_odds_sd; not both.")
        prob = validate_scores(y_prob, "probability", words=METRIC_WORDS, n_columns=1)
        if not ((prob > 0) & (prob < 1)).any():
            raise InputError("y_prob must not be all 0 and 1.")
        return prob
    if mean is None or sd is None:
        raise InputError("pass y_prob, or log_odds_mean and log_odds_sd.")
    mean = check_number(mean, "log_odds_mean", least=-700.0)
    sd = check_number(sd, "log_odds_sd", above=True)
    with np.errstate(over="ignore"):  # infinite log-odds are probabilities of 0 and 1
        return sigmoid(mean + sd * ndtri((np.arange(QUANTILES) + 0.5) / QUANTILES))


def _slope_variance(prob: Floats) -> float:
    """Variance of the slope times the number of rows, by Fisher's information."""
    prob = prob[(prob > 0) & (prob < 1)]
    z = np.log(prob) - np.log1p(-prob)
    spread = prob * (1 - prob)
    i00, i01, i11 = (float((spread * z**k).mean()) for k in range(3))
    determinant = i00 * i11 - i01**2
    return i00 / determinant if determinant > 1e-14 * i00 * i11 else np.inf


def _concordance(prob: Floats) -> float:
    """What to expect of a calibrated model: each row is an event with its probability."""
    both = np.concatenate([prob, prob])
    hit = np.repeat([True, False], len(prob))
    weight = np.concatenate([prob, 1 - prob])
    seen = weight > 0
    return concordance(both[seen], hit[seen], Weights.counted(weight[seen])).estimate


def _for_concordance(c: float, share: float, error: float) -> float:
    """Rows at which Newcombe's variance of the C statistic (method 4) is as small as wanted."""

    def enough(n: float) -> bool:
        half = n / 2 - 1
        inner = 1 + half * (1 - c) / (2 - c) + half * c / (1 + c)
        return bool(c * (1 - c) * inner <= error**2 * n**2 * share * (1 - share))

    high = 4
    while not enough(high) and high < LARGEST_SAMPLE:
        high *= 2
    low = high // 2
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return float(high)


def _accuracy(
    prob: Floats, threshold: float, sensitivity: float | None, specificity: float | None
) -> tuple[float, float]:
    act = prob >= threshold
    if sensitivity is None:
        sensitivity = float(prob[act].sum() / prob.sum())
    if specificity is None:
        specificity = float((1 - prob)[~act].sum() / (1 - prob).sum())
    for name, value in (("sensitivity", sensitivity), ("specificity", specificity)):
        check_number(value, name, 0.0, 1.0)
    return sensitivity, specificity


def _net_benefit_variance(
    share: float, threshold: float, sensitivity: float, specificity: float
) -> float:
    """Return the variance of the standardized net benefit, times the number of rows."""
    w = (1 - share) / share * threshold / (1 - threshold)
    return (
        sensitivity * (1 - sensitivity) / share
        + w**2 * specificity * (1 - specificity) / (1 - share)
        + w**2 * (1 - specificity) ** 2 / (share * (1 - share))
    )
