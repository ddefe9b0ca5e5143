"""Calibrated models in ONNX Runtime against Python: differences, and the time of one row.

Usage: python benchmarks/onnx_models.py [--rows 100000]

Each model is an ensemble of two folds. Differences are the largest over all rows and both classes.
The time of one row is that of the calibrated graph over that of both base models' graphs, as their
own converters write them.
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
    HistGradientBoostingClassifier,
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
        "histogram boosting": HistGradientBoostingClassifier(),
        "LightGBM": LGBMClassifier(verbose=-1),
        "XGBoost": XGBClassifier(),
        "CatBoost": CatBoostClassifier(iterations=100, verbose=0, allow_writing_files=False),
    }


def one_row(session: onnxruntime.InferenceSession, row: np.ndarray) -> float:
    """Seconds for one row, the least of some calls."""
    name = session.get_inputs()[0].name
    best = float("inf")
    for _ in range(100):
        start = time.perf_counter()
        session.run(None, {name: row})
        best = min(best, time.perf_counter() - start)
    return best


def session_of(graph: object) -> onnxruntime.InferenceSession:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(graph.SerializeToString(), options)


def base_sessions(model: CalibratedClassifier) -> list[onnxruntime.InferenceSession]:
    """Each member's base model."""
    sessions = []
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
        sessions.append(session_of(graph))
    return sessions


def times_the_base(
    session: onnxruntime.InferenceSession, model: CalibratedClassifier, row: np.ndarray
) -> float:
    """One row's time in times of the base models'; measured in turns, as others use the machine."""
    try:
        bases = base_sessions(model)
    except ValueError:  # of a model that skl2onnx does not convert
        return float("nan")
    turns = [(one_row(session, row), *(one_row(base, row) for base in bases)) for _ in range(5)]
    own, *others = np.min(turns, axis=0)
    return float(own / sum(others))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=100_000)
    n_rows = parser.parse_args().rows
    warnings.simplefilter("ignore")
    X, y = make_classification(
        n_rows + 4000, N_FEATURES, n_informative=5, flip_y=0.1, random_state=0
    )
    train, test = slice(0, 4000), slice(4000, None)
    heads = "".join(f" | {kind}" for kind in MAPS)
    times = [f"| one row, times the base{heads} |", "|---|" + "---|" * len(MAPS)]
    print(f"| largest difference{heads} |\n{times[1]}")
    for name, base in models().items():
        differences, ratios = [], []
        for calibrator in MAPS.values():
            model = CalibratedClassifier(base, calibrator(), cv=2).fit(X[train], y[train])
            session = session_of(to_onnx(model))
            (found,) = session.run(["probabilities"], {"X": X[test]})
            differences.append(float(np.abs(found - model.predict_proba(X[test])).max()))
            ratios.append(times_the_base(session, model, X[:1]))
        print(f"| {name} | " + " | ".join(f"{d:.0e}" for d in differences) + " |", flush=True)
        times.append(f"| {name} | " + " | ".join(f"{ratio:.1f}" for ratio in ratios) + " |")
    print("\n" + "\n".join(times))


if __name__ == "__main__":
    main()
