"""The numbers that the calibration trees paper prints: Tables 2 to 6.

``tables_2_to_5.csv``: the paper's name of a set; ours; rows and classes at hand; RMSE of PCT, PS
and IR with each base learner. "+" and "-": PCT is significantly better or worse than this method.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from trueodds_studies._optional import need
from trueodds_studies._printed import printed_rows
from trueodds_studies.datasets import at_hand

__all__ = ["METHODS", "MODELS", "SETS", "SIGN_TESTS", "TreesSource", "paper_table", "sets_at_hand"]

METHODS = ("PCT", "PS", "IR")
MODELS = ("naive-bayes", "stumps", "boosted-trees", "svm")
"""Tables 2, 3, 4 and 5."""


class TreesSource(NamedTuple):
    """Source of a set of the paper.

    Attributes
    ----------
    name : str
        Name for :func:`trueodds_studies.datasets.load`.
    rows, n_classes : int
    """

    name: str
    rows: int
    n_classes: int


_ROWS = printed_rows(__package__, "tables_2_to_5")
SETS: dict[str, TreesSource] = {
    row["set"]: TreesSource(row["name"], int(row["rows"]), int(row["classes"])) for row in _ROWS
}

SIGN_TESTS: dict[tuple[str, str], tuple[int, int, int, float]] = {
    (row["learner"], row["rival"]): (
        int(row["wins"]),
        int(row["draws"]),
        int(row["losses"]),
        float(row["p"]),
    )
    for row in printed_rows(__package__, "table_6")
}
"""Table 6: significant wins, draws and losses of PCT, and p (the first is an upper bound)."""


def sets_at_hand() -> list[str]:
    """Return the paper's sets that are in the data folder or in an installed package."""
    return [name for name, source in SETS.items() if at_hand(source.name)]


def paper_table(model: str) -> tuple[Any, Any]:
    """Table 2, 3, 4 or 5 as two pandas frames: RMSE, and +1, −1 or 0 for its circles."""
    pandas = need("pandas")
    cells = [[row[f"{model}, {method}"] for method in METHODS] for row in _ROWS]
    signs = {"+": 1, "-": -1}
    numbers = [[float(cell.rstrip("+-")) for cell in row] for row in cells]
    marks = [[signs.get(cell[-1], 0) for cell in row] for row in cells]
    names = list(SETS)
    return (
        pandas.DataFrame(numbers, index=names, columns=list(METHODS)),
        pandas.DataFrame(marks, index=names, columns=list(METHODS)),
    )
