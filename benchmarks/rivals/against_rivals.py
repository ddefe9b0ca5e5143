"""Every task that we and a rival both do: seconds, memory and error, side by side in one run.

Each library works in a separate process on the same two cores; they take turns within a task,
after one call each that is not counted. Written: one table (Markdown), one picture, and the raw
figures (JSON). A ratio is our median time divided by the fastest rival's: below 1 we are faster.

    python benchmarks/rivals/against_rivals.py [--full] [--only KIND:NAME] [--output FOLDER]
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

from adapters import NAMES
from adapters.cold import cold_table, first_fits
from adapters.held_out import held_out_table
from adapters.process import Process
from adapters.show import DEFAULT, draw, markdown

SIZES = {
    False: {"fit": (1000, 1_000_000), "predict": (1_000_000,), "metric": (1000, 1_000_000)},
    True: dict.fromkeys(("fit", "predict", "metric"), (1000, 10_000, 100_000, 1_000_000)),
}
OTHER_SIZES = {False: (10_000,), True: (1000, 10_000, 100_000)}
PATIENCE = {False: 4.0, True: 60.0}
BATCH_SECONDS = 0.02  # shorter calls are repeated until they last about so long together
WARM_SECONDS = 0.2  # before shorter calls are timed, there is one that is not


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


class Race:
    """All libraries that can do a task, taking turns in it."""

    def __init__(self, processes: dict[str, Process], full: bool) -> None:
        self.processes = processes
        self.patience = PATIENCE[full]
        self.turns = 11 if full else 5
        self.slow: dict[tuple[str, str], int] = {}

    def run(self, task: str, rows: int) -> list[Timing]:
        """Medians of one task; a library that was too slow sits out larger sizes."""
        kind, name = task.split(":")
        request = {"do": "run", "kind": kind, "name": name, "n": rows}
        taken: dict[str, list[float]] = {}
        calls: dict[str, int] = {}
        first: dict[str, dict] = {}
        failures: dict[str, str] = {}
        for library, process in self.processes.items():
            if task not in process.can:
                continue
            if (library, task) in self.slow:
                fewer = self.slow[library, task]
                failures[library] = f"over {self.patience:.0f} s with {fewer:,} rows"
                continue
            # Compiling and importing count in the table of the first second, not here.
            process.ask(self.patience, **request | {"n": min(rows, 1000)})
            # Before it predicts for the first time, a library has to fit.
            patience = self.patience * (5 if kind == "predict" else 1)
            answer = process.ask(patience, **request, memory=True)
            if "error" in answer:
                failures[library] = answer["error"]
                if answer.get("slow"):
                    self.slow[library, task] = rows
                continue
            first[library] = answer
            calls[library] = max(1, round(BATCH_SECONDS / max(answer["seconds"], 1e-6)))
            taken[library] = [answer["seconds"]] if answer["seconds"] > self.patience / 3 else []
        libraries = list(taken)
        for turn in range(self.turns):
            first_one = turn % max(len(libraries), 1)
            for library in libraries[first_one:] + libraries[:first_one]:
                times = taken[library]
                spent = sum(times) * calls[library]
                if library in failures or spent > self.patience / 3:
                    continue
                # A core that was asleep takes milliseconds to wake: all run warm.
                again = {"calls": calls[library], "warm": first[library]["seconds"] < WARM_SECONDS}
                answer = self.processes[library].ask(self.patience, **request, **again)
                if "error" in answer:
                    failures[library] = answer["error"]
                else:
                    times.append(answer["seconds"])
        done = [
            Timing(
                task,
                rows,
                library,
                statistics.median(times),
                first[library]["megabytes"],
                first[library]["value"],
            )
            for library, times in taken.items()
            if times
        ]
        failed = [Timing(task, rows, who, None, None, None, why) for who, why in failures.items()]
        return done + failed

    def sort_seconds(self, rows: int) -> float:
        """How long ``np.sort`` takes: the limit of methods that need an order."""
        process = self.processes["trueodds"]
        answers = [process.ask(60, do="sort", n=rows) for _ in range(self.turns + 1)]
        return statistics.median(answer["seconds"] for answer in answers[1:])


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
        if (task == DEFAULT or any(task in rival.can for rival in rivals))
        and (options.only or "") in task
    ]
    race = Race(processes, options.full)
    timings: list[Timing] = []
    for number, task in enumerate(tasks, 1):
        kind = task.split(":")[0]
        for rows in SIZES[options.full].get(kind, OTHER_SIZES[options.full]):
            print(f"[{number}/{len(tasks)}] {task}, {rows:,} rows", file=sys.stderr, flush=True)
            timings += race.run(task, rows)
    sort_seconds = {rows: race.sort_seconds(rows) for rows in sorted({t.rows for t in timings})}
    print("losses on real data sets", file=sys.stderr, flush=True)
    held_out = held_out_table(processes, 5 * race.patience)
    for process in processes.values():
        process.close()
    print("imports and first fits", file=sys.stderr, flush=True)
    cold = cold_table({library: process.can for library, process in processes.items()})
    first = first_fits(processes["trueodds"].can)
    options.output.mkdir(parents=True, exist_ok=True)
    minutes = (time.perf_counter() - started) / 60
    rows = [asdict(timing) for timing in timings]
    result = {
        "timings": rows,
        "sort_seconds": sort_seconds,
        "held_out": held_out,
        "cold": cold,
        "first_fits": first,
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
