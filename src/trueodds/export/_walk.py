"""What nodes consist of."""

from __future__ import annotations

from collections.abc import Sequence

from trueodds.export import expressions as e

__all__ = ["all_nodes", "features_in", "parts_of"]

Node = e.Expression | e.Condition


def parts_of(node: Node) -> Sequence[Node]:
    """The nodes that a node asks for, each as often as it does."""
    match node:
        case e.Arithmetic() | e.Comparison():
            return (node.left, node.right)
        case e.Function():
            return node.arguments
        case e.Choose():
            return [*(part for branch in node.branches for part in branch), node.otherwise]
        case e.StepLookup() | e.LinearLookup():
            return (node.at,)
        case e.Dot():
            return node.terms
        case e.Softmax():
            return node.logits
        case e.All() | e.Any():
            return node.conditions
        case e.Usable():
            return (node.score,)
        case _:
            return ()


def all_nodes(roots: Sequence[Node]) -> list[Node]:
    """Some nodes and all that they ask for, each once."""
    found: dict[int, Node] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting.extend(parts_of(node))
    return list(found.values())


def features_in(roots: Sequence[Node]) -> tuple[e.Feature, ...]:
    """The features that some nodes ask for, in the order of the fit."""
    asking = (e.FeatureAbove, e.FeatureAtMost, e.FeatureIs, e.FeatureMissing)
    found = {n.feature.index: n.feature for n in all_nodes(roots) if isinstance(n, asking)}
    return tuple(found[index] for index in sorted(found))
