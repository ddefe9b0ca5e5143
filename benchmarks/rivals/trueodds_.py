"""Ours. Each task imports what it needs and no more, as a user would."""

from __future__ import annotations

import trueodds
from rivals import Adapter

BINARY = {
    "logistic": "LogisticCalibrator",
    "temperature": "TemperatureCalibrator",
    "beta": "BetaCalibrator",
    "isotonic": "IsotonicCalibrator",
    "histogram": "HistogramCalibrator",
    "bbq": "BBQCalibrator",
    "enir": "ENIRCalibrator",
}
SEVERAL = {
    "temperature": "TemperatureCalibrator",
    "vector": "VectorCalibrator",
    "matrix": "MatrixCalibrator",
}


def adapter() -> Adapter:
    def fitter(name):
        return lambda p, y: getattr(trueodds, name)().fit(p, y).map_

    def crosser(name):
        def cross_fit(model, X, y, X_new):
            calibrator = getattr(trueodds, name)()
            wrapped = trueodds.CalibratedClassifier(model, calibrator, cv=5, ensemble=False)
            return wrapped.fit(X, y).predict_proba(X_new)[:, 1]

        return cross_fit

    def metric(name, **options):
        return lambda y, p: getattr(trueodds.metrics, name)(y, p, **options)

    def miscalibration(y, p):
        return trueodds.metrics.corp_decomposition(y, p, loss="log").miscalibration

    def curve(y, p):
        trueodds.metrics.reliability_curve(y, p, band=None)

    crossed = ("logistic", "isotonic", "temperature")
    return Adapter(
        fit={method: fitter(name) for method, name in BINARY.items()},
        fit_classes={method: fitter(name) for method, name in SEVERAL.items()},
        measure={
            "ece": metric("expected_calibration_error", n_bins=10),
            "mce": metric("maximum_calibration_error", n_bins=10),
            "smooth ece": metric("smooth_calibration_error"),
            "brier score": metric("brier_score"),
            "log-loss": metric("log_loss"),
            "corp decomposition": miscalibration,
            "reliability curve": curve,
        },
        cross_fit={method: crosser(BINARY[method]) for method in crossed},
    )
