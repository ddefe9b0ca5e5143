"""How often the most probable class is the right one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.inputs import (
    check_length,
    encode_labels,
    label_column,
    validate_weights,
)

__all__ = ["share_right"]


def share_right(predicted: npt.NDArray[Any], y: Any, sample_weight: Any) -> float:
    """Accuracy: the share of rows, by weight, whose label is the predicted one."""
    labels = label_column(y)
    if labels.dtype.kind == "O":
        encode_labels(labels)  # refuses what is missing or does not sort
    check_length(len(labels), "y", len(predicted), "scores")
    weight = validate_weights(sample_weight, len(labels))
    return float(np.average(predicted == labels, weights=weight))
