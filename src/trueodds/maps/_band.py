"""The band of a map: between which bounds the truth lies."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from trueodds.exceptions import InputError, MapFormatError
from trueodds.maps import _json
from trueodds.validation import check_level

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
        How probable it is that the truth at a score lies within.
    lower, upper : tuple of maps
        With two classes one binary map of the scores each. With several, one for each class, of
        the probability that the map gives to it.
    """

    level: float
    lower: tuple[CalibrationMap, ...]
    upper: tuple[CalibrationMap, ...]


def check_band(band: Any, of: CalibrationMap) -> None:
    """Refuse a band that does not fit the map that carries it."""
    if not isinstance(band, Band):
        raise InputError(f"band must be a Band or None; got {type(band).__name__}.")
    check_level(band.level)
    n_classes = of.n_classes or len(of.classes or (0, 1))
    binary = n_classes == 2
    count = 1 if binary else n_classes
    # A tree's forecast depends on attributes as well, so its band is one of the forecast.
    scale = of.input if binary and not of.attributes else "probability"
    for name, curves in (("lower", band.lower), ("upper", band.upper)):
        if not isinstance(curves, tuple) or len(curves) != count:
            raise InputError(f"{name} of the band must be {count} maps; got {curves!r}.")
        for curve in curves:
            fits = curve.takes_one_score and curve.n_classes == 2 and curve.input == scale
            if not fits or curve.attributes or curve.band is not None:
                raise InputError(f'{name} of the band must be binary maps with input="{scale}".')


def band_document(band: Band) -> dict[str, Any]:
    """The band as plain JSON values."""
    return {
        "level": band.level,
        "lower": [curve.to_dict() for curve in band.lower],
        "upper": [curve.to_dict() for curve in band.upper],
    }


def read_band(raw: Any, read_map: Any) -> Band:
    """A band from plain JSON values, trusting nothing in them."""
    _json.check_keys(raw, KEYS, "band")
    level = raw["level"]
    if type(level) is not float or not 0 < level < 1:
        raise MapFormatError(f'"level" of the band must be a number between 0 and 1; got {level!r}.')
    ends = {}
    for name in ("lower", "upper"):
        if not isinstance(raw[name], list):
            raise MapFormatError(f"{name} of the band must be a list of maps.")
        for document in raw[name]:
            if isinstance(document, dict) and "band" in document:
                raise MapFormatError("the curves of a band have no band of their own.")
        ends[name] = tuple(read_map(document) for document in raw[name])
    return Band(level, ends["lower"], ends["upper"])
