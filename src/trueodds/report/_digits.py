"""As many digits as the evidence supports, and no more."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["fixed", "places_of", "places_of_values", "significant"]

MOST_PLACES = 9
NOTHING = "–"


def places_of(intervals: Iterable[Mapping[str, Any]], key: str = "") -> int:
    """Decimals that show two digits of the half-width of a typical interval.

    Parameters
    ----------
    intervals : iterable of dict
        With the ends ``{key}low`` and ``{key}high``; those that have none do not count.
    """
    ends = ((row[f"{key}low"], row[f"{key}high"]) for row in intervals)
    halves = [(high - low) / 2 for low, high in ends if None not in (low, high) and high > low]
    if not halves:
        return 3
    return min(max(1 - math.floor(math.log10(statistics.median(halves))), 1), MOST_PLACES)


def places_of_values(values: Iterable[float | None]) -> int:
    """Decimals that show two digits of a typical value."""
    return places_of({"low": -abs(value or 0.0), "high": abs(value or 0.0)} for value in values)


def fixed(value: float | None, places: int) -> str:
    """A number with so many decimals; 0 is just 0."""
    if value is None:
        return NOTHING
    return _plain_minus(f"{value:.{places}f}") if value else "0"


def significant(value: float | None, digits: int = 3) -> str:
    """A number with so many digits that count, never as a power of ten.

    Examples
    --------
    >>> [significant(v) for v in (0.0033129, 0.45921, 12345.6, -0.02, 0.0, None)]
    ['0.00331', '0.459', '12346', '−0.0200', '0', '–']
    """
    if value is None:
        return NOTHING
    if not value:
        return "0"
    places = digits - 1 - math.floor(math.log10(abs(value)))
    return fixed(value, min(max(places, 0), MOST_PLACES))


def _plain_minus(text: str) -> str:
    return text.replace("-", "−")
