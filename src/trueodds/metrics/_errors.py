"""Calibration errors in bins: expected, maximum, debiased."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_choice, check_flag, check_integer
from trueodds.metrics._sample import Forecasts, Multiclass, binary_views, read_sample
from trueodds.numerics.binning import equal_mass_edges
from trueodds.numerics.reliability_bins import BinSums, bin_sums, equal_count_sums, uniform_edges

__all__ = [
    "BinStrategy",
    "Ties",
    "bin_edges",
    "binned",
    "debiased_calibration_error",
    "expected_calibration_error",
    "maximum_calibration_error",
]

BinStrategy = Literal["uniform", "quantile"]
Ties = Literal["whole", "share"]


def binned(
    view: Forecasts,
    n_bins: int,
    strategy: BinStrategy,
    *,
    spread: bool = False,
    ties: Ties = "whole",
) -> BinSums:
    """Sums over the rows of each bin."""
    if ties != "whole":
        return equal_count_sums(view.prob, view.codes, view.row_weight, n_bins)
    uniform = strategy == "uniform"
    edges = bin_edges(view, n_bins, strategy)
    return bin_sums(view.prob, view.codes, view.weight, edges, uniform=uniform, spread=spread)


def bin_edges(view: Forecasts, n_bins: int, strategy: BinStrategy) -> Floats:
    """Inner edges of bins of equal width or of equal mass."""
    if strategy == "uniform":
        return uniform_edges(n_bins)
    return equal_mass_edges(view.prob, view.mass, n_bins)


def _binned_views(
    y_true: Any,
    y_prob: Any,
    n_bins: int,
    strategy: BinStrategy,
    multiclass: Multiclass,
    sample_weight: Any,
    counts: Any,
    classes: Any,
    *,
    spread: bool = False,
    ties: Ties = "whole",
) -> list[BinSums]:
    n_bins = check_integer(n_bins, "n_bins", 1)
    check_choice(strategy, ("uniform", "quantile"), "strategy")
    check_choice(ties, ("whole", "share"), "ties")
    if ties != "whole" and strategy != "quantile":
        raise InputError(f'ties={ties!r} needs bins of equal mass: pass strategy="quantile".')
    sample = read_sample(y_true, y_prob, sample_weight, counts, classes)
    views = binary_views(sample, multiclass)
    return [binned(view, n_bins, strategy, spread=spread, ties=ties) for view in views]


ERROR_OF_BINS = {
    "mass": BinSums.expected_error,
    "equal": BinSums.unweighted_error,
    "all_bins": BinSums.error_of_all_bins,
}


def expected_calibration_error(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 10,
    strategy: BinStrategy = "uniform",
    ties: Ties = "whole",
    weighting: Literal["mass", "equal", "all_bins"] = "mass",
    multiclass: Multiclass = "top_label",
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Mean over bins of ``|mean probability − frequency|``: ECE; smaller is better.

    The common measure of calibration, easy to explain. It does not detect errors that cancel
    within a bin, and it depends on the bins. It is biased upward: chance alone gives a calibrated
    model an ECE above 0, and more so with few rows. See :func:`calibration_test` for whether it is
    larger than chance, :func:`debiased_calibration_error` and :func:`smooth_calibration_error`.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels.
    y_prob : array-like of shape (n,), (n, 2) or (n, n_classes)
        Probabilities: of the positive class (the last label), or one column per class.
    n_bins : int, default=10
    strategy : {"uniform", "quantile"}, default="uniform"
        Bins of equal width on [0, 1], or of equal mass.
    ties : {"whole", "share"}, default="whole"
        With bins of equal mass, what happens to equal probabilities at the edge of a bin.
        ``"whole"``: they stay together, so there may be fewer bins. ``"share"``: the bins are
        filled to the same number of rows, and each gets its share of the labels of the tie.
    weighting : {"mass", "equal", "all_bins"}, default="mass"
        ``"mass"``: a bin counts by the weight in it. ``"equal"``: every bin that is not empty
        counts alike, the "unweighted ECE" of the charcoal grill paper as its tables have it.
        ``"all_bins"``: empty bins count too, with an error of 0, as its equation 3 is printed; a
        model that uses few bins then looks better than it is.
    multiclass : {"top_label", "classwise", "pooled"}, default="top_label"
        With more than two classes: the probability of the most probable class against whether it
        is right; or the mean of one error per class; or all ⟨row, class⟩ pairs in one error.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    classes : array-like, default=None
        All labels in the order of the columns, if some may be absent from ``y_true``.

    Returns
    -------
    float
        In [0, 1].

    Notes
    -----
    Bins are closed on the left: a probability on an edge belongs to the bin above it, 0 to the
    first bin and 1 to the last. Cost: one pass; with ``"quantile"`` one sort.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning. Benton, Charcoal grill scaling, equations 2 and 3.

    Examples
    --------
    >>> from trueodds.metrics import expected_calibration_error
    >>> y, p = [0, 1, 1, 0], [0.05, 0.05, 0.9, 1.0]
    >>> round(expected_calibration_error(y, p), 6)  # (2·|0.05 − 0.5| + 2·|0.95 − 0.5|) / 4
    0.45
    """
    check_choice(weighting, tuple(ERROR_OF_BINS), "weighting")
    views = _binned_views(
        y_true, y_prob, n_bins, strategy, multiclass, sample_weight, counts, classes, ties=ties
    )
    return float(np.mean([ERROR_OF_BINS[weighting](sums) for sums in views]))


def maximum_calibration_error(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 10,
    strategy: BinStrategy = "uniform",
    ties: Ties = "whole",
    multiclass: Multiclass = "top_label",
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Greatest ``|mean probability − frequency|`` of any bin: MCE; smaller is better.

    Use it where the worst region matters. A bin with a single row decides it easily, so prefer
    ``strategy="quantile"`` unless n is large.

    Parameters
    ----------
    y_true, y_prob, n_bins, strategy, ties, multiclass, sample_weight, counts, classes
        As in :func:`expected_calibration_error`; ``"classwise"`` takes the greatest over the
        classes also. Empty bins are left out.

    Returns
    -------
    float
        In [0, 1].

    References
    ----------
    Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, section IV.

    Examples
    --------
    >>> from trueodds.metrics import maximum_calibration_error
    >>> round(maximum_calibration_error([0, 1, 1], [0.1, 0.1, 0.7]), 6)
    0.4
    """
    views = _binned_views(
        y_true, y_prob, n_bins, strategy, multiclass, sample_weight, counts, classes, ties=ties
    )
    return float(max(sums.maximum_error() for sums in views))


def debiased_calibration_error(
    y_true: Any,
    y_prob: Any,
    *,
    n_bins: int = 15,
    strategy: BinStrategy = "quantile",
    squared: bool = False,
    multiclass: Multiclass = "top_label",
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Root mean square over bins of the gap, less what chance alone adds; smaller is better.

    Use it to compare samples of different sizes: unlike ECE it does not shrink as n grows. Like
    ECE it does not see errors that cancel within a bin.

    Parameters
    ----------
    y_true, y_prob, n_bins, strategy, multiclass, sample_weight, counts, classes
        As in :func:`expected_calibration_error`.
    squared : bool, default=False
        Return the estimate of the squared error itself, which is unbiased for given bins and
        therefore negative in about half of the samples of a calibrated model. By default its
        root, with negative values clipped to 0.

    Returns
    -------
    float

    Notes
    -----
    With d = y − p in a bin of weight n_b, the estimate of the squared error is
    Σ_b (n_b/n)·[d̄_b² − s_b²/n_b], where s_b² = Σ(d − d̄_b)²/(n_b − 1). It is the plug-in
    debiasing of Bröcker and of Kumar, Liang and Ma, who have ȳ_b(1 − ȳ_b)/(n_b − 1) for s_b²/n_b.
    Both agree if p is constant in a bin, as in their papers. Otherwise theirs counts the spread of
    p within the bin as noise and subtracts too much. With importances, n_b − 1 is that of the
    effective rows of the bin, (Σw)²/Σw². Bins of one effective row are left out, since their
    variance is not known.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration.
    Bröcker (2012), Estimating reliability and resolution of probability forecasts through
    decomposition of the empirical score.

    Examples
    --------
    >>> from trueodds.metrics import debiased_calibration_error
    >>> y, p = [0, 0, 1, 1], [0.9, 0.9, 0.9, 0.9]
    >>> round(debiased_calibration_error(y, p, squared=True), 6)  # 0.4² − (1/3)/4
    0.076667
    """
    views = _binned_views(
        y_true, y_prob, n_bins, strategy, multiclass, sample_weight, counts, classes, spread=True
    )
    square = float(np.mean([sums.debiased_square() for sums in views]))
    check_flag(squared, "squared")
    return square if squared else float(np.sqrt(max(square, 0.0)))
