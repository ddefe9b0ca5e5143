"""Metrics and diagrams against their rivals at n = 10⁶: ratios measured in the same run.

Needs netcal, torchmetrics (with torch) and relplot; whichever is missing is left out.

    python benchmarks/rivals/metrics_speed.py
"""

from __future__ import annotations

import importlib
import statistics
import time
import warnings

import matplotlib as mpl
import numpy as np

from trueodds.metrics import expected_calibration_error, smooth_calibration_error
from trueodds.plots import ReliabilityDisplay

mpl.use("Agg")
warnings.simplefilter("ignore")


def seconds(function, repeats):
    """Median of ``repeats``, after one call that is not counted."""
    function()
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


def once(function):
    start = time.perf_counter()
    function()
    return time.perf_counter() - start


def optional(name):
    try:
        return importlib.import_module(name)
    except ImportError:
        print(f"(without {name})")
        return None


def sample(n):
    rng = np.random.default_rng(0)
    p = rng.random(n)
    return (rng.random(n) < p + 0.1 * np.sin(6 * p) * p * (1 - p)).astype(int), p


def line(what, ours, theirs, value=None, their_value=None):
    values = "" if value is None else f"   ({value:.6f} and {their_value:.6f})"
    print(
        f"{what:52s} {1e3 * ours:9.1f} ms {1e3 * theirs:10.1f} ms  {theirs / ours:7.1f} ×{values}"
    )


def main():
    y, p = sample(10**6)
    print(f"{'':52s} {'trueodds':>12s} {'other':>13s} {'ratio':>9s}")
    ours = seconds(lambda: expected_calibration_error(y, p, n_bins=10), 9)
    value = expected_calibration_error(y, p, n_bins=10)
    index = (p * 10).astype(np.intp)
    line("ECE, one weighted np.bincount", ours, seconds(lambda: np.bincount(index, p, 10), 9))
    if netcal := optional("netcal.metrics"):
        ece = netcal.ECE(10)
        line("ECE, netcal", ours, seconds(lambda: ece.measure(p, y), 3), value, ece.measure(p, y))
    if torchmetrics := optional("torchmetrics.functional.classification"):
        torch = importlib.import_module("torch")
        tp, ty = torch.from_numpy(p), torch.from_numpy(y)
        theirs = torchmetrics.binary_calibration_error
        line(
            "ECE, torchmetrics (confidence, its own definition)",
            ours,
            seconds(lambda: theirs(tp, ty, n_bins=10), 3),
            value,
            float(theirs(tp, ty, n_bins=10)),
        )
    relplot = optional("relplot")
    if relplot is None:
        return
    ours = seconds(lambda: smooth_calibration_error(y, p), 5)
    line(
        "smECE, relplot",
        ours,
        seconds(lambda: relplot.smECE(p, y), 3),
        smooth_calibration_error(y, p),
        relplot.smECE(p, y),
    )

    def diagram(n_rows, strategy):
        display = ReliabilityDisplay.from_predictions(y[:n_rows], p[:n_rows], strategy=strategy)
        display.plot().figure_.canvas.draw()
        mpl.pyplot.close("all")

    small = 200_000

    def their_diagram():
        figure, _ = relplot.rel_diagram(p[:small], y[:small])
        figure.canvas.draw()
        mpl.pyplot.close("all")

    theirs = once(their_diagram)
    for strategy in ("uniform", "quantile", "corp", "smooth"):
        for n_rows in (small, len(y)):
            ours = seconds(lambda s=strategy, n=n_rows: diagram(n, s), 3)
            line(f"diagram, {strategy}, n = {n_rows}; relplot at {small}", ours, theirs)


if __name__ == "__main__":
    main()
