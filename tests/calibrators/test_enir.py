"""ENIR against a slow twin, the authors' program, isotonic regression and the truth."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.special import expit, logit
from sklearn.metrics import roc_auc_score

from support.naive_isotonic import FIXTURE_SETS, naive_enir, read_columns
from trueodds.calibrators import all_calibrators
from trueodds.calibrators._enir import ENIRCalibrator, model_scores, near_isotonic_path
from trueodds.calibrators._isotonic import IsotonicCalibrator
from trueodds.exceptions import InputError
from trueodds.maps import PiecewiseLinearMap
from trueodds.table import ScoreTable

CRITERIA = ("bic", "aic", "aicc")
ROWS = st.lists(
    st.tuples(st.integers(0, 30), st.integers(0, 1), st.integers(1, 4)), min_size=2, max_size=80
).filter(lambda rows: len({label for _, label, _ in rows}) == 2)


def columns(rows):
    return (np.array(column, dtype=float) for column in zip(*rows, strict=True))


def models_of(path):
    """Every model as the paper has it, λ = 0 left out unless alone."""
    chosen = path.lambdas[1:] if len(path.lambdas) > 1 else path.lambdas
    return [(lam, path.at(lam)) for lam in chosen]


def sample(seed, n, truth):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    return scores, rng.random(n) < truth(scores)


@pytest.mark.parametrize("name", FIXTURE_SETS)
def test_with_the_authors_rounding_imitated_nothing_is_left_of_the_difference(name, fixtures):
    train = read_columns(fixtures, "data", f"{name}_train.csv")
    expected = read_columns(fixtures, "enir", f"{name}_pred_variants.csv")
    table = ScoreTable.from_arrays(train["score"], train["label"])
    models = models_of(near_isotonic_path(table))
    values, _ = naive_enir(models, table.score, table.n_pos, table.n_neg, decimals=6)
    found = np.interp(expected["score"], table.score, values)
    np.testing.assert_allclose(found, expected["enir_allbreaks_dedup"], rtol=0, atol=1e-10)


def naive_twin(fitted, **options):
    table = fitted.path_.table
    counts = (table.score, table.n_pos, table.n_neg)
    return naive_enir(models_of(fitted.path_), *counts, criterion=fitted.criterion, **options)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(ROWS, st.sampled_from(CRITERIA), st.sampled_from(["authors", None]))
def test_the_one_map_equals_the_average_over_all_models(rows, criterion, smoothing):
    scores, y, weight = columns(rows)
    scores /= 30
    fitted = ENIRCalibrator(criterion=criterion, smoothing=smoothing).fit(scores, y, weight)
    table = fitted.path_.table
    expected, weights = naive_twin(fitted, smoothing=smoothing is not None)
    np.testing.assert_allclose(fitted.map_(table.score), expected, rtol=0, atol=1e-13)
    np.testing.assert_allclose(fitted.weights_, weights, rtol=1e-9, atol=1e-15)


@pytest.mark.slow
@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("truth", [lambda s: s, lambda s: 0.5 + 0.45 * np.sin(12 * s)])
@pytest.mark.parametrize("label_smoothing", [None, "platt"])
def test_models_left_out_by_the_bound_do_not_matter(criterion, truth, label_smoothing):
    scores, y = sample(0, 3000, truth)
    fitted = ENIRCalibrator(criterion=criterion, label_smoothing=label_smoothing).fit(scores, y)
    table = fitted.path_.table
    expected, weights = naive_twin(fitted)
    left_out = fitted.weights_ == 0
    assert left_out.any()
    assert weights[left_out].max() < 1e-16
    np.testing.assert_allclose(fitted.map_(table.score), expected, rtol=0, atol=1e-12)


def test_the_default_is_the_criterion_of_the_paper():
    scores, y = sample(0, 300, lambda s: s)
    default = ENIRCalibrator().fit(scores, y)
    paper = ENIRCalibrator(criterion="bic").fit(scores, y)
    np.testing.assert_array_equal(default.weights_, paper.weights_)


@pytest.mark.parametrize("penalty", [-3.0, 0.0, 0.01, 2.0, 12.0])
def test_scores_equal_likelihood_minus_penalty_for_any_penalty(penalty):
    scores, y = sample(1, 1500, lambda s: 0.2 + 0.6 * s)
    table = ScoreTable.from_arrays(scores, y)
    path = near_isotonic_path(table)
    models = np.arange(1, len(path.lambdas))
    found = model_scores(path, models, path.n_bins[models] * penalty / 2)
    assert np.isfinite(found).any()
    for index, (_, values) in enumerate(models_of(path)):
        likelihood = np.log(np.where(table.n_pos > 0, values, 1 - values)).sum()
        expected = likelihood - penalty / 2 * path.n_bins[index + 1]
        if np.isfinite(found[index]):
            assert math.isclose(found[index], expected, rel_tol=1e-11)
        else:
            assert expected < found.max() - 36.99


MONOTONE_TRUTHS = {
    "identity": lambda s: s,
    "logistic": lambda s: expit(12 * s - 4),
    "over-confident": lambda s: expit(logit(s) / 2.5),
    "two levels": lambda s: 0.2 + 0.6 * (s > 0.5),
    "constant": lambda s: 0 * s + 0.3,
    "rare": lambda s: 0.02 * np.exp(3 * (s - 1)),
    # Scores so far off that the authors' smoothing costs up to 0.0022: see the second test.
    "far off": lambda s: 0.1 * s**3,
}


def excess_over_isotonic(truth, seed, **options):
    scores, y = sample(seed, 4000, truth)

    def error(calibrator):
        return np.sqrt(np.mean((calibrator.fit(scores, y).map_(scores) - truth(scores)) ** 2))

    return error(ENIRCalibrator(**options)) - error(IsotonicCalibrator())


@pytest.mark.parametrize("name", [name for name in MONOTONE_TRUTHS if name != "far off"])
def test_hardly_worse_than_isotonic_regression_where_that_is_right(name):
    worst = max(excess_over_isotonic(MONOTONE_TRUTHS[name], seed) for seed in range(20))
    assert worst <= 0.002


@pytest.mark.parametrize("name", MONOTONE_TRUTHS)
def test_without_smoothing_never_worse_than_isotonic_regression_to_speak_of(name):
    """Measured: 0.0008."""
    truth = MONOTONE_TRUTHS[name]
    worst = max(excess_over_isotonic(truth, seed, smoothing=None) for seed in range(20))
    assert worst <= 0.001


@pytest.mark.parametrize("seed", range(5))
def test_much_better_than_isotonic_regression_where_the_order_is_wrong(seed):
    def truth(s):
        return 0.9 * np.abs(2 * s - 1)

    scores, y = sample(seed, 4000, truth)
    fresh, labels = sample(seed + 100, 4000, truth)
    enir = ENIRCalibrator().fit(scores, y).map_(fresh)
    isotonic = IsotonicCalibrator().fit(scores, y).map_(fresh)
    assert roc_auc_score(labels, enir) > roc_auc_score(labels, isotonic) + 0.12
    assert np.sqrt(np.mean((enir - truth(fresh)) ** 2)) < 0.1


def concordance(n_neg, n_pos, forecast):
    """N₊·N₋·AUC: pairs in the right order, ties as half; rounding does not decide what is a tie."""
    gap = np.subtract.outer(forecast, forecast)
    return n_pos @ (0.5 + 0.5 * np.sign(np.where(np.abs(gap) < 1e-11, 0.0, gap))) @ n_neg


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), min_size=2, max_size=12).filter(
        lambda cells: all(map(sum, cells)) and all(map(sum, zip(*cells, strict=True)))
    ),
    st.lists(st.floats(0, 1), min_size=1, max_size=6),
    st.randoms(use_true_random=False),
)
@settings(max_examples=300, deadline=None)
def test_no_mixture_along_the_path_ranks_the_training_rows_worse_than_isotonic_regression(
    cells, places, random
):
    # The theorem of docs/evidence/open-questions.md.
    n_neg, n_pos = np.array(cells, dtype=float).T
    scores = np.arange(len(cells), dtype=float)
    path = near_isotonic_path(ScoreTable(scores, n_neg, n_pos))
    lambdas = np.unique(np.append(np.array(places) * path.lambdas[-1], path.lambdas))
    along = [path.at(lam) for lam in lambdas]
    rank = [concordance(n_neg, n_pos, forecast) for forecast in along]
    assert (np.diff(rank) <= 1e-9).all()
    isotonic = concordance(n_neg, n_pos, path.at(np.inf))
    assert isotonic >= concordance(n_neg, n_pos, scores) - 1e-9
    chosen = [k for k in range(len(along)) if random.random() < 0.5] or [0]
    mixture = sum(random.uniform(0.1, 1) * along[k] for k in chosen)
    assert concordance(n_neg, n_pos, mixture) >= isotonic - 1e-9


@given(ROWS)
@settings(max_examples=100, deadline=None)
def test_without_smoothing_the_auc_of_the_training_rows_is_at_least_isotonic_regressions(rows):
    scores, y, weight = columns(rows)
    scores = scores / 30

    def auc(forecast):
        return roc_auc_score(y, forecast.round(12), sample_weight=weight)

    isotonic, enir = (
        auc(method.fit(scores, y, sample_weight=weight).map_(scores))
        for method in (IsotonicCalibrator(), ENIRCalibrator(smoothing=None))
    )
    assert enir >= isotonic - 1e-12
    assert isotonic >= auc(scores) - 1e-12


@pytest.mark.parametrize(
    ("scores", "y"),
    [
        ([0.2, 0.7], [0, 1]),
        ([0.2, 0.7], [1, 0]),
        ([0.5, 0.5], [0, 1]),
        ([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]),
        ([0.1, 0.2, 0.8, 0.9], [1, 1, 0, 0]),
        ([0.3] * 50, [0, 1] * 25),
        ([0.0, 1.0] * 30, [0, 1, 1] * 20),
        ([0.0, 1.0, 0.5], [1, 0, 0]),
    ],
)
@pytest.mark.parametrize("smoothing", ["authors", None])
def test_easy_data_give_probabilities_where_the_authors_program_crashes(scores, y, smoothing):
    fitted = ENIRCalibrator(smoothing=smoothing).fit(scores, y)
    p = fitted.predict_proba(np.linspace(0, 1, 11))
    assert np.isfinite(p).all()
    assert p.min() >= 0
    assert p.max() <= 1
    assert math.isclose(fitted.weights_.sum(), 1)


def test_a_single_model_is_isotonic_regression():
    scores, y = [0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1]
    fitted = ENIRCalibrator(smoothing=None).fit(scores, y)
    assert fitted.lambdas_.tolist() == [0]
    np.testing.assert_array_equal(fitted.map_(scores), y)


def test_one_class_in_weight_is_refused():
    with pytest.raises(InputError, match="one class only"):
        ENIRCalibrator().fit([0.1, 0.5, 0.9], [0, 1, 0], sample_weight=[1, 0, 1])


def test_margins_and_log_odds_give_the_values_of_their_logistic_function_at_the_scores():
    rng = np.random.default_rng(0)
    margins = rng.normal(0, 2, 800)
    y = rng.random(800) < expit(np.sin(margins) * 3)
    p = ENIRCalibrator().fit(expit(margins), y).map_(expit(margins))
    for scale in ("logit", "raw"):
        found = ENIRCalibrator(scale=scale).fit(margins, y).map_(margins)
        np.testing.assert_allclose(found, p, rtol=0, atol=1e-12)


def test_infinite_log_odds_are_ordinary_scores():
    logits = np.array([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf] * 20)
    y = np.arange(120) % 7 > 2
    finite = np.clip(logits, -50, 50)
    infinite = ENIRCalibrator(scale="logit").fit(logits, y).map_(logits)
    np.testing.assert_allclose(
        infinite, ENIRCalibrator(scale="logit").fit(finite, y).map_(finite), atol=1e-12
    )


def test_three_classes_are_calibrated_one_against_the_rest():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 900)
    y = (p.cumsum(axis=1) > rng.random((900, 1))).argmax(axis=1)
    fitted = ENIRCalibrator().fit(p, y)
    np.testing.assert_allclose(fitted.predict_proba(p).sum(axis=1), 1)
    assert not hasattr(fitted, "path_")
    alone = ENIRCalibrator().fit(p[:, 1], y == 1)
    assert fitted.map_.maps[1].to_dict()["parameters"] == alone.map_.to_dict()["parameters"]


def test_the_map_has_no_more_knots_than_the_first_model_that_matters_needs():
    scores, y = sample(0, 20000, lambda s: s)
    fitted = ENIRCalibrator().fit(scores, y)
    first = fitted.n_bins_[np.flatnonzero(fitted.weights_)[0]]
    assert isinstance(fitted.map_, PiecewiseLinearMap)
    assert len(fitted.map_.x) <= 2 * first


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"criterion": "BIC"}, "criterion must be one of 'bic', 'aic', 'aicc'"),
        ({"criterion": "bic-authors"}, "in trueodds-studies: .*AuthorsENIR"),
        ({"max_models": 10}, "max_models of ENIRCalibrator is in trueodds-studies"),
        ({"smoothing": "yes"}, "smoothing must be one of 'authors', None"),
    ],
)
def test_options_that_make_no_sense_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        ENIRCalibrator(**options).fit([0.1, 0.9], [0, 1])


def test_discovery_finds_it():
    assert all_calibrators()["enir"] is ENIRCalibrator
