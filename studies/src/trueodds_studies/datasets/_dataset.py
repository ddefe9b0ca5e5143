"""What a loaded data set is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueodds_studies._optional import need

__all__ = ["Dataset", "typed"]


@dataclass(frozen=True)
class Dataset:
    """A data set with where it came from.

    Attributes
    ----------
    name : str
    X : pandas.DataFrame
        Attributes with their own types: numbers as numbers, nominal ones as categories, missing
        values kept.
    y : pandas.Series
        Labels.
    provenance : str
        Where it was read from.
    notes : str
        What to know before using it: substitutes, rows left out, columns to drop.

    Examples
    --------
    >>> import pandas as pd
    >>> from trueodds_studies.datasets import Dataset
    >>> rows = Dataset("two", pd.DataFrame({"x": [1, 2]}), pd.Series([0, 1]), "made up", "")
    >>> rows.name, rows.X.shape
    ('two', (2, 1))
    """

    name: str
    X: Any
    y: Any
    provenance: str
    notes: str = ""

    def __repr__(self) -> str:
        n, d = self.X.shape
        return f"Dataset({self.name!r}: {n} rows, {d} features, {self.y.nunique()} classes)"


def typed(frame: Any) -> Any:
    """Text columns as categories without surrounding blanks; ``?`` and empty text as missing."""
    pandas = need("pandas")
    columns = {}
    for position in range(frame.shape[1]):
        column = frame.iloc[:, position]
        if not pandas.api.types.is_numeric_dtype(column.dtype) and not hasattr(column, "cat"):
            text = column.map(lambda value: value.strip() if isinstance(value, str) else value)
            text = text.mask(text.isin(["?", "", "<null>"]))
            numbers = pandas.to_numeric(text, errors="coerce")
            is_numeric = bool((numbers.notna() == text.notna()).all()) and text.notna().any()
            column = numbers if is_numeric else text.astype("category")
        columns[f"x{position}"] = column.reset_index(drop=True)
    return pandas.DataFrame(columns)
