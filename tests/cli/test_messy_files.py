"""Files as offices write them: never a wrong verdict, and an error that says what to type."""

import shlex

import numpy as np
import openpyxl
import pyarrow as pa
import pyarrow.parquet
import pytest
from score_files import write_table

import trueodds

LABELS = np.array(["nein", "ja"])


@pytest.fixture(scope="module")
def clean(table) -> pa.Table:
    """Scores with three decimals, and what happened in German."""
    p = np.round(table["p"].to_numpy(), 5)
    return pa.table({"p": p, "y": LABELS[table["y"].to_numpy()]})


@pytest.fixture(scope="module")
def files(clean, tmp_path_factory):
    """The same rows as a plain file, as a messy one and as a workbook."""
    folder = tmp_path_factory.mktemp("messy")
    write_table(clean, folder / "clean.csv")
    lines, sheet = ["Käufer;Wahrscheinlichkeit;Gekauft"], openpyxl.Workbook()
    sheet.active.append(["p", "y"])
    for number, row in enumerate(clean.to_pylist()):
        percent = f"{100 * row['p']:.3f}".replace(".", ",")
        lines.append(f"Müller {number};{percent};{row['y']}")
        sheet.active.append([row["p"], row["y"]])
    lines[7:7] = ["Größe 1;;ja", "Größe 2;k.A.;nein"]
    (folder / "messy.csv").write_text("\n".join(lines), encoding="latin-1")
    sheet.save(folder / "book.xlsx")
    return folder


def evaluation(run, *words):
    result = run("evaluate", *words, "--json")
    assert result.code == 0, result.err
    return result.json


def test_the_error_of_a_messy_file_says_the_command_that_works(run, files):
    result = run("evaluate", files / "messy.csv", "-s", "Wahrscheinlichkeit", "-l", "Gekauft")
    assert result.code == 1
    said, _, command = result.err.partition(" Try: ")
    assert "not UTF-8 text. It reads as latin-1. Numbers have a decimal comma" in said
    assert "look like percentages" in said
    found = evaluation(run, *shlex.split(command)[2:])
    expected = evaluation(run, files / "clean.csv", "-s", "p", "-l", "y")
    assert found["rows_used"] == expected["rows_used"] == 2000
    assert found["rows_skipped"] == {"Wahrscheinlichkeit is missing": 2}
    assert found["classes"] == expected["classes"] == ["nein", "ja"]
    for name, value in expected["evaluation"]["metrics"].items():
        assert found["evaluation"]["metrics"][name]["estimate"] == pytest.approx(value["estimate"])


def test_percentages_are_never_evaluated_by_what_is_left_of_them(run, table, tmp_path):
    percent = pa.table({"p": 100 * table["p"].to_numpy(), "y": table["y"]})
    rare = pa.table({"p": 20 * table["p"].to_numpy() ** 9, "y": table["y"]})  # most below 1 %
    for rows in (percent, rare):
        for suffix in ("csv", "parquet"):
            path = write_table(rows, tmp_path / f"s.{suffix}")
            for skip in ((), ("--on-bad-rows", "skip")):
                result = run("evaluate", path, "-s", "p", "-l", "y", *skip)
                assert result.code == 1
    path = write_table(percent, tmp_path / "s.parquet")
    refused = run("report", path, "-s", "p", "-l", "y", "--on-bad-rows", "skip")
    assert "Scores run from" in refused.err
    assert refused.err.rstrip().endswith("--on-bad-rows skip --unit percent")
    with pytest.raises(trueodds.exceptions.InputError, match="percentages: pass scores / 100"):
        trueodds.BetaCalibrator().fit(percent["p"].to_numpy(), percent["y"].to_numpy())


def test_scores_of_which_most_are_outside_are_not_left_out(run, data):
    result = run("evaluate", data / "scores.csv", "-s", "z", "-l", "y", "--on-bad-rows", "skip")
    assert result.code == 1
    assert "--scale logit" in result.err
    assert "More than half of the rows are invalid" in result.err


@pytest.mark.parametrize("command", ["evaluate", "report"])
def test_margins_are_refused_where_probabilities_are_measured(run, data, tmp_path, command):
    words = ["-s", "z", "-l", "y", "--scale", "raw"]
    words += ["-o", tmp_path / "r.html"] if command == "report" else []
    result = run(command, data / "scores.csv", *words)
    assert result.code == 2
    assert "raw decision values are not probabilities" in result.err


def test_percent_signs_are_read(run, clean, files, tmp_path):
    texts = [f"{100 * p:.3f} %" for p in clean["p"].to_pylist()]
    path = write_table(pa.table({"p": texts, "y": clean["y"]}), tmp_path / "s.csv")
    proposed = run("evaluate", path, "-s", "p", "-l", "y").err.partition(" Try: ")[2]
    found = evaluation(run, *shlex.split(proposed)[2:])
    expected = evaluation(run, files / "clean.csv", "-s", "p", "-l", "y")
    assert found["evaluation"]["mean_score"] == pytest.approx(expected["evaluation"]["mean_score"])


def test_a_workbook_is_read_like_a_csv_file(run, files):
    words = ["-s", "p", "-l", "y"]
    book, plain = (evaluation(run, files / name, *words) for name in ("book.xlsx", "clean.csv"))
    assert book["evaluation"] == plain["evaluation"]


def test_points_between_thousands_are_no_decimal_marks(run, csv_file):
    path = csv_file("p;y;w", "0,5;1;1.000,5", "0,25;0;2", name="w.csv")
    words = ["-s", "p", "-l", "y", "--weight", "w", "--decimal", ","]
    worth = (1000.5 + 2) ** 2 / (1000.5**2 + 2**2)  # rows that importances of these sizes are
    assert evaluation(run, path, *words)["evaluation"]["n"] == pytest.approx(worth, rel=1e-12)
    path = csv_file("p;y", "0.5;1", "0,25;0", name="p.csv")
    assert "'p' is text in 1" in run("evaluate", path, "-s", "p", "-l", "y", "--decimal", ",").err


def test_options_of_text_files_are_refused_for_others(run, data):
    words = [data / "scores.parquet", "-s", "p", "-l", "y"]
    assert "--decimal is for CSV and xlsx files" in run("evaluate", *words, "--decimal", ",").err
    result = run("evaluate", data / "scores.csv", "-s", "p", "-l", "y", "--encoding", "martian")
    assert "'martian' is unknown; common ones are utf-8, latin-1" in result.err


@pytest.fixture(scope="module")
def classes_file(tmp_path_factory):
    """Twelve classes whose columns stand in the order of texts: x0, x1, x10, x11, x2, …"""
    rng = np.random.default_rng(1)
    prob = rng.dirichlet(np.full(12, 0.3), 600)
    y = (prob.cumsum(axis=1) > rng.random((600, 1))).argmax(axis=1)
    columns = {f"x{k}": prob[:, k] for k in sorted(range(12), key=str)}
    path = tmp_path_factory.mktemp("classes") / "classes.parquet"
    pyarrow.parquet.write_table(pa.table({"id": np.arange(600), **columns, "xy": y}), path)
    return path


@pytest.mark.parametrize("score", ["x*", "x0:x9", "x?:x9"])
def test_many_columns_by_pattern_or_range_belong_to_the_class_they_are_named_after(
    run, classes_file, score
):
    words = ["-s", score, "-l", "xy", "--resamples", "20"]
    if score == "x?:x9":
        assert "no column 'x?:x9'" in run("evaluate", classes_file, *words).err
        return
    found = evaluation(run, classes_file, *words)
    assert len(found["score"]) == 12
    assert found["score"][2] == "x10"
    assert found["classes"][2] == 10
    assert found["evaluation"]["p_value"] > 0.01  # by position they would be far off


def test_logits_of_many_classes_are_evaluated_as_their_probabilities(run, classes_file, tmp_path):
    rows = pyarrow.parquet.read_table(classes_file)
    logits = {name: np.log(rows[name].to_numpy() + 1e-300) for name in rows.column_names[1:-1]}
    path = tmp_path / "logits.parquet"
    pyarrow.parquet.write_table(pa.table({**logits, "y": rows["xy"]}), path)
    words = ["--resamples", "20", "-s", "x*", "-l"]
    found = evaluation(run, path, *words, "y", "--scale", "logit")["evaluation"]["metrics"]
    expected = evaluation(run, classes_file, *words, "xy")["evaluation"]["metrics"]
    assert found["brier_score"]["estimate"] == pytest.approx(expected["brier_score"]["estimate"])


def test_apply_keeps_bad_rows_in_their_place_with_a_blank(run, data, csv_file, tmp_path):
    path, out = csv_file("id,p", "a,0.2", "b,", "c,x", "d,0.9"), tmp_path / "out.csv"
    words = ["apply", data / "map.json", path, "-s", "p", "-o", out, "--on-bad-rows", "blank"]
    result = run(*words)
    assert result.code == 0, result.err
    assert (
        "4 rows; new column: probability (left blank: 1 where p is missing, 1 where p is text)"
        in (result.err)
    )
    rows = [line.split(",") for line in out.read_text().splitlines()[1:]]
    assert [row[0] for row in rows] == list("abcd")
    assert [row[2] for row in rows][1:3] == ["", ""]
    expected = trueodds.load(data / "map.json")([0.2, 0.9])
    assert [float(rows[0][2]), float(rows[3][2])] == pytest.approx(expected)


def test_apply_blanks_whole_batches(run, data, csv_file, tmp_path):
    path, out = csv_file("p", '""', '""', "0.5"), tmp_path / "out.parquet"
    lines = ["p", *['""'] * 150_000, "0.5"]
    path.write_text("\n".join(lines))
    words = ["apply", data / "map.json", path, "-s", "p", "-o", out, "--on-bad-rows", "blank"]
    assert run(*words).code == 0
    column = pyarrow.parquet.read_table(out)["probability"]
    assert (len(column), column.null_count) == (150_001, 150_000)


def test_errors_and_help_speak_our_own_language(run, data):
    result = run("export", data / "map.json", "--to", "sql", "--dialect", "mysql")
    assert result.code == 2
    assert "Value error" not in result.err
    assert "'mysql' is not one of 'duckdb'" in result.err
    for command in (["fit"], []):
        shown = run(*command, "--help").out
        assert "--help" in shown
        assert "<bool>" not in shown
    printed = run("fit", data / "scores.csv", "-s", "p", "-l", "y", "-m", "beta")
    assert printed.err.startswith("standard output: beta map fitted to 2,000 rows; positive: 1")
