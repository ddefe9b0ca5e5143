"""Parameters and fitted attributes of every calibrator: documented once, and shown with each."""

from __future__ import annotations

import inspect
import re
from typing import Any

__all__ = ["document_inherited"]

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w[\w, ]*?)(?: :|$)", re.MULTILINE)


def document_inherited(kind: type[Any], base: type[Any]) -> None:
    """Add to a docstring the parameters and fitted attributes that only its base documents.

    Examples
    --------
    >>> from trueodds import KernelCalibrator
    >>> "Scale of the scores" in KernelCalibrator.__doc__
    True
    """
    if kind.__doc__ and base.__doc__:
        kind.__doc__ = _with_entries_of(base.__doc__, kind.__doc__)


def _with_entries_of(base: str, doc: str) -> str:
    """A docstring with the parameters and fitted attributes that only the base's has."""
    inherited, own = _sections(inspect.cleandoc(base)), _sections(inspect.cleandoc(doc))
    sections = {"": own.pop("")}
    for title in ("Parameters", "Attributes"):
        body = own.pop(title, "")
        names = {name.strip() for line in ENTRY.findall(body) for name in line.split(",")}
        missing = [text for text in _entries(inherited[title]) if text.split(" :")[0] not in names]
        sections[title] = "\n".join([body, *missing]).strip("\n")
    headed = [
        f"{title}\n{'-' * len(title)}\n{body}" if title else body
        for title, body in (sections | own).items()
    ]
    return "\n\n".join(headed)


def _sections(doc: str) -> dict[str, str]:
    """The text under each heading; what comes before the first has none."""
    intro, *rest = SECTION.split(doc)
    bodies = zip(["", *rest[::2]], [intro, *rest[1::2]], strict=True)
    return {title: body.strip("\n") for title, body in bodies}


def _entries(section: str) -> list[str]:
    """Parameters or fitted attributes of a section, each with its description."""
    starts = [found.start() for found in ENTRY.finditer(section)]
    return [
        section[start:end].strip("\n")
        for start, end in zip(starts, [*starts[1:], len(section)], strict=True)
    ]
