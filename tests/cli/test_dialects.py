"""CSV that is written in the dialect that was read, unless plain CSV is asked for."""

import csv
import gzip
import io

import numpy as np
import pytest

import trueodds

SCORES = [12.5, 80.0, 99.9, 3.25, 50.0]


def office_text(delimiter=";", decimal=",", end="\r\n", sign=" %", quote="", header_quote=""):
    """An id with a leading zero, a score in percent, an amount, and a text with quotes."""

    def cell(text, mark):
        return f"{mark}{text}{mark}"

    names = ["Nr", "Größe", "Betrag", "Text"]
    lines = [delimiter.join(cell(name, header_quote) for name in names)]
    for number, score in enumerate(SCORES):
        percent = f"{score}".replace(".", decimal) + sign
        amount = f"1.234,{number}0" if decimal == "," else f"1234.{number}0"
        row = [cell(f"00{number}", quote), cell(percent, quote), cell(amount, quote)]
        lines.append(delimiter.join([*row, f'"a{delimiter} ""{number}"""' if number else '"x"']))
    return "".join(f"{line}{end}" for line in lines)


def split_lines(text, delimiter):
    return list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))


CASES = {
    "German Excel": ({}, "cp1252"),
    "tabs and UTF-16": ({"delimiter": "\t"}, "utf-16"),
    "a mark and bare feeds": ({"end": "\n"}, "utf-8-sig"),
    "returns": ({"end": "\r", "sign": "%"}, "latin-1"),
    "all in quotes": ({"quote": '"', "header_quote": '"', "sign": ""}, "utf-8"),
    "points and bars": ({"decimal": ".", "delimiter": "|", "sign": ""}, "utf-8"),
    "a comma for both": ({"delimiter": ",", "quote": '"'}, "utf-8"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_output_is_the_input_with_one_more_column_in_its_dialect(run, data, tmp_path, case):
    form, encoding = CASES[case]
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    text = office_text(**form)
    path.write_bytes(text.encode(encoding))
    words = ["apply", data / "map.json", path, "-s", "Größe", "--unit", "percent"]
    words += ["--decimal", ","] if form.get("decimal", ",") == "," else []
    words += [] if encoding.startswith("utf-8") else ["--encoding", encoding]
    result = run(*words, "-o", out)
    assert result.code == 0, result.err
    raw = out.read_bytes()
    assert raw.startswith(b"\xef\xbb\xbf") == (encoding == "utf-8-sig")
    delimiter, end = form.get("delimiter", ";"), form.get("end", "\r\n")
    found = raw.decode(encoding)
    before = text.removesuffix(end).split(end)
    after = found.removesuffix(end).split(end)
    for old, new in zip(before, after, strict=True):
        assert new.startswith(f"{old}{delimiter}"), (old, new)  # to the character
    expected = 100 * trueodds.load(data / "map.json")(np.array(SCORES) / 100)
    sign = form.get("sign", " %")
    values = [row[-1] for row in split_lines(found, delimiter)[1:]]
    if sign:  # as the scores are written: at most two digits after the mark, so two
        assert values == [f"{value:.2f}{sign}".replace(".", ",") for value in expected]
    else:
        numbers = [float(value.replace(",", ".")) for value in values]
        assert numbers == pytest.approx(expected, rel=1e-14)
    assert ("." in "".join(values)) == (form.get("decimal") == ".")


@pytest.mark.parametrize(
    ("written", "answers"),
    [
        (["95.1 %", "4.0 %", "60 %"], ["99.7 %", "0.2 %", "69.2 %"]),
        (["60%", "30%"], ["69%", "16%"]),
        # What is neither 0 nor 100 is not written as one of them.
        (["95%", "5%", "60%"], ["99.72%", "0.28%", "69%"]),
        (["0.1 %", "99.9 %"], ["0.00010 %", "99.99990 %"]),
        (["0.0 %", "100.0 %"], ["0.0 %", "100.0 %"]),
    ],
)
def test_percentages_have_as_many_digits_as_those_of_the_scores(
    run, tmp_path, csv_file, written, answers
):
    squared, out = tmp_path / "squared.json", tmp_path / "out.csv"
    trueodds.maps.LogOddsMap(a=2.0, b=2.0, c=0.0).save(squared)  # squares the odds
    path = csv_file("p", *written)
    result = run("apply", squared, path, "-s", "p", "--unit", "percent", "-o", out)
    assert result.code == 0, result.err
    assert out.read_text().split("\n")[1:-1] == [
        f"{old},{new}" for old, new in zip(written, answers, strict=True)
    ]


def test_plain_csv_has_commas_points_utf_8_and_fractions(run, data, tmp_path):
    path, out = tmp_path / "in.csv", tmp_path / "out.csv"
    path.write_bytes(office_text().encode("latin-1"))
    words = ["apply", data / "map.json", path, "-s", "Größe", "--unit", "percent", "-o", out]
    words += ["--decimal", ",", "--encoding", "latin-1", "--plain"]
    assert run(*words).code == 0
    rows = split_lines(out.read_text("utf-8"), ",")
    assert rows[0] == ["Nr", "Größe", "Betrag", "Text", "probability"]
    assert b"\r" not in out.read_bytes()
    expected = trueodds.load(data / "map.json")(np.array(SCORES) / 100)
    assert [float(row[-1]) for row in rows[1:]] == list(expected)


def test_words_for_missing_values_stay_where_they_were(run, data, csv_file, tmp_path):
    out = tmp_path / "out.csv"
    path = csv_file("id;p;t", "a;0,5;k.A.", "b;k.A.;", name="na.csv")
    words = ["apply", data / "map.json", path, "-s", "p", "-o", out, "--decimal", ","]
    assert run(*words, "--na", "k.A.", "--on-bad-rows", "blank").code == 0
    lines = out.read_text().splitlines()
    assert lines[2] == "b;k.A.;;"
    assert lines[1].startswith("a;0,5;k.A.;0,")


def test_attributes_of_a_tree_are_numbers_and_come_back_as_they_were(run, csv_file, tmp_path):
    rng = np.random.default_rng(0)
    lines = [
        f"{rng.random():.3f};{k % 2};1.0{k % 10},50".replace("0.", "0,", 1) for k in range(200)
    ]
    path, fitted, out = csv_file("p;y;a", *lines), tmp_path / "m.json", tmp_path / "o.csv"
    words = [path, "-s", "p", "--decimal", ","]
    result = run("fit", *words, "-l", "y", "-m", "tree", "--feature", "a", "-o", fitted)
    assert result.code == 0, result.err
    result = run("apply", fitted, *words, "-o", out)
    assert result.code == 0, result.err
    assert [line.rpartition(";")[0] for line in out.read_text().splitlines()[1:]] == lines


@pytest.mark.parametrize("kind", ["csv", "jsonl"])
def test_a_name_that_ends_in_gz_is_compressed(run, data, tmp_path, kind):
    plain, packed = tmp_path / f"o.{kind}", tmp_path / f"o.{kind}.gz"
    for out in (plain, packed):
        assert run("apply", data / "map.json", data / "scores.csv", "-s", "p", "-o", out).code == 0
    assert gzip.decompress(packed.read_bytes()) == plain.read_bytes()
    result = run("apply", data / "map.json", data / "scores.csv", "-s", "p", "-o", "o.parquet.gz")
    assert result.code == 2
    assert "without .gz" in result.err


def test_a_name_that_the_encoding_has_not_is_refused(run, data, csv_file, tmp_path):
    path, out = csv_file("p", "0.5"), tmp_path / "o.csv"
    words = ["apply", data / "map.json", path, "-s", "p", "-o", out, "--encoding", "latin-1"]
    result = run(*words, "--output-column", "π")
    assert result.code == 1
    assert "'π' cannot be encoded in latin-1; pass --plain" in result.err
    assert not out.exists()


def test_the_encoding_is_named_without_the_columns_too(run, tmp_path):
    path = tmp_path / "s.csv"
    path.write_bytes("Größe;y\n0,5;1\n".encode("latin-1"))
    result = run("evaluate", path)
    assert result.code == 1
    assert "is not UTF-8 text. It reads as latin-1. Then" in result.err
    assert "has no column 'score'; it has 'Größe', 'y'." in result.err
    assert result.err.endswith(f"Try: trueodds evaluate {path} --encoding latin-1\n")
