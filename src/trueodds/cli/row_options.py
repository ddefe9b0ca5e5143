"""What commands are told of the rows that they read: the same options, with the same meaning."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from trueodds.basics.shown import shown
from trueodds.cli import options as o
from trueodds.cli.errors import UsageError
from trueodds.cli.files.encoding import UTF_8
from trueodds.cli.files.open import MEMORY, DataSource, Reading, in_bytes, open_source
from trueodds.cli.output import note, working
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.prepare import Prepared, prepare

if TYPE_CHECKING:
    from trueodds.cli.rows.fetch import FileRows

__all__ = ["LabelledRowOptions", "RowOptions"]

BYTES_PER_SCORE, BYTES_PER_ROW = 300, 700
"""What fitting and comparing take at their peak; ``benchmarks/speed/memory.py`` measures it."""
PROGRAM_BYTES = 150_000_000
"""What the program and its libraries take without any rows, beyond a fifth of ``--memory``."""
FEWEST_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class RowOptions:
    """Where the rows are, and how they are read."""

    file: o.File
    score: o.Score = field(default_factory=lambda: ["score"])
    scale: o.ScaleOption = "fraction"
    input_format: o.InputFormat = None
    decimal: o.Decimal = "."
    na: o.Missing = None
    encoding: o.Encoding = UTF_8
    sheet: o.SheetName = None
    header_row: o.HeaderRow = None
    footer_rows: o.FooterRows = 0
    on_bad_rows: o.OnBad = "error"
    memory: o.Memory = MEMORY

    def open(
        self, columns: ColumnNames, *, detect_types: bool = False, verbatim: bool = False
    ) -> AbstractContextManager[DataSource]:
        """The file as a relation of DuckDB."""
        reading = Reading(
            self.input_format,
            self.memory,
            self.on_bad_rows == "skip",
            self.decimal,
            tuple(self.na or ()),
            self.encoding,
            self.sheet,
            self.header_row,
            self.footer_rows,
            can_trim=True,
        )
        return open_source(
            self.file, reading, detect_types=detect_types, verbatim=verbatim, columns=columns
        )


@dataclass(frozen=True, kw_only=True)
class LabelledRowOptions(RowOptions):
    """The same of rows whose true classes are known."""

    label: o.LabelColumn = "label"
    weight: o.Weight = None
    counts: o.Counts = None
    input_scale: o.InputScaleOption = "probability"
    positive: o.Positive = None
    class_names: o.ClassNames = None
    max_rows: o.MaxRows = 1_000_000
    seed: o.Seed = 0

    def columns(self, **more: Any) -> ColumnNames:
        """The columns that are asked for; ``more`` are other fields of :class:`ColumnNames`."""
        if self.weight is not None and self.counts is not None:
            raise UsageError("pass --weight or --counts, not both.")
        return ColumnNames(
            score=tuple(self.score),
            label=self.label,
            weight=self.weight if self.counts is None else self.counts,
            input=self.input_scale,
            classes=tuple(self.class_names or ()),
            scale=self.scale,
            **more,
        )

    def named_weight(self, weight: Any) -> dict[str, Any]:
        """The weights of rows under the name of what they are."""
        return {"sample_weight" if self.counts is None else "counts": weight}

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
            if self.counts is not None:
                broken = prepared.relation.filter("weight <> floor(weight)")
                found = broken.project("weight").limit(1).fetchall()
                if found:
                    raise UsageError(
                        f"column {shown(self.counts)} must hold whole numbers of rows; got "
                        f"{found[0][0]:g}. If these are importance weights, pass --weight."
                    )
        repeated = prepared.tally.repeated
        if repeated:
            note(
                f"{source.name}: {repeated:,} of {prepared.tally.used:,} rows repeat another in "
                "every column, and are counted; remove them if they were delivered twice."
            )
        return prepared

    def fetch(self, prepared: Prepared, *, bytes_per_score: int = BYTES_PER_SCORE) -> FileRows:
        """The good rows, or a random sample if there are too many.

        Parameters
        ----------
        prepared : Prepared
        bytes_per_score : int
            What the command needs at its peak for each score of each row.
        """
        from trueodds.cli.rows.fetch import fetch_rows

        per_row = max(BYTES_PER_ROW, bytes_per_score * len(prepared.scores))
        allowed = in_bytes(self.memory)
        allowed = max(allowed - PROGRAM_BYTES, allowed // 3)
        fitting = max(FEWEST_ROWS, allowed // per_row)
        rows = fetch_rows(prepared, min(self.max_rows, fitting), self.seed)
        if rows.is_sample:
            limit = "--max-rows" if self.max_rows <= fitting else f"--memory {self.memory}"
            note(
                f"a random sample of {len(rows):,} of {rows.n_available:,} rows is used "
                f"({limit}, --seed {self.seed})."
            )
        return rows

    def read(self, **more: Any) -> tuple[Prepared, FileRows]:
        """Open, check and fetch, for commands that need nothing but the rows."""
        columns = self.columns(**more)
        with self.open(columns) as source:
            prepared = self.prepare(source, columns)
            with working("reading rows", source.connection):
                return prepared, self.fetch(prepared)
