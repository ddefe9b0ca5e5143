"""A tree of maps as a formula: choices by the attributes among the nodes' formulas."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from trueodds.export import Expression, Feature
from trueodds.export.expressions import (
    INFINITE,
    Any,
    Choose,
    Condition,
    Constant,
    FeatureAbove,
    FeatureAtMost,
    FeatureIs,
    FeatureMissing,
)
from trueodds.maps._formulas import positive_expression, probability_log_odds
from trueodds.maps._softmax import SoftmaxMap
from trueodds.maps.tree_text import children_of

if TYPE_CHECKING:
    from trueodds.maps._tree import TreeMap

__all__ = ["tree_expressions"]


def tree_expressions(
    tree: TreeMap, scores: Sequence[Expression], ends: tuple[float, float]
) -> tuple[Expression, ...]:
    """One formula for the positive class if there is one score, else one for each class.

    ``ends`` are what probabilities of exactly 0 and 1 count as on the log-odds axis.
    """
    wanted = _as_the_maps_want(tree, scores)
    if tree.maps[0].input != tree.input:
        wanted = tuple(_log_odds(score, tree.input, ends) for score in wanted)
    children = children_of(tree)

    @cache
    def at_node(node: int) -> tuple[Expression, ...]:
        return tree.maps[node].expression(wanted)

    def below(node: int, output: int) -> Expression:
        if not children[node]:
            return at_node(node)[output]
        attribute = int(tree.attribute[node])
        values = [below(child, output) for child in children[node]]
        return _choice(tree, node, attribute, values, at_node(node)[output])

    n_outputs = len(at_node(0))
    if len(scores) == 1:
        return (below(0, n_outputs - 1),)
    if n_outputs == 1:
        p = below(0, 0)
        return 1 - p, p
    return tuple(below(0, output) for output in range(n_outputs))


def _choice(
    tree: TreeMap, node: int, attribute: int, values: list[Expression], own: Expression
) -> Expression:
    known, fill = tree.categories[attribute], float(tree.fill[attribute])
    text = known is not None and isinstance(known[0], str)
    feature = Feature(attribute, tree.space.name(attribute), text)
    if known is None:
        cut, (left, right) = float(tree.cut[node]), values
        # A missing value fails both conditions, so it goes where the other branch is.
        if fill <= cut:
            return Choose(((FeatureAbove(feature, cut), right),), left)
        return Choose(((FeatureAtMost(feature, cut), left),), right)
    branches: list[tuple[Condition, Expression]] = []
    for code, (category, value) in enumerate(zip(known, values, strict=True)):
        condition: Condition = FeatureIs(feature, category)
        if code == fill:
            condition = Any((condition, FeatureMissing(feature)))
        branches.append((condition, value))
    return Choose(tuple(branches), own)


def _as_the_maps_want(tree: TreeMap, scores: Sequence[Expression]) -> tuple[Expression, ...]:
    """Two columns as one for binary maps, one as two for maps of both columns."""
    if tree.n_classes != 2:
        return tuple(scores)
    if not isinstance(tree.maps[0], SoftmaxMap):
        return tuple(scores) if len(scores) == 1 else (positive_expression(scores, tree.input),)
    if len(scores) == 2:
        return tuple(scores)
    (score,) = scores
    return (1 - score, score) if tree.input == "probability" else (-score / 2, score / 2)


def _log_odds(score: Expression, scale: str, ends: tuple[float, float]) -> Expression:
    """The twin of :func:`trueodds.maps.tree_features.score_columns`."""
    low, high = (Constant(float(np.log(p / (1 - p)))) for p in ends)
    if scale == "probability":
        inner = probability_log_odds(score)
        return Choose(((score <= 0, low), (score >= 1, high)), inner)
    # Of infinite log-odds, both count as the upper end in size.
    low = Constant(-high.value)
    return Choose(((score >= INFINITE, high), (score <= -INFINITE, low)), score)
