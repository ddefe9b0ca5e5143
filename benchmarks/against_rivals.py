"""Every task that we and a rival both do: seconds, memory and error, side by side in one run.

Each library works in a process of its own on the same two cores; they take turns within a task,
after one call each that is not counted. Written: one table (Markdown), one picture, and the raw
figures (JSON). A ratio is our median time divided by the fastest rival's: below 1 we are faster.

    python benchmarks/against_rivals.py [--full] [--only KIND:NAME] [--output FOLDER]
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import sys
import time
from dataclasses import asdict, dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from rivals import NAMES
from rivals.cold import cold_table
from rivals.held_out import held_out_table
from rivals.process import Process
from rivals.show import draw, markdown

SIZES = {
    False: {"fit": (1000, 1_000_000), "predict": (1_000_000,), "metric": (1000, 1_000_000)},
    True: dict.fromkeys(("fit", "predict", "metric"), (1000, 10_000, 100_000, 1_000_000)),
}
OTHER_SIZES = {False: (10_000,), True: (1000, 10_000, 100_000)}
PATIENCE = {False: 6.0, True: 60.0}


@dataclass(frozen=True)
class Timing:
    """One library's medians in one task."""

    task: str
    rows: int
    library: str
    seconds: float | None
    megabytes: float | None
    value: float | None
    error: str | None = None


def time_task(
    task: str, rows: int, processes: dict[str, Process], full: bool, slow: set[tuple[str, str]]
) -> list[Timing]:
    """All libraries that can, taking turns; those known to be slow sit out larger sizes."""
    kind, name = task.split(":")
    patience = PATIENCE[full]
    request = {"do": "run", "kind": kind, "name": name, "n": rows}
    answers: dict[str, list[dict[str, float]]] = {}
    failures: dict[str, str] = {}
    for library, process in processes.items():
        if task not in process.can:
            continue
        if (library, task) in slow:
            failures[library] = f"over {patience:.0f} s with fewer rows"
            continue
        first = process.ask(patience, **request)
        if "error" in first:
            failures[library] = first["error"]
            if first.get("slow"):
                slow.add((library, task))
        else:
            answers[library] = [] if first["seconds"] < patience / 3 else [first]
    spent = dict.fromkeys(answers, 0.0)
    for _ in range(11 if full else 5):
        for library, taken in answers.items():
            if spent[library] > patience / 2 or (taken and taken[0]["seconds"] >= patience / 3):
                continue
            answer = processes[library].ask(patience, **request)
            if "error" in answer:
                failures[library] = answer["error"]
                continue
            taken.append(answer)
            spent[library] += answer["seconds"]
    done = [
        Timing(
            task,
            rows,
            library,
            statistics.median(answer["seconds"] for answer in taken),
            max((answer["megabytes"] or 0.0) for answer in taken),
            taken[-1]["value"],
        )
        for library, taken in answers.items()
        if taken
    ]
    return done + [Timing(task, rows, who, None, None, None, why) for who, why in failures.items()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--full", action="store_true", help="more sizes, more patience")
    parser.add_argument("--only", help="tasks whose kind:name contains this")
    parser.add_argument("--output", type=Path, default=Path("bench-output"))
    options = parser.parse_args()
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:2])
    started = time.perf_counter()
    processes = {"trueodds": Process("trueodds_")}
    missing = {}
    for name in NAMES:
        process = Process(name)
        if process.missing:
            missing[name] = process.missing
        else:
            processes[name] = process
    rivals = [process for name, process in processes.items() if name != "trueodds"]
    tasks = [
        task
        for task in sorted(processes["trueodds"].can)
        if any(task in rival.can for rival in rivals) and (options.only or "") in task
    ]
    timings: list[Timing] = []
    slow: set[tuple[str, str]] = set()
    for number, task in enumerate(tasks, 1):
        kind = task.split(":")[0]
        for rows in SIZES[options.full].get(kind, OTHER_SIZES[options.full]):
            print(f"[{number}/{len(tasks)}] {task}, {rows:,} rows", file=sys.stderr, flush=True)
            timings += time_task(task, rows, processes, options.full, slow)
    held_out = held_out_table(processes)
    for process in processes.values():
        process.close()
    cold = cold_table(["trueodds_", *(name for name in processes if name != "trueodds")])
    options.output.mkdir(parents=True, exist_ok=True)
    minutes = (time.perf_counter() - started) / 60
    rows = [asdict(timing) for timing in timings]
    result = {
        "timings": rows,
        "held_out": held_out,
        "cold": cold,
        "missing": missing,
        "minutes": minutes,
    }
    (options.output / "rivals.json").write_text(json.dumps(result, indent=1) + "\n")
    text = markdown(result)
    (options.output / "rivals.md").write_text(text)
    draw(rows, options.output / "rivals.png")
    print(text)
    print(f"{minutes:.1f} minutes; written to {options.output}/rivals.md, .png and .json")


if __name__ == "__main__":
    main()
