"""Options that several commands share, so that they mean the same everywhere."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from trueodds.cli._files import Format

__all__ = [
    "ClassNames",
    "File",
    "Force",
    "Group",
    "InputFormat",
    "InputScaleOption",
    "Json",
    "LabelColumn",
    "MaxRows",
    "Memory",
    "OnBad",
    "Positive",
    "Score",
    "Seed",
    "Weight",
]

DATA, ROWS, RESULT = "Data", "Rows", "Result"

File = Annotated[
    str,
    typer.Argument(
        metavar="FILE",
        help="CSV, Parquet, Arrow or JSON lines; a glob in quotes for several files; "
        "'-' for standard input.",
    ),
]
Score = Annotated[
    list[str],
    typer.Option(
        "--score",
        "-s",
        metavar="COLUMN",
        help="Column of scores; for several classes, once for each.",
        rich_help_panel=DATA,
    ),
]
LabelColumn = Annotated[
    str,
    typer.Option(
        "--label", "-l", metavar="COLUMN", help="Column of true classes.", rich_help_panel=DATA
    ),
]
Weight = Annotated[
    str | None,
    typer.Option(
        "--weight",
        metavar="COLUMN",
        help="Column of weights; k counts as k rows.",
        rich_help_panel=DATA,
    ),
]
Group = Annotated[
    list[str] | None,
    typer.Option(
        "--group",
        "-g",
        metavar="COLUMN",
        help="Column of groups to look at one by one; may be repeated.",
        rich_help_panel=DATA,
    ),
]
InputScaleOption = Annotated[
    Literal["probability", "logit", "score"],
    typer.Option(
        "--input",
        help="What the scores are: probabilities, log-odds, or margins of any scale.",
        rich_help_panel=DATA,
    ),
]
Positive = Annotated[
    str | None,
    typer.Option(
        "--positive",
        metavar="LABEL",
        help="The label that counts as positive; by default the greater of two.",
        rich_help_panel=DATA,
    ),
]
ClassNames = Annotated[
    list[str] | None,
    typer.Option(
        "--class",
        metavar="LABEL",
        help="With several score columns: the label of each, in their order; by default sorted.",
        rich_help_panel=DATA,
    ),
]
InputFormat = Annotated[
    Format | None,
    typer.Option(
        "--format", help="Format of the input; by default by its name.", rich_help_panel=DATA
    ),
]
OnBad = Annotated[
    Literal["error", "skip"],
    typer.Option(
        "--on-bad-rows",
        help="Refuse the input if a row is bad, or leave bad rows out and count them.",
        rich_help_panel=ROWS,
    ),
]
MaxRows = Annotated[
    int,
    typer.Option(
        "--max-rows",
        min=10,
        help="Use a random sample of so many rows if there are more; the same every time.",
        rich_help_panel=ROWS,
    ),
]
Seed = Annotated[
    int,
    typer.Option("--seed", min=0, help="Of everything that is random.", rich_help_panel=ROWS),
]
Memory = Annotated[
    str,
    typer.Option(
        "--memory",
        metavar="SIZE",
        help="What DuckDB may use; the rest goes to temporary files.",
        rich_help_panel=ROWS,
    ),
]
Json = Annotated[
    bool,
    typer.Option("--json", help="Print a JSON document instead of text.", rich_help_panel=RESULT),
]
Force = Annotated[
    bool,
    typer.Option("--force", help="Replace the output if it exists.", rich_help_panel=RESULT),
]
