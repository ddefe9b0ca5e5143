"""The average over all binnings against a list of them."""

import numpy as np
import pytest

from support.naive_isotonic import naive_abb
from trueodds.kernels.binnings import average_over_binnings


def average(edges, n_pos, n_neg, prior):
    return average_over_binnings(
        np.array(edges), np.array(n_pos), np.array(n_neg), np.log(prior), np.log1p(-prior), 0.005
    )


@pytest.mark.parametrize("rows", [1, 2, 5, 9])
def test_values_are_the_mean_over_all_binnings(rows):
    rng = np.random.default_rng(rows)
    edges = np.concatenate([[0.0], np.sort(rng.random(rows - 1)), [1.0]])
    n_pos, n_neg = rng.integers(0, 6, (2, rows)).astype(float)
    prior = rng.uniform(0.05, 0.95, rows - 1)
    values, bins = average(edges, n_pos, n_neg, prior)
    np.testing.assert_allclose(values, naive_abb(edges, n_pos, n_neg, prior), rtol=1e-12)
    assert 1 <= bins <= rows


def test_the_number_of_bins_by_hand():
    # One bin with prior mean ½ has B(2, 2)/B(1, 1) = 1/6; two bins, of means ¼ and ¾ with one
    # negative and one positive, have ¾ each: ⁹⁄₁₆ against ⅙ at even odds.
    values, bins = average([0.0, 0.5, 1.0], [0.0, 1.0], [1.0, 0.0], np.array([0.5]))
    two = (9 / 16) / (9 / 16 + 1 / 6)
    assert bins == pytest.approx(1 + two)
    # Posterior means: ½ in the one bin; (0 + 2·¼)/3 and (1 + 2·¾)/3 in the two.
    assert values == pytest.approx([(1 - two) / 2 + two / 6, (1 - two) / 2 + two * 5 / 6])


def test_a_boundary_of_probability_zero_never_is():
    with np.errstate(divide="ignore"):
        values, bins = average([0.0, 0.4, 1.0], [3.0, 1.0], [1.0, 3.0], np.array([0.0]))
    assert bins == pytest.approx(1)
    assert values == pytest.approx([0.5, 0.5])
