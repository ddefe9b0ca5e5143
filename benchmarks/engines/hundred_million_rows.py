"""Fit and evaluate on a Parquet file of 10⁸ rows: memory, and time against DuckDB's own grouping.

The file (about 0.8 GB; 10⁸ distinct float64 scores, int8 labels) is made by DuckDB from hashes of
the row numbers, so it is the same everywhere. Each measurement is a fresh process:

- ``group``: ``select score, label, count(*) … group by score, label`` in DuckDB alone, with the
  score at the precision of our table (the same cells, written in SQL);
- ``fit`` and ``evaluate``: the commands ``trueodds fit --method beta`` and ``trueodds evaluate``;
- ``table``: what both begin with after their own checks: a DuckDB relation over the file,
  ``ScoreTable.from_frame``, and ``BetaCalibrator.fit_table``;
- ``spark``: ``table`` on local Spark, for the first rows of the file, and on DuckDB for the same;
  the parameters of the two maps are compared.

Wall-clock and processor seconds are of the measured call, without the start of Python and its
imports; memory is the peak of the whole process.

Usage: python benchmarks/engines/hundred_million_rows.py [rows] [--spark-rows N] [--repeats N]
           [--folder FOLDER] [--threads N] [--keep]
"""

import argparse
import contextlib
import io
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

MEMORY_WANTED = 2.0  # GiB
RATIO_WANTED = 4.0
SPARK_WANTED = 1e-9
COLUMNS = ("--score", "score", "--label", "label")


def make_file(path: Path, rows: int) -> None:
    """Log-odds of mean −2 and standard deviation 3; labels of a model with slope 0.7."""
    import duckdb

    uniform = "(hash(i + {} * 1000000000000) >> 11)::double / 9007199254740992"
    connection = duckdb.connect(config={"memory_limit": "1500MB"})
    connection.execute("set preserve_insertion_order = false")
    connection.execute(
        f"""
        copy (
            with u as (
                select {uniform.format(0)} + 1e-17 as a, {uniform.format(1)} as b,
                       {uniform.format(2)} as c
                from range({rows}) t(i)
            ), z as (
                select -2 + 3 * sqrt(-2 * ln(a)) * cos(2 * pi() * b) as z, c from u
            )
            select 1 / (1 + exp(-z)) as score, (c < 1 / (1 + exp(0.3 - 0.7 * z)))::tinyint as label
            from z
        ) to '{path}' (format parquet)
        """  # noqa: S608
    )


def cell_in_sql(bits: int) -> str:
    """The cells of trueodds.engines.cells, as one would write them for DuckDB."""
    factor = f"{2.0 ** (53 - bits) + 1!r}::double"

    def rounded(x: str) -> str:
        return f"({x} * {factor} - ({x} * {factor} - {x}))"

    return f"case when score <= 0.5 then {rounded('score')} else 1 - {rounded('(1 - score)')} end"


def group(path: str, options: argparse.Namespace) -> dict[str, object]:
    import duckdb

    connection = duckdb.connect(config={"threads": options.threads})
    query = (
        f"select {cell_in_sql(options.bits)} as score, label, count(*) as n "  # noqa: S608
        f"from read_parquet('{path}') group by all"
    )
    with Clock() as clock:
        n_groups = connection.sql(query).to_arrow_table().num_rows
    return {**clock.seconds, "groups": n_groups}


def table(path: str, options: argparse.Namespace) -> dict[str, object]:
    import duckdb

    from trueodds import BetaCalibrator, ScoreTable

    connection = duckdb.connect(config={"threads": options.threads})
    with Clock() as clock:
        relation = connection.read_parquet(path)
        counts = ScoreTable.from_frame(relation, score="score", label="label")
        found = BetaCalibrator().fit_table(counts).map_
    return {**clock.seconds, "groups": len(counts), "map": [found.a, found.b, found.c]}


def command(*words: str) -> dict[str, object]:
    from trueodds.cli import main

    # What a command prints is not what this process hands back.
    with Clock() as clock, contextlib.redirect_stdout(io.StringIO()):
        try:
            main(words)
        except SystemExit as leaving:
            if leaving.code:
                raise
    return {**clock.seconds, "groups": 0}


def fit(path: str, _options: argparse.Namespace) -> dict[str, object]:
    with tempfile.TemporaryDirectory() as folder:
        saved = f"{folder}/map.json"
        return command("fit", path, *COLUMNS, "--method", "beta", "-o", saved)


def evaluate(path: str, _options: argparse.Namespace) -> dict[str, object]:
    return command("evaluate", path, *COLUMNS, "--json")


def spark(path: str, options: argparse.Namespace) -> dict[str, object]:
    from pyspark.sql import SparkSession

    from trueodds import BetaCalibrator, ScoreTable

    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        SparkSession.builder.master(f"local[{options.threads}]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.driver.bindAddress", "127.0.0.1")
        .config("spark.sql.shuffle.partitions", str(options.threads))
        .getOrCreate()
    )
    session.sparkContext.setLogLevel("ERROR")
    with Clock() as clock:
        counts = ScoreTable.from_frame(session.read.parquet(path), score="score", label="label")
        found = BetaCalibrator().fit_table(counts).map_
    session.stop()
    return {**clock.seconds, "groups": len(counts), "map": [found.a, found.b, found.c]}


class Clock:
    def __enter__(self):
        self.wall, self.processor = time.perf_counter(), time.process_time()
        return self

    def __exit__(self, *_):
        self.seconds = {
            "wall": time.perf_counter() - self.wall,
            "processor": time.process_time() - self.processor,
        }


TASKS = {"group": group, "table": table, "fit": fit, "evaluate": evaluate, "spark": spark}


def measure(task: str, path: Path, options: argparse.Namespace) -> dict[str, object]:
    """Run a task in a fresh process."""
    command = [sys.executable, __file__, "--task", task, "--file", str(path)]
    command += ["--threads", str(options.threads), "--bits", str(options.bits)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    result: dict[str, object] = json.loads(found.stdout.splitlines()[-1])
    print(
        f"{task:9} {result['wall']:8.1f} s wall {result['processor']:8.1f} s processor "
        f"{result['memory']:6.2f} GiB"
        + (f" {result['groups']:9,} groups" * bool(result["groups"])),
        flush=True,
    )
    return result


def run(path: Path, options: argparse.Namespace) -> None:
    from trueodds.engines.cells import cells_for
    from trueodds.engines.group import MAX_ROWS

    print(
        f"{options.rows:,} rows, {path.stat().st_size / 2**30:.2f} GiB, {options.threads} threads"
    )
    options.bits = cells_of(path, cells_for, MAX_ROWS)
    print(f"cells of {options.bits} significant binary digits")
    times: dict[str, list[dict[str, object]]] = {task: [] for task in TASKS if task != "spark"}
    for _ in range(options.repeats):  # taking turns, so that a busy moment hits all alike
        for task, results in times.items():
            results.append(measure(task, path, options))
    for task in ("table", "fit", "evaluate"):
        memory = max(result["memory"] for result in times[task])
        ratios = {
            clock: statistics.median(result[clock] for result in times[task])
            / statistics.median(result[clock] for result in times["group"])
            for clock in ("wall", "processor")
        }
        good = memory <= MEMORY_WANTED and ratios["wall"] <= RATIO_WANTED
        print(
            f"{task}: {ratios['wall']:.2f} times the grouping (processor: "
            f"{ratios['processor']:.2f}; at most {RATIO_WANTED:g} wanted), {memory:.2f} GiB (at "
            f"most {MEMORY_WANTED:g} wanted): {'holds' if good else 'DOES NOT HOLD'}"
        )
    if options.spark_rows:
        compare_with_spark(path, options)


def cells_of(path: Path, cells_for, max_rows: int) -> int:
    import duckdb

    low, high = duckdb.sql(
        f"select min(score), max(score) from read_parquet('{path}') "  # noqa: S608
        "where score > 0 and score < 1"
    ).fetchall()[0]
    return cells_for("probability", low, high, max_rows).bits


def compare_with_spark(path: Path, options: argparse.Namespace) -> None:
    import duckdb

    part = path.with_name("part.parquet")
    duckdb.sql(f"from read_parquet('{path}') limit {options.spark_rows}").write_parquet(str(part))
    try:
        print(f"the first {options.spark_rows:,} rows on Spark and on DuckDB")
        maps = [measure(task, part, options)["map"] for task in ("spark", "table")]
    finally:
        part.unlink()
    difference = max(abs(a - b) for a, b in zip(*maps, strict=True))
    good = difference <= SPARK_WANTED
    print(
        f"spark: a, b, c differ by {difference:.1e} (at most {SPARK_WANTED:g} wanted): "
        f"{'holds' if good else 'DOES NOT HOLD'}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("rows", nargs="?", type=float, default=1e8)
    parser.add_argument("--spark-rows", type=float, default=5e6, help="0 to leave Spark out")
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--folder", type=Path, help="where to put the file; else a temporary one")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--keep", action="store_true", help="keep the file, or use the one there")
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--file", help=argparse.SUPPRESS)
    parser.add_argument("--bits", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        result = TASKS[options.task](options.file, options)
        result["memory"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
        print(json.dumps(result))
        return
    options.rows, options.spark_rows = int(options.rows), int(options.spark_rows)
    if options.folder:
        Path(options.folder).mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=options.folder) as temporary:
        folder = options.folder if options.keep and options.folder else Path(temporary)
        path = folder / f"scores_{options.rows}.parquet"
        if not path.exists():
            make_file(path, options.rows)
        run(path, options)


if __name__ == "__main__":
    main()
