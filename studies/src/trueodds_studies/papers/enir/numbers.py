"""The numbers that the ENIR paper prints: its 40 sets, Tables I, II and IV to VI.

``sets.csv``: the paper's name (footnote 7), ours, rows, positive classes. The paper does not
describe how it merged several classes into two; the rules are those of the collections that have
sets with these names. ``table_1.csv``, ``table_2.csv`` (95% intervals) and ``tables_4_to_6.csv``
(average ranks; a star where ENIR is significantly better than the method) are the tables as
printed.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from trueodds_studies._optional import need
from trueodds_studies._printed import printed_rows
from trueodds_studies.datasets import at_hand

__all__ = [
    "ALL_FOLDS",
    "INTERVALS",
    "MEASURES",
    "METHODS",
    "MODELS",
    "RANKS",
    "SETS",
    "SIMULATED",
    "SINGLE_FOLDS",
    "SIZES",
    "SUPERIOR",
    "VIEWS",
    "EnirSource",
    "column_of",
    "interval_table",
    "rank_table",
    "sets_at_hand",
    "simulated_table",
]

MEASURES = ("AUC", "ACC", "RMSE", "ECE", "MCE")
VIEWS = {
    "text": {},
    "program": {"AUC": "AUC program", "ECE": "ECE program", "MCE": "MCE program"},
    "shared": {"ECE": "ECE shared", "MCE": "MCE shared"},
}
"""Readings of the measures, and the names in the results of those that differ."""
ALL_FOLDS = -1
"""Fold number of all folds of a run together."""
SINGLE_FOLDS = list(range(10))
METHODS = ("IsoRegC", "BBQ", "ENIR")
MODELS = ("LR", "SVM", "NB")


class EnirSource(NamedTuple):
    """Source of a set of the paper.

    Attributes
    ----------
    name : str
        Name for :func:`trueodds_studies.datasets.load`.
    rows : int
    positive : tuple of str
        Classes that count as positive; empty for the second of two in sorted order.
    """

    name: str
    rows: int
    positive: tuple[str, ...] = ()


SETS: dict[str, EnirSource] = {
    row["set"]: EnirSource(row["name"], int(row["rows"]), tuple(row["positive"].split()))
    for row in printed_rows(__package__, "sets")
}


def _by_two(table: str, outer: str, columns: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Numbers of the columns, by the outer heading and by measure; stars are left out."""
    found: dict[str, dict[str, Any]] = {}
    for row in printed_rows(__package__, table):
        numbers = tuple(float(row[name].rstrip("*")) for name in columns)
        found.setdefault(row[outer], {})[row["measure"]] = numbers
    return found


SIMULATED: dict[str, dict[str, tuple[float, ...]]] = _by_two(
    "table_1", "kernel", ("base", *METHODS)
)
"""Table I: the base SVM, IsoRegC, BBQ, ENIR."""

INTERVALS: dict[str, dict[str, tuple[float, float]]] = _by_two(
    "table_2", "classifier", ("low", "high")
)
"""Table II: 95% intervals of the relative gain of ENIR over the base classifier (equation 10)."""

RANKS: dict[str, dict[str, tuple[float, float, float]]] = _by_two(
    "tables_4_to_6", "classifier", METHODS
)
"""Tables IV to VI: average ranks of IsoRegC, BBQ, ENIR."""

SUPERIOR: dict[str, list[tuple[str, str]]] = {
    model: [
        (row["measure"], name)
        for row in printed_rows(__package__, "tables_4_to_6")
        for name in METHODS
        if row["classifier"] == model and row[name].endswith("*")
    ]
    for model in MODELS
}
"""The stars of Tables IV to VI: where ENIR is significantly better, and than which method."""

SIZES = {
    "rows": (42.0, 683.0, 1861.0, 8973.0, 581012.0),
    "share of the rarer class": (0.009, 0.076, 0.340, 0.443, 0.500),
}
"""Table III: least, quartiles and greatest over the 40 sets."""


def column_of(measure: str, view: str) -> str:
    """Return the column of the results with a measure by one reading."""
    return VIEWS[view].get(measure, measure)


def sets_at_hand() -> list[str]:
    """Return the paper's sets that are in the data folder or in an installed package."""
    return [name for name, source in SETS.items() if at_hand(source.name)]


def simulated_table(kernel: str) -> Any:
    """Table I (a) or (b) as a pandas frame."""
    return _frame(SIMULATED[kernel], ("base", *METHODS))


def rank_table(model: str) -> Any:
    """Table IV, V or VI as a pandas frame."""
    return _frame(RANKS[model], METHODS)


def interval_table(model: str) -> Any:
    """A column of Table II as a pandas frame."""
    return _frame(INTERVALS[model], ("low", "high"))


def _frame(rows: dict[str, Any], columns: tuple[str, ...]) -> Any:
    pandas = need("pandas")
    return pandas.DataFrame(list(rows.values()), index=list(rows), columns=list(columns))
