"""SQL, ONNX and Python give what NumPy gives, on engines that really run."""

import sqlite3

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import trueodds.calibrators
import trueodds.decisions
from support.map_examples import N_ROWS, SCALES, example_of_some_rows, examples
from support.services import compiling
from trueodds.maps import CalibrationMap

every_example = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)


def test_there_is_an_example_of_every_family_of_maps():
    assert trueodds.calibrators
    assert trueodds.decisions  # families may be defined there, too
    assert {example.map.family for example in examples()} == set(CalibrationMap._families)


@pytest.mark.slow
@every_example
def test_sql_in_duckdb_equals_numpy(example):
    rows = pa.Table.from_pandas(example.frame(), preserve_index=False)
    parts = [f"{sql} AS p{k}" for k, sql in enumerate(example.sql("duckdb"))]
    found = duckdb.connect().from_arrow(rows).select(", ".join(parts)).fetchnumpy()
    columns = [np.asarray(found[f"p{k}"], dtype=float) for k in range(len(parts))]
    example.check(columns[0] if len(parts) == 1 else np.stack(columns, axis=1))


@pytest.mark.slow
@every_example
def test_sql_in_sqlite_equals_numpy(example):
    parts = ", ".join(example.sql("sqlite"))
    rows = example.frame()
    connection = sqlite3.connect(":memory:")
    names = ", ".join(f'"{name}"' for name in rows.columns)
    connection.execute(f"CREATE TABLE t ({names})")
    marks = ", ".join("?" * len(rows.columns))
    values = zip(*[column.tolist() for _, column in rows.items()], strict=True)
    connection.executemany(f"INSERT INTO t VALUES ({marks})", values)  # noqa: S608
    found = connection.execute(f"SELECT {parts} FROM t ORDER BY rowid").fetchall()  # noqa: S608
    array = np.array(found, dtype=float)
    example.check(array[:, 0] if example.n_scores == 1 else array)


def one_frame(chosen) -> pd.DataFrame:
    """The columns of some examples with equally many rows, side by side."""
    columns: dict = {}
    for example in chosen:
        frame = example.frame()
        columns |= {name: frame[name] for name in frame.columns}
    return pd.DataFrame(columns)


def check_in_one_query(frame, chosen) -> None:
    """All maps in one query, since it is the planning of each that takes Spark its time."""
    parts, places = [], {}
    for example in chosen:
        written = example.sql("spark")
        places[example.name] = [f"p{len(parts) + k}" for k in range(len(written))]
        parts += [
            f"{sql} AS {name}" for sql, name in zip(written, places[example.name], strict=True)
        ]
    result = frame.selectExpr("row", *parts).toPandas().sort_values("row")
    for example in chosen:
        found = result[places[example.name]].to_numpy(float)
        example.check(found[:, 0] if found.shape[1] == 1 else found)


def test_sql_in_spark_equals_numpy_on_all_rows(spark, tmp_path):
    chosen = [example for example in examples() if example.is_first]
    # From a file: Spark computes rows that it was handed while it plans, without compiling.
    table = pa.Table.from_pandas(one_frame(chosen), preserve_index=False)
    table = table.append_column("row", pa.array(np.arange(N_ROWS)))
    pq.write_table(table, tmp_path / "rows.parquet")
    with compiling(spark):
        check_in_one_query(spark.read.parquet(str(tmp_path / "rows.parquet")), chosen)


@pytest.mark.parametrize("scale", SCALES)
def test_sql_in_spark_equals_numpy_for_every_family_and_scale(scale, spark):
    # The last of each kind, as the first ones see all rows.
    kinds = {(x.map.family, x.n_scores): x for x in examples() if x.map.scale == scale}
    chosen = [example_of_some_rows(x.map, x.n_scores, x.name) for x in kinds.values()]
    assert {x.map.family for x in chosen} == set(CalibrationMap._families)
    rows = one_frame(chosen)
    rows.insert(0, "row", np.arange(len(rows)))
    for name in rows.select_dtypes(object).columns:
        rows[name] = rows[name].where(rows[name].notna(), None)
    check_in_one_query(spark.createDataFrame(rows), chosen)


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
    example.check(session.run(None, inputs)[0])


@pytest.mark.slow
@every_example
def test_python_equals_numpy(example):
    if example.n_scores > 1 and example.map.takes_one_score:
        pytest.skip("the function of a binary map takes one score")
    namespace: dict = {}
    exec(compile(example.map.to_python(), "exported", "exec"), namespace)  # noqa: S102
    calibrate, scores = namespace["calibrate"], example.scores.tolist()
    if example.features is None:
        found = [calibrate(score) for score in scores]
    else:
        rows = example.features.astype(object).where(example.features.notna(), None)
        features = rows.to_dict("records")
        found = [calibrate(s, row) for s, row in zip(scores, features, strict=True)]
    example.check(np.array(found))


def test_every_family_is_checked_on_a_hundred_thousand_scores():
    first = [example for example in examples() if example.is_first]
    assert {len(example.scores) for example in first} == {N_ROWS}
    assert {example.map.family for example in first} == set(CalibrationMap._families)
