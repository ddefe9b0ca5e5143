"""From a fit on the log-odds axis to a map, with the warnings that the user should see."""

from __future__ import annotations

from trueodds.exceptions import (
    ConvergenceWarning,
    NonMonotoneWarning,
    SeparableScoresWarning,
    warn_user,
)
from trueodds.inputs import InputScale, check_instance
from trueodds.maps import LogOddsMap
from trueodds.numerics.logistic_regression import Design, Loss, fit_log_odds
from trueodds.numerics.saturated import CurveFit
from trueodds.rows import Rows

__all__ = ["fit_log_odds_map", "warn_not_converged", "warn_of_curve", "warn_separable"]


def fit_log_odds_map(
    rows: Rows,
    scale: InputScale,
    design: Design,
    *,
    nonnegative: bool = False,
    loss: Loss = "log",
) -> LogOddsMap:
    """Fit ``design`` and return its map; see :func:`fit_log_odds`."""
    fit = fit_log_odds(rows, scale=scale, design=design, nonnegative=nonnegative, loss=loss)
    if fit.separable:
        warn_separable(loss)
    if not fit.converged:
        warn_not_converged(fit.n_iter, fit.gradient)
    if fit.a == 0 and fit.b == 0 and fit.eliminated:
        warn_user(
            "higher scores go with fewer positives; the best monotone map is constant. "
            " Check which class is positive.",
            NonMonotoneWarning,
        )
    elif fit.a < 0 or fit.b < 0:
        warn_user(
            "the fitted map is not increasing: higher scores go with fewer positives, at least in "
            "part. Check which class is positive.",
            NonMonotoneWarning,
        )
    c = fit.c - rows.offset
    return LogOddsMap(a=fit.a, b=fit.b, c=c, lower=fit.lower, upper=fit.upper, scale=scale)


def warn_of_curve(fit: CurveFit) -> None:
    """Warn about problems in the fit of a curve of the log-odds.

    Parameters
    ----------
    fit : CurveFit

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> from trueodds.calibrators import CurveFit, warn_of_curve
    >>> @dataclass(frozen=True)
    ... class Doubled(CurveFit):
    ...     def at(self, z):
    ...         return 2 * z
    >>> warn_of_curve(Doubled())
    """
    check_instance(fit, CurveFit, "fit")
    if fit.separable:
        warn_separable()
    if not fit.converged:
        warn_not_converged(fit.n_iter, fit.gradient)
    if fit.mean_slope < 0:
        warn_user(
            "the fitted map is not increasing: on average higher scores go with fewer "
            "positives. Check which class is positive.",
            NonMonotoneWarning,
        )


def warn_separable(loss: Loss = "log") -> None:
    """Warn that Platt's targets were used."""
    cause = {
        "log": "the scores separate the classes, so the likelihood has no finite optimum",
        "brier": "the scores separate the classes, or nearly so, and squared error has no finite "
        "optimum",
    }
    warn_user(
        f'{cause[loss]}; Platt\'s label correction (label_smoothing="platt") was used. Were these '
        "rows used to train the model?",
        SeparableScoresWarning,
    )


def warn_not_converged(n_iter: int, gradient: float | None = None) -> None:
    """Warn that a solver stopped early."""
    size = "" if gradient is None else f" with a relative gradient of {gradient:.1e}"
    warn_user(f"the fit stopped after {n_iter} iterations{size}.", ConvergenceWarning)
