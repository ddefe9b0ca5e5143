"""Tables that papers print, kept as CSV files in the papers' folders."""

from __future__ import annotations

import csv
from importlib.resources import files

__all__ = ["printed_rows"]


def printed_rows(package: str, name: str) -> list[dict[str, str]]:
    """The rows of ``<name>.csv`` in a package, as text by the heading of the column.

    Examples
    --------
    >>> from trueodds_studies._printed import printed_rows
    >>> printed_rows("trueodds_studies.papers.trees", "table_6")[0]["wins"]
    '27'
    """
    text = files(package).joinpath(f"{name}.csv").read_text("utf-8")
    return list(csv.DictReader(text.splitlines()))
