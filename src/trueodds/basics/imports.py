"""Lazy imports of a package's names, and optional libraries."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any

__all__ = ["import_lazily", "require"]

Homes = Mapping[str, str]


def import_lazily(
    package: str, homes: Homes | Callable[[], Homes]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__getattr__`` and ``__dir__`` of a package whose names are imported when first used.

    The table is the only list of the names: ``tools/write_stubs.py`` writes the package's type stub
    from it, and ``__all__`` is its names. Nothing is read from files, so it works from a zip file.

    Parameters
    ----------
    package : str
    homes : mapping, or function that returns one
        The module that defines each name, relative to the package (``"._auto"``) or absolute; for
        a module of the package, ``"."``.

    Examples
    --------
    >>> find, names = import_lazily("trueodds.basics", {"Progress": ".progress", "files": "."})
    >>> find("Progress")
    <class 'trueodds.basics.progress.Progress'>
    >>> find("__all__")
    ['Progress']
    """

    def table() -> Homes:
        return homes() if callable(homes) else homes

    def find(name: str) -> Any:
        if name == "__all__":
            return sorted(public for public, home in table().items() if home != ".")
        home = None if name.startswith("__") else table().get(name)
        if home is None:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if home == ".":
            return import_module(f".{name}", package)
        value = getattr(import_module(home, package), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *table()})

    return find, names


def require(module: str, purpose: str, install: str) -> Any:
    """Import a library, or raise with the command that installs it.

    Parameters
    ----------
    module : str
    purpose : str
        The subject of the sentence: ``"an export to SQL"``.
    install : str
        Argument of ``pip install``: ``"trueodds[engines]"``.
    """
    from trueodds.basics.signals import STOPPING

    try:
        with STOPPING.held():  # compiled libraries crash if their import is cut short
            return import_module(module)
    except ImportError as error:
        from trueodds.exceptions import MissingLibraryError

        missing = (error.name or module).partition(".")[0]
        package = f'"{install}"' if "[" in install else install
        raise MissingLibraryError(
            f"{purpose} needs {missing}; install it with: pip install {package}",
            name=missing,
        ) from None
