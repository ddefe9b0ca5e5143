"""Weights against sums over rows that are written out."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueodds import ScoreTable
from trueodds.exceptions import InputError
from trueodds.inputs import Weights

ROWS = st.lists(st.tuples(st.floats(1e-3, 1e3), st.integers(1, 5)), min_size=2, max_size=20).filter(
    lambda rows: len({importance for importance, _ in rows}) > 1
)


def columns(rows):
    return tuple(np.array(column, dtype=float) for column in zip(*rows, strict=True))


@given(ROWS)
def test_sums_are_those_of_the_rows_written_out(rows):
    w, k = columns(rows)
    weights = Weights(w, k)
    every = np.repeat(w, k.astype(int))
    assert weights.values.sum() == pytest.approx(every.sum())
    assert weights.squares.sum() == pytest.approx((every**2).sum())
    assert weights.effective == pytest.approx(every.sum() ** 2 / (every**2).sum())
    assert weights.row_counts.sum() == len(every)
    counted = weights.in_counts()
    assert counted.importance is None
    assert counted.values.sum() == pytest.approx(weights.effective)
    np.testing.assert_allclose(counted.values / counted.values[0], w * k / (w[0] * k[0]))


@given(ROWS)
def test_the_variance_of_a_weighted_mean_is_the_sum_of_squares(rows):
    """Var(Σwx/Σw) of independent x of variance 1, against its definition."""
    w, k = columns(rows)
    every = np.repeat(w, k.astype(int))
    weights = Weights.read(w, k, len(w))
    expected = ((every / every.sum()) ** 2).sum()
    assert weights.squares.sum() / weights.values.sum() ** 2 == pytest.approx(expected)


@given(ROWS, st.sampled_from([2.0**-900, 1e-6, 3.0, 1e6, 2.0**900]))
def test_importances_are_read_without_their_scale(rows, factor):
    w, k = columns(rows)
    read, again = Weights.read(w, k, len(w)), Weights.read(w * factor, k, len(w))
    assert read.values.sum() == pytest.approx(read.effective)
    rtol = 0 if np.log2(factor) % 1 == 0 else 1e-12
    np.testing.assert_allclose(again.importance, read.importance, rtol=rtol)
    np.testing.assert_array_equal(Weights.read(read, None, len(w)).values, read.scaled().values)


@given(ROWS)
def test_counts_alone_are_rows(rows):
    _, k = columns(rows)
    weights = Weights.read(None, k, len(k))
    assert weights.effective == k.sum()
    for each in (weights.values, weights.squares, weights.row_counts, weights.in_counts().values):
        np.testing.assert_array_equal(each, k)


@pytest.mark.parametrize("importance", [1.0, 0.1, 3.0, 1e-300, 1e300])
def test_equal_importances_are_none(importance):
    assert Weights.read(np.full(5, importance), None, 5) is None
    counted = Weights.read(np.full(3, importance), [1, 4, 0], 3)
    assert counted.importance is None
    assert counted.values.tolist() == [1, 4, 0]
    # Those of rows that do not occur do not matter.
    assert Weights.read([importance, importance, 7.0], [1, 4, 0], 3).importance is None
    with_zero = Weights.read([importance, 0.0, importance], None, 3)
    assert with_zero.importance is None
    assert with_zero.values.tolist() == [1, 0, 1]


def test_neither_is_none():
    assert Weights.read(None, None, 3) is None
    assert Weights.counted(None) is None


def test_importances_of_any_size_have_finite_squares():
    weights = Weights.read([1e-300, 1e300, 2e300], None, 3)
    assert np.isfinite(weights.squares).all()
    assert weights.effective == pytest.approx(9 / 5)
    small = Weights.read([1e-308, 2e-308], None, 2)
    assert small.effective == pytest.approx(9 / 5)


def test_a_row_of_importance_zero_is_no_row():
    weights = Weights.read([2.0, 0.0, 1.0], [3, 3, 3], 3)
    assert weights.row_counts.tolist() == [3, 0, 3]
    with pytest.raises(InputError, match="zero in all rows of positive counts"):
        Weights.read([1.0, 0.0], [0, 3], 2)


def test_some_rows_and_parts_of_counts():
    weights = Weights(np.array([1.0, 2.0, 3.0]), np.array([10.0, 20.0, 30.0]))
    taken = weights.take([2, 0])
    assert (taken.importance.tolist(), taken.count.tolist()) == ([3, 1], [30, 10])
    half = weights.share(np.array([5, 20, 0]), np.array([10, 20, 30]))
    assert half.importance is weights.importance
    assert half.count.tolist() == [5, 20, 0]
    one_each = Weights(np.array([1.0, 2.0])).share(np.array([1, 0]), np.array([1, 1]))
    assert one_each.values.tolist() == [1, 0]


def test_a_table_is_worth_what_its_rows_are():
    rng = np.random.default_rng(0)
    w, k = rng.lognormal(size=50), rng.integers(1, 5, 50)
    scores, y = rng.random(50).round(1), rng.integers(0, 2, 50)
    table = ScoreTable.from_arrays(scores, y, w, counts=k)
    weights = Weights.read(w, k, 50)
    assert table.effective == pytest.approx(weights.effective)
    assert table.in_counts().total == pytest.approx(weights.in_counts().values.sum())
