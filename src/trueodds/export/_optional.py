"""Libraries that only some exports need."""

from __future__ import annotations

from importlib import import_module
from typing import Any

__all__ = ["require"]


def require(module: str, purpose: str, extra: str) -> Any:
    """Import a library, or say what to install for the purpose."""
    try:
        return import_module(module)
    except ImportError:
        raise ImportError(
            f'{purpose} needs {module}, which is not installed: pip install "trueodds[{extra}]"'
        ) from None
