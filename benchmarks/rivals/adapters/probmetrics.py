"""probmetrics, which brings its own solvers for temperature, logistic and matrix scaling."""

from __future__ import annotations

from adapters import Adapter, both


def adapter() -> Adapter:
    import torch
    from probmetrics import calibrators, metrics

    def fitter(name):
        def fit(p, y):
            fitted = calibrators.get_calibrator(name)
            fitted.fit(both(p), y)
            return lambda new: fitted.predict_proba(both(new))[:, 1]

        return fit

    def class_fitter(kind):
        def fit(P, y):
            fitted = kind()
            fitted.fit(P, y)
            return fitted.predict_proba

        return fit

    def measure(metric):
        def value(y, p):
            labels, probabilities = torch.from_numpy(y), torch.from_numpy(both(p))
            return float(metric.compute_from_labels_probs(labels, probabilities))

        return value

    return Adapter(
        fit={
            "logistic": fitter("logistic"),
            "temperature": fitter("temp-scaling"),
            "isotonic": fitter("isotonic"),
            "beta": fitter("beta"),
        },
        fit_classes={
            "temperature": class_fitter(calibrators.TemperatureScalingCalibrator),
            "vector": class_fitter(calibrators.VectorScalingCalibrator),
            "matrix": class_fitter(calibrators.MatrixScalingCalibrator),
        },
        measure={
            "log-loss": measure(metrics.LogLoss()),
            "accuracy": measure(metrics.Accuracy()),
            "smooth ece": measure(metrics.SmoothCalibrationError()),
        },
    )
