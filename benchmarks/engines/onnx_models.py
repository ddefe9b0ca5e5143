"""Calibrated models in ONNX Runtime against Python, on rows that no model has seen.

    python benchmarks/engines/onnx_models.py [--rows N] [--only KIND] [--classes K] [--no-forests]

Every kind of base model is calibrated by every method, as an ensemble of two folds and with one
model for all (``ensemble=False``), for two classes and for three. A cell gives the largest
difference of a probability, with the number of other labels if there are any; or that ``to_onnx``
refuses the model, whose sentence follows the table. The last table is for forests of 20 sizes, all
else by default.
"""

import argparse
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import onnxruntime
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier
from xgboost import XGBClassifier

from trueodds import (
    AutoCalibrator,
    BBQCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    HistogramCalibrator,
    IsotonicCalibrator,
    OneVsRestCalibrator,
    SplineCalibrator,
)
from trueodds.exceptions import InputError
from trueodds.export import to_onnx

N_TRAINING = 1000
CALIBRATORS: dict[str, Callable[[], Any]] = {
    "default": AutoCalibrator,
    "beta": BetaCalibrator,
    "spline": SplineCalibrator,
    "isotonic": IsotonicCalibrator,
    "histogram": HistogramCalibrator,
    "BBQ": BBQCalibrator,
}
FOREST_SIZES = (
    10, 15, 20, 25, 30, 40, 49, 50, 60, 64, 75, 100, 120, 150, 200, 250, 300, 350, 400, 500,
)  # fmt: skip


def bases() -> dict[str, Any]:
    """Every kind of base model; trees are grown until their leaves are pure."""
    tree = DecisionTreeClassifier(random_state=0)
    forest = RandomForestClassifier(50, random_state=0)
    small = LGBMClassifier(n_estimators=30, verbose=-1, n_jobs=1)
    xgboost = XGBClassifier(n_estimators=50, n_jobs=1)
    vote = [("nb", GaussianNB()), ("forest", RandomForestClassifier(20, random_state=0))]
    return {
        "logistic regression": LogisticRegression(),
        "scaler, logistic regression": make_pipeline(StandardScaler(), LogisticRegression()),
        "imputer, logistic regression": make_pipeline(SimpleImputer(), LogisticRegression()),
        "imputer, forest": make_pipeline(SimpleImputer(), forest),
        "linear SVM (decision values)": LinearSVC(),
        "SVM (decision values)": SVC(decision_function_shape="ovr"),
        "naive Bayes": GaussianNB(),
        "linear discriminant": LinearDiscriminantAnalysis(),
        "quadratic discriminant": QuadraticDiscriminantAnalysis(reg_param=0.1),
        "MLP": MLPClassifier((16,), max_iter=50, random_state=0),
        "k-NN, uniform": KNeighborsClassifier(25),
        "k-NN, distance": KNeighborsClassifier(25, weights="distance"),
        "Gaussian process": make_pipeline(StandardScaler(), GaussianProcessClassifier()),
        "decision tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
        "random forest, 100": RandomForestClassifier(random_state=0),
        "extra trees, 50": ExtraTreesClassifier(50, random_state=0),
        "bag of trees": BaggingClassifier(tree, 25, max_features=0.7, random_state=0),
        "bag of naive Bayes": BaggingClassifier(GaussianNB(), 7, random_state=0),
        "AdaBoost": AdaBoostClassifier(DecisionTreeClassifier(max_depth=2), n_estimators=25),
        "gradient boosting": GradientBoostingClassifier(n_estimators=40),
        "histogram boosting": HistGradientBoostingClassifier(max_iter=40),
        "histogram boosting, unused category": HistGradientBoostingClassifier(
            max_iter=5, max_leaf_nodes=4, categorical_features=[3]
        ),
        "vote": VotingClassifier(vote, voting="soft", weights=[1, 3]),
        "stack": StackingClassifier(vote, LogisticRegression(), cv=3),
        "one-vs-rest of forests": OneVsRestClassifier(forest),
        "scikit-learn's calibrated forest": CalibratedClassifierCV(forest, cv=2),
        "LightGBM": small,
        "LightGBM, rf": LGBMClassifier(
            boosting_type="rf", bagging_freq=1, bagging_fraction=0.6, n_estimators=30, verbose=-1,
            n_jobs=1,
        ),
        "LightGBM, zero_as_missing": LGBMClassifier(
            zero_as_missing=True, n_estimators=30, verbose=-1, n_jobs=1
        ),
        "LightGBM, linear_tree": LGBMClassifier(
            linear_tree=True, n_estimators=30, verbose=-1, n_jobs=1
        ),
        "XGBoost": xgboost,
        "XGBoost, parallel trees": XGBClassifier(
            n_estimators=3, num_parallel_tree=20, subsample=0.6, n_jobs=1
        ),
        "CatBoost": CatBoostClassifier(
            iterations=50, verbose=0, thread_count=1, allow_writing_files=False
        ),
    }  # fmt: skip


def data(n_rows: int, n_classes: int) -> tuple[np.ndarray, np.ndarray]:
    """Training rows, then unseen ones; column 3 has four categories that mean nothing."""
    X, y = make_classification(
        N_TRAINING + n_rows, 8, n_informative=5, n_classes=n_classes, class_sep=1.6,
        flip_y=0.05, random_state=0,
    )  # fmt: skip
    X = np.insert(X, 3, np.random.default_rng(0).integers(0, 4, len(y)), axis=1)
    return X, np.array(["no", "yes", "maybe"])[y]


def compared(model: CalibratedClassifier, rows: np.ndarray) -> tuple[float, int, int]:
    """The largest difference, the numbers of other labels and of rows with NaN; or a refusal."""
    session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    labels, p = session.run(["label", "probabilities"], {"X": rows})
    n_missing = int(np.isnan(p).any(axis=1).sum())
    difference = float(np.nanmax(np.abs(p - model.predict_proba(rows))))
    return difference, int((labels != model.predict(rows)).sum()), n_missing


def cell(base: Any, calibrator: Any, ensemble: bool, X: Any, y: Any, refusals: list[str]) -> str:
    model = CalibratedClassifier(base, calibrator, cv=2, ensemble=ensemble)
    model.fit(X[:N_TRAINING], y[:N_TRAINING])
    try:
        difference, n_labels, n_missing = compared(model, X[N_TRAINING:])
    except InputError as refusal:
        refusals.append(str(refusal))
        return "refused"
    return f"{difference:.0e}" + (
        f" ({n_labels} labels, {n_missing} NaN)" if n_labels or n_missing else ""
    )


def model_table(n_rows: int, n_classes: int, only: str | None) -> Iterator[str]:
    X, y = data(n_rows, n_classes)
    yield f"| {n_classes} classes | " + " | ".join(CALIBRATORS) + " |"
    yield "|---|" + "---|" * len(CALIBRATORS)
    refused: dict[str, list[str]] = defaultdict(list)
    for kind, base in bases().items():
        if only is not None and only not in kind:
            continue
        labels = np.unique(y, return_inverse=True)[1] if "XGBoost" in kind else y  # it takes codes
        cells = []
        for make in CALIBRATORS.values():
            calibrator = make()
            if n_classes > 2 and not isinstance(calibrator, AutoCalibrator):
                calibrator = OneVsRestCalibrator(calibrator)
            both = [
                cell(base, calibrator, each, X, labels, refused[kind]) for each in (True, False)
            ]
            cells.append(both[0] if both[0] == both[1] else " / ".join(both))
        yield f"| {kind} | " + " | ".join(cells) + " |"
    yield ""
    yield from (f"- {kind}: {texts[0]}" for kind, texts in refused.items() if texts)


def forest_table(n_rows: int) -> Iterator[str]:
    yield "| trees | 2 classes | labels | NaN | 3 classes | labels | NaN |"
    yield "|---|---|---|---|---|---|---|"
    for size in FOREST_SIZES:
        cells = []
        for n_classes in (2, 3):
            X, y = data(n_rows, n_classes)
            model = CalibratedClassifier(RandomForestClassifier(size, random_state=0))
            model.fit(X[:N_TRAINING], y[:N_TRAINING])
            difference, *counts = compared(model, X[N_TRAINING:])
            cells += [f"{difference:.0e}", *map(str, counts)]
        yield f"| {size} | " + " | ".join(cells) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--only", help="part of the name of a kind of base model")
    parser.add_argument("--classes", type=int, choices=(2, 3), action="append")
    parser.add_argument("--forests", action=argparse.BooleanOptionalAction, default=True)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for n_classes in given.classes or (2, 3):
        for line in model_table(given.rows, n_classes, given.only):
            print(line, flush=True)
        print()
    if given.forests:
        for line in forest_table(given.rows):
            print(line, flush=True)


if __name__ == "__main__":
    main()
