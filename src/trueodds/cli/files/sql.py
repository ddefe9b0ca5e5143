"""Names and values quoted for SQL."""

from __future__ import annotations

from collections.abc import Iterable

__all__ = [
    "LINE",
    "as_category",
    "as_group",
    "as_number",
    "as_text",
    "is_number",
    "is_numeric",
    "literal",
    "may_be_long",
    "quoted",
    "values",
]

LINE = "trueodds line"
"""The column with the unchanged lines of JSON lines, if requested."""
TEXT_TYPES = ("VARCHAR", "JSON")
NUMBER_TYPES = (
    "DOUBLE",
    "FLOAT",
    "BOOLEAN",
    "TINYINT",
    "SMALLINT",
    "INTEGER",
    "BIGINT",
    "HUGEINT",
    "UTINYINT",
    "USMALLINT",
    "UINTEGER",
    "UBIGINT",
    "UHUGEINT",
)


def quoted(name: str) -> str:
    """A column's name as an SQL identifier.

    Examples
    --------
    >>> quoted('a"; drop')
    '"a""; drop"'
    """
    return '"' + name.replace('"', '""') + '"'


def literal(text: str) -> str:
    """A text as an SQL literal.

    Examples
    --------
    >>> literal("it's")
    "'it''s'"
    """
    return "'" + text.replace("'", "''") + "'"


def values(texts: Iterable[str]) -> str:
    """Texts as an SQL list in parentheses."""
    return "(" + ", ".join(literal(text) for text in texts) + ")"


def is_numeric(kind: str) -> bool:
    """Whether an engine's type is one of numbers."""
    return kind in NUMBER_TYPES or kind.startswith("DECIMAL")


def is_number(kind: str) -> bool:
    """Whether an engine's type is one of numbers other than truth values."""
    return is_numeric(kind) and kind != "BOOLEAN"


def may_be_long(kind: str) -> bool:
    """Whether values of an engine's type can be long texts."""
    return not (is_numeric(kind) or kind.startswith(("DATE", "TIME")))


COMMA_NUMBER = r"\s*[-+]?([0-9]+|[0-9]{1,3}(\.[0-9]{3})+)?(,[0-9]*)?([eE][-+]?[0-9]+)?\s*"
"""Numbers with a decimal comma, and perhaps points between thousands."""


def as_number(name: str, kind: str, decimal: str = ".", *, percent: bool = False) -> str:
    """A column as DOUBLE; NULL where it is text that is not a number.

    Percentages, with or without their sign, are divided by 100.
    """
    number = quoted(name)
    if not is_numeric(kind):
        if percent:
            number = f"rtrim({number}, ' %')"
        if decimal == ",":
            plain = f"replace(replace({number}, '.', ''), ',', '.')"
            number = f"CASE WHEN regexp_full_match({number}, '{COMMA_NUMBER}') THEN {plain} END"
        number = f"TRY_CAST({number} AS DOUBLE)"
    elif kind != "DOUBLE":
        number = f"CAST({number} AS DOUBLE)"
    return f"({number} / 100)" if percent else number


def as_category(text: str, decimal: str = ".") -> str:
    """The text of a category; numbers with a decimal comma are written with a point."""
    if decimal == ".":
        return text
    plain = f"replace(replace({text}, '.', ''), ',', '.')"
    is_number = f"regexp_full_match({text}, '{COMMA_NUMBER}') AND regexp_matches({text}, '[0-9]')"
    return f"CASE WHEN {is_number} THEN trim({plain}) ELSE {text} END"


def as_text(name: str, kind: str) -> str:
    """A column as text, without the quotes of JSON."""
    column = quoted(name)
    return f"json_extract_string({column}, '$')" if kind == "JSON" else f"CAST({column} AS VARCHAR)"


def as_group(value: str, kind: str) -> str:
    """SQL of a group, as a number of the same type or as a text; NULL where it is missing.

    NaN is missing, 0.1 of FLOAT is 0.1, and −0 is 0.
    """
    if kind in ("FLOAT", "DOUBLE"):
        number = f"CAST(CAST({value} AS VARCHAR) AS DOUBLE)" if kind == "FLOAT" else value
        return f"CASE WHEN NOT isnan({value}) THEN {number} + 0 END"
    if kind == "JSON":
        return f"json_extract_string({value}, '$')"
    return value if is_number(kind) else f"CAST({value} AS VARCHAR)"
