"""A base model and its map in one ONNX graph give what Python gives."""

import sys
import warnings
from dataclasses import replace

import numpy as np
import onnxruntime
import pandas as pd
import pytest
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
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
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Perceptron
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier

from support.onnx_search import assert_no_counterexample
from trueodds import (
    AutoCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    HistogramCalibrator,
    IsotonicCalibrator,
    SplineCalibrator,
    TemperatureCalibrator,
    TreeCalibrator,
)
from trueodds.exceptions import InputError, UncheckedGraphWarning
from trueodds.export import to_onnx
from trueodds.export.onnx import classifier, trees

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]


N_TRAINING = 500
LABELS = {
    2: [[0, 1], ["no", "yes"], [False, True], [-7, 2**40], [0.0, 1.0], ["", "x"]],
    3: [[0, 1, 2], ["b", "a", "c"], [2**40, -1, 5], [0.0, 3.0, 1.0]],
}


def lightgbm(**options):
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=15, verbose=-1, n_jobs=1, **options)


def xgboost(**options):
    from xgboost import XGBClassifier

    return XGBClassifier(**{"n_estimators": 15, "n_jobs": 1, **options})


def catboost():
    from catboost import CatBoostClassifier

    return CatBoostClassifier(iterations=15, verbose=0, thread_count=1, allow_writing_files=False)


def forest(n_trees=20):
    return RandomForestClassifier(n_trees, random_state=0)


def mixed():
    return [("nb", GaussianNB()), ("forest", forest())]


MODELS = {
    "logistic": LogisticRegression,
    "scaled": lambda: make_pipeline(StandardScaler(), LogisticRegression()),
    "imputed": lambda: make_pipeline(SimpleImputer(), LogisticRegression()),
    "imputed_forest": lambda: make_pipeline(SimpleImputer(strategy="median"), forest()),
    "linear_svm": LinearSVC,
    "bayes": GaussianNB,
    "discriminant": LinearDiscriminantAnalysis,
    "quadratic": lambda: QuadraticDiscriminantAnalysis(reg_param=0.1),
    "mlp": lambda: MLPClassifier((4,), max_iter=20, random_state=0),
    "neighbors": lambda: KNeighborsClassifier(25),
    "tree": lambda: DecisionTreeClassifier(min_samples_leaf=3, random_state=0),
    "extra_trees": lambda: ExtraTreesClassifier(25, random_state=0),
    "bag": lambda: BaggingClassifier(
        DecisionTreeClassifier(), 25, max_features=0.7, random_state=0
    ),
    "bag_of_bayes": lambda: BaggingClassifier(GaussianNB(), 5, max_features=0.7, random_state=0),
    "adaboost": lambda: AdaBoostClassifier(
        DecisionTreeClassifier(max_depth=2), n_estimators=25, random_state=0
    ),
    "gradient_boosting": lambda: GradientBoostingClassifier(n_estimators=10, random_state=0),
    "exponential": lambda: GradientBoostingClassifier(
        n_estimators=10, loss="exponential", random_state=0
    ),
    "histogram_boosting": lambda: HistGradientBoostingClassifier(max_iter=10),
    "unused_category": lambda: HistGradientBoostingClassifier(
        max_iter=5, max_leaf_nodes=4, categorical_features=[3]
    ),
    "vote": lambda: VotingClassifier(mixed(), voting="soft", weights=[1, 3]),
    "stack": lambda: StackingClassifier(mixed(), LogisticRegression(), cv=3, passthrough=True),
    "one_vs_rest": lambda: OneVsRestClassifier(forest()),
    "platt": lambda: CalibratedClassifierCV(forest(), cv=2),
    "isotonic": lambda: CalibratedClassifierCV(forest(), method="isotonic", cv=2),
    "searched": lambda: GridSearchCV(LogisticRegression(), {"C": [0.1, 1.0]}, cv=2),
    "lightgbm": lightgbm,
    "lightgbm_rf": lambda: lightgbm(boosting_type="rf", bagging_freq=1, bagging_fraction=0.6),
    "catboost": catboost,
    "xgboost": xgboost,
    "parallel_trees": lambda: xgboost(n_estimators=3, num_parallel_tree=10, subsample=0.6),
}


def drawn(n_classes, n_unseen=700):
    """Training rows, then unseen ones; column 3 has four categories that mean nothing."""
    X, y = make_classification(
        N_TRAINING + n_unseen, 6, n_informative=4, n_classes=n_classes, class_sep=1.6,
        flip_y=0.05, random_state=0,
    )  # fmt: skip
    return np.insert(X, 3, np.random.default_rng(0).integers(0, 4, len(y)), axis=1), y


@pytest.fixture(scope="module", params=[2, 3])
def rows(request):
    return drawn(request.param, 400)


def run(graph, feeds):
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3
    session = onnxruntime.InferenceSession(graph.SerializeToString(), options)
    return session.run(["label", "probabilities"], feeds)


def assert_same(model, rows, graph, limit=1e-12):
    """All probabilities and all labels are those of Python, none is missing."""
    feeds = {"X": rows}
    if hasattr(rows, "iloc"):
        feeds = {name: rows[[name]].to_numpy() for name in rows.columns}
    labels, p = run(graph, feeds)
    assert p.dtype == np.float64
    assert not np.isnan(p).any()
    np.testing.assert_allclose(p, model.predict_proba(rows), rtol=0, atol=limit)
    assert labels.tolist() == model.predict(rows).tolist()


# Log-odds of naive Bayes reach 1e3, where a rounding of 1e-16 moves the ends of a curve; the
# exponential of float32 is not the same in all C libraries.
LIMITS = {"bayes": 1e-7, "bag_of_bayes": 1e-7, "quadratic": 1e-7, "vote": 1e-7, "stack": 1e-7}
LIMITS |= {"xgboost": 1e-6, "parallel_trees": 1e-6}


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("name", MODELS)
def test_one_graph_gives_what_python_gives_for_unseen_rows(name, n_classes):
    X, y = drawn(n_classes)
    kinds = LABELS[n_classes][: 1 if name in ("xgboost", "parallel_trees") else None]
    y = np.array(kinds[list(MODELS).index(name) % len(kinds)])[y]
    make = MODELS[name]
    if n_classes == 3 and name in ("exponential", "unused_category"):  # two classes; a used one
        make = MODELS["gradient_boosting"]
    limit = LIMITS.get(name, 1e-12)
    for calibrator, ensemble in ((IsotonicCalibrator(), True), (BetaCalibrator(), False)):
        model = CalibratedClassifier(make(), calibrator, cv=2, ensemble=ensemble)
        model.fit(X[:N_TRAINING], y[:N_TRAINING])
        graph = to_onnx(model, check=ensemble)
        assert_same(model, X[N_TRAINING:], graph, limit)
        if not ensemble:
            assert_no_counterexample(graph, model, X[N_TRAINING:])


@pytest.mark.parametrize("calibrator", [AutoCalibrator, HistogramCalibrator, SplineCalibrator])
@pytest.mark.parametrize("name", ["logistic", "imputed_forest", "adaboost", "lightgbm"])
def test_every_kind_of_map_is_joined_to_a_model(name, calibrator):
    X, y = drawn(2)
    model = CalibratedClassifier(MODELS[name](), calibrator(), cv=2)
    model.fit(X[:N_TRAINING], y[:N_TRAINING])
    assert_same(model, X[N_TRAINING:], to_onnx(model, check=False))


@pytest.mark.parametrize("n_trees", [20, 25, 50, 100])
def test_forests_of_sizes_whose_shares_round_up_lose_no_row(n_trees, rows):
    X, y = rows
    kind = RandomForestClassifier if n_trees != 25 else ExtraTreesClassifier
    trained = kind(n_trees, random_state=0).fit(X[:N_TRAINING], y[:N_TRAINING])
    assert (trained.predict_proba(X) == 1).any(axis=1).mean() > 0.05  # the rows at stake
    model = CalibratedClassifier(FrozenEstimator(trained), HistogramCalibrator())
    model.fit(X[N_TRAINING:], y[N_TRAINING:])
    assert_same(model, X, to_onnx(model, check=False))


@pytest.mark.slow
def test_a_forest_with_all_defaults_is_the_same_on_unseen_rows(rows):
    X, y = rows
    model = CalibratedClassifier(forest(100)).fit(X[:N_TRAINING], y[:N_TRAINING])
    assert_same(model, X[N_TRAINING:], to_onnx(model))


# The check -----------------------------------------------------------------------------------


def fitted(base, calibrator=None, **options):
    X, y = drawn(2)
    model = CalibratedClassifier(base, calibrator or BetaCalibrator(), cv=2, **options)
    return model.fit(X[:N_TRAINING], y[:N_TRAINING])


@pytest.mark.parametrize(
    ("base", "reason"),
    [
        (KNeighborsClassifier(7, weights="distance"), "is not the model"),
        (BaggingClassifier(Perceptron(), 3), "gives probabilities of shape"),
        (make_pipeline(StandardScaler(), GaussianProcessClassifier()), "onnxruntime cannot run"),
        (AdaBoostClassifier(LogisticRegression(), n_estimators=3), "onnxruntime cannot run"),
        (lightgbm(linear_tree=True), "linear trees cannot be written"),
        (lightgbm(zero_as_missing=True), "take 0 for missing cannot be written"),
        (lightgbm(objective="cross_entropy"), "LGBMClassifier.* cannot be written"),
        (xgboost(missing=0), "take 0 for missing cannot be written"),
        (xgboost(booster="gblinear"), "linear models cannot be written"),
        (
            HistGradientBoostingClassifier(categorical_features=[0, 3]),
            "splits by categories cannot be written",
        ),
        (CalibratedClassifierCV(GaussianNB(), method="temperature"), "cannot be written"),
    ],
)
def test_a_model_whose_graph_would_be_wrong_is_refused(base, reason):
    X, y = drawn(2)
    X[:, 0] = np.digitize(X[:, 0], np.quantile(X[:, 0], np.linspace(0, 1, 9)[1:-1]))
    model = CalibratedClassifier(base, BetaCalibrator(), cv=2).fit(X[:N_TRAINING], y[:N_TRAINING])
    with pytest.raises(InputError, match=reason):
        to_onnx(model)


def planted_shares(monkeypatch):
    """Leaves divided one by one, as if n shares of 1/n added up to 1."""
    original = classifier.trees_of

    def trees_of(model):
        found = original(model)
        divided = [replace(tree, value=tree.value / found.divisor) for tree in found.trees]
        return replace(found, trees=divided, divisor=1.0)

    monkeypatch.setattr(classifier, "trees_of", trees_of)
    monkeypatch.setattr(classifier._Writer, "op", _without_clip(classifier._Writer.op))


def _without_clip(op):
    planted = []

    def replaced(self, kind, *inputs, **options):
        if kind == "Clip" and inputs[0].startswith("calibration") and not planted:
            planted.append(True)
            return inputs[0]
        return op(self, kind, *inputs, **options)

    return replaced


def planted_labels(monkeypatch):
    labels = classifier._labels
    monkeypatch.setattr(classifier, "_labels", lambda graph, classes: labels(graph, classes[::-1]))


def planted_columns(monkeypatch):
    original = classifier._Writer.matrix
    monkeypatch.setattr(
        classifier._Writer,
        "matrix",
        lambda self, inputs: self.column(original(self, inputs), 1, 0, 2, 3, 4, 5, 6),
    )


def planted_rounding(monkeypatch):
    scores = classifier._Writer.scores
    monkeypatch.setattr(
        classifier._Writer,
        "scores",
        lambda self, *given: self.op("Mul", scores(self, *given), self.table(np.array(1 - 1e-6))),
    )


@pytest.mark.parametrize("plant", [planted_labels, planted_columns, planted_rounding])
def test_a_defect_that_is_planted_into_the_graph_is_found(monkeypatch, plant):
    model = fitted(forest(50))
    to_onnx(model)
    plant(monkeypatch)
    with pytest.raises(
        InputError, match=r"RandomForestClassifier\) is not the model: of [\d,]+ rows"
    ):
        to_onnx(model)
    to_onnx(model, check=False)


def test_the_search_of_these_tests_finds_a_defect_that_few_rows_show(monkeypatch):
    """Leaves that are divided one by one: shares that should add up to 1 exceed it."""
    X, _ = drawn(2)
    model = fitted(forest(50))
    assert_no_counterexample(to_onnx(model), model, X[:300])
    planted_shares(monkeypatch)
    with pytest.raises(AssertionError, match=r"\d+ of \d+, by"):
        assert_no_counterexample(to_onnx(model, check=False), model, X[:300])


def test_the_rows_that_are_given_are_checked_too(monkeypatch):
    """A defect at values that no made row has."""
    X, _ = drawn(2)
    model = fitted(LogisticRegression())
    original = classifier._Writer.last_step

    def last_step(self, base, inputs):
        base, inputs = original(self, base, inputs)
        given = self.matrix(inputs)
        rare = self.op("Equal", given, self.table(np.array(0.123456789)))
        return base, [self.variable(self.op("Where", rare, self.table(np.array(1e3)), given), 7)]

    monkeypatch.setattr(classifier._Writer, "last_step", last_step)
    to_onnx(model, X[:5])
    X[3] = 0.123456789
    with pytest.raises(InputError, match="is not the model"):
        to_onnx(model, X[:5])


def test_without_onnxruntime_a_warning_says_that_nothing_was_checked(monkeypatch):
    model = fitted(GaussianNB())
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    with pytest.warns(UncheckedGraphWarning, match="was not compared with the model") as caught:
        to_onnx(model)
    assert caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", UncheckedGraphWarning)
        to_onnx(model, check=False)


def test_a_row_that_the_model_refuses_is_an_error_of_the_model():
    X, _ = drawn(2)
    X[1, 0] = np.nan
    with pytest.raises(ValueError, match="Input X contains NaN"):
        to_onnx(fitted(LogisticRegression()), X[:3])


def test_rows_that_are_no_array_or_frame_are_refused():
    with pytest.raises(InputError, match="got list"):
        to_onnx(fitted(GaussianNB()), [[0.0] * 7])


# Labels and inputs ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("classes", "unknown"),
    [(["a", "b"], ""), ([3, 4], -(2**63)), ([False, True], -(2**63)), ([0.0, 2.0], np.nan)],
)
def test_a_row_without_probabilities_gets_a_label_that_is_no_class(classes, unknown):
    X, y = drawn(2)
    model = CalibratedClassifier(LogisticRegression(), BetaCalibrator(), cv=2)
    model.fit(X[:N_TRAINING], np.array(classes)[y[:N_TRAINING]])
    X = X[:3].copy()
    X[1, 2] = np.nan
    labels, p = run(to_onnx(model), {"X": X})
    assert np.isnan(p).all(axis=1).tolist() == [False, True, False]
    np.testing.assert_array_equal(labels[1], unknown)
    assert labels[[0, 2]].tolist() == model.predict(X[[0, 2]]).tolist()


@pytest.mark.parametrize("name", ["logistic", "gradient_boosting", "extra_trees", "lightgbm"])
def test_a_row_that_python_refuses_has_no_probability(name):
    X, _ = drawn(2)
    model = fitted(MODELS[name](), SplineCalibrator())
    rows = X[:3].copy()
    rows[0, 1], rows[1, 5] = np.nan, np.inf
    labels, p = run(to_onnx(model), {"X": rows})
    for row, label, found in zip(rows, labels, p, strict=True):
        try:
            expected = model.predict_proba(row[np.newaxis])[0]
        except ValueError:
            assert np.isnan(found).all()
            assert label == -(2**63)
        else:
            np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize("make", [LogisticRegression, xgboost, forest, MODELS["scaled"]])
def test_a_frame_of_numbers_needs_no_column_transformer(make):
    X, y = drawn(2)
    frame = pd.DataFrame(X, columns=[f"x{k}" for k in range(7)])
    frame["x3"] = frame["x3"].astype(np.int64)
    frame["x7"] = frame["x0"] > 0
    model = CalibratedClassifier(make(), BetaCalibrator(), cv=2)
    model.fit(frame[:N_TRAINING], y[:N_TRAINING])
    assert_same(model, frame[N_TRAINING:], to_onnx(model, frame[:50]), 1e-6)


@pytest.mark.parametrize("make", [LogisticRegression, MODELS["quadratic"], forest])
@pytest.mark.parametrize("dtype", [np.float32, np.int64])
def test_rows_of_other_types_are_computed_in_float64(make, dtype):
    X, y = drawn(2)
    X = (4 * X).astype(dtype)
    model = CalibratedClassifier(make(), SplineCalibrator(), cv=2)
    model.fit(X[:N_TRAINING].astype(float), y[:N_TRAINING])
    assert_same(model, X[N_TRAINING:], to_onnx(model, X[:5]), 1e-9)


def test_a_pipeline_may_end_in_a_frozen_model_and_begin_with_an_imputer_of_columns():
    X, y = drawn(2)
    frame = pd.DataFrame({"age": X[:, 0], "size": X[:, 1]})
    frame["town"] = np.where(X[:, 2] > 0, "Ulm", "Bonn")
    frame.loc[::7, "age"] = np.nan
    encode = make_column_transformer(
        (make_pipeline(SimpleImputer(), StandardScaler()), ["age", "size"]),
        (OneHotEncoder(), ["town"]),
    )
    features = encode.fit_transform(frame)
    trained = forest().fit(features[:N_TRAINING], y[:N_TRAINING])
    whole = FrozenEstimator(make_pipeline(encode, FrozenEstimator(trained)))
    model = CalibratedClassifier(whole, IsotonicCalibrator())
    model.fit(frame[N_TRAINING:1000], y[N_TRAINING:1000])
    assert_same(model, frame[1000:], to_onnx(model, frame[:50]))


def test_early_stopping_and_dropped_trees_of_xgboost_are_those_of_python():
    X, y = drawn(2)
    stopped = xgboost(n_estimators=200, early_stopping_rounds=3, max_depth=2)
    stopped.fit(X[:300], y[:300], eval_set=[(X[300:500], y[300:500])], verbose=False)
    assert stopped.best_iteration < stopped.get_booster().num_boosted_rounds() - 1
    dropped = xgboost(booster="dart", rate_drop=0.3).fit(X[:500], y[:500])
    for trained in (stopped, dropped):
        model = CalibratedClassifier(FrozenEstimator(trained), BetaCalibrator())
        model.fit(X[500:1000], y[500:1000])
        assert_same(model, X[1000:], to_onnx(model), 1e-6)


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


def test_calibrated_models_of_two_libraries_vote_in_one_graph(rows):
    X, y = rows
    members = [
        ("a", CalibratedClassifier(xgboost(), BetaCalibrator(), cv=2)),
        ("b", CalibratedClassifier(DecisionTreeClassifier(max_depth=3), BetaCalibrator(), cv=2)),
    ]
    model = VotingClassifier(members, voting="soft", flatten_transform=False).fit(X, y)
    assert_same(model, X, to_onnx(model, X[:50]), 1e-6)


def test_trees_of_two_operators_cannot_be_in_one_graph():
    X, y = drawn(2)
    categories = lightgbm(categorical_feature=[3], min_child_samples=2, min_data_per_group=1)
    y = y ^ (X[:, 3] == 2)
    vote = VotingClassifier([("a", categories), ("b", forest())], voting="soft").fit(X, y)
    model = CalibratedClassifier(FrozenEstimator(vote), BetaCalibrator()).fit(X, y)
    with pytest.raises(InputError, match="ONNX does not have both in one graph"):
        to_onnx(model)


def test_a_forest_that_is_too_large_is_refused_with_its_size(monkeypatch):
    monkeypatch.setattr(trees, "MOST_NODES", 100)
    with pytest.raises(InputError, match=r"a forest of \d,\d+ nodes .* is too large"):
        to_onnx(fitted(forest()))


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
    with pytest.raises(InputError, match="needs features"):
        to_onnx(tree)
    margins = CalibratedClassifier(
        QuadraticDiscriminantAnalysis(reg_param=0.5), cv=2, response_method="decision_function"
    )
    with pytest.raises(InputError, match="cannot write the decision function"):
        to_onnx(margins.fit(X, y))
