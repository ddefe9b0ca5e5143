"""Our calibrators and all of probmetrics' on the same predictions: who is ahead, and by how much.

    python benchmarks/arena/arena.py [--kinds binary] [--methods 'trueodds/*' Beta ...] [--show]

Without a folder of predictions, they are made from data sets that come with a package
(contest/predictions.py); --packages adds these to a folder. The protocol is CalArena's (contest/).
Rows that the results hold already are not computed again: a run that was stopped goes on where it
was, and a new method is added by naming it; --redo computes the named ones again. A method may
carry options, as in --methods 'trueodds/beta(label_smoothing="platt")'. The leaderboard is printed
at the end, over all methods that have a row in every experiment.
"""

# ruff: noqa: E402  (threads are limited before NumPy is loaded)
from __future__ import annotations

import argparse
import itertools
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

# Times are of one thread. This must precede the import of NumPy.
for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(variable, "1")

from contest.experiments import (
    KINDS,
    SIZES,
    VARIABLE,
    Experiment,
    NoArenaError,
    find_arena,
    list_experiments,
)
from contest.leaderboard import table_of
from contest.methods import BASE, DEFAULT, make_method, method_names, select
from contest.predictions import PREFIX, make_all, missing_jobs
from contest.results import Row, append_row, read_rows, run_one, warm_up
from contest.show import text

Job = tuple[str, str, list[Experiment], Path | None, float]


def work(job: Job) -> Iterator[Row]:
    """All rows of one method on some experiments."""
    kind, name, experiments, prototypes, limit = job
    try:
        method = make_method(name, kind, prototypes)
    except ImportError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return
    warm_up(method, 2 if kind == "binary" else 3)
    for experiment in experiments:
        yield run_one(experiment, experiment.load(), name, method, limit)


def work_in_process(job: Job) -> list[Row]:
    return list(work(job))


def all_rows(jobs: list[Job], n_jobs: int) -> Iterator[Row]:
    """Rows as they come, from this process or from two others."""
    if n_jobs == 1:
        for job in jobs:
            yield from work(job)
        return
    from concurrent.futures import ProcessPoolExecutor, as_completed

    # Small parts, so that little is lost by a stop and both processes end together.
    parts = [
        (kind, name, experiments[i : i + 20], prototypes, limit)
        for kind, name, experiments, prototypes, limit in jobs
        for i in range(0, len(experiments), 20)
    ]
    with ProcessPoolExecutor(n_jobs) as pool:
        futures = [pool.submit(work_in_process, part) for part in parts]
        try:
            for future in as_completed(futures):
                yield from future.result()
        finally:
            for future in futures:
                future.cancel()


def open_folders(options: argparse.Namespace) -> list[Path]:
    """The folders of predictions; those of packages are made if they are missing."""
    given = options.arena is not None or bool(os.environ.get(VARIABLE))
    folders = [find_arena(options.arena)] if given else []
    if options.packages or not given:
        made = options.output.parent / "predictions"
        missing = missing_jobs(made)
        for number, job in enumerate(make_all(made, missing, options.jobs), 1):
            show_progress(
                f"predictions {number}/{len(missing)}  {job[1]}@{job[2]}", number, len(missing)
            )
        folders.append(made)
    return folders


def open_jobs(options: argparse.Namespace, folders: list[Path]) -> list[Job]:
    """Return the experiments that were requested and are not in the results."""
    done = {(row["experiment"], row["method"]) for row in read_rows(options.output)}
    jobs = []
    for kind in options.kinds:
        names = method_names(kind, boosted=options.boosted, prototypes=options.prototypes)
        chosen = select([BASE, *options.methods], names) if options.methods else names
        experiments = [
            experiment
            for folder in folders
            for experiment in list_experiments(folder, kind)
            if (not options.sets or experiment.set in options.sets)
            and (kind != "binary" or experiment.n in options.sizes)
        ]
        for name in chosen:
            again = options.redo and name != BASE
            left = [e for e in experiments if again or (e.name, name) not in done]
            if left:
                jobs.append((kind, name, left, options.prototypes, options.patience))
    return jobs


def run(options: argparse.Namespace) -> None:
    jobs = open_jobs(options, open_folders(options))
    total = sum(len(job[2]) for job in jobs)
    start = time.perf_counter()
    try:
        for number, row in enumerate(all_rows(jobs, options.jobs), 1):
            append_row(options.output, row)
            spent = time.perf_counter() - start
            left = spent / number * (total - number) / 60
            said = f"{number}/{total}  {row['method']}  {row['experiment']}  ({left:.0f} min left)"
            show_progress(said, number, total)
    except KeyboardInterrupt:
        print("\nStopped. Run the same command again to go on.", file=sys.stderr)
        sys.exit(130)


def show_progress(said: str, number: int, total: int) -> None:
    """Show progress: one line on a terminal, occasional lines elsewhere."""
    if sys.stderr.isatty():
        end = "\n" if number == total else ""
        print(f"\r{said:100.100}", end=end, file=sys.stderr, flush=True)
    elif number % 25 == 0 or number == total:
        print(said, file=sys.stderr, flush=True)


def show(options: argparse.Namespace) -> None:
    rows = read_rows(options.output)
    for of_packages, kind in itertools.product((False, True), options.kinds):
        mine = [
            row
            for row in rows
            if row["kind"] == kind
            and row["set"].startswith(PREFIX) == of_packages
            and (not options.sets or row["set"] in options.sets)
            and (kind != "binary" or row["n"] in options.sizes)
        ]
        names = sorted({row["method"] for row in mine})
        if options.board:
            names = [n for n in names if n == BASE or n in select(options.board, names)]
        if BASE not in names:
            continue
        table, incomplete = table_of(mine, names)
        if of_packages:
            print("Data sets of packages.", end=" ")
        print(text(table, kind, options.default, incomplete), end="\n\n")


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--arena", type=Path, help="folder of predictions (or TRUEODDS_ARENA)")
    parser.add_argument("--packages", action="store_true", help="data sets of packages too")
    parser.add_argument("--output", type=Path, default=Path("arena-output/results.jsonl"))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    parser.add_argument("--sizes", nargs="+", type=int, default=list(SIZES), help="binary only")
    parser.add_argument("--sets", nargs="+", help="these data sets only")
    parser.add_argument("--methods", nargs="+", help="names or patterns; default: everyone")
    parser.add_argument("--redo", action="store_true", help="compute the named methods again")
    parser.add_argument("--boosted", action="store_true", help="XGBoost, LightGBM, CatBoost too")
    parser.add_argument("--prototypes", type=Path, help="folder of bayes_smooth.py and others")
    parser.add_argument("--patience", type=float, default=120.0, help="CPU seconds for each fit")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--show", action="store_true", help="print the leaderboard, run nothing")
    parser.add_argument("--board", nargs="+", help="methods on the leaderboard: names or patterns")
    parser.add_argument("--default", default=DEFAULT, help="whom the differences are taken to")
    parser.add_argument("--list", action="store_true", help="print the names of all methods")
    return parser.parse_args()


def main() -> None:
    options = read_options()
    if options.list:
        for kind in options.kinds:
            names = method_names(kind, boosted=options.boosted, prototypes=options.prototypes)
            print(kind, *names, sep="\n  ")
        return
    try:
        if not options.show:
            run(options)
    except NoArenaError as error:
        sys.exit(str(error))
    show(options)


if __name__ == "__main__":
    main()
