"""How often the monitor's confidence sequences and its date of a change are wrong, at any look.

    python benchmarks/coverage/monitor_coverage.py --streams 400

Streams have 8,000 rows, whose log-odds are shifted by 0.5 after row 4,000. Every 250 rows, the
intervals for all rows, and for those since the detected change, are compared with the true values.
A stream counts as missed if one of them was wrong at any look. The last two lines show, for the
last look, whether the interval of the change contains row 4,001.
"""

from __future__ import annotations

import argparse

import numpy as np

from trueodds import CalibrationMonitor

ROWS, CHANGE, EVERY, SHIFT, ALPHA = 8_000, 4_000, 250, 0.5, 0.05


def one(seed: int) -> tuple[dict[str, bool], bool, int]:
    rng = np.random.default_rng(seed)
    z = rng.normal(-1.0, 1.5, ROWS)
    truth = 1 / (1 + np.exp(-np.where(np.arange(ROWS) < CHANGE, z, z + SHIFT)))
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(ROWS) < truth).astype(np.intp)
    monitor = CalibrationMonitor(alpha=ALPHA)
    wrong = {"O:E": False, "intercept": False, "slope": False}
    for end in range(EVERY, ROWS + 1, EVERY):
        monitor.update(p[end - EVERY : end], y[end - EVERY : end])
        firsts = {1} if monitor.change_point is None else {1, monitor.change_point.row}
        for first in firsts:
            off = monitor.miscalibration(first)
            part = slice(off.first_row - 1, end)
            ratio = truth[part].sum() / p[part].sum()
            wrong["O:E"] |= not off.ratio_low <= ratio <= off.ratio_high
            # A single shift is the truth only on one side of the change.
            if end <= CHANGE or off.first_row > CHANGE:
                shift = SHIFT if off.first_row > CHANGE else 0.0
                wrong["intercept"] |= not off.intercept_low <= shift <= off.intercept_high
                wrong["slope"] |= not off.slope_low <= 1.0 <= off.slope_high
    change = monitor.change_point
    dated = change is not None and change.low <= CHANGE + 1 <= change.high
    return wrong, dated, 0 if change is None else change.high - change.low + 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", type=int, default=400)
    n = parser.parse_args().streams
    found = [one(seed) for seed in range(n)]
    print(f"{n} streams; wrong at any of {ROWS // EVERY} looks (at most {ALPHA} is guaranteed):")
    for name in found[0][0]:
        print(f"  {name:10} {np.mean([wrong[name] for wrong, _, _ in found]):.4f}")
    print(
        f"interval of the change holds row {CHANGE + 1:,}: {np.mean([d for _, d, _ in found]):.3f}"
    )
    print(f"its median length: {np.median([length for _, _, length in found]):.0f} rows")


if __name__ == "__main__":
    main()
