"""Our methods with known true probabilities: excess log-loss with 100 to 1,000,000 rows.

    python benchmarks/arena/arena_truth.py [--methods auto beta] [--sizes 100 1000] [--calibrated]

For each size it prints the methods in the order of their mean excess log-loss over all true curves
(``contest/truths.py``). For each curve it prints the best single method, and whether the default is
significantly behind it. The test is a one-sided paired t-test over the repetitions at .05, divided
by the number of methods from which the best was chosen. --calibrated prints the loss of each method
on calibrated scores, 20 repetitions of 1,000 rows. Results are stored as by arena.py.
"""

# ruff: noqa: E402  (threads are limited before NumPy is loaded)
from __future__ import annotations

import argparse
import math
import os
import sys
import time
from pathlib import Path

for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

import numpy as np
from contest.methods import DEFAULT, Method, make_method, method_names, select
from contest.results import Row, append_row, patience, read_rows, silence, warm_up
from contest.truths import TRUTHS
from scipy.stats import t as student

REPETITIONS = {100: 40, 300: 40, 1000: 20, 3000: 20, 10_000: 10, 100_000: 5, 1_000_000: 3}
SIGNIFICANCE = 0.05


def one(truth: str, n: int, repetition: int, name: str, method: Method, limit: float) -> Row:
    """The excess of one method on one sample; every method gets the same sample."""
    seed = [list(TRUTHS).index(truth), n, repetition]
    p, y = TRUTHS[truth].draw(n, np.random.default_rng(seed))
    row: Row = {
        "experiment": f"{truth}/{n}/{repetition}",
        "truth": truth,
        "n": n,
        "repetition": repetition,
        "method": name,
        "excess": None,
        "seconds": None,
        "error": None,
    }
    spent = []

    def predict(scores: np.ndarray) -> np.ndarray:
        forecast = method(p, y, scores)
        spent.append(forecast.fit_seconds)
        return forecast.probabilities

    try:
        with silence(), patience(limit):
            row["excess"] = TRUTHS[truth].excess(predict)
    except Exception as error:
        row["error"] = f"{type(error).__name__}: {error}"[:300]
    row["seconds"] = spent[0] if spent else None
    return row


def run(options: argparse.Namespace) -> None:
    names = [name for name in method_names("binary") if name.startswith("trueodds/")]
    chosen = select(options.methods, method_names("binary")) if options.methods else names
    done = {(row["experiment"], row["method"]) for row in read_rows(options.output)}
    for name in chosen:
        try:
            method = make_method(name, "binary")
        except ImportError as error:
            print(f"{name} is left out: {error}", file=sys.stderr)
            continue
        warm_up(method, 2)
        slow = False
        for n in options.sizes:
            if slow:
                print(f"{name} sits out {n:,} rows: too slow", file=sys.stderr)
                continue
            start = time.process_time()
            count = 0
            for truth in TRUTHS:
                for repetition in range(REPETITIONS[n]):
                    if options.redo or (f"{truth}/{n}/{repetition}", name) not in done:
                        row = one(truth, n, repetition, name, method, options.patience)
                        append_row(options.output, row)
                        slow |= "TimeoutError" in (row["error"] or "")
                        count += 1
                    if slow:
                        break
            spent = time.process_time() - start
            # Ten times the rows take ten times as long, or more.
            slow |= count > 0 and spent / count > options.patience / 3
            print(f"{name}, {n:,} rows: {spent:.1f} CPU s", file=sys.stderr, flush=True)


def excesses(rows: list[Row], n: int) -> tuple[list[str], np.ndarray]:
    """Return methods with all samples of a size, and (curves, repetitions, methods) of excess."""
    known = {(r["experiment"], r["method"]): r["excess"] for r in rows if r["n"] == n}
    samples = [[f"{truth}/{n}/{i}" for i in range(REPETITIONS[n])] for truth in TRUTHS]
    methods = [
        method
        for method in sorted({method for _, method in known})
        if all(known.get((sample, method)) is not None for each in samples for sample in each)
    ]
    cells = [[[known[sample, m] for m in methods] for sample in each] for each in samples]
    return methods, np.array(cells, dtype=float).reshape(len(samples), REPETITIONS[n], len(methods))


def verdict(behind: np.ndarray, n_methods: int) -> tuple[float, float, bool]:
    """Mean, standard error, and whether the mean is significantly above 0."""
    error = behind.std(ddof=1) / math.sqrt(len(behind))
    if error == 0:
        return float(behind.mean()), 0.0, bool(behind.mean() > 0)
    p = student.sf(behind.mean() / error, len(behind) - 1)
    return float(behind.mean()), float(error), bool(p < SIGNIFICANCE / max(n_methods - 1, 1))


def show(options: argparse.Namespace) -> None:
    rows = read_rows(options.output)
    for n in options.sizes:
        methods, cells = excesses(rows, n)
        if not methods:
            continue
        print(f"\n{n:,} rows, {REPETITIONS[n]} repetitions of {len(TRUTHS)} true curves")
        means = cells.mean(axis=(0, 1))
        within = cells.std(axis=1, ddof=1) / math.sqrt(cells.shape[1])
        errors = np.sqrt((within**2).sum(axis=0)) / len(TRUTHS)
        for j in np.argsort(means):
            print(f"  {methods[j]:34}{means[j]:9.5f} ± {errors[j]:.5f}")
        if options.default not in methods or len(methods) == 1:
            continue
        ours = methods.index(options.default)
        others = [j for j in range(len(methods)) if j != ours]
        for truth, cell in zip(TRUTHS, cells, strict=True):
            best = min(others, key=lambda j, cell=cell: cell[:, j].mean())  # type: ignore[misc]
            mean, error, is_behind = verdict(cell[:, ours] - cell[:, best], len(methods))
            print(
                f"    {truth:17}best other {methods[best]:30}{cell[:, best].mean():9.5f}, default "
                f"{cell[:, ours].mean():8.5f}: {mean:+.5f} ± {error:.5f}"
                f"{'  SIGNIFICANTLY BEHIND' if is_behind else ''}"
            )


def show_calibrated(options: argparse.Namespace) -> None:
    """What is lost where nothing is to be gained."""
    methods, cells = excesses(read_rows(options.output), 1000)
    index = list(TRUTHS).index("calibrated")
    print(f"\nLost on calibrated scores, {cells.shape[1]} repetitions of 1,000 rows")
    values = cells[index]
    for j in np.argsort(values.mean(axis=0)):
        error = values[:, j].std(ddof=1) / math.sqrt(len(values))
        print(f"  {methods[j]:34}{values[:, j].mean():9.5f} ± {error:.5f}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--output", type=Path, default=Path("arena-output/truth.jsonl"))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(REPETITIONS))
    parser.add_argument("--methods", nargs="+", help="names or patterns; default: all our methods")
    parser.add_argument("--redo", action="store_true", help="compute the named methods again")
    parser.add_argument("--patience", type=float, default=20.0, help="CPU seconds for each fit")
    parser.add_argument("--show", action="store_true", help="print, run nothing")
    parser.add_argument("--calibrated", action="store_true", help="the loss on calibrated scores")
    parser.add_argument("--default", default=DEFAULT, help="which method is ours")
    options = parser.parse_args()
    if options.calibrated:
        options.sizes = [1000]
    if not options.show:
        run(options)
    if options.calibrated:
        show_calibrated(options)
    else:
        show(options)


if __name__ == "__main__":
    main()
