"""Whether several methods differ at all over many data sets."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.compare._results import AverageRanks, Better, read_results
from trueodds.exceptions import InputError
from trueodds.inputs import check_flag

__all__ = ["FriedmanTest", "friedman_test"]


@dataclass(frozen=True)
class FriedmanTest:
    """The outcome of :func:`friedman_test`.

    Attributes
    ----------
    ranks : AverageRanks
    chi_square, chi_square_p_value : float
        Friedman's statistic and its p-value with k − 1 degrees of freedom.
    f_statistic, f_p_value : float
        Iman and Davenport's F_F, less conservative, with its p-value.
    degrees_of_freedom : tuple of int
        Of F_F: k − 1 and (k − 1)(N − 1).

    Examples
    --------
    >>> from trueodds.compare import friedman_test
    >>> losses = [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]
    >>> test = friedman_test(losses, methods=["a", "b", "c"])
    >>> test.chi_square, test.degrees_of_freedom
    (4.5, (2, 6))
    """

    ranks: AverageRanks
    chi_square: float
    chi_square_p_value: float
    f_statistic: float
    f_p_value: float
    degrees_of_freedom: tuple[int, int]

    def __str__(self) -> str:
        """A sentence."""
        first, second = self.degrees_of_freedom
        return (
            f"Friedman: chi² = {self.chi_square:.4g} (p = {self.chi_square_p_value:.2g}), "
            f"F_F({first}, {second}) = {self.f_statistic:.4g} (p = {self.f_p_value:.2g}); "
            f"{self.ranks}"
        )


def friedman_test(
    results: Any,
    *,
    methods: Sequence[str] | None = None,
    better: Better = "lower",
    correct_ties: bool = False,
) -> FriedmanTest:
    """Test whether all methods have the same average rank.

    If it rejects, :func:`nemenyi` or :func:`holm` say which of them differ.

    Parameters
    ----------
    results, methods, better
        As in :func:`average_ranks`; at least three methods and two data sets.
    correct_ties : bool, default=False
        Divide chi² by the correction for ties, as scipy does. Without it, as in Demšar's paper,
        the test is a little conservative if results are tied.

    Returns
    -------
    FriedmanTest

    References
    ----------
    Demšar (2006), section 3.2.2. Iman and Davenport (1980), Approximations of the critical region
    of the Friedman statistic.

    Examples
    --------
    >>> from trueodds.compare import friedman_test
    >>> losses = [[0.5, 0.4, 0.6], [0.3, 0.2, 0.4], [0.7, 0.1, 0.8], [0.2, 0.3, 0.4]]
    >>> result = friedman_test(losses, methods=["beta", "enir", "bbq"])
    >>> result.chi_square, round(result.f_statistic, 6)
    (6.5, 13.0)
    """
    from scipy import stats  # slow to import

    check_flag(correct_ties, "correct_ties")
    table = read_results(results, methods)
    n, k = table.values.shape
    if k < 3 or n < 2:
        raise InputError(
            f"the Friedman test needs at least three methods and two data sets; got {k} and {n}. "
            "Two methods: wilcoxon_signed_rank."
        )
    ranks = table.ranks(better)
    means = ranks.mean(axis=0)
    chi_square = 12 * n / (k * (k + 1)) * float(((means - (k + 1) / 2) ** 2).sum())
    if correct_ties and chi_square > 0:
        # scipy's statistic of the ranks, which are exact where the results' differences are not.
        chi_square = float(stats.friedmanchisquare(*ranks.T).statistic)
    room = n * (k - 1) - chi_square
    # All data sets rank the methods alike: F_F is infinite, up to rounding.
    f = (n - 1) * chi_square / room if room > 1e-12 * n * k else np.inf
    freedom = (k - 1, (k - 1) * (n - 1))
    return FriedmanTest(
        ranks=AverageRanks(table.methods, means, n),
        chi_square=chi_square,
        chi_square_p_value=float(stats.chi2.sf(chi_square, k - 1)),
        f_statistic=float(f),
        f_p_value=float(stats.f.sf(f, *freedom)),
        degrees_of_freedom=freedom,
    )
