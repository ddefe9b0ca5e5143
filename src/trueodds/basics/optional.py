"""Libraries that only some uses need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from trueodds.basics.signals import STOPPING
from trueodds.exceptions import MissingLibraryError

__all__ = ["require"]


def require(module: str, purpose: str, install: str) -> Any:
    """Import a library, or say what to install for the purpose.

    Parameters
    ----------
    module : str
    purpose : str
        The subject of the sentence: ``"an export to SQL"``.
    install : str
        What to give to ``pip install``: ``"trueodds[engines]"``.
    """
    try:
        with STOPPING.held():  # compiled libraries crash if their import is cut short
            return import_module(module)
    except ImportError as error:
        missing = (error.name or module).partition(".")[0]
        package = f'"{install}"' if "[" in install else install
        raise MissingLibraryError(
            f"{purpose} needs {missing}, which is not installed; run: pip install {package}",
            name=missing,
        ) from None
