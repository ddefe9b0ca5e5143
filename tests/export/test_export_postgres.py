"""SQL for PostgreSQL, on a server."""

import io
import subprocess

import numpy as np
import pytest
from hostile_scores import Case

from support.map_examples import N_SPECIAL, examples
from trueodds.maps import PiecewiseLinearMap, StepMap

pytestmark = pytest.mark.slow  # it starts a server


def in_postgres(server, rows, parts) -> np.ndarray:
    """The values of some expressions on the rows of a frame."""
    kinds = ["TEXT" if rows[name].dtype == object else "FLOAT8" for name in rows.columns]
    declared = ", ".join(f'"{n}" {kind}' for n, kind in zip(rows.columns, kinds, strict=True))
    lines = [
        "\t".join([str(number), *map(as_copied, row)])
        for number, row in enumerate(rows.itertuples(index=False))
    ]
    selected = ", ".join(parts)
    script = "\n".join(
        [
            f"CREATE TEMP TABLE t (row_number INTEGER, {declared});",
            "COPY t FROM STDIN;",
            *lines,
            "\\.",
            f"CREATE TEMP TABLE o AS SELECT row_number, {selected} FROM t;",  # noqa: S608
            "COPY (SELECT * FROM o ORDER BY row_number) TO STDOUT WITH (NULL 'nan');",
        ]
    )
    command = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1", "-d", server, "-f", "-"]
    ran = subprocess.run(command, input=script, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    return np.loadtxt(io.StringIO(ran.stdout), delimiter="\t", ndmin=2)[:, 1:]


def as_copied(value) -> str:
    if value is None:
        return "\\N"
    return value.replace("\\", "\\\\") if isinstance(value, str) else repr(float(value))


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_sql_in_postgres_equals_numpy(postgres, example):
    parts = [f"{sql} AS p{k}" for k, sql in enumerate(example.sql("postgres"))]
    found = in_postgres(postgres, example.frame()[:N_SPECIAL], parts)
    expected = example.expected[:N_SPECIAL]
    np.testing.assert_allclose(found.reshape(expected.shape), expected, rtol=0, atol=1e-9)


@pytest.mark.parametrize("example", examples(), ids=lambda example: example.name)
def test_no_hostile_score_stops_a_query_in_postgres(postgres, example):
    case = Case(example)
    parts = [f"{sql} AS p{k}" for k, sql in enumerate(case.sql("postgres"))]
    case.check(in_postgres(postgres, case.frame(), parts))


@pytest.mark.parametrize("family", ["step", "piecewise_linear"])
def test_ten_thousand_knots_give_exactly_what_numpy_gives(postgres, family):
    import pandas as pd

    x = np.linspace(0, 1, 10_001)
    fitted = (
        StepMap(edges=x[1:-1], values=x[:-1] ** 2)
        if family == "step"
        else PiecewiseLinearMap(x=x, y=x**2)
    )
    scores = np.concatenate([x, np.nextafter(x, 0.0), np.nextafter(x, 1.0)])
    found = in_postgres(
        postgres, pd.DataFrame({"score": scores}), [fitted.to_sql(dialect="postgres")]
    )
    np.testing.assert_array_equal(found[:, 0], fitted(scores))
