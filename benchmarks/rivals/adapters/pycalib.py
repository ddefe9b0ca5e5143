"""PyCalib. Its logistic calibration does not run with a present scikit-learn."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    from pycalib import metrics, models

    def fitter(kind, **options):
        def fit(p, y):
            fitted = kind(**options).fit(p, y)
            return lambda new: fitted.predict_proba(new)[:, 1]

        return fit

    return Adapter(
        fit={
            "isotonic": fitter(models.IsotonicCalibration),
            "equal-width bins": fitter(models.BinningCalibration),
            "equal-mass bins": fitter(models.BinningCalibration, strategy="quantile"),
        },
        measure={
            "ece": lambda y, p: metrics.binary_ECE(y, p, bins=10),
            "mce": lambda y, p: metrics.binary_MCE(y, p, bins=10),
        },
    )
