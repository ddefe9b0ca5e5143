"""Check that ``trueodds monitor`` and ``stream`` count every row once, whatever happens meanwhile.

``python -m support.monitor_under_faults --appends 200 --pairs 50 --kills 200 --streams 200``
appends rows to a file while a run reads it, starts two runs on one state at once, and kills runs
of both commands by SIGKILL, all at random moments. After a last quiet run, it compares the rows
that were counted, and forecast, with the rows that were written.
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from importlib import import_module
from pathlib import Path
from typing import Any

FIRST, MORE = 300, 500
DONE = (0, 4)


def lines(rows: int, generator: random.Random, day: int | None) -> str:
    """Rows of a calibrated model as CSV; scores in whole per cents, so that many are equal."""
    found = []
    for _ in range(rows):
        p = generator.randint(1, 99) / 100
        y = int(generator.random() < p)
        found.append(f"{p},{y}\n" if day is None else f"{p},{y},2026-10-{day:02d}\n")
    return "".join(found)


def header(day: int | None) -> str:
    """The first line of a file."""
    return "p,y\n" if day is None else "p,y,day\n"


def words(folder: Path, files: list[Path], day: int | None) -> list[str]:
    """A command line of the monitor."""
    found = ["monitor", str(folder / "map.json"), *map(str, files), "--score", "p", "--label", "y"]
    found += ["--state", str(folder / "watch.json")]
    return found + (["--time", "day"] if day is not None else [])


def start(arguments: list[str]) -> int:
    """Run the program in a child process that has all libraries loaded; returns its number."""
    child = os.fork()
    if child:
        return child
    code = 70
    with contextlib.suppress(BaseException), open(os.devnull, "w") as nothing:  # noqa: PTH123
        os.dup2(nothing.fileno(), 1)
        os.dup2(nothing.fileno(), 2)
        from trueodds.cli import main

        try:
            main(arguments)
        except SystemExit as leave:
            code = int(leave.code or 0)
    os._exit(code)


def ended(child: int) -> int:
    """Wait for a child; returns its exit code, or minus the number of the signal."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def counted(folder: Path, files: list[Path], day: int | None) -> int:
    """Rows in the state after a quiet run."""
    code = ended(start(words(folder, files, day)))
    if code not in DONE:
        raise AssertionError(f"the quiet run ended with {code}")
    return total(json.loads((folder / "watch.json").read_text()))


def total(state: dict[str, Any]) -> int:
    """Rows that a state has counted."""
    stream = state["monitor"]["stream"]
    return int(stream["clock"][0]) if stream else 0


def duration(folder: Path) -> float:
    """Seconds of one run that has rows to read."""
    file = folder / "a.csv"
    file.write_text(header(None) + lines(FIRST, random.Random(0), None))  # noqa: S311
    begun = time.monotonic()
    ended(start(words(folder, [file], None)))
    (folder / "watch.json").unlink()
    return time.monotonic() - begun


def append_while_running(folder: Path, generator: random.Random, longest: float) -> int:
    """Append at a random moment of a run; returns rows that were lost (or counted twice)."""
    day = generator.choice([None, 1])
    file = folder / "a.csv"
    file.write_text(header(day) + lines(FIRST, generator, day))
    more = lines(MORE, generator, day)
    child = start(words(folder, [file], day))
    time.sleep(generator.uniform(0, longest))
    with file.open("a") as stream:
        stream.write(more)
    code = ended(child)
    if code not in DONE:
        raise AssertionError(f"the run ended with {code}")
    return FIRST + MORE - counted(folder, [file], day)


def two_at_once(folder: Path, generator: random.Random, longest: float) -> int:
    """Two runs on one state, each with a file of its own, then both files."""
    day = generator.choice([None, 1])
    files = [folder / "a.csv", folder / "b.csv"]
    for file in files:
        file.write_text(header(day) + lines(FIRST, generator, day))
    children = []
    for file in files:
        children.append(start(words(folder, [file], day)))
        time.sleep(generator.uniform(0, longest / 4))
    codes = [ended(child) for child in children]
    if not set(codes) <= set(DONE):
        raise AssertionError(f"the runs ended with {codes}")
    at_once = total(json.loads((folder / "watch.json").read_text()))
    again = counted(folder, files, day)
    return max(2 * FIRST - at_once, 2 * FIRST - again, key=abs)


def kill_at_random(folder: Path, generator: random.Random, longest: float, kills: int) -> int:
    """A new file a night, each run killed at a random moment, and quiet runs now and then."""
    day = generator.choice([None, 1])
    files: list[Path] = []
    for number in range(kills):
        files.append(folder / f"{number:03d}.csv")
        files[-1].write_text(header(day) + lines(FIRST, generator, day and 1 + number % 28))
        child = start(words(folder, files, day))
        time.sleep(generator.uniform(0, longest))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        ended(child)
    return kills * FIRST - counted(folder, files, day)


def kill_streams(folder: Path, generator: random.Random, longest: float, kills: int) -> int:
    """The same with ``stream``: rows that its state or its forecasts lack, or have twice."""
    files: list[Path] = []
    state, output = folder / "stream.json", folder / "forecasts.csv"
    command = ["stream", str(folder / "map.json"), "--score", "p", "--label", "y"]
    command += ["--state", str(state), "--output", str(output)]
    for number in range(kills):
        files.append(folder / f"{number:03d}.csv")
        files[-1].write_text(header(None) + lines(FIRST, generator, None))
        child = start([*command, *map(str, files)])
        time.sleep(generator.uniform(0, longest))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
        ended(child)
    code = ended(start([*command, *map(str, files)]))
    if code not in DONE:
        raise AssertionError(f"the quiet run ended with {code}")
    expected = {(str(file), row) for file in files for row in range(1, FIRST + 1)}
    with output.open(newline="") as stream:
        found = [(row["file"], int(row["row"])) for row in csv.DictReader(stream)]
    learned = int(json.loads(state.read_text())["online"]["streams"][0]["clock"][0])
    return max(
        len(expected) - learned, len(found) - len(expected), len(expected ^ set(found)), key=abs
    )


def run_all(
    appends: int, pairs: int, kills: int, seed: int, streams: int = 0
) -> dict[str, Counter[int]]:
    """How many trials of each kind lost how many rows."""
    from trueodds.maps import IdentityMap

    for library in ("duckdb", "pyarrow", "trueodds.cli.watch.reader", "trueodds.watch.forecasts"):
        import_module(library)  # once, before the children
    generator = random.Random(seed)  # noqa: S311
    kinds = ("appends", "pairs", "kills", "streams")
    found: dict[str, Counter[int]] = {kind: Counter() for kind in kinds}
    with tempfile.TemporaryDirectory() as first:
        IdentityMap().save(Path(first, "map.json"))
        duration(Path(first))
        longest = 1.1 * duration(Path(first))
    trials = [("appends", append_while_running)] * appends + [("pairs", two_at_once)] * pairs
    for kind, trial in trials:
        with tempfile.TemporaryDirectory() as name:
            IdentityMap().save(Path(name, "map.json"))
            found[kind][trial(Path(name), generator, longest)] += 1
    for kind, count, killed in (
        ("kills", kills, kill_at_random),
        ("streams", streams, kill_streams),
    ):
        for begin in range(0, count, 20):
            with tempfile.TemporaryDirectory() as name:
                IdentityMap().save(Path(name, "map.json"))
                some = min(20, count - begin)
                found[kind][killed(Path(name), generator, longest, some)] += some
    return found


def main() -> int:
    """Print a line for each kind of fault."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    for name, count in (
        ("appends", 200),
        ("pairs", 50),
        ("kills", 200),
        ("streams", 200),
        ("seed", 0),
    ):
        parser.add_argument(f"--{name}", type=int, default=count)
    options = parser.parse_args()
    found = run_all(options.appends, options.pairs, options.kills, options.seed, options.streams)
    for kind, lost in found.items():
        wrong = sum(count for rows, count in lost.items() if rows)
        trials = sum(lost.values())
        sys.stdout.write(f"{kind}: {trials} trials, {wrong} with rows lost or counted twice\n")
    return int(any(rows for lost in found.values() for rows in lost))


if __name__ == "__main__":
    sys.exit(main())
