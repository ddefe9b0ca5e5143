"""The groups of a report: before calibration on all rows, after it on the compared rows."""

from __future__ import annotations

from typing import Any

from trueodds.inputs import Floats
from trueodds.metrics._groups import GroupColumn, GroupTest, groups_before_and_after
from trueodds.metrics._sample import event_of
from trueodds.report._evidence import ReportRows
from trueodds.report._plain import number

__all__ = ["group_table"]

MAX_LISTED = 25


def group_table(
    columns: list[GroupColumn],
    rows: ReportRows,
    sample: ReportRows,
    after: Floats,
    *,
    level: float,
) -> dict[str, Any]:
    """Test every group by :func:`trueodds.metrics.group_test`, before and after."""
    pairs, left_out = groups_before_and_after(
        columns,
        (event_of(rows.prob, rows.codes, rows.weight), rows.index),
        (event_of(after, sample.codes, sample.weight), sample.index),
        level=level,
    )
    entries = [
        {
            "column": test.column,
            "value": test.value,
            "before": _side(test),
            "after": None if then is None else _side(then),
        }
        for test, then in pairs
    ]
    return {
        "columns": [column.name for column in columns],
        "tested": sum(not test.too_small for test, _ in pairs),
        "too_small": sum(test.too_small for test, _ in pairs),
        "too_many_values": left_out,
        "correction": "Holm",
        "significant_before": sum(test.flagged for test, _ in pairs),
        "significant_after": sum(then is not None and then.flagged for _, then in pairs),
        "worst": entries[:MAX_LISTED],
    }


def _side(test: GroupTest) -> dict[str, Any]:
    plain = test.to_dict()
    between = plain["worst_between"]
    return {
        "rows": test.rows,
        "worst_between": None if between is None else [number(end) for end in between],
        "too_small": test.too_small,
        "flagged": test.flagged,
        **{
            key: number(plain[key])
            for key in ("predicted", "observed", "observed_low", "observed_high")
            + ("gap", "gap_at_least", "p_value", "p_adjusted")
        },
    }
