"""Scaling, then binning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import numpy.typing as npt

from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.parametric import fit_log_odds_map
from trueodds.inputs import (
    Floats,
    check_choice,
    check_integer,
)
from trueodds.maps import CalibrationMap, LogOddsMap, StepMap
from trueodds.numerics.binning import edges_between
from trueodds.rows import Rows

__all__ = ["ScalingBinningCalibrator"]

HALVINGS = 60  # of the interval between two scores; no float64 is left between its ends then


@dataclass(kw_only=True, eq=False, repr=False)
class ScalingBinningCalibrator(Calibrator):
    """Parametric curve cut into bins of equal mass; each bin returns the curve's mean in it.

    Use it if the calibration error must be measured afterwards: a prediction with ten values can be
    checked value by value, and means of a curve vary less than the frequencies of histogram
    binning. The steps lose a little accuracy.

    Parameters
    ----------
    n_bins : int, default=10
    scaling : {"logistic", "beta"}, default="logistic"
        Curve: σ(a·z + c) of the log-odds z, or beta calibration. It must not decrease.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; raw scores (``"raw"``) are treated as log-odds.

    Attributes
    ----------
    map_ : StepMap

    Notes
    -----
    The same rows serve all three steps, as in the authors' program; their analysis splits them.
    Equal scores are never separated, so there may be fewer bins. Cost: a fit of the curve and a
    sort.

    References
    ----------
    Kumar, Liang and Ma (2019), Verified uncertainty calibration, NeurIPS. Section 4.

    Examples
    --------
    >>> from trueodds import ScalingBinningCalibrator
    >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95, 0.6, 0.3], [0, 0, 1, 1, 0, 1, 1, 0]
    >>> calibrator = ScalingBinningCalibrator(n_bins=2).fit(scores, y)
    >>> calibrator.map_.edges.round(3), calibrator.map_.values.round(3)
    (array([0.5]), array([0.307, 0.693]))
    """

    title = "scaling and binning"
    complexity = 35

    n_bins: int = 10
    scaling: Literal["logistic", "beta"] = "logistic"

    def _check_options(self) -> None:
        check_integer(self.n_bins, "n_bins", 1)
        check_choice(self.scaling, ("logistic", "beta"), "scaling")

    def _fit(self, rows: Rows) -> CalibrationMap:
        curve = fit_log_odds_map(rows, self.scale, self.scaling, nonnegative=True)
        table = rows.table
        cuts = _cuts(table.weight, int(self.n_bins))
        scaled = curve._apply_valid(np.ascontiguousarray(table.score))
        starts = np.append(0, cuts)
        mass = np.add.reduceat(table.weight, starts)
        share = table.weight / np.repeat(mass, np.diff(np.append(starts, len(table))))
        values = np.add.reduceat(scaled * share, starts)
        edges = _halfway(curve, table.score[cuts - 1], table.score[cuts])
        return StepMap(edges=edges, values=np.clip(values, 0.0, 1.0), scale=self.scale)


def _cuts(weight: Floats, n_bins: int) -> npt.NDArray[np.intp]:
    """Rows at which a bin begins; the remainder of an even division goes to the first bins.

    A row in which a cut would fall belongs to the lower bin.
    """
    total = np.cumsum(weight)
    least = np.floor(total[-1] / n_bins)
    k = np.arange(1, n_bins)
    goals = k * least + np.minimum(k, total[-1] - n_bins * least)
    cuts = np.searchsorted(total, goals * (1 - 1e-12)) + 1
    return np.unique(cuts[cuts < len(weight)])


def _halfway(curve: LogOddsMap, below: Floats, above: Floats) -> Floats:
    """Where the curve is halfway between its values at neighboring scores."""
    middle = edges_between(below, above)
    finite = np.isfinite(below) & np.isfinite(above)
    low, high = below[finite], above[finite]
    goal = (curve._apply_valid(low) + curve._apply_valid(high)) / 2
    for _ in range(HALVINGS):
        half = low / 2 + high / 2
        reached = curve._apply_valid(half) >= goal
        low, high = np.where(reached, low, half), np.where(reached, half, high)
    # A curve that is flat here says nothing about where between them.
    flat = curve._apply_valid(below[finite]) >= curve._apply_valid(above[finite])
    middle[finite] = np.where(flat | (high <= below[finite]), middle[finite], high)
    return middle
