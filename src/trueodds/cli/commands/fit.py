"""``trueodds fit``: fit a calibration map to a file and save it."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from trueodds.basics.log import logger
from trueodds.cli import options as o
from trueodds.cli.chosen_method import AUTO, WITH_FEATURES, complete_method, make_calibrator
from trueodds.cli.errors import UsageError
from trueodds.cli.files.find import STANDARD_INPUT, as_unicode
from trueodds.cli.files.write import STANDARD_OUTPUT, check_target, write_text
from trueodds.cli.output import (
    emit_json,
    formula_text,
    losses_text,
    note,
    ratio_text,
    working,
)
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.options import LabeledRowOptions
from trueodds.cli.rows.prepare import Prepared
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.calibrators import Calibrator
    from trueodds.maps import CalibrationMap

__all__ = ["fit"]

Method = Annotated[
    str,
    typer.Option(
        "--method",
        "-m",
        metavar="NAME",
        help="Calibration method, see 'trueodds methods'; 'auto' is the recommended default.",
        autocompletion=complete_method,
    ),
]
MethodOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option",
        metavar="NAME=VALUE",
        help="Option of the method, such as n_bins=20 or label_smoothing=platt; repeatable.",
    ),
]
Feature = Annotated[
    list[str] | None,
    o.group_option(
        help="A group or feature, such as region; repeatable. The method is then 'group', unless "
        "--method names 'tree'.",
    ),
]
Interval = Annotated[
    float | None,
    o.share_option(
        "--interval", help="Save confidence intervals of this level with the map, such as 0.9."
    ),
]
MapOutput = Annotated[
    str,
    o.result_option(
        "--output",
        "-o",
        metavar="MAP.JSON",
        help="Output file. Default: print the map.",
    ),
]

Note = Annotated[
    str | None,
    o.result_option("--note", metavar="TEXT", help="Note to store in the map."),
]
Parent = Annotated[
    str | None,
    o.result_option(
        "--parent",
        metavar="MAP.JSON",
        help="Map that this one replaces; the new map stores its fingerprint.",
    ),
]


class Fit(NamedTuple):
    """A map with the names of its classes, its metadata, and warnings about the command."""

    learned: CalibrationMap
    metadata: dict[str, Any]
    notes: list[str]


def fit(
    data: LabeledRowOptions,
    method: Method = AUTO,
    output: MapOutput = STANDARD_OUTPUT,
    option: MethodOption = None,
    feature: Feature = None,
    interval: Interval = None,
    note_text: Note = None,
    parent: Parent = None,
    force: o.Force = False,
    as_json: o.Json = False,
) -> None:
    """Fit a calibration map to scores and labels, and save it as JSON.

    With one score column, DuckDB counts the rows, so a file may be much larger than memory.
    Several columns, and features, use at most --max-rows rows.

    Examples
    --------
    trueodds fit scores.parquet --score p --label y -o map.json
    trueodds fit scores.parquet --score p --label y --method beta -o map.json
    trueodds fit scores.parquet --score p --label y --interval 0.9 -o map.json
    trueodds fit scores.csv -s p -l y --group region --group age -o map.json
    trueodds fit scores.csv -s margin -l y --scale raw -m isotonic -o map.json
    trueodds fit scores.csv -s p_cat -s p_dog -s p_fox -l animal -m temperature -o map.json
    """
    if as_json and output == STANDARD_OUTPUT:
        raise UsageError(
            "--json prints a summary to standard output; write the map to a file with -o MAP.JSON."
        )
    check_target(output, force=force)
    replaced = None if parent is None else o.load_map(parent)
    if feature and method == AUTO:
        method = WITH_FEATURES
    calibrator = make_calibrator(method, data.input_scale, option or ())
    if calibrator.needs_features and not feature:
        raise UsageError(f"--method {method} needs features; pass --group COLUMN.")
    if feature and not calibrator.needs_features:
        raise UsageError(f"--method {method} does not use --group.")
    columns = data.columns(features=tuple(feature or ()), sums_to_one=calibrator.rows_sum_to_one)
    with data.open(columns, detect_types=bool(feature)) as source:
        prepared = data.prepare(source, columns)
        with working(f"fitting {method}", source.connection):
            if feature or len(prepared.scores) > 1 or not calibrator.ignores_row_order:
                fitted, metadata, notes = _fit_rows(calibrator, prepared, data, interval)
            else:
                fitted, metadata, notes = _fit_counts(calibrator, prepared, interval)
    metadata |= {"method": method, **_origin(data.file, prepared.columns, replaced, note_text)}
    fitted = fitted.with_metadata(metadata)
    if method == AUTO:
        note(f"auto: {calibrator.explanation_}")
    write_text(json.dumps(fitted.to_dict(), allow_nan=False, ensure_ascii=False, indent=1), output)
    if as_json:
        content = {"file": data.file, **prepared.describe(), "method": method}
        content |= {"rows_fitted": metadata["rows"], "family": fitted.family, "output": output}
        content |= {"fingerprint": fitted.fingerprint, "losses": metadata.get("losses")}
        content |= {"observed_expected": metadata.get("observed_expected")}
        content |= {"interval": interval, "notes": notes}
        emit_json("fit", content)
    else:
        words = filter(None, (losses_text(metadata), ratio_text(metadata)))
        measured = "".join(f" {text[:1].upper()}{text[1:]}." for text in words)
        where = "standard output" if output == STANDARD_OUTPUT else output
        note(
            f"{where}: {method} map fitted to {metadata['rows']:,} rows{prepared.left_out()}; "
            f"{prepared.classes_line()}{measured}"
        )
        formula = formula_text(metadata)
        if formula:
            note(f"{formula}; its SQL and code are short.")
        for line in notes:
            note(line)


def _origin(
    file: str, columns: ColumnNames, replaced: CalibrationMap | None, text: str | None
) -> dict[str, Any]:
    """Return the origin of the rows: file names without their folders, which may be private."""
    names: dict[str, Any] = {"score": list(columns.score), "label": columns.label}
    if columns.weight is not None:
        names["weight"] = columns.weight
    if columns.features:
        names["features"] = list(columns.features)
    said: dict[str, Any] = {"columns": names}
    if file != STANDARD_INPUT:
        said["file"] = as_unicode(Path(file).name)
    if replaced is not None:
        said["parent"] = replaced.fingerprint
    return said if text is None else {**said, "notes": text}


def _fit_counts(calibrator: Calibrator, prepared: Prepared, interval: float | None) -> Fit:
    """Fit a table; the engine has already checked every row."""
    from trueodds.cli.rows.read import count_rows
    from trueodds.model_selection import rows_metadata
    from trueodds.rows import Rows

    columns, n_rows = prepared.columns, prepared.tally.used
    table = count_rows(prepared.relation, n_rows, columns, columns.scale)
    if not (table.total_neg and table.total_pos):  # both have rows, perhaps of no weight
        raise InputError("the labels have one class only; calibration needs two.")
    rows = Rows.of_table(table)
    start = time.perf_counter()
    if interval is None:
        learned = calibrator.fit_map(rows)
    else:
        learned = calibrator.fit_map_with_band(rows, level=interval)
    fitted = learned.with_classes(prepared.classes.labels)
    seconds = time.perf_counter() - start
    logger.info("fitted a %s map to %s rows in %.3f s", fitted.family, f"{n_rows:,}", seconds)
    class_rows = prepared.classes.counts
    if columns.counts is not None:
        class_rows = round(table.total_neg), round(table.total_pos)
    metadata = rows_metadata(calibrator, rows, class_rows, learned)
    return Fit(fitted, metadata, prepared.classes.notes(table))


def _fit_rows(
    calibrator: Calibrator, prepared: Prepared, data: LabeledRowOptions, interval: float | None
) -> Fit:
    from trueodds.model_selection import fit_metadata

    rows = data.fetch(prepared)
    calibrator.set_params(classes=list(range(rows.n_classes)))
    features = {} if rows.features is None else {"features": rows.features}
    calibrator.fit(rows.scores, rows.codes, rows.weight, **features)
    learned = calibrator.map_ if interval is None else calibrator.to_map(interval=interval)
    metadata = fit_metadata(
        calibrator, rows.scores, rows.codes, rows.weight, features=rows.features
    )
    return Fit(learned.with_classes(rows.classes), metadata, rows.notes(prepared.classes))
