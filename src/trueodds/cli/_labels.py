"""Which labels there are, which one is positive, and how SQL codes them as numbers from 0."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from trueodds.cli._columns import ColumnNames
from trueodds.cli._engine import DataSource
from trueodds.cli._exit import UsageError
from trueodds.cli._sql import TEXT_TYPES, as_text, values
from trueodds.exceptions import InputError

__all__ = ["Classes", "find_classes"]

Label = str | int | float | bool
MOST_LABELS = 1000


@dataclass(frozen=True)
class Classes:
    """Labels in the order of their codes, and the SQL that codes a row's label."""

    labels: tuple[Label, ...]
    code: str
    counts: tuple[int, ...]
    """Good rows of each label."""

    @property
    def positive(self) -> Label:
        """The second of two."""
        return self.labels[1]


def find_classes(
    source: DataSource, good: Any, columns: ColumnNames, positive: str | None
) -> Classes:
    """Look at all labels of the good rows and order them."""
    name = columns.label
    if name is None:
        raise UsageError("a label column is needed; pass --label.")
    kind = source.kinds[name]
    text = as_text(name, kind)
    counts = good.aggregate(f"{text} AS label, count(*) AS n", text).limit(MOST_LABELS + 1)
    rows = dict(counts.fetchall())
    found = list(rows)
    if len(found) > MOST_LABELS:
        raise InputError(
            f"column {name!r} has more than {MOST_LABELS:,} different values, such as "
            f"{found[0]!r} and {found[1]!r}; labels must be classes."
        )
    # All values of a CSV file are texts, so labels such as 0 and 1 are read as numbers.
    keys = _values_of(found, kind, untyped=source.files.format == "csv")
    labels = sorted(keys, key=str if any(isinstance(key, str) for key in keys) else float)
    if len(columns.score) > 1:
        labels = _of_columns(labels, columns, name)
        if positive is not None:
            raise UsageError("--positive is for a single score column; use --class for several.")
    else:
        if columns.classes:
            raise UsageError("--class is for several score columns; use --positive for one.")
        labels, keys = _of_two(labels, keys, name, positive)
    cases = " ".join(
        f"WHEN {text} IN {values(keys[label])} THEN {code}"
        for code, label in enumerate(labels)
        if keys.get(label)
    )
    each = tuple(sum(rows[key] for key in keys.get(label, ())) for label in labels)
    return Classes(tuple(labels), f"CASE {cases} END", each)


def _values_of(found: list[str], kind: str, *, untyped: bool) -> dict[Label, list[str]]:
    """Labels as what they are, with the texts that stand for each: 1 is "1" and "1.0"."""
    keys: dict[Label, list[str]] = defaultdict(list)
    if kind == "BOOLEAN":
        return {key == "true": [key] for key in found}
    is_text = kind in TEXT_TYPES and not untyped and kind != "JSON"
    numbers = None if is_text else _numbers(found)
    for position, key in enumerate(found):
        keys[key if numbers is None else numbers[position]].append(key)
    return keys


def _numbers(texts: list[str]) -> list[Label] | None:
    """All texts as numbers, whole ones as integers; None if one is not a number."""
    result: list[Label] = []
    for text in texts:
        try:
            number = float(text)
        except ValueError:
            return None
        result.append(int(number) if number.is_integer() else number)
    return result


def _matches(label: Label, text: str) -> bool:
    if str(label) == text or str(label).casefold() == text.casefold():
        return True
    try:
        return not isinstance(label, (str, bool)) and float(text) == label
    except ValueError:
        return False


def _shown(labels: list[Label]) -> str:
    more = ", …" if len(labels) > 10 else ""
    return ", ".join(repr(label) for label in labels[:10]) + more


def _of_two(
    labels: list[Label], keys: dict[Label, list[str]], name: str, positive: str | None
) -> tuple[list[Label], dict[Label, list[str]]]:
    if len(labels) == 1:
        raise InputError(
            f"column {name!r} holds one label only, {labels[0]!r}; two classes are needed."
        )
    if positive is None:
        if len(labels) > 2:
            raise InputError(
                f"column {name!r} has {len(labels)} labels ({_shown(labels)}), not two; pass "
                "--positive LABEL to set one against the others, or one --score for each class."
            )
        return labels, keys
    chosen = [label for label in labels if str(label) == positive]
    chosen = chosen or [label for label in labels if _matches(label, positive)]
    if not chosen:
        raise InputError(
            f"column {name!r} has no label {positive!r} (--positive); it has {_shown(labels)}."
        )
    others = [label for label in labels if label != chosen[0]]
    if len(others) == 1:
        return [others[0], chosen[0]], keys
    rest = f"not {chosen[0]}"
    merged = {rest: [key for label in others for key in keys[label]], chosen[0]: keys[chosen[0]]}
    return [rest, chosen[0]], merged


def _of_columns(labels: list[Label], columns: ColumnNames, name: str) -> list[Label]:
    """One label for each score column: as --class says, else in sorted order."""
    count = len(columns.score)
    if not columns.classes:
        if len(labels) != count:
            raise InputError(
                f"column {name!r} has {len(labels)} labels ({_shown(labels)}) but there are "
                f"{count} score columns; name the class of each column with --class."
            )
        return labels
    if len(columns.classes) != count:
        raise UsageError(
            f"there must be one --class for each --score; got {len(columns.classes)} and {count}."
        )
    if len(labels) == 1:
        raise InputError(f"column {name!r} holds one label only, {labels[0]!r}.")
    result: list[Label] = []
    for text in columns.classes:
        found = [label for label in labels if _matches(label, text)]
        result.append(found[0] if found else text)
    return result
