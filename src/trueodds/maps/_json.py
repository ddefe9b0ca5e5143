"""The JSON form of maps: written exactly and atomically, read with suspicion."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast, get_args

import numpy as np

from trueodds.basics.files import parse_json, write_text
from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, MapFormatError
from trueodds.inputs import InputScale
from trueodds.maps._metadata import check_metadata

__all__ = [
    "Header",
    "Label",
    "check_document",
    "check_keys",
    "decode",
    "document",
    "encode",
    "parse",
    "parse_text",
    "plain_label",
    "read",
    "write",
]

Label = str | int | float | bool

FORMAT = "trueodds-map"
VERSION = 2
"""Version 1 is the same without ``metadata``."""
HEADER = {"format", "version", "family", "scale", "classes", "parameters"}
METADATA, BAND = "metadata", "band"
LARGEST_FILE = 100 * 2**20
"""Bytes."""
MOST_VALUES = 4_000_000
"""Numbers, texts and so on in all: two million knots."""
DEEPEST = 32
"""How deeply lists and objects may be nested; learned maps need less than half."""
MOST_SHOWN = 5
"""Names in a message."""
INFINITIES = {"inf": math.inf, "-inf": -math.inf}


def document(
    family: str, scale: str, classes: tuple[Any, ...] | None, parameters: dict[str, Any]
) -> dict[str, Any]:
    """Put the header around a family's parameters."""
    return {
        "format": FORMAT,
        "version": VERSION,
        "family": family,
        "scale": scale,
        "classes": None if classes is None else list(classes),
        "parameters": parameters,
    }


def plain_label(label: Any) -> Label:
    """The label of a class as a text, a number or a truth value."""
    plain = label.item() if isinstance(label, np.generic) else label
    return plain if isinstance(plain, (str, int, float, bool)) else str(plain)


def encode(value: Any) -> Any:
    """Numbers and arrays as JSON values; infinities as the strings "inf" and "-inf"."""
    if hasattr(value, "to_dict"):
        return value.to_dict()
    if isinstance(value, tuple):
        return [encode(item) for item in value]
    if isinstance(value, np.ndarray):
        if np.isfinite(value).all():
            return value.tolist()
        return [encode(item) for item in value] if value.ndim else encode(value.item())
    if isinstance(value, (float, np.floating)):
        number = float(value)
        return number if math.isfinite(number) else str(number)
    return value


def decode(value: Any, name: str) -> Any:
    """Inverse of :func:`encode` for strings, numbers and nested lists of numbers."""
    if isinstance(value, list):
        return _decode_list(value, name)
    if isinstance(value, str):
        return INFINITIES.get(value, value)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise MapFormatError(f"{name} must be a number, a text or a list of numbers.")
    return _as_float(value, name)


def _decode_list(values: list[Any], name: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    if values and all(isinstance(row, list) for row in values):
        rows = [_decode_row(row, name) for row in values]
        if len({len(row) for row in rows}) > 1:
            raise MapFormatError(f"{name} must have rows of one length.")
        return np.array(rows, dtype=np.float64)
    return np.array(_decode_row(values, name), dtype=np.float64)


def _decode_row(values: list[Any], name: str) -> list[float]:
    return [_decode_number(value, name) for value in values]


def _decode_number(value: Any, name: str) -> float:
    number = INFINITIES.get(value) if isinstance(value, str) else None
    if number is not None:
        return number
    if type(value) not in (int, float):
        raise MapFormatError(f"{name} must be a list of numbers.")
    return _as_float(value, name)


def _as_float(value: Any, name: str) -> float:
    try:
        number = float(value)
    except OverflowError:
        raise MapFormatError(f"{name} holds a number beyond float64.") from None
    if not math.isfinite(number):  # 1e999 is a number in JSON
        raise MapFormatError(
            f'{name} must be finite; got a number beyond float64. Infinities are "inf" and "-inf".'
        )
    return number


def check_keys(mapping: Any, expected: set[str], what: str) -> None:
    """Refuse missing and superfluous keys."""
    if not isinstance(mapping, dict):
        raise MapFormatError(f"{what} must be an object.")
    missing, extra = expected - mapping.keys(), mapping.keys() - expected
    if missing or extra:
        found = [
            f"{word} [{', '.join(shown(key) for key in sorted(keys)[:MOST_SHOWN])}]"
            for word, keys in (("missing", missing), ("unknown", extra))
            if keys
        ]
        raise MapFormatError(f"{what}: {' and '.join(found)}.")


@dataclass(frozen=True)
class Header:
    """The checked fields of every document; parameters are not checked yet."""

    family: str
    scale: InputScale
    classes: tuple[Any, ...] | None
    parameters: Any
    metadata: dict[str, Any] | None


def parse(raw: Any) -> Header:
    """Check all of a document but its parameters."""
    if not isinstance(raw, dict) or raw.get("format") != FORMAT:
        raise MapFormatError(f'not a saved map: "format" must be {FORMAT!r}.')
    version = raw.get("version")
    if type(version) is not int or version < 1:
        raise MapFormatError(f'"version" must be a positive integer; got {shown(version)}.')
    if version > VERSION:
        raise MapFormatError(
            f"the map has format version {version}; this trueodds reads up to {VERSION}: upgrade."
        )
    may_be = {METADATA, BAND} & raw.keys() if version > 1 else set()
    check_keys(raw, HEADER | may_be, "map")
    family, scale, classes = raw["family"], raw["scale"], raw["classes"]
    if not isinstance(family, str):
        raise MapFormatError('"family" must be a text.')
    if scale not in get_args(InputScale):
        raise MapFormatError(f'"scale" must be one of {get_args(InputScale)}; got {shown(scale)}.')
    if classes is not None and not (
        isinstance(classes, list) and all(type(c) in (str, int, float, bool) for c in classes)
    ):
        raise MapFormatError('"classes" must be null or a list of labels.')
    if any(type(c) is float and not math.isfinite(c) for c in classes or ()):
        raise MapFormatError('"classes" holds a number beyond float64.')
    metadata = raw.get(METADATA)
    return Header(
        family,
        cast("InputScale", scale),
        None if classes is None else tuple(classes),
        raw["parameters"],
        None if metadata is None else check_metadata(metadata, MapFormatError),
    )


def write(content: dict[str, Any], path: Path) -> None:
    """Write the file, whole or not at all; what could not be read again is not written."""
    try:
        check_document(content)
        text = json.dumps(content, allow_nan=False, ensure_ascii=False, indent=1) + "\n"
        check_text(text)
    except MapFormatError as error:
        raise InputError(f"this map cannot be saved: {error}") from None
    write_text(text, path)


def read(path: Path) -> Any:
    """Parse a JSON file, refusing what JSON itself leaves open."""
    check_file(path)
    try:
        with path.open("rb") as file:  # which may grow meanwhile, or be no file at all
            text = file.read(LARGEST_FILE + 1).decode("utf-8")
    except UnicodeDecodeError:
        raise MapFormatError(f"{path.name} is not a text file in UTF-8.") from None
    return parse_text(text, path.name)


def parse_text(text: str, name: str) -> Any:
    """JSON as Python's own values, or one sentence on what is wrong with it."""
    check_text(text)
    return parse_json(text, name, MapFormatError)


def check_file(path: Path) -> None:
    """Refuse a file that is too large to be a map, before it is read."""
    size = path.stat().st_size
    if size > LARGEST_FILE:
        raise MapFormatError(f"{path.name} has {size:,} bytes; a map has at most {LARGEST_FILE:,}.")


def check_text(text: str) -> None:
    """Refuse a text that would become too much, before it is parsed."""
    if len(text) > LARGEST_FILE:
        raise MapFormatError(f"a map is a text of at most {LARGEST_FILE:,} characters.")
    if text.count(",") > MOST_VALUES or text.count("[") > MOST_VALUES:
        raise _TOO_MANY


_TOO_MANY = MapFormatError(f"a map holds at most {MOST_VALUES:,} values.")


def check_document(document: Any) -> None:
    """Refuse what is nested too deeply, holds too much, or has texts that are not Unicode."""
    left = MOST_VALUES
    level, depth = [document], 0
    while level:
        depth += 1
        if depth > DEEPEST:
            raise MapFormatError(f"a map is nested at most {DEEPEST} levels deep.")
        below: list[Any] = []
        for part in level:
            values = part
            if isinstance(part, dict):
                values = [*part.keys(), *part.values()]
            elif not isinstance(part, list):
                values = (part,)
            left -= len(values)
            if left < 0:
                raise _TOO_MANY
            below += [value for value in values if isinstance(value, (list, dict))]
            for value in values:
                if isinstance(value, str) and not value.isascii():
                    _check_unicode(value)
        level = below


def _check_unicode(text: str) -> None:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise MapFormatError(
            "a map holds texts of whole characters; got half a surrogate pair in "
            f"{ascii(text)[:40]}."
        ) from None
