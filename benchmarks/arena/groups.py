"""GroupCalibrator on problems with groups, next to one map and other programs.

Usage: TRUEODDS_GROUPS=FOLDER python benchmarks/arena/groups.py [--sizes 300,1000] [--write]

FOLDER has one Parquet file per problem, with the columns ``score``, ``y`` and features, and a file
``results.csv`` of other programs on the same rows. For each seed, rows are permuted; the first n
calibrate, the next 10,000 test. Predictions, and scores for other programs, are clipped to
[0.0001, 0.9999], as in the stored results: some programs fail at 0 and 1. ``--programs mcgrad``
runs a program of ``benchmarks/rivals`` that is installed, raw and after the one map, instead of its
stored results. ``--summary runs.csv`` shows runs made before, and ``--write`` puts the tables into
docs/groups.md.
"""

import argparse
import importlib
import os
import sys
import time
import warnings
import zlib
from pathlib import Path

import numpy as np
import pandas as pd

from trueodds import GroupCalibrator
from trueodds.metrics import brier_score, log_loss, multicalibration_error

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "groups.md"
SIZES = (300, 1000, 4000, 20_000)
SEEDS = (100, 101, 102)
TEST_ROWS = 10_000
LEAST_GROUP = 200
CLIP = 1e-4
COLUMNS = {
    "lgb": "LightGBM from the one map",
    "ridge": "ridge",
    "mcgrad": "MCGrad",
    "mcgrad_m": "MCGrad after the one map",
    "one": "one map",
    "pergroup": "a map per group",
    "tree": "calibration tree",
}
MEASURES = {"ll": "log-loss", "brier": "Brier score", "mce": "multicalibration error"}


def run(path: Path, size: int, seed: int, programs: list[str]) -> list[dict[str, object]]:
    """Losses of the one map, of GroupCalibrator and of programs; none if there are too few rows."""
    data = pd.read_parquet(path)
    if size > 0.75 * len(data):
        return []
    order = np.random.default_rng(seed).permutation(len(data))
    own, new = data.iloc[order[:size]], data.iloc[order[size : size + TEST_ROWS]]
    names = [name for name in data.columns if name not in ("score", "y")]
    labels = own["y"].to_numpy().astype(int)
    start = time.process_time()
    fitted = GroupCalibrator().fit(own["score"], labels, features=own[names])
    seconds = {"group": time.process_time() - start}
    one = fitted.base_.predict_proba
    forecasts = {
        "one": one(new["score"])[:, 1],
        "group": fitted.predict_proba(new["score"], features=new[names])[:, 1],
    }
    for program in programs:
        fit = _program(program)
        for method, scores in {
            program: (own["score"].to_numpy(), new["score"].to_numpy()),
            f"{program}_m": (one(own["score"])[:, 1], forecasts["one"]),
        }.items():
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                predict = fit(_clipped(scores[0]), labels, own[names])
                forecasts[method] = np.asarray(predict(_clipped(scores[1]), new[names]))
            seconds[method] = time.process_time() - start
    y = new["y"].to_numpy().astype(int)
    forecasts = {name: _clipped(p) for name, p in forecasts.items()}
    return [
        {
            "problem": path.stem,
            "n": size,
            "seed": seed,
            "method": method,
            "cpu": seconds.get(method, np.nan),
            "ll": log_loss(y, p),
            "brier": brier_score(y, p),
            "mce": multicalibration_error(y, p, new[names], n_resamples=1).error,
            "worst": worst_group(new[names], y, p),
        }
        for method, p in forecasts.items()
    ]


def _clipped(p: np.ndarray) -> np.ndarray:
    return np.clip(p, CLIP, 1 - CLIP)


def _program(name: str):
    """A program's fit with features, from its adapter."""
    folder = str(ROOT / "benchmarks" / "rivals")
    if folder not in sys.path:
        sys.path.insert(0, folder)
    return importlib.import_module(f"adapters.{name}").adapter().fit_groups[name]


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


def gaps(runs: pd.DataFrame, stored: pd.DataFrame, measure: str, *, clustered: bool) -> list[str]:
    """Lines of a table: each method minus GroupCalibrator × 1,000, with standard errors."""
    own = set(runs.method)
    known = stored[stored.method.isin([name for name in COLUMNS if name not in own])]
    both = pd.concat([runs, known], ignore_index=True)
    wide = both.pivot_table(index=["problem", "n", "seed"], columns="method", values=measure)
    wide = wide[wide["group"].notna()]
    shown = [name for name in COLUMNS if name in wide]
    gap = 1000 * wide[shown].sub(wide["group"], axis=0)
    mean = gap.groupby(["problem", "n"]).mean().reset_index()
    if clustered:
        mean["problem"] = mean.problem.map(cluster)
        mean = mean.groupby(["problem", "n"]).mean().reset_index()
    by_size = mean.drop(columns="problem").groupby("n")
    middle, error = by_size.mean(), by_size.sem()
    lines = ["| n | " + " | ".join(COLUMNS[name] for name in shown) + " |"]
    lines.append("|---" * (len(shown) + 1) + "|")
    lines += [
        f"| {n:,} | "
        + " | ".join(f"{middle.loc[n, name]:.1f} ± {error.loc[n, name]:.1f}" for name in shown)
        + " |"
        for n in middle.index
    ]
    return lines


def harm(runs: pd.DataFrame) -> list[str]:
    """How often and how much GroupCalibrator is worse than one map, and what it costs."""
    wide = runs.pivot_table(index=["problem", "n", "seed"], columns="method", values="ll")
    worse = (wide["group"] - wide["one"]).reset_index(name="gap")
    worse["half"] = [zlib.crc32(name.encode()) % 2 for name in worse.problem]
    cpu = runs[runs.method == "group"].groupby("n").cpu.median()
    lines = [
        f"`GroupCalibrator` is worse than one map by more than 0.001 in "
        f"{(worse.gap > 0.001).mean():.1%} of {len(worse)} runs, and at most by "
        f"{worse.gap.max():.4f}.",
        "Median CPU seconds of a fit: " + ", ".join(f"{s:.2f} (n = {n:,})" for n, s in cpu.items()),
    ]
    halves = [f"{(g.gap > 0.001).mean():.1%}, {g.gap.max():.4f}" for _, g in worse.groupby("half")]
    print("worse than one map, by half of the problems:", "; ".join(halves))
    return [lines[0], lines[1] + "."]


def tables(runs: pd.DataFrame, stored: pd.DataFrame) -> list[str]:
    """Everything as Markdown."""
    lines: list[str] = []
    for measure, title in MEASURES.items():
        for clustered in (False, True):
            which = ", language models as one problem" if clustered else ""
            lines += [f"{title[:1].upper()}{title[1:]} × 1,000{which}:", ""]
            lines += [*gaps(runs, stored, measure, clustered=clustered), ""]
    return lines + harm(runs)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default=",".join(map(str, SIZES)))
    parser.add_argument("--programs", nargs="*", default=[])
    parser.add_argument("--out", default="groups-runs.csv")
    parser.add_argument("--summary", metavar="RUNS.CSV")
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args()
    folder = Path(os.environ["TRUEODDS_GROUPS"])
    if chosen.summary is None:
        found = [
            row
            for size in map(int, chosen.sizes.split(","))
            for path in sorted(folder.glob("*.parquet"))
            for seed in SEEDS
            for row in run(path, size, seed, chosen.programs)
        ]
        runs = pd.DataFrame(found)
        runs.to_csv(chosen.out, index=False)
    else:
        runs = pd.read_csv(chosen.summary)
    stored = folder / "results.csv"
    lines = tables(runs, pd.read_csv(stored) if stored.exists() else runs.head(0))
    print("\n".join(lines))
    if chosen.write:
        from write_page import with_table

        page = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(with_table(page, "groups", lines), encoding="utf-8")


if __name__ == "__main__":
    main()
