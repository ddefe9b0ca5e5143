"""``trueodds study``: the experiments of papers, run again."""

from __future__ import annotations

import difflib
import sys
from typing import Annotated

import typer

from trueodds.cli.plugin import RESULT, Json, UsageError, emit_json, note

__all__ = ["study"]

Name = Annotated[
    str | None, typer.Argument(metavar="[NAME]", help="Which study; without it, they are listed.")
]
Profile = Annotated[str, typer.Option("--profile", help="How much of it: quick, standard or full.")]
Folder = Annotated[
    str | None,
    typer.Option(
        "--output",
        "-o",
        metavar="FOLDER",
        help="Where results are kept; an interrupted study goes on from there.",
        rich_help_panel=RESULT,
    ),
]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 for all cores.")]


def study(
    name: Name = None,
    profile: Profile = "quick",
    output: Folder = None,
    jobs: Jobs = 1,
    as_json: Json = False,
) -> None:
    """Run the experiments of a paper and print its claims beside what was found.

    Examples
    --------
    trueodds study
    trueodds study beta --profile quick -o study-beta
    """
    from trueodds_studies import available, run_study

    names = available()
    if name is None:
        if as_json:
            emit_json("studies", {"studies": list(names)})
        else:
            typer.echo("\n".join(names))
        return
    if name not in names:
        near = difflib.get_close_matches(name, names, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(names)}."
        raise UsageError(f"there is no study {name!r}; {hint}")
    found = run_study(
        name, profile=profile, folder=output, n_jobs=jobs, progress=sys.stderr.isatty()
    )
    if output is not None:
        found.save(output)
        note(f"{output}: report of the study {name} ({profile}).")
    if as_json:
        emit_json("study", {"name": name, "profile": profile, "markdown": found.markdown})
    else:
        typer.echo(found.markdown)
