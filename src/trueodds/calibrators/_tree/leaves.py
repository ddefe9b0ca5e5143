"""Maps of a tree's nodes: the boosted logistic models, or any calibrator instead."""

from __future__ import annotations

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._tree.rows import TreeRows
from trueodds.inputs import Floats, InputScale, Weights
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
    """The learner's map at every node with enough rows and every class; elsewhere the parent's.

    A node of one class gets a constant map: nothing can be learned from its scores, and its
    parent's map would forget what the splits have found.
    """
    at, n = tree.nodes_of_encoded(rows.attributes), len(tree.parent)
    end = np.arange(1, n + 1)
    for node in range(n - 1, 0, -1):
        above = tree.parent[node]
        end[above] = max(end[above], end[node])
    k = tree.n_classes
    maps: list[CalibrationMap] = []
    counts = np.empty((n, k))
    for node in range(n):
        own = (at >= node) & (at < end[node])  # the nodes below have the numbers in between
        scores, codes, weight = rows.scores[own], rows.codes[own], rows.weight[own]
        counts[node] = np.bincount(codes, weight, k)
        n_present, above = len(np.unique(codes)), tree.parent[node]
        if node > 0 and (weight.sum() < least or 1 < n_present < k):
            maps.append(maps[above])
        elif node > 0 and n_present == 1:
            expected = (counts[above] + 1) / (counts[above].sum() + k)
            maps.append(_constant_map(counts[node] + k * expected, learner.scale))
        else:
            learner.fit(scores, codes, sample_weight=Weights(None, weight))
            maps.append(learner.map_.with_classes(None))
    return tuple(maps)


def _constant_map(counts: Floats, scale: InputScale) -> CalibrationMap:
    logs = np.log(counts / counts.sum())
    if len(counts) == 2:
        return LogOddsMap(a=0.0, b=0.0, c=float(logs[1] - logs[0]), scale=scale)
    return SoftmaxMap(weights=np.zeros((len(counts), len(counts))), bias=logs, scale=scale)
