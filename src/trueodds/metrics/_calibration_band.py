"""A band that holds the whole calibration curve with a guaranteed probability."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    as_floats,
    as_tuple,
    check_choice,
    check_integer,
    check_level,
    check_number,
    check_unit_interval,
    is_choice,
)
from trueodds.metrics._sample import Forecasts, event_view
from trueodds.numerics.binning import run_starts
from trueodds.numerics.isotonic import isotonic_fit
from trueodds.numerics.monotone_band import lower_bounds, upper_bounds

__all__ = ["CalibrationBand", "calibration_band", "guaranteed_band"]

CELLS_PER_CUBE_ROOT = 5.0
"""Cells are this times ∛N: fewer are fewer bounds that must hold together, more follow the curve
more closely. From 300 to a million rows this was narrowest, or within 2% of it."""


@dataclass(frozen=True, eq=False)
class CalibrationBand:
    """Bounds of the calibration curve that hold everywhere at once.

    Attributes
    ----------
    level : float
        How probable it is, at least, that the whole curve lies within, if it does not fall.
    first, last : ndarray of shape (n_cells,)
        The lowest and the highest probability in each cell of neighbors.
    lower : ndarray of shape (n_cells,)
        What the frequency is at least from ``last`` on.
    upper : ndarray of shape (n_cells,)
        What the frequency is at most up to ``first``.
    is_nonmonotone : bool
        Whether bounds crossed: then the curve falls somewhere, with confidence ``level``, and the
        band, which assumes that it does not, is no longer one. (Where they cross, it is widened
        to the isotonic fit.)
    n_rows : int
    event : str
        What the probabilities are of.

    Examples
    --------
    >>> from trueodds.metrics import calibration_band
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> band = calibration_band(y, p)
    >>> band.level, band.is_nonmonotone, band.n_rows
    (0.9, False, 60)
    """

    level: float
    first: Floats
    last: Floats
    lower: Floats
    upper: Floats
    is_nonmonotone: bool
    n_rows: int
    event: str

    def interval(self, y_prob: Any) -> tuple[Floats, Floats]:
        """The bounds of the frequency at any probability.

        Parameters
        ----------
        y_prob : array-like of shape (n,)

        Returns
        -------
        low, high : ndarray of shape (n,)
        """
        p = as_floats(y_prob, "y_prob")
        check_unit_interval(p, "y_prob")
        return _at(self.last, self.lower, p), 1 - _at(-self.first[::-1], 1 - self.upper[::-1], -p)

    def max_error(self, low: float = 0.0, high: float = 1.0) -> float:
        """Largest error of the probabilities seen from ``low`` to ``high``, with confidence.

        With confidence ``level``, none of them is farther than this from the true frequency.
        At both ends of the scale there are few rows, so over the whole scale it is often large.
        """
        low, high = check_number(low, "low", 0), check_number(high, "high", low)
        chosen = (self.last >= low) & (self.first <= high)
        if not chosen.any():
            raise InputError(f"no probability lies between {low:g} and {high:g}.")
        # Inside a cell, the bounds are those of its neighbors: below of the one before.
        several = self.last > self.first
        before = np.concatenate([[0.0], self.lower[:-1]])
        after = np.concatenate([self.upper[1:], [1.0]])
        start, end = np.maximum(self.first, low), np.minimum(self.last, high)
        too_high = np.maximum(self.last - self.lower, np.where(several, end - before, 0.0))
        too_low = np.maximum(self.upper - self.first, np.where(several, after - start, 0.0))
        too_high = np.where(self.last <= high, too_high, end - before)
        too_low = np.where(self.first >= low, too_low, after - start)
        return float(np.clip(np.maximum(too_high, too_low)[chosen].max(), 0.0, 1.0))

    def is_calibrated(self, *, tolerance: float, between: tuple[float, float] = (0.0, 1.0)) -> bool:
        """Whether the evidence suffices to accept that probabilities are right up to ``tolerance``.

        The null hypothesis is the reverse of that of :func:`calibration_test`: somewhere they are
        off by more. It is rejected, and calibration accepted, wrongly with a probability of at
        most 1 − ``level``. False means that the evidence does not suffice.

        Parameters
        ----------
        tolerance : float
            The largest error that does not matter.
        between : (float, float), default=(0, 1)
            The range of probabilities that is tested.
        """
        tolerance = check_number(tolerance, "tolerance", 0)
        ends = as_tuple(between, "between")
        if len(ends) != 2:
            raise InputError(f"between must be two probabilities; got {shown(between)}.")
        return not self.is_nonmonotone and self.max_error(*ends) <= tolerance

    def outline(self) -> tuple[Floats, Floats, Floats]:
        """Corners of the band from 0 to 1, for drawing: x, low and high."""
        x = np.unique(np.concatenate([[0.0], self.first, self.last, [1.0]]))
        low, high = self.interval(x)
        # Between two of these, the lower bound is that of the left one, the upper of the right.
        corners = np.repeat(x, 3)[1:-1]
        lower = np.stack([low[:-1], low[:-1], low[:-1]], axis=1).ravel()
        upper = np.stack([high[:-1], high[1:], high[1:]], axis=1).ravel()
        return corners, np.append(lower, low[-1]), np.append(upper, high[-1])


def calibration_band(
    y_true: Any,
    y_prob: Any,
    *,
    level: float = 0.9,
    n_cells: int | Literal["auto"] | None = "auto",
    multiclass: Literal["top_label", "pooled"] = "top_label",
    pos_label: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> CalibrationBand:
    """Bounds that hold the whole true calibration curve, at any sample size.

    The only assumption is that the true frequency does not fall as the probability rises. Use it
    to *accept* a model: no other band or test here can show that probabilities are right.

    Parameters
    ----------
    y_true, y_prob, multiclass, pos_label, classes
        As in :func:`reliability_curve`.
    level : float, default=0.9
        How probable it is, at least, that no point of the curve is outside.
    n_cells : int, "auto" or None, default="auto"
        Neighboring probabilities are put in about this many cells of equal mass; equal ones stay
        together. ``"auto"``: 5·∛N. None: each distinct probability separately, as in the
        paper, in O(n²). The guarantee holds for any choice that does not depend on the labels.
    counts : array-like of shape (n,), default=None
        How often each row occurred. The guarantee is one of counts, so there is no
        ``sample_weight``.

    Returns
    -------
    CalibrationBand
        ``interval(p)``, ``max_error()``, ``is_calibrated(tolerance=...)``.

    Notes
    -----
    Cost: one sort, and some 0.1 s for the 500 cells of a million rows. Pooled pairs
    (``multiclass="pooled"``) are not independent, so the guarantee is not exact there.

    References
    ----------
    Dimitriadis, Dümbgen, Henzi, Puke and Ziegel (2023), Honest calibration assessment for binary
    outcome predictions, Biometrika 110(3).

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import calibration_band
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(100_000)
    >>> band = calibration_band(rng.random(100_000) < p, p)
    >>> low, high = band.interval([0.5])
    >>> bool(low[0] < 0.5 < high[0])
    True
    >>> band.is_calibrated(tolerance=0.1), band.is_calibrated(tolerance=0.01)
    (True, False)
    """
    level = check_level(level)
    check_choice(multiclass, ("top_label", "pooled"), "multiclass")
    if n_cells is not None and not is_choice(n_cells, "auto"):
        n_cells = check_integer(n_cells, "n_cells", 1, '"auto", None or ')
    view, event = event_view(y_true, y_prob, None, counts, classes, multiclass, pos_label)
    return guaranteed_band(view, level, n_cells, event)


def guaranteed_band(
    view: Forecasts,
    level: float,
    n_cells: int | Literal["auto"] | None = "auto",
    event: str = "",
) -> CalibrationBand:
    """The band of validated rows."""
    table = view.table
    if not table.are_counts:
        raise InputError(
            "a guaranteed band is one of counts of rows; got sample_weight. If a weight of k "
            "means that the row occurred k times, pass it as counts."
        )
    begin = np.arange(len(table))
    if n_cells == "auto":
        n_cells = int(np.ceil(CELLS_PER_CUBE_ROOT * table.total ** (1 / 3)))
    if n_cells is not None and len(table) > n_cells:
        below = np.cumsum(table.weight) - table.weight
        share = np.floor(below / table.total * n_cells)
        begin = run_starts(share)
    end = np.concatenate([begin[1:], [len(table)]]) - 1
    n_pos, rows = np.add.reduceat(table.n_pos, begin), np.add.reduceat(table.weight, begin)
    first, last = table.score[begin], table.score[end]
    lower, upper = lower_bounds(n_pos, rows, level), upper_bounds(n_pos, rows, level)
    # At the first score of a cell, what is known from below is the bound of the cell before.
    from_below = np.where(first == last, lower, np.concatenate([[0.0], lower[:-1]]))
    fitted, _ = isotonic_fit(n_pos, rows)
    return CalibrationBand(
        level=level,
        first=first,
        last=last,
        lower=np.minimum(lower, fitted),
        upper=np.maximum(upper, fitted),
        is_nonmonotone=bool((from_below > upper).any()),
        n_rows=view.n_rows,
        event=event,
    )


def _at(steps: Floats, values: Floats, x: Floats) -> Floats:
    """The value of the last step that is not beyond x; 0 before the first."""
    return np.concatenate([[0.0], values])[np.searchsorted(steps, x, side="right")]
