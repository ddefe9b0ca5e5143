"""Posterior of effects of levels: Laplace's method, averaged over the variances of the priors.

The log-odds of a row are m + Σ_b x_b·β_b, with one block β_b of coefficients for each effect: the
shift of the log-odds at the levels of a feature, the slope at them, an interaction. Given its
standard deviation τ_b, the coefficients of a block are independent normal. Every τ_b has the prior
of :class:`Prior`, which has a separate probability of "no effect".

Newton's method gives the quadratic approximation h'β − 0.5·β'Aβ of the log-likelihood. Expectation
propagation (Minka, 2001) replaces the mixture prior of each block by a normal "site" with the same
posterior mean and covariance of the block. All blocks are updated at once, with damping. The
numbers of turns are fixed, so that the result is a smooth function of the rows: their order does
not matter, nor whether a weight is 2 or a row is there twice.

One feature may have very many levels. Its block of A is diagonal, so it is eliminated from all
equations (Schur complement).
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from itertools import accumulate
from typing import Literal

import numpy as np
import scipy

from trueodds.calibrators._group.levels import Levels, level_sums
from trueodds.calibrators._group.small_groups import log_evidence_of_groups, recalibrated
from trueodds.inputs import Floats

__all__ = ["DEVIATIONS", "Block", "Kind", "Pooling", "Prior", "WideBlock", "log_evidence"]

Kind = Literal["shift", "slope", "interaction"]

DEVIATIONS = np.array([1e-3, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6])
"""Standard deviations of effects on the log-odds; the first stands for "no effect"."""
GIVEN_EFFECT = np.array([0.25, 0.25, 0.2, 0.15, 0.1, 0.05])
"""Prior of the others, given that there is an effect: most effects are small."""
EVEN_DEVIATIONS = np.concatenate([[1e-3], 0.05 * 2 ** (np.arange(21) / 4)])
"""A finer grid from 0 to 1.6: the evidence of very many levels leaves one of the deviations."""
EVEN_GIVEN_EFFECT = np.diff([0.025, *(EVEN_DEVIATIONS[1:-1] + EVEN_DEVIATIONS[2:]) / 2, 2.0])
EVEN_GIVEN_EFFECT /= EVEN_GIVEN_EFFECT.sum()
"""Its prior if all deviations up to 2 are equally likely: the widths of the grid's cells."""
FIRST_DEVIATION = 0.2
SHARED = 1.0
"""Weight of this prior, in blocks, against what the other blocks of the kind have."""
LEAST_PRECISION = 0.04
"""A site may not be flatter: a standard deviation of 5."""
LEAST_WEIGHT = 1e-9
"""Of p(1 − p)."""
SMALL, MOST_EXAMINED = 10.0, 50_000.0
"""Groups with a smaller sum of p(1 − p) have their evidence by quadrature; if they have more rows
than this together, some of them stand for all."""
DAMPING = (1.0, 0.7, 0.7, 0.7, 0.7, 0.3)
"""Share of an update that is taken, turn by turn; the last one from then on."""


@dataclass(frozen=True)
class Prior:
    """Probability that a block has no effect, by its kind.

    If it is ``even``, all deviations up to 2 are equally likely, given that there is an effect,
    and each block is learned from its own rows alone. Else small deviations are more likely, and
    the prior of a block is drawn to what others of its kind have.
    """

    shift: float
    slope: float
    interaction: float
    even: bool = False

    def of(self, kind: Kind) -> Floats:
        """Prior of the standard deviations of a block."""
        nothing: float = getattr(self, kind)
        others = EVEN_GIVEN_EFFECT if self.even else GIVEN_EFFECT
        return np.concatenate([[nothing], (1 - nothing) * others])

    @property
    def deviations(self) -> Floats:
        """The standard deviations that have these probabilities."""
        return EVEN_DEVIATIONS if self.even else DEVIATIONS


@dataclass(eq=False)
class Block:
    """Coefficients with one prior, and the normal that stands for it.

    ``weights`` is the posterior of the standard deviations, and ``correction`` what their
    log-evidence lacks in small groups.
    """

    levels: Levels
    kind: Kind
    precision: Floats = field(init=False)
    information: Floats = field(init=False)
    weights: Floats = field(init=False)
    correction: float | Floats = 0.0

    def __post_init__(self) -> None:
        self.precision = np.eye(self.levels.n_columns) / FIRST_DEVIATION**2
        self.information = np.zeros(self.levels.n_columns)
        self.weights = np.zeros(len(DEVIATIONS))

    @property
    def is_slope(self) -> bool:
        """Whether the effect is multiplied by the standardized log-odds."""
        return self.kind == "slope"

    @property
    def included(self) -> float:
        """Probability that there is an effect."""
        return float(1 - self.weights[0])


@dataclass(eq=False)
class WideBlock:
    """Shifts at very many levels: its equations are diagonal.

    ``variance`` is that of the normal that stands for the prior.
    """

    levels: Levels
    variance: float = FIRST_DEVIATION**2
    weights: Floats = field(default_factory=lambda: np.zeros(len(DEVIATIONS)))
    kind: Kind = "shift"
    is_slope: bool = False
    correction: float | Floats = 0.0

    @property
    def included(self) -> float:
        """Probability that there is an effect."""
        return float(1 - self.weights[0])


class Pooling:
    """The posterior of all blocks.

    Parameters
    ----------
    offset, z, y, weight : arrays of shape (n,)
        Log-odds of the base map, the same standardized, targets in [0, 1], weights of the rows.
    prior : Prior
    wide : Levels, default=None
        Levels of the feature that is eliminated.
    """

    def __init__(
        self,
        offset: Floats,
        z: Floats,
        y: Floats,
        weight: Floats,
        prior: Prior,
        wide: Levels | None = None,
    ) -> None:
        self.offset, self.z, self.y, self.weight, self.prior = offset, z, y, weight, prior
        self.blocks: list[Block] = []
        self.wide = None if wide is None else WideBlock(wide)
        self.mean = np.zeros(0)
        self.covariance = np.zeros((0, 0))
        self.wide_mean = np.zeros(0 if wide is None else wide.n_columns)
        self._quadratic = np.zeros((0, 0))
        self._linear = np.zeros(0)
        self._wide_quadratic = self._wide_linear = np.zeros(len(self.wide_mean))
        self._cross = np.zeros((0, len(self.wide_mean)))

    @property
    def ends(self) -> list[int]:
        """Where each block's coefficients begin, and where the last ones end."""
        sizes = (block.levels.n_columns for block in self.blocks)
        return list(accumulate(sizes, initial=0))

    @property
    def all_blocks(self) -> list[Block | WideBlock]:
        """The blocks, and the wide one if there is one."""
        return [*self.blocks] if self.wide is None else [*self.blocks, self.wide]

    def slice_of(self, index: int) -> slice:
        """Where the coefficients of a block are."""
        ends = self.ends
        return slice(ends[index], ends[index + 1])

    def add(self, levels: Levels, kind: Kind) -> None:
        """One more block, whose coefficients are zero so far."""
        self.blocks.append(Block(levels, kind))
        self.mean = np.concatenate([self.mean, np.zeros(levels.n_columns)])

    def drop_unlikely(self, kind: Kind, least: float) -> None:
        """Leave out blocks of a kind with a smaller probability of an effect."""
        kept = [i for i, b in enumerate(self.blocks) if b.kind != kind or b.included >= least]
        self.mean = np.concatenate([self.mean[self.slice_of(i)] for i in kept])
        self.blocks = [self.blocks[i] for i in kept]

    def predictor(self) -> Floats:
        """Log-odds of the rows at the present mean."""
        return self._predictor(self.mean, self.wide_mean)

    def _predictor(self, mean: Floats, wide_mean: Floats) -> Floats:
        eta, ends = self.offset.copy(), self.ends
        for block, start, end in zip(self.blocks, ends[:-1], ends[1:], strict=True):
            effect = block.levels.to_levels(mean[start:end])[block.levels.codes]
            eta += effect * self.z if block.is_slope else effect
        if self.wide is not None:
            eta += self.wide.levels.to_levels(wide_mean)[self.wide.levels.codes]
        return eta

    def refine(self, newton_steps: int, turns: int) -> None:
        """Newton steps, each followed by turns of expectation propagation."""
        for _ in range(newton_steps):
            self._newton_step()
            if self.prior.even:
                self._correct_evidence()
            self._propagate(turns)

    def _correct_evidence(self) -> None:
        """Look at the small groups of each feature by quadrature."""
        eta = self.predictor()
        for i, block in enumerate(self.blocks):
            if block.kind == "shift" and block.levels.basis is None:
                own = self.slice_of(i)
                quadratic, effects = np.diag(self._quadratic[own, own]), self.mean[own]
                pull = self._linear[own] - self._quadratic[own] @ self.mean + quadratic * effects
                if self.wide is not None:
                    pull -= self._cross[own] @ self.wide_mean
                self._correct(block, eta, effects, quadratic, pull)
        if self.wide is not None:
            pull = self._wide_linear - self.mean @ self._cross
            self._correct(self.wide, eta, self.wide_mean, self._wide_quadratic, pull)

    def _correct(
        self,
        block: Block | WideBlock,
        eta: Floats,
        effects: Floats,
        quadratic: Floats,
        pull: Floats,
    ) -> None:
        """What the quadratic approximation lacks in the log-evidence of each deviation."""
        levels, deviations = block.levels, self.prior.deviations
        small = np.flatnonzero((quadratic > 0) & (quadratic < SMALL))
        mass = levels.to_columns(levels.weight)
        total = float(mass[small].sum())
        if total > MOST_EXAMINED:
            small = np.random.default_rng(0).permutation(small)
            small = small[: int(np.searchsorted(np.cumsum(mass[small]), MOST_EXAMINED)) + 1]
        if not len(small):
            block.correction = np.zeros(len(deviations))
            return
        places = np.zeros(len(quadratic))
        places[small] = np.arange(1, len(small) + 1)
        codes = levels.to_levels(places).astype(np.intp)[levels.codes] - 1
        rows = codes >= 0
        others = eta - levels.to_levels(effects)[levels.codes]
        averaged = recalibrated(others, self.y, self.weight)[rows]
        exact = log_evidence_of_groups(
            averaged, self.y[rows], self.weight[rows], codes[rows], len(small), deviations
        )
        approximate, _, _ = _given_deviations(quadratic[small], pull[small], deviations)
        block.correction = (exact - approximate) * (total / float(mass[small].sum()))

    def with_prior(self, prior: Prior, turns: int) -> Pooling:
        """The same posterior with another prior, without another look at the rows."""
        other = copy.copy(self)
        other.prior = prior
        other.blocks = [copy.copy(block) for block in self.blocks]
        for block in other.blocks:
            block.precision, block.information = block.precision.copy(), block.information.copy()
        other.wide = copy.copy(self.wide)
        other._propagate(turns)
        return other

    def _newton_step(self) -> None:
        """Expand the log-likelihood at the mean, and go to the mode with the present sites."""
        eta = self.predictor()
        p = scipy.special.expit(eta)
        self._expand(
            self.weight * np.maximum(p * (1 - p), LEAST_WEIGHT), self.weight * (self.y - p)
        )
        before, wide_before = self.mean, self.wide_mean
        worst = self._objective(before, wide_before, eta) - 1e-6
        self._solve()
        after, wide_after, share = self.mean, self.wide_mean, 1.0
        while share > 1e-3:
            eta = self._predictor(self.mean, self.wide_mean)
            if self._objective(self.mean, self.wide_mean, eta) >= worst:
                break
            share /= 2
            self.mean = before + share * (after - before)
            self.wide_mean = wide_before + share * (wide_after - wide_before)

    def _objective(self, mean: Floats, wide_mean: Floats, eta: Floats) -> float:
        """Logarithm of the posterior density with the present sites, but for a constant."""
        fit = float(self.weight @ (self.y * eta - np.logaddexp(0, eta)))
        ends = self.ends
        for block, start, end in zip(self.blocks, ends[:-1], ends[1:], strict=True):
            beta = mean[start:end]
            fit += float(block.information @ beta - 0.5 * beta @ block.precision @ beta)
        if self.wide is not None:
            fit -= 0.5 * float(wide_mean @ wide_mean) / self.wide.variance
        return fit

    def _expand(self, weight: Floats, residual: Floats) -> None:
        """A and h, from cross tables of levels; there is never a matrix of rows and columns."""
        ends, blocks = self.ends, self.blocks
        powers = [weight, weight * self.z, weight * self.z**2]
        residuals = [residual, residual * self.z]
        quadratic, gradient = np.empty((ends[-1], ends[-1])), np.empty(ends[-1])
        tables: dict[tuple[int, int, int], Floats] = {}
        for i, one in enumerate(blocks):
            levels, rows = one.levels, slice(ends[i], ends[i + 1])
            sums = level_sums(levels.codes, residuals[one.is_slope], levels.n_levels)
            gradient[rows] = levels.to_columns(sums)
            for j, other in enumerate(blocks[: i + 1]):
                power = one.is_slope + other.is_slope
                key = (id(levels), id(other.levels), power)
                if key not in tables:
                    tables[key] = _cross_table(levels, other.levels, powers[power])
                    tables[key[1], key[0], power] = tables[key].T
                half = levels.to_columns(tables[key])
                product = other.levels.to_columns(half.T)
                columns = slice(ends[j], ends[j + 1])
                quadratic[rows, columns] = product.T
                quadratic[columns, rows] = product
        self._quadratic, self._linear = quadratic, gradient + quadratic @ self.mean
        if self.wide is not None:
            self._expand_wide(self.wide.levels, powers, residual)

    def _expand_wide(self, wide: Levels, powers: list[Floats], residual: Floats) -> None:
        """The diagonal of the wide block, and its cross terms with all others."""
        ends = self.ends
        self._wide_quadratic = wide.to_columns(level_sums(wide.codes, powers[0], wide.n_levels))
        gradient = wide.to_columns(level_sums(wide.codes, residual, wide.n_levels))
        self._cross = np.empty((ends[-1], wide.n_columns))
        for block, start, end in zip(self.blocks, ends[:-1], ends[1:], strict=True):
            table = _cross_table(block.levels, wide, powers[block.is_slope])
            self._cross[start:end] = wide.to_columns(block.levels.to_columns(table).T).T
        self._linear += self._cross @ self.wide_mean
        self._wide_linear = (
            gradient + self._wide_quadratic * self.wide_mean + self.mean @ self._cross
        )

    def _solve(self) -> None:
        """Mean and covariance of the coefficients with the present sites."""
        ends = self.ends
        total, linear = self._quadratic.copy(), self._linear.copy()
        for block, start, end in zip(self.blocks, ends[:-1], ends[1:], strict=True):
            total[start:end, start:end] += block.precision
            linear[start:end] += block.information
        if self.wide is not None:
            inverse = 1 / (self._wide_quadratic + 1 / self.wide.variance)
            scaled = self._cross * inverse
            total -= scaled @ self._cross.T
            linear -= scaled @ self._wide_linear
        self.covariance = _inverse(total)
        self.mean = self.covariance @ linear
        if self.wide is not None:
            self.wide_mean = inverse * (self._wide_linear - self.mean @ self._cross)

    def _propagate(self, turns: int) -> None:
        """Turns of expectation propagation; mean and covariance are those of the last sites."""
        for turn in range(turns):
            damping = DAMPING[min(turn, len(DAMPING) - 1)]
            priors = [self._log_prior(block) for block in self.blocks]
            if self.wide is not None:
                wide_prior = self._log_prior(self.wide)
            for i, (block, log_prior) in enumerate(zip(self.blocks, priors, strict=True)):
                own = self.slice_of(i)
                marginal = self.covariance[own, own], self.mean[own]
                _update_site(block, *marginal, self.prior.deviations, log_prior, damping)
            if self.wide is not None:
                self._update_wide(self.wide, wide_prior)
            self._solve()

    def _log_prior(self, block: Block | WideBlock) -> Floats:
        """Prior of a block's deviations, drawn to what others of its kind have unless even."""
        prior = SHARED * self.prior.of(block.kind)
        if self.prior.even:
            return np.asarray(np.log(prior) + block.correction)
        for other in self.all_blocks:
            if other is not block and other.kind == block.kind:
                prior = prior + other.weights
        return np.asarray(np.log(prior / prior.sum()))

    def _update_wide(self, wide: WideBlock, log_prior: Floats) -> None:
        """The wide block's deviations, given the mean of all other blocks."""
        pull = self._wide_linear - self.mean @ self._cross
        deviations = self.prior.deviations
        evidence, means, variances = _given_deviations(self._wide_quadratic, pull, deviations)
        wide.weights = _normalized(evidence + log_prior)
        second = (means**2 + variances).mean(axis=0)
        wide.variance = max(float(wide.weights @ second), DEVIATIONS[0] ** 2)

    def wide_variance(self) -> Floats:
        """Posterior variances of the wide block's coefficients."""
        if self.wide is None:
            return np.zeros(0)
        inverse = 1 / (self._wide_quadratic + 1 / self.wide.variance)
        shared = np.einsum("kl,kl->l", self._cross, self.covariance @ self._cross)
        return np.asarray(inverse + inverse**2 * shared)


def _cross_table(one: Levels, other: Levels, weight: Floats) -> Floats:
    """Weight of the rows at each pair of levels."""
    if one is other:
        return np.diag(level_sums(one.codes, weight, one.n_levels))
    joint = one.codes * other.n_levels + other.codes
    sums = level_sums(joint, weight, one.n_levels * other.n_levels)
    return sums.reshape(one.n_levels, other.n_levels)


def _update_site(
    block: Block,
    covariance: Floats,
    mean: Floats,
    deviations: Floats,
    log_prior: Floats,
    damping: float,
) -> None:
    """Match mean and covariance of the block with its mixture prior."""
    marginal = _inverse(covariance)
    precision, vectors = np.linalg.eigh(marginal - block.precision)
    precision = np.maximum(precision, 0.0)
    pull = vectors.T @ (marginal @ mean - block.information)
    evidence, means, variances = _given_deviations(precision, pull, deviations)
    block.weights = weights = _normalized(evidence + log_prior)
    center = means @ weights
    gap = means - center[:, None]
    matched = np.diag(variances @ weights) + (gap * weights) @ gap.T
    site = _inverse(matched) - np.diag(precision)
    size, directions = np.linalg.eigh((site + site.T) / 2)
    site = (directions * np.maximum(size, LEAST_PRECISION)) @ directions.T
    # Wherever the precision was limited, the mean is matched all the same.
    information = (site + np.diag(precision)) @ center - pull
    block.precision += damping * (vectors @ site @ vectors.T - block.precision)
    block.information += damping * (vectors @ information - block.information)


def _given_deviations(
    precision: Floats, pull: Floats, deviations: Floats
) -> tuple[Floats, Floats, Floats]:
    """Log-evidence, means and variances for each deviation, in directions that are independent."""
    square = deviations**2
    shrunk = square / (1 + square * precision[:, None])
    evidence = -0.5 * np.log1p(square * precision[:, None]).sum(axis=0)
    evidence += 0.5 * (pull[:, None] ** 2 * shrunk).sum(axis=0)
    return evidence, pull[:, None] * shrunk, shrunk


def log_evidence(quadratic: Floats, gradient: Floats) -> float:
    """Largest log-evidence of one separate block, against no effect."""
    precision, vectors = np.linalg.eigh(quadratic)
    evidence, _, _ = _given_deviations(np.maximum(precision, 0.0), vectors.T @ gradient, DEVIATIONS)
    return float(evidence.max())


def _normalized(log_weights: Floats) -> Floats:
    weights = np.exp(log_weights - log_weights.max())
    return np.asarray(weights / weights.sum())


def _inverse(matrix: Floats) -> Floats:
    """Inverse of a symmetric positive matrix."""
    inverse = np.linalg.inv(matrix)
    return np.asarray((inverse + inverse.T) / 2)
