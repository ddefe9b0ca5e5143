from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, strategies as st

from support import naive_validation as naive
from trueodds.inputs import Weights
from trueodds.numerics.concordance import concordance

rows = st.lists(
    st.tuples(st.sampled_from([0.1, 0.2, 0.5, 0.7]), st.booleans()), min_size=4, max_size=30
).filter(lambda rows: 2 <= sum(hit for _, hit in rows) <= len(rows) - 2)


@given(rows)
def test_estimate_and_variance_are_those_of_all_pairs(rows):
    prob = np.array([p for p, _ in rows])
    hit = np.array([h for _, h in rows])
    found = concordance(prob, hit)
    c, variance = naive.delong(prob, hit.astype(float))
    assert found.estimate == pytest.approx(c, abs=1e-12)
    assert found.variance == pytest.approx(variance, abs=1e-12)


def test_equal_weights_change_nothing():
    rng = np.random.default_rng(0)
    prob, hit = rng.random(50), rng.random(50) < 0.4
    plain, weighted = (concordance(prob, hit, Weights(np.full(50, w))) for w in (1.0, 2.5))
    assert weighted.estimate == pytest.approx(plain.estimate)
    assert weighted.variance == pytest.approx(plain.variance)


def test_one_class_has_no_order():
    found = concordance(np.array([0.1, 0.2]), np.array([True, True]))
    assert np.isnan([found.estimate, found.variance]).all()
    single = concordance(np.array([0.1, 0.2, 0.3]), np.array([False, True, False]))
    assert single.estimate == 0.5
    assert np.isnan(single.variance)
