"""How soon a change is noticed: CalibrationMonitor, river's detectors, and tests of fixed size.

    python benchmarks/coverage/monitor_delay.py --streams 1000 --river-streams 200

Streams of 10,000 rows, log-odds of the forecasts drawn from N(−1, 1.5²); at row 5,000 the true
probabilities change. Detectors of river watch |y − p| (DDM: whether |y − p| > 0.5) and have the
options that they come with. Without river (``pip install river``, or ``--river FOLDER`` with its
site-packages) its rows are left out. The oracle has the row and the kind of the change, and tests
once, with the score test of that kind on the 1,250 rows that follow, a quarter of those that the
monitor has.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from trueodds import CalibrationMonitor

ROWS, CHANGE, QUARTER = 10_000, 5_000, 1_250
ALPHA, CRITICAL = 0.05, 1.959964
CHANGES: dict[str, tuple[float, float]] = {
    "none": (0.0, 1.0),
    "intercept +0.25": (0.25, 1.0),
    "intercept +0.5": (0.5, 1.0),
    "intercept +1": (1.0, 1.0),
    "slope x0.7": (0.0, 0.7),
}


def stream(change: str, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng([seed, *change.encode()])
    z = rng.normal(-1.0, 1.5, ROWS)
    shift, slope = CHANGES[change]
    true = np.where(np.arange(ROWS) < CHANGE, z, shift + slope * z)
    y = rng.random(ROWS) < 1 / (1 + np.exp(-true))
    return z, 1 / (1 + np.exp(-z)), y.astype(np.intp)


def score_test(z: np.ndarray, p: np.ndarray, y: np.ndarray, kind: str) -> bool:
    direction = z if kind.startswith("slope") else np.ones_like(z)
    u = np.sum(direction * (y - p))
    return abs(u) > CRITICAL * np.sqrt(np.sum(direction**2 * p * (1 - p)))


def first_alarm(detector: Any, values: np.ndarray) -> int | None:
    for row, value in enumerate(values):
        detector.update(value)
        if detector.drift_detected:
            return row + 1
    return None


def of_monitor(p: np.ndarray, y: np.ndarray) -> int | None:
    return CalibrationMonitor(alpha=ALPHA).update(p, y).alarm_row


def of_repeated_test(p: np.ndarray, y: np.ndarray) -> int | None:
    """Test the mean of all rows so far at 5%, every 100 rows, which is common practice."""
    z = np.cumsum(y - p) / np.sqrt(np.cumsum(p * (1 - p)))
    found = np.flatnonzero(np.abs(z[99::100]) > CRITICAL)
    return int(100 * (found[0] + 1)) if len(found) else None


def river_detectors() -> dict[str, Callable[[np.ndarray, np.ndarray], int | None]]:
    try:
        from river import drift
        from river.drift import binary
    except ImportError:
        return {}

    def watching(make: Callable[[], Any], wrong: bool = False) -> Any:
        def run(p: np.ndarray, y: np.ndarray) -> int | None:
            error = np.abs(y - p)
            return first_alarm(make(), (error > 0.5).tolist() if wrong else error.tolist())

        return run

    return {
        "ADWIN": watching(drift.ADWIN),
        "Page-Hinkley": watching(drift.PageHinkley),
        "KSWIN": watching(lambda: drift.KSWIN(seed=0)),
        "DDM": watching(binary.DDM, wrong=True),
    }


def table(name: str, run: Any, n: int) -> list[str]:
    cells = [name]
    for change in CHANGES:
        found = [run(*stream(change, seed)[1:]) for seed in range(n)]
        if change == "none":
            cells.append(f"{np.mean([row is not None for row in found]):.3f}")
            continue
        late = [row - CHANGE for row in found if row is not None and row > CHANGE]
        early = np.mean([row is not None and row <= CHANGE for row in found])
        middle = f"{np.median(late):.0f}" if late else "-"
        cells.append(f"{len(late) / n:.3f} / {middle} / {early:.3f}")
    return cells


def against_oracle(n: int) -> None:
    print(f"\nOf {n} streams each: the oracle with {QUARTER} rows, the monitor with {4 * QUARTER}")
    print("(an alarm before the change does not count)")
    print("| change | oracle detects | monitor detects | of the oracle's | at the end, all rows |")
    print("|---|---|---|---|---|")
    for change in list(CHANGES)[1:]:
        oracle, ours, end = [], [], []
        for seed in range(n):
            z, p, y = stream(change, seed)
            part = slice(CHANGE, CHANGE + QUARTER)
            oracle.append(score_test(z[part], p[part], y[part], change))
            row = of_monitor(p, y)
            ours.append(row is not None and CHANGE < row <= CHANGE + 4 * QUARTER)
            end.append(score_test(z, p, y, change))
        both = np.mean(np.array(ours)[np.array(oracle)])
        shares = f"{np.mean(oracle):.3f} | {np.mean(ours):.3f} | {both:.3f} | {np.mean(end):.3f}"
        print(f"| {change} | {shares} |", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--streams", type=int, default=1000)
    parser.add_argument("--river-streams", type=int, default=200)
    parser.add_argument("--river", default=None, help="site-packages that has river")
    options = parser.parse_args()
    if options.river:
        sys.path.append(options.river)
    print("Share of alarms without a change; then: detected / median delay in rows / alarm before")
    print("| detector | streams | " + " | ".join(CHANGES) + " |")
    print("|---" * (len(CHANGES) + 2) + "|")
    runs = {"CalibrationMonitor": (of_monitor, options.streams)}
    runs["test of the mean every 100 rows"] = (of_repeated_test, options.streams)
    if options.river_streams:
        runs |= {name: (run, options.river_streams) for name, run in river_detectors().items()}
    for name, (run, n) in runs.items():
        cells = table(name, run, n)
        print("| " + " | ".join([cells[0], str(n), *cells[1:]]) + " |", flush=True)
    against_oracle(options.streams)


if __name__ == "__main__":
    main()
