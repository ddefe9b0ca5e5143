"""A map's band: the curves between which the true probability lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, MapFormatError
from trueodds.inputs import check_level
from trueodds.maps import _json

if TYPE_CHECKING:
    from trueodds.maps._base import CalibrationMap

__all__ = ["Band", "band_document", "check_band", "read_band"]

KEYS = {"level", "lower", "upper"}


@dataclass(frozen=True, eq=False)
class Band:
    """Where the true probability lies, as curves below and above.

    Parameters
    ----------
    level : float
        Probability that the true probability at a score lies within.
    lower, upper : tuple of maps
        With two classes one binary map of the scores each. With several, one for each class, of
        the probability that the map gives to it, or of its score if the map is a
        :class:`OneVsRestMap`. A tree's is of its probabilities always.

    Examples
    --------
    >>> from trueodds.maps import LogOddsMap
    >>> curves = [LogOddsMap(a=1.0, b=1.0, c=shift) for shift in (-1.0, 0.0, 1.0)]
    >>> banded = curves[1].with_band(curves[0], curves[2], level=0.9)
    >>> low, high = banded.interval([0.5])
    >>> banded.band.level, low.round(2).tolist(), high.round(2).tolist()
    (0.9, [0.27], [0.73])
    """

    level: float
    lower: tuple[CalibrationMap, ...]
    upper: tuple[CalibrationMap, ...]


def check_band(band: Any, of: CalibrationMap) -> None:
    """Refuse a band that does not fit the map that carries it."""
    if not isinstance(band, Band):
        raise InputError(f"band must be a Band or None; got {type(band).__name__}.")
    from trueodds.maps._base import BinaryMap

    check_level(band.level)
    count = of.class_count if of.class_count > 2 else 1
    scale = "probability" if of.band_of_forecasts else of.scale
    for name, curves in (("lower", band.lower), ("upper", band.upper)):
        if not isinstance(curves, tuple) or len(curves) != count:
            raise InputError(f"{name} of the band must be {count} maps; got {shown(curves)}.")
        for curve in curves:
            fits = isinstance(curve, BinaryMap) and curve.scale == scale and curve.band is None
            if not fits:
                raise InputError(f'{name} of the band must be binary maps with scale="{scale}".')


def band_document(band: Band) -> dict[str, Any]:
    """The band as a part of the map's document."""
    ends = {"lower": band.lower, "upper": band.upper}
    curves = {name: [curve.to_dict() for curve in end] for name, end in ends.items()}
    return {"band": {"level": band.level, **curves}}


def read_band(document: dict[str, Any], read_map: Any) -> Band | None:
    """The band in a map's document, trusting nothing in it."""
    if "band" not in document:
        return None
    raw = document["band"]
    _json.check_keys(raw, KEYS, "band")
    level = raw["level"]
    if type(level) is not float or not 0 < level < 1:
        raise MapFormatError(f'"level" of the band must be between 0.0 and 1.0; got {level!r}.')
    ends = {}
    for name in ("lower", "upper"):
        if not isinstance(raw[name], list):
            raise MapFormatError(f"{name} of the band must be a list of maps.")
        for curve in raw[name]:
            if isinstance(curve, dict) and "band" in curve:
                raise MapFormatError("the curves of a band must not have a band.")
        ends[name] = tuple(read_map(curve) for curve in raw[name])
    return Band(level, ends["lower"], ends["upper"])
