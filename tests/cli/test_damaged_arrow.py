"""Damaged Arrow files end in one sentence; they used to crash the process."""

import json
import random
import subprocess
import sys
import textwrap

import pyarrow as pa
import pyarrow.ipc
import pytest
from score_files import make_table

NUMBERS = [0, 1, -1, 1_000_000, 2**31 - 1, -(2**31)]
# A crash would take the tests along, so the files are read in a process of its own.
READ_ALL = textwrap.dedent("""
    import contextlib, io, json, sys
    from trueodds.cli.app import run

    for words in json.load(sys.stdin):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            code = run(words)
        print(json.dumps([code, said.getvalue()]), flush=True)
""")


def _read_all(command_lines):
    """Exit code and message of each command line, all run in one process."""
    process = subprocess.run(
        [sys.executable, "-c", READ_ALL],
        input=json.dumps([[str(word) for word in words] for words in command_lines]),
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    results = [json.loads(line) for line in process.stdout.splitlines()]
    done = f"ended with {process.returncode} after {len(results)} files: {process.stderr[-500:]}"
    assert process.returncode == 0, done
    return results


def _arrow(kind: str, table: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    new = pa.ipc.new_stream if kind == "stream" else pa.ipc.new_file
    with new(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=100)
    return sink.getvalue().to_pybytes()


def _many_types() -> pa.Table:
    table = make_table(300)
    codes = pa.array([number % 3 for number in range(300)], pa.int32())
    table = table.append_column(
        "codes", pa.DictionaryArray.from_arrays(codes, pa.array(["a", "bb", "ccc"]))
    )
    return table.append_column("lists", pa.array([[1.0] * (n % 3) for n in range(300)]))


def _damaged(content: bytes, seed: int) -> bytes:
    """One to eight numbers of four bytes replaced by others."""
    rng = random.Random(seed)  # noqa: S311
    damaged = bytearray(content)
    for _ in range(rng.choice([1, 2, 8])):
        place = 4 * rng.randrange(len(content) // 4)
        damaged[place : place + 4] = rng.choice(NUMBERS).to_bytes(4, "little", signed=True)
    return bytes(damaged)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_no_damaged_arrow_file_crashes_the_process(data, tmp_path, kind):
    content, command_lines = _arrow(kind, _many_types()), []
    for seed in range(40):
        path = tmp_path / f"{seed}.arrow"
        path.write_bytes(_damaged(content, seed))
        words = [
            "apply",
            data / "map.json",
            path,
            "-s",
            "p",
            "-o",
            tmp_path / "o.parquet",
            "--force",
        ]
        command_lines.append(words)
    results = _read_all(command_lines)
    assert len(results) == 40
    for code, said in results:
        assert code in (0, 1), said
        assert said.count("\n") == 1
    assert 5 < sum(code for code, _ in results) < 40  # some can be read, some cannot


def _with_wrong_offsets() -> pa.RecordBatch:
    """Two texts, the first of which ends far outside of the buffer."""
    offsets = pa.array([0, 2**31 - 1, 2], pa.int32()).buffers()[1]
    texts = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    columns = [pa.array([0.1, 0.2]), pa.array([0, 1]), texts]
    return pa.RecordBatch.from_arrays(columns, names=["p", "y", "note"])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_text_that_ends_outside_of_the_file_is_refused_by_every_command(data, tmp_path, kind):
    path, out = tmp_path / "x.arrow", tmp_path / "o.csv"
    path.write_bytes(_arrow(kind, pa.Table.from_batches([_with_wrong_offsets()])))
    words = [path, "-s", "p", "-l", "y"]
    results = _read_all(
        [
            ["evaluate", *words],
            ["fit", *words, "-m", "beta", "-o", out],
            ["apply", data / "map.json", path, "-s", "p", "-o", out],
            ["compare", *words],
            ["report", *words, "-o", out],
        ]
    )
    assert len(results) == 5
    for code, said in results:
        assert code == 1
        assert said.startswith("trueodds: x.arrow cannot be read as Arrow: In column 2: ")
        assert said.count("\n") == 1
    assert not out.exists()
