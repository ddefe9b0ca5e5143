"""Histogram binning."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.inputs import Floats, check_choice, check_integer
from trueodds.kernels.tables import equal_mass_starts
from trueodds.maps import CalibrationMap, StepMap
from trueodds.numerics.binning import edges_between
from trueodds.numerics.label_targets import smooth_counts
from trueodds.numerics.reliability_bins import bin_sums, uniform_edges
from trueodds.rows import Rows

__all__ = ["HistogramCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class HistogramCalibrator(Calibrator):
    """Frequency of positives in each of a few bins of the score.

    Use it as a simple non-parametric baseline that is easy to explain. All scores of a bin get the
    same probability, and the map need not be monotone.

    Parameters
    ----------
    n_bins : int, default=10
    strategy : {"quantile", "uniform"}, default="quantile"
        Bins of equal mass, or of equal width: over [0, 1] for probabilities, otherwise over the
        range of the finite scores.

    Attributes
    ----------
    map_ : StepMap

    Notes
    -----
    Equal scores are never split, so equal-mass bins may be fewer. An empty bin of equal width
    gets a value on the line between its nearest neighbors that are not empty.

    References
    ----------
    Zadrozny and Elkan (2001), Obtaining calibrated probability estimates from decision trees and
    naive Bayesian classifiers.

    Examples
    --------
    >>> from trueodds import HistogramCalibrator
    >>> calibrator = HistogramCalibrator(n_bins=2).fit([0.1, 0.2, 0.3, 0.9], [0, 1, 1, 1])
    >>> calibrator.map_.edges, calibrator.map_.values
    (array([0.25]), array([0.5, 1. ]))
    """

    title = "histogram binning"
    complexity = 80
    compared = (2, 2)
    is_monotone = False

    n_bins: int = 10
    strategy: Literal["quantile", "uniform"] = "quantile"

    def _check_options(self) -> None:
        check_integer(self.n_bins, "n_bins", 1, most=2**53)
        check_choice(self.strategy, ("quantile", "uniform"), "strategy")

    def _fit(self, rows: Rows) -> CalibrationMap:
        by_mass = self.strategy == "quantile"
        edges, values = self._equal_mass(rows) if by_mass else self._equal_width(rows)
        return StepMap(edges=edges, values=values, scale=self.scale)

    def _equal_mass(self, rows: Rows) -> tuple[Floats, Floats]:
        """Edges, and the frequency of positives between them."""
        table = rows.table
        starts = equal_mass_starts(table.weight, int(self.n_bins))
        cuts = starts[1:]
        n_pos = np.add.reduceat(table.n_pos, starts)
        edges = edges_between(table.score[cuts - 1], table.score[cuts])
        return edges, n_pos / (n_pos + np.add.reduceat(table.n_neg, starts))

    def _equal_width(self, rows: Rows) -> tuple[Floats, Floats]:
        """Edges, and the frequency of positives between them; on a line where there is no row."""
        edges = self._uniform_edges(rows.scores)
        each = rows.uncounted()
        sums = bin_sums(
            each.scores, each.codes, each.weight, edges, uniform=self.scale == "probability"
        )
        n_neg, n_pos = smooth_counts(sums.weight - sums.positive, sums.positive, *rows.targets)
        if sums.weight.all():
            return edges, n_pos / (n_neg + n_pos)
        filled = np.flatnonzero(sums.weight)
        rates = n_pos[filled] / (n_neg[filled] + n_pos[filled])
        return edges, np.minimum(np.interp(np.arange(len(n_pos)), filled, rates), 1.0)

    def _uniform_edges(self, score: Floats) -> Floats:
        if self.scale == "probability":
            return uniform_edges(int(self.n_bins))
        finite = score[np.isfinite(score)]
        if len(finite) == 0:
            return np.zeros(1)
        edges = np.linspace(finite.min(), finite.max(), int(self.n_bins) + 1)[1:-1]
        return edges if (edges[1:] > edges[:-1]).all() else np.unique(edges)
