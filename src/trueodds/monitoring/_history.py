"""What happened when, in little space: counts by stretch of time and part of the scale."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueodds.inputs import Floats
from trueodds.monitoring._bets import N_PARTS

__all__ = ["MAX_STRETCHES", "History", "Moment"]

MAX_STRETCHES = 48
SHORTEST = 64
"""Rows of a new stretch; of a long stream, one row in 512."""

Moment = str | int | float | None


@dataclass
class History:
    """Stretches of rows, the older the longer.

    Parameters
    ----------
    starts : list of int
        Rows before each stretch; the last one is still open.
    moments : list
        The time of the first row of each.
    cells : list of ndarray of shape (n_parts, 4)
        Σ weight, Σ weight·p, Σ weight·y and Σ weight·p² in each part of the scale.
    """

    starts: list[int] = field(default_factory=list)
    moments: list[Moment] = field(default_factory=list)
    cells: list[Floats] = field(default_factory=list)

    def room(self, rows: int) -> int:
        """How many rows the open stretch can still take, after ``rows`` in all; 0 if none is."""
        if not self.starts:
            return 0
        start = self.starts[-1]
        return max(0, start + max(SHORTEST, start // 512) - rows)

    def open(self, rows: int, moment: Moment) -> None:
        """Begin a new stretch; the two old ones that matter least become one."""
        self.starts.append(rows)
        self.moments.append(moment)
        self.cells.append(np.zeros((N_PARTS, 4)))
        if len(self.starts) > MAX_STRETCHES:
            self._merge(rows)

    def _merge(self, rows: int) -> None:
        """Join the neighbours that are shortest for their age."""
        starts = np.array(self.starts[:-1], dtype=np.float64)
        ends = np.array([*self.starts[2:-1], rows], dtype=np.float64)
        lengths = ends - starts[:-1]
        first = int(np.argmin(lengths / (rows - starts[:-1])))
        self.cells[first] += self.cells.pop(first + 1)
        del self.starts[first + 1], self.moments[first + 1]

    def stack(self) -> Floats:
        """All stretches as one array of shape (n, n_parts, 4)."""
        return np.stack(self.cells) if self.cells else np.zeros((0, N_PARTS, 4))
