"""What a kind of effect in GroupCalibrator is worth: log-loss without it minus with it.

Usage: TRUEODDS_GROUPS=FOLDER python benchmarks/choices/group_effects.py [--sizes 300,1000,4000]

FOLDER has one Parquet file per problem, as for benchmarks/arena/groups.py. The first rows of each
of three permutations calibrate, the next 10,000 test. Positive numbers mean that the effect helps.
"""

import argparse
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from trueodds import GroupCalibrator
from trueodds.calibrators._group import search
from trueodds.metrics import log_loss

SEEDS = (100, 101, 102)
TEST_ROWS = 10_000
WITHOUT = {
    "a separate effect of each score value": {"ROWS_PER_VALUE": np.inf},
    "interactions": {"ROUNDS": 0},
    "slopes": {"MOST_SLOPES": 0},
}


def losses(data: pd.DataFrame, size: int, seed: int) -> np.ndarray:
    """Log-loss with all effects, then without each kind."""
    order = np.random.default_rng(seed).permutation(len(data))
    own, new = data.iloc[order[:size]], data.iloc[order[size : size + TEST_ROWS]]
    names = [name for name in data.columns if name not in ("score", "y")]

    def loss() -> float:
        fitted = GroupCalibrator().fit(own["score"], own["y"].astype(int), features=own[names])
        return log_loss(
            new["y"].astype(int), fitted.predict_proba(new["score"], features=new[names])
        )

    return np.array([loss(), *(changed(settings, loss) for settings in WITHOUT.values())])


def changed(settings: dict[str, float], work: Callable[[], float]) -> float:
    before = {name: getattr(search, name) for name in settings}
    try:
        for name, value in settings.items():
            setattr(search, name, value)
        return work()
    finally:
        for name, value in before.items():
            setattr(search, name, value)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sizes", default="300,1000,4000")
    parser.add_argument("--problems", help="names, with commas; all by default")
    chosen = parser.parse_args()
    files = sorted(Path(os.environ["TRUEODDS_GROUPS"]).glob("*.parquet"))
    if chosen.problems:
        files = [path for path in files if path.stem in chosen.problems.split(",")]
    for size in map(int, chosen.sizes.split(",")):
        gains = []
        for path in files:
            data = pd.read_parquet(path)
            if size <= 0.75 * len(data):
                found = np.array([losses(data, size, seed) for seed in SEEDS])
                gains.append((found[:, 1:] - found[:, :1]).mean(axis=0))
        gain = np.array(gains)
        error = gain.std(axis=0, ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else gain[0] * np.nan
        columns = zip(WITHOUT, gain.mean(axis=0), error, gain.max(axis=0), strict=True)
        for name, mean, se, most in columns:
            found = f"{mean:+.5f} ± {se:.5f}, most {most:+.5f}"
            print(f"{size} rows, {len(gain)} problems, {name}: {found}", flush=True)


if __name__ == "__main__":
    main()
