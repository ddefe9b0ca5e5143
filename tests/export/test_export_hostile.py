"""Every family on every target, with scores chosen to hurt and rows that cannot be used."""

import itertools
import json
import os
import shutil
import sqlite3
import subprocess

import duckdb
import numpy as np
import onnxruntime
import pandas as pd
import pyarrow as pa
import pytest
import torch
from hostile_scores import Case

from support.map_examples import examples
from trueodds.engines import apply_map
from trueodds.maps import (
    CharcoalSoftmaxMap,
    IdentityMap,
    LogOddsMap,
    SoftmaxMap,
    StructuredSoftmaxMap,
)

NODE = shutil.which("node")
every_example = pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


def of_its_own_columns(example) -> bool:
    """Whether the map's own function takes as many scores as the example has."""
    return example.n_scores == example.map._n_scores


@every_example
def test_onnx_and_torch_on_hostile_scores(example):
    if not of_its_own_columns(example):
        pytest.skip("the graph of a binary map takes one column")
    case = Case(example)
    model = case.map.to_onnx()
    inputs = {"scores": case.scores}
    for declared in model.graph.input[1:]:
        values = case.features[declared.name.removeprefix("feature_")]
        is_text = values.dtype == object
        inputs[declared.name] = values.fillna("").to_numpy(object) if is_text else values.to_numpy()
    case.check(onnxruntime.InferenceSession(model.SerializeToString()).run(None, inputs)[0])
    if case.features is None:
        case.check(case.map.to_torch()(torch.tensor(case.scores)).numpy())


@pytest.mark.slow
@every_example
def test_duckdb_and_sqlite_on_hostile_scores(example):
    case = Case(example)
    rows = case.frame()
    parts = [f"{sql} AS p{k}" for k, sql in enumerate(case.sql("duckdb"))]
    table = pa.Table.from_pandas(rows, preserve_index=False)
    case.check(duckdb.connect().from_arrow(table).select(", ".join(parts)).fetchall())
    connection = sqlite3.connect(":memory:")
    names = ", ".join(f'"{name}"' for name in rows.columns)
    connection.execute(f"CREATE TABLE t ({names})")
    marks = ", ".join("?" * len(rows.columns))
    values = zip(*[column.tolist() for _, column in rows.items()], strict=True)
    connection.executemany(f"INSERT INTO t VALUES ({marks})", values)  # noqa: S608
    query = f"SELECT {', '.join(case.sql('sqlite'))} FROM t ORDER BY rowid"  # noqa: S608
    case.check(connection.execute(query).fetchall())


@every_example
def test_python_and_frames_on_hostile_scores(example):
    case = Case(example)
    column = [f"s{k}" for k in range(case.n_scores)]
    into = [f"p{k}" for k in range(case.n_scores)]
    options = (
        {"score": column, "output_column": into}
        if case.n_scores > 1
        else {"score": "s0", "output_column": "p0"}
    )
    case.check(apply_map(case.map, case.frame(), **options)[into])
    if not of_its_own_columns(example):
        return
    namespace: dict = {}
    exec(compile(case.map.to_python(), "exported", "exec"), namespace)  # noqa: S102
    calibrate, scores = namespace["calibrate"], case.scores.tolist()
    if case.features is None:
        case.check([calibrate(score) for score in scores])
    else:
        rows = case.features.astype(object).where(case.features.notna(), None).to_dict("records")
        case.check([calibrate(s, row) for s, row in zip(scores, rows, strict=True)])


RUN = """
import { readFileSync } from "node:fs";
const revive = (x) => Array.isArray(x) ? x.map(revive)
  : x && typeof x === "object"
    ? Object.fromEntries(Object.entries(x).map(([k, v]) => [k, revive(v)]))
  : x === "inf" ? Infinity : x === "-inf" ? -Infinity : x === "nan" ? NaN : x;
for (const { file, rows, features } of JSON.parse(readFileSync("cases.json", "utf8"))) {
  const { calibrate } = await import(file);
  const all = revive(features);
  const found = revive(rows).map((row, k) => calibrate(row, all && all[k]));
  console.log(JSON.stringify(found, (_, x) => Number.isNaN(x) ? null : x));
}
"""


def as_json(value):
    if isinstance(value, list):
        return [as_json(part) for part in value]
    if isinstance(value, dict):
        return {key: as_json(part) for key, part in value.items()}
    is_odd = isinstance(value, float) and not np.isfinite(value)
    return str(value) if is_odd else value


@pytest.mark.skipif(
    NODE is None and "TRUEODDS_REQUIRE_ALL" not in os.environ,
    reason="node is not installed",
)
@pytest.mark.slow
def test_javascript_on_hostile_scores(tmp_path):
    cases = [Case(example) for example in examples() if of_its_own_columns(example)]
    documents = []
    for k, case in enumerate(cases):
        (tmp_path / f"map{k}.mjs").write_text(case.map.to_javascript(), encoding="ascii")
        features = None
        if case.features is not None:
            plain = case.features.astype(object).where(case.features.notna(), None)
            features = as_json(plain.to_dict("records"))
        rows = as_json(case.scores.tolist())
        documents.append({"file": f"./map{k}.mjs", "rows": rows, "features": features})
    (tmp_path / "cases.json").write_text(json.dumps(documents))
    (tmp_path / "run.mjs").write_text(RUN)
    ran = subprocess.run(
        [NODE, "run.mjs"], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    lines = ran.stdout.splitlines()
    assert len(lines) == len(cases) > 100
    for case, line in zip(cases, lines, strict=True):
        case.check(np.array(json.loads(line), dtype=float))


def test_rows_that_sum_to_exactly_the_limit_are_taken_in_any_order():
    m = SoftmaxMap(weights=[1.0, 1.0, 1.0], bias=[0.0, 0.0, 0.5])
    limits = [(0.98, 0.02, 0.05), (0.6, 0.3, 0.15), (0.3, 0.3, 0.35), (0.9, 0.05, 0.0)]
    scores = np.array([row for limit in limits for row in itertools.permutations(limit)])
    expected = m(scores)
    powers = scores * np.exp([0.0, 0.0, 0.5])
    np.testing.assert_allclose(expected, powers / powers.sum(axis=1, keepdims=True), rtol=1e-14)
    frame = pd.DataFrame(scores, columns=["a", "b", "c"])
    found = apply_map(m, frame, score=["a", "b", "c"], output_column=["x", "y", "z"])[
        ["x", "y", "z"]
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-15)
    parts = ", ".join(m.to_sql(["a", "b", "c"]))
    table = duckdb.connect().from_arrow(pa.Table.from_pandas(frame)).select(parts)
    np.testing.assert_allclose(np.array(table.fetchall()), expected, rtol=0, atol=1e-15)


@pytest.mark.parametrize("margin", [1e16, 1e20, 1e60, 1e100, 1e299, 1.7e308])
@pytest.mark.parametrize("scale", ["logit", "raw"])
def test_a_large_margin_makes_a_class_certain_in_every_family(margin, scale):
    coals = CharcoalSoftmaxMap(
        means=[[0, -3, -3], [-1, -1, -1]], temperatures=[2.0, 1.0], widths=[1.0, 2.0],
        bias=[0.1, 0.0, -0.1], scale=scale,
    )  # fmt: skip
    even = StructuredSoftmaxMap(
        tau=1.0, floor=1e-9, mixing=1e-9, prior=np.ones(3) / 3, bias=np.zeros(3),
        on_logs=np.zeros(3), on_probabilities=np.zeros(0), shared=np.zeros(4), scale=scale,
    )  # fmt: skip
    matrix = SoftmaxMap(
        weights=[[1.2, -0.1, 0.0], [0.2, 0.7, 0.1], [0.0, 0.3, 0.9]], bias=[0.1, -0.2, 0.3],
        scale=scale,
    )  # fmt: skip
    for m in (coals, matrix, SoftmaxMap(weights=[0.5, 1.5, 0.2], bias=[0.0] * 3, scale=scale),
              IdentityMap(scale=scale), even):  # fmt: skip
        for scores in ([margin, 0.0, 0.0], [margin, -margin, -margin / 2]):
            np.testing.assert_allclose(m([scores]), [[1.0, 0.0, 0.0]], rtol=0, atol=1e-8)
    assert LogOddsMap(a=0.5, b=0.5, c=0.0, scale=scale)([margin]) == pytest.approx(1.0)
