"""netcal. It needs torch, and writes to standard output while it fits."""

from __future__ import annotations

from adapters import Adapter


def adapter() -> Adapter:
    from netcal import binning, metrics, scaling

    def fitter(kind):
        return lambda p, y: kind().fit(p, y).transform

    return Adapter(
        fit={
            "logistic": fitter(scaling.LogisticCalibration),
            "temperature": fitter(scaling.TemperatureScaling),
            "beta": fitter(scaling.BetaCalibration),
            "isotonic": fitter(binning.IsotonicRegression),
            "equal-width bins": fitter(binning.HistogramBinning),
            "bbq": fitter(binning.BBQ),
            "enir": fitter(binning.ENIR),
        },
        measure={
            "ece": lambda y, p: metrics.ECE(10).measure(p, y),
            "unweighted ece": lambda y, p: metrics.ACE(10).measure(p, y),
            "mce": lambda y, p: metrics.MCE(10).measure(p, y),
        },
    )
