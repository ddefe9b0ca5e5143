"""Venn–Abers calibration."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, positive_column, validate_scores
from trueodds.kernels.isotonic import flattest_slopes
from trueodds.maps import CalibrationMap, StepMap
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = ["VennAbersCalibrator"]

SAME = 1e-12


class VennAbersCalibrator(Calibrator):
    """Two isotonic regressions, with the new row as a negative and as a positive, merged into one.

    Every score gets two probabilities: p0 by the isotonic regression of the calibration set and the
    new row labeled 0, p1 by that with the label 1. One of the two is calibrated, whatever the
    distribution. They are merged into p1/(1 − p0 + p1), which is never 0 or 1. Use it as isotonic
    calibration that does not overfit the ends. With few rows p0 and p1 are far apart;
    :meth:`predict_bounds` explains what they mean.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; the fit depends on their order alone.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels of the calibration set.

    Attributes
    ----------
    map_ : StepMap
        The merged probability. A score that occurred in fitting has its own step, which also covers
        scores that differ from it by less than 1e-12 of its size.
    p0_, p1_ : StepMap
        The two probabilities; only with two classes.

    Notes
    -----
    This is the inductive method. The new row has weight one, whatever the weights of the others.
    Cost: one sort and O(n log n) in all; no regression is run at prediction.

    References
    ----------
    Vovk, Petej and Fedorova (2015), Large-scale probabilistic predictors with and without
    guarantees of validity, NIPS. Sections 2 and 4.

    Examples
    --------
    >>> from trueodds import VennAbersCalibrator
    >>> calibrator = VennAbersCalibrator().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> calibrator.predict_proba([0.1, 0.25, 0.9])[:, 1].round(3)
    array([0.333, 0.5  , 0.667])
    >>> calibrator.predict_bounds([0.1, 0.25, 0.9]).round(3)
    array([[0.   , 0.5  ],
           [0.333, 0.667],
           [0.5  , 1.   ]])
    """

    title = "Venn–Abers calibration"
    label = "Venn–Abers"
    complexity = 72

    by_order_alone = True

    p0_: StepMap
    p1_: StepMap

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        p0, p1 = _two_probabilities(table)
        # Below the first score, at it, between it and the second, at that, and so on: with a label
        # of 0 an instance counts as after those of its score, with 1 as before them.
        at = np.arange(2 * len(table) + 1)
        low, high = p0[(at + 1) // 2], p1[at // 2]
        edges = _edges_around(table.score)
        self.p0_ = self._steps(edges, low)
        self.p1_ = self._steps(edges, high)
        return self._steps(edges, high / (1 - low + high))

    def _steps(self, edges: Floats, values: Floats) -> StepMap:
        """The map without edges at which the value does not change."""
        # An edge may stand twice: after +inf comes nothing, after x perhaps the next score.
        real = np.append(edges[1:] > edges[:-1], True)
        last = np.append(True, real)
        edges, values = edges[real], values[last]
        kept = values[1:] != values[:-1]
        return StepMap(edges=edges[kept], values=values[np.append(True, kept)], scale=self.scale)

    def predict_bounds(self, scores: Any) -> Floats:
        """Return the two probabilities p0 ≤ p1 of each score.

        They are **not** a confidence interval for the probability of the positive class. The
        guarantee is a different one: if the rows are exchangeable, the one whose label turns out to
        be right is a perfectly calibrated prediction. Their distance shows how much one label moves
        the fit around this score, which is less than the uncertainty of the fit. For intervals use
        ``BayesianIsotonicCalibrator.predict_interval``.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 2)
            Scores on the same scale as in ``fit``.

        Returns
        -------
        ndarray of shape (n, 2)
            p0 and p1 of each score.
        """
        self._check_fitted("map_")
        if len(self.classes_) > 2:
            raise InputError(
                "predict_bounds supports two classes; this calibrator was fitted on more."
            )
        array = validate_scores(scores, self.scale, n_columns=2)
        if array.ndim == 2:
            array = positive_column(array, self.scale)
        return np.stack([self.p0_._apply_valid(array), self.p1_._apply_valid(array)], axis=1)


def _two_probabilities(table: ScoreTable) -> tuple[Floats, Floats]:
    """p0 after 0, 1, … of the rows, and p1 before all, all but the first, … of them.

    In isotonic regression a value is the largest, over the rows i up to it, of the lowest mean of
    any run that begins with i and reaches it. For an added positive before row k the runs that
    matter may end anywhere after i, because its own mean is the highest. So p1 is the running
    maximum over i ≤ k of what ``flattest_slopes`` gives. p0 is the same from the other end.
    """
    p1 = np.append(flattest_slopes(table.n_pos, table.weight), 1.0)
    q1 = np.append(flattest_slopes(_reversed(table.n_neg), _reversed(table.weight)), 1.0)
    p0, p1 = 1 - np.maximum.accumulate(q1)[::-1], np.maximum.accumulate(p1)
    return np.clip(p0, 0.0, 1.0), np.clip(p1, 0.0, 1.0)  # extreme weights round beyond


def _edges_around(score: Floats) -> Floats:
    """Two edges for each score: where a new one begins to be equal to it, and where it ends.

    Models seldom repeat a score to the last digit, so scores that differ by 1e-12 of their size
    count as equal, unless there are others about as close.
    """
    with np.errstate(invalid="ignore", over="ignore"):  # inf − inf, and beyond the largest float64
        gap = np.diff(score) / 4
        width = SAME * np.abs(score)
        first = score - np.minimum(width, np.append(np.inf, gap))
        last = score + np.minimum(width, np.append(gap, np.inf))
        after = np.nextafter(score, np.inf)
    edges = np.empty(2 * len(score))
    finite = np.isfinite(score)
    edges[::2] = np.where(finite & np.isfinite(first), first, score)
    edges[1::2] = np.where(finite & np.isfinite(last) & (last > score), last, after)
    return np.maximum.accumulate(edges)


def _reversed(column: Floats) -> Floats:
    return np.ascontiguousarray(column[::-1])
