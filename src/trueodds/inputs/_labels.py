"""Labels of any type as codes, and which of two labels is positive."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs._arrays import Floats, Labels, as_dense, number_text

__all__ = [
    "LONGEST_LABEL",
    "MOST_LABEL",
    "LabelOrder",
    "check_label_length",
    "check_positive_class",
    "dense_labels",
    "direction_hint",
    "encode_clusters",
    "encode_labels",
    "is_missing",
    "known_codes",
    "label_column",
    "order_two_labels",
]

NO_AND_YES = (
    ("false", "true"), ("f", "t"), ("negative", "positive"), ("neg", "pos"), ("-", "+"),
    ("no", "yes"), ("n", "y"),
    ("nein", "ja"), ("n", "j"), ("nee", "ja"), ("nej", "ja"), ("nei", "ja"), ("nei", "já"),
    ("non", "oui"), ("n", "o"), ("no", "si"), ("no", "sí"), ("no", "sì"), ("n", "s"),
    ("não", "sim"), ("nao", "sim"), ("nu", "da"), ("ne", "da"), ("net", "da"), ("nyet", "da"),
    ("нет", "да"), ("не", "да"), ("ні", "так"), ("nie", "tak"), ("n", "t"), ("nie", "áno"),
    ("ne", "ano"), ("ei", "kyllä"), ("ei", "jah"), ("nē", "jā"), ("nem", "igen"),
    ("hayır", "evet"), ("hayir", "evet"), ("いいえ", "はい"), ("否", "是"), ("아니요", "예"),
)  # fmt: skip
"""Two words of one language. Other pairs (bad and good, case and control) have no order here."""
LONGEST_LABEL = 1_000
"""Characters of a text that serves as a label, a group, a time or a name of a class."""
MOST_LABEL = 2.0**53
"""Beyond, neighboring whole numbers are one float64."""
ONE_SIDED = 1.6448536269514722
"""The 95th percentile of the normal distribution."""
POSITIVE_WORD = {frozenset(pair): pair[1] for pair in NO_AND_YES}


@dataclass(frozen=True)
class LabelOrder:
    """Two labels, and what decided which is positive; see :func:`order_two_labels`."""

    negative: Any
    positive: Any
    decided_by: Literal["size", "words", "alphabet"]


def order_two_labels(first: Any, second: Any) -> LabelOrder:
    """Decide which of two labels is positive, for arrays, frames, files and reports alike.

    The greater of two numbers or booleans is positive, also if they are written as texts. Of a
    word for no and a word for yes in one language, the yes is positive. Of any other two texts
    the last in the alphabet is positive, as in scikit-learn; ``decided_by`` is then ``"alphabet"``,
    and the command line requires --positive instead.

    Examples
    --------
    >>> [order_two_labels(*pair).positive for pair in ((1, -1), (True, False), ("ja", "Nein"))]
    [1, True, 'ja']
    >>> order_two_labels("bad", "good")
    LabelOrder(negative='bad', positive='good', decided_by='alphabet')
    """
    low, high = sorted((first, second))
    if not (isinstance(first, str) and isinstance(second, str)):
        return LabelOrder(low, high, "size")
    words = [label.strip().casefold() for label in (low, high)]
    positive = POSITIVE_WORD.get(frozenset(words))
    if positive is not None:
        decided = (low, high) if words[1] == positive else (high, low)
        return LabelOrder(*decided, "words")
    numbers = [_number(word) for word in words]
    if numbers[0] != numbers[1] and not any(map(math.isnan, numbers)):
        decided = (low, high) if numbers[0] < numbers[1] else (high, low)
        return LabelOrder(*decided, "size")
    return LabelOrder(low, high, "alphabet")


def check_positive_class(classes: Iterable[Any], argument: Literal["classes", "pos_label"]) -> None:
    """Refuse two sorted labels whose words contradict the order in which they are sorted.

    One column of scores belongs to the last label, as in ``predict_proba(X)[:, 1]``. If that is
    the word for no, the scores may be those of the yes, and the caller must state which.

    Parameters
    ----------
    classes : iterable of labels
        Two texts; other labels have no meaning to contradict.
    argument : {"classes", "pos_label"}
        What to pass instead.
    """
    labels = [label.item() if hasattr(label, "item") else label for label in classes]
    if len(labels) != 2 or not all(isinstance(label, str) for label in labels):
        return
    low, high = labels
    order = order_two_labels(low, high)
    if order.positive == high:
        return
    passes = {
        "classes": (f"classes=[{high!r}, {low!r}]", f"classes=[{low!r}, {high!r}]"),
        "pos_label": (f"pos_label={low!r}", f"pos_label={high!r}"),
    }[argument]
    raise InputError(
        f"the positive label is ambiguous: {low!r} by its meaning, {high!r} by the sorted order "
        f"of scikit-learn. Pass {passes[0]} if the scores "
        f"are those of {low!r}, or {passes[1]} if they are those of {high!r}."
    )


def direction_hint(
    n_neg: Floats, n_pos: Floats, *, rows: tuple[int, int], negative: Any, remedy: str
) -> str | None:
    """A sentence if the scores rank the negative class higher than chance explains, else None.

    Parameters
    ----------
    n_neg, n_pos : ndarray of shape (n_scores,)
        Weight of each class at each score, in increasing order of the score.
    rows : (int, int)
        Rows of the negative and of the positive class, which the test counts.
    negative : label
        The negative class.
    remedy : str
        What to do if the scores belong to the negative class.

    Notes
    -----
    The area under the ROC curve is compared with one half by the Mann–Whitney test with its
    correction for ties (normal approximation, one-sided, level 5%).

    Examples
    --------
    >>> import numpy as np
    >>> counts = {"n_neg": np.array([2.0, 9.0]), "n_pos": np.array([9.0, 2.0])}
    >>> direction_hint(**counts, rows=(11, 11), negative="bad", remedy="pass --positive bad")
    "High scores go with 'bad' (ROC AUC 0.18): if they are its probabilities, pass --positive bad."
    """
    total_neg, total_pos = float(n_neg.sum()), float(n_pos.sum())
    if not (total_neg and total_pos and min(rows)):
        return None
    below = np.cumsum(n_neg) - n_neg / 2
    area = float(n_pos @ below) / total_neg / total_pos
    n_rows = rows[0] + rows[1]
    tied = (n_neg + n_pos) * (n_rows / (total_neg + total_pos))
    ties = float((tied**3 - tied).sum()) / n_rows / (n_rows - 1)
    variance = max(n_rows + 1 - ties, 0.0) / (12 * rows[0] * rows[1])
    if area - 0.5 >= -ONE_SIDED * math.sqrt(variance):
        return None
    return (
        f"High scores go with {shown(negative)} (ROC AUC {area:.2f}): if they are its "
        f"probabilities, {remedy}."
    )


def check_label_length(values: Iterable[Any], name: str) -> None:
    """Refuse texts that are too long to serve as labels, groups or times.

    Rows are copied with them, and messages, reports and states repeat them. Frames and files
    keep the same limit by :func:`trueodds.engines.rules.text_rules`.

    Examples
    --------
    >>> check_label_length(["a", "b" * 2000], "y")
    Traceback (most recent call last):
    ...
    trueodds.exceptions.InputError: y holds a text of 2,000 characters, 'bbbbbbbb…bbbbbbbb'; texts \
that serve as labels, groups or times have at most 1,000.
    """
    for value in values:
        if isinstance(value, str) and len(value) > LONGEST_LABEL:
            raise InputError(
                f"{name} holds a text of {len(value):,} characters, {shown(value, 18)}; texts "
                f"that serve as labels, groups or times have at most {LONGEST_LABEL:,}."
            )


def _check_lengths(values: npt.NDArray[Any], name: str) -> None:
    if values.dtype.kind in "OU":
        check_label_length(values.tolist(), name)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def label_column(y: Any) -> npt.NDArray[Any]:
    """Labels as a 1-D array; a single column becomes one."""
    is_plain = type(y) is np.ndarray and y.dtype.kind != "O"
    array = y if is_plain else dense_labels(y)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array.ravel()
    if array.ndim == 0 and array.item() is None:
        raise InputError(
            "labels are needed: fit requires y to be passed, but the target y is None."
        )
    if array.ndim != 1:
        several = array.ndim == 2 and array.shape[1] > 1
        hint = (
            " For several labels of one row, take one column of scores and one of labels at a "
            "time. CalibratedClassifier calibrates each label of a model; per_label and "
            "evaluate_labels measure each."
        )
        raise InputError(f"y must be 1-D; got shape {array.shape}.{hint if several else ''}")
    _check_kind(array)
    return array


def _check_kind(array: npt.NDArray[Any]) -> None:
    """Refuse bytes, complex numbers and structures: models and files have no such labels."""
    is_object = array.dtype.kind == "O"
    kinds = set(map(type, array.tolist())) if is_object else {array.dtype.type}
    if any(issubclass(kind, (complex, np.complexfloating)) for kind in kinds):
        raise InputError("Complex data not supported: labels must be texts or numbers.")
    if any(issubclass(kind, (bytes, bytearray)) for kind in kinds):
        raise InputError(
            "labels must be texts or numbers; got bytes. Decode them: "
            "[label.decode() for label in y]."
        )
    if any(issubclass(kind, np.void) for kind in kinds):
        raise InputError("labels must be texts or numbers; got structures of several fields.")


def dense_labels(y: Any, name: str = "y") -> npt.NDArray[Any]:
    """Labels as an array; members of an Enum of texts or numbers as their values.

    Examples
    --------
    >>> from enum import Enum
    >>> Answer = Enum("Answer", {"NO": "no", "YES": "yes"}, type=str)
    >>> dense_labels([Answer.NO, Answer.YES])
    array(['no', 'yes'], dtype=object)
    """
    if isinstance(y, (list, tuple)) and _numpy_would_change(y):
        members = np.empty(len(y), dtype=object)
        members[:] = y
        y = members
    array = as_dense(y, name)
    enums = _enums(array.flat) if array.dtype.kind == "O" else []
    if not enums:
        return array
    if not issubclass(enums[0], (str, int, float)):
        raise InputError(
            f"labels must be texts or numbers, which have an order; got members of the Enum "
            f"{enums[0].__name__}. Pass their names or values: [label.name for label in {name}]."
        )
    plain = [label.value if isinstance(label, Enum) else label for label in array.flat]
    return np.array(plain, dtype=object).reshape(array.shape)


def _numpy_would_change(labels: Sequence[Any]) -> bool:
    """Whether an array would cut names of an Enum or NUL characters, or turn numbers into texts."""
    kinds = set(map(type, labels))
    if str in kinds and len(kinds) > 1:
        return all(isinstance(label, Hashable) for label in labels)
    return bool(_enums(labels)) or (
        kinds == {str} and any(label.endswith("\0") for label in labels)
    )


def _enums(labels: Iterable[Any]) -> list[type[Enum]]:
    """The kinds of Enum among labels, those without an order first."""
    found = [kind for kind in set(map(type, labels)) if issubclass(kind, Enum)]
    return sorted(found, key=lambda kind: issubclass(kind, (str, int, float)))


def encode_labels(y: Any, classes: Any = None) -> tuple[Labels, npt.NDArray[Any]]:
    """Code labels as 0 … n_classes − 1, in sorted order or in the order of ``classes``.

    Returns
    -------
    codes : ndarray of intp
    classes : ndarray
        The labels that the codes stand for.
    """
    array = label_column(y)
    if array.size == 0:
        raise InputError("y is empty.")
    if array.dtype.kind == "O":
        array = _plain_labels(array)
    if array.dtype.kind == "f":
        _check_float_labels(array)
    if classes is None:
        return _encode_seen(array)
    declared = np.asarray(dense_labels(classes, "classes"))
    if declared.ndim != 1 or len(declared) < 2 or not _are_distinct(declared):
        raise InputError(f"classes must be two or more distinct labels; got {shown(classes)}.")
    _check_lengths(declared, "classes")
    codes = known_codes(array, declared)
    if (codes < 0).any():
        index = int(np.argmax(codes < 0))
        label = array[index : index + 1].tolist()[0]
        raise InputError(f"y has the label {shown(label)} at index {index}, not in classes.")
    return codes, declared


def known_codes(labels: npt.NDArray[Any], classes: Sequence[Any] | npt.NDArray[Any]) -> Labels:
    """Return labels as their places among classes; −1 for those that are none of them."""
    if labels.dtype.kind == "O" or len(classes) > len(labels):
        plain = classes.tolist() if isinstance(classes, np.ndarray) else classes
        known = {label: code for code, label in enumerate(plain)}
        found = [known.get(x, -1) if isinstance(x, Hashable) else -1 for x in labels.tolist()]
        return np.array(found, dtype=np.intp)
    codes = np.full(labels.shape, -1, dtype=np.intp)
    for code, label in enumerate(classes):
        # 10**400 is no label of an array of floats, a text none of structures, and a list is none.
        with contextlib.suppress(OverflowError, TypeError, ValueError):
            same = labels == label
            codes[same if isinstance(same, np.ndarray) and same.dtype == bool else []] = code
    return codes


def _are_distinct(labels: npt.NDArray[Any]) -> bool:
    try:
        return len(set(labels.tolist())) == len(labels)
    except TypeError:  # lists, which cannot be labels
        return False


def _encode_seen(array: npt.NDArray[Any]) -> tuple[Labels, npt.NDArray[Any]]:
    if array.dtype.kind in "biu":
        codes = np.ascontiguousarray(array, dtype=np.intp)
        if codes.size and codes.min() == 0 and codes.max() == 1:  # the common case
            return codes, np.array([0, 1], dtype=array.dtype)
    try:
        classes, codes = np.unique(array, return_inverse=True)
    except (TypeError, ValueError, ArithmeticError):
        kinds = sorted({type(label).__name__ for label in array.tolist()})
        raise InputError(
            f"labels must be texts, numbers or others of one type that sorts; got {kinds}."
        ) from None
    _check_lengths(classes, "y")
    return codes.astype(np.intp, copy=False), classes


def _check_float_labels(array: npt.NDArray[Any]) -> None:
    if np.isnan(array).any():
        raise InputError("Input y contains NaN.")
    if (np.abs(array.astype(np.float64)) > MOST_LABEL).any():
        raise InputError("Input y contains infinity or a value too large for a label (2⁵³).")
    if (array != np.floor(array)).any():
        real = float(array[np.argmax(array != np.floor(array))])
        raise InputError(
            "Unknown label type: continuous. y must hold class labels, not real numbers; got "
            f"{number_text(real, round(real))}."
        )


def _plain_labels(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    labels = array.tolist()
    if any(map(is_missing, labels)):
        raise InputError("y must not contain missing labels (None or NaN).")
    if all(isinstance(label, str) for label in labels):
        return np.asarray(labels, dtype=object)
    kinds = {type(label).__name__ for label in labels}
    if len(kinds) > 1 and "str" in kinds:
        raise InputError(f"y mixes labels of several types: {', '.join(sorted(kinds))}.")
    if any(isinstance(label, int) and abs(label) >= 2**63 for label in labels):
        raise InputError("Input y contains a whole number too large for a label (2⁶³).")
    if "Decimal" in kinds and kinds <= {"Decimal", "int", "float", "bool"}:
        return np.array([float(label) for label in labels])  # as databases return numbers
    try:
        plain = np.asarray(labels)
    except ValueError:  # lists of several lengths
        return array
    return plain if plain.ndim == 1 and plain.dtype.kind != "O" else array


def is_missing(label: Any) -> bool:
    """Whether a value is None, NaN, NaT or the NA of pandas."""
    try:
        return label is None or bool(label != label)
    except (TypeError, ValueError):  # pandas' NA is neither equal nor not; an array is both
        return type(label).__name__ == "NAType"


def encode_clusters(clusters: Any, n_rows: int) -> tuple[Labels, npt.NDArray[Any]]:
    """Code clusters of rows as 0 … n_clusters − 1, and what the codes stand for."""
    array = as_dense(clusters, "clusters")
    if array.shape != (n_rows,):
        raise InputError(f"clusters must have shape ({n_rows},); got {array.shape}.")
    try:
        names, unit = np.unique(array, return_inverse=True)
    except TypeError:
        kinds = sorted({type(name).__name__ for name in array.tolist()})
        raise InputError(f"clusters must be of one type that sorts; got {kinds}.") from None
    _check_lengths(names, "clusters")
    return unit.astype(np.intp, copy=False), names
