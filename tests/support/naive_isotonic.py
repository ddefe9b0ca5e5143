"""Slow, obvious twins of isotonic regression, the near-isotonic path, ENIR, BBQ and ABB.

Nothing that is compared is shared with the library: each function follows its definition, without
thought of speed.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy.optimize import lsq_linear
from scipy.special import betaln, xlogy

from trueodds.table import ScoreTable

Floats = npt.NDArray[np.float64]
Models = list[tuple[float | Fraction, Sequence[float | Fraction]]]
"""Of a path: λ, and the value of every row."""

FIXTURE_SETS = ("n50", "n200", "n1000", "ties1000", "imbal2000")


def read_columns(folder: Path, *parts: str) -> dict[str, Floats]:
    """The columns of a CSV file as a dictionary of arrays."""
    table = np.genfromtxt(folder.joinpath(*parts), delimiter=",", names=True)
    return {name: np.atleast_1d(table[name]) for name in table.dtype.names or ()}


def fixture_table(fixtures: Path, name: str) -> ScoreTable:
    """The rows that the authors' program was given."""
    train = read_columns(fixtures, "data", f"{name}_train.csv")
    return ScoreTable.from_arrays(train["score"], train["label"])


def min_max(n_neg: Floats, n_pos: Floats) -> list[Fraction]:
    """Isotonic regression: the highest of the lowest frequencies of runs that hold a row.

    Highest over where the run begins, lowest over where it ends.
    """
    n = len(n_pos)

    def frequency(begin: int, end: int) -> Fraction:
        positives = sum(map(Fraction, n_pos[begin:end]), Fraction(0))
        return positives / (positives + sum(map(Fraction, n_neg[begin:end]), Fraction(0)))

    return [
        max(min(frequency(a, b) for b in range(i + 1, n + 1)) for a in range(i + 1))
        for i in range(n)
    ]


def naive_path(n_pos: Floats, n_neg: Floats) -> Models:
    """Algorithm 1 of the ENIR paper in exact fractions: a list of (λ, value of every row)."""
    positives = [Fraction(value) for value in n_pos]
    weights = [Fraction(a) + Fraction(b) for a, b in zip(n_pos, n_neg, strict=True)]
    bins = [[i] for i in range(len(weights))]
    values: list[float | Fraction] = [s / w for s, w in zip(positives, weights, strict=True)]
    lam: float | Fraction = Fraction(0)
    models: Models = []
    while True:
        k = 0
        while k + 1 < len(bins):  # equal neighbors are one bin
            if values[k] == values[k + 1]:
                bins[k] += bins.pop(k + 1)
                values.pop(k + 1)
            else:
                k += 1
        models.append((lam, [values[k] for k, rows in enumerate(bins) for _ in rows]))
        nu = [False, *(values[k] > values[k + 1] for k in range(len(bins) - 1)), False]
        size = [sum(weights[i] for i in rows) for rows in bins]
        slope = [(nu[k] - nu[k + 1]) / size[k] for k in range(len(bins))]  # equation 7
        meetings = [  # equation 8
            (values[k] - values[k + 1]) / (slope[k + 1] - slope[k]) + lam
            for k in range(len(bins) - 1)
            if slope[k] != slope[k + 1]
        ]
        later = [meeting for meeting in meetings if meeting > lam]
        if not later:
            return models
        step = min(later) - lam
        values = [v + a * step for v, a in zip(values, slope, strict=True)]
        lam += step


def quadratic_program(frequency: Floats, weight: Floats, lam: float) -> Floats:
    """Equation 3 at one λ through its dual, a least-squares problem with bounds 0 ≤ θ ≤ λ."""
    n = len(weight)
    if n == 1 or lam == 0:
        return np.array(frequency)
    difference = np.eye(n - 1, n) - np.eye(n - 1, n, 1)
    root = np.sqrt(weight)
    found = lsq_linear(
        (difference / root).T, root * frequency, (0, lam), method="bvls", tol=1e-15, max_iter=10000
    )
    return np.asarray(frequency - difference.T @ found.x / weight)


def runs(values: Floats) -> list[tuple[int, int]]:
    """Index pairs of the runs of equal values."""
    cuts = [0, *(np.flatnonzero(np.diff(values)) + 1), len(values)]
    return list(itertools.pairwise(cuts))


def naive_enir(
    models: Models,
    score: Floats,
    n_pos: Floats,
    n_neg: Floats,
    *,
    criterion: str = "bic-authors",
    smoothing: bool = True,
    decimals: int | None = None,
) -> tuple[Floats, Floats]:
    """ENIR's value at every distinct score, model by model.

    ``models`` are (λ, value of every row), without λ = 0. ``decimals`` imitates the rounding of
    the authors' program.
    """
    weight = n_pos + n_neg
    total = weight.sum()
    scores, predictions = [], []
    for _, exact in models:
        values = np.array(exact, dtype=float)
        if decimals is not None:
            values = np.round(values, decimals)
        values = np.clip(values, 0, 1)
        likelihood = float(np.sum(xlogy(n_pos, values) + xlogy(n_neg, 1 - values)))
        bins = runs(values)
        k = len(bins)
        penalty = {
            "bic": k * math.log(total),
            "bic-authors": k * (math.log(total) + math.log(2 * math.pi)),
            "aic": 2 * k,
            "aicc": 2 * k * total / max(total - k - 1, 0.5),
        }
        scores.append(-2 * likelihood + penalty[criterion])
        predicted = values.copy()
        if smoothing:
            for a, b in bins:
                n = weight[a:b].sum()
                e = np.sum(score[a:b] * weight[a:b]) / n
                c = abs(n_pos[a:b].sum() / n - e)
                predicted[a:b] = (values[a] * n + e * (1 - c)) / (n + 1 - c)
        predictions.append(predicted)
    relative = np.exp((min(scores) - np.array(scores)) / 2)
    return relative @ np.array(predictions) / relative.sum(), relative / relative.sum()


def naive_bbq(score: Floats, label: Floats, n_bins: int) -> list[tuple[float, ...]]:
    """One histogram of BBQ: rows of (lower edge, upper edge, n, positives, estimate, evidence).

    Scores are probabilities, sorted; instances of one score stay in the order given.
    """
    size = len(score) // n_bins
    cuts = [*(m * size for m in range(n_bins)), len(score)]
    bins: list[list[int]] = []
    for low, high in itertools.pairwise(cuts):
        if bins and score[bins[-1][0]] == score[high - 1]:
            bins[-1][1] = high
        else:
            bins.append([low, high])
    result: list[tuple[float, ...]] = []
    for low, high in bins:
        lower = 0.0 if low == 0 else (score[low - 1] + score[low]) / 2
        upper = 1.0 if high == len(score) else (score[high - 1] + score[high]) / 2
        n, positives = high - low, label[low:high].sum()
        q = min(max((lower + upper) / 2, 0.005), 0.995)
        evidence = betaln(positives + 2 * q, n - positives + 2 * (1 - q)) - betaln(2 * q, 2 - 2 * q)
        their_scores = (score[low:high] * label[low:high]).sum()
        prior = (their_scores + (lower + upper) / 2) / (positives + 1)
        result.append((lower, upper, n, positives, (positives + prior) / (n + 1), evidence))
    return result


def naive_abb(edges: Floats, n_pos: Floats, n_neg: Floats, boundary_prior: Floats) -> Floats:
    """ABB's value on every row, by listing all binnings.

    ``edges`` are n + 1 probabilities around n rows; ``boundary_prior`` the probability that a
    bin ends between one row and the next.
    """
    rows = len(n_pos)
    total, average = 0.0, np.zeros(rows)
    for ends in itertools.product([False, True], repeat=rows - 1):
        cuts = [0, *(i + 1 for i, end in enumerate(ends) if end), rows]
        weight = math.prod(p if end else 1 - p for p, end in zip(boundary_prior, ends, strict=True))
        values = np.empty(rows)
        for a, b in itertools.pairwise(cuts):
            q = min(max((edges[a] + edges[b]) / 2, 0.005), 0.995)
            pos, neg = n_pos[a:b].sum(), n_neg[a:b].sum()
            weight *= math.exp(betaln(pos + 2 * q, neg + 2 * (1 - q)) - betaln(2 * q, 2 - 2 * q))
            values[a:b] = (pos + 2 * q) / (pos + neg + 2)
        total += weight
        average += weight * values
    return np.asarray(average / total)
