"""What all classes share."""

import numpy as np
import pytest

from trueodds.numerics.structured_softmax.features import relative_entropy, shared_features


@pytest.fixture
def q():
    return np.array([[0.25, 0.97, 1 / 3], [0.25, 0.02, 1 / 3], [0.5, 0.01, 1 / 3]])


def test_entropy_is_one_if_uniform_and_small_if_decided(q):
    entropy = relative_entropy(q, np.log(q))
    assert entropy[2] == pytest.approx(1)
    assert entropy[1] < 0.2
    assert entropy[0] == pytest.approx(1.5 * np.log(2) / np.log(3))


def test_the_four_features_are_those_of_the_formula(q):
    logs, top = np.log(q), q == q.max(axis=0)
    found = shared_features(q, logs, top, unit=2.0)
    centred = (logs - logs.mean(axis=0)) / 2
    np.testing.assert_allclose(found[0], centred)
    np.testing.assert_allclose(found[1], centred * (relative_entropy(q, logs) - 0.3))
    np.testing.assert_allclose(found[2], np.sqrt(q))
    np.testing.assert_array_equal(found[3], top)
