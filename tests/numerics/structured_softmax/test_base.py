"""Temperature, floor and mixing."""

import numpy as np
import pytest

from numerics.structured_rows import slope_by_differences, some_rows
from trueodds.numerics.structured_softmax.base import (
    LEAST_MIXING,
    Base,
    BaseLoss,
    fit_mixing_base,
    fit_plain_base,
    temperature_log_evidence,
)


def test_the_base_is_what_its_formula_says():
    p = np.array([[0.0, 0.2], [0.1, 0.3], [0.9, 0.5]])
    prior = np.array([0.5, 0.25, 0.25])
    powers = (p + 0.01) ** 0.7
    expected = 0.8 * powers / powers.sum(axis=0) + 0.2 * prior[:, None]
    base = Base(0.7, 0.01, 0.2, prior)
    np.testing.assert_allclose(base.mixed(p), expected, rtol=1e-13)
    np.testing.assert_allclose(base.logs(p), np.log(expected), rtol=1e-13)


@pytest.mark.parametrize("x", [(0.2, -4.0, -3.0), (-1.0, -15.0, -6.0), (0.0, -9.5, -1.0)])
@pytest.mark.parametrize("smoothed", [False, True])
def test_the_slope_of_the_loss_is_its_derivative(x, smoothed):
    rows = some_rows(200, 4, zeros=True)
    if smoothed:
        counts = 0.9 * rows.counts + 0.1 / 4
        rows = type(rows)(rows.p, rows.top, counts)
    loss = BaseLoss(rows, np.array([0.1, 0.2, 0.3, 0.4]))
    x = np.array(x)
    found = slope_by_differences(lambda x: loss(x)[0], x)
    np.testing.assert_allclose(loss(x)[1], found, rtol=1e-5, atol=1e-6)


def test_the_loss_is_the_same_in_many_chunks(monkeypatch):
    rows, prior, x = some_rows(200, 4), np.full(4, 0.25), np.array([0.2, -4.0, -3.0])
    whole = BaseLoss(rows, prior)(x)
    monkeypatch.setattr("trueodds.numerics.structured_softmax.base.CHUNK_VALUES", 60)
    parts = BaseLoss(rows, prior)(x)
    assert parts[0] == pytest.approx(whole[0], rel=1e-13)
    np.testing.assert_allclose(parts[1], whole[1], rtol=1e-10)


def test_a_temperature_that_was_put_in_is_found():
    base = fit_plain_base(some_rows(4000, 4, power=2.0))
    assert base.tau == pytest.approx(0.5, abs=0.03)
    assert base.mixing == pytest.approx(LEAST_MIXING)


def test_the_floor_of_a_plain_base_is_half_the_least_positive_probability():
    rows = some_rows(300, 4, zeros=True)
    assert fit_plain_base(rows).floor == pytest.approx(rows.p[rows.p > 0].min() / 2)


def test_a_share_of_arbitrary_labels_is_found():
    rows = some_rows(4000, 3, seed=1)
    rng = np.random.default_rng(2)
    counts = rows.counts.copy()
    wrong = rng.random(4000) < 0.2
    counts[:, wrong] = np.eye(3)[:, rng.integers(0, 3, wrong.sum())]
    base = fit_mixing_base(type(rows)(rows.p, rows.top, counts))
    assert base.mixing == pytest.approx(0.2, abs=0.05)
    assert base.tau == pytest.approx(1, abs=0.2)


def test_the_start_that_a_sample_prefers_ends_at_the_optimum_of_all_rows():
    rows = some_rows(6000, 3, power=2.0)
    base = fit_mixing_base(rows)
    x = np.log([base.tau, base.floor, base.mixing / (1 - base.mixing)])
    slope = BaseLoss(rows, base.prior)(x)[1]
    assert np.abs(slope).max() < 0.05


def test_the_evidence_of_a_temperature_is_below_its_likelihood_by_half_the_log_of_the_rows():
    for n in (200, 3200):
        rows = some_rows(n)
        base = fit_plain_base(rows)
        likelihood = float(np.vdot(rows.counts, base.logs(rows.p)))
        penalty = likelihood - temperature_log_evidence(rows, base)
        assert penalty == pytest.approx(0.5 * np.log(n), abs=1)
