"""The rows of a comparison, validated at the one door."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.model_selection._comparison_folds import Cells, group_cells
from trueodds.numerics.log_odds import positive_column
from trueodds.validation import (
    Floats,
    InputScale,
    Labels,
    check_scale,
    encode_labels,
    validate_scores,
    validate_weights,
)

__all__ = ["Evidence", "read_evidence"]


@dataclass(frozen=True, eq=False)
class Evidence:
    """The validated rows of a comparison.

    Parameters
    ----------
    scores : ndarray of shape (n,) or (n, n_classes)
    codes : ndarray of shape (n,)
    weight : ndarray of shape (n,) or None
    features : array or frame of n rows, or None
    scale : str
    cells : Cells
        The same rows, grouped.
    """

    scores: Floats
    codes: Labels
    weight: Floats | None
    features: Any
    scale: InputScale
    cells: Cells

    @classmethod
    def of_rows(
        cls,
        scores: Floats,
        codes: Labels,
        weight: Floats | None,
        n_classes: int,
        scale: InputScale,
        features: Any = None,
    ) -> Evidence:
        """Group validated rows: 1-D scores if there are two classes."""
        cells = group_cells(scores, codes, weight, n_classes)
        return cls(scores, codes, weight, features, scale, cells)


def read_evidence(
    scores: Any, y: Any, scale: InputScale, sample_weight: Any, features: Any, classes: Any
) -> tuple[Evidence, npt.NDArray[Any]]:
    """Validate rows; also the labels that the codes stand for."""
    check_scale(scale)
    array = validate_scores(scores, scale)
    codes, labels = encode_labels(y, classes)
    if len(codes) != len(array):
        raise InputError(f"scores and y differ in length: {len(array)} and {len(codes)}.")
    columns = 2 if array.ndim == 1 else array.shape[1]
    if len(labels) < 2:
        raise InputError(f"y has one class only ({labels.tolist()[0]!r}); two are needed.")
    if columns != len(labels):
        hint = " Pass classes= to name those without instances." if columns > len(labels) else ""
        raise InputError(
            f"scores have {columns} columns (1-D counts as 2) but there are {len(labels)} "
            f"classes.{hint}"
        )
    if array.ndim == 2 and columns == 2:
        array = positive_column(array, scale)
    weight = validate_weights(sample_weight, len(array))
    n_classes = len(labels)
    return Evidence.of_rows(array, codes, weight, n_classes, scale, features), labels
