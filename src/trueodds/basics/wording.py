"""Formats of numbers in messages, commands and pages."""

from __future__ import annotations

import math
import statistics
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

__all__ = [
    "NOTHING",
    "aligned_table",
    "change_text",
    "count_text",
    "counted",
    "decimal_text",
    "e_value_text",
    "fixed",
    "interval_percent_text",
    "p_cell",
    "p_text",
    "percent_text",
    "places_of",
    "places_of_changes",
    "places_of_values",
    "power_of_ten",
    "probability_text",
    "share_percent_text",
    "signed_percent_text",
    "significant",
    "times_text",
]

NOTHING = "–"
"""Stands for a number that is not defined."""
LEAST_PLACES, MOST_PLACES = 4, 9
NOISE = 1e-9
"""Relative changes that are rounding errors."""
_SUPERSCRIPTS = str.maketrans("0123456789-", "⁰¹²³⁴⁵⁶⁷⁸⁹⁻")


def p_text(p: float | None) -> str:
    """Format a p-value.

    Examples
    --------
    >>> p_text(0.031), p_text(3e-7), p_text(0.9975), p_text(None)
    ('p = 0.031', 'p < 0.0001', 'p = 1', 'p not defined')
    """
    if p is None or math.isnan(p):
        return "p not defined"
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def p_cell(p: float | None) -> str:
    """Format a p-value for a column of p-values.

    Examples
    --------
    >>> p_cell(0.031), p_cell(3e-7), p_cell(None)
    ('0.031', '< 0.0001', '–')
    """
    if p is None or math.isnan(p):
        return NOTHING
    return p_text(p).removeprefix("p ").removeprefix("= ")


def percent_text(share: float) -> str:
    """Format a share from 0 to 1 in percent, with two significant digits.

    Examples
    --------
    >>> [percent_text(p) for p in (0.0033, 0.17, 0.985, 0.9994, 0.0)]
    ['0.33%', '17%', '98.5%', '99.94%', '0%']
    """
    if 0.095 <= share <= 0.95 or share in (0.0, 1.0):
        return f"{100 * share:.0f}%"
    digits = 1 - math.floor(math.log10(100 * min(share, 1 - share)))
    return f"{100 * share:.{min(max(digits, 0), 9)}f}".rstrip("0").rstrip(".") + "%"


def share_percent_text(share: float | None) -> str:
    """Format a change or a share of any sign in percent, with a decimal below 10%.

    Examples
    --------
    >>> [share_percent_text(g) for g in (0.1234, 0.05, -0.0123, -0.00001, None)]
    ['12%', '5.0%', '−1.2%', '0.0%', '–']
    """
    if share is None or not math.isfinite(share):
        return NOTHING
    value = 100 * share
    text = f"{value:.0f}" if abs(value) >= 9.5 else f"{value:.1f}"
    return ("0.0" if text == "-0.0" else text).replace("-", "−") + "%"


def signed_percent_text(share: float | None) -> str:
    """Format a gain or a loss in percent, with its sign and one decimal.

    Examples
    --------
    >>> [signed_percent_text(g) for g in (0.1234, -0.0123, 0.0, None)]
    ['+12.3%', '−1.2%', '+0.0%', '–']
    """
    if share is None or not math.isfinite(share):
        return NOTHING
    return f"{100 * share:+.1f}%".replace("-", "−")


def interval_percent_text(low: float | None, high: float | None) -> str:
    """Format an interval in percent as a range.

    Examples
    --------
    >>> interval_percent_text(0.78, 0.85), interval_percent_text(-0.004, 0.031)
    ('78–85%', '−0.4% to 3.1%')
    """
    start, end = share_percent_text(low), share_percent_text(high)
    if "−" in start + end or NOTHING in (start, end):
        return f"{start} to {end}"
    return f"{start.removesuffix('%')}–{end}"


def probability_text(p: float | None) -> str:
    """Format a probability with two significant digits.

    Examples
    --------
    >>> [probability_text(p) for p in (0.8, 0.35, 0.0042, 0.998, 1.0, None)]
    ['0.8', '0.35', '0.004', '0.998', '1', '–']
    """
    if p is None:
        return NOTHING
    if p in (0.0, 1.0):
        return f"{p:.0f}"
    if 0.01 <= p <= 0.99:
        return f"{round(p, 2):g}"
    if p < 0.5:
        return f"{p:.1g}"
    # As many decimals as the distance from 1 needs.
    decimals = min(12, math.ceil(-math.log10(1 - p)))
    return f"{p:.{decimals}f}"


def count_text(number: float) -> str:
    """Format a number of events; a sum of probabilities below 10 has one decimal.

    Examples
    --------
    >>> count_text(12345.4), count_text(9.96), count_text(4), count_text(0.034)
    ('12,345', '10.0', '4', '0.03')
    """
    if number >= 10 or number == round(number):
        return f"{number:,.0f}"
    return f"{number:.1f}" if number >= 0.05 else f"{number:.1g}"


def counted(number: int, noun: str, plural: str = "") -> str:
    """Return a number with its noun in the singular or plural.

    Examples
    --------
    >>> counted(1, "row"), counted(2500, "row"), counted(2, "class", "classes")
    ('1 row', '2,500 rows', '2 classes')
    """
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def e_value_text(value: float) -> str:
    """Format an e-value with three digits, or as a power of ten.

    Examples
    --------
    >>> [e_value_text(v) for v in (12.345, 4500.0, 2e279)]
    ['12.3', '4,500', '2.0·10²⁷⁹']
    """
    if value < 1e5:
        return f"{value:,.3g}" if value < 1000 else f"{value:,.0f}"
    power = math.floor(math.log10(value))
    return f"{value / 10.0**power:.1f}·{power_of_ten(power)}"


def power_of_ten(power: int) -> str:
    """Return a power of ten with its exponent raised.

    Examples
    --------
    >>> power_of_ten(12), power_of_ten(-3)
    ('10¹²', '10⁻³')
    """
    return f"10{str(power).translate(_SUPERSCRIPTS)}"


def places_of(intervals: Iterable[Mapping[str, Any]], key: str = "") -> int:
    """Return the decimals that show two digits of the half-width of a typical interval.

    Parameters
    ----------
    intervals : iterable of dict
        Bounds ``{key}low`` and ``{key}high``; missing bounds are ignored.
    """
    ends = ((row[f"{key}low"], row[f"{key}high"]) for row in intervals)
    halves = [(high - low) / 2 for low, high in ends if None not in (low, high) and high > low]
    if not halves:
        return 3
    return min(max(1 - math.floor(math.log10(statistics.median(halves))), 1), MOST_PLACES)


def places_of_values(values: Iterable[float | None]) -> int:
    """Return the decimals that show two digits of a typical value."""
    return places_of({"low": -abs(value or 0.0), "high": abs(value or 0.0)} for value in values)


def places_of_changes(values: Sequence[float | str | None]) -> int:
    """Return the decimals that show two digits of a typical change from the first value.

    Four are the least. Infinite values, and those that are not numbers, have no change.

    Examples
    --------
    >>> places_of_changes([0.5581, 0.4799]), places_of_changes([0.022178, 0.022163])
    (4, 6)
    """
    numbers = [v for v in values if isinstance(v, (int, float)) and math.isfinite(v)]
    changes = [abs(v - numbers[0]) for v in numbers[1:]]
    changes = [change for change in changes if change > NOISE * abs(numbers[0])]
    places = 1 - math.floor(math.log10(statistics.median(changes))) if changes else LEAST_PLACES
    return min(max(places, LEAST_PLACES), MOST_PLACES)


def change_text(*values: float | str | None) -> str:
    """Format a number before and after a change, with the digits that show the change.

    Examples
    --------
    >>> change_text(0.5581, 0.4799), change_text(0.022178, 0.022163), change_text("inf", 0.2)
    ('0.5581 → 0.4799', '0.022178 → 0.022163', 'inf → 0.2000')
    """
    sizes = [abs(v) for v in values if isinstance(v, (int, float)) and 0 < abs(v) < math.inf]
    digits = 2 - math.floor(math.log10(min(sizes))) if sizes else 0  # three of the smallest
    places = min(max(places_of_changes(values), digits), MOST_PLACES)
    texts = (v if isinstance(v, str) else decimal_text(v, places) for v in values)
    return " → ".join(texts)


def fixed(value: float | None, places: int) -> str:
    """Format a number with this many decimals; zero is "0"."""
    if value is None:
        return NOTHING
    return f"{value:.{places}f}".replace("-", "−") if value else "0"


def decimal_text(value: float | None, places: int, *, small: bool = False, minus: str = "−") -> str:
    """A number with this many decimals, also an infinite one.

    Parameters
    ----------
    small : bool, default=False
        Whether small numbers have more decimals, for one significant digit less than ``places``;
        those that would be shown as 0 are powers of ten.
    minus : str, default="−"
        The sign of negative numbers; a terminal prints "-", which other programs can read.

    Examples
    --------
    >>> [decimal_text(v, 3) for v in (0.5, -1.23456, 0.0, float("inf"), float("nan"))]
    ['0.500', '−1.235', '0.000', '∞', '–']
    >>> decimal_text(0.00002, 4), decimal_text(-0.00002, 4, small=True, minus="-")
    ('0.0000', '-2.0e-05')
    >>> decimal_text(0.0033, 4), decimal_text(0.0033, 4, small=True)
    ('0.0033', '0.00330')
    """
    if value is None or math.isnan(value):
        return NOTHING
    size = abs(value)
    if small and 10.0**-places <= size < math.inf:
        places = max(places, places - 2 - math.floor(math.log10(size)))
    is_power = small and 0 < size < 10.0**-places
    text = f"{value:.1e}" if is_power else f"{value:.{places}f}"
    return text.replace("inf", "∞").replace("-", minus)


def significant(value: float | None, digits: int = 3) -> str:
    """Format a number with this many significant digits, never as a power of ten.

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


def times_text(excess: Mapping[str, Any], events: str, others: str) -> str:
    """Format how many times as many events occurred as predicted; of common events, the others.

    Parameters
    ----------
    excess : dict
        ``predicted``, ``observed``, and ``low`` and ``high``, the ends of the interval of the
        frequency, with its ``level``.
    events, others : str
        Names of what occurred and of what did not.

    Examples
    --------
    >>> rare = {"predicted": 0.002, "observed": 0.0122, "low": 0.009, "high": 0.016, "level": 0.9}
    >>> times_text(rare, "positives", "negatives")
    '6.1 times as many positives as predicted, 90% CI 4.5–8'
    >>> common = {"predicted": 0.98, "observed": 0.9, "low": 0.88, "high": 0.92, "level": 0.9}
    >>> times_text(common, "right", "wrong")
    '5 times as many wrong as predicted, 90% CI 4–6'
    """
    keys = ("predicted", "observed", "low", "high")
    predicted, observed, low, high = (excess[key] for key in keys)
    if predicted + observed > 1:
        events = others
        predicted, observed, low, high = 1 - predicted, 1 - observed, 1 - high, 1 - low
    if predicted <= 0:
        return f"{events} that had probability 0"
    at, start, end = (_factor(value / predicted) for value in (observed, low, high))
    ends = f"{100 * excess['level']:g}% CI {start}–{end}"
    return f"{at} times as many {events} as predicted, {ends}"


def _factor(value: float) -> str:
    """A factor: two decimals below 2, one below 10."""
    places = 2 if value < 2 else 1 if value < 10 else 0
    text = f"{value:,.{places}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def aligned_table(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    """Lines of a table for reading: the first column left, the others right."""
    widths = [max(map(len, column)) for column in zip(header, *cells, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in [header, *cells]
    )
