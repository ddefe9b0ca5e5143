"""The same table, the same map and the same refusals on every engine."""

import numpy as np
import pandas as pd
import pytest

from trueodds import BetaCalibrator, IsotonicCalibrator, ScoreTable
from trueodds.engines.group import group_scores
from trueodds.exceptions import InputError

pytestmark = pytest.mark.filterwarnings("ignore:there are more than")


def crowded_rows(n=4000):
    """Log-odds with a standard deviation of 6: thousands of scores within 1e-3 of an end."""
    rng = np.random.default_rng(5)
    score = 1 / (1 + np.exp(-rng.normal(-2, 6, n)))
    score[:40], score[40:60] = 0.0, 1.0
    score[60:500] = np.round(score[60:500], 2)
    y = rng.random(n) < 1 / (1 + np.exp(2 - 6 * score))
    weight, counts = rng.integers(0, 4, n) / 2.0, rng.integers(0, 4, n)
    return pd.DataFrame(
        {"score": score, "label": y.astype(np.int64), "weight": weight, "counts": counts}
    )


def small_rows(**columns):
    rows = {"score": [0.1, 0.6, 0.6, 0.9], "label": [0, 0, 1, 1], "weight": [1.0, 2.0, 0.5, 1.0]}
    return pd.DataFrame({**rows, **columns})


def assert_equal_tables(table, wanted):
    assert len(table.columns) == len(wanted.columns)
    for found, expected in zip(table.columns, wanted.columns, strict=True):
        np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(table.score, wanted.score)


WEIGHTS = pytest.mark.parametrize(
    "weights", [(), ("weight",), ("counts",), ("weight", "counts")], ids=["rows", "w", "k", "wk"]
)


@WEIGHTS
def test_the_exact_table_is_that_of_the_arrays(engine, make_frame, weights):
    rows = crowded_rows()
    frame = make_frame(engine, rows)
    names = {name: name for name in weights}
    table = ScoreTable.from_frame(frame, score="score", label="label", **names)
    given = {name: rows[name] for name in weights}
    wanted = ScoreTable.from_arrays(
        rows.score, rows.label, given.get("weight"), counts=given.get("counts")
    )
    assert table.are_counts == ("weight" not in weights)
    # Halves and quarters add exactly in any order: even sums of weights and squares are equal.
    assert_equal_tables(table, wanted)


@WEIGHTS
def test_the_coarse_table_is_equal_to_the_last_bit(engine, make_frame, weights):
    rows = crowded_rows()
    options = {"score": "score", "label": "label", "max_rows": 600}
    options |= {name: name for name in weights}
    table = ScoreTable.from_frame(make_frame(engine, rows), **options)
    wanted = ScoreTable.from_frame(rows, **options)
    assert len(table) <= 600
    assert_equal_tables(table, wanted)
    cells = group_scores(rows, score="score", label="label", max_rows=600).cells
    kept = rows[list(weights)].prod(axis=1).to_numpy() > 0
    np.testing.assert_array_equal(table.score, np.unique(cells.of_array(rows.score[kept])))


@pytest.mark.parametrize("scale", ["logit", "raw"])
def test_log_odds_and_margins_are_rounded_alike(engine, make_frame, scale):
    rng = np.random.default_rng(2)
    z = rng.standard_cauchy(3000)
    if scale == "logit":
        z[:3] = np.inf, -np.inf, 0.0
    rows = pd.DataFrame({"score": z, "label": rng.integers(0, 2, 3000)})
    options = {"score": "score", "label": "label", "scale": scale, "max_rows": 500}
    table = ScoreTable.from_frame(make_frame(engine, rows), **options)
    wanted = ScoreTable.from_frame(rows, **options)
    assert len(table) <= 500
    assert_equal_tables(table, wanted)


@pytest.mark.parametrize("max_rows", [10**6, 600])
def test_maps_are_the_same_on_every_engine(engine, make_frame, max_rows):
    rows = crowded_rows()
    assert_equal_maps(make_frame(engine, rows), rows, max_rows)


@pytest.mark.slow
def test_maps_are_the_same_on_a_cluster_of_dask(dask_client, make_frame):
    rows = crowded_rows()
    assert_equal_maps(make_frame("dask", rows), rows, max_rows=600)
    assert dask_client.scheduler_info()["workers"]


def assert_equal_maps(frame, rows, max_rows):
    names = {"score": "score", "label": "label", "weight": "weight", "max_rows": max_rows}
    grid = np.linspace(0, 1, 1001)
    for calibrator in (BetaCalibrator(), IsotonicCalibrator()):
        here = calibrator.fit_frame(frame, **names).predict_proba(grid)
        there = calibrator.fit_frame(rows, **names).predict_proba(grid)
        np.testing.assert_allclose(here, there, rtol=0, atol=1e-12)
        if max_rows == 10**6:
            direct = calibrator.fit(rows.score, rows.label, rows.weight).predict_proba(grid)
            np.testing.assert_allclose(here, direct, rtol=0, atol=1e-9)


@pytest.mark.parametrize(
    ("labels", "pos_label", "wanted"),
    [
        (["no", "no", "yes", "yes"], None, ["no", "yes"]),
        (["no", "no", "yes", "yes"], "no", ["yes", "no"]),
        ([False, False, True, True], None, [False, True]),
        ([False, False, True, True], "false", [True, False]),
        ([3, 3, 7, 7], "3", [7, 3]),
        ([0.0, 0.0, 1.0, 1.0], None, [0.0, 1.0]),
        (["0.0", "0.0", "1.0", "1.0"], None, ["0.0", "1.0"]),  # polars before 1.8.2: min is "0"
    ],
)
def test_labels_keep_their_names(engine, make_frame, labels, pos_label, wanted):
    frame = make_frame(engine, small_rows(label=labels))
    fitted = IsotonicCalibrator().fit_frame(
        frame, score="score", label="label", pos_label=pos_label
    )
    assert fitted.classes_.tolist() == wanted
    positive = ScoreTable.from_frame(frame, score="score", label="label", pos_label=pos_label)
    assert positive.n_pos.tolist() == ([0, 1, 1] if wanted[1] == labels[-1] else [1, 1, 0])


def test_one_label_stands_against_several(engine, make_frame):
    frame = make_frame(engine, small_rows(label=[0, 1, 2, 1]))
    table = ScoreTable.from_frame(frame, score="score", label="label", pos_label=1)
    assert table.n_pos.tolist() == [0, 1, 1]
    assert table.n_neg.tolist() == [1, 1, 0]


REFUSED = {
    "null or NaN score": (
        {"score": [0.1, np.nan, 0.6, 0.9]},
        {},
        r"the frame: 1 of 4 rows cannot be used: 'score' is (missing|NaN) in 1",
    ),
    "text": (
        {"score": ["0.1", "high", "0.6", "1e-3"]},
        {},
        r"1 of 4 rows .* 'score' is text in 1 \((first at position 1:|for example) 'high'\)",
    ),
    "numbers as text": (
        {"score": ["0.1", ".5", "-0.6", "1e-3"]},
        {},
        "score column 'score' holds numbers as text; cast",
    ),
    "above 1": (
        {"score": [0.1, 1.2, 1.1, 0.9]},
        {},
        r"2 of 4 rows .* 'score' is outside \[0, 1\] in 2 .* 1\.[12]\)\. If .*scale=\"logit\"",
    ),
    "below 0": (
        {"score": [0.1, -0.25, 0.3, 0.9]},
        {},
        r"'score' is outside \[0, 1\] in 1 \((first at position 1:|for example) -0\.25\)",
    ),
    "an infinite margin": (
        {"score": [0.1, np.inf, 0.3, 0.9]},
        {"scale": "raw"},
        r"'score' is infinite in 1 \((first at position 1:|for example) inf\)\. Infinite log-odds",
    ),
    "one class": ({"label": [1, 1, 1, 1]}, {}, "must hold two classes; all 4 rows are 1"),
    "three classes": (
        {"label": [0, 1, 2, 1]},
        {},
        "must hold two classes; found more, for example 0, 1, 2; pass pos_label=",
    ),
    "three signs": (  # the outer two have the sum of 0 and 0
        {"label": [-1, 0, 1, 1]},
        {},
        "must hold two classes; found more, for example -1, 0, 1; pass pos_label=",
    ),
    "three texts": (
        {"label": ["a", "b", "c", "b"]},
        {},
        "must hold two classes; found more, for example 'a', 'b', 'c'",
    ),
    "real numbers as labels": (
        {"label": [0.0, 0.5, 0.2, 0.7]},
        {},
        r"'label' is not a whole number in 3 .* 0\.\d\)\. Labels must be classes, not real numbers",
    ),
    "labels that float64 does not tell apart": (
        {"label": [-(2.0**54), 0.0, 1.0, 1.0]},
        {},
        r"'label' is too large for a label \(2⁵³\) in 1 ",
    ),
    "an infinite label": (
        {"label": [-np.inf, 0.0, 1.0, 1.0]},
        {},
        r"'label' is infinite in 1 ",
    ),
    "an infinite count": (
        {"weight": [1.0, np.inf, 1.0, 1.0]},
        {"counts": "weight"},
        r"'weight' is infinite in 1 ",
    ),
    "an unknown positive class": (
        {"label": ["no", "Yes", "no", "Yes"]},
        {"pos_label": "yes"},
        "no row .* with pos_label 'yes'; it has 'Yes', 'no'",
    ),
    "a positive class of another type": (
        {},
        {"pos_label": "yes"},
        "pos_label is 'yes', but label column 'label' holds numbers",
    ),
    "a negative weight": (
        {"weight": [1.0, -2.0, 1.0, 1.0]},
        {"weight": "weight"},
        r"'weight' is negative in 1 \((first at position 1:|for example) -2\)",
    ),
    "an infinite weight": (
        {"weight": [1.0, np.inf, 1.0, 1.0]},
        {"weight": "weight"},
        r"'weight' is infinite in 1 \((first at position 1:|for example) inf\)",
    ),
    "no weight at all": (
        {"weight": [0.0, 0.0, 0.0, 0.0]},
        {"weight": "weight"},
        "weight column 'weight' is zero in all 4 rows",
    ),
    "a weight that is missing": (
        {"weight": [1.0, np.nan, 1.0, 1.0]},
        {"weight": "weight"},
        r"1 of 4 rows cannot be used: 'weight' is (missing|NaN) in 1",
    ),
    "a missing column": ({}, {"label": "lable"}, "no column 'lable'; did you mean 'label'"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_used_is_refused_in_one_sentence(engine, make_frame, case):
    columns, options, message = REFUSED[case]
    frame = make_frame(engine, small_rows(**columns))
    with pytest.raises(InputError, match=message) as caught:
        ScoreTable.from_frame(frame, **{"score": "score", "label": "label", **options})
    assert "\n" not in str(caught.value)


def test_a_missing_label_is_refused(engine, make_frame):
    rows = small_rows(label=["no", None, "yes", "yes"])
    with pytest.raises(InputError, match=r"1 of 4 rows cannot be used: 'label' is missing in 1"):
        ScoreTable.from_frame(make_frame(engine, rows), score="score", label="label")


def test_no_rows_are_refused(engine, make_frame):
    if engine == "spark":
        frame = make_frame(engine, small_rows()).limit(0)
    else:
        frame = make_frame(engine, small_rows().iloc[:0])
    with pytest.raises(InputError, match="the frame has no rows"):
        ScoreTable.from_frame(frame, score="score", label="label")


def test_several_score_columns_are_collected_and_learned_together(engine, make_frame):
    rng = np.random.default_rng(0)
    scores = rng.dirichlet([1, 1, 1], 300)
    rows = pd.DataFrame(scores, columns=["a", "b", "c"])
    rows["label"] = [["a", "b", "c"][k] for k in (scores + rng.random((300, 3))).argmax(axis=1)]
    rows["unused"] = "text"
    frame = make_frame(engine, rows)
    fitted = BetaCalibrator().fit_frame(frame, score=["a", "b", "c"], label="label")
    direct = BetaCalibrator().fit(scores, rows.label.to_numpy())
    assert fitted.classes_.tolist() == ["a", "b", "c"]
    np.testing.assert_allclose(
        fitted.predict_proba(scores[:50]), direct.predict_proba(scores[:50]), rtol=0, atol=1e-9
    )


@pytest.mark.parametrize("negative_and_positive", [("nein", "ja"), ("ja", "nein")])
def test_words_that_contradict_the_sorted_order_need_a_positive_label(
    engine, make_frame, negative_and_positive
):
    negative, positive = negative_and_positive
    frame = make_frame(engine, small_rows(label=[negative, negative, positive, positive]))
    with pytest.raises(InputError, match=r"ambiguous.*Pass pos_label='ja' if the scores are those"):
        ScoreTable.from_frame(frame, score="score", label="label")
    table = ScoreTable.from_frame(frame, score="score", label="label", pos_label=positive)
    np.testing.assert_array_equal(table.n_pos, [0, 1, 1])
    classes = [negative, positive]
    fitted = IsotonicCalibrator(classes=classes).fit_frame(frame, score="score", label="label")
    assert fitted.map_.classes == (negative, positive)
    assert fitted.map_(0.9) > fitted.map_(0.1)


def test_a_frame_in_memory_names_the_position_and_another_an_example(engine, make_frame):
    frame = make_frame(engine, small_rows(score=[0.1, 0.2, 0.3, 1.5]))
    with pytest.raises(InputError) as caught:
        ScoreTable.from_frame(frame, score="score", label="label")
    in_memory = engine in ("pandas", "polars", "pyarrow")
    wanted = "(first at position 3: 1.5)" if in_memory else "(for example 1.5)"
    assert wanted in str(caught.value)


def test_percentages_in_a_frame_are_recognized(engine, make_frame):
    frame = make_frame(engine, small_rows(score=[10.0, 20.0, 60.0, 97.5]))
    with pytest.raises(InputError, match="look like percentages: divide 'score' by 100"):
        ScoreTable.from_frame(frame, score="score", label="label")


def test_labels_have_at_most_a_thousand_characters_on_every_engine(engine, make_frame):
    options = {"score": "score", "label": "label"}
    long = make_frame(engine, small_rows(label=["a", "a", "b" * 1001, "b" * 1001]))
    said = r"2 of 4 rows cannot be used: 'label' is longer than 1,000 characters in 2 \("
    with pytest.raises(InputError, match=said):
        ScoreTable.from_frame(long, **options)
    taken = make_frame(engine, small_rows(label=["a", "a", "é" * 1000, "é" * 1000]))
    assert ScoreTable.from_frame(taken, **options).total_pos == 2
