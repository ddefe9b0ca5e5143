"""Maps applied to frames: columns of probabilities on any engine."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import numpy as np

from trueodds.basics.shown import shown
from trueodds.engines.batches import duckdb_batches, ibis_batches, spark_batches
from trueodds.engines.frames import check_columns, open_frame
from trueodds.exceptions import InputError, SqlTooLargeError
from trueodds.inputs import Floats, as_names, category_texts
from trueodds.maps import CalibrationMap, feature_columns, formula_of, score_names, usable_rows
from trueodds.maps.features import series_values

__all__ = ["apply_map"]

IBIS_DIALECTS = {
    "bigquery": "bigquery",
    "duckdb": "duckdb",
    "postgres": "postgres",
    "pyspark": "spark",
    "databricks": "spark",
    "snowflake": "snowflake",
    "sqlite": "sqlite",
}


def apply_map(
    calibration_map: CalibrationMap,
    frame: Any,
    *,
    score: str | Sequence[str],
    output_column: str | Sequence[str] = "probability",
    features: Sequence[str] | Mapping[str, str] | None = None,
    interval: bool = False,
) -> Any:
    """Add calibrated probabilities to a frame, on its own engine.

    Parameters
    ----------
    calibration_map : CalibrationMap
    frame : frame of pandas, polars, PyArrow, DuckDB, PySpark, Dask or Ibis
        Input frame. A lazy frame stays lazy: nothing is computed or collected.
    score : str or list of str
        The column of the positive class's scores, or one column for each class.
    output_column : str or list of str, default="probability"
        Name of the new column. With several classes: the new names, or a prefix to which ``_`` and
        the class are appended (its position, if the map has no class names).
    features : list of str, or mapping, default=None
        For a tree: the columns of its features, in the order of the fit, or a mapping from the
        names of the fit to columns. None if they have the names of the fit.
    interval : bool, default=False
        Whether to add the bounds of the map's intervals as well. Their columns follow the
        probabilities and end in ``_low`` and ``_high``. The map needs a band
        (``calibrator.to_map(interval=0.9)``); trees are not supported.

    Returns
    -------
    frame
        A frame of the same kind, with the new columns last. They are missing (NULL, or NaN in
        pandas and Dask) where a score is missing, NaN, or outside the range of its scale, because
        a query cannot raise an error.

    Notes
    -----
    DuckDB, Spark and Ibis compute an SQL expression (:meth:`CalibrationMap.to_sql`); polars and
    Dask call NumPy on batches and partitions; pandas and PyArrow on all rows.

    A map that is too long for SQL, such as matrix scaling of 50 classes, is applied in batches,
    still lazily. DuckDB uses ``relation.map``, which needs pandas. Spark uses ``mapInArrow``,
    which needs PyArrow and trueodds on the workers. Ibis uses a function on Arrow arrays, on
    DuckDB only and not for trees with features.

    Examples
    --------
    >>> import pandas as pd
    >>> from trueodds.engines import apply_map
    >>> from trueodds.maps import StepMap
    >>> rows = pd.DataFrame({"p": [0.1, 0.6, None]})
    >>> steps = StepMap(edges=[0.5], values=[0.2, 0.7])
    >>> apply_map(steps, rows, score="p", output_column="calibrated")
         p  calibrated
    0  0.1         0.2
    1  0.6         0.7
    2  NaN         NaN
    """
    if not isinstance(calibration_map, CalibrationMap):
        raise InputError(
            f"apply_map needs a CalibrationMap, such as calibrator.map_; got "
            f"{type(calibration_map).__name__}."
        )
    plan = _plan(calibration_map, score, output_column, features)
    frame = _with_columns(plan, frame)
    if not interval:
        return frame
    for end, suffix in (
        (calibration_map.lower_map(), "_low"),
        (calibration_map.upper_map(), "_high"),
    ):
        new = [f"{name}{suffix}" for name in plan.output]
        frame = _with_columns(_plan(end, score, new[0] if len(new) == 1 else new, None), frame)
    return frame


def _with_columns(plan: _Plan, frame: Any) -> Any:
    import narwhals as nw

    opened = open_frame(frame)
    check_columns(opened, [*plan.scores, *plan.features.values()])
    _check_free(opened.collect_schema().names(), plan.output)
    kind = opened.implementation
    lazy = isinstance(opened, nw.LazyFrame)
    if kind.is_duckdb():
        return _on_duckdb(frame, plan)
    if kind.is_spark_like():
        return _on_spark(frame, plan)
    if kind.is_ibis():
        return _on_ibis(frame, plan)
    if kind.is_dask():
        return _on_dask(frame, plan)
    if kind.is_polars() and lazy:
        return _on_polars(frame, plan)
    columns = plan.compute({name: series_values(opened[name]) for name in plan.read})
    new = [
        nw.new_series(name, _with_nulls(values, kind), nw.Float64, backend=kind)
        for name, values in columns.items()
    ]
    if kind.is_pandas_like():  # the rows keep their labels
        return frame.assign(**columns)
    return opened.with_columns(*new).to_native()


@dataclass(frozen=True, eq=False)
class _Plan:
    """Which columns are read, by position of the feature for features, and written."""

    map: CalibrationMap
    scores: tuple[str, ...]
    output: tuple[str, ...]
    features: dict[int, str]
    one: bool

    @property
    def read(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys([*self.scores, *self.features.values()]))

    @property
    def categories(self) -> set[str]:
        """The columns of features that have categories."""
        known: Any = self.map
        return {name for k, name in self.features.items() if known.categories[k] is not None}

    def sql(self, dialect: Any) -> list[str]:
        """One expression for each new column."""
        columns: list[str] = []
        if self.features:
            columns = [""] * len(self.map.features)
            for index, name in self.features.items():
                columns[index] = name
        if self.one:
            return [self.map.to_sql(self.scores[0], dialect=dialect, features=columns or None)]
        return self.map.to_sql(self.scores, dialect=dialect, features=columns or None)

    def selections(self, dialect: Any) -> list[str]:
        from trueodds.export import quoted

        names = [quoted(name, dialect) for name in self.output]
        return [f"{sql} AS {name}" for sql, name in zip(self.sql(dialect), names, strict=True)]

    def select_list(self, dialect: Any) -> str:
        return ", ".join(self.selections(dialect))

    def compute(self, columns: Mapping[str, Any]) -> dict[str, Floats]:
        """The new columns from arrays of those that are read."""
        scores = np.stack([_numbers(columns[name], name) for name in self.scores], axis=1)
        texts = {name: category_texts(columns[name], name) for name in self.categories}
        features = {k: texts.get(name, columns[name]) for k, name in self.features.items()}
        values = _apply_to_rows(self.map, scores, features)
        return {name: values[:, k] for k, name in enumerate(self.output)}


def _plan(drawn: CalibrationMap, score: Any, output_column: Any, features: Any) -> _Plan:
    scores = score_names(score)
    one = isinstance(score, str)
    formula = formula_of(drawn, len(scores))
    places = feature_columns(drawn, formula, features)
    found = {f.index: name for f, name in zip(formula.features, places, strict=True)}
    return _Plan(
        drawn, scores, _new_names(drawn, output_column, len(formula.outputs), one), found, one
    )


def _new_names(drawn: CalibrationMap, given: Any, count: int, one: bool) -> tuple[str, ...]:
    if isinstance(given, str) and one:
        names: tuple[Any, ...] = (given,)
    elif isinstance(given, str):
        names = tuple(f"{given}_{label}" for label in drawn.classes or range(count))
    else:
        names = tuple(as_names(given, "output_column"))
    if len(names) != count or len(set(names)) != count or not all(_is_name(n) for n in names):
        wanted = "a name" if count == 1 else f"{count} distinct names or a prefix"
        raise InputError(f"output_column must be {wanted}; got {shown(given)}.")
    return names


def _is_name(name: Any) -> bool:
    return isinstance(name, str) and name != ""


def _check_free(present: Sequence[str], new: Sequence[str]) -> None:
    taken = {str(name).lower(): name for name in present}  # engines may ignore case
    for name in new:
        if name.lower() in taken:
            raise InputError(
                f"the frame already has a column {taken[name.lower()]!r}: choose another "
                "output_column, or drop it first."
            )


def _on_duckdb(frame: Any, plan: _Plan) -> Any:
    try:
        return frame.select(f"*, {plan.select_list('duckdb')}")
    except SqlTooLargeError:
        return duckdb_batches(
            frame, plan.compute, plan.scores, plan.features.values(), plan.categories, plan.output
        )


def _on_spark(frame: Any, plan: _Plan) -> Any:
    try:
        return frame.selectExpr("*", *plan.selections("spark"))
    except SqlTooLargeError:
        return spark_batches(frame, plan.compute, plan.read, plan.output)


def _on_ibis(frame: Any, plan: _Plan) -> Any:
    import ibis
    import ibis.expr.operations as ops

    backend = frame.get_backend().name
    if backend not in IBIS_DIALECTS:
        raise InputError(
            f"maps are written as SQL for {', '.join(sorted(IBIS_DIALECTS))}; this Ibis table "
            f"lives on {backend!r}."
        )
    dialect = IBIS_DIALECTS[backend]
    rows = ibis.util.gen_name("trueodds_rows")  # one name twice would be an error in a join
    schema = ibis.schema(dict(frame.schema().items()) | dict.fromkeys(plan.output, "float64"))
    # As Table.sql does, which would ask the engine for the schema that is known here.
    try:
        selected = plan.select_list(dialect)
    except SqlTooLargeError:
        if plan.features:
            raise
        return ibis_batches(frame, plan.compute, plan.scores, plan.output)
    query = f"SELECT *, {selected} FROM {rows}"  # noqa: S608  # names are quoted
    return ops.SQLStringView(parent=frame.alias(rows).op(), query=query, schema=schema).to_expr()


def _on_dask(frame: Any, plan: _Plan) -> Any:
    import narwhals as nw

    def extend(part: Any) -> Any:
        columns = nw.from_native(part, eager_only=True)
        return part.assign(**plan.compute({n: series_values(columns[n]) for n in plan.read}))

    meta = frame._meta.assign(**{name: np.empty(0) for name in plan.output})
    return frame.map_partitions(extend, meta=meta)


def _on_polars(frame: Any, plan: _Plan) -> Any:
    import narwhals as nw
    import polars as pl

    schema = pl.Struct(dict.fromkeys(plan.output, pl.Float64))

    def extend(batch: Any) -> Any:
        fields = {
            name: nw.from_native(batch.struct.field(name), series_only=True) for name in plan.read
        }
        columns = plan.compute({name: series_values(field) for name, field in fields.items()})
        new = pl.DataFrame(columns, schema=dict.fromkeys(plan.output, pl.Float64))
        return new.with_columns(pl.all().fill_nan(None)).to_struct(batch.name)

    added = pl.struct(plan.read).map_batches(extend, return_dtype=schema, is_elementwise=True)
    holder = "\0trueodds"
    return frame.with_columns(added.alias(holder)).unnest(holder)


def _numbers(values: Any, name: str) -> Floats:
    """A column as float64, NaN where it is missing."""
    array = np.asarray(values)
    if array.dtype.kind in "fiub":
        return array.astype(np.float64)
    items = array.tolist()
    # NaN does not equal itself, and what pandas' NA equals is NA.
    missing = [item is None or (item == item) is not True for item in items]
    for item, gone in zip(items, missing, strict=True):
        if not gone and not isinstance(item, (int, float, np.number, Decimal)):
            raise InputError(
                f"the column {name!r} must hold numbers; got {shown(item)}, of type "
                f"{type(item).__name__}."
            )
    numbers = [np.nan if gone else item for item, gone in zip(items, missing, strict=True)]
    return np.array([_as_float(number) for number in numbers], dtype=np.float64)


def _as_float(number: Any) -> float:
    try:
        return float(number)
    except OverflowError:  # an integer beyond float64
        return np.inf if number > 0 else -np.inf


def _with_nulls(values: Floats, kind: Any) -> Any:
    return values if kind.is_pandas_like() else [None if v != v else v for v in values.tolist()]


def _apply_to_rows(calibration_map: CalibrationMap, scores: Floats, features: Any) -> Floats:
    """Probabilities of shape (n, n_outputs) for scores (n, n_scores); NaN for unusable rows.

    ``features`` are columns by their position; those that no node of a tree needs are absent.
    """
    usable = usable_rows(calibration_map, scores)
    result = np.full(scores.shape, np.nan)
    if not usable.any():
        return result
    kept = scores[usable]
    arranged = kept.ravel() if scores.shape[1] == 1 else kept
    columns = None
    if calibration_map.features:
        columns = np.full((len(kept), len(calibration_map.features)), None, dtype=object)
        for position, values in features.items():
            columns[:, position] = np.asarray(values, dtype=object)[usable]
    result[usable] = calibration_map(arranged, columns).reshape(len(kept), -1)
    return result
