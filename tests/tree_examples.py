"""A small tree map that several tests use."""

from __future__ import annotations

from typing import Any

from trueodds.maps import LogOddsMap, TreeMap

__all__ = ["small_tree"]


def small_tree(**changes: Any) -> TreeMap:
    """Root asks for age; older than 40 asks for the colour, which is blue or red."""
    fields: dict[str, Any] = {
        "maps": tuple(LogOddsMap(a=a, b=a, c=0.0) for a in (1.0, 0.5, 2.0, 3.0, 4.0)),
        "parent": [-1, 0, 0, 2, 2],
        "attribute": [0, -1, 1, -1, -1],
        "cut": [40.0, 0.0, 0.0, 0.0, 0.0],
        "weight": [100.0, 60.0, 40.0, 10.0, 30.0],
        "names": ("age", "colour"),
        "categories": (None, ("blue", "red")),
        "fill": [35.0, 1.0],
    }
    return TreeMap(**{**fields, **changes})
