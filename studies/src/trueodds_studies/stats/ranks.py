"""Ranks of several methods over many data sets: Friedman's, Nemenyi's and Holm's tests."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, as_floats, as_tuple, check_choice, check_flag, check_level
from trueodds.stats import holm_adjust

__all__ = [
    "AverageRanks",
    "FriedmanTest",
    "HolmTest",
    "NemenyiTest",
    "RankComparison",
    "ResultTable",
    "average_ranks",
    "friedman_test",
    "holm",
    "nemenyi",
    "read_results",
]


@dataclass(frozen=True, eq=False)
class ResultTable:
    """One number for each data set and method.

    Parameters
    ----------
    values : ndarray of shape (n_sets, n_methods)
        Without NaN; infinity is legal.
    methods, sets : tuple of str
    """

    values: Floats
    methods: tuple[str, ...]
    sets: tuple[str, ...]

    def ranks(self, greater_is_better: bool) -> Floats:
        """Return the ranks in each data set: 1 is best; ties share the mean of their ranks."""
        from scipy.stats import rankdata  # slow to import

        check_flag(greater_is_better, "greater_is_better")
        values = -self.values if greater_is_better else self.values
        return np.asarray(rankdata(values, axis=1))


def read_results(results: Any, methods: Sequence[str] | None = None) -> ResultTable:
    """Read an array, or a frame of pandas, polars or Arrow.

    A frame's numeric columns are methods; its text column, or the index of pandas, names the sets.
    """
    values, names, sets = _columns(results)
    if methods is not None:
        given = as_tuple(methods, "methods")
        names = [name if isinstance(name, str) else shown(name) for name in given]
    if values.ndim != 2 or values.shape[1] < 2 or len(values) == 0:
        raise InputError(
            "results must be a table with one row for each data set and at least two columns, one "
            f"for each method; got shape {values.shape}."
        )
    names = names or [f"method {j + 1}" for j in range(values.shape[1])]
    if len(names) != values.shape[1] or len(set(names)) != len(names):
        raise InputError(
            f"methods must be {values.shape[1]} different names, one for each column; got "
            f"{names!r}."
        )
    sets = sets or [f"set {i + 1}" for i in range(len(values))]
    missing = np.argwhere(np.isnan(values))
    if len(missing):
        i, j = missing[0]
        raise InputError(
            f"results must not be missing; found NaN for {names[j]!r} on {sets[i]!r} "
            f"({len(missing)} in all). Remove the data set for all methods, or fill it in."
        )
    return ResultTable(values, tuple(names), tuple(sets))


def _columns(results: Any) -> tuple[Floats, list[str], list[str]]:
    if isinstance(results, ResultTable):
        return results.values, list(results.methods), list(results.sets)
    if isinstance(results, (np.ndarray, list, tuple)):
        return as_floats(results, "results"), [], []
    import narwhals as nw
    from narwhals.exceptions import DuplicateError

    try:
        frame = nw.from_native(results, eager_only=True, pass_through=True)
    except DuplicateError as error:
        raise InputError(f"results must have columns of different names: {error}") from None
    if not isinstance(frame, nw.DataFrame):
        raise InputError(
            "results must be an array or a frame of pandas, polars or Arrow; got "
            f"{type(results).__name__}."
        )
    # By position: a name of pandas may be a number, which would be a row.
    columns = list(zip(frame.columns, frame.iter_columns(), strict=True))
    numeric = [(name, column) for name, column in columns if column.dtype.is_numeric()]
    text = [column for _, column in columns if not column.dtype.is_numeric()]
    values = np.array([as_floats(column.to_numpy(), "results") for _, column in numeric]).T
    if text:
        sets = [str(name) for name in text[0].to_list()]
    else:
        sets = [str(name) for name in getattr(results, "index", [])]
    return values, [str(name) for name, _ in numeric], sets


@dataclass(frozen=True, eq=False)
class AverageRanks:
    """The average rank of each method over the data sets.

    Attributes
    ----------
    methods : tuple of str
        In the order of the table.
    ranks : ndarray of shape (n_methods,)
    n_sets : int

    Examples
    --------
    >>> from trueodds_studies.stats import average_ranks
    >>> losses = [[1, 2, 3], [1, 3, 2], [1, 2, 3], [2, 1, 3]]
    >>> ranks = average_ranks(losses, methods=["a", "b", "c"])
    >>> ranks.methods, ranks.ranks.tolist(), ranks.n_sets
    (('a', 'b', 'c'), [1.25, 2.0, 2.75], 4)
    """

    methods: tuple[str, ...]
    ranks: Floats
    n_sets: int

    def __str__(self) -> str:
        """Best first."""
        order = np.argsort(self.ranks, kind="stable")
        listed = ", ".join(f"{self.methods[j]} {self.ranks[j]:.3f}" for j in order)
        return f"average ranks over {self.n_sets} data sets: {listed}"


def average_ranks(
    results: Any, *, methods: Sequence[str] | None = None, greater_is_better: bool = False
) -> AverageRanks:
    """Rank the methods on each data set and average the ranks.

    Ranks ignore the size of differences, so all data sets have the same weight.

    Parameters
    ----------
    results : array-like of shape (n_sets, n_methods), or frame of pandas, polars or Arrow
        Results without missing values; infinite ones are allowed. In a frame, the numeric columns
        are methods.
    methods : sequence of str, default=None
        Names of the columns.
    greater_is_better : bool, default=False
        Whether the results are losses or scores.

    Returns
    -------
    AverageRanks
        1 is best; equal results share the mean of their ranks.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, section 3.2.2.

    Examples
    --------
    >>> from trueodds_studies.stats import average_ranks
    >>> losses = [[0.5, 0.4, 0.6], [0.3, 0.2, 0.2]]
    >>> print(average_ranks(losses, methods=["beta", "enir", "bbq"]))
    average ranks over 2 data sets: enir 1.250, bbq 2.250, beta 2.500
    """
    table = read_results(results, methods)
    return AverageRanks(table.methods, table.ranks(greater_is_better).mean(axis=0), len(table.sets))


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
        Degrees of freedom of F_F: k − 1 and (k − 1)(N − 1).

    Examples
    --------
    >>> from trueodds_studies.stats import friedman_test
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
    greater_is_better: bool = False,
    correct_ties: bool = False,
) -> FriedmanTest:
    """Test whether all methods have the same average rank.

    If it rejects, use :func:`nemenyi` or :func:`holm` to find the methods that differ.

    Parameters
    ----------
    results, methods, greater_is_better
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
    >>> from trueodds_studies.stats import friedman_test
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
    ranks = table.ranks(greater_is_better)
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
        p-value of each pair, adjusted for the number of methods.
    cliques : tuple of tuple of str
        The largest groups of methods that do not differ significantly, best first; a method may be
        in several.

    Examples
    --------
    >>> from trueodds_studies.stats import nemenyi
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
    greater_is_better: bool = False,
    alpha: float = 0.05,
) -> NemenyiTest:
    """Compare all methods with all others by their average ranks.

    Use it after :func:`friedman_test`. :func:`holm` is more powerful, in particular if only one
    method is compared with the others; this one gives the single critical difference of Demšar's
    diagram.

    Parameters
    ----------
    results, methods, greater_is_better
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
    >>> from trueodds_studies.stats import nemenyi
    >>> losses = [[0.5, 0.4, 0.6], [0.3, 0.2, 0.4], [0.7, 0.1, 0.8], [0.2, 0.3, 0.4]]
    >>> result = nemenyi(losses, methods=["beta", "enir", "bbq"])
    >>> round(result.critical_difference, 3), result.cliques
    (1.657, (('enir', 'beta'), ('beta', 'bbq')))
    """
    from scipy.stats import studentized_range  # slow to import

    check_level(alpha, "alpha")
    table = read_results(results, methods)
    n, k = table.values.shape
    ranks = table.ranks(greater_is_better).mean(axis=0)
    error = np.sqrt(k * (k + 1) / (6 * n))
    critical = float(studentized_range.ppf(1 - alpha, k, np.inf) / np.sqrt(2) * error)
    gaps = np.abs(ranks[:, None] - ranks)
    p_values = studentized_range.sf(gaps / error * np.sqrt(2), k, np.inf)
    average = AverageRanks(table.methods, ranks, n)
    return NemenyiTest(average, alpha, critical, p_values, _cliques(average, critical))


def _cliques(average: AverageRanks, critical: float) -> tuple[tuple[str, ...], ...]:
    """Return maximal runs of neighbors in rank that span less than the critical difference."""
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
    >>> from trueodds_studies.stats import holm
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
        """Return the pair, its statistics and the verdict as one line."""
        verdict = "different" if self.rejected else "not significant"
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
    >>> from trueodds_studies.stats import holm
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


def holm(
    results: Any,
    *,
    methods: Sequence[str] | None = None,
    greater_is_better: bool = False,
    control: str | None = None,
    alpha: float = 0.05,
) -> HolmTest:
    """Compare one method with all others, or all pairs, by their average ranks.

    Use it after :func:`friedman_test`; it is never less powerful than Bonferroni and Dunn's test
    and holds the same level.

    Parameters
    ----------
    results, methods, greater_is_better
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
    >>> from trueodds_studies.stats import holm
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
    ranks = table.ranks(greater_is_better).mean(axis=0)
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
