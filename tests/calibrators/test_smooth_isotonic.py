"""Smooth isotonic calibration: through isotonic regression's blocks, without its jumps."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.interpolate import PchipInterpolator

from trueodds import IsotonicCalibrator, SmoothIsotonicCalibrator
from trueodds.exceptions import InputError


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < scores


def blocks_of(scores, y, weight):
    """Mean score and value of each block, the slow way."""
    steps = IsotonicCalibrator(interpolation="step").fit(scores, y, weight).map_
    level = steps(scores)
    values = np.unique(level)
    means = [np.average(scores[level == v], weights=weight[level == v]) for v in values]
    return np.array(means), values


@given(
    st.lists(
        st.tuples(st.integers(0, 30), st.booleans(), st.integers(1, 4)), min_size=2, max_size=60
    )
)
def test_it_is_scipys_increasing_cubic_through_the_means_of_isotonic_blocks(given_rows):
    s, y, w = (np.array(column) for column in zip(*given_rows, strict=True))
    if y.all() or not y.any():
        return
    s = s / 30
    fitted = SmoothIsotonicCalibrator().fit(s, y, w).map_
    means, values = blocks_of(s, y, w.astype(float))
    grid = np.linspace(0, 1, 301)
    if len(means) < 2:
        reference = np.full(len(grid), values[0])
    else:
        reference = PchipInterpolator(means, values)(np.clip(grid, means[0], means[-1]))
    np.testing.assert_allclose(fitted(grid), reference, rtol=0, atol=2e-5)


def test_it_has_neither_jumps_nor_corners_where_isotonic_regression_has():
    scores, y = rows(2000)
    fitted = SmoothIsotonicCalibrator().fit(scores, y).map_
    inside = (fitted.x > np.quantile(scores, 0.05)) & (fitted.x < np.quantile(scores, 0.95))
    x, q = fitted.x[inside], fitted.y[inside]
    slopes = np.diff(q) / np.diff(x)
    broad = np.diff(x) > 1e-5  # slopes of narrower lines are rounding
    turns = np.abs(np.diff(slopes[broad])) / slopes[broad].max()
    assert turns.max() < 0.2
    steps = IsotonicCalibrator().fit(scores, y).map_
    corners = np.abs(np.diff(np.diff(steps.y) / np.diff(steps.x)))
    assert corners.max() / (np.diff(steps.y) / np.diff(steps.x)).max() > 0.9


def test_different_scores_stay_different_between_the_ends():
    scores, y = rows(2000)
    fitted = SmoothIsotonicCalibrator().fit(scores, y).map_
    inside = np.linspace(*np.quantile(scores, [0.05, 0.95]), 1000)
    assert len(np.unique(fitted(inside))) == 1000
    assert len(np.unique(IsotonicCalibrator().fit(scores, y).map_(inside))) < 500


def test_a_block_of_one_class_says_0_or_1_unless_laplace_keeps_it_off_them():
    scores, y = [0.1, 0.2, 0.3, 0.5, 0.8, 0.9], [0, 0, 1, 0, 1, 1]
    plain = SmoothIsotonicCalibrator().fit(scores, y).map_
    np.testing.assert_allclose(plain([0.0, 0.15, 0.4, 0.85, 1.0]), [0, 0, 0.5, 1, 1])
    kept = SmoothIsotonicCalibrator(tail_smoothing="laplace").fit(scores, y).map_
    np.testing.assert_allclose(kept([0.0, 0.15, 0.4, 0.85, 1.0]), [0.25, 0.25, 0.5, 0.75, 0.75])


def test_the_range_of_scores_is_kept():
    fitted = SmoothIsotonicCalibrator().fit([0.1, 0.3, 0.6, 0.8], [1, 0, 1, 0]).map_
    np.testing.assert_allclose(fitted.x, [0.1, 0.45, 0.8])
    np.testing.assert_allclose(fitted.y, 0.5)


def test_infinite_log_odds_do_not_enter_a_mean():
    z, y = [-np.inf, -2.0, 0.0, 1.0, 3.0, np.inf], [1, 0, 0, 1, 1, 0]
    fitted = SmoothIsotonicCalibrator(scale="logit").fit(z, y).map_
    np.testing.assert_allclose(fitted.x, [-np.inf, -1.0, 2.0, np.inf])
    np.testing.assert_allclose(fitted.y, [1 / 3, 1 / 3, 2 / 3, 2 / 3])


def test_a_misspelled_tail_smoothing_is_refused():
    with pytest.raises(InputError, match="tail_smoothing must be one of"):
        SmoothIsotonicCalibrator(tail_smoothing="clip").fit([0.1, 0.9], [0, 1])
