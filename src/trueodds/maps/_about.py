"""Where a map comes from: what may stand in its ``about``, and the fingerprint of the map itself.

What is said there is shown and compared, never used: it may come from anybody.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trueodds.exceptions import InputError

__all__ = ["ABOUT_KEYS", "check_about", "fingerprint_of", "function_alone"]

LARGEST = 65_536
"""Characters of the whole block as JSON."""
LONGEST_TEXT = 4_096
DEEPEST = 6
"""How deeply lists and objects may stand in each other, the block itself included."""
FINGERPRINT = r"sha256:[0-9a-f]{64}"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
NOT_THE_FUNCTION = ("format", "version", "about")
"""Keys of a document that do not change what the map does."""


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict)


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 2**53


def _are_counts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_count, value))


def _is_number(value: Any, *infinities: str) -> bool:
    return type(value) in (int, float) or (isinstance(value, str) and value in infinities)


def _is_range(value: Any) -> bool:
    return (
        isinstance(value, list)
        and len(value) == 2
        and all(_is_number(end, "inf", "-inf") for end in value)
        and float(value[0]) <= float(value[1])
    )


def _is_loss(value: Any) -> bool:
    return _is_number(value, "inf") and float(value) >= 0


def _are_losses(value: Any) -> bool:
    if not isinstance(value, dict) or not value.keys() <= {*LOSSES, "folds", "rows"}:
        return False
    pairs = [value[name] for name in LOSSES if name in value]
    counts = [value[name] for name in ("folds", "rows") if name in value]
    return all(map(_is_count, counts)) and all(map(_is_pair, pairs))


def _is_pair(value: Any) -> bool:
    if not isinstance(value, dict) or "after" not in value:
        return False
    return value.keys() <= {"before", "after"} and all(map(_is_loss, value.values()))


def _is_fingerprint(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(FINGERPRINT, value) is not None


def _is_time(value: Any) -> bool:
    return isinstance(value, str) and re.fullmatch(TIME, value) is not None


LOSSES = ("log_loss", "brier_score")
_TEXT = (_is_text, "a text")
_COUNT = (_is_count, "a whole number, not negative")
_OF_A_MAP = (_is_fingerprint, '"sha256:" and 64 hexadecimal digits')

ABOUT_KEYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "method": _TEXT,
    "options": (_is_object, "an object"),
    "chosen": _TEXT,
    "reason": _TEXT,
    "created": (_is_time, "a time such as 2026-01-31T12:00:00Z"),
    "software": _TEXT,
    "file": _TEXT,
    "columns": (_is_object, "an object"),
    "rows": _COUNT,
    "positives": _COUNT,
    "class_rows": (_are_counts, "a list of whole numbers, none negative"),
    "total_weight": (lambda value: _is_number(value) and value >= 0, "a number, not negative"),
    "score_range": (_is_range, "the lowest and the highest score"),
    "data": _OF_A_MAP,
    "losses": (
        _are_losses,
        "log_loss and brier_score, each with before and after, and the numbers of folds and rows",
    ),
    "parent": _OF_A_MAP,
    "notes": (lambda _: True, "anything"),
}
"""What may stand in ``about``: how each value is checked, and what it must be in words."""


def check_about(about: Any, error: type[ValueError] = InputError) -> dict[str, Any]:
    """A copy of the block in plain JSON values, or an error that says in a sentence what is wrong.

    Parameters
    ----------
    about : mapping
    error : type of exception, default=InputError
        What to raise: another one for files than for arguments.
    """
    if not isinstance(about, Mapping):
        raise error(f"about must be an object; got {_shown(about)}.")
    try:
        block: dict[str, Any] = _plain(about, "about", 1, [LARGEST])
    except _RefusedError as refusal:
        raise error(str(refusal)) from None
    for key, value in block.items():
        if key not in ABOUT_KEYS:
            raise error(
                f"about has the unknown key {_shown(key)}; "
                "what is your own may stand under 'notes'."
            )
        is_right, words = ABOUT_KEYS[key]
        if not is_right(value):
            raise error(f"about.{key} must be {words}; got {_shown(value)}.")
    if len(json.dumps(block)) > LARGEST:
        raise error(f"about is too large: more than {LARGEST:,} characters of JSON.")
    return block


class _RefusedError(Exception):
    """Something that may not stand in the block, in a sentence."""


def _plain(value: Any, place: str, depth: int, left: list[int]) -> Any:
    """The same in JSON's own types; ``left`` counts down, so that no walk is long."""
    left[0] -= 1
    if left[0] < 0:
        raise _RefusedError(f"about is too large: more than {LARGEST:,} characters of JSON.")
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, str):
        return _text(value, place)
    if isinstance(value, (int, float)):
        return _number(value, place)
    if not isinstance(value, (Mapping, list, tuple)):
        raise _RefusedError(f"{place} must be a JSON value; got {type(value).__name__}.")
    if depth > DEEPEST:
        raise _RefusedError(f"about is nested too deeply: {DEEPEST} levels are the most.")
    if isinstance(value, Mapping):
        return {
            _key(key, place): _plain(item, _below(place, key), depth + 1, left)
            for key, item in value.items()
        }
    return [_plain(item, place, depth + 1, left) for item in value]


def _below(place: str, key: Any) -> str:
    return f"about.{key}" if place == "about" and key in ABOUT_KEYS else place


def _key(key: Any, place: str) -> str:
    if not isinstance(key, str):
        raise _RefusedError(f"{place} has a key that is not a text: {_shown(key)}.")
    return _text(key, place)


def _text(text: str, place: str) -> str:
    if len(text) > LONGEST_TEXT:
        raise _RefusedError(
            f"{place} holds a text of {len(text):,} characters; {LONGEST_TEXT:,} may be."
        )
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        raise _RefusedError(f"{place} holds a text that is not Unicode: {_shown(text)}.") from None
    return text


def _number(number: float, place: str) -> float:
    try:
        if math.isfinite(number):
            return number
    except OverflowError:
        raise _RefusedError(f"{place} holds a number beyond float64.") from None
    raise _RefusedError(f"{place} must hold finite numbers; got {number!r}.")


def _shown(value: Any, length: int = 40) -> str:
    """A value of a stranger in a message: short, and without control characters."""
    plain = value if isinstance(value, (str, float, bool, type(None))) else None
    if isinstance(value, int) and abs(value) < 10**length:  # Python does not write all integers
        plain = value
    text = ascii(plain) if plain is not None or value is None else ""
    text = text or f"{'an object' if isinstance(value, Mapping) else 'a ' + type(value).__name__}"
    return text if len(text) <= length else text[: length - 1] + "…"


def fingerprint_of(document: dict[str, Any]) -> str:
    """The SHA-256 of a map's document without what does not change the map; see docs/map-format.md.

    Keys sorted, no spaces, ASCII, numbers with all their digits as Python writes them.
    """
    text = json.dumps(
        function_alone(document), sort_keys=True, separators=(",", ":"), allow_nan=False
    )
    return f"sha256:{hashlib.sha256(text.encode('ascii')).hexdigest()}"


def function_alone(value: Any) -> Any:
    """A document, and those inside it, without what does not change the map."""
    if isinstance(value, dict):
        return {k: function_alone(v) for k, v in value.items() if k not in NOT_THE_FUNCTION}
    if isinstance(value, list) and value and isinstance(value[0], dict):
        return [function_alone(item) for item in value]
    return value
