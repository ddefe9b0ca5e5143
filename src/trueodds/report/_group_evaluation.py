"""The measures of each group of rows from its counts, with control of false alarms."""

from __future__ import annotations

from collections.abc import (
    Iterable,
    Iterator,
)
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.compare import holm_adjust
from trueodds.metrics import evaluate_table
from trueodds.table import ScoreTable
from trueodds.validation import (
    as_tuple,
    check_instance,
)

__all__ = ["GroupCounts", "evaluate_groups"]

SIGNIFICANT = 0.05


@dataclass(frozen=True, eq=False)
class GroupCounts:
    """The rows of one group.

    Parameters
    ----------
    column, value : str
        What the group is: ``column`` has this ``value``.
    rows : int
    table : ScoreTable
        Of probabilities.

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> from trueodds.report import GroupCounts
    >>> group = GroupCounts("town", "A", 3, ScoreTable.from_arrays([0.1, 0.4, 0.8], [0, 1, 1]))
    >>> group.column, group.value, group.rows
    ('town', 'A', 3)
    """

    column: str
    value: str
    rows: int
    table: ScoreTable


def evaluate_groups(
    groups: Iterable[GroupCounts],
    *,
    level: float = 0.9,
    n_resamples: int = 200,
    random_state: Any = 0,
) -> dict[str, Any]:
    """Measure every group, and find those whose probabilities are off by more than chance.

    A group is flagged if its p-value (:attr:`trueodds.metrics.Evaluation.p_value`), corrected by
    Holm's method for the number of groups, is below 5 %: so the chance of any false alarm among
    all groups, which may overlap, is below 5 %.

    Parameters
    ----------
    groups : iterable of GroupCounts
        Taken one at a time, so that they need not be in memory together.
    level, n_resamples, random_state
        As in :func:`trueodds.metrics.evaluate_table`.

    Returns
    -------
    dict
        ``correction``, ``significance``, and ``groups``: one dict for each, flagged ones first,
        then by debiased calibration error. Plain JSON values.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import ScoreTable
    >>> from trueodds.report import GroupCounts, evaluate_groups
    >>> p = np.arange(1, 100) / 100
    >>> fair = ScoreTable(p, 10 * (1 - p), 10 * p)
    >>> off = ScoreTable(p, 10 * (1 - p / 2), 10 * p / 2)
    >>> groups = [GroupCounts("g", "a", 990, fair), GroupCounts("g", "b", 990, off)]
    >>> [(e["value"], e["flagged"]) for e in evaluate_groups(groups)["groups"]]
    [('b', True), ('a', False)]
    """
    options = {"level": level, "n_resamples": n_resamples, "random_state": random_state}
    entries = [_entry(group, options) for group in _each(groups)]
    if entries:
        adjusted = holm_adjust(np.array([entry["p_value"] for entry in entries]))
        for entry, p in zip(entries, adjusted, strict=True):
            entry["p_adjusted"] = float(p)
            entry["flagged"] = bool(p < SIGNIFICANT)
    entries.sort(key=lambda e: (not e["flagged"], -(e["debiased_calibration_error"] or 0.0)))
    return {"correction": "Holm", "significance": SIGNIFICANT, "groups": entries}


def _each(groups: Any) -> Iterator[GroupCounts]:
    if not hasattr(groups, "__next__"):  # what is made one at a time stays so
        groups = as_tuple(groups, "groups")
    for group in groups:
        check_instance(group, GroupCounts, "each of groups")
        yield group


def _entry(group: GroupCounts, options: dict[str, Any]) -> dict[str, Any]:
    found = evaluate_table(group.table, **options).to_dict()
    return {
        "column": group.column,
        "value": group.value,
        "rows": group.rows,
        "mean_score": found["mean_score"],
        "prevalence": found["prevalence"],
        **{name: measure["estimate"] for name, measure in found["metrics"].items()},
        "p_value": found["p_value"],
    }
