"""A Spark ML stage on many rows: fitted and applied on the cluster, equal to the local map.

Usage: python benchmarks/engines/spark_pipeline.py [--rows 3000000]

It prints the seconds of fitting and of transforming, whether the plan has a Python worker, and the
number of rows that came back to the driver. The last line is the largest difference from the map
that is fitted locally on the same rows.
"""

import argparse
import time

import numpy as np
from pyspark.sql import SparkSession

from trueodds import BetaCalibrator
from trueodds.spark import SparkCalibrator


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=3_000_000)
    n_rows = parser.parse_args().rows
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "3g")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    scores = spark.range(n_rows).selectExpr("round(rand(1), 6) as probability")
    frame = scores.selectExpr(
        "probability", "int(rand(2) < probability * probability) as label"
    ).cache()
    frame.count()
    start = time.perf_counter()
    model = SparkCalibrator(method="beta").fit(frame)
    print(f"fit: {time.perf_counter() - start:.1f} s")
    start = time.perf_counter()
    out = model.transform(frame)
    mean = out.selectExpr("avg(calibrated)").first()[0]
    print(f"transform: {time.perf_counter() - start:.1f} s, mean {mean:.4f}")
    plan = out._jdf.queryExecution().toString()
    print("Python in the plan:", "Python" in plan)
    counts = frame.groupBy("probability").count().count()
    print(f"distinct scores, all that the driver gets: {counts} of {n_rows} rows")
    local = out.toPandas()
    expected = BetaCalibrator().fit(local["probability"], local["label"]).map_
    difference = np.abs(local["calibrated"] - expected(local["probability"].to_numpy())).max()
    print(f"largest difference from the local map: {difference:.0e}")


if __name__ == "__main__":
    main()
