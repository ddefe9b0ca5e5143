"""Scores among subnormals and one unit in the last place apart: probabilities all the same."""

import warnings

import numpy as np
import pytest

from trueodds import AutoCalibrator
from trueodds.calibrators import calibrator_names, find_calibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds.maps import PiecewiseLinearMap

RNG = np.random.default_rng(0)
PLACES = np.array([
    0.0, 5e-324, 2e-316, 8e-316, 2e-313, 1e-310, 3e-308, 1e-300, 1e-200, 1e-17, 0.1, 0.5, 0.9,
    1 - 2**-53, 1.0,
])  # fmt: skip
SAMPLES = {
    "subnormal": RNG.choice(PLACES[1:7], 300),
    "of all kinds": RNG.choice(PLACES, 400),
    "one unit apart": 0.5 + np.arange(300) * 2.0**-53,
    "of all sizes": 10.0 ** RNG.uniform(-320, -0.1, 400),
}
EVERYWHERE = np.concatenate([PLACES, np.nextafter(PLACES, 0), np.nextafter(PLACES, 1)])
METHODS = {
    "auto": AutoCalibrator,
    **{
        n: find_calibrator(n)
        for n in calibrator_names()
        if n not in ("group", "tree", "one_vs_rest")
    },
}


@pytest.mark.parametrize("sample", SAMPLES)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_gives_probabilities_and_no_warning_of_others(name, sample):
    p = SAMPLES[sample]
    rank = np.argsort(np.argsort(p)) / len(p)
    y = (np.random.default_rng(1).random(len(p)) < 0.2 + 0.6 * rank).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", TrueoddsWarning)
        found = METHODS[name]().fit(p, y).predict_proba(EVERYWHERE)[:, 1]
    assert ((found >= 0) & (found <= 1)).all()


def test_knots_too_near_for_a_line_have_the_lower_ones_value_between_them():
    near = PiecewiseLinearMap(x=[0.0, 5e-324, 2e-316, 0.5], y=[0.1, 0.3, 0.7, 0.9])
    scores = [0.0, 5e-324, 1e-317, 2e-316, 0.5]
    expected = [0.1, 0.3, 0.3, 0.7, 0.9]
    assert near(scores).tolist() == expected
    namespace = {}
    exec(near.to_python(), namespace)  # noqa: S102
    assert [namespace["calibrate"](score) for score in scores] == expected
