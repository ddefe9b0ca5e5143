"""Ctrl-C and SIGTERM in the middle of writing leave nothing behind."""

import os
import signal
import subprocess
import sys
import time

import duckdb
import pytest


@pytest.fixture(scope="module")
def large(tmp_path_factory):
    path = tmp_path_factory.mktemp("large") / "large.parquet"
    duckdb.sql("SELECT random() AS p, range AS id FROM range(8000000)").write_parquet(str(path))
    return path


def heed_interrupts() -> None:
    """A job in the background of a shell ignores Ctrl-C, and so would its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("number", "code", "word"),
    [(signal.SIGINT, 130, "interrupted"), (signal.SIGTERM, 143, "terminated")],
)
@pytest.mark.parametrize("older", [False, True])
def test_a_signal_during_apply_leaves_nothing(
    large, data, tmp_path, files_left, number, code, word, older
):
    out, scratch = tmp_path / "out", tmp_path / "scratch"
    out.mkdir()
    scratch.mkdir()
    target = out / "o.csv"
    if older:
        target.write_text("precious\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "trueodds", "apply", data / "map.json", large, "-s", "p"]
        + ["-o", target, "--force"],
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(scratch)},
        preexec_fn=heed_interrupts,
    )
    try:
        wait_for_growth(out, process)
        process.send_signal(number)
        stdout, stderr = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == code, stderr
    assert stderr == f"trueodds: {word}; no partial output was written.\n"
    assert stdout == ""
    assert files_left(out) == (["o.csv"] if older else [])
    assert files_left(scratch) == []
    if older:
        assert target.read_text() == "precious\n"


def wait_for_growth(folder, process) -> None:
    """Until half a megabyte of output stands in a temporary file."""
    for _ in range(1200):
        assert process.poll() is None, process.communicate()
        if any(path.stat().st_size > 500_000 for path in folder.glob(".*.tmp")):
            return
        time.sleep(0.05)
    pytest.fail("no output was written within a minute")
