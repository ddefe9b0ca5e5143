"""Numbers as people say them, the same everywhere."""

from __future__ import annotations

import math

__all__ = ["p_text", "percent_text"]


def p_text(p: float) -> str:
    """A p-value, everywhere in the same form.

    Examples
    --------
    >>> p_text(0.031), p_text(3e-7)
    ('p = 0.031', 'p < 0.0001')
    """
    return "p < 0.0001" if p < 1e-4 else f"p = {p:.2g}"


def percent_text(share: float) -> str:
    """A share in per cent, in two digits that count.

    Examples
    --------
    >>> [percent_text(p) for p in (0.0033, 0.17, 0.985, 0.9994)]
    ['0.33 %', '17 %', '98.5 %', '99.94 %']
    """
    if 0.095 <= share <= 0.95:
        return f"{100 * share:.0f} %"
    if share in (0.0, 1.0):
        return f"{100 * share:.0f} %"
    digits = 1 - math.floor(math.log10(100 * min(share, 1 - share)))
    return f"{100 * share:.{min(max(digits, 0), 9)}f}".rstrip("0").rstrip(".") + " %"
