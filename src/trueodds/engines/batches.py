"""Maps that are too long for SQL: NumPy on batches of rows.

``compute`` takes arrays of the columns that are read, by name, and gives the new columns.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export import quoted
from trueodds.inputs import Floats
from trueodds.maps.features import series_values

__all__ = ["duckdb_batches", "ibis_batches", "spark_batches"]

_quoted = partial(quoted, dialect="duckdb")
Compute = Callable[[Mapping[str, Any]], dict[str, Floats]]


def duckdb_batches(
    frame: Any,
    compute: Compute,
    scores: Sequence[str],
    features: Collection[str],
    categories: Collection[str],
    into: Sequence[str],
) -> Any:
    """A relation with new columns, computed by ``map``, which hands over pandas frames.

    pandas would turn integers with NULL into floats, and has no decimals. So the columns are passed
    as texts and cast back. "=" goes before each text, so that a batch that is NULL throughout is a
    batch of texts, too.
    """
    kept = [
        f"coalesce('=' || CAST({_quoted(name)} AS VARCHAR), '') AS c{k}"
        for k, name in enumerate(frame.columns)
    ]
    read = [f"CAST({_quoted(name)} AS DOUBLE) AS s{k}" for k, name in enumerate(scores)]
    for k, name in enumerate(features):
        value = f"CAST({_quoted(name)} AS VARCHAR)" if name in categories else _quoted(name)
        read.append(f"{value} AS f{k}")
    count = len(frame.columns)

    def extend(batch: Any) -> Any:
        columns = {name: batch[f"s{k}"].to_numpy(np.float64) for k, name in enumerate(scores)}
        columns |= {name: batch[f"f{k}"].to_numpy(object) for k, name in enumerate(features)}
        new = compute(columns).values()
        result = batch[[f"c{k}" for k in range(count)]]
        return result.assign(**{f"p{k}": values for k, values in enumerate(new)})

    types = dict.fromkeys([f"c{k}" for k in range(count)], "VARCHAR")
    types |= dict.fromkeys([f"p{k}" for k in range(len(into))], "DOUBLE")
    extended = frame.select(", ".join([*kept, *read])).map(extend, schema=types)
    back = [
        f"CASE WHEN c{k} <> '' THEN CAST(substr(c{k}, 2) AS {kind}) END AS {_quoted(name)}"
        for k, (name, kind) in enumerate(zip(frame.columns, frame.types, strict=True))
    ]
    back += [
        f"CASE WHEN isnan(p{k}) THEN NULL ELSE p{k} END AS {_quoted(name)}"
        for k, name in enumerate(into)
    ]
    return extended.select(", ".join(back))


def spark_batches(frame: Any, compute: Compute, read: Sequence[str], into: Sequence[str]) -> Any:
    """A frame with new columns, computed by Python workers on Arrow batches."""
    import narwhals as nw
    from pyspark.sql.types import DoubleType, StructField, StructType

    fields = [StructField(name, DoubleType()) for name in into]

    def extend(batches: Iterator[Any]) -> Iterator[Any]:
        import pyarrow as pa

        for batch in batches:
            table = pa.Table.from_batches([batch])
            opened = nw.from_native(table, eager_only=True)
            columns = {name: series_values(opened[name]) for name in read}
            for name, values in compute(columns).items():
                table = table.append_column(name, pa.array(values, mask=np.isnan(values)))
            yield from table.combine_chunks().to_batches()

    return frame.mapInArrow(extend, StructType([*frame.schema.fields, *fields]))


def ibis_batches(frame: Any, compute: Compute, scores: Sequence[str], into: Sequence[str]) -> Any:
    """A table with new columns, computed by a function on Arrow arrays; in DuckDB only."""
    import ibis

    if frame.get_backend().name != "duckdb":
        raise InputError(
            f"this map is too long for SQL, and on {frame.get_backend().name!r} Ibis has no "
            "function on batches: bring the rows with table.to_pyarrow() and apply the map there."
        )

    def calibrate(rows: Any) -> Any:
        import pyarrow as pa

        matrix = np.array(rows.to_pylist(), dtype=np.float64).reshape(len(rows), len(scores))
        new = np.stack(list(compute(dict(zip(scores, matrix.T, strict=True))).values()), axis=1)
        flat = pa.array(new.ravel(), mask=np.isnan(new.ravel()))
        ends = pa.array(np.arange(len(new) + 1) * len(into), pa.int32())
        return pa.ListArray.from_arrays(ends, flat)

    numbers = "array<float64>"
    function = ibis.udf.scalar.pyarrow(calibrate, signature=((numbers,), numbers))
    holder = "trueodds_new"
    packed = ibis.array([frame[name].cast("float64") for name in scores])
    extended = frame.mutate(**{holder: function(packed)})
    new = {name: extended[holder][k] for k, name in enumerate(into)}
    return extended.mutate(**new).drop(holder)
