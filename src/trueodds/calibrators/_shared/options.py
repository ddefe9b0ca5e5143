"""Options that every calibrator has: written once, and shown with each method's own."""

from __future__ import annotations

import inspect
import re
from typing import Any, TypedDict

from trueodds.validation import InputScale, LabelSmoothing

__all__ = ["SharedOptions", "show_shared_options"]

SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}\n", re.MULTILINE)
ENTRY = re.compile(r"^(\w[\w, ]*?)(?: :|$)", re.MULTILINE)


class SharedOptions(TypedDict, total=False):
    """Keyword arguments that a method passes on to :class:`Calibrator`.

    Examples
    --------
    >>> from trueodds.calibrators import SharedOptions
    >>> sorted(SharedOptions.__annotations__)
    ['classes', 'input', 'label_smoothing']
    """

    input: InputScale
    label_smoothing: LabelSmoothing
    classes: Any


def show_shared_options(kind: type[Any], base: type[Any]) -> None:
    """Put ``**shared`` of a method into its signature, and what it does not document into its docs.

    Examples
    --------
    >>> import inspect
    >>> from trueodds import KernelCalibrator
    >>> list(inspect.signature(KernelCalibrator).parameters)
    ['bandwidth', 'input', 'label_smoothing', 'classes']
    >>> "The scale of the scores" in KernelCalibrator.__doc__
    True
    """
    own = list(inspect.signature(kind.__init__).parameters.values())[1:]
    if own and own[-1].kind is inspect.Parameter.VAR_KEYWORD:
        shared = list(inspect.signature(base.__init__).parameters.values())[1:]
        kind.__signature__ = inspect.Signature([*own[:-1], *shared])
    if kind.__doc__ and base.__doc__:
        kind.__doc__ = _with_entries_of(base.__doc__, kind.__doc__)


def _with_entries_of(base: str, doc: str) -> str:
    """A docstring with the parameters and attributes that only the base's has."""
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
    """The parameters or attributes of a section, each with what is said of it."""
    starts = [found.start() for found in ENTRY.finditer(section)]
    return [
        section[start:end].strip("\n")
        for start, end in zip(starts, [*starts[1:], len(section)], strict=True)
    ]
