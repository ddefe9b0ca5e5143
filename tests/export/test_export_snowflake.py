"""SQL for Snowflake, on an emulator: fakesnow reads it as Snowflake's and runs it in DuckDB."""

import fakesnow
import numpy as np
import pytest
import snowflake.connector

from support.map_examples import N_SPECIAL, small_examples

pytestmark = pytest.mark.filterwarnings("ignore")  # of the emulator's own libraries


@pytest.fixture(scope="module")
def cursor():
    with fakesnow.patch():
        connection = snowflake.connector.connect(database="tests", schema="maps")
        yield connection.cursor()
        connection.close()


def in_snowflake(cursor, rows, parts) -> np.ndarray:
    """The values of some expressions on the rows of a frame."""
    kinds = ["TEXT" if rows[name].dtype == object else "DOUBLE" for name in rows.columns]
    declared = ", ".join(f'"{n}" {kind}' for n, kind in zip(rows.columns, kinds, strict=True))
    lines = [
        f"({number}, {', '.join(map(as_literal, row))})"
        for number, row in enumerate(rows.itertuples(index=False))
    ]
    cursor.execute(f"CREATE OR REPLACE TABLE t (row_number INTEGER, {declared})")
    cursor.execute(f"INSERT INTO t VALUES {', '.join(lines)}")  # noqa: S608
    cursor.execute(f"SELECT {', '.join(parts)} FROM t ORDER BY row_number")  # noqa: S608
    return np.array(cursor.fetchall(), dtype=float)


def as_literal(value) -> str:
    if value is None or value != value:
        return "NULL"
    if isinstance(value, str):
        return "'" + value.replace("\\", "\\\\").replace("'", "''") + "'"
    return f"'{value!r}'::DOUBLE"


@pytest.mark.slow
def test_sql_in_snowflake_equals_numpy(cursor):
    rows = slice(0, N_SPECIAL // 10)  # each special score once
    for example in small_examples():
        parts = [f"{sql} AS p{k}" for k, sql in enumerate(example.sql("snowflake"))]
        found = in_snowflake(cursor, example.frame()[rows], parts)
        expected = example.expected[rows]
        np.testing.assert_allclose(
            found.reshape(expected.shape), expected, rtol=0, atol=1e-9, err_msg=example.name
        )
