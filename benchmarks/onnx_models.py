"""Calibrated models in ONNX Runtime against Python: differences, and the time of one row.

Usage: python benchmarks/onnx_models.py [--rows 100000]

Each model is an ensemble of two folds. Differences are the largest over all rows and both classes.
The time of one row is that of the calibrated graph over that of both base models' graphs.
"""

import argparse
import time
import warnings

import numpy as np
import onnxruntime
import skl2onnx
from catboost import CatBoostClassifier
from lightgbm import LGBMClassifier
from skl2onnx.common.data_types import DoubleTensorType
from sklearn.datasets import make_classification
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from xgboost import XGBClassifier

from trueodds import (
    BetaCalibrator,
    CalibratedClassifier,
    HistogramCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    SplineCalibrator,
)
from trueodds.export import to_onnx

MAPS = {
    "logistic": LogisticCalibrator,
    "beta": BetaCalibrator,
    "spline": SplineCalibrator,
    "histogram": HistogramCalibrator,
    "isotonic": IsotonicCalibrator,
}
N_FEATURES = 8


def models() -> dict[str, object]:
    """Models of every kind, small, so that a row's time is mostly that of calling."""
    return {
        "logistic regression": LogisticRegression(),
        "pipeline": make_pipeline(StandardScaler(), LogisticRegression()),
        "linear SVM": LinearSVC(),
        "naive Bayes": GaussianNB(),
        "MLP": MLPClassifier((16,), max_iter=50),
        "random forest": RandomForestClassifier(100, max_depth=8),
        "extra trees": ExtraTreesClassifier(100, max_depth=8),
        "gradient boosting": GradientBoostingClassifier(),
        "LightGBM": LGBMClassifier(verbose=-1),
        "XGBoost": XGBClassifier(),
        "CatBoost": CatBoostClassifier(iterations=100, verbose=0, allow_writing_files=False),
    }


def one_row(session: onnxruntime.InferenceSession, row: np.ndarray) -> float:
    """Seconds for one row, the least of many calls."""
    name = session.get_inputs()[0].name
    best = float("inf")
    for _ in range(300):
        start = time.perf_counter()
        session.run(None, {name: row})
        best = min(best, time.perf_counter() - start)
    return best


def session_of(graph: object) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def base_time(model: CalibratedClassifier, row: np.ndarray) -> float:
    """One row through each member's base model."""
    total = 0.0
    for member in model.calibrated_classifiers_:
        last = member.estimator[-1] if hasattr(member.estimator, "steps") else member.estimator
        raw = isinstance(last, LinearSVC)
        graph = skl2onnx.to_onnx(
            member.estimator,
            initial_types=[("X", DoubleTensorType([None, N_FEATURES]))],
            options={id(last): {"raw_scores" if raw else "zipmap": raw}},
            target_opset={"": 17, "ai.onnx.ml": 3},
        )
        for output in graph.graph.output:  # trees give float32 whatever skl2onnx declares
            if output.name == "probabilities" and "TreeEnsembleClassifier" in str(graph.graph.node):
                output.type.tensor_type.elem_type = 1
        total += one_row(session_of(graph), row)
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    n_rows = parser.parse_args().rows
    warnings.simplefilter("ignore")
    X, y = make_classification(
        n_rows + 4000, N_FEATURES, n_informative=5, flip_y=0.1, random_state=0
    )
    train, test = slice(0, 4000), slice(4000, None)
    print("| model | " + " | ".join(MAPS) + " | one row, times the base |")
    print("|---|" + "---|" * (len(MAPS) + 1))
    for name, base in models().items():
        differences, ratio = [], float("nan")
        for kind, calibrator in MAPS.items():
            model = CalibratedClassifier(base, calibrator(), cv=2).fit(X[train], y[train])
            session = session_of(to_onnx(model))
            (found,) = session.run(["probabilities"], {"X": X[test]})
            differences.append(float(np.abs(found - model.predict_proba(X[test])).max()))
            if kind == "beta":
                ratio = one_row(session, X[:1]) / base_time(model, X[:1])
        shown = " | ".join(f"{d:.0e}" for d in differences)
        print(f"| {name} | {shown} | {ratio:.2f} |", flush=True)


if __name__ == "__main__":
    main()
