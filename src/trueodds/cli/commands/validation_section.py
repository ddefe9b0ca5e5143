"""The section of ``trueodds evaluate`` that speaks as papers on prediction models do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueodds.basics.wording import p_text
from trueodds.cli.errors import UsageError
from trueodds.cli.output import interval, note, number, say, show_table, working
from trueodds.cli.row_options import LabelledRowOptions
from trueodds.cli.rows.fetch import fetch_rows
from trueodds.cli.rows.prepare import Prepared

if TYPE_CHECKING:
    from trueodds.decisions import DecisionCurve
    from trueodds.metrics import ValidationTable

__all__ = ["Validation", "measure"]


@dataclass(frozen=True, eq=False)
class Validation:
    """The figures, the net benefit, or both."""

    table: ValidationTable | None
    curve: DecisionCurve | None
    level: float

    def to_dict(self) -> dict[str, Any]:
        """For the JSON document of the command."""
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


def measure(
    data: LabelledRowOptions,
    prepared: Prepared,
    thresholds: list[float],
    *,
    table: bool,
    level: float,
    n_resamples: int,
    random_state: int,
) -> Validation:
    """Compute what was asked for, on the rows of a file."""
    from trueodds.decisions import decision_curve
    from trueodds.metrics import validation_table

    if len(prepared.scores) > 1:
        raise UsageError("--validation and --threshold need a single score column.")
    rows = fetch_rows(prepared, data.max_rows, random_state)
    if rows.is_sample:
        note(
            f"a sample of {len(rows):,} of {rows.n_available:,} rows is used for the validation "
            "(--max-rows)."
        )
    options: dict[str, Any] = {
        "level": level,
        **data.named_weight(rows.weight),
        "classes": [0, 1],
    }
    with working("validating"):
        found = curve = None
        if table:
            found = validation_table(
                rows.codes,
                rows.scores,
                n_resamples=n_resamples,
                random_state=random_state,
                **options,
            )
        if thresholds:
            given = {"by the model": rows.scores}
            curve = decision_curve(rows.codes, given, thresholds=thresholds, **options)
    return Validation(found, curve, level)
