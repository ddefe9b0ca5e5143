"""BBQ against the authors' program and a slow twin."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from sklearn.metrics import roc_auc_score

from support.naive_isotonic import FIXTURE_SETS, naive_bbq, read_columns
from trueodds.calibrators import all_calibrators
from trueodds.calibrators._bbq import BBQCalibrator, _elbow
from trueodds.calibrators._isotonic import IsotonicCalibrator
from trueodds.exceptions import InputError

AVERAGES = {"elbow": "bbq_avg_pruned", "best": "bbq_select", "all": "bbq_avg_all"}
ROWS = st.lists(st.tuples(st.integers(0, 12), st.integers(0, 1)), min_size=2, max_size=60).filter(
    lambda rows: len({label for _, label in rows}) == 2
)


def u_shaped(seed, n):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, (rng.random(n) < 0.9 * np.abs(2 * scores - 1)).astype(int)


def naive_models(scores, y):
    order = np.argsort(scores, kind="stable")
    scores, y = scores[order], y[order]
    root = len(y) ** (1 / 3)
    most = min(math.ceil(len(y) / 5), math.ceil(10 * root))
    return [naive_bbq(scores, y, b) for b in range(max(1, math.floor(root / 10)), most + 1)]


def naive_average(models, at):
    scores = np.array([-2 * sum(row[5] for row in model) for model in models])
    weights = np.exp((scores.min() - scores) / 2)
    each = [
        [model[np.searchsorted([row[0] for row in model[1:]], s, side="right")][4] for s in at]
        for model in models
    ]
    return weights @ np.array(each) / weights.sum(), scores


@pytest.mark.parametrize("average", AVERAGES)
@pytest.mark.parametrize("name", FIXTURE_SETS)
def test_predictions_equal_those_of_the_authors_program(name, average, fixtures):
    train = read_columns(fixtures, "data", f"{name}_train.csv")
    expected = read_columns(fixtures, "bbq", f"{name}_authors_pred.csv")
    # Their program deals out instances of one score in the order of the file.
    ties = "input" if name == "ties1000" else "share"
    fitted = BBQCalibrator(average=average, ties=ties).fit(train["score"], train["label"])
    found = fitted.predict_proba(expected["score"])[:, 1]
    np.testing.assert_allclose(found, expected[AVERAGES[average]], rtol=0, atol=1e-10)


@pytest.mark.parametrize("name", FIXTURE_SETS)
def test_models_equal_those_of_the_authors_program(name, fixtures):
    train = read_columns(fixtures, "data", f"{name}_train.csv")
    expected = read_columns(fixtures, "bbq", f"{name}_authors_models.csv")
    fitted = BBQCalibrator(ties="input").fit(train["score"], train["label"])
    np.testing.assert_array_equal(fitted.n_bins_, expected["n_bins_actual"])
    np.testing.assert_allclose(fitted.scores_, expected["score_minus2logml"], rtol=1e-13)


@settings(max_examples=150, deadline=None)
@given(ROWS)
def test_the_one_map_equals_the_average_over_all_histograms(rows):
    scores, y = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    scores /= 12
    at = np.linspace(0, 1, 25)
    fitted = BBQCalibrator(average="all", ties="input").fit(scores, y)
    expected, model_scores = naive_average(naive_models(scores, y), at)
    np.testing.assert_allclose(fitted.map_(at), expected, atol=1e-12)
    np.testing.assert_allclose(fitted.scores_, model_scores, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("label_smoothing", [None, "platt", 0.1])
@pytest.mark.parametrize("average", AVERAGES)
def test_without_ties_their_treatment_does_not_matter(average, label_smoothing):
    scores, y = u_shaped(0, 700)
    at = np.linspace(0, 1, 300)
    one, other = (
        BBQCalibrator(average=average, ties=ties, label_smoothing=label_smoothing)
        .fit(scores, y)
        .map_(at)
        for ties in ("share", "input")
    )
    np.testing.assert_array_equal(one, other)


def test_by_default_the_order_of_tied_instances_does_not_matter():
    scores, y = u_shaped(1, 900)
    scores = scores.round(1)
    order = np.argsort(y, kind="stable")
    assert BBQCalibrator().fit(scores, y).map_ == BBQCalibrator().fit(scores[order], y[order]).map_
    by_order = BBQCalibrator(ties="input")
    assert by_order.fit(scores, y).map_ != by_order.fit(scores[order], y[order]).map_


def test_a_count_equals_repetition_also_where_an_edge_cuts_the_row():
    scores, y = u_shaped(2, 300)
    counts = np.random.default_rng(0).integers(1, 9, 300)
    counted = BBQCalibrator().fit(scores, y, counts=counts)
    repeated = BBQCalibrator().fit(np.repeat(scores, counts), np.repeat(y, counts))
    assert counted.map_ == repeated.map_


def test_neighboring_bins_of_one_score_are_one_bin():
    scores = np.repeat([0.2, 0.8], 50)
    y = np.arange(100) % 3 == 0
    # At most: one bin of the lower score, one that holds both, one of the upper score.
    assert BBQCalibrator(ties="share").fit(scores, y).n_bins_.max() == 3
    # Uncut, there are two models only.
    assert BBQCalibrator().fit(scores, y).n_bins_.tolist() == [1, 2]


def test_much_better_than_isotonic_regression_where_the_order_is_wrong():
    scores, y = u_shaped(0, 4000)
    fresh, labels = u_shaped(1, 4000)
    bbq = BBQCalibrator().fit(scores, y).map_(fresh)
    isotonic = IsotonicCalibrator().fit(scores, y).map_(fresh)
    assert roc_auc_score(labels, bbq) > roc_auc_score(labels, isotonic) + 0.12
    assert np.sqrt(np.mean((bbq - 0.9 * np.abs(2 * fresh - 1)) ** 2)) < 0.1


@pytest.mark.parametrize(
    ("weights", "kept"),
    [
        ([1.0], 1),
        ([1.0, 1.0, 1.0], 2),
        ([1.0, 0.5], 1),
        ([1.0, 0.6, 0.3, 0.3, 0.1], 2),
        ([1.0, 1.0, 0.2, 0.2], 2),
        ([1.0, 0.9, 0.8, 0.0], 3),
        # The second drop is above 0.001 of the variance of these four, as in the authors' program,
        # and below 0.001 of the variance that a sample of four would estimate.
        ([1.0, 0.5, 0.499856, 0.0], 3),
    ],
)
def test_the_elbow_comes_where_the_weight_no_longer_drops(weights, kept):
    assert _elbow(np.array(weights)) == kept


@pytest.mark.parametrize("average", AVERAGES)
def test_weights_sum_to_one_and_are_zero_for_what_is_left_out(average):
    fitted = BBQCalibrator(average=average).fit(*u_shaped(0, 400))
    assert math.isclose(fitted.weights_.sum(), 1)
    assert (np.count_nonzero(fitted.weights_) == 1) == (average == "best")
    assert fitted.weights_[np.argmin(fitted.scores_)] == fitted.weights_.max()


def test_three_classes_are_calibrated_one_against_the_rest():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 900)
    y = (p.cumsum(axis=1) > rng.random((900, 1))).argmax(axis=1)
    for ties in ("share", "input"):
        fitted = BBQCalibrator(ties=ties).fit(p, y)
        np.testing.assert_allclose(fitted.predict_proba(p).sum(axis=1), 1)
        assert not hasattr(fitted, "weights_")


@pytest.mark.parametrize("options", [{"average": "mean"}, {"ties": None}])
def test_options_that_make_no_sense_are_refused(options):
    with pytest.raises(InputError, match=f"{next(iter(options))} must be one of"):
        BBQCalibrator(**options).fit([0.1, 0.9], [0, 1])


def test_discovery_finds_it():
    assert all_calibrators()["bbq"] is BBQCalibrator
