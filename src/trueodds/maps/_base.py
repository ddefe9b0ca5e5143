"""A calibration map: what every family shares, from the call and JSON to bands and exports."""

from __future__ import annotations

import copy
import numbers
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, overload

import numpy as np

from trueodds import export
from trueodds.basics.files import as_path
from trueodds.basics.shown import shown
from trueodds.basics.threads import BLOCK_ROWS, in_blocks
from trueodds.exceptions import InputError, MapFormatError, NonFiniteError
from trueodds.export import Expression
from trueodds.export.expressions import Named, maximum, minimum
from trueodds.inputs import (
    Floats,
    InputScale,
    as_number,
    as_tuple,
    check_choice,
    check_flag,
    check_label_length,
    check_number,
    check_scale,
    positive_column,
    returns_like_input,
    validate_scores,
    where,
)
from trueodds.maps import _json
from trueodds.maps._band import Band, band_document, check_band, read_band
from trueodds.maps._formulas import (
    feature_columns,
    formula_of,
    one_vs_rest_expressions,
    positive_expression,
    score_names,
)
from trueodds.maps._metadata import check_metadata, fingerprint_of, function_alone
from trueodds.numerics.softmax.logits import one_vs_rest_scores

if TYPE_CHECKING:
    from trueodds.export import SqlDialect

__all__ = ["BinaryMap", "BoundMap", "CalibrationMap"]

SHARED = {"scale", "classes", "band"}
"""Fields of every family, which are in the header of the file."""
LONGEST_REASON = 300
"""Characters of the message on a malformed document."""
Columns = list[str] | tuple[str, ...]
Features = Sequence[str] | Mapping[str, str] | None


@dataclass(frozen=True, eq=False, kw_only=True)
class CalibrationMap(ABC):
    """A learned function from scores to probabilities.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        The scale of the scores that it is called on.
    classes : tuple of str, int, float or bool, default=None
        The labels that the columns stand for; in a binary map the second one is positive.
    band : Band, default=None
        Curves between which the true probability lies, if the map has them; see :meth:`interval`.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> learned = BetaCalibrator().fit([0.1, 0.3, 0.6, 0.4, 0.9, 0.5], [0, 0, 1, 1, 1, 0]).map_
    >>> learned.family, learned.scale, learned.classes
    ('log_odds', 'probability', (0, 1))
    >>> 0 < learned(0.7) < 1
    array([ True])
    """

    scale: InputScale = "probability"
    classes: tuple[_json.Label, ...] | None = None
    band: Band | None = None

    family: ClassVar[str]
    compiled: ClassVar[bool] = False
    """Whether :meth:`_apply` is a compiled loop, which raises no warnings of NumPy."""
    reduces_pairs: ClassVar[bool] = True
    """Whether two columns are reduced to the score of the positive class before the formula."""
    """Fields that can be trained further in torch."""
    _families: ClassVar[dict[str, type[CalibrationMap]]] = {}

    def __init_subclass__(cls, *, saved: bool = True, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if saved and "family" in cls.__dict__:
            CalibrationMap._families[cls.family] = cls

    def __post_init__(self) -> None:
        check_scale(self.scale)
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
            raise InputError(f"classes must be {count} distinct labels; got {shown(labels)}.")
        check_label_length(labels, "classes")

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
        other = self.with_metadata(None)  # a copy, whose numbers need no second check
        object.__setattr__(other, "classes", classes)
        other._check_classes()
        return other

    @property
    @abstractmethod
    def n_classes(self) -> int | None:
        """Number of classes; None if the map takes any number."""

    @property
    def class_count(self) -> int:
        """Number of classes; two by default."""
        return self.n_classes or len(self.classes or (0, 1))

    @property
    def takes_one_score(self) -> bool:
        """Whether scores may be those of the positive class alone."""
        return self.reduces_pairs and self.n_classes == 2

    @property
    def rows_sum_to_one(self) -> bool:
        """Whether the probabilities of several classes must sum to 1."""
        return True

    @property
    def band_of_forecasts(self) -> bool:
        """Whether a band is a function of the map's probabilities instead of the scores."""
        return self.class_count > 2

    @property
    def features(self) -> tuple[str | int, ...]:
        """Features that the map needs besides scores; empty for all families but trees.

        Names of columns, or their positions if the map was fitted on an array.
        """
        return ()

    @property
    def used_features(self) -> tuple[str | int, ...]:
        """Features that frames and files must have; others of the fit may be absent."""
        return self.features

    @abstractmethod
    def _check(self) -> None:
        """Refuse impossible parameters, and bring arrays into their canonical form."""

    @abstractmethod
    def _apply(self, scores: Floats) -> Floats:
        """Map validated scores of the shape that the family works on."""

    @abstractmethod
    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The probability of the positive class from one score, or of each class from as many."""

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> CalibrationMap:
        """The map of two classes with a constant added to its log-odds."""
        return self._with_logit_shift(np.array([0.0, shift]))

    def _with_logit_shift(self, shift: Floats) -> CalibrationMap:
        """The map with a constant added to each class's logit; an error if no formula has one."""
        raise InputError(
            f"a {type(self).__name__} cannot include a change of the base rate; apply "
            "adjust_prior to its results."
        )

    @returns_like_input
    def __call__(self, scores: Any, features: Any = None) -> Floats:
        """Turn scores into probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale ``scale``.
        features : array-like or frame of shape (n, n_features), default=None
            The original features, which a tree needs; may hold missing values.

        Returns
        -------
        ndarray of shape (n,) or (n, n_classes)
            Probabilities, those of the positive class if scores are 1-D.
        """
        array = self._validated(scores)
        if array.ndim == 1 or not (self.reduces_pairs and self.n_classes == 2):
            return self._apply_valid(array, features)
        return self._apply_to_all(positive_column(array, self.scale))

    def _validated(self, scores: Any) -> Floats:
        """Scores as float64, of a shape that the map takes."""
        array = validate_scores(
            scores, self.scale, n_columns=self.n_classes, rows_sum_to_one=self.rows_sum_to_one
        )
        if array.ndim == 1 and not self.takes_one_score:
            raise InputError(f"scores must have {self.n_classes} columns; got shape {array.shape}.")
        return array

    def _apply_valid(self, scores: Floats, features: Any = None) -> Floats:
        """Map validated scores, in blocks that stay in the cache and on all cores if many."""
        if features is not None:
            raise InputError(f"a map of the family {self.family!r} takes no features.")
        if len(scores) <= BLOCK_ROWS:
            return self._apply_quietly(scores)
        out = np.empty(scores.shape)

        def work(rows: slice) -> None:
            out[rows] = self._apply_quietly(scores[rows])

        in_blocks(work, len(scores))
        return out

    def _apply_quietly(self, scores: Floats) -> Floats:
        """Without warnings of NumPy: log-odds beyond float64 are infinite, which is right."""
        if self.compiled:
            return self._apply(scores)
        with np.errstate(all="ignore"):
            return self._apply(scores)

    def _apply_to_all(self, scores: Floats, features: Any = None) -> Floats:
        """Probabilities of all classes, of shape (n, n_classes), from validated scores.

        Scores of the positive class alone give both classes, with one row for each class in
        memory, which is faster to fill.
        """
        if scores.ndim == 2 or features is not None:
            return self._apply_valid(scores, features)
        both = np.empty((2, len(scores)))

        def work(rows: slice) -> None:
            p = self._apply_quietly(scores[rows])
            both[1, rows] = p
            np.subtract(1.0, p, out=both[0, rows])

        in_blocks(work, len(scores))
        return both.T

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The family's formula, from which SQL, ONNX and Python are written.

        Parameters
        ----------
        scores : sequence of Expression
            One for the positive class, or one for each class; on the scale ``scale``.

        Returns
        -------
        tuple of Expression
            The probability of the positive class, or of each class.
        """
        if len(scores) == 1 or not (self.reduces_pairs and self.n_classes == 2):
            return self._formulas(scores)
        p = self._formulas((positive_expression(scores, self.scale),))[0]
        return 1 - p, p

    @property
    def metadata(self) -> dict[str, Any] | None:
        """Where the map comes from, as far as it is known; see ``docs/map-format.md``.

        A copy: a map does not change. Nothing in it is trusted, and it takes no part in forecasts,
        exports or the comparison of two maps. A map with other parameters, as
        :func:`dataclasses.replace` makes it, has none.
        """
        return copy.deepcopy(self.__dict__.get("_about"))

    def with_metadata(self, metadata: Mapping[str, Any] | None) -> Self:
        """The same map with other metadata; ``docs/map-format.md`` lists what it may contain.

        Parameters
        ----------
        metadata : mapping or None
            Plain JSON values; what :func:`trueodds.model_selection.fit_metadata` returns, or your
            own. None takes away what was there.

        Examples
        --------
        >>> from trueodds.maps import LogOddsMap
        >>> plain = LogOddsMap(a=0.5, b=0.5, c=0.0)
        >>> signed = plain.with_metadata({"method": "temperature", "notes": "spring campaign"})
        >>> signed.metadata["method"], signed == plain, signed.fingerprint == plain.fingerprint
        ('temperature', True, True)
        """
        block = None if metadata is None else check_metadata(metadata) or None
        other = copy.copy(self)
        object.__setattr__(other, "_about", block)
        return other

    @property
    def fingerprint(self) -> str:
        """A SHA-256 of what the map does: the same for two maps of the same numbers and classes.

        ``metadata`` and the version of the format do not count, so it stays the same when a map is
        saved by a later version, or described anew.

        Examples
        --------
        >>> from trueodds.maps import IdentityMap
        >>> IdentityMap().fingerprint[:15]
        'sha256:2884f888'
        """
        return fingerprint_of(self.to_dict())

    def with_band(
        self,
        lower: CalibrationMap | Sequence[CalibrationMap],
        upper: CalibrationMap | Sequence[CalibrationMap],
        *,
        level: float,
    ) -> Self:
        """The same map with a band; ``calibrator.to_map(interval=0.9)`` makes one from evidence.

        Parameters
        ----------
        lower, upper : map, or sequence of maps
            With two classes one binary map of the scores each. With several (or a tree), one for
            each class, of the probability that this map gives to it; of its score if each class
            has a separate map.
        level : float
            Probability that the true value lies within.

        Examples
        --------
        >>> from trueodds.maps import IdentityMap, LogOddsMap
        >>> low, high = (LogOddsMap(a=1.0, b=1.0, c=c) for c in (-0.5, 0.5))
        >>> banded = IdentityMap().with_band(low, high, level=0.9)
        >>> [end.round(2) for end in banded.interval([0.1, 0.5])]
        [array([0.06, 0.38]), array([0.15, 0.62])]
        """
        ends = [tuple(e) if isinstance(e, Sequence) else (e,) for e in (lower, upper)]
        return replace(self, band=Band(level, *ends)).with_metadata(self.metadata)

    def interval(self, scores: Any, features: Any = None) -> tuple[Floats, Floats]:
        """Where the true probability of such scores lies; for a map that carries a band.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale ``scale``.
        features : array-like or frame of shape (n, n_features), default=None
            The original features, which a tree needs.

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
            With two classes those of the positive one. The map's own probability is never outside.
        """
        band = self._known_band()
        array = self._validated(scores)
        if array.ndim == 2 and self.class_count == 2 and not self.band_of_forecasts:
            array = positive_column(array, self.scale)
        p = self._apply_valid(array, features)
        if p.ndim == 2 and self.class_count == 2:  # a tree of both columns
            p = p[:, 1]
        axis = self._band_axis(array, p)
        return _outer(band.lower, axis, p, "lower"), _outer(band.upper, axis, p, "upper")

    def _band_axis(self, scores: Floats, p: Floats) -> Floats:
        """What the curves of a band are called on."""
        if self.band_of_forecasts:
            return np.clip(p, 0.0, 1.0)
        return scores if p.ndim == 1 else one_vs_rest_scores(scores, self.scale)

    def lower_map(self) -> BoundMap:
        """Return the lower bound of the interval as a map, to export or to apply to a frame."""
        return self._bound("lower")

    def upper_map(self) -> BoundMap:
        """Return the upper bound of the interval as a map."""
        return self._bound("upper")

    def _bound(self, bound: Literal["lower", "upper"]) -> BoundMap:
        curves = getattr(self._known_band(), bound)
        return BoundMap(
            map=self, curves=curves, bound=bound, scale=self.scale, classes=self.classes
        )

    def _known_band(self) -> Band:
        if self.band is None:
            raise InputError(
                "this map carries no band; take calibrator.to_map(interval=0.9), or "
                "trueodds fit --interval 0.9."
            )
        return self.band

    def _freeze(self, name: str) -> Floats:
        """Make a field a read-only float64 array without NaN."""
        try:
            array = _real_numbers(getattr(self, name))
        except (TypeError, ValueError, OverflowError):
            raise InputError(f"{name} must be an array of numbers.") from None
        if np.isnan(array).any():
            raise NonFiniteError(f"{name} must not contain NaN; found {where(np.isnan(array))}.")
        array.flags.writeable = False
        object.__setattr__(self, name, array)
        return array

    def _finite_number(self, name: str, *, infinite: bool = False) -> None:
        value = getattr(self, name)
        number = as_number(value)
        if np.isnan(number) and not isinstance(value, numbers.Real):
            raise InputError(f"{name} must be a number; got {shown(value)}.")
        if np.isnan(number) or (np.isinf(number) and not infinite):
            raise NonFiniteError(f"{name} must be finite; got {shown(value)}.")
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
        document = _json.document(self.family, self.scale, self.classes, parameters)
        if self.band is not None:
            document |= band_document(self.band)
        metadata = self.metadata
        return document if metadata is None else {**document, _json.METADATA: metadata}

    @classmethod
    def from_dict(cls, document: Any) -> CalibrationMap:
        """Read a map from plain JSON values, trusting nothing in them.

        Raises
        ------
        MapFormatError
            If anything is missing, superfluous, malformed, or newer than this version.
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
                f"unknown family {shown(family)}; this version has {known}."
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
            read = kind(scale=header.scale, classes=header.classes, band=band, **decoded)
        except InputError as error:
            reason = str(error)[:LONGEST_REASON]
            raise MapFormatError(f"malformed {family!r} map: {reason}") from None
        return read.with_metadata(header.metadata)

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
        IdentityMap(scale='probability', classes=None, band=None)
        """
        return cls.from_dict(_json.read(as_path(path)))

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
            For a tree: the columns of its features, in the order of the fit, or a mapping from
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
        written = export.render_sql(
            formula, names, dialect, feature_columns(self, formula, features)
        )
        return written[0] if isinstance(column, str) else written

    def to_dbt(
        self,
        name: str = "calibrate",
        *,
        dialect: SqlDialect = "duckdb",
        features: Features = None,
    ) -> str:
        """The map as a macro for dbt, to be saved as a file in ``macros/``.

        Parameters
        ----------
        name : str, default="calibrate"
            Name of the macro. With a column for each class there is one for each, numbered from 0.
        dialect : str, default="duckdb"
            As in :meth:`to_sql`.
        features : list of str, or mapping, default=None
            As in :meth:`to_sql`.

        Returns
        -------
        str
            To be used in a model as ``select {{ calibrate("p") }} as probability``; the argument is
            any SQL expression.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> print(StepMap(edges=[0.5], values=[0.2, 0.7]).to_dbt())
        {% macro calibrate(score) %}
        CAST(CASE WHEN CAST({{ score }} AS DOUBLE) BETWEEN 0.0e0 AND 1.0e0 THEN CASE WHEN
        CAST({{ score }} AS DOUBLE) < 0.5e0 THEN 0.2e0 ELSE 0.7e0 END ELSE NULL END AS DOUBLE)
        {% endmacro %}
        """
        formula = self.formula()
        return export.render_dbt(formula, name, dialect, feature_columns(self, formula, features))

    def formula(self) -> export.Formula:
        """The map as an expression, from which every export is written.

        Returns
        -------
        Formula
            It takes one score if that is enough, else one for each class.

        Examples
        --------
        >>> from trueodds.maps import IdentityMap
        >>> IdentityMap().formula().n_scores
        1
        """
        return formula_of(self, self._n_scores)

    def to_onnx(self, *, edges_below: float = 0.0) -> Any:
        """The map as an ONNX graph in float64; see ``docs/export.md``.

        Parameters
        ----------
        edges_below : float, default=0.0
            By which share of themselves the edges of steps are lowered, so that scores that were
            rounded to float32 (2.5e-7) stay on their side.

        Returns
        -------
        onnx.ModelProto
            The input is ``scores`` of shape (N,), or (N, n_classes) if the map needs a column
            for each class. The output is ``probability`` or ``probabilities`` of the same shape,
            with NaN where a score is NaN or outside the range of its scale. A tree has one more
            input for each feature that it uses, ``feature_<name>`` of shape (N,).
        """
        formula = self.formula()
        classes = None if self.classes is None else list(self.classes)
        metadata = {"family": self.family, "scale": self.scale, "classes": classes}
        lowered = check_number(edges_below, "edges_below", 0.0, 1.0)
        return export.render_onnx(formula, metadata, edges_below=lowered)

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
            each class and returns a list. NaN if a score is no number, NaN, or outside the range of
            its scale. That of a tree takes the features, too: a mapping by their names, or a
            sequence if it was fitted on an array.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> namespace = {}
        >>> exec(StepMap(edges=[0.5], values=[0.2, 0.7]).to_python(), namespace)
        >>> namespace["calibrate"](0.5)
        0.7
        """
        formula = self.formula()
        named = any(isinstance(name, str) for name in self.features)
        return export.render_python(formula, name, named_features=named)

    def to_javascript(self, name: str = "calibrate") -> str:
        """The map as the source of a JavaScript module without dependencies.

        Parameters
        ----------
        name : str, default="calibrate"
            What the exported function is called.

        Returns
        -------
        str
            An ES module. Its function takes one score and returns a number, or takes an array of
            one score for each class and returns an array. A score is a number or the text of a
            decimal number; NaN if it is anything else, or outside the range of its scale. That of
            a tree takes the features, too: an object by their names,
            or an array if it was fitted on an array.

        Examples
        --------
        >>> from trueodds.maps import StepMap
        >>> source = StepMap(edges=[0.5], values=[0.2, 0.7]).to_javascript()
        >>> print(source[source.index("export"):])
        export function calibrate(score) {
            const s0 = number(score);
            if (!((0.0 <= s0 && s0 <= 1.0))) return NaN;
            return _calibrate_values_1[place(_calibrate_edges_0, s0)];
        }
        <BLANKLINE>
        """
        formula = self.formula()
        named = any(isinstance(name, str) for name in self.features)
        return export.render_javascript(formula, name, named_features=named)

    def to_torch(
        self,
        *,
        trainable: bool = False,
        output: Literal["probabilities", "logits"] = "probabilities",
    ) -> Any:
        """The map as a torch module; see ``docs/export.md``.

        Parameters
        ----------
        trainable : bool, default=False
            Whether the map's numbers are parameters that an optimizer can train further:
            ``temperature`` (one number); ``slope`` and ``intercept`` (logistic); ``a``, ``b`` and
            ``c`` (beta); ``weights`` and ``bias`` of other softmax maps.
        output : {"probabilities", "logits"}, default="probabilities"
            What the module returns. Losses such as torch's ``CrossEntropyLoss`` and
            ``BCEWithLogitsLoss`` need logits: they take the softmax or the sigmoid themselves.

        Returns
        -------
        torch.nn.Module
            It takes scores of any shape, or with one column for each class last, on any device, and
            returns their dtype, or torch's default for integers and booleans. It computes in
            float64, and ``half()`` of a network around it leaves its tables in float64. NaN where
            a score is NaN or outside the range of its scale. That of a tree takes numeric
            features as a second tensor, a column for each in the order of the fit. It can be
            scripted and exported (``torch.export``).

        Examples
        --------
        >>> import torch
        >>> from trueodds.maps import LogOddsMap
        >>> module = LogOddsMap(a=0.5, b=0.5, c=0.0).to_torch()
        >>> module(torch.tensor([0.2, 0.5]))
        tensor([0.3333, 0.5000])
        """
        check_flag(trainable, "trainable")
        check_choice(output, ("probabilities", "logits"), "output")
        names = self._torch_names()
        if trainable and not names:
            raise InputError(
                f"a map of the family {self.family!r} has nothing to train further; those of "
                "log_odds and softmax have."
            )
        drawn, parameters = copy.copy(self), {}
        for field, name in names.items():
            values = np.array(getattr(self, field), dtype=np.float64)
            if name == "temperature":
                with np.errstate(divide="ignore"):
                    parameters[name] = np.divide(1.0, values.flat[0])
            else:
                parameters[name] = values
            object.__setattr__(drawn, field, _named(values, name))
        return export.render_torch(
            drawn.formula(),
            parameters,
            trainable=trainable,
            logits=output == "logits",
        )

    def _torch_names(self) -> dict[str, str]:
        """Fields that torch can train further, by the names of their parameters there.

        Fields with one name are one parameter; ``temperature`` is the reciprocal of its field.
        """
        return {}

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
        """Two."""
        return 2

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        return (self._formula(scores[0]),)

    @abstractmethod
    def _formula(self, score: Expression) -> Expression:
        """The probability of the positive class."""


@dataclass(frozen=True, eq=False, kw_only=True)
class BoundMap(CalibrationMap, saved=False):
    """The lower or upper bound of a map's interval, as a map.

    The bound never crosses the prediction, which always lies inside its interval. Use
    :meth:`CalibrationMap.lower_map` and ``upper_map`` to get one. A bound can be called, exported
    and applied to frames; to save it, save the map with its band.

    Parameters
    ----------
    map : CalibrationMap
        The map of the predictions; it must not need features.
    curves : tuple of binary maps
        With two classes, one curve of the scores. With several, one curve for each class, of its
        probability by ``map``, or of its score if ``map`` is a :class:`OneVsRestMap`.
    bound : {"lower", "upper"}

    Examples
    --------
    >>> from trueodds.maps import BoundMap, IdentityMap, StepMap
    >>> curve = StepMap(edges=[0.5], values=[0.1, 0.6])
    >>> BoundMap(map=IdentityMap(), curves=(curve,), bound="lower")([0.05, 0.3, 0.9])
    array([0.05, 0.1 , 0.6 ])
    """

    map: CalibrationMap
    curves: tuple[CalibrationMap, ...]
    bound: Literal["lower", "upper"]

    family: ClassVar[str] = "bound"

    @property
    def n_classes(self) -> int:
        """As many as the map has."""
        return max(len(self.curves), 2)

    @property
    def rows_sum_to_one(self) -> bool:
        """As for the map."""
        return self.map.rows_sum_to_one

    def _check(self) -> None:
        check_choice(self.bound, ("lower", "upper"), "bound")
        object.__setattr__(self, "curves", as_tuple(self.curves, "curves"))
        if not isinstance(self.map, CalibrationMap) or isinstance(self.map, BoundMap):
            raise InputError("map must be a calibration map other than a BoundMap.")
        if self.map.features:
            raise InputError(
                "the interval of a map with features needs them: call "
                "map.interval(scores, features)."
            )
        if self.map.scale != self.scale:
            raise InputError(f"map must have scale={self.scale!r}; got {self.map.scale!r}.")
        if self.n_classes == 2 and not self.map.takes_one_score:
            raise InputError("with two classes, map must take the positive class's score alone.")
        check_band(Band(0.5, self.curves, self.curves), self.map)
        object.__setattr__(self, "map", replace(self.map, band=None))

    def save(self, path: str | Path) -> None:
        """Raise: save the map, which includes its band, instead."""
        raise InputError("a BoundMap cannot be saved; save the map that has the band.")

    def _apply(self, scores: Floats) -> Floats:
        p = self.map._apply(scores)
        return _outer(self.curves, self.map._band_axis(scores, p), p, self.bound)

    def _apply_to_all(self, scores: Floats, features: Any = None) -> Floats:
        """Return the bound for each class; with two classes, that of the positive one."""
        return self._apply_valid(scores, features)

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        outer = minimum if self.bound == "lower" else maximum
        forecasts, axis = self.map.expression(scores), scores
        if self.map.band_of_forecasts:
            axis = [minimum(p, 1.0) for p in forecasts]
        elif len(scores) > 1:
            axis = one_vs_rest_expressions(scores, self.scale)
        return tuple(
            outer(curve.expression((x,))[0], p)
            for curve, x, p in zip(self.curves, axis, forecasts, strict=True)
        )

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The end of the curve or the forecast, whichever is farther out."""
        if self.n_classes == 2 and len(scores) != 1:
            raise InputError(
                "the interval of two classes is that of the positive one: give its score alone."
            )
        return self._formulas(scores)


def _real_numbers(values: Any) -> Floats:
    if np.iscomplexobj(values):
        raise TypeError("complex numbers are no values of a map.")
    return np.array(values, dtype=np.float64)


def _outer(curves: tuple[CalibrationMap, ...], axis: Floats, p: Floats, end: str) -> Floats:
    """One end of a band, or the forecast where the band does not reach it."""
    outer = np.minimum if end == "lower" else np.maximum
    if p.ndim == 1:
        return np.asarray(outer(curves[0]._apply_valid(axis), p))
    columns = [
        curve._apply_valid(np.ascontiguousarray(axis[:, k])) for k, curve in enumerate(curves)
    ]
    return np.asarray(outer(np.stack(columns, axis=1), p))


def _named(values: Any, name: str) -> Any:
    """Numbers that know where they came from."""
    if values.ndim == 0:
        return Named(float(values), name)
    named = np.empty(values.shape, dtype=object)
    for index in np.ndindex(values.shape):
        named[index] = Named(float(values[index]), name, () if name == "temperature" else index)
    return named
