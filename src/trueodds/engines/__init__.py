"""Frames of any library, on their own engine: rows grouped for calibrators, maps applied.

One code path (narwhals) serves pandas, polars, PyArrow, DuckDB, Spark, Dask and Ibis. Only grouped
rows, a few numbers, or the columns asked for ever leave the engine. ``frames``, ``checks``,
``cells``, ``group`` and ``sample`` stand below tables; ``apply`` and ``batches`` stand above maps.
"""

from trueodds.basics.imports import import_lazily

_HOMES = {"apply_map": ".apply"}
__getattr__, __dir__ = import_lazily(__name__, _HOMES)
