"""One frame on every engine: the fixtures `engine`, `make_frame` and `collect`.

A test that takes `engine` runs once for each engine. `make_frame(engine, pandas_frame)` puts the
rows there, and `collect(frame)` brings a frame of any engine back as a pandas frame. The order of
the rows is not promised: keep a column to sort by.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

ENGINES = ("pandas", "polars", "polars-lazy", "pyarrow", "duckdb", "ibis", "dask", "spark")

# What these libraries warn of among themselves is not about us.
_FOREIGN_WARNINGS = (
    "ignore::ResourceWarning",
    "ignore::DeprecationWarning:(pyspark|dask|distributed|ibis|tornado|py4j).*",
    "ignore::FutureWarning:(pyspark|dask|distributed|ibis).*",
    "ignore::pytest.PytestUnraisableExceptionWarning",
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            for warning in _FOREIGN_WARNINGS:
                item.add_marker(pytest.mark.filterwarnings(warning))


@pytest.fixture(scope="package")
def dask_client() -> Iterator[Any]:
    """A local Dask cluster of two threads, without the profiler that looks at them all the time."""
    import dask
    from distributed import Client, LocalCluster

    with (
        dask.config.set({"distributed.worker.profile.enabled": False}),
        LocalCluster(
            n_workers=1,
            threads_per_worker=2,
            processes=False,
            dashboard_address=":0",
            memory_limit=0,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Iterator[str]:
    """The name of an engine whose session, if it needs one, is running."""
    name = str(request.param)
    if name == "spark":
        request.getfixturevalue("spark")
    if name != "dask":
        yield name
        return
    import dask

    # A cluster takes longer than these queries; if one is there already, it is not asked.
    with dask.config.set({"scheduler": "synchronous", "dataframe.shuffle.method": "tasks"}):
        yield name


@pytest.fixture
def make_frame(request: pytest.FixtureRequest) -> Callable[[str, pd.DataFrame], Any]:
    """Put the rows of a pandas frame on an engine."""

    def make(engine: str, rows: pd.DataFrame) -> Any:
        if engine == "pandas":
            return rows
        if engine in ("polars", "polars-lazy"):
            import polars as pl

            frame = pl.from_pandas(rows, nan_to_null=False)
            return frame.lazy() if engine == "polars-lazy" else frame
        if engine == "spark":
            return request.getfixturevalue("spark").createDataFrame(rows)
        if engine == "dask":
            import dask.dataframe as dd

            return dd.from_pandas(rows, npartitions=min(3, max(1, len(rows))))
        import pyarrow as pa

        # NaN stays NaN, so that it can be told from null.
        table = pa.Table.from_arrays(
            [
                pa.array(column.to_numpy() if column.dtype.kind in "fiub" else column)
                for _, column in rows.items()
            ],
            names=[str(name) for name in rows.columns],
        )
        if engine == "pyarrow":
            return table
        if engine == "duckdb":
            import duckdb

            return duckdb.connect().from_arrow(table)
        if engine == "ibis":
            import duckdb
            import ibis

            connection = duckdb.connect()
            connection.from_arrow(table).create("rows")
            return ibis.duckdb.from_connection(connection).table("rows")
        raise ValueError(engine)

    return make


@pytest.fixture
def collect() -> Callable[[Any], pd.DataFrame]:
    """Bring a frame of any engine back as a pandas frame with a fresh index."""

    def bring(frame: Any) -> pd.DataFrame:
        library = type(frame).__module__.partition(".")[0]
        if library == "pandas":
            rows = frame
        elif library == "polars":
            rows = frame.lazy().collect().to_pandas()
        elif library == "dask":
            rows = frame.compute()
        elif library == "pyspark":
            rows = frame.toPandas()
        elif library in ("duckdb", "_duckdb"):
            rows = frame.df()
        else:  # PyArrow and Ibis
            rows = frame.to_pandas()
        return rows.reset_index(drop=True)

    return bring
