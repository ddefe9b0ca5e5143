"""Messages say what was expected, what was found, where, and what to do."""

from decimal import Decimal
from enum import Enum, IntEnum

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy.sparse import csr_array
from sklearn.naive_bayes import GaussianNB

from trueodds import (
    BetaCalibrator,
    CalibratedClassifier,
    CalibrationMonitor,
    OneVsRestCalibrator,
    ScoreTable,
    TemperatureCalibrator,
    decisions,
    metrics,
)
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Weights,
    as_dense,
    check_choice,
    encode_labels,
    number_text,
    validate_scores,
)
from trueodds.maps import IdentityMap
from trueodds.metrics import evaluate_classes, log_loss
from trueodds.model_selection import validate_model


def test_a_score_outside_the_unit_interval_is_shown_with_its_place_and_the_way_out():
    with pytest.raises(InputError, match=r"got 1\.4 at index 1 \(2 of 4\).*scale=\"logit\""):
        validate_scores([0.1, 1.4, 0.3, -2.0], "probability")


def test_nan_is_counted():
    with pytest.raises(InputError, match=r"NaN; found at index 2 \(1 of 3\)"):
        validate_scores([0.1, 0.2, np.nan], "logit")


def test_margins_must_be_finite_and_log_odds_need_not():
    with pytest.raises(InputError, match="infinity"):
        validate_scores([0.1, np.inf], "raw")
    assert validate_scores([-np.inf, np.inf], "logit").tolist() == [-np.inf, np.inf]


def test_rows_far_from_one_are_refused_and_rounded_rows_are_not():
    validate_scores([[0.33, 0.33, 0.33]], "probability")
    with pytest.raises(InputError, match=r"row 1 sums to 1\.7"):
        validate_scores([[0.5, 0.5], [0.9, 0.8]], "probability")


def test_a_row_without_a_possible_class_is_refused():
    with pytest.raises(InputError, match="every logit of a row is -inf"):
        validate_scores([[0.0, 1.0], [-np.inf, -np.inf]], "logit")
    with pytest.raises(InputError, match=r"below \+inf"):
        validate_scores([[0.0, np.inf]], "logit")


def test_an_unknown_scale_is_refused():
    with pytest.raises(InputError, match="scale must be one of"):
        validate_scores([0.1], "logits")


def test_true_is_not_one_among_choices():
    with pytest.raises(InputError, match="must be one of"):
        check_choice(True, (1, 2), "option")


@pytest.mark.parametrize("make", [pd.Series, pl.Series, list, np.array])
def test_columns_of_any_library_become_arrays(make):
    np.testing.assert_array_equal(validate_scores(make([0.25, 0.5]), "probability"), [0.25, 0.5])


def test_frames_become_matrices():
    frame = {"a": [0.25, 0.5], "b": [0.75, 0.5]}
    for library in (pd, pl):
        array = validate_scores(library.DataFrame(frame), "probability")
        np.testing.assert_array_equal(array, [[0.25, 0.75], [0.5, 0.5]])


P3 = np.random.default_rng(5).dirichlet([1.0, 1.0, 1.0], 60)
Y3 = np.where(np.arange(60) % 4, P3.argmax(axis=1), np.arange(60) % 3)
FRAMES = {
    "integer names": pd.DataFrame(P3),
    "names that are rows too": pd.DataFrame(P3, columns=[2, 0, 1]),
    "equal names": pd.DataFrame(P3, columns=["a", "a", "b"]),
    "names of two levels": pd.DataFrame(
        P3, columns=pd.MultiIndex.from_tuples([("a", 1), ("a", 2), ("b", 1)])
    ),
    "no names": pd.DataFrame(P3, columns=[None, None, None]),
    "NaN as a name": pd.DataFrame(P3, columns=[np.nan, 1.5, np.nan]),
    "dates as names": pd.DataFrame(P3, columns=pd.date_range("2026-01-01", periods=3)),
    "an index of its own": pd.DataFrame(P3, index=np.arange(60)[::-1]),
    "nullable": pd.DataFrame(P3).astype("Float64"),
    "sparse columns": pd.DataFrame(P3).astype(pd.SparseDtype(float)),
    "Arrow in pandas": pd.DataFrame(P3).astype("float64[pyarrow]"),
    "polars": pl.DataFrame(P3),
    "Arrow": pa.Table.from_arrays(list(map(pa.array, P3.T)), names=["a", "b", "c"]),
    "Arrow with equal names": pa.Table.from_arrays(list(map(pa.array, P3.T)), names=["a"] * 3),
    "a batch of Arrow": pa.record_batch(list(map(pa.array, P3.T)), names=["a", "b", "c"]),
    "NumPy's matrix": P3.view(np.matrix),
    "unmasked": np.ma.array(P3),
}


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.FewEventsWarning")
@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES.keys())
def test_columns_of_a_frame_are_taken_by_position_whatever_their_names(frame):
    calibrator = TemperatureCalibrator().fit(frame, Y3)
    expected = TemperatureCalibrator().fit(P3, Y3)
    np.testing.assert_array_equal(
        calibrator.predict_proba(frame), expected.predict_proba(P3), strict=True
    )
    assert log_loss(Y3, frame) == log_loss(Y3, P3)
    assert repr(evaluate_classes(Y3, frame)) == repr(evaluate_classes(Y3, P3))
    watched = CalibrationMonitor().update(frame, Y3)
    assert watched.to_dict() == CalibrationMonitor().update(P3, Y3).to_dict()


@pytest.mark.parametrize("names", [[0, 1, 2], ["a", "a", "b"]])
def test_a_missing_value_is_found_in_the_column_where_it_is(names):
    frame = pd.DataFrame(P3.copy(), columns=names)
    frame.iloc[7, 1] = np.nan
    with pytest.raises(InputError, match=r"scores\[1\] must have no missing values; found 1 of 60"):
        validate_scores(frame, "probability")


def test_sparse_matrices_are_refused_with_the_way_out():
    with pytest.raises(InputError, match=r"Pass scores\.toarray\(\)"):
        validate_scores(csr_array(P3), "probability")


@pytest.mark.parametrize(
    "column", [pl.Series([0.1, None]), pd.Series([0.1, None], dtype="Float64")]
)
def test_missing_values_of_frames_are_refused(column):
    with pytest.raises(InputError, match="missing values; found 1 of 2"):
        validate_scores(column, "probability")


def test_lazy_frames_and_masked_arrays_are_refused():
    with pytest.raises(InputError, match="collect"):
        as_dense(pl.LazyFrame({"a": [1]}), "scores")
    with pytest.raises(InputError, match="masked"):
        as_dense(np.ma.masked_array([0.1, 0.2], [True, False]), "scores")


@pytest.mark.parametrize("bad", [["a", "b"], [1j, 2], np.array(["2020-01-01"], "M8[D]")])
def test_what_is_not_a_number_is_refused(bad):
    with pytest.raises(InputError, match="numbers"):
        validate_scores(bad, "raw")


def test_ragged_lists_are_refused():
    with pytest.raises(InputError, match="rectangular"):
        validate_scores([[0.1], [0.2, 0.3]], "raw")


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        ([True, False, True], [False, True]),
        (["b", "a", "b"], ["a", "b"]),
        ([2, -1, 2], [-1, 2]),
        (np.array([1.0, 0.0, 1.0]), [0, 1]),
        (pd.Series(["x", "y", "x"], dtype="category"), ["x", "y"]),
        (pd.array([1, 0, 1], dtype="Int64"), [0, 1]),
    ],
)
def test_labels_of_any_type_are_coded_in_order(y, classes):
    codes, found = encode_labels(y)
    assert found.tolist() == classes
    assert [classes[c] for c in codes] == list(y)


def test_declared_classes_fix_the_codes():
    codes, classes = encode_labels(["b", "c"], ["c", "a", "b"])
    assert codes.tolist() == [2, 0]
    assert classes.tolist() == ["c", "a", "b"]
    with pytest.raises(InputError, match="'z' at index 1, not in classes"):
        encode_labels(["b", "z"], ["a", "b"])
    with pytest.raises(InputError, match="two or more distinct"):
        encode_labels(["b"], ["b", "b"])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        ([0.5, 1.0], "continuous"),
        ([np.nan, 1.0], "contains NaN"),
        ([np.inf, 1.0], "contains infinity"),
        ([None, "a"], "missing labels"),
        ([1, "a"], None),
        ([[1, 0], [0, 1]], "1-D"),
        ([], "empty"),
    ],
)
def test_unusable_labels_are_refused(y, message):
    array = np.array(y, dtype=object) if message in ("missing labels", None) else y
    with pytest.raises(InputError, match=message or "several types"):
        encode_labels(array)


class Color(Enum):
    RED = 1


def test_members_of_an_enum_are_labels_if_they_are_texts_or_numbers():
    answer = Enum("Answer", {"NO": "never", "YES": "always"}, type=str)
    size = IntEnum("Size", ["S", "M"])
    for y in ([answer.NO, answer.YES], np.array([answer.NO, answer.YES], dtype=object)):
        codes, classes = encode_labels(y)
        assert (codes.tolist(), classes.tolist()) == ([1, 0], ["always", "never"])
    codes, classes = encode_labels([answer.NO, "always"], [answer.NO, answer.YES])
    assert (codes.tolist(), classes.tolist()) == ([0, 1], ["never", "always"])
    codes, classes = encode_labels([size.M, size.S])
    assert (codes.tolist(), classes.tolist()) == ([1, 0], [1, 2])


@pytest.mark.parametrize("y", [[Color.RED, 1], (Color.RED,), np.array([Color.RED])])
def test_members_of_an_enum_without_an_order_are_refused(y):
    with pytest.raises(InputError, match=r"Enum Color.*\[label\.name for label in y\]"):
        encode_labels(y)


def test_weights_are_checked():
    assert Weights.read(None, None, 3) is None
    for bad, message in (
        ([1, -1], "sample_weight must not be negative; got one at index 1"),
        ([0, 0], "sample_weight is zero everywhere"),
        ([1], r"sample_weight must have shape \(2,\)"),
        ([1, np.inf], "sample_weight must be finite"),
    ):
        with pytest.raises(InputError, match=message):
            Weights.read(bad, None, 2)


def test_counts_are_checked():
    for bad, message in (
        ([1, -1], "counts must be whole numbers of rows, 0 or more; got -1 at index 1"),
        ([1, 0.5], r"got 0\.5 at index 1 .*importance weights, pass them as sample_weight"),
        ([0, 0], "counts are zero everywhere"),
        ([1], r"counts must have shape \(2,\)"),
        ([1, np.inf], "counts must be finite"),
        ([1, 2e15], r"counts must not exceed 1e\+15.*got 2e\+15 at index 1"),
    ):
        with pytest.raises(InputError, match=message):
            Weights.read(None, bad, 2)


ABOVE_ONE = float(np.nextafter(1, 2))


@pytest.mark.parametrize(
    ("value", "limits", "text"),
    [
        (1.4, (0, 1), "1.4"),
        (ABOVE_ONE, (0, 1), "1.0000000000000002"),
        (float(np.float32(1.0000001)), (0, 1), "1.0000001192092896"),
        (-1e-17, (0, 1), "-1e-17"),
        (-5e-324, (0, 1), "-4.94066e-324"),
        (1.05000001, (0.95, 1.05), "1.05000001"),
        (123456789.0, (1.0,), "1.23457e+08"),
        (2.0000001, (2.0,), "2.0000001"),
    ],
)
def test_a_message_shows_the_digits_that_matter(value, limits, text):
    assert number_text(value, *limits) == text
    assert all((float(text) > x) == (value > x) for x in limits)


def test_no_message_shows_a_number_that_would_be_right():
    from trueodds import ACPCalibrator
    from trueodds.decisions import net_benefit
    from trueodds.metrics import log_loss

    scores = [0.1, ABOVE_ONE, 0.5, 0.7]
    shown = r"got 1\.0000000000000002 "
    with pytest.raises(InputError, match=shown):
        BetaCalibrator().fit(scores, [0, 1, 0, 1])
    with pytest.raises(InputError, match=shown):
        log_loss([0, 1, 0, 1], scores)
    with pytest.raises(InputError, match=r"first at position 1: 1\.0000000000000002\)"):
        ScoreTable.from_frame(pd.DataFrame({"p": scores, "y": [0, 1, 0, 1]}), score="p", label="y")
    with pytest.raises(InputError, match=r"sums to 1\.05000001\d* "):
        validate_scores([[0.55, 0.50000001]], "probability")
    with pytest.raises(InputError, match=r"real numbers; got 1\.0000001\."):
        BetaCalibrator().fit([0.1, 0.2, 0.3], [0.0, 1.0000001, 1.0])
    with pytest.raises(InputError, match=r"got 1\.0000000000000002\."):
        net_benefit([0, 1], [0.2, 0.7], threshold=ABOVE_ONE)
    low, high = np.full(3, 0.30000001), np.full(3, 0.3)
    fitted = ACPCalibrator().fit(np.linspace(0.1, 0.9, 20), np.arange(20) % 2)
    with pytest.raises(InputError, match=r"got \[0\.30000001, 0\.3\] at index 0"):
        fitted.predict_proba([0.3, 0.4, 0.5], intervals=(low, high))


P, Y = [0.1, 0.4, 0.6, 0.9], [0, 1, 0, 1]
REFUSED = {
    "a score beyond float64": (lambda: log_loss(Y, [0.1, 10**400, 0.6, 0.9]), "y_prob must be num"),
    "an option beyond float64": (
        lambda: decisions.estimate_prior(P, 0.5, tol=10**400),
        "tol must be a number",
    ),
    "an integer that Python does not write": (
        lambda: metrics.expected_calibration_error(Y, P, n_bins=10**5000),
        "n_bins must be an integer of at least 1 and at most",
    ),
    "one column for several classes": (lambda: evaluate_classes(Y, P), "three or more classes"),
    "a bandwidth that is a list": (
        lambda: metrics.smooth_calibration_error(Y, P, bandwidth=[0.1]),
        "bandwidth must be None or a number",
    ),
    "a fraction that is a text": (
        lambda: metrics.tail_calibration(Y, P, fraction="0.1"),
        "fraction must be a number",
    ),
    "a cost that is a text": (
        lambda: decisions.optimal_threshold(1, "9"),
        "cost_fn must be a number",
    ),
    "costs of several lengths": (
        lambda: decisions.expected_cost(P, [[0, 1], [9]]),
        "cost_matrix must be a rectangular array",
    ),
    "a base rate that is a date": (
        lambda: decisions.adjust_prior(P, np.datetime64("2026-01-01"), 0.5),
        "old_prior must be real numbers",
    ),
    "one against the rest by a class": (
        lambda: OneVsRestCalibrator(TemperatureCalibrator).fit(P3, Y3),
        "calibrator must be a Calibrator",
    ),
    "weights of two dimensions in a monitor": (
        lambda: CalibrationMonitor().update(P, Y, sample_weight=np.ones((4, 2))),
        r"sample_weight must have shape \(4,\); got \(4, 2\)",
    ),
    "labels that are bytes": (
        lambda: validate_model(GaussianNB(), np.eye(4), np.array([b"n", b"y", b"n", b"y"])),
        "labels must be texts or numbers; got bytes",
    ),
    "labels that are bytes among objects": (
        lambda: BetaCalibrator().fit(P, np.array([b"n", b"y", b"n", b"y"], dtype=object)),
        "labels must be texts or numbers; got bytes",
    ),
    "labels that are structures": (
        lambda: log_loss(np.array([(0, 1)] * 4, dtype=[("a", int), ("b", int)]), P),
        "labels must be texts or numbers; got structures",
    ),
    "a label that is no number of 64 bits": (
        lambda: CalibratedClassifier(GaussianNB()).fit(
            np.eye(4), np.array([0, 1, 0, 10**400], dtype=object)
        ),
        "too large for a label",
    ),
    "more rows of one score than can be counted": (
        lambda: ScoreTable([0.1, 0.9], [1, 1e308], [1, 1]),
        r"n_neg must not exceed 1e\+15",
    ),
    "a missing label of pandas": (
        lambda: log_loss(np.array([0, 1, pd.NA, 1], dtype=object), P),
        "missing labels",
    ),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_used_is_refused_in_a_sentence_of_ours(call, message):
    with pytest.raises(InputError, match=message):
        call()


def test_scores_may_be_passed_by_name():
    calibrator = TemperatureCalibrator().fit(scores=P3, y=Y3)
    by_name = calibrator.predict_proba(scores=pl.DataFrame(P3))
    np.testing.assert_array_equal(by_name, calibrator.predict_proba(P3))


def test_labels_of_decimals_are_numbers():
    codes, classes = encode_labels([Decimal(1), 0, Decimal(0)])
    assert (codes.tolist(), classes.tolist()) == ([1, 0, 0], [0.0, 1.0])
    with pytest.raises(InputError, match=r"not real numbers; got 0\.25"):
        encode_labels([Decimal("0.25"), 1])


def test_labels_of_half_precision_are_counted_without_a_warning():
    labels = np.array(Y, dtype=np.float16)
    assert CalibrationMonitor().update(P, labels).summary()["rows"] == len(Y)


LONG = {"a": "é" * 1000, "b": "b" * 1001}


@pytest.mark.parametrize("to_y", [list, np.array, pd.Series, pl.Series, pa.array])
def test_a_label_has_at_most_a_thousand_characters(to_y):
    scores, y = [0.2, 0.7, 0.4, 0.6], ["a", "zz", "zz", LONG["a"]]
    with pytest.raises(InputError, match=r"^y holds a text of 1,001 characters, 'bbbbbbbb…b"):
        BetaCalibrator().fit(scores, to_y(["a", LONG["b"], "a", LONG["b"]]))
    with pytest.raises(InputError, match=r"^y holds a text of 2,000,000 characters"):
        encode_labels(to_y(["a", "b" * 2_000_000]))
    codes, classes = encode_labels(to_y(y))
    assert codes.tolist() == [0, 1, 1, 2]
    assert classes.tolist() == ["a", "zz", LONG["a"]]


def test_every_entry_for_names_refuses_the_same_length():
    scores, y = np.tile([0.2, 0.7], 10), np.tile([0, 1], 10)
    said = "1,001 characters.* texts that serve as labels, groups or times have at most 1,000"
    groups = np.tile(["a", LONG["b"]], 10)
    taken = np.tile(["a", LONG["a"]], 10)
    entries = {
        "classes": lambda names: encode_labels(["a"], ["a", names[1]]),
        "group_test": lambda names: metrics.group_test(y, scores, groups=names),
        "groups": lambda names: decisions.guaranteed_thresholds(
            y, scores, groups=names, at_most=0.5
        ),
        "monitor's groups": lambda names: CalibrationMonitor().update(scores, y, group=names),
        "monitor's times": lambda names: CalibrationMonitor().update(scores, y, time=names),
        "monitor's classes": lambda names: CalibrationMonitor(classes=["a", names[1]]),
        "map's classes": lambda names: IdentityMap().with_classes(["a", names[1]]),
    }
    for name, entry in entries.items():
        with pytest.raises(InputError, match=said):
            entry(groups)
        assert entry(taken) is not None, name


def test_a_monitor_keeps_groups_apart_that_differ_at_their_end(tmp_path):
    groups = np.tile(["x" * 999 + "1", "x" * 999 + "2"], 10)
    monitor = CalibrationMonitor().update(
        np.tile([0.2, 0.7], 10), np.tile([0, 1], 10), group=groups
    )
    again = CalibrationMonitor.load(monitor.save(tmp_path / "state.json"))
    assert again.to_dict()["stream"]["groups"] == groups[:2].tolist()


def test_what_the_fuzzer_found_is_refused_in_a_sentence():
    p, y, groups = [0.2, 0.7, 0.6], [0, 1, 1], ["a", "b", "b"]
    for anytime in (pd.NA, np.array([True, False]), None, "yes"):
        with pytest.raises(InputError, match="anytime must be True or False"):
            decisions.guaranteed_threshold(y, p, at_most=0.5, anytime=anytime)
        with pytest.raises(InputError, match="anytime must be True or False"):
            decisions.guaranteed_thresholds(y, p, groups=groups, at_most=0.5, anytime=anytime)
    days = np.array(["2026-01-01", "2026-01-02"] * 4, dtype="datetime64[s]").tolist()
    X = np.random.default_rng(0).normal(size=(8, 2))
    with pytest.raises(InputError, match="the estimator cannot be fitted to these rows"):
        validate_model(GaussianNB(), X, days, n_resamples=2)
    frame = pl.LazyFrame({"a": groups})
    with pytest.raises(InputError, match="groups must be columns in memory"):
        metrics.worst_group_error(y, p, groups=frame)
    with pytest.raises(InputError, match="random_state"):
        metrics.multicalibration_error(y, p, groups=groups, min_rows=1, random_state=float("inf"))


def test_rows_of_an_arrow_table_are_refused_like_those_of_a_frame():
    pa = pytest.importorskip("pyarrow")
    columns = {"p": [0.1, ABOVE_ONE, 0.5, 0.7], "y": [0, 1, 0, None]}
    for frame in (pd.DataFrame(columns), pa.table(columns)):
        with pytest.raises(InputError, match=r"2 of 4 rows cannot be used"):
            ScoreTable.from_frame(frame, score="p", label="y")


@pytest.mark.parametrize("kind", ["object", "category"])
def test_missing_labels_of_a_frame_are_no_class(kind):
    frame = pd.DataFrame({"p": [0.1, 0.5, 0.7, 0.9], "y": ["a", None, "b", None]})
    frame["y"] = frame["y"].astype(kind)
    with pytest.raises(InputError, match=r"'y' is missing in 2"):
        ScoreTable.from_frame(frame, score="p", label="y")
