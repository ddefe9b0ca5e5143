"""Has a change made trueodds slower? Two commits side by side in one run.

Each commit is checked out into a separate folder and works in a separate process; the two take
turns within a task, on the same two cores. Short calls are repeated until they last about half a
second together. A task has become slower if its median took more than 15% and more than 50 ms
longer, and does so again when it is measured a second time. Exit code 1 if any has, or if a task
failed or is gone.

    python benchmarks/rivals/gate.py BASE [HEAD] [--only KIND:NAME]

Without HEAD the working tree is compared.
"""

from __future__ import annotations

import argparse
import math
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from adapters.cold import seconds as seconds_in_new_process
from adapters.process import Process
from adapters.show import duration

ROOT = Path(__file__).resolve().parents[2]
SLOWER_BY = 0.15
SLOWER_SECONDS = 0.05
BATCH_SECONDS = 0.5
REPEATS = 7
PATIENCE = 300.0
SIZES = {"fit": (1000, 20_000, 100_000), "predict": (100_000,), "metric": (1000, 100_000)}
OTHER_SIZES = (5000,)
MOST_ROWS = {"abb": 1000}  # quadratic in the rows
FIRST_SECOND = {
    "import trueodds": "import trueodds",
    "first fit, beta": "import trueodds as t; t.BetaCalibrator().fit([.1, .4, .6], [0, 1, 1])",
    "first fit, isotonic": "import trueodds as t; t.IsotonicCalibrator().fit([.1, .6], [0, 1])",
    "first fit, ENIR": "import trueodds as t; t.ENIRCalibrator().fit([.1, .4, .6], [0, 1, 0])",
}


@dataclass(frozen=True)
class Change:
    """Median seconds of one task before and after."""

    task: str
    before: float
    after: float

    @property
    def slower(self) -> bool:
        lost = self.after - self.before
        return lost > SLOWER_SECONDS and lost > SLOWER_BY * self.before

    def __str__(self) -> str:
        ratio = self.after / self.before
        return f"{self.task:44}{duration(self.before):>10}{duration(self.after):>10}{ratio:8.2f}"


@contextmanager
def sources(commit: str | None) -> Iterator[Path]:
    """The folder with a commit's package; the working tree's without one."""
    if commit is None:
        yield ROOT / "src"
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), commit], check=True)
        try:
            if (tree / "setup.py").exists():  # kernels are compiled beside their sources
                build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
                subprocess.run(build, cwd=tree, check=True)
            yield tree / "src"
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def sizes(task: str) -> list[int]:
    kind, name = task.split(":")
    most = MOST_ROWS.get(name, math.inf)
    return [rows for rows in SIZES.get(kind, OTHER_SIZES) if rows <= most]


def compare_task(task: str, rows: int, before: Process, after: Process) -> Change | str:
    """Both commits in turn; a text gives the reason if there is nothing to compare."""
    kind, name = task.split(":")
    request = {"do": "run", "kind": kind, "name": name, "n": rows}
    label = f"{kind} {name}, {rows:,}"
    for process in (before, after):  # the first call compiles, the second tells how many to take
        for _ in range(2):
            answer = process.ask(PATIENCE, **request)
            if "error" in answer:
                return f"{label}: {answer['error']}"
        if process is before:
            calls = max(1, round(BATCH_SECONDS / max(answer["seconds"], 1e-6)))
    taken: tuple[list[float], list[float]] = [], []
    for turn in range(REPEATS):
        pair = list(zip((before, after), taken, strict=True))
        for process, times in pair if turn % 2 else pair[::-1]:
            answer = process.ask(PATIENCE, **request, calls=calls)
            if "error" in answer:
                return f"{label}: {answer['error']}"
            times.append(calls * answer["seconds"])
    return Change(f"{label} × {calls}", *map(statistics.median, taken))


def compare_first_second(name: str, folders: tuple[Path, Path]) -> Change | str:
    taken: tuple[list[float | None], list[float | None]] = [], []
    for _ in range(REPEATS):
        for folder, times in zip(folders, taken, strict=True):
            times.append(seconds_in_new_process(FIRST_SECOND[name], repeats=1, sources=folder))
    if None in (*taken[0], *taken[1]):
        return f"{name}: failed"
    return Change(name, *map(statistics.median, taken))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", help="a commit, the one to be no slower than")
    parser.add_argument("head", nargs="?", help="a commit; the working tree without it")
    parser.add_argument("--only", default="", help="tasks whose kind:name contains this")
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    with sources(options.base) as old, sources(options.head) as new:
        before, after = Process("trueodds_", old), Process("trueodds_", new)
        faults = [text for process in (before, after) if (text := process.missing)]
        faults += [f"{task} is gone" for task in sorted(before.can - after.can)]
        common = sorted(task for task in before.can & after.can if options.only in task)
        checks = [
            lambda task=task, rows=rows: compare_task(task, rows, before, after)
            for task in common
            for rows in sizes(task)
        ]
        checks += [
            lambda name=name: compare_first_second(name, (old, new))
            for name in FIRST_SECOND
            if options.only in name
        ]
        print(f"{'task':44}{'before':>10}{'after':>10}{'ratio':>8}")
        slower = []
        for check in checks:
            change = check()
            if isinstance(change, Change) and change.slower:
                change = check()  # noise seldom strikes twice
                if isinstance(change, Change) and change.slower:
                    slower.append(change)
            elif isinstance(change, str):
                faults.append(change)
            print(change, "  SLOWER" if slower and change is slower[-1] else "", flush=True)
        before.close()
        after.close()
    print(f"{len(slower)} of {len(checks)} tasks slower by more than 15% and 50 ms")
    if not checks:
        faults.append("no task was compared")
    for fault in faults:
        print(f"cannot be judged: {fault}")
    return 1 if slower or faults else 0


if __name__ == "__main__":
    sys.exit(main())
