"""What is kept of evidence, for intervals."""

import numpy as np
import pytest
from scipy.special import expit

from trueodds.numerics.magnitude import deviation_unit
from trueodds.numerics.smooth_curve.kept import kept_of_columns, kept_of_rows


@pytest.mark.parametrize("scale", ["probability", "logit", "raw"])
def test_rows_give_the_cells_that_sorted_columns_give(scale):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 3, 50_000)
    y = (rng.random(50_000) < expit(z)).astype(np.intp)
    score = {"probability": expit(z), "logit": z, "raw": 1e6 * z}[scale]
    order = np.argsort(score)
    positive = y[order].astype(float)
    exact = kept_of_columns(score[order], 1 - positive, positive, scale)
    quick = kept_of_rows(score, y, scale)
    assert len(quick.z) <= 1500
    assert quick.n_pos.sum() == y.sum()
    assert quick.n_neg.sum() == (1 - y).sum()
    assert (np.diff(quick.z) > 0).all()
    # The share of positives up to any place is the same.
    places = np.linspace(-6, 6, 25) * (1e6 if scale == "raw" else 1)
    below = [
        np.interp(places, cells.z * cells.unit, np.cumsum(cells.n_pos)) for cells in (exact, quick)
    ]
    np.testing.assert_allclose(*below, atol=0.01 * y.sum())


def test_infinite_log_odds_stand_at_the_ends():
    score = np.array([-np.inf, -1.0, 1.0, np.inf])
    cells = kept_of_rows(score, np.array([0, 1, 0, 1]), "logit")
    assert cells.z[0] == -700
    assert cells.z[-1] == 700
    assert cells.n_pos.tolist() == [0, 1, 0, 1]


def test_the_unit_of_margins_is_a_power_of_two_near_their_spread():
    unit = deviation_unit(np.array([-3000.0, 0.0, 3000.0]), np.ones(3))
    assert np.log2(unit) == round(np.log2(unit))
    assert 500 < unit < 3000


@pytest.mark.parametrize("n", [2000, 60_000])
def test_scores_of_0_and_1_keep_cells_of_their_own(n):
    rng = np.random.default_rng(0)
    score = np.concatenate([[0.0], np.sort(rng.random(n)), [1.0]])
    n_pos = np.concatenate([[3.0], np.ones(n), [5.0]])
    cells = kept_of_columns(score, np.zeros(n + 2), n_pos, "probability")
    assert cells.z[[0, -1]].tolist() == [-700, 700]
    assert cells.n_pos[[0, -1]].tolist() == [3, 5]
    assert np.abs(cells.z[1:-1]).max() < 20
    many = kept_of_rows(np.repeat(score, 3), np.ones(3 * n + 6, dtype=np.intp), "probability")
    assert many.z[[0, -1]].tolist() == [-700, 700]
    assert many.n_pos[[0, -1]].tolist() == [3, 3]


def test_large_margins_are_not_taken_for_scores_of_0_and_1():
    score = np.linspace(-5e5, 5e5, 30_001)
    cells = kept_of_columns(score, np.ones(30_001), np.ones(30_001), "raw")
    assert cells.n_pos[0] > 1
