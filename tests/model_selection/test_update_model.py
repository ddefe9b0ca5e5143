from __future__ import annotations

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, logit
from scipy.stats import chi2

from trueodds.exceptions import InputError
from trueodds.maps import IdentityMap, LogOddsCurveMap, LogOddsMap, load
from trueodds.metrics import calibration_intercept, calibration_slope, log_loss
from trueodds.model_selection import update_model


def drawn(shift, slope, n=1500, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(size=n)
    return (rng.random(n) < expit(shift + slope * z)).astype(int), expit(z)


@pytest.mark.parametrize(
    ("shift", "slope", "expected"),
    [(0.0, 1.0, "none"), (0.8, 1.0, "intercept"), (0.3, 0.4, "logistic")],
)
def test_the_closed_test_takes_the_smallest_update_that_is_enough(shift, slope, expected):
    chosen = [update_model(*drawn(shift, slope, seed=s)).method for s in range(40)]
    # It goes too far once in twenty; of 40, more than 6 would be too many.
    assert chosen.count(expected) >= 34


def test_a_curve_is_taken_where_no_line_will_do():
    rng = np.random.default_rng(0)
    z = rng.normal(size=3000)
    y = rng.random(3000) < expit(z**2 - 1)
    update = update_model(y, expit(z))
    assert update.method == "curve"
    assert isinstance(update.map_, LogOddsCurveMap)
    assert log_loss(y, update.predict_proba(expit(z))) < log_loss(y, expit(z)) - 0.1


def test_maps_carry_the_intercept_and_the_slope(tmp_path):
    y, p = drawn(0.5, 0.6)
    shifted = update_model(y, p, method="intercept")
    assert shifted.intercept == pytest.approx(calibration_intercept(y, p))
    assert shifted.map_(p) == pytest.approx(expit(logit(p) + shifted.intercept))
    both = update_model(y, p, method="logistic")
    assert both.slope == pytest.approx(calibration_slope(y, p))
    assert isinstance(both.map_, LogOddsMap)
    both.map_.save(tmp_path / "update.json")
    assert load(tmp_path / "update.json")(p) == pytest.approx(both.predict_proba(p))
    # What the map gives needs no update any more.
    assert update_model(y, both.map_(p)).method == "none"
    assert isinstance(update_model(y, p, method="none").map_, IdentityMap)


def test_steps_are_likelihood_ratio_tests():
    y, p = drawn(0.3, 0.4)
    first, second, third = update_model(y, p).steps
    assert (first.degrees, second.degrees, third.degrees) == (3, 2, 1)
    gain = 2 * len(y) * (log_loss(y, p) - log_loss(y, update_model(y, p, method="curve").map_(p)))
    assert first.statistic == pytest.approx(gain, rel=1e-3)
    assert first.p_value == pytest.approx(chi2.sf(first.statistic, 3))


def test_features_that_matter_ask_for_a_revision():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(1000, 3))
    p = expit(X @ [1.0, 0.5, 0.0])
    y = rng.random(1000) < expit(X @ [1.0, 0.5, 1.0])
    update = update_model(y, p, X=X)
    assert update.method == "revision"
    assert update.map_ is None
    # The old log-odds are a sum of the features: three coefficients and a constant are free.
    assert update.steps[0].degrees == 4
    assert log_loss(y, update.predict_proba(p, X)) < log_loss(y, p) - 0.05
    with pytest.raises(InputError, match="a revision needs the features X"):
        update.predict_proba(p)
    with pytest.raises(InputError, match="X must have 3 columns; got 2"):
        update.predict_proba(p, X[:, :2])


def test_equal_weights_change_neither_update_nor_tests():
    y, p = drawn(0.3, 0.4)
    plain, weighted = update_model(y, p), update_model(y, p, sample_weight=np.full(len(y), 3.0))
    assert weighted.slope == pytest.approx(plain.slope)
    assert [s.p_value for s in weighted.steps] == pytest.approx([s.p_value for s in plain.steps])


def test_probabilities_of_exactly_0_and_1_are_placed():
    y, p = drawn(0.3, 0.6)
    p[:20], p[20:40] = 0.0, 1.0
    update = update_model(y, p, method="logistic")
    assert 0 < update.map_([0.0])[0] < update.map_([1.0])[0] < 1


def test_what_cannot_be_updated_is_refused():
    with pytest.raises(InputError, match="separate those with the event"):
        update_model([0, 0, 1, 1], [0.1, 0.2, 0.3, 0.4])
    with pytest.raises(InputError, match="the event never happened"):
        update_model([0, 0, 0], [0.1, 0.2, 0.3], classes=[0, 1])
    with pytest.raises(InputError, match='method="revision" needs the features X'):
        update_model([0, 1, 0, 1], [0.1, 0.2, 0.3, 0.4], method="revision")


@pytest.mark.parametrize("side", [-1, 1])
@pytest.mark.parametrize("method", ["logistic", "revision"])
def test_probabilities_of_0_and_1_are_placed_by_maximum_likelihood(method, side):
    """Scores beyond their place count as they do, so that the order of scores is kept."""
    y, p = drawn(0.3, 0.8)
    end = float(side > 0)
    p[:200], y[:200] = end, np.arange(200) < 200 * abs(end - 0.2)
    X = np.zeros((len(p), 1))
    z = side * logit(p)

    def eta(theta, z):
        return theta[0] + theta[1] * side * np.minimum(z, theta[2])

    best = minimize(
        lambda theta: np.sum(np.logaddexp(0, eta(theta, z)) - y * eta(theta, z)),
        [0.4, 0.8, 2.0],
        method="Nelder-Mead",
        options={"xatol": 1e-8, "fatol": 1e-10, "maxiter": 2000},
    )
    update = update_model(y, p, X=X, method=method)
    expected = expit(eta(best.x, np.inf))
    assert 0.1 < abs(end - expected) < 0.25
    assert update.predict_proba([end], X[:1]) == pytest.approx([expected], abs=0.01)
