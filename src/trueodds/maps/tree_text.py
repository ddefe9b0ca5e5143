"""A tree of maps as text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from trueodds.maps._log_odds import LogOddsMap

if TYPE_CHECKING:
    from trueodds.maps._tree import TreeMap

__all__ = ["branch_text", "children_of", "map_text", "tree_text"]


def children_of(tree: TreeMap) -> list[list[int]]:
    """The children of every node, in order."""
    children: list[list[int]] = [[] for _ in tree.maps]
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            children[parent].append(node)
    return children


def branch_text(tree: TreeMap, node: int, branch: int, decimals: int) -> str:
    """What a row must satisfy to go from a node into one of its branches."""
    a = int(tree.attribute[node])
    name, known = tree.space.name(a), tree.categories[a]
    if known is not None:
        value = known[branch]
        return f"{name} = {value if isinstance(value, str) else f'{value:g}'}"
    return f"{name} {'<=' if branch == 0 else '>'} {tree.cut[node]:.{decimals}f}"


def map_text(tree: TreeMap, node: int, decimals: int) -> str:
    """What a node does to a score, as short as its family allows."""
    fitted = tree.maps[node]
    if isinstance(fitted, LogOddsMap) and fitted.a == fitted.b:
        return f"σ({fitted.a:.{decimals}f}·z {fitted.c:+.{decimals}f})"
    return fitted.family


def tree_text(tree: TreeMap, decimals: int) -> str:
    """One line per branch; leaves say their training weight and their map."""
    children = children_of(tree)
    if len(tree.maps) == 1:
        return f"one leaf: {map_text(tree, 0, decimals)}  (n={tree.weight[0]:g})"
    lines = []
    # Nodes still to write, with their depth and the condition that leads to them.
    waiting = [(0, -1, "")]
    while waiting:
        node, depth, condition = waiting.pop()
        if node > 0:
            line = "|   " * depth + condition
            if not children[node]:
                line += f": {map_text(tree, node, decimals)}  (n={tree.weight[node]:g})"
            lines.append(line)
        for branch in reversed(range(len(children[node]))):
            child = children[node][branch]
            waiting.append((child, depth + 1, branch_text(tree, node, branch, decimals)))
    return "\n".join(lines)
