"""Runs of the program inside this process, and files of scores to run it on."""

import inspect
import io
import json
import os
import re
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pytest
from score_files import make_table, write_table

import trueodds
from trueodds.cli import main

if os.name == "nt":
    # What these are about, Windows has not: signals, named pipes, limits, permissions, /bin/sh.
    collect_ignore = [
        "test_documentation.py",
        "test_interruption.py",
        "test_pipes_and_scratch.py",
        "test_signals.py",
        "test_standard_streams.py",
        "test_writing.py",
    ]
LACKING = {
    "win32": r"os\.(fork|mkfifo|getuid|kill)|run_killed|fcntl|SIGKILL|symlink_to|chmod|/dev/|"
    r"import resource",
    "darwin": r"/dev/full|/proc/|os\.fsdecode",  # names of files are UTF-8 there
}
"""What a system has not, or allows administrators only; tests that use it are skipped there."""


def pytest_collection_modifyitems(items):
    lacking = LACKING.get(sys.platform)
    for item in items if lacking else ():
        own = item.path.parent == Path(__file__).parent and hasattr(item, "function")
        if own and re.search(lacking, inspect.getsource(item.function)):
            item.add_marker(pytest.mark.skip(reason=f"not on {sys.platform}"))


@dataclass(frozen=True)
class Result:
    code: int
    out: str
    err: str

    @property
    def json(self):
        return json.loads(self.out)


@pytest.fixture
def run(capsys):
    """Run a command line; returns exit code, standard output and standard error."""

    def call(*words) -> Result:
        capsys.readouterr()
        with pytest.raises(SystemExit) as leave:
            main([str(word) for word in words])
        captured = capsys.readouterr()
        return Result(int(leave.value.code or 0), captured.out, captured.err)

    return call


@pytest.fixture
def feed(monkeypatch):
    """Give bytes to the next run as its standard input."""

    def give(content: bytes) -> None:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(content)))

    return give


@pytest.fixture
def run_process():
    """Run a command line in a process of its own."""

    def call(*words, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "trueodds", *map(str, words)]
        options.setdefault("timeout", 120)
        return subprocess.run(command, capture_output=True, check=False, **options)

    return call


@pytest.fixture(scope="session")
def table() -> pa.Table:
    return make_table()


@pytest.fixture(scope="session")
def data(table, tmp_path_factory) -> Path:
    """A folder with the same rows in every format, and a fitted map."""
    folder = tmp_path_factory.mktemp("data")
    for suffix in ("csv", "parquet", "arrow", "jsonl"):
        write_table(table, folder / f"scores.{suffix}")
    fitted = trueodds.BetaCalibrator().fit(table["p"].to_numpy(), table["y"].to_numpy())
    fitted.map_.save(folder / "map.json")
    return folder


@pytest.fixture
def csv_file(tmp_path):
    """Write lines to a CSV file."""

    def write(*lines: str, name: str = "bad.csv") -> Path:
        path = tmp_path / name
        path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
        return path

    return write


@pytest.fixture
def files_left():
    """Names in a folder, hidden and temporary ones too."""

    def names(folder: Path) -> list[str]:
        return sorted(path.name for path in folder.iterdir())

    return names
