"""Macros for dbt, rendered by Jinja and run by DuckDB."""

import dataclasses

import duckdb
import jinja2
import numpy as np
import pandas as pd
import pytest

from support.map_examples import tree_of
from trueodds.exceptions import InputError
from trueodds.maps import LogOddsMap, SoftmaxMap, StepMap

P = np.linspace(0.01, 0.99, 50)


def rendered(macro: str, call: str) -> str:
    return jinja2.Template(macro + "{{ " + call + " }}").render()


def test_a_macro_takes_any_expression():
    duckdb_rows = duckdb.connect()
    duckdb_rows.execute("create table t as select unnest(?::double[]) as p", [P.tolist()])
    for m in (LogOddsMap(a=0.4, b=0.9, c=0.1), StepMap(edges=P[1:], values=P)):
        query = rendered(m.to_dbt(), "calibrate('1 - p')")
        found = duckdb_rows.sql(f"select {query} as q from t").fetchnumpy()["q"]  # noqa: S608
        np.testing.assert_allclose(found, m(1 - P), atol=1e-12)


def test_several_classes_have_a_macro_each():
    m = SoftmaxMap(weights=[0.5, 1.5, 1.0], bias=[0.1, -0.2, 0.3])
    rows = np.stack([P / 2, P / 2, 1 - P], axis=1)
    connection = duckdb.connect()
    connection.execute("create table t as select unnest(?::double[]) as p", [P.tolist()])
    for k in range(3):
        query = rendered(m.to_dbt("odds"), f"odds_{k}('p / 2', 'p / 2', '1 - p')")
        found = connection.sql(f"select {query} as q from t").fetchnumpy()["q"]  # noqa: S608
        np.testing.assert_allclose(found, m(rows)[:, k], atol=1e-12)


def test_what_jinja_would_read_is_not_read():
    tree = tree_of(
        tuple(LogOddsMap(a=1.0, b=a, c=0.1) for a in np.linspace(0.2, 1, 9)), "probability"
    )
    macro = tree.to_dbt(features={"home town": "{{ danger }} {% raw %} {# note #}"})
    query = rendered(macro, "calibrate('p')")
    assert '"{{ danger }} {% raw %} {# note #}"' in query


def test_a_name_that_is_none_is_refused():
    with pytest.raises(InputError, match="letters, digits and underscores"):
        StepMap(edges=[], values=[0.4]).to_dbt("a b")


@pytest.mark.parametrize("dialect", ["duckdb", "bigquery"])
def test_columns_and_categories_called_like_the_placeholders_stay_what_they_are(dialect):
    names = ("trueodds_column_0_", "TRUEODDS_COLUMN_", "other")
    tree = tree_of(
        tuple(LogOddsMap(a=1.0, b=a, c=0.1) for a in np.linspace(0.2, 1, 9)), "probability"
    )
    category = 'x"trueodds_column_0_"`trueodds_column_0_`'
    tree = dataclasses.replace(
        tree,
        names=names,
        categories=(None, tuple(sorted(["Ulm", "Bonn", category])), (1.0, 2.0, 3.0)),
    )
    query = rendered(tree.to_dbt(dialect=dialect), "calibrate('p')")
    if dialect == "duckdb":
        rows = {"p": [0.3, 0.3], "trueodds_column_0_": [20.0, 60.0]}
        rows |= {"TRUEODDS_COLUMN_": [category, "Ulm"], "other": [1.0, 3.0]}
        connection = duckdb.connect()
        connection.register("t", pd.DataFrame(rows))
        found = connection.sql(f"select {query} as q from t").fetchnumpy()["q"]  # noqa: S608
        features = pd.DataFrame({name: rows[name] for name in names})
        np.testing.assert_allclose(found, tree(rows["p"], features=features), atol=1e-12)
    else:
        assert "`trueodds_column_0_` " in query
        assert "`TRUEODDS_COLUMN_`" in query
