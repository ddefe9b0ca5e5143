"""``trueodds compare``: compare methods by cross-validation."""

from __future__ import annotations

import sys
from typing import Annotated, Any

import typer

from trueodds.basics.wording import (
    interval_percent_text,
    places_of_changes,
    share_percent_text,
    signed_percent_text,
)
from trueodds.cli import options as o
from trueodds.cli.chosen_method import chosen_methods
from trueodds.cli.output import console, emit_json, interval, number, say, show_table
from trueodds.cli.rows.options import LabeledRowOptions

__all__ = ["compare"]

WIDE = 105
"""Columns of a terminal that has room for the intervals of losses and the seconds."""
Repeats = Annotated[
    int, typer.Option("--repeats", min=1, help="Number of repetitions, each with new folds.")
]
AllMethods = Annotated[
    bool,
    typer.Option("--all", help="Compare also the methods that are only there for comparison."),
]
Feature = Annotated[
    list[str] | None,
    o.group_option(
        help="A group or feature, such as region, for the methods 'group' and 'tree' and for a map "
        "in each group ('per_group'); repeatable.",
    ),
]


def compare(
    data: LabeledRowOptions,
    method: o.Methods = None,
    all_methods: AllMethods = False,
    cv: o.Folds = 5,
    repeats: Repeats = 1,
    jobs: o.Jobs = 1,
    feature: Feature = None,
    as_json: o.Json = False,
) -> None:
    """Compare calibration methods by cross-validation and recommend one.

    The scores must come from rows that the model was not trained on.

    Examples
    --------
    trueodds compare scores.csv --score p --label y
    trueodds compare scores.csv --score p --label y --group region --group age
    trueodds compare scores.parquet -s p -l y -m beta,isotonic --repeats 4 --json
    """
    from trueodds.model_selection import compare_calibrators

    calibrators = chosen_methods(method, all_methods=all_methods)
    prepared, rows = data.read(features=tuple(feature or ()))
    comparison = compare_calibrators(
        rows.scores,
        rows.codes,
        classes=range(rows.n_classes),
        calibrators=calibrators,
        scale=data.input_scale,
        sample_weight=rows.weight,
        features=rows.features,
        cv=cv,
        n_repeats=repeats,
        random_state=data.seed,
        n_jobs=jobs,
        progress=sys.stderr.isatty(),
        select="one_se" if method else "default",
    )
    notes = rows.notes(prepared.classes)
    if as_json:
        content = {"file": data.file, **prepared.describe(), "rows_compared": len(rows), "cv": cv}
        content["notes"] = notes
        content |= {"repeats": repeats, "best_method": comparison.best_method}
        content["formula_as_good"] = comparison.formula_as_good
        emit_json(
            "comparison",
            {**content, "explanation": _explanation(comparison), "methods": comparison.rows()},
        )
        return
    title = f"{data.file}: {len(rows):,} rows{prepared.left_out()}, {cv} folds × {repeats}"
    _show(title, comparison)
    say(prepared.classes_line())
    say(_explanation(comparison))
    for line in notes:
        say(line)


def _explanation(comparison: Any) -> str:
    """Return the recommendation if all methods were compared; else the reason for the choice."""
    if comparison.select != "default":
        return str(comparison.explanation)
    name, metric = comparison.recommended, comparison.gain_metric
    gain = comparison.relative_gain(name, metric=metric)
    words = f"Recommendation: the default ({name})"
    if gain is not None:
        loss = "log-loss" if metric == "log_loss" else "the Brier score"
        words += f"; it reduces {loss} by {share_percent_text(gain[0])} "
        words += f"(90% CI {interval_percent_text(*gain[1:])})"
    formula = comparison.formula_as_good
    if formula is None:
        return f"{words}."
    as_good = "leaving the scores unchanged" if formula == "identity" else f"{formula}, a formula,"
    return f"{words}; {as_good} {comparison.formula_verdict}."


def _show(title: str, comparison: Any) -> None:
    rows = comparison.rows()
    places = {
        name: places_of_changes([row[name] for row in rows]) for name in ("log_loss", "brier_score")
    }
    table = [
        [
            row["method"] + (" *" if row["chosen"] else ""),
            number(row["log_loss"], places["log_loss"]),
            interval(row["log_loss_low"], row["log_loss_high"]),
            number(row["brier_score"], places["brier_score"]),
            number(row["expected_calibration_error"]),
            *_gain(comparison, row["method"]),
            f"{row['seconds']:.2f}",
        ]
        for row in sorted(rows, key=lambda row: row["log_loss"])
    ]
    gain = "gain" if comparison.gain_metric == "log_loss" else "gain in Brier"
    header = ["method", "log-loss", "90% interval", "Brier", "ECE", gain, "interval", "seconds"]
    if console().width < WIDE:
        header, *table = ([row[0], row[1], *row[3:7]] for row in (header, *table))
    show_table(title, header, table, whole=1)


def _gain(comparison: Any, method: str) -> tuple[str, str]:
    """Return the gain over unchanged scores; in Brier score if log-losses are infinite."""
    gain = comparison.relative_gain(method, metric=comparison.gain_metric)
    mean, low, high = (signed_percent_text(part) for part in gain or (None, None, None))
    return mean, f"[{low}, {high}]"
