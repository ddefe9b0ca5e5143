"""Metrics of many resamples of a table of counts at once."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.engines.grouping import ScoreCells
from trueodds.inputs import Floats, Labels
from trueodds.metrics._resampling import JACKKNIFE_BLOCKS
from trueodds.numerics.binning import equal_mass_edges
from trueodds.numerics.reliability_bins import uniform_edges
from trueodds.table import ScoreTable

__all__ = ["DEBIASED_BINS", "MetricCells", "auc", "squared_debiased"]

DEBIASED_BINS = 15
FEW_ROWS = 4096
"""A table of at most so many rows is resampled as it is."""
CELL_BITS = 6
"""Scores of one cell differ by less than 1/32 of their distance from the nearer end."""
SHARES = 2048
MOST_DRAWN = 2.0**62
"""Rows of a bootstrap sample, as a 64-bit integer holds them."""
CHUNK_VALUES = 2**21
"""Numbers drawn at once: 16 MB."""


def auc(n_neg: Floats, n_pos: Floats) -> Floats:
    """Share of ⟨positive, negative⟩ pairs in the right order, for each row of counts."""
    below = np.cumsum(n_neg, axis=1) - n_neg / 2
    pairs = n_neg.sum(axis=1) * n_pos.sum(axis=1)
    right = np.einsum("ij,ij->i", n_pos, below)
    out = np.full(len(right), np.nan)
    return np.asarray(np.divide(right, pairs, out=out, where=pairs > 0))


@dataclass(frozen=True, eq=False)
class MetricCells:
    """Neighbouring scores in cells that cross no edge of a bin, and what metrics need of them.

    ``loss``, ``prob`` and ``square`` are the means, in each cell and class, of the log-loss, of
    p and of (y − p)²; first all cells of negatives, then all of positives, as in ``counts``.
    ``uniform`` and ``quantile`` are where the bins of each kind begin among the cells.
    """

    counts: Floats
    loss: Floats
    prob: Floats
    square: Floats
    uniform: Labels
    quantile: Labels

    @classmethod
    def of(cls, table: ScoreTable, n_bins: int) -> MetricCells:
        """Cells of relative width, of equal shares, and between edges; each score if few."""
        score, weight = table.score, table.weight
        bins = np.searchsorted(uniform_edges(n_bins), score, side="right")
        edges = equal_mass_edges(score, weight, DEBIASED_BINS)
        masses = np.searchsorted(edges, score, side="right")
        if len(table) <= FEW_ROWS:
            start = np.arange(len(table))
        else:
            share = np.floor((np.cumsum(weight) - weight / 2) / weight.sum() * SHARES)
            near = ScoreCells("probability", CELL_BITS).of_array(score)
            keys = (near, share, bins, masses)
            new = np.any([key[1:] != key[:-1] for key in keys], axis=0)
            start = np.flatnonzero(np.concatenate([[True], new]))
        with np.errstate(divide="ignore"):
            losses = np.stack([-np.log1p(-score), -np.log(score)])
        counts = np.stack([table.n_neg, table.n_pos])
        # Where nothing was seen, nothing is drawn; and where the impossible was seen, the loss of
        # the whole is infinite, and its replicates are not asked for.
        losses[(counts == 0) | np.isinf(losses)] = 0.0
        residual = np.stack([score, 1 - score])
        sums = np.add.reduceat(counts, start, axis=1)

        def means(values: Floats) -> Floats:
            total = np.add.reduceat(values * counts, start, axis=1)
            return np.divide(total, sums, out=np.zeros_like(total), where=sums > 0).ravel()

        return cls(
            counts=sums.ravel(),
            loss=means(losses),
            prob=means(np.stack([score, score])),
            square=means(residual**2),
            uniform=_first_of(bins[start]),
            quantile=_first_of(masses[start]),
        )

    def bootstrap(self, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics of so many bootstrap samples of the rows."""
        total = int(np.clip(np.rint(self.counts.sum()), 1, MOST_DRAWN))
        share = self.counts / self.counts.sum()
        step = max(1, CHUNK_VALUES // len(share))
        sizes = [min(step, n_resamples - begin) for begin in range(0, n_resamples, step)]
        parts = [self.metrics(rng.multinomial(total, share, size)) for size in sizes]
        return {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}

    def jackknife(self, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics without one of 100 random blocks of rows; fractions of rows stay."""
        whole = np.rint(np.minimum(self.counts, MOST_DRAWN)).astype(np.int64)
        blocks = int(min(JACKKNIFE_BLOCKS, max(1, whole.sum())))
        left_out = rng.multinomial(whole, np.full(blocks, 1 / blocks)).T
        return self.metrics(np.maximum(self.counts - left_out, 0.0))

    def metrics(self, counts: npt.NDArray[Any]) -> dict[str, Floats]:
        """The metrics of each row of counts, of shape (resamples, 2·cells)."""
        counts = counts.astype(np.float64, copy=False)
        half = counts.shape[1] // 2
        total = counts.sum(axis=1)
        positive = counts[:, half:]
        weight = counts[:, :half] + positive
        prob = counts * self.prob
        excess = prob[:, :half] + prob[:, half:] - positive
        squares = counts * self.square
        squares = squares[:, :half] + squares[:, half:]
        gap = np.abs(np.add.reduceat(excess, self.uniform, axis=1))
        in_bin = np.add.reduceat(weight, self.uniform, axis=1)
        with np.errstate(invalid="ignore"):  # leaving out the only row leaves nothing
            loss, brier = counts @ self.loss / total, counts @ self.square / total
            error = gap.sum(axis=1) / total
        return {
            "log_loss": loss,
            "brier_score": brier,
            "roc_auc": auc(counts[:, :half], positive),
            "expected_calibration_error": error,
            "debiased_calibration_error": self._debiased(weight, excess, squares),
            "maximum_calibration_error": _ratio(gap, in_bin).max(axis=1),
        }

    def _debiased(self, weight: Floats, excess: Floats, squares: Floats) -> Floats:
        columns = (weight, excess, squares)
        return squared_debiased(*(np.add.reduceat(c, self.quantile, axis=1) for c in columns))


def squared_debiased(in_bin: Floats, gap: Floats, spread: Floats) -> Floats:
    """The squared error of :func:`debiased_calibration_error`, by the same formula.

    Each argument has a row for each resample and a column for each bin: the weight, Σ(p − y)
    and Σ(p − y)².
    """
    usable = in_bin > 1
    mean = _ratio(gap, in_bin)
    deviation = np.maximum(spread - in_bin * mean**2, 0.0)
    variance = _ratio(deviation, np.where(usable, in_bin - 1, 0.0))
    top = np.where(usable, in_bin * mean**2 - variance, 0.0).sum(axis=1)
    return _ratio(top, np.where(usable, in_bin, 0.0).sum(axis=1))


def _ratio(top: Floats, bottom: Floats) -> Floats:
    """0 where nothing is divided by nothing: an empty bin."""
    return np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)


def _first_of(sorted_keys: Labels) -> Labels:
    return np.flatnonzero(np.concatenate([[True], sorted_keys[1:] != sorted_keys[:-1]]))
