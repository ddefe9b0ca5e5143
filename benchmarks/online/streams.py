"""Online calibration on streams: log-loss at several delays, and regret next to its bound.

``TRUEODDS_STREAMS=FOLDER python benchmarks/online/streams.py`` reads each ``NAME.npz`` there:
``s`` (scores in time order), ``y``, and ``n_val`` (rows that are learned and not judged). With a
delay of D, labels come in blocks of D rows. ``--rows N`` runs one long simulated stream instead.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import numpy as np

from trueodds import OnlineCalibrator

TINY = 1e-6


def log_loss(p, y):
    return float(-np.log(np.where(y == 1, p, 1 - p)).mean())


def ours(s, y, delay):
    online = OnlineCalibrator(max_pending=max(delay, 1))
    if not delay:
        return online.replay(s, y)[:, 1], online
    p = np.empty(len(s))
    for begin in range(0, len(s), delay):
        rows = range(begin, min(begin + delay, len(s)))
        p[rows.start : rows.stop] = online.ask(s[rows.start : rows.stop], ids=rows)[:, 1]
        online.answer(rows, y[rows.start : rows.stop])
    return p, online


def online_platt_scaling(s, y, delay, gamma=0.1, diameter=1.0):
    """OPS (Gupta and Ramdas 2023, Algorithm 1): online Newton steps of slope and intercept."""
    z = np.log(s / (1 - s))
    theta, inverse = np.array([1.0, 0.0]), (gamma * diameter) ** 2 * np.eye(2)
    p, learned = np.empty(len(s)), 0
    for t in range(len(s)):
        p[t] = 1 / (1 + np.exp(-(theta[0] * z[t] + theta[1])))
        if (t + 1) % max(delay, 1):
            continue
        for i in range(learned, t + 1):
            x = np.array([z[i], 1.0])
            gradient = (1 / (1 + np.exp(-theta @ x)) - y[i]) * x
            step = inverse @ gradient
            inverse -= np.outer(step, step) / (1 + gradient @ step)
            theta = theta - inverse @ gradient / gamma
        learned = t + 1
    return np.clip(p, TINY, 1 - TINY)


def compare(folder, delays):
    for delay in delays:
        print(f"\nlabels in blocks of {delay} rows" if delay else "\nlabels at once")
        print(f"{'stream':16} {'scores':>8} {'OPS':>8} {'ours':>8} {'regret':>8} {'bound':>8}")
        found = []
        for path in sorted(Path(folder).glob("*.npz")):
            data = np.load(path)
            s, y = np.clip(data["s"].astype(float), TINY, 1 - TINY), data["y"].astype(int)
            first = int(data["n_val"])
            if len(s) < 3 * delay:
                continue
            p, online = ours(s, y, delay)
            ops = online_platt_scaling(s, y, delay)
            row = [log_loss(q[first:], y[first:]) for q in (s, ops, p)]
            found.append(row)
            line = " ".join(f"{value:8.4f}" for value in row)
            print(f"{path.stem:16} {line} {online.regret_:8.2f} {online.bound_:8.2f}")
            if any(abs(place.residual) > place.bound for place in online.calibration_):
                print("  a residual exceeds its bound")
        print(f"{'mean':16} " + " ".join(f"{value:8.5f}" for value in np.mean(found, axis=0)))


def run_long(rows):
    """Time per row, size of the state and rounding of masses, as rows go by."""
    rng = np.random.default_rng(0)
    online = OnlineCalibrator()
    for _ in range(10):
        s = rng.random(rows // 10)
        y = (rng.random(len(s)) < s**1.5).astype(int)
        begin = time.process_time()
        online.update(s, y)
        each = (time.process_time() - begin) / len(s)
        a = online._streams[0].arrays
        stakes = online._streams[0].clock("mixture_stake") + a["trackers"].sum() + a["stakes"].sum()
        off = max(abs(stakes - 1), np.abs(a["weights"].sum(axis=1) - 1).max())
        size = len(json.dumps(online.to_dict(), separators=(",", ":")))
        print(
            f"{online.n_rows:>11,} rows: {1e6 * each:.2f} µs a row, {size:,} bytes, off {off:.1e}"
        )


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int)
    parser.add_argument("--delays", type=int, nargs="*", default=[0, 100, 1000])
    options = parser.parse_args()
    if options.rows:
        run_long(options.rows)
    else:
        compare(os.environ["TRUEODDS_STREAMS"], options.delays)
