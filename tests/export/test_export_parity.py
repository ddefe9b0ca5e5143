"""SQL, ONNX and Python give what NumPy gives, on engines that really run."""

import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pyarrow as pa
import pytest
from map_examples import N_ROWS, Example, examples

import trueodds.calibrators
import trueodds.decisions
from trueodds.maps import CalibrationMap

TOLERANCE = 1e-9

every_example = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def sql_of(example: Example, dialect: str) -> list[str]:
    if example.n_scores == 1:
        return [example.map.to_sql("s0", dialect=dialect)]
    return example.map.to_sql(example.columns, dialect=dialect)


def check(example: Example, found: np.ndarray) -> None:
    expected = example.expected
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=TOLERANCE)


def test_there_is_an_example_of_every_family_of_maps():
    assert trueodds.calibrators
    assert trueodds.decisions  # families may be defined there, too
    assert {example.map.family for example in examples()} == set(CalibrationMap._families)


@every_example
def test_sql_in_duckdb_equals_numpy(example):
    rows = pa.Table.from_pandas(example.frame(), preserve_index=False)
    parts = [f"{sql} AS p{k}" for k, sql in enumerate(sql_of(example, "duckdb"))]
    found = duckdb.connect().from_arrow(rows).select(", ".join(parts)).fetchnumpy()
    columns = [np.asarray(found[f"p{k}"], dtype=float) for k in range(len(parts))]
    check(example, columns[0] if len(parts) == 1 else np.stack(columns, axis=1))


@every_example
def test_sql_in_sqlite_equals_numpy(example):
    rows = example.frame()
    connection = sqlite3.connect(":memory:")
    names = ", ".join(f'"{name}"' for name in rows.columns)
    connection.execute(f"CREATE TABLE t ({names})")
    marks = ", ".join("?" * len(rows.columns))
    values = zip(*[column.tolist() for _, column in rows.items()], strict=True)
    connection.executemany(f"INSERT INTO t VALUES ({marks})", values)
    parts = ", ".join(sql_of(example, "sqlite"))
    found = np.array(connection.execute(f"SELECT {parts} FROM t ORDER BY rowid").fetchall(), float)
    check(example, found[:, 0] if example.n_scores == 1 else found)


@every_example
def test_onnx_equals_numpy(example):
    model = example.map.to_onnx()
    inputs = {"scores": example.scores}
    if example.n_scores > 1 and example.map.takes_one_score:
        pytest.skip("the graph of a binary map takes one column")
    for declared in model.graph.input[1:]:
        values = example.features[declared.name.removeprefix("feature_")]
        if values.dtype == object:
            inputs[declared.name] = values.fillna("").to_numpy(object)
        else:
            inputs[declared.name] = values.to_numpy()
    session = onnxruntime.InferenceSession(model.SerializeToString())
    check(example, session.run(None, inputs)[0])


@every_example
def test_python_equals_numpy(example):
    if example.n_scores > 1 and example.map.takes_one_score:
        pytest.skip("the function of a binary map takes one score")
    namespace: dict = {}
    exec(compile(example.map.to_python(), "exported", "exec"), namespace)
    calibrate, scores = namespace["calibrate"], example.scores.tolist()
    if example.features is None:
        found = [calibrate(score) for score in scores]
    else:
        rows = example.features.astype(object).where(example.features.notna(), None)
        features = rows.to_dict("records")
        found = [calibrate(s, row) for s, row in zip(scores, features, strict=True)]
    check(example, np.array(found))


def test_there_are_a_hundred_thousand_scores():
    assert {len(example.scores) for example in examples()} == {N_ROWS}
