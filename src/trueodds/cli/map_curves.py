"""Forecasts of any map along a line of scores, to be drawn and compared."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueodds.inputs import Floats
from trueodds.maps import CalibrationMap, TreeMap

__all__ = ["MOST_CURVES", "curves_of", "score_axis", "score_scale", "unchanged"]

POINTS = 1001
MOST_CURVES = 6
WIDE = 6.0
"""How far log-odds and margins are looked at on both sides of 0, if nothing says more."""
KNOTS = ("edges", "x")
"""What families call the scores at which their maps bend or jump."""


def score_scale(fitted: Sequence[CalibrationMap]) -> str | None:
    """The scale that all maps can be looked at on; None if there is none."""
    scales = {m.input for m in fitted}
    if len(scales) == 1:
        return scales.pop()
    return "probability" if scales == {"probability", "logit"} else None


def score_axis(fitted: Sequence[CalibrationMap], scale: str) -> Floats:
    """An even grid over the scores that the maps were learned from, as far as they say.

    What a map says of itself may be wrong, so it is kept within what the scale allows.
    """
    ends: list[float] = []
    for m in fitted:
        said = (m.about or {}).get("score_range") if m.input == scale else None
        ends += [float(end) for end in said or ()]
        if scale != "probability" and not said:
            for name in KNOTS:
                knots = np.ravel(getattr(m, name, ()))
                ends += [knots[0], knots[-1]] if len(knots) else []
    ends = [end for end in ends if np.isfinite(end) and abs(end) < 1e100]
    if scale == "probability":
        ends = [min(max(end, 0.0), 1.0) for end in ends]
    widest = (0.0, 1.0) if scale == "probability" else (-WIDE, WIDE)
    low, high = (min(ends), max(ends)) if ends else widest
    return np.linspace(*((low, high) if low < high else widest), POINTS)


def unchanged(x: Floats, scale: str) -> Floats | None:
    """What the scores themselves say; None for margins, which say nothing."""
    if scale == "score":
        return None
    return x if scale == "probability" else 1 / (1 + np.exp(-x))


def curves_of(
    fitted: CalibrationMap, x: Floats, scale: str, n_classes: int = 2
) -> list[tuple[str, Floats]]:
    """Names and forecasts along the grid.

    One curve for two classes. Of several classes, one for each of the first six: its probability
    where the others share the rest equally. Of a tree, one for each of its six heaviest leaves.
    A map for any number of classes is taken for one of ``n_classes``.
    """
    scores = x
    if fitted.input != scale:  # probabilities for a map of log-odds
        with np.errstate(divide="ignore"):
            scores = np.log(x) - np.log1p(-x)
    if isinstance(fitted, TreeMap):
        return _of_leaves(fitted, scores)
    n = fitted.n_classes or n_classes
    if fitted.takes_one_score or (fitted.n_classes is None and n == 2):
        return [("", np.asarray(fitted(scores)))]
    names = fitted.classes or tuple(range(n))
    drawn = range(1, 2) if n == 2 else range(min(n, MOST_CURVES))
    return [
        (str(names[k]), np.asarray(fitted(_rows(scores, k, n, fitted.input)))[:, k]) for k in drawn
    ]


def _rows(scores: Floats, k: int, n: int, scale: str) -> Floats:
    """Scores of all classes: that of class k along the line, the others equal."""
    rows = np.zeros((len(scores), n))
    if scale == "probability":
        rows[:] = ((1 - scores) / (n - 1))[:, None]
        rows[:, k] = scores
    else:  # the log-odds of class k against all others
        rows[:, k] = np.clip(scores, -700, 700) + np.log(n - 1)
    return rows


def _of_leaves(tree: TreeMap, scores: Floats) -> list[tuple[str, Floats]]:
    leaves = np.flatnonzero(tree.attribute < 0)
    heaviest = leaves[np.argsort(-tree.weight[leaves], kind="stable")][:MOST_CURVES]
    k = tree.n_classes - 1
    rows: Any = scores if tree.n_classes == 2 else _rows(scores, k, tree.n_classes, tree.input)
    return [(f"leaf {node}", tree.at_node(int(node), rows)[:, k]) for node in sorted(heaviest)]
