"""Base learners and the pieces of nested cross-validation."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit
from sklearn.ensemble import AdaBoostClassifier
from sklearn.naive_bayes import GaussianNB

from trueodds import BetaCalibrator, IdentityCalibrator
from trueodds.exceptions import InputError, SeparableScoresWarning
from trueodds_studies import (
    BoostedStumps,
    Fold,
    Scratch,
    as_matrix,
    averaged,
    binary_labels,
    boosted_stumps,
    clipped_log_loss,
    inner_scores,
    naive_bayes,
    quietly,
    stratified_fold,
)
from trueodds_studies.datasets import load


def halves(name):
    dataset = load(name)
    # scikit-learn's trees see float32.
    X = as_matrix(dataset.X).astype(np.float32).astype(np.float64)
    order = np.random.default_rng(0).permutation(len(X))
    y = binary_labels(dataset.y)
    middle = len(X) // 2
    return X[order[:middle]], y[order[:middle]], X[order[middle:]]


@pytest.mark.parametrize("name", ["iris", "wdbc", "diabetes", "sonar", "ionosphere"])
def test_stumps_boost_as_scikit_learn_does(name):
    X, y, other = halves(name)
    theirs = AdaBoostClassifier(n_estimators=200, random_state=0).fit(X, y)
    ours = BoostedStumps(probabilities="samme").fit(X, y)
    assert len(ours.alpha_) == len(theirs.estimators_)
    np.testing.assert_allclose(
        ours.predict_proba(other), theirs.predict_proba(other), rtol=0, atol=1e-12
    )


def slow_adaboost(X, y, n_rounds):
    """The original algorithm, by search over every cut."""
    sign = np.where(y == 1, 1, -1)
    weight = np.full(len(y), 1 / len(y))
    stumps = []
    for _ in range(n_rounds):
        best = None
        for f in range(X.shape[1]):
            values = np.unique(X[:, f])
            for cut in (values[:-1] + values[1:]) / 2:
                left = X[:, f] <= cut
                impurity, votes = 0.0, []
                for side in (left, ~left):
                    w = np.array([weight[side & (sign == s)].sum() for s in (-1, 1)])
                    impurity += w.sum() - (w**2).sum() / w.sum()
                    votes.append(1 if w[1] > w[0] else -1)
                if best is None or impurity < best[0] - 1e-12:
                    best = impurity, f, cut, votes
        _, f, cut, votes = best
        vote = np.where(X[:, f] <= cut, *votes)
        error = weight[vote != sign].sum()
        alpha = 0.5 * np.log((1 - error) / error)
        weight = weight * np.exp(-alpha * vote * sign)
        weight /= weight.sum()
        stumps.append((f, cut, votes, alpha))
    return stumps


def test_original_probabilities_are_friedmans():
    rng = np.random.default_rng(0)
    X = rng.integers(0, 6, (60, 3)).astype(float)
    y = (rng.random(60) < expit(X[:, 0] - X[:, 1])).astype(int)
    margin = sum(
        alpha * np.where(X[:, f] <= cut, *votes) for f, cut, votes, alpha in slow_adaboost(X, y, 15)
    )
    model = BoostedStumps(n_estimators=15).fit(X, y)
    np.testing.assert_allclose(model.margins(X), margin, atol=1e-10)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 1 / (1 + np.exp(-2 * margin)))


def test_a_stump_without_error_ends_boosting_with_weight_one():
    """As in the paper: iris has log-loss 0.127 = −ln σ(2) uncalibrated."""
    dataset = load("iris")
    y = (np.asarray(dataset.y) == dataset.y[0]).astype(int)
    p = BoostedStumps().fit(dataset.X, y).predict_proba(dataset.X)[:, 1]
    assert clipped_log_loss(y, p) == pytest.approx(0.1269, abs=1e-4)


def test_both_kinds_come_from_one_boosting():
    X, y, other = halves("diabetes")
    (scores,) = boosted_stumps(X, y, [other])
    for column, kind in enumerate(("original", "samme")):
        model = BoostedStumps(probabilities=kind).fit(X, y)
        np.testing.assert_array_equal(expit(scores[:, column]), model.predict_proba(other)[:, 1])
    assert np.abs(scores[:, 0]).max() > 3 > 2 > np.abs(scores[:, 1]).max()


def test_stumps_refuse_what_they_cannot_learn():
    with pytest.raises(InputError, match="y must have two classes; got 3"):
        BoostedStumps().fit(np.zeros((3, 1)), [0, 1, 2])
    with pytest.raises(InputError, match=r"must be 'original', 'samme' or 'samme\.r'"):
        BoostedStumps(probabilities="real").fit(np.zeros((2, 1)), [0, 1])
    constant = BoostedStumps().fit(np.zeros((4, 1)), [0, 1, 0, 1])
    np.testing.assert_array_equal(constant.predict_proba(np.zeros((1, 1))), [[0.5, 0.5]])


def test_naive_bayes_is_scikit_learns():
    X, y, other = halves("wdbc")
    center, spread = X.mean(axis=0), X.std(axis=0)
    theirs = GaussianNB().fit((X - center) / spread, y).predict_proba((other - center) / spread)
    (scores,) = naive_bayes(X, y, [other])
    np.testing.assert_allclose(expit(scores[:, 0]), theirs[:, 1], atol=1e-9)


def test_the_biggest_class_is_positive_of_several_and_the_second_of_two():
    assert binary_labels(["a", "b", "b", "c"]).tolist() == [0, 1, 1, 0]
    assert binary_labels(["no", "yes", "no"]).tolist() == [0, 1, 0]
    assert binary_labels([1, 2, 2, 1, 0]).tolist() == [1, 0, 0, 1, 0]


def test_frames_become_matrices():
    frame = pd.DataFrame(
        {
            "n": [1, 2, 6],
            "m": [1.0, np.nan, 3.0],
            "c": pd.Categorical(["b", "a", None]),
            "e": [np.nan] * 3,
        }
    )
    expected = [[1, 1, 1, 0], [2, 2, 0, 0], [6, 3, 0.5, 0]]
    np.testing.assert_array_equal(as_matrix(frame), expected)


def test_folds_are_a_partition_and_the_same_for_the_same_seed():
    y = np.array([0] * 30 + [1] * 12 + [2] * 3)
    tests = [stratified_fold(y, n_folds=5, fold=i, seed=7).test for i in range(5)]
    assert sorted(np.concatenate(tests)) == list(range(45))
    assert all(np.sum(y[test] == 0) == 6 for test in tests)
    again = stratified_fold(y, n_folds=5, fold=2, seed=7)
    np.testing.assert_array_equal(again.test, tests[2])
    np.testing.assert_array_equal(np.sort([*again.train, *again.test]), np.arange(45))
    with pytest.raises(InputError, match="fold must be from 0 to 4; got 5"):
        stratified_fold(y, n_folds=5, fold=5, seed=7)


def test_inner_scores_are_out_of_fold_and_kept(tmp_path):
    rng = np.random.default_rng(0)
    X, y = rng.random((60, 2)), np.arange(60) % 2
    calls = []

    def learner(X_train, y_train, others):
        calls.append(len(X_train))
        seen = {tuple(row) for row in X_train}
        return [
            np.array([[float(tuple(row) in seen), len(X_train)] for row in other])
            for other in others
        ]

    fold = Fold(train=np.arange(45), test=np.arange(45, 60))
    options = {"n_inner": 3, "seed": 1, "refit": True}
    found = inner_scores(Scratch(tmp_path), {"set": "s"}, learner, X, y, fold, **options)
    assert calls == [30, 30, 30, 45]
    assert found.out_of_fold.shape == (45, 2)
    assert not found.out_of_fold[:, 0].any()  # no row was scored by a model that saw it
    assert np.bincount(found.inner).tolist() == [15, 15, 15]
    assert found.test.shape == (3, 15, 2)
    assert (found.refit[:, 1] == 45).all()
    again = inner_scores(Scratch(tmp_path), {"set": "s"}, learner, X, y, fold, **options)
    assert len(calls) == 4
    np.testing.assert_array_equal(again.test, found.test)


def test_averaging_calibrates_each_inner_model_by_itself():
    rng = np.random.default_rng(0)
    scores, test = rng.random(90), rng.random((3, 8))
    y = (rng.random(90) < scores).astype(int)
    inner = np.arange(90) % 3
    by_hand = np.mean(
        [
            BetaCalibrator().fit(scores[inner == i], y[inner == i]).predict_proba(test[i])[:, 1]
            for i in range(3)
        ],
        axis=0,
    )
    np.testing.assert_allclose(averaged(BetaCalibrator, scores, inner, test, y), by_hand)
    plain = averaged(IdentityCalibrator, scores, inner, test, y)
    np.testing.assert_allclose(plain, test.mean(axis=0))


def test_quietly_hides_our_warnings_only():
    with quietly():
        BetaCalibrator().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    with pytest.warns(SeparableScoresWarning):
        BetaCalibrator().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])


def test_the_clip_of_the_log_loss_is_a_stated_amount():
    assert clipped_log_loss([1, 0], [0.5, 0.5]) == pytest.approx(np.log(2))
    assert clipped_log_loss([1], [0.0]) == pytest.approx(-np.log(1e-16))
    assert clipped_log_loss([1], [0.0], clip=1e-3) == pytest.approx(-np.log(1e-3))
