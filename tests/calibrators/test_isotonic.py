"""Isotonic calibration equals scikit-learn's, except where that one merges close scores."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st
from sklearn.isotonic import IsotonicRegression

from trueodds import IsotonicCalibrator
from trueodds.exceptions import InputError

SETS = ("n50", "n200", "n1000", "imbal2000", "ties1000")


@pytest.fixture
def binary_rows():
    rng = np.random.default_rng(0)
    scores = rng.random(400)
    return scores, rng.random(400) < scores


@pytest.mark.parametrize("name", SETS)
def test_predictions_equal_those_of_scikit_learn(fixtures, name):
    train = pd.read_csv(fixtures / "data" / f"{name}_train.csv")
    grid = pd.read_csv(fixtures / "data" / f"{name}_test.csv")["score"].to_numpy()
    ours = IsotonicCalibrator().fit(train["score"], train["label"]).predict_proba(grid)[:, 1]
    reference = IsotonicRegression(out_of_bounds="clip").fit(train["score"], train["label"])
    np.testing.assert_allclose(ours, reference.predict(grid), atol=1e-12)


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.booleans(), st.integers(1, 4)), min_size=2, max_size=60
    )
)
def test_weighted_ties_equal_those_of_scikit_learn(rows):
    s, y, w = (np.array(column) for column in zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    s = s / 20
    ours = IsotonicCalibrator().fit(s, y, w).predict_proba(s)[:, 1]
    reference = IsotonicRegression(out_of_bounds="clip").fit(s, y, w).predict(s)
    np.testing.assert_allclose(ours, reference, atol=1e-12)


def test_a_thousand_close_float32_scores_are_a_thousand_scores():
    scores = (1e-8 + np.arange(1000) * 2e-15).astype(np.float32)
    assert len(np.unique(scores)) == 1000
    y = np.arange(1000) % 2
    y[500:] = 1
    fitted = IsotonicCalibrator(interpolation="step").fit(scores, y)
    p = fitted.predict_proba(scores)[:, 1]
    single = IsotonicCalibrator(interpolation="step").fit(np.arange(1000) / 1000, y)
    np.testing.assert_array_equal(p, single.predict_proba(np.arange(1000) / 1000)[:, 1])


def test_steps_lie_halfway_between_blocks():
    fitted = IsotonicCalibrator(interpolation="step").fit([0.1, 0.3, 0.7], [0, 0, 1]).map_
    assert fitted.edges.tolist() == [0.5]
    assert fitted.values.tolist() == [0.0, 1.0]


def test_a_step_between_neighboring_floats_belongs_to_the_upper_one():
    low = 0.3
    high = np.nextafter(low, 1)
    calibrator = IsotonicCalibrator(interpolation="step").fit([low, high], [0, 1])
    assert calibrator.predict_proba([low, high])[:, 1].tolist() == [0.0, 1.0]


def test_infinite_log_odds_are_scores_like_others():
    z = [-np.inf, -np.inf, 0.0, 1.0, np.inf]
    for interpolation in ("linear", "step"):
        calibrator = IsotonicCalibrator(interpolation=interpolation, scale="logit")
        p = calibrator.fit(z, [0, 1, 0, 1, 1]).predict_proba(z)[:, 1]
        np.testing.assert_allclose(p, [1 / 3, 1 / 3, 1 / 3, 1, 1])


def test_platts_correction_keeps_it_off_zero_and_one():
    calibrator = IsotonicCalibrator(label_smoothing="platt").fit([0.1, 0.9], [0, 1])
    p = calibrator.predict_proba([0.1, 0.9])
    np.testing.assert_allclose(p[:, 1], [1 / 3, 2 / 3])


def test_misspelled_interpolation_is_refused():
    with pytest.raises(InputError, match="interpolation must be one of"):
        IsotonicCalibrator(interpolation="cubic").fit([0.1, 0.9], [0, 1])


def test_a_misspelled_tail_smoothing_is_refused():
    with pytest.raises(InputError, match="tail_smoothing must be one of"):
        IsotonicCalibrator(tail_smoothing="clip").fit([0.1, 0.9], [0, 1])


def test_laplace_ends_by_hand():
    scores, y = [0.1, 0.2, 0.3, 0.4, 0.6, 0.7, 0.9], [0, 0, 0, 1, 0, 1, 1]
    fitted = IsotonicCalibrator(interpolation="step", tail_smoothing="laplace").fit(scores, y).map_
    np.testing.assert_allclose(fitted.values, [1 / 5, 1 / 2, 3 / 4])
    np.testing.assert_allclose(fitted.edges, [0.35, 0.65])


def test_a_short_end_that_would_pass_its_neighbor_is_pooled_with_it():
    """One negative below says 1/3, the block of one in ten above it 1/10: together 2/13."""
    scores = np.concatenate([[0.1], np.full(10, 0.4), np.full(4, 0.9)])
    y = np.concatenate([[0], np.repeat([1, 0], [1, 9]), np.ones(4)])
    fitted = IsotonicCalibrator(interpolation="step", tail_smoothing="laplace").fit(scores, y).map_
    np.testing.assert_allclose(fitted.values, [2 / 13, 5 / 6])


def test_laplace_ends_leave_blocks_away_from_the_ends_as_they_are(binary_rows):
    scores, y = binary_rows
    plain = IsotonicCalibrator(interpolation="step").fit(scores, y).map_
    kept = IsotonicCalibrator(interpolation="step", tail_smoothing="laplace").fit(scores, y).map_
    assert plain.values[0] == 0
    assert plain.values[-1] == 1
    assert len(kept.edges) > 5
    assert np.isin(kept.edges, plain.edges).all()
    assert np.isin(kept.values[1:-1], plain.values).all()
    assert kept.values[0] > 0
    assert kept.values[-1] < 1


@given(
    st.lists(
        st.tuples(st.integers(0, 20), st.booleans(), st.integers(1, 4)), min_size=2, max_size=60
    )
)
def test_laplace_ends_never_say_zero_or_one_and_never_decrease(rows):
    s, y, w = (np.array(column) for column in zip(*rows, strict=True))
    if y.all() or not y.any():
        return
    fitted = IsotonicCalibrator(tail_smoothing="laplace").fit(s / 20, y, w).map_
    assert (fitted.y > 0).all()
    assert (fitted.y < 1).all()
    assert (np.diff(fitted.y) >= 0).all()
