"""A base model and its map in one ONNX graph give what Python gives."""

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    VotingClassifier,
)
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from trueodds import (
    BetaCalibrator,
    CalibratedClassifier,
    HistogramCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    TemperatureCalibrator,
    TreeCalibrator,
)
from trueodds.exceptions import InputError
from trueodds.export import to_onnx

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=15, verbose=-1, n_jobs=1)


def xgboost():
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=15, n_jobs=1)


def catboost():
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=15, verbose=0, thread_count=1, allow_writing_files=False)


MODELS = [
    LogisticRegression,
    lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    LinearSVC,
    GaussianNB,
    lambda: MLPClassifier((4,), max_iter=20, random_state=0),
    lambda: DecisionTreeClassifier(max_depth=3),
    lambda: RandomForestClassifier(10, random_state=0),
    lambda: GradientBoostingClassifier(n_estimators=10),
    lambda: HistGradientBoostingClassifier(max_iter=10),
    lightgbm,
    catboost,
    xgboost,
]
MAPS = (LogisticCalibrator, BetaCalibrator, HistogramCalibrator, IsotonicCalibrator)


@pytest.fixture(scope="module", params=[2, 3])
def rows(request):
    return make_classification(
        900, 6, n_informative=4, n_classes=request.param, flip_y=0.1, random_state=0
    )


def run(graph, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
    return session.run(["label", "probabilities"], feeds)


@pytest.mark.parametrize("make", MODELS)
def test_one_graph_gives_what_python_gives(rows, make):
    X, y = rows
    for kind in MAPS if y.max() == 1 else MAPS[1:3]:
        model = CalibratedClassifier(make(), kind(), cv=2).fit(X[:500], y[:500])
        labels, p = run(to_onnx(model), {"X": X})
        expected = model.predict_proba(X)
        assert p.dtype == np.float64
        # XGBoost computes in float32; what a curve makes of the rounding depends on its slope.
        limit = 1e-9 if make is not xgboost else 1e-4 if kind is IsotonicCalibrator else 1e-5
        np.testing.assert_allclose(p, expected, rtol=0, atol=limit)
        clear = np.sort(expected, axis=1)[:, -1] - np.sort(expected, axis=1)[:, -2] > 1e-3
        np.testing.assert_array_equal(labels[clear], model.predict(X)[clear])


@pytest.mark.parametrize("make", [catboost, lightgbm, HistGradientBoostingClassifier])
def test_missing_values_take_the_branch_that_they_take_in_python(make):
    X, y = make_classification(400, 4, random_state=0)
    X[::5, 1] = np.nan
    for known in (X, np.nan_to_num(X)):  # missing in training, and then not
        model = CalibratedClassifier(make(), IsotonicCalibrator(), cv=2).fit(known, y)
        _, p = run(to_onnx(model), {"X": X})
        np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=1e-9)


def test_trees_that_are_sure_of_themselves_keep_their_small_probabilities():
    X, y = np.repeat([[0.0], [1.0]], 200, axis=0), np.repeat([0, 1], 200)
    trained = GradientBoostingClassifier(n_estimators=20, max_depth=1).fit(X, y)
    trained.learning_rate = 10.0  # than it was trained with
    y[[0, -1]] = 1, 0
    model = CalibratedClassifier(FrozenEstimator(trained), TemperatureCalibrator()).fit(X, y)
    assert trained.predict_proba(X).min() < 1e-17
    _, p = run(to_onnx(model), {"X": X})
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=1e-9)


def test_models_whose_trees_only_their_library_writes_share_a_graph_with_others(rows):
    X, y = rows
    members = [
        ("a", CalibratedClassifier(xgboost(), BetaCalibrator(), cv=2)),
        ("b", CalibratedClassifier(DecisionTreeClassifier(max_depth=3), BetaCalibrator(), cv=2)),
    ]
    model = VotingClassifier(members, voting="soft", flatten_transform=False).fit(X, y)
    graph = to_onnx(model, X)
    assert "TreeEnsemble" not in {node.op_type for node in graph.graph.node}
    _, p = run(graph, {"X": X})
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=1e-5)


def test_a_graph_computes_nothing_that_is_not_asked_for(rows):
    X, y = rows
    model = CalibratedClassifier(LogisticRegression(), BetaCalibrator(), cv=3).fit(X, y)
    graph = to_onnx(model).graph
    used = {name for node in graph.node for name in node.input} | {o.name for o in graph.output}
    assert all(used.intersection(node.output) for node in graph.node)
    assert used.issuperset(tensor.name for tensor in graph.initializer)


def test_a_pipeline_is_converted_by_skl2onnx_itself(rows):
    import skl2onnx

    X, y = rows
    inner = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=2, ensemble=False)
    pipeline = make_pipeline(StandardScaler(), inner).fit(X, np.array(["a", "b", "c"])[y])
    labels, p = run(skl2onnx.to_onnx(pipeline, X[:1]), {"X": X})
    np.testing.assert_allclose(p, pipeline.predict_proba(X), rtol=0, atol=1e-9)
    assert labels.tolist() == pipeline.predict(X).tolist()


def test_columns_of_a_frame_are_inputs(rows):
    X, y = rows
    frame = pd.DataFrame({"age": X[:, 0], "town": np.where(X[:, 1] > 0, "Ulm", "Bonn")})
    encode = make_column_transformer((StandardScaler(), ["age"]), (OneHotEncoder(), ["town"]))
    base = make_pipeline(encode, LogisticRegression())
    model = CalibratedClassifier(base, TemperatureCalibrator(), cv=2).fit(frame, y)
    feeds = {name: frame[[name]].to_numpy() for name in frame.columns}
    _, p = run(to_onnx(model, frame), feeds)
    np.testing.assert_allclose(p, model.predict_proba(frame), rtol=0, atol=1e-9)


@pytest.mark.parametrize("base", [LogisticRegression(), GradientBoostingClassifier(n_estimators=5)])
def test_margins_are_calibrated_in_the_graph(rows, base):
    X, y = rows
    model = CalibratedClassifier(base, cv=2, response_method="decision_function").fit(X, y)
    _, p = run(to_onnx(model), {"X": X})
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=1e-6)


def test_a_trained_model_keeps_its_graph(rows):
    X, y = rows
    trained = FrozenEstimator(LogisticRegression().fit(X[:300], y[:300]))
    model = CalibratedClassifier(trained, BetaCalibrator()).fit(X[300:], y[300:])
    _, p = run(to_onnx(model), {"X": X})
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=1e-9)


def test_a_class_that_a_fold_never_saw_gets_nothing_from_it():
    X, y = make_classification(300, 6, n_informative=4, n_classes=3, random_state=0)
    few = np.flatnonzero(y != 2)
    folds = [(few[:150], few[150:]), (np.arange(200), np.arange(200, 300))]
    model = CalibratedClassifier(LogisticRegression(), TemperatureCalibrator(), cv=folds).fit(X, y)
    assert len(model.calibrated_classifiers_[0].known) == 2
    _, p = run(to_onnx(model), {"X": X})
    np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=1e-9)


def test_what_cannot_be_written_is_refused(rows):
    X, y = rows
    foreign = CalibratedClassifier(GaussianNB(), LogisticRegression(), cv=2).fit(X, y)
    with pytest.raises(InputError, match="only calibrators of trueodds"):
        to_onnx(foreign)
    tree = CalibratedClassifier(GaussianNB(), TreeCalibrator(), cv=2).fit(X, y)
    with pytest.raises(InputError, match="asks for attributes"):
        to_onnx(tree)
    margins = CalibratedClassifier(
        QuadraticDiscriminantAnalysis(reg_param=0.5), cv=2, response_method="decision_function"
    )
    with pytest.raises(InputError, match="cannot write the decision function"):
        to_onnx(margins.fit(X, y))
