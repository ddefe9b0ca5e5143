"""Moves of the tree: drawn as often as the law of trees says, for every tree of three ranks."""

import itertools

import numpy as np
import pytest
from scipy.stats import chisquare

from trueodds.kernels.bayesian_isotonic import RandomStream, SearchTree

VALUES = np.array([0.0, 0.2, 0.3, 0.9, 1.0])
BOUNDED = np.array([0.1, 0.15, 0.5]), np.array([0.35, 0.8, 0.95])


def all_trees(first, last):
    """Every tree of the ranks first…last as {rank: (first, last) of its subtree}."""
    if first > last:
        yield {}
    for root in range(first, last + 1):
        for left, right in itertools.product(all_trees(first, root - 1), all_trees(root + 1, last)):
            yield {root: (first, last), **left, **right}


def naive_law(bounds):
    """The probability of each tree given the values: Π 1/size · 1/width."""
    lower, upper = (np.zeros(3), np.ones(3)) if bounds is None else bounds
    density = {}
    for tree in all_trees(1, 3):
        product = 1.0
        for k, (i, j) in tree.items():
            width = min(VALUES[j + 1], upper[k - 1]) - max(VALUES[i - 1], lower[k - 1])
            product /= (j - i + 1) * width
        density[tuple(sorted(tree.items()))] = product
    total = sum(density.values())
    return {tree: weight / total for tree, weight in density.items()}


def shape_of(tree):
    return tuple((k, (int(tree.first[k]), int(tree.last[k]))) for k in (1, 2, 3))


def begin(bounds=None, values=VALUES):
    tree = SearchTree(3, RandomStream(0, 0), bounds)
    tree.values[:] = values
    # A line down to the right: 1 above 2 above 3.
    tree.first[:] = [0, 1, 2, 3, 0]
    tree.last[:] = [0, 3, 3, 3, 0]
    return tree


def assert_frequencies(seen, law):
    trees = list(law)
    assert set(seen) <= set(trees)
    observed = [seen.count(tree) for tree in trees]
    expected = [law[tree] * len(seen) for tree in trees]
    assert chisquare(observed, expected).pvalue > 1e-3


def test_three_ranks_have_five_trees():
    assert len(naive_law(None)) == 5


@pytest.mark.parametrize("bounds", [None, BOUNDED], ids=["free", "bounded"])
def test_redrawn_trees_have_their_law(bounds):
    tree, seen = begin(bounds), []
    for _ in range(4000):
        tree.sample_tree(1, 3)
        seen.append(shape_of(tree))
    assert_frequencies(seen, naive_law(bounds))


@pytest.mark.slow
@pytest.mark.parametrize("bounds", [None, BOUNDED], ids=["free", "bounded"])
def test_rotations_keep_the_law_of_trees(bounds):
    tree, numbers, seen = begin(bounds), RandomStream(1, 0), []
    for step in range(40_000):
        tree.rotate(1 + int(numbers.uniform() * 3))
        if step % 10 == 9:  # nearly independent of the one before
            seen.append(shape_of(tree))
    assert_frequencies(seen, naive_law(bounds))


@pytest.mark.parametrize("bounds", [None, BOUNDED], ids=["free", "bounded"])
def test_drawn_trees_have_values_that_rise_within_the_bounds(bounds):
    lower, upper = (np.zeros(3), np.ones(3)) if bounds is None else bounds
    tree, roots = begin(bounds), []
    for _ in range(300):
        tree.draw()
        values = tree.values[1:4]
        assert (np.diff(values) >= 0).all()
        assert ((lower <= values) & (values <= upper)).all()
        roots.append(int(np.flatnonzero((tree.first[1:4] == 1) & (tree.last[1:4] == 3))[0]))
    assert chisquare(np.bincount(roots, minlength=3)).pvalue > 1e-3


def test_a_listed_tree_has_every_subtree_in_a_row_after_its_root():
    # 4 above 2 (above 1, 3) and 5.
    tree = SearchTree(5, RandomStream(0, 0))
    tree.first[:] = [0, 1, 1, 3, 1, 5, 0]
    tree.last[:] = [0, 1, 3, 3, 5, 5, 0]
    tree.list_preorder()
    assert tree.order[:5].tolist() == [4, 2, 1, 3, 5]
    for k in range(1, 6):
        below = tree.order[tree.place[k] : tree.place[k] + tree.last[k] - tree.first[k] + 1]
        assert sorted(below.tolist()) == list(range(tree.first[k], tree.last[k] + 1))


def test_a_width_is_never_zero():
    assert begin(values=[0.0, 0.5, 0.5, 0.5, 1.0]).width(2, 2, 2) == 1e-300
    assert begin(BOUNDED).width(1, 3, 2) == pytest.approx(0.8 - 0.15)
