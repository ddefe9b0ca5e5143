"""Metadata of a map: what it may contain, and the fingerprint of the map itself.

Metadata is shown and compared, never used: it may come from anybody.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
import sys
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

__all__ = ["METADATA_KEYS", "check_metadata", "fingerprint_of", "function_alone"]

LONGEST_BLOCK = 65_536
"""Characters of the whole block as JSON."""
LONGEST_TEXT = 4_096
DEEPEST = 6
"""How deeply lists and objects may be nested, the block itself included."""
FINGERPRINT = r"sha256:[0-9a-f]{64}"
TIME = r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z"
LOSSES = ("log_loss", "brier_score")
NOT_THE_FUNCTION = ("format", "version", "metadata")
"""Keys of a document that do not change what the map does."""
_TOO_LARGE = f"metadata is too large: more than {LONGEST_BLOCK:,} characters of JSON."


def _is_count(value: Any) -> bool:
    return type(value) is int and 0 <= value <= 2**53


def _is_number(value: Any, *infinities: str) -> bool:
    return type(value) in (int, float) or (isinstance(value, str) and value in infinities)


def _is_range(value: Any) -> bool:
    numbers = isinstance(value, list) and all(_is_number(end, "inf", "-inf") for end in value)
    return numbers and len(value) == 2 and float(value[0]) <= float(value[1])


def _is_loss(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and {"after"} <= value.keys() <= {"before", "after", "one_map"}
        and all(_is_number(loss, "inf") and float(loss) >= 0 for loss in value.values())
    )


def _are_losses(value: Any) -> bool:
    checks = dict.fromkeys(LOSSES, _is_loss) | {"folds": _is_count, "rows": _is_count}
    return _has(value, checks | {"formula": _is_formula})


def _is_formula(value: Any) -> bool:
    texts = dict.fromkeys(("method", "verdict"), lambda one: isinstance(one, str))
    numbers = dict.fromkeys(("difference", "standard_error"), _is_number)
    return _has(value, {**texts, **numbers}) and len(value) == 4


def _is_ratio(value: Any) -> bool:
    ends = dict.fromkeys(("estimate", "low", "high"), lambda end: _is_number(end, "inf", "nan"))
    return _has(value, ends) and len(value) == len(ends)


def _has(value: Any, checks: dict[str, Callable[[Any], bool]]) -> bool:
    """Whether a value is an object whose entries pass these checks."""
    return isinstance(value, dict) and all(
        key in checks and checks[key](item) for key, item in value.items()
    )


def _matches(pattern: str) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, str) and re.fullmatch(pattern, value) is not None


Kind = tuple[Callable[[Any], bool], str]
_TEXT: Kind = (lambda value: isinstance(value, str), "a text")
_OBJECT: Kind = (lambda value: isinstance(value, dict), "an object")
_COUNT: Kind = (_is_count, "a whole number, not negative")
_FINGERPRINT: Kind = (_matches(FINGERPRINT), '"sha256:" and 64 hexadecimal digits')

METADATA_KEYS: dict[str, Kind] = {
    "method": _TEXT,
    "options": _OBJECT,
    "chosen": _TEXT,
    "reason": _TEXT,
    "created": (_matches(TIME), "a time such as 2026-01-31T12:00:00Z"),
    "software": _TEXT,
    "file": _TEXT,
    "columns": _OBJECT,
    "rows": _COUNT,
    "positives": _COUNT,
    "class_rows": (
        lambda value: isinstance(value, list) and all(map(_is_count, value)),
        "a list of whole numbers, none negative",
    ),
    "effective_rows": (lambda value: _is_number(value) and value >= 0, "a number, not negative"),
    "score_range": (_is_range, "the lowest and the highest score"),
    "data": _FINGERPRINT,
    "losses": (
        _are_losses,
        "log_loss and brier_score, each with before, after and one_map, the numbers of folds and "
        "rows, and a formula",
    ),
    "observed_expected": (
        lambda value: _has(value, {"before": _is_ratio, "after": _is_ratio, "level": _is_number}),
        "before and after, each with estimate, low and high, and the level",
    ),
    "parent": _FINGERPRINT,
    "notes": (lambda _: True, "anything"),
}
"""What metadata may contain: how each value is checked, and what it must be in words."""


def check_metadata(metadata: Any, error: type[ValueError] = InputError) -> dict[str, Any]:
    """A copy of the block in plain JSON values, or an error that states what is wrong.

    Parameters
    ----------
    metadata : mapping
    error : type of exception, default=InputError
        What to raise: another one for files than for arguments.
    """
    if not isinstance(metadata, Mapping):
        raise error(f"metadata must be an object; got {_shown(metadata)}.")
    try:
        block: dict[str, Any] = _json_value(metadata, "metadata", 1, [LONGEST_BLOCK])
    except _RefusedError as refusal:
        raise error(str(refusal)) from None
    for key, value in block.items():
        if key not in METADATA_KEYS:
            raise error(
                f"metadata has the unknown key {_shown(key)}; put your own entries under 'notes'."
            )
        is_right, words = METADATA_KEYS[key]
        if not is_right(value):
            raise error(f"metadata.{key} must be {words}; got {_shown(value)}.")
    if len(json.dumps(block)) > LONGEST_BLOCK:
        raise error(_TOO_LARGE)
    return block


class _RefusedError(Exception):
    """Something that the block must not contain, in a sentence."""


def _json_value(value: Any, place: str, depth: int, left: list[int]) -> Any:
    """The same in JSON's own types; ``left`` counts down, so that no walk is long."""
    left[0] -= 1
    if left[0] < 0:
        raise _RefusedError(_TOO_LARGE)
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise _RefusedError(
                f"{place} holds a text of {len(value):,} characters; {LONGEST_TEXT:,} may be."
            )
        if any("\ud800" <= character <= "\udfff" for character in value):
            raise _RefusedError(f"{place} holds a text that is not Unicode: {_shown(value)}.")
    elif isinstance(value, (Mapping, list, tuple)):
        if depth > DEEPEST:
            raise _RefusedError(f"metadata is nested too deeply: {DEEPEST} levels are the most.")
        if not isinstance(value, Mapping):
            return [_json_value(item, place, depth + 1, left) for item in value]
        for key in value:
            if not isinstance(key, str):
                raise _RefusedError(f"{place} has a key that is not a text: {_shown(key)}.")
        return {
            _json_value(key, place, depth, left): _json_value(
                item,
                f"metadata.{key}" if key in METADATA_KEYS and depth == 1 else place,
                depth + 1,
                left,
            )
            for key, item in value.items()
        }
    elif isinstance(value, (int, float)):
        if isinstance(value, int) and abs(value) > sys.float_info.max:
            raise _RefusedError(f"{place} holds a number beyond float64.")
        if not math.isfinite(value):
            raise _RefusedError(f"{place} must hold finite numbers; got {value!r}.")
    elif value is not None:
        raise _RefusedError(f"{place} must be a JSON value; got {type(value).__name__}.")
    return value


def _shown(value: Any) -> str:
    """A value of a stranger in a message: short, and without control characters."""
    if isinstance(value, (Mapping, list, tuple)):
        return "an object" if isinstance(value, Mapping) else f"a {type(value).__name__}"
    return shown(value, 40)


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
