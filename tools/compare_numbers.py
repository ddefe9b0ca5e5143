"""Has a change moved a number? Every method of two commits on the same samples, array by array.

    python tools/compare_numbers.py BASE [--to COMMIT] [--tolerance 1e-12] [--all]

Each commit is checked out and compiled in a folder of its own; without ``--to`` the working tree
is compared with BASE. Some 1,100 arrays are compared: probabilities and intervals of each method on
samples without weights (two classes on three scales, ties, scores of 0 and 1, few rows, rare
events, four classes, features), tables of counts, comparisons and metrics. An array that differs by
more than the tolerance, relative to 1 + its size, is listed; exit code 1 if there is one. ``--all``
lists every array that moved at all.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parents[1]
LEVEL = 0.9
SLOW = {"abb": 400, "bayesian_isotonic": 2000, "enir": 2000, "charcoal_grill": 2000}
"""Methods that are given at most this many rows."""

Arrays = dict[str, Any]


def logistic(z: Any) -> Any:
    return 1 / (1 + np.exp(-z))


def samples() -> dict[str, tuple[Any, Any, str]]:
    """Scores, labels and their scale, by name; labels follow a bent curve of the scores."""
    rng = np.random.default_rng(20_261_119)
    found: dict[str, tuple[Any, Any, str]] = {}

    def add(name: str, z: Any, scale: str = "probability", scores: Any = None) -> None:
        y = (rng.random(len(z)) < logistic(0.6 * z - 0.3 + 0.2 * np.sin(z))).astype(int)
        y[:2] = 0, 1
        found[name] = (logistic(z) if scores is None else scores), y, scale

    z = rng.logistic(size=1500)
    add("plain", z)
    add("logit", z, "logit", 2 * z)
    add("raw", z, "raw", 30 * z + 7)
    add("few", rng.normal(size=40))
    add("ties", z, scores=np.round(logistic(z), 2))
    add("votes", z, scores=np.round(logistic(2 * z) * 20) / 20)
    add("rare", rng.normal(-4, 1.5, size=3000))
    add("many", rng.normal(size=20_000))
    logits = rng.normal(size=(1200, 4))
    truth = (logits + rng.gumbel(size=logits.shape)).argmax(axis=1)
    truth[:4] = np.arange(4)
    p = np.exp(1.5 * logits)
    found["classes"] = p / p.sum(axis=1, keepdims=True), truth, "probability"
    return found


def fitted_arrays(name: str, kind: Callable[..., Any], sample: str, data: Any) -> Arrays:
    """Probabilities and intervals of one method on one sample."""
    scores, y, scale = data
    most = SLOW.get(name, len(y))
    scores, y = scores[:most], y[:most]
    rng = np.random.default_rng(1)
    asks = kind().needs_features
    X = np.column_stack([rng.integers(0, 5, len(y)), rng.normal(size=len(y))]) if asks else None
    features = {"features": X} if asks else {}
    calibrator = kind(scale=scale).fit(scores, y, **features)
    found = {"p": calibrator.predict_proba(scores, **features)}
    found["low"], found["high"] = calibrator.predict_interval(scores, level=LEVEL, **features)
    return {f"{name}/{sample}/{key}": value for key, value in found.items()}


def table_arrays(name: str, kind: Callable[..., Any], sample: str, data: Any) -> Arrays:
    """The same from a table of counts."""
    from trueodds import ScoreTable

    scores, y, scale = data
    calibrator = kind(scale=scale)
    if calibrator.needs_features or not calibrator.ignores_row_order or scores.ndim == 2:
        return {}
    most = SLOW.get(name, len(y))
    calibrator.fit_table(ScoreTable.from_arrays(scores[:most], y[:most]))
    return {f"{name}/{sample}/table": calibrator.predict_proba(scores)}


def other_arrays(data: dict[str, Any]) -> Iterator[Arrays]:
    """Comparisons, classifiers and metrics."""
    from trueodds import metrics
    from trueodds.model_selection import compare_calibrators

    for name in ("plain", "ties", "classes"):
        scores, y, scale = data[name]
        rows = compare_calibrators(scores, y, scale=scale).rows()
        for row in rows:
            losses = np.array([row["log_loss"], row["brier_score"]])
            yield {f"comparison/{name}/{row['method']}": losses}
    for name in ("plain", "ties", "votes", "rare", "classes"):
        scores, y, _ = data[name]
        for metric in (
            "log_loss",
            "brier_score",
            "expected_calibration_error",
            "debiased_calibration_error",
            "smooth_calibration_error",
            "maximum_calibration_error",
        ):
            yield {f"metric/{name}/{metric}": np.array(getattr(metrics, metric)(y, scores))}
        found = metrics.confidence_interval(
            metrics.brier_score, y, scores, n_resamples=100, random_state=0
        )
        yield {f"metric/{name}/interval": np.array([found.low, found.high])}


def write_arrays(path: str) -> None:
    """Compute all arrays with the package on the path, and save them."""
    import trueodds

    data, found = samples(), dict[str, Any]()
    for name, kind in trueodds.all_calibrators().items():
        for sample, values in data.items():
            for make in (fitted_arrays, table_arrays):
                key = f"{name}/{sample}/{make.__name__}"
                try:
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found |= make(name, kind, sample, values)
                except trueodds.exceptions.InputError as error:
                    found[f"{key}/refused"] = np.array(type(error).__name__)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for more in other_arrays(data):
            found |= more
    np.savez(path, **{key.replace("/", "|"): value for key, value in found.items()})


@contextmanager
def checked_out(commit: str | None) -> Iterator[Path]:
    """The folder of a commit's package, compiled; the working tree's without one."""
    if commit is None:
        yield ROOT / "src"
        return
    with tempfile.TemporaryDirectory() as folder:
        tree = Path(folder) / "tree"
        git = ["git", "-C", str(ROOT), "worktree"]
        subprocess.run([*git, "add", "--detach", "--quiet", str(tree), commit], check=True)
        try:
            build = [sys.executable, "setup.py", "-q", "build_ext", "--inplace"]
            subprocess.run(build, cwd=tree, check=True)
            yield tree / "src"
        finally:
            subprocess.run([*git, "remove", "--force", str(tree)], check=True)


def arrays_of(commit: str | None) -> Arrays:
    """All arrays of a commit, computed in a process of its own."""
    with checked_out(commit) as source, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "arrays.npz"
        program = [sys.executable, __file__, "--write", str(path)]
        subprocess.run(program, env={**os.environ, "PYTHONPATH": str(source)}, check=True)
        with np.load(path) as found:
            return {key.replace("|", "/"): found[key] for key in found.files}


def difference(a: Any, b: Any) -> float:
    """Largest difference relative to 1 + size; infinite for arrays of other shapes."""
    if a.shape != b.shape or a.dtype.kind in "US" or b.dtype.kind in "US":
        return 0.0 if np.array_equal(a, b) else np.inf
    equal = (a == b) | (np.isnan(a) & np.isnan(b))
    size = 1 + np.where(np.isfinite(a), np.abs(a), 0.0)
    gaps = np.where(equal, 0.0, np.abs(np.where(equal, 0.0, a) - np.where(equal, 0.0, b)) / size)
    return float(np.nan_to_num(gaps, nan=np.inf).max(initial=0.0))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("base", nargs="?")
    parser.add_argument("--to", default=None)
    parser.add_argument("--tolerance", type=float, default=1e-12)
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--write", default=None, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.write is not None:
        write_arrays(options.write)
        return 0
    before, after = arrays_of(options.base), arrays_of(options.to)
    gaps = {key: difference(before[key], after[key]) for key in before.keys() & after.keys()}
    moved = {
        key: gap for key, gap in gaps.items() if gap > (0 if options.all else options.tolerance)
    }
    for key, gap in sorted(moved.items(), key=lambda item: -item[1]):
        print(f"{gap:9.2g}  {key}")
    for word, names in (
        ("gone", before.keys() - after.keys()),
        ("new", after.keys() - before.keys()),
    ):
        for name in sorted(names):
            print(f"{word:>9}  {name}")
    beyond = sum(gap > options.tolerance for gap in gaps.values())
    print(f"{len(gaps)} arrays compared, {beyond} differ by more than {options.tolerance:g}")
    return 1 if beyond or before.keys() - after.keys() else 0


if __name__ == "__main__":
    raise SystemExit(main())
