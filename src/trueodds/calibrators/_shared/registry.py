"""Every method by its name: files of this package, and other packages' entry points.

``calibrators/_beta.py`` holds ``BetaCalibrator``, ``calibrators/_tree/`` holds ``TreeCalibrator``.
Another package joins by an entry point of the group ``trueodds.calibrators``. Names are known
without importing anything; a class is imported when it is asked for.
"""

from __future__ import annotations

import importlib
import inspect
import re
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

__all__ = [
    "all_calibrators",
    "calibrator_class",
    "calibrator_names",
    "find_calibrator",
    "method_name",
]

GROUP = "trueodds.calibrators"
PACKAGE = "trueodds.calibrators"
FOLDER = Path(__file__).parents[1]
NOT_A_METHOD = ("_shared",)


def method_name(class_name: str) -> str:
    """``OneVsRestCalibrator`` → ``one_vs_rest``; ``ENIRCalibrator`` → ``enir``."""
    stem = class_name.removesuffix("Calibrator")
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z0-9]*", stem)
    return "_".join(word.lower() for word in words)


def _own_names() -> list[str]:
    """Names of the files and folders of this package that hold a method."""
    found = (f.stem for f in FOLDER.glob("_[a-z]*") if f.suffix == ".py" or f.is_dir())
    return sorted(name.removeprefix("_") for name in found if name not in NOT_A_METHOD)


@cache
def _foreign() -> dict[str, EntryPoint]:
    own = _own_names()
    return {point.name: point for point in entry_points(group=GROUP) if point.name not in own}


def calibrator_names() -> list[str]:
    """The names of all methods, without importing any.

    Examples
    --------
    >>> from trueodds.calibrators import calibrator_names
    >>> "beta" in calibrator_names()
    True
    """
    return sorted([*_own_names(), *_foreign()])


def find_calibrator(name: str) -> type[Any]:
    """The class of one method; no other method is imported.

    Parameters
    ----------
    name : str
        One of :func:`calibrator_names`.

    Returns
    -------
    type

    Examples
    --------
    >>> from trueodds.calibrators import find_calibrator
    >>> find_calibrator("beta")
    <class 'trueodds.calibrators._beta.BetaCalibrator'>
    """
    from trueodds.inputs import check_text  # NumPy, which --help must not wait for

    check_text(name, "name")
    if name in _own_names():
        return _class_in(name)
    if name in _foreign():
        kind: type[Any] = _foreign()[name].load()
        return kind
    raise InputError(
        f"no method is called {shown(name)}; there are: {', '.join(calibrator_names())}."
    )


def calibrator_class(class_name: str) -> type[Any] | None:
    """A class of this package by its own name; None if there is none."""
    name = method_name(class_name)
    found = _class_in(name) if name in _own_names() else None
    return found if found is not None and found.__name__ == class_name else None


def _class_in(name: str) -> type[Any]:
    module = importlib.import_module(f"{PACKAGE}._{name}")
    kind: type[Any]
    for kind in vars(module).values():
        is_calibrator = inspect.isclass(kind) and kind.__name__.endswith("Calibrator")
        if is_calibrator and method_name(kind.__name__) == name:
            return kind
    raise InputError(f"{module.__name__} holds no calibrator of the name {name!r}.")


def all_calibrators() -> dict[str, type[Any]]:
    """Every calibrator, by the name of its method: those of the library, and of other packages.

    Returns
    -------
    dict of str to type

    Examples
    --------
    >>> from trueodds.calibrators import all_calibrators
    >>> all_calibrators()["beta"]
    <class 'trueodds.calibrators._beta.BetaCalibrator'>
    """
    return {name: find_calibrator(name) for name in calibrator_names()}
