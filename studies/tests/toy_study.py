"""A study small enough for tests, run as a program too: python toy_study.py FOLDER [n_jobs]."""

import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds_studies import (
    Claim,
    ReportContent,
    Results,
    Scratch,
    Study,
    Table,
    Task,
    crossed,
    run_study,
    stable_seed,
)

PAUSE = float(os.environ.get("TOY_PAUSE", "0"))
LOG = os.environ.get("TOY_LOG", "")


def note(word: str, task_options: tuple[Any, ...]) -> None:
    """One line for every piece of work that is really done."""
    if LOG:
        with Path(LOG).open("a") as file:
            file.write(f"{word} {task_options}\n")


def tasks(profile: str) -> list[Task]:
    methods = ["mean", "median"] if profile == "quick" else ["mean", "median", "max"]
    found = crossed("draws", n=[10, 100], replicate=range(6), method=methods)
    if profile == "full":
        found += crossed("other", letter=["a", "b"])
    return found


def run(todo: Sequence[Task], scratch: Scratch) -> Iterator[tuple[Task, Mapping[str, float]]]:
    if todo[0].part == "other":
        yield from ((task, {"length": len(task["letter"])}) for task in todo)
        return
    n, replicate = todo[0].pick("n", "replicate")

    def draw() -> dict[str, npt.NDArray[np.float64]]:
        note("draw", (n, replicate))
        time.sleep(PAUSE)
        return {"x": np.random.default_rng(stable_seed("toy", n, replicate)).random(n)}

    x = scratch.arrays({"n": n, "replicate": replicate}, draw)["x"]
    for task in todo:
        note("task", (n, replicate, task["method"]))
        yield task, {"value": float(getattr(np, task["method"])(x)), "third": 1 / 3}


def report(results: Results) -> ReportContent:
    means = results.table("value", rows="n", columns="method", part="draws")
    table = Table("Means", ["n", *means.columns], [[str(i), *row] for i, row in means.iterrows()])
    claims = [
        Claim("Means of uniform numbers are about ½.", "page 1", True, f"{means.iloc[1, 0]:.2f}"),
        Claim("Pigs fly | or not.", "page 2", None, "no <pig> at hand"),
    ]
    return ReportContent("Uniform numbers.\n\nDrawn with `numpy`.", claims, [table])


STUDY = Study(
    name="toy",
    title="Toys",
    paper="Nobody (2026), Nothing.",
    version=1,
    profiles={"quick": "two methods", "standard": "three", "full": "and another part"},
    tasks=tasks,
    run=run,
    report=report,
    together=("n", "replicate"),
    cost=lambda task: float(task.options.get("n") or 1),
)

if __name__ == "__main__":
    jobs = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    run_study(STUDY, profile="full", folder=sys.argv[1], n_jobs=jobs, progress=False)
