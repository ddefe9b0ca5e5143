"""Changes of the base rate inside a calibration map, saved and exported with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trueodds.decisions._priors import as_prior
from trueodds.inputs import (
    as_floats,
    check_instance,
    check_number,
)
from trueodds.maps import CalibrationMap, LogOddsMap

__all__ = ["adjust_map_prior", "undersampling_correction"]


def adjust_map_prior(
    calibration_map: CalibrationMap,
    old_prior: Any,
    new_prior: Any,
    *,
    tolerance: float = 1e-4,
) -> CalibrationMap:
    """Return the map followed by :func:`adjust_prior`, as one map.

    Parameters
    ----------
    calibration_map : CalibrationMap
    old_prior, new_prior : float or array-like of shape (n_classes,)
        Base rates where the map was fitted and where it will be used, strictly between 0 and 1.
    tolerance : float, default=1e-4
        Largest error of a probability, for piecewise linear maps only.

    Returns
    -------
    CalibrationMap
        A map of the same family, except that an :class:`IdentityMap` becomes a log-odds or a
        softmax map. The interval of two classes is adjusted with it. Several classes and trees
        have none afterwards, because theirs depends on the unadjusted probabilities.

    Notes
    -----
    A change of the base rate adds a constant to the log-odds. That is exact for all maps of one
    score (the default of two classes among them), all softmax maps, and trees of these. Only a
    piecewise linear map becomes curved between its knots, so knots are added until straight lines
    are within ``tolerance``. One-vs-rest, average (the default of several classes) and group maps
    raise, because their parts are combined after the sigmoid or the softmax; apply
    :func:`adjust_prior` to their results.

    Examples
    --------
    >>> from trueodds.decisions import adjust_map_prior
    >>> from trueodds.maps import StepMap
    >>> adjust_map_prior(StepMap(edges=[0.5], values=[0.5, 0.9]), 0.5, 0.1).values.round(6)
    array([0.1, 0.5])
    """
    check_instance(calibration_map, CalibrationMap, "calibration_map")
    tolerance = check_number(tolerance, "tolerance", above=True)
    size = as_floats(old_prior, "old_prior").size
    band, alone = calibration_map.band, replace(calibration_map, band=None)
    by_class = size > 2 or not alone.takes_one_score
    count = (alone.n_classes or size) if by_class else 2
    old, new = as_prior(old_prior, count, "old_prior"), as_prior(new_prior, count, "new_prior")
    if by_class:
        return alone._with_logit_shift(np.log(new / old))
    shift = float(np.log(new[1] / new[0]) - np.log(old[1] / old[0]))
    adjusted = alone._with_log_odds_shift(shift, tolerance)
    if band is None or alone.band_of_forecasts:
        return adjusted
    lower, upper = (
        [curve._with_log_odds_shift(shift, tolerance) for curve in end]
        for end in (band.lower, band.upper)
    )
    return adjusted.with_band(lower, upper, level=band.level)


def undersampling_correction(rate: float) -> LogOddsMap:
    """Return a map that corrects for training on a share of the negatives.

    Parameters
    ----------
    rate : float
        Share of the negatives that was kept, above 0, if all positives were. If positives were
        repeated k times instead, pass 1/k.

    Returns
    -------
    LogOddsMap
        A map of probabilities that multiplies the odds by ``rate``.

    References
    ----------
    Dal Pozzolo, Caelen, Johnson and Bontempi (2015), Calibrating probability with undersampling
    for unbalanced classification.

    Examples
    --------
    >>> from trueodds.decisions import undersampling_correction
    >>> undersampling_correction(0.1)([0.5]).round(6)
    array([0.090909])
    """
    rate = check_number(rate, "rate", above=True)
    return LogOddsMap(a=1.0, b=1.0, c=float(np.log(rate)))
