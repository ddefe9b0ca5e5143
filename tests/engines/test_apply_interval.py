"""The ends of intervals as columns, on several engines."""

import numpy as np
import pandas as pd
import pytest

from trueodds import BetaCalibrator, TemperatureCalibrator
from trueodds.engines import apply_map
from trueodds.exceptions import InputError
from trueodds.maps import StepMap


def banded_map():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    return BetaCalibrator().fit(p, rng.random(300) < p).to_map(interval=0.9)


@pytest.mark.parametrize("engine", ["pandas", "polars", "lazy polars", "duckdb", "ibis"])
def test_every_engine_adds_the_same_two_columns(engine):
    import duckdb
    import ibis
    import polars as pl

    banded = banded_map()
    rows = pd.DataFrame({"p": [0.0, 0.25, 0.5, 1.0]})
    connection = ibis.duckdb.connect()
    connection.raw_sql("CREATE TABLE t AS SELECT unnest([0, 0.25, 0.5, 1]::DOUBLE[]) AS p")
    made = {
        "pandas": lambda: rows,
        "polars": lambda: pl.from_pandas(rows),
        "lazy polars": lambda: pl.from_pandas(rows).lazy(),
        "duckdb": lambda: duckdb.from_df(rows),
        "ibis": lambda: connection.table("t"),
    }[engine]()
    found = apply_map(banded, made, score="p", output_column="q", interval=True)
    if engine == "lazy polars":
        found = found.collect()
    found = {"duckdb": lambda: found.df(), "ibis": lambda: found.to_pandas()}.get(
        engine, lambda: found
    )()
    assert list(found.columns) == ["p", "q", "q_low", "q_high"]
    low, high = banded.interval(rows["p"])
    np.testing.assert_allclose(found["q_low"].to_numpy(), low, atol=1e-12)
    np.testing.assert_allclose(found["q_high"].to_numpy(), high, atol=1e-12)


def test_several_classes_have_two_ends_each():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], 200)
    y = (p.cumsum(axis=1) > rng.random((200, 1))).argmax(axis=1)
    banded = TemperatureCalibrator().fit(p, y).to_map(interval=0.9)
    rows = pd.DataFrame(p[:5], columns=["a", "b", "c"])
    found = apply_map(banded, rows, score=["a", "b", "c"], interval=True)
    low, high = banded.interval(p[:5])
    np.testing.assert_allclose(found[[f"probability_{k}_low" for k in range(3)]], low)
    np.testing.assert_allclose(found[[f"probability_{k}_high" for k in range(3)]], high)


def test_a_map_without_a_band_is_refused():
    plain = StepMap(edges=[0.5], values=[0.2, 0.7])
    with pytest.raises(InputError, match="carries no band"):
        apply_map(plain, pd.DataFrame({"p": [0.5]}), score="p", interval=True)
