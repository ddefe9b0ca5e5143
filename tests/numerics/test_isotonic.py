"""Isotonic regression against its definition as a minimum of maxima, in exact fractions."""

from itertools import pairwise

import numpy as np
from hypothesis import given, strategies as st

from support.naive_isotonic import min_max
from trueodds.numerics.isotonic import block_means, isotonic_fit, laplace_ends

COUNTS = st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9)), min_size=1, max_size=7).map(
    lambda rows: np.array([(neg, pos + (neg + pos == 0)) for neg, pos in rows], dtype=float).T
)
"""Negatives and positives of each row; no row is empty."""


@given(COUNTS)
def test_values_are_the_highest_of_the_lowest_frequencies(counts):
    n_neg, n_pos = counts
    values, _ = isotonic_fit(n_pos, n_neg + n_pos)
    expected = np.array([float(value) for value in min_max(n_neg, n_pos)])
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-15)
    assert ((values == 0) == (expected == 0)).all()  # a frequency of 0 or 1 is met exactly
    assert ((values == 1) == (expected == 1)).all()


@given(COUNTS)
def test_blocks_are_the_runs_of_one_value_and_carry_their_frequency(counts):
    n_neg, n_pos = counts
    values, blocks = isotonic_fit(n_pos, n_neg + n_pos)
    assert (blocks[0], blocks[-1]) == (0, len(values))
    assert (np.diff(blocks) > 0).all()
    assert (np.diff(values[blocks[:-1]]) > 0).all()
    for begin, end in pairwise(blocks):
        assert (values[begin:end] == values[begin]).all()
        frequency = n_pos[begin:end].sum() / (n_neg + n_pos)[begin:end].sum()
        np.testing.assert_allclose(values[begin], frequency, rtol=1e-14)


@given(COUNTS)
def test_the_other_class_in_the_other_order_has_what_is_left(counts):
    n_neg, n_pos = counts
    values, _ = isotonic_fit(n_pos, n_neg + n_pos)
    mirrored, _ = isotonic_fit(n_neg[::-1], (n_neg + n_pos)[::-1])
    np.testing.assert_allclose(values, 1 - mirrored[::-1], rtol=0, atol=1e-15)


@given(COUNTS, st.data())
def test_a_row_of_weight_k_is_k_rows(counts, data):
    n_neg, n_pos = counts
    times = np.array(
        data.draw(st.lists(st.integers(1, 4), min_size=len(n_pos), max_size=len(n_pos)))
    )
    weighted, _ = isotonic_fit(n_pos * times, (n_neg + n_pos) * times)
    repeated, _ = isotonic_fit(np.repeat(n_pos, times), np.repeat(n_neg + n_pos, times))
    np.testing.assert_allclose(np.repeat(weighted, times), repeated, rtol=0, atol=1e-15)


def test_no_other_increasing_values_are_more_likely():
    rng = np.random.default_rng(0)
    n_neg, n_pos = rng.integers(1, 6, (2, 30)).astype(float)
    values, blocks = isotonic_fit(n_pos, n_neg + n_pos)
    assert 1 < len(blocks) - 1 < 30

    def likelihood(p):
        return n_pos @ np.log(p) + n_neg @ np.log1p(-p)

    for size in (1e-3, 0.1, 0.5):
        for _ in range(50):
            other = np.maximum.accumulate(np.clip(values + size * rng.normal(size=30), 0.01, 0.99))
            assert likelihood(other) < likelihood(values)


@given(COUNTS)
def test_laplace_ends_add_one_of_each_class_to_blocks_of_one_class(counts):
    n_neg, n_pos = counts
    _, blocks = isotonic_fit(n_pos, n_neg + n_pos)
    values, joined = laplace_ends(n_neg, n_pos, blocks)
    assert np.isin(joined, blocks).all()
    assert (values > 0).all()
    assert (values < 1).all()
    assert (np.diff(values[joined[:-1]]) > 0).all()
    for first, last in pairwise(joined):
        inner = [(a, b) for a, b in pairwise(blocks) if first <= a and b <= last]
        pure = sum(not n_neg[a:b].any() or not n_pos[a:b].any() for a, b in inner)
        weight = n_neg[first:last].sum() + n_pos[first:last].sum() + 2 * pure
        expected = (n_pos[first:last].sum() + pure) / weight
        np.testing.assert_allclose(values[first:last], expected)


@given(COUNTS)
def test_block_means_are_weighted_means_of_finite_scores_within_their_block(counts):
    n_neg, n_pos = counts
    weight = n_neg + n_pos
    _, blocks = isotonic_fit(n_pos, weight)
    score = np.append(-np.inf, np.linspace(-1.0, 2.0, len(weight)))[: len(weight)]
    means = block_means(score, weight, blocks[:-1])
    for (begin, end), mean in zip(pairwise(blocks), means, strict=True):
        finite = np.isfinite(score[begin:end])
        if not finite.any():
            assert mean == -np.inf
            continue
        inside, mass = score[begin:end][finite], weight[begin:end][finite]
        np.testing.assert_allclose(mean, np.average(inside, weights=mass), atol=1e-14)
        assert inside[0] <= mean <= inside[-1]
