"""Which effects there are: shifts and slopes of features, and interactions with evidence."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import scipy

from trueodds.calibrators._group.levels import (
    Levels,
    category_levels,
    crossed,
    level_sums,
    number_levels,
    score_value_levels,
)
from trueodds.calibrators._group.pooling import Pooling, Prior, log_evidence
from trueodds.inputs import Floats
from trueodds.maps import SCORE

__all__ = ["MOST_LEVELS", "Features", "fit_effects"]

PRIOR = Prior(shift=0.6, slope=0.95, interaction=0.9)
"""Probabilities that a kind of effect is absent."""
INTERVAL_PRIOR = Prior(shift=0.01, slope=0.8, interaction=0.8, even=True)
"""The same for intervals. The prior of a shift's deviation is uniform from 0 (Gelman, 2006): 0.01
is the width of the grid's first cell. Intervals with a prior for small effects are too narrow."""
FEW_BINS, MANY_BINS, MANY_ROWS = 12, 20, 3000
"""Bins of a number, and from which weight of all rows there are more."""
ROWS_PER_VALUE = 10
"""Mean weight of the rows of one value of the score from which each value may have an effect."""
COARSE_BINS = 6
"""Bins of a number within an interaction."""
WIDE = 300
"""A feature with more levels is eliminated; if there are two, the less wide one keeps this many."""
MOST_LEVELS = 100_000
"""Levels of the widest feature that have effects: the most frequent ones."""
MOST_SLOPES, MOST_CROSSED = 40, 40
"""Levels of a feature with slopes, or in interactions."""
MOST_COLUMNS = 100
"""Coefficients of an interaction."""
MOST_SHIFTS = 250
"""Coefficients of shifts beyond which features have no slopes."""
MOST_PAIRED = 20
"""Features that are looked at for interactions: those that most probably have an effect."""
ROUNDS, PER_ROUND = 4, 4
"""Interactions are added in rounds, the ones with most evidence first."""
NEEDED = ((1000.0, 2.0), (4000.0, -2.0))
"""Log-evidence that an interaction needs, on top of the logarithm of the number of candidates, with
this weight of all rows; linear in its logarithm between, constant beyond. Laplace's method
overstates the evidence in few rows."""
LEAST_PROBABILITY = 0.1
"""Interactions that are less probable in the end are left out."""
SAMPLE = 50_000
"""Rows in which interactions are looked for and variances are learned first."""


@dataclass(frozen=True, eq=False)
class Features:
    """Encoded features of the rows, as they are cut.

    ``fine`` holds the levels of the score and of each feature, ``coarse`` those for interactions.
    ``unused`` are features with one level, and those that split the rows as another feature does,
    which is their value.
    """

    fine: list[Levels]
    coarse: list[Levels]
    wide: Levels | None
    unused: dict[int, int | None]

    @classmethod
    def cut(
        cls,
        z: Floats,
        encoded: Floats,
        categories: tuple[tuple[str | float, ...] | None, ...],
        weight: Floats,
    ) -> Features:
        """Cut the standardized score and all features into levels."""
        n_bins = FEW_BINS if weight.sum() < MANY_ROWS else MANY_BINS
        fine = [number_levels(SCORE, z, weight, n_bins)]
        coarse = [number_levels(SCORE, z, weight, COARSE_BINS)]
        many: list[Levels] = []
        n_values = len(np.unique(z))
        if fine[0].n_levels < n_values <= weight.sum() / ROWS_PER_VALUE:
            values = score_value_levels(z, weight)
            (many if values.n_levels > WIDE else fine).append(values)
        columns = np.ascontiguousarray(encoded.T)
        cut = [
            number_levels(index, columns[index], weight, n_bins)
            if known is None
            else category_levels(index, columns[index], weight, len(known))
            for index, known in enumerate(categories)
        ]
        unused = _redundant([*fine, *many], cut)
        for levels in cut:
            if levels.features[0] in unused:
                continue
            (many if levels.basis is None and levels.n_levels > WIDE else fine).append(levels)
            if levels.basis is not None:
                (index,) = levels.features
                coarse.append(number_levels(index, columns[index], weight, COARSE_BINS))
            elif levels.n_levels <= MOST_CROSSED:
                coarse.append(levels)
        many.sort(key=lambda levels: -levels.n_levels)
        fine += [levels.most_frequent(WIDE) for levels in many[1:]]
        wide = many[0].most_frequent(MOST_LEVELS) if many else None
        return cls(fine, coarse, wide, unused)

    def take(self, rows: np.ndarray[tuple[int], np.dtype[np.intp]], weight: Floats) -> Features:
        """Some of the rows, cut in the same way."""
        taken = {id(x): x.take(rows, weight) for x in [*self.fine, *self.coarse]}
        wide = None if self.wide is None else self.wide.take(rows, weight)
        fine, coarse = ([taken[id(x)] for x in part] for part in (self.fine, self.coarse))
        return Features(fine, coarse, wide, self.unused)


def _redundant(of_score: list[Levels], of_features: list[Levels]) -> dict[int, int | None]:
    """Features that add nothing, with what splits the rows as they do; categories come first."""
    unused: dict[int, int | None] = {}
    kept = list(of_score)
    for levels in sorted(of_features, key=lambda levels: levels.basis is not None):
        (feature,) = levels.features
        if levels.n_occupied < 2:
            unused[feature] = None
        elif (twin := next((other for other in kept if levels.splits_like(other)), None)) is None:
            kept.append(levels)
        else:
            unused[feature] = twin.features[0]
    return unused


def fit_effects(
    offset: Floats, z: Floats, y: Floats, weight: Floats, features: Features
) -> Pooling:
    """Learn the effects of all features, and of interactions that have enough evidence."""
    if len(y) > SAMPLE:
        return _fit_many(offset, z, y, weight, features)
    pooling = Pooling(offset, z, y, weight, PRIOR, features.wide)
    _add_features(pooling, features)
    pooling.refine(4, 3)
    _add_interactions(pooling, features)
    pooling.refine(1, 3)
    pooling.drop_unlikely("interaction", LEAST_PROBABILITY)
    pooling.refine(1, 3)
    pooling.refine(1, 10)
    return pooling


def _add_features(pooling: Pooling, features: Features) -> None:
    for levels in features.fine:
        pooling.add(levels, "shift")
    if sum(levels.n_columns for levels in features.fine) > MOST_SHIFTS:
        return
    for levels in features.fine:
        if levels.features != (SCORE,) and levels.n_levels <= MOST_SLOPES:
            pooling.add(levels, "slope")


def _fit_many(offset: Floats, z: Floats, y: Floats, weight: Floats, features: Features) -> Pooling:
    """Learn from some rows which interactions there are; then refine all effects on all rows."""
    rows = np.random.default_rng(0).choice(len(y), SAMPLE, replace=False)
    rows.sort()
    few = fit_effects(
        offset[rows], z[rows], y[rows], weight[rows], features.take(rows, weight[rows])
    )
    pooling = Pooling(offset, z, y, weight, PRIOR, features.wide)
    _add_features(pooling, features)
    by_features = {levels.features: levels for levels in features.coarse}
    for block in few.blocks[len(pooling.blocks) :]:
        parts = [by_features[(feature,)] for feature in block.levels.features]
        pooling.add(crossed(parts, weight), "interaction")
    for block, learned in zip(pooling.blocks, few.blocks, strict=True):
        block.precision, block.information = learned.precision, learned.information
        block.weights = learned.weights
    pooling.mean, pooling.wide_mean = few.mean.copy(), few.wide_mean.copy()
    if pooling.wide is not None and few.wide is not None:
        pooling.wide.variance, pooling.wide.weights = few.wide.variance, few.wide.weights
    pooling.refine(1, 3)
    pooling.refine(1, 10)
    return pooling


def _add_interactions(pooling: Pooling, features: Features) -> None:
    """Pairs of features by their evidence."""
    shown = {b.levels.features[0]: b.included for b in pooling.blocks if b.kind == "shift"}
    likely = sorted(features.coarse, key=lambda levels: -shown[levels.features[0]])[:MOST_PAIRED]
    sizes = {levels.features[0]: levels.centered.shape[1] for levels in likely}
    by_feature = {levels.features[0]: levels for levels in features.coarse}
    pairs = [
        pair
        for pair in combinations(sorted(sizes), 2)
        if 0 < math.prod(sizes[feature] for feature in pair) <= MOST_COLUMNS
    ]
    tried: dict[tuple[int, ...], Levels] = {}
    refused: set[tuple[int, ...]] = set()
    taken: set[tuple[int, ...]] = set()
    for _ in range(ROUNDS):
        wanted = [pair for pair in pairs if pair not in taken]
        needed = _needed(float(pooling.weight.sum())) + math.log(max(len(wanted), 1))
        p = scipy.special.expit(pooling.predictor())
        weight, residual = pooling.weight * p * (1 - p), pooling.weight * (pooling.y - p)
        found = []
        for name in wanted:
            if name in refused:
                continue
            if name not in tried:
                parts = [by_feature[feature] for feature in name]
                tried[name] = crossed(parts, pooling.weight)
                if tried[name].n_occupied == max(part.n_occupied for part in parts):
                    refused.add(name)  # it splits the rows as one of its features does
                    continue
            evidence = _evidence(tried[name], weight, residual)
            if evidence > needed:
                found.append((-evidence, name))
            elif evidence < 0.5 * needed:
                refused.add(name)  # what others explain does not become more
        chosen = [name for _, name in sorted(found)[:PER_ROUND]]
        if not chosen:
            return
        for name in chosen:
            pooling.add(tried[name], "interaction")
        taken.update(chosen)
        pooling.refine(2, 3)


def _needed(weight: float) -> float:
    (few, high), (many, low) = NEEDED
    return float(
        np.interp(math.log(max(weight, few)), [math.log(few), math.log(many)], [high, low])
    )


def _evidence(levels: Levels, weight: Floats, residual: Floats) -> float:
    """Log-evidence for an effect on the residuals of what is already explained."""
    basis = levels.to_levels(np.eye(levels.n_columns))
    mass = level_sums(levels.codes, weight, levels.n_levels)
    sums = level_sums(levels.codes, residual, levels.n_levels)
    return log_evidence((basis.T * mass) @ basis, basis.T @ sums)
