"""No method that bins may cut a tie: instances of one score get the frequency of that score."""

import numpy as np
import pytest

from trueodds.calibrators import find_calibrator

BINNING = ["abb", "acp", "bbq", "enir", "histogram", "isotonic", "centered_isotonic", "venn_abers"]
BINNING += ["smooth_isotonic"]


def two_scores(n_low, n_high, positive, *, shuffled):
    """All of the lower score are negative, and ``positive`` of the higher one are not."""
    scores = np.repeat([0.0, 1.0], [n_low, n_high])
    y = np.arange(n_low + n_high) >= n_low + n_high - positive
    order = np.random.default_rng(0).permutation(len(y)) if shuffled else np.arange(len(y))
    return scores[order], y[order].astype(int)


@pytest.mark.parametrize("shuffled", [False, True])
@pytest.mark.parametrize(("n_low", "n_high", "positive"), [(1000, 60, 40), (300, 37, 25)])
@pytest.mark.parametrize("name", BINNING)
def test_a_tie_is_not_cut(name, n_low, n_high, positive, shuffled):
    scores, y = two_scores(n_low, n_high, positive, shuffled=shuffled)
    low, high = find_calibrator(name)().fit(scores, y).predict_proba([0.0, 1.0])[:, 1]
    assert low <= 0.01
    assert high == pytest.approx(positive / n_high, abs=0.017)


@pytest.mark.parametrize("name", BINNING)
def test_ties_in_the_middle_keep_their_frequency(name):
    # Increasing, so that methods which never fall can follow.
    scores = np.repeat([0.1, 0.4, 0.5, 0.9], [400, 600, 500, 300])
    rate = np.repeat([0.05, 0.3, 0.6, 0.95], [400, 600, 500, 300])
    rank = np.concatenate([np.arange(n) / n for n in (400, 600, 500, 300)])
    y = (rank < rate).astype(int)
    found = find_calibrator(name)().fit(scores, y).predict_proba([0.1, 0.4, 0.5, 0.9])[:, 1]
    np.testing.assert_allclose(found, [0.05, 0.3, 0.6, 0.95], atol=0.02)
