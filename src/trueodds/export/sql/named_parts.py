"""Which parts of a formula deserve a name in SQL.

A part can be named where it is computed in any case: one that only some branches of a choice need
may be the logarithm of 0 elsewhere. So names are given at the root of a formula and of each
branch (a *scope*), to what that root computes without any choice.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

from trueodds.export import expressions as e
from trueodds.export.expressions import all_nodes, parts_of

__all__ = ["least_nodes", "shared_layers"]

WORTH_A_NAME = 60
"""A part is named if that saves this many nodes of text."""

Node = e.Expression | e.Condition


def shared_layers(root: e.Expression, known: Collection[int]) -> list[list[e.Expression]]:
    """The parts to name at a root, in layers: a part may contain those of earlier layers.

    ``known`` has the ids of the nodes that have a name already.
    """
    uses = _uses(root, known)
    sizes: dict[int, int] = {}
    always = _computed_in_any_case(root, known)
    chosen = {
        id(node): node
        for node in always
        if node is not root
        and not isinstance(node, e.Score | e.Constant)
        and (uses[id(node)] - 1) * _size(node, known, sizes) >= WORTH_A_NAME
    }
    layers: dict[int, list[e.Expression]] = {}
    levels: dict[int, int] = {}
    for node in chosen.values():
        layers.setdefault(_level(node, chosen, levels), []).append(node)
    return [layers[level] for level in sorted(layers)]


def least_nodes(root: Node) -> int:
    """About how many nodes of SQL a formula takes if every part is written once."""
    each = {e.Dot: 4, e.Softmax: 7}  # a product and a sum for each term; a power and its limits
    nodes = all_nodes([root])
    return sum(1 + each.get(type(node), 0) * len(parts_of(node)) for node in nodes)


def _written_parts(node: Node) -> list[Node]:
    """The parts of a node, each as often as SQL has to write it."""
    parts = list(parts_of(node))
    if isinstance(node, e.Softmax):
        own = node.logits[node.index]
        return [part for part in parts if part is not own] + [own] * (len(parts) - 1)
    if isinstance(node, e.Dot):
        return [part for w, part in zip(node.weights, parts, strict=True) if w != 0]
    if isinstance(node, e.StepLookup | e.LinearLookup):
        return parts * 8  # the search computes it at every step
    return parts


def _uses(root: Node, known: Collection[int]) -> Counter[int]:
    uses: Counter[int] = Counter()
    seen: set[int] = set()
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in seen or id(node) in known:
            continue
        seen.add(id(node))
        parts = _written_parts(node)
        uses.update(map(id, parts))
        waiting.extend(parts)
    return uses


def _computed_in_any_case(root: e.Expression, known: Collection[int]) -> list[e.Expression]:
    found: dict[int, Node] = {}
    waiting: list[Node] = [root]
    while waiting:
        node = waiting.pop()
        if id(node) in found or id(node) in known:
            continue
        found[id(node)] = node
        if isinstance(node, e.Choose):
            waiting.append(node.branches[0][0])
        else:
            waiting.extend(_written_parts(node))
    return [node for node in found.values() if isinstance(node, e.Expression)]


def _size(node: Node, known: Collection[int], sizes: dict[int, int]) -> int:
    """About how many nodes of SQL a part takes where nothing new has a name."""
    if id(node) in known:
        return 1
    if id(node) not in sizes:
        own = 3 if isinstance(node, e.Score | e.Usable) else 1
        sizes[id(node)] = own + sum(_size(p, known, sizes) for p in _written_parts(node))
    return sizes[id(node)]


def _level(node: Node, chosen: dict[int, e.Expression], levels: dict[int, int]) -> int:
    if id(node) not in levels:
        below = max((_level(part, chosen, levels) for part in parts_of(node)), default=0)
        levels[id(node)] = below + (id(node) in chosen)
    return levels[id(node)]
