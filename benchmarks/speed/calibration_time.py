"""How fitting and predicting grow with N, next to Table VII of the ENIR paper.

    OPENBLAS_NUM_THREADS=1 python benchmarks/speed/calibration_time.py [--quick]

CPU time of all threads of this process: to fit N distinct scores, and to predict one
score (``predict_proba`` of a list of one, 1000 times). Every time is the median of the repeats.
"exponent" is the slope of ln time over ln N, for all sizes and from the last but one to the last.
Below the table are the slopes of N, N log N and N² between the same sizes. ABB is quadratic and
is timed up to 8000 scores. ``--quick`` leaves out all above 10⁵ (ABB: 2000).
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from trueodds import (
    ABBCalibrator,
    ACPCalibrator,
    BBQCalibrator,
    ENIRCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
)

SIZES = (10**3, 10**4, 10**5, 10**6)
ABB_SIZES = (1000, 2000, 4000, 8000)
PREDICTIONS = 1000


class Entry(NamedTuple):
    """A method, and its row in the paper's Table VII."""

    make: Callable[[], Any]
    training: str
    testing: str


METHODS = {
    "Platt": Entry(LogisticCalibrator, "O(N T)", "O(1)"),
    "histogram": Entry(lambda: HistogramCalibrator(strategy="quantile"), "O(N log N)", "O(log B)"),
    "isotonic": Entry(IsotonicCalibrator, "O(N log N)", "O(log B)"),
    "ACP": Entry(ACPCalibrator, "O(N log N)", "O(N)"),
    "ABB": Entry(ABBCalibrator, "O(N²)", "O(N²)"),
    "BBQ": Entry(BBQCalibrator, "O(N log N)", "O(M log N)"),
    "ENIR": Entry(ENIRCalibrator, "O(N log N)", "O(M log B)"),
}


def sample(n: int) -> tuple[np.ndarray, np.ndarray]:
    """Uniform scores whose order is mostly right: the true curve has a dent."""
    rng = np.random.default_rng(0)
    scores = rng.random(n)
    truth = 0.1 + 0.8 * scores - 0.3 * np.exp(-(((scores - 0.6) / 0.08) ** 2))
    return scores, (rng.random(n) < truth).astype(np.int64)


def cpu_seconds(call: Callable[[], object], *, budget: float, least: int, most: int) -> float:
    """Median of the calls that fit into about ``budget`` seconds; the first is not counted."""
    call()
    times: list[float] = []
    while len(times) < least or (sum(times) < budget and len(times) < most):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return statistics.median(times)


def timed(make: Callable[[], Any], n: int) -> tuple[float, float]:
    """Seconds to fit, and to predict one score."""
    scores, y = sample(n)
    fit = cpu_seconds(lambda: make().fit(scores, y), budget=2.0, least=3, most=101)
    fitted = make().fit(scores, y)
    one = [0.4321]

    def predict() -> None:
        for _ in range(PREDICTIONS):
            fitted.predict_proba(one)

    return fit, cpu_seconds(predict, budget=0.3, least=5, most=31) / PREDICTIONS


def slope(sizes: Sequence[int], times: Sequence[float]) -> float:
    """Of ln time over ln N."""
    return float(np.polyfit(np.log(sizes), np.log(times), 1)[0])


def exponents(sizes: Sequence[int], times: Sequence[float]) -> str:
    return f"{slope(sizes, times):.2f}, {slope(sizes[-2:], times[-2:]):.2f}"


def short(seconds: float) -> str:
    """In s, ms or µs, three digits."""
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if seconds * factor >= 1 or unit == "µs":
            return f"{seconds * factor:.3g} {unit}"
    raise AssertionError


def table(title: str, what: int, results: dict[str, Any], sizes: Sequence[int]) -> None:
    """What is 0 for fitting, 1 for predicting."""
    print(f"\n{title}\n")
    heads = [f"N = {n:,}" for n in sizes]
    print("| method | paper | " + " | ".join(heads) + " | exponent: all, last |")
    print("|---|---|" + "---|" * (len(heads) + 1))
    for name, found in results.items():
        times = [pair[what] for pair in found]
        order = (METHODS[name].training, METHODS[name].testing)[what]
        cells = " | ".join(short(t) for t in times)
        print(f"| {name} | {order} | {cells} | {exponents(sizes, times)} |")
    if what == 0:
        n = np.array(sizes, dtype=float)
        laws = {"N": n, "N log N": n * np.log(n), "N²": n**2}
        print(
            "slopes of " + "; ".join(f"{name}: {exponents(sizes, t)}" for name, t in laws.items())
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes only")
    quick = parser.parse_args().quick
    for sizes, names in (
        (SIZES[:-1] if quick else SIZES, [name for name in METHODS if name != "ABB"]),
        (ABB_SIZES[:2] if quick else ABB_SIZES, ["ABB"]),
    ):
        results = {name: [timed(METHODS[name].make, n) for n in sizes] for name in names}
        table("CPU time to fit", 0, results, sizes)
        table("CPU time to predict one score", 1, results, sizes)


if __name__ == "__main__":
    main()
