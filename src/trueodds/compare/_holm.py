"""Which of several methods differ: step-down, against one of them or all pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from trueodds.compare._results import AverageRanks, Better, read_results
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    as_floats,
    check_choice,
    check_level,
)

__all__ = ["HolmTest", "RankComparison", "holm", "holm_adjust"]


@dataclass(frozen=True)
class RankComparison:
    """Two methods.

    Attributes
    ----------
    first, second : str
    z : float
        How much greater (worse) the average rank of the first is, in standard errors.
    p_value : float
        Two-sided, of this pair alone.
    adjusted_p_value : float
        With Holm's correction for all pairs.
    rejected : bool
        Whether the two differ significantly.

    Examples
    --------
    >>> from trueodds.compare import holm
    >>> losses = [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]
    >>> pair = holm(losses, methods=["a", "b", "c"]).comparisons[0]
    >>> pair.first, pair.second, round(pair.adjusted_p_value, 3), pair.rejected
    ('a', 'c', 0.102, False)
    """

    first: str
    second: str
    z: float
    p_value: float
    adjusted_p_value: float
    rejected: bool

    def __str__(self) -> str:
        """A line."""
        verdict = "different" if self.rejected else "not told apart"
        return (
            f"{self.first} against {self.second}: z = {self.z:.3f}, p = {self.p_value:.3g}, "
            f"adjusted {self.adjusted_p_value:.3g}, {verdict}"
        )


@dataclass(frozen=True)
class HolmTest:
    """The outcome of :func:`holm`.

    Attributes
    ----------
    ranks : AverageRanks
    alpha : float
    control : str or None
    comparisons : tuple of RankComparison
        Most significant first.

    Examples
    --------
    >>> from trueodds.compare import holm
    >>> losses = [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]
    >>> test = holm(losses, methods=["a", "b", "c"])
    >>> [(pair.first, pair.second) for pair in test.comparisons]
    [('a', 'c'), ('a', 'b'), ('b', 'c')]
    """

    ranks: AverageRanks
    alpha: float
    control: str | None
    comparisons: tuple[RankComparison, ...]

    def __str__(self) -> str:
        """A line for each pair."""
        lines = [f"Holm, alpha = {self.alpha:g}; {self.ranks}", *map(str, self.comparisons)]
        return "\n".join(lines)


def holm_adjust(p_values: Any) -> Floats:
    """Adjust p-values for their number by Holm's step-down procedure.

    Parameters
    ----------
    p_values : array-like of shape (m,)

    Returns
    -------
    ndarray of shape (m,)
        The i-th smallest times m − i + 1, made non-decreasing, at most 1. A hypothesis is
        rejected at level α if its adjusted p-value is at most α.

    References
    ----------
    Holm (1979), A simple sequentially rejective multiple test procedure.

    Examples
    --------
    >>> from trueodds.compare import holm_adjust
    >>> holm_adjust([0.5, 0.01, 0.02]).round(6)
    array([0.5 , 0.03, 0.04])
    """
    p = as_floats(p_values, "p_values")
    if p.ndim != 1 or not ((p >= 0) & (p <= 1)).all():
        raise InputError("p_values must be 1-D and lie in [0, 1].")
    order = np.argsort(p, kind="stable")
    steps = p[order] * np.arange(len(p), 0, -1)
    adjusted = np.empty_like(p)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted


def holm(
    results: Any,
    *,
    methods: Sequence[str] | None = None,
    better: Better = "lower",
    control: str | None = None,
    alpha: float = 0.05,
) -> HolmTest:
    """Compare one method with all others, or all pairs, by their average ranks.

    Use it after :func:`friedman_test`; it is never less powerful than Bonferroni and Dunn's test
    and holds the same level.

    Parameters
    ----------
    results, methods, better
        As in :func:`average_ranks`.
    control : str, default=None
        The method that the others are compared with; None for all pairs.
    alpha : float, default=0.05
        The chance of any false difference.

    Returns
    -------
    HolmTest

    Notes
    -----
    z = (R_i − R_j)/√(k(k + 1)/6N), with p-values from the normal distribution.

    References
    ----------
    Demšar (2006), section 3.2.2.

    Examples
    --------
    >>> from trueodds.compare import holm
    >>> losses = [[0.5, 0.4, 0.6], [0.3, 0.2, 0.4], [0.7, 0.1, 0.8], [0.2, 0.3, 0.4]]
    >>> print(holm(losses, methods=["beta", "enir", "bbq"], control="bbq").comparisons[0])
    bbq against enir: z = 2.475, p = 0.0133, adjusted 0.0267, different
    """
    from scipy.special import ndtr

    check_level(alpha, "alpha")
    table = read_results(results, methods)
    names = table.methods
    if control is not None:
        check_choice(control, names, "control")
    n, k = table.values.shape
    ranks = table.ranks(better).mean(axis=0)
    if control is None:
        pairs = list(combinations(range(k), 2))
    else:
        pairs = [(names.index(control), j) for j in range(k) if names[j] != control]
    error = np.sqrt(k * (k + 1) / (6 * n))
    z = np.array([(ranks[i] - ranks[j]) / error for i, j in pairs])
    p = np.minimum(2 * ndtr(-np.abs(z)), 1.0)
    adjusted = holm_adjust(p)
    comparisons = tuple(
        RankComparison(
            first=names[pairs[i][0]],
            second=names[pairs[i][1]],
            z=float(z[i]),
            p_value=float(p[i]),
            adjusted_p_value=float(adjusted[i]),
            rejected=bool(adjusted[i] <= alpha),
        )
        for i in np.argsort(p, kind="stable")
    )
    return HolmTest(AverageRanks(names, ranks, n), alpha, control, comparisons)
