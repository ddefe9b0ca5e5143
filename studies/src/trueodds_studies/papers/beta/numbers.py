"""The numbers that the beta calibration paper prints and its authors published.

``tables_1_and_2.csv``: our name of a set; the first letters of its name in Table 2; rows in Table
1; log-loss with Ada-O in Table 2, and its ranks before rounding (the subscripts). Both tables call
wpbc "wdbc" a second time (194 × 33). ``friedman.csv``: the p-values in the captions of figures 4 to
7. ``authors_results.csv``: means of the authors' 50 folds on each set in units of 1e-4, from
`github.com/REFRAME/betacal`, folder `aistats2017/experiments/results`; Table 2 and the p-values are
those of these files. ``authors_ranks.csv``: average ranks that the diagrams show, of these results
before rounding.
"""

from __future__ import annotations

from typing import Any

from trueodds_studies._optional import need
from trueodds_studies._printed import printed_rows
from trueodds_studies.datasets import at_hand

__all__ = [
    "AUTHORS_RANKS",
    "COLUMNS",
    "FRIEDMAN",
    "PAPER_RANKS",
    "PARAMETRIC",
    "SETS",
    "authors_table",
    "sets_at_hand",
    "table_2",
    "table_2_ranks",
]

COLUMNS = ("uncalibrated", "beta", "isotonic", "logistic")
PARAMETRIC = ("uncalibrated", "logistic", "beta", "beta-am", "beta-ab")
PUBLISHED = (*COLUMNS, "beta-am", "beta-ab")

_ROWS = printed_rows(__package__, "tables_1_and_2")
SETS: dict[str, int] = {row["set"]: int(row["rows"]) for row in _ROWS}
"""The 41 sets with the number of rows in Table 1."""

PAPER_RANKS = {"uncalibrated": 3.20, "beta": 1.27, "isotonic": 3.12, "logistic": 2.41}
"""Average ranks under Table 2, of losses before rounding."""

FRIEDMAN: dict[tuple[str, str, str], float] = {
    (row["figure"], row["loss"], row["model"]): float(row["p"])
    for row in printed_rows(__package__, "friedman")
}
"""P-values of the Friedman tests in the captions."""

AUTHORS_RANKS: dict[tuple[str, str], tuple[tuple[float, ...], tuple[float, ...]]] = {
    (row["measure"], row["model"]): (
        tuple(float(row[name]) for name in COLUMNS),
        tuple(float(row[f"parametric: {name}"]) for name in PARAMETRIC),
    )
    for row in printed_rows(__package__, "authors_ranks")
}
"""Average ranks of COLUMNS and of PARAMETRIC that the diagrams show."""


def sets_at_hand() -> list[str]:
    """Return the paper's sets that are in the data folder or in an installed package."""
    return [name for name in SETS if at_hand(name)]


def table_2() -> Any:
    """Table 2 as a pandas frame."""
    return _frame([[float(row[name]) for name in COLUMNS] for row in _ROWS], COLUMNS)


def table_2_ranks() -> Any:
    """The subscripts of Table 2 as a pandas frame."""
    return _frame([[float(row[f"rank of {name}"]) for name in COLUMNS] for row in _ROWS], COLUMNS)


def authors_table(measure: str, model: str) -> Any:
    """The authors' results as a pandas frame of sets × methods."""
    rows = [
        [int(row[f"{measure} of {name}"]) / 1e4 for name in PUBLISHED]
        for row in printed_rows(__package__, "authors_results")
        if row["model"] == model
    ]
    return _frame(rows, PUBLISHED)


def _frame(values: list[list[float]], columns: tuple[str, ...]) -> Any:
    return need("pandas").DataFrame(values, index=list(SETS), columns=list(columns))
