"""Sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.validation._arrays import Floats, as_floats, number_text, where

__all__ = ["MOST_WEIGHT", "check_weight_size", "validate_weights"]

MOST_WEIGHT = 1e15
"""Of one row: beyond, float64 cannot count one instance more."""


def validate_weights(sample_weight: Any, n_rows: int) -> Floats | None:
    """Check sample weights; None stays None and means one each."""
    if sample_weight is None:
        return None
    weights = as_floats(sample_weight, "sample_weight")
    if weights.shape != (n_rows,):
        raise InputError(f"sample_weight must have shape ({n_rows},); got {weights.shape}.")
    unbounded = ~np.isfinite(weights)
    if unbounded.any():
        raise InputError(f"sample_weight must be finite; got NaN or infinity {where(unbounded)}.")
    if (weights < 0).any():
        raise InputError(f"sample_weight must not be negative; got one {where(weights < 0)}.")
    if not weights.any():
        raise InputError("sample_weight is zero everywhere.")
    check_weight_size(weights, "sample_weight")
    return weights


def check_weight_size(weights: Floats, name: str) -> None:
    """Refuse weights that are no counts any more."""
    large = weights > MOST_WEIGHT
    if large.any():
        place = int(np.argmax(large))
        raise InputError(
            f"{name} must not exceed {MOST_WEIGHT:g}, as a weight of k counts like k rows; got "
            f"{number_text(weights[place], MOST_WEIGHT)} at index {place}. "
            "Divide all weights by a large number."
        )
