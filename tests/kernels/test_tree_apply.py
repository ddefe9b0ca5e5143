"""Rows sent down a tree, and the models of its nodes, by hand."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from trueodds.kernels.maps import linear_probabilities, route

# Node 0 asks whether attribute 0 is at most 1.5; its right child 2 has a branch for each of the
# three codes of attribute 1.
TREE = (
    np.array([0, 3]),  # n_values
    np.array([0, -1, 1, -1, -1, -1]),  # attribute
    np.array([1.5, 0, 0, 0, 0, 0]),  # cut
    np.array([0, 0, 2, 0, 0, 0]),  # first
    np.array([1, 2, 3, 4, 5]),  # children
)
NAN = np.nan


@pytest.mark.parametrize(
    ("row", "node"),
    [
        ([1.0, 0], 1),
        ([1.5, 0], 1),  # a cut belongs to the left
        ([1.6, 0], 3),
        ([9.0, 2], 5),
        ([NAN, 1], 4),  # filled with 2.0
        ([2.0, NAN], 5),  # filled with 2
        ([2.0, 3], 2),  # a code that was never seen stops at the inner node
        ([2.0, -1], 2),
    ],
)
def test_a_row_ends_at_its_node(row, node):
    found = route(np.array([row], dtype=float), np.array([2.0, 2.0]), *TREE)
    assert found.tolist() == [node]


def test_two_classes_have_one_model_and_never_reach_0_or_1():
    columns = np.array([[1.0, 2.0], [-1.0, 0.5], [1e6, 0.0], [-1e6, 0.0]])
    coef = np.array([[[0.5, -1.0, 0.25]], [[2.0, 0.0, 0.0]]])
    p = linear_probabilities(columns, np.array([0, 1, 1, 1], dtype=np.int32), coef)
    assert p[:2, 0] == pytest.approx(expit([0.5 - 2 + 0.25, -2.0]))
    assert p[2, 0] == np.nextafter(1, 0)
    assert 0 < p[3, 0] < 1e-300


def test_several_classes_go_through_the_softmax():
    rng = np.random.default_rng(0)
    columns, coef = rng.normal(size=(5, 3)), rng.normal(size=(2, 3, 4))
    columns[4] *= 1e4  # exp would overflow
    nodes = np.array([0, 1, 1, 0, 1], dtype=np.int32)
    expected = [
        softmax(coef[node, :, :3] @ row + coef[node, :, 3])
        for node, row in zip(nodes, columns, strict=True)
    ]
    np.testing.assert_allclose(linear_probabilities(columns, nodes, coef), expected, atol=1e-13)
