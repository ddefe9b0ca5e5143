"""Accuracy: naive Bayes scores of real data sets, one half to fit, the other half to test."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

from adapters.process import Process

SETS = (
    "abalone", "adult", "australian", "car", "cleveland", "credit-approval", "diabetes",
    "german-credit", "heart-statlog", "ionosphere", "kr-vs-kp", "letter", "mushroom", "page-blocks",
    "segment", "sonar", "spambase", "tic-tac", "vehicle", "yeast",
)  # fmt: skip
OURS_ALONE = {"fit:auto", "fit:bayesian isotonic", "fit:charcoal grill"}


def naive_bayes_scores(X, y) -> tuple[np.ndarray, np.ndarray]:
    """Out-of-fold scores of the most frequent class, in random order."""
    from sklearn.compose import make_column_selector, make_column_transformer
    from sklearn.impute import SimpleImputer
    from sklearn.model_selection import cross_val_predict
    from sklearn.naive_bayes import GaussianNB
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder

    labels, counts = np.unique(np.asarray(y), return_counts=True)
    positive = (np.asarray(y) == labels[counts.argmax()]).astype(np.int64)
    prepare = make_column_transformer(
        (SimpleImputer(), make_column_selector(dtype_include="number")),
        remainder=OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    model = make_pipeline(prepare, GaussianNB())
    scores = cross_val_predict(model, X, positive, cv=5, method="predict_proba")[:, 1]
    order = np.random.default_rng(0).permutation(len(scores))
    return scores[order], positive[order]


def held_out_table(processes: dict[str, Process], patience: float) -> list[dict[str, object]]:
    """Mean losses for each method and library; empty without the data sets."""
    from trueodds_studies.datasets import load

    arrays = {}
    for name in SETS:
        try:
            data = load(name)
        except Exception as error:  # a set that is not there is left out by name
            print(f"without {name}: {error}")
            continue
        scores, y = naive_bayes_scores(data.X, data.y)
        arrays[f"{name}/scores"], arrays[f"{name}/y"] = scores, y
    shared = {task for library, p in processes.items() if library != "trueodds" for task in p.can}
    shared |= OURS_ALONE
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "scores.npz"
        np.savez(path, **arrays)
        for library, process in processes.items():
            for task in sorted(process.can):
                kind, method = task.split(":")
                if kind == "fit" and task in shared:
                    answer = process.ask(patience, do="held_out", name=method, path=str(path))
                    row = {"library": library, "method": method, "sets": len(arrays) // 2}
                    rows.append(row | answer)
    return rows
