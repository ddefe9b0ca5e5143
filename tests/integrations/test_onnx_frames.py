"""Frames of pandas and polars, with columns of every type, become inputs of one ONNX graph."""

import re

import numpy as np
import onnxruntime
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from support.onnx_search import assert_no_counterexample
from trueodds import BetaCalibrator, CalibratedClassifier
from trueodds.exceptions import InputError
from trueodds.export import to_onnx

pytestmark = [
    pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning"),
    pytest.mark.filterwarnings("ignore::UserWarning"),
]

N = 900
NUMBERS = {
    "float64": {"a": "float64", "b": "float64"},
    "float32": {"a": "float32", "b": "float32"},
    "float32 and int16": {"a": "float32", "b": "int16"},
    "float32 and float64": {"a": "float32", "b": "float64"},
    "int8": {"a": "int8", "b": "int8"},
    "float64 and int32": {"a": "float64", "b": "int32"},
    "uint8 and int64": {"a": "int64", "b": "uint8"},
    "float32 and int32": {"a": "float32", "b": "int32"},
    "float32 and boolean": {"a": "float32", "b": "bool"},
    "nullable": {"a": "Float32", "b": "Int16"},
    "float64 and boolean": {"a": "float64", "b": "bool"},
}


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=10, verbose=-1, n_jobs=1)


def xgboost():
    from xgboost import XGBClassifier

    return XGBClassifier(n_estimators=10, n_jobs=1)


MODELS = {
    "logistic": LogisticRegression,
    "forest": lambda: RandomForestClassifier(10, max_depth=4, random_state=0),
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=10),
    "lightgbm": lightgbm,
    "xgboost": xgboost,
}


def drawn(types=None):
    """A frame of two numbers, two kinds of categories, and a column that no model uses."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": (10 * rng.normal(size=N)).round(2),
            "unused": rng.normal(size=N).astype("float32"),
            "b": rng.integers(0, 50, N),
            "town": rng.choice(["Ulm", "Graz", "Linz"], N),
            "size": pd.Categorical(rng.choice(["s", "m"], N)),
        }
    )
    odds = frame["a"] / 10 + frame["b"] / 25 - 1 + (frame["town"] == "Ulm")
    y = (rng.random(N) < 1 / (1 + np.exp(-odds))).astype(int)
    for name, kind in (types or {}).items():
        values = frame[name] > 20 if kind == "bool" else frame[name]
        frame[name] = values.astype(kind)
    return frame, y


def prepared(base):
    columns = [
        ("numbers", StandardScaler(), ["a", "b"]),
        ("texts", OneHotEncoder(), ["town", "size"]),
    ]
    return make_pipeline(ColumnTransformer(columns), base)


def answers(graph, rows):
    """What a service feeds: each column as it is, texts as texts."""
    session = onnxruntime.InferenceSession(graph.SerializeToString())
    feeds = {}
    for given in session.get_inputs():
        values = rows[given.name].to_numpy()
        if given.type == "tensor(string)":
            values = np.array([str(value) for value in values], dtype=object)
        feeds[given.name] = values[:, np.newaxis]
    return session.run(["label", "probabilities"], feeds)


def assert_same(model, graph, rows, limit):
    labels, p = answers(graph, rows)
    np.testing.assert_allclose(p, model.predict_proba(rows), rtol=0, atol=limit)
    assert labels.tolist() == model.predict(rows).tolist()


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("types", NUMBERS)
@pytest.mark.parametrize("name", MODELS)
def test_columns_of_every_type_are_inputs_without_a_refit(name, types, library):
    frame, y = drawn(NUMBERS[types])
    rows = frame if library == "pandas" else pl.from_pandas(frame)
    model = CalibratedClassifier(prepared(MODELS[name]()), BetaCalibrator(), cv=2)
    model.fit(rows[:500], y[:500])
    graph = to_onnx(model, rows[:50])
    rounded = name == "xgboost" or "loat32" in "".join(NUMBERS[types].values())
    assert_same(model, graph, rows[500:], 1e-6 if rounded else 1e-9)
    found = {given.name: given.type.tensor_type.elem_type for given in graph.graph.input}
    assert list(found) == frame.columns.tolist()
    if name == "logistic":
        assert_no_counterexample(graph, model, rows[:50])


@pytest.mark.parametrize("library", ["pandas", "polars"])
@pytest.mark.parametrize("name", MODELS)
def test_a_calibrated_model_may_be_the_last_step_of_a_pipeline(name, library):
    frame, y = drawn(NUMBERS["float32 and int16"])
    rows = frame if library == "pandas" else pl.from_pandas(frame)
    model = prepared(CalibratedClassifier(MODELS[name](), BetaCalibrator(), cv=2))
    model.fit(rows[:500], y[:500])
    assert_same(model, to_onnx(model, rows[:50]), rows[500:], 1e-6)


@pytest.mark.parametrize("kind", ["string", "category", "object"])
@pytest.mark.parametrize("encoder", [OneHotEncoder(handle_unknown="ignore"), OrdinalEncoder()])
def test_categories_may_be_texts_integers_and_booleans(kind, encoder):
    frame, y = drawn()
    frame = frame.assign(town=frame["town"].astype(kind), code=frame["b"] % 4, flag=frame["b"] > 20)
    frame["level"] = pd.Categorical(frame["b"] % 3)
    columns = [("n", SimpleImputer(), ["a"]), ("c", encoder, ["town", "code", "flag", "level"])]
    model = make_pipeline(ColumnTransformer(columns), LogisticRegression())
    model = CalibratedClassifier(model, BetaCalibrator(), cv=2).fit(frame[:500], y[:500])
    graph = to_onnx(model, frame[:60])
    assert_same(model, graph, frame[500:], 1e-7)


def test_nullable_numbers_and_missing_ones_are_numbers():
    frame, y = drawn()
    frame["b"] = frame["b"].astype("Int64")
    frame.loc[::9, "b"] = pd.NA
    frame.loc[::7, "a"] = np.nan
    columns = ColumnTransformer([("n", SimpleImputer(), ["a", "b"])])
    model = make_pipeline(columns, LogisticRegression())
    model = CalibratedClassifier(model, BetaCalibrator(), cv=2).fit(frame[:500], y[:500])
    graph = to_onnx(model, frame[:60])
    plain = frame.assign(b=frame["b"].astype(float))
    assert_same(model, graph, plain[500:], 1e-9)


def test_arrays_keep_their_type():
    frame, y = drawn()
    for dtype in ("float32", "int16", "uint8", "bool"):
        X = (frame[["a", "b"]].to_numpy() + 40).clip(0, 200).astype(dtype)
        base = make_pipeline(StandardScaler(), LogisticRegression())
        model = CalibratedClassifier(base, BetaCalibrator(), cv=2).fit(X, y)
        graph = to_onnx(model, X[:50])
        session = onnxruntime.InferenceSession(graph.SerializeToString())
        p = session.run(["probabilities"], {"X": X})[0]
        np.testing.assert_allclose(p, model.predict_proba(X), rtol=0, atol=1e-6)


def test_a_column_that_no_graph_takes_is_named_with_the_cure():
    frame, y = drawn()
    model = CalibratedClassifier(prepared(LogisticRegression()), BetaCalibrator(), cv=2)
    model.fit(frame[:500], y[:500])
    day = pd.Timestamp("2026-01-01")
    for rows, named in (
        (frame.assign(day=day), "'day' of X has the type Datetime"),
        (
            frame.assign(mixed=["x", 1.0] * (N // 2)),
            "'mixed' of X has the type Object of float, str",
        ),
        (pl.from_pandas(frame.assign(day=day)), "'day' of X has the type Datetime"),
    ):
        with pytest.raises(InputError, match=re.escape(named) + ".*Make it numbers"):
            to_onnx(model, rows)
    with pytest.raises(InputError, match="a NumPy array or a frame of pandas or polars; got Lazy"):
        to_onnx(model, pl.from_pandas(frame).lazy())


def test_categories_that_are_fractions_are_named_with_the_cure():
    frame, y = drawn()
    frame["dose"] = np.tile([0.5, 1.5, 2.0], N // 3)
    columns = [("n", StandardScaler(), ["a"]), ("c", OneHotEncoder(), ["town", "dose"])]
    model = make_pipeline(ColumnTransformer(columns), LogisticRegression())
    model = CalibratedClassifier(model, BetaCalibrator(), cv=2).fit(frame, y)
    with pytest.raises(InputError, match="column 'dose' has categories that are no integers: make"):
        to_onnx(model, frame[:50])
