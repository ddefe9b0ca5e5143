"""Runs of the program inside this process, and files of scores to run it on."""

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import trueodds
from trueodds.cli import main


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
def run_process():
    """Run a command line in a process of its own."""

    def call(*words, **options) -> subprocess.CompletedProcess:
        command = [sys.executable, "-m", "trueodds.cli", *map(str, words)]
        options.setdefault("timeout", 120)
        return subprocess.run(command, capture_output=True, check=False, **options)

    return call


def make_table(n: int = 2000, seed: int = 0) -> pa.Table:
    """Log-odds twice too large, with weights, groups and other columns."""
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-z))).astype(np.int64)
    return pa.table(
        {
            "id": [f"{i:05d}" for i in range(n)],
            "p": 1 / (1 + np.exp(-2 * z)),
            "y": y,
            "z": 2 * z,
            "w": rng.integers(1, 4, n),
            "g": rng.choice(["north", "south, east"], n),
        }
    )


def write_table(table: pa.Table, path: Path) -> Path:
    """Write a table in the format of the path's suffix."""
    import pyarrow.csv
    import pyarrow.feather
    import pyarrow.parquet

    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix in (".arrow", ".feather"):
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        pyarrow.csv.write_csv(table, path)
    return path


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
        return sorted(os.listdir(folder))

    return names
