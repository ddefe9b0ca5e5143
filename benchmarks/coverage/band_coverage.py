"""The guaranteed calibration band: how often it holds the whole curve, how wide it is, how fast.

    python benchmarks/coverage/band_coverage.py [--replicates 300] [--parts coverage widths]

*coverage*: share of samples in which no point of the true curve is outside the 90% band. The curves
are those of the paper's simulations (Dimitriadis, Dümbgen, Henzi, Puke and Ziegel 2023, section 5;
all increase) and one with 1% positives. *widths*: mean width of the 95% band next to that of the
same bounds with rounding to three digits, as the authors' R package calibrationband does in their
simulations (``method="round", digits=3``, computed here). *falls*: how often bounds cross, so that
a curve that decreases is detected, next to the published Table 1 (95%, "wave" curves). *speed*: a
million rows.

About five minutes of CPU time.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

from trueodds.metrics import calibration_band
from trueodds.numerics.monotone_band import lower_bounds, upper_bounds

ROWS = (512, 4096, 32768)
GRID = np.linspace(0, 1, 4001)


def calibrated(x):
    return x


def monomial(x):
    return x**0.5


def s_shaped(x):
    with np.errstate(divide="ignore"):
        return 1 / (1 + ((1 - x) / x) ** 1.8)


def kink(x):
    return np.interp(x, [0, 0.6, 1], [0, 0.2, 1])


def step(x):
    return np.minimum(1 / 14 + np.floor(7 * x) / 7, 13 / 14)


def rare(x):
    """Probabilities of about one in a hundred; these are drawn squared."""
    return 0.8 * x**1.2


def wave(s):
    a = 2 * s - 1
    return lambda x: 0.5 - a * (x - 0.5) + 4 * (a + 1) * (x - 0.5) ** 3


TRUTHS = (calibrated, monomial, s_shaped, kink, step, rare)
PUBLISHED = {
    0.8: {1024: 0.00, 2048: 0.01, 4096: 0.08, 8192: 0.71},
    0.9: {1024: 0.01, 2048: 0.13, 4096: 0.85, 8192: 1.00},
    1.0: {1024: 0.14, 2048: 0.81, 4096: 1.00, 8192: 1.00},
}


def sample(truth, rows, seed):
    rng = np.random.default_rng([seed, rows])
    x = rng.beta(0.8, 60, rows) if truth is rare else rng.random(rows)
    return x, rng.random(rows) < truth(x)


def coverage(replicates):
    print(f"share of {replicates} samples whose 90% band contains the whole curve; mean width")
    for truth in TRUTHS:
        for rows in ROWS:
            held, width = 0, []
            for seed in range(replicates):
                x, y = sample(truth, rows, seed)
                band = calibration_band(y, x)
                at = np.concatenate([GRID, x])
                low, high = band.interval(at)
                p = truth(at)
                held += bool(((low <= p) & (p <= high)).all())
                width.append((high - low)[len(GRID) :].mean())  # at the scores of the sample
            print(
                f"  {truth.__name__:12} {rows:6} rows  {100 * held / replicates:6.1f}%"
                f"   width {np.mean(width):.4f}",
                flush=True,
            )


def rounded_width(x, y, level):
    """Mean width over [0, 1] with cells of three digits, of equal first digits for either side."""
    order = np.argsort(x)
    x, y = x[order], y[order].astype(float)
    ends = []
    for rounded, bounds in ((np.ceil(x * 1000), lower_bounds), (np.floor(x * 1000), upper_bounds)):
        begin = np.flatnonzero(np.concatenate([[True], rounded[1:] > rounded[:-1]]))
        stop = np.concatenate([begin[1:], [len(x)]]) - 1
        n = np.diff(np.concatenate([begin, [len(x)]])).astype(float)
        found = bounds(np.add.reduceat(y, begin), n, level)
        if bounds is lower_bounds:
            values = np.concatenate([[0.0], found])
            ends.append(values[np.searchsorted(x[stop], GRID, side="right")])
        else:
            values = np.concatenate([found, [1.0]])
            ends.append(values[np.searchsorted(x[begin], GRID, side="left")])
    return float((ends[1] - ends[0]).mean())


def widths(replicates):
    print("mean width over [0, 1] at 95%: ours, and with rounding to three digits")
    for truth in (calibrated, s_shaped, step):
        for rows in ROWS:
            ours, theirs = [], []
            for seed in range(min(replicates, 5)):
                x, y = sample(truth, rows, seed)
                low, high = calibration_band(y, x, level=0.95).interval(GRID)
                ours.append(float((high - low).mean()))
                theirs.append(rounded_width(x, y, 0.95))
            print(
                f"  {truth.__name__:12} {rows:6} rows  {np.mean(ours):.4f}  {np.mean(theirs):.4f}",
                flush=True,
            )


def falls(replicates):
    print("curves that decrease, detected at 95%: ours, and published (Table 1)")
    for s, known in PUBLISHED.items():
        for rows, published in known.items():
            found = 0
            for seed in range(min(replicates, 200)):
                x, y = sample(wave(s), rows, seed)
                found += calibration_band(y, x, level=0.95).is_nonmonotone
            share = found / min(replicates, 200)
            print(f"  s = {s}  {rows:5} rows   {share:.2f}   {published:.2f}", flush=True)


def speed(_):
    rng = np.random.default_rng(0)
    x = rng.random(1_000_000)
    y = rng.random(1_000_000) < x
    start = time.process_time()
    band = calibration_band(y, x)
    print(
        f"1,000,000 rows: {time.process_time() - start:.2f} CPU s; accepted up to "
        f"{band.max_error(0.05, 0.95):.3f} from 0.05 to 0.95"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--replicates", type=int, default=300)
    parts = {"coverage": coverage, "widths": widths, "falls": falls, "speed": speed}
    parser.add_argument("--parts", nargs="+", choices=list(parts), default=list(parts))
    options = parser.parse_args()
    for part in options.parts:
        parts[part](options.replicates)


if __name__ == "__main__":
    main()
