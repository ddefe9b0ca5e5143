"""The first second: importing a library, fitting a method in a new process, and disk space."""

from __future__ import annotations

import importlib.metadata
import os
import re
import statistics
import subprocess
import sys
import time
from pathlib import Path

from adapters.process import environment

IMPORTS = {
    "trueodds_": "from trueodds import BetaCalibrator",
    "scikit_learn": "import sklearn.calibration",
    "netcal": "import netcal.binning, netcal.scaling, netcal.metrics",
    "pycalib": "import pycalib.models, pycalib.metrics",
    "probmetrics": "import probmetrics.calibrators",
    "model_diagnostics": "import model_diagnostics.calibration",
    "torchmetrics": "import torchmetrics.functional.classification",
}
DISTRIBUTIONS = {
    "trueodds_": "trueodds",
    "scikit_learn": "scikit-learn",
    "venn_abers": "venn-abers",
    "model_diagnostics": "model-diagnostics",
}
COMPARED = ("beta", "isotonic", "enir")
SHOWN = {*COMPARED, "auto"}  # the automatic choice fits nearly all others
FIRST_FIT = """
import sys, warnings
sys.stdout = sys.stderr = open({devnull!r}, "w")
warnings.simplefilter("ignore")
import numpy as np
from adapters import {name}
z = np.linspace(-3, 3, 1000)
y = (np.sin(37 * np.arange(1000)) < np.tanh(z)).astype(int)
{name}.adapter().fit[{method!r}](1 / (1 + np.exp(-2 * z)), y)
"""


def seconds(code: str, repeats: int = 2, sources: Path | None = None) -> float | None:
    """Median wall time of a fresh interpreter, whose files an earlier one has already read."""
    taken = []
    for _ in range(repeats):
        start = time.perf_counter()
        run = subprocess.run(
            [sys.executable, "-c", code],
            env=environment(sources),
            capture_output=True,
            check=False,
        )
        taken.append(time.perf_counter() - start)
        if run.returncode:
            return None
    return statistics.median(taken)


def installed_megabytes(distribution: str) -> float:
    """Files of a distribution and of everything that it requires, extras aside."""
    seen: set[str] = set()
    waiting, total = [distribution], 0
    while waiting:
        name = re.sub(r"[-_.]+", "-", waiting.pop()).lower()
        if name in seen:
            continue
        seen.add(name)
        try:
            found = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        for file in found.files or ():
            path = found.locate_file(file)
            if path.is_file() and path.suffix != ".pyc":
                total += path.stat().st_size
        waiting += [
            re.split(r"[\s\[<>=!~;(]", requirement, maxsplit=1)[0]
            for requirement in found.requires or ()
            if "extra ==" not in requirement
        ]
    return total / 1e6


def cold_table(tasks: dict[str, set[str]]) -> list[dict[str, object]]:
    """One row for each library, given what it can do."""
    rows = []
    nothing = seconds("pass")
    for library, can in tasks.items():
        name = "trueodds_" if library == "trueodds" else library
        imported = seconds(IMPORTS.get(name, f"import {name}"))
        row = {
            "library": library,
            "import_seconds": None if imported is None else imported - nothing,
            "version": importlib.metadata.version(DISTRIBUTIONS.get(name, name)),
            "megabytes": installed_megabytes(DISTRIBUTIONS.get(name, name)),
        }
        for method in COMPARED:
            row[method] = first_fit(name, method) if f"fit:{method}" in can else None
        rows.append(row)
    return rows


def first_fit(name: str, method: str) -> float | None:
    """Seconds from starting Python to a first fit of 1000 rows."""
    return seconds(FIRST_FIT.format(devnull=os.devnull, name=name, method=method))


def first_fits(can: set[str]) -> dict[str, float | None]:
    """Of those of our methods that the other table does not have."""
    methods = sorted({task.split(":")[1] for task in can if task.startswith("fit:")} - SHOWN)
    return {method: first_fit("trueodds_", method) for method in methods}
