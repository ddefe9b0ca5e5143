"""Libraries that are imported when they are first needed, so that listing studies is fast."""

from __future__ import annotations

from typing import Any

from trueodds.basics.imports import require

__all__ = ["need"]


def need(module: str) -> Any:
    """Import a library, or raise an error that shows how to install it."""
    return require(module, "reading data sets and running studies", "trueodds-studies")
