"""Another base rate as a part of a calibration map, so that it is saved and exported with it."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from trueodds.decisions._priors import as_prior
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    as_floats,
    check_number,
)
from trueodds.maps import (
    CalibrationMap,
    IdentityMap,
    LogOddsMap,
    PiecewiseLinearMap,
    QuadraticMap,
    SoftmaxMap,
    StepMap,
)

__all__ = ["adjust_map_prior", "undersampling_correction"]


def adjust_map_prior(
    calibration_map: CalibrationMap,
    old_prior: Any,
    new_prior: Any,
    *,
    tolerance: float = 1e-4,
) -> CalibrationMap:
    """The map followed by :func:`adjust_prior`, as a map again.

    Parameters
    ----------
    calibration_map : CalibrationMap
    old_prior, new_prior : float or array-like of shape (n_classes,)
        Base rates where the map was learned and where it will be used, strictly between 0 and 1.
    tolerance : float, default=1e-4
        The greatest error of a probability, for piecewise linear maps only.

    Returns
    -------
    CalibrationMap
        Of the same family, except that an :class:`IdentityMap` becomes a log-odds or a softmax
        map.

    Notes
    -----
    A change of the base rate adds a constant to the log-odds. That is exact for log-odds maps
    (added to ``c``), softmax maps (to ``bias``) and step maps (at their values). A piecewise
    linear map is bent by it between its knots, so knots are added until straight lines are within
    ``tolerance``. One-vs-rest maps and others are refused: their parts are normalised afterwards,
    which no change of the parts can follow; apply :func:`adjust_prior` to what they return.

    Examples
    --------
    >>> from trueodds.decisions import adjust_map_prior
    >>> from trueodds.maps import StepMap
    >>> adjust_map_prior(StepMap(edges=[0.5], values=[0.5, 0.9]), 0.5, 0.1).values.round(6)
    array([0.1, 0.5])
    """
    tolerance = check_number(tolerance, "tolerance", above=True)
    several = as_floats(old_prior, "old_prior").size > 2
    if isinstance(calibration_map, SoftmaxMap) or (
        isinstance(calibration_map, IdentityMap) and several
    ):
        return _adjust_classes(calibration_map, old_prior, new_prior)
    if not isinstance(
        calibration_map, (IdentityMap, LogOddsMap, QuadraticMap, StepMap, PiecewiseLinearMap)
    ):
        raise InputError(
            f"a {type(calibration_map).__name__} cannot take up a base rate; apply adjust_prior "
            "to the probabilities that it returns."
        )
    old, new = (
        as_prior(prior, 2, name)
        for prior, name in ((old_prior, "old_prior"), (new_prior, "new_prior"))
    )
    shift = float(np.log(new[1] / new[0]) - np.log(old[1] / old[0]))
    if isinstance(calibration_map, IdentityMap):
        return LogOddsMap(
            a=1.0, b=1.0, c=shift, input=calibration_map.input, classes=calibration_map.classes
        )
    if isinstance(calibration_map, (LogOddsMap, QuadraticMap)):
        return replace(calibration_map, c=calibration_map.c + shift)
    if isinstance(calibration_map, StepMap):
        return replace(calibration_map, values=_shifted(calibration_map.values, shift))
    x, y = _refined(calibration_map.x, calibration_map.y, shift, tolerance)
    return replace(calibration_map, x=x, y=_shifted(y, shift))


def _adjust_classes(drawn: CalibrationMap, old_prior: Any, new_prior: Any) -> CalibrationMap:
    count = drawn.n_classes or as_floats(old_prior, "old_prior").size
    old, new = as_prior(old_prior, count, "old_prior"), as_prior(new_prior, count, "new_prior")
    shift = np.log(new / old)
    if isinstance(drawn, SoftmaxMap):
        return replace(drawn, bias=drawn.bias + shift)
    if drawn.input == "score":
        raise InputError("margins of several classes have no probabilities to adjust.")
    return SoftmaxMap(weights=np.ones(count), bias=shift, input=drawn.input, classes=drawn.classes)


def _shifted(prob: Floats, shift: float) -> Floats:
    """Add ``shift`` to the log-odds; 0 and 1 stay."""
    # Of r and 1/r the one below 1 is used, so that nothing overflows.
    if shift > 0:
        other = (1 - prob) * np.exp(-shift)
        return np.asarray(prob / (prob + other))
    top = prob * np.exp(shift)
    return np.asarray(top / (top + (1 - prob)))


def _refined(x: Floats, y: Floats, shift: float, tolerance: float) -> tuple[Floats, Floats]:
    """Knots between which the shifted map differs from a straight line by ``tolerance`` at most.

    With r = exp(shift), g(y) = r·y/(1 − y + r·y) has |g″| ≤ 2·r·(r − 1) for r > 1, and the same in
    1/r otherwise; a chord of length d is off by at most |g″|·d²/8.
    """
    r = float(np.exp(abs(shift)))
    longest = np.sqrt(8 * tolerance / max(2 * r * (r - 1), 1e-12))
    pieces = np.maximum(np.ceil(np.abs(np.diff(y)) / longest), 1)
    # A knot at infinity stands for that score alone: there is no line to refine.
    pieces[~(np.isfinite(x[1:]) & np.isfinite(x[:-1]))] = 1
    if pieces.sum() > 10**6:
        raise InputError(
            f"the base rates differ so much that {pieces.sum():.0f} knots would be needed; raise "
            "tolerance, or apply adjust_prior to the probabilities."
        )
    count = pieces.astype(np.intp)
    segment = np.repeat(np.arange(len(count)), count)
    within = np.arange(len(segment)) - np.repeat(np.cumsum(count) - count, count)
    share = within / count[segment]
    with np.errstate(invalid="ignore"):
        between = x[segment] + share * (x[segment + 1] - x[segment])
    between = np.where(share == 0, x[segment], between)
    value = y[segment] + share * (y[segment + 1] - y[segment])
    new_x, new_y = np.append(between, x[-1]), np.append(value, y[-1])
    distinct = np.append(True, new_x[1:] > new_x[:-1])  # knots closer than a float64 can tell
    return new_x[distinct], new_y[distinct]


def undersampling_correction(rate: float) -> LogOddsMap:
    """A map that undoes training on a share of the negatives only.

    Parameters
    ----------
    rate : float
        The share of negatives that was kept, above 0; all positives were. (If positives were
        repeated k times instead, 1/k.)

    Returns
    -------
    LogOddsMap
        Multiplies the odds by ``rate``. Call it on probabilities.

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
