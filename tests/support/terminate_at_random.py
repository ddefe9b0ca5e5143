"""Stop commands by SIGTERM at random moments: each is either complete or leaves nothing behind.

``python -m support.terminate_at_random --moments 200 --seed 0`` prints how each run ended.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

COMMANDS = ("fit", "apply", "report", "monitor")
COMPLETE, TERMINATED, BEFORE_PYTHON = "complete", "terminated", "ended before the program began"
SENTENCE = "trueodds: terminated; no partial output was written.\n"
CODE = 143


def words_of(command: str, data: Path, fitted: Path, out: Path) -> list[str]:
    """A command line that writes into the folder ``out``."""
    columns = ["--score", "p", "--label", "y"]
    rest = {
        "fit": [str(data), *columns, "--method", "beta", "-o", str(out / "map.json")],
        "apply": [str(fitted), str(data), "--score", "p", "-o", str(out / "rows.parquet")],
        "report": [str(data), *columns, "-m", "identity", "-m", "beta", "-o", str(out / "r.html")],
        "monitor": [str(fitted), str(data), *columns, "--state", str(out / "state.json")],
    }
    return [sys.executable, "-m", "trueodds", command, *rest[command]]


def write_data(folder: Path, rows: int) -> tuple[Path, Path]:
    """A file of rows, and a map."""
    import numpy as np

    from trueodds import BetaCalibrator

    rng = np.random.default_rng(0)
    p = rng.random(rows)
    y = (rng.random(p.size) < p).astype(int)
    data, fitted = folder / "scores.csv", folder / "map.json"
    lines = "".join(f"{a!r},{b}\n" for a, b in zip(p.tolist(), y.tolist(), strict=True))
    data.write_text(f"p,y\n{lines}")
    BetaCalibrator().fit(p, y).map_.save(fitted)
    return data, fitted


def run(command: str, data: Path, fitted: Path, wait: float | None) -> tuple[str, float]:
    """Run a command, stop it after ``wait`` seconds; returns how it ended, and its time.

    Raises AssertionError if it ended in any other way than the two that are allowed.
    """
    with tempfile.TemporaryDirectory() as folder:
        out, scratch = Path(folder, "out"), Path(folder, "scratch")
        out.mkdir()
        scratch.mkdir()
        begin = time.monotonic()
        process = subprocess.Popen(
            words_of(command, data, fitted, out),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": str(scratch)},
        )
        if wait is not None:
            time.sleep(wait)
            process.send_signal(signal.SIGTERM)
        _, said = process.communicate(timeout=300)
        spent = time.monotonic() - begin
        left = sorted(path.name for path in (*out.iterdir(), *scratch.iterdir()))
        code = process.returncode
        place = f"{command} after {wait} s: code {code}, left {left}, said {said!r}"
        if code in (0, 4):  # 4: the monitor has found something
            if len(left) != 1 or left[0].endswith(".tmp"):
                raise AssertionError(place)
            return COMPLETE, spent
        if left:
            raise AssertionError(place)
        if code == -signal.SIGTERM and not said:
            return BEFORE_PYTHON, spent
        if (code, said) != (CODE, SENTENCE):
            raise AssertionError(place)
        return TERMINATED, spent


def endings(moments: int, seed: int, rows: int = 20_000) -> Iterator[tuple[str, str]]:
    """How each of so many runs ended: the command, and one of the two endings."""
    rng = random.Random(seed)  # noqa: S311
    with tempfile.TemporaryDirectory() as folder:
        data, fitted = write_data(Path(folder), rows)
        spans = {command: run(command, data, fitted, None)[1] for command in COMMANDS}
        for number in range(moments):
            command = COMMANDS[number % len(COMMANDS)]
            wait = rng.uniform(0, 1.05 * spans[command])
            yield command, run(command, data, fitted, wait)[0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    tally: Counter[tuple[str, str]] = Counter()
    for ending in endings(options.moments, options.seed):
        tally[ending] += 1
    for (command, how), count in sorted(tally.items()):
        sys.stdout.write(f"{command:8} {how:32} {count:4}\n")
    sys.stdout.write(f"{sum(tally.values())} runs; none left a partial file\n")


if __name__ == "__main__":
    main()
