"""Resampling, in one place: what is drawn, how often, and the intervals that follow.

A row, with its repetitions, or a whole cluster of rows is one unit. Metrics with a closed
form (:mod:`trueodds.metrics._estimates`) are never resampled.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr, ndtri

from trueodds.basics.progress import Progress
from trueodds.basics.warned import ignored_warnings
from trueodds.exceptions import InputError, UndefinedReplicatesWarning, warn_user
from trueodds.inputs import (
    Floats,
    Labels,
    Weights,
    as_seed,
    check_choice,
    check_integer,
    check_jobs,
)
from trueodds.metrics._sample import Forecasts
from trueodds.numerics.reliability_bins import ratio_or_zero

__all__ = [
    "MOST_DRAWN",
    "Statistic",
    "Units",
    "bootstrap_ends",
    "bootstrap_p_value",
    "defined",
    "drawn_cells",
    "effective_rows",
    "replicate",
]

Statistic = Callable[[Weights | None], float]
"""A metric of everything but the weights."""

PER_SEED = 16
"""Replicates that share a seed, so that results do not depend on n_jobs."""
JACKKNIFE_BLOCKS = 100
MOST_DRAWN_SINGLY = 2**20
"""Of more rows, only the number of those that are alike is drawn."""


@dataclass(frozen=True, eq=False)
class Units:
    """What is resampled: rows, of which equal ones are counted, or whole clusters of rows.

    Parameters
    ----------
    importance : ndarray of shape (n,) or None
    sizes : ndarray of shape (n,)
        How often each row occurred.
    cluster : ndarray of shape (n,) or None
        The cluster of each row, if clusters are drawn.
    n_units : int
        Rows with their repetitions, or clusters.
    """

    importance: Floats | None
    sizes: Floats
    cluster: Labels | None
    n_units: int

    def weights(self, drawn: npt.NDArray[Any]) -> Weights:
        """The rows' weights if each row, or cluster, occurs so often."""
        drawn = drawn.astype(np.float64)
        return Weights(
            self.importance, drawn if self.cluster is None else self.sizes * drawn[self.cluster]
        )

    def bootstrap(self, rng: np.random.Generator) -> Weights:
        """Weights of one bootstrap sample: as many units as there are, drawn with replacement."""
        if (
            self.cluster is None
            and self.n_units > MOST_DRAWN_SINGLY
            and self.n_units > len(self.sizes)
        ):
            return self.weights(rng.multinomial(self.n_units, self.sizes / self.sizes.sum()))
        drawn = rng.integers(0, self.n_units, self.n_units)
        if self.cluster is not None or self.n_units == len(self.sizes):
            return self.weights(np.bincount(drawn, minlength=self.n_units))
        drawn = np.searchsorted(np.cumsum(self.sizes), drawn, side="right")
        return self.weights(np.bincount(drawn, minlength=len(self.sizes)))

    def jackknife(self, rng: np.random.Generator) -> Iterator[Weights]:
        """Weights without one unit, or without one of 100 random blocks of units.

        Acceleration is a skewness divided by a root of the number of units, and so is that of
        sums over blocks: leaving out blocks estimates the same number.
        """
        blocks = min(self.n_units, JACKKNIFE_BLOCKS)
        if self.cluster is not None or self.n_units == len(self.sizes):
            block_of = rng.permutation(self.n_units) % blocks
            for block in range(blocks):
                yield self.weights(block_of != block)
            return
        if self.n_units <= MOST_DRAWN_SINGLY:
            row = np.searchsorted(np.cumsum(self.sizes), np.arange(self.n_units), side="right")
            place = row * blocks + rng.permutation(self.n_units) % blocks
            left_out = np.bincount(place, minlength=len(self.sizes) * blocks).reshape(-1, blocks)
        else:
            left_out = rng.multinomial(self.sizes.astype(np.int64), np.full(blocks, 1 / blocks))
        for column in left_out.T:
            yield self.weights(self.sizes - column)

    @classmethod
    def of(cls, sample: Forecasts, cluster: Labels | None = None) -> Units:
        """The rows of a sample, or its clusters, coded from 0."""
        importance = None if sample.weight is None else sample.weight.importance
        sizes = np.ones(len(sample)) if sample.weight is None else sample.weight.row_counts
        n_units = sample.n_rows if cluster is None else int(cluster.max()) + 1
        if n_units < 2:
            raise InputError(f"resampling needs at least 2 rows (or clusters); got {n_units}.")
        return cls(importance, sizes, cluster, n_units)


MOST_DRAWN = 2.0**62
"""Rows of a bootstrap sample, as a 64-bit integer holds them."""


def drawn_cells(weight: Floats, squares: Floats, size: int, rng: np.random.Generator) -> Floats:
    """Weights of cells of equal rows in ``size`` bootstrap samples of the rows.

    Rows of one cell are alike, so drawing their number is drawing them.
    """
    rows = effective_rows(weight, squares)
    total = int(np.clip(np.rint(rows.sum()), 1, MOST_DRAWN))
    worth = ratio_or_zero(weight, rows) * (rows.sum() / total)
    return np.asarray(rng.multinomial(total, rows / rows.sum(), size) * worth)


def effective_rows(weight: Floats, squares: Floats) -> Floats:
    """The rows that the importances of each cell are worth, (Σw)²/Σw²; counts are unchanged.

    They are rounded to 2⁻³⁰: a common factor of the importances changes later bits, and a draw may
    depend on these.
    """
    return np.ldexp(np.rint(np.ldexp(weight * ratio_or_zero(weight, squares), 30)), -30)


def replicate(
    statistic: Statistic,
    units: Units,
    *,
    n_resamples: int,
    method: str,
    random_state: Any,
    n_jobs: int | None,
    progress: bool | None,
) -> tuple[Floats, Floats]:
    """Bootstrap replicates, and jackknife values if ``method`` is "bca" (else none)."""
    n_resamples = check_integer(n_resamples, "n_resamples", 20)
    check_jobs(n_jobs)
    check_choice(method, ("bca", "percentile", "centered"), "method")
    seeds = np.random.SeedSequence(as_seed(random_state)).spawn(1 + -(-n_resamples // PER_SEED))
    sizes = [PER_SEED] * (n_resamples // PER_SEED) + [n_resamples % PER_SEED]

    def values_of(weights: Iterable[Weights]) -> list[float]:
        # A replicate without positives makes some metrics undefined; NaN is enough to say so.
        with ignored_warnings():
            return [float(statistic(weight)) for weight in weights]

    def some(seed: np.random.SeedSequence, size: int) -> list[float]:
        rng = np.random.default_rng(seed)
        values = values_of(units.bootstrap(rng) for _ in range(size))
        bar.step(size)
        return values

    with Progress(n_resamples, "bootstrap", progress) as bar:
        if n_jobs in (None, 1):
            parts = [some(*work) for work in zip(seeds[1:], sizes, strict=False)]
        else:
            from joblib import Parallel, delayed

            # Threads: NumPy releases the lock, and nothing is copied.
            parts = Parallel(n_jobs=n_jobs, prefer="threads")(
                delayed(some)(*work) for work in zip(seeds[1:], sizes, strict=False)
            )
        jackknife: list[float] = []
        if method == "bca":
            rng = np.random.default_rng(seeds[0])
            jackknife = values_of(units.jackknife(rng))
    return np.array([v for part in parts for v in part]), np.array(jackknife)


TIE_TOLERANCE = 1e-12
"""Replicates that differ by less from the estimate are equal to it; sums are rounded."""


def defined(values: Floats) -> Floats:
    kept = values[np.isfinite(values)]
    lost = len(values) - len(kept)
    if lost > len(values) // 2:
        raise InputError(f"the metric has no finite value in {lost} of {len(values)} resamples.")
    if lost:
        warn_user(
            f"the metric has no finite value in {lost} of {len(values)} resamples; they are left "
            "out, so the interval may be too narrow.",
            UndefinedReplicatesWarning,
        )
    return kept


def bootstrap_ends(
    estimate: float, values: Floats, jackknife: Floats, level: float, method: str
) -> tuple[float, float]:
    if method == "centered":
        return _ends(values - values.mean() + estimate, level, 0.0, 0.0)
    low, high = _ends(values, level, *_correction(estimate, values, jackknife))
    if method != "bca":
        return low, high
    # Resamples of a maximum may all be larger than it: the correction then leads beyond them.
    return min(low, estimate), max(high, estimate)


def _correction(estimate: float, values: Floats, jackknife: Floats) -> tuple[float, float]:
    """Efron's bias correction z₀ and acceleration a; both 0 without jackknife values."""
    jackknife = jackknife[np.isfinite(jackknife)]
    if len(jackknife) == 0:
        return 0.0, 0.0
    count = len(values)
    tied = np.abs(values - estimate) <= TIE_TOLERANCE * max(1.0, abs(estimate))
    below = ((values < estimate)[~tied].sum() + tied.sum() / 2) / count
    z0 = float(ndtri(np.clip(below, 0.5 / count, 1 - 0.5 / count)))
    influence = jackknife.mean() - jackknife
    square = float((influence**2).sum())
    if square == 0:
        return z0, 0.0
    return z0, float((influence**3).sum() / (6 * square**1.5))


def _ends(values: Floats, level: float, z0: float, a: float) -> tuple[float, float]:
    z = ndtri(np.array([(1 - level) / 2, (1 + level) / 2])) + z0
    shares = ndtr(z0 + z / (1 - a * z))
    low, high = np.quantile(values, shares)
    return float(low), float(high)


def _p_value(values: Floats, z0: float, a: float) -> float:
    """The level at which an end of the interval reaches 0."""
    count = len(values)
    below = ((values < 0).sum() + (values == 0).sum() / 2 + 0.5) / (count + 1)
    # The inverse of the share that _ends computes.
    z = float(ndtri(below)) - z0
    z = z / (1 + a * z) - z0
    return float(np.clip(2 * min(ndtr(z), ndtr(-z)), 1 / (count + 1), 1.0))


def bootstrap_p_value(estimate: float, values: Floats, jackknife: Floats, method: str) -> float:
    """The smallest 1 − level whose interval leaves 0 out."""
    if method == "centered":
        return _p_value(values - values.mean() + estimate, 0.0, 0.0)
    return _p_value(values, *_correction(estimate, values, jackknife))
