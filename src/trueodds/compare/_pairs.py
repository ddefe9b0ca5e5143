"""Whether two methods differ over many data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueodds.compare._results import Better
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    as_floats,
    check_choice,
    check_number,
)

__all__ = ["SignTest", "WilcoxonTest", "paired_results", "sign_test", "wilcoxon_signed_rank"]


def paired_results(first: Any, second: Any) -> tuple[Floats, Floats]:
    """Two finite vectors of one length."""
    pair = []
    for values, name in ((first, "first"), (second, "second")):
        array = as_floats(values, name)
        if array.ndim != 1 or len(array) == 0:
            raise InputError(f"{name} must be 1-D and not empty; got shape {array.shape}.")
        if np.isnan(array).any():
            raise InputError(f"{name} has NaN at index {int(np.argmax(np.isnan(array)))}.")
        pair.append(array)
    if len(pair[0]) != len(pair[1]):
        raise InputError(f"first and second differ in length: {len(pair[0])} and {len(pair[1])}.")
    return pair[0], pair[1]


@dataclass(frozen=True)
class WilcoxonTest:
    """The outcome of :func:`wilcoxon_signed_rank`.

    Attributes
    ----------
    first_sum, second_sum : float
        The sums of the ranks of the data sets on which the first, or the second, is better.
    p_value : float
        Two-sided.
    n_sets : int

    Examples
    --------
    >>> from trueodds.compare import wilcoxon_signed_rank
    >>> test = wilcoxon_signed_rank([1, 2, 1, 1], [2, 1, 3, 5])
    >>> test.first_sum, test.second_sum, test.n_sets
    (8.5, 1.5, 4)
    """

    first_sum: float
    second_sum: float
    p_value: float
    n_sets: int

    @property
    def statistic(self) -> float:
        """The smaller of the two sums."""
        return min(self.first_sum, self.second_sum)

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"Wilcoxon signed-rank over {self.n_sets} data sets: rank sums {self.first_sum:g} for "
            f"the first and {self.second_sum:g} for the second, p = {self.p_value:.3g}"
        )


def wilcoxon_signed_rank(first: Any, second: Any, *, better: Better = "lower") -> WilcoxonTest:
    """Test whether one of two methods is better, by ranks of the differences.

    The test to prefer for two methods: it counts larger differences more than :func:`sign_test`
    does, without assuming, as a t-test would, that they are normal and commensurable.

    Parameters
    ----------
    first, second : array-like of shape (n_sets,)
        Results on the same data sets.
    better : {"lower", "higher"}, default="lower"

    Returns
    -------
    WilcoxonTest

    Notes
    -----
    Ranks of equal results are shared evenly between the sums. Computed by scipy: exact without
    ties for up to 50 data sets, else by the normal approximation.

    References
    ----------
    Demšar (2006), section 3.1.3.

    Examples
    --------
    >>> from trueodds.compare import wilcoxon_signed_rank
    >>> result = wilcoxon_signed_rank([0.5, 0.3, 0.7, 0.2], [0.4, 0.27, 0.5, 0.25])
    >>> result.first_sum, result.second_sum, result.p_value
    (2.0, 8.0, 0.375)
    """
    from scipy.stats import rankdata, wilcoxon  # slow to import

    difference = _advantage_of_second(first, second, better)
    ranks = rankdata(np.abs(difference))
    halves = ranks[difference == 0].sum() / 2
    first_sum = float(ranks[difference < 0].sum() + halves)
    second_sum = float(ranks[difference > 0].sum() + halves)
    if not difference.any():
        p_value = 1.0
    else:
        p_value = float(wilcoxon(_by_rank(difference), zero_method="zsplit").pvalue)
    return WilcoxonTest(first_sum, second_sum, p_value, len(difference))


def _by_rank(difference: Floats) -> Floats:
    """The same order of sizes, but finite: infinite differences are the largest."""
    from scipy.stats import rankdata

    return np.asarray(np.sign(difference) * rankdata(np.abs(difference), method="dense"))


def _advantage_of_second(first: Any, second: Any, better: Better) -> Floats:
    """How much better the second is on each data set; 0 if both are infinite."""
    check_choice(better, ("lower", "higher"), "better")
    a, b = paired_results(first, second)
    with np.errstate(invalid="ignore"):
        difference = np.where(a == b, 0.0, a - b)
    # Differences of decimal fractions, such as 0.3 − 0.2 and 0.2 − 0.1, are equal but for rounding.
    size = np.maximum(np.abs(a), np.abs(b))
    scale = np.where(np.isfinite(size), size, 0.0).max(initial=0.0)
    if scale > 0:
        step = 2.0 ** (np.ceil(np.log2(scale)) - 42)
        difference = np.round(difference / step) * step
    return difference if better == "lower" else -difference


@dataclass(frozen=True)
class SignTest:
    """The outcome of :func:`sign_test`.

    Attributes
    ----------
    wins, draws, losses : int
        Of the first method.
    p_value : float
        Two-tailed, from the binomial distribution.

    Examples
    --------
    >>> from trueodds.compare import sign_test
    >>> test = sign_test([1, 2, 1, 1], [2, 1, 2, 2])
    >>> test.wins, test.draws, test.losses
    (3, 0, 1)
    """

    wins: int
    draws: int
    losses: int
    p_value: float

    def __str__(self) -> str:
        """A sentence."""
        return (
            f"sign test: {self.wins} wins, {self.draws} draws, {self.losses} losses of the first; "
            f"p = {self.p_value:.3g}"
        )


def sign_test(
    first: Any,
    second: Any,
    *,
    better: Better = "lower",
    tolerance: float = 0.0,
    draws: Literal["split", "drop"] = "split",
) -> SignTest:
    """Count wins, draws and losses, and test whether wins and losses are equally likely.

    The weakest of the tests, but it assumes nothing, and everybody understands it.

    Parameters
    ----------
    first, second : array-like of shape (n_sets,)
        Results on the same data sets.
    better : {"lower", "higher"}, default="lower"
    tolerance : float, default=0.0
        Differences up to this are draws.
    draws : {"split", "drop"}, default="split"
        For the p-value, give each side half of the draws (of an odd number one is left out), as
        Demšar does, or leave them out.

    Returns
    -------
    SignTest

    References
    ----------
    Demšar (2006), section 3.1.4.

    Examples
    --------
    >>> from trueodds.compare import sign_test
    >>> print(sign_test([0.1, 0.2, 0.3, 0.4, 0.5, 0.6], [0.2, 0.3, 0.4, 0.5, 0.6, 0.7]))
    sign test: 6 wins, 0 draws, 0 losses of the first; p = 0.0312
    """
    from scipy.stats import binomtest  # slow to import

    check_choice(draws, ("split", "drop"), "draws")
    tolerance = check_number(tolerance, "tolerance")
    difference = _advantage_of_second(first, second, better)
    wins = int((difference < -tolerance).sum())
    losses = int((difference > tolerance).sum())
    equal = len(difference) - wins - losses
    half = equal // 2 if draws == "split" else 0
    counted = wins + losses + 2 * half
    p_value = float(binomtest(wins + half, counted).pvalue) if counted else 1.0
    return SignTest(wins, equal, losses, p_value)
