"""Fit and predict_proba at N = 10⁶ distinct scores, against the peer, in one run.

Our calls and the peer's alternate. It prints the median of the repeats, and each as a multiple of
``np.sort`` of the same scores. The calibrators of scikit-learn are private, so their fit is called
directly. predict_proba is that of ``CalibratedClassifierCV`` around a model that returns the
scores. "bare" is the predict of the private calibrator, which returns one column. Rivals that are
not installed are left out.

Usage: python benchmarks/rivals/fit_speed.py [rows] [repeats]
"""

import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.calibration import CalibratedClassifierCV, _SigmoidCalibration, _TemperatureScaling
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression

from trueodds import (
    BetaCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    TemperatureCalibrator,
)
from trueodds.calibrators import Calibrator

Call = Callable[[], object]


class Scores(ClassifierMixin, BaseEstimator):
    """A model whose probabilities are its input."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return X

    def predict(self, X):
        return X.argmax(axis=1)


@dataclass(frozen=True)
class Task:
    """Our method, the peer's fit and predictions, and how many times faster we must be."""

    name: str
    wanted: float
    ours: Calibrator
    fit: Call
    predict_proba: Call
    bare_predict: Call | None = None


def medians(calls: dict[str, Call], repeats: int) -> dict[str, float]:
    """Seconds of each call, the calls taking turns."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for call in calls.values():
        call()
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name].append(time.perf_counter() - start)
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def tasks(p: np.ndarray, y: np.ndarray) -> list[Task]:
    both = np.stack([1 - p, p], axis=1)
    frozen = FrozenEstimator(Scores().fit(both, y))

    def public(method: str) -> Call:
        model = CalibratedClassifierCV(frozen, method=method).fit(both, y)
        return lambda: model.predict_proba(both)

    sigmoid = _SigmoidCalibration().fit(p, y)
    temperature = _TemperatureScaling().fit(both, y)
    isotonic = IsotonicRegression(out_of_bounds="clip").fit(p, y)
    found = [
        Task(
            "logistic / scikit-learn sigmoid",
            5.0,
            LogisticCalibrator(),
            lambda: _SigmoidCalibration().fit(p, y),
            public("sigmoid"),
            lambda: sigmoid.predict(p),
        ),
        Task(
            "logistic, raw axis / the same",
            5.0,
            LogisticCalibrator(axis="raw"),
            lambda: _SigmoidCalibration().fit(p, y),
            public("sigmoid"),
            lambda: sigmoid.predict(p),
        ),
        Task(
            "temperature / scikit-learn",
            5.0,
            TemperatureCalibrator(),
            lambda: _TemperatureScaling().fit(both, y),
            public("temperature"),
            lambda: temperature.predict(both),
        ),
        Task(
            "isotonic / scikit-learn",
            1.3,
            IsotonicCalibrator(),
            lambda: IsotonicRegression(out_of_bounds="clip").fit(p, y),
            public("isotonic"),
            lambda: isotonic.predict(p),
        ),
    ]
    try:
        from betacal import BetaCalibration
    except ImportError:
        print("betacal is not installed: pip install betacal")
        return found
    with warnings.catch_warnings():  # it changes the process's warning filters
        beta = BetaCalibration("abm").fit(p, y)
    fit_beta = lambda: BetaCalibration("abm").fit(p, y)  # noqa: E731
    found.append(Task("beta / betacal", 5.0, BetaCalibrator(), fit_beta, lambda: beta.predict(p)))
    return found


def row(name: str, ours: float, peer: float, wanted: float, sort: float) -> str:
    return (
        f"{name:<38}{1e3 * ours:>6.0f} ms{1e3 * peer:>6.0f} ms"
        f"{peer / ours:>7.1f}×{wanted:>7.1f}×{ours / sort:>8.1f}"
    )


def report(task: Task, p: np.ndarray, y: np.ndarray, repeats: int, sort: float) -> None:
    fit = medians({"ours": lambda: task.ours.fit(p, y), "peer": task.fit}, repeats)
    print(row(f"fit {task.name}", fit["ours"], fit["peer"], task.wanted, sort))
    calls = {"ours": lambda: task.ours.predict_proba(p), "peer": task.predict_proba}
    if task.bare_predict is not None:
        calls["bare"] = task.bare_predict
    predict = medians(calls, repeats)
    print(row("  predict_proba", predict["ours"], predict["peer"], 1.0, sort))
    if "bare" in predict:
        print(
            row(
                "  against the bare one-column predict", predict["ours"], predict["bare"], 1.0, sort
            )
        )


def main() -> None:
    n = int(sys.argv[1]) if len(sys.argv) > 1 else 10**6
    repeats = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    rng = np.random.default_rng(0)
    z = rng.normal(size=n) * 2
    p = 1 / (1 + np.exp(-z))
    y = (rng.random(n) < 1 / (1 + np.exp(-z / 2.5))).astype(np.int64)
    sort = medians({"sort": lambda: np.sort(p)}, repeats)["sort"]
    print(f"N = {n:,}, median of {repeats}; np.sort of the scores: {1e3 * sort:.1f} ms")
    print(f"{'task':<38}{'ours':>9}{'peer':>9}{'ratio':>8}{'wanted':>8}{'× sort':>8}")
    for task in tasks(p, y):
        report(task, p, y, repeats, sort)


if __name__ == "__main__":
    main()
