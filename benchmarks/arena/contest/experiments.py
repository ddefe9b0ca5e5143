"""What there is to calibrate: files of predictions, and how many of their rows a method may see.

``binary/SET@MODEL.npz`` holds ``p`` (probability of the positive class) and ``y``, in random order:
a method is fitted on the first n rows and judged on the rest. ``multiclass/SET@MODEL.npz`` holds
``p_cal``, ``y_cal``, ``p_test`` and ``y_test``.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import numpy as np

SIZES = (100, 300, 1000, 3000, 10_000)
MOST_TEST_ROWS = 10_000
KINDS = ("binary", "multiclass")
VARIABLE = "TRUEODDS_ARENA"


class NoArenaError(Exception):
    """There is no folder of predictions."""


@dataclass(frozen=True)
class Rows:
    """What a method is fitted on, and what it is judged on."""

    p_cal: np.ndarray
    y_cal: np.ndarray
    p_test: np.ndarray
    y_test: np.ndarray


@dataclass(frozen=True)
class Experiment:
    """One file of predictions and, with two classes, one number of rows."""

    kind: str
    path: Path
    n: int
    n_classes: int

    @property
    def set(self) -> str:
        return self.path.stem.partition("@")[0]

    @property
    def model(self) -> str:
        return self.path.stem.partition("@")[2]

    @property
    def name(self) -> str:
        end = f"/{self.n}" if self.kind == "binary" else ""
        return f"{self.kind}/{self.path.stem}{end}"

    def load(self) -> Rows:
        """The arrays as they are stored; labels as integers."""
        arrays = _read(self.path)
        if self.kind == "multiclass":
            p_cal, p_test = arrays["p_cal"], arrays["p_test"]
            return Rows(p_cal, arrays["y_cal"].astype(int), p_test, arrays["y_test"].astype(int))
        p, y = arrays["p"], arrays["y"].astype(int)
        rest = slice(self.n, self.n + MOST_TEST_ROWS)
        return Rows(p[: self.n], y[: self.n], p[rest], y[rest])


@lru_cache(maxsize=8)
def _read(path: Path) -> dict[str, np.ndarray]:
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def find_arena(folder: Path | None = None) -> Path:
    """The folder of predictions: what is given, or the environment's."""
    found = folder or Path(os.environ.get(VARIABLE) or "no folder")
    if not any((found / kind).is_dir() for kind in KINDS):
        raise NoArenaError(
            f"There are no predictions in {found}: expected a folder with binary/SET@MODEL.npz or "
            f"multiclass/SET@MODEL.npz. Pass --arena FOLDER or set {VARIABLE}."
        )
    return found


def list_experiments(folder: Path, kind: str, sizes: tuple[int, ...] = SIZES) -> list[Experiment]:
    """All experiments of a kind, files in the order of their names.

    With two classes a file gives one experiment for each size that is at most half of its rows
    and whose rows hold both classes.
    """
    experiments = []
    for path in sorted((folder / kind).glob("*@*.npz")):
        with np.load(path, allow_pickle=False) as file:
            if kind == "multiclass":
                n, n_classes = file["p_cal"].shape
                experiments.append(Experiment(kind, path, n, n_classes))
                continue
            y = file["y"]
        experiments += [
            Experiment(kind, path, n, 2)
            for n in sizes
            if n <= len(y) // 2 and 0 < np.count_nonzero(y[:n]) < n
        ]
    return experiments
