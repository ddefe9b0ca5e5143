"""Critical difference diagrams for reports."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trueodds_studies._optional import need
from trueodds_studies._report import Figure
from trueodds_studies.stats import friedman_test, nemenyi

__all__ = ["critical_difference_figure", "is_greater_better", "significantly_better"]


def is_greater_better(measure: str) -> bool:
    """Whether a measure is a score and not a loss."""
    return measure in ("accuracy", "ACC", "AUC")


def critical_difference_figure(
    name: str,
    title: str,
    panels: Mapping[str, Any],
    *,
    greater_is_better: bool = False,
    alpha: float = 0.05,
) -> Figure:
    """Draw Demšar's diagrams, one below the other, as the papers print them.

    Parameters
    ----------
    name, title
        As in :class:`~trueodds_studies.Figure`.
    panels : mapping of str to pandas.DataFrame
        A heading and a table of sets × methods for each diagram, such as ``results.table`` gives.
        The p-value of the Friedman test is added to the heading.
    greater_is_better : bool, default=False
    alpha : float, default=0.05
    """
    pyplot = need("matplotlib.pyplot")
    from trueodds_studies._critical_difference import CriticalDifferenceDisplay

    n = len(panels)
    widest = max(len(table.columns) for table in panels.values())
    height = 1.0 + 0.28 * widest
    figure, axes = pyplot.subplots(
        n, 1, figsize=(7.5, n * height), layout="constrained", squeeze=False
    )
    for ax, (heading, table) in zip(axes[:, 0], panels.items(), strict=True):
        CriticalDifferenceDisplay.from_results(
            table, greater_is_better=greater_is_better, alpha=alpha
        ).plot(ax=ax)
        p = friedman_test(table, greater_is_better=greater_is_better).chi_square_p_value
        ax.set_title(f"{heading} (Friedman p = {p:.1e})", fontsize=10)
    return Figure.of(name, title, figure)


def significantly_better(
    table: Any,
    first: str,
    second: str,
    *,
    greater_is_better: bool = False,
    alpha: float = 0.05,
) -> tuple[bool, str]:
    """Return whether one average rank is better by Nemenyi's test, and the figures.

    Parameters
    ----------
    table : pandas.DataFrame
        Sets × all methods that are compared at once.
    first, second : str
    greater_is_better, alpha
        As in :func:`trueodds_studies.stats.nemenyi`.

    Returns
    -------
    verdict : bool
    figures : str
    """
    test = nemenyi(table, greater_is_better=greater_is_better, alpha=alpha)
    a, b = (test.ranks.methods.index(name) for name in (first, second))
    rank_a, rank_b = float(test.ranks.ranks[a]), float(test.ranks.ranks[b])
    p = float(test.p_values[a, b])
    figures = f"ranks {rank_a:.2f} and {rank_b:.2f}, p = {p:.2g}"
    return rank_b - rank_a >= test.critical_difference, figures
