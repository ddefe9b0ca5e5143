"""The door of rows and options at its limits: the last that passes, and the first that does not."""

import numpy as np
import pytest

from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Weights,
    as_dense,
    as_floats,
    as_seed,
    check_increasing,
    check_integer,
    check_length,
    check_level,
    check_number,
    check_scale,
    check_smoothing,
    check_unit_interval,
    encode_labels,
    label_column,
    positive_column,
    returns_like_input,
    validate_scores,
    where,
)
from trueodds.rows import Rows


def refused(match, call, *words, **options):
    with pytest.raises(InputError, match=match):
        call(*words, **options)


def test_zero_and_one_are_probabilities_and_their_neighbors_outside_are_not():
    ends = [0.0, 1.0]
    assert validate_scores(ends, "probability").tolist() == ends
    check_unit_interval(np.array(ends), "p")
    for bad in (np.nextafter(1, 2), np.nextafter(0, -1)):
        refused("must lie in", validate_scores, [0.5, bad], "probability")
        refused(
            r"p must lie in \[0, 1\]; got .* at index 1",
            check_unit_interval,
            np.array([0.5, bad]),
            "p",
        )


@pytest.mark.parametrize(
    ("scores", "percent"),
    [
        ([0.0, 100.0], True),
        ([0.5, 2.0], False),
        ([0.5, 2.01], True),
        ([0.5, 100.5], False),
        ([-1.0, 50.0], False),
        ([50.0] + [0.5] * 19, True),  # one in twenty
        ([50.0] + [0.5] * 20, False),
    ],
)
def test_percentages_are_recognized_by_their_range_and_share(scores, percent):
    match = r"percentages: pass scores / 100\.$" if percent else 'scale="raw"'
    refused(match, validate_scores, scores, "probability")


def test_metrics_speak_of_their_own_arguments():
    refused(
        r"y_prob must lie in .*\)\.$",
        validate_scores,
        [0.5, 1.5],
        "probability",
        words=METRIC_WORDS,
    )
    refused(
        "y_true and y_prob differ in length: 1 and 2",
        Rows.read,
        [0.1, 0.2],
        [1],
        scale="probability",
        words=METRIC_WORDS,
    )
    refused(
        "scores and y differ in length: 2 and 1", Rows.read, [0.1, 0.2], [1], scale="probability"
    )
    refused(
        r"rows off by more than 0\.05\)\.$",
        validate_scores,
        [[0.5, 0.1]],
        "probability",
        words=METRIC_WORDS,
    )


def test_rows_may_miss_one_by_a_twentieth():
    validate_scores([[0.5, 0.549], [0.5, 0.451]], "probability")
    refused(
        r"row 0 sums to 1\.06 \(2 of 3 rows off.*OneVsRestCalibrator",
        validate_scores, [[0.5, 0.56], [0.5, 0.5], [0.1, 0.1]], "probability",
    )  # fmt: skip
    validate_scores([[0.9, 0.9]], "probability", rows_sum_to_one=False)
    validate_scores([[0.9, 0.9]], "logit")


def test_shapes_of_scores():
    assert validate_scores([[0.1], [0.2]], "probability").shape == (2,)
    for bad in (np.zeros((2, 2, 2)), np.zeros((3, 0))):
        refused("must be 1-D .* or 2-D", validate_scores, bad, "raw")
    refused("empty: found 0 sample", validate_scores, [], "raw")
    assert validate_scores([0.1], "raw", n_columns=2).shape == (1,)
    refused("3 columns as in fit; got 1", validate_scores, [0.1], "raw", n_columns=3)
    refused("2 columns as in fit; got 3", validate_scores, [[1, 2, 3]], "raw", n_columns=2)


def test_infinities_belong_to_log_odds():
    for bad in (np.inf, -np.inf):
        refused(r"infinity \(inf\) at index 1 \(1 of 2\)", validate_scores, [0.0, bad], "raw")
    validate_scores([[-np.inf, 0.0]], "logit")
    refused(
        r"-inf at index 1 \(1 of 2\)", validate_scores, [[-np.inf, 0], [-np.inf, -np.inf]], "logit"
    )
    refused(r"\+inf; found at index \(0, 1\) \(1 of 2\)", validate_scores, [[0.0, np.inf]], "logit")


def test_scales_are_three_texts():
    for good in ("probability", "logit", "raw"):
        check_scale(good)
    for bad in (["logit"], None, "Logit", 1):
        refused("scale must be one of 'probability', 'logit', 'raw'; got", check_scale, bad)


def test_two_columns_become_the_positive_one_on_the_same_scale():
    columns = np.array([[1.0, 3.0], [0.5, 0.5]])
    assert positive_column(columns, "probability").tolist() == [0.75, 0.5]
    assert positive_column(columns, "logit").tolist() == [2.0, 0.0]
    rows = Rows.read(columns / 4, [0, 1], scale="raw")
    assert rows.scores.tolist() == [0.5, 0.0]
    assert Rows.read(columns, [0, 1], scale="raw", keep_two_columns=True).scores.shape == (2, 2)
    assert Rows.read(np.ones((3, 3)), [0, 1, 2], scale="raw").scores.shape == (3, 3)


def test_rows_are_taken_with_their_weights():
    rows = Rows.read([0.1, 0.2, 0.3], [0, 1, 1], [1, 0, 2], scale="probability")
    assert (len(rows), rows.n_classes) == (3, 2)
    kept = rows.of_positive_weight()
    assert kept.scores.tolist() == [0.1, 0.3]
    assert kept.codes.tolist() == [0, 1]
    assert kept.weight.values.tolist() == pytest.approx([0.6, 1.2])
    assert kept.of_positive_weight() is kept
    plain = Rows.read([0.1, 0.2, 0.3], [0, 1, 1], scale="probability")
    assert plain.of_positive_weight() is plain
    assert plain.take([2, 0]).scores.tolist() == [0.3, 0.1]
    assert plain.take([2, 0]).weight is None


def test_one_class_alone():
    kind = "probability"
    for label in (0, 1, 0.0, True):
        rows = Rows.read([0.1, 0.2], [label, label], scale=kind)
        assert rows.classes.tolist() == [0, 1]
        assert rows.codes.tolist() == [int(label)] * 2
        refused(rf"one class only \({int(label)}\); calibration needs", rows.check_two_classes)
    for label in (2, "a"):
        match = rf"2 columns \(1-D counts as 2\), but y has one class only \({label!r}\)\. Pass"
        refused(match, Rows.read, [0.1, 0.2], [label, label], scale=kind)
    match = r"scores has 2 columns .* y has 3 classes\.$"
    refused(match, Rows.read, [0.1, 0.2, 0.3], [0, 1, 2], scale=kind)
    refused("3 columns .*one class only", Rows.read, [[0.2, 0.3, 0.5]], [1], scale=kind)
    declared = Rows.read([0.1, 0.2], ["b", "b"], scale=kind, classes=["a", "b"])
    refused(r"one class only \('b'\)", declared.check_two_classes)
    Rows.read([0.1, 0.2], [1, 0], scale=kind).check_two_classes()


def test_labels_at_their_place():
    refused("'z' at index 1, not in classes", encode_labels, ["b", "z", "y", "a"], ["a", "b"])
    refused("'z' at index 0, not in classes", encode_labels, ["z", "a"], ["a", "b"])
    refused("'z' at index 1, not in classes", encode_labels, ["a", "z"], ["a", "b"])
    assert encode_labels(np.array([3, 5], dtype=object))[1].dtype.kind == "i"
    assert encode_labels([7, 7])[0].tolist() == [0, 0]
    assert label_column([[1], [2]]).tolist() == [1, 2]
    refused(r"1-D; got shape \(1, 2\)", label_column, [[1, 2]])
    refused(r"got 0\.5", encode_labels, [1.0, 0.5])
    for classes in (["a"], ["a", "a"], [["a", "b"]]):
        refused("two or more distinct labels", encode_labels, ["a"], classes)


def test_weights_at_their_limits():
    assert Weights.read(None, [0, 1e15], 2).row_counts.tolist() == [0, 1e15]
    above = [float(np.nextafter(1e15, 2e15)), 1]
    refused(r"must be whole numbers .* at index 0", Weights.read, None, above, 2)
    refused(r"must not exceed 1e\+15", Weights.read, None, [1e15 + 1, 1], 2)
    assert Weights.read([0, 1e300], None, 2).values.tolist() == [0, 1]
    refused(r"negative; got one at index 1 \(1 of 3\)", Weights.read, [0.5, -1, 0], None, 3)
    refused(r"NaN or infinity at index 0 \(1 of 2\)", Weights.read, [np.nan, 1], None, 2)


def test_numbers_and_levels_at_their_limits():
    assert check_number(0, "x") == 0.0
    assert check_number(0.5, "x") == 0.5
    assert check_number(2, "x", 2.0) == 2.0
    refused("x must be a number of at least 0; got -1e-300", check_number, -1e-300, "x")
    refused(
        "x must be None or a number above 1; got 1",
        check_number,
        1,
        "x",
        1.0,
        above=True,
        otherwise="None or ",
    )
    assert check_number(1.5, "x", 1.0, above=True) == 1.5
    for bad in (np.inf, np.nan, True, "1", None):
        refused("x must be a number of at least 0", check_number, bad, "x")
    assert check_level(0.999, "level") == 0.999
    for bad in (0, 1, 1.5, -0.1, True, None):
        refused("level must be a number strictly between 0 and 1", check_level, bad)
    assert check_integer(np.int64(3), "n", 3) == 3
    for bad in (2, 3.0, True, "3"):
        refused("n must be an integer of at least 3; got", check_integer, bad, "n", 3)


def test_smoothing_is_none_platt_or_a_share():
    for good in (None, "platt", 0, 0.0, 0.999):
        check_smoothing(good)
    for bad in (1, -0.1, "Platt", True, np.nan):
        refused(r"number in \[0, 1\); got", check_smoothing, bad)


def test_seeds_come_from_all_that_scikit_learn_takes():
    assert as_seed(7) == as_seed(np.int64(7)) == 7
    assert as_seed(0) == 0
    assert as_seed(2**64 - 1) == 2**64 - 1
    for bad in (-1, 2**64, True, 1.0, "1"):
        refused("random_state must be None, an integer of 0 or more", as_seed, bad)
    first, second = (as_seed(np.random.default_rng(1)) for _ in range(2))
    assert first == second == int(np.random.default_rng(1).integers(2**63))
    assert as_seed(np.random.RandomState(1)) == np.random.RandomState(1).randint(2**31 - 1)
    for generator in (np.random.default_rng(1), np.random.RandomState(1)):
        assert as_seed(generator, draw=False) == 0
        assert as_seed(generator) in (first, as_seed(np.random.RandomState(1)))
    assert 0 <= as_seed(None, below=5) < 5


def test_places_are_told_with_their_number():
    assert where(np.array([False, True, True])) == "at index 1 (2 of 3)"
    assert where(np.array([[False, True]])) == "at index (0, 1) (1 of 2)"
    check_length(3, "y", 3, "scores")
    check_increasing(np.array([1.0, 2.0]), "x")
    refused(
        r"x must be strictly increasing; got 1\.0 after 1\.0 at index 1",
        check_increasing,
        np.array([1.0, 1.0]),
        "x",
    )
    refused(r"got 0\.5 after 2\.0 at index 2", check_increasing, np.array([1.0, 2.0, 0.5]), "x")
    refused(
        "x must not contain NaN; found at index 1", check_increasing, np.array([1.0, np.nan]), "x"
    )


def test_what_is_no_real_number_is_named_with_its_kind():
    refused("must be real numbers; got dtype complex128", as_floats, [1j], "x")
    refused("x must be numbers: could not convert", as_floats, ["a"], "x")
    assert as_floats(["1.5"], "x").tolist() == [1.5]
    assert as_floats(np.arange(6)[::2], "x").flags.c_contiguous
    masked = np.ma.masked_array([1.0, 2.0], [False, True])
    refused("x must have no masked values", as_dense, masked, "x")
    assert as_dense(np.ma.masked_array([1.0], [False]), "x").tolist() == [1.0]


class Foreign:
    """An array of a library that keeps the standard, and perhaps cannot share its memory."""

    def __init__(self, values, shares=True):
        self.values, self.shares = np.asarray(values), shares
        self.dtype, self.device = self.values.dtype, "elsewhere"

    def __array_namespace__(self):
        return Namespace

    def __dlpack__(self, **options):
        if not self.shares:
            raise BufferError
        return self.values.__dlpack__()

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()

    def __array__(self, dtype=None, copy=None):
        return self.values + 100.0  # only asked if memory cannot be shared


class Namespace:
    @staticmethod
    def isdtype(dtype, kind):
        assert kind == "real floating"
        return dtype.kind == "f"

    @staticmethod
    def asarray(values, dtype, device):
        return values.tolist(), dtype, device


class Doubler:
    @returns_like_input
    def double(self, scores, factor=2.0):
        return factor * as_floats(scores, "x")

    @returns_like_input
    def length(self, scores):
        return len(as_floats(scores, "x"))


def test_arrays_of_other_libraries_come_back_as_they_went_in():
    doubler = Doubler()
    assert doubler.double(Foreign([1.0, 2.0])) == ([2.0, 4.0], np.dtype("float64"), "elsewhere")
    assert doubler.double(Foreign([1, 2]), factor=3.0) == ([3.0, 6.0], None, "elsewhere")
    assert doubler.double(Foreign([1.0], shares=False)) == (
        [202.0],
        np.dtype("float64"),
        "elsewhere",
    )
    assert doubler.length(Foreign([1.0, 2.0])) == 2
    for plain in ([1.0], np.array([1.0]), (1.0,)):
        assert isinstance(doubler.double(plain), np.ndarray)
