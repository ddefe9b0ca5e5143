"""Curves drawn with characters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # numpy would make every --help slower
    from trueodds.inputs import Floats

__all__ = ["text_plot"]

WIDTH, HEIGHT = 61, 17
"""Columns and lines of the plot itself; it has room on a terminal of 80 columns."""
UNCHANGED = "·"


def text_plot(
    x: Floats,
    curves: Sequence[tuple[str, Floats]],
    *,
    low: float = 0.0,
    high: float = 1.0,
    behind: Floats | None = None,
) -> list[str]:
    r"""Lines of text with a curve for each mark, over an even grid.

    Parameters
    ----------
    x : ndarray of shape (n,)
        Increasing and finite.
    curves : sequence of (mark, ndarray of shape (n,))
        A mark is one character; later ones are drawn over earlier ones.
    low, high : float, default=0 and 1
        The ends of the upright axis.
    behind : ndarray of shape (n,), default=None
        What is dotted below all curves: no change.

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
    names = {line: f"{value:.4f}" for line, value in ticks.items()}
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
    """Put a mark where the curve passes; jumps are filled so that a step is seen as one."""
    import numpy as np

    at = np.linspace(0, len(x) - 1, WIDTH).round().astype(np.intp)
    share = (np.clip(y[at], low, high) - low) / (high - low)
    rows = np.rint((1 - share) * (HEIGHT - 1)).astype(np.intp).tolist()
    for column, row in enumerate(rows):
        before = rows[column - 1] if column and joined else row
        step = 1 if before < row else -1
        for between in range(before + step, row, step) if before != row else ():
            cells[between][column] = mark
        cells[row][column] = mark
