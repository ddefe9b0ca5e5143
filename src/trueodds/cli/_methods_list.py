"""Calibrators by name, and their options from the command line."""

from __future__ import annotations

import difflib
import inspect
import json
from collections.abc import Sequence
from typing import Any

from trueodds.cli._exit import UsageError

OTHER_NAMES = {"platt": "logistic", "sigmoid": "logistic", "binning": "histogram"}

__all__ = ["complete_method", "first_line", "make_calibrator", "method_class", "method_names"]


def method_names() -> list[str]:
    """Names of all methods."""
    from trueodds.calibrators import calibrator_names

    return sorted([*calibrator_names(), "auto"])


def complete_method(incomplete: str) -> list[str]:
    """For shell completion."""
    return [name for name in method_names() if name.startswith(incomplete)]


def method_class(name: str) -> type[Any]:
    """The class of a method; a wrong name is answered with the nearest ones."""
    names = method_names()
    if name not in names:
        near = [OTHER_NAMES[name]] if name in OTHER_NAMES else []
        near = near or difflib.get_close_matches(name, names, n=3, cutoff=0.5)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(names)}."
        raise UsageError(f"there is no method {name!r}; {hint}")
    if name == "auto":
        from trueodds.model_selection import AutoCalibrator

        return AutoCalibrator
    from trueodds.calibrators import find_calibrator

    return find_calibrator(name)


def make_calibrator(name: str, scale: str, options: Sequence[str], **fixed: Any) -> Any:
    """A calibrator with the options that are given as ``name=value``, values being JSON or text."""
    kind = method_class(name)
    known = [p for p in inspect.signature(kind).parameters if p not in ("input", "classes")]
    chosen: dict[str, Any] = {}
    for text in options:
        key, equals, value = text.partition("=")
        if not equals:
            raise UsageError(f"--option must look like name=value; got {text!r}.")
        if key not in known:
            raise UsageError(f"{name} has no option {key!r}; it has {', '.join(known)}.")
        chosen[key] = _value(value)
    return kind(input=scale, **chosen, **fixed)


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return None if text in ("None", "none") else text


def first_line(kind: type[Any]) -> str:
    """The first line of a class's documentation, without the marks of reStructuredText."""
    return (inspect.getdoc(kind) or "").partition("\n")[0].replace("``", "")
