"""ENIR with the criterion of the authors' program equals that program."""

import numpy as np
import pytest

from support.naive_isotonic import FIXTURE_SETS, read_columns
from trueodds import ENIRCalibrator, IsotonicCalibrator
from trueodds.exceptions import InputError
from trueodds_studies.papers.enir.authors import AuthorsENIR, groups_cut_by_label


@pytest.mark.parametrize("name", FIXTURE_SETS)
def test_predictions_equal_those_of_the_authors_program(name, fixtures):
    train = read_columns(fixtures, "data", f"{name}_train.csv")
    expected = read_columns(fixtures, "enir", f"{name}_pred_variants.csv")
    fitted = AuthorsENIR().fit(train["score"], train["label"])
    found = fitted.predict_proba(expected["score"])[:, 1]
    np.testing.assert_allclose(found, expected["enir_allbreaks_dedup"], rtol=0, atol=5e-6)


@pytest.mark.parametrize("name", ["n50", "ties1000"])  # the sets that the program does not thin
def test_models_equal_those_of_the_authors_program(name, fixtures):
    train = read_columns(fixtures, "data", f"{name}_train.csv")
    expected = read_columns(fixtures, "enir", f"{name}_models.csv")
    fitted = AuthorsENIR().fit(train["score"], train["label"])
    np.testing.assert_allclose(fitted.lambdas_, expected["lambda"], rtol=1e-12)
    np.testing.assert_array_equal(fitted.n_bins_, expected["n_bins"])
    relative = fitted.weights_ / fitted.weights_.max()
    np.testing.assert_allclose(relative, expected["rel_lik"], rtol=1e-4)


def calibrated(n):
    rng = np.random.default_rng(0)
    scores = rng.random(n)
    return scores, rng.random(n) < scores


def test_a_further_penalty_for_each_bin_leaves_fewer_of_them():
    scores, y = calibrated(300)
    paper, program = ENIRCalibrator().fit(scores, y), AuthorsENIR().fit(scores, y)
    assert program.weights_ @ program.n_bins_ < paper.weights_ @ paper.n_bins_


def test_thinning_keeps_so_many_models_and_isotonic_regression_among_them():
    scores, y = calibrated(2000)
    everything = AuthorsENIR().fit(scores, y)
    thinned = AuthorsENIR(max_models=10).fit(scores, y)
    assert len(thinned.weights_) == 10
    assert set(thinned.lambdas_) <= set(everything.lambdas_)
    assert thinned.lambdas_[-1] == everything.lambdas_[-1]
    alone = AuthorsENIR(max_models=1, smoothing=None).fit(scores, y)
    isotonic = IsotonicCalibrator().fit(scores, y)
    np.testing.assert_allclose(alone.map_(scores), isotonic.map_(scores), atol=1e-10)


@pytest.mark.parametrize("wrong", [0, 2.5])
def test_a_number_of_models_that_makes_no_sense_is_refused(wrong):
    with pytest.raises(InputError, match="max_models must be None or an integer of at least 1"):
        AuthorsENIR(max_models=wrong).fit([0.1, 0.9], [0, 1])


def test_a_calibrated_constant_is_punished_if_ties_are_cut_by_label():
    y = np.repeat([1, 0], [30, 70])
    assert [y[rows].mean() for rows in groups_cut_by_label(y, np.full(100, 0.3), 10)] == [0] * 7 + [
        1
    ] * 3


@pytest.mark.parametrize("n", [10, 37, 100])
def test_groups_are_those_of_sorted_rows(n):
    rng = np.random.default_rng(n)
    p, y = rng.integers(0, 5, n) / 4, rng.integers(0, 2, n)
    rows = sorted(zip(p, y, strict=True))
    for group, found in enumerate(groups_cut_by_label(y, p, 10)):
        part, rows = rows[: len(found)], rows[len(found) :]
        assert len(part) == n // 10 + (group < n % 10)
        assert list(zip(p[found], y[found], strict=True)) == part
