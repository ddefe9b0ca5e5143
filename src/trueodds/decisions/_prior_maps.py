"""Changes of the base rate inside a calibration map, saved and exported with it."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.decisions._priors import as_prior
from trueodds.exceptions import InputError
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
        softmax map.

    Notes
    -----
    A change of the base rate adds a constant to the log-odds. That is exact for log-odds maps
    (added to ``c``), softmax maps (to ``bias``) and step maps (at their values). A piecewise
    linear map becomes curved between its knots, so knots are added until straight lines are within
    ``tolerance``. One-vs-rest maps and others raise, because their parts are normalized
    afterwards; apply :func:`adjust_prior` to their results.

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
    if not calibration_map.absorbs_prior:
        raise InputError(
            f"a {type(calibration_map).__name__} cannot include a change of the base rate; apply "
            "adjust_prior to its results."
        )
    by_class = size > 2 or not calibration_map.takes_one_score
    count = (calibration_map.n_classes or size) if by_class else 2
    old, new = as_prior(old_prior, count, "old_prior"), as_prior(new_prior, count, "new_prior")
    if by_class:
        return calibration_map._with_logit_shift(np.log(new / old))
    shift = float(np.log(new[1] / new[0]) - np.log(old[1] / old[0]))
    return calibration_map._with_log_odds_shift(shift, tolerance)


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
