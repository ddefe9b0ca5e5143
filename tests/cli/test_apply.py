"""Calibrated columns, for every format, in order, with every other value as it was."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest
from score_files import write_table

import trueodds
from trueodds.cli.files.open import arrow_batches


def read_back(path):
    if path.suffix == ".parquet":
        return pa.parquet.read_table(path)
    if path.suffix == ".arrow":
        return pa.feather.read_table(path)
    if path.suffix == ".jsonl":
        return pa.Table.from_pylist([json.loads(line) for line in path.read_text().splitlines()])
    options = pa.csv.ConvertOptions(column_types={"id": pa.string()})
    return pa.csv.read_csv(path, convert_options=options)


@pytest.mark.parametrize("source", ["csv", "parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("target", ["csv", "parquet", "arrow", "jsonl"])
def test_values_equal_those_of_the_map_in_every_format(run, data, table, tmp_path, source, target):
    path = tmp_path / f"out.{target}"
    result = run("apply", data / "map.json", data / f"scores.{source}", "-s", "p", "-o", path)
    assert result.code == 0, result.err
    found = read_back(path)
    assert found.column_names == [*table.column_names, "probability"]
    expected = trueodds.load(data / "map.json")(table["p"].to_numpy())
    np.testing.assert_array_equal(found["probability"].to_numpy(), expected)
    for name in table.column_names:  # nothing is lost: order, digits, leading zeros
        assert found[name].to_pylist() == table[name].to_pylist(), name


def test_csv_keeps_every_character(run, data, csv_file, tmp_path):
    lines = ["id,p,note", '007,0.10,"a, ""b"""', "008,1e-3,", "009,.5,é"]
    run("apply", data / "map.json", csv_file(*lines), "-s", "p", "-o", tmp_path / "o.csv")
    found = (tmp_path / "o.csv").read_text().splitlines()
    for before, after in zip(lines[1:], found[1:], strict=True):
        cells = pa.csv.read_csv(
            pa.py_buffer(f"a,b,c,d\n{after}\n".encode()),
            convert_options=pa.csv.ConvertOptions(
                column_types=dict.fromkeys("abc", pa.string()), strings_can_be_null=False
            ),
        )
        first, second = before.split(",")[:2]
        assert [cells["a"][0].as_py(), cells["b"][0].as_py()] == [first, second]
    assert found[0] == "id,p,note,probability"


def test_text_columns_of_csv_become_numbers_only_if_all_are(run, data, csv_file, tmp_path):
    lines = ["id,p,n,x,t,mixed", "007,0.1,1,1.5,true,1", "12,0.2,-3,,FALSE,a", "3,0.3,,2,true,"]
    run("apply", data / "map.json", csv_file(*lines), "-s", "p", "-o", tmp_path / "o.parquet")
    found = pa.parquet.read_table(tmp_path / "o.parquet")
    kinds = {field.name: str(field.type) for field in found.schema}
    assert kinds == {
        "id": "string",
        "p": "double",
        "n": "int64",
        "x": "double",
        "t": "bool",
        "mixed": "string",
        "probability": "double",
    }
    assert found["id"].to_pylist() == ["007", "12", "3"]
    assert found["n"].to_pylist() == [1, -3, None]


def test_many_batches_keep_their_order(run, data, tmp_path, monkeypatch):
    monkeypatch.setattr(arrow_batches, "__defaults__", (500,))
    n = 20_000
    p = np.random.default_rng(0).random(n)
    path = write_table(pa.table({"p": p, "row": np.arange(n)}), tmp_path / "x.parquet")
    run("apply", data / "map.json", path, "-s", "p", "-o", tmp_path / "o.parquet")
    found = pa.parquet.read_table(tmp_path / "o.parquet")
    np.testing.assert_array_equal(found["row"].to_numpy(), np.arange(n))
    np.testing.assert_array_equal(
        found["probability"].to_numpy(), trueodds.load(data / "map.json")(p)
    )


def test_from_standard_input_to_standard_output(run_process, data, table):
    content = (data / "scores.csv").read_bytes()
    words = ["apply", data / "map.json", "-", "-s", "p", "-o", "-"]
    result = run_process(*words, input=content)
    assert result.returncode == 0, result.stderr
    assert result.stderr == b""
    lines = result.stdout.decode().splitlines()
    assert len(lines) == 2001
    expected = trueodds.load(data / "map.json")(table["p"].to_numpy())
    assert float(lines[1].rpartition(",")[2]) == expected[0]


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_that_goes_away_is_no_error_message(data, unbuffered):
    words = [sys.executable, "-m", "trueodds", "apply", data / "map.json"]
    words += [data / "scores.csv", "-s", "p", "-o", "-", "--output-format", "csv"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "PYTHONUNBUFFERED": unbuffered}
    with subprocess.Popen(words, env=environment, **pipes) as process:
        first = process.stdout.read(3)
        time.sleep(0.5)  # the pipe is full: a write has taken a part of what it was given
        process.stdout.close()  # more than a pipe holds is still to come
        message = process.stderr.read()
    assert first == b'"id'
    assert message == b""
    assert process.returncode == 141


def test_a_column_that_exists_is_not_overwritten(run, data, csv_file, tmp_path, files_left):
    path = csv_file("p,Probability", "0.1,0.2")
    out = tmp_path / "out"
    out.mkdir()
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out / "o.csv")
    assert result.code == 1
    assert (
        "already has a column 'probability'; choose another name with --output-column" in result.err
    )
    assert files_left(out) == []
    named = run(
        "apply", data / "map.json", path, "-s", "p", "-o", out / "o.csv", "--output-column", "q"
    )
    assert named.code == 0


def test_a_failure_leaves_an_older_output_alone(run, data, csv_file, tmp_path):
    target = tmp_path / "o.csv"
    target.write_text("precious\n")
    path = csv_file("p,y", "0.1,1", "1.2,0")
    words = ["apply", data / "map.json", path, "-s", "p", "-o", target, "--force"]
    assert run(*words).code == 1
    assert target.read_text() == "precious\n"


@pytest.fixture
def three_classes(tmp_path):
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(900, 3)) * 2
    prob = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    softer = np.exp(logits / 2) / np.exp(logits / 2).sum(axis=1, keepdims=True)
    code = (rng.random((900, 1)) > np.cumsum(softer, axis=1)).sum(axis=1).clip(0, 2)
    labels = np.array(["fox", "cat", "dog"])[code]
    columns = {f"p_{name}": prob[:, k] for k, name in enumerate(["fox", "cat", "dog"])}
    path = write_table(pa.table({**columns, "animal": labels}), tmp_path / "three.parquet")
    return path, prob, labels


SCORES = ["-s", "p_fox", "-s", "p_cat", "-s", "p_dog"]
NAMED = [*SCORES, "--class", "fox", "--class", "cat", "--class", "dog"]


@pytest.mark.parametrize("method", ["temperature", "beta", "one_vs_rest"])
def test_several_classes(run, three_classes, tmp_path, method):
    path, prob, labels = three_classes
    fitted = tmp_path / "m.json"
    result = run("fit", path, *NAMED, "-l", "animal", "-m", method, "-o", fitted)
    assert result.code == 0, result.err
    assert "p_fox = 'fox'" in result.err
    kind = trueodds.all_calibrators()[method]
    direct = kind(classes=["fox", "cat", "dog"]).fit(prob, labels)
    out = tmp_path / "o.parquet"
    applied = run("apply", fitted, path, *SCORES, "-o", out)
    assert applied.code == 0, applied.err
    found = pa.parquet.read_table(out)
    names = ["probability_fox", "probability_cat", "probability_dog"]
    assert found.column_names[-3:] == names
    np.testing.assert_allclose(
        np.stack([found[name].to_numpy() for name in names], axis=1), direct.map_(prob), atol=1e-12
    )


def test_several_classes_without_names_are_sorted_and_said(run, three_classes):
    path, _, _ = three_classes
    result = run("evaluate", path, "-s", "p_cat", "-s", "p_dog", "-s", "p_fox", "-l", "animal")
    assert result.code == 0, result.err
    assert "classes: p_cat = 'cat', p_dog = 'dog', p_fox = 'fox'." in result.out
    assert "accuracy" in result.out
    two = run("evaluate", path, "-s", "p_cat", "-s", "p_dog", "-l", "animal")
    assert two.code == 1
    assert "+ p_dog' is not 1" in two.err


def test_a_map_of_three_classes_needs_three_columns(run, three_classes, tmp_path):
    path, _, _ = three_classes
    fitted = tmp_path / "m.json"
    run("fit", path, *NAMED, "-l", "animal", "-m", "temperature", "-o", fitted)
    result = run("apply", fitted, path, "-s", "p_fox", "-o", tmp_path / "o.csv")
    assert result.code == 2
    assert "3 classes" in result.err


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_groups_are_fitted_shown_and_applied_from_files(run, tmp_path, kind):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 1500))
    town = rng.choice(["Ulm", "O'Fallon", "Bonn"], 1500)
    y = (rng.random(1500) < 1 / (1 + np.exp(-z - 2 * (town == "Ulm")))).astype(int)
    path = write_table(pa.table({"z": z, "y": y, "x": x, "town": town}), tmp_path / f"t.{kind}")
    words = ["-s", "z", "-l", "y", "--scale", "logit", "--feature", "x", "--feature", "town"]
    fitted, out = tmp_path / "m.json", tmp_path / "o.parquet"
    result = run("fit", path, *words, "--interval", "0.9", "-o", fitted)
    assert result.code == 0, result.err
    assert "group map fitted to 1,500 rows" in result.err
    assert run("apply", fitted, path, "-s", "z", "-o", out).code == 0
    import pandas as pd

    frame = pd.DataFrame({"x": x, "town": town})
    direct = trueodds.GroupCalibrator(scale="logit").fit(z, y, features=frame)
    expected = direct.predict_proba(z, features=frame)[:, 1]
    found = pa.parquet.read_table(out)["probability"].to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-9)
    low, high = trueodds.load(fitted).interval(z, frame)
    np.testing.assert_allclose((low, high), direct.predict_interval(z, features=frame), atol=1e-9)
    shown = run("show", fitted)
    largest = max(direct.effects_, key=lambda e: abs(e.shift) * (e.feature != "score"))
    assert largest.level == "Ulm"
    assert f"{largest.shift:+.3f}  [{largest.low:+.3f}, {largest.high:+.3f}]" in shown.out
    compared = run("compare", path, *words, "-m", "group", "-m", "logistic", "--json")
    assert compared.code == 0, compared.err
    assert json.loads(compared.out)["best_method"] == "group"


def test_a_redundant_column_is_shown_and_may_be_absent_from_later_files(run, tmp_path):
    rng = np.random.default_rng(0)
    z, town = rng.normal(size=800), rng.choice(["Ulm", "Bonn"], 800)
    y = (rng.random(800) < 1 / (1 + np.exp(-z - 2 * (town == "Ulm")))).astype(int)
    table = pa.table({"z": z, "y": y, "town": town, "code": (town == "Ulm").astype(int)})
    path, later = tmp_path / "t.csv", tmp_path / "later.csv"
    write_table(table, path)
    write_table(table.drop_columns("code"), later)
    fitted, alone = tmp_path / "m.json", tmp_path / "alone.json"
    words = ["-s", "z", "-l", "y", "--scale", "logit", "--feature", "town"]
    assert run("fit", path, *words, "--feature", "code", "-o", fitted).code == 0
    assert run("fit", path, *words, "-o", alone).code == 0
    assert "another feature)\n  code\n" in run("show", fitted).out
    assert "another feature)" not in run("show", alone).out
    outputs = [tmp_path / f"{k}.csv" for k in range(2)]
    for name, out in zip((fitted, alone), outputs, strict=True):
        result = run("apply", name, later, "-s", "z", "-o", out)
        assert result.code == 0, result.err
    assert outputs[0].read_text() == outputs[1].read_text()


@pytest.mark.parametrize("kind", ["csv", "parquet"])
def test_a_tree_takes_its_attributes_from_the_file(run, tmp_path, kind):
    rng = np.random.default_rng(0)
    x, z = rng.normal(size=(2, 1500))
    y = (rng.random(1500) < 1 / (1 + np.exp(-np.where(x > 0, z / 4 + 1, z)))).astype(int)
    color = np.where(x > 1, "red", "blue")
    table = pa.table({"z": z, "y": y, "x": x, "color": color})
    path = write_table(table, tmp_path / f"t.{kind}")
    words = ["--feature", "x", "--feature", "color", "--scale", "logit"]
    fitted, out = tmp_path / "m.json", tmp_path / "o.parquet"
    result = run("fit", path, "-s", "z", "-l", "y", "-m", "tree", *words, "-o", fitted)
    assert result.code == 0, result.err
    assert run("apply", fitted, path, "-s", "z", "-o", out).code == 0
    import pandas as pd

    frame = pd.DataFrame({"x": x, "color": color})
    direct = trueodds.TreeCalibrator(scale="logit").fit(z, y, features=frame)
    expected = direct.predict_proba(z, features=frame)[:, 1]
    found = pa.parquet.read_table(out)["probability"].to_numpy()
    np.testing.assert_allclose(found, expected, atol=1e-9)
    absent = write_table(table.drop_columns(["color"]), tmp_path / f"u.{kind}")
    missing = run("apply", fitted, absent, "-s", "z", "-o", tmp_path / "q.parquet")
    assert missing.code == 1
    assert "no column 'color'" in missing.err


def test_a_map_of_two_classes_takes_both_columns(run, data, table, tmp_path):
    p = table["p"].to_numpy()
    both = pa.table({"no": 1 - p, "yes": p})
    pa.parquet.write_table(both, tmp_path / "both.parquet")
    path = tmp_path / "out.parquet"
    result = run(
        "apply", data / "map.json", tmp_path / "both.parquet", "-s", "no", "-s", "yes", "-o", path
    )
    assert result.code == 0, result.err
    found = read_back(path)
    expected = trueodds.load(data / "map.json")(p)
    names = [name for name in found.column_names if name not in ("no", "yes")]
    np.testing.assert_allclose(found[names[-1]].to_numpy(), expected, rtol=0, atol=1e-12)
