"""``trueodds apply``: add a calibrated column to a file."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Annotated, Any, Literal

from trueodds.basics.shown import shown
from trueodds.basics.wording import counted
from trueodds.cli import options as o
from trueodds.cli.errors import AdvisedError, UsageError, require
from trueodds.cli.files.csv import Dialect
from trueodds.cli.files.find import Format
from trueodds.cli.files.open import DataSource, arrow_batches, in_bytes
from trueodds.cli.files.sql import quoted
from trueodds.cli.files.write import (
    STANDARD_OUTPUT,
    atomic_stream,
    check_target,
    output_format,
    table_writer,
)
from trueodds.cli.files.xlsx import Sheet, add_columns
from trueodds.cli.output import emit_json, note, working
from trueodds.cli.rows.columns import ColumnNames, map_features
from trueodds.cli.rows.options import RowOptions
from trueodds.cli.rows.prepare import GOOD, examine, in_words
from trueodds.exceptions import InputError

__all__ = ["apply"]

COLUMN_BYTES = 5 * 2048 * 16
"""Bytes that DuckDB needs for a column: blocks of 2,048 values of 16 bytes in each query step."""
MOST_AT_ONCE, FEWEST_AT_ONCE = 100_000, 64
"""Rows of a batch."""
SCRATCH, FEATURE = "trueodds score ", "trueodds feature "
ROUNDING = 1e-12
"""Rounding error of a percentage."""
MAP_FINGERPRINT = "trueodds:map_fingerprint"
"""Metadata key, in Parquet and Arrow output, of the map that was applied."""

Output = Annotated[
    str,
    o.result_option(
        "--output",
        "-o",
        metavar="FILE",
        help="Output file: CSV, Parquet, Arrow, JSON lines or xlsx, inferred from the extension; "
        "'-' for standard output, in the input's format.",
    ),
]
Plain = Annotated[
    bool,
    o.result_option(
        "--plain",
        help="Write CSV with commas, decimal points, UTF-8, and probabilities from 0 to 1, "
        "regardless of the input's format.",
    ),
]
OutputFormat = Annotated[
    Format | None,
    o.result_option(
        "--output-format",
        help="Output format. Default: inferred from the file extension; for '-', the input's.",
    ),
]
OutputColumn = Annotated[
    str,
    o.result_option(
        "--output-column",
        metavar="COLUMN",
        help="Name of the new column; with several classes, the prefix of their names.",
    ),
]
OnBadScores = Annotated[
    Literal["error", "skip", "blank"],
    o.rows_option(
        "--on-bad-rows",
        help="Stop at bad scores, skip their rows, or keep these rows with an empty result.",
    ),
]
Interval = Annotated[
    float | None,
    o.share_option(
        "--interval",
        help="Also write confidence bounds, as COLUMN_low and COLUMN_high. The map must have been "
        "fitted with the same --interval.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class UnlabeledRowOptions(RowOptions):
    """Options for bad rows, which may also be left blank."""

    on_bad_rows: OnBadScores = "error"  # type: ignore[assignment]


def apply(
    map_file: o.MapFile,
    data: UnlabeledRowOptions,
    output: Output,
    output_column: OutputColumn = "probability",
    interval: Interval = None,
    output_format_name: OutputFormat = None,
    plain: Plain = False,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Add calibrated probabilities to every row of a file.

    The output has all columns and rows of the input, in order. The command streams, so the file
    may be much larger than memory. The output appears only when it is complete. The metadata of
    Parquet and Arrow files names the map.

    The output keeps the input's format: the separator, decimal mark and encoding of CSV, the other
    contents of a workbook, and percentages. --plain writes plain CSV instead.

    Examples
    --------
    trueodds apply map.json scores.csv --score p -o calibrated.parquet
    trueodds apply map.json scores.csv --score p --interval 0.9 -o calibrated.parquet
    trueodds apply map.json 'scores/*.parquet' --score p --output-column p_calibrated -o all.parquet
    trueodds apply map.json scores.xlsx --score p -o calibrated.xlsx
    cat scores.csv | trueodds apply map.json - --score p -o -
    """
    if as_json and output == STANDARD_OUTPUT:
        raise UsageError(
            "--json prints a summary to standard output; write the rows to a file with -o FILE."
        )
    same = output == STANDARD_OUTPUT and output_format_name is None
    kind = None if same else output_format(output, output_format_name)
    check_target(output, force=force)
    fitted = o.load_map(map_file, data.file)
    _check_interval(fitted, interval, map_file)
    features, categories = map_features(fitted)
    columns = ColumnNames(
        tuple(data.score),
        features=features,
        categories=categories,
        scale=fitted.scale,
        sums_to_one=fitted.rows_sum_to_one,
        unit=data.unit,
    )
    typed = kind not in ("csv", None) or bool(features)
    with data.open(columns, detect_types=typed, verbatim=kind or "same") as source:
        kind = kind or source.format
        columns = columns.found_in(source)
        rows_at_once = _rows_in_memory(source)
        names = _new_columns(fitted, output_column, len(columns.score))
        if interval is not None:
            names = [f"{name}{end}" for name in names for end in ("", "_low", "_high")]
        sheet = source.sheet if kind == "xlsx" else None
        # A workbook that is written back keeps all its rows.
        blank = data.on_bad_rows == "blank" or (sheet is not None and data.on_bad_rows == "skip")
        with working("checking rows", source.connection):
            good, tally = examine(source, columns, "blank" if blank else data.on_bad_rows)
        present = source.kinds
        for name in names:
            if name.casefold() in {other.casefold() for other in present}:
                raise InputError(
                    f"{source.name} already has a column {shown(name)}; choose another name with "
                    f"--output-column."
                )
        scores = [
            f"{columns.number(source, name)} AS {quoted(f'{SCRATCH}{number}')}"
            for number, name in enumerate(columns.score)
        ]
        # Only CSV can hold nameless columns; elsewhere they keep the names that they were given.
        header = source.header if kind == "csv" else tuple(present)
        texts = source.verbatim if kind == "csv" else {}
        own = [quoted(texts.get(name, name)) for name in present]
        if source.lines:
            header, own = source.lines, [quoted(name) for name in source.lines]
        read = [
            f"{quoted(source.categories.get(name, name))} AS {quoted(f'{FEATURE}{number}')}"
            for number, name in enumerate(features)
        ]
        good_row = quoted(GOOD) if blank else "true"
        relation = good.project(", ".join([*own, *read, *scores, f"{good_row} AS {quoted(GOOD)}"]))
        predict = _predictor(fitted, features, interval is not None)
        percent = columns.unit == "percent" and not plain
        as_text = percent and (kind == "csv" or sheet is not None)
        decimal = _decimal(source, kind, plain)
        percentage = _percentage(source, columns, decimal) if as_text else None
        new = _New(names, predict, 100.0 if percent else 1.0, percentage)
        rows = arrow_batches(relation, rows_at_once)
        batches = _calibrated(rows, len(columns.score), header, new)
        written = tally.rows if blank else tally.used
        if sheet is not None:
            place = sheet.first_column + list(present).index(columns.score[0])
            _into_sheet(batches, output, sheet, place, names, written)
        else:
            # The batches occupy one connection; the writer may need another.
            _stream(
                batches,
                written,
                output=output,
                kind=kind,
                connection=source.connection.cursor(),
                metadata={MAP_FINGERPRINT: fitted.fingerprint},
                dialect=Dialect() if plain or source.dialect is None else source.dialect,
                title=Path(data.file).stem,
            )
    skipped = tally.skipped
    if as_json:
        content = {"map": map_file, "file": data.file, **tally.to_dict(), "output": output}
        emit_json("apply", {**content, "columns": names, "fingerprint": fitted.fingerprint})
    elif output != STANDARD_OUTPUT or skipped:
        left = f" (left {'blank' if blank else 'out'}: {in_words(skipped)})" if skipped else ""
        added = "new column" if len(names) == 1 else "new columns"
        note(f"{output}: {counted(written, 'row')}; {added}: {', '.join(names)}{left}.")


def _rows_in_memory(source: DataSource) -> int:
    """Return the number of rows of a batch; raise if columns or texts do not fit into memory.

    A small Parquet file can hold long texts in every row, each stored once.
    """
    memory, needed = in_bytes(source.reading.memory), len(source.kinds) * COLUMN_BYTES
    if needed > memory:
        raise AdvisedError(
            f"{source.name} has {len(source.kinds):,} columns; DuckDB needs about "
            f"{needed / 1e9:.1f} GB for them, more than --memory {source.reading.memory}. Remove "
            "columns, or allow more memory.",
            ["--memory", f"{math.ceil(needed / 1e9)}GB"],
        )
    texts = [name for name, kind in source.kinds.items() if kind == "VARCHAR"]
    if source.files.format != "parquet" or not texts:
        return MOST_AT_ONCE
    lengths = ", ".join(f"max(strlen({quoted(name)}))" for name in texts)
    width = max(1, sum(filter(None, source.relation.aggregate(lengths).fetchall()[0])))
    if FEWEST_AT_ONCE * width > memory // 8:
        needed = 8 * FEWEST_AT_ONCE * width
        raise AdvisedError(
            f"{source.name} has texts of up to {width:,} bytes in a row; they need about "
            f"{needed / 1e9:.1f} GB, more than --memory {source.reading.memory}. Remove such "
            "columns, or allow more memory.",
            ["--memory", f"{math.ceil(needed / 1e9)}GB"],
        )
    return min(MOST_AT_ONCE, memory // 8 // int(width))


def _check_interval(fitted: Any, interval: float | None, name: str) -> None:
    if interval is None:
        return
    if fitted.band is None:
        raise UsageError(
            f"{name} has no intervals; fit it with --interval {interval:g}, or omit --interval."
        )
    if fitted.band.level != interval:
        raise UsageError(
            f"the intervals of {name} have confidence level {fitted.band.level:g}; pass "
            f"--interval {fitted.band.level:g}."
        )


def _new_columns(fitted: Any, name: str, n_scores: int) -> list[str]:
    n_classes = fitted.n_classes or max(2, n_scores)
    if n_classes == 2 and n_scores <= 2:
        return [name]
    if n_scores != n_classes:
        raise UsageError(
            f"the map has {n_classes} classes; pass one --score for each (got {n_scores})."
        )
    classes = fitted.classes or range(n_classes)
    return [f"{name}_{label}" for label in classes]


def _predictor(
    fitted: Any, features: tuple[str, ...], with_interval: bool
) -> Callable[[Any, Any], list[Any]]:
    """Compute the new columns from the scores of a batch."""

    def predict(scores: Any, batch: Any) -> list[Any]:
        extra = {}
        if features:
            pa = require("pyarrow")
            table = pa.Table.from_batches([batch])
            values = [table[f"{FEATURE}{number}"] for number in range(len(features))]
            extra = {"features": pa.table(values, names=list(features))}
        columns = _columns(fitted(scores, **extra))
        if not with_interval:
            return columns
        ends = (_columns(end) for end in fitted.interval(scores, **extra))
        return [column for three in zip(columns, *ends, strict=True) for column in three]

    return predict


def _columns(values: Any) -> list[Any]:
    """Return one column per class; with two classes, that of the positive class."""
    if values.ndim == 1:
        return [values]
    return [values[:, 1]] if values.shape[1] == 2 else list(values.T)


@dataclass(frozen=True)
class _Percentage:
    """A percentage as the score column has it: ``95,1 %``."""

    sign: str
    """Text after each number: `` %`` or ``%``."""
    decimal: str
    places: int
    """Digits after the decimal mark."""

    def text(self, value: float) -> str:
        """Return ``value`` as a text, with more digits if it would become 0 or 100."""
        places, rest = self.places, min(value, 100.0 - value)
        if rest > ROUNDING and float(f"{value:.{places}f}") in (0.0, 100.0):
            places = 1 + math.ceil(-math.log10(rest))
        return f"{value:.{places}f}".replace(".", self.decimal) + self.sign


def _percentage(source: DataSource, columns: ColumnNames, decimal: str) -> _Percentage | None:
    """Return how the score column writes percentages; None if no score has a percent sign."""
    name = columns.score[0]
    if source.kinds[name] != "VARCHAR":
        return None
    parts = f"regexp_extract({quoted(name)}, '(?:[.,](\\d+))?(\\s?%)$', ['digits', 'sign'])"
    found = source.relation.project(f"{parts} AS part").filter("part.sign <> ''")
    sign, places = found.aggregate("min(part.sign), max(len(part.digits))").fetchall()[0]
    return None if sign is None else _Percentage(str(sign), decimal, int(places))


def _decimal(source: DataSource, kind: Format, plain: bool) -> str:
    if kind == "xlsx":
        return source.reading.decimal
    return "." if plain or kind != "csv" or source.dialect is None else source.dialect.decimal


def _into_sheet(
    batches: Iterator[Any],
    output: str,
    sheet: Sheet,
    score_column: int,
    names: Sequence[str],
    n_rows: int,
) -> None:
    """Write the input workbook with the new columns next to its rows."""
    from trueodds.basics.progress import Progress

    with atomic_stream(output) as stream, Progress(n_rows, "applying the map", None) as bar:

        def values() -> Iterator[tuple[float | str | None, ...]]:
            for batch in batches:
                new = batch.columns[-len(names) :]
                yield from zip(*(column.to_pylist() for column in new), strict=True)
                bar.step(batch.num_rows)

        add_columns(stream, sheet, score_column, names, values())


def _stream(batches: Iterator[Any], n_rows: int, **target: Any) -> None:
    from trueodds.basics.progress import Progress

    first = next(batches)
    with (
        table_writer(schema=first.schema, **target) as writer,
        Progress(n_rows, "applying the map", None) as bar,
    ):
        for batch in chain([first], batches):
            writer.write_batch(batch)
            bar.step(batch.num_rows)


@dataclass(frozen=True)
class _New:
    """The new columns and their format."""

    names: Sequence[str]
    predict: Callable[[Any, Any], list[Any]]
    scale: float
    percentage: _Percentage | None
    """None for numbers; otherwise they are written as texts."""

    def columns(self, scores: Any, batch: Any) -> list[Any]:
        """Arrow arrays for a batch of good rows."""
        import numpy as np

        pa = require("pyarrow")
        made = [pa.array(np.ascontiguousarray(v) * self.scale) for v in self.predict(scores, batch)]
        if self.percentage is None:
            return made
        text = self.percentage.text
        return [pa.array([text(v) for v in column.to_pylist()], pa.string()) for column in made]


def _calibrated(
    batches: Iterator[Any], n_scores: int, header: Sequence[str], new: _New
) -> Iterator[Any]:
    """Yield batches with the file's columns and the new ones, under the given names."""
    import numpy as np

    pa, pc = require("pyarrow"), require("pyarrow.compute")
    for batch in batches:
        width = batch.num_columns - n_scores - 1
        good = batch.column(batch.num_columns - 1)
        usable = batch if good.true_count == batch.num_rows else batch.filter(good)
        columns = [usable.column(width + number).to_numpy() for number in range(n_scores)]
        scores = columns[0] if n_scores == 1 else np.stack(columns, axis=1)
        made = [pa.nulls(batch.num_rows, pa.string() if new.percentage else pa.float64())]
        made *= len(new.names)
        if usable.num_rows:
            made = new.columns(scores, usable)
        if 0 < usable.num_rows < batch.num_rows:
            position = pa.array(np.cumsum(good.to_numpy(zero_copy_only=False)) - 1)
            made = [values.take(pc.if_else(good, position, None)) for values in made]
        own = [batch.column(number) for number in range(len(header))]
        yield pa.RecordBatch.from_arrays([*own, *made], names=[*header, *new.names])
