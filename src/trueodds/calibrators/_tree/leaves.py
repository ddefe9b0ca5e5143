"""Maps of a tree's nodes: the boosted logistic models, or any calibrator instead."""

from __future__ import annotations

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._tree.rows import TreeRows
from trueodds.inputs import Floats
from trueodds.maps import CalibrationMap, LogOddsMap, SoftmaxMap, TreeMap

__all__ = ["leaf_maps", "linear_map"]


def linear_map(coef: Floats) -> CalibrationMap:
    """Map with a node's slopes and intercepts, on log-odds or decision values."""
    if coef.shape == (1, 2):
        slope, intercept = coef[0].tolist()
        return LogOddsMap(a=slope, b=slope, c=intercept, scale="raw")
    if len(coef) == 1:  # two classes, two columns: the first class is the reference
        coef = np.concatenate([np.zeros_like(coef), coef])
    return SoftmaxMap(weights=coef[:, :-1], bias=coef[:, -1], scale="raw")


def leaf_maps(
    learner: Calibrator, tree: TreeMap, rows: TreeRows, least: float
) -> tuple[CalibrationMap, ...]:
    """The learner's map at every node with enough rows; elsewhere the parent's."""
    at, n = tree.nodes_of_encoded(rows.attributes), len(tree.parent)
    end = np.arange(1, n + 1)
    for node in range(n - 1, 0, -1):
        above = tree.parent[node]
        end[above] = max(end[above], end[node])
    maps: list[CalibrationMap] = []
    for node in range(n):
        own = (at >= node) & (at < end[node])  # the nodes below have the numbers in between
        codes, weight = rows.codes[own], rows.weight[own]
        is_poor = weight.sum() < least or len(np.unique(codes)) < tree.n_classes
        if node > 0 and is_poor:
            maps.append(maps[tree.parent[node]])
        else:
            learner.fit(rows.scores[own], codes, sample_weight=weight)
            maps.append(learner.map_.with_classes(None))
    return tuple(maps)
