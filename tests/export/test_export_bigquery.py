"""SQL for BigQuery: sqlglot reads it as BigQuery's, and DuckDB runs what it reads."""

import duckdb
import numpy as np
import pytest
import sqlglot

from support.map_examples import N_SPECIAL, small_examples


def test_sql_for_bigquery_equals_numpy():
    connection = duckdb.connect()
    rows = slice(0, N_SPECIAL // 10)  # each special score once
    for example in small_examples():
        frame = example.frame()[rows]
        parts = ", ".join(f"{sql} AS p{k}" for k, sql in enumerate(example.sql("bigquery")))
        read = sqlglot.transpile(f"SELECT {parts} FROM t", read="bigquery", write="duckdb")[0]  # noqa: S608
        connection.register("t", frame)
        found = np.array(connection.execute(read).fetchall(), dtype=float)
        expected = example.expected[rows]
        np.testing.assert_allclose(
            found.reshape(expected.shape), expected, rtol=0, atol=1e-9, err_msg=example.name
        )


@pytest.mark.parametrize("large", [False, True])
def test_only_large_tables_ask_for_a_function_that_duckdb_has_not(large):
    from trueodds.maps import StepMap

    edges = np.linspace(0, 1, 102 if large else 12)[1:-1]
    text = StepMap(edges=edges, values=np.linspace(0, 1, len(edges) + 1)).to_sql(dialect="bigquery")
    assert ("RANGE_BUCKET" in text) == large
