"""Which models are averaged."""

import numpy as np
import pytest

from numerics.structured_rows import some_rows
from trueodds.numerics.structured_softmax.pool import NEGLIGIBLE, fit_pool, pool_weights


def test_weights_are_proportional_to_the_fifth_root_of_the_evidence():
    found = pool_weights(np.array([-10.0, -5.0, -10.0]))
    np.testing.assert_allclose(found / found[0], [1, np.e, 1])
    assert found.sum() == pytest.approx(1)


def test_members_of_little_weight_are_left_out():
    found = pool_weights(np.array([-10000.0, 0.0, 5 * np.log(NEGLIGIBLE / 2)]))
    np.testing.assert_array_equal(found, [0, 1, 0])


def test_the_best_that_was_learned_always_counts():
    found = pool_weights(np.array([0.0, -100.0, -80.0]))
    assert found[0] < 1
    assert found[1] == 0
    assert 0 < found[2] < 1e-6


def test_calibrated_scores_are_mostly_left_alone():
    members, weights = fit_pool(some_rows(1000, 3))
    assert members[0].base is None
    assert weights[0] > 0.5


def test_scores_of_another_scale_are_never_left_alone():
    members, _ = fit_pool(some_rows(1000, 3), as_they_are=False)
    assert all(member.base is not None for member in members)


def test_what_was_called_impossible_and_happened_rules_out_leaving_alone():
    rows = some_rows(300, 3)
    p = rows.p.copy()
    seen = rows.counts.argmax(axis=0)[0]
    p[seen, 0] = 0.0
    members, _ = fit_pool(type(rows)(p / p.sum(axis=0), rows.top, rows.counts))
    assert all(member.base is not None for member in members)
