"""ScoreTable settles ties, weights, duplicates and input order."""

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, strategies as st

from trueodds import ScoreTable
from trueodds.exceptions import InputError

rows = st.lists(
    st.tuples(st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0]), st.booleans(), st.integers(1, 5)),
    min_size=1,
    max_size=40,
)


def naive_table(scores, y, weights):
    table = {}
    for s, label, w in zip(scores, y, weights, strict=True):
        neg, pos = table.get(s, (0.0, 0.0))
        table[s] = (neg, pos + w) if label else (neg + w, pos)
    keys = sorted(table)
    return keys, [table[k][0] for k in keys], [table[k][1] for k in keys]


@given(rows)
def test_it_counts_like_a_dictionary(data):
    s, y, w = (list(column) for column in zip(*data, strict=True))
    table = ScoreTable.from_arrays(s, y, w, pos_label=True)
    score, n_neg, n_pos = naive_table(s, y, w)
    assert table.score.tolist() == score
    np.testing.assert_allclose(table.n_neg, n_neg)
    np.testing.assert_allclose(table.n_pos, n_pos)
    assert table.total == pytest.approx(sum(w))


@given(rows, st.integers(0, 40))
def test_tables_of_parts_add_up_to_the_table_of_the_whole(data, cut):
    s, y, w = (np.array(column) for column in zip(*data, strict=True))
    cut = min(cut, len(s) - 1)
    whole = ScoreTable.from_arrays(s, y, w, pos_label=True)
    if cut == 0:
        return
    first = ScoreTable.from_arrays(s[:cut], y[:cut], w[:cut], pos_label=True)
    second = ScoreTable.from_arrays(s[cut:], y[cut:], w[cut:], pos_label=True)
    both = first + second
    np.testing.assert_array_equal(both.score, whole.score)
    np.testing.assert_allclose(both.n_neg, whole.n_neg)
    np.testing.assert_allclose(both.n_pos, whole.n_pos)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_neighboring_floats_stay_distinct(dtype):
    scores = [dtype(1e-8)]
    for _ in range(999):
        scores.append(np.nextafter(scores[-1], dtype(1)))
    table = ScoreTable.from_arrays(np.array(scores), np.arange(1000) % 2)
    assert len(table) == 1000


def test_a_table_does_not_change_with_the_arrays_that_it_was_made_of():
    columns = np.array([[0.1, 0.2, 0.3], [1.0, 2.0, 0.0], [0.0, 1.0, 4.0]])
    y = np.array([0, 1, 1])
    tables = [ScoreTable(*columns), ScoreTable.from_arrays(columns[0], y, columns[1] + 1)]
    before = [(t.score.tolist(), t.n_neg.tolist(), t.n_pos.tolist()) for t in tables]
    columns[:] = 7
    assert [(t.score.tolist(), t.n_neg.tolist(), t.n_pos.tolist()) for t in tables] == before


def test_rows_of_weight_zero_are_left_out():
    table = ScoreTable.from_arrays([0.1, 0.5, 0.9], [0, 1, 1], [1, 0, 2])
    assert table.score.tolist() == [0.1, 0.9]
    assert table.n_pos.tolist() == [0, 2]


def test_the_greater_label_is_positive_unless_said_otherwise():
    table = ScoreTable.from_arrays([0.1, 0.2], ["yes", "no"])
    assert table.n_pos.tolist() == [1, 0]
    assert ScoreTable.from_arrays([0.1, 0.2], ["yes", "no"], pos_label="no").n_pos.tolist() == [
        0,
        1,
    ]


def test_three_classes_need_a_positive_one():
    with pytest.raises(InputError, match="pos_label"):
        ScoreTable.from_arrays([0.1, 0.2, 0.3], [0, 1, 2])
    table = ScoreTable.from_arrays([0.1, 0.2, 0.3], [0, 1, 2], pos_label=2)
    assert table.n_pos.tolist() == [0, 0, 1]


def test_platt_targets_are_those_of_the_paper():
    table = ScoreTable.from_arrays([0.2, 0.4, 0.6, 0.8], [0, 0, 1, 1], counts=[3, 1, 1, 1])
    smooth = table.smoothed("platt")
    np.testing.assert_allclose(smooth.n_pos, [3 / 6, 1 / 6, 3 / 4, 3 / 4])
    np.testing.assert_allclose(smooth.weight, table.weight)
    assert isinstance(smooth, ScoreTable)


def test_more_rows_weaken_platts_correction_and_more_importance_does_not():
    scores, y = [0.2, 0.8], [0, 1]
    light = ScoreTable.from_arrays(scores, y, counts=[1, 1]).smoothed("platt")
    heavy = ScoreTable.from_arrays(scores, y, counts=[10, 10]).smoothed("platt")
    important = ScoreTable.from_arrays(scores, y, [10, 10]).smoothed("platt")
    np.testing.assert_allclose(important.n_pos / important.weight, [1 / 3, 2 / 3])
    np.testing.assert_allclose(light.n_pos / light.weight, [1 / 3, 2 / 3])
    np.testing.assert_allclose(heavy.n_pos / heavy.weight, [1 / 12, 11 / 12])


def test_a_float_smooths_by_half_of_itself_on_each_side():
    smooth = ScoreTable.from_arrays([0.2, 0.8], [0, 1]).smoothed(0.1)
    np.testing.assert_allclose(smooth.n_pos, [0.05, 0.95])


@pytest.mark.parametrize("bad", ["plat", 1.0, -0.1, True, [0.1]])
def test_other_smoothing_is_refused(bad):
    table = ScoreTable.from_arrays([0.2, 0.8], [0, 1])
    with pytest.raises(InputError, match="label_smoothing must be"):
        table.smoothed(bad)


@given(st.integers(4, 400), st.integers(3, 60), st.integers(0, 5))
def test_coarsening_moves_the_distribution_by_less_than_one_group(n, max_rows, seed):
    rng = np.random.default_rng(seed)
    table = ScoreTable.from_arrays(
        rng.random(n), np.arange(n) % 2, rng.integers(1, 6, n).astype(float)
    )
    coarse = table.coarsen(max_rows)
    assert len(coarse) <= max(max_rows, 3)
    assert coarse.total_pos == pytest.approx(table.total_pos)
    assert coarse.score[0] == table.score[0]
    assert coarse.score[-1] == table.score[-1]
    bound = table.total / (max_rows - 2) + table.weight.max()
    for point in table.score:
        for column in ("n_neg", "n_pos"):
            before = getattr(table, column)[table.score <= point].sum()
            after = getattr(coarse, column)[coarse.score <= point].sum()
            assert abs(before - after) < bound + 1e-9


def test_coarsening_keeps_infinite_ends():
    z = np.concatenate([[-np.inf], np.linspace(-3, 3, 100), [np.inf]])
    coarse = ScoreTable.from_arrays(z, np.arange(102) % 2).coarsen(10)
    assert coarse.score[[0, -1]].tolist() == [-np.inf, np.inf]
    assert np.isfinite(coarse.score[1:-1]).all()


def test_coarsening_needs_three_rows():
    with pytest.raises(InputError, match="at least 3"):
        ScoreTable.from_arrays([0.1, 0.2], [0, 1]).coarsen(2)


@pytest.mark.parametrize(
    ("score", "n_neg", "n_pos", "message"),
    [
        ([0.1, 0.1], [1, 1], [1, 1], "strictly increasing"),
        ([0.2, 0.1], [1, 1], [1, 1], "strictly increasing"),
        ([0.1, np.nan], [1, 1], [1, 1], "NaN"),
        ([0.1, 0.2], [1, -1], [1, 1], "not negative"),
        ([0.1, 0.2], [1, 0], [1, 0], "not both zero"),
        ([0.1, 0.2], [1], [1, 1], "one length"),
        ([], [], [], "at least one row"),
    ],
)
def test_impossible_columns_are_refused(score, n_neg, n_pos, message):
    with pytest.raises(InputError, match=message):
        ScoreTable(np.array(score), np.array(n_neg), np.array(n_pos))


def test_columns_are_read_only():
    table = ScoreTable.from_arrays([0.1, 0.2], [0, 1])
    with pytest.raises(ValueError, match="read-only"):
        table.score[0] = 1


@given(rows)
def test_rows_of_a_table_make_the_same_table(data):
    s, y, w = (list(column) for column in zip(*data, strict=True))
    counted = ScoreTable.from_arrays(s, y, counts=w, pos_label=True)
    again = ScoreTable.from_codes(*counted.as_rows())
    np.testing.assert_array_equal(again.score, counted.score)
    np.testing.assert_array_equal(again.columns, counted.columns)
    important = ScoreTable.from_arrays(s, y, w, pos_label=True)
    again = ScoreTable.from_codes(*important.as_rows())
    np.testing.assert_array_equal(again.score, important.score)
    np.testing.assert_allclose(again.columns, important.columns, rtol=1e-12)


def naive_squares(scores, y, weights):
    """Σw and Σw² of each score and class, row by row."""
    sums = {score: np.zeros(4) for score in sorted(set(scores))}
    for score, label, w in zip(scores, y, weights, strict=True):
        sums[score][[int(label), 2 + int(label)]] += w, w**2
    return np.array(list(sums.values())).T


@given(rows)
def test_importances_are_summed_with_their_squares(data):
    s, y, w = (np.array(column, dtype=float) for column in zip(*data, strict=True))
    table = ScoreTable.from_arrays(s, y > 0, w / 3, pos_label=True)
    assert not table.are_counts
    np.testing.assert_allclose(table.columns, naive_squares(s, y, w / 3))
    assert table.effective == pytest.approx(w.sum() ** 2 / (w**2).sum())
    counted = ScoreTable.from_arrays(s, y > 0, counts=w, pos_label=True)
    assert counted.are_counts
    assert counted.effective == counted.total == w.sum()
    np.testing.assert_allclose(counted.square_weight, counted.weight)


@given(rows)
def test_a_count_of_an_importance_is_so_many_rows_of_it(data):
    s, y, w = (np.array(column) for column in zip(*data, strict=True))
    importance = np.random.default_rng(0).lognormal(size=len(s))
    table = ScoreTable.from_arrays(s, y, importance, counts=w, pos_label=True)
    repeated = (np.repeat(column, w) for column in (s, y, importance))
    of_rows = ScoreTable.from_arrays(*repeated, pos_label=True)
    np.testing.assert_allclose(table.columns, of_rows.columns)


@given(rows, st.integers(0, 40))
def test_sums_of_squares_of_parts_add_up(data, cut):
    s, y, w = (np.array(column) for column in zip(*data, strict=True))
    cut = min(cut, len(s) - 1)
    if cut == 0:
        return
    ones = np.ones(len(s))

    def table(part, **kind):
        given = {name: value[part] for name, value in kind.items()}
        return ScoreTable.from_arrays(s[part], y[part], pos_label=True, **given)

    every, first, second = slice(None), slice(cut), slice(cut, None)
    both = table(first, sample_weight=w) + table(second, sample_weight=w)
    np.testing.assert_allclose(both.columns, table(every, sample_weight=w).columns)
    # A count is a sum of importances of one.
    mixed = table(first, counts=w) + table(second, sample_weight=w)
    w[first], times = 1, np.where(np.arange(len(s)) < cut, w, 1)
    expected = table(every, sample_weight=w * ones, counts=times)
    np.testing.assert_allclose(mixed.columns, expected.columns)
    turned = table(second, sample_weight=w) + table(first, counts=times)
    np.testing.assert_allclose(turned.columns, mixed.columns)


def important_rows(n=500):
    rng = np.random.default_rng(0)
    return rng.random(n), rng.integers(0, 2, n), rng.lognormal(size=n)


def test_a_coarse_table_keeps_the_sums_of_squares():
    table = ScoreTable.from_arrays(*important_rows())
    coarse = table.coarsen(50)
    assert len(coarse) <= 50
    np.testing.assert_allclose(np.sum(coarse.columns, axis=1), np.sum(table.columns, axis=1))
    assert coarse.effective == pytest.approx(table.effective)
    assert coarse.in_counts().total == pytest.approx(table.effective)


FRAMES = {
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "lazy polars": pl.LazyFrame,
    "duckdb": lambda columns: duckdb.from_df(pd.DataFrame(columns)),
}


@pytest.mark.parametrize("engine", FRAMES)
@pytest.mark.parametrize("kind", [("weight",), ("counts",), ("weight", "counts")])
def test_frames_are_grouped_with_their_squares(engine, kind):
    score, y, w = important_rows()
    score, k = score.round(2), np.random.default_rng(1).integers(0, 4, len(score))
    columns = {"p": score, "y": y, "weight": w, "counts": k}
    found = ScoreTable.from_frame(
        FRAMES[engine](columns), score="p", label="y", **{name: name for name in kind}
    )
    expected = ScoreTable.from_arrays(
        score, y, w if "weight" in kind else None, counts=k if "counts" in kind else None
    )
    assert found.are_counts == ("weight" not in kind)
    np.testing.assert_array_equal(found.score, expected.score)
    np.testing.assert_allclose(found.columns, expected.columns, rtol=1e-12)


def test_a_table_of_importances_does_not_change_with_the_arrays_that_it_was_made_of():
    columns = np.array([[0.1, 0.2], [1.0, 3.0], [2.0, 0.0], [1.0, 5.0], [4.0, 0.0]])
    table = ScoreTable(*columns)
    given = columns[1:].copy()
    columns[:] = 7
    np.testing.assert_array_equal(table.columns, given)
    with pytest.raises(ValueError, match="read-only"):
        table.square_neg[0] = 1


@pytest.mark.parametrize(
    ("squares", "message"),
    [
        (([1.0, 9.0], None), "together, or neither"),
        (([1.0, 9.1], [4.0, 0.0]), "sums of the squares of the importances"),
        (([0.0, 9.0], [4.0, 0.0]), "sums of the squares of the importances"),
        (([1.0, 9.0], [4.0, 1.0]), "sums of the squares of the importances"),
        (([1.0], [4.0]), "of one length"),
    ],
)
def test_impossible_squares_are_refused(squares, message):
    with pytest.raises(InputError, match=message):
        ScoreTable([0.1, 0.2], [1.0, 3.0], [2.0, 0.0], *squares)


def test_scaled_importances_sum_to_the_effective_rows():
    score, y, w = important_rows()
    table, large = (ScoreTable.from_arrays(score, y, factor * w).scaled() for factor in (1, 1e6))
    assert table.total == pytest.approx(table.effective)
    np.testing.assert_allclose(large.columns, table.columns, rtol=1e-12)
    counted = ScoreTable.from_arrays(score, y)
    assert counted.scaled() is counted


def test_class_weights_are_counted_by_class_and_others_are_not():
    score, y, w = important_rows()

    def factors(weight):
        return ScoreTable.from_arrays(score, y, weight).rows_per_weight_of_class

    neg, pos = factors(np.where(y == 1, 20.0, 1.0))
    assert (neg, pos) == (pytest.approx(1.0), pytest.approx(1 / 20))
    neg, pos = factors(np.where(y == 1, 20.0, 1.0) * (1 + 0.01 * w / w.max()))
    assert pos / neg == pytest.approx(1 / 20, rel=0.01)
    assert factors(w) is None
    assert factors(np.where(y == 1, 20.0, 1.0) * w) is None
    assert factors(np.where(y == 1, 1.1, 1.0)) is None
    assert ScoreTable.from_arrays(score, y).rows_per_weight_of_class is None


@pytest.mark.parametrize("factor", [1e200, 1e-200])
def test_importances_whose_squares_have_no_number_are_refused(factor):
    score, y, w = important_rows(50)
    with pytest.raises(InputError, match=r"squares of the weights overflow or vanish; rescale"):
        ScoreTable.from_arrays(score, y, factor * w)
    frame = pd.DataFrame({"p": score, "y": y, "w": factor * w})
    with pytest.raises(InputError, match=r"overflow .*rescale"):
        ScoreTable.from_frame(frame, score="p", label="y", weight="w")


def test_one_tiny_importance_among_others_is_legal():
    score, y, w = important_rows(50)
    w[7] = 1e-200
    table = ScoreTable.from_arrays(score, y, w)
    frame = pd.DataFrame({"p": score, "y": y, "w": w})
    again = ScoreTable.from_frame(frame, score="p", label="y", weight="w")
    np.testing.assert_allclose(again.columns, table.columns)
    assert np.isfinite(table.as_rows()[2].values).all()
