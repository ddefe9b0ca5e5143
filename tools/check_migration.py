"""Run every call of docs/migration.md, theirs and ours, and compare what they give.

Usage: python tools/check_migration.py

Needs scikit-learn and matplotlib. Pairs of betacal, netcal, probmetrics and venn-abers run if
these are installed.
"""

import contextlib
import os
import re
import sys
import tempfile
import warnings
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import trueodds

PAGE = Path(__file__).resolve().parents[1] / "docs" / "migration.md"
MODULES = {
    "scikit-learn": [
        "sklearn.calibration",
        "sklearn.frozen",
        "sklearn.isotonic",
        "sklearn.metrics",
    ],
    "betacal": ["betacal"],
    "netcal": ["netcal.binning", "netcal.scaling", "netcal.metrics", "netcal.presentation"],
    "probmetrics": ["probmetrics.calibrators"],
    "venn-abers": ["venn_abers"],
    "trueodds": ["trueodds", "trueodds.metrics", "trueodds.plots", "sklearn.frozen"],
}


@dataclass(frozen=True)
class Pair:
    """One row of a table: a call of another library, and ours."""

    library: str
    theirs: str
    ours: str


def pairs() -> Iterator[Pair]:
    library = ""
    for line in PAGE.read_text(encoding="utf-8").splitlines():
        if line.startswith("## "):
            library = line.removeprefix("## ")
        elif line.startswith("| `"):
            theirs, ours = re.findall(r"`([^`]+)`", line)[:2]
            yield Pair(library, theirs, ours)


def names_of(library: str) -> dict[str, Any]:
    """The names on the page: its data, and the public names of the library's modules."""
    from sklearn.datasets import make_classification
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import LinearSVC

    names: dict[str, Any] = {}
    for module in reversed([import_module(name) for name in MODULES[library]]):
        public = getattr(module, "__all__", dir(module))
        names |= {name: getattr(module, name) for name in public if not name.startswith("_")}
    X, y = make_classification(2000, n_features=8, n_redundant=3, class_sep=0.7, random_state=0)
    fitted = GaussianNB().fit(X[:500], y[:500])
    p = fitted.predict_proba(X[500:])[:, 1].clip(1e-6, 1 - 1e-6)
    q = np.linspace(0.01, 0.99, 99)
    if library == "venn-abers":
        names["fitted_venn_abers"] = lambda P, y: _fitted(names["VennAbers"](), P, y)
    return names | {
        "X": X[500:],
        "y": y[500:],
        "p": p,
        "q": q,
        "P": np.column_stack([1 - p, p]),
        "Q": np.column_stack([1 - q, q]),
        "bayes": GaussianNB(),
        "boosted": GradientBoostingClassifier(n_estimators=20, random_state=0),
        "fitted": fitted,
        "svm": LinearSVC(),
        "trueodds": trueodds,
    }


def _fitted(estimator: Any, P: Any, y: Any) -> Any:
    """Fit an estimator whose ``fit`` returns nothing."""
    estimator.fit(P, y)
    return estimator


def run(call: str, library: str) -> Any:
    """The numbers that a call gives; None if it gives none."""
    names = names_of(library)
    result = eval(call, names)  # noqa: S307  # of our own page
    if hasattr(result, "predict_proba"):
        result = result.predict_proba(names["X"])[:, 1]
    if isinstance(result, trueodds.metrics.ReliabilityCurve):
        result = result.prob_true
    if isinstance(result, tuple):
        result = result[0]
    if not isinstance(result, (float, np.ndarray)):
        return None
    numbers = np.asarray(result, dtype=float)
    return numbers[:, -1] if numbers.ndim == 2 else numbers


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ.setdefault("MPLBACKEND", "agg")
        warnings.simplefilter("ignore")
        for pair in pairs():
            try:
                theirs, ours = run(pair.theirs, pair.library), run(pair.ours, "trueodds")
            except ModuleNotFoundError as missing:
                sys.stdout.write(f"{pair.library:12}  {missing}\n")
                continue
            same = "" if theirs is None or ours is None else f"{np.abs(theirs - ours).max():.1e}"
            sys.stdout.write(f"{pair.library:12}  {same:7}  {pair.theirs}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
