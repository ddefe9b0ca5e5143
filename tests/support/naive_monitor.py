"""A slow, obvious twin of the monitor's evidence: every start row, every bet, by itself."""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

EDGES = [0.001, 0.01, 0.05, 0.1, 0.2, 0.35, 0.5, 0.65, 0.8, 0.9, 0.95, 0.99, 0.999]
SHIFTS = [2.0**k for k in range(-6, 2)]
FACTORS = [math.exp((1 / 32) ** (1 - k / 7)) for k in range(8)]


def start_weight(row: int) -> float:
    """The share of the stake that is put on a start at this row, counted from 1."""

    def later(r: int) -> float:
        return 0.5 / (1 + math.log(1 + (r - 1) / 100))

    return 0.5 if row == 1 else later(row - 1) - later(row)


def ratio(tilt: float, p: float, y: int, tolerance: float) -> float:
    edge = min(p + tolerance, 1.0) if tilt > 1 else max(p - tolerance, 0.0)
    q = tilt * edge / (1 - edge + tilt * edge)
    return q / edge if y else (1 - q) / (1 - edge)


def product_over_starts(ratios: Floats) -> float:
    """Σ_s w_s·Π_{i≥s} ratio_i, and what is kept for later starts."""
    rows = len(ratios)
    weights = [start_weight(s) for s in range(1, rows + 1)]
    total = sum(w * float(np.prod(ratios[s:])) for s, w in enumerate(weights))
    return total + 1.0 - sum(weights)


def evidence(p: Floats, y: npt.NDArray[np.intp], tolerance: float = 0.0) -> float:
    """After the last row, without groups."""
    rows = range(len(p))
    z = np.log(p / (1 - p))
    center = [float(np.mean(z[:t])) if t else 0.0 for t in rows]
    part = [sum(edge <= value for edge in EDGES) for value in p]

    def bet(tilts: list[float]) -> float:
        found = [ratio(tilts[t], p[t], int(y[t]), tolerance) if tilts[t] != 1 else 1 for t in rows]
        return product_over_starts(np.array(found))

    shapes = parts = 0.0
    for sign in (1, -1):
        for shift in SHIFTS:
            shapes += bet([math.exp(sign * shift)] * len(p)) / 8
            for k in range(14):
                parts += bet([math.exp(sign * shift) if part[t] == k else 1.0 for t in rows]) / 8
        for factor in FACTORS:
            slope = factor**sign - 1
            shapes += bet([math.exp(max(-4, min(4, slope * (z[t] - center[t])))) for t in rows]) / 8
    return 0.95 / 4 * shapes + 0.05 / 28 * parts


def stream(
    n: int, seed: int = 0, shift: float = 0.0, slope: float = 1.0, start: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Forecasts and labels; from ``start`` on the true log-odds are ``shift + slope·z``."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 1.5, n)
    true = np.where(np.arange(n) < start, z, shift + slope * z)
    y = rng.random(n) < 1 / (1 + np.exp(-true))
    return 1 / (1 + np.exp(-z)), y.astype(np.intp)
