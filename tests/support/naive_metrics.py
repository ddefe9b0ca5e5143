"""Slow, obvious twins of the metrics: plain loops over rows, no shared code."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

Values = Sequence[float]
Rows = list[tuple[float, float, float]]
"""Probability, label and weight."""


def uniform_bin(p: float, n_bins: int) -> int:
    """The last bin whose lower edge does not exceed p."""
    found = 0
    for k in range(n_bins):
        if p >= k / n_bins:
            found = k
    return found


def quantile_bins(prob: Values, weight: Values, n_bins: int) -> list[int]:
    """Bin of each row: cut the distinct values at the side nearer to each goal of mass."""
    values = sorted(set(prob))
    mass = [sum(Fraction(w) for p, w in zip(prob, weight, strict=True) if p == v) for v in values]
    total = sum(mass)
    found = set()
    for k in range(1, n_bins):
        goal = total * k / n_bins
        before = Fraction(0)
        for row, m in enumerate(mass):
            if before + m >= goal:
                found.add(row if goal - before < before + m - goal else row + 1)
                break
            before += m
    cuts = sorted(c for c in found if 0 < c < len(values))
    return [sum(values.index(p) >= c for c in cuts) for p in prob]


def equal_groups(prob: Values, hit: Values, weight: Values, n_bins: int) -> list[Rows]:
    """Rows sorted by probability and label, dealt into groups of equal count; whole weights."""
    rows = sorted((p, y) for p, y, w in zip(prob, hit, weight, strict=True) for _ in range(int(w)))
    each, left = divmod(len(rows), n_bins)
    found = []
    for k in range(n_bins):
        size = each + (k < left)
        found.append([(p, y, 1.0) for p, y in rows[:size]])
        del rows[:size]
    return [group for group in found if group]


def groups(prob: Values, hit: Values, weight: Values, n_bins: int, strategy: str) -> list[Rows]:
    """Rows (p, y, w) of each bin that is not empty."""
    rows = [r for r in zip(prob, hit, weight, strict=True) if r[2] > 0]
    if strategy == "uniform":
        bins = [uniform_bin(p, n_bins) for p, _, _ in rows]
    else:
        bins = quantile_bins([r[0] for r in rows], [r[2] for r in rows], n_bins)
    return [[r for r, b in zip(rows, bins, strict=True) if b == k] for k in sorted(set(bins))]


def gap(rows: Rows) -> float:
    total = math.fsum(w for _, _, w in rows)
    mean_p = math.fsum(w * p for p, _, w in rows) / total
    mean_y = math.fsum(w * y for _, y, w in rows) / total
    return mean_p - mean_y


def mass(rows: Rows) -> float:
    return math.fsum(w for _, _, w in rows)


def expected(
    prob: Values, hit: Values, weight: Values, n_bins: int, strategy: str, weighting: str
) -> float:
    bins = groups(prob, hit, weight, n_bins, strategy)
    if weighting != "mass":
        counted = len(bins) if weighting == "equal" else n_bins
        return math.fsum(abs(gap(b)) for b in bins) / counted
    return math.fsum(mass(b) * abs(gap(b)) for b in bins) / math.fsum(mass(b) for b in bins)


def maximum(prob: Values, hit: Values, weight: Values, n_bins: int, strategy: str) -> float:
    return max(abs(gap(b)) for b in groups(prob, hit, weight, n_bins, strategy))


def debiased_square(prob: Values, hit: Values, weight: Values, n_bins: int, strategy: str) -> float:
    top, total = [], 0.0
    for rows in groups(prob, hit, weight, n_bins, strategy):
        n = mass(rows)
        if n <= 1:
            continue
        mean = -gap(rows)
        variance = math.fsum(w * (y - p - mean) ** 2 for p, y, w in rows) / (n - 1)
        top.append(n * (mean**2 - variance / n))
        total += n
    return math.fsum(top) / total if total else 0.0


def views(
    prob_rows: Sequence[list[float]], labels: Sequence[int], weight: Values, multiclass: str
) -> list[tuple[Values, Values, Values]]:
    """Binary problems (prob, hit, weight) of a problem with several classes."""
    k = len(prob_rows[0])
    if multiclass == "top_label":
        best = [row.index(max(row)) for row in prob_rows]
        top = [row[b] for row, b in zip(prob_rows, best, strict=True)]
        return [(top, [int(b == y) for b, y in zip(best, labels, strict=True)], weight)]
    per_class: list[tuple[Values, Values, Values]] = [
        ([row[j] for row in prob_rows], [int(y == j) for y in labels], weight) for j in range(k)
    ]
    if multiclass == "classwise":
        return per_class
    prob, hit, own = ([x for view in per_class for x in view[i]] for i in range(3))
    return [(prob, hit, own)]


def log_loss(prob_rows: Sequence[Values], labels: Sequence[int], weight: Values) -> float:
    top = [
        -w * math.log(row[y]) if row[y] > 0 else math.inf
        for row, y, w in zip(prob_rows, labels, weight, strict=True)
        if w > 0
    ]
    return math.fsum(top) / math.fsum(weight)


def brier(prob_rows: Sequence[Values], labels: Sequence[int], weight: Values) -> float:
    """Sum over the classes; twice the binary convention."""
    top = [
        w * (p - (j == y)) ** 2
        for row, y, w in zip(prob_rows, labels, weight, strict=True)
        for j, p in enumerate(row)
    ]
    return math.fsum(top) / math.fsum(weight)


def accuracy(prob_rows: Sequence[list[float]], labels: Sequence[int], weight: Values) -> float:
    right = [row.index(max(row)) == y for row, y in zip(prob_rows, labels, strict=True)]
    return math.fsum(w for w, r in zip(weight, right, strict=True) if r) / math.fsum(weight)


def binary_loss(loss: str, y: float, p: float) -> float:
    if loss == "brier":
        return (p - y) ** 2
    q = p if y else 1 - p
    return -math.log(q) if q > 0 else math.inf


def mean_loss(loss: str, rows: Rows) -> float:
    """Rows are (p, y, w)."""
    rows = [r for r in rows if r[2] > 0]
    top = [w * binary_loss(loss, y, p) for p, y, w in rows]
    return math.fsum(top) / mass(rows)


def isotonic(prob: Values, hit: Values, weight: Values) -> list[float]:
    """Pool adjacent violators by repeated full scans; one value per row."""
    values = sorted({p for p, w in zip(prob, weight, strict=True) if w > 0})
    blocks: list[tuple[list[float], float, float]] = []
    for v in values:
        rows = [(y, w) for p, y, w in zip(prob, hit, weight, strict=True) if p == v]
        blocks.append(([v], math.fsum(y * w for y, w in rows), math.fsum(w for _, w in rows)))
    changed = True
    while changed:
        changed = False
        for i in range(len(blocks) - 1):
            a, b = blocks[i], blocks[i + 1]
            if a[1] / a[2] >= b[1] / b[2]:
                blocks[i : i + 2] = [(a[0] + b[0], a[1] + b[1], a[2] + b[2])]
                changed = True
                break
    value_of = {v: top / total for members, top, total in blocks for v in members}
    return [value_of.get(p, 0.0) for p in prob]


def corp(loss: str, prob: Values, hit: Values, weight: Values) -> tuple[float, float, float, float]:
    recalibrated = isotonic(prob, hit, weight)
    base = math.fsum(w * y for y, w in zip(hit, weight, strict=True)) / math.fsum(weight)
    score = mean_loss(loss, list(zip(prob, hit, weight, strict=True)))
    after = mean_loss(loss, list(zip(recalibrated, hit, weight, strict=True)))
    uncertainty = mean_loss(loss, [(base, y, w) for y, w in zip(hit, weight, strict=True)])
    return score, score - after, uncertainty - after, uncertainty


def refinement(loss: str, prob: Values, hit: Values, weight: Values) -> tuple[float, float]:
    """Score and refinement loss over distinct values."""
    rate = {}
    for v in set(prob):
        rows = [(y, w) for p, y, w in zip(prob, hit, weight, strict=True) if p == v]
        total = math.fsum(w for _, w in rows)
        rate[v] = math.fsum(y * w for y, w in rows) / total if total else 0.0
    score = mean_loss(loss, list(zip(prob, hit, weight, strict=True)))
    own = [rate[p] for p in prob]
    return score, mean_loss(loss, list(zip(own, hit, weight, strict=True)))


def end(
    prob: Values, hit: Values, weight: Values, fraction: float, from_top: bool
) -> tuple[float, float]:
    """Mean probability and frequency at one end, taking tied rows in equal shares."""
    goal = fraction * math.fsum(weight)
    top_p, top_y, taken = 0.0, 0.0, 0.0
    for v in sorted(set(prob), reverse=from_top):
        rows = [(y, w) for p, y, w in zip(prob, hit, weight, strict=True) if p == v]
        total = math.fsum(w for _, w in rows)
        if total == 0:
            continue
        share = min(1.0, max(0.0, (goal - taken) / total))
        top_p += share * total * v
        top_y += share * math.fsum(y * w for y, w in rows)
        taken += share * total
    return top_p / taken, top_y / taken


def smooth_error(
    prob: Values, hit: Values, weight: Values, sigma: float, cells: int, *, on_grid: bool = True
) -> float:
    """Integral of the absolute residuals smoothed by explicit reflected Gaussians."""
    total = math.fsum(weight)
    masses = []
    for p, y, w in zip(prob, hit, weight, strict=True):
        mass = w * (p - y) / total
        if not on_grid:
            masses.append((p, mass))
            continue
        left = math.floor(p * cells)
        share = p * cells - left
        masses.append((left / cells, mass * (1 - share)))
        masses.append(((left + 1) / cells, mass * share))
    x = np.arange(cells + 1) / cells
    density = np.zeros(cells + 1)
    for position, mass in masses:
        if mass == 0:
            continue
        for image in range(-4, 5):
            for sign in (1, -1):
                center = 2 * image + sign * position
                if -8.5 * sigma <= center <= 1 + 8.5 * sigma:
                    density += mass * np.exp(-0.5 * ((x - center) / sigma) ** 2)
    size = np.abs(density) / (sigma * math.sqrt(2 * math.pi))
    return float((size.sum() - (size[0] + size[-1]) / 2) / cells)


def spiegelhalter(prob: Values, hit: Values, weight: Values) -> float:
    top = math.fsum(w * (y - p) * (1 - 2 * p) for p, y, w in zip(prob, hit, weight, strict=True))
    variance = math.fsum(
        w**2 * (1 - 2 * p) ** 2 * p * (1 - p) for p, w in zip(prob, weight, strict=True)
    )
    return top / math.sqrt(variance)
