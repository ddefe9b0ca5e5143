"""Rows that heavy evidence presses together, against exact fractions and the likelihood itself."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given, strategies as st
from scipy.special import logit

from support.naive_isotonic import min_max
from trueodds import ScoreTable
from trueodds.calibrators._bayesian_isotonic.posterior import (
    LEAST_AT_END,
    LEAST_PRESSURE,
    pooled_starts,
)

N_ROWS = 200
HEAVY = st.sampled_from([0, 1, 3, 40_000, 3 * 10**5, 2 * 10**6, 6 * 10**6, 3 * 10**7])
ROWS = st.lists(
    st.tuples(HEAVY, HEAVY).filter(lambda row: sum(row) > 0), min_size=1, max_size=7
).map(lambda rows: np.array(rows, dtype=float).T)


def evidence(n_rows, weight=None):
    rng = np.random.default_rng(0)
    scores = rng.random(n_rows)
    return ScoreTable.from_arrays(scores, rng.random(n_rows) < scores, weight), np.argsort(scores)


def naive_starts(n_neg, n_pos):
    """Each boundary by itself, in fractions; and how near the nearest decision was."""
    fit = min_max(n_neg, n_pos)
    weight = [Fraction(value) for value in n_neg + n_pos]
    starts, margin = [0], 1.0
    for i in range(1, len(fit)):
        excess = sum(Fraction(n_pos[j]) - weight[j] * fit[j] for j in range(i))
        to_zero = sum(weight[j] for j in range(i, len(fit)) if fit[j] == 0)
        to_one = sum(weight[j] for j in range(i) if fit[j] == 1)
        pressed = excess >= LEAST_PRESSURE or max(to_zero, to_one) >= LEAST_AT_END
        if not (pressed and fit[i] == fit[i - 1]):
            starts.append(i)
        margin = min(margin, abs(float(excess) / LEAST_PRESSURE - 1))
    return starts, margin


@given(ROWS)
def test_runs_are_those_of_each_boundary_by_itself(rows):
    starts, margin = naive_starts(*rows)
    assume(margin > 1e-6)  # or rounding decides
    assert pooled_starts(*rows).tolist() == starts


@given(ROWS)
def test_the_other_class_in_the_other_order_has_the_same_runs(rows):
    n_neg, n_pos = rows
    starts, margin = naive_starts(n_neg, n_pos)
    assume(margin > 1e-6)
    mirrored = pooled_starts(n_pos[::-1], n_neg[::-1])
    ends = np.append(mirrored[1:], len(n_neg))
    assert sorted(len(n_neg) - ends) == starts


@pytest.mark.parametrize("factor", [0.999, 1.001])
def test_rows_are_joined_if_parting_them_costs_more_than_the_least_pressure(factor):
    # The cost of a small gap δ between the log-odds of the first two rows and the last two.
    n_neg, n_pos = np.array([3.0, 2.0, 7.0, 5.0]), np.array([5.0, 3.0, 4.0, 3.0])

    def log_likelihood(eta):
        return n_pos @ eta - (n_neg + n_pos) @ np.logaddexp(0, eta)

    together = logit(n_pos.sum() / (n_neg + n_pos).sum())
    delta, part = 1e-6, np.array([-0.5, -0.5, 0.5, 0.5])
    cost = log_likelihood(together - delta * part) - log_likelihood(together + delta * part)
    scale = factor * LEAST_PRESSURE / (cost / (2 * delta))
    starts = pooled_starts(n_neg * scale, n_pos * scale)
    assert (2 in starts) == (factor < 1)


def test_light_rows_beside_a_heavy_one_are_still_smoothed():
    weight = np.ones(N_ROWS)
    weight[evidence(N_ROWS)[1][N_ROWS // 2]] = 1e8
    table, _ = evidence(N_ROWS, weight)
    assert len(pooled_starts(table.n_neg, table.n_pos)) > 0.8 * N_ROWS


def test_nothing_is_pooled_on_a_hundred_thousand_ordinary_rows():
    table, _ = evidence(100_000)
    assert len(pooled_starts(table.n_neg, table.n_pos)) == len(table)


def test_groups_are_pooled_where_the_evidence_presses_them_together_and_nowhere_else():
    # Excess of positives below the boundary: 8e5 − 12e5/2 = 2e5 in the first case.
    n_neg, n_pos = np.array([4e5, 8e5, 0.0]), np.array([8e5, 4e5, 1e6])
    np.testing.assert_array_equal(pooled_starts(n_neg, n_pos), [0, 2])
    np.testing.assert_array_equal(pooled_starts(n_neg / 4, n_pos / 4), [0, 1, 2])
    # At the ends: negatives only, then positives only.
    n_neg, n_pos = np.array([1.0, 2e7, 0.0, 0.0]), np.array([0.0, 0.0, 2e7, 1.0])
    np.testing.assert_array_equal(pooled_starts(n_neg, n_pos), [0, 2])
    np.testing.assert_array_equal(pooled_starts(n_neg / 4, n_pos / 4), [0, 1, 2, 3])


def test_rows_of_increasing_frequency_are_not_joined_however_heavy():
    # At 1e30 the excess at their boundaries is rounding, but large.
    n_pos = np.arange(1.0, 30.0)
    starts = pooled_starts(1e30 * (30 - n_pos), 1e30 * n_pos)
    assert len(starts) == 29
