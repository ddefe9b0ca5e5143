"""How many coals: shares of the weight, the rule of one standard error, and the choice."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logit

from support.grill_examples import distorted
from trueodds.calibrators._charcoal_grill import folds
from trueodds.calibrators._charcoal_grill.fit import GrillRows
from trueodds.calibrators._charcoal_grill.folds import (
    choose_n_coals,
    fold_shares,
    one_standard_error,
)
from trueodds.numerics.logistic_regression import fit_logistic

OPTIONS = {"bias": True, "fit_width": False, "lam": 1e-2}


def make_rows(n, seed, temperature):
    p, y = distorted(n, seed, temperature)
    return GrillRows(logit(p), 1.0 - y, y.astype(float), 0.5, 0.0)


def test_the_rule_of_one_standard_error_takes_the_smallest_within_it():
    losses = np.array([[0.7, 0.51, 0.50], [0.9, 0.61, 0.62], [0.8, 0.56, 0.53]])
    assert one_standard_error(losses) == 1
    assert one_standard_error(losses - [0, 0, 0.1]) == 2


def test_folds_share_out_all_weight_and_keep_single_instances_whole():
    single = fold_shares(np.ones(400), 5, 1.0, 0)
    assert set(np.unique(single)) == {0.0, 1.0}
    assert (single.sum(axis=1) > 50).all()
    counts = np.array([0.5, 700.0, 1.5])
    shares = fold_shares(counts, 3, 1.0, 0)
    np.testing.assert_allclose(shares.sum(axis=0), counts)
    assert (shares[:, 1] > 150).all()


def test_units_go_to_each_fold_with_equal_probability_and_by_themselves():
    shares = fold_shares(np.full(2000, 3.0), 4, 1.0, 0)
    np.testing.assert_array_equal(shares.sum(axis=0), 3)
    np.testing.assert_allclose(shares.mean(axis=1), 0.75, atol=0.06)
    # Of three units, all are in one fold with probability 1/16 and no two with 3/8.
    most = shares.max(axis=0)
    assert (most == 3).mean() == pytest.approx(1 / 16, abs=0.02)
    assert (most == 1).mean() == pytest.approx(3 / 8, abs=0.04)


@pytest.mark.parametrize("unit", [0.1, 7.0])
def test_shares_in_other_units_are_the_same_shares(unit):
    counts = np.random.default_rng(0).integers(0, 9, 50).astype(float)
    np.testing.assert_allclose(
        fold_shares(unit * counts, 5, unit, 3), unit * fold_shares(counts, 5, 1.0, 3), atol=1e-12
    )


def test_two_seeds_give_two_divisions():
    first, second = (fold_shares(np.ones(50), 5, 1.0, seed) for seed in (0, 1))
    assert (first != second).any()


def test_the_standard_error_is_that_of_differences_fold_by_fold():
    # Folds differ much, candidates little but always by the same: the difference is no chance.
    folds = np.array([[0.1], [0.9], [0.5], [0.3]])
    steady = folds + [0.02, 0.01, 0.0]
    assert one_standard_error(steady) == 2
    assert one_standard_error(steady[:, ::-1]) == 0
    difference = np.array([-0.03, 0.05, -0.01, 0.02])  # mean 0.0075, error 0.0175
    assert one_standard_error(np.column_stack([folds[:, 0] + difference, folds])) == 0
    assert one_standard_error(np.column_stack([folds[:, 0] + difference + 0.02, folds])) == 1


def test_one_coal_is_chosen_where_one_is_enough_and_two_where_not():
    assert choose_n_coals(make_rows(200, 0, 1.0), 2, unit=1.0, **OPTIONS) == 1
    assert choose_n_coals(make_rows(400, 0, 8.0), 2, unit=1.0, **OPTIONS) == 2


@pytest.fixture
def judged(monkeypatch):
    """The losses that each choice was made by."""
    seen = []

    def spy(losses):
        seen.append(losses)
        return one_standard_error(losses)

    monkeypatch.setattr(folds, "one_standard_error", spy)
    return seen


@pytest.mark.parametrize("bias", [True, False])
def test_one_coal_is_judged_on_instances_that_it_was_not_fitted_to(bias, judged):
    data = make_rows(150, 2, 3.0)
    choose_n_coals(data, 1, unit=1.0, bias=bias, fit_width=False, lam=1e-2)
    z, n_neg, n_pos = (each[np.argsort(data.z)] for each in (data.z, data.n_neg, data.n_pos))
    shares = fold_shares(n_neg, 5, 1.0, 0), fold_shares(n_pos, 5, 1.0, 1)
    assert len(judged[0]) == 5
    for (found,), neg, pos in zip(judged[0], *shares, strict=True):
        weight = n_neg + n_pos - neg - pos
        line = fit_logistic([z], n_pos - pos, weight, intercept=bias)
        eta = line.coef[0] * z + line.intercept
        loss = neg @ np.logaddexp(0, eta) + pos @ np.logaddexp(0, -eta)
        assert found == pytest.approx(loss / (neg + pos).sum(), rel=1e-9)


def test_the_order_of_rows_does_not_matter(judged):
    data = make_rows(150, 2, 3.0)
    order = np.random.default_rng(0).permutation(150)
    for each in (data, data.take(order)):
        choose_n_coals(each, 2, unit=1.0, **OPTIONS)
    np.testing.assert_allclose(judged[0], judged[1], rtol=1e-9)


def test_scores_that_fall_in_every_fold_leave_one_coal():
    data = make_rows(300, 0, 1.0)
    assert choose_n_coals(replace(data, z=-data.z), 3, unit=1.0, **OPTIONS) == 1
