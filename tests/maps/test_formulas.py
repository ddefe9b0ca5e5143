"""Parts of formulas: where on the scale of probabilities a level of log-odds lies."""

import numpy as np
import pytest

from trueodds.maps._formulas import probability_bounds
from trueodds.numerics.log_odds import log_odds


def z_of(p):
    return float(log_odds(np.array([p]), "probability")[0])


LEVELS = [-744.0, -700.5, -36.8, -20.0, -3.3, -1e-9, 0.0, 1e-9, 0.7, 3.3, 20.0, 36.7, 40.0, 700.0]


@pytest.mark.parametrize("level", LEVELS)
def test_the_lower_bound_is_the_last_float_that_is_not_above_the_level(level):
    low, _ = probability_bounds(level, 1e3)
    assert z_of(low) <= level
    assert low < 1
    assert z_of(np.nextafter(low, 1)) > level


@pytest.mark.parametrize("level", LEVELS)
def test_the_upper_bound_is_the_first_float_that_is_not_below_the_level(level):
    _, high = probability_bounds(-1e3, level)
    assert z_of(high) >= level
    assert high > 0
    assert z_of(np.nextafter(high, 0)) < level


def test_levels_beyond_all_floats_are_0_and_1():
    assert probability_bounds(-np.inf, np.inf) == (0.0, 1.0)
    assert probability_bounds(-800.0, 800.0) == (0.0, 1.0)
