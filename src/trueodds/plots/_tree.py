"""Drawing a calibration tree, with the small calibration map of each leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit, logit

from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    InputScale,
    check_integer,
    validate_scores,
)
from trueodds.maps import TreeMap, branch_text, children_of
from trueodds.plots._look import (
    NEUTRAL,
    Picture,
    axes_or_new,
    color_of,
    fitted_map,
    line_of,
)

__all__ = ["TreeDisplay"]

POINTS = 101
RANGES: dict[InputScale, tuple[float, float]] = {
    "probability": (0.001, 0.999),
    "logit": (-5.0, 5.0),
    "raw": (-3.0, 3.0),
}
AXIS_WORDS = {"probability": "probability", "logit": "log-odds", "raw": "score"}


@dataclass(eq=False)
class TreeDisplay(Picture):
    """A calibration tree: what each node splits on, and what each leaf does to a score.

    Make one with :meth:`from_map` or :meth:`from_calibrator`, then call :meth:`plot`.

    Attributes
    ----------
    x : ndarray of shape (n_points,)
        Scores on a grid, of the class that a curve is for.
    curves : dict of int to ndarray of shape (n_points, n_curves)
        For each node that is drawn as a leaf the calibrated probability: of the positive class,
        or of each of several, when the other classes share what its score leaves.
    position : dict of int to (float, int)
        Place from left to right and depth of each node that is drawn.
    edges : list of (int, int, str)
        Parent, child, and the condition between them.
    labels : dict of int to str
        The features of inner nodes, and the training weight of leaves.
    scale : {"probability", "logit", "raw"}
    classes : tuple of str
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on last.

    Examples
    --------
    >>> from trueodds import TreeCalibrator
    >>> from trueodds.plots import TreeDisplay
    >>> p, y, town = [0.2, 0.4, 0.7, 0.9] * 9, [0, 1, 0, 1] * 9, [[0], [1]] * 18
    >>> tree = TreeCalibrator().fit(p, y, features=town)
    >>> TreeDisplay.from_calibrator(tree).scale
    'probability'
    """

    x: Floats
    curves: dict[int, Floats]
    position: dict[int, tuple[float, int]]
    edges: list[tuple[int, int, str]]
    labels: dict[int, str]
    scale: InputScale
    classes: tuple[str, ...]
    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_map(
        cls, tree: TreeMap, *, scores: Any = None, max_depth: int | None = None, decimals: int = 2
    ) -> TreeDisplay:
        """Lay out a tree and compute the curves of its leaves.

        Parameters
        ----------
        tree : TreeMap
        scores : array-like, default=None
            Scores whose range the curves should cover, for log-odds and decision values.
        max_depth : int, default=None
            Nodes at this depth are drawn as leaves, by their own maps.
        decimals : int, default=2
            Decimals of the cuts.

        Examples
        --------
        >>> import numpy as np
        >>> from trueodds import TreeCalibrator
        >>> from trueodds.plots import TreeDisplay
        >>> x = np.arange(200) / 200
        >>> y = (x > 0.5).astype(int)
        >>> tree = TreeCalibrator().fit(np.full(200, 0.3), y, features=x[:, None]).map_
        >>> display = TreeDisplay.from_map(tree)
        >>> display.labels
        {0: 'x0', 1: 'n = 101', 2: 'n = 99'}
        """
        if not isinstance(tree, TreeMap):
            raise InputError(f"a TreeMap is needed; got a {type(tree).__name__}.")
        if max_depth is not None:
            max_depth = check_integer(max_depth, "max_depth", 0, "None or ")
        check_integer(decimals, "decimals", 0, most=17)
        children = children_of(tree)
        depth = np.zeros(len(tree.maps), dtype=int)
        for node in range(1, len(depth)):
            depth[node] = depth[tree.parent[node]] + 1
        limit = depth.max() if max_depth is None else max_depth
        shown = np.flatnonzero(depth <= limit).tolist()
        leaves = [node for node in shown if not children[node] or depth[node] == limit]
        place = {node: float(i) for i, node in enumerate(leaves)}
        for node in reversed(shown):
            if node not in place:
                below = [place[child] for child in children[node]]
                place[node] = (below[0] + below[-1]) / 2
        inner = [node for node in shown if node not in set(leaves)]
        x = _grid(tree.scale, scores)
        names = range(tree.n_classes) if tree.classes is None else tree.classes
        return cls(
            x=x,
            curves={node: _curves(tree, node, x) for node in leaves},
            position={node: (place[node], int(depth[node])) for node in shown},
            edges=[
                (node, child, branch_text(tree, node, branch, decimals))
                for node in inner
                for branch, child in enumerate(children[node])
            ],
            labels={
                node: f"n = {tree.weight[node]:g}"
                if node in leaves
                else tree.space.name(int(tree.attribute[node]))
                for node in shown
            },
            scale=tree.scale,
            classes=tuple(str(name) for name in names),
        )

    @classmethod
    def from_calibrator(
        cls,
        calibrator: Any,
        *,
        scores: Any = None,
        max_depth: int | None = None,
        decimals: int = 2,
    ) -> TreeDisplay:
        """The same for a fitted :class:`~trueodds.TreeCalibrator`."""
        tree: Any = fitted_map(calibrator)
        return cls.from_map(tree, scores=scores, max_depth=max_depth, decimals=decimals)

    def plot(self, ax: Any = None) -> TreeDisplay:
        """Draw the tree; each leaf shows its own calibration map.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            By default those of a new figure, as large as the tree needs.

        Returns
        -------
        self
        """
        n_leaves = len(self.curves)
        deepest = max(depth for _, depth in self.position.values())
        ax = axes_or_new(ax, (max(3.5, 1.5 * n_leaves), 1.8 * (deepest + 1)))
        ax.set(xlim=(-0.6, n_leaves - 0.4), ylim=(-deepest - 0.62, 0.45))
        ax.axis("off")
        for parent, child, words in self.edges:
            (x0, y0), (x1, y1) = self.position[parent], self.position[child]
            end = -y1 + (0.42 if child in self.curves else 0.1)
            ax.plot([x0, x1], [-y0, end], color=NEUTRAL, lw=1, zorder=1)
            condition = words.removeprefix(self.labels[parent]).strip()
            ax.text(
                x0 + 0.6 * (x1 - x0),
                -y0 + 0.6 * (end + y0),
                condition,
                ha="center",
                va="center",
                fontsize="small",
                bbox={"boxstyle": "round,pad=0.15", "fc": "white", "ec": "none"},
            )
        for node, (x, y) in self.position.items():
            if node in self.curves:
                self._draw_leaf(ax, node, x, -y)
            else:
                ax.text(
                    x,
                    -y,
                    self.labels[node],
                    ha="center",
                    va="center",
                    bbox={"boxstyle": "round,pad=0.35", "fc": "white", "ec": NEUTRAL},
                )
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def _draw_leaf(self, ax: Any, node: int, x: float, y: float) -> None:
        small = ax.inset_axes([x - 0.36, y - 0.4, 0.72, 0.66], transform=ax.transData)
        if self.scale != "raw":
            same = self.x if self.scale == "probability" else expit(self.x)
            small.plot(self.x, same, color=NEUTRAL, lw=0.8, ls=(0, (4, 3)))
        curves = self.curves[node]
        for k in range(curves.shape[1]):
            label = self.classes[k] if curves.shape[1] > 1 else None
            small.plot(self.x, curves[:, k], color=color_of(k), ls=line_of(k), lw=1.5, label=label)
        small.set(ylim=(-0.03, 1.03), yticks=[0, 0.5, 1])
        if self.scale == "probability":
            small.set(xlim=(-0.03, 1.03), xticks=[0, 0.5, 1])
        small.tick_params(labelsize=6, length=2, pad=1)
        small.set_title(self.labels[node], fontsize="small", pad=2)
        if x == 0:
            small.set_ylabel("calibrated", fontsize="x-small", labelpad=1)
        small.set_xlabel(AXIS_WORDS[self.scale], fontsize="x-small", labelpad=1)
        if x == 0 and 1 < curves.shape[1] <= 10:
            small.legend(fontsize=5, frameon=False, loc="upper left", handlelength=1.5)


def _grid(scale: InputScale, scores: Any) -> Floats:
    low, high = RANGES[scale]
    if scores is not None and scale != "probability":
        values = validate_scores(scores, scale)
        finite = values[np.isfinite(values)]
        if len(finite):
            low, high = np.quantile(finite, [0.005, 0.995]).tolist()
    return np.linspace(low, high if high > low else low + 1, POINTS)


def _curves(tree: TreeMap, node: int, x: Floats) -> Floats:
    m = tree.n_classes
    if m == 2:
        return tree.at_node(node, x)[:, 1:]
    curves = np.empty((len(x), m))
    for k in range(m):
        if tree.scale == "probability":
            others = (1 - x) / (m - 1)
        else:
            others = logit((1 - expit(x)) / (m - 1)) if tree.scale == "logit" else np.zeros(len(x))
        row = np.repeat(np.asarray(others)[:, None], m, axis=1)
        row[:, k] = x
        curves[:, k] = tree.at_node(node, row)[:, k]
    return curves
