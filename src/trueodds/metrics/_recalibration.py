"""Calibration on average and of the spread: observed/expected, intercept, slope, and Cox's test."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels
from trueodds.metrics._sample import Forecasts, read_two_classes
from trueodds.numerics.glm import LogisticModel, fit_logistic_model, log_likelihood
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.logistic_regression import estimated_log_odds

__all__ = [
    "calibration_intercept",
    "calibration_slope",
    "cox_statistic",
    "finite_log_odds",
    "intercept_model",
    "observed_expected_ratio",
    "slope_model",
]


def observed_expected_ratio(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Events that happened over events that were expected; 1 is best.

    Above 1 the probabilities are too low on average, below 1 too high. It sees the mean alone.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes.
    y_prob : array-like of shape (n,) or (n, 2)
        Probabilities of the positive class (the last label), or of both.
    sample_weight, counts, classes
        As in :func:`log_loss`.

    Returns
    -------
    float
        0 if nothing happened; infinite if something happened and nothing was expected.

    Examples
    --------
    >>> from trueodds.metrics import observed_expected_ratio
    >>> observed_expected_ratio([0, 1, 1], [0.2, 0.5, 0.8]).__round__(6)
    1.333333
    """
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    observed, expected = observed_and_expected(view)
    if expected == 0:
        return np.inf if observed else np.nan
    return observed / expected


def calibration_intercept(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """By how much all log-odds are too low (calibration in the large); 0 is best.

    The maximum-likelihood estimate of a in ln(odds) = a + logit(p), the slope being held at 1.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`observed_expected_ratio`.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If there is no finite estimate: one class only, or a probability of exactly 0 (1) for what
        happened (did not). A probability of exactly 0 or 1 that was right changes nothing.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression.
    Van Calster et al. (2016), A calibration hierarchy for risk models was defined.

    Examples
    --------
    >>> from trueodds.metrics import calibration_intercept
    >>> calibration_intercept([0, 1, 1, 0], [0.5, 0.5, 0.5, 0.5])
    0.0
    """
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    return float(intercept_model(view).coef[0])


def calibration_slope(
    y_true: Any,
    y_prob: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """The factor by which log-odds should be multiplied; 1 is best.

    The maximum-likelihood estimate of b in ln(odds) = a + b·logit(p). Below 1 the probabilities are
    too extreme, as those of an overfitted model are; above 1 not extreme enough.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`observed_expected_ratio`.

    Returns
    -------
    float

    Raises
    ------
    InputError
        If there is no finite estimate: one class only, one probability only, or probabilities that
        separate the classes.

    Notes
    -----
    Probabilities of exactly 0 and 1 have no log-odds. Their place is estimated from how often they
    were right, as :class:`trueodds.LogisticCalibrator` does, so that no clip decides the slope.

    References
    ----------
    Cox (1958), Two further applications of a model for binary regression.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import calibration_slope
    >>> rng = np.random.default_rng(0)
    >>> z = rng.normal(size=100_000)
    >>> y = rng.random(100_000) < 1 / (1 + np.exp(-z))
    >>> round(calibration_slope(y, 1 / (1 + np.exp(-2 * z))), 2)  # log-odds twice too large
    0.5
    """
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    return float(slope_model(view).coef[1])


def observed_and_expected(view: Forecasts) -> tuple[float, float]:
    """Weight of the events, and the sum of their probabilities."""
    weight = view.row_weight
    return float(weight @ view.hit), float(weight @ view.prob)


def check_both_happen(view: Forecasts, what: str) -> None:
    """Refuse rows of one class, whose likelihood has no optimum."""
    if view.hit.all() or not view.hit.any():
        happened = "always" if view.hit.all() else "never"
        raise InputError(f"the event {happened} happened in these rows, so {what} is not finite.")


def intercept_model(view: Forecasts) -> LogisticModel:
    """The logistic model with log-odds as offset and a constant."""
    check_both_happen(view, "the calibration intercept")
    z = log_odds(view.prob, "probability")
    wrong = np.flatnonzero(np.isinf(z) & ((z > 0) != view.hit))
    if len(wrong):
        p = view.prob[wrong[0]]
        what = "happened" if p == 0 else "did not happen"
        raise InputError(
            f"a probability of exactly {p:g} was given to what {what} (row {wrong[0]} of those "
            f"with weight; {len(wrong)} in all), so the calibration intercept is not finite."
        )
    finite = np.isfinite(z)
    hit = view.hit[finite]
    check_both_happen(
        Forecasts(view.prob[finite], hit, None),
        "the calibration intercept of the probabilities that are not exactly 0 or 1",
    )
    return fit_logistic_model(
        np.ones((len(hit), 1)),
        hit.astype(np.float64),
        view.row_weight[finite],
        z[finite],
        squares=view.squares[finite],
    )


def finite_log_odds(view: Forecasts) -> Floats:
    """Log-odds, with those of exactly 0 and 1 where the likelihood places them."""
    return estimated_log_odds(view.in_counts())


def slope_model(
    view: Forecasts, z: Floats | None = None, cluster: Labels | None = None
) -> LogisticModel:
    """The logistic model with a constant and log-odds."""
    check_both_happen(view, "the calibration slope")
    z = finite_log_odds(view) if z is None else z
    if z.min() == z.max():
        raise InputError("all probabilities are equal, so the calibration slope is not determined.")
    events, others = z[view.hit], z[~view.hit]
    if others.max() <= events.min() or events.max() <= others.min():
        raise InputError(
            "the probabilities separate those with the event from those without, so the "
            "calibration slope is not finite."
        )
    design = np.stack([np.ones(len(z)), z], axis=1)
    return fit_logistic_model(
        design,
        view.hit.astype(np.float64),
        view.row_weight,
        squares=view.squares,
        cluster=cluster,
    )


def cox_statistic(view: Forecasts) -> float:
    """Twice the gain in log-likelihood by a free intercept and slope; χ² with 2 degrees."""
    z = finite_log_odds(view)
    model = slope_model(view, z)
    as_they_are = log_likelihood(
        log_odds(view.prob, "probability"), view.hit.astype(np.float64), view.row_weight
    )
    return max(0.0, 2 * (model.log_likelihood - as_they_are))
