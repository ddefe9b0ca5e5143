"""The flattest slopes by their definition."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from trueodds.kernels.isotonic import flattest_slopes


def by_definition(n_pos, weight):
    n = len(weight)
    return [
        min((1 + n_pos[i:j].sum()) / (1 + weight[i:j].sum()) for j in range(i + 1, n + 1))
        for i in range(n)
    ]


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=1, max_size=40))
def test_whole_numbers_give_the_exact_fractions(counts):
    n_pos = np.array([float(pos) for pos, _ in counts])
    weight = n_pos + [max(neg, 1) for _, neg in counts]
    assert flattest_slopes(n_pos, weight).tolist() == by_definition(n_pos, weight)


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_any_weights_agree_with_the_definition(scale):
    rng = np.random.default_rng(0)
    weight = scale * rng.random(300)
    n_pos = weight * (rng.random(300) < np.linspace(0, 1, 300))
    np.testing.assert_allclose(
        flattest_slopes(n_pos, weight), by_definition(n_pos, weight), rtol=1e-9
    )
