"""Tasks: the smallest pieces of work of a study, described by names and numbers only.

A task holds no arrays and no objects, so that it can be hashed by content, written to a file,
compared between runs, and sent to another machine.
"""

from __future__ import annotations

import hashlib
import itertools
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from trueodds.exceptions import InputError

__all__ = ["Plain", "Task", "crossed", "digest", "stable_seed"]

Plain = str | int | float | bool | None
_PLAIN = (str, int, float, bool, type(None))


def digest(*parts: Any) -> str:
    """SHA-256 of plain values (nested lists and dicts allowed), the same on every machine."""
    text = json.dumps(parts, sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


def stable_seed(*parts: Any) -> int:
    """A seed below 2³² that depends on the values given and on nothing else.

    Pass what the random numbers belong to, and leave out what must share them: a split seeded by
    set and repeat is the same for every model and method.

    Examples
    --------
    >>> from trueodds_studies import stable_seed
    >>> stable_seed("abalone", 0)
    2466097537
    """
    return int(digest(*parts)[:8], 16)


@dataclass(frozen=True)
class Task:
    """One part of a study with its options.

    Parameters
    ----------
    part : str
        Which experiment of the study, such as ``"table-2"``.
    options : mapping of str to str, int, float, bool or None
        What distinguishes it from the other tasks of the part: the set, the model, the repeat, the
        fold, the method, its options, ….

    Examples
    --------
    >>> from trueodds_studies import Task
    >>> task = Task("table-2", {"set": "iris", "fold": 0, "method": "beta"})
    >>> task["set"]
    'iris'
    """

    part: str
    options: Mapping[str, Plain]

    def __post_init__(self) -> None:
        for name, value in self.options.items():
            if not isinstance(value, _PLAIN):
                raise InputError(
                    f"a task's options must be text, numbers, booleans or None; {name!r} of part "
                    f"{self.part!r} is a {type(value).__name__}. Give a name and look the object "
                    "up when the task is run."
                )

    def __getitem__(self, name: str) -> Any:
        return self.options[name]

    def __hash__(self) -> int:
        return hash((self.part, tuple(sorted(self.options.items(), key=lambda item: item[0]))))

    def pick(self, *names: str) -> tuple[Any, ...]:
        """The values of some options, such as a seed or a key is made of."""
        return tuple(self.options[name] for name in names)


def crossed(part: str, **axes: Plain | Iterable[Plain]) -> list[Task]:
    """Every combination of the axes as a task; the last axis runs fastest.

    Parameters
    ----------
    part : str
    **axes
        An iterable of values, or one value (text counts as one).

    Examples
    --------
    >>> from trueodds_studies import crossed
    >>> len(crossed("cv", set=["iris", "zoo"], model=["nb"], repeat=range(3), method="beta"))
    6
    """
    names = list(axes)
    values = [
        [axis] if isinstance(axis, _PLAIN) else list(axis)  # text is iterable, but one value
        for axis in axes.values()
    ]
    return [
        Task(part, dict(zip(names, combination, strict=True)))
        for combination in itertools.product(*values)
    ]
