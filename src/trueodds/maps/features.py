"""The features of trees and groups: numeric or nominal, with missing values, of any frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError, MapFormatError
from trueodds.inputs import (
    Floats,
    InputScale,
    as_dense,
)

__all__ = [
    "MOST_CATEGORIES",
    "ONE",
    "ZERO",
    "FeatureSpace",
    "check_categories",
    "check_decoded_features",
    "check_names",
    "plain_values",
    "score_columns",
]

ZERO, ONE = 1e-5, 0.99999
"""What the authors take for probabilities of exactly 0 and 1; no other is changed."""

Category = str | float
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
        None for a numeric feature, else its values in sorted order: all texts or all numbers.
    fill : array
        What stands for a missing value: the mean, or the code of the most frequent value.
    used : set of int, default=None
        Positions of the features that are read; None for all. Others are encoded as missing, and
        a frame need not have them.
    """

    names: tuple[str, ...] | None
    categories: tuple[tuple[Category, ...] | None, ...]
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
        categories: list[tuple[Category, ...] | None] = []
        columns = []
        fill = np.zeros(table.n_columns)
        for a in range(table.n_columns):
            values, missing, nominal = table.column(a)
            missing = missing | (weight == 0)  # rows that are left out say nothing
            if nominal or a in declared:
                known = tuple(sorted(set(values[~missing].tolist())))
                if len(known) > most_categories:
                    raise InputError(
                        f"features[{table.label(a)}] has {len(known)} categories; at most "
                        f"{most_categories} are possible. Leave it out, or group its values."
                    )
                categories.append(known)
                codes = _encode(values, missing, known)
                if len(known):
                    present = ~missing
                    counts = np.bincount(codes[present].astype(np.intp), weight[present])
                    fill[a] = float(counts.argmax())
                columns.append(np.where(missing, np.nan, codes))
            else:
                categories.append(None)
                if np.isinf(values[~missing]).any():
                    raise InputError(
                        f"features[{table.label(a)}] must be finite or missing; got infinity."
                    )
                if not missing.all():
                    fill[a] = _mean(values[~missing], weight[~missing])
                columns.append(np.where(missing, np.nan, values))
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
        for a, source in order.items():
            values, missing, nominal = table.column(source)
            known = self.categories[a]
            if known is not None:
                result[:, a] = _encode(values, missing, known)
            elif nominal:
                raise InputError(f"features[{table.label(source)}] must be numbers, as in fit.")
            else:
                result[:, a] = values
        return result


def plain_values(known: Any) -> tuple[Category, ...] | None:
    """The categories of a feature as texts and floats; None for numbers."""
    try:
        return (
            None if known is None else tuple(v if isinstance(v, str) else float(v) for v in known)
        )
    except (OverflowError, TypeError, ValueError):
        raise InputError("categories must be lists of texts and numbers of float64.") from None


def check_categories(categories: tuple[tuple[Category, ...] | None, ...]) -> None:
    """Refuse categories that are not sorted, distinct and of one kind."""
    for known in categories:
        kinds = {isinstance(value, str) for value in known or ()}
        if len(kinds) > 1 or any(
            not a < b  # type: ignore[operator]  # of one kind by now
            for a, b in pairwise(known or ())
        ):
            raise InputError("categories must be sorted distinct texts, or numbers.")


def check_decoded_features(names: Any, categories: Any) -> None:
    """Raise unless names and categories from a JSON document have the right types."""
    if names is not None and not (
        isinstance(names, list) and all(isinstance(name, str) for name in names)
    ):
        raise MapFormatError("names must be null or a list of texts.")
    if not isinstance(categories, list) or not all(
        known is None
        or (isinstance(known, list) and all(type(v) in (str, int, float) for v in known))
        for known in categories
    ):
        raise MapFormatError("categories must be a list of null or lists of texts or numbers.")


def check_names(names: tuple[str, ...] | None, n_features: int) -> None:
    """Refuse names of features that are not distinct texts."""
    if names is not None and (
        len(names) != n_features
        or len(set(names)) != n_features
        or not all(isinstance(name, str) for name in names)
    ):
        raise InputError("names must be distinct texts, one per feature.")


def _mean(values: Floats, weight: Floats) -> float:
    """The weighted mean, without overflow."""
    size = float(np.abs(values).max()) or 1.0
    return float(np.average(values / size, weights=weight)) * size


def _encode(
    values: npt.NDArray[Any], missing: npt.NDArray[np.bool_], known: tuple[Category, ...]
) -> Floats:
    """The position of each value among the sorted categories."""
    categories = np.array(known)
    if not known or (categories.dtype.kind == "U") != (values.dtype.kind == "U"):
        return np.where(missing, np.nan, UNSEEN)
    if values.dtype.kind == "U":
        # As NumPy has them, without NUL at the end, like the values.
        place_of = {text: float(place) for place, text in enumerate(categories.tolist())}
        found = np.array([place_of.get(value, UNSEEN) for value in values.tolist()])
        return np.where(missing, np.nan, found)
    place = np.minimum(np.searchsorted(categories, values), len(categories) - 1)
    codes = np.where(categories[place] == values, place.astype(np.float64), UNSEEN)
    return np.where(missing, np.nan, codes)


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
        if array.dtype.kind in "mMcV":
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

    def column(self, index: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], bool]:
        """Values (float64 or texts), which are missing, and whether they are categories."""
        if self._frame is not None:
            return self._frame_column(index)
        if self.numbers is not None:
            values = self.numbers[:, index]
            return values, np.isnan(values), False
        return _objects(self._array[:, index])

    def _frame_column(self, index: int) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], bool]:
        import narwhals as nw

        series = self._frame[:, index]
        dtype = series.dtype
        if dtype.is_numeric():
            values = np.asarray(series.cast(nw.Float64).to_numpy(), dtype=np.float64)
            return values, np.isnan(values), False
        if dtype == nw.Boolean:
            values, missing, _ = _objects(np.array(series.to_list(), dtype=object))
            return values, missing, True
        if dtype in (nw.Categorical, nw.Enum):
            # Codes of texts are found text by text; of numbers, as numbers.
            return _objects(np.array(series.to_list(), dtype=object), nominal=True)
        if series.null_count() == len(series):
            return np.full(self.n_rows, np.nan), np.ones(self.n_rows, dtype=bool), False
        if dtype in (nw.String, nw.Object):
            return _objects(np.array(series.to_list(), dtype=object))
        raise InputError(
            f"features[{self.label(index)}] has dtype {dtype}; numbers or categories are needed."
        )


def _objects(
    column: npt.NDArray[Any], *, nominal: bool = False
) -> tuple[npt.NDArray[Any], npt.NDArray[np.bool_], bool]:
    items = column.tolist()
    # NaN does not equal itself, and pandas' NA does not say.
    missing = np.array([item is None or (item == item) is not True for item in items], dtype=bool)
    present = {type(item) for item, gone in zip(items, missing, strict=True) if not gone}
    if any(issubclass(kind, (str, bytes)) for kind in present):
        texts = ["" if gone else str(item) for item, gone in zip(items, missing, strict=True)]
        return np.array(texts, dtype=np.str_), missing, True
    try:
        numbers = np.array(
            [np.nan if gone else item for item, gone in zip(items, missing, strict=True)],
            dtype=np.float64,
        )
    except (TypeError, ValueError, OverflowError):
        raise InputError(
            "features must hold numbers or texts; got objects of type "
            f"{', '.join(sorted(kind.__name__ for kind in present))}."
        ) from None
    return numbers, missing, nominal or present == {bool}


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
