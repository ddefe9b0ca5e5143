"""Whatever is wrong: one sentence, a code that is not zero, and nothing left behind."""

import errno
import os
import re
import stat
import subprocess
import sys
import textwrap

import pyarrow as pa
import pytest
from score_files import write_table

COMMANDS = ("evaluate", "fit", "apply", "compare", "report")


@pytest.fixture
def attempt(run, data, tmp_path, files_left):
    """Run a command that must fail; returns the one sentence that it says."""

    def call(command, path, *words, code=1, score="p") -> str:
        folder = tmp_path / "out"
        folder.mkdir(exist_ok=True)
        words = [path, "-s", score, *words]
        if command != "apply":
            words += ["-l", "y"]
        if command == "apply":
            words = [data / "map.json", *words, "-o", folder / "out.parquet"]
        elif command == "fit":
            words += ["-m", "beta", "-o", folder / "map.json"]
        elif command == "report":
            words += ["-o", folder / "report.html"]
        result = run(command, *words)
        assert result.code == code, result
        assert files_left(folder) == []
        assert result.out == ""
        assert result.err.startswith("trueodds: ")
        assert result.err.count("\n") == 1
        assert "Traceback" not in result.err
        assert "internal error" not in result.err
        return result.err

    return call


@pytest.mark.parametrize("command", COMMANDS)
def test_a_missing_column_is_named_with_the_nearest(attempt, csv_file, command):
    path = csv_file("probability,y,P", "0.2,1,0", "0.4,0,1")
    assert "no column 'probabilty'; did you mean 'probability'?" in attempt(
        command, path, score="probabilty"
    )
    assert "did you mean 'P'?" in attempt(command, path, score="p")
    assert "it has 'probability', 'y', 'P'." in attempt(command, path, score="xyz123")


@pytest.mark.parametrize("command", COMMANDS)
def test_text_in_the_score_column_is_shown_with_its_row(attempt, csv_file, command):
    path = csv_file("p,y", "0.2,1", "0.4,0", "abc,1", "n/a,0")
    message = attempt(command, path)
    assert "2 of 4 rows cannot be used" in message
    assert "'p' is text in 2 (first in row 3: 'abc')" in message
    assert "--on-bad-rows skip" in message


@pytest.mark.parametrize("command", COMMANDS)
def test_text_in_json_lines_and_parquet(attempt, tmp_path, command):
    lines = tmp_path / "x.jsonl"
    lines.write_text('{"p": 0.2, "y": 1}\n{"p": "abc", "y": 0}\n')
    assert "'p' is text in 1 (first in row 2: 'abc')" in attempt(command, lines)
    path = write_table(pa.table({"p": ["0.1", "x"], "y": [0, 1]}), tmp_path / "x.parquet")
    assert "'p' is text in 1 (first in row 2: 'x')" in attempt(command, path)


@pytest.mark.parametrize("command", COMMANDS)
def test_scores_that_are_no_numbers_at_all(attempt, tmp_path, command):
    table = pa.table({"p": pa.array([0, 1], pa.timestamp("s")), "y": [0, 1]})
    path = write_table(table, tmp_path / "x.parquet")
    assert "column 'p' must contain numbers; its type is TIMESTAMP" in attempt(command, path)


@pytest.mark.parametrize("command", ["evaluate", "fit", "compare", "report"])
def test_labels_that_are_not_two_classes(attempt, csv_file, command):
    path = csv_file("p,y", "0.2,1", "0.4,0", "0.4,2")
    message = attempt(command, path)
    assert "column 'y' has 3 labels (0, 1, 2), not two" in message
    assert "--positive" in message
    one = csv_file("p,y", "0.2,yes", "0.4,yes")
    assert "column 'y' has only one label, 'yes'" in attempt(command, one)
    many = csv_file("p,y", *(f"0.5,{i / 7}" for i in range(1500)))
    assert "more than 1,000 different values" in attempt(command, many)
    other = csv_file("p,y", "0.2,yes", "0.4,no")
    assert "has no label 'ja' (--positive); it has 'no', 'yes'" in attempt(
        command, other, "--positive", "ja"
    )


@pytest.mark.parametrize("command", COMMANDS)
def test_empty_files(attempt, tmp_path, csv_file, command):
    for name in ("x.csv", "x.parquet", "x.arrow", "x.jsonl"):
        (tmp_path / name).write_bytes(b"")
        assert f"{name} is empty (0 bytes)" in attempt(command, tmp_path / name)
    assert "has no rows" in attempt(command, csv_file("p,y"))
    empty = pa.table({"p": pa.array([], pa.float64()), "y": pa.array([], pa.int64())})
    for name in ("y.parquet", "y.arrow"):
        assert "has no rows" in attempt(command, write_table(empty, tmp_path / name))


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_truncated_files(attempt, data, tmp_path, command, kind):
    whole = (data / f"scores.{kind}").read_bytes()
    path = tmp_path / f"x.{kind}"
    for share in (0.5, 0.99):
        path.write_bytes(whole[: int(len(whole) * share)])
        assert path.name in attempt(command, path)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_parquet_file_with_a_damaged_middle(attempt, data, tmp_path, command):
    whole = bytearray((data / "scores.parquet").read_bytes())
    middle = len(whole) // 3
    whole[middle : middle + 2000] = b"\xff" * 2000
    path = tmp_path / "x.parquet"
    path.write_bytes(bytes(whole))
    # The statistics in the file still say that all scores lie in [0, 1]: values must be looked at.
    assert "'p' is NaN in 250" in attempt(command, path)


@pytest.mark.parametrize("command", COMMANDS)
def test_nan_and_missing_scores_are_counted(attempt, csv_file, tmp_path, command):
    message = attempt(command, csv_file("p,y", "0.2,1", "nan,0", ",0", "0.1,0"))
    assert "'p' is missing in 1 (first in row 3)" in message
    assert "'p' is NaN in 1 (first in row 2: 'nan')" in message
    table = pa.table({"p": [0.1, float("nan"), None, 0.5], "y": [0, 1, 1, 0]})
    message = attempt(command, write_table(table, tmp_path / "x.parquet"))
    assert "2 of 4 rows cannot be used" in message


@pytest.mark.parametrize("command", COMMANDS)
def test_scores_outside_the_unit_interval(attempt, csv_file, command):
    message = attempt(command, csv_file("p,y", "0.2,1", "1.2,0", "-0.1,1"))
    assert "'p' is outside [0, 1] in 2 (first in row 2: '1.2')" in message
    assert "--scale logit" in message


def test_labels_and_weights_are_checked_too(run, csv_file):
    path = csv_file("p,y,w", "0.2,1,1", "0.1,,1", "0.3,0,-1", "0.3,1,inf", "0.3,1,x", "0.2,0,2")
    result = run("evaluate", path, "-s", "p", "-l", "y", "--weight", "w")
    assert result.code == 1
    for part in (
        "4 of 6 rows",
        "'y' is missing in 1 (first in row 2)",
        "'w' is negative in 1 (first in row 3: '-1')",
        "'w' is infinite in 1 (first in row 4: 'inf')",
        "'w' is text in 1 (first in row 5: 'x')",
    ):
        assert part in result.err


def test_bad_rows_can_be_left_out_and_are_counted(run, csv_file, tmp_path, data):
    good = [f"0.{i}5,{i % 2}" for i in range(10)] * 3
    path = csv_file("p,y", *good, "1.2,0", "abc,1", "0.3,", "0.1,1,7", "0.2", ",1")
    result = run("evaluate", path, "-s", "p", "-l", "y", "--on-bad-rows", "skip", "--json")
    assert result.code == 0, result.err
    assert result.json["rows"] == 36
    assert result.json["rows_used"] == 30
    assert result.json["rows_skipped"] == {
        "p is missing": 1,
        "p is text": 1,
        "p is outside [0, 1]": 1,
        "y is missing": 1,
        "malformed lines": 2,
    }
    shown = run("evaluate", path, "-s", "p", "-l", "y", "--on-bad-rows", "skip")
    assert "30 rows" in shown.out
    assert "1 where p is text" in shown.out
    out = tmp_path / "o.csv"
    applied = run("apply", data / "map.json", path, "-s", "p", "-o", out, "--on-bad-rows", "skip")
    assert applied.code == 0, applied.err
    assert len(out.read_text().splitlines()) == 1 + 31  # a missing label does not matter here
    assert "1 where p is text" in applied.err


def test_no_good_row_is_an_error_even_when_skipping(run, csv_file):
    path = csv_file("p,y", "1.2,0", "abc,1")
    result = run("evaluate", path, "-s", "p", "-l", "y", "--on-bad-rows", "skip")
    assert result.code == 1
    assert "none of 2 rows can be used" in result.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_malformed_line_is_named(attempt, csv_file, command):
    message = attempt(command, csv_file("p,y", "0.2,1", "0.3,0,9", "0.4,1"))
    assert "bad.csv: line 3 is malformed" in message
    assert "expected columns: 2, found: 3" in message


def test_text_that_is_not_utf8(attempt, tmp_path):
    path = tmp_path / "latin.csv"
    path.write_bytes("p,y,name\n0.1,1,é\n0.2,0,e\n".encode("latin-1"))
    assert "UTF-8" in attempt("evaluate", path)


def test_malformed_json_lines(attempt, tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_text('{"p": 0.1, "y": 1}\n{"p": 0.1,\n')
    assert "line" in attempt("evaluate", path)


@pytest.mark.parametrize(
    "content", ["{", '{"format": "other"}', '{"format": "trueodds-map"}', "[]"]
)
def test_a_map_that_is_none(run, tmp_path, data, content, files_left):
    path = tmp_path / "map.json"
    path.write_text(content)
    out = tmp_path / "o.parquet"
    for result in (
        run("apply", path, data / "scores.csv", "-s", "p", "-o", out),
        run("export", path, "--to", "sql"),
    ):
        assert result.code == 1
        assert re.search(r"map|JSON", result.err)
    assert files_left(tmp_path) == ["map.json"]


def test_a_map_that_is_not_there(run, data, tmp_path):
    result = run("apply", tmp_path / "no.json", data / "scores.csv", "-o", tmp_path / "o.csv")
    assert result.code == 1
    assert "no.json: file not found." in result.err


def test_an_output_in_no_folder(run, data, tmp_path):
    target = tmp_path / "no" / "o.csv"
    result = run("apply", data / "map.json", data / "scores.csv", "-s", "p", "-o", target)
    assert result.code == 1
    assert "does not exist" in result.err
    blocked = data / "map.json" / "o.csv"  # the parent is a file
    result = run("apply", data / "map.json", data / "scores.csv", "-s", "p", "-o", blocked)
    assert result.code == 1


def test_devices_and_links_stay_what_they_are(run, data, tmp_path):
    pipe, link = tmp_path / "pipe", tmp_path / "link.csv"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    words = [data / "scores.csv", "-s", "p", "-l", "y", "-m", "beta"]
    assert run("fit", *words, "-o", pipe).code == 0
    assert b"trueodds-map" in os.read(reader, 10_000)
    os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)
    link.symlink_to(tmp_path / "real.csv")
    assert run("fit", *words, "-o", link).code == 0
    assert link.is_symlink()
    assert "trueodds-map" in (tmp_path / "real.csv").read_text()


WITHOUT_PRIVILEGE = textwrap.dedent("""
    import ctypes, os, sys
    if os.getuid() == 0:
        # Root without the capability to pass over permissions is bound by them as others are.
        libc = ctypes.CDLL(None, use_errno=True)
        for capability in (1, 2):
            if libc.prctl(24, capability, 0, 0, 0):
                sys.exit(99)
    os.execv(sys.executable, [sys.executable, "-m", "trueodds", *sys.argv[1:]])
""")


def _unprivileged(*words):
    return subprocess.run(
        [sys.executable, "-c", WITHOUT_PRIVILEGE, *map(str, words)],
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )


@pytest.mark.slow
@pytest.mark.parametrize("command", ["apply", "fit", "report", "export"])
def test_a_folder_without_permission(data, tmp_path, files_left, command):
    locked = tmp_path / "locked"
    locked.mkdir()
    locked.chmod(stat.S_IRUSR | stat.S_IXUSR)
    scores = [data / "scores.csv", "-s", "p"]
    words = {
        "apply": [data / "map.json", *scores, "-o", locked / "o.parquet"],
        "fit": [*scores, "-l", "y", "-m", "beta", "-o", locked / "m.json"],
        "report": [*scores, "-l", "y", "-m", "identity", "-m", "beta", "-o", locked / "r.html"],
        "export": [data / "map.json", "--to", "sql", "-o", locked / "m.sql"],
    }
    result = _unprivileged(command, *words[command])
    assert result.returncode == 1, result.stderr
    assert f"cannot write to the folder {locked}: permission denied" in result.stderr
    assert result.stderr.count("\n") == 1
    locked.chmod(0o700)
    assert files_left(locked) == []


def test_an_input_without_permission(data, tmp_path):
    for kind in ("csv", "parquet"):
        path = tmp_path / f"secret.{kind}"
        path.write_bytes((data / f"scores.{kind}").read_bytes())
        os.chmod(path, 0)  # noqa: PTH101
        result = _unprivileged("evaluate", path, "-s", "p", "-l", "y")
        assert result.returncode == 1
        assert "ermission denied" in result.stderr
        assert result.stderr.count("\n") == 1


def test_debug_shows_where_it_happened(run, csv_file):
    path = csv_file("p,y", "abc,1")
    result = run("evaluate", path, "-s", "p", "-l", "y", "--debug")
    assert result.code == 1
    assert "Traceback" in result.err
    assert result.err.splitlines()[-1].startswith("trueodds: ")


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        (
            "platt",
            "did you mean 'logistic'? 'trueodds methods' lists all. See 'trueodds fit --help'",
        ),
        ("zzz", "there are 'abb', 'acp'"),
    ],
)
def test_an_unknown_method_is_answered_with_what_there_is(run, csv_file, name, answer):
    path = csv_file("p,y", "0.2,1", "0.4,0")
    result = run("fit", path, "-s", "p", "-l", "y", "-m", name, "-o", path.with_suffix(".json"))
    assert result.code == 2
    assert answer in result.err


def test_apply_gives_no_advice_that_it_cannot_take(attempt, csv_file):
    sentence = attempt("apply", csv_file("p", "0.2", "3.5"))
    assert "map was fitted to probabilities" in sentence


@pytest.mark.slow
def test_a_thousand_score_columns_do_not_exceed_the_depth_of_the_engine(run, tmp_path):
    lines = [",".join([*(f"p_{k}" for k in range(1000)), "y"])]
    lines += [",".join(["0.001"] * 1000 + [str(row)]) for row in range(1000)]
    path = tmp_path / "wide.csv"
    path.write_text("\n".join(lines) + "\n")
    result = run("evaluate", path, "-s", "p_*", "-l", "y")
    assert result.code == 0, result.err


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        ("“quoted”", "cp1252"),  # quotation marks and the euro are control characters of latin-1
        ("12 €", "cp1252"),
        ("Größe", "latin-1"),
    ],
)
def test_the_proposed_encoding_has_the_characters_of_the_file(run, tmp_path, text, encoding):
    path = tmp_path / "bad.csv"
    lines = ["p,y,name", *(f"0.{1 + k % 9},{k % 2},{text}" for k in range(40))]
    path.write_bytes("\n".join(lines).encode(encoding))
    result = run("evaluate", path, "-s", "p", "-l", "y")
    assert result.code == 1
    assert result.err.count(f"--encoding {encoding}") == 1
    assert "--encoding" not in result.err.replace(f"--encoding {encoding}", "")


def test_a_folder_that_cannot_be_written_is_named_without_the_temporary_file(
    run, data, tmp_path, monkeypatch
):
    opened = os.open

    def read_only(path, flags, *more, **options):
        if str(path).endswith(".tmp"):
            raise OSError(errno.EROFS, "Read-only file system", str(path))
        return opened(path, flags, *more, **options)

    monkeypatch.setattr(os, "open", read_only)
    target = tmp_path / "map.json"
    result = run("fit", data / "scores.csv", "-s", "p", "-l", "y", "-m", "beta", "-o", target)
    assert result.code == 1
    assert f"cannot write to the folder {tmp_path}: read-only file system." in result.err
    assert ".tmp" not in result.err


@pytest.mark.parametrize(
    ("lines", "answer"),
    [
        (
            b'{"p": 0.2, "y": 1}\n{"p": 0.2 "y": 1}\n',
            "line 2 is not JSON: Expecting ',' delimiter.",
        ),
        (b'{"p": 0.2, "y": 1}\n{"p": 0.2, "y":', "line 2 is not JSON: Expecting value."),
        (b'{"p": 0.2, "y": 1, "y": 2}\n', "line 1 is not JSON: the key 'y' occurs twice."),
        (b'{"p": NaN, "y": 1}\n\nNaN\n', "line 3 is not a JSON object."),
        (b'\xff\xfe{"p": 0.2}\n', "line 1 is not UTF-8 text."),
    ],
)
def test_a_line_that_is_not_json_is_named(run, tmp_path, lines, answer):
    path = tmp_path / "scores.jsonl"
    path.write_bytes(lines)
    result = run("evaluate", path, "-s", "p", "-l", "y")
    assert result.code == 1
    assert f"scores.jsonl: {answer}" in result.err
