"""The numbers that the Bayesian isotonic paper prints: sets, Tables 1 and 2, section 3."""

from __future__ import annotations

from typing import Any

from trueodds_studies._optional import need
from trueodds_studies._printed import printed_rows
from trueodds_studies.datasets import at_hand

__all__ = ["CORRECTION", "FLAGGED", "SETS", "SIZES", "TABLE_2", "sets_at_hand", "table_1"]

SIZES = (100, 1000, 3000)
"""Numbers of rows to which a map is fitted."""

SETS: dict[str, str | None] = {
    "SEA(50)": "SEA50-regenerated",
    "BNG(breast-w)": None,
    "BNG(sonar)": None,
    "BNG(heart-statlog)": None,
    "2dplanes": "2dplanes",
    "house_16H": "house_16H",
    "cal_housing": "cal_housing",
    "houses": "houses",
    "house_8L": "house_8L",
    "fried": "fried",
    "letter": "letter",
    "BNG(spectf_test)": None,
    "BNG(Australian)": None,
    "BNG(SPECTF)": None,
    "skin-segmentation": "skin-segmentation",
    "creditcard": "creditcard-casecontrol",
    "numerai28.6": None,
}
"""The 17 sets, each with the name of our copy."""

TABLE_2 = {
    "brier_score": {"100": 86, "1000": 79, "3000": 56, "3000 LH": 71},
    "log_loss": {"100": 92, "1000": 84, "3000": 59, "3000 LH": 73},
}
"""Pairs of set and model, in %, where Bayes-Iso is better than Iso-Platt and ENIR-Platt."""
FLAGGED = 27
"""Pairs at 3000, in %, where one sampled map outweighs all others (section 5.3)."""
CORRECTION = {("iso", "log_loss"): (458, 459), ("iso", "brier_score"): (424, 459)}
"""Cases in which Platt's correction helped (section 3)."""


def table_1() -> Any:
    """Table 1 as a pandas frame."""
    rows = printed_rows(__package__, "table_1")
    columns = [name for name in rows[0] if name != "method"]
    values = [[float(row[name]) for name in columns] for row in rows]
    return need("pandas").DataFrame(values, [row["method"] for row in rows], columns)


def sets_at_hand() -> list[str]:
    """Our names of those of the paper's sets that need no network."""
    return [name for name in SETS.values() if name and at_hand(name)]
