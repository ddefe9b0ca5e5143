"""``trueodds report``: a calibration report as one HTML page."""

from __future__ import annotations

import shlex
import sys
from typing import Annotated, Any

import typer

from trueodds.basics.shown import shortened
from trueodds.cli import options as o
from trueodds.cli.chosen_method import chosen_methods
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import as_unicode
from trueodds.cli.files.write import STANDARD_OUTPUT, check_target, write_text
from trueodds.cli.output import emit_json, note
from trueodds.cli.rows.columns import refuse_margins
from trueodds.cli.rows.options import LabeledRowOptions

__all__ = ["report"]

Output = Annotated[
    str,
    typer.Option("--output", "-o", metavar="REPORT.HTML", help="Output file; '-' prints the page."),
]
Title = Annotated[str | None, typer.Option("--title", help="Title of the page.")]

Limit = Annotated[
    float | None,
    o.limit_option(help="Add the threshold that keeps --risk below this limit (see 'threshold')."),
]


def report(
    context: typer.Context,
    data: LabeledRowOptions,
    output: Output = "report.html",
    group: o.Group = None,
    title: Title = None,
    method: o.Methods = None,
    cv: o.Folds = 5,
    jobs: o.Jobs = 1,
    at_most: Limit = None,
    risk: o.OfRisk = "errors",
    confidence: o.Confidence = 0.9,
    level: o.Level = 0.9,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Write a self-contained HTML report: verdict, diagrams, methods, costs, groups.

    Examples
    --------
    trueodds report scores.csv --score p --label y -o report.html
    trueodds report scores.parquet -s p -l y --group country --group age -o report.html
    trueodds report scores.csv -s p -l y --at-most 0.2 -o report.html
    trueodds report scores.csv -s p -l y --json > summary.json
    """
    from trueodds.report import build_report

    refuse_margins(data.input_scale)
    o.check_limit(at_most, risk)
    if at_most is not None and data.weight is not None:
        raise UsageError("--weight has no exact guarantee; pass --counts for numbers of rows.")
    if not as_json:
        check_target(output, force=force)
    prepared, rows = data.read(groups=tuple(group or ()))
    names = {"score": shortened(prepared.columns.score, ", "), "label": data.label}
    notes = rows.notes(prepared.classes)
    made = build_report(
        rows.scores,
        rows.codes,
        classes=range(rows.n_classes),
        class_names=rows.classes,
        sample_weight=rows.weight,
        groups=rows.groups or None,
        scale=data.input_scale,
        calibrators=chosen_methods(method),
        cv=cv,
        names=names if title is None else {**names, "title": as_unicode(title)},
        notes=notes,
        provenance=_provenance(data.file, prepared),
        command=as_unicode(shlex.join(["trueodds", *context.obj["words"]])),
        random_state=data.seed,
        n_jobs=jobs,
        at_most=at_most,
        risk=risk,
        confidence=confidence,
        level=level,
        progress=sys.stderr.isatty(),
    )
    if as_json:
        emit_json("report-summary", {"file": data.file, "report": made.to_json()})
        return
    write_text(made.to_html(), output)
    if output != STANDARD_OUTPUT:
        note(prepared.classes_line())
        note(f"{output}: {made.to_json()['verdict'].get('sentence', 'written.')}")
        for line in notes:
            note(line)


def _provenance(file: str, prepared: Any) -> dict[str, Any]:
    paths = prepared.source.files.paths
    found = {"file": as_unicode(file)}
    size = sum(path.stat().st_size for path in paths if path.exists())
    if size:
        found["size"] = _size_text(size, len(paths))
    if prepared.tally.skipped:
        found["rows left out"] = prepared.left_out().strip(" ()")
    return found


def _size_text(size: int, files: int) -> str:
    kilobytes = size / 1000
    text = f"{kilobytes:,.0f} kB" if kilobytes < 1000 else f"{kilobytes / 1000:,.3g} MB"
    return text if files == 1 else f"{files:,} files, {text}"
