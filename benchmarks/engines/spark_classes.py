"""Several classes on a local Spark: the maps against those of memory, and the driver's memory.

python benchmarks/engines/spark_classes.py [ROWS] [MAX_ROWS]
"""

import resource
import sys
import time
import warnings

import numpy as np
from pyspark.sql import SparkSession, functions

from trueodds import BetaCalibrator, TemperatureCalibrator, VectorCalibrator

CLASSES = 10


def make_frame(spark: SparkSession, n_rows: int):
    """Overconfident forecasts of ten classes, made on the engine."""
    frame = spark.range(n_rows)
    for k in range(CLASSES):
        frame = frame.withColumn(f"z{k}", functions.randn(seed=k))
    frame = frame.withColumn("u", functions.rand(seed=99))
    total = sum(functions.exp(f"z{k}") for k in range(CLASSES))
    squares = sum(functions.exp(2 * functions.col(f"z{k}")) for k in range(CLASSES))
    label, below = functions.lit(0), functions.lit(0.0)
    for k in range(CLASSES - 1):
        below = below + functions.exp(f"z{k}") / total
        label = label + (functions.col("u") > below).cast("int")
    sure = [
        (functions.exp(2 * functions.col(f"z{k}")) / squares).alias(f"p{k}") for k in range(CLASSES)
    ]
    return frame.select(*sure, label.alias("y"))


def main(n_rows: int = 3_000_000, max_rows: int = 1_000_000) -> None:
    """Fit three methods on Spark, then in memory, and compare."""
    spark = SparkSession.builder.master("local[2]").config("spark.driver.memory", "2g")
    spark = spark.config("spark.ui.enabled", "false").getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    frame = make_frame(spark, n_rows).persist()
    print(f"{frame.count():,} rows of {CLASSES} classes on Spark, max_rows {max_rows:,}")
    names = [f"p{k}" for k in range(CLASSES)]
    looked_at = np.random.default_rng(0).dirichlet(np.ones(CLASSES), 2000)
    found = {}
    for method in (BetaCalibrator, TemperatureCalibrator, VectorCalibrator):
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            found[method] = method().fit_frame(frame, score=names, label="y", max_rows=max_rows)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        seconds = time.perf_counter() - start
        print(f"{method.__name__}: {seconds:.1f} s, driver at most {memory:.0f} MB")
        for warning in caught:
            print(f"  {warning.message}")
    local = frame.toPandas()
    for method, fitted in found.items():
        twin = method().fit(local[names].to_numpy(), local["y"])
        gap = fitted.predict_proba(looked_at) - twin.predict_proba(looked_at)
        print(
            f"{method.__name__}: forecasts differ from those of all rows in memory by "
            f"{np.sqrt(np.mean(gap**2)):.2g} (root mean square), {np.abs(gap).max():.2g} at most"
        )
    spark.stop()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
