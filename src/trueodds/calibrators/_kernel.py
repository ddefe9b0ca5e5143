"""Kernel calibration: the odds of positives around a score, weighted by beta distributions.

At a score s, row i has a weight equal to the density at s of Beta(p_i/h + 1, (1 − p_i)/h + 1):

    s^(p_i/h)·(1 − s)^((1 − p_i)/h) / B_i = (1 − s)^(1/h) · exp(p_i·z/h) / B_i,  z = ln(s/(1 − s)).

The first factor is common to all rows, so the odds of positives are a ratio of two sums of
exp(p_i·z/h)/B_i. Each term varies smoothly with p_i. Many scores are therefore replaced by two
points for every cell of the axis arcsin √p, on which the kernel is about equally wide everywhere.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.inputs import Floats, check_number
from trueodds.maps import CalibrationMap, LogOddsCurveMap
from trueodds.numerics.log_odds import CERTAIN_LOG_ODDS, log_odds, sigmoid
from trueodds.rows import Rows

__all__ = ["KernelCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelCalibrator(Calibrator):
    """Kernel estimate of the frequency of positives at each score; nearer rows count more.

    The kernel is a beta distribution, which stays in [0, 1] and becomes narrow towards the ends.
    Use it to see the shape of a calibration map without a model of it. The map need not be
    monotone. The bandwidth is the same everywhere, which is too wide where many scores lie near 0
    or 1.

    Parameters
    ----------
    bandwidth : float, default=None
        Bandwidth of the kernel, whose variance around p is about bandwidth·p·(1 − p). None uses
        n^(−2/5), where n is the total weight.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; raw scores (``"raw"``) are treated as log-odds.

    Attributes
    ----------
    map_ : LogOddsCurveMap
        The curve at knots dense enough for an error of 1e-6, unless that needs more than 4,096
        knots.
    bandwidth_ : float
        The bandwidth used; only with two classes.

    Notes
    -----
    This is the Nadaraya–Watson estimator. Scores below 1e-10 are treated as 1e-10, and likewise
    above 1 − 1e-10. Cost: one pass over the scores, and a few milliseconds.

    References
    ----------
    Popordanoska, Sayer and Blaschko (2022), A consistent and differentiable Lp canonical
    calibration error estimator, NeurIPS, for the kernel; ``KernelCalibrator`` of probmetrics for
    its use and the bandwidth.

    Examples
    --------
    >>> from trueodds import KernelCalibrator
    >>> calibrator = KernelCalibrator().fit([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1])
    >>> round(calibrator.bandwidth_, 3)
    0.574
    >>> calibrator.predict_proba([0.1, 0.25, 0.9])[:, 1].round(3)
    array([0.436, 0.481, 0.616])
    """

    title = "kernel calibration"
    complexity = 75
    is_monotone = False

    bandwidth_: float = field(init=False)

    bandwidth: float | None = None

    def _check_options(self) -> None:
        if self.bandwidth is not None:
            check_number(self.bandwidth, "bandwidth", above=True, otherwise="None or ")

    def _fit(self, rows: Rows) -> CalibrationMap:
        bandwidth = float(self.bandwidth or rows.total**-0.4)
        score = rows.scores
        p = score if self.scale == "probability" else sigmoid(log_odds(score, self.scale))
        kernel = BetaKernel(p, *rows.smoothed_counts(), bandwidth)
        self.bandwidth_ = bandwidth
        x, y = kernel.curve()
        return LogOddsCurveMap(x=x, y=y, scale=self.scale)


N_CELLS = 256
CURVE_END = float(np.log1p(-1e-10) - np.log(1e-10))
"""Log-odds of 1 − 1e-10; the curve is constant beyond."""
FIRST_KNOTS = 257
MOST_KNOTS = 4096
KNOT_TOLERANCE = 5e-7
"""Error at the middle between two knots above which another knot is inserted."""
SMALLEST_SPREAD = 1e-100  # a spread whose cube is still a number
CHUNK_VALUES = 1 << 18  # numbers that are held at a time


class BetaKernel:
    """The two sums.

    Parameters
    ----------
    p : ndarray of shape (n,)
        Probabilities of the rows.
    n_neg, n_pos : ndarray of shape (n,)
        Weights of the two classes in each row; neither sums to zero.
    bandwidth : float
        h above.
    """

    def __init__(self, p: Floats, n_neg: Floats, n_pos: Floats, bandwidth: float) -> None:
        self.bandwidth = bandwidth
        self.neg, self.pos = (self._terms(p, weight) for weight in (n_neg, n_pos))

    def _terms(self, p: Floats, weight: Floats) -> tuple[Floats, Floats]:
        """p/h, and the logarithm of weight/B, of each term of a sum."""
        from scipy.special import betaln

        p, weight = p[weight > 0], weight[weight > 0]
        if len(p) > 2 * N_CELLS:
            p, weight = _two_points(p, weight)
        share = p / self.bandwidth
        scale = np.log(weight / weight.max()) + np.log(weight.max())
        return share, scale - betaln(share + 1, (1 - p) / self.bandwidth + 1)

    def log_odds(self, z: Floats) -> Floats:
        """The log-odds of positives around scores whose log-odds are z."""
        difference = _log_sums(z, *self.pos) - _log_sums(z, *self.neg)
        return np.asarray(np.clip(difference, -CERTAIN_LOG_ODDS, CERTAIN_LOG_ODDS))

    def curve(self) -> tuple[Floats, Floats]:
        """Knots between which the curve may be taken as linear."""
        x = np.linspace(-CURVE_END, CURVE_END, FIRST_KNOTS)
        y = self.log_odds(x)
        rough = np.ones(len(x) - 1, dtype=bool)  # intervals not yet known to be linear enough
        while rough.any() and len(x) + rough.sum() <= MOST_KNOTS:
            left = np.flatnonzero(rough)
            middle = (x[left] + x[left + 1]) / 2
            value = self.log_odds(middle)
            guess = (y[left] + y[left + 1]) / 2
            off = np.zeros(len(rough) + 2, dtype=bool)
            # A parabola that is off by e here is off by e/4 in the middle of each half.
            off[left + 1] = np.abs(sigmoid(value) - sigmoid(guess)) > 4 * KNOT_TOLERANCE
            # Where the curve changes from bending one way to the other, its middle is on the
            # line by chance; but then its neighbors are off.
            off = (off[1:-1] | off[:-2] | off[2:]) & rough
            rough = np.repeat(off, 1 + rough)
            x = np.insert(x, left + 1, middle)
            y = np.insert(y, left + 1, value)
        return x, y


def _log_sums(z: Floats, share: Floats, scale: Floats) -> Floats:
    """Logarithms of Σ exp(share·z + scale), for each z."""
    result = np.empty(len(z))
    rows = max(1, CHUNK_VALUES // len(share))
    for begin in range(0, len(z), rows):
        terms = np.multiply.outer(z[begin : begin + rows], share)
        terms += scale
        largest = terms.max(axis=1)
        terms -= largest[:, None]
        np.exp(terms, out=terms)
        result[begin : begin + rows] = largest + np.log(terms.sum(axis=1))
    return result


def _two_points(p: Floats, weight: Floats) -> tuple[Floats, Floats]:
    """Two points for each cell, which share the first four moments of what is in it."""
    cell = (np.arcsin(np.sqrt(p)) * (2 / np.pi * N_CELLS)).astype(np.intp)
    cell = np.minimum(cell, N_CELLS - 1)
    mass = np.bincount(cell, weight, N_CELLS)
    used = mass > 0
    mass[~used] = 1.0
    mean = np.bincount(cell, weight * p, N_CELLS) / mass
    off = p - mean[cell]
    square = weight * off**2
    spread = np.sqrt(np.bincount(cell, square, N_CELLS) / mass)
    cube = np.bincount(cell, square * off, N_CELLS) / mass
    # Of mean 0 and variance 1, the points g ± √(1 + g²) have the skewness 2·g.
    half = np.divide(cube, 2 * spread**3, out=np.zeros(N_CELLS), where=spread > SMALLEST_SPREAD)
    root = np.sqrt(1 + half**2)
    points = np.concatenate([mean + spread * (half - root), mean + spread * (half + root)])
    shares = np.concatenate([mass * (root + half), mass * (root - half)]) / np.tile(2 * root, 2)
    kept = np.tile(used, 2) & (shares > 0)
    return np.clip(points[kept], 0.0, 1.0), shares[kept]
