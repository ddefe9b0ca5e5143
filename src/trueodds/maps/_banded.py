"""What a map with a band can do: intervals, and its two ends as maps of their own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, Self, cast

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, positive_column, validate_scores
from trueodds.maps._band import Band

if TYPE_CHECKING:
    from trueodds.maps._base import CalibrationMap

__all__ = ["Banded"]


class Banded:
    """The part of a calibration map that is about its band."""

    input: InputScale
    classes: tuple[Any, ...] | None
    band: Band | None

    def with_band(
        self,
        lower: CalibrationMap | Sequence[CalibrationMap],
        upper: CalibrationMap | Sequence[CalibrationMap],
        *,
        level: float,
    ) -> Self:
        """The same map with a band; ``calibrator.map_with_band()`` makes one from evidence.

        Parameters
        ----------
        lower, upper : map, or sequence of maps
            With two classes one binary map of the scores each. With several (or a tree), one for
            each class, of the probability that this map gives to it; of its score if each class
            has a map of its own.
        level : float
            How probable it is that the truth lies within.

        Examples
        --------
        >>> from trueodds.maps import IdentityMap, LogOddsMap
        >>> low, high = (LogOddsMap(a=1.0, b=1.0, c=c) for c in (-0.5, 0.5))
        >>> banded = IdentityMap().with_band(low, high, level=0.9)
        >>> [end.round(2) for end in banded.interval([0.1, 0.5])]
        [array([0.06, 0.38]), array([0.15, 0.62])]
        """
        ends = [tuple(e) if isinstance(e, Sequence) else (e,) for e in (lower, upper)]
        own = cast("CalibrationMap", self)
        made = replace(own, band=Band(level, *ends)).with_about(own.about)
        return cast("Self", made)

    @property
    def band_of_forecasts(self) -> bool:
        """Whether a band is of the map's probabilities, not of the scores: with several classes."""
        return self.class_count > 2

    @property
    def class_count(self) -> int:
        """The number of classes; two if nothing says otherwise."""
        return cast("CalibrationMap", self).n_classes or len(self.classes or (0, 1))

    def interval(self, scores: Any) -> tuple[Floats, Floats]:
        """Where the true probability of such scores lies; for a map that carries a band.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            On the scale that ``input`` says.

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
            With two classes those of the positive one. What the map itself says is never outside.
        """
        self._known_band()
        array = self.prepare_scores(scores)
        return self.lower_map().apply(array), self.upper_map().apply(array)

    def lower_map(self) -> CalibrationMap:
        """The lower end of the interval as a map, to be exported or applied to a frame."""
        return self._end("lower")

    def upper_map(self) -> CalibrationMap:
        """The upper end of the interval as a map."""
        return self._end("upper")

    def _end(self, end: Literal["lower", "upper"]) -> CalibrationMap:
        from trueodds.maps._band_end import BandEndMap

        band = self._known_band()
        return BandEndMap(
            map=cast("CalibrationMap", self),
            curves=getattr(band, end),
            end=end,
            input=self.input,
            classes=self.classes,
        )

    def _known_band(self) -> Band:
        if self.band is None:
            raise InputError(
                "this map carries no band; take calibrator.map_with_band(level=0.9), or "
                "trueodds fit --interval 0.9."
            )
        return self.band

    def prepare_scores(self, scores: Any) -> Floats:
        """Validated scores in the shape that the map works on."""
        array = validate_scores(
            scores,
            self.input,
            n_columns=self.class_count,
            rows_sum_to_one=cast("CalibrationMap", self).rows_sum_to_one,
        )
        if array.ndim == 2 and self.class_count == 2:
            return positive_column(array, self.input)
        return array
