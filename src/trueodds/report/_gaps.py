"""Exact tests of whether events happen as often as their probabilities say."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import bdtr, bdtrc, ndtr, ndtri

from trueodds.numerics.binning import equal_mass_edges
from trueodds.report._evidence import Event
from trueodds.validation import Floats

__all__ = ["Gaps", "binned_gaps", "whole_gap", "wilson"]


@dataclass(frozen=True, eq=False)
class Gaps:
    """Per bin: mean probability, frequency, and the p-value of a test that they agree.

    ``low`` and ``high`` are the ends of the bins, from 0 to 1.
    """

    low: Floats
    high: Floats
    rows: Floats
    weight: Floats
    square_weight: Floats
    mean_prob: Floats
    frequency: Floats
    p_value: Floats


def binned_gaps(event: Event, n_bins: int) -> Gaps:
    """Test up to ``n_bins`` bins of equal mass; equal probabilities stay together.

    Without weights the count of events is tested against a binomial distribution with the mean
    probability of the bin. The exact distribution, of independent events with unequal
    probabilities, is the less spread one (Hoeffding, 1956), so the test is valid for any number
    of rows and errs on the safe side. With weights it is a normal test.
    """
    edges = equal_mass_edges(event.prob, event.weight, n_bins)
    index = np.searchsorted(edges, event.prob, side="right")
    size = len(edges) + 1
    weight = np.ones(len(event)) if event.weight is None else event.weight

    def sums(values: Floats) -> Floats:
        return np.bincount(index, values, size).astype(np.float64, copy=False)

    rows = sums(np.ones(len(event)))
    mass = sums(weight)
    hits = sums(weight * event.hit)
    mean = np.clip(sums(weight * event.prob) / mass, 0.0, 1.0)
    if event.weight is None:
        p_value = _binomial(hits, rows, mean)
    else:
        spread = sums(weight**2 * event.prob * (1 - event.prob))
        p_value = _normal(hits - mass * mean, spread, mass)
    return Gaps(
        np.concatenate([[0.0], edges]),
        np.concatenate([edges, [1.0]]),
        rows,
        mass,
        sums(weight**2),
        mean,
        hits / mass,
        p_value,
    )


def whole_gap(event: Event) -> Gaps:
    """All rows as one bin."""
    return binned_gaps(event, 1)


def _binomial(hits: Floats, rows: Floats, mean: Floats) -> Floats:
    below = bdtr(hits, rows.astype(np.int64), mean)
    # bdtrc(−1, …) would be 1 by definition, but is not defined there.
    above = np.where(hits > 0, bdtrc(np.maximum(hits - 1, 0), rows.astype(np.int64), mean), 1.0)
    return np.asarray(np.minimum(1.0, 2 * np.minimum(below, above)))


def _normal(excess: Floats, spread: Floats, mass: Floats) -> Floats:
    certain = spread <= (1e-12 * mass) ** 2
    z = excess / np.sqrt(np.where(certain, 1.0, spread))
    by_chance = 2 * ndtr(-np.abs(z))
    return np.asarray(np.where(certain, np.abs(excess) <= 1e-9 * mass, by_chance))


def wilson(frequency: Floats, n_rows: Floats, level: float) -> tuple[Floats, Floats]:
    """Wilson's interval of a frequency; with weights, ``n_rows`` is the effective number."""
    z = float(ndtri((1 + level) / 2))
    centre = (frequency + z**2 / (2 * n_rows)) / (1 + z**2 / n_rows)
    half = (
        z
        / (1 + z**2 / n_rows)
        * np.sqrt(frequency * (1 - frequency) / n_rows + z**2 / (4 * n_rows**2))
    )
    return np.maximum(centre - half, 0.0), np.minimum(centre + half, 1.0)
