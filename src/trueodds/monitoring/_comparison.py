"""Comparison of two forecasts of the same stream."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np

from trueodds.basics.threads import Locked
from trueodds.exceptions import InputError, StateFormatError
from trueodds.inputs import Floats, check_length, check_level
from trueodds.monitoring._rows import read_stream
from trueodds.state_file import document_fields

__all__ = ["ForecastComparison"]

FORMAT, VERSION = "trueodds-forecast-comparison", 1
BETS: Floats = np.array([2.0**power for power in range(-5, 9)])
SAFE = 0.75
"""No row can cost more than this share of a stake."""
BLOCK_ROWS = 4096


class ForecastComparison(Locked):
    """Compare two forecasts of the same rows; stop as soon as one is clearly better.

    Two bets are placed on each row's difference in squared error: one for the new forecasts, one
    for the old ones. If the new forecasts are no better at any row, the chance that their e-value
    *ever* reaches 1/alpha is at most alpha, however often results are checked; and vice versa.

    Parameters
    ----------
    alpha : float, default=0.05

    Attributes
    ----------
    e_value_new, e_value_old : float
        E-values for "the new forecasts are better" and for "the old forecasts are better".
    winner : {"new", "old", None}
        Forecasts whose e-value reached 1/alpha first.
    n_rows : int
    mean_difference : float
        Mean of the old squared error minus the new one.

    Notes
    -----
    The null hypothesis is that, row by row, the expected squared error of the new forecasts is at
    least that of the old ones. Bets are placed before the label is known, and no row can cost more
    than three quarters of a stake. Threads may share a comparison.

    References
    ----------
    A. Henzi, J. F. Ziegel, "Valid sequential inference on probability forecast performance",
    Biometrika 109 (2022), 647-663, doi:10.1093/biomet/asab047.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.monitoring import ForecastComparison
    >>> rng = np.random.default_rng(0)
    >>> p = rng.uniform(0, 1, 4000)
    >>> y = rng.random(4000) < p
    >>> duel = ForecastComparison().update(0.5 * p, p, y)
    >>> duel.winner
    'new'
    """

    def __init__(self, *, alpha: float = 0.05) -> None:
        self.alpha = check_level(alpha, "alpha")
        self.n_rows = 0
        self.winner: Literal["new", "old"] | None = None
        self._total = 0.0
        self._logs = np.zeros((2, len(BETS)))

    def update(self, old: Any, new: Any, y: Any) -> Self:
        """Update with rows in order: two forecasts of the positive class, and the outcomes."""
        # Labels are 0, 1 or missing in both, so that the same rows are left out.
        before, after = (read_stream(p, y) for p in (old, new))
        if before.table is not None or after.table is not None:
            raise InputError("old and new must be probabilities of one class; got several columns.")
        check_length(len(after), "new", len(before), "old")
        happened = before.right
        for start in range(0, len(before), BLOCK_ROWS):
            part = slice(start, start + BLOCK_ROWS)
            self._take(before.top[part], after.top[part], happened[part])
        return self

    def _take(self, p: Floats, q: Floats, y: Any) -> None:
        # What a row can bring for each label: (p − y)² − (q − y)².
        gain = np.where(y == 1, (1 - p) ** 2 - (1 - q) ** 2, p**2 - q**2)
        worst = np.maximum(np.abs((1 - p) ** 2 - (1 - q) ** 2), np.abs(p**2 - q**2))
        bets = np.minimum(BETS, SAFE / np.maximum(worst, 1e-300)[:, None])
        steps = np.log1p(np.stack([bets * gain[:, None], -bets * gain[:, None]]))
        paths = self._logs[:, None, :] + np.cumsum(steps, axis=1)
        wealth = np.logaddexp.reduce(paths, axis=2) - np.log(len(BETS))
        if self.winner is None:
            first = [np.flatnonzero(path >= -np.log(self.alpha)) for path in wealth]
            at = [places[0] if len(places) else len(y) for places in first]
            if min(at) < len(y):
                self.winner = "new" if at[0] <= at[1] else "old"
        self._logs = paths[:, -1, :].copy()
        self._total += float(gain.sum())
        self.n_rows += len(y)

    @property
    def mean_difference(self) -> float:
        """Mean of the old squared error minus the new one."""
        return self._total / self.n_rows if self.n_rows else 0.0

    @property
    def e_value_new(self) -> float:
        """E-value for "the new forecasts are better"."""
        return self._e_value(0)

    @property
    def e_value_old(self) -> float:
        """E-value for "the old forecasts are better"."""
        return self._e_value(1)

    def _e_value(self, side: int) -> float:
        log = np.logaddexp.reduce(self._logs[side]) - np.log(len(BETS))
        return float(np.exp(min(log, 700.0)))

    def to_dict(self) -> dict[str, Any]:
        """Return the whole state as plain JSON values."""
        return {
            "format": FORMAT,
            "version": VERSION,
            "alpha": self.alpha,
            "rows": self.n_rows,
            "winner": self.winner,
            "total": self._total,
            "logs": self._logs.tolist(),
        }

    @classmethod
    def from_dict(cls, content: Any) -> ForecastComparison:
        """Return a comparison from its state, every value of which is checked."""
        keys = {"alpha", "rows", "winner", "total", "logs"}
        fields = document_fields(content, FORMAT, VERSION, keys, "comparison")
        made = cls(alpha=fields.number("alpha", 1e-300, 0.999999))
        made.n_rows = fields.count("rows")
        if fields.raw("winner") not in (None, "new", "old"):
            raise StateFormatError('comparison.winner must be "new", "old" or null.')
        made.winner = fields.raw("winner")
        made._total = fields.number("total", -1e16, 1e16)
        made._logs = fields.array("logs", (2, len(BETS)), -1e17, 1e17)
        return made
