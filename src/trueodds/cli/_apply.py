"""``trueodds apply``: a calibrated column for every row of a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Annotated, Any, Literal

from trueodds.basics.shown import shown
from trueodds.cli import _options as o
from trueodds.cli._columns import ColumnNames
from trueodds.cli._engine import arrow_batches
from trueodds.cli._exit import UsageError, require
from trueodds.cli._files import Format
from trueodds.cli._maps import MapFile, load_map
from trueodds.cli._prepare import GOOD, examine, in_words
from trueodds.cli._row_options import RowOptions
from trueodds.cli._show import emit_json, note, working
from trueodds.cli._sql import quoted
from trueodds.cli._write import (
    STANDARD_OUTPUT,
    atomic_stream,
    check_target,
    output_format,
    table_writer,
)
from trueodds.exceptions import InputError

__all__ = ["apply"]

SCRATCH = "trueodds score "
MAP_FINGERPRINT = "trueodds:map_fingerprint"
"""The key, in the metadata of what is written, of the map that was applied."""

Output = Annotated[
    str,
    o.result_option(
        "--output",
        "-o",
        metavar="FILE",
        help="CSV, Parquet, Arrow or JSON lines by its name; '-' for standard output.",
    ),
]
OutputFormat = Annotated[
    Format | None,
    o.result_option("--output-format", help="Format of the output; by default, its name tells."),
]
Into = Annotated[
    str,
    o.result_option(
        "--into",
        metavar="COLUMN",
        help="Name of the new column; for several classes, what their names begin with.",
    ),
]
OnBadScores = Annotated[
    Literal["error", "skip", "blank"],
    o.rows_option(
        "--on-bad-rows",
        help="Refuse the input if a score is bad, leave such rows out, or keep them in their place "
        "with an empty result.",
    ),
]
Interval = Annotated[
    float | None,
    o.result_option(
        "--interval",
        metavar="LEVEL",
        help="Add intervals of the truth, COLUMN_low and COLUMN_high. The map must have been "
        "fitted with the same --interval.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class UnlabelledRowOptions(RowOptions):
    """Rows that may be left blank."""

    on_bad_rows: OnBadScores = "error"  # type: ignore[assignment]


def apply(
    map_file: MapFile,
    data: UnlabelledRowOptions,
    output: Output,
    into: Into = "probability",
    interval: Interval = None,
    output_format_name: OutputFormat = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Apply a map to every row of a file; write all columns and the calibrated probability.

    Rows stream through in their order, so the file may be much larger than memory. The output
    appears under its name when it is complete; a run that fails or is interrupted leaves nothing.
    Parquet and Arrow files say in their metadata which map was applied.

    Examples
    --------
    trueodds apply map.json scores.csv --score p -o calibrated.parquet
    trueodds apply map.json scores.csv --score p --interval 0.9 -o calibrated.parquet
    trueodds apply map.json 'scores/*.parquet' --score p --into p_calibrated -o all.parquet
    cat scores.csv | trueodds apply map.json - --format csv --score p -o - --output-format csv
    """
    if as_json and output == STANDARD_OUTPUT:
        raise UsageError("--json prints a summary, so the rows need a file: pass -o FILE.")
    blank = data.on_bad_rows == "blank"
    kind = output_format(output, output_format_name)
    check_target(output, force=force)
    fitted = load_map(map_file)
    _check_interval(fitted, interval, map_file)
    features = _features_of(fitted)
    columns = ColumnNames(
        tuple(data.score),
        features=features,
        input=fitted.input,
        sums_to_one=fitted.family != "one_vs_rest",
        scale=data.scale,
    )
    with data.open(columns, detect_types=kind != "csv" or bool(features)) as source:
        columns = columns.found_in(source)
        names = _new_columns(fitted, into, len(columns.score))
        if interval is not None:
            names = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
        with working("checking rows", source.connection):
            good, tally = examine(source, columns, data.on_bad_rows)
        present = source.kinds
        for name in names:
            if name.casefold() in {other.casefold() for other in present}:
                raise InputError(
                    f"{source.name} already has a column {shown(name)}; "
                    "name the new one with --into."
                )
        scores = [
            f"{columns.number(source, name)} AS {quoted(f'{SCRATCH}{number}')}"
            for number, name in enumerate(columns.score)
        ]
        own = ", ".join(map(quoted, present))
        good_row = quoted(GOOD) if blank else "true"
        relation = good.project(", ".join([own, *scores, f"{good_row} AS {quoted(GOOD)}"]))
        # Only CSV can hold nameless columns; elsewhere they keep the names that they were given.
        header = source.header if kind == "csv" else tuple(present)
        predict = _predictor(fitted, features, interval is not None)
        batches = _calibrated(relation, len(columns.score), (*header, *names), predict)
        written = tally.rows if blank else tally.used
        # The batches occupy one connection; the writer may need another.
        metadata = {MAP_FINGERPRINT: fitted.fingerprint}
        _stream(batches, output, kind, written, source.connection.cursor(), metadata)
    skipped = tally.skipped
    if as_json:
        content = {"map": map_file, "file": data.file, **tally.to_dict(), "output": output}
        emit_json("apply", {**content, "columns": names, "fingerprint": fitted.fingerprint})
    elif output != STANDARD_OUTPUT or skipped:
        left = f" (left {'blank' if blank else 'out'}: {in_words(skipped)})" if skipped else ""
        note(f"{output}: {written:,} rows with {', '.join(names)}{left}.")


def _check_interval(fitted: Any, interval: float | None, name: str) -> None:
    if interval is None:
        return
    if fitted.band is None:
        raise UsageError(
            f"{name} carries no intervals: fit it with --interval {interval:g}, or leave out "
            "--interval."
        )
    if fitted.band.level != interval:
        raise UsageError(
            f"the intervals of {name} have the level {fitted.band.level:g}, not {interval:g}."
        )


def _features_of(fitted: Any) -> tuple[str, ...]:
    """Columns that a tree asks for."""
    if not hasattr(fitted, "categories"):
        return ()
    if fitted.names is None:
        raise InputError("the map's attributes have no names, so they cannot be found in a file.")
    return tuple(fitted.names)


def _new_columns(fitted: Any, into: str, n_scores: int) -> list[str]:
    n_classes = fitted.n_classes or max(2, n_scores)
    if n_classes == 2 and n_scores <= 2:
        return [into]
    if n_scores != n_classes:
        raise UsageError(
            f"the map is for {n_classes} classes; pass one --score for each (got {n_scores})."
        )
    classes = fitted.classes or range(n_classes)
    return [f"{into}_{label}" for label in classes]


def _predictor(
    fitted: Any, features: tuple[str, ...], with_interval: bool
) -> Callable[[Any, Any], list[Any]]:
    """From scores and a batch to the new columns."""

    def predict(scores: Any, batch: Any) -> list[Any]:
        extra = {}
        if features:
            pa = require("pyarrow")
            extra = {"features": pa.Table.from_batches([batch]).select(list(features))}
        columns = _columns(fitted(scores, **extra))
        if not with_interval:
            return columns
        ends = (_columns(end) for end in fitted.interval(scores, **extra))
        return [column for three in zip(columns, *ends, strict=True) for column in three]

    return predict


def _columns(values: Any) -> list[Any]:
    """One column for each class; with two classes that of the positive one."""
    if values.ndim == 1:
        return [values]
    return [values[:, 1]] if values.shape[1] == 2 else list(values.T)


def _stream(
    batches: Iterator[Any],
    output: str,
    kind: Format,
    n_rows: int,
    connection: Any,
    metadata: dict[str, str],
) -> None:
    from trueodds.basics.progress import Progress

    first = next(batches)
    with (
        atomic_stream(output) as stream,
        table_writer(stream, kind, first.schema, connection, metadata) as writer,
        Progress(n_rows, "applying the map", None) as bar,
    ):
        for batch in chain([first], batches):
            writer.write_batch(batch)
            bar.step(batch.num_rows)


def _calibrated(
    relation: Any, n_scores: int, names: Sequence[str], predict: Callable[[Any, Any], list[Any]]
) -> Iterator[Any]:
    """Batches of the file's own columns and the new ones, under the names given."""
    import numpy as np

    n_new = len(names) - len(relation.columns) + n_scores + 1
    pa, pc = require("pyarrow"), require("pyarrow.compute")
    for batch in arrow_batches(relation):
        width = batch.num_columns - n_scores - 1
        good = batch.column(batch.num_columns - 1)
        usable = batch if good.true_count == batch.num_rows else batch.filter(good)
        columns = [usable.column(width + number).to_numpy() for number in range(n_scores)]
        scores = columns[0] if n_scores == 1 else np.stack(columns, axis=1)
        new = [pa.nulls(batch.num_rows, pa.float64())] * n_new
        if usable.num_rows:
            new = [pa.array(np.ascontiguousarray(values)) for values in predict(scores, usable)]
        if 0 < usable.num_rows < batch.num_rows:
            position = pa.array(np.cumsum(good.to_numpy(zero_copy_only=False)) - 1)
            new = [values.take(pc.if_else(good, position, None)) for values in new]
        yield pa.RecordBatch.from_arrays(
            [
                *(batch.column(number) for number in range(width)),
                *new,
            ],
            names=list(names),
        )
