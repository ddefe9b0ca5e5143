"""Every calibrator that is discovered, against the whole input contract."""

import pytest

from trueodds import (
    BetaCalibrator,
    CenteredIsotonicCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    MatrixCalibrator,
    OneVsRestCalibrator,
    RobustLogisticCalibrator,
    ScalingBinningCalibrator,
    SmoothIsotonicCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    all_calibrators,
)
from trueodds.testing import calibrator_checks

VARIANTS = {
    "beta-am": BetaCalibrator("am"),
    "beta-ab": BetaCalibrator("ab"),
    "beta-ab-monotone": BetaCalibrator("ab", monotone=True),
    "beta-free": BetaCalibrator(monotone=False),
    "beta-brier": BetaCalibrator(loss="brier"),
    "beta-am-brier": BetaCalibrator("am", loss="brier"),
    "beta-ab-brier": BetaCalibrator("ab", loss="brier"),
    "beta-free-brier": BetaCalibrator(monotone=False, loss="brier"),
    "logistic-raw": LogisticCalibrator(axis="raw"),
    "logistic-unsmoothed": LogisticCalibrator(label_smoothing=None),
    "isotonic-step": IsotonicCalibrator(interpolation="step"),
    "isotonic-laplace": IsotonicCalibrator(tail_smoothing="laplace"),
    "isotonic-platt": IsotonicCalibrator(label_smoothing="platt"),
    "histogram-uniform": HistogramCalibrator(strategy="uniform"),
    "centered-isotonic-laplace": CenteredIsotonicCalibrator(tail_smoothing="laplace"),
    "smooth-isotonic-laplace": SmoothIsotonicCalibrator(tail_smoothing="laplace"),
    "robust-logistic-brier": RobustLogisticCalibrator(robustness=1.0, label_smoothing=None),
    "scaling-binning-beta": ScalingBinningCalibrator(scaling="beta"),
    "spline-monotone": SplineCalibrator(monotone=True),
    "matrix-ridge": MatrixCalibrator(ridge=0.1),
    "temperature-smoothed": TemperatureCalibrator(label_smoothing=0.05),
    "one-vs-rest-of-temperature": OneVsRestCalibrator(TemperatureCalibrator()),
}
CALIBRATORS = {name: kind() for name, kind in all_calibrators().items()} | VARIANTS
CHECKS = [
    pytest.param(check, id=f"{name}-{str(check).partition('-')[2]}")
    for name, calibrator in CALIBRATORS.items()
    for check in calibrator_checks(calibrator)
]


@pytest.mark.parametrize("check", CHECKS)
def test_contract(check):
    check()


@pytest.mark.parametrize("kind", all_calibrators().values())
def test_every_method_accepts_the_common_options(kind):
    assert {"scale", "label_smoothing", "classes"} <= kind().get_params().keys()


def test_discovery_finds_the_methods_that_everyone_compares_against():
    expected = {"identity", "logistic", "temperature", "vector", "matrix", "beta"}
    assert expected | {"isotonic", "histogram", "one_vs_rest"} <= all_calibrators().keys()
