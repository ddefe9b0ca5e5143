"""Frames of any library, processed on their own engine: rows are grouped, maps applied.

One code path (narwhals) serves pandas, polars, PyArrow, DuckDB, Spark, Dask and Ibis. Only grouped
rows, a few numbers, or requested columns leave the engine. ``apply`` and ``batches`` are layers
above maps; the other modules are below tables.
"""

from trueodds.basics.imports import import_lazily

_HOMES = {"apply_map": ".apply"}
__getattr__, __dir__ = import_lazily(__name__, _HOMES)
