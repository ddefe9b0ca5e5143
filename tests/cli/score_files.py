"""Files of scores that tests run commands on."""

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet


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
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path)
    elif path.suffix in (".arrow", ".feather"):
        pyarrow.feather.write_feather(table, path, compression="uncompressed")
    elif path.suffix == ".jsonl":
        path.write_text("".join(json.dumps(row) + "\n" for row in table.to_pylist()))
    else:
        pyarrow.csv.write_csv(table, path)
    return path
