from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from trueodds.numerics.harrell_knots import KNOT_SHARES, harrell_knots, weighted_quantile

values = st.lists(
    st.tuples(st.floats(-5, 5, allow_subnormal=False), st.integers(1, 4)), min_size=1, max_size=20
)


@given(values, st.floats(0, 1))
def test_quantiles_of_weighted_rows_are_those_of_repeated_rows(rows, share):
    x = np.array([v for v, _ in rows])
    weight = np.array([w for _, w in rows])
    expected = np.quantile(np.repeat(x, weight), share)
    found = weighted_quantile(x, weight.astype(float), np.array([share]))[0]
    assert found == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("n_knots", sorted(KNOT_SHARES))
def test_knots_stand_at_harrells_quantiles(n_knots):
    z = np.random.default_rng(0).normal(size=500)
    found = harrell_knots(z, np.ones(500), n_knots)
    np.testing.assert_allclose(found, np.quantile(z, KNOT_SHARES[n_knots]))


def test_few_rows_have_their_outer_knots_at_the_fifth_from_either_end():
    z = np.arange(60.0)
    found = harrell_knots(z, np.ones(60), 4)
    assert found[[0, -1]].tolist() == [4.0, 55.0]


def test_ties_leave_fewer_knots_but_never_less_than_the_ends():
    z = np.array([0.0] * 995 + [1.0, 2.0, 3.0, 4.0, 5.0])
    assert harrell_knots(z, np.ones(1000), 5).tolist() == [0.0, 5.0]
    z = np.array([0.0] * 97 + [1.0] * 3)
    assert harrell_knots(z, np.ones(100), 5).tolist() == [0.0, 1.0]
    assert harrell_knots(np.zeros(9), np.ones(9), 3).tolist() == [0.0]
