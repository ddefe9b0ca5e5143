"""Files that are no files, names that are no text, and what a killed run leaves behind."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet
import pytest
from score_files import write_table

from trueodds.basics.files import atomic_file
from trueodds.cli.files.find import SCRATCH, scratch_folder
from trueodds.maps import IdentityMap

WORDS = ["-s", "p", "-l", "y"]
PROGRAM = [sys.executable, "-m", "trueodds"]


def test_a_pipe_is_read_to_its_end(run, data, tmp_path):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    content = (data / "scores.csv").read_bytes()

    def write():
        with pipe.open("wb") as stream:  # waits for the reader
            for begin in range(0, len(content), 5000):
                stream.write(content[begin : begin + 5000])
                time.sleep(0.001)

    threading.Thread(target=write, daemon=True).start()
    result = run("evaluate", pipe, *WORDS, "--json")
    assert result.code == 0, result.err
    assert result.json["rows"] == 2000


def test_pipes_of_the_shell_are_read(run_process, data):
    content = (data / "scores.csv").read_bytes()
    for given in (["--format", "csv"], []):
        result = run_process("evaluate", "/dev/stdin", *given, *WORDS, "--json", input=content)
        assert result.returncode == 0, result.stderr
        assert json.loads(result.stdout)["rows"] == 2000


@pytest.mark.parametrize("command", ["evaluate", "show"])
def test_a_pipe_to_which_nobody_writes_is_refused_at_once(run_process, tmp_path, command):
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    words = [command, pipe, *(WORDS if command == "evaluate" else [])]
    result = run_process(*words, timeout=30)
    assert result.returncode == 1
    assert b"pipe" in result.stderr
    assert result.stderr.count(b"\n") == 1


def test_a_device_is_refused(run):
    result = run("evaluate", "/dev/zero", "--format", "csv", *WORDS)
    assert result.code == 1
    assert "is a device or a pipe" in result.err


@pytest.mark.parametrize("kind", ["csv", "parquet", "arrow", "jsonl"])
def test_a_name_that_is_not_utf_8_is_opened(run, data, table, tmp_path, kind):
    path = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9 \xff." + kind.encode()))
    path.write_bytes((data / f"scores.{kind}").read_bytes())
    out = Path(os.fsdecode(os.fsencode(tmp_path) + b"/out\xe9.csv"))
    result = run("apply", data / "map.json", path, "-s", "p", "-o", out)
    assert result.code == 0, result.err
    assert len(out.read_bytes().splitlines()) == 1 + table.num_rows
    assert "\udce9" not in result.err


def test_every_command_takes_names_that_are_not_utf_8(run, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = Path(os.fsdecode(b"shop=caf\xe9"))
    folder.mkdir()
    path, out = folder / os.fsdecode(b"\xff.csv"), os.fsdecode(b"out\xe9")
    path.write_bytes((data / "scores.csv").read_bytes())
    for words in (
        ["fit", path, *WORDS, "-m", "beta", "-o", f"{out}.json"],
        ["show", f"{out}.json"],
        ["evaluate", path, *WORDS, "-g", "shop", "--resamples", "20"],
        ["compare", path, *WORDS, "-m", "beta", "-m", "logistic", "--json"],
        ["report", path, *WORDS, "-o", f"{out}.html"],
        ["monitor", data / "map.json", path, *WORDS, "--state", f"{out}-state.json", "--json"],
        ["monitor", data / "map.json", path, *WORDS, "--state", f"{out}-state.json"],
    ):
        result = run(*words)
        assert result.code in (0, 4), result.err
        (result.out + result.err).encode()
    assert "already read" in result.err
    assert json.loads(Path(f"{out}.json").read_text())["metadata"]["file"] == "\\xff.csv"
    assert "caf\\xe9/\\xff.csv" in Path(f"{out}.html").read_text()


def test_names_do_not_reach_the_terminal_as_commands(run, table, tmp_path):
    path = write_table(table, tmp_path / "a\x1b]0;title\x07b.csv")
    result = run("evaluate", path, *WORDS, "--verbose")
    assert result.code == 0
    assert "a\\x1b]0;title\\x07b.csv (csv) is read by DuckDB" in result.err
    assert not {"\x1b", "\x07"} & set(result.out + result.err)


def _folders(place):
    return sorted(path.name for path in place.glob(f"{SCRATCH}*"))


def test_the_next_run_removes_what_a_killed_run_left(data, tmp_path):
    environment = {**os.environ, "TMPDIR": str(tmp_path)}
    pipe = tmp_path / "pipe.csv"
    os.mkfifo(pipe)
    keeper = os.open(pipe, os.O_RDWR)  # a writer that never writes: the run waits
    words = [*PROGRAM, "evaluate", pipe, *WORDS]
    other = tmp_path / f"{SCRATCH}mine"  # no name that we give
    other.mkdir()
    with (
        subprocess.Popen(words, env=environment) as waiting,
        subprocess.Popen(words, env=environment) as killed,
    ):
        while len(_folders(tmp_path)) < 3:
            time.sleep(0.05)
        killed.send_signal(signal.SIGKILL)
        killed.wait()
        assert len(_folders(tmp_path)) == 3
        again = [*PROGRAM, "evaluate", data / "scores.csv", *WORDS]
        subprocess.run(again, env=environment, check=True, stdout=subprocess.DEVNULL)
        left = _folders(tmp_path)
        assert len(left) == 2  # that of the run that waits, and the one that is not ours
        assert other.name in left
        waiting.terminate()
        waiting.wait()
    os.close(keeper)
    assert _folders(tmp_path) == [other.name]


def test_runs_at_once_never_remove_each_others_folders(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    lost = []

    def use():
        for _ in range(30):
            with scratch_folder() as folder:
                (folder / "a").write_text("x")
                if (folder / "a").read_text() != "x":
                    lost.append(folder)

    threads = [threading.Thread(target=use) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not lost
    assert _folders(tmp_path) == []


def test_a_file_gets_its_permissions_without_touching_the_umask(monkeypatch, tmp_path):
    before = os.umask(0o027)
    try:
        monkeypatch.setattr(os, "umask", lambda _: pytest.fail("another thread would see this"))
        with atomic_file(tmp_path / "f") as stream:
            stream.write(b"x")
    finally:
        monkeypatch.undo()
        os.umask(before)
    assert (tmp_path / "f").stat().st_mode & 0o777 == 0o640


def test_objects_of_thousands_of_keys_are_columns_and_of_too_many_a_sentence(run, tmp_path):
    path = tmp_path / "s.jsonl"
    for count in (3000, 20_000):
        rows = [{"p": 0.3, "y": k % 2, **{f"k{i}": i for i in range(count)}} for k in range(4)]
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        result = run("evaluate", path, *WORDS)
        assert result.code == (0 if count == 3000 else 1), result.err
    assert "has more than 10,000 different keys" in result.err


def _long_texts(path, size):
    """Rows whose texts are long, and stored once each."""
    texts = pa.array(["a" * size, "b" * size])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 2000, pa.int32()), texts)
    return write_table(pa.table({"p": [0.3, 0.6] * 2000, "y": [0, 1] * 2000, "t": column}), path)


@pytest.mark.parametrize(
    "words",
    [
        ("evaluate", "-l", "y", "-g", "t"),
        ("evaluate", "-l", "t"),
        ("fit", "-l", "t", "-o", "m.json"),
        ("monitor", "-l", "t"),
        ("monitor", "-l", "t", "--positive", "b"),
        ("monitor", "-l", "y", "-g", "t"),
        ("monitor", "-l", "y", "-t", "t"),
    ],
    ids=" ".join,
)
def test_long_texts_are_no_labels_groups_or_times(tmp_path, run, monkeypatch, words):
    """Copied once for each row, these texts would take 8 GB."""
    monkeypatch.chdir(tmp_path)
    path = _long_texts(tmp_path / "s.parquet", 2_000_000)
    files = [path]
    if words[0] == "monitor":
        IdentityMap().save(tmp_path / "map.json")
        files = [tmp_path / "map.json", path, "--state", tmp_path / "state.json"]
    result = run(words[0], *files, "-s", "p", *words[1:])
    assert result.code == 1
    assert "'t' is longer than 1,000 characters in 4,000" in result.err
    assert len(result.err) < 1000
    assert not {*tmp_path.iterdir()} - {path, tmp_path / "map.json"}


def test_long_scores_are_cut_before_a_monitor_copies_them(tmp_path, run):
    IdentityMap().save(tmp_path / "map.json")
    path = _long_texts(tmp_path / "s.parquet", 2_000_000)
    words = ["-s", "t", "-l", "y", "--state", tmp_path / "state.json"]
    result = run("monitor", tmp_path / "map.json", path, *words)
    assert result.code == 1
    assert "'t' is text in 4,000" in result.err


@pytest.mark.parametrize("kind", ["csv", "parquet", "jsonl", "blob.parquet"])
def test_a_monitor_takes_texts_of_the_greatest_length_and_no_more(tmp_path, run, kind):
    IdentityMap().save(tmp_path / "map.json")
    for size, code in ((1000, 0), (1001, 1)):
        groups = ["é" * size, "b"] * 4
        if kind == "blob.parquet":
            groups = [("e" * size).encode(), b"b"] * 4
        rows = pa.table({"p": [0.3, 0.6] * 4, "y": [0, 1] * 4, "g": groups})
        path = write_table(rows, tmp_path / f"s{size}.{kind}")
        state = tmp_path / f"{size}.json"
        words = ["-s", "p", "-l", "y", "-g", "g", "--state", state]
        result = run("monitor", tmp_path / "map.json", path, *words)
        assert result.code == code, result.err
    assert "'g' is longer than 1,000 characters in 4 (first in row 1: " in result.err
    state = json.loads((tmp_path / "1000.json").read_text())
    assert [len(name) for name in state["monitor"]["stream"]["groups"]] == [1000, 1]


def test_numbers_of_many_digits_are_numbers_to_a_monitor(tmp_path, run, csv_file):
    IdentityMap().save(tmp_path / "map.json")
    digits = f"{5e-324:.1074f}"
    path = csv_file("p,y", *[f"{digits},0", f"0.{'9' * 1500},1"] * 20)
    words = ["-s", "p", "-l", "y", "--state", tmp_path / "state.json", "--json"]
    result = run("monitor", tmp_path / "map.json", path, *words)
    assert result.code == 0, result.err
    assert result.json["periods"][0]["expected"] == 20


@pytest.mark.slow
def test_rows_of_long_texts_are_numbered_within_the_memory(tmp_path):
    """Rows were numbered with their texts, of which the engine held 600 MB at once."""
    path = tmp_path / "s.csv"
    with path.open("w") as stream:
        stream.write("p,y,g\n")
        for row in range(150):
            stream.write(f"0.{row % 9},{row % 2},{'x' * 4_000_000}\n")
    limited = (
        "import resource, sys; resource.setrlimit(resource.RLIMIT_DATA, (700 << 20, 700 << 20)); "
        "from trueodds.cli import main; main(sys.argv[1:])"
    )
    words = ["evaluate", path, *WORDS, "-g", "g", "--memory", "300MB"]
    done = subprocess.run([sys.executable, "-c", limited, *words], capture_output=True, text=True)
    assert done.returncode == 1
    assert "'g' is longer than 1,000 characters in 150 (first in row 1: " in done.stderr


@pytest.mark.parametrize("words", [(), ("--time-format", "%d.%m.%Y")])
def test_long_texts_are_no_times(tmp_path, run, words):
    """The 70 usual forms of dates are tried on every text, which took minutes."""
    IdentityMap().save(tmp_path / "map.json")
    texts = pa.array(["a" * 20_000_000, "2026-10-01" + "b" * 991])
    days = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 4, pa.int32()), texts)
    rows = pa.table({"p": [0.3, 0.6] * 4, "y": [0, 1] * 4, "day": days})
    path = write_table(rows, tmp_path / "s.parquet")
    state = tmp_path / "s.json"
    command = ["monitor", tmp_path / "map.json", path, "-s", "p", "-l", "y", "-t", "day"]
    start = time.process_time()
    result = run(*command, "--state", state, *words)
    assert result.code == 1
    assert "'day' is longer than 1,000 characters in 8 (for example '" in result.err
    assert len(result.err) < 300
    assert not state.exists()
    assert time.process_time() - start < 10


def test_times_of_the_greatest_length_are_read(tmp_path, run):
    IdentityMap().save(tmp_path / "map.json")
    days = ["2026-10-01" + " " * 990] * 40
    rows = pa.table({"p": [0.3, 0.6] * 20, "y": [0, 1] * 20, "day": days})
    path = write_table(rows, tmp_path / "s.parquet")
    command = ["monitor", tmp_path / "map.json", path, "-s", "p", "-l", "y", "-t", "day"]
    result = run(*command, "--state", tmp_path / "s.json", "--json")
    assert [line["period"] for line in result.json["periods"]] == ["2026-10-01"]


def test_long_texts_that_are_stored_once_do_not_fill_the_memory(run, data, tmp_path):
    texts = pa.array(["a" * 300_000, "b" * 300_000])
    column = pa.DictionaryArray.from_arrays(pa.array([0, 1] * 200, pa.int32()), texts)
    path = write_table(pa.table({"p": [0.3, 0.6] * 200, "t": column}), tmp_path / "s.parquet")
    words = ["apply", data / "map.json", path, "-s", "p", "-o", tmp_path / "o.parquet"]
    result = run(*words, "--memory", "100MB")
    assert result.code == 1
    assert "has texts of up to 300,000 bytes in a row; they need about 0.2 GB" in result.err
    assert run(*words, "--memory", "200MB").code == 0
    found = pyarrow.parquet.read_table(tmp_path / "o.parquet")
    assert found["t"].to_pylist() == column.to_pylist()
    assert found["probability"].null_count == 0


def test_rows_that_would_not_fit_into_memory_are_sampled_and_it_is_said(run, tmp_path):
    import numpy as np

    prob = np.random.default_rng(0).dirichlet(np.ones(10), 20_000)
    columns = {f"p{k}": prob[:, k] for k in range(10)}
    path = write_table(pa.table({**columns, "y": np.arange(20_000) % 10}), tmp_path / "s.parquet")
    words = [path, "-s", "p*", "-l", "y", "-m", "temperature", "-o", tmp_path / "m.json"]
    result = run("fit", *words, "--memory", "30MB")
    assert result.code == 0, result.err
    assert "sample of 10,000 of 20,000 rows is used (--memory 30MB, --seed 0)" in result.err


def test_more_columns_than_fit_are_refused_with_the_memory_that_they_need(run, data, csv_file):
    names = ",".join(f"c{k}" for k in range(2000))
    path = csv_file(f"p,{names}", f"0.5,{','.join('1' * 2000)}")
    words = ["apply", data / "map.json", path, "-s", "p", "-o", "-", "--output-format", "csv"]
    result = run(*words, "--memory", "100MB")
    assert result.code == 1
    assert "has 2,001 columns; DuckDB needs about 0.3 GB for them, more than --memory 100MB" in (
        result.err
    )
    assert result.err.endswith("--memory 1GB\n")
    assert run(*words).code == 0
