"""``trueodds evaluate``: how far the probabilities of a file can be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from trueodds.cli import _options as o
from trueodds.cli._columns import ColumnNames
from trueodds.cli._engine import MEMORY, open_source
from trueodds.cli._exit import UsageError
from trueodds.cli._groups import find_groups
from trueodds.cli._prepare import Prepared, prepare
from trueodds.cli._show import emit_json, interval, note, number, show_table, working

if TYPE_CHECKING:
    from trueodds.cli._validation_section import Validation
    from trueodds.metrics import ClassEvaluation, Evaluation

__all__ = ["evaluate"]

RAISED_BY_CHANCE = ("expected_calibration_error", "maximum_calibration_error")
"""Their resampled intervals need not hold the true value, nor even the estimate: none is shown."""

Level = Annotated[
    float,
    typer.Option("--level", min=0.5, max=0.999, help="Of all intervals.", rich_help_panel=o.RESULT),
]
Resamples = Annotated[
    int,
    typer.Option(
        "--resamples", min=20, help="Bootstrap samples for intervals.", rich_help_panel=o.RESULT
    ),
]
WithValidation = Annotated[
    bool,
    typer.Option(
        "--validation",
        help="Add the figures of clinical papers: O:E, intercept, slope, ICI, C statistic, …",
        rich_help_panel=o.RESULT,
    ),
]
Thresholds = Annotated[
    list[float] | None,
    typer.Option(
        "--threshold",
        min=0.0,
        max=0.999,
        help="Add the net benefit of acting from this probability on; repeat for more.",
        rich_help_panel=o.RESULT,
    ),
]
MaxGroups = Annotated[
    int,
    typer.Option(
        "--max-groups", min=1, help="Look at so many groups, the largest.", rich_help_panel=o.ROWS
    ),
]


def evaluate(
    file: o.File,
    score: o.Score = ["score"],  # noqa: B006
    label: o.LabelColumn = "label",
    weight: o.Weight = None,
    group: o.Group = None,
    input_scale: o.InputScaleOption = "probability",
    positive: o.Positive = None,
    class_names: o.ClassNames = None,
    input_format: o.InputFormat = None,
    on_bad_rows: o.OnBad = "error",
    max_rows: o.MaxRows = 1_000_000,
    max_groups: MaxGroups = 50,
    validation: WithValidation = False,
    threshold: Thresholds = None,
    level: Level = 0.9,
    resamples: Resamples = 200,
    seed: o.Seed = 0,
    memory: o.Memory = MEMORY,
    as_json: o.Json = False,
) -> None:
    """Measure how well probabilities agree with what happened.

    One score column is grouped inside DuckDB, so a file may be much larger than memory; several
    columns (classes), --validation and --threshold use at most --max-rows rows.

    Examples
    --------
    trueodds evaluate scores.parquet --score p --label y
    trueodds evaluate 'scores/*.csv' --score p --label y --group country
    trueodds evaluate patients.csv --score risk --label died --validation --threshold 0.1
    trueodds evaluate scores.csv -s p_cat -s p_dog -s p_fox --label animal --json
    """
    if input_scale == "score":
        raise UsageError(
            "margins are not probabilities, so their calibration cannot be measured; "
            "run 'trueodds fit --input score' first."
        )
    columns = ColumnNames(
        tuple(score), label, weight, tuple(group or ()), (), input_scale, tuple(class_names or ())
    )
    options = {"level": level, "n_resamples": resamples, "random_state": seed}
    with open_source(
        file, format=input_format, memory=memory, skip_malformed=on_bad_rows == "skip"
    ) as source:
        with working("checking rows", source.connection):
            prepared = prepare(
                source, columns, on_bad_rows=on_bad_rows, positive=positive, as_probability=True
            )
        with working("measuring", source.connection):
            result = _whole(prepared, max_rows, options)
        groups = _groups(prepared, max_groups, options) if columns.groups else None
        section = _validation(prepared, max_rows, validation, threshold or [], options)
    if as_json:
        content = {"file": file, **prepared.describe(), "level": level}
        content["evaluation"] = result.to_dict()
        if section is not None:
            content |= section.to_dict()
        emit_json("evaluation", content if groups is None else {**content, "groups": groups})
        return
    _show(file, prepared, result, level)
    if section is not None:
        section.show()
    if groups is not None:
        _show_groups(groups)


def _whole(
    prepared: Prepared, max_rows: int, options: dict[str, Any]
) -> Evaluation | ClassEvaluation:
    from trueodds.metrics import evaluate_classes, evaluate_table

    if len(prepared.scores) == 1:
        from trueodds.cli._table import score_table

        used = prepared.tally.used
        table = score_table(prepared.relation, used, weight=prepared.columns.weight)
        return evaluate_table(table, **options)
    from trueodds.cli._rows import fetch_rows

    rows = fetch_rows(prepared, max_rows, options["random_state"])
    if rows.is_sample:
        note(f"a sample of {len(rows):,} of {rows.n_available:,} rows is used (--max-rows).")
    classes = list(prepared.classes.labels)
    return evaluate_classes(
        rows.y, rows.scores, sample_weight=rows.weight, classes=classes, progress=False, **options
    )


def _validation(
    prepared: Prepared,
    max_rows: int,
    wanted: bool,
    thresholds: list[float],
    options: dict[str, Any],
) -> Validation | None:
    if not wanted and not thresholds:
        return None
    from trueodds.cli._validation_section import measure

    return measure(prepared, max_rows, thresholds, table=wanted, **options)


def _groups(prepared: Prepared, max_groups: int, options: dict[str, Any]) -> dict[str, Any]:
    from trueodds.report import evaluate_groups

    if len(prepared.scores) > 1:
        raise UsageError("--group needs a single score column.")
    found = find_groups(prepared, max_groups)
    measured = evaluate_groups(found.counts(), **options)
    entries = measured.pop("groups")
    counts = {"left_out": found.left_out, "one_class": found.one_class}
    return {**measured, **counts, "groups": entries}


def _show(
    file: str, prepared: Prepared, result: Evaluation | ClassEvaluation, level: float
) -> None:
    from trueodds.metrics import Evaluation

    rows = [
        [
            _title(name),
            number(found.estimate),
            "–" if name in RAISED_BY_CHANCE else interval(found.low, found.high),
        ]
        for name, found in result.metrics.items()
    ]
    title = f"{file}: {prepared.tally.used:,} rows{prepared.left_out()}"
    show_table(title, ["metric", "value", f"{100 * level:g} % interval"], rows)
    typer.echo(prepared.classes_line())
    if isinstance(result, Evaluation):
        typer.echo(
            f"mean score {number(result.mean_score)}, "
            f"frequency of positives {number(result.prevalence)}."
        )
    typer.echo(_verdict(result.p_value))


def _verdict(p: float) -> str:
    shown = "p < 0.0001" if p < 1e-4 else f"p = {p:.4f}"
    if p < 0.05:
        return f"The probabilities are not calibrated: chance would do this rarely ({shown})."
    return f"No miscalibration beyond chance was found ({shown})."


def _title(name: str) -> str:
    return name.replace("_", " ").replace("roc auc", "ROC AUC").replace("brier", "Brier")


def _show_groups(groups: dict[str, Any]) -> None:
    rows = [
        [
            f"{entry['column']} = {entry['value']}",
            f"{entry['rows']:,}",
            number(entry["mean_score"]),
            number(entry["prevalence"]),
            number(entry["expected_calibration_error"]),
            number(entry["log_loss"]),
            number(entry["p_adjusted"]),
            "yes" if entry["flagged"] else "",
        ]
        for entry in groups["groups"]
    ]
    header = ["group", "rows", "mean score", "positives", "ECE", "log-loss", "p adjusted", "off"]
    show_table(
        f"{len(rows)} groups, worst first; 'off' keeps false alarms among all groups below 5 % "
        f"({groups['correction']})",
        header,
        rows,
    )
    if groups["left_out"]:
        typer.echo(f"{groups['left_out']:,} smaller groups were left out (--max-groups).")
    if groups["one_class"]:
        typer.echo(f"{groups['one_class']:,} groups have one class only and no measures.")
