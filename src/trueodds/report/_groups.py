"""Groups of rows in which the probabilities are worst, with control of false alarms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.compare import holm_adjust
from trueodds.exceptions import InputError
from trueodds.report._evidence import Event, ReportRows, event_of
from trueodds.report._gaps import Gaps, binned_gaps, whole_gap, wilson
from trueodds.report._plain import number
from trueodds.validation import (
    Floats,
    check_instance,
)

__all__ = ["GroupColumn", "group_table", "read_groups"]

MIN_ROWS = 20
"""Smaller groups are not tested: they could prove nothing, and would only weaken the others."""
MAX_VALUES = 100
"""Most frequent values of a column that are tested."""
MAX_LISTED = 25
NUMBER_BANDS = 5
ROWS_PER_BIN = 100
MAX_BINS = 5
MISSING = "(missing)"


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column that parts the rows: the number of each row's value, and what values are called."""

    name: str
    codes: npt.NDArray[np.intp]
    values: list[str]


def read_groups(groups: Mapping[str, Any] | None, n_rows: int) -> list[GroupColumn]:
    """Validate the columns; numbers of many values are cut into five bands of equal mass."""
    if groups is None:
        return []
    check_instance(groups, Mapping, "groups")
    columns = []
    for name, values in groups.items():
        array = _as_array(values)
        if array.shape != (n_rows,):
            raise InputError(f"groups[{name!r}] must have shape ({n_rows},); got {array.shape}.")
        columns.append(_column(str(name), array))
    return columns


def _as_array(values: Any) -> npt.NDArray[Any]:
    # Missing values are a group of their own here, so the strict door of scores does not serve.
    to_numpy = getattr(values, "to_numpy", None)
    return np.asarray(to_numpy() if to_numpy is not None else values)


def _column(name: str, array: npt.NDArray[Any]) -> GroupColumn:
    if array.dtype.kind in "fiu" and len(np.unique(array)) > 2 * NUMBER_BANDS:
        return _bands(name, array.astype(np.float64))
    if array.dtype.kind == "f":
        text = np.array([MISSING if v != v else f"{v:g}" for v in array.tolist()], dtype=object)
    elif array.dtype.kind == "O":
        plain = [MISSING if v is None or v != v else str(v) for v in array.tolist()]
        text = np.array(plain, dtype=object)
    else:
        text = array.astype(str)
    found, codes = np.unique(text, return_inverse=True)
    return GroupColumn(name, codes.astype(np.intp), [str(v) for v in found])


def _bands(name: str, array: Floats) -> GroupColumn:
    missing = np.isnan(array)
    cuts = np.unique(np.quantile(array[~missing], np.arange(1, NUMBER_BANDS) / NUMBER_BANDS))
    codes = np.searchsorted(cuts, array, side="right")
    ends = [f"{cut:.4g}" for cut in cuts]
    labels = [f"below {ends[0]}"]
    labels += [f"{a} to {b}" for a, b in pairwise(ends)]
    labels.append(f"{ends[-1]} and above")
    codes[missing] = len(labels)
    return GroupColumn(name, codes.astype(np.intp), [*labels, MISSING])


def group_table(
    columns: list[GroupColumn],
    rows: ReportRows,
    sample: ReportRows,
    after: Floats,
    *,
    level: float,
) -> dict[str, Any]:
    """Test every group before (on all rows) and after calibration (on the compared rows).

    A group's test asks whether events happen as often as the probabilities say, in the whole
    group and in up to five bins of it (Bonferroni within the group). Holm's method then keeps
    the chance of any false alarm among all groups, which may overlap.
    """
    before_event = event_of(rows.prob, rows.codes, rows.weight)
    after_event = event_of(after, sample.codes, sample.weight)
    entries: list[dict[str, Any]] = []
    small = left_out = 0
    for column in columns:
        own, sampled = column.codes[rows.index], column.codes[sample.index]
        sizes = np.bincount(own, minlength=len(column.values))
        order = np.argsort(own, kind="stable")
        starts = np.concatenate([[0], np.cumsum(sizes)])
        frequent = np.argsort(-sizes, kind="stable")
        left_out += int((sizes[frequent[MAX_VALUES:]] > 0).sum())
        for code in frequent[:MAX_VALUES]:
            if sizes[code] == 0:
                continue
            if sizes[code] < MIN_ROWS:
                small += 1
                continue
            chosen = order[starts[code] : starts[code + 1]]
            entry = {"column": column.name, "value": column.values[code]}
            entry["before"] = _side(_part(before_event, chosen), level)
            found = np.flatnonzero(sampled == code)
            enough = len(found) >= MIN_ROWS
            entry["after"] = _side(_part(after_event, found), level) if enough else None
            entries.append(entry)
    _adjust(entries)
    entries.sort(key=_badness)
    return {
        "columns": [column.name for column in columns],
        "tested": len(entries),
        "too_small": small,
        "too_many_values": left_out,
        "min_rows": MIN_ROWS,
        "correction": "Holm",
        "significant_before": sum(_significant(e["before"]) for e in entries),
        "significant_after": sum(_significant(e["after"]) for e in entries),
        "worst": entries[:MAX_LISTED],
    }


def _part(event: Event, rows: npt.NDArray[np.intp]) -> Event:
    weight = None if event.weight is None else event.weight[rows]
    return Event(event.prob[rows], event.hit[rows], weight)


def _side(event: Event, level: float) -> dict[str, Any]:
    whole = whole_gap(event)
    tests = whole.p_value
    bins: Gaps | None = None
    n_bins = min(len(event) // ROWS_PER_BIN, MAX_BINS)
    if n_bins > 1:
        bins = binned_gaps(event, n_bins)
        tests = np.concatenate([tests, bins.p_value])
    low, high = wilson(whole.frequency, whole.weight**2 / whole.square_weight, level)
    mean = float(whole.mean_prob[0])
    worst = int(np.argmin(tests)) - 1
    return {
        "rows": len(event),
        "predicted": number(mean),
        "observed": number(whole.frequency[0]),
        "observed_low": number(low[0]),
        "observed_high": number(high[0]),
        "gap": number(mean - whole.frequency[0]),
        "gap_at_least": number(max(0.0, low[0] - mean, mean - high[0])),
        # Where within the group it shows most, unless in the group as a whole.
        "worst_between": (
            [number(bins.low[worst]), number(bins.high[worst])]
            if bins is not None and worst >= 0
            else None
        ),
        "p_value": number(min(1.0, float(tests.min()) * len(tests))),
    }


def _adjust(entries: list[dict[str, Any]]) -> None:
    for side in ("before", "after"):
        present = [e[side] for e in entries if e[side] is not None]
        if present:
            adjusted = holm_adjust(np.array([s["p_value"] for s in present]))
            for entry, value in zip(present, adjusted, strict=True):
                entry["p_adjusted"] = number(value)


def _significant(side: dict[str, Any] | None) -> bool:
    return side is not None and side["p_adjusted"] < 0.05


def _badness(entry: dict[str, Any]) -> tuple[Any, ...]:
    """Proven groups first; then by how far off a group is at least; then by chance."""
    side = entry["before"]
    return (
        not _significant(side),
        -side["gap_at_least"],
        side["p_adjusted"],
        entry["column"],
        entry["value"],
    )
