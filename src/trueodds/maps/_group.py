"""One map for all rows, plus effects of levels of features on its log-odds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, MapFormatError
from trueodds.export import Expression, Feature
from trueodds.export.expressions import (
    Choose,
    Condition,
    Constant,
    FeatureAtMost,
    FeatureIs,
    FeatureMissing,
    StepLookup,
    clip,
    exp,
    log,
    maximum,
    sigmoid as sigmoid_expression,
    total,
)
from trueodds.inputs import Floats, as_tuple, positive_column
from trueodds.maps import _json
from trueodds.maps._base import CalibrationMap
from trueodds.maps._formulas import positive_expression
from trueodds.maps.features import (
    FeatureSpace,
    check_decoded_features,
    check_names,
    plain_categories,
)
from trueodds.numerics.log_odds import sigmoid

__all__ = [
    "SCORE",
    "GroupMap",
    "GroupTerm",
    "base_log_odds",
    "codes_of_categories",
    "codes_of_numbers",
    "codes_of_scores",
    "standardized",
]

Ints = npt.NDArray[np.intp]

SCORE = -1
"""Position that stands for the score among the features of a term."""
LEAST = 1e-12
"""Probabilities of the base map are clipped to [1e-12, 1 − 1e-12], so that they have log-odds."""
REACH = 3.0
"""Standardized log-odds are clipped to ±3."""
PROBIT = np.pi / 8
"""E σ(η) ≈ σ(E η / √(1 + π/8·var η)) for a normal η (MacKay, 1992)."""
LARGEST_EFFECT = 1e6


@dataclass(frozen=True, eq=False)
class GroupTerm:
    """Effects of the levels of some features together on the log-odds of one class.

    Parameters
    ----------
    output : int
        Position of the class; 0 with two classes.
    features : tuple of int
        Positions of the features; −1 is the score; empty for an effect on all rows.
    cuts : tuple of arrays or None
        For each of the features, where its numbers are cut; None for categories. A number has
        the level of the first cut that it does not exceed; the score that of the first cut that
        is above it. A missing number has one level more. Categories are followed by a level for
        missing values and one for values that were not seen.
    shift : array of shape (n_levels,)
        What is added to the log-odds. The last feature's levels vary fastest.
    slope : array of shape (n_levels,) or (0,)
        What is added for each unit of the standardized log-odds of the base map.
    spread : array of shape (1, n_levels), or (3, n_levels) with slopes
        Posterior variances of the shifts, their covariances with the slopes, variances of the
        slopes.
    interval : array of shape (2, n_levels), or (5, n_levels) with slopes; default=None
        Shifts, slopes if there are any, and ``spread`` as above, for intervals; None if they are
        the same.

    Examples
    --------
    >>> from trueodds.maps import GroupTerm
    >>> GroupTerm(0, (0,), ([40.0],), [-0.2, 0.3, 0.0], [], [[0.01, 0.02, 0.1]]).n_levels
    3
    """

    output: int
    features: tuple[int, ...]
    cuts: tuple[Floats | None, ...]
    shift: Floats
    slope: Floats
    spread: Floats
    interval: Floats | None = None

    @property
    def n_levels(self) -> int:
        """Number of levels."""
        return len(self.shift)

    def for_forecasts(self) -> tuple[Floats, Floats, Floats]:
        """Shifts, slopes and their variances, as the probability needs them."""
        return self.shift, self.slope, self.spread

    def for_intervals(self) -> tuple[Floats, Floats, Floats]:
        """The same, as intervals need them."""
        if self.interval is None:
            return self.for_forecasts()
        if not self.slope.size:
            return self.interval[0], self.slope, self.interval[1:]
        return self.interval[0], self.interval[1], self.interval[2:]

    def to_dict(self) -> dict[str, Any]:
        """The term as plain JSON values."""
        own = {} if self.interval is None else {"interval": self.interval.tolist()}
        return {
            "output": self.output,
            "features": list(self.features),
            "cuts": [None if c is None else c.tolist() for c in self.cuts],
            "shift": self.shift.tolist(),
            "slope": self.slope.tolist(),
            "spread": self.spread.tolist(),
            **own,
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class GroupMap(CalibrationMap):
    """σ(η/√(1 + π/8·v)): log-odds η of one map plus effects of levels, and their variance v.

    With several classes, each class has its own effects, and rows are divided by their sum.

    Parameters
    ----------
    base : CalibrationMap
        The map of the scores alone, on the same scale.
    center, unit : array of shape (n_outputs,)
        The log-odds m of the base map are standardized for slopes: z = (m − center)/unit, clipped
        to ±3. One output with two classes, else one for each class.
    names : tuple of str, or None
        Names of the features; columns of frames are found by them. None for arrays.
    categories : tuple
        For each feature None if it is a number, else its categories: distinct texts. Other
        values stand for their texts: 1 for ``"1"``.
    terms : tuple of GroupTerm

    Examples
    --------
    >>> from trueodds.maps import GroupMap, GroupTerm, IdentityMap
    >>> regions = GroupTerm(0, (0,), (None,), [0.5, -0.5, 0, 0], [], [[0.01, 0.01, 0.1, 0.1]])
    >>> grouped = GroupMap(
    ...     base=IdentityMap(), center=[0.0], unit=[1.0], names=("region",),
    ...     categories=(("north", "south"),), terms=(regions,),
    ... )
    >>> grouped([0.5, 0.5, 0.5], features=[["north"], ["south"], ["east"]]).round(3)
    array([0.622, 0.378, 0.5  ])
    """

    base: CalibrationMap
    center: Floats
    unit: Floats
    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...]
    terms: tuple[GroupTerm, ...]

    family: ClassVar[str] = "group"
    reduces_pairs: ClassVar[bool] = False

    @property
    def n_classes(self) -> int:
        """That of the base map."""
        return 2 if len(self.center) == 1 else len(self.center)

    @property
    def takes_one_score(self) -> bool:
        """If there are two classes."""
        return self.n_classes == 2

    @property
    def rows_sum_to_one(self) -> bool:
        """As for the base map."""
        return self.base.rows_sum_to_one

    @property
    def band_of_forecasts(self) -> bool:
        """As for the base map, whose band it is."""
        return self.base.band_of_forecasts

    @property
    def features(self) -> tuple[str | int, ...]:
        """Names of columns, or their positions if the map was fitted on an array."""
        return tuple(range(len(self.categories))) if self.names is None else self.names

    @property
    def used_features(self) -> tuple[str | int, ...]:
        """Features that have effects."""
        used = self.space.used or ()
        return tuple(feature for k, feature in enumerate(self.features) if k in used)

    @property
    def space(self) -> FeatureSpace:
        """The features, ready to encode."""
        used = frozenset(f for term in self.terms for f in term.features if f != SCORE)
        return FeatureSpace(self.names, self.categories, np.zeros(len(self.categories)), used)

    def _check(self) -> None:
        if not isinstance(self.base, CalibrationMap) or self.base.features:
            raise InputError("base must be a map that needs no features.")
        if self.base.scale != self.scale or self.base.band is not None:
            raise InputError(f'base must have scale="{self.scale}", and no band.')
        center, unit = self._freeze("center"), self._freeze("unit")
        outputs = 1 if (self.base.n_classes or 2) == 2 else self.base.n_classes or 1
        if center.shape != (outputs,) or unit.shape != (outputs,):
            raise InputError(f"center and unit must be lists of {outputs} numbers.")
        if not (np.isfinite(center).all() and np.isfinite(unit).all() and (unit > 1e-6).all()):
            raise InputError("center must be finite, and unit greater than 1e-6.")
        if outputs == 1 and not self.base.takes_one_score and self.base.n_classes is not None:
            raise InputError("with two classes, base must take the positive class's score alone.")
        known = as_tuple(self.categories, "categories")
        object.__setattr__(self, "categories", plain_categories(known))
        if self.names is not None:
            object.__setattr__(self, "names", as_tuple(self.names, "names"))
        check_names(self.names, len(self.categories))
        terms = as_tuple(self.terms, "terms")
        object.__setattr__(self, "terms", tuple(self._checked(term) for term in terms))

    def _checked(self, term: Any) -> GroupTerm:
        """The term with read-only arrays, if it fits the features."""
        if not isinstance(term, GroupTerm):
            raise InputError(f"terms must be GroupTerms; got a {type(term).__name__}.")
        if term.output not in range(len(self.center)) or len(term.features) != len(term.cuts):
            raise InputError("a term must have an output of the map, and cuts for each feature.")
        n_levels = 1
        cuts: list[Floats | None] = []
        for feature, cut in zip(term.features, term.cuts, strict=True):
            if feature not in range(SCORE, len(self.categories)):
                raise InputError(f"a term names the feature {shown(feature)}, which is not there.")
            known = None if feature == SCORE else self.categories[feature]
            if (cut is None) != (known is not None):
                raise InputError("cuts must be numbers for numeric features, and null for others.")
            if cut is None or known is not None:
                cuts.append(None)
                n_levels *= len(known or ()) + 2
            else:
                numbers = _frozen(cut, "cuts")
                if numbers.ndim != 1 or not (np.diff(numbers) > 0).all():
                    raise InputError("cuts must be strictly increasing.")
                cuts.append(numbers)
                n_levels *= len(numbers) + (1 if feature == SCORE else 2)
        shift, slope, spread = (_frozen(getattr(term, k), k) for k in ("shift", "slope", "spread"))
        rows = 3 if slope.size else 1
        if shift.shape != (n_levels,) or slope.shape not in ((0,), (n_levels,)):
            raise InputError(f"shift must have {n_levels} numbers, and slope as many or none.")
        if spread.shape != (rows, n_levels):
            raise InputError(f"spread must have shape {(rows, n_levels)}; got {spread.shape}.")
        interval = None if term.interval is None else _frozen(term.interval, "interval")
        shape = (5 if rows == 3 else 2, n_levels)
        if interval is not None and interval.shape != shape:
            raise InputError(f"interval must have shape {shape}; got {interval.shape}.")
        features = tuple(int(f) for f in term.features)
        result = GroupTerm(int(term.output), features, tuple(cuts), shift, slope, spread, interval)
        for tables in (result.for_forecasts(), result.for_intervals()):
            if any((np.abs(table) > LARGEST_EFFECT).any() for table in tables):
                raise InputError(f"effects must lie within ±{LARGEST_EFFECT:g}.")
            if (tables[2][0] < 0).any() or (rows == 3 and not _is_covariance(tables[2])):
                raise InputError("spread and interval must have variances and covariances.")
        return result

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        names, categories, terms = (parameters[k] for k in ("names", "categories", "terms"))
        check_decoded_features(names, categories)
        if not isinstance(terms, list):
            raise MapFormatError("terms must be a list.")
        base = parameters["base"]
        if isinstance(base, dict) and base.get("family") in (cls.family, "tree"):
            raise MapFormatError("the base of a group map must be a map without features.")
        result = {name: _json.decode(parameters[name], name) for name in ("center", "unit")}
        return {
            **result,
            "base": CalibrationMap.from_dict(base),
            "names": None if names is None else tuple(names),
            "categories": tuple(categories),
            "terms": tuple(_read_term(term) for term in terms),
        }

    def _apply(self, scores: Floats) -> Floats:
        raise InputError("a group map needs the original features: pass features=.")

    def _apply_valid(self, scores: Floats, features: Any = None) -> Floats:
        """Map validated scores of rows with these features."""
        result = self._apply_to_all(scores, features)
        return result[:, 1] if scores.ndim == 1 else result

    def _apply_to_all(self, scores: Floats, features: Any = None) -> Floats:
        """Probabilities of all classes, of shape (n, n_classes), from validated scores."""
        return self._apply_encoded(scores, self._encoded(scores, features))

    def _encoded(self, scores: Floats, features: Any) -> Floats:
        encoded = self.space.encode(features)
        if len(encoded) != len(scores):
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: scores has "
                f"{len(scores)} rows, features has {len(encoded)}."
            )
        return encoded

    def _apply_encoded(self, scores: Floats, encoded: Floats) -> Floats:
        with np.errstate(all="ignore"):
            p = [
                sigmoid(eta / np.sqrt(1 + PROBIT * variance))
                for eta, variance in self._log_odds(scores, encoded, GroupTerm.for_forecasts)
            ]
        if len(p) == 1:
            return np.stack([1 - p[0], p[0]], axis=1)
        result = np.stack(p, axis=1)
        return np.asarray(result / result.sum(axis=1, keepdims=True))

    def _log_odds(
        self,
        scores: Floats,
        encoded: Floats,
        tables: Callable[[GroupTerm], tuple[Floats, Floats, Floats]],
    ) -> list[tuple[Floats, Floats]]:
        """Log-odds with effects, and the variance of the effects, of each output."""
        result, codes = [], _Codes(self.categories, encoded)
        for output, m in enumerate(base_log_odds(self.base, scores)):
            z = standardized(m, float(self.center[output]), float(self.unit[output]))
            eta, variance = m.copy(), np.zeros(len(m))
            for term in self.terms:
                if term.output == output:
                    at = codes.of(term, z)
                    shift, slope, spread = tables(term)
                    eta += shift[at]
                    variance += spread[0][at]
                    if slope.size:
                        eta += slope[at] * z
                        variance += z * (2 * spread[1][at] + z * spread[2][at])
            result.append((eta, np.maximum(variance, 0.0)))
        return result

    def interval(self, scores: Any, features: Any = None) -> tuple[Floats, Floats]:
        """Where the true probability of such rows lies; for a map that carries a band.

        The band is that of the base map; the uncertainty of the effects is added to it, as
        independent of it. The interval contains the forecast, but is not centered on it.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the scale ``scale``.
        features : array-like or frame of shape (n, n_features)
            The original features.

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
        """
        from scipy.special import ndtri

        band = self._known_band()
        array = self._validated(scores)
        if array.ndim == 2 and self.n_classes == 2:
            array = positive_column(array, self.scale)
        encoded = self._encoded(array, features)
        p = self._apply_encoded(array, encoded)
        p = p[:, 1] if array.ndim == 1 else p
        ends = replace(self.base, band=band).interval(array)
        reach = float(ndtri(0.5 + band.level / 2))
        result = []
        for sign, end in zip((-1, 1), ends, strict=True):
            columns = [end] if end.ndim == 1 else list(end.T)
            outer = [
                sigmoid(eta + sign * np.hypot(reach * np.sqrt(variance), m - _logit(_inner(x))))
                for (eta, variance), m, x in zip(
                    self._log_odds(array, encoded, GroupTerm.for_intervals),
                    base_log_odds(self.base, array),
                    columns,
                    strict=True,
                )
            ]
            found = outer[0] if len(outer) == 1 else np.stack(outer, axis=1)
            result.append(np.minimum(found, p) if sign < 0 else np.maximum(found, p))
        return result[0], result[1]

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        pair = self.n_classes == 2 and len(scores) == 2
        wanted = (positive_expression(scores, self.scale),) if pair else tuple(scores)
        codes = _CodeExpressions(self)
        p = [self._formula(o, b, codes) for o, b in enumerate(self.base.expression(wanted))]
        if len(p) == 1:
            return (1 - p[0], p[0]) if pair else (p[0],)
        whole = total(p)
        return tuple(x / whole for x in p)

    def _formula(self, output: int, base: Expression, codes: _CodeExpressions) -> Expression:
        inner = clip(base, LEAST, 1 - LEAST)
        m = log(inner / (1 - inner))
        center, unit = float(self.center[output]), float(self.unit[output])
        z = clip((m - center) / unit, -REACH, REACH)
        eta: list[Expression] = [m]
        variance: list[Expression] = [Constant(0.0)]
        for term in self.terms:
            if term.output == output:
                at = codes.of(term, z)
                eta += _table(at, term.shift)
                variance += _table(at, term.spread[0])
                if term.slope.size:
                    eta += [x * z for x in _table(at, term.slope)]
                    variance += [2 * z * x for x in _table(at, term.spread[1])]
                    variance += [z * z * x for x in _table(at, term.spread[2])]
        v = maximum(total(variance), 0.0)
        return sigmoid_expression(total(eta) * exp(-0.5 * log(1 + PROBIT * v)))


class _Codes:
    """The level of every row in each term; a feature's own levels are found once."""

    def __init__(self, categories: tuple[Any, ...], encoded: Floats) -> None:
        self._categories, self._encoded = categories, encoded
        self._found: dict[tuple[int, bytes], Ints] = {}

    def of(self, term: GroupTerm, z: Floats) -> Any:
        codes: Any = 0
        for feature, cut in zip(term.features, term.cuts, strict=True):
            if feature == SCORE and cut is not None:
                codes = codes * (len(cut) + 1) + codes_of_scores(z, cut)
            else:
                n_levels = len(self._categories[feature] if cut is None else cut) + 2
                codes = codes * n_levels + self._of_feature(feature, cut)
        return codes

    def _of_feature(self, feature: int, cut: Floats | None) -> Ints:
        key = (feature, b"" if cut is None else cut.tobytes())
        if key not in self._found:
            column = self._encoded[:, feature]
            self._found[key] = (
                codes_of_categories(column, len(self._categories[feature]))
                if cut is None
                else codes_of_numbers(column, cut)
            )
        return self._found[key]


def codes_of_categories(column: Floats, n_categories: int) -> Ints:
    """The position of the category; one more is missing, two more not seen."""
    codes = np.where(np.isnan(column), n_categories, column).astype(np.intp)
    codes[codes < 0] = n_categories + 1
    return codes


def codes_of_numbers(column: Floats, cuts: Floats) -> Ints:
    """How many cuts a number exceeds; one more than all is missing."""
    return np.where(np.isnan(column), len(cuts) + 1, np.searchsorted(cuts, column))


def codes_of_scores(z: Floats, cuts: Floats) -> Ints:
    """How many cuts a standardized score reaches."""
    return np.searchsorted(cuts, z, side="right")


class _CodeExpressions:
    """The twin of :class:`_Codes` as expressions, each node once."""

    def __init__(self, drawn: GroupMap) -> None:
        self._map = drawn
        self._found: dict[tuple[int, bytes], Expression] = {}

    def of(self, term: GroupTerm, z: Expression) -> Expression | None:
        code: Expression | None = None
        for feature, cut in zip(term.features, term.cuts, strict=True):
            if feature == SCORE and cut is not None:
                n_levels = len(cut) + 1
                own: Expression = StepLookup(z, cut, np.arange(n_levels, dtype=np.float64))
            else:
                own, n_levels = self._of_feature(feature, cut)
            code = own if code is None else code * float(n_levels) + own
        return code

    def _of_feature(self, feature: int, cut: Floats | None) -> tuple[Expression, int]:
        known = self._map.categories[feature]
        n_levels = len((known or ()) if cut is None else cut) + 2
        key = (feature, b"" if cut is None else cut.tobytes())
        if key not in self._found:
            asked = Feature(feature, self._map.space.name(feature), known)
            conditions: list[Condition]
            if cut is None:
                conditions, missing, otherwise = (
                    [FeatureIs(asked, text) for text in known or ()],
                    n_levels - 2,
                    n_levels - 1,
                )
            else:  # a missing value fails every comparison, so it is looked for last
                conditions, missing, otherwise = (
                    [FeatureAtMost(asked, float(c)) for c in cut],
                    n_levels - 1,
                    n_levels - 2,
                )
            branches = [(c, Constant(float(k))) for k, c in enumerate(conditions)]
            branches.append((FeatureMissing(asked), Constant(float(missing))))
            self._found[key] = Choose(tuple(branches), Constant(float(otherwise)))
        return self._found[key], n_levels


def _table(at: Expression | None, values: Floats) -> list[Expression]:
    """The values of levels as a list of one term, or of none if all are zero."""
    if not values.any():
        return []
    if at is None or (values == values[0]).all():
        return [Constant(float(values[0]))]
    return [StepLookup(at, np.arange(0.5, len(values) - 1), values)]


def base_log_odds(base: CalibrationMap, scores: Floats) -> list[Floats]:
    """Log-odds of the positive class, or of each of several, by the one map."""
    if base.class_count == 2 and scores.ndim == 2:
        scores = positive_column(scores, base.scale)
    p = base._apply_valid(scores)
    return [_logit(_inner(column)) for column in ([p] if p.ndim == 1 else list(p.T))]


def standardized(m: Floats, center: float, unit: float) -> Floats:
    """Log-odds of the base map as the z of slopes."""
    return np.clip((m - center) / unit, -REACH, REACH)


def _logit(p: Floats) -> Floats:
    return np.asarray(np.log(p / (1 - p)))


def _inner(p: Floats) -> Floats:
    return np.clip(p, LEAST, 1 - LEAST)


def _frozen(values: Any, name: str) -> Floats:
    try:
        array = np.array(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InputError(f"{name} must be an array of numbers.") from None
    if not np.isfinite(array).all():
        raise InputError(f"{name} must be finite.")
    array.flags.writeable = False
    return array


def _is_covariance(spread: Floats) -> bool:
    a, ab, b = spread
    return bool((b >= 0).all() and (ab * ab <= a * b * (1 + 1e-6) + 1e-12).all())


def _read_term(raw: Any) -> GroupTerm:
    keys = {"output", "features", "cuts", "shift", "slope", "spread"}
    own = {"interval"} & raw.keys() if isinstance(raw, dict) else set()
    _json.check_keys(raw, keys | own, "a term")
    output, features, cuts = raw["output"], raw["features"], raw["cuts"]
    if type(output) is not int or not (
        isinstance(features, list) and all(type(f) is int for f in features)
    ):
        raise MapFormatError("output must be an integer, and features a list of integers.")
    if not isinstance(cuts, list) or len(cuts) != len(features):
        raise MapFormatError("cuts must have one entry for each feature.")
    read = [None if cut is None else _list(cut, "cuts") for cut in cuts]
    tables = {k: _list(raw[k], k) for k in ("shift", "slope", "spread", *own)}
    return GroupTerm(output, tuple(features), tuple(read), **tables)


def _list(raw: Any, name: str) -> Floats:
    if not isinstance(raw, list):
        raise MapFormatError(f"{name} must be a list.")
    return np.asarray(_json.decode(raw, name))
