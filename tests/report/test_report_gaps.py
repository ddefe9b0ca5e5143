import numpy as np
import pytest
from scipy import stats

from trueodds.compare import holm_adjust as holm
from trueodds.report._evidence import Event
from trueodds.report._gaps import binned_gaps, whole_gap, wilson


def test_holm_is_what_its_definition_gives_by_hand():
    adjusted = holm(np.array([0.01, 0.04, 0.03, 0.005]))
    np.testing.assert_allclose(adjusted, [0.03, 0.06, 0.06, 0.02])


def test_holm_never_exceeds_one_and_keeps_the_order():
    adjusted = holm(np.array([0.9, 0.5, 0.6]))
    np.testing.assert_allclose(adjusted, [1, 1, 1])


@pytest.mark.parametrize("hits", [0, 1, 7, 20])
def test_one_probability_gives_the_binomial_test(hits):
    event = Event(np.full(20, 0.3), np.arange(20) < hits, None)
    cdf, sf = stats.binom.cdf(hits, 20, 0.3), stats.binom.sf(hits - 1, 20, 0.3)
    assert whole_gap(event).p_value[0] == pytest.approx(min(1, 2 * min(cdf, sf)))


@pytest.mark.parametrize("weighted", [False, True])
def test_calibrated_groups_are_rejected_no_more_often_than_said(weighted):
    rng = np.random.default_rng(1)
    rejected = 0
    for _ in range(400):
        p = rng.beta(0.5, 5, 60)
        weight = rng.uniform(0.5, 2, 60) if weighted else None
        event = Event(p, rng.random(60) < p, weight)
        rejected += whole_gap(event).p_value[0] < 0.05
    assert rejected <= 400 * 0.05 + 2.6 * np.sqrt(400 * 0.05 * 0.95)


def test_the_test_has_power_in_the_tail_of_rare_events():
    rng = np.random.default_rng(2)
    p = np.full(4000, 0.002)
    assert whole_gap(Event(p, rng.random(4000) < 0.01, None)).p_value[0] < 1e-6


def test_certainty_that_was_wrong_is_proof():
    assert whole_gap(Event(np.zeros(5), np.array([0, 0, 0, 0, 1], bool), None)).p_value[0] == 0
    weight = np.full(5, 0.5)
    assert whole_gap(Event(np.zeros(5), np.array([0, 0, 0, 0, 1], bool), weight)).p_value[0] == 0
    assert whole_gap(Event(np.zeros(5), np.zeros(5, bool), weight)).p_value[0] == 1


def test_bins_hold_every_row_once_and_keep_ties_together():
    p = np.repeat([0.1, 0.2, 0.9], [50, 1, 49])
    gaps = binned_gaps(Event(p, p > 0.5, None), 4)
    assert gaps.rows.sum() == 100
    assert gaps.low[0] == 0
    assert gaps.high[-1] == 1
    assert (gaps.rows > 0).all()


def test_wilson_is_what_the_textbook_gives():
    low, high = wilson(np.array([0.2]), np.array([50.0]), 0.95)
    expected = stats.binomtest(10, 50).proportion_ci(0.95, method="wilson")
    assert (low[0], high[0]) == pytest.approx((expected.low, expected.high))
