"""Step functions against the sum over all binnings, one by one."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import betaln

from trueodds.numerics.smooth_curve.cells import LogOddsCells
from trueodds.numerics.smooth_curve.steps import EXPECTED_BOUNDARIES, fit_steps


def small_cells():
    z = np.arange(12.0)
    n_neg = np.array([5, 4, 6, 5, 3, 1, 0, 1, 0, 0, 1, 0.0])
    n_pos = np.array([0, 1, 0, 0, 1, 4, 6, 5, 4, 7, 3, 4.0])
    return LogOddsCells(z, n_neg, n_pos)


def every_binning(cells, prior):
    """The log-probability of each binning together with the data."""
    n, share = len(cells), EXPECTED_BOUNDARIES / len(cells)
    for k in range(n):
        for inner in combinations(range(1, n), k):
            starts = np.array([0, *inner])
            neg, pos = np.add.reduceat(cells.n_neg, starts), np.add.reduceat(cells.n_pos, starts)
            likelihood = betaln(pos + prior[1], neg + prior[0]) - betaln(prior[1], prior[0])
            boundaries = k * np.log(share) + (n - 1 - k) * np.log1p(-share)
            yield inner, likelihood.sum() + boundaries


def test_the_evidence_is_the_sum_over_all_binnings():
    cells = small_cells()
    steps = fit_steps(cells)
    terms = np.array([value for _, value in every_binning(cells, steps.prior)])
    assert steps.evidence[0] == pytest.approx(np.logaddexp.reduce(terms), abs=1e-9)


def test_drawn_binnings_have_their_posterior_frequencies():
    cells = small_cells()
    steps = fit_steps(cells)
    expected = np.zeros(len(cells))
    for inner, value in every_binning(cells, steps.prior):
        expected[list(inner)] += np.exp(value - steps.evidence[0])
    drawn = np.zeros(len(cells))
    for starts in steps.binnings:
        drawn[starts[1:-1]] += 1 / len(steps.binnings)
    np.testing.assert_allclose(drawn, expected, atol=4 * 0.5 / np.sqrt(len(steps.binnings)))


def test_members_jump_where_the_evidence_does():
    n = np.full(40, 1000.0)
    n_pos = np.where(np.arange(40) < 25, 100.0, 900.0)
    cells = LogOddsCells(np.linspace(-4, 4, 40), n - n_pos, n_pos)
    members = fit_steps(cells).members(cells.z, np.array([0.5]))
    assert sum(member.weight for member in members) == pytest.approx(0.5)
    for member in members:
        p = 1 / (1 + np.exp(-member.mean))
        np.testing.assert_allclose(p, n_pos / n, atol=0.02)
        assert np.median(member.deviation) < 0.05
