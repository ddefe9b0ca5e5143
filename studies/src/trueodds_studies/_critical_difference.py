"""Demšar's diagram: average ranks on a line, with bars over methods that cannot be told apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import check_text
from trueodds.plots._look import axes_or_new, color_of
from trueodds_studies.stats import NemenyiTest, nemenyi

__all__ = ["CriticalDifferenceDisplay"]

ROW_INCHES = 0.24  # of a label, at the default font size
BAR_STEP = 0.55  # between the rows of bars, in rows of labels
LINE_WIDTH = 1.0
BAR_WIDTH = 3.5


@dataclass(frozen=True)
class _Label:
    """Where a method's line goes: down from its rank, then out to its name at one side."""

    name: str
    rank: float
    row: int
    left: bool


@dataclass(eq=False)
class CriticalDifferenceDisplay:
    """A critical difference diagram of methods compared over many data sets.

    Each method hangs at its average rank, the best on the left. A bar joins methods whose ranks
    differ by less than the critical difference, the length of which is drawn at the top.

    Make one with :meth:`from_results` or :meth:`from_test`, then call :meth:`plot`.

    Attributes
    ----------
    methods : tuple of str
        Best first.
    ranks : tuple of float
    critical_difference : float
    cliques : tuple of tuple of str
        Methods under one bar.
    alpha : float
    n_sets : int
    ax_, figure_ : matplotlib Axes and Figure
        What was drawn on last.

    References
    ----------
    Demšar (2006), Statistical comparisons of classifiers over multiple data sets, figure 1.

    Examples
    --------
    >>> from trueodds_studies import CriticalDifferenceDisplay
    >>> CriticalDifferenceDisplay.from_results([[1, 2], [1, 3]], methods=["a", "b"]).n_sets
    2
    """

    methods: tuple[str, ...]
    ranks: tuple[float, ...]
    critical_difference: float
    cliques: tuple[tuple[str, ...], ...]
    alpha: float
    n_sets: int
    ax_: Any = None
    figure_: Any = None

    @classmethod
    def from_test(cls, test: NemenyiTest) -> CriticalDifferenceDisplay:
        """Take the outcome of :func:`trueodds_studies.stats.nemenyi`."""
        if not isinstance(test, NemenyiTest):
            raise InputError(f"the result of nemenyi is needed; got {type(test).__name__}.")
        order = np.argsort(test.ranks.ranks, kind="stable")
        return cls(
            methods=tuple(test.ranks.methods[j] for j in order),
            ranks=tuple(float(test.ranks.ranks[j]) for j in order),
            critical_difference=test.critical_difference,
            cliques=test.cliques,
            alpha=test.alpha,
            n_sets=test.ranks.n_sets,
        )

    @classmethod
    def from_results(
        cls,
        results: Any,
        *,
        methods: Sequence[str] | None = None,
        greater_is_better: bool = False,
        alpha: float = 0.05,
    ) -> CriticalDifferenceDisplay:
        """Rank the methods of a table of results.

        Parameters
        ----------
        results : array-like of shape (n_sets, n_methods), or frame of pandas, polars or Arrow
        methods : sequence of str, default=None
            Names of the columns.
        greater_is_better : bool, default=False
            Whether the results are losses or scores.
        alpha : float, default=0.05
            Significance level of the Nemenyi test.

        Examples
        --------
        >>> from trueodds_studies import CriticalDifferenceDisplay
        >>> losses = [[0.5, 0.4, 0.6], [0.3, 0.2, 0.4], [0.7, 0.1, 0.8], [0.2, 0.3, 0.4]]
        >>> display = CriticalDifferenceDisplay.from_results(losses, methods=["a", "b", "c"])
        >>> display.methods, display.ranks
        (('b', 'a', 'c'), (1.25, 1.75, 3.0))
        """
        return cls.from_test(
            nemenyi(results, methods=methods, greater_is_better=greater_is_better, alpha=alpha)
        )

    def plot(self, *, ax: Any = None, title: str | None = None) -> CriticalDifferenceDisplay:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; a new figure, as high as the labels need, if None. On given axes that
            are too low for the labels, these are made smaller.
        title : str, default=None

        Returns
        -------
        self
        """
        title = None if title is None else check_text(title, "title", "None or ")
        labels = _labels(self.methods, self.ranks)
        bars = _bars(self.cliques, dict(zip(self.methods, self.ranks, strict=True)))
        levels = 1 + max((level for _, _, level in bars), default=-1)
        first_row = 1.0 + levels * BAR_STEP
        depth = first_row + max(label.row for label in labels) + 0.6
        top = 2.6
        self.ax_ = axes_or_new(ax, (7.0, 0.3 + ROW_INCHES * (depth + top)))
        self.figure_ = self.ax_.figure
        k = len(self.methods)
        margin = 0.04 * (k - 1)
        self.ax_.set_xlim(1 - margin, k + margin)
        self.ax_.set_ylim(-depth, top)
        self.ax_.axis("off")
        style = {"color": self._ink(), "linewidth": LINE_WIDTH, "clip_on": False}
        size = self._font_size(depth + top, ax is not None)
        self._draw_scale(k, style, size)
        for label in labels:
            end = 1 - margin if label.left else k + margin
            y = -first_row - label.row
            self.ax_.plot([label.rank, label.rank, end], [0, y, y], **style)
            text = f"{label.name} ({label.rank:.2f})"
            self.ax_.text(
                end,
                y,
                f"{text} " if label.left else f" {text}",
                ha="right" if label.left else "left",
                va="center",
                fontsize=size,
                parse_math=False,
            )
        for low, high, level in bars:
            y = -0.55 - level * BAR_STEP
            # Hardly beyond the outer lines, or it would seem to reach the next one.
            ends = [low - 0.15 * margin, high + 0.15 * margin]
            self.ax_.plot(
                ends, [y, y], color=color_of(0), linewidth=BAR_WIDTH, solid_capstyle="butt"
            )
        if title is not None:
            self.ax_.set_title(title)
        return self

    def _draw_scale(self, k: int, style: dict[str, Any], size: float) -> None:
        """The axis of ranks with its ticks, and the length of the critical difference above."""
        self.ax_.plot([1, k], [0, 0], **style)
        for rank in range(1, k + 1):
            self.ax_.plot([rank, rank], [0, 0.25], **style)
            self.ax_.text(rank, 0.35, str(rank), ha="center", va="bottom", fontsize=size)
        # With few data sets it may be longer than the whole axis.
        end = 1 + min(self.critical_difference, k - 1)
        y = 1.75
        self.ax_.plot([1, end], [y, y], **style)
        self.ax_.plot([1, 1], [y - 0.15, y + 0.15], **style)
        if end < k or self.critical_difference <= k - 1:
            self.ax_.plot([end, end], [y - 0.15, y + 0.15], **style)
        words = f"CD = {self.critical_difference:.2f} (α = {self.alpha:g}, N = {self.n_sets})"
        self.ax_.text(1, y + 0.2, words, ha="left", va="bottom", fontsize=size)

    def _ink(self) -> Any:
        """The color of text, so that lines show on dark backgrounds too."""
        from matplotlib import rcParams

        return rcParams["text.color"]

    def _font_size(self, rows: float, given: bool) -> float:
        """Points of the labels: the default, or what fits between two rows of given axes."""
        from matplotlib import rcParams

        size = float(rcParams["font.size"])
        if not given:
            return size
        inches = self.ax_.get_window_extent().height / self.figure_.dpi
        return float(min(size, 72 * inches / rows / 1.25))


def _labels(methods: tuple[str, ...], ranks: tuple[float, ...]) -> list[_Label]:
    """One row for each name: the better half on the left, the others on the right.

    The outermost method of each side has the highest row, so that no line crosses another.
    """
    half = (len(methods) + 1) // 2
    return [
        _Label(name, rank, row=j if j < half else len(methods) - 1 - j, left=j < half)
        for j, (name, rank) in enumerate(zip(methods, ranks, strict=True))
    ]


def _bars(
    cliques: tuple[tuple[str, ...], ...], rank: dict[str, float]
) -> list[tuple[float, float, int]]:
    """Ends and level of each bar; bars that would touch are on different levels."""
    bars: list[tuple[float, float, int]] = []
    reach: list[float] = []
    gap = 0.06 * (len(rank) - 1)
    for clique in cliques:
        low, high = min(rank[m] for m in clique), max(rank[m] for m in clique)
        level = next((i for i, end in enumerate(reach) if end + gap < low), len(reach))
        if level == len(reach):
            reach.append(high)
        else:
            reach[level] = high
        bars.append((low, high, level))
    return bars
