"""ACP against counting, and its intervals against their definitions."""

from __future__ import annotations

import numpy as np
import pytest
import sklearn
from hypothesis import given, settings, strategies as st
from scipy.special import expit, logit, ndtri
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression

from trueodds.calibrators import all_calibrators
from trueodds.calibrators._acp import ACPCalibrator, logistic_intervals
from trueodds.exceptions import InputError


def data(seed=0, n=400):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, (rng.random(n) < scores**2).astype(int)


def wilson(score, size, level=0.95):
    z2 = ndtri((1 + level) / 2) ** 2
    center = (score + z2 / (2 * size)) / (1 + z2 / size)
    half = np.sqrt(score * (1 - score) / size + z2 / (4 * size**2)) * np.sqrt(z2) / (1 + z2 / size)
    return center - half, center + half


def count(scores, y, low, high):
    inside = (scores >= low) & (scores <= high)
    return y[inside].mean()


def test_given_intervals_are_bins_of_their_own():
    scores, y = data()
    rng = np.random.default_rng(1)
    at = rng.choice(scores, 50)
    low, high = at - rng.random(50) * at, at + rng.random(50) * (1 - at)
    found = ACPCalibrator().fit(scores, y).predict_proba(at, intervals=(low, high))
    expected = [count(scores, y, *ends) for ends in zip(low, high, strict=True)]
    np.testing.assert_allclose(found[:, 1], expected, atol=1e-14)
    np.testing.assert_allclose(found.sum(axis=1), 1)


def test_both_ends_of_an_interval_belong_to_it():
    calibrator = ACPCalibrator().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 1, 0])
    p = calibrator.predict_proba([0.2, 0.3], intervals=([0.1, 0.2], [0.2, 0.4]))[:, 1]
    np.testing.assert_allclose(p, [1 / 2, 2 / 3])


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 20), st.integers(0, 1)), min_size=2, max_size=40).filter(
        lambda rows: len({label for _, label in rows}) == 2
    ),
    st.floats(0.5, 200),
)
def test_without_intervals_those_of_wilson_are_used(rows, size):
    scores, y = (np.array(column, dtype=float) for column in zip(*rows, strict=True))
    scores /= 20
    at = np.setdiff1d(np.linspace(0, 1, 97), scores)  # ends on a score are a matter of rounding
    found = ACPCalibrator(interval_size=size).fit(scores, y).map_(at)
    for s, p in zip(at, found, strict=True):
        low, high = wilson(s, size)
        near = np.abs(np.concatenate([scores - low, scores - high])).min() < 1e-9
        if not near and ((scores >= low) & (scores <= high)).any():
            assert abs(p - count(scores, y, low, high)) < 1e-12


def test_the_default_interval_is_worth_the_number_of_instances_to_the_power_two_thirds():
    scores, y = data()
    default = ACPCalibrator().fit(scores, y).map_
    assert default == ACPCalibrator(interval_size=400 ** (2 / 3)).fit(scores, y).map_


@pytest.mark.parametrize("scale", ["logit", "raw"])
def test_margins_and_log_odds_give_the_values_of_their_logistic_function(scale):
    scores, y = data()
    at = np.linspace(0.01, 0.99, 200)
    expected = ACPCalibrator().fit(scores, y).map_(at)
    found = ACPCalibrator(scale=scale).fit(logit(scores), y).map_(logit(at))
    assert (np.abs(found - expected) > 1e-12).mean() < 0.02  # an edge may round to the other side


def test_infinite_log_odds_and_margins_beyond_the_logistic_function_are_legal():
    logits = np.array([-np.inf, -800.0, -40.0, 0.0, 38.0, 40.0, 800.0, np.inf] * 5)
    y = np.arange(40) % 3 == 0
    p = ACPCalibrator(scale="logit").fit(logits, y).predict_proba(logits)
    assert np.isfinite(p).all()


def test_an_empty_interval_takes_the_nearest_scores_on_both_sides():
    calibrator = ACPCalibrator().fit([0.1, 0.2, 0.8, 0.9], [0, 1, 1, 0])
    low, high = [0.5, 0.0, 0.95], [0.6, 0.05, 1.0]
    p = calibrator.predict_proba([0.55, 0.02, 0.97], intervals=(low, high))[:, 1]
    assert p.tolist() == [1.0, 0.0, 0.0]
    narrow = ACPCalibrator(interval_size=1e9).fit([0.2, 0.8], [0, 1])
    assert narrow.map_([0.1, 0.5, 0.9]).tolist() == [0.0, 0.5, 1.0]


@pytest.mark.parametrize("options", [{}, {"C": 0.01}, {"C": np.inf}, {"fit_intercept": False}])
def test_logistic_intervals_have_the_covariance_of_the_model(options):
    X, y = make_classification(300, n_features=4, n_redundant=0, random_state=0)
    model = LogisticRegression(tol=1e-10, max_iter=10000, **options).fit(X, y)
    low, high = logistic_intervals(model, X, X[:20])
    design = np.column_stack([X, np.ones(300)]) if model.fit_intercept else X
    p = model.predict_proba(X)[:, 1]
    penalty = np.zeros(design.shape[1])
    penalty[:4] = 1 / model.C
    information = (design.T * (p * (1 - p))) @ design + np.diag(penalty)
    error = np.sqrt(np.diag(design[:20] @ np.linalg.inv(information) @ design[:20].T))
    np.testing.assert_allclose(logit(low), logit(p[:20]) - ndtri(0.975) * error, rtol=1e-8)
    np.testing.assert_allclose(logit(high), logit(p[:20]) + ndtri(0.975) * error, rtol=1e-8)


def test_logistic_intervals_cover_the_truth_as_often_as_they_say():
    coef = np.array([1.0, -0.5])
    inside = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(400, 2))
        y = rng.random(400) < expit(X @ coef)
        model = LogisticRegression(C=np.inf).fit(X, y)
        low, high = logistic_intervals(model, X, X[:1], level=0.9)
        inside.append(low[0] <= expit(X[0] @ coef) <= high[0])
    assert 0.84 < np.mean(inside) < 0.96


def test_weights_of_the_model_narrow_its_intervals():
    X, y = make_classification(200, n_features=3, n_redundant=0, random_state=0)
    twice = LogisticRegression(C=np.inf).fit(X, y, np.full(200, 2.0))
    low, high = logistic_intervals(twice, X, X[:5], sample_weight=np.full(200, 2.0))
    repeated = logistic_intervals(twice, np.repeat(X, 2, axis=0), X[:5])
    np.testing.assert_allclose(low, repeated[0])
    np.testing.assert_allclose(high, repeated[1])


def test_a_model_without_a_covariance_is_refused():
    X, y = make_classification(100, n_features=4, n_informative=3, n_redundant=0, random_state=0)
    # scikit-learn 1.8 renamed the option.
    version = tuple(int(part) for part in sklearn.__version__.split(".")[:2])
    option = {"l1_ratio": 1.0} if version >= (1, 8) else {"penalty": "l1"}
    lasso = LogisticRegression(solver="liblinear", **option).fit(X, y)
    with pytest.raises(InputError, match="L1 penalty has no Hessian"):
        logistic_intervals(lasso, X, X)
    three = LogisticRegression().fit(X, np.arange(100) % 3)
    with pytest.raises(InputError, match="two classes; it has 3"):
        logistic_intervals(three, X, X)


@pytest.mark.parametrize(
    ("intervals", "message"),
    [
        ([[0.1], [0.2], [0.3]], "must be a pair"),
        (([0.1, 0.1], [0.2, 0.2]), "must have 1 rows, as scores have; got 2 and 2"),
        (([0.5], [0.2]), r"must not be below the lower one; got \[0.5, 0.2\] at index 0"),
        (([np.nan], [0.2]), "NaN"),
    ],
)
def test_intervals_that_make_no_sense_are_refused(intervals, message):
    calibrator = ACPCalibrator().fit(*data())
    with pytest.raises(InputError, match=message):
        calibrator.predict_proba([0.3], intervals=intervals)


def test_intervals_are_refused_for_three_classes():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 90)
    calibrator = ACPCalibrator().fit(p, np.arange(90) % 3)
    assert calibrator.predict_proba(p).shape == (90, 3)
    with pytest.raises(InputError, match="for two classes; there are 3"):
        calibrator.predict_proba(p, intervals=(p[:, 0], p[:, 0]))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 1.0}, "level must be a number strictly between 0 and 1"),
        ({"interval_size": 0}, "interval_size must be None or a number above 0"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ACPCalibrator(**options).fit([0.1, 0.9], [0, 1])


def test_discovery_finds_it():
    assert all_calibrators()["acp"] is ACPCalibrator


def test_a_level_of_any_precision_is_a_level():
    rng = np.random.default_rng(0)
    p = rng.random(200)
    y = rng.random(200) < p
    one, other = (ACPCalibrator(level=kind("0.9")).fit(p, y) for kind in (float, np.longdouble))
    assert np.array_equal(one.predict_proba(p), other.predict_proba(p))


def test_two_rows_of_one_score_have_one_frequency():
    fitted = ACPCalibrator(scale="logit").fit([0.0, 0.0], [0, 1])
    np.testing.assert_allclose(fitted.predict_proba([-9.0, 0.0, 9.0])[:, 1], 1 / 2)
