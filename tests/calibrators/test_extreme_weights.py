"""Weights of all sizes: a finite map."""

import warnings

import numpy as np
import pytest

from trueodds import AutoCalibrator, BayesianStructuredCalibrator
from trueodds.calibrators import find_calibrator
from trueodds.exceptions import InputError, TrueoddsWarning

NAMES = ("bayesian_smooth", "bayesian_structured", "beta", "isotonic", "logistic", "temperature")
METHODS = {"auto": AutoCalibrator, **{name: find_calibrator(name) for name in NAMES}}
ROWS = 150
RNG = np.random.default_rng(0)
Z = RNG.normal(0, 1.5, ROWS)
P = 1 / (1 + np.exp(-2 * Z))
Y = (RNG.random(ROWS) < 1 / (1 + np.exp(-Z))).astype(int)
WEIGHTS = {
    "subnormal": np.full(ROWS, 1e-310),
    "tiny but two": np.append(np.full(ROWS - 2, 1e-300), [1.0, 1.0]),
    "one heavy": np.append(np.ones(ROWS - 1), 1e15),
    "one enormous": np.append(np.ones(ROWS - 1), 1e300),
    "all enormous": np.linspace(1e300, 1.7e308, ROWS),
}


@pytest.mark.parametrize("kind", WEIGHTS)
@pytest.mark.parametrize("name", METHODS)
def test_weights_of_any_size_give_probabilities(name, kind):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", TrueoddsWarning)
        found = METHODS[name]().fit(P, Y, WEIGHTS[kind]).predict_proba(P)[:, 1]
    assert ((found >= 0) & (found <= 1)).all()


def test_counts_beyond_counting_are_refused_with_their_place():
    counts = np.ones(ROWS)
    counts[7] = 1e300
    with pytest.raises(InputError, match=r"must not exceed 1e\+15.*got 1e\+300 at index 7"):
        AutoCalibrator().fit(P, Y, counts=counts)


def test_weights_of_all_sizes_do_not_end_a_structured_fit():
    weight = 10.0 ** np.random.default_rng(2).uniform(-300, 15, ROWS)
    classes = np.random.default_rng(1).dirichlet([1, 1, 1], ROWS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        fitted = BayesianStructuredCalibrator().fit(classes, np.arange(ROWS) % 3, weight)
    assert np.isfinite(fitted.predict_proba(classes)).all()
