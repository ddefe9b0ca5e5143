"""Kernel calibration."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueodds.calibrators import Calibrator
from trueodds.inputs import check_number
from trueodds.maps import CalibrationMap, LogOddsCurveMap
from trueodds.numerics.beta_kernel import BetaKernel
from trueodds.numerics.log_odds import log_odds, sigmoid
from trueodds.rows import Rows

__all__ = ["KernelCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class KernelCalibrator(Calibrator):
    """The frequency of positives around each score, nearer ones counting more.

    The kernel is a beta distribution, which fits into [0, 1] and becomes narrow towards the ends.
    Use it to see the shape of a calibration map without a model of it. It is not monotone, and
    its bandwidth, the same everywhere, is too wide where scores crowd near 0 or 1.

    Parameters
    ----------
    bandwidth : float, default=None
        The variance of the kernel around p is about bandwidth·p·(1 − p). None: n^(−2/5), where n
        is the weight of all instances.
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores; margins (``"score"``) are taken as log-odds.

    Attributes
    ----------
    map_ : LogOddsCurveMap
        The curve at knots that are close enough for an error of 1e-6, unless it would take more
        than 4,096.
    bandwidth_ : float
        The bandwidth used; only with two classes.

    Notes
    -----
    The Nadaraya–Watson estimator. Scores below 1e-10 are mapped as 1e-10, and likewise above.
    Cost: one pass over the scores, and a few milliseconds.

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
        p = score if self.input == "probability" else sigmoid(log_odds(score, self.input))
        kernel = BetaKernel(p, *rows.smoothed_counts(), bandwidth)
        self.bandwidth_ = bandwidth
        x, y = kernel.curve()
        return LogOddsCurveMap(x=x, y=y, input=self.input)
