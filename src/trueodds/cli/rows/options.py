"""Options of a command for its rows, and how it opens, checks and reads them by these options."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from trueodds.cli.files.encoding import UTF_8
from trueodds.cli.files.find import Format
from trueodds.cli.files.open import MEMORY, DataSource, Reading, in_bytes, open_source
from trueodds.cli.options import data_option, rows_option, unusual_option
from trueodds.cli.output import note, working
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.prepare import Prepared, prepare

if TYPE_CHECKING:
    from trueodds.cli.rows.read import FileRows

__all__ = ["LabelOptions", "LabeledRowOptions", "ReadingOptions", "RowOptions"]

BYTES_PER_SCORE, BYTES_PER_ROW = 300, 700
"""Peak memory of fitting and comparing; ``benchmarks/speed/memory.py`` measures it."""
PROGRAM_BYTES = 150_000_000
"""Memory of the program and its libraries without rows, beyond a fifth of ``--memory``."""
FEWEST_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """Options for reading files: score columns and text format."""

    score: Annotated[
        list[str],
        data_option(
            "--score",
            "-s",
            metavar="COLUMN",
            help="Score column; for several classes, one per class, a range (x0:x99) or a pattern "
            "('x*').",
        ),
    ] = field(default_factory=lambda: ["score"])
    unit: Annotated[
        Literal["fraction", "percent"],
        data_option(
            "--unit", help="Unit of probabilities: fractions (0 to 1) or percentages (0 to 100)."
        ),
    ] = "fraction"
    input_format: Annotated[
        Format | None,
        unusual_option("--format", help="Input format. Default: inferred from the file extension."),
    ] = None
    decimal: Annotated[
        Literal[".", ","],
        unusual_option("--decimal", help="Decimal mark in CSV files and in text cells of sheets."),
    ] = "."
    na: Annotated[
        list[str] | None,
        unusual_option(
            "--na",
            metavar="TEXT",
            help="Text that means a missing value in CSV files; repeatable.",
        ),
    ] = None
    encoding: Annotated[
        str,
        unusual_option(
            "--encoding", metavar="NAME", help="Encoding of CSV files, such as latin-1 or utf-16."
        ),
    ] = UTF_8
    sheet: Annotated[
        str | None,
        unusual_option("--sheet", metavar="NAME", help="Sheet of a workbook. Default: the first."),
    ] = None
    header_row: Annotated[
        int | None,
        unusual_option(
            "--header-row",
            metavar="N",
            min=1,
            help="Row number of the column names in a CSV file or sheet, if titles precede it.",
        ),
    ] = None
    footer_rows: Annotated[
        int,
        unusual_option(
            "--footer-rows",
            metavar="N",
            min=0,
            help="Number of rows to skip at the end of a CSV file or sheet, such as totals.",
        ),
    ] = 0
    on_bad_rows: Annotated[
        Literal["error", "skip"],
        rows_option(
            "--on-bad-rows",
            help="Stop if a row is invalid, or skip invalid rows and count them.",
        ),
    ] = "error"
    memory: Annotated[
        str,
        unusual_option(
            "--memory",
            metavar="SIZE",
            help="Memory limit for the rows. More rows are moved to temporary files or sampled.",
        ),
    ] = MEMORY

    @property
    def reading(self) -> Reading:
        """Return the options about the files themselves."""
        return Reading(
            self.input_format,
            self.memory,
            self.on_bad_rows == "skip",
            self.decimal,
            tuple(self.na or ()),
            self.encoding,
            self.sheet,
            self.header_row,
            self.footer_rows,
        )


@dataclass(frozen=True, kw_only=True)
class RowOptions(ReadingOptions):
    """Options for one input file."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, Parquet, Arrow, JSON lines or xlsx file, or '-' for standard input. For "
            "several files: a folder or a quoted glob; folders named key=value become "
            "columns.",
        ),
    ]

    def open(
        self,
        columns: ColumnNames,
        *,
        detect_types: bool = False,
        verbatim: Format | Literal["same"] | None = None,
    ) -> AbstractContextManager[DataSource]:
        """Open the file as a DuckDB relation."""
        return open_source(
            self.file, self.reading, detect_types=detect_types, verbatim=verbatim, columns=columns
        )


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """Options for labels and counts."""

    label: Annotated[
        str,
        data_option(
            "--label", "-l", metavar="COLUMN", help="Label column: the true class of each row."
        ),
    ] = "label"
    positive: Annotated[
        str | None,
        data_option(
            "--positive",
            metavar="LABEL",
            help="Positive label. Default: the larger number, or the word for yes.",
        ),
    ] = None
    counts: Annotated[
        str | None,
        data_option(
            "--counts",
            metavar="COLUMN",
            help="Column with the number of identical rows that each line represents.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LabeledRowOptions(LabelOptions, RowOptions):
    """Options for labeled rows."""

    weight: Annotated[
        str | None,
        data_option(
            "--weight",
            metavar="COLUMN",
            help="Column of importances: a row stays one observation, and only ratios matter.",
        ),
    ] = None
    input_scale: Annotated[
        Literal["probability", "logit", "raw"],
        data_option(
            "--scale",
            help="Scale of the scores: probabilities, log-odds (logit), or raw decision values.",
        ),
    ] = "probability"
    class_names: Annotated[
        list[str] | None,
        data_option(
            "--class",
            metavar="LABEL",
            help="With several score columns: the label of each, in order. Default: sorted labels.",
        ),
    ] = None
    max_rows: Annotated[
        int,
        unusual_option(
            "--max-rows",
            min=10,
            help="Maximum number of rows; more are sampled at random (see --seed).",
        ),
    ] = 1_000_000
    seed: Annotated[
        int,
        unusual_option("--seed", min=0, help="Random seed."),
    ] = 0

    def columns(self, **more: Any) -> ColumnNames:
        """Return the requested columns; ``more`` are other fields of :class:`ColumnNames`."""
        return ColumnNames(
            score=tuple(self.score),
            label=self.label,
            weight=self.weight,
            counts=self.counts,
            scale=self.input_scale,
            classes=tuple(self.class_names or ()),
            unit=self.unit,
            **more,
        )

    def prepare(
        self, source: DataSource, columns: ColumnNames, *, as_probability: bool = False
    ) -> Prepared:
        """Check the rows."""
        with working("checking rows", source.connection):
            prepared = prepare(
                source,
                columns,
                on_bad_rows=self.on_bad_rows,
                positive=self.positive,
                as_probability=as_probability,
            )
        repeated = prepared.tally.repeated
        if repeated:
            note(
                f"{source.name}: {repeated:,} of {prepared.tally.used:,} rows are exact "
                "duplicates and are counted. Remove them if they were delivered twice."
            )
        return prepared

    def fetch(self, prepared: Prepared, *, bytes_per_score: int = BYTES_PER_SCORE) -> FileRows:
        """Return the valid rows, or a random sample if there are too many.

        Parameters
        ----------
        prepared : Prepared
        bytes_per_score : int
            Peak memory of the command per score and row.
        """
        from trueodds.cli.rows.read import read_rows

        per_row = max(BYTES_PER_ROW, bytes_per_score * len(prepared.scores))
        allowed = in_bytes(self.memory)
        allowed = max(allowed - PROGRAM_BYTES, allowed // 3)
        fitting = max(FEWEST_ROWS, allowed // per_row)
        rows = read_rows(prepared, min(self.max_rows, fitting), self.seed)
        if rows.is_sample:
            limit = "--max-rows" if self.max_rows <= fitting else f"--memory {self.memory}"
            note(
                f"a random sample of {len(rows):,} of {rows.n_available:,} rows is used "
                f"({limit}, --seed {self.seed})."
            )
        return rows

    def read(self, **more: Any) -> tuple[Prepared, FileRows]:
        """Open, check and fetch the rows."""
        columns = self.columns(**more)
        with self.open(columns, detect_types=bool(columns.features)) as source:
            prepared = self.prepare(source, columns)
            with working("reading rows", source.connection):
                return prepared, self.fetch(prepared)
