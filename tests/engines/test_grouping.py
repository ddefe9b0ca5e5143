"""When scores are told apart exactly, when by cells, and what that costs."""

import re
import warnings

import numpy as np
import polars as pl
import pytest

from trueodds import (
    BetaCalibrator,
    HistogramCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    ScoreTable,
)
from trueodds.engines import group as grouping
from trueodds.engines.group import group_scores
from trueodds.exceptions import BinnedScoresWarning, InputError

pytestmark = pytest.mark.filterwarnings("ignore:there are more than")


def frame_of(score, y=None, **columns):
    y = np.arange(len(score)) % 2 if y is None else y
    return pl.DataFrame({"score": score, "label": y, **columns})


def grouped(frame, **options):
    return group_scores(frame, score="score", label="label", **options)


def count_groupings(monkeypatch):
    """What the engine was asked to group by: cells, or None for the scores themselves."""
    asked = []
    plain = grouping._Query.grouped

    def counted(self, cells):
        asked.append(cells)
        return plain(self, cells)

    monkeypatch.setattr(grouping._Query, "grouped", counted)
    return asked


def test_few_scores_in_many_rows_stay_exact(monkeypatch):
    asked = count_groupings(monkeypatch)
    rng = np.random.default_rng(0)
    score = rng.integers(0, 901, 20_000) / 1000
    found = grouped(frame_of(score), max_rows=1000)
    assert asked == [None]
    assert found.cells is None
    np.testing.assert_array_equal(found.score, np.unique(score))


@pytest.mark.parametrize(
    ("scale", "factor"), [("probability", 1.0), ("logit", 1e4), ("raw", -1e9), ("raw", 1e250)]
)
def test_many_scores_are_never_grouped_one_by_one(monkeypatch, scale, factor):
    asked = count_groupings(monkeypatch)
    score = factor * np.random.default_rng(0).random(50_000)
    found = grouped(frame_of(score), max_rows=1000, scale=scale)
    assert [cells is None for cells in asked] == [False]
    assert found.cells == asked[0]
    assert 250 < len(found.score) <= 1000
    assert found.n_rows == sum(column.sum() for column in found.columns) == 50_000


def test_a_few_too_many_scores_give_what_the_engine_would_have_given(monkeypatch):
    score = np.arange(1, 1101) / 1101
    many = np.tile(score, 5)
    asked = count_groupings(monkeypatch)
    near = grouped(frame_of(many), max_rows=1000)
    assert asked == [None]
    monkeypatch.setattr(grouping, "_has_many_scores", lambda *_: True)
    far = grouped(frame_of(many), max_rows=1000)
    assert asked[1] == near.cells
    np.testing.assert_array_equal(near.score, far.score)
    np.testing.assert_array_equal(near.columns, far.columns)


@pytest.mark.parametrize("kind", ["float64", "float32", "decimals", "dyadic", "tiny", "logit"])
@pytest.mark.parametrize("share", [0.5, 3.0])
def test_whether_scores_are_many_is_known_from_a_few(kind, share):
    rng = np.random.default_rng(3)
    distinct = {
        "float64": lambda n: rng.random(n),
        "float32": lambda n: rng.random(n, dtype=np.float32).astype(float),
        "decimals": lambda n: rng.permutation(10**6)[:n] / 10**6,
        "dyadic": lambda n: rng.permutation(2**20)[:n] / 2**20,
        "tiny": lambda n: 1e-200 * (1 + rng.random(n)),
        "logit": lambda n: rng.normal(size=n),
    }[kind]
    max_rows = 50_000
    score = np.repeat(distinct(int(share * max_rows)), 3)
    scale = "logit" if kind == "logit" else "probability"
    found = grouped(frame_of(score), scale=scale, max_rows=max_rows)
    assert (found.cells is None) == (share < 1)


def test_crowding_beside_an_outlier_is_resolved(monkeypatch):
    asked = count_groupings(monkeypatch)
    rng = np.random.default_rng(0)
    score = 0.3 + 1e-9 * rng.random(30_000)
    score[0] = 1e-300
    found = grouped(frame_of(score), max_rows=2000)
    assert len(asked) > 1
    assert 30 < len(found.score) <= 2000


def test_a_table_shorter_than_any_cells_is_coarsened_further():
    score = np.exp(-np.random.default_rng(0).uniform(0, 600, 5000))
    table = ScoreTable.from_frame(frame_of(score), score="score", label="label", max_rows=40)
    assert len(table) <= 40
    assert table.total == 5000


@pytest.fixture(scope="module")
def crowded():
    """200,000 distinct scores, most of them within 1e-3 of 0 or 1."""
    rng = np.random.default_rng(1)
    z = rng.normal(-1, 7, 200_000)
    score = 1 / (1 + np.exp(-z))
    y = rng.random(len(z)) < 1 / (1 + np.exp(0.5 - 0.6 * z))
    return score, y.astype(int)


def test_scores_move_by_no_more_than_promised(crowded):
    score, y = crowded
    found = grouped(frame_of(score, y), max_rows=20_000)
    cell = found.cells.of_array(score)
    k = found.cells.bits
    assert k == 8
    end, moved = np.minimum(score, 1 - score), np.abs(cell - score)
    assert (moved <= 2.0**-k * end).all()
    assert moved.max() > 2.0 ** -(k + 2) * 0.5  # the bound is not idle
    inner = (score > 1e-12) & (score < 1 - 1e-12)
    shift = np.abs(np.log(cell / (1 - cell)) - np.log(score / (1 - score)))[inner]
    assert shift.max() <= 2.0 ** (1 - k)
    np.testing.assert_array_equal(np.unique(cell), found.score)


@pytest.mark.parametrize("scale", ["probability", "logit"])
def test_a_fit_says_how_far_scores_were_moved(crowded, scale):
    score, y = crowded
    score = score[:20_000] if scale == "probability" else np.log(score / (1 - score))[:20_000]
    frame = frame_of(score, y[:20_000])
    with pytest.warns(BinnedScoresWarning, match="more than 2,000 distinct scores") as caught:
        BetaCalibrator(scale=scale).fit_frame(frame, score="score", label="label", max_rows=2000)
    assert caught[0].filename == __file__
    said = str(caught[0].message)
    found = grouped(frame, max_rows=2000, scale=scale)
    assert f"20,000 rows were rounded to {len(found.score):,}" in said
    limit = float(re.search(r"at most (\S+)(?: of|\. )", said)[1])
    cell = found.cells.of_array(score)
    if scale == "logit":
        moved = np.abs(cell - score) / (np.abs(score) + 1)
    else:
        inner = (score > 1e-12) & (score < 1 - 1e-12)
        z = [np.log(s[inner] / (1 - s[inner])) for s in (cell, score)]
        moved = np.abs(z[0] - z[1])
    assert limit / 8 < moved.max() <= 1.1 * limit
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        BetaCalibrator(scale=scale).fit_frame(frame, score="score", label="label")


@pytest.mark.parametrize(
    ("calibrator", "tolerance"),
    [
        (BetaCalibrator(), 2e-6),
        (LogisticCalibrator(), 2e-6),
        # A step moves with the cell that it is in; the level on either side hardly does.
        (IsotonicCalibrator(), 1e-3),
        (HistogramCalibrator(n_bins=20), 1e-3),
    ],
)
def test_maps_of_the_coarse_table_are_nearly_those_of_the_rows(crowded, calibrator, tolerance):
    score, y = crowded
    exact = calibrator.fit(score, y).predict_proba(score)[:, 1]
    frame = frame_of(score, y)
    coarse = calibrator.fit_frame(frame, score="score", label="label", max_rows=20_000)
    difference = np.abs(coarse.predict_proba(score)[:, 1] - exact)
    assert difference.mean() < tolerance


def test_coarse_tables_of_parts_add_up_to_that_of_the_whole(crowded):
    score, y = crowded
    frame = frame_of(score, y)
    whole = grouped(frame, max_rows=20_000)
    parts = [frame.head(120_000), frame.tail(80_000)]
    tables = [
        ScoreTable.from_arrays(whole.cells.of_array(part["score"].to_numpy()), part["label"])
        for part in parts
    ]
    both = tables[0] + tables[1]
    np.testing.assert_array_equal(both.score, whole.score)
    np.testing.assert_array_equal(both.columns, whole.columns)


def test_float32_scores_are_widened_exactly():
    score = np.random.default_rng(0).random(500, dtype=np.float32)
    found = grouped(frame_of(score))
    np.testing.assert_array_equal(found.score, np.unique(score).astype(np.float64))


def test_negative_zero_is_zero():
    frame = frame_of([-0.0, 0.0, 0.5], [0, 1, 1])
    table = ScoreTable.from_frame(frame, score="score", label="label")
    assert table.score.tolist() == [0.0, 0.5]


def test_only_zeros_and_ones_are_scores_too():
    frame = frame_of([0, 1, 1, 0], [0, 1, 0, 0])
    table = ScoreTable.from_frame(frame, score="score", label="label")
    assert (table.score.tolist(), table.n_pos.tolist()) == ([0.0, 1.0], [0.0, 1.0])


def test_names_unlike_any_column_are_answered_with_the_columns():
    with pytest.raises(InputError, match="no column 'probability'; it has 'score', 'label'"):
        group_scores(frame_of([0.5]), score="probability", label="label")


@pytest.mark.parametrize("frame", [np.zeros((2, 2)), [1, 2], "file.csv", None])
def test_what_is_no_frame_is_refused(frame):
    with pytest.raises(InputError, match="frame must be a frame of pandas, polars"):
        group_scores(frame, score="score", label="label")


def test_a_single_column_is_no_frame():
    with pytest.raises(InputError, match="frame must be"):
        group_scores(pl.Series("score", [0.5]), score="score", label="label")


@pytest.mark.parametrize("max_rows", [2, 10.5, "many"])
def test_max_rows_must_be_a_number_of_rows(max_rows):
    with pytest.raises(InputError, match="max_rows must be an integer of at least 3"):
        grouped(frame_of([0.2, 0.5]), max_rows=max_rows)


def test_categories_are_labels():
    frame = frame_of([0.2, 0.5], pl.Series(["no", "yes"], dtype=pl.Categorical))
    assert grouped(frame).labels == ("no", "yes")


def test_lists_are_not_labels():
    with pytest.raises(InputError, match="label column 'label' holds values of type List"):
        grouped(frame_of([0.2, 0.5], [[1], [0]]))


def test_booleans_are_not_scores():
    with pytest.raises(
        InputError, match="score column 'score' must hold numbers; its type is Bool"
    ):
        grouped(frame_of([True, False]))
