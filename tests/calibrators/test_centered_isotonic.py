"""Centered isotonic calibration: the reference package's numbers, and the rules of the paper."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from support.rival_samples import GRID, LABELS, SCORES
from trueodds import CenteredIsotonicCalibrator, IsotonicCalibrator
from trueodds.exceptions import InputError

# cir_model.CenteredIsotonicRegression().fit(SCORES, LABELS).transform(GRID)   (cir-model 0.2.0)
CIR_MODEL = [
    0.000000000000, 0.000000000000, 0.000000000000, 0.263473053892, 0.308383233533, 0.382381413359,
    0.498547918683, 0.636079249218, 0.648592283629, 0.883116883117, 1.000000000000, 1.000000000000,
]  # fmt: skip


def test_predictions_equal_those_of_cir_model():
    calibrator = CenteredIsotonicCalibrator().fit(SCORES, LABELS)
    np.testing.assert_allclose(calibrator.predict_proba(GRID)[:, 1], CIR_MODEL, atol=1e-11)


def test_blocks_become_points_at_their_weighted_mean_and_pure_ends_stay_blocks():
    scores, y = [0.1, 0.2, 0.3, 0.5, 0.8, 0.9], [0, 0, 1, 0, 1, 1]
    fitted = CenteredIsotonicCalibrator().fit(scores, y, [1, 1, 1, 3, 1, 1]).map_
    np.testing.assert_allclose(fitted.x, [0.1, 0.2, 0.45, 0.8, 0.9])
    np.testing.assert_allclose(fitted.y, [0.0, 0.0, 0.25, 1.0, 1.0])


def test_the_range_of_scores_is_kept():
    fitted = CenteredIsotonicCalibrator().fit([0.1, 0.3, 0.6, 0.8], [1, 0, 1, 0]).map_
    np.testing.assert_allclose(fitted.x, [0.1, 0.45, 0.8])
    np.testing.assert_allclose(fitted.y, 0.5)


def test_laplace_ends_make_points_of_pure_blocks_too():
    scores, y = [0.1, 0.2, 0.3, 0.5, 0.8, 0.9], [0, 0, 1, 0, 1, 1]
    fitted = CenteredIsotonicCalibrator(tail_smoothing="laplace").fit(scores, y).map_
    np.testing.assert_allclose(fitted.x, [0.1, 0.15, 0.4, 0.85, 0.9])
    np.testing.assert_allclose(fitted.y, [0.25, 0.25, 0.5, 0.75, 0.75])


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.booleans(), st.integers(1, 4)), min_size=2, max_size=60
    )
)
def test_it_goes_through_the_means_of_isotonic_blocks_and_rises_between_them(rows):
    s, y, w = (np.array(column) for column in zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    s = s / 30
    fitted = CenteredIsotonicCalibrator().fit(s, y, w).map_
    steps = IsotonicCalibrator(interpolation="step").fit(s, y, w).map_
    level = steps(s)
    for value in np.unique(level):
        inside = level == value
        mean = np.average(s[inside], weights=w[inside])
        np.testing.assert_allclose(fitted([mean]), value, atol=1e-12)
    assert (np.diff(fitted.y) >= 0).all()
    rising = np.diff(np.unique(fitted.y))
    assert len(rising) == len(np.unique(level)) - 1


def test_infinite_log_odds_do_not_enter_a_mean():
    z, y = [-np.inf, -2.0, 0.0, 1.0, 3.0, np.inf], [1, 0, 0, 1, 1, 0]
    calibrator = CenteredIsotonicCalibrator(scale="logit").fit(z, y)
    np.testing.assert_allclose(calibrator.map_.x, [-np.inf, -1.0, 2.0, np.inf])
    np.testing.assert_allclose(calibrator.map_.y, [1 / 3, 1 / 3, 2 / 3, 2 / 3])


def test_a_misspelled_tail_smoothing_is_refused():
    with pytest.raises(InputError, match="tail_smoothing must be one of"):
        CenteredIsotonicCalibrator(tail_smoothing="clip").fit([0.1, 0.9], [0, 1])
