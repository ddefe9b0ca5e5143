"""AutoCalibrator against every single method, on 30 data sets × 3 models.

    TRUEODDS_DATA=folder python benchmarks/choices/auto_ranks.py results.jsonl [picture.png]

The folder holds one Parquet file per data set: columns x0 … and y. At most 3000 rows of each are
used: 40% train the model, 30% calibrate it, 30% are held out (stratified). Pairs that
results.jsonl holds already are not computed again, so an interrupted run goes on where it was.

It prints the average ranks of the methods by held-out log-loss over the ⟨set, model⟩ pairs. 1 is
best; equal losses share their ranks; an infinite loss is the worst. It also prints the distance of
the losses from the lowest of the pair (mean and median), and how often each method was chosen. The
last lines are the pairs where the choice is worse than the uncalibrated scores by more than one
standard error of the paired difference. "auto" is the choice of
``AutoCalibrator("all", select="one_se")``, "auto (lowest)" that of ``select="best"``; both use one
comparison, and are ranked in turn. The picture is the critical difference diagram of the first.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import AdaBoostClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from trueodds.exceptions import TrueoddsWarning
from trueodds.model_selection import compare_calibrators
from trueodds_studies import CriticalDifferenceDisplay

SETS = [
    "2dplanes",
    "adult",
    "australian",
    "bankruptcy-1year",
    "bankruptcy-5year",
    "breast-cancer",
    "cal_housing",
    "cod-rna",
    "coil2000",
    "covtype-2v4",
    "diabetes",
    "fourclass",
    "fried",
    "german-credit",
    "house_16H",
    "house_8L",
    "htru2",
    "ijcnn1",
    "kr-vs-kp",
    "mammography",
    "scene-classification",
    "sick",
    "spambase",
    "splice-libsvm",
    "svmguide1",
    "svmguide3",
    "taiwan-credit",
    "tic-tac",
    "us-crime",
    "wdbc",
]
MOST_ROWS = 3000
MODELS = {
    "naive Bayes": GaussianNB(),
    "AdaBoost": AdaBoostClassifier(n_estimators=50, random_state=0),
    "logistic regression": LogisticRegression(max_iter=1000),
}
RULES = {"auto": "one_standard_error", "auto (lowest)": "best"}


def read(folder: Path, name: str) -> tuple[Any, Any]:
    """Attributes as numbers, and labels 0 and 1, of at most MOST_ROWS random rows."""
    frame = pd.read_parquet(folder / f"{name}.parquet")
    if len(frame) > MOST_ROWS:
        frame = frame.sample(MOST_ROWS, random_state=0)
    y = pd.factorize(frame.pop("y"), sort=True)[0]
    numbers = make_pipeline(SimpleImputer(strategy="median"), StandardScaler())
    names = make_pipeline(
        SimpleImputer(strategy="most_frequent"),
        OneHotEncoder(handle_unknown="ignore", sparse_output=False),
    )
    frame = frame.astype({c: object for c in frame if not pd.api.types.is_numeric_dtype(frame[c])})
    prepare = make_column_transformer(
        (numbers, make_column_selector(dtype_include=np.number)),
        (names, make_column_selector(dtype_include=object)),
    )
    return prepare.fit_transform(frame), y


def row_losses(y: Any, p: Any) -> Any:
    """−ln of the probability of what happened."""
    with np.errstate(divide="ignore"):
        return -np.where(y == 1, np.log(p), np.log1p(-p))


def one_pair(X: Any, y: Any, model: Any) -> dict[str, Any]:
    """Losses by cross-validation on the calibration part, and on the held-out part."""
    X_model, X_rest, y_model, y_rest = train_test_split(
        X, y, train_size=0.4, stratify=y, random_state=0
    )
    X_calibrate, X_held, y_calibrate, y_held = train_test_split(
        X_rest, y_rest, train_size=0.5, stratify=y_rest, random_state=0
    )
    fitted = clone(model).fit(X_model, y_model)
    p, held_p = (fitted.predict_proba(part)[:, 1] for part in (X_calibrate, X_held))
    comparison = compare_calibrators(p, y_calibrate, calibrators="all", select="one_se")
    lowest = comparison.choose(select="best")
    held = {
        name: row_losses(y_held, clone(method).fit(p, y_calibrate).predict_proba(held_p)[:, 1])
        for name, method in comparison.calibrators.items()
    }
    gaps = {}
    with np.errstate(invalid="ignore"):
        for name, losses in held.items():
            gap = losses - held["identity"]
            gaps[name] = [gap.mean(), gap.std() / np.sqrt(len(gap))]
    return {
        "rows": len(p),
        "auto": comparison.best_method,
        "auto (lowest)": lowest,
        "cross_validated": {row["method"]: row["log_loss"] for row in comparison.rows()},
        "above_lowest": {m: comparison.difference(m, lowest) for m in comparison.methods},
        "below_identity": {m: comparison.difference("identity", m) for m in comparison.methods},
        "held_out": {name: losses.mean() for name, losses in held.items()},
        "against_identity": gaps,
        "explanation": comparison.explanation,
    }


def run(path: Path, folder: Path) -> list[dict[str, Any]]:
    """Compute the pairs that the file lacks; all of them."""
    lines = path.read_text().splitlines() if path.exists() else []
    pairs = [json.loads(line) for line in lines]
    done = {(pair["set"], pair["model"]) for pair in pairs}
    for name in SETS:
        if all((name, model) in done for model in MODELS):
            continue
        X, y = read(folder, name)
        for model_name, model in MODELS.items():
            if (name, model_name) in done:
                continue
            start = time.process_time()
            pair = {"set": name, "model": model_name, **one_pair(X, y, model)}
            pair["seconds"] = time.process_time() - start
            pairs.append(pair)
            with path.open("a") as file:
                file.write(json.dumps(pair) + "\n")
    return pairs


def table_of(pairs: list[dict[str, Any]], auto: str) -> Any:
    """Held-out losses, with those of what was chosen as one more column."""
    return pd.DataFrame([pair["held_out"] | {auto: pair["held_out"][pair[auto]]} for pair in pairs])


def show(pairs: list[dict[str, Any]], auto: str) -> None:
    """Print ranks and losses, what was chosen, and where it did harm."""
    table = table_of(pairs, auto)
    excess = table.sub(table.min(axis=1), axis=0)
    ranks = pd.DataFrame([rankdata(row) for row in table.to_numpy()], columns=table.columns)
    print(
        f"\n{'':20}{'rank':>6}{'infinite':>10}{'excess':>10}{'median':>10}   (rule: {RULES[auto]})"
    )
    for method in ranks.mean().sort_values().index:
        infinite = int(np.isinf(table[method]).sum())
        print(
            f"{method:20}{ranks[method].mean():6.2f}{infinite:10d}"
            f"{excess[method].mean():10.5f}{excess[method].median():10.5f}"
        )
    chosen = Counter(pair[auto] for pair in pairs)
    print("chosen:", ", ".join(f"{method} {n}" for method, n in chosen.most_common()))
    worse = []
    for pair in pairs:
        gap, error = pair["against_identity"][pair[auto]]
        # Not a number: both infinite. That is no difference.
        if gap > error:
            where = f"{pair['set']}, {pair['model']}"
            worse.append(f"  {where}: {pair[auto]} by {gap:.5f} ± {error:.5f}")
    print(f"worse than uncalibrated by more than one standard error: {len(worse)}")
    print("\n".join(worse))


def main() -> None:
    """Run what is missing, then print."""
    if len(sys.argv) not in (2, 3):
        sys.exit(__doc__)
    warnings.simplefilter("ignore", TrueoddsWarning)
    pairs = run(Path(sys.argv[1]), Path(os.environ["TRUEODDS_DATA"]))
    seconds = sum(pair["seconds"] for pair in pairs)
    print(f"{len(pairs)} pairs, {seconds:.0f} s of CPU time")
    for auto in RULES:
        show(pairs, auto)
    if len(sys.argv) == 3:
        display = CriticalDifferenceDisplay.from_results(table_of(pairs, "auto")).plot()
        display.figure_.savefig(sys.argv[2], dpi=110)


if __name__ == "__main__":
    main()
