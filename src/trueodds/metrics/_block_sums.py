"""Metrics of several classes from the sums of random blocks of rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats, Labels
from trueodds.metrics._evaluate_cells import DEBIASED_BINS, squared_debiased
from trueodds.metrics._losses import row_losses
from trueodds.metrics._resampling import JACKKNIFE_BLOCKS
from trueodds.metrics._sample import Forecasts, binary_views
from trueodds.numerics.binning import equal_mass_edges
from trueodds.numerics.reliability_bins import uniform_edges

__all__ = ["BlockSums"]

MOST_BLOCKS = 2048
UNIFORM_BINS = 10


@dataclass(frozen=True, eq=False)
class BlockSums:
    """Sums over blocks of rows: what a resample of blocks needs, however many rows there are.

    ``totals`` has weight, log-loss, squared error and hits, of shape (blocks, 4). In each bin of
    equal width (``uniform``) the sum of confidence − hit; in each bin of equal mass weight,
    confidence − hit and its square (``quantile``, of shape (3, blocks, bins)).
    """

    totals: Floats
    uniform: Floats
    quantile: Floats

    @property
    def n_blocks(self) -> int:
        """How many blocks there are."""
        return len(self.totals)

    @classmethod
    def of(cls, sample: Forecasts, rng: np.random.Generator) -> BlockSums:
        """Deal the rows at random; few rows are blocks of their own."""
        n_rows = len(sample)
        n_blocks = min(n_rows, MOST_BLOCKS)
        block = rng.permutation(n_rows) % n_blocks if n_rows > n_blocks else np.arange(n_rows)
        view = binary_views(sample, "top_label")[0]
        weight = np.ones(n_rows) if sample.weight is None else sample.weight
        gap = view.prob - view.hit

        def sums(values: Floats, bins: Labels, n_bins: int) -> Floats:
            found = np.bincount(block * n_bins + bins, values, n_blocks * n_bins)
            return np.asarray(found.reshape(n_blocks, n_bins), dtype=np.float64)

        everywhere = np.zeros(n_rows, dtype=np.intp)
        losses = row_losses(sample)
        columns = (weight, weight * losses[0], weight * losses[1], weight * view.hit)
        totals = np.concatenate([sums(column, everywhere, 1) for column in columns], axis=1)
        even = np.searchsorted(uniform_edges(UNIFORM_BINS), view.prob, side="right")
        edges = equal_mass_edges(view.prob, sample.weight, DEBIASED_BINS)
        massed = np.searchsorted(edges, view.prob, side="right")
        squares = [sums(v, massed, len(edges) + 1) for v in (weight, weight * gap, weight * gap**2)]
        return cls(totals, sums(weight * gap, even, UNIFORM_BINS), np.stack(squares))

    def bootstrap(self, n_resamples: int, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics of so many samples of blocks, drawn with replacement."""
        share = np.full(self.n_blocks, 1 / self.n_blocks)
        return self.metrics(rng.multinomial(self.n_blocks, share, n_resamples).astype(np.float64))

    def jackknife(self, rng: np.random.Generator) -> dict[str, Floats]:
        """The metrics without one of 100 random parts of the blocks."""
        parts = min(self.n_blocks, JACKKNIFE_BLOCKS)
        part_of = rng.permutation(self.n_blocks) % parts
        return self.metrics((part_of != np.arange(parts)[:, None]).astype(np.float64))

    def metrics(self, counts: Floats) -> dict[str, Floats]:
        """The metrics where block i counts ``counts[:, i]`` times."""
        # An infinite loss has no interval, nor needs one; nor has a resample without rows.
        with np.errstate(invalid="ignore", divide="ignore"):
            weight, loss, square, hits = (counts @ self.totals).T
            in_bin, gap, spread = counts @ self.quantile
            return {
                "log_loss": loss / weight,
                "brier_score": square / weight,
                "accuracy": hits / weight,
                "expected_calibration_error": np.abs(counts @ self.uniform).sum(axis=1) / weight,
                "debiased_calibration_error": squared_debiased(in_bin, gap, spread),
            }
