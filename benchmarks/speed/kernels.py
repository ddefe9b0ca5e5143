"""CPU time of every kernel, through the functions that use it.

Usage: python benchmarks/speed/kernels.py

To compare two builds, such as two levels of optimization in setup.py, run it with the source folder
of each in PYTHONPATH. Each figure is the median of several runs.
"""

import time
import warnings
from collections.abc import Callable

import numpy as np

import trueodds
from trueodds import metrics

N = 200_000


def milliseconds(work: Callable[[], object], repeats: int = 7) -> float:
    """Return the median CPU time of ``work``."""
    seconds = []
    for _ in range(repeats):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return 1e3 * float(np.median(seconds))


def main() -> None:
    """Print one line for each kernel and use."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, N)
    p, y = 1 / (1 + np.exp(-z)), (rng.random(N) < 1 / (1 + np.exp(-0.7 * z))).astype(int)
    several, classes = rng.dirichlet([1] * 5, N), rng.integers(0, 5, N)
    features = rng.normal(size=(N // 10, 4))
    tree = trueodds.TreeCalibrator(random_state=0).fit(
        p[: N // 10], y[: N // 10], features=features
    )

    def show(kernel: str, use: str, work: Callable[[], object], repeats: int = 7) -> None:
        print(f"{kernel:<18} {use:<34} {milliseconds(work, repeats):9.2f} ms", flush=True)

    for kernel, calibrator, n_rows in (
        ("tables", trueodds.IsotonicCalibrator(), N),
        ("tables", trueodds.BetaCalibrator(), N),
        ("isotonic", trueodds.ENIRCalibrator(), N // 10),
        ("isotonic", trueodds.VennAbersCalibrator(), N),
        ("laplace", trueodds.BayesianSmoothCalibrator(), 1000),
        ("laplace", trueodds.BayesianSmoothCalibrator(), N // 10),
        ("binnings", trueodds.ABBCalibrator(), 1500),
        ("bayesian_isotonic", trueodds.BayesianIsotonicCalibrator(random_state=0), 1000),
    ):
        name = type(calibrator).__name__.removesuffix("Calibrator")
        rows = slice(n_rows)
        show(kernel, f"fit {name}, {n_rows:,} rows", lambda c=calibrator, r=rows: c.fit(p[r], y[r]))
    show("tree", "fit", lambda: tree.fit(p[: N // 10], y[: N // 10], features=features), 3)
    for calibrator in (
        trueodds.LogisticCalibrator(),
        trueodds.BetaCalibrator(),
        trueodds.IsotonicCalibrator(),
        trueodds.BayesianSmoothCalibrator(),
        trueodds.CharcoalGrillCalibrator(),
    ):
        fitted = calibrator.fit(p[:5000], y[:5000]).map_
        show("maps", f"apply {type(fitted).__name__}", lambda m=fitted: m(p), 15)
    matrix = trueodds.MatrixCalibrator().fit(several[:3000], classes[:3000]).map_
    show("maps", "apply SoftmaxMap, 5 classes", lambda: matrix(several))
    show("maps", "apply a tree", lambda: tree.predict_proba(p[: N // 10], features=features))
    for metric in (metrics.log_loss, metrics.brier_score, metrics.expected_calibration_error):
        show("forecast_sums", metric.__name__, lambda f=metric: f(y, p), 15)
    show("monitor", "update", lambda: trueodds.CalibrationMonitor().update(p, y), 3)
    quarter = slice(N // 4)
    online = trueodds.OnlineCalibrator
    show("online", "update, 50,000 rows", lambda: online().update(p[quarter], y[quarter]), 3)


if __name__ == "__main__":
    main()
