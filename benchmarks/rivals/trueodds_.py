"""Ours."""

from __future__ import annotations

import trueodds
from rivals import Adapter
from trueodds import CalibratedClassifier, metrics

BINARY = ("logistic", "temperature", "beta", "isotonic", "histogram", "bbq", "enir")


def adapter() -> Adapter:
    kinds = trueodds.all_calibrators()

    def fitter(name):
        def fit(p, y):
            return kinds[name]().fit(p, y).map_

        return fit

    def crosser(name):
        def cross_fit(model, X, y, X_new):
            wrapped = CalibratedClassifier(model, kinds[name](), cv=5)
            return wrapped.fit(X, y).predict_proba(X_new)[:, 1]

        return cross_fit

    return Adapter(
        fit={name: fitter(name) for name in BINARY},
        fit_classes={name: fitter(name) for name in ("temperature", "vector", "matrix")},
        measure={
            "ece": lambda y, p: metrics.expected_calibration_error(y, p, n_bins=10),
            "mce": lambda y, p: metrics.maximum_calibration_error(y, p, n_bins=10),
            "smooth ece": metrics.smooth_calibration_error,
            "brier score": metrics.brier_score,
            "log-loss": metrics.log_loss,
            "corp decomposition": lambda y, p: (
                metrics.corp_decomposition(y, p, loss="log_loss").miscalibration
            ),
            "reliability curve": lambda y, p: metrics.reliability_curve(y, p) and None,
        },
        cross_fit={name: crosser(name) for name in ("logistic", "isotonic", "temperature")},
    )
