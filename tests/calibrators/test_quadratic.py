"""Quadratic scaling: the optimum of probmetrics' likelihood, and what becomes of awkward scores."""

import numpy as np
import pytest

from support.rival_samples import GRID, LABELS, SCORES
from trueodds import LogisticCalibrator, QuadraticCalibrator
from trueodds.exceptions import NonMonotoneWarning, SeparableScoresWarning
from trueodds.metrics import log_loss
from trueodds.numerics.log_odds import log_odds, sigmoid

# calibrator = probmetrics.calibrators.BinaryLogisticCalibrator(type="quadratic")   (1.3.0)
# calibrator.fit(SCORES, LABELS)   stops 1.4e-4 before the optimum; with the same features
# calibrator.cal_ = LogisticRegression(C=inf, fit_intercept=False, tol=1e-12, max_iter=10000)
# calibrator.cal_.fit(calibrator._get_logits(SCORES).astype(float), LABELS)
# calibrator.predict_proba(GRID)[:, 1]
PROBMETRICS = [
    0.056706679191, 0.105055448242, 0.124701669046, 0.221642610743, 0.290794457973, 0.381192515328,
    0.507344405594, 0.652348779673, 0.666242233371, 0.768779461900, 0.884779333128, 0.980934020098,
]  # fmt: skip


def rows(n=500, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    z = log_odds(scores, "probability")
    return scores, rng.random(n) < sigmoid(0.3 + 0.7 * z + 0.1 * z**2)


def positive(calibrator, scores):
    return calibrator.predict_proba(scores)[:, 1]


def test_predictions_equal_those_of_probmetrics_when_it_has_converged():
    calibrator = QuadraticCalibrator().fit(SCORES, LABELS)
    np.testing.assert_allclose(positive(calibrator, GRID), PROBMETRICS, atol=1e-6)


def test_no_other_parabola_is_more_likely():
    scores, y = rows()
    fitted = QuadraticCalibrator().fit(scores, y).map_
    z = log_odds(scores, "probability")

    def loss(a, b, c):
        return log_loss(y, sigmoid(a * z**2 + b * z + c))

    best = loss(fitted.a, fitted.b, fitted.c)
    for step in np.eye(3) * 1e-3:
        for sign in (-1, 1):
            assert loss(*(np.array([fitted.a, fitted.b, fitted.c]) + sign * step)) > best


def test_it_finds_the_parameters_of_many_rows():
    fitted = QuadraticCalibrator().fit(*rows(60_000)).map_
    np.testing.assert_allclose([fitted.a, fitted.b, fitted.c], [0.1, 0.7, 0.3], atol=0.03)


def test_rows_that_are_compressed_give_what_the_rows_themselves_give(monkeypatch):
    scores, y = rows(70_000)
    quick = positive(QuadraticCalibrator().fit(scores, y), scores)
    monkeypatch.setattr("trueodds.numerics.saturated.COMPRESS_FROM", np.inf)
    exact = positive(QuadraticCalibrator().fit(scores, y), scores)
    assert not np.array_equal(quick, exact)
    np.testing.assert_allclose(quick, exact, atol=1e-9)


def test_the_curve_ends_with_the_scores_that_were_seen():
    scores, y = rows()
    kept = (scores > 0.1) & (scores < 0.8)
    calibrator = QuadraticCalibrator().fit(scores[kept], y[kept])
    ends = scores[kept].min(), scores[kept].max()
    np.testing.assert_array_equal(positive(calibrator, [0.0, 1.0]), positive(calibrator, ends))


@pytest.mark.parametrize(("end", "frequency"), [(1.0, 0.99), (0.0, 0.01)])
def test_saturated_scores_get_their_frequency_where_the_curve_reaches_it(end, frequency):
    scores, y = rows(1000)
    if end == 0:
        scores, y = 1 - scores, ~y
    inner = (scores > 0.15) & (scores < 0.85)
    labels = np.concatenate([y[inner], np.arange(200) < 200 * frequency])
    alone = QuadraticCalibrator().fit(scores[inner], y[inner]).map_
    fitted = QuadraticCalibrator().fit(np.append(scores[inner], np.full(200, end)), labels).map_
    assert (fitted.a, fitted.b, fitted.c) == (alone.a, alone.b, alone.c)
    np.testing.assert_allclose(fitted([end]), (200 * frequency + 1) / 202)


def test_saturated_scores_stand_at_the_last_other_score_if_the_curve_does_not_reach_them():
    scores, y = rows(1000)
    inner = (scores > 0.2) & (scores < 0.9)
    labels = np.concatenate([y[inner], np.arange(200) % 2])
    fitted = QuadraticCalibrator().fit(np.append(scores[inner], np.ones(200)), labels).map_
    moved = np.append(scores[inner], np.full(200, scores[inner].max()))
    expected = QuadraticCalibrator().fit(moved, labels).map_
    np.testing.assert_allclose([fitted.a, fitted.b], [expected.a, expected.b])
    np.testing.assert_allclose(fitted.upper, expected.upper)


def test_nothing_but_zeros_and_ones_gives_their_frequencies():
    calibrator = QuadraticCalibrator().fit([0, 0, 0, 1, 1, 1, 1], [0, 0, 1, 0, 1, 1, 1])
    np.testing.assert_allclose(positive(calibrator, [0, 1]), [2 / 5, 4 / 6])


def test_two_distinct_scores_are_a_logistic_fit():
    scores, y = np.repeat([0.2, 0.7], 10), np.tile([0, 1, 1, 1, 0], 4)
    y[10:14] = 1
    quadratic = QuadraticCalibrator().fit(scores, y)
    assert quadratic.map_.a == 0
    logistic = LogisticCalibrator(label_smoothing=None).fit(scores, y)
    np.testing.assert_allclose(positive(quadratic, scores), positive(logistic, scores), atol=1e-9)


def test_positives_in_an_interval_are_separable():
    with pytest.warns(SeparableScoresWarning):
        p = positive(QuadraticCalibrator().fit([0.1, 0.4, 0.5, 0.9], [0, 1, 1, 0]), [0.1, 0.45])
    assert 0 < p[0] < 0.5 < p[1] < 1


def test_inverted_scores_warn():
    scores, y = rows()
    with pytest.warns(NonMonotoneWarning, match="Check which class is positive"):
        QuadraticCalibrator().fit(scores, ~y)


@pytest.mark.parametrize("size", [1e-140, 1e-8, 1e8, 1e140])
def test_margins_of_any_size_give_the_same_probabilities(size):
    scores, y = rows()
    z = log_odds(scores, "probability")
    ordinary = positive(QuadraticCalibrator(scale="raw").fit(z, y), z)
    other = positive(QuadraticCalibrator(scale="raw").fit(size * z, y), size * z)
    np.testing.assert_allclose(other, ordinary, atol=1e-7)


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_margins_that_have_no_square_are_calibrated_without_it(size):
    scores, y = rows()
    z = size * log_odds(scores, "probability")
    logistic = LogisticCalibrator(scale="raw", label_smoothing=None).fit(z, y)
    quadratic = QuadraticCalibrator(scale="raw").fit(z, y)
    np.testing.assert_allclose(positive(quadratic, z), positive(logistic, z), atol=1e-7)
