"""Curves with jumps: step functions, averaged over where the steps may lie.

A smooth process cannot follow a jump, such as that of a model with few distinct scores or of a rule
that overrides it. A bin from cell a to cell b with a Beta prior has the marginal likelihood
L(a, b), and a boundary lies after each cell with the same prior probability. Summing over all
binnings from the left gives their evidence, and walking back draws binnings from their posterior.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.smooth_curve.cells import LogOddsCells
from trueodds.numerics.smooth_curve.posterior import CurveMember

__all__ = ["Steps", "fit_steps"]

EXPECTED_BOUNDARIES = 5.0
N_DRAWN = 32
"""Binnings that stand for all."""


@dataclass(frozen=True, eq=False)
class Steps:
    """Step functions drawn from their posterior, and the evidence for there being steps.

    Parameters
    ----------
    cells : LogOddsCells
    evidence : ndarray of shape (1,)
        The logarithm of the marginal likelihood of all step functions together.
    binnings : list of ndarray
        Where the bins of each drawn function begin; the number of cells ends the last.
    prior : (float, float)
        Pseudo-counts of negatives and positives in every bin.
    """

    cells: LogOddsCells
    evidence: Floats
    binnings: list[np.ndarray]
    prior: tuple[float, float]

    def members(self, knots: Floats, weight: Floats) -> list[CurveMember]:
        """The drawn functions, which share a weight, at knots of the log-odds axis."""
        if not weight[0]:
            return []
        from scipy.special import digamma, polygamma

        nearest = np.searchsorted((self.cells.z[1:] + self.cells.z[:-1]) / 2, knots, side="right")
        members = []
        for starts in self.binnings:
            neg = np.add.reduceat(self.cells.n_neg, starts[:-1]) + self.prior[0]
            pos = np.add.reduceat(self.cells.n_pos, starts[:-1]) + self.prior[1]
            # Log-odds of a Beta variable have this mean and variance.
            mean = digamma(pos) - digamma(neg)
            deviation = np.sqrt(polygamma(1, pos) + polygamma(1, neg))
            bins = np.searchsorted(starts, nearest, side="right") - 1
            factor = np.zeros((len(knots), len(mean)))
            factor[np.arange(len(knots)), bins] = deviation[bins]
            members.append(CurveMember(float(weight[0]) / len(self.binnings), mean[bins], factor))
        return members


def fit_steps(cells: LogOddsCells) -> Steps:
    """Sum over all binnings, and draw some."""
    from scipy.special import betaln

    n = len(cells)
    rate = float((cells.n_pos.sum() + 0.5) / (cells.total + 1))
    prior = (1 - rate, rate)
    pos = np.append(0.0, np.cumsum(cells.n_pos))
    neg = np.append(0.0, np.cumsum(cells.n_neg))
    boundary = min(EXPECTED_BOUNDARIES / n, 0.5)
    cut, uncut = np.log(boundary), np.log1p(-boundary)
    empty = float(betaln(prior[1], prior[0]))
    forward = np.zeros(n + 1)
    terms: list[Floats] = []  # of each end, over all beginnings of its last bin
    for b in range(1, n + 1):
        a = np.arange(b)
        likelihood = betaln(pos[b] - pos[:b] + prior[1], neg[b] - neg[:b] + prior[0]) - empty
        term = forward[:b] + likelihood + (b - 1 - a) * uncut + np.where(a > 0, cut, 0.0)
        top = term.max()
        forward[b] = top + np.log(np.exp(term - top).sum())
        terms.append(term - forward[b])
    rng = np.random.default_rng(0)
    binnings = []
    for _ in range(N_DRAWN):
        starts = [n]
        while starts[-1] > 0:
            probability = np.exp(terms[starts[-1] - 1])
            starts.append(int(rng.choice(len(probability), p=probability / probability.sum())))
        binnings.append(np.array(starts[::-1]))
    return Steps(cells, forward[n:], binnings, prior)
