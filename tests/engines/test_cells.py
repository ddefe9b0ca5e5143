"""Cells that any engine computes alike, and how far they move a score."""

import narwhals as nw
import numpy as np
import polars as pl
import pytest
from hypothesis import given, strategies as st

from trueodds.engines.cells import ScoreCells, cells_for
from trueodds.engines.group import group_scores

bits = st.integers(2, 51)
probabilities = st.floats(0, 1, allow_subnormal=False)
SCALES = ("probability", "logit", "raw")


def significant_bits(x):
    """Binary digits from the first 1 to the last one."""
    mantissa = int(np.frexp(abs(x))[0] * 2**53)
    return 0 if mantissa == 0 else 53 - (mantissa & -mantissa).bit_length() + 1


@given(probabilities, bits)
def test_so_many_digits_of_the_distance_from_the_nearer_end_are_kept(p, k):
    cell = float(ScoreCells("probability", k).of_array(np.array([p]))[0])
    end = p if p <= 0.5 else 1 - p
    kept = cell if p <= 0.5 else 1 - cell
    assert significant_bits(kept) <= k
    assert abs(kept - end) <= 2.0**-k * end


@given(probabilities, bits)
def test_a_cell_is_its_own_cell(p, k):
    cells = ScoreCells("probability", k)
    once = cells.of_array(np.array([p]))
    np.testing.assert_array_equal(cells.of_array(once), once)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("k", [2, 7, 15, 40])
def test_cells_keep_the_order_of_scores(scale, k):
    rng = np.random.default_rng(0)
    z = np.sort(rng.standard_cauchy(20000))
    score = np.sort(1 / (1 + np.exp(-np.clip(z, -700, 700)))) if scale == "probability" else z
    cell = ScoreCells(scale, k, 2.0**-3).of_array(score)
    assert (np.diff(cell) >= 0).all()


def test_both_ends_are_treated_alike():
    p = np.arange(1, 2**12) / 2**12
    cells = ScoreCells("probability", 5)
    np.testing.assert_array_equal(cells.of_array(1 - p), 1 - cells.of_array(p))


def test_the_ends_of_every_scale_stay_where_they_are():
    ends = np.array([0.0, 1.0])
    np.testing.assert_array_equal(ScoreCells("probability", 3).of_array(ends), ends)
    ends = np.array([-np.inf, -1e300, 0.0, 1e300, np.inf])
    np.testing.assert_array_equal(ScoreCells("logit", 3).of_array(ends), ends)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("scale", ["logit", "raw"])
def test_a_column_keeps_huge_scores_as_an_array_does(library, scale):
    # From about 2^970 on the product in between would overflow, and ∞ − ∞ is no score.
    ends = [2.0**960, 2.0**1000, 1e300, np.finfo(float).max, np.inf]
    score = np.array([-x for x in reversed(ends)] + [-7.3, 0.0, 0.1, 2.0**959] + ends)
    cells = ScoreCells(scale, 3, 2.0**-3)
    frame = nw.from_dict({"score": score}, backend=library)
    column = frame.select(cell=cells.of_column(nw.col("score")))["cell"].to_numpy()
    np.testing.assert_array_equal(column, cells.of_array(score))
    np.testing.assert_array_equal(column[-5:], ends)
    np.testing.assert_array_equal(column[:5], score[:5])


def test_huge_log_odds_are_grouped_where_they_stand():
    score = np.concatenate([[-np.inf, -1e300], np.linspace(-1, 1, 5000), [1e300, np.inf]])
    frame = pl.DataFrame({"score": score, "label": np.arange(len(score)) % 2})
    found = group_scores(frame, score="score", label="label", scale="logit", max_rows=200)
    assert found.cells is not None
    assert found.score[[0, 1, -2, -1]].tolist() == [-np.inf, -1e300, 1e300, np.inf]
    assert (np.diff(found.score) > 0).all()


@given(st.floats(-700, 700), bits)
def test_log_odds_move_by_a_share_of_their_size_and_one(z, k):
    cell = float(ScoreCells("logit", k).of_array(np.array([z]))[0])
    assert abs(cell - z) <= (1 + abs(z)) * (2.0**-k + 2.0**-51)


@pytest.mark.parametrize("scale", SCALES)
@pytest.mark.parametrize("max_rows", [200, 3000])
@pytest.mark.parametrize(("low", "high"), [(1e-9, 0.9999), (0.3, 0.30001), (0.6, 0.9), (0.1, 0.5)])
def test_no_more_cells_than_rows_are_allowed_and_not_many_fewer(scale, max_rows, low, high):
    cells = cells_for(scale, low, high, max_rows)
    rng = np.random.default_rng(0)
    uniform = rng.uniform(low, high, 100_000)
    near_0 = np.exp(rng.uniform(np.log(low), np.log(high), 100_000))
    near_1 = 1 - np.exp(rng.uniform(np.log(1 - high), np.log(1 - low), 100_000))
    every = np.concatenate([[low, high], uniform, near_0, near_1]).clip(low, high)
    found = np.unique(cells.of_array(every))
    assert len(found) <= max_rows
    # One more digit would be too much, and cells can be counted beforehand.
    finer = ScoreCells(scale, cells.bits + 1, cells.unit)
    assert finer.most(low, high) > max_rows
    assert len(found) <= cells.most(low, high) <= 1.1 * len(found) + 10


def test_margins_are_rounded_relative_to_their_own_scale():
    rng = np.random.default_rng(0)
    margins = rng.normal(size=1000)
    for factor in (2.0**-30, 2.0**30):
        scaled = cells_for("raw", factor * margins.min(), factor * margins.max(), 500)
        plain = cells_for("raw", margins.min(), margins.max(), 500)
        np.testing.assert_array_equal(
            scaled.of_array(factor * margins), factor * plain.of_array(margins)
        )
