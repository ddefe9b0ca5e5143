"""A category as a text: one spelling for each value, whatever its type, file or engine.

``docs/map-format.md`` has the rule as a table. It is applied to each value alone, so a row means
the same in every batch.
"""

from __future__ import annotations

import datetime as dt
import math
import re
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

__all__ = ["category_number", "category_text", "category_texts", "per_distinct"]

Found = TypeVar("Found")


def category_text(value: Any) -> str | None:
    """Return the text that stands for a value as a category, or None if the value is missing.

    A text that spells a number, a truth value or a time has one spelling: 1, 1.0, True, ``"1.0"``
    and ``"true"`` are ``"1"``. Any other text is itself: ``"01"`` is not ``"1"``. None, NaN, NaT,
    pandas' NA and the texts ``"NaN"`` and ``"nan"`` are missing.

    Raises TypeError for anything but numbers, texts, dates and times without a zone. Exported
    Python functions contain this function, so it needs the standard library only.

    Examples
    --------
    >>> import datetime
    >>> from trueodds.inputs import category_text
    >>> [category_text(value) for value in (1, 1.0, True, "1.0", "1e0", "TRUE", "01", "")]
    ['1', '1', '1', '1', '1', '1', '01', '']
    >>> [category_text(value) for value in (0.5, datetime.datetime(2026, 3, 1), None, "NaN")]
    ['0.5', '2026-03-01', None, None]
    """
    kind = type(value).__name__
    if kind in ("float16", "float32", "datetime64"):  # their items are less exact, or numbers
        value = None if str(value) == "NaT" else str(value)
    elif hasattr(value, "dtype") and hasattr(value, "item"):
        value = value.item()
    if value is None or kind in ("NAType", "NaTType") or value != value:
        return None
    if isinstance(value, (bool, int)):
        return str(int(value))
    if isinstance(value, dt.datetime) and value.tzinfo is not None:
        raise TypeError("a time with a zone")
    if isinstance(value, (float, dt.date)):
        value = str(value)
    elif isinstance(value, bytes):
        value = value.decode()
    elif kind == "Decimal":
        value = format(value, "f")
    if not isinstance(value, str):
        raise TypeError(f"a value of type {kind}")
    if value in ("NaN", "nan"):
        return None
    if value.lower() in ("true", "false"):
        return "1" if value.lower() == "true" else "0"
    if re.fullmatch("-?(0|[1-9][0-9]{0,17})([.][0-9]{1,30})?([eE][-+]?[0-9]{1,2})?", value):
        if value.lstrip("-").isdigit():
            return "0" if value == "-0" else value
        number = float(value)
        whole = number.is_integer() and abs(number) < 1e18
        return str(int(number)) if whole else repr(number)
    if re.fullmatch("[0-9]{4}(-[0-9]{2}){2}[ T][0-9]{2}(:[0-9]{2}){2}([.][0-9]*)?", value):
        rest = value[19:].rstrip("0").rstrip(".")
        return f"{value[:10]} {value[11:19]}{rest}".removesuffix(" 00:00:00")
    return value


def category_texts(values: Any, name: str = "features") -> list[str | None]:
    """Return :func:`category_text` of each value of a column.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.inputs import category_texts
    >>> category_texts(np.array([1.0, np.nan, 2.5]))
    ['1', None, '2.5']
    """
    items: Iterable[Any] = values
    if isinstance(values, np.ndarray):
        exact = values.dtype.kind in "fM" and values.dtype != np.float64
        items = list(values) if exact else values.tolist()
    try:
        return per_distinct(items, category_text)
    except (TypeError, ValueError) as error:
        raise InputError(
            f"{name} must hold numbers, texts, booleans, dates or times without a zone; got "
            f"{shown(str(error))}."
        ) from None


def category_number(text: str) -> float | None:
    """Return the finite float64 whose text a category is, or None.

    Examples
    --------
    >>> from trueodds.inputs import category_number
    >>> [category_number(text) for text in ("1", "0.5", "01", "A", "9007199254740993")]
    [1.0, 0.5, None, None, None]
    """
    try:
        number = float(text)
    except ValueError:
        return None
    return number if math.isfinite(number) and category_text(number) == text else None


def per_distinct(values: Iterable[Any], function: Callable[[Any], Found]) -> list[Found]:
    """Return a function of each value, called once for each distinct one."""
    known: dict[Any, Found] = {}
    result = []
    for value in values:
        try:
            found = known[value]
        except KeyError:
            found = known[value] = function(value)
        except TypeError:  # a list or another that has no hash
            found = function(value)
        result.append(found)
    return result
