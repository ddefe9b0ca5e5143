"""Posterior of an isotonic map: its mean and some draws, by either sampler.

Rows that very large weights force to one value in any non-decreasing map are pooled first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from trueodds.basics.progress import Progress
from trueodds.calibrators._bayesian_isotonic.bounds import isotonic_bounds
from trueodds.calibrators._bayesian_isotonic.chains import Chains, run_chains
from trueodds.inputs import Floats
from trueodds.numerics.isotonic import block_means, isotonic_fit
from trueodds.table import ScoreTable

__all__ = [
    "IsotonicPosterior",
    "chain_posterior",
    "default_groups",
    "group_starts",
    "importance_posterior",
    "pooled_starts",
]

KEPT_DRAWS = 2000
"""Largest number of draws that a posterior keeps."""

LEAST_GROUPS, MOST_GROUPS = 30, 200

GROUPINGS = 2
"""Ways to put ranks in groups, between which the chains are divided. One is shifted by half a group
against the other, so that the mean has smaller steps."""

BETWEEN = 2
"""Points between two knots at which quantiles are taken."""


@dataclass(frozen=True, eq=False)
class IsotonicPosterior:
    """The values of an isotonic map at some scores.

    Parameters
    ----------
    score : ndarray of shape (n_knots,)
        Strictly increasing.
    mean : ndarray of shape (n_knots,)
        Posterior mean, from more draws than are kept.
    draws : ndarray of shape (n_draws, n_knots)
        Distinct maps.
    repeats : ndarray of shape (n_draws,)
        Number of times that each was drawn.
    effective_sample_size : float
        Effective sample size of the map: the least over its knots, or Kish's for importance
        weights.
    r_hat : float or None
        Largest split-R̂ over the knots, of chains on the same groups.
    max_weight : float or None
        Weight of the heaviest map, for importance samples.
    bounds : tuple of two ndarrays of shape (n_knots,), or None
        Bounds of the maps, for importance samples.
    """

    score: Floats
    mean: Floats
    draws: Floats
    repeats: npt.NDArray[np.int64]
    effective_sample_size: float
    r_hat: float | None = None
    max_weight: float | None = None
    bounds: tuple[Floats, Floats] | None = None

    def quantiles(self, levels: list[float]) -> tuple[Floats, Floats]:
        """Quantiles of the map at its knots and at points between them.

        Between two knots a draw is their mean, whose quantiles are closer together than those at
        the knots; this needs the points between.

        Returns
        -------
        score : ndarray of shape (n_points,)
        values : ndarray of shape (n_levels, n_points)
            Each row is non-decreasing.
        """
        rows = np.repeat(np.arange(len(self.draws)), self.repeats)
        score, place = _refined(self.score)
        left = np.minimum(place.astype(np.int64), max(len(self.score) - 2, 0))
        right = np.minimum(left + 1, len(self.score) - 1)
        share = place - left
        values = np.empty((len(levels), len(score)))
        for part in range(0, len(score), 64):  # not all at once, for memory
            some = slice(part, part + 64)
            points = self.draws[:, left[some]] * (1 - share[some])
            points += self.draws[:, right[some]] * share[some]
            values[:, some] = np.quantile(points[rows], levels, axis=0)
        return score, np.clip(np.maximum.accumulate(values, axis=1), 0.0, 1.0)


def default_groups(total: float) -> int:
    """Number of groups for the ranks of this much weight: 7·N^(1/4), from 30 to 200.

    It is 39 for a thousand rows and 124 for 10⁵. It is a compromise: half as many are better for
    smooth maps (by up to a fifth of the excess loss) and much worse for steps; twice as many the
    reverse.
    """
    return int(np.clip(round(7 * total**0.25), LEAST_GROUPS, MOST_GROUPS))


def _refined(score: Floats) -> tuple[Floats, Floats]:
    """The knots with points between neighbors, if those are finite; and their places among them.

    The point half-way between the knots 3 and 4 has the place 3.5. Points that are not above the
    one before, as the floats between two knots may be few, are left out.
    """
    between = np.arange(BETWEEN + 1) / (BETWEEN + 1)
    knot = np.arange(len(score))
    place = np.append((knot[:-1, None] + between).ravel(), knot[-1])
    left = place.astype(np.int64)
    share = place - left
    right = np.minimum(left + 1, len(score) - 1)
    kept = (share == 0) | (np.isfinite(score[left]) & np.isfinite(score[right]))
    left, right, share, place = left[kept], right[kept], share[kept], place[kept]
    base, other = score[left].copy(), score[right]
    inner = share > 0
    base[inner] = base[inner] * (1 - share[inner]) + other[inner] * share[inner]
    inner &= (base <= score[left]) | (base >= other)
    return base[~inner], place[~inner]


def group_starts(weight: Floats, n_groups: int, shift: float = 0.0) -> npt.NDArray[np.int64]:
    """The first row of each group.

    A shift, in groups, from 0 to 1 moves all limits down and adds a group at the end.

    Groups have about equal weight in the middle and less towards both ends, where maps are often
    steep and where all scores outside take the last group's value. Their limits are even in the
    mean of the share of weight and of its arc sine. Rows are never divided.
    """
    middle = np.clip((np.cumsum(weight) - weight / 2) / weight.sum(), 0.0, 1.0)
    place = (middle + 2 / np.pi * np.arcsin(np.sqrt(middle))) / 2
    # Rounded, lest the last bits of a sum of weights move a row across a limit.
    last = n_groups - 1 + np.ceil(shift)
    group = np.minimum(np.floor(np.round(place * n_groups + shift, 9)), last)
    return np.flatnonzero(np.append(True, group[1:] > group[:-1]))


def chain_posterior(
    table: ScoreTable,
    *,
    n_groups: int | Literal["auto"] | None,
    bounds: Literal["paper", "authors"] | None,
    n_chains: int,
    wanted: float,
    max_draws: int,
    seed: int,
    n_threads: int,
    progress: bool | None,
) -> IsotonicPosterior:
    """By Markov chains on grouped ranks.

    The chains are divided between the groupings. Each grouping has its own posterior, so chains are
    compared within it, and the result is the even mixture.
    """
    if n_groups == "auto":
        n_groups = default_groups(table.total)
    if n_groups is None or n_groups >= len(table):
        groupings = [np.arange(len(table))]
    else:
        shifts = np.arange(min(GROUPINGS, n_chains)) / GROUPINGS
        groupings = [group_starts(table.weight, n_groups, shift) for shift in shifts]
    limits = None if bounds is None else isotonic_bounds(table.n_neg, table.n_pos, bounds)
    shares = np.diff(np.linspace(0, n_chains, len(groupings) + 1).astype(np.int64))
    found: list[Chains] = []
    with Progress(int(wanted), "Bayesian isotonic", progress) as bar:
        for starts, share in zip(groupings, shares, strict=True):
            n_neg, n_pos = (np.add.reduceat(n, starts) for n in (table.n_neg, table.n_pos))
            limited = None if limits is None else _group_bounds(*limits, starts)
            pooled = pooled_starts(n_neg, n_pos)
            chains = run_chains(
                np.add.reduceat(n_neg, pooled),
                np.add.reduceat(n_pos, pooled),
                n_chains=int(share),
                wanted=wanted / len(groupings),
                max_draws=max_draws,
                seed=seed,
                first_index=sum(len(chains.draws) for chains in found),
                bounds=None if limited is None else _group_bounds(*limited, pooled),
                n_threads=n_threads,
                done=bar.step,
            )
            found.append(chains.spread(np.diff(np.append(pooled, len(starts)))))
    knots = [block_means(table.score, table.weight, starts) for starts in groupings]
    score = np.unique(np.concatenate(knots))
    all_draws = [chains.draws.reshape(-1, chains.draws.shape[2]) for chains in found]
    # As many of each grouping.
    n_kept = min(KEPT_DRAWS // len(found), *(len(rows) for rows in all_draws))
    means, draws = [], []
    for own, rows in zip(knots, all_draws, strict=True):
        kept = np.linspace(0, len(rows) - 1, n_kept).astype(np.int64)
        means.append(_interpolated(own, rows.mean(axis=0), score))
        draws.append(_interpolated(own, rows[kept], score))
    sizes = np.array([chains.effective_sample_size.min() for chains in found])
    return IsotonicPosterior(
        score=score,
        mean=_rising(np.mean(means, axis=0)),
        draws=np.concatenate(draws),
        repeats=np.ones(n_kept * len(draws), dtype=np.int64),
        # Of the mean of means: the variance of each is about 1/size.
        effective_sample_size=float(len(sizes) ** 2 / (1 / sizes).sum()),
        r_hat=float(max(chains.r_hat.max() for chains in found)),
    )


def _interpolated(knots: Floats, values: Floats, score: Floats) -> Floats:
    """Values at some scores of maps (rows) that are linear between knots, as of their maps."""
    left = np.clip(np.searchsorted(knots, score, side="right") - 1, 0, None)
    right = np.minimum(left + 1, len(knots) - 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.clip((score - knots[left]) / (knots[right] - knots[left]), 0.0, 1.0)
    # A finite score beside an infinite knot has the value of the finite one.
    share = np.where(np.isneginf(knots[left]) & (score > knots[left]), 1.0, share)
    share = np.where(np.isnan(share), 0.0, share)
    return np.asarray(values[..., left] * (1 - share) + values[..., right] * share)


def _group_bounds(
    lower: Floats, upper: Floats, starts: npt.NDArray[np.int64]
) -> tuple[Floats, Floats]:
    """The widest bounds inside each group."""
    return lower[starts], upper[np.append(starts[1:], len(upper)) - 1]


def importance_posterior(
    table: ScoreTable,
    *,
    bounds: Literal["paper", "authors"] | None,
    n_samples: int,
    seed: int,
    n_threads: int,
    progress: bool | None,
) -> IsotonicPosterior:
    """By the paper's algorithm 1."""
    from trueodds.kernels.bayesian_isotonic import draw_maps, sample_weighted_maps

    if bounds is None:
        lower, upper = np.zeros(len(table)), np.ones(len(table))
    else:
        lower, upper = isotonic_bounds(table.n_neg, table.n_pos, bounds)
    with Progress(n_samples, "Bayesian isotonic", progress) as bar:
        maps = sample_weighted_maps(
            *(lower, upper, table.n_neg, table.n_pos),
            n_samples=n_samples,
            seed=seed,
            n_threads=n_threads,
            done=bar.step,
        )
    weight = np.exp(maps.log_likelihood - maps.log_likelihood.max())
    weight /= weight.sum()
    # Systematic resampling: a map counts as often as its weight says, rounded up or down.
    n_kept = KEPT_DRAWS // 5
    places = (np.arange(n_kept) + 0.5) / n_kept
    chosen = np.minimum(np.searchsorted(np.cumsum(weight), places), n_samples - 1)
    chosen, repeats = np.unique(chosen, return_counts=True)
    return IsotonicPosterior(
        score=table.score,
        mean=_rising(maps.mean),
        draws=draw_maps(lower, upper, chosen, seed),
        repeats=repeats,
        effective_sample_size=float(1 / np.square(weight).sum()),
        max_weight=float(weight.max()),
        bounds=(lower, upper),
    )


def _rising(values: Floats) -> Floats:
    """Without what rounding may have made of equal neighbors."""
    return np.maximum.accumulate(np.clip(values, 0.0, 1.0))


LEAST_PRESSURE = 1e5
"""Neighbors that are pressed together so hard differ by about 1e-5 in log-odds."""
LEAST_AT_END = 1e7
"""Rows that are pressed so hard against 0 or 1 differ from it by about 1e-7."""


def pooled_starts(n_neg: Floats, n_pos: Floats) -> npt.NDArray[np.int64]:
    """The first row of each run of rows that are pressed together.

    Within a block of isotonic regression with value p, the rows before a boundary have more
    positives than p predicts, and those after it fewer. Their excess is the Lagrange multiplier of
    the boundary's constraint: separating the values there by δ log-odds lowers the log-likelihood
    by excess·δ, so a posterior separates them by about 1/excess. In the first block, if it has
    negatives only, raising the values after a boundary by δ lowers it by δ times the weight there;
    likewise in the last. So nothing is joined unless weights are very large, or very many rows
    contradict the order of their scores.

    Parameters
    ----------
    n_neg, n_pos : ndarray of shape (n_rows,)

    Returns
    -------
    ndarray of shape (n_runs,)

    Examples
    --------
    >>> pooled_starts(np.array([9e8, 0, 1e8]), np.array([0, 1e8, 0]))
    array([0, 1])
    >>> pooled_starts(np.array([9, 0, 1]), np.array([0, 1, 0]))
    array([0, 1, 2])
    """
    weight = n_neg + n_pos
    fit, _ = isotonic_fit(n_pos, weight)
    excess = np.cumsum(n_pos - weight * fit)
    to_zero = np.cumsum((weight * (fit == 0))[::-1])[::-1]
    to_one = np.cumsum(weight * (fit == 1))
    joined = excess[:-1] >= LEAST_PRESSURE
    joined |= (to_zero[1:] >= LEAST_AT_END) | (to_one[:-1] >= LEAST_AT_END)
    joined &= fit[1:] == fit[:-1]
    return np.flatnonzero(np.append(True, ~joined))
