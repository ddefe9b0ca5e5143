"""The near-isotonic path: from the raw frequencies to isotonic regression."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs import Floats
from trueodds.kernels.isotonic import near_isotonic_merges
from trueodds.table import ScoreTable

__all__ = ["NearIsotonicPath", "near_isotonic_path"]

Integers = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max


@dataclass(frozen=True, eq=False, repr=False)
class NearIsotonicPath:
    """All solutions of near-isotonic regression, for every λ ≥ 0.

    Made by :func:`near_isotonic_path`. Bins are runs of rows that share one value; with growing λ
    they merge and never split, so the path is a forest: each merge joins two neighbouring bins.

    Parameters
    ----------
    table : ScoreTable
        The rows; λ is measured in units of its weights.
    violates : bool ndarray of shape (n_rows + 1,)
        Whether the row before a boundary has the higher frequency. Boundary i lies before row i.
    merge_boundary : ndarray of shape (n_merges,)
        The boundary that each merge removes, in the order of λ.
    merge_start, merge_stop : ndarray of shape (n_merges,)
        The rows start, …, stop − 1 of the bin that the merge makes.
    merge_lambda : ndarray of shape (n_merges,)
        Non-decreasing; merges of one breakpoint have exactly the same λ.
    merge_n_pos, merge_weight : ndarray of shape (n_merges,)
        Weight of the positives, and of everything, in the bin that the merge makes.
    """

    table: ScoreTable
    violates: npt.NDArray[np.bool_]
    merge_boundary: Integers
    merge_start: Integers
    merge_stop: Integers
    merge_lambda: Floats
    merge_n_pos: Floats
    merge_weight: Floats

    def __repr__(self) -> str:
        return (
            f"NearIsotonicPath({len(self.table)} rows, {len(self.lambdas)} breakpoints, "
            f"{self.n_bins[0]} to {self.n_bins[-1]} bins)"
        )

    @cached_property
    def lambdas(self) -> Floats:
        """The breakpoints, increasing: 0, then every λ at which bins merge."""
        later = self.merge_lambda[self.merge_lambda > 0]
        new = np.ones(len(later), dtype=bool)
        np.not_equal(later[1:], later[:-1], out=new[1:])
        return np.concatenate([[0.0], later[new]])

    @cached_property
    def merges_done(self) -> Integers:
        """How many merges have happened at each breakpoint, those at the breakpoint included."""
        return np.searchsorted(self.merge_lambda, self.lambdas, side="right").astype(np.int64)

    @property
    def n_bins(self) -> Integers:
        """Number of bins at each breakpoint (and up to the next)."""
        return len(self.table) - self.merges_done

    @cached_property
    def removed_by(self) -> Integers:
        """Which merge removes each boundary; the largest integer if none does."""
        removed = np.full(len(self.table) + 1, NEVER)
        removed[self.merge_boundary] = np.arange(len(self.merge_boundary))
        return removed

    def starts_at(self, lam: float) -> Integers:
        """The first row of every bin at λ."""
        if not lam >= 0:
            raise InputError(f"λ must not be negative; got {lam!r}.")
        return self.starts_after(int(np.searchsorted(self.merge_lambda, lam, side="right")))

    def starts_after(self, n_merges: int) -> Integers:
        """The first row of every bin after so many merges."""
        return np.flatnonzero(self.removed_by[:-1] >= n_merges)

    def slopes(self, starts: Integers, stops: Integers) -> Floats:
        """W·∂p/∂λ of bins (equation 7): +1 if pushed up from below, −1 if down from above."""
        return self.violates[starts].astype(np.float64) - self.violates[stops]

    def at(self, lam: float) -> Floats:
        """The solution at λ, linear between breakpoints.

        Parameters
        ----------
        lam : float
            Not negative; ``inf`` gives isotonic regression.

        Returns
        -------
        ndarray of shape (n_rows,)
            The value of every row of the table.
        """
        starts = self.starts_at(lam)
        # Beyond the last breakpoint nothing moves; this also keeps 0·inf out.
        lam = min(float(lam), float(self.lambdas[-1]))
        stops = np.append(starts[1:], len(self.table))
        n_pos = np.add.reduceat(self.table.n_pos, starts)
        weight = np.add.reduceat(self.table.weight, starts)
        values = (n_pos + lam * self.slopes(starts, stops)) / weight
        return np.repeat(np.clip(values, 0.0, 1.0), stops - starts)


def near_isotonic_path(table: Any) -> NearIsotonicPath:
    """Solve min ½·Σ w·(p − z)² + λ·Σ max(0, p_i − p_(i+1)) for every λ ≥ 0 at once.

    z is the frequency of positives at each score and w the weight there. At λ = 0 the solution is
    z itself, at the last breakpoint it is isotonic regression; between breakpoints it is linear.

    Parameters
    ----------
    table : ScoreTable

    Returns
    -------
    NearIsotonicPath

    Notes
    -----
    Two neighbours count as met when their values differ by less than 1e-13 of their own size.
    Weights that are whole numbers need no tolerance: all sums and products are then exact up to
    2⁵³. Cost: O(n log n) time and O(n) memory for n rows; a million rows take about three times
    as long as sorting them.

    References
    ----------
    Tibshirani, Hoefling and Tibshirani (2011), Nearly-isotonic regression, Technometrics 53.
    Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, ICDM, equations 3 to 9 and algorithm 1.

    Examples
    --------
    >>> from trueodds import ScoreTable, near_isotonic_path
    >>> path = near_isotonic_path(ScoreTable.from_arrays([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]))
    >>> path
    NearIsotonicPath(4 rows, 2 breakpoints, 4 to 3 bins)
    >>> path.lambdas, path.n_bins
    (array([0. , 0.5]), array([4, 3]))
    >>> path.at(0.25)
    array([0.  , 0.75, 0.25, 1.  ])
    """
    if not isinstance(table, ScoreTable):
        raise InputError(
            f"table must be a ScoreTable; got {type(table).__name__}. Make one with "
            "ScoreTable.from_arrays(scores, y)."
        )
    merges = near_isotonic_merges(table.n_pos, table.weight)
    return NearIsotonicPath(table, *merges)
