"""``trueodds update``: update a model's probabilities by no more than its new rows require."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any, Literal

from trueodds.cli import options as o
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import STANDARD_INPUT, as_unicode
from trueodds.cli.files.write import check_target, write_text
from trueodds.cli.output import emit_json, note, say
from trueodds.cli.rows.options import LabeledRowOptions

__all__ = ["update"]

Method = Annotated[
    Literal["closed_test", "none", "intercept", "logistic", "curve"],
    o.result_option("--method", "-m", help="'closed_test' chooses among the others."),
]
Alpha = Annotated[
    float,
    o.result_option(
        "--alpha", metavar="SHARE", parser=o.share(0.001, 0.5), help="Level of the tests."
    ),
]
Tolerance = Annotated[
    float,
    o.share_option("--tolerance", help="Share of the log-loss that a simpler update may lose."),
]
Output = Annotated[
    str | None, o.result_option("--output", "-o", metavar="MAP.JSON", help="Save the update here.")
]


def update(
    data: LabeledRowOptions,
    method: Method = "closed_test",
    alpha: Alpha = 0.05,
    tolerance: Tolerance = 0.005,
    level: o.Level = 0.9,
    output: Output = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Update a prediction model for new rows, by no more than they require.

    The score column holds the old model's probabilities. A closed test chooses no change, a new
    intercept, a new intercept and slope, or a curve. The update is a map like those of 'fit'.

    Examples
    --------
    trueodds update patients.csv --score risk --label died
    trueodds update patients.csv --score risk --label died --level 0.95 -o update.json
    """
    from trueodds.model_selection import update_model

    if data.input_scale != "probability":
        raise UsageError("an update needs the probabilities of a model; drop --scale.")
    if output is not None:
        check_target(output, force=force)
    prepared, rows = data.read()
    if rows.n_classes > 2:
        raise UsageError("an update is for two classes; 'trueodds fit' learns several together.")
    found = update_model(
        rows.codes,
        rows.scores,
        method=method,
        alpha=alpha,
        tolerance=tolerance,
        level=level,
        sample_weight=rows.weight,
        classes=range(rows.n_classes),
    )
    if output is not None and found.map_ is not None:
        names = {"score": list(prepared.columns.score), "label": prepared.columns.label}
        metadata: dict[str, Any] = {"method": f"update: {found.method}", "columns": names}
        metadata["rows"] = len(rows)
        if data.file != STANDARD_INPUT:
            metadata["file"] = as_unicode(Path(data.file).name)
        learned = found.map_.with_classes(rows.classes).with_metadata(metadata)
        write_text(json.dumps(learned.to_dict(), ensure_ascii=False, indent=1), output)
    if as_json:
        content = {"file": data.file, **prepared.describe(), "rows_used": len(rows)}
        emit_json("update", {**content, "update": found.to_dict(), "output": output})
        return
    say(prepared.classes_line())
    say(str(found))
    for line in rows.notes(prepared.classes):
        say(line)
    if output is not None:
        note(f"{output}: the update as a map.")
