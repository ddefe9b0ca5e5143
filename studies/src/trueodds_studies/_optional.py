"""Libraries that are imported when they are first needed, so that a study is found in no time."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["need"]


def need(module: str) -> Any:
    """Import a library, or say how to install it."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f"reading data sets and running studies needs {module}, which is not installed: "
            "pip install trueodds-studies"
        ) from None
