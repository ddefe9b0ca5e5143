"""Labels of frames and files: what a value is as a label, and which label a word means.

Arrays have :func:`trueodds.inputs.encode_labels`; frames and files have this module. Which of two
labels is positive is decided for all of them by :func:`trueodds.inputs.order_two_labels`.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.engines.rules import Rule

__all__ = [
    "Label",
    "LabelColumn",
    "class_of",
    "find_label",
    "is_similar",
    "labels_of",
    "number_of",
]

Label = str | int | float | bool
NUMBER = re.compile(r"\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d{1,3})?\s*", re.ASCII | re.IGNORECASE)
TRUTHS = {"true": True, "false": False}
MOST_WHOLE = 2**63
"""Whole numbers from here on are texts, as arrays have no integers for them."""


def number_of(text: str) -> int | float | None:
    """The number that a text is, whole ones as integers without rounding; None if it is none.

    Examples
    --------
    >>> [number_of(text) for text in ("1", "1.0", "9007199254740993", "0.5", "1e400", "1_0", "x")]
    [1, 1, 9007199254740993, 0.5, None, None, None]
    """
    if not NUMBER.fullmatch(text):
        return None
    number = Decimal(text.strip())
    if abs(number) >= MOST_WHOLE:
        return None
    return int(number) if number == number.to_integral_value() else float(number)


def labels_of(texts: Sequence[str], *, as_texts: bool) -> dict[Label, list[str]]:
    """Labels as what they are, with the texts that stand for each: 1 is "1" and "1.0".

    Parameters
    ----------
    texts : sequence of str
        All values of a column.
    as_texts : bool
        Whether "1" is a text because the column has a type. Otherwise, if all are numbers, they
        are numbers.
    """
    numbers = [] if as_texts else [number_of(text) for text in texts]
    labels: Sequence[Any] = texts if as_texts or None in numbers else numbers
    keys: dict[Label, list[str]] = defaultdict(list)
    for label, text in zip(labels, texts, strict=True):
        keys[label].append(text)
    return keys


def find_label(labels: Iterable[Label], word: str) -> Label | None:
    """The label that a word of the user means; an exact one before a similar one.

    Examples
    --------
    >>> find_label([0, 1], "1.0"), find_label([False, True], "TRUE"), find_label(["a", "A"], "A")
    (1, True, 'A')
    """
    known = list(labels)
    exact = [label for label in known if str(label) == word]
    return next(iter([*exact, *(label for label in known if is_similar(label, word))]), None)


def is_similar(label: Label, word: str) -> bool:
    """Whether a word is a label but for its case, or the same number."""
    if str(label).casefold() == word.casefold():
        return True
    return not isinstance(label, str) and number_of(word) == label


def class_of(text: str, classes: Sequence[Label]) -> int | None:
    """The place of the class that a text of a file stands for: the same text before a number.

    Examples
    --------
    >>> class_of("1.0", [0, 1]), class_of("true", [0, 1]), class_of("1", ["0", "1"])
    (1, 1, 1)
    """
    places = range(len(classes))
    exact = [place for place in places if str(classes[place]) == text]
    value: Any = TRUTHS.get(text.casefold(), number_of(text))
    equal = [place for place in places if value is not None and _value(classes[place]) == value]
    return next(iter([*exact, *equal]), None)


def _value(label: Label) -> Any:
    return number_of(label) if isinstance(label, str) else label


@dataclass(frozen=True, eq=False)
class LabelColumn:
    """A column of labels of a frame.

    Parameters
    ----------
    name : str
    value : Expr
        The labels: integers (also of truth values), float64 or texts.
    is_float, is_bool, is_text : bool
    """

    name: str
    value: Any
    is_float: bool
    is_bool: bool
    is_text: bool

    @classmethod
    def of(cls, name: str, kind: Any) -> LabelColumn:
        """The column of a name and a type of narwhals."""
        import narwhals as nw

        if isinstance(kind, (nw.Object, nw.Unknown, nw.List, nw.Struct, nw.Array)):
            raise InputError(
                f"label column {name!r} holds values of type {kind}; cast it to numbers, booleans "
                "or text first."
            )
        is_float = kind == nw.Decimal or kind.is_float()
        is_text = isinstance(kind, (nw.String, nw.Categorical, nw.Enum))
        value = nw.col(name)
        if kind == nw.Boolean:
            value = value.cast(nw.Int64)  # not every engine has a greatest boolean
        elif is_text and kind != nw.String:
            value = value.cast(nw.String)
        elif is_float:
            value = value.cast(nw.Float64)
        return cls(name, value, is_float, kind == nw.Boolean, is_text)

    def rules(self) -> list[Rule]:
        """What can be wrong with a label."""
        import narwhals as nw

        from trueodds.engines.rules import label_rules

        number = self.value if self.is_float else None
        missing = nw.col(self.name).is_null()  # pandas 2.1 casts None to the text "None"
        return label_rules(self.name, missing, self.value, is_text=self.is_text, number=number)

    def written(self, label: Any) -> Any:
        """A label as the user wrote it."""
        return bool(label) if self.is_bool else label

    def meant(self, label: Any) -> Any:
        """A label that the user gave, in the type of the column; a text may stand for a number."""
        label = label.item() if hasattr(label, "item") else label
        if self.is_text:
            return str(label)
        if self.is_bool and str(label).casefold() in TRUTHS:
            return int(TRUTHS[str(label).casefold()])
        if not isinstance(label, str):
            return label
        number = number_of(label)
        if number is None:
            raise InputError(
                f"pos_label is {shown(label)}, but label column {self.name!r} holds "
                f"{'booleans' if self.is_bool else 'numbers'}."
            )
        return number
