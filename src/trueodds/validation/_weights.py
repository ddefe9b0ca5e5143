"""Sample weights."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.validation._arrays import Floats, as_floats, where

__all__ = ["validate_weights"]


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
    if not np.isfinite(weights.sum()):
        raise InputError("sample_weight sums to infinity; divide all weights by a large number.")
    return weights
