"""The groups of a report: before calibration on all rows, after it on the compared rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.inputs import (
    Floats,
)
from trueodds.metrics._groups import GroupColumn, GroupCounts, GroupTest, group_counts, judge_groups
from trueodds.metrics._sample import BinaryView
from trueodds.report._evidence import Event, ReportRows, event_of
from trueodds.report._plain import number

__all__ = ["MAX_VALUES", "group_table"]

MAX_VALUES = 100
"""Most frequent values of a column that are tested, as in ``trueodds evaluate``."""
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
    before_view = _view(event_of(rows.prob, rows.codes, rows.weight))
    after_view = _view(event_of(after, sample.codes, sample.weight))
    before: list[GroupCounts] = []
    later: list[GroupCounts] = []
    left_out = 0
    for column in columns:
        own, sampled = column.codes[rows.index], column.codes[sample.index]
        sizes = np.bincount(own, minlength=len(column.values))
        frequent = np.argsort(-sizes, kind="stable")
        left_out += int((sizes[frequent[MAX_VALUES:]] > 0).sum())
        tested = frequent[:MAX_VALUES]
        before += group_counts(column, own, before_view, tested[sizes[tested] > 0])
        seen = np.bincount(sampled, minlength=len(column.values))
        later += group_counts(column, sampled, after_view, tested[seen[tested] > 0])
    judged = judge_groups(before, level=level)
    found = {(t.column, t.value): t for t in judge_groups(later, level=level)}
    entries = []
    for test in judged:
        then = found.get((test.column, test.value))
        entries.append(
            {
                "column": test.column,
                "value": test.value,
                "before": _side(test),
                "after": None if then is None else _side(then),
            }
        )
    return {
        "columns": [column.name for column in columns],
        "tested": sum(not test.too_small for test in judged),
        "too_small": sum(test.too_small for test in judged),
        "too_many_values": left_out,
        "correction": "Holm",
        "significant_before": sum(test.flagged for test in judged),
        "significant_after": sum(test.flagged for test in found.values()),
        "worst": entries[:MAX_LISTED],
    }


def _view(event: Event) -> BinaryView:
    return BinaryView(event.prob, event.hit, event.weight)


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
