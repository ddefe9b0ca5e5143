"""Results as JSON holds them."""

from __future__ import annotations

import math

__all__ = ["finite_or_none"]


def finite_or_none(value: float) -> float | None:
    """A number for JSON, which knows no infinity and no NaN."""
    return value if math.isfinite(value) else None
