"""The features of trees and groups: numeric or nominal, with missing values, of any frame."""

from __future__ import annotations

import datetime as dt
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shortened, shown
from trueodds.exceptions import (
    InputError,
    MapFormatError,
    UnknownCategoriesWarning,
    warn_user,
)
from trueodds.inputs import (
    Floats,
    InputScale,
    as_dense,
    category_number,
    category_text,
    category_texts,
    is_missing,
    per_distinct,
)

__all__ = [
    "MOST_CATEGORIES",
    "ONE",
    "ZERO",
    "FeatureSpace",
    "check_decoded_features",
    "check_names",
    "plain_categories",
    "score_columns",
    "series_values",
]

ZERO, ONE = 1e-5, 0.99999
"""What the authors take for probabilities of exactly 0 and 1; no other is changed."""

UNSEEN = -1.0
MOST_CATEGORIES = 65_000


@dataclass(frozen=True, eq=False)
class FeatureSpace:
    """Names, categories and fill values, which turn features into numbers.

    Parameters
    ----------
    names : tuple of str, or None
        Names of a frame's columns, by which they are found again; None for arrays.
    categories : tuple with one entry per feature
        None for a number, else its categories: distinct texts of
        :func:`~trueodds.inputs.category_text`. This is the feature's kind in every later batch.
    fill : array
        What stands for a missing value: the mean, or the code of the most frequent value.
    used : set of int, default=None
        Positions of the features that are read; None for all. Others are encoded as missing, and
        a frame need not have them.
    """

    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...]
    fill: Floats
    used: frozenset[int] | None = None

    @property
    def n_values(self) -> npt.NDArray[np.int64]:
        """Number of values of nominal features; 0 for numeric ones."""
        return np.array([0 if c is None else len(c) for c in self.categories], dtype=np.int64)

    def name(self, feature: int) -> str:
        """A column's name, or ``x0``, ``x1``, … in an array."""
        return f"x{feature}" if self.names is None else self.names[feature]

    @classmethod
    def learn(
        cls,
        features: Any,
        categorical: Sequence[Any] | None,
        weight: Floats,
        most_categories: int = MOST_CATEGORIES,
    ) -> tuple[FeatureSpace, Floats]:
        """Look at the training rows; returns them encoded, of shape (n, d), with NaN if missing."""
        table = _Table(features)
        if table.n_rows != len(weight):
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: features has "
                f"{table.n_rows} rows, scores has {len(weight)}."
            )
        declared = table.positions(categorical)
        categories: list[tuple[str, ...] | None] = []
        columns = []
        fill = np.zeros(table.n_columns)
        for a in range(table.n_columns):
            column = table.column(a)
            left_out = weight == 0  # rows that say nothing
            if column.nominal or a in declared:
                texts = column.texts()
                counted = zip(texts, left_out, strict=True)
                present = {text for text, out in counted if text is not None and not out}
                known = tuple(sorted(present, key=_order))
                if len(known) > most_categories:
                    raise InputError(
                        f"features[{column.label}] has {len(known)} categories; at most "
                        f"{most_categories} are possible. Leave it out, or group its values."
                    )
                categories.append(known)
                codes = np.where(left_out, np.nan, _codes(texts, known))
                if known:
                    kept = ~np.isnan(codes)
                    counts = np.bincount(codes[kept].astype(np.intp), weight[kept])
                    fill[a] = float(counts.argmax())
                columns.append(codes)
            else:
                categories.append(None)
                numbers = np.where(left_out, np.nan, column.numbers())
                present_numbers = ~np.isnan(numbers)
                if np.isinf(numbers).any():
                    raise InputError(
                        f"features[{column.label}] must be finite or missing; got infinity."
                    )
                if present_numbers.any():
                    fill[a] = _mean(numbers[present_numbers], weight[present_numbers])
                columns.append(numbers)
        if not columns:
            raise InputError("features must have at least one column; got 0 feature(s).")
        fill.flags.writeable = False
        return cls(table.names, tuple(categories), fill), np.stack(columns, axis=1)

    def filled(self, encoded: Floats) -> Floats:
        """Encoded rows with ``fill`` where a value is missing."""
        return np.where(np.isnan(encoded), self.fill, encoded)

    def encode(self, features: Any) -> Floats:
        """Numbers of shape (n, d): NaN where missing, −1 for a category that was not seen."""
        table = _Table(features)
        used = frozenset(range(len(self.categories))) if self.used is None else self.used
        order = table.find(self.names, len(self.categories), used)
        if table.numbers is not None and all(c is None for c in self.categories):
            return np.ascontiguousarray(table.numbers)
        result = np.full((table.n_rows, len(self.categories)), np.nan)
        strange = []
        for a, source in order.items():
            column, known = table.column(source), self.categories[a]
            if known is None:
                result[:, a] = column.numbers()
                continue
            texts = column.texts()
            result[:, a] = _codes(texts, known)
            if known and (result[:, a] == UNSEEN).any() and not (result[:, a] >= 0).any():
                new = shortened([shown(t) for t in dict.fromkeys(texts) if t is not None], ", ")
                fitted = shortened([shown(text) for text in known], ", ")
                strange.append(f"features[{column.label}] holds {new}, and the fit had {fitted}")
        if strange:
            warn_user(
                f"no row has a category of the fit: {'; '.join(strange)}. Such rows get the "
                "probability of an unknown category.",
                UnknownCategoriesWarning,
            )
        return result


def plain_categories(known: Any) -> tuple[tuple[str, ...] | None, ...]:
    """Categories of each feature as their texts; None for numbers.

    Maps that were saved with numbers as categories, or with texts of another spelling, are read.
    """
    try:
        found = tuple(
            None if values is None else tuple(category_text(v) or str(v) for v in values)
            for values in known
        )
    except (TypeError, ValueError):
        raise InputError("categories must be None, or lists of texts, for each feature.") from None
    for values in found:
        if values is not None and len(set(values)) < len(values):
            raise InputError("the categories of a feature must be distinct as texts.")
    return found


def check_decoded_features(names: Any, categories: Any) -> None:
    """Raise unless names and categories from a JSON document have the right types."""
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise MapFormatError("names must be null or a list of texts.")
    if not isinstance(categories, list) or not all(
        known is None
        or (isinstance(known, list) and all(type(v) is str or _is_float64(v) for v in known))
        for known in categories
    ):
        raise MapFormatError("categories must be a list of null or lists of texts or numbers.")


def _is_float64(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) <= sys.float_info.max


def check_names(names: tuple[str, ...] | None, n_features: int) -> None:
    """Refuse names of features that are not distinct texts."""
    if names is not None and (
        len(names) != n_features
        or len(set(names)) != n_features
        or not all(isinstance(name, str) for name in names)
    ):
        raise InputError("names must be distinct texts, one per feature.")


def _order(text: str) -> tuple[bool, float, str]:
    """Numbers by size, then texts."""
    number = category_number(text)
    return number is None, number or 0.0, text


def _codes(texts: list[str | None], known: tuple[str, ...]) -> Floats:
    """The position of each text among the categories; NaN if it is missing."""
    place_of: dict[str | None, float] = {text: float(k) for k, text in enumerate(known)}
    place_of[None] = np.nan
    return np.array([place_of.get(text, UNSEEN) for text in texts], dtype=np.float64)


def _mean(values: Floats, weight: Floats) -> float:
    """The weighted mean, without overflow."""
    size = float(np.abs(values).max()) or 1.0
    return float(np.average(values / size, weights=weight)) * size


class _Table:
    """Columns of an array or a frame, as texts or numbers with a mask of the missing ones."""

    def __init__(self, features: Any) -> None:
        if features is None:
            raise InputError(
                "this calibrator needs the original features: pass features=X to fit, "
                "predict_proba and predict."
            )
        if hasattr(features, "toarray"):
            features = features.toarray()  # sparse: absent entries are zeros, not missing
        self.names: tuple[str, ...] | None = None
        self.numbers: npt.NDArray[Any] | None = None
        self._frame: Any = None
        if not isinstance(features, (np.ndarray, list, tuple)):
            import narwhals as nw
            from narwhals.exceptions import DuplicateError

            try:
                frame = nw.from_native(features, pass_through=True)
            except DuplicateError as error:
                raise InputError(
                    f"features must have columns of different names: {error}"
                ) from None
            if isinstance(frame, nw.LazyFrame):
                raise InputError("features is a lazy frame; collect it first.")
            if isinstance(frame, nw.DataFrame):
                self._frame = frame
                if all(isinstance(name, str) for name in frame.columns):
                    self.names = tuple(frame.columns)
                self.n_rows, self.n_columns = frame.shape
                return
        array = as_dense(features, "features")
        if array.ndim != 2:
            raise InputError(
                f"features must be 2-D, one row per instance; got shape {array.shape}. "
                "Reshape a single feature to (n, 1)."
            )
        if array.dtype.kind in "mcV":
            raise InputError(f"features must be numbers or categories; got dtype {array.dtype}.")
        self._array = array
        self.n_rows, self.n_columns = array.shape
        if array.dtype.kind in "fiub":
            self.numbers = array.astype(np.float64, copy=False)

    def label(self, column: int) -> str:
        return str(column) if self.names is None else repr(self.names[column])

    def positions(self, categorical: Sequence[Any] | None) -> set[int]:
        """Columns that are declared to be categorical, by name or position."""
        result = set()
        for item in () if categorical is None else categorical:
            if self.names is not None and isinstance(item, str) and item in self.names:
                result.add(self.names.index(item))
            elif isinstance(item, (int, np.integer)) and 0 <= item < self.n_columns:
                result.add(int(item))
            else:
                raise InputError(f"categorical names the column {item!r}, which features lacks.")
        return result

    def find(
        self, names: tuple[str, ...] | None, n_columns: int, used: frozenset[int]
    ) -> dict[int, int]:
        """Where the used columns of the fit are: by name if both have names, else by position."""
        if names is not None and self.names is not None:
            absent = [names[a] for a in sorted(used) if names[a] not in self.names]
            if absent:
                raise InputError(f"features lacks the columns {absent} of the fit.")
            return {a: self.names.index(names[a]) for a in sorted(used)}
        if self.n_columns != n_columns:
            raise InputError(
                f"features must have {n_columns} columns as in fit; got {self.n_columns}."
            )
        return {a: a for a in sorted(used)}

    def column(self, index: int) -> _Column:
        """The values of a column, and what a fit takes it for."""
        label = self.label(index)
        if self._frame is None:
            values = self._array[:, index]
            return _Column(values, label, self.numbers is None and _are_nominal(values))
        import narwhals as nw

        series = self._frame[:, index]
        dtype = series.dtype
        if dtype.is_numeric():
            return _Column(series_values(series), label, False)
        if dtype in (nw.String, nw.Object, nw.Boolean, nw.Categorical, nw.Enum, nw.Date) or (
            dtype == nw.Datetime or series.null_count() == len(series)
        ):
            values = series_values(series)
            grouped = dtype in (nw.Categorical, nw.Enum)
            return _Column(values, label, grouped or _are_nominal(values))
        raise InputError(
            f"features[{label}] has dtype {dtype}; numbers, texts, booleans or dates are needed."
        )


@dataclass(frozen=True, eq=False)
class _Column:
    """A column of features, which may be read as categories or as numbers."""

    values: npt.NDArray[Any]
    label: str
    nominal: bool
    """Whether a fit takes it for categories."""

    def texts(self) -> list[str | None]:
        """The values as categories."""
        return category_texts(self.values, f"features[{self.label}]")

    def numbers(self) -> Floats:
        """The values as numbers, NaN where they are missing."""
        if self.values.dtype.kind in "fiub":
            return self.values.astype(np.float64)
        try:
            return np.array(per_distinct(self.values.tolist(), _number), dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(
                f"features[{self.label}] is a numeric feature and must hold numbers; {error}."
            ) from None


def series_values(series: Any) -> npt.NDArray[Any]:
    """A column of narwhals as an array: of objects, if NumPy has no numbers of its type.

    Integers with missing values are objects, because they would lose digits as floats.
    """
    import narwhals as nw

    dtype = series.dtype
    plain = dtype.is_float() or (dtype.is_integer() and not series.null_count())
    if plain and dtype not in (nw.Int128, nw.UInt128):
        return np.asarray(series.to_numpy())
    return _as_objects(series.to_list())


def _as_objects(items: list[Any]) -> npt.NDArray[Any]:
    values = np.empty(len(items), dtype=object)
    values[:] = items
    return values


def _are_nominal(values: npt.NDArray[Any]) -> bool:
    """Whether there is a text or a date, or nothing but truth values."""
    if values.dtype.kind in "USM":
        return True
    kinds = {type(item) for item in values.tolist() if not is_missing(item)}
    texts = (str, bytes, dt.date, np.datetime64)
    return kinds in ({bool}, {np.bool_}) or any(issubclass(kind, texts) for kind in kinds)


def _number(value: Any) -> float:
    """A value of a numeric feature; texts are numbers if they spell one."""
    if is_missing(value):
        return float("nan")
    if isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode()
        try:
            return float(text if text.isascii() and "_" not in text else "")
        except ValueError:
            raise ValueError(f"got {shown(value)}") from None
    try:
        return float(value)
    except (TypeError, ValueError):
        raise TypeError(f"got {shown(value)}, of type {type(value).__name__}") from None


def score_columns(scores: Floats, scale: InputScale) -> Floats:
    """Scores (n,) or (n, m) as log-odds ln(p/(1−p)), equation 4; decision values unchanged.

    A probability of exactly 0 counts as 0.00001 and of exactly 1 as 0.99999, and so do infinite
    log-odds; nothing else is clipped, so these are not always the most extreme.
    """
    if scale == "raw":
        return scores
    if scale == "logit":
        end = float(np.log(ONE / (1 - ONE)))
        return np.where(np.isinf(scores), np.copysign(end, scores), scores)
    p = np.where(scores == 0, ZERO, np.where(scores == 1, ONE, scores))
    return np.asarray(np.log(p / (1 - p)))
