"""JSON from strangers, without what the standard leaves open."""

from __future__ import annotations

import json
from typing import Any

__all__ = ["parse_json"]


def parse_json(text: str, name: str, error: type[Exception]) -> Any:
    """Python's own values, or ``error`` with one sentence on what is wrong.

    Parameters
    ----------
    text : str
    name : str
        Where the text comes from.
    error : type of exception

    Examples
    --------
    >>> parse_json('{"a": 1}', "a.json", ValueError)
    {'a': 1}
    >>> parse_json('{"a": 1, "a": 2}', "a.json", ValueError)
    Traceback (most recent call last):
    ...
    ValueError: a.json: a key stands twice in the same object.
    """

    def refuse_constant(constant: str) -> Any:
        raise _NotStrictError(f"{constant} is not JSON; infinities are written as texts.")

    def refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        result = dict(pairs)
        if len(result) != len(pairs):
            raise _NotStrictError("a key stands twice in the same object.")
        return result

    try:
        return json.loads(text, parse_constant=refuse_constant, object_pairs_hook=refuse_duplicates)
    except RecursionError:
        raise error(f"{name} is nested too deeply.") from None
    except _NotStrictError as refused:
        raise error(f"{name}: {refused}") from None
    except ValueError as malformed:  # or an integer of thousands of digits
        raise error(f"{name} is not valid JSON: {malformed}") from None


class _NotStrictError(Exception):
    pass
