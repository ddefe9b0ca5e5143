"""Maps applied where the data is.

:func:`apply_map` adds a column of calibrated probabilities to a frame of pandas, polars, PyArrow,
DuckDB, PySpark, Dask or Ibis, on its own engine and lazily where the frame is lazy.
"""

from trueodds.engines.applying._apply import apply_map

__all__ = ["apply_map"]
