"""scikit-learn. Its calibrators are private: they are called without what surrounds them.

Its sigmoid is fitted on unchanged probabilities, which is what ``CalibratedClassifierCV`` does
with a model that has no decision function, and is the reason for its error.
"""

from __future__ import annotations

from adapters import Adapter, both


def adapter() -> Adapter:
    from sklearn import metrics
    from sklearn.calibration import (
        CalibratedClassifierCV,
        _SigmoidCalibration,
        _TemperatureScaling,
        calibration_curve,
    )
    from sklearn.isotonic import IsotonicRegression

    def sigmoid(p, y):
        return _SigmoidCalibration().fit(p, y).predict

    def isotonic(p, y):
        return IsotonicRegression(out_of_bounds="clip").fit(p, y).predict

    def temperature(p, y):
        fitted = _TemperatureScaling().fit(both(p), y)
        return lambda new: fitted.predict(both(new))[:, 1]

    def class_temperature(P, y):
        return _TemperatureScaling().fit(P, y).predict

    def crosser(method):
        def cross_fit(model, X, y, X_new):
            wrapped = CalibratedClassifierCV(model, method=method, cv=5, ensemble=False)
            return wrapped.fit(X, y).predict_proba(X_new)[:, 1]

        return cross_fit

    return Adapter(
        fit={"logistic": sigmoid, "isotonic": isotonic, "temperature": temperature},
        fit_classes={"temperature": class_temperature},
        measure={
            "accuracy": lambda y, p: metrics.accuracy_score(y, p > 0.5),
            "brier score": metrics.brier_score_loss,
            "log-loss": metrics.log_loss,
            "reliability curve": lambda y, p: calibration_curve(y, p, n_bins=10) and None,
        },
        cross_fit={
            "logistic": crosser("sigmoid"),
            "isotonic": crosser("isotonic"),
            "temperature": crosser("temperature"),
        },
    )
