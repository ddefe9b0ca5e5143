"""From the posterior of effects to the tables of a map."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from trueodds.calibrators._group.levels import Levels
from trueodds.calibrators._group.pooling import Block, Pooling
from trueodds.calibrators._group.search import INTERVAL_PRIOR
from trueodds.exceptions import InputError
from trueodds.inputs import Floats
from trueodds.maps import GroupTerm

__all__ = ["terms_of"]

TURNS, FIRST_TURNS = 8, 3
"""Of expectation propagation with another prior, and those before a Newton step with it."""


def terms_of(pooling: Pooling, output: int) -> tuple[list[GroupTerm], list[Floats]]:
    """The tables of one class, and the weight of the rows at the levels of each.

    The first is an effect on all rows; the others are effects of levels around it. Intervals have
    mean and variances of a second posterior, with a prior that is as fair to large effects as to
    small ones.
    """
    forecasts, weights = _tables(pooling, output)
    fair = pooling.with_prior(INTERVAL_PRIOR, FIRST_TURNS)
    fair.refine(1, TURNS)
    intervals, _ = _tables(fair, output)
    # What is unknown about all rows alike is in the band of the one map.
    intervals[0] = replace(intervals[0], spread=np.zeros_like(intervals[0].spread))
    pairs = zip(forecasts, intervals, strict=True)
    return [replace(term, interval=_stacked(other)) for term, other in pairs], weights


def _stacked(term: GroupTerm) -> Floats:
    """Means and variances of a term as one table."""
    means = [term.shift, term.slope] if term.slope.size else [term.shift]
    return np.concatenate([np.stack(means), term.spread])


def _tables(pooling: Pooling, output: int) -> tuple[list[GroupTerm], list[Floats]]:
    """Terms with the means and the variances of the posterior.

    Effects of several features are known up to a constant that one may take from the other. So the
    mean of each over the rows is taken out and counted once, with its own variance, and the
    variance of a row's log-odds is nearly the sum of the variances of its effects.
    """
    shifts = {id(b.levels): i for i, b in enumerate(pooling.blocks) if not b.is_slope}
    slopes = {id(b.levels): i for i, b in enumerate(pooling.blocks) if b.is_slope}
    shift_mean = _directions(pooling, list(shifts.values()))
    slope_mean = _directions(pooling, list(slopes.values()))
    constant, common_slope = float(shift_mean @ pooling.mean), float(slope_mean @ pooling.mean)
    both = np.stack([shift_mean, slope_mean])
    spread = both @ pooling.covariance @ both.T
    terms, weights = [], []
    for key, i in shifts.items():
        j = slopes.get(key)
        weights.append(pooling.blocks[i].levels.weight)
        terms.append(_term(pooling, output, i, j))
    if pooling.wide is not None:
        term, mean, variance = _wide_term(pooling, output)
        terms.append(term)
        weights.append(pooling.wide.levels.weight)
        constant, spread[0, 0] = constant + mean, spread[0, 0] + variance
    entries = np.array([[spread[0, 0]], [spread[0, 1]], [spread[1, 1]]])
    everyone = GroupTerm(
        output, (), (), np.array([constant]), np.array([common_slope]), _covariance(entries)
    )
    return [everyone, *terms], [np.ones(1), *weights]


def _directions(pooling: Pooling, indices: list[int]) -> Floats:
    """Coefficients whose sum is the mean effect of these blocks over the rows."""
    result = np.zeros(len(pooling.mean))
    for i in indices:
        levels = pooling.blocks[i].levels
        result[pooling.slice_of(i)] = levels.to_columns(levels.share)
    return result


def _term(pooling: Pooling, output: int, i: int, j: int | None) -> GroupTerm:
    """Shifts of a block, and slopes at the same levels."""
    block = pooling.blocks[i]
    levels, own = block.levels, pooling.slice_of(i)
    centered = _centered(levels)
    shift = centered @ pooling.mean[own]
    covariance, deviations = pooling.covariance, pooling.prior.deviations
    variance = _diagonal(centered, covariance[own, own], centered) + _unseen(block, deviations)
    if j is None:
        return _as_term(output, levels, shift, np.empty(0), variance[None])
    other = pooling.slice_of(j)
    slope = centered @ pooling.mean[other]
    spread = np.stack(
        [
            variance,
            _diagonal(centered, covariance[own, other], centered),
            _diagonal(centered, covariance[other, other], centered)
            + _unseen(pooling.blocks[j], deviations),
        ]
    )
    return _as_term(output, levels, shift, slope, _covariance(spread))


def _wide_term(pooling: Pooling, output: int) -> tuple[GroupTerm, float, float]:
    """Shifts of the widest feature, their mean over the rows, and the variance of that mean."""
    block = pooling.wide
    if block is None:
        raise InputError("there is no feature with very many levels.")
    levels, share, deviations = block.levels, block.levels.share, pooling.prior.deviations
    shift = levels.to_levels(pooling.wide_mean)
    mean = float(share @ shift)
    variance = levels.to_levels(pooling.wide_variance())
    of_mean = float(share**2 @ variance)
    unseen = levels.weight == 0 if levels.kept is None else ~levels.kept
    of_new = float(block.weights @ deviations**2) if pooling.prior.even else block.variance
    variance = np.where(unseen, of_new, variance)
    return _as_term(output, levels, shift - mean, np.empty(0), variance[None]), mean, of_mean


def _as_term(
    output: int, levels: Levels, shift: Floats, slope: Floats, spread: Floats
) -> GroupTerm:
    return GroupTerm(output, levels.features, levels.cuts, shift, slope, spread)


def _centered(levels: Levels) -> Floats:
    """Effects of levels minus their mean over the rows, as functions of the coefficients."""
    basis = levels.to_levels(np.eye(levels.n_columns))
    return np.asarray(basis - levels.share @ basis)


def _unseen(block: Block, deviations: Floats) -> Floats:
    """Variance of a new level's own effect, at levels that have no coefficient."""
    levels = block.levels
    result = np.zeros(levels.n_levels)
    if levels.kept is not None:
        result[~levels.kept] = float(block.weights @ deviations**2)
    return result


def _diagonal(left: Floats, middle: Floats, right: Floats) -> Floats:
    return np.asarray(np.einsum("lk,lk->l", left @ middle, right))


def _covariance(spread: Floats) -> Floats:
    """Variances that are not negative, and covariances that fit them, whatever rounding did."""
    a, ab, b = np.maximum(spread[0], 0.0), spread[1], np.maximum(spread[2], 0.0)
    most = np.sqrt(a * b)
    return np.stack([a, np.clip(ab, -most, most), b])
