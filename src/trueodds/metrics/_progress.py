"""The progress line, under the name that the metrics use."""

from __future__ import annotations

from trueodds.numerics.progress import Progress

__all__ = ["Progress"]
