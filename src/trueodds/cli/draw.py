"""Predictions of any map along a line of scores, and curves drawn with characters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueodds.inputs import Floats
from trueodds.maps import CalibrationMap, GroupMap, TreeMap

__all__ = [
    "MOST_CURVES",
    "curves_of",
    "limits",
    "score_axis",
    "score_scale",
    "text_plot",
    "unchanged",
]

POINTS = 1001
MOST_CURVES = 6
WIDE = 6.0
"""Range of log-odds and decision values on both sides of 0, unless the map has a wider one."""
KNOTS = ("edges", "x")
"""Names of the parameters that hold the knots or jumps of a map."""
WIDTH, HEIGHT = 61, 17
"""Columns and lines of the plot, which fits on a terminal of 80 columns."""
UNCHANGED = "·"
ZOOMED = 0.5
"""Range of probabilities below which the axis shows no others."""
MOST_PLACES = 9


def score_scale(fitted: Sequence[CalibrationMap]) -> str | None:
    """Return the scale that all maps share; None if there is none."""
    scales = {m.scale for m in fitted}
    if len(scales) == 1:
        return scales.pop()
    return "probability" if scales == {"probability", "logit"} else None


def score_axis(fitted: Sequence[CalibrationMap], scale: str) -> Floats:
    """Return an even grid over the scores that the maps were fitted to, if their metadata has them.

    The metadata may be wrong, so the grid stays within the limits of the scale.
    """
    ends: list[float] = []
    for m in fitted:
        said = (m.metadata or {}).get("score_range") if m.scale == scale else None
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
    """Return the scores as probabilities; None for raw decision values, which have no scale."""
    if scale == "raw":
        return None
    return x if scale == "probability" else 1 / (1 + np.exp(-x))


def curves_of(
    fitted: CalibrationMap, x: Floats, scale: str, n_classes: int = 2
) -> list[tuple[str, Floats]]:
    """Return names and predictions along the grid.

    Two classes have one curve. Several classes have one for each of the first six: its probability
    if the others share the rest equally. A tree has one for each of its six heaviest leaves. A map
    with groups has that of its base. A map
    for any number of classes is evaluated with ``n_classes``.
    """
    scores = x
    if fitted.scale != scale:  # probabilities for a map of log-odds
        with np.errstate(divide="ignore"):
            scores = np.log(x) - np.log1p(-x)
    if isinstance(fitted, TreeMap):
        return _of_leaves(fitted, scores)
    if isinstance(fitted, GroupMap):
        fitted = fitted.base
    n = fitted.n_classes or n_classes
    if fitted.takes_one_score or (fitted.n_classes is None and n == 2):
        return [("", np.asarray(fitted(scores)))]
    names = fitted.classes or tuple(range(n))
    drawn = range(1, 2) if n == 2 else range(min(n, MOST_CURVES))
    return [
        (str(names[k]), np.asarray(fitted(_rows(scores, k, n, fitted.scale)))[:, k]) for k in drawn
    ]


def _rows(scores: Floats, k: int, n: int, scale: str) -> Floats:
    """Return scores of all classes: class k along the line, the others equal."""
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
    rows: Any = scores if tree.n_classes == 2 else _rows(scores, k, tree.n_classes, tree.scale)
    return [(f"leaf {node}", tree.at_node(int(node), rows)[:, k]) for node in sorted(heaviest)]


def limits(curves: Sequence[Floats]) -> tuple[float, float]:
    """Return the limits of an axis of probabilities: 0 and 1, unless the curves fill little of it.

    Examples
    --------
    >>> limits([np.array([0.1, 0.9])]), limits([np.array([0.001, 0.02])])
    ((0.0, 1.0), (0.001, 0.02))
    """
    low, high = min(float(y.min()) for y in curves), max(float(y.max()) for y in curves)
    return (low, high) if 0 < high - low < ZOOMED else (0.0, 1.0)


def text_plot(
    x: Floats,
    curves: Sequence[tuple[str, Floats]],
    *,
    low: float = 0.0,
    high: float = 1.0,
    behind: Floats | None = None,
) -> list[str]:
    r"""Return lines of text with a curve for each mark, over an even grid.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Increasing and finite.
    curves : sequence of (mark, ndarray of shape (n,))
        A mark is one character; later ones are drawn over earlier ones.
    low, high : float, default=0 and 1
        Limits of the vertical axis.
    behind : ndarray of shape (n,), default=None
        Reference curve, drawn as dots below all others.

    Returns
    -------
    list of str

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(0, 1, 101)
    >>> print("\n".join(text_plot(x, [("*", x**2)])[-4:]))
           |                   *****
           |           ********
    0.0000 |***********
            0                            0.5                            1
    """
    cells = [[" "] * WIDTH for _ in range(HEIGHT)]
    if behind is not None:
        _mark(cells, x, behind, UNCHANGED, low, high, joined=False)
    for mark, y in curves:
        _mark(cells, x, y, mark, low, high, joined=True)
    ticks = {0: high, HEIGHT // 2: (low + high) / 2, HEIGHT - 1: low}
    places = min(max(2 - math.floor(math.log10(high - low)), 4), MOST_PLACES)
    names = {line: f"{value:.{places}f}" for line, value in ticks.items()}
    margin = max(map(len, names.values()))
    lines = [
        f"{names.get(line, ''):>{margin}} |{''.join(row)}".rstrip()
        for line, row in enumerate(cells)
    ]
    left, middle, right = (f"{v:.4g}" for v in (x[0], (x[0] + x[-1]) / 2, x[-1]))
    half = WIDTH // 2 - len(left) - len(middle) // 2
    below = left + " " * half + middle
    return [*lines, " " * (margin + 2) + below + " " * (WIDTH - len(below) - len(right)) + right]


def _mark(
    cells: list[list[str]],
    x: Floats,
    y: Floats,
    mark: str,
    low: float,
    high: float,
    *,
    joined: bool,
) -> None:
    """Draw a curve; jumps are filled so that a step is visible."""
    at = np.linspace(0, len(x) - 1, WIDTH).round().astype(np.intp)
    share = (np.clip(y[at], low, high) - low) / (high - low)
    rows = np.rint((1 - share) * (HEIGHT - 1)).astype(np.intp).tolist()
    for column, row in enumerate(rows):
        before = rows[column - 1] if column and joined else row
        step = 1 if before < row else -1
        for between in range(before + step, row, step) if before != row else ():
            cells[between][column] = mark
        cells[row][column] = mark
