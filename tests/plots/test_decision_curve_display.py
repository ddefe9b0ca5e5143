from __future__ import annotations

import matplotlib as mpl
import numpy as np
import pytest

mpl.use("Agg")

from matplotlib import pyplot as plt

from trueodds.decisions import decision_curve
from trueodds.exceptions import InputError
from trueodds.plots import DecisionCurveDisplay, ReliabilityDisplay


@pytest.fixture
def sample():
    rng = np.random.default_rng(0)
    p = rng.beta(1, 2, 400)
    return (rng.random(400) < p).astype(int), p


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_lines_are_the_numbers_of_the_curve(sample):
    y, p = sample
    display = DecisionCurveDisplay.from_predictions(y, {"one": p, "two": p**2}).plot()
    lines = {line.get_label(): line.get_ydata() for line in display.ax_.lines}
    np.testing.assert_array_equal(lines["two"], display.curve.models["two"].net_benefit)
    np.testing.assert_array_equal(lines["treat all"], display.curve.treat_all.net_benefit)
    assert not lines["treat none"].any()
    assert len(display.ax_.collections) == 2
    low, high = display.ax_.get_ylim()
    assert low < 0 < y.mean() < high < 1


def test_interventions_avoided_are_per_hundred(sample):
    y, p = sample
    curve = decision_curve(y, p, standardized=True)
    display = DecisionCurveDisplay.from_curve(curve).plot(what="avoided", band=False)
    (line,) = display.ax_.lines
    np.testing.assert_allclose(line.get_ydata(), 100 * curve.models["model"].avoided)
    assert not display.ax_.collections


def test_only_decision_curves_are_drawn(sample):
    with pytest.raises(InputError, match="curve must be a DecisionCurve; got int"):
        DecisionCurveDisplay(3)
    with pytest.raises(InputError, match="what must be one of"):
        DecisionCurveDisplay.from_predictions(*sample).plot(what="gain")


@pytest.mark.parametrize("strategy", ["loess", "splines"])
def test_flexible_curves_are_drawn_without_markers(sample, strategy):
    display = ReliabilityDisplay.from_predictions(*sample, strategy=strategy, band="confidence")
    display.plot()
    line = display.ax_.lines[-1]
    np.testing.assert_array_equal(line.get_ydata(), display.curves[0].prob_true)
    assert line.get_marker() == "None"
