"""How fast an exported map is in DuckDB, next to NumPy on the same scores in the same run.

    python benchmarks/engines/export_speed.py [--rows 10000000] [--repeats 3]

It prints the time of `select sum(<map as SQL>)`, of the map called on an array, and of
`select sum(score)`. Times are medians of the repeats, in CPU seconds, with one thread each.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import duckdb
import numpy as np

from trueodds import BetaCalibrator, ENIRCalibrator
from trueodds.maps import CalibrationMap, PiecewiseLinearMap, StepMap


def median_seconds(action: Callable[[], object], repeats: int) -> float:
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        action()
        seconds.append(time.process_time() - begin)
    return statistics.median(seconds)


def maps_to_time(n: int = 20_000) -> dict[str, CalibrationMap]:
    rng = np.random.default_rng(0)
    p = rng.beta(0.7, 0.9, n)
    y = rng.random(n) < p**1.5
    x = np.sort(rng.random(10_000))
    return {
        "beta": BetaCalibrator().fit(p, y).map_,
        "ENIR": ENIRCalibrator().fit(p, y).map_,
        "steps": StepMap(edges=x, values=np.linspace(0, 1, len(x) + 1)),
        "lines": PiecewiseLinearMap(x=x, y=x**2),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10**7)
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    connection = duckdb.connect(config={"threads": 1})
    connection.execute(
        f"CREATE TABLE t AS SELECT random() AS score FROM range({options.rows})"  # noqa: S608
    )
    scores = connection.execute("SELECT score FROM t").fetchnumpy()["score"]

    def query(expression: str) -> float:
        result = connection.execute(f"SELECT sum({expression}) FROM t").fetchall()  # noqa: S608
        return float(result[0][0])

    plain = median_seconds(lambda: query('"score"'), options.repeats)
    print(f"{options.rows:,} rows; select sum(score): {plain:.3f} s")
    for name, fitted in maps_to_time().items():
        sql = fitted.to_sql("score")
        assert np.isclose(query(sql), fitted(scores).sum(), rtol=1e-9)
        in_numpy = median_seconds(lambda fitted=fitted: fitted(scores).sum(), options.repeats)
        in_sql = median_seconds(lambda sql=sql: query(sql), options.repeats)
        table = getattr(fitted, "values", getattr(fitted, "x", np.empty(0)))
        print(
            f"{name} ({len(table)} knots, {len(sql):,} characters): DuckDB {in_sql:.3f} s, "
            f"NumPy {in_numpy:.3f} s, ratio {in_sql / in_numpy:.2f}"
        )


if __name__ == "__main__":
    main()
