"""Our calibrators in CalArena's own runner, if you have its data.

    python benchmarks/arena/calarena_adapter.py CALARENA \
        --benchmark cv-binary --calibrator trueodds-auto

CALARENA is a clone of https://github.com/probkit/CalArena with the benchmark files in
calibration_benchmarks/; everything after it goes to its run_benchmark.py, whose results and
utilities then know our methods like its own. Nothing in the clone is changed. To register them by
hand instead, import ``CUSTOM_CALIBRATORS`` from here in its custom_calibrators.py.
"""

from __future__ import annotations

import os
import runpy
import sys
import types
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, Self

import numpy as np

from trueodds import AutoCalibrator
from trueodds.calibrators import calibrator_names, find_calibrator
from trueodds.exceptions import TrueoddsWarning

PREFIX = "trueodds-"
NOT_CALIBRATORS_OF_SCORES = ("group", "identity", "one_vs_rest", "tree")


class CalArenaCalibrator:
    """One of our methods as CalArena calls it.

    Scores are probabilities: of the positive class, of both classes, or one column for each of
    several. Labels are 0 … k − 1; a class may be missing from the calibration set.
    """

    def __init__(self, method: str) -> None:
        self.method = method

    def fit(self, p_cal: np.ndarray, y_cal: np.ndarray) -> Self:
        scores = _scores(p_cal)
        n_classes = 2 if scores.ndim == 1 else scores.shape[1]
        kind = AutoCalibrator if self.method == "auto" else find_calibrator(self.method)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", TrueoddsWarning)
            self.calibrator_ = kind(classes=range(n_classes)).fit(scores, y_cal)
        return self

    def predict_proba(self, p_test: np.ndarray) -> np.ndarray:
        probabilities: np.ndarray = self.calibrator_.predict_proba(_scores(p_test))
        return probabilities


def _scores(p: np.ndarray) -> np.ndarray:
    """Two classes have one score."""
    if p.ndim == 2 and p.shape[1] <= 2:
        return p[:, -1]
    return p


CUSTOM_CALIBRATORS: dict[str, Callable[[], Any]] = {
    f"{PREFIX}{name}": partial(CalArenaCalibrator, name)
    for name in ("auto", *calibrator_names())
    if name not in NOT_CALIBRATORS_OF_SCORES
}


def main() -> None:
    if len(sys.argv) < 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    folder = Path(sys.argv[1]).resolve()
    runner = folder / "run_benchmark.py"
    if not runner.exists():
        sys.exit(f"There is no run_benchmark.py in {folder}: pass the folder of a CalArena clone.")
    registry = types.ModuleType("custom_calibrators")
    registry.__dict__["CUSTOM_CALIBRATORS"] = CUSTOM_CALIBRATORS
    sys.modules["custom_calibrators"] = registry
    sys.argv = [str(runner), *sys.argv[2:]]
    os.chdir(folder)  # its paths are relative
    runpy.run_path(str(runner), run_name="__main__")


if __name__ == "__main__":
    main()
