"""``trueodds compare``: which method would do best on these scores."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueodds.cli import _options as o
from trueodds.cli._columns import ColumnNames
from trueodds.cli._engine import MEMORY, open_source
from trueodds.cli._methods_list import complete_method, method_class
from trueodds.cli._prepare import Prepared, prepare
from trueodds.cli._show import emit_json, interval, note, number, show_table, working

if TYPE_CHECKING:
    from trueodds.cli._rows import FileRows

__all__ = ["Folds", "Methods", "chosen_methods", "compare", "load_rows"]

Methods = Annotated[
    list[str] | None,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="Compare only these; repeatable. By default all that fit the number of classes.",
        autocompletion=complete_method,
    ),
]
Folds = Annotated[int, typer.Option("--cv", min=2, help="Folds of the cross-validation.")]
Repeats = Annotated[int, typer.Option("--repeats", min=1, help="Repeat with other folds.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", help="Processes; -1 for all cores.")]


def compare(
    file: o.File,
    score: o.Score = ["score"],  # noqa: B006
    label: o.LabelColumn = "label",
    weight: o.Weight = None,
    method: Methods = None,
    cv: Folds = 5,
    repeats: Repeats = 1,
    jobs: Jobs = 1,
    input_scale: o.InputScaleOption = "probability",
    positive: o.Positive = None,
    class_names: o.ClassNames = None,
    input_format: o.InputFormat = None,
    on_bad_rows: o.OnBad = "error",
    max_rows: o.MaxRows = 1_000_000,
    seed: o.Seed = 0,
    memory: o.Memory = MEMORY,
    as_json: o.Json = False,
) -> None:
    """Compare all methods by cross-validation, with intervals, and choose one.

    The scores must come from rows that the model was not trained on.

    Examples
    --------
    trueodds compare scores.csv --score p --label y
    trueodds compare scores.parquet -s p -l y -m beta -m isotonic --repeats 4 --json
    """
    from trueodds.model_selection import compare_calibrators

    calibrators = chosen_methods(method)
    columns = ColumnNames(
        tuple(score), label, weight, input=input_scale, classes=tuple(class_names or ())
    )
    prepared, rows = load_rows(
        file, columns, input_format, memory, on_bad_rows, positive, max_rows, seed
    )
    comparison = compare_calibrators(
        rows.scores,
        rows.y,
        calibrators=calibrators,
        input=input_scale,
        sample_weight=rows.weight,
        cv=cv,
        n_repeats=repeats,
        random_state=seed,
        n_jobs=jobs,
        progress=sys.stderr.isatty(),
    )
    found = comparison.rows()
    if as_json:
        content = {"file": file, **prepared.describe(), "rows_compared": len(rows), "cv": cv}
        content |= {"repeats": repeats, "best_method": comparison.best_method}
        emit_json(
            "comparison", {**content, "explanation": comparison.explanation, "methods": found}
        )
        return
    _show(f"{file}: {len(rows):,} rows{prepared.left_out()}, {cv} folds × {repeats}", found)
    typer.echo(prepared.classes_line())
    typer.echo(comparison.explanation)


def chosen_methods(method: list[str] | None) -> Any:
    """Names that exist, or "default"."""
    if not method:
        return "default"
    for name in method:
        method_class(name)
    return list(method)


def load_rows(
    file: str,
    columns: ColumnNames,
    input_format: Any,
    memory: str,
    on_bad_rows: Any,
    positive: str | None,
    max_rows: int,
    seed: int,
) -> tuple[Prepared, FileRows]:
    """Open, check and read a file, for commands that need its rows."""
    from trueodds.cli._rows import fetch_rows

    with (
        open_source(
            file, format=input_format, memory=memory, skip_malformed=on_bad_rows == "skip"
        ) as source,
        working("reading rows", source.connection),
    ):
        prepared = prepare(source, columns, on_bad_rows=on_bad_rows, positive=positive)
        rows = fetch_rows(prepared, max_rows, seed)
    if rows.is_sample:
        note(
            f"a random sample of {len(rows):,} of {rows.n_available:,} rows is used "
            f"(--max-rows, --seed {seed})."
        )
    return prepared, rows


def _show(title: str, found: list[dict[str, Any]]) -> None:
    table = [
        [
            row["method"] + (" *" if row["chosen"] else ""),
            number(row["log_loss"]),
            interval(row["log_loss_low"], row["log_loss_high"]),
            number(row["brier_score"]),
            number(row["expected_calibration_error"]),
            _percent(row["gain"]),
            f"[{_percent(row['gain_low'])}, {_percent(row['gain_high'])}]",
            f"{row['seconds']:.2f}",
        ]
        for row in sorted(found, key=lambda row: row["log_loss"])
    ]
    header = ["method", "log-loss", "90 % interval", "Brier", "ECE", "gain", "interval", "seconds"]
    show_table(title, header, table)


def _percent(share: float | None) -> str:
    return "–" if share is None or not math.isfinite(share) else f"{100 * share:+.1f} %"
