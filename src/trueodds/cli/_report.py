"""``trueodds report``: everything about a file of scores on one HTML page."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from trueodds.cli import _options as o
from trueodds.cli._columns import ColumnNames
from trueodds.cli._compare import Folds, Jobs, Methods, chosen_methods, load_rows
from trueodds.cli._engine import MEMORY
from trueodds.cli._show import emit_json, note
from trueodds.cli._write import STANDARD_OUTPUT, check_target, write_text

__all__ = ["report"]

Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="REPORT.HTML", help="The page; '-' to print it."),
]
Title = Annotated[str | None, typer.Option("--title", help="Heading of the page.")]


def report(
    context: typer.Context,
    file: o.File,
    output: Output = "report.html",
    score: o.Score = ["score"],  # noqa: B006
    label: o.LabelColumn = "label",
    weight: o.Weight = None,
    group: o.Group = None,
    title: Title = None,
    method: Methods = None,
    cv: Folds = 5,
    jobs: Jobs = 1,
    input_scale: o.InputScaleOption = "probability",
    positive: o.Positive = None,
    class_names: o.ClassNames = None,
    input_format: o.InputFormat = None,
    on_bad_rows: o.OnBad = "error",
    max_rows: o.MaxRows = 1_000_000,
    seed: o.Seed = 0,
    memory: o.Memory = MEMORY,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Write a self-contained HTML page: verdict, diagrams, methods, costs, groups.

    Examples
    --------
    trueodds report scores.csv --score p --label y -o report.html
    trueodds report scores.parquet -s p -l y --group country --group age -o report.html
    trueodds report scores.csv -s p -l y --json > summary.json
    """
    from trueodds.report import build_report

    if not as_json:
        check_target(output, force=force)
    columns = ColumnNames(
        tuple(score),
        label,
        weight,
        tuple(group or ()),
        input=input_scale,
        classes=tuple(class_names or ()),
    )
    prepared, rows = load_rows(
        file, columns, input_format, memory, on_bad_rows, positive, max_rows, seed
    )
    names = {"score": ", ".join(score), "label": label}
    made = build_report(
        rows.scores,
        rows.y,
        sample_weight=rows.weight,
        groups=rows.groups or None,
        input=input_scale,
        calibrators=chosen_methods(method),
        cv=cv,
        names=names if title is None else {**names, "title": title},
        provenance=_provenance(file, prepared, rows),
        command=shlex.join(["trueodds", *context.obj["words"]]),
        random_state=seed,
        n_jobs=jobs,
        progress=sys.stderr.isatty(),
    )
    if as_json:
        emit_json("report-summary", {"file": file, "report": made.to_json()})
        return
    write_text(made.to_html(), output)
    if output != STANDARD_OUTPUT:
        note(f"{output}: {made.to_json()['verdict'].get('sentence', 'written.')}")


def _provenance(file: str, prepared: Any, rows: Any) -> dict[str, Any]:
    paths = prepared.source.files.paths
    found = {
        "file": file,
        "files": len(paths),
        "bytes": sum(path.stat().st_size for path in paths if path.exists()),
        "rows in file": prepared.tally.rows,
        "rows used": len(rows),
        "columns": ", ".join(prepared.columns.all_names()),
        "classes": ", ".join(repr(label) for label in prepared.classes.labels),
    }
    if prepared.tally.skipped:
        found["rows left out"] = prepared.left_out().strip(" ()")
    return found
