"""``trueodds export``: write a map as SQL, a dbt macro, ONNX, Python or JavaScript."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import typer

from trueodds.cli import options as o
from trueodds.cli.errors import UsageError
from trueodds.cli.files.write import STANDARD_OUTPUT, atomic_stream, check_target, write_text
from trueodds.cli.output import formula_text, note
from trueodds.exceptions import InputError

__all__ = ["export"]

LONG = 5000
"""Characters of a text for which a formula that does as well is worth a note."""
SHOWN = {"dbt": "a dbt macro", "python": "Python", "javascript": "JavaScript"}
Target = Annotated[
    Literal["sql", "dbt", "onnx", "python", "javascript"],
    typer.Option("--to", help="Target language or format."),
]
Column = Annotated[
    list[str],
    typer.Option(
        "--column",
        "-c",
        metavar="COLUMN",
        help="Score column in SQL; with several classes, one for each.",
    ),
]
Dialect = Annotated[
    Literal["duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite"],
    typer.Option("--dialect", help="SQL dialect, also for dbt."),
]
Name = Annotated[str, typer.Option("--name", metavar="NAME", help="Name of the function or macro.")]
Output = Annotated[
    str,
    o.result_option(
        "--output", "-o", metavar="FILE", help="Output file. Default: print; ONNX needs a file."
    ),
]
Bound = Annotated[
    Literal["lower", "upper"] | None,
    typer.Option(
        "--bound", help="Export the lower or upper confidence bound instead of the probability."
    ),
]


def export(
    map_file: o.MapFile,
    to: Target,
    output: Output = STANDARD_OUTPUT,
    column: Column = ["score"],  # noqa: B006
    dialect: Dialect = "duckdb",
    name: Name = "calibrate",
    bound: Bound = None,
    force: o.Force = False,
) -> None:
    """Export a map as SQL, a dbt macro, ONNX, Python or JavaScript.

    Examples
    --------
    trueodds export map.json --to sql --column p
    trueodds export map.json --to sql --dialect bigquery --column p
    trueodds export map.json --to sql --column p --bound lower
    trueodds export map.json --to onnx -o map.onnx
    trueodds export map.json --to python -o calibrate.py
    trueodds export map.json --to javascript -o calibrate.mjs
    trueodds export map.json --to dbt --dialect snowflake -o macros/calibrate.sql
    """
    check_target(output, force=force)
    fitted = o.load_map(map_file)
    if bound is not None:
        if fitted.band is None:
            raise UsageError(f"{map_file} has no intervals; fit it with --interval 0.9.")
        fitted = fitted.lower_map() if bound == "lower" else fitted.upper_map()
    if to == "onnx":
        if output == STANDARD_OUTPUT:
            raise UsageError("an ONNX model is binary; write it to a file with -o MAP.ONNX.")
        model = fitted.to_onnx()
        with atomic_stream(output) as stream:
            stream.write(model.SerializeToString())
    else:
        text = _text(fitted, to, name, column, dialect)
        write_text(text, output)
        formula = formula_text(fitted.metadata or {})
        if len(text) > LONG and formula:
            note(f"{len(text) / 1000:.0f} kB of {SHOWN.get(to, 'SQL')}; {formula}.")
    if output != STANDARD_OUTPUT:
        note(f"{output}: a {fitted.family} map as {SHOWN.get(to, to.upper())}.")


def _text(fitted: Any, to: str, name: str, column: list[str], dialect: Any) -> str:
    if to == "python":
        if not name.isidentifier():
            raise UsageError(f"--name must be a valid Python name; got {name!r}.")
        return str(fitted.to_python(name))
    if to == "javascript":
        return str(fitted.to_javascript(name))
    if to == "dbt":
        return str(fitted.to_dbt(name, dialect=dialect))
    return _sql(fitted, column, dialect)


def _sql(fitted: Any, column: list[str], dialect: str) -> str:
    n_classes = fitted.n_classes or max(2, len(column))
    if n_classes == 2 and len(column) == 1:
        return str(fitted.to_sql(column[0], dialect=dialect))
    if len(column) != n_classes:
        raise InputError(
            f"the map has {n_classes} classes; pass one --column for each (got {len(column)})."
        )
    parts = fitted.to_sql(list(column), dialect=dialect)
    return str(parts) if isinstance(parts, str) else ",\n".join(parts)
