"""What every family of maps shares: the call, JSON, and equality."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, overload

import numpy as np

from trueodds.basics.threads import BLOCK, in_blocks
from trueodds.exceptions import InputError, MapFormatError
from trueodds.export import Expression, SqlDialect, render_onnx, render_python, render_sql
from trueodds.maps import _json
from trueodds.maps._about import function_alone
from trueodds.maps._band import Band, band_document, check_band, read_band
from trueodds.maps._banded import Banded
from trueodds.maps._formulas import positive_expression
from trueodds.maps._provenance import Described
from trueodds.maps.exporting import feature_columns, formula_of, score_names
from trueodds.validation import (
    Floats,
    InputScale,
    check_scale,
    positive_column,
    validate_scores,
    where,
)

__all__ = ["BinaryMap", "CalibrationMap", "ClassMap"]

Columns = list[str] | tuple[str, ...]
Features = Sequence[str] | Mapping[str, str] | None
SHARED = {"input", "classes", "band"}
"""Fields of every family, which stand in the header of the file."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationMap(Described, Banded, ABC):
    """A learned function from scores to probabilities.

    Parameters
    ----------
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores that it is called on.
    classes : tuple of str, int, float or bool, default=None
        The labels that the columns stand for; in a binary map the second one is positive.
    band : Band, default=None
        Between which curves the truth lies, if the map knows; see :meth:`interval`.
    """

    input: InputScale = "probability"
    classes: tuple[_json.Label, ...] | None = None
    band: Band | None = None

    family: ClassVar[str]
    _families: ClassVar[dict[str, type[CalibrationMap]]] = {}

    def __init_subclass__(cls, *, saved: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if saved and "family" in cls.__dict__:
            CalibrationMap._families[cls.family] = cls

    def __post_init__(self) -> None:
        check_scale(self.input)
        self._check()
        if self.classes is not None:
            labels = tuple(_json.plain_label(label) for label in self.classes)
            object.__setattr__(self, "classes", labels)
            if len(set(labels)) != len(labels) or len(labels) != (self.n_classes or len(labels)):
                raise InputError(f"classes must be {self.n_classes} distinct labels; got {labels}.")
        if self.band is not None:
            check_band(self.band, self)

    @property
    @abstractmethod
    def n_classes(self) -> int | None:
        """How many classes the map is for; None if for any number."""

    @property
    def takes_one_score(self) -> bool:
        """Whether scores may be those of the positive class alone."""
        return False

    @property
    def rows_sum_to_one(self) -> bool:
        """Whether the probabilities of several classes must sum to 1."""
        return True

    @property
    def attributes(self) -> tuple[str | int, ...]:
        """What the map asks for beside scores; empty for all families but trees.

        Names of columns, or their positions if the map was fitted on an array.
        """
        return ()

    @abstractmethod
    def _check(self) -> None:
        """Refuse impossible parameters, and bring arrays into their canonical form."""

    @abstractmethod
    def _apply(self, scores: Floats) -> Floats:
        """Map validated scores of the shape that the family works on."""

    def apply(self, scores: Floats) -> Floats:
        """Map validated scores, in blocks that stay in the cache and on all cores if many."""
        if len(scores) <= BLOCK:
            return self._apply(scores)
        out = np.empty(scores.shape)

        def work(rows: slice) -> None:
            out[rows] = self._apply(scores[rows])

        in_blocks(work, len(scores))
        return out

    def apply_to_both(self, scores: Floats) -> Floats:
        """Probabilities of both classes, of shape (n, 2), from validated scores of the positive.

        In memory there is one row for each class, which is faster to fill.
        """
        both = np.empty((2, len(scores)))

        def work(rows: slice) -> None:
            p = self._apply(scores[rows])
            both[1, rows] = p
            np.subtract(1.0, p, out=both[0, rows])

        in_blocks(work, len(scores))
        return both.T

    @abstractmethod
    def __call__(self, scores: Any) -> Floats:
        """Turn scores into probabilities of the same shape."""

    @abstractmethod
    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The family's formula, from which SQL, ONNX and Python are written.

        Parameters
        ----------
        scores : sequence of Expression
            One for the positive class, or one for each class; on the scale that ``input`` says.

        Returns
        -------
        tuple of Expression
            The probability of the positive class, or of each class.
        """

    def _freeze(self, name: str) -> Floats:
        """Make a field a read-only float64 array without NaN."""
        try:
            array = np.array(getattr(self, name), dtype=np.float64)
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be an array of numbers.") from None
        if np.isnan(array).any():
            raise InputError(f"{name} must not contain NaN; found {where(np.isnan(array))}.")
        array.flags.writeable = False
        object.__setattr__(self, name, array)
        return array

    def _finite_number(self, name: str, *, infinite: bool = False) -> None:
        value = getattr(self, name)
        if isinstance(value, bool) or not isinstance(value, (int, float, np.number)):
            raise InputError(f"{name} must be a number; got {value!r}.")
        number = float(value)
        if np.isnan(number) or (np.isinf(number) and not infinite):
            raise InputError(f"{name} must be finite; got {value!r}.")
        object.__setattr__(self, name, number)

    def to_dict(self) -> dict[str, Any]:
        """The map as plain JSON values; see ``docs/map-format.md``.

        Examples
        --------
        >>> from trueodds.maps import LogOddsMap
        >>> LogOddsMap(a=0.5, b=0.5, c=0.0).to_dict()["family"]
        'log_odds'
        """
        parameters = {
            f.name: _json.encode(getattr(self, f.name))
            for f in fields(self)
            if f.name not in SHARED
        }
        document = _json.document(self.family, self.input, self.classes, parameters)
        if self.band is not None:
            document |= band_document(self.band)
        about = self.about
        return document if about is None else {**document, _json.ABOUT: about}

    @classmethod
    def from_dict(cls, document: Any) -> CalibrationMap:
        """Read a map from plain JSON values, trusting nothing in them.

        Raises
        ------
        MapFormatError
            If anything is missing, superfluous, malformed, or newer than this version knows.
        """
        header = _json.parse(document)
        family, parameters = header.family, header.parameters
        try:
            kind = CalibrationMap._families[family]
        except KeyError:
            known = ", ".join(sorted(CalibrationMap._families))
            raise MapFormatError(
                f"unknown family {family!r}; this version knows {known}."
            ) from None
        if not issubclass(kind, cls):
            raise MapFormatError(
                f"expected a {cls.__name__}; the document holds a {kind.__name__}."
            )
        expected = {f.name for f in fields(kind)} - SHARED
        _json.check_keys(parameters, expected, f"parameters of {family!r}")
        try:
            band = read_band(document, CalibrationMap.from_dict)
            decoded = kind._decode(parameters)
            read = kind(input=header.input, classes=header.classes, band=band, **decoded)
        except InputError as error:
            raise MapFormatError(f"malformed {family!r} map: {error}") from None
        return read.with_about(header.about)

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return {name: _json.decode(value, name) for name, value in parameters.items()}

    def save(self, path: str | Path) -> None:
        """Write the map to a JSON file; the file appears whole or not at all."""
        _json.write(self.to_dict(), Path(path))

    @classmethod
    def load(cls, path: str | Path) -> CalibrationMap:
        """Read a map from a file written by :meth:`save`; never executes anything."""
        return cls.from_dict(_json.read(Path(path)))

    @overload
    def to_sql(
        self, column: str = ..., *, dialect: SqlDialect = ..., features: Features = ...
    ) -> str: ...

    @overload
    def to_sql(
        self, column: Columns, *, dialect: SqlDialect = ..., features: Features = ...
    ) -> list[str]: ...

    def to_sql(
        self,
        column: str | Columns = "score",
        *,
        dialect: SqlDialect = "duckdb",
        features: Features = None,
    ) -> str | list[str]:
        """The map as an SQL expression over a column of scores; see ``docs/export.md``.

        Parameters
        ----------
        column : str or list of str, default="score"
            The column of the positive class's scores, or one column for each class. Names are
            quoted, so they must be spelled as the engine stores them.
        dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite"}, \
                default="duckdb"
        features : list of str, or mapping, default=None
            For a tree: the columns of its attributes, in the order of the fit, or a mapping from
            the names of the fit to columns. None if they have the names of the fit.

        Returns
        -------
        str or list of str
            The probability of the positive class, or of each class if columns are a list. NULL if
            a score is NULL, NaN, or outside the range of its scale.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> print(StepMap(edges=[0.5], values=[0.2, 0.7]).to_sql("p"))
        CAST(CASE WHEN CAST("p" AS DOUBLE) BETWEEN 0.0e0 AND 1.0e0 THEN CASE WHEN
        CAST("p" AS DOUBLE) < 0.5e0 THEN 0.2e0 ELSE 0.7e0 END ELSE NULL END AS DOUBLE)
        """
        names = score_names(column)
        formula = formula_of(self, len(names))
        written = render_sql(formula, names, dialect, feature_columns(self, formula, features))
        return written[0] if isinstance(column, str) else written

    def to_onnx(self) -> Any:
        """The map as an ONNX graph in float64; see ``docs/export.md``.

        Returns
        -------
        onnx.ModelProto
            With the input ``scores`` of shape (N,), or (N, n_classes) if the map needs a column
            for each class, and the output ``probability`` or ``probabilities`` of the same shape;
            NaN where a score is NaN or outside the range of its scale. A tree has one more input
            for each attribute that it asks for, ``feature_<name>`` of shape (N,).
        """
        formula = formula_of(self, self._n_scores)
        classes = None if self.classes is None else list(self.classes)
        return render_onnx(
            formula, {"family": self.family, "input": self.input, "classes": classes}
        )

    def to_python(self, name: str = "calibrate") -> str:
        """The map as the source of a Python function without dependencies; see ``docs/export.md``.

        Parameters
        ----------
        name : str, default="calibrate"
            What the function is called.

        Returns
        -------
        str
            The function takes one score and returns a float, or takes a sequence of one score for
            each class and returns a list. NaN if a score is None, NaN, or outside the range of its
            scale. That of a tree takes the attributes, too: a mapping by their names, or a
            sequence if it was fitted on an array.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> namespace = {}
        >>> exec(StepMap(edges=[0.5], values=[0.2, 0.7]).to_python(), namespace)
        >>> namespace["calibrate"](0.5)
        0.7
        """
        formula = formula_of(self, self._n_scores)
        named = any(isinstance(attribute, str) for attribute in self.attributes)
        return render_python(formula, name, named_features=named)

    @property
    def _n_scores(self) -> int:
        """One column of scores if that is enough, else one for each class."""
        return 1 if self.takes_one_score else self.n_classes or 1

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, CalibrationMap):
            return NotImplemented
        return bool(function_alone(self.to_dict()) == function_alone(other.to_dict()))

    __hash__ = None  # type: ignore[assignment]  # arrays inside: equal by value, not hashable


class BinaryMap(CalibrationMap):
    """A map of one score, that of the positive class."""

    @property
    def n_classes(self) -> int:
        """Always 2."""
        return 2

    @property
    def takes_one_score(self) -> bool:
        """Always."""
        return True

    def __call__(self, scores: Any) -> Floats:
        """Turn scores into probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 2)
            On the scale that ``input`` says.

        Returns
        -------
        ndarray of shape (n,) or (n, 2)
            Of the positive class, or of both.
        """
        array = validate_scores(scores, self.input, n_columns=2)
        if array.ndim == 1:
            return self.apply(array)
        return self.apply_to_both(positive_column(array, self.input))

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The formula of one score, or of the two columns of both classes."""
        if len(scores) == 1:
            return (self._formula(scores[0]),)
        p = self._formula(positive_expression(scores, self.input))
        return 1 - p, p

    @abstractmethod
    def _formula(self, score: Expression) -> Expression:
        """The probability of the positive class."""


class ClassMap(CalibrationMap):
    """A map of one score for each of several classes."""

    def __call__(self, scores: Any) -> Floats:
        """Turn rows of class scores, of shape (n, n_classes), into rows of probabilities."""
        return self.apply(self._checked(scores))

    def _checked(self, scores: Any) -> Floats:
        array = validate_scores(scores, self.input, rows_sum_to_one=self.rows_sum_to_one)
        if array.ndim != 2 or array.shape[1] != self.n_classes:
            raise InputError(f"scores must have {self.n_classes} columns; got shape {array.shape}.")
        return array
