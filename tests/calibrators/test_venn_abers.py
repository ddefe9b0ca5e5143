"""Venn–Abers: the package's numbers, and the definition with two regressions for every score."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.exceptions import NotFittedError
from sklearn.isotonic import IsotonicRegression

from support.rival_samples import GRID, LABELS, SCORES
from trueodds import VennAbersCalibrator
from trueodds.exceptions import InputError

# calibrator = venn_abers.VennAbers()   (1.5.4)
# calibrator.fit(np.c_[1 - SCORES, SCORES], LABELS)
# merged, pair = calibrator.predict_proba(np.c_[1 - GRID, GRID])
MERGED = [
    0.142857142857, 0.200000000000, 0.250000000000, 0.312500000000, 0.358974358974, 0.416666666667,
    0.500000000000, 0.620253164557, 0.620253164557, 0.652173913043, 0.750000000000, 0.857142857143,
]  # fmt: skip
P0 = [
    0.000000000000, 0.000000000000, 0.000000000000, 0.200000000000, 0.285714285714, 0.300000000000,
    0.400000000000, 0.571428571429, 0.571428571429, 0.600000000000, 0.666666666667, 0.833333333333,
]  # fmt: skip
P1 = [
    0.166666666667, 0.250000000000, 0.333333333333, 0.363636363636, 0.400000000000, 0.500000000000,
    0.600000000000, 0.700000000000, 0.700000000000, 0.750000000000, 1.000000000000, 1.000000000000,
]  # fmt: skip


def by_definition(scores, y, weight, new, label):
    """Isotonic regression with one more instance."""
    regression = IsotonicRegression(out_of_bounds="clip")
    regression.fit(np.append(scores, new), np.append(y, label), np.append(weight, 1.0))
    return regression.predict([new])[0]


def test_predictions_equal_those_of_the_package():
    calibrator = VennAbersCalibrator().fit(SCORES, LABELS)
    np.testing.assert_allclose(calibrator.predict_proba(GRID)[:, 1], MERGED, atol=1e-11)
    np.testing.assert_allclose(calibrator.predict_bounds(GRID), np.c_[P0, P1], atol=1e-11)


@pytest.mark.slow
@given(
    st.lists(
        st.tuples(st.integers(0, 12), st.booleans(), st.integers(1, 3)), min_size=2, max_size=25
    )
)
def test_both_probabilities_are_isotonic_regressions_with_one_more_instance(rows):
    s, y, weight = (np.array(column) for column in zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    s = s / 12
    new = np.concatenate([np.arange(13) / 12, np.arange(12) / 12 + 0.03])
    calibrator = VennAbersCalibrator().fit(s, y, counts=weight)
    expected = [[by_definition(s, y, weight, x, label) for label in (0, 1)] for x in new]
    bounds = calibrator.predict_bounds(new)
    np.testing.assert_allclose(bounds, expected, atol=1e-12)
    merged = bounds[:, 1] / (1 - bounds[:, 0] + bounds[:, 1])
    np.testing.assert_allclose(calibrator.predict_proba(new)[:, 1], merged, atol=1e-12)


def test_forecasts_are_never_zero_or_one_and_lie_between_the_two():
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    calibrator = VennAbersCalibrator().fit(scores, scores > 0.5)
    grid = np.linspace(0, 1, 500)
    p, bounds = calibrator.predict_proba(grid)[:, 1], calibrator.predict_bounds(grid)
    assert (p > 0).all()
    assert (p < 1).all()
    assert (bounds[:, 0] <= p).all()
    assert (p <= bounds[:, 1]).all()


def test_infinite_log_odds_and_the_largest_floats_are_scores_like_others():
    z = [-np.inf, -1e308, 0.0, np.nextafter(0.0, 1.0), 1.7976931348623157e308, np.inf]
    y = [0, 1, 0, 1, 0, 1]
    ranks = VennAbersCalibrator(scale="raw").fit(np.arange(6.0), y)
    extreme = VennAbersCalibrator(scale="logit").fit(z, y)
    np.testing.assert_array_equal(extreme.predict_bounds(z), ranks.predict_bounds(np.arange(6.0)))
    assert (
        extreme.predict_proba(z)[:, 1].tolist()
        == ranks.predict_proba(np.arange(6.0))[:, 1].tolist()
    )


def test_a_score_that_is_off_in_its_last_digits_gets_what_it_would_get():
    rng = np.random.default_rng(0)
    scores = rng.random(200)
    calibrator = VennAbersCalibrator().fit(scores, rng.random(200) < scores)
    bounds = calibrator.predict_bounds(scores)
    for factor in (1 - 1e-15, 1 + 1e-15):
        np.testing.assert_array_equal(calibrator.predict_bounds(scores * factor), bounds)
    assert (calibrator.predict_bounds(scores * (1 + 1e-9)) != bounds).any()


def test_steps_at_which_nothing_changes_are_left_out():
    rng = np.random.default_rng(0)
    scores = rng.random(1000)
    fitted = VennAbersCalibrator().fit(scores, rng.random(1000) < scores).map_
    assert (np.diff(fitted.values) > 0).all()
    assert len(fitted.values) < 300


def test_two_columns_have_the_bounds_of_the_second():
    calibrator = VennAbersCalibrator().fit(SCORES, LABELS)
    both = np.c_[1 - GRID, GRID]
    np.testing.assert_array_equal(calibrator.predict_bounds(both), calibrator.predict_bounds(GRID))


def test_bounds_are_for_two_classes_of_a_fitted_calibrator():
    with pytest.raises(NotFittedError, match="fit"):
        VennAbersCalibrator().predict_bounds([0.5])
    p = np.full((6, 3), 1 / 3)
    several = VennAbersCalibrator().fit(p, [0, 1, 2, 0, 1, 2])
    with pytest.raises(InputError, match="predict_bounds supports two classes"):
        several.predict_bounds(p)
