"""Other online calibrators: Gupta and Ramdas (2023), streamcal, and refits of our default.

The paper is "Online Platt scaling with calibeating", ICML 2023. OPS and beta scaling (OBS) are
online Newton steps. TOPS and TOBS replace their forecast by the mean label of earlier forecasts in
the same of ten bins. HOPS hedges in each bin by Foster's (1999) randomized calibration. Settings
are γ = 0.1, ε = 0.1, and a diameter of 1 (OPS) or 2 (OBS). With a delay of D, labels come in blocks
of D rows.

streamcal (Python 3.12 and later, in the dependency group ``bench``) learns blocks of 100 rows: each
update is an isotonic fit.
"""

from __future__ import annotations

import math
import warnings

import numpy as np

from trueodds import AutoCalibrator

__all__ = ["batch", "hedged", "newton_steps", "refitted", "streaming_isotonic", "tracked"]

TINY = 1e-6
BINS = 10


def newton_steps(s, y, delay=0, *, beta=False, gamma=0.1):
    """OPS, or OBS with ``beta``: online Newton steps of the log-loss (Algorithm 1).

    The projection of the steps is left out, as it never acts on these streams.
    """
    columns = [np.log(s), -np.log1p(-s)] if beta else [np.log(s / (1 - s))]
    x = np.column_stack([*columns, np.ones(len(s))])
    n, diameter = x.shape[1], 2.0 if beta else 1.0
    theta, inverse = np.append(np.ones(n - 1), 0.0), (gamma * diameter) ** 2 * np.eye(n)
    p, learned, block = np.empty(len(s)), 0, max(delay, 1)
    for t in range(len(s)):
        p[t] = _sigmoid(float(theta @ x[t]))
        if (t + 1) % block:
            continue
        for i in range(learned, t + 1):
            gradient = (_sigmoid(float(theta @ x[i])) - y[i]) * x[i]
            step = inverse @ gradient
            inverse = inverse - np.outer(step, step) / (1.0 + gradient @ step)
            theta = theta - inverse @ gradient / gamma
        learned = t + 1
    return np.clip(p, TINY, 1 - TINY)


def _sigmoid(v):
    return 1.0 / (1.0 + math.exp(-v)) if v > -700 else 0.0


def tracked(p, y, delay=0):
    """TOPS and TOBS: the mean label of earlier rows in the bin of the forecast (section 3.1).

    The middle of the bin counts as one row, so that the log-loss of the second row is finite.
    """
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    total, count = np.zeros(BINS), np.zeros(BINS)
    out, learned, block = np.empty(len(p)), 0, max(delay, 1)
    for t in range(len(p)):
        b = bins[t]
        out[t] = (total[b] + (b + 0.5) / BINS) / (count[b] + 1.0)
        if (t + 1) % block == 0:
            np.add.at(total, bins[learned : t + 1], y[learned : t + 1])
            np.add.at(count, bins[learned : t + 1], 1.0)
            learned = t + 1
    return np.clip(out, TINY, 1 - TINY)


def hedged(p, y, delay=0, seed=0):
    """HOPS: Foster's randomized forecasts, separately in each bin of OPS (section 3.2)."""
    rng = np.random.default_rng(seed)
    bins = np.minimum((p * BINS).astype(int), BINS - 1)
    middle = (np.arange(BINS) + 0.5) / BINS
    left, right = np.arange(BINS) / BINS, (np.arange(BINS) + 1) / BINS
    total, count = np.zeros((BINS, BINS)), np.zeros((BINS, BINS))
    out, said, learned, block = np.empty(len(p)), np.empty(len(p), int), 0, max(delay, 1)
    for t in range(len(p)):
        b = bins[t]
        mean = np.where(count[b] > 0, total[b] / np.maximum(count[b], 1), middle)
        below, above = left - mean, mean - right  # too few positives, too many
        good = np.flatnonzero((below <= 0) & (above <= 0))
        if len(good):
            k = int(good[0])
        else:
            k = next(i for i in range(BINS - 1) if above[i] > 0 and below[i + 1] > 0)
            k += int(rng.random() < above[k] / (above[k] + below[k + 1]))
        said[t], out[t] = k, middle[k]
        if (t + 1) % block == 0:
            new = slice(learned, t + 1)
            np.add.at(total, (bins[new], said[new]), y[new])
            np.add.at(count, (bins[new], said[new]), 1.0)
            learned = t + 1
    return out


def refitted(s, y, delay=0, *, every=500, last=None):
    """Our default, fitted anew every 500 rows to all rows, or to the last ones."""
    out, step = s.copy(), max(every, delay)
    for begin in range(step, len(s), step):
        rows = slice(0 if last is None else max(0, begin - last), begin)
        if len(set(y[rows].tolist())) == 2:
            out[begin : begin + step] = _fit(s[rows], y[rows])(s[begin : begin + step])
    return np.clip(out, TINY, 1 - TINY)


def streaming_isotonic(s, y, delay=0, *, decay=1.0):
    """streamcal's isotonic fit of 100 bins, which keeps ``decay`` of the past each block."""
    from streamcal import StreamingIsotonicCalibrator

    calibrator, block = StreamingIsotonicCalibrator(decay=decay), max(100, delay)
    out = np.empty(len(s))
    for begin in range(0, len(s), block):
        rows = slice(begin, begin + block)
        out[rows] = calibrator.calibrate(s[rows])
        calibrator.update(s[rows], y[rows])
    return np.clip(out, TINY, 1 - TINY)


def batch(s, y, first):
    """Our default, fitted once to the first rows."""
    return np.clip(_fit(s[:first], y[:first])(s), TINY, 1 - TINY)


def _fit(s, y):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return AutoCalibrator().fit(s, y).map_
