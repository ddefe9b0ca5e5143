"""Methods that average over binnings see scores as probabilities, whatever their scale."""

import numpy as np
import pytest
from scipy.special import expit

from trueodds import ABBCalibrator, BBQCalibrator

METHODS = [ABBCalibrator, BBQCalibrator]


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("scale", ["logit", "raw"])
def test_margins_and_log_odds_give_the_values_of_their_logistic_function(method, scale):
    rng = np.random.default_rng(0)
    margins = rng.normal(0, 2, 300)
    y = rng.random(300) < expit(np.sin(margins) * 3)
    found = method(scale=scale).fit(margins, y).map_(margins)
    expected = method().fit(expit(margins), y).map_(expit(margins))
    np.testing.assert_allclose(found, expected, atol=1e-11)


@pytest.mark.parametrize("method", METHODS)
def test_infinite_log_odds_are_ordinary_scores(method):
    logits = np.array([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf] * 20)
    y = np.arange(120) % 7 > 2
    finite = np.clip(logits, -50, 50)
    infinite = method(scale="logit").fit(logits, y).map_(logits)
    expected = method(scale="logit").fit(finite, y).map_(finite)
    np.testing.assert_allclose(infinite, expected, atol=1e-12)
