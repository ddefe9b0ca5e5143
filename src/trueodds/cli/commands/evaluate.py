"""``trueodds evaluate``: measure the calibration of a file's probabilities."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

from trueodds.basics.wording import counted, p_cell, p_text, probability_text
from trueodds.cli import options as o
from trueodds.cli.errors import UsageError
from trueodds.cli.output import emit_json, interval, note, number, say, show_table, working
from trueodds.cli.rows.columns import refuse_margins
from trueodds.cli.rows.groups import find_groups
from trueodds.cli.rows.options import LabeledRowOptions
from trueodds.cli.rows.prepare import Prepared

if TYPE_CHECKING:
    from trueodds.cli.rows.read import FileRows
    from trueodds.decisions import DecisionCurve
    from trueodds.inputs import Floats
    from trueodds.metrics import ClassEvaluation, Evaluation, MetricInterval, ValidationReport
    from trueodds.table import ScoreTable

__all__ = ["evaluate"]

SEGMENT_ROWS = 100_000
"""Most rows for the error of the worst segment, which simulates labels of all of them."""

Tolerance = Annotated[
    float,
    o.share_option(
        "--tolerance",
        help='Label statistically significant miscalibration as "small" below this size.',
    ),
]
Resamples = Annotated[
    int,
    o.result_option(
        "--resamples",
        min=20,
        help="Number of resamples for figures that have no formula (ICI, segments).",
    ),
]
WithValidation = Annotated[
    bool,
    o.result_option(
        "--validation",
        help="Add clinical validation measures: O:E, intercept, slope, ICI, C statistic, …",
    ),
]
Thresholds = Annotated[
    list[float] | None,
    o.result_option(
        "--threshold",
        metavar="SHARE",
        parser=o.share(0.0, 0.999),
        help="Add the net benefit of this decision threshold; repeatable.",
    ),
]
MaxGroups = Annotated[
    int,
    o.rows_option("--max-groups", min=1, help="Maximum number of groups; the largest are kept."),
]


def evaluate(
    data: LabeledRowOptions,
    group: o.Group = None,
    cluster: o.Cluster = None,
    max_groups: MaxGroups = 100,
    validation: WithValidation = False,
    threshold: Thresholds = None,
    tolerance: Tolerance = 0.02,
    level: o.Level = 0.9,
    resamples: Resamples = 1000,
    as_json: o.Json = False,
) -> None:
    """Measure how well predicted probabilities agree with outcomes.

    With one score column, DuckDB counts the rows, so a file may be much larger than memory.
    Several columns (classes), --validation and --threshold use at most --max-rows rows.

    Examples
    --------
    trueodds evaluate scores.parquet --score p --label y
    trueodds evaluate 'scores/*.csv' --score p --label y --group country
    trueodds evaluate patients.csv --score risk --label died --validation --threshold 0.1
    trueodds evaluate scores.csv -s p_cat -s p_dog -s p_fox --label animal --json
    trueodds evaluate labels.csv -s p -l y --group label --cluster post
    """
    refuse_margins(data.input_scale)
    options = {"level": level, "n_resamples": resamples, "random_state": data.seed}
    if cluster is not None:
        _evaluate_clusters(
            *(data, cluster, group or [], validation, threshold or [], tolerance, options, as_json)
        )
        return
    columns = data.columns(groups=tuple(group or ()))
    result: Evaluation | ClassEvaluation
    table: ScoreTable | None = None
    groups: dict[str, Any] | None = None
    with data.open(columns) as source:
        prepared = data.prepare(source, columns, as_probability=True)
        with working("measuring", source.connection):
            if len(prepared.scores) > 1:
                result, groups = _classes(data, prepared, options)
            else:
                result, table = _whole(prepared, options)
        if group and groups is None:
            groups = _groups(data, prepared, max_groups, level, resamples)
        section = _validation(data, prepared, validation, threshold or [], options)
    notes = [*prepared.classes.notes(table), *_doubts(result)]
    finding = result.finding(tolerance, groups["groups"] if groups else None)
    _emit(data, prepared, result, groups, section, finding, notes, level, as_json=as_json)


def _emit(
    data: LabeledRowOptions,
    prepared: Prepared,
    result: Evaluation | ClassEvaluation,
    groups: dict[str, Any] | None,
    section: Validation | None,
    finding: str,
    notes: list[str],
    level: float,
    *,
    as_json: bool,
) -> None:
    """Print the results, or one JSON document of them."""
    if as_json:
        # On a terminal, the evaluation's own notes are warnings.
        said = [*notes, *result.notes]
        content = {"file": data.file, **prepared.describe(), "level": level, "notes": said}
        content["evaluation"] = result.to_dict()
        content["finding"] = finding
        if section is not None:
            content |= section.to_dict()
        emit_json("evaluation", content if groups is None else {**content, "groups": groups})
        return
    _show(data.file, prepared, result, level, finding)
    for line in notes:
        say(line)
    if section is not None:
        section.show()
    if groups is not None:
        _show_groups(groups)


def _evaluate_clusters(
    data: LabeledRowOptions,
    cluster: str,
    group: list[str],
    validation: bool,
    thresholds: list[float],
    tolerance: float,
    options: dict[str, Any],
    as_json: bool,
) -> None:
    """The same of rows in clusters, which are read into memory: a table of counts has none."""
    from trueodds.cli.rows.read import read_rows
    from trueodds.metrics._clusters import read_clusters
    from trueodds.metrics._evaluation import evaluate_clusters
    from trueodds.metrics._sample import read_kept

    if thresholds:
        raise UsageError(
            "--threshold takes no --cluster: net benefit has no interval for clusters."
        )
    columns = data.columns(groups=(*group, cluster))
    with data.open(columns) as source:
        prepared = data.prepare(source, columns, as_probability=True)
        rows = read_rows(prepared, data.max_rows, data.seed)
    if rows.is_sample:
        note(f"a sample of {len(rows):,} of {rows.n_available:,} rows is used (--max-rows).")
    of_row = rows.groups.pop(cluster)
    missing = sum(value is None or value != value for value in of_row.tolist())
    if missing:
        raise UsageError(f"the column {cluster!r} of --cluster has {missing:,} missing values.")
    scores = _probabilities(data, rows)
    given: dict[str, Any] = {"sample_weight": rows.weight, "classes": range(rows.n_classes)}
    with working("measuring"):
        sample, kept = read_kept(rows.codes, scores, **given)
        own = read_clusters(of_row, scores, kept)
        result = evaluate_clusters(sample, own, **options)
        groups = _groups_of_rows(rows, scores, options, of_row, own) if rows.groups else None
    section = _measure(rows, [], of_row, table=True, **options) if validation else None
    n_clusters = int(own.max()) + 1
    notes = [f"Intervals and tests take the {n_clusters:,} values of {cluster} as independent."]
    finding = result.finding(tolerance, groups["groups"] if groups else None)
    level = options["level"]
    _emit(data, prepared, result, groups, section, finding, notes, level, as_json=as_json)


def _probabilities(data: LabeledRowOptions, rows: FileRows) -> Floats:
    """The scores of rows, of which the logits of several classes are not probabilities yet."""
    if data.input_scale == "logit" and rows.scores.ndim == 2:
        from trueodds.numerics.softmax.logits import softmax

        return softmax(rows.scores)
    return rows.scores


def _whole(prepared: Prepared, options: dict[str, Any]) -> tuple[Evaluation, ScoreTable]:
    """Metrics and counts of all rows of two classes."""
    from trueodds.cli.rows.read import count_rows
    from trueodds.metrics import evaluate_counts

    table = count_rows(prepared.relation, prepared.tally.used, prepared.columns)
    return evaluate_counts(table, **options), table


def _classes(
    data: LabeledRowOptions, prepared: Prepared, options: dict[str, Any]
) -> tuple[ClassEvaluation, dict[str, Any] | None]:
    """Metrics of several classes, and their groups."""
    from trueodds.metrics import evaluate_classes

    rows = data.fetch(prepared, bytes_per_score=60)
    scores = _probabilities(data, rows)
    given: dict[str, Any] = {"sample_weight": rows.weight, "classes": range(rows.n_classes)}
    found = evaluate_classes(rows.codes, scores, **given, level=options["level"])
    return found, _groups_of_rows(rows, scores, options) if rows.groups else None


def _groups_of_rows(
    rows: FileRows, scores: Floats, options: dict[str, Any], clusters: Any = None, own: Any = None
) -> dict[str, Any]:
    """Groups of rows in memory; ``own`` is the cluster of each row of weight."""
    from trueodds.metrics import evaluate_groups, multicalibration_error
    from trueodds.metrics._groups import group_counts, read_grouped

    classes = range(rows.n_classes)
    view, read, kept, event = read_grouped(
        *(rows.codes, scores, rows.groups, rows.weight, None, classes)
    )
    found = (
        group
        for column in read
        for group in group_counts(column, column.codes[kept], view, event, cluster=own)
    )
    segments = multicalibration_error(
        *(rows.codes, scores, rows.groups),
        sample_weight=rows.weight,
        classes=classes,
        clusters=clusters,
        n_resamples=options["n_resamples"],
        random_state=options["random_state"],
    )
    return {
        **evaluate_groups(found, level=options["level"]),
        "multicalibration": {**segments.to_dict(), "finding": str(segments)},
        "left_out": 0,
    }


def _validation(
    data: LabeledRowOptions,
    prepared: Prepared,
    wanted: bool,
    thresholds: list[float],
    options: dict[str, Any],
) -> Validation | None:
    from trueodds.cli.rows.read import read_rows

    if not wanted and not thresholds:
        return None
    rows = read_rows(prepared, data.max_rows, data.seed)
    if rows.is_sample:
        note(
            f"The validation uses a sample of {len(rows):,} of {rows.n_available:,} rows "
            f"(--max-rows)."
        )
    return _measure(rows, thresholds, table=wanted, **options)


def _groups(
    data: LabeledRowOptions, prepared: Prepared, max_groups: int, level: float, resamples: int
) -> dict[str, Any]:
    from trueodds.metrics import evaluate_groups

    found = find_groups(prepared, max_groups)
    measured = evaluate_groups(found.counts(), level=level)
    entries = measured.pop("groups")
    return {
        **measured,
        "multicalibration": _segments(data, prepared, resamples),
        "left_out": found.left_out,
        "groups": entries,
    }


def _segments(data: LabeledRowOptions, prepared: Prepared, resamples: int) -> dict[str, Any]:
    """The worst segment, with its sentence."""
    from trueodds.cli.rows.read import read_rows
    from trueodds.metrics import multicalibration_error

    rows = read_rows(prepared, min(data.max_rows, SEGMENT_ROWS), data.seed)
    if rows.is_sample:
        note(
            f"a sample of {len(rows):,} of {rows.n_available:,} rows is used for the "
            "multicalibration error."
        )
    with working("measuring segments"):
        segments = multicalibration_error(
            rows.codes,
            rows.scores,
            rows.groups,
            sample_weight=rows.weight,
            classes=[0, 1],
            n_resamples=resamples,
            random_state=data.seed,
        )
    return {**segments.to_dict(), "finding": str(segments)}


def _show(
    file: str,
    prepared: Prepared,
    result: Evaluation | ClassEvaluation,
    level: float,
    finding: str,
) -> None:
    from trueodds.metrics import Evaluation

    rows = [
        [
            _title(name),
            _value(found),
            interval(found.low, found.high) if math.isfinite(found.low) else "–",
        ]
        for name, found in result.metrics.items()
    ]
    size = f"{prepared.tally.used:,} rows"
    if prepared.columns.counts:
        size = f"{prepared.tally.used:,} lines, {result.n:,.0f} rows"
    title = f"{file}: {size}{prepared.left_out()}"
    show_table(title, ["metric", "value", f"{100 * level:g}% interval"], rows)
    say(prepared.classes_line())
    if isinstance(result, Evaluation):
        say(f"Mean score {number(result.mean_score)}, observed rate {number(result.prevalence)}.")
    say(finding)


def _value(found: MetricInterval) -> str:
    """An estimate; the upper end of its interval where it is cut off at 0."""
    if found.estimate == 0 and found.low == 0 < found.high:
        return f"< {number(found.high)}"
    return number(found.estimate)


def _doubts(result: Evaluation | ClassEvaluation) -> Iterator[str]:
    """Yield signs of a mistake in the command rather than in the model."""
    from trueodds.metrics import Evaluation

    if not isinstance(result, Evaluation):
        return
    if 50 * result.prevalence < result.mean_score < 200 * result.prevalence:
        yield "Scores are about 100 times too high. If they are percentages, pass --unit percent."
    if result.metrics["log_loss"].estimate == math.inf:
        yield (
            "Log-loss is infinite because an outcome with predicted probability 0 occurred. "
            "Compare Brier scores instead."
        )


def _title(name: str) -> str:
    return name.replace("_", " ").replace("roc auc", "ROC AUC").replace("brier", "Brier")


def _show_groups(groups: dict[str, Any]) -> None:
    rows = [
        [
            f"{entry['column']} = {entry['value']}",
            f"{entry['rows']:,}",
            number(entry["predicted"]),
            number(entry["observed"]),
            number(entry["whole"]["ratio"], 2),
            interval(entry["whole"]["ratio_low"], entry["whole"]["ratio_high"], 2),
            p_cell(entry["p_adjusted"]),
            _off(entry),
        ]
        for entry in groups["groups"]
    ]
    level = groups["groups"][0]["whole"]["level"]
    ends = f"{100 * level:g}% interval"
    right = groups["groups"][0]["event"] == "right"
    means = ["confidence", "accuracy"] if right else ["mean score", "observed"]
    header = ["group", "rows", *means, "O:E", ends, "p adjusted", "off"]
    show_table(
        f"{counted(len(rows), 'group')}, worst first; off: not calibrated (the chance of any "
        f"false alarm is below {100 * groups['significance']:g}%)",
        header,
        rows,
    )
    say(
        "Worst is the group whose odds are off by the largest factor that its rows support, as a "
        "whole or in a range of scores. Intervals hold for all groups together."
    )
    say(groups["worst_group"]["finding"])
    if len({entry["column"] for entry in groups["groups"]}) > 1:  # segments combine columns
        say(groups["multicalibration"]["finding"])
    if groups["left_out"]:
        say(f"{groups['left_out']:,} smaller groups were not evaluated (--max-groups).")


def _off(entry: dict[str, Any]) -> str:
    """Whether a group is off, and in which range of the scores if not as a whole."""
    if entry["too_small"] and not entry["flagged"]:
        return "too small"
    if not entry["flagged"]:
        return ""
    between = entry["worst"]["between"]
    if between is None:
        return "yes"
    return f"at {probability_text(between[0])} to {probability_text(between[1])}"


@dataclass(frozen=True, eq=False)
class Validation:
    """Clinical validation measures, the net benefit, or both."""

    table: ValidationReport | None
    curve: DecisionCurve | None
    level: float

    def to_dict(self) -> dict[str, Any]:
        """Return what the JSON document contains."""
        found: dict[str, Any] = {}
        if self.table is not None:
            found["validation"] = self.table.to_dict()
        if self.curve is not None:
            found["net_benefit"] = self.curve.rows()
        return found

    def show(self) -> None:
        """Print the tables."""
        ends = f"{100 * self.level:g}% interval"
        if self.table is not None:
            rows = [
                [row["title"], number(row["estimate"]), interval(row["low"], row["high"])]
                for row in self.table.rows()
            ]
            title = f"\nvalidation: {self.table.n:,} rows, {self.table.events:,} with the event"
            show_table(title, ["figure", "value", ends], rows)
            cox, groups = self.table.cox_test.p_value, self.table.hosmer_lemeshow.p_value
            say(f"Cox's test: {p_text(cox)}; Hosmer–Lemeshow: {p_text(groups)}.")
            for line in self.table.notes:
                say(line)
            if self.table.groups:
                show_table("\nvalidation of each group", *self.table.group_table())
        if self.curve is not None:
            rows = [
                [
                    row["model"],
                    number(row["threshold"]),
                    number(row["net_benefit"]),
                    interval(row["low"], row["high"]),
                    number(100 * row["avoided"], 1),
                ]
                for row in self.curve.rows()
            ]
            header = ["who is treated", "threshold", "net benefit", ends, "avoided per 100"]
            show_table("\nnet benefit (treat none: 0)", header, rows)


def _measure(
    rows: FileRows,
    thresholds: list[float],
    clusters: Any = None,
    *,
    table: bool,
    level: float,
    n_resamples: int,
    random_state: int,
) -> Validation:
    """Compute the requested measures from the rows of a file."""
    from trueodds.decisions import decision_curve
    from trueodds.metrics import validation_report

    if rows.n_classes > 2:
        raise UsageError("--validation and --threshold need the scores of two classes.")
    options: dict[str, Any] = {
        "level": level,
        "sample_weight": rows.weight,
        "classes": [0, 1],
    }
    with working("validating"):
        found = curve = None
        if table:
            found = validation_report(
                rows.codes,
                rows.scores,
                groups=rows.groups or None,
                clusters=clusters,
                n_resamples=n_resamples,
                random_state=random_state,
                **options,
            )
        if thresholds:
            given = {"by the model": rows.scores}
            curve = decision_curve(rows.codes, given, thresholds=thresholds, **options)
    return Validation(found, curve, level)
