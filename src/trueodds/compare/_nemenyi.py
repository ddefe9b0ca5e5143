"""Which of several methods differ: all pairs, by one critical difference."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.compare._results import AverageRanks, Better, read_results
from trueodds.inputs import Floats, check_level

__all__ = ["NemenyiTest", "nemenyi"]


@dataclass(frozen=True, eq=False)
class NemenyiTest:
    """The outcome of :func:`nemenyi`.

    Attributes
    ----------
    ranks : AverageRanks
    alpha : float
    critical_difference : float
        Average ranks that differ by at least this are significantly different.
    p_values : ndarray of shape (n_methods, n_methods)
        Of each pair, adjusted for the number of methods.
    cliques : tuple of tuple of str
        The largest groups of methods that cannot be told apart, best first; a method may be in
        several.

    Examples
    --------
    >>> from trueodds.compare import nemenyi
    >>> losses = [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]
    >>> test = nemenyi(losses, methods=["a", "b", "c"])
    >>> round(test.critical_difference, 2), test.cliques
    (1.66, (('a', 'b', 'c'),))
    """

    ranks: AverageRanks
    alpha: float
    critical_difference: float
    p_values: Floats
    cliques: tuple[tuple[str, ...], ...]

    def __str__(self) -> str:
        """Ranks, critical difference, groups."""
        groups = "; ".join(", ".join(group) for group in self.cliques) or "none"
        return (
            f"{self.ranks}; critical difference {self.critical_difference:.3f} "
            f"(Nemenyi, alpha = {self.alpha:g}); not significantly different: {groups}"
        )


def nemenyi(
    results: Any,
    *,
    methods: Sequence[str] | None = None,
    better: Better = "lower",
    alpha: float = 0.05,
) -> NemenyiTest:
    """Compare all methods with all others by their average ranks.

    Use it after :func:`friedman_test`. :func:`holm` is more powerful, in particular if only one
    method is compared with the others; this one gives the single critical difference of Demšar's
    diagram.

    Parameters
    ----------
    results, methods, better
        As in :func:`average_ranks`.
    alpha : float, default=0.05
        The chance of any false difference.

    Returns
    -------
    NemenyiTest

    Notes
    -----
    CD = q_α √(k(k + 1)/6N), with q_α the quantile of the studentised range over √2.

    References
    ----------
    Demšar (2006), section 3.2.2 and table 5.

    Examples
    --------
    >>> from trueodds.compare import nemenyi
    >>> losses = [[0.5, 0.4, 0.6], [0.3, 0.2, 0.4], [0.7, 0.1, 0.8], [0.2, 0.3, 0.4]]
    >>> result = nemenyi(losses, methods=["beta", "enir", "bbq"])
    >>> round(result.critical_difference, 3), result.cliques
    (1.657, (('enir', 'beta'), ('beta', 'bbq')))
    """
    from scipy.stats import studentized_range  # slow to import

    check_level(alpha, "alpha")
    table = read_results(results, methods)
    n, k = table.values.shape
    ranks = table.ranks(better).mean(axis=0)
    error = np.sqrt(k * (k + 1) / (6 * n))
    critical = float(studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * error)
    gaps = np.abs(ranks[:, None] - ranks)
    p_values = studentized_range.sf(gaps / error * np.sqrt(2), k, np.inf)
    average = AverageRanks(table.methods, ranks, n)
    return NemenyiTest(average, alpha, critical, p_values, _cliques(average, critical))


def _cliques(average: AverageRanks, critical: float) -> tuple[tuple[str, ...], ...]:
    """Runs of neighbours in rank that span less than the critical difference, none in another."""
    order = np.argsort(average.ranks, kind="stable")
    ranks = average.ranks[order]
    groups = []
    reached = 0
    for first in range(len(ranks)):
        last = int(np.searchsorted(ranks, ranks[first] + critical, side="left"))
        if last > reached and last - first > 1:
            groups.append(tuple(average.methods[j] for j in order[first:last]))
        reached = max(reached, last)
    return tuple(groups)
