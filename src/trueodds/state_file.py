"""State files: written only if they can be read back, parsed and checked value by value."""

from __future__ import annotations

import hashlib
import json
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np

from trueodds.basics.files import as_path, parse_json, write_text
from trueodds.basics.shown import shown
from trueodds.exceptions import InputError, StateFormatError
from trueodds.inputs import LONGEST_LABEL, Floats

__all__ = [
    "MOST_ROWS",
    "Fields",
    "Moment",
    "StateFile",
    "document_fields",
    "is_moment",
    "parse_state",
    "read_state",
    "state_text",
]

Moment = str | int | float | None
"""A time in a state."""

ADVICE: dict[Any, str] = {
    ("trueodds-monitor", "trueodds-watch"): " For the monitor of 'trueodds monitor', use "
    "trueodds.watch.Watch.load(path).monitor."
}
"""What to use for a state of another format than expected."""
State = TypeVar("State")
CHECKSUM = "checksum"
"""The last key of a state file: a hash of all bytes before it."""
LARGEST_FILE = 32_000_000
MOST_ROWS = 2**52  # one more is still another number
MOST_VALUES = 1_000_000
"""Maximum number of values in a state; each takes about a hundred bytes when parsed."""
MOST_TIME = 2**63
"""Largest integer time: nanoseconds since 1970 are about 2**60."""


def file_text(path: Path) -> str:
    """Read the text of a state file, if it is a regular file of at most ``LARGEST_FILE`` bytes."""
    if not path.is_file():  # a device or a pipe may have no end
        raise StateFormatError(f"{path.name} is not a regular file.")
    with path.open("rb") as file:  # which may grow meanwhile
        content = file.read(LARGEST_FILE + 1)
    if len(content) > LARGEST_FILE:
        raise StateFormatError(f"{path.name} is too large for a state.")
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        raise StateFormatError(f"{path.name} is not UTF-8 text.") from None


def parse_state(text: str, name: str, read: Callable[[Any], State]) -> State:
    """Parse a state strictly; raise for ambiguous JSON, too many values, and changed bytes."""
    if sum(map(text.count, ",[{")) > MOST_VALUES:
        raise StateFormatError(f"{name} holds more than {MOST_VALUES:,} values.")
    content = parse_json(text, name, StateFormatError)
    given = content.pop(CHECKSUM, None) if isinstance(content, dict) else None
    state = read(content)  # which names what is wrong with a file that is no state
    if given is not None and given != _hash(text.rpartition(f',"{CHECKSUM}":')[0]):
        raise StateFormatError(f"{name} is damaged: its checksum does not match its content.")
    return state


def read_state(path: Path, read: Callable[[Any], State]) -> State:
    """Read a state file by ``read``, which checks every value."""
    return parse_state(file_text(path), path.name, read)


def state_text(content: dict[str, Any], read: Callable[[Any], object]) -> str:
    """Return a state as text that ``read`` accepts, with a checksum at its end."""
    try:
        text = json.dumps(content, allow_nan=False, separators=(",", ":")).removesuffix("}")
        text += f',"{CHECKSUM}":"{_hash(text)}"}}\n'
        if len(text) > LARGEST_FILE:
            raise StateFormatError(
                f"it has {len(text):,} characters; the limit is {LARGEST_FILE:,}."
            )
        parse_state(text, "the state", read)
    except (ValueError, RecursionError) as error:  # StateFormatError is one
        raise InputError(
            f"the state was not saved because it could not be read back: {error}"
        ) from (None)
    return text


class StateFile(ABC):
    """A state that is kept in a file from one run to the next."""

    _read_as: str | None = None  # hash of the file when it was read or written

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the state as plain JSON values."""

    @classmethod
    @abstractmethod
    def from_dict(cls, content: Any) -> Self:
        """Restore a state, every value of which is checked."""

    def save(self, path: str | Path) -> None:
        """Write the file atomically; raise if it has changed since it was read."""
        path = as_path(path)
        text = state_text(self.to_dict(), self.from_dict)
        found = _hash(file_text(path)) if path.exists() else None
        if found != self._read_as:
            raise InputError(
                f"another run changed {path.name} in the meantime; nothing was counted. Run again."
            )
        write_text(text, path)
        self._read_as = _hash(text)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a state file, every value of which is checked."""
        path = as_path(path)
        try:
            text = file_text(path)
            state = parse_state(text, path.name, cls.from_dict)
        except StateFormatError as error:
            raise StateFormatError(
                f"{path.name} is not a valid state: {error} To start over, move it away."
            ) from None
        state._read_as = _hash(text)
        return state


def _hash(text: str) -> str:
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def document_fields(
    content: Any, form: str, version: int, keys: set[str], name: str, of: str = "a monitor"
) -> Fields:
    """Check the format and version of a document, and return its fields."""
    if not isinstance(content, dict) or content.get("format") != form:
        found = content.get("format") if isinstance(content, dict) else None
        advice = ADVICE.get((form, found if isinstance(found, str) else None), "")
        raise StateFormatError(f'not the {name} of {of}: "format" must be {form!r}.{advice}')
    found = content.get("version")
    if type(found) is not int or found < 1:
        raise StateFormatError(f'"version" must be a positive integer; got {shown(found)}.')
    if found > version:
        raise StateFormatError(
            f"the {name} has format version {found}; this trueodds reads up to {version}: upgrade."
        )
    return Fields(content, keys | {"format", "version"}, name)


class Fields:
    """An object of a state file, whose values are checked as they are read."""

    def __init__(self, content: Any, keys: set[str], name: str) -> None:
        if not isinstance(content, dict):
            raise StateFormatError(f"{name} must be an object; got {_kind(content)}.")
        if content.keys() != keys:
            odd = [shown(key, 40) for key in sorted(content.keys() ^ keys)[:5]]
            raise StateFormatError(f"{name} has missing or unknown keys: {', '.join(odd)}.")
        self._content, self._name = content, name

    def _fail(self, key: str, expected: str) -> StateFormatError:
        found = repr(self._content[key])
        found = found if len(found) <= 40 else found[:39] + "…"
        return StateFormatError(f"{self._name}.{key} must be {expected}; got {found}.")

    def raw(self, key: str) -> Any:
        """Return a value that is checked elsewhere."""
        return self._content[key]

    def number(self, key: str, least: float, most: float) -> float:
        """Return a number in a range."""
        value = self._content[key]
        if type(value) not in (int, float) or not least <= value <= most:
            raise self._fail(key, f"a number between {least:g} and {most:g}")
        return float(value)

    def count(self, key: str, most: int = MOST_ROWS) -> int:
        """Return an integer of 0 or more."""
        value = self._content[key]
        if type(value) is not int or not 0 <= value <= most:
            raise self._fail(key, f"a whole number between 0 and {most}")
        return value

    def flag(self, key: str) -> bool:
        """Return True or False."""
        value = self._content[key]
        if type(value) is not bool:
            raise self._fail(key, "true or false")
        return value

    def text(self, key: str, longest: int = 200) -> str:
        """Return a text that is not too long."""
        value = self._content[key]
        if not isinstance(value, str) or len(value) > longest:
            raise self._fail(key, f"a text of at most {longest} characters")
        return value

    def texts(self, key: str, most: int) -> list[str]:
        """Return a list of distinct texts."""
        values = self.listed(key, most)
        if not all(isinstance(v, str) and len(v) <= LONGEST_LABEL for v in values):
            raise self._fail(key, f"a list of texts of at most {LONGEST_LABEL:,} characters")
        if len(set(values)) < len(values):
            raise self._fail(key, "a list of different texts")
        return values

    def listed(self, key: str, most: int) -> list[Any]:
        """Return a list that is not too long."""
        values = self._content[key]
        if not isinstance(values, list) or len(values) > most:
            raise self._fail(key, f"a list of at most {most} values")
        return values

    def moment(self, key: str) -> Any:
        """Return a time: a number, a text or null."""
        value = self._content[key]
        if not is_moment(value):
            raise self._fail(key, "a number, a text or null")
        return value

    def array(self, key: str, shape: tuple[int, ...], least: float, most: float) -> Floats:
        """Return numbers in a range, in nested lists of this shape."""
        value = self._content[key]
        if not _has_shape(value, shape):
            raise self._fail(key, f"nested lists of numbers of shape {shape}")
        array = np.array(value, dtype=np.float64).reshape(shape)
        if not bool(((array >= least) & (array <= most)).all()):
            raise StateFormatError(
                f"{self._name}.{key} must hold numbers between {least:g} and {most:g}."
            )
        return array


def is_moment(value: Any) -> bool:
    """Whether a value can be a time."""
    if type(value) is int:
        return abs(value) < MOST_TIME
    if type(value) is float:
        return math.isfinite(value)
    return value is None or (isinstance(value, str) and len(value) <= 64)


def _has_shape(value: Any, shape: tuple[int, ...]) -> bool:
    if not shape:
        return type(value) in (int, float) and abs(value) < 1e300
    if not isinstance(value, list) or len(value) != shape[0]:
        return False
    return all(_has_shape(item, shape[1:]) for item in value)


def _kind(value: Any) -> str:
    names = {list: "a list", str: "a text", bool: "a truth value", type(None): "null"}
    return names.get(type(value), "a number")
