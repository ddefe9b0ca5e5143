"""Moves of the tree: drawn as often as the law of trees says, for every tree of three ranks."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from trueodds.kernels.isotonic_tree import list_tree, redraw, rotate, width_of
from trueodds.kernels.random_stream import begin_stream, uniform

VALUES = np.array([0.0, 0.2, 0.3, 0.9, 1.0])
FREE = np.zeros(4), np.ones(4)
BOUNDED = np.array([0.0, 0.1, 0.15, 0.5]), np.array([1.0, 0.35, 0.8, 0.95])


def all_trees(first, last):
    """Every tree of the ranks first…last as {rank: (first, last) of its subtree}."""
    if first > last:
        yield {}
    for root in range(first, last + 1):
        for left, right in itertools.product(all_trees(first, root - 1), all_trees(root + 1, last)):
            yield {root: (first, last), **left, **right}


def naive_law(lower, upper):
    """The probability of each tree given the values: Π 1/size · 1/width."""
    density = {}
    for tree in all_trees(1, 3):
        product = 1.0
        for k, (i, j) in tree.items():
            width = min(VALUES[j + 1], upper[k]) - max(VALUES[i - 1], lower[k])
            product /= (j - i + 1) * width
        density[tuple(sorted(tree.items()))] = product
    total = sum(density.values())
    return {tree: weight / total for tree, weight in density.items()}


def tree_of(lo, hi):
    return tuple((k, (int(lo[k]), int(hi[k]))) for k in (1, 2, 3))


def begin():
    state = np.empty(1, dtype=np.uint64)
    begin_stream(state, np.uint64(0), 0)
    # A line down to the right: 1 above 2 above 3.
    return np.array([0, 1, 2, 3, 0]), np.array([0, 3, 3, 3, 0]), state


def assert_frequencies(seen, law):
    trees = list(law)
    assert set(seen) <= set(trees)
    observed = [seen.count(tree) for tree in trees]
    expected = [law[tree] * len(seen) for tree in trees]
    assert chisquare(observed, expected).pvalue > 1e-3


def test_three_ranks_have_five_trees():
    assert len(naive_law(*FREE)) == 5


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [FREE, BOUNDED], ids=["free", "bounded"])
def test_redrawn_trees_have_their_law(bounds):
    lo, hi, state = begin()
    rows, columns = np.empty((5, 5)), np.empty((5, 5))
    seen = []
    for _ in range(4000):
        redraw(bounds is BOUNDED, *bounds, VALUES, lo, hi, state, 1, 3, rows, columns)
        seen.append(tree_of(lo, hi))
    assert_frequencies(seen, naive_law(*bounds))


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [FREE, BOUNDED], ids=["free", "bounded"])
def test_rotations_keep_the_law_of_trees(bounds):
    lo, hi, state = begin()
    seen = []
    for step in range(40_000):
        rotate(*bounds, VALUES, lo, hi, state, 1 + int(uniform(state) * 3))
        if step % 10 == 9:  # nearly independent of the one before
            seen.append(tree_of(lo, hi))
    assert_frequencies(seen, naive_law(*bounds))


def test_a_listed_tree_has_every_subtree_in_a_row_after_its_root():
    # 4 above 2 (above 1, 3) and 5.
    lo, hi = np.array([0, 1, 1, 3, 1, 5, 0]), np.array([0, 1, 3, 3, 5, 5, 0])
    order, place = np.empty(7, dtype=np.int64), np.empty(7, dtype=np.int64)
    list_tree(lo, order, place)
    assert order[:5].tolist() == [4, 2, 1, 3, 5]
    for k in range(1, 6):
        below = order[place[k] : place[k] + hi[k] - lo[k] + 1]
        assert sorted(below.tolist()) == list(range(lo[k], hi[k] + 1))


def test_a_width_is_never_zero():
    v = np.array([0.0, 0.5, 0.5, 0.5, 1.0])
    assert width_of(*FREE, v, 2, 2, 2) == 1e-300
    assert width_of(*BOUNDED, VALUES, 1, 3, 2) == pytest.approx(0.8 - 0.15)
