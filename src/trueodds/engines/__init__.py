"""Frames of any library, on their own engine: maps applied (:func:`apply_map`), rows grouped.

Grouping stands below tables and applying above maps, so nothing is imported before it is asked for.
"""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["apply_map"]


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("trueodds.engines.applying"), name)
