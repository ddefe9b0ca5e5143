"""One formula for several models: their scores side by side, their numbers in rows.

The maps of an ensemble's folds mostly differ in their numbers alone. Written as one formula of
rows, they take as many nodes of a graph as one of them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from trueodds.export import expressions as e

__all__ = ["side_by_side"]

Nodes = tuple[Any, ...]


class _DifferentError(Exception):
    """The formulas are not of one shape."""


def side_by_side(formulas: Sequence[e.Formula]) -> e.Formula | None:
    """One formula whose constants and tables are tuples with an entry for each formula.

    Parameters
    ----------
    formulas : sequence of Formula
        Each of one score, with one output.

    Returns
    -------
    Formula or None
        None if they differ in more than their numbers.
    """
    first = formulas[0]
    if any(f.n_scores != 1 or f.features or f.scale != first.scale for f in formulas):
        return None
    known: dict[tuple[int, ...], Any] = {}
    try:
        output = _joined(tuple(f.outputs[0] for f in formulas), known)
        usable = _joined(tuple(f.usable for f in formulas), known)
    except _DifferentError:
        return None
    return replace(first, outputs=(output,), usable=usable)


def _joined(nodes: Nodes, known: dict[tuple[int, ...], Any]) -> Any:
    """The node that stands for all; what was one object in each is one here."""
    key = tuple(map(id, nodes))
    if key not in known:
        kinds = {type(node) for node in nodes}
        if len(kinds) != 1:
            raise _DifferentError
        known[key] = _join(nodes, known)
    return known[key]


def _join(nodes: Nodes, known: dict[tuple[int, ...], Any]) -> Any:
    first = nodes[0]
    if isinstance(first, e.Constant):
        values = tuple(float(node.value) for node in nodes)
        return first if len(set(values)) == 1 else e.Constant(values)  # type: ignore[arg-type]
    if isinstance(first, (e.StepLookup, e.LinearLookup)):
        at = _joined(tuple(node.at for node in nodes), known)
        names = [field.name for field in fields(first) if field.name != "at"]
        tables: dict[str, Any] = {name: tuple(getattr(n, name) for n in nodes) for name in names}
        if any(len(table) < 2 for table in tables[names[1]]):
            raise _DifferentError
        return replace(first, at=at, **tables)
    parts = {field.name: tuple(getattr(n, field.name) for n in nodes) for field in fields(first)}
    return replace(first, **{name: _join_part(part, known) for name, part in parts.items()})


def _join_part(part: Nodes, known: dict[tuple[int, ...], Any]) -> Any:
    """A field: a node, several of them, or something that must be the same in all."""
    first = part[0]
    if isinstance(first, (e.Expression, e.Condition)):
        return _joined(part, known)
    if isinstance(first, tuple) and not all(isinstance(entry, float) for entry in first):
        if len({len(entries) for entries in part}) != 1:
            raise _DifferentError
        return tuple(_join_part(entries, known) for entries in zip(*part, strict=True))
    if any(entry != first for entry in part):
        raise _DifferentError
    return first
