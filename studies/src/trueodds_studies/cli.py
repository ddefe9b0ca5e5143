"""``trueodds-study``: the experiments of papers, run again."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Annotated

import typer

from trueodds import cli
from trueodds.basics.shown import shown, suggestion
from trueodds.basics.signals import STOPPING
from trueodds.cli.errors import UsageError
from trueodds.cli.options import RESULT, Json
from trueodds.cli.output import emit_json, note

__all__ = ["main", "study"]

ALL, OVERVIEW = "all", "overview"
Name = Annotated[
    str | None,
    typer.Argument(
        metavar="[NAME]",
        help=f"Which study, or {ALL}; {OVERVIEW} gathers the reports in FOLDER; without it, "
        "studies are listed.",
    ),
]
Profile = Annotated[
    str, typer.Option("--profile", help="How much is run: quick, standard or full.")
]
Folder = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Folder of results; an interrupted study continues there.",
        rich_help_panel=RESULT,
    ),
]
Judge = Annotated[
    bool,
    typer.Option("--judge", help="Run nothing; report on the stored results."),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Number of processes; -1 for all cores.")]


def study(
    name: Name = None,
    profile: Profile = "quick",
    output: Folder = None,
    jobs: Jobs = 1,
    judge: Judge = False,
    as_json: Json = False,
) -> None:
    """Run the experiments of a paper and print its claims with the verdicts.

    Examples
    --------
    trueodds-study
    trueodds-study beta --profile quick -o study-beta
    trueodds-study beta --profile quick -o study-beta --judge
    trueodds-study all --profile standard --jobs 2 -o studies
    """
    from trueodds_studies import available, run_study

    names = available()
    if name is None:
        if as_json:
            emit_json("studies", {"studies": list(names)})
        else:
            typer.echo("\n".join(names))
        return
    if name == ALL:
        _run_all(profile, output or "studies-output", jobs, judge, as_json)
        return
    if name == OVERVIEW:
        from trueodds_studies import save_overview

        note(f"{save_overview(output or '.', names)}: overview of the claims.")
        return
    if name not in names:
        hint = suggestion(name, names, has="there are")
        raise UsageError(f"there is no study {shown(name)}; {hint}")
    with _resumable(output):
        found = run_study(
            name,
            profile=profile,
            folder=output,
            n_jobs=jobs,
            progress=sys.stderr.isatty(),
            stored_only=judge,
        )
    if output is not None:
        found.save(output)
        note(f"{output}: report of the study {name} ({profile}).")
    if as_json:
        emit_json("study", {"name": name, "profile": profile, "markdown": found.markdown})
    else:
        typer.echo(found.markdown)


@contextmanager
def _resumable(folder: str | None) -> Iterator[None]:
    """After a signal, tell the user that the folder has the results so far."""
    try:
        yield
    except BaseException:
        if STOPPING.received is not None and folder is not None:
            note(f"{folder} keeps the results so far; the same command goes on from there.")
        raise


def _run_all(profile: str, output: str, jobs: int, judge: bool, as_json: bool) -> None:
    """Run every study in a separate folder, then write all reports and the overview."""
    from trueodds_studies import available, run_study, save_all

    show = sys.stderr.isatty()
    with _resumable(output):
        reports = [
            run_study(
                name,
                profile=profile,
                folder=f"{output}/{name}",
                n_jobs=jobs,
                progress=show,
                stored_only=judge,
            )
            for name in available()
        ]
    path = save_all(reports, output)
    note(
        f"{path}: overview of {len(reports)} studies ({profile}); their reports are in the same "
        "folder."
    )
    overview = path.read_text(encoding="utf-8")
    if as_json:
        emit_json("studies", {"profile": profile, "markdown": overview})
    else:
        typer.echo(overview)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program ``trueodds-study`` and exit with its code."""
    cli.main(arguments, "trueodds-study", study)
