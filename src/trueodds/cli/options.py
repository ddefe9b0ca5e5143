"""Options that several commands share, so that they mean the same everywhere.

Options about rows are a dataclass, such as :class:`RowOptions`: a command names the set, and
:func:`with_option_sets` shows the terminal one option for each field.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import partial, wraps
from inspect import Parameter
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_type_hints

import typer

from trueodds.basics.shown import shown
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import Format, refuse_idle_pipe
from trueodds.cli.files.open import MEMORY, DataSource, Reading, in_bytes, open_source
from trueodds.cli.files.text import UTF_8
from trueodds.cli.output import note, working
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.prepare import Prepared, prepare
from trueodds.exceptions import MapFormatError

if TYPE_CHECKING:
    from trueodds.cli.rows.fetch import FileRows

__all__ = [
    "RESULT",
    "Force",
    "Group",
    "Json",
    "LabelOptions",
    "LabelledRowOptions",
    "MapFile",
    "ReadingOptions",
    "RowOptions",
    "data_option",
    "load_map",
    "result_option",
    "rows_option",
    "with_option_sets",
]

DATA, ROWS, RESULT = "Data", "Rows", "Result"
data_option = partial(typer.Option, rich_help_panel=DATA)
rows_option = partial(typer.Option, rich_help_panel=ROWS)
result_option = partial(typer.Option, rich_help_panel=RESULT)

Group = Annotated[
    list[str] | None,
    data_option(
        "--group",
        "-g",
        metavar="COLUMN",
        help="Column of groups to look at one by one; may be repeated.",
    ),
]
Json = Annotated[
    bool,
    result_option("--json", help="Print a JSON document instead of text."),
]
Force = Annotated[
    bool,
    result_option("--force", help="Replace the output if it exists."),
]
MapFile = Annotated[
    str, typer.Argument(metavar="MAP.JSON", help="A map that 'trueodds fit' saved.")
]


def load_map(file: str) -> Any:
    """Read a map; what is wrong with it is said with the file's name."""
    import trueodds

    refuse_idle_pipe(file)
    try:
        return trueodds.load(file)
    except MapFormatError as error:
        raise MapFormatError(f"{file} holds no map that can be used: {error}") from None


BYTES_PER_SCORE, BYTES_PER_ROW = 300, 700
"""What fitting and comparing take at their peak; ``benchmarks/speed/memory.py`` measures it."""
PROGRAM_BYTES = 150_000_000
"""What the program and its libraries take without any rows, beyond a fifth of ``--memory``."""
FEWEST_ROWS = 10_000


@dataclass(frozen=True, kw_only=True)
class ReadingOptions:
    """How files are read: which columns are scores, and how their text is written."""

    score: Annotated[
        list[str],
        data_option(
            "--score",
            "-s",
            metavar="COLUMN",
            help="Column of scores; for several classes one each, a range (x0:x99) or a pattern "
            "('x*').",
        ),
    ] = field(default_factory=lambda: ["score"])
    unit: Annotated[
        Literal["fraction", "percent"],
        data_option("--unit", help="Whether probabilities run from 0 to 1 or from 0 to 100."),
    ] = "fraction"
    input_format: Annotated[
        Format | None,
        data_option("--format", help="Input format. Default: inferred from the file extension."),
    ] = None
    decimal: Annotated[
        Literal[".", ","],
        data_option("--decimal", help="Decimal mark of CSV files and of texts in sheets."),
    ] = "."
    na: Annotated[
        list[str] | None,
        data_option(
            "--na",
            metavar="TEXT",
            help="A text that stands for a missing value in CSV files; may be repeated.",
        ),
    ] = None
    encoding: Annotated[
        str,
        data_option(
            "--encoding", metavar="NAME", help="Encoding of CSV files, such as latin-1 or utf-16."
        ),
    ] = UTF_8
    sheet: Annotated[
        str | None,
        data_option("--sheet", metavar="NAME", help="Sheet of a workbook; by default the first."),
    ] = None
    header_row: Annotated[
        int | None,
        data_option(
            "--header-row",
            metavar="N",
            min=1,
            help="Row of the column names in a CSV file or a sheet, if titles stand above it.",
        ),
    ] = None
    footer_rows: Annotated[
        int,
        data_option(
            "--footer-rows",
            metavar="N",
            min=0,
            help="Rows to leave out at the end of a CSV file or a sheet, such as totals.",
        ),
    ] = 0
    on_bad_rows: Annotated[
        Literal["error", "skip"],
        rows_option(
            "--on-bad-rows",
            help="Refuse the input if a row is bad, or leave bad rows out and count them.",
        ),
    ] = "error"
    memory: Annotated[
        str,
        rows_option(
            "--memory",
            metavar="SIZE",
            help="Memory for the rows: more of them go to temporary files, or are sampled.",
        ),
    ] = MEMORY

    @property
    def reading(self) -> Reading:
        """What is said of the files themselves."""
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
    """Where the rows are, and how they are read."""

    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE",
            help="CSV, Parquet, Arrow, JSON lines or xlsx; a folder or a quoted glob for several "
            "files, whose folders named key=value become columns; '-' for standard input.",
        ),
    ]

    def open(
        self, columns: ColumnNames, *, detect_types: bool = False, verbatim: bool = False
    ) -> AbstractContextManager[DataSource]:
        """The file as a relation of DuckDB."""
        return open_source(
            self.file, self.reading, detect_types=detect_types, verbatim=verbatim, columns=columns
        )


@dataclass(frozen=True, kw_only=True)
class LabelOptions:
    """What each row is known to be, and how many rows it stands for."""

    label: Annotated[
        str,
        data_option("--label", "-l", metavar="COLUMN", help="Column of true classes."),
    ] = "label"
    positive: Annotated[
        str | None,
        data_option(
            "--positive",
            metavar="LABEL",
            help="The positive label; by default the greater number, or the word for yes.",
        ),
    ] = None
    counts: Annotated[
        str | None,
        data_option(
            "--counts",
            metavar="COLUMN",
            help="Column of whole numbers: how many rows each line stands for.",
        ),
    ] = None


@dataclass(frozen=True, kw_only=True)
class LabelledRowOptions(LabelOptions, RowOptions):
    """Rows whose true classes are known."""

    weight: Annotated[
        str | None,
        data_option("--weight", metavar="COLUMN", help="Column of importance weights."),
    ] = None
    input_scale: Annotated[
        Literal["probability", "logit", "raw"],
        data_option(
            "--scale", help="What the scores are: probabilities, log-odds, or raw decision values."
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
        rows_option(
            "--max-rows",
            min=10,
            help="Sample this many rows at random if there are more; --seed decides which.",
        ),
    ] = 1_000_000
    seed: Annotated[
        int,
        rows_option("--seed", min=0, help="Seed for all random choices."),
    ] = 0

    def columns(self, **more: Any) -> ColumnNames:
        """The columns that are asked for; ``more`` are other fields of :class:`ColumnNames`."""
        if self.weight is not None and self.counts is not None:
            raise UsageError("pass --weight or --counts, not both.")
        return ColumnNames(
            score=tuple(self.score),
            label=self.label,
            weight=self.weight if self.counts is None else self.counts,
            scale=self.input_scale,
            classes=tuple(self.class_names or ()),
            unit=self.unit,
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


def with_option_sets(command: Callable[..., None]) -> Callable[..., None]:
    """The command, with one option for each field of a dataclass among its parameters."""
    signature = inspect.signature(command, eval_str=True)
    sets: dict[str, Any] = {
        name: parameter.annotation
        for name, parameter in signature.parameters.items()
        if is_dataclass(parameter.annotation)
    }

    @wraps(command)
    def called(**values: Any) -> None:
        for name, kind in sets.items():
            given = {one.name: values.pop(one.name) for one in fields(kind)}
            values[name] = kind(**given)
        command(**values)

    flat = [
        option.replace(kind=Parameter.KEYWORD_ONLY)
        for parameter in signature.parameters.values()
        for option in (_options_of(sets[parameter.name]) if parameter.name in sets else [parameter])
    ]
    called.__signature__ = signature.replace(parameters=flat)  # type: ignore[attr-defined]
    called.__annotations__ = {option.name: option.annotation for option in flat}
    return called


def _options_of(kind: Any) -> Iterator[Parameter]:
    hints = get_type_hints(kind, include_extras=True)
    for one in fields(kind):
        yield Parameter(
            one.name,
            Parameter.KEYWORD_ONLY,
            default=_default_of(one),
            annotation=hints[one.name],
        )


def _default_of(one: Field[Any]) -> Any:
    if one.default_factory is not MISSING:
        return one.default_factory()
    return Parameter.empty if one.default is MISSING else one.default
