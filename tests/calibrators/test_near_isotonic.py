"""The near-isotonic path against exact fractions, quadratic programming and isotonic regression."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy.optimize import isotonic_regression

from support.naive_isotonic import FIXTURE_SETS, naive_path, quadratic_program, read_columns, runs
from trueodds.calibrators._enir import near_isotonic_path
from trueodds.exceptions import InputError
from trueodds.table import ScoreTable

COUNTS = st.lists(
    st.tuples(st.integers(0, 6), st.integers(0, 6)).filter(any), min_size=1, max_size=25
)
LABELS = st.lists(st.integers(0, 1), min_size=1, max_size=60)
# The solver stops at a change of 1e-15 in its objective, of which the values are a square root.
SOLVER = 1e-5
WEIGHTS = st.lists(st.tuples(st.floats(0.01, 50), st.floats(0, 1)), min_size=1, max_size=18)


def table_of(n_pos, n_neg):
    return ScoreTable(np.arange(len(n_pos)) / len(n_pos), np.array(n_neg), np.array(n_pos))


def path_of(rows):
    weight, frequency = (np.array(column) for column in zip(*rows, strict=True))
    n_pos = weight * frequency
    return n_pos, weight, near_isotonic_path(table_of(n_pos, weight - n_pos))


def random_table(seed, n, *, levels=None):
    rng = np.random.default_rng(seed)
    scores = rng.random(n)
    y = rng.random(n) < 0.5 + 0.4 * np.sin(9 * scores)
    if levels:
        scores = np.round(scores * levels) / levels
    return ScoreTable.from_arrays(scores, y, pos_label=True)


def assert_path_is_exact(path, models):
    np.testing.assert_array_equal(path.lambdas, [float(lam) for lam, _ in models])
    assert path.n_bins.tolist() == [len(runs(np.array(v, dtype=float))) for _, v in models]
    for lam, values in models:
        np.testing.assert_allclose(path.at(float(lam)), np.array(values, dtype=float), atol=1e-14)


@settings(max_examples=150, deadline=None)
@given(COUNTS)
def test_breakpoints_bins_and_values_equal_exact_fractions_on_tied_counts(counts):
    n_pos, n_neg = (np.array(column, dtype=float) for column in zip(*counts, strict=True))
    assert_path_is_exact(near_isotonic_path(table_of(n_pos, n_neg)), naive_path(n_pos, n_neg))


@settings(max_examples=150, deadline=None)
@given(LABELS)
def test_breakpoints_bins_and_values_equal_exact_fractions_on_single_labels(labels):
    n_pos = np.array(labels, dtype=float)
    path = near_isotonic_path(table_of(n_pos, 1 - n_pos))
    assert_path_is_exact(path, naive_path(n_pos, 1 - n_pos))


def test_a_long_path_in_many_rounds_equals_exact_fractions():
    table = random_table(3, 700)
    path = near_isotonic_path(table)
    assert_path_is_exact(path, naive_path(table.n_pos, table.n_neg))


@settings(max_examples=100, deadline=None)
@given(WEIGHTS, st.floats(0.001, 3))
def test_any_point_of_the_path_solves_the_quadratic_program(rows, share):
    n_pos, weight, path = path_of(rows)
    lam = share * max(path.lambdas[-1], 0.01)
    expected = quadratic_program(n_pos / weight, weight, lam)
    np.testing.assert_allclose(path.at(lam), expected, atol=SOLVER)


@settings(max_examples=100, deadline=None)
@given(COUNTS, st.floats(0.001, 1))
def test_any_point_of_the_path_solves_the_quadratic_program_with_tied_counts(counts, share):
    n_pos, n_neg = (np.array(column, dtype=float) for column in zip(*counts, strict=True))
    path = near_isotonic_path(table_of(n_pos, n_neg))
    lam = share * path.lambdas[-1]
    expected = quadratic_program(n_pos / (n_pos + n_neg), n_pos + n_neg, lam)
    np.testing.assert_allclose(path.at(lam), expected, atol=SOLVER)


@settings(max_examples=200, deadline=None)
@given(WEIGHTS, st.floats(0, 1.5))
def test_any_point_of_the_path_meets_the_conditions_of_optimality(rows, share):
    n_pos, weight, path = path_of(rows)
    lam = share * path.lambdas[-1]
    values = path.at(lam)
    # θ, the dual variable of each boundary: λ where the values fall, 0 where they rise.
    theta = np.cumsum(n_pos - weight * values)
    rounding = 1e-12 * weight.sum()
    assert abs(theta[-1]) <= rounding
    falls, rises = values[:-1] > values[1:], values[:-1] < values[1:]
    assert (np.abs(theta[:-1][falls] - lam) <= rounding).all()
    assert (np.abs(theta[:-1][rises]) <= rounding).all()
    assert (theta >= -rounding).all()
    assert (theta <= lam + rounding).all()


@pytest.mark.parametrize("levels", [None, 37])
@pytest.mark.parametrize("n", [1, 2, 5, 300, 20000])
def test_the_end_of_the_path_is_isotonic_regression(n, levels):
    table = random_table(n, n, levels=levels)
    path = near_isotonic_path(table)
    expected = isotonic_regression(table.n_pos / table.weight, weights=table.weight).x
    np.testing.assert_allclose(path.at(path.lambdas[-1]), expected, atol=1e-10)
    np.testing.assert_allclose(path.at(np.inf), expected, atol=1e-10)


def test_the_path_is_linear_between_breakpoints():
    path = near_isotonic_path(random_table(0, 200))
    assert len(path.lambdas) > 20
    for low, high in zip(path.lambdas[:-1], path.lambdas[1:], strict=True):
        middle = (path.at(low) + path.at(high)) / 2
        np.testing.assert_allclose(path.at((low + high) / 2), middle, atol=1e-13)


def test_the_path_begins_at_the_frequencies():
    table = random_table(1, 500, levels=40)
    path = near_isotonic_path(table)
    np.testing.assert_array_equal(path.at(0), table.n_pos / table.weight)


@pytest.mark.parametrize("scale", [1e-12, 0.1, 1 / 3, 7.0, 1e9])
def test_scaling_the_weights_scales_lambda_and_nothing_else(scale):
    table = random_table(5, 3000, levels=500)
    plain = near_isotonic_path(table)
    scaled = near_isotonic_path(ScoreTable(table.score, table.n_neg * scale, table.n_pos * scale))
    np.testing.assert_array_equal(scaled.n_bins, plain.n_bins)
    np.testing.assert_allclose(scaled.lambdas, plain.lambdas * scale, rtol=1e-10)


def test_smoothed_labels_have_the_same_bins_as_plain_ones():
    table = random_table(6, 4000, levels=1000)
    plain = near_isotonic_path(table)
    smoothed = near_isotonic_path(table.smoothed("platt"))
    np.testing.assert_array_equal(smoothed.n_bins, plain.n_bins)


def test_merges_that_happen_together_are_one_breakpoint():
    path = near_isotonic_path(ScoreTable.from_arrays(np.arange(8), [1, 0] * 4))
    # All four pairs close at λ = ½, and with them the gaps between the pairs.
    np.testing.assert_array_equal(path.lambdas, [0, 0.5])
    assert path.n_bins.tolist() == [8, 1]


def test_the_merge_tree_holds_the_rows_and_sums_of_every_bin():
    table = random_table(8, 400, levels=150)
    path = near_isotonic_path(table)
    assert len(path.merge_boundary) == len(table) - path.n_bins[-1]
    for boundary, start, stop, n_pos, weight in zip(
        path.merge_boundary,
        path.merge_start,
        path.merge_stop,
        path.merge_n_pos,
        path.merge_weight,
        strict=True,
    ):
        assert start < boundary < stop
        assert n_pos == table.n_pos[start:stop].sum()
        assert weight == table.weight[start:stop].sum()


@pytest.mark.parametrize("name", FIXTURE_SETS)
def test_breakpoints_equal_those_of_the_authors_program(name, fixtures):
    train = read_columns(fixtures, "data", f"{name}_train.csv")
    expected = np.unique(
        read_columns(fixtures, "enir", f"{name}_breakpoints.csv")["lambda"].round(9)
    )
    path = near_isotonic_path(ScoreTable.from_arrays(train["score"], train["label"]))
    assert len(path.lambdas) == len(expected)
    np.testing.assert_allclose(path.lambdas, expected, atol=1e-8)


def test_a_negative_lambda_is_refused():
    path = near_isotonic_path(random_table(0, 10))
    with pytest.raises(InputError, match="must not be negative"):
        path.at(-1.0)


def test_something_other_than_a_table_is_refused():
    with pytest.raises(InputError, match=r"ScoreTable\.from_arrays"):
        near_isotonic_path([0.1, 0.2])
