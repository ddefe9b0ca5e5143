"""Generators: the labels agree with the probabilities that they claim."""

import inspect

import numpy as np
import pytest

from trueodds import BetaCalibrator
from trueodds.exceptions import InputError
from trueodds_studies import datasets

MAKERS = [getattr(datasets, name) for name in datasets.__all__ if name.startswith("make_")]


@pytest.mark.parametrize("make", MAKERS)
def test_labels_are_calibrated_to_the_true_probability(make):
    """In ten bins of the claimed probability the labels' mean is that of the bin (4 sigmas)."""
    options = {"balanced": False} if "balanced" in inspect.signature(make).parameters else {}
    sample = make(40_000, random_state=1, **options)
    y, p = sample.y, sample.probability
    if p.ndim == 2:
        np.testing.assert_allclose(p.sum(axis=1), 1)
        y, p = (y == 3), p[:, 3]
    bins = np.minimum((10 * p).astype(int), 9)
    for b in np.unique(bins):
        rows = bins == b
        error = np.sqrt(np.sum(p[rows] * (1 - p[rows])))
        assert abs(np.sum(y[rows] - p[rows])) <= 4 * error + 1e-9


@pytest.mark.parametrize("make", MAKERS)
def test_the_seed_decides_everything(make):
    a, b, c = make(50, random_state=3), make(50, random_state=3), make(50, random_state=4)
    for left, right in zip(a, b, strict=True):
        np.testing.assert_array_equal(left, right)
    assert not np.array_equal(a[0], c[0])
    assert len(a[0]) == len(a.y) == len(a.probability) == 50


@pytest.mark.parametrize("make", MAKERS)
def test_a_bad_number_of_rows_is_refused(make):
    with pytest.raises(InputError, match="n must be a whole number of at least 1; got 0"):
        make(0)


def test_repeated_evidence_is_undone_by_beta_calibration_with_a_third():
    sample = datasets.make_repeated_evidence(200_000, copies=3)
    fitted = BetaCalibrator().fit(sample.scores, sample.y).map_
    assert fitted.a == pytest.approx(1 / 3, abs=0.01)
    assert fitted.b == pytest.approx(1 / 3, abs=0.01)
    assert fitted.c == pytest.approx(0, abs=0.02)


def test_beta_scores_have_a_beta_map():
    sample = datasets.make_beta_scores(10, negative=(1, 3), positive=(3, 1))
    odds = sample.probability / (1 - sample.probability)
    np.testing.assert_allclose(odds, (sample.scores / (1 - sample.scores)) ** 2)


def test_the_mixture_has_the_papers_ideal_losses():
    """Allikivi and Kull, section 5.1: Brier score 0.1620 and log-loss 0.4741 (printed swapped)."""
    _, y, p = datasets.make_beta_mixture(400_000)
    assert np.mean((p - y) ** 2) == pytest.approx(0.1621, abs=0.001)
    assert -np.mean(np.where(y, np.log(p), np.log1p(-p))) == pytest.approx(0.4741, abs=0.002)


def test_compressed_scores_are_right_below_a_half_and_hot_above():
    scores, _, p = datasets.make_compressed_scores(1000, temperature=5)
    low = scores <= 0.5
    np.testing.assert_allclose(p[low], scores[low])
    z = np.log(scores[~low] / (1 - scores[~low]))
    np.testing.assert_allclose(np.log(p[~low] / (1 - p[~low])), z / 5)
    with pytest.raises(InputError, match="temperature must be positive"):
        datasets.make_compressed_scores(10, temperature=0)


def test_a_disc_in_a_ring_has_a_third_of_positives_inside():
    X, y, p = datasets.make_disc_and_ring(20_000)
    assert y.mean() == pytest.approx(0.36, abs=0.01)
    assert np.mean((p > 0.5) == y) > 0.98
    assert np.hypot(*X[y == 1].T).mean() < 0.8 < 1.8 < np.hypot(*X[y == 0].T).mean()


def test_led24_has_seven_segments_that_matter():
    X, y, p = datasets.make_led24(5000)
    assert X.shape == (5000, 24)
    assert np.mean(p.argmax(axis=1) == y) == pytest.approx(0.74, abs=0.02)  # Breiman's Bayes rate
    with pytest.raises(InputError, match="noise must lie between 0 and 1"):
        datasets.make_led24(10, noise=1)


def test_sea_and_regions_have_their_shares():
    assert datasets.make_sea(20_000).y.mean() == pytest.approx(0.38, abs=0.02)
    assert set(np.unique(datasets.make_regions(5000).probability)) == {0.1, 0.65, 0.8, 0.9}


def test_decision_lists_are_those_of_weka():
    """With Java's random numbers for the seed 1, which its documentation defines."""
    X, y, _ = datasets.make_decision_list()
    assert X.shape == (100, 10)
    assert y[0] == 0  # the first rule's class
    first = np.array([0.7308781907032909, 0.41008081149220166, 0.20771484130971707])
    np.testing.assert_array_equal(X[0, :3], first > 0.5)
    for row, label in zip(X, y, strict=True):  # no noise
        assert set(y[(row == X).all(axis=1)]) == {label}
    with pytest.raises(InputError, match="random_state must be a whole number"):
        datasets.make_decision_list(10, random_state=None)
