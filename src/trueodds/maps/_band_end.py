"""One end of a map's band, as a map of its own: what SQL, ONNX and Python are written from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export.expressions import Expression, maximum, minimum
from trueodds.inputs import (
    Floats,
    as_tuple,
    check_choice,
    returns_like_input,
)
from trueodds.maps._base import CalibrationMap
from trueodds.maps._formulas import one_vs_rest_expressions
from trueodds.numerics.softmax.logits import one_vs_rest_scores

__all__ = ["BandEndMap"]


@dataclass(frozen=True, eq=False, kw_only=True)
class BandEndMap(CalibrationMap, saved=False):
    """The lower or the upper end of an interval around what a map says.

    It is the end of the band, or the map's own forecast where the band does not reach it: a
    forecast is never outside its interval. :meth:`CalibrationMap.lower_map` and ``upper_map`` make
    them, to be called, exported and applied to frames; what is saved is the map with its band.

    Parameters
    ----------
    map : CalibrationMap
        Without a tree's attributes.
    curves : tuple of binary maps
        With two classes one, of the scores; with several, one for each class, of the probability
        that ``map`` gives to it, or of its score if ``map`` is a :class:`OneVsRestMap`.
    end : {"lower", "upper"}

    Examples
    --------
    >>> from trueodds.maps import BandEndMap, IdentityMap, StepMap
    >>> curve = StepMap(edges=[0.5], values=[0.1, 0.6])
    >>> BandEndMap(map=IdentityMap(), curves=(curve,), end="lower")([0.05, 0.3, 0.9])
    array([0.05, 0.1 , 0.6 ])
    """

    map: CalibrationMap
    curves: tuple[CalibrationMap, ...]
    end: Literal["lower", "upper"]

    family: ClassVar[str] = "band_end"

    @property
    def n_classes(self) -> int:
        """As many as the map has."""
        return max(len(self.curves), 2)

    @property
    def takes_one_score(self) -> bool:
        """With two classes."""
        return self.n_classes == 2

    @property
    def rows_sum_to_one(self) -> bool:
        """As the map asks."""
        return self.map.rows_sum_to_one

    def _check(self) -> None:
        from trueodds.maps._band import Band, check_band

        check_choice(self.end, ("lower", "upper"), "end")
        object.__setattr__(self, "curves", as_tuple(self.curves, "curves"))
        if not isinstance(self.map, CalibrationMap) or isinstance(self.map, BandEndMap):
            raise InputError("map must be a calibration map, and not an end of a band itself.")
        if self.map.band_of_forecasts and self.map.class_count == 2:
            raise InputError(
                "the interval of a tree needs its attributes: call map.interval(scores, features)."
            )
        if self.map.input != self.input:
            raise InputError(f"map must have input={self.input!r}; got {self.map.input!r}.")
        if self.n_classes == 2 and not self.map.takes_one_score:
            raise InputError("with two classes, map must take the positive class's score alone.")
        check_band(Band(0.5, self.curves, self.curves), self.map)
        object.__setattr__(self, "map", replace(self.map, band=None))

    def save(self, path: str | Path) -> None:
        """Refused: save the map, which carries its band."""
        raise InputError("an end of a band is not saved by itself: save the map that carries it.")

    def _apply(self, scores: Floats) -> Floats:
        p = self.map._apply(scores)
        nearer = np.minimum if self.end == "lower" else np.maximum
        if p.ndim == 1:
            return np.asarray(nearer(self.curves[0]._apply(scores), p))
        of = np.clip(p, 0.0, 1.0)
        if not self.map.band_of_forecasts:
            of = one_vs_rest_scores(scores, self.input)
        columns = [
            curve._apply(np.ascontiguousarray(of[:, k])) for k, curve in enumerate(self.curves)
        ]
        return np.asarray(nearer(np.stack(columns, axis=1), p))

    @returns_like_input
    def __call__(self, scores: Any) -> Floats:
        """The end of the interval at each score; with two classes that of the positive class."""
        return self.apply(self.prepare_scores(scores))

    def expression(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The end of the curve or the forecast, whichever is farther out."""
        nearer = minimum if self.end == "lower" else maximum
        if self.n_classes == 2:
            if len(scores) != 1:
                raise InputError(
                    "the interval of two classes is that of the positive one: give its score alone."
                )
            p, curve = self.map.expression(scores)[0], self.curves[0].expression(scores)[0]
            return (nearer(curve, p),)
        forecasts = self.map.expression(scores)
        of: Sequence[Expression] = [minimum(p, 1.0) for p in forecasts]
        if not self.map.band_of_forecasts:
            of = one_vs_rest_expressions(scores, self.input)
        return tuple(
            nearer(curve.expression((x,))[0], p)
            for curve, x, p in zip(self.curves, of, forecasts, strict=True)
        )
