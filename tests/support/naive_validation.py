"""Slow, obvious twins of what validates prediction models: loess, splines, DeLong, net benefit."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

Floats = npt.NDArray[np.float64]


def loess(
    x: Floats, y: Floats, at: Floats, span: float = 0.75, *, powers: tuple[int, int] = (2, 1)
) -> Floats:
    """One weighted least-squares parabola for each place, over the nearest rows.

    A row at u bandwidths counts (1 − uᵃ)ᵇ: (2, 1) is Epanechnikov's kernel, (3, 3) the tricube.
    """
    found = []
    count = int(np.floor(span * len(x) + 1e-5))
    for place in at:
        distance = np.abs(x - place)
        width = np.sort(distance)[count - 1]
        weight = np.clip(1 - (distance / width) ** powers[0], 0, None) ** powers[1]
        root = np.sqrt(weight)
        design = np.vander(x - place, 3, increasing=True)
        coef = np.linalg.lstsq(design * root[:, None], y * root, rcond=None)[0]
        found.append(float(coef[0]))
    return np.array(found)


def harrell_basis(x: Floats, knots: Floats) -> Floats:
    """Truncated powers: 1, x, and one column for each knot but the last two."""
    k = len(knots)
    norm = (knots[-1] - knots[0]) ** 2

    def cube(v: Floats) -> Floats:
        return np.asarray(np.clip(v, 0, None) ** 3)

    columns = [np.ones(len(x)), x]
    last, before = knots[-1], knots[-2]
    columns += [
        (
            cube(x - knots[j])
            - cube(x - before) * (last - knots[j]) / (last - before)
            + cube(x - last) * (before - knots[j]) / (last - before)
        )
        / norm
        for j in range(k - 2)
    ]
    return np.stack(columns, axis=1)


def spline_curve(p: Floats, y: Floats, shares: tuple[float, ...]) -> Floats:
    """Logistic regression on Harrell's basis of the log-odds, by a general optimizer."""
    z = np.log(p / (1 - p))
    design = harrell_basis(z, np.quantile(z, shares))
    size = np.abs(design).max(axis=0)

    def loss(coef: Floats) -> tuple[float, Floats]:
        eta = design / size @ coef
        value = float(np.logaddexp(0, eta).sum() - y @ eta)
        return value, (design / size).T @ (1 / (1 + np.exp(-eta)) - y)

    start = np.zeros(design.shape[1])
    best = minimize(loss, start, jac=True, method="BFGS", options={"gtol": 1e-8, "maxiter": 2000})
    return np.asarray(1 / (1 + np.exp(-design / size @ best.x)))


def delong(p: Floats, y: Floats) -> tuple[float, float]:
    """The C statistic and its variance, by all pairs."""
    pos, neg = p[y == 1], p[y == 0]
    wins = (pos[:, None] > neg) + 0.5 * (pos[:, None] == neg)
    by_pos, by_neg = wins.mean(axis=1), wins.mean(axis=0)
    variance = by_pos.var(ddof=1) / len(pos) + by_neg.var(ddof=1) / len(neg)
    return float(wins.mean()), float(variance)


def net_benefit(p: Floats, y: Floats, threshold: float) -> float:
    """Count, row by row."""
    hits = sum(1 for a, b in zip(p, y, strict=True) if a >= threshold and b == 1)
    alarms = sum(1 for a, b in zip(p, y, strict=True) if a >= threshold and b == 0)
    return hits / len(p) - alarms / len(p) * threshold / (1 - threshold)
