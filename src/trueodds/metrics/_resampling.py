"""Bootstrap replicates of any metric, by weights instead of copies of rows."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.progress import Progress
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    Labels,
    as_dense,
    as_floats,
    as_seed,
    check_choice,
    check_integer,
    check_jobs,
    encode_groups,
)
from trueodds.metrics._sample import Forecasts, read_sample

__all__ = [
    "Metric",
    "RowStatistic",
    "Statistic",
    "Units",
    "class_options",
    "read_units",
    "replicate",
    "takes_weights",
]

Metric = Callable[..., float]
Statistic = Callable[[Floats | None], float]
"""A metric of everything but the weights."""

PER_SEED = 16
"""Replicates that share a seed, so that results do not depend on n_jobs."""
JACKKNIFE_BLOCKS = 100


@dataclass(frozen=True, eq=False)
class Units:
    """What is resampled: rows, or whole groups of rows."""

    n_rows: int
    weight: Floats | None
    group: Labels | None
    n_units: int

    def weights(self, counts: npt.NDArray[Any]) -> Floats:
        """Row weights in which unit i stands ``counts[i]`` times."""
        row_counts = counts if self.group is None else counts[self.group]
        if self.weight is None:
            return row_counts.astype(np.float64)
        return np.asarray(self.weight * row_counts)

    def bootstrap(self, rng: np.random.Generator) -> Floats:
        """Weights of one bootstrap sample: as many units as there are, drawn with replacement."""
        drawn = rng.integers(0, self.n_units, self.n_units)
        return self.weights(np.bincount(drawn, minlength=self.n_units))

    def jackknife(self, rng: np.random.Generator) -> Iterator[Floats]:
        """Weights without one unit, or without one of 100 random blocks of units.

        Acceleration is a skewness divided by a root of the number of units, and so is that of
        sums over blocks: leaving out blocks estimates the same number.
        """
        blocks = min(self.n_units, JACKKNIFE_BLOCKS)
        block_of = rng.permutation(self.n_units) % blocks
        for block in range(blocks):
            yield self.weights((block_of != block).astype(np.float64))


def read_units(
    y_true: Any, y_prob: Any, sample_weight: Any, groups: Any, classes: Any
) -> tuple[Forecasts, Units]:
    """Validate everything once, before anything is resampled."""
    sample = read_sample(y_true, y_prob, sample_weight, classes)
    group: Labels | None = None
    n_units = len(sample)
    if groups is not None:
        codes, _ = encode_groups(groups, len(as_dense(y_prob, "y_prob")))
        if sample_weight is not None:
            codes = codes[as_floats(sample_weight, "sample_weight") > 0]
        found, group = np.unique(codes, return_inverse=True)
        n_units = len(found)
    if n_units < 2:
        raise InputError(f"resampling needs at least 2 rows (or groups); got {n_units}.")
    return sample, Units(len(sample), sample.weight, group, n_units)


def class_options(metric: Metric, n_classes: int) -> dict[str, Any]:
    """``classes=`` for metrics that know it, since a resample may lack a class."""
    try:
        known = "classes" in inspect.signature(metric).parameters
    except (TypeError, ValueError):  # some built-in callables have no signature
        known = False
    return {"classes": np.arange(n_classes)} if known else {}


def takes_weights(metric: Metric) -> bool:
    """Whether a function has an argument ``sample_weight``, or takes any by name."""
    try:
        parameters = inspect.signature(metric).parameters.values()
    except (TypeError, ValueError):  # some built-in callables have no signature
        return False
    return any(p.name == "sample_weight" or p.kind is p.VAR_KEYWORD for p in parameters)


@dataclass(frozen=True, eq=False)
class RowStatistic:
    """A metric without weights: rows are left out or repeated instead."""

    metric: Metric
    sample: Forecasts
    options: dict[str, Any]

    def __post_init__(self) -> None:
        if self.sample.weight is not None:
            name = getattr(self.metric, "__name__", type(self.metric).__name__)
            raise InputError(
                f"{name} has no argument sample_weight, so it cannot be given the weights; leave "
                "sample_weight out, or let the function take it."
            )

    def __call__(self, weight: Floats | None) -> float:
        """The metric of all rows; or of a resample, NaN where it raises an error."""
        codes, prob = self.sample.codes, self.sample.prob
        if weight is None:
            return self.metric(codes, prob, **self.options)
        rows = np.repeat(np.arange(len(codes)), weight.astype(np.intp))
        try:
            return float(self.metric(codes[rows], prob[rows], **self.options))
        except Exception:  # it was fine with all rows: this resample is to blame, not the caller
            return float("nan")


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
    check_choice(method, ("bca", "percentile", "centred"), "method")
    seeds = np.random.SeedSequence(as_seed(random_state)).spawn(1 + -(-n_resamples // PER_SEED))
    sizes = [PER_SEED] * (n_resamples // PER_SEED) + [n_resamples % PER_SEED]

    def some(seed: np.random.SeedSequence, size: int) -> list[float]:
        rng = np.random.default_rng(seed)
        values = [float(statistic(units.bootstrap(rng))) for _ in range(size)]
        bar.step(size)
        return values

    with Progress(n_resamples, "bootstrap", progress) as bar, warnings.catch_warnings():
        # A replicate without positives makes some metrics undefined; NaN is enough to say so.
        warnings.simplefilter("ignore")
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
            jackknife = [float(statistic(weight)) for weight in units.jackknife(rng)]
    return np.array([v for part in parts for v in part]), np.array(jackknife)
