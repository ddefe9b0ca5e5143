"""Hostile labels as arrays, frames and files: the same classes, the same counts or a refusal."""

import datetime as dt
import json
from decimal import Decimal

import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from trueodds import CalibrationMonitor, LogisticCalibrator, ScoreTable
from trueodds.cli import main
from trueodds.engines.labels import class_of, find_label, number_of
from trueodds.exceptions import InputError
from trueodds.inputs import encode_labels
from trueodds.maps import IdentityMap

SCORES = np.array([0.1, 0.9, 0.3, 0.7, 0.5, 0.2, 0.8, 0.4, 0.6, 0.35])
SECOND = np.array([0, 1, 0, 1, 1, 0, 1, 1, 0, 0], dtype=bool)

ORDERED = {
    "integers": (0, 1),
    "integers in the other order": (1, 0),
    "signs": (-1, 1),
    "booleans": (True, False),
    "integers stored as floats": (0.0, 1.0),
    "negative floats": (1.0, -1.0),
    "no and yes": ("yes", "no"),
    "numbers as texts": ("0", "1"),
    "decimals as texts": ("1.0", "0.0"),
    "booleans as texts": ("True", "False"),
    "neighbors beyond 2**53": (2**53 + 1, 2**53),
    "neighbors next to 2**62": (2**62, 2**62 + 1),
}
ALPHABET = {"letters": ("b", "a"), "case": ("Yes", "yes"), "blanks": (" a", "a"), "ß": ("ß", "ss")}
IN_DOUBT = {"nein": ("ja", "nein"), "digits": ("9", "10"), "plus": ("+", "-")}
REFUSED = {
    "fractions": (0.5, 1.5),
    "one fraction": (0.0, 0.5),
    "fractions as decimals": (Decimal("0.5"), Decimal("1.0")),
    "NaN": (0.0, float("nan")),
    "infinity": (0.0, float("inf")),
    "missing": ("a", None),
    "floats beyond 2**53": (0.0, 2.0**54),
    "one label": (1, 1),
}


def values(pair):
    return [pair[int(second)] for second in SECOND]


def frames(labels):
    table = pa.table({"p": SCORES, "y": pa.array(labels)})
    yield pd.DataFrame({"p": SCORES, "y": labels})
    yield pl.DataFrame({"p": SCORES, "y": labels})
    yield table
    yield duckdb.from_arrow(table)


def write(path, labels):
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(pa.table({"p": SCORES, "y": pa.array(labels)}), path)
    elif path.suffix == ".csv":
        pd.DataFrame({"p": SCORES, "y": labels}).to_csv(path, index=False)
    else:
        rows = zip(SCORES.tolist(), labels, strict=True)
        path.write_text("".join(json.dumps({"p": p, "y": y}) + "\n" for p, y in rows))
    return path


def fitted(path, capsys, *words):
    """Classes of a map that was fitted to a file, its counts, and what was said."""
    target = path.with_suffix(".map.json")
    target.unlink(missing_ok=True)
    with pytest.raises(SystemExit) as ended:
        main(["fit", str(path), "-s", "p", "-l", "y", "-m", "histogram", "-o", str(target), *words])
    said = capsys.readouterr().err
    if ended.value.code:
        return None, said
    return json.loads(target.read_text()), said


def counts(table):
    return table.score.tolist(), table.n_pos.tolist()


def expected_counts(positive):
    order = np.argsort(SCORES)
    return SCORES[order].tolist(), positive[order].astype(float).tolist()


@pytest.mark.parametrize("case", ORDERED)
def test_the_greater_label_is_positive_at_every_entry(case, tmp_path, capsys):
    pair = ORDERED[case]
    labels, positive = values(pair), SECOND if pair[1] > pair[0] else ~SECOND
    codes, classes = encode_labels(labels)
    assert codes.tolist() == positive.astype(int).tolist()
    assert classes.tolist() == sorted(pair)
    assert counts(ScoreTable.from_arrays(SCORES, labels)) == expected_counts(positive)
    for frame in frames(labels):
        table = ScoreTable.from_frame(frame, score="p", label="y")
        assert counts(table) == expected_counts(positive)
        table = ScoreTable.from_frame(frame, score="p", label="y", pos_label=str(min(pair)))
        assert counts(table) == expected_counts(~positive)
    for kind in ("csv", "parquet", "jsonl"):
        path = write(tmp_path / f"s.{kind}", labels)
        document, said = fitted(path, capsys)
        assert document is not None, said
        found = [str(label).removesuffix(".0") for label in document["classes"]]
        assert found == [str(label).removesuffix(".0") for label in sorted(pair)]
        reverse, said = fitted(path, capsys, f"--positive={min(pair)}")
        assert reverse is not None, said
        assert reverse["classes"] == document["classes"][::-1]


@pytest.mark.parametrize("case", {**ALPHABET, **IN_DOUBT})
def test_two_texts_are_ordered_by_the_alphabet_where_files_ask(case, tmp_path, capsys):
    pair = {**ALPHABET, **IN_DOUBT}[case]
    labels = values(pair)
    positive = SECOND if pair[1] > pair[0] else ~SECOND
    for frame in frames(labels):
        if case in IN_DOUBT:
            with pytest.raises(InputError, match="the positive label is ambiguous"):
                ScoreTable.from_frame(frame, score="p", label="y")
        else:
            table = ScoreTable.from_frame(frame, score="p", label="y")
            assert counts(table) == expected_counts(positive)
        table = ScoreTable.from_frame(frame, score="p", label="y", pos_label=pair[0])
        assert counts(table) == expected_counts(~SECOND)
    if case in IN_DOUBT:
        with pytest.raises(InputError, match="the positive label is ambiguous"):
            ScoreTable.from_arrays(SCORES, labels)
    for kind in ("csv", "parquet", "jsonl"):
        path = write(tmp_path / f"s.{kind}", labels)
        document, said = fitted(path, capsys)
        if case in IN_DOUBT:
            assert [str(label) for label in document["classes"]] == sorted(
                pair, key=lambda label: label in ("ja", "10", "+")
            )
        else:
            assert "cannot be inferred" in said
        document, said = fitted(path, capsys, f"--positive={pair[0]}")
        assert document is not None, said
        assert str(document["classes"][1]) == pair[0]


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_label_is_refused_at_every_entry(case, tmp_path, capsys):
    labels = values(REFUSED[case])
    with pytest.raises(InputError):
        LogisticCalibrator().fit(SCORES, labels)
    for frame in frames(labels):
        with pytest.raises(InputError):
            ScoreTable.from_frame(frame, score="p", label="y")
    kinds = ["csv", "parquet"] if "decimal" in case else ["csv", "parquet", "jsonl"]
    for kind in kinds:
        if kind == "csv" and case in ("infinity", "floats beyond 2**53"):
            continue  # a word as any other, and a whole number with all its digits
        document, said = fitted(write(tmp_path / f"s.{kind}", labels), capsys)
        assert document is None, kind
        assert said.count("\n") <= 2


@pytest.mark.parametrize("labels", [[1, "1"], [True, "True"], ["a", 2.0], ("x", np.int64(3))])
def test_numbers_among_texts_are_not_taken_for_texts(labels):
    with pytest.raises(InputError, match="mixes labels of several types"):
        encode_labels(labels * 2)


def test_nan_among_texts_is_missing_and_no_text():
    with pytest.raises(InputError, match="missing labels"):
        encode_labels(["a", float("nan"), "b"])


def test_a_nul_character_at_the_end_of_a_label_is_kept():
    codes, classes = encode_labels(["a\0", "a", "a\0"])
    assert codes.tolist() == [1, 0, 1]
    assert classes.tolist() == ["a", "a\0"]


def test_dates_are_labels_of_arrays_and_frames():
    days = values((dt.date(2026, 1, 2), dt.date(2026, 1, 1)))
    assert encode_labels(days)[0].tolist() == (~SECOND).astype(int).tolist()
    table = ScoreTable.from_frame(pl.DataFrame({"p": SCORES, "y": days}), score="p", label="y")
    assert counts(table) == expected_counts(~SECOND)


def test_a_monitor_takes_a_map_s_classes_from_arrays_and_files_alike(tmp_path, capsys):
    """2**53 and 2**53 + 1 are one float64, and were one class of a file."""
    for classes in ([2**53, 2**53 + 1], ["0", "1"], [0, 1], [False, True], [1.0, 2.0]):
        labels = [classes[int(second)] for second in SECOND]
        monitor = CalibrationMonitor(classes=classes).update(SCORES, labels)
        fitted_map = IdentityMap().with_classes(classes)
        fitted_map.save(tmp_path / "map.json")
        for kind in ("csv", "parquet", "jsonl"):
            path, state = write(tmp_path / f"s.{kind}", labels), tmp_path / "state.json"
            state.unlink(missing_ok=True)
            words = ["monitor", str(tmp_path / "map.json"), str(path), "-s", "p", "-l", "y"]
            with pytest.raises(SystemExit) as ended:
                main([*words, "--state", str(state), "--json"])
            assert not ended.value.code, classes
            (line,) = json.loads(capsys.readouterr().out)["periods"]
            assert line["observed"] == SECOND.sum()
        assert monitor.n_rows == len(SCORES)


def test_words_mean_labels_without_rounding():
    assert number_of("9007199254740993") == 2**53 + 1
    assert number_of(" 1.50 ") == 1.5
    for text in ("", "1_0", "\N{FULLWIDTH DIGIT ONE}", "inf", "nan", "1e999", "0x1"):
        assert number_of(text) is None
    assert find_label([2**53, 2**53 + 1], "9007199254740993.0") == 2**53 + 1
    assert find_label(["Yes", "yes"], "yes") == "yes"
    assert class_of("9007199254740993", [2**53, 2**53 + 1]) == 1
    assert class_of("1e0", ["0", "1"]) == 1
