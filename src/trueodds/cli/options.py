"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from functools import partial
from typing import Annotated, Literal

import typer

from trueodds.cli.files.find import Format

__all__ = [
    "ClassNames",
    "Counts",
    "Decimal",
    "Encoding",
    "File",
    "FooterRows",
    "Force",
    "Group",
    "HeaderRow",
    "InputFormat",
    "InputScaleOption",
    "Json",
    "LabelColumn",
    "MaxRows",
    "Memory",
    "Missing",
    "OnBad",
    "Positive",
    "ScaleOption",
    "Score",
    "Seed",
    "SheetName",
    "Weight",
    "data_option",
    "result_option",
    "rows_option",
]

DATA, ROWS, RESULT = "Data", "Rows", "Result"
data_option = partial(typer.Option, rich_help_panel=DATA)
rows_option = partial(typer.Option, rich_help_panel=ROWS)
result_option = partial(typer.Option, rich_help_panel=RESULT)

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet, Arrow, JSON lines or xlsx; a folder or a glob in quotes for several "
        "files, whose folders named key=value become columns; '-' for standard input.",
    ),
]
Score = Annotated[
    list[str],
    data_option(
        "--score",
        "-s",
        metavar="COLUMN",
        help="Column of scores; for several classes, once for each, as a range (x0:x99) or as a "
        "pattern ('x*').",
    ),
]
LabelColumn = Annotated[
    str,
    data_option("--label", "-l", metavar="COLUMN", help="Column of true classes."),
]
Weight = Annotated[
    str | None,
    data_option("--weight", metavar="COLUMN", help="Column of weights: how much a row matters."),
]
Counts = Annotated[
    str | None,
    data_option(
        "--counts",
        metavar="COLUMN",
        help="Column of whole numbers: how many rows each line stands for.",
    ),
]
Group = Annotated[
    list[str] | None,
    data_option(
        "--group",
        "-g",
        metavar="COLUMN",
        help="Column of groups to look at one by one; may be repeated.",
    ),
]
InputScaleOption = Annotated[
    Literal["probability", "logit", "score"],
    data_option(
        "--input", help="What the scores are: probabilities, log-odds, or margins of any scale."
    ),
]
ScaleOption = Annotated[
    Literal["fraction", "percent"],
    data_option("--scale", help="Whether probabilities run from 0 to 1 or from 0 to 100."),
]
Decimal = Annotated[
    Literal[".", ","],
    data_option("--decimal", help="Decimal mark of CSV files and of texts in sheets."),
]
Missing = Annotated[
    list[str] | None,
    data_option(
        "--na",
        metavar="TEXT",
        help="A text that stands for a missing value in CSV files; may be repeated.",
    ),
]
Encoding = Annotated[
    str,
    data_option(
        "--encoding", metavar="NAME", help="Encoding of CSV files, such as latin-1 or utf-16."
    ),
]
SheetName = Annotated[
    str | None,
    data_option("--sheet", metavar="NAME", help="Sheet of a workbook; by default the first."),
]
HeaderRow = Annotated[
    int | None,
    data_option(
        "--header-row",
        metavar="N",
        min=1,
        help="Row of the column names in a CSV file or a sheet, if titles stand above it.",
    ),
]
FooterRows = Annotated[
    int,
    data_option(
        "--footer-rows",
        metavar="N",
        min=0,
        help="Rows to leave out at the end of a CSV file or a sheet, such as totals.",
    ),
]
Positive = Annotated[
    str | None,
    data_option(
        "--positive",
        metavar="LABEL",
        help="The positive label; by default the greater number, or the word for yes.",
    ),
]
ClassNames = Annotated[
    list[str] | None,
    data_option(
        "--class",
        metavar="LABEL",
        help="With several score columns: the label of each, in their order; by default sorted.",
    ),
]
InputFormat = Annotated[
    Format | None,
    data_option("--format", help="Format of the input; by default, its name tells."),
]
OnBad = Annotated[
    Literal["error", "skip"],
    rows_option(
        "--on-bad-rows",
        help="Refuse the input if a row is bad, or leave bad rows out and count them.",
    ),
]
MaxRows = Annotated[
    int,
    rows_option(
        "--max-rows",
        min=10,
        help="Draw a random sample of this many rows if there are more; the same one every time.",
    ),
]
Seed = Annotated[
    int,
    rows_option("--seed", min=0, help="Seed for all random choices."),
]
Memory = Annotated[
    str,
    rows_option(
        "--memory",
        metavar="SIZE",
        help="Memory for the rows: more of them go to temporary files, or are sampled.",
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
