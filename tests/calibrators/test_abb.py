"""ABB against a list of all binnings."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from support.naive_isotonic import naive_abb
from trueodds.calibrators import all_calibrators
from trueodds.calibrators._abb import ABBCalibrator
from trueodds.calibrators._histogram import HistogramCalibrator
from trueodds.exceptions import BinnedScoresWarning, InputError
from trueodds.rows import Rows
from trueodds.table import ScoreTable

ROWS = st.lists(
    st.tuples(st.floats(0, 1), st.integers(0, 5), st.integers(0, 5)).filter(lambda r: any(r[1:])),
    min_size=2,
    max_size=10,
    unique_by=lambda row: row[0],
).filter(lambda rows: sum(row[1] for row in rows) > 0 < sum(row[2] for row in rows))


def fit_counts(calibrator, score, n_pos, n_neg):
    labels = np.repeat([1, 0], len(score))
    counts = np.concatenate([n_pos, n_neg])
    return calibrator.fit(np.tile(score, 2), labels, counts=counts)


def brute_force(score, n_pos, n_neg, expected_boundaries):
    edges = np.concatenate([[0.0], (score[1:] + score[:-1]) / 2, [1.0]])
    gaps = np.diff(score)
    if expected_boundaries is None:
        prior = np.full(len(gaps), 0.5)
    else:
        prior = -np.expm1(-expected_boundaries * gaps / gaps.sum())
    return naive_abb(edges, n_pos, n_neg, prior)


@settings(max_examples=100, deadline=None)
@given(ROWS, st.sampled_from([None, 0.5, 10.0]))
def test_values_equal_the_average_over_a_list_of_all_binnings(rows, expected_boundaries):
    score, n_pos, n_neg = (np.array(column, dtype=float) for column in zip(*sorted(rows)))  # noqa: B905
    calibrator = ABBCalibrator(expected_boundaries=expected_boundaries)
    fitted = fit_counts(calibrator, score, n_pos, n_neg)
    expected = brute_force(score, n_pos, n_neg, expected_boundaries)
    np.testing.assert_allclose(fitted.map_(score), expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("expected_boundaries", [None, 3.0])
def test_values_equal_brute_force_on_twelve_single_labels(expected_boundaries):
    rng = np.random.default_rng(0)
    score = np.sort(rng.random(12))
    n_pos = (rng.random(12) < score).astype(float)
    calibrator = ABBCalibrator(expected_boundaries=expected_boundaries)
    fitted = fit_counts(calibrator, score, n_pos, 1 - n_pos)
    expected = brute_force(score, n_pos, 1 - n_pos, expected_boundaries)
    np.testing.assert_allclose(fitted.map_(score), expected, rtol=0, atol=1e-12)


def test_closer_to_the_truth_than_a_histogram():
    errors = {"abb": [], "histogram": []}
    for seed in range(5):
        rng = np.random.default_rng(seed)
        scores = rng.random(1000)
        truth = 0.9 * np.abs(2 * scores - 1)
        y = rng.random(1000) < truth
        for name, calibrator in (("abb", ABBCalibrator()), ("histogram", HistogramCalibrator())):
            p = calibrator.fit(scores, y).map_(scores)
            errors[name].append(np.sqrt(np.mean((p - truth) ** 2)))
    assert np.mean(errors["abb"]) < np.mean(errors["histogram"])


def test_equally_probable_binnings_hardly_smooth():
    rng = np.random.default_rng(0)
    scores = rng.random(300)
    y = rng.random(300) < 0.3
    assert ABBCalibrator().fit(scores, y).mean_n_bins_ < 10
    assert ABBCalibrator(expected_boundaries=None).fit(scores, y).mean_n_bins_ > 100


def test_too_many_scores_are_coarsened_with_a_warning():
    rng = np.random.default_rng(0)
    scores = rng.random(3000)
    y = rng.random(3000) < scores
    exact = ABBCalibrator().fit(scores, y)
    with pytest.warns(BinnedScoresWarning, match="3000 distinct scores .* coarsened to 400"):
        coarse = ABBCalibrator(max_rows=400).fit(scores, y)
    assert len(coarse.map_.values) == 400
    at = np.linspace(0, 1, 501)
    assert np.abs(coarse.map_(at) - exact.map_(at)).max() < 0.05


def test_margins_so_high_that_they_look_alike_give_probabilities():
    fitted = ABBCalibrator(scale="raw").fit([40.0, 50.0, 60.0, 70.0], [0, 1, 0, 1])
    assert np.isfinite(fitted.map_([30.0, 55.0, 80.0])).all()
    mixed = ABBCalibrator(scale="raw").fit([-1.0, 0.0, 50.0, 60.0], [0, 1, 0, 1])
    assert np.isfinite(mixed.map_([-3.0, 55.0, 80.0])).all()


def test_three_classes_are_calibrated_one_against_the_rest():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 300)
    y = (p.cumsum(axis=1) > rng.random((300, 1))).argmax(axis=1)
    fitted = ABBCalibrator().fit(p, y)
    np.testing.assert_allclose(fitted.predict_proba(p).sum(axis=1), 1)
    assert not hasattr(fitted, "mean_n_bins_")


def test_a_table_of_one_score_gives_the_posterior_mean():
    table = ScoreTable.from_arrays([0.3] * 10, [0, 1] * 5)
    # One bin from 0 to 1: prior mean ½, worth two instances.
    assert ABBCalibrator().fit_map(Rows.of_table(table)).values.tolist() == [0.5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"expected_boundaries": 0}, "expected_boundaries must be None or a number above 0"),
        ({"expected_boundaries": "many"}, "expected_boundaries must be None or a number above 0"),
        ({"max_rows": 2}, "max_rows must be an integer of at least 3"),
        ({"max_rows": 1e4}, "max_rows must be an integer of at least 3"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ABBCalibrator(**options).fit([0.1, 0.9], [0, 1])


def test_discovery_finds_it():
    assert all_calibrators()["abb"] is ABBCalibrator
