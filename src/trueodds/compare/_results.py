"""A table of results, data sets × methods, and the ranks of the methods in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    as_floats,
    as_tuple,
    check_choice,
)

__all__ = ["AverageRanks", "Better", "ResultTable", "average_ranks", "read_results"]

Better = Literal["lower", "higher"]


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

    def ranks(self, better: Better) -> Floats:
        """Ranks in each data set: 1 is best, equals share the mean of their ranks."""
        from scipy.stats import rankdata  # slow to import

        check_choice(better, ("lower", "higher"), "better")
        values = self.values if better == "lower" else -self.values
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
            f"({len(missing)} in all). Leave the data set out for all methods, or fill it in."
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
    >>> from trueodds.compare import average_ranks
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
    results: Any, *, methods: Sequence[str] | None = None, better: Better = "lower"
) -> AverageRanks:
    """Rank the methods on each data set and average the ranks.

    Ranks do not care about the size of differences, so data sets of any difficulty count alike.

    Parameters
    ----------
    results : array-like of shape (n_sets, n_methods), or frame of pandas, polars or Arrow
        Of a frame, numeric columns are methods. No missing values; infinite ones are legal.
    methods : sequence of str, default=None
        Names of the columns.
    better : {"lower", "higher"}, default="lower"
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
    >>> from trueodds.compare import average_ranks
    >>> losses = [[0.5, 0.4, 0.6], [0.3, 0.2, 0.2]]
    >>> print(average_ranks(losses, methods=["beta", "enir", "bbq"]))
    average ranks over 2 data sets: enir 1.250, bbq 2.250, beta 2.500
    """
    table = read_results(results, methods)
    return AverageRanks(table.methods, table.ranks(better).mean(axis=0), len(table.sets))
