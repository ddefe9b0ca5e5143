"""The program: its commands, and the options that stand before them."""

from __future__ import annotations

from typing import Annotated

import typer

from trueodds.cli.loader import Commands, help_text

__all__ = ["app"]

app = typer.Typer(
    name="trueodds",
    cls=Commands,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["--help", "-h"]},
    epilog="Exit codes: 0 done, 1 the data or a file cannot be used, 2 wrong options, "
    "3 a library is missing, 4 monitor has raised an alarm, 5 monitor found a delivery that "
    "--fail-on names, 70 a bug, 130 interrupted, 141 nobody reads the output, 143 terminated.",
)


def _version(wanted: bool) -> None:
    if wanted:
        import trueodds

        typer.echo(f"trueodds {trueodds.__version__}")
        raise typer.Exit


def _program(
    version: Annotated[
        bool,
        typer.Option("--version", callback=_version, is_eager=True, help="Show the version."),
    ] = False,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show tracebacks; may stand anywhere.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Say what is being done; may stand anywhere.")
    ] = False,
) -> None:
    """Turn the scores of any classifier into probabilities people can act on.

    All you need is a file of scores and labels.

    Examples
    --------
    trueodds evaluate scores.csv --score p --label y     can they be trusted?
    trueodds compare  scores.csv --score p --label y     what would help?
    trueodds fit      scores.csv --score p --label y -o map.json
    trueodds apply    map.json new.parquet --score p -o calibrated.parquet
    trueodds report   scores.csv --score p --label y -o report.html
    trueodds demo                                        all of it on a real model
    """


app.callback(help=help_text(_program))(_program)
