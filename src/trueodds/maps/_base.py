"""What every family of maps shares: the call, JSON, and equality."""

from __future__ import annotations

import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np

from trueodds.basics.files import as_path
from trueodds.basics.shown import shown
from trueodds.basics.threads import BLOCK, in_blocks
from trueodds.exceptions import InputError, MapFormatError
from trueodds.export import Expression
from trueodds.inputs import (
    Floats,
    InputScale,
    as_number,
    as_tuple,
    check_scale,
    positive_column,
    returns_like_input,
    validate_scores,
    where,
)
from trueodds.maps import _json
from trueodds.maps._about import function_alone
from trueodds.maps._band import Band, band_document, check_band, read_band
from trueodds.maps._banded import Banded
from trueodds.maps._exported import Exported
from trueodds.maps._formulas import positive_expression
from trueodds.maps._provenance import Described

__all__ = ["BinaryMap", "CalibrationMap", "ClassMap", "check_reach"]

SHARED = {"input", "classes", "band"}
"""Fields of every family, which stand in the header of the file."""
LONGEST_REASON = 300
"""Characters of what is said of a malformed document."""
FARTHEST = float(np.finfo(np.float64).max) / 2
"""The difference of two such numbers is finite."""


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationMap(Described, Banded, Exported, ABC):
    """A learned function from scores to probabilities.

    Parameters
    ----------
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores that it is called on.
    classes : tuple of str, int, float or bool, default=None
        The labels that the columns stand for; in a binary map the second one is positive.
    band : Band, default=None
        Between which curves the truth lies, if the map knows; see :meth:`interval`.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> learned = BetaCalibrator().fit([0.1, 0.3, 0.6, 0.4, 0.9, 0.5], [0, 0, 1, 1, 1, 0]).map_
    >>> learned.family, learned.input, learned.classes
    ('log_odds', 'probability', (0, 1))
    >>> 0 < learned(0.7) < 1
    array([ True])
    """

    input: InputScale = "probability"
    classes: tuple[_json.Label, ...] | None = None
    band: Band | None = None

    family: ClassVar[str]
    compiled: ClassVar[bool] = False
    """Whether :meth:`_apply` is a compiled loop, which knows no warnings of NumPy."""
    _families: ClassVar[dict[str, type[CalibrationMap]]] = {}

    def __init_subclass__(cls, *, saved: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if saved and "family" in cls.__dict__:
            CalibrationMap._families[cls.family] = cls

    def __post_init__(self) -> None:
        check_scale(self.input)
        with np.errstate(all="ignore"):
            self._check()
        self._check_classes()
        if self.band is not None:
            check_band(self.band, self)

    def _check_classes(self) -> None:
        if self.classes is None:
            return
        labels = tuple(_json.plain_label(label) for label in as_tuple(self.classes, "classes"))
        object.__setattr__(self, "classes", labels)
        count = max(self.n_classes or len(labels), 2)
        if len(set(labels)) != len(labels) or len(labels) != count:
            raise InputError(f"classes must be {count} distinct labels; got {labels}.")

    def with_classes(self, classes: Iterable[_json.Label] | None) -> Self:
        """The same function for other labels.

        Parameters
        ----------
        classes : iterable of str, int, float or bool, or None
            One for each class, the positive one second if there are two.

        Examples
        --------
        >>> from trueodds.maps import IdentityMap
        >>> IdentityMap().with_classes(["healthy", "ill"]).classes
        ('healthy', 'ill')
        """
        other = self.with_about(None)  # a copy, whose numbers need no second check
        object.__setattr__(other, "classes", classes)
        other._check_classes()
        return other

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
            return self._apply_quietly(scores)
        out = np.empty(scores.shape)

        def work(rows: slice) -> None:
            out[rows] = self._apply_quietly(scores[rows])

        in_blocks(work, len(scores))
        return out

    def _apply_quietly(self, scores: Floats) -> Floats:
        """Without warnings of NumPy: log-odds beyond float64 are infinite, as they should be."""
        if self.compiled:
            return self._apply(scores)
        with np.errstate(all="ignore"):
            return self._apply(scores)

    def apply_to_both(self, scores: Floats) -> Floats:
        """Probabilities of both classes, of shape (n, 2), from validated scores of the positive.

        In memory there is one row for each class, which is faster to fill.
        """
        both = np.empty((2, len(scores)))

        def work(rows: slice) -> None:
            p = self._apply_quietly(scores[rows])
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
        number = as_number(value)
        if np.isnan(number) and not isinstance(value, numbers.Real):
            raise InputError(f"{name} must be a number; got {shown(value)}.")
        if np.isnan(number) or (np.isinf(number) and not infinite):
            raise InputError(f"{name} must be finite; got {shown(value)}.")
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
        try:
            read = cls._read(document)
        except RecursionError:
            raise MapFormatError("the document is nested too deeply to be a map.") from None
        _json.check_document(document)
        return read

    @classmethod
    def _read(cls, document: Any) -> CalibrationMap:
        header = _json.parse(document)
        family, parameters = header.family, header.parameters
        try:
            kind = CalibrationMap._families[family]
        except KeyError:
            known = ", ".join(sorted(CalibrationMap._families))
            raise MapFormatError(
                f"unknown family {shown(family)}; this version knows {known}."
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
            reason = str(error)[:LONGEST_REASON]
            raise MapFormatError(f"malformed {family!r} map: {reason}") from None
        return read.with_about(header.about)

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        return {name: _json.decode(value, name) for name, value in parameters.items()}

    @classmethod
    def _decode_maps(cls, documents: Any, refused: tuple[str, ...]) -> tuple[CalibrationMap, ...]:
        """Maps inside a map, of other families than those that are refused."""
        if not isinstance(documents, list):
            raise MapFormatError("maps must be a list of maps.")
        for document in documents:
            if isinstance(document, dict) and document.get("family") in refused:
                other = "another" if document["family"] == cls.family else document["family"]
                raise MapFormatError(f"maps of the family {cls.family} cannot hold {other}.")
        return tuple(CalibrationMap.from_dict(document) for document in documents)

    def save(self, path: str | Path) -> None:
        """Write the map to a JSON file; the file appears whole or not at all."""
        _json.write(self.to_dict(), as_path(path))

    @classmethod
    def load(cls, path: str | Path) -> CalibrationMap:
        """Read a map from a file written by :meth:`save`; never executes anything.

        Examples
        --------
        >>> import tempfile
        >>> import trueodds
        >>> from trueodds.maps import IdentityMap
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     IdentityMap().save(f"{folder}/map.json")
        ...     trueodds.load(f"{folder}/map.json")
        IdentityMap(input='probability', classes=None, band=None)
        """
        return cls.from_dict(_json.read(as_path(path)))

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

    @returns_like_input
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

    @returns_like_input
    def __call__(self, scores: Any) -> Floats:
        """Turn rows of class scores, of shape (n, n_classes), into rows of probabilities."""
        return self.apply(self._checked(scores))

    def _checked(self, scores: Any) -> Floats:
        array = validate_scores(scores, self.input, rows_sum_to_one=self.rows_sum_to_one)
        if array.ndim != 2 or array.shape[1] != self.n_classes:
            raise InputError(f"scores must have {self.n_classes} columns; got shape {array.shape}.")
        return array


def check_reach(knots: Floats, name: str) -> None:
    """Refuse increasing knots so far apart that their distance is no float64."""
    if len(knots) and max(-knots[0], knots[-1]) > FARTHEST:
        raise InputError(f"{name} must lie within ±{FARTHEST:g}; got {knots[0]} to {knots[-1]}.")
