"""The groups that a column makes of rows: its values, or bands of its numbers.

One rule holds wherever groups are read, from arrays, frames or files. **A column of numbers with
more than ten distinct values is cut into five bands of about equal mass. Of any other column, each
value is a group. Missing values are one group.**

A group is its value, or the edges of its band. Names are made last, for printing.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs._arrays import Labels
from trueodds.inputs._categories import category_text
from trueodds.inputs._labels import check_label_length, is_missing

__all__ = [
    "MOST_VALUES",
    "Band",
    "GroupColumn",
    "band_ends",
    "bands_between",
    "category_key",
    "cuts_of_array",
    "find_cuts",
    "group_array",
    "group_columns",
    "group_names",
    "plain_number",
    "read_groups",
]

MOST_VALUES = 10
"""Numbers with more distinct values are cut into bands."""
N_BANDS = 5
MISSING = "(missing)"
OTHER = "(other)"
FEWEST_DIGITS, MOST_DIGITS = 4, 17


class Band(NamedTuple):
    """Numbers from ``low`` up to ``high``, which is outside; None where the band is open.

    Examples
    --------
    >>> from trueodds.metrics import group_test
    >>> age = list(range(20, 70))
    >>> found = group_test([0, 1] * 25, [0.5] * 50, {"age": age})
    >>> {group.value: group.band for group in found}["30 to 40"]
    Band(low=30, high=40)
    """

    low: float | None
    high: float | None


def find_cuts(
    n_values: int,
    n_rows: float,
    at: Callable[[Sequence[int]], Sequence[Any]],
    most_values: int = MOST_VALUES,
    n_bands: int = N_BANDS,
) -> tuple[Any, ...] | None:
    """The rule: where numbers are cut into bands, or None if each is a group.

    Parameters
    ----------
    n_values : int
        Number of distinct numbers.
    n_rows : float
        Rows that have a number.
    at : callable
        Returns the numbers at these places of the rows in order, counted from 0.
    """
    if n_values <= most_values:
        return None
    places = [math.ceil((n_rows - 1) * k / n_bands) for k in range(n_bands)]
    lowest, *cuts = at(places)
    return tuple(sorted({cut for cut in cuts if cut > lowest}))


def cuts_of_array(
    distinct: npt.NDArray[Any],
    mass: npt.NDArray[Any],
    most_values: int = MOST_VALUES,
    n_bands: int = N_BANDS,
) -> tuple[Any, ...] | None:
    """Where the rule cuts distinct numbers in order; ``mass`` are the rows of each."""
    reached = np.cumsum(mass)

    def at(places: Sequence[int]) -> list[Any]:
        return list(distinct[np.searchsorted(reached, places, side="right")].tolist())

    return find_cuts(int(np.count_nonzero(mass)), float(mass.sum()), at, most_values, n_bands)


def bands_between(cuts: Sequence[Any]) -> list[Band]:
    """The bands that numbers are cut into."""
    return [Band(*ends) for ends in pairwise([None, *cuts, None])]


def band_ends(key: Any) -> list[float | None] | None:
    """The edges of a band as plain JSON values, infinite ones as open ones; None of a value."""
    if not isinstance(key, Band):
        return None
    return [end if end is not None and math.isfinite(end) else None for end in key]


def group_names(keys: Sequence[Any]) -> list[str]:
    """What groups are called: by their value, or by the edges of their bands; None is missing.

    The edges have as many digits as they need to differ.

    Examples
    --------
    >>> group_names([1000001.0, "Graz", None])
    ['1000001', 'Graz', '(missing)']
    >>> group_names(bands_between([20240101, 20240315]))
    ['below 20240101', '20240101 to 20240315', '20240315 and above']
    """
    bands = [key for key in keys if isinstance(key, Band)]
    cuts = sorted({end for band in bands for end in band if end is not None})
    texts = dict(zip(cuts, number_texts(cuts), strict=True))
    return [_name(key, texts) for key in keys]


def _name(key: Any, texts: Mapping[Any, str]) -> str:
    if key is None:
        return MISSING
    if not isinstance(key, Band):
        text = str(key).lower() if _is_truth(key) else str(_category(key))
        return repr(text) if text in (MISSING, OTHER) else text
    if key.low is None:
        return "any number" if key.high is None else f"below {texts[key.high]}"
    if key.high is None:
        return f"{texts[key.low]} and above"
    return f"{texts[key.low]} to {texts[key.high]}"


def number_texts(numbers: Sequence[Any]) -> list[str]:
    """Distinct numbers in as few digits, at least four, as make them differ; integers in full.

    Examples
    --------
    >>> number_texts([1 / 3, 2.0, 1e6]), number_texts([1 / 3, 0.33333])
    (['0.3333', '2', '1000000'], ['0.333333', '0.33333'])
    """
    for digits in range(FEWEST_DIGITS, MOST_DIGITS + 1):
        texts = [_digits(number, digits) for number in numbers]
        if len(set(texts)) == len(texts):
            break
    return texts


def _digits(number: Any, digits: int) -> str:
    if not math.isfinite(number) or number == int(number):
        return str(category_text(number))
    return f"{number:.{max(digits, len(str(abs(int(number)))))}g}"


def category_key(text: str | None, spelled: Sequence[Any]) -> Any:
    """What a category of this text is known by: its value, or the text if it is spelled in ways."""
    if text is None:
        return None
    return spelled[0] if len(spelled) == 1 or all(map(_is_truth, spelled)) else text


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool) or str(value).lower() in ("true", "false")


def _category(value: Any) -> str | None:
    """The text of a category; of values of other types, what Python prints."""
    try:
        return category_text(value)
    except (TypeError, ValueError):
        return str(value)


def plain_number(value: Any) -> Any:
    """A number of Python, or None for what is none: a text, a truth value, a date."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, Decimal):
        return int(value) if value == value.to_integral_value() else float(value)
    return value if isinstance(value, (int, float)) and not isinstance(value, bool) else None


@dataclass(frozen=True, eq=False)
class GroupColumn:
    """A column that parts the rows.

    Parameters
    ----------
    name : str
    codes : ndarray of shape (n,)
        The group of each row.
    keys : tuple
        What each group is: a value, a :class:`Band`, or None for missing values.
    names : tuple of str
        What each group is called; no two are equal.
    """

    name: str
    codes: Labels
    keys: tuple[Any, ...]
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.keys)

    def band(self, code: int) -> Band | None:
        """The edges of a group, if it is a band."""
        key = self.keys[code]
        return key if isinstance(key, Band) else None

    @classmethod
    def read(
        cls,
        name: str,
        values: Any,
        n_rows: int,
        times: npt.NDArray[Any] | None = None,
        most_values: int = MOST_VALUES,
        n_bands: int = N_BANDS,
    ) -> GroupColumn:
        """Read a column of any library by the rule.

        Parameters
        ----------
        name : str
        values : array-like of shape (n_rows,)
        n_rows : int
        times : array of shape (n,), default=None
            How often each row counts in the bands; by default once.
        most_values, n_bands : int
            Numbers with more distinct values are cut into this many bands.
        """
        array, is_nominal = _as_array(values)
        if array.shape != (n_rows,):
            raise InputError(f"groups[{name!r}] must have shape ({n_rows},); got {array.shape}.")
        distinct, codes, is_numeric = _distinct(array, is_nominal)
        keys: list[Any]
        if is_numeric:
            kept = codes >= 0
            mass = np.bincount(
                codes[kept], None if times is None else times[kept], minlength=len(distinct)
            )
            cuts = cuts_of_array(distinct, mass, most_values, n_bands)
            if cuts is None:
                keys = distinct.tolist()
            else:
                keys = [*bands_between(cuts)]
                place = np.searchsorted(np.array(cuts, distinct.dtype), distinct, side="right")
                codes = np.where(kept, place[codes], -1)
        else:
            spelled: dict[str, list[Any]] = {}
            texts = [_category(value) for value in distinct]
            for text, value in zip(texts, distinct, strict=True):
                if text is not None:
                    spelled.setdefault(text, []).append(value)
            ordered = sorted(spelled)
            keys = [category_key(text, spelled[text]) for text in ordered]
            codes_of: dict[str | None, int] = {text: code for code, text in enumerate(ordered)}
            codes = np.array([*(codes_of.get(text, -1) for text in texts), -1])[codes]
        missing = codes < 0
        if missing.any():
            codes = np.where(missing, len(keys), codes)
            keys.append(None)
        names = group_names(keys)
        check_label_length(names, f"group {shown(name)}")
        return cls(name, codes.astype(np.intp), tuple(keys), tuple(names))

    def most_frequent(self, most: int, times: npt.NDArray[Any]) -> GroupColumn:
        """The same with at most ``most`` values: the most frequent, and one for all others."""
        present = [k for k, key in enumerate(self.keys) if key is not None]
        if len(present) <= most or isinstance(self.keys[0], Band):
            return self
        sizes = np.bincount(self.codes, times, minlength=len(self))[present]
        frequent = np.array(present)[np.argsort(-sizes, kind="stable")[: most - 1]]
        new = np.full(len(self), most - 1)
        new[frequent] = np.arange(most - 1)
        keys, names = [self.keys[k] for k in frequent], [self.names[k] for k in frequent]
        if None in self.keys:
            new[self.keys.index(None)] = most
        rest = [(OTHER, OTHER), (None, MISSING)][: 1 + (None in self.keys)]
        return replace(
            self,
            codes=new[self.codes],
            keys=(*keys, *(key for key, _ in rest)),
            names=(*names, *(name for _, name in rest)),
        )


def _distinct(array: npt.NDArray[Any], is_nominal: bool) -> tuple[Any, Labels, bool]:
    """The distinct values, the code of each row's (−1: missing), and whether they are numbers.

    Numbers are an array in order, which holds Python's own where float64 would merge some.
    """
    kind = array.dtype.kind
    if kind in "fiu":
        gone = np.isnan(array) if kind == "f" else np.zeros(len(array), dtype=bool)
        found, place = np.unique(array[~gone], return_inverse=True)
        if kind == "f" and array.dtype != np.float64:  # 0.1 of float32 is 0.1
            found = np.array([float(str(value)) for value in found])
        codes = np.full(len(array), -1, dtype=np.intp)
        codes[~gone] = place
        return (found.tolist() if is_nominal else found), codes, not is_nominal
    inverse: Any = slice(None)
    if kind in "bM":
        if kind == "M" and array.dtype != "M8[D]":
            array = array.astype("M8[us]")  # as Python has it
        array, inverse = np.unique(array, return_inverse=True)
    items = array.tolist()
    # By type as well: 1, 1.0 and True are equal.
    first: dict[tuple[type, Any], int] = {}
    try:
        rows = np.array(
            [first.setdefault((type(item), item), len(first)) for item in items], dtype=np.intp
        )[inverse]
    except TypeError:
        found_kinds = sorted({type(item).__name__ for item in items})
        raise InputError(
            f"groups must be texts, numbers, dates or truth values; got {found_kinds}."
        ) from None
    present = [None if is_missing(item) else item for _, item in first]
    numbers = [plain_number(item) for item in present if item is not None]
    if not numbers or is_nominal or None in numbers:
        gone = np.array([item is None for item in present], dtype=bool)
        return [item for item in present if item is not None], _codes(gone)[rows], False
    ordered = np.array([*sorted(set(numbers)), None], dtype=object)[:-1]
    code = {number: k for k, number in enumerate(ordered.tolist())}
    places = [-1 if item is None else code[plain_number(item)] for item in present]
    return ordered, np.array(places, dtype=np.intp)[rows], True


def _codes(gone: npt.NDArray[np.bool_]) -> Labels:
    """The places of those that are left, in order, and −1 for those that are gone."""
    return np.where(gone, -1, np.cumsum(~gone) - 1)


def group_array(values: Any) -> npt.NDArray[Any]:
    """A column of groups as an array."""
    return _as_array(values)[0]


def _as_array(values: Any) -> tuple[npt.NDArray[Any], bool]:
    """A column as an array, and whether its numbers are codes of categories."""
    # Missing values are a group here, so the strict door of scores does not serve.
    is_nominal = False
    if not isinstance(values, (np.ndarray, list, tuple)):
        import narwhals as nw

        native = nw.from_native(values, allow_series=True, pass_through=True)
        if isinstance(native, nw.Series):
            is_nominal = native.dtype in (nw.Categorical, nw.Enum)
            if is_nominal or (native.dtype.is_integer() and native.null_count()):
                values = native.to_list()  # an array of them would be of float64
            else:
                values = native.to_numpy()
        elif hasattr(values, "to_pylist"):
            values = values.to_pylist()
    try:
        array = np.asarray(values, dtype=_mixed(values))
    except (TypeError, ValueError):
        raise InputError(f"groups must be columns; got {shown(values)}.") from None
    return array, is_nominal


def _mixed(values: Any) -> Any:
    """Object for lists whose values NumPy would turn into texts or floats; else its own choice."""
    if not isinstance(values, (list, tuple)) or len(set(map(type, values))) == 1:
        return None
    return object


def group_columns(groups: Any) -> dict[str, Any]:
    """Columns by name, of a mapping, a frame, or a single column."""
    if isinstance(groups, Mapping):
        named = {str(name): part for name, part in groups.items()}
    elif hasattr(groups, "collect"):
        raise InputError(f"groups must be columns in memory; got {shown(groups)}.")
    elif hasattr(groups, "columns") and hasattr(groups, "__getitem__"):
        named = {str(name): groups[name] for name in groups.columns}
    else:
        own = getattr(groups, "name", None)
        named = {own if isinstance(own, str) and own else "group": groups}
    if not named:
        raise InputError("groups must have at least one column; got none.")
    return named


def read_groups(
    columns: Mapping[str, Any],
    n_rows: int,
    times: npt.NDArray[Any] | None = None,
    **options: int,
) -> list[GroupColumn]:
    """Read columns of ``n_rows`` rows; ``times`` and options as in :meth:`GroupColumn.read`."""
    return [
        GroupColumn.read(str(name), values, n_rows, times, **options)
        for name, values in columns.items()
    ]
