"""ABB: averaging over all Bayesian binnings."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.exceptions import BinnedScoresWarning, warn_user
from trueodds.inputs import Floats, check_integer, check_number
from trueodds.kernels.binnings import average_over_binnings
from trueodds.maps import CalibrationMap, StepMap
from trueodds.numerics.binning import edges_between
from trueodds.numerics.log_odds import sigmoid
from trueodds.rows import Rows

__all__ = ["ABBCalibrator"]

PRIOR_LIMIT = 0.005
"""Least distance of a bin's prior mean, which is its midpoint, from 0 and 1 (as in BBQ)."""


@dataclass(kw_only=True, eq=False, repr=False)
class ABBCalibrator(Calibrator):
    """Average of all ways to cut the scores into bins, weighted by posterior probability (ABB).

    Use it with a few hundred to a few thousand rows. A histogram fixes its edges; ABB averages over
    all possible places of each edge. The map need not be monotone.

    Parameters
    ----------
    expected_boundaries : float or None, default=10.0
        Expected number of boundaries between bins under the prior. They form a Poisson process
        along the score: a boundary lies between two neighboring scores with probability 1 −
        exp(−expected_boundaries·gap/range). None makes all binnings equally probable; this gives
        about half as many bins as distinct scores and hardly smooths.
    max_rows : int, default=10000
        Largest number of distinct scores. A longer table is coarsened to this size, with a warning.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; see :class:`~trueodds.BBQCalibrator`.

    Attributes
    ----------
    map_ : StepMap
        One step per distinct score.
    mean_n_bins_ : float
        Posterior mean of the number of bins; binary problems only.

    Notes
    -----
    The likelihood of a bin is that of BBQ: a Beta prior with a weight of two rows, whose mean is
    the midpoint of the bin's edges. A bin with n₁ positives among n rows and prior mean q gets the
    posterior mean (n₁ + 2q)/(n + 2). Dynamic programming sums all 2^(n−1) binnings of n distinct
    scores exactly, in O(n²) time and O(n) memory: about 10 s for n = 10⁴. Prediction is a binary
    search (the paper's Table VII has O(N²)).

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), Binary classifier calibration using a Bayesian
    non-parametric approach, SDM. The prior on boundaries is that of Lustgarten, Visweswaran,
    Gopalakrishnan and Cooper (2011), Application of an efficient Bayesian discretization method
    to biomedical data.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import ABBCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(500)
    >>> fitted = ABBCalibrator().fit(scores, rng.random(500) < np.where(scores < 0.6, 0.2, 0.8))
    >>> fitted.predict_proba([0.3, 0.9])[:, 1].round(1)  # a step at 0.6
    array([0.2, 0.8])
    """

    mean_n_bins_: float = field(init=False)

    title = "ABB calibration"
    label = "ABB"
    complexity = 120
    is_monotone = False

    expected_boundaries: float | None = 10.0
    max_rows: int = 10000

    def _check_options(self) -> None:
        if self.expected_boundaries is not None:
            check_number(
                self.expected_boundaries, "expected_boundaries", above=True, otherwise="None or "
            )
        check_integer(self.max_rows, "max_rows", 3)

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        if len(table) > self.max_rows:
            warn_user(
                f"{len(table)} distinct scores are too many to average over all their binnings "
                f"in O(n²); they were coarsened to {self.max_rows}. Raise max_rows for an "
                "exact result, or use BBQCalibrator or ENIRCalibrator.",
                BinnedScoresWarning,
            )
            table = table.coarsen(int(self.max_rows))
        score = table.score
        probability = score if self.scale == "probability" else sigmoid(score)
        inner = probability[:-1] / 2 + probability[1:] / 2
        values, self.mean_n_bins_ = average_over_binnings(
            np.concatenate([[0.0], inner, [1.0]]),
            table.n_pos,
            table.n_neg,
            *self._log_prior(probability),
            PRIOR_LIMIT,
        )
        edges = edges_between(score[:-1], score[1:])
        return StepMap(edges=edges, values=np.clip(values, 0.0, 1.0), scale=self.scale)

    def _log_prior(self, probability: Floats) -> tuple[Floats, Floats]:
        """Return log priors of a boundary and of none, after each score but the last."""
        gaps = np.diff(probability)
        if self.expected_boundaries is None:
            even = np.full(len(gaps), np.log(0.5))
            return even, even
        width = float(gaps.sum())
        if width == 0:  # margins so high that the logistic function cannot tell them apart
            gaps, width = np.ones(len(gaps)), float(len(gaps))
        rate = float(self.expected_boundaries) * gaps / width if len(gaps) else gaps
        with np.errstate(divide="ignore"):  # two such margins are never apart
            return np.log(-np.expm1(-rate)), -rate
