"""Change JSON documents at random, so that they are nearly what they were."""

# ruff: noqa: E501, S311
from __future__ import annotations

import copy
import json
import math
import random
from collections.abc import Sequence
from typing import Any

__all__ = ["JsonChanges", "Mutator"]

NUMBERS = [
    0.0, -0.0, 1.0, -1.0, 0.5, 2.0, 1e-17, 5e-324, -5e-324, 2.2e-308, 1e-300, -1e-300, 1e16, 1e100, -1e100, 1e300,
    -1e300, 1e308, -1e308, 1.7976931348623157e308, -1.7976931348623157e308, 700.0, -745.0, 1e154, -1e154, 37.0,
    2**53 + 1, 10**30, -(10**30), 10**400,
]  # fmt: skip
OTHERS: list[Any] = [
    None, True, False, "", "inf", "-inf", "nan", "x", "\ud800", "raw", "logit", "raw", "probability", [], {},
    [[]], [0.5], [1e308, -1e308], ["inf"], {"a": 1}, float("inf"), float("-inf"), float("nan"),
]  # fmt: skip


class Mutator:
    """Draws documents that are nearly those it was given.

    Parameters
    ----------
    documents : sequence of dict
        What is changed, and where parts of other documents come from.
    seed : int
    """

    def __init__(self, documents: Sequence[dict[str, Any]], seed: int) -> None:
        self.rng = random.Random(seed)
        self.documents = documents

    def text(self) -> str:
        """The JSON of a document with one to four changes."""
        rng = self.rng
        document = copy.deepcopy(rng.choice(self.documents))
        for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4))):
            self.change(document)
        text = json.dumps(document)
        if rng.random() < 0.1:
            text = self._garbled(text)
        return text

    def change(self, document: dict[str, Any]) -> None:
        """Change one place of a document, in place."""
        rng = self.rng
        numbers_only = rng.random() < 0.7
        places = list(_places(document, numbers_only))
        if not places:
            return
        part, key = rng.choice(places)
        old = part[key]
        kind = rng.random()
        if numbers_only and kind < 0.9:
            part[key] = self._number(old)
        elif kind < 0.5:
            part[key] = copy.deepcopy(rng.choice(OTHERS))
        elif kind < 0.6:
            del part[key]
        elif kind < 0.7:
            donor = rng.choice(self.documents)
            place, name = rng.choice(list(_places(donor, numbers_only=False)))
            part[key] = copy.deepcopy(place[name])
        elif kind < 0.8 and isinstance(old, list):
            rng.shuffle(old)
        elif kind < 0.9 and isinstance(part, list):
            part.insert(key, copy.deepcopy(old))
        elif kind < 0.92:
            for _ in range(rng.choice((3, 40))):
                old = [old]
            part[key] = old if rng.random() < 0.9 else {"maps": old}
        else:
            part[key] = rng.choice(NUMBERS)

    def _number(self, old: Any) -> Any:
        rng = self.rng
        kind = rng.random()
        if kind < 0.4 or not isinstance(old, (int, float)):
            return rng.choice(NUMBERS)
        try:
            if kind < 0.6:
                return old * 10.0 ** rng.randint(-330, 308)
            if kind < 0.7:
                return math.nextafter(float(old), rng.choice((math.inf, -math.inf)))
        except OverflowError:
            return 1e308
        return rng.choice((-old, old + 1, 1 - old, rng.uniform(-1, 2), rng.gauss(0, 1e3)))

    def _garbled(self, text: str) -> str:
        rng = self.rng
        at = rng.randrange(len(text))
        kind = rng.random()
        if kind < 0.3:
            return text[:at]
        if kind < 0.6:
            return (
                text[:at]
                + chr(rng.choice((0, 34, 44, 48, 57, 91, 93, 101, 123, 0x20AC)))
                + text[at + 1 :]
            )
        if kind < 0.7:
            return text.replace("0.1", "1e999", 1)
        if kind < 0.8:
            depth = rng.choice((30, 900, 20_000))
            return text.replace("0.1", "[" * depth + "0.1" + "]" * depth, 1)
        return text[:at] + text[rng.randrange(len(text)) :]


def _places(part: Any, numbers_only: bool) -> Any:
    """Every place in a document, as a container and a key."""
    keys = part.keys() if isinstance(part, dict) else range(len(part))
    for key in keys:
        value = part[key]
        if not numbers_only or type(value) in (int, float):
            yield part, key
        if isinstance(value, (dict, list)):
            yield from _places(value, numbers_only)


class JsonChanges:
    """Changes one place of a document, or gives up and lets the fuzzer change bytes."""

    def __init__(self, documents: Sequence[dict[str, Any]]) -> None:
        self._mutator = Mutator(documents, 0)

    def __call__(self, data: bytes, seed: int) -> bytes | None:
        """The document changed, or None where it is no JSON object, and in one case of four."""
        self._mutator.rng.seed(seed)
        if seed % 4 == 0:
            return None
        try:
            document = json.loads(data)
        except (ValueError, RecursionError):
            return None
        if not isinstance(document, dict):
            return None
        self._mutator.change(document)
        return json.dumps(document).encode()
