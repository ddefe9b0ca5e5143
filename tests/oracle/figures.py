"""The count of compared figures, and the walk that lets no number of a document pass unseen."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any

import numpy as np


@dataclass(frozen=True)
class Near:
    """A figure that chance or rounding leaves some room: ``value`` ± ``within``."""

    value: float
    within: float


@dataclass(frozen=True)
class Maybe:
    """A figure that not every document has; where it stands, it has this value."""

    value: Any


def chance(p_value: float | None) -> Near | None:
    """A p-value that a saddlepoint may approximate; below 1e-13 rounding decides."""
    return None if p_value is None else Near(p_value, 2e-3 * p_value + 1e-13)


@dataclass(frozen=True)
class Such:
    """A figure that is checked by a rule."""

    rule: Callable[[Any], bool]
    words: str


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Every leaf of nested dicts, lists and arrays, with its path: ``a.b.0``."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield from leaves(item, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list | tuple | np.ndarray):
        for i, item in enumerate(value):
            yield from leaves(item, f"{path}.{i}" if path else str(i))
    else:
        yield path, value


def is_figure(value: Any) -> bool:
    return isinstance(value, bool | int | float | np.number | np.bool_)


def agree(found: Any, expected: Any, rel: float) -> bool:
    if isinstance(expected, Maybe):
        expected = expected.value
    if isinstance(expected, Near):
        return is_figure(found) and abs(found - expected.value) <= expected.within
    if isinstance(expected, Such):
        return expected.rule(found)
    if expected is None or not math.isfinite(expected):  # JSON has null for both
        return found is None or (expected is not None and found == expected) or found != found
    if not is_figure(found):
        return False
    return math.isclose(found, expected, rel_tol=rel, abs_tol=1e-13 if rel <= 1e-6 else 1e-6)


class Figures:
    """Compares, counts what it compared, and names everything that disagrees at once."""

    def __init__(self) -> None:
        self.counts: Counter[str] = Counter()

    def compare(self, source: str, found: Any, expected: Any, rel: float = 1e-8) -> None:
        """Figures of the Python API: both have the same leaves."""
        self.document(source, {"": found}, {"": expected}, rel=rel)

    def document(
        self,
        source: str,
        document: Any,
        expected: Any,
        listed: Mapping[str, str] | None = None,
        rel: float = 1e-8,
    ) -> None:
        """Each numeric leaf is compared with ``expected``, or ``listed`` (pattern → reason)."""
        wanted, seen, wrong = dict(leaves(expected)), dict(leaves(document)), []
        patterns = listed or {}
        for path, value in seen.items():
            if path in wanted:
                self.counts[source] += 1
                if not agree(value, wanted[path], rel):
                    wrong.append(f"{path}: found {value!r}, expected {wanted[path]!r}")
            elif is_figure(value) and not any(fnmatchcase(path, one) for one in patterns):
                wrong.append(f"{path}: {value!r} has no oracle and is not listed")
        wrong += [
            f"{path}: expected, but not there"
            for path, value in wanted.items()
            if path not in seen and not isinstance(value, Maybe)
        ]
        wrong += [] if wanted else ["nothing was expected"]
        unused = [one for one in patterns if not any(fnmatchcase(path, one) for path in seen)]
        wrong += [f"{one}: listed, but there is no such figure" for one in unused]
        if wrong:
            shown = "\n  ".join(wrong[:20])
            raise AssertionError(f"{source}: {len(wrong)} of {len(seen)} figures\n  {shown}")
