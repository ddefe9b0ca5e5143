"""Ours. Each task imports what it needs and no more, as a user would."""

from __future__ import annotations

import trueodds
from adapters import Adapter

BINARY = {
    "logistic": "LogisticCalibrator",
    "temperature": "TemperatureCalibrator",
    "beta": "BetaCalibrator",
    "isotonic": "IsotonicCalibrator",
    "bbq": "BBQCalibrator",
    "enir": "ENIRCalibrator",
    "abb": "ABBCalibrator",
    "acp": "ACPCalibrator",
    "bayesian isotonic": "BayesianIsotonicCalibrator",
    "charcoal grill": "CharcoalGrillCalibrator",
    "auto": "AutoCalibrator",
}
SEVERAL = {
    "temperature": "TemperatureCalibrator",
    "vector": "VectorCalibrator",
    "matrix": "MatrixCalibrator",
    "charcoal grill": "CharcoalGrillCalibrator",
}


OPTIONS = {"matrix": {"ridge": 0.0}}  # maximum likelihood, as probmetrics; not our default


def adapter() -> Adapter:
    def fitter(name, **options):
        return lambda p, y: getattr(trueodds, name)(**options).fit(p, y).map_

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
        options = {"strategy": "uniform", "n_bins": 10, "band": None}
        trueodds.metrics.reliability_curve(y, p, **options)

    def smooth_curve(y, p):
        options = {"strategy": "smooth", "band": "confidence", "n_resamples": 200}
        trueodds.metrics.reliability_curve(y, p, **options, random_state=0)

    crossed = ("logistic", "isotonic", "temperature")
    return Adapter(
        fit={
            **{method: fitter(name) for method, name in BINARY.items()},
            "equal-mass bins": fitter("HistogramCalibrator"),
            "equal-width bins": fitter("HistogramCalibrator", strategy="uniform"),
        },
        fit_classes={
            method: fitter(name, **OPTIONS.get(method, {})) for method, name in SEVERAL.items()
        },
        measure={
            "ece": metric("expected_calibration_error", n_bins=10),
            "mce": metric("maximum_calibration_error", n_bins=10),
            "unweighted ece": metric("expected_calibration_error", weighting="equal"),
            "smooth ece": metric("smooth_calibration_error"),
            "accuracy": metric("accuracy"),
            "brier score": metric("brier_score"),
            "log-loss": metric("log_loss"),
            "corp decomposition": miscalibration,
            "reliability curve": curve,
            "smooth curve with band": smooth_curve,
        },
        cross_fit={method: crosser(BINARY[method]) for method in crossed},
    )
