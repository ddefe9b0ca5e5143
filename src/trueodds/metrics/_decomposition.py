"""Splitting a loss into what is due to calibration and what is not."""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import entr, rel_entr, xlog1py, xlogy

from trueodds.inputs import Floats, check_choice, check_integer
from trueodds.metrics._sample import Forecasts, Multiclass, binary_views, read_sample
from trueodds.numerics.binning import equal_mass_edges
from trueodds.numerics.isotonic import isotonic_fit
from trueodds.numerics.reliability_bins import uniform_bin_index

__all__ = [
    "CalibrationRefinement",
    "CorpDecomposition",
    "calibration_refinement",
    "corp_decomposition",
]

Loss = Literal["brier", "log"]


@dataclass(frozen=True)
class CorpDecomposition:
    """score = miscalibration − discrimination + uncertainty.

    Attributes
    ----------
    score : float
        The mean loss.
    miscalibration : float
        How much of it isotonic recalibration of this very sample would remove; not negative.
    discrimination : float
        How much better the recalibrated forecast is than the constant base rate; not negative.
    uncertainty : float
        The loss of the base rate, which no forecast changes.

    Examples
    --------
    >>> from trueodds.metrics import corp_decomposition
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> parts = corp_decomposition(y, p)
    >>> round(parts.score, 3), round(parts.miscalibration, 3), round(parts.uncertainty, 3)
    (0.092, 0.092, 0.25)
    """

    score: float
    miscalibration: float
    discrimination: float
    uncertainty: float


@dataclass(frozen=True)
class CalibrationRefinement:
    """score = calibration_loss + refinement_loss + within_bins.

    Attributes
    ----------
    score : float
        The mean loss.
    calibration_loss : float
        Mean divergence of the probabilities from the frequency in their bin. With ``"log"`` it
        is infinite if a probability of 0 or 1 shares a bin with the other class, even if it was
        right itself; ``within_bins`` then takes that back.
    refinement_loss : float
        The loss that remains if every bin's frequency is the forecast.
    within_bins : float
        What the other two leave over because probabilities differ within a bin; 0 (to rounding)
        if they do not. Negative if the forecast ranks rightly within bins.

    Examples
    --------
    >>> from trueodds.metrics import calibration_refinement
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> parts = calibration_refinement(y, p)
    >>> rest = parts.score - parts.calibration_loss - parts.refinement_loss
    >>> round(rest - parts.within_bins, 12)
    0.0
    """

    score: float
    calibration_loss: float
    refinement_loss: float
    within_bins: float


def _loss(loss: Loss, rate: Floats, prob: Floats) -> Floats:
    """Expected loss of forecasting ``prob`` where the frequency is ``rate``."""
    if loss == "brier":
        return np.asarray(rate * (1 - prob) ** 2 + (1 - rate) * prob**2)
    # 0·ln 0 is 0, but a forecast of 0 for what happens costs infinity.
    return np.asarray(-xlogy(rate, prob) - xlog1py(1 - rate, -prob))


def _entropy(loss: Loss, rate: Floats) -> Floats:
    """The loss of the best forecast, which is ``rate`` itself."""
    if loss == "brier":
        return np.asarray(rate * (1 - rate))
    return np.asarray(entr(rate) + entr(1 - rate))


def _divergence(loss: Loss, rate: Floats, prob: Floats) -> Floats:
    """Expected loss less entropy, without cancellation."""
    if loss == "brier":
        return np.asarray((rate - prob) ** 2)
    return np.asarray(rel_entr(rate, prob) + rel_entr(1 - rate, 1 - prob))


def _mean(values: Floats, weight: Floats) -> float:
    return float((values * weight).sum() / weight.sum())


def corp_decomposition(
    y_true: Any,
    y_prob: Any,
    *,
    loss: Loss = "brier",
    multiclass: Multiclass = "classwise",
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> CorpDecomposition:
    """Split a loss by isotonic recalibration (CORP): no bins to choose, all parts ≥ 0.

    Use it to see whether a loss is due to miscalibration, which can be repaired, or to weak
    discrimination, which cannot. The isotonic fit adapts to chance, so the miscalibration of a
    calibrated model is above 0 in a finite sample.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`log_loss`.
    loss : {"brier", "log"}, default="brier"
    multiclass : {"classwise", "top_label", "pooled"}, default="classwise"
        With more than two classes: the mean over the one-vs-rest problems; or the top label; or all
        pairs. The parts then belong to these binary losses.

    Returns
    -------
    CorpDecomposition
        ``miscalibration`` is infinite if something happened that had probability 0 and the loss
        is ``"log"``.

    References
    ----------
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers.

    Examples
    --------
    >>> from trueodds.metrics import corp_decomposition
    >>> parts = corp_decomposition([0, 1, 0, 1], [0.2, 0.2, 0.6, 0.8])
    >>> parts.score, round(parts.miscalibration, 4), round(parts.uncertainty, 4)
    (0.27, 0.1033, 0.25)
    """
    check_choice(loss, ("brier", "log"), "loss")
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    parts = [astuple(_corp(view, loss)) for view in binary_views(sample, multiclass)]
    return CorpDecomposition(*(float(v) for v in np.mean(parts, axis=0)))


def _corp(view: Forecasts, loss: Loss) -> CorpDecomposition:
    table = view.table
    weight = table.weight
    rate = table.n_pos / weight
    recalibrated, _ = isotonic_fit(table.n_pos, weight)
    base = np.full(1, table.total_pos / table.total)
    uncertainty = float(_entropy(loss, base)[0])
    score = _mean(_loss(loss, rate, table.score), weight)
    miscalibration = score - _mean(_loss(loss, rate, recalibrated), weight)
    # The fit is the frequency within each of its blocks, so what it gains over the base rate is
    # a mean divergence, which cancels nothing.
    discrimination = _mean(_divergence(loss, recalibrated, np.full_like(rate, base[0])), weight)
    return CorpDecomposition(score, max(miscalibration, 0.0), discrimination, uncertainty)


def calibration_refinement(
    y_true: Any,
    y_prob: Any,
    *,
    loss: Loss = "brier",
    n_bins: int | None = None,
    strategy: Literal["uniform", "quantile"] = "uniform",
    multiclass: Multiclass = "classwise",
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> CalibrationRefinement:
    """Split a loss into calibration loss and refinement loss, over bins or distinct values.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes, loss, multiclass
        As in :func:`corp_decomposition`.
    n_bins : int, default=None
        Number of bins. By default every distinct probability is its own bin: then the two parts
        add up exactly, but if nearly all are distinct, nearly all loss is called calibration
        loss, so use bins.
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width or of equal mass, as in :func:`expected_calibration_error`.

    Returns
    -------
    CalibrationRefinement

    References
    ----------
    Kull and Flach (2015), Novel decompositions of proper scoring rules for classification.

    Examples
    --------
    >>> from trueodds.metrics import calibration_refinement
    >>> parts = calibration_refinement([0, 1, 0, 1], [0.2, 0.2, 0.8, 0.8])
    >>> round(parts.calibration_loss, 6), round(parts.refinement_loss, 6)
    (0.09, 0.25)
    """
    check_choice(loss, ("brier", "log"), "loss")
    check_choice(strategy, ("uniform", "quantile"), "strategy")
    if n_bins is not None:
        n_bins = check_integer(n_bins, "n_bins", 1)
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    views = binary_views(sample, multiclass)
    parts = [astuple(_refinement(view, loss, n_bins, strategy)) for view in views]
    return CalibrationRefinement(*(float(v) for v in np.mean(parts, axis=0)))


def _refinement(
    view: Forecasts, loss: Loss, n_bins: int | None, strategy: str
) -> CalibrationRefinement:
    table = view.table
    weight = table.weight
    rate = table.n_pos / weight
    score = _mean(_loss(loss, rate, table.score), weight)
    if n_bins is None:
        calibration = _mean(_divergence(loss, rate, table.score), weight)
        return CalibrationRefinement(score, calibration, _mean(_entropy(loss, rate), weight), 0.0)
    if strategy == "uniform":
        index = uniform_bin_index(table.score, n_bins)
    else:
        edges = equal_mass_edges(table.score, weight, n_bins)
        index = np.searchsorted(edges, table.score, side="right")
    mass = np.bincount(index, weight, n_bins)
    frequency = np.bincount(index, table.n_pos, n_bins) / np.where(mass > 0, mass, 1.0)
    own = np.clip(frequency, 0.0, 1.0)[index]
    calibration = _mean(_divergence(loss, own, table.score), weight)
    refinement = _mean(_entropy(loss, own), weight)
    # inf − inf has no value; a score that is infinite is so by its calibration.
    rest = 0.0 if np.isinf(score) else score - calibration - refinement
    return CalibrationRefinement(score, calibration, refinement, rest)
