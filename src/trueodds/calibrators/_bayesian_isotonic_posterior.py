"""Posterior of an isotonic map: its mean and some draws, by either sampler."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from trueodds.calibrators._bayesian_isotonic_chains import run_chains
from trueodds.numerics.isotonic_bounds import isotonic_bounds
from trueodds.numerics.progress import Progress
from trueodds.table import ScoreTable
from trueodds.validation import Floats

__all__ = [
    "IsotonicPosterior",
    "chain_posterior",
    "default_groups",
    "group_starts",
    "importance_posterior",
]

KEPT_DRAWS = 2000
"""Draws that are kept of a posterior at most."""

LEAST_GROUPS, MOST_GROUPS = 30, 200

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
        Different maps.
    repeats : ndarray of shape (n_draws,)
        How often each counts.
    effective_sample_size : float
        Of the map: the least over its knots, or Kish's for importance weights.
    r_hat : float or None
        The largest split-R̂ over the knots, of chains.
    max_weight : float or None
        The share of the heaviest map, of importance samples.
    bounds : tuple of two ndarrays of shape (n_knots,), or None
        What importance samples were confined to.
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

        Between two knots a draw is their mean, of which quantiles are closer together than those
        at the knots; hence the points between.

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
    """How many groups the ranks of so much weight are put in: 7·N^¼, from 30 to 200.

    39 for a thousand instances, 124 for 10⁵. The loss hardly depends on it within a factor of
    two. Fewer make steps of a smooth map; more cost time and widen the bands.
    """
    return int(np.clip(round(7 * total**0.25), LEAST_GROUPS, MOST_GROUPS))


def _refined(score: Floats) -> tuple[Floats, Floats]:
    """The knots with points between neighbours, if those are finite; and their places among them.

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


def group_starts(weight: Floats, n_groups: int) -> npt.NDArray[np.int64]:
    """The first row of each group.

    Groups are about equally heavy in the middle and lighter towards both ends, where maps are
    often steep and where all that lies outside takes the last group's value: their limits are
    even in the mean of the share of weight and of its arc sine. Rows are never divided.
    """
    middle = np.clip((np.cumsum(weight) - weight / 2) / weight.sum(), 0.0, 1.0)
    place = (middle + 2 / np.pi * np.arcsin(np.sqrt(middle))) / 2
    # Rounded, lest the last bits of a sum of weights move a row across a limit.
    group = np.minimum(np.floor(np.round(place * n_groups, 9)), n_groups - 1)
    return np.flatnonzero(np.append(True, group[1:] > group[:-1]))


def _group_scores(table: ScoreTable, starts: npt.NDArray[np.int64]) -> Floats:
    """Weighted mean score of each group; infinite ones count only if there is nothing else."""
    ends = np.append(starts[1:], len(table)) - 1
    finite = np.isfinite(table.score)
    weight = np.where(finite, table.weight, 0.0)
    mass = np.add.reduceat(weight, starts)
    share = weight / np.repeat(np.where(mass > 0, mass, 1.0), ends - starts + 1)
    mean = np.add.reduceat(np.where(finite, table.score, 0.0) * share, starts)
    mean = np.where(mass > 0, mean, table.score[starts])
    return np.asarray(np.clip(mean, table.score[starts], table.score[ends]))


def chain_posterior(
    table: ScoreTable,
    *,
    n_groups: int | Literal["auto"] | None,
    n_chains: int,
    wanted: float,
    max_draws: int,
    seed: int,
    n_threads: int,
    progress: bool | None,
) -> IsotonicPosterior:
    """By Markov chains on grouped ranks, without bounds."""
    if n_groups == "auto":
        n_groups = default_groups(table.total)
    starts = np.arange(len(table)) if n_groups is None else group_starts(table.weight, n_groups)
    with Progress(int(wanted), "Bayesian isotonic", progress) as bar:
        chains = run_chains(
            np.add.reduceat(table.n_neg, starts),
            np.add.reduceat(table.n_pos, starts),
            n_chains=n_chains,
            wanted=wanted,
            max_draws=max_draws,
            seed=seed,
            n_threads=n_threads,
            done=bar.step,
        )
    all_draws = chains.draws.reshape(-1, len(starts))
    kept = np.linspace(0, len(all_draws) - 1, min(KEPT_DRAWS, len(all_draws))).astype(np.int64)
    return IsotonicPosterior(
        score=_group_scores(table, starts),
        mean=_rising(all_draws.mean(axis=0)),
        draws=all_draws[kept],
        repeats=np.ones(len(kept), dtype=np.int64),
        effective_sample_size=float(chains.effective_sample_size.min()),
        r_hat=float(chains.r_hat.max()),
    )


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
    from trueodds.kernels._isotonic_importance import draw_maps, sample_weighted_maps

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
    """Without what rounding may have made of equal neighbours."""
    return np.maximum.accumulate(np.clip(values, 0.0, 1.0))
