"""The rows of a comparison, and how they are grouped."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from trueodds.inputs import Floats, InputScale, Labels
from trueodds.model_selection._comparison_folds import FoldCells, group_cells
from trueodds.rows import Rows

__all__ = ["ComparedRows", "read_compared_rows"]


@dataclass(frozen=True, eq=False)
class ComparedRows:
    """Validated rows, with what else a comparison needs.

    Parameters
    ----------
    rows : Rows
        1-D scores if there are two classes.
    features : array or frame of n rows, or None
    scale : str
    cells : FoldCells
        The same rows, grouped.
    """

    rows: Rows
    features: Any
    scale: InputScale
    cells: FoldCells

    @classmethod
    def of(cls, rows: Rows, scale: InputScale, features: Any = None) -> ComparedRows:
        """Group validated rows."""
        cells = group_cells(rows.scores, rows.codes, rows.weight, rows.n_classes)
        return cls(rows, features, scale, cells)

    @property
    def scores(self) -> Floats:
        """Of each row."""
        return self.rows.scores

    @property
    def codes(self) -> Labels:
        """Of each row."""
        return self.rows.codes

    @property
    def weight(self) -> Floats | None:
        """Of each row; None means one each."""
        return self.rows.weight


def read_compared_rows(
    scores: Any, y: Any, scale: InputScale, sample_weight: Any, features: Any, classes: Any
) -> ComparedRows:
    """Validate rows and group them. Rows of weight zero stay: they are forecast too."""
    rows = Rows.read(scores, y, sample_weight, scale=scale, classes=classes)
    rows.of_positive_weight().check_two_classes()
    return ComparedRows.of(rows, scale, features)
