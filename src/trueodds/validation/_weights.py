"""Sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.validation._arrays import Floats, as_floats, where

__all__ = ["validate_weights"]

MOST = 1e15
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
    if weights.max() > MOST:
        place = int(np.argmax(weights > MOST))
        raise InputError(
            f"sample_weight must not exceed {MOST:g}, as a weight of k counts like k rows; got "
            f"{weights[place]:g} at index {place}. Divide all weights by a large number."
        )
    return weights
