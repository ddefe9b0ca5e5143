"""GroupCalibrator on problems with groups, next to one map and stored results of other programs.

Usage: TRUEODDS_GROUPS=FOLDER python benchmarks/arena/groups.py [--sizes 300,1000] [--out runs.csv]

FOLDER has one Parquet file per problem, with the columns ``score``, ``y`` and features, and a file
``results.csv`` of other programs on the same rows. For each seed, rows are permuted; the first n
calibrate, the next 10,000 test. ``--summary runs.csv`` prints the tables of runs made before.
"""

import argparse
import os
import time
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from trueodds import GroupCalibrator
from trueodds.metrics import brier_score, log_loss

SIZES = (300, 1000, 4000, 20_000)
SEEDS = (100, 101, 102)
TEST_ROWS = 10_000
LEAST_GROUP = 200
RIVALS = ("raw", "pergroup", "tree", "mcgrad", "mcgrad_m", "lgb", "ridge", "proto")
MEASURES = ("ll", "brier", "worst")


def run(path: Path, size: int, seed: int) -> list[dict[str, object]]:
    """Losses of the one map and of GroupCalibrator; none if the problem has too few rows."""
    data = pd.read_parquet(path)
    if size > 0.75 * len(data):
        return []
    order = np.random.default_rng(seed).permutation(len(data))
    own, new = data.iloc[order[:size]], data.iloc[order[size : size + TEST_ROWS]]
    names = [name for name in data.columns if name not in ("score", "y")]
    start = time.process_time()
    fitted = GroupCalibrator().fit(own["score"], own["y"].astype(int), features=own[names])
    seconds = time.process_time() - start
    forecasts = {
        "one": fitted.base_.predict_proba(new["score"])[:, 1],
        "group": fitted.predict_proba(new["score"], features=new[names])[:, 1],
    }
    y = new["y"].to_numpy().astype(int)
    place = {"problem": path.stem, "n": size, "seed": seed}
    return [
        {
            **place,
            "method": method,
            "cpu": seconds,
            "ll": log_loss(y, p),
            "brier": brier_score(y, p),
            "worst": worst_group(new[names], y, p),
        }
        for method, p in forecasts.items()
    ]


def worst_group(features: pd.DataFrame, y: np.ndarray, p: np.ndarray) -> float:
    """Largest |mean label − mean probability| of a category with at least 200 test rows."""
    gaps = [
        abs(float(y[rows].mean() - p[rows].mean()))
        for name in features.select_dtypes(exclude="number")
        for rows in features.groupby(name, observed=True).indices.values()
        if len(rows) >= LEAST_GROUP
    ]
    return max(gaps, default=0.0)


def cluster(problem: str) -> str:
    """Problems of language models are one cluster."""
    return "llm" if problem.startswith("llm") else problem


def summarize(runs: pd.DataFrame, stored: pd.DataFrame) -> None:
    """Print differences from GroupCalibrator × 1,000, and how often it is worse than one map."""
    known = stored[stored.method.isin(RIVALS)]
    both = pd.concat([runs, known], ignore_index=True)
    for measure in MEASURES:
        wide = both.pivot_table(index=["problem", "n", "seed"], columns="method", values=measure)
        wide = wide[wide["group"].notna()]
        print(f"\n{measure} × 1,000, minus that of groups (standard error over problems)")
        for clustered in (False, True):
            gap = 1000 * wide.sub(wide["group"], axis=0).drop(columns="group")
            mean = gap.groupby(["problem", "n"]).mean().reset_index()
            if clustered:
                mean["problem"] = mean.problem.map(cluster)
                mean = mean.groupby(["problem", "n"]).mean().reset_index()
            by_size = mean.drop(columns="problem").groupby("n")
            table = by_size.mean().round(2).astype(str) + " ± " + by_size.sem().round(2).astype(str)
            print("language models as one cluster" if clustered else "all problems")
            print(table.to_string())
    wide = runs.pivot_table(index=["problem", "n", "seed"], columns="method", values="ll")
    worse = (1000 * (wide["group"] - wide["one"])).reset_index(name="gap")
    worse["half"] = [zlib.crc32(name.encode()) % 2 for name in worse.problem]
    print(
        "\nWorse than one map: share of the runs by more than 0.001, and the largest loss × 1,000"
    )
    for name, part in (("all", worse), *((f"half {h}", g) for h, g in worse.groupby("half"))):
        share, most = (part.gap > 1).mean(), part.gap.max()
        print(f"{name}: {share:.1%} of {len(part)} runs, largest {most:.2f}")
    print("\nCPU seconds")
    print(runs[runs.method == "group"].groupby("n").cpu.agg(["median", "max"]).round(3).to_string())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--out", default="groups-runs.csv")
    parser.add_argument("--summary", metavar="RUNS.CSV")
    chosen = parser.parse_args()
    folder = Path(os.environ["TRUEODDS_GROUPS"])
    if chosen.summary is None:
        found = [
            row
            for size in map(int, chosen.sizes.split(","))
            for path in sorted(folder.glob("*.parquet"))
            for seed in SEEDS
            for row in run(path, size, seed)
        ]
        runs = pd.DataFrame(found)
        runs.to_csv(chosen.out, index=False)
    else:
        runs = pd.read_csv(chosen.summary)
    summarize(runs, pd.read_csv(folder / "results.csv"))


if __name__ == "__main__":
    main()
