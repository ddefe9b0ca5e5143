"""Rows that belong together: tests and intervals count clusters, not rows."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, ndtri

from trueodds.exceptions import InputError
from trueodds.metrics import (
    calibration_test,
    group_test,
    multicalibration_error,
    worst_group_error,
)


def clustered(rng, n_clusters, size, rate, dependence):
    """Labels whose chance is p, and that depend on each other within a cluster."""
    cluster = np.repeat(np.arange(n_clusters), size)
    shared, own = rng.normal(size=n_clusters)[cluster], rng.normal(size=len(cluster))
    p = expit({0.02: -4.6, 0.3: -1.0}[rate] + shared + 0.7 * own)
    luck = np.sqrt(dependence) * rng.normal(size=n_clusters)[cluster]
    luck += np.sqrt(1 - dependence) * rng.normal(size=len(cluster))
    return (luck < ndtri(p)).astype(int), p, cluster


def test_rows_that_occur_ten_times_are_worth_one():
    """Ten copies of each row, as a cluster, say no more than the row."""
    rng = np.random.default_rng(0)
    p = rng.random(600)
    y = (rng.random(600) < p**1.2).astype(int)
    alone = group_test(y, p, np.zeros(600, int))[0]
    copies = {"groups": np.zeros(6000, int), "clusters": np.repeat(np.arange(600), 10)}
    ten = group_test(np.repeat(y, 10), np.repeat(p, 10), **copies)[0]
    independent = group_test(np.repeat(y, 10), np.repeat(p, 10), np.zeros(6000, int))[0]
    assert independent.p_value < 1e-4
    assert 0.3 * alone.p_value < ten.p_value < 3 * alone.p_value + 0.02
    width = [one.whole.high - one.whole.low for one in (alone, ten, independent)]
    assert width[1] == pytest.approx(width[0], rel=0.1)
    assert width[2] < 0.5 * width[1]


@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_the_p_value_of_the_mean_is_that_of_a_t_test_of_clusters(rate):
    rng = np.random.default_rng(1)
    y, p, cluster = clustered(rng, 80, 6, rate, 0.5)
    p = np.full(len(p), p.mean())  # equal probabilities: the mean is all that is tested
    found = calibration_test(y, p, method="exact", clusters=cluster)
    sums = np.bincount(cluster, y - p)
    expected = stats.ttest_1samp(sums, 0.0).pvalue
    exact = calibration_test(y, p, method="exact").p_value
    assert exact < 1
    assert found.p_value == pytest.approx(
        max(expected, calibration_test(y, p, method="exact").p_value)
    )


def test_no_event_is_not_proof_though_clusters_do_not_vary():
    """Without an event the sums of clusters hardly differ; the exact test limits the p-value."""
    p = np.random.default_rng(2).uniform(0.0009, 0.0011, 2000)
    y, cluster = np.zeros(2000, int), np.repeat(np.arange(200), 10)
    found = calibration_test(y, p, method="exact", clusters=cluster, classes=[0, 1])
    assert found.p_value > 0.1


def test_names_of_clusters_and_order_of_rows_do_not_matter():
    rng = np.random.default_rng(3)
    y, p, cluster = clustered(rng, 100, 5, 0.3, 0.5)
    group = np.where(np.arange(500) % 3 == 0, "a", "b")
    order = rng.permutation(500)
    one = group_test(y, p, group, clusters=cluster)
    other = group_test(
        y[order], p[order], group[order], clusters=np.char.add("post ", cluster.astype(str))[order]
    )
    for a, b in zip(one, other, strict=True):
        assert a.p_value == pytest.approx(b.p_value)
        assert (a.value, a.rows) == (b.value, b.rows)
    assert worst_group_error(y, p, group, clusters=cluster).groups == one
    single = group_test(y, p, group, clusters=np.arange(500))
    assert all(c.p_value >= d.p_value for c, d in zip(single, group_test(y, p, group), strict=True))


def test_counts_are_rows_of_the_cluster():
    rng = np.random.default_rng(4)
    y, p, cluster = clustered(rng, 60, 4, 0.3, 0.5)
    counts = rng.integers(0, 4, len(y))
    short = group_test(y, p, np.zeros(len(y), int), clusters=cluster, counts=counts)[0]
    y, p, cluster = (np.repeat(column, counts) for column in (y, p, cluster))
    long = group_test(y, p, np.zeros(len(y), int), clusters=cluster)[0]
    assert short.p_value == pytest.approx(long.p_value)
    assert short.whole.low == pytest.approx(long.whole.low)


@pytest.mark.parametrize("method", ["cox", "hosmer_lemeshow", "ece", "mce", "rms"])
def test_tests_without_a_version_for_clusters_are_refused(method):
    with pytest.raises(InputError, match="assumes independent rows and has no version"):
        calibration_test([0, 1, 0, 1], [0.2, 0.7, 0.4, 0.6], method=method, clusters=[1, 1, 2, 2])


def test_wrong_clusters_are_refused():
    rows = [0, 1, 0, 1], [0.2, 0.7, 0.4, 0.6]
    with pytest.raises(InputError, match=r"clusters must have shape \(4,\); got \(3,\)"):
        calibration_test(*rows, method="exact", clusters=[1, 2, 3])
    with pytest.raises(InputError, match="at least 2 different values; got 1"):
        calibration_test(*rows, method="exact", clusters=[1, 1, 1, 1])


ALARMS = {
    "exact": lambda y, p, c, g: calibration_test(y, p, method="exact", clusters=c).p_value,
    "spiegelhalter": lambda y, p, c, g: calibration_test(y, p, clusters=c).p_value,
    "groups": lambda y, p, c, g: 0.0 if group_test(y, p, g, clusters=c)[0].flagged else 1.0,
    "multicalibration": lambda y, p, c, g: (
        multicalibration_error(y, p, g, clusters=c, n_resamples=99).p_value
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ALARMS)
@pytest.mark.parametrize(("n_clusters", "rate"), [(40, 0.3), (300, 0.02), (300, 0.3)])
def test_calibrated_clusters_raise_few_false_alarms(name, n_clusters, rate):
    rng = np.random.default_rng(5)
    runs = 200
    alarms = independent = 0
    for _ in range(runs):
        y, p, cluster = clustered(rng, n_clusters, 6, rate, 0.5)
        group = np.where(cluster % 2 == 0, "a", "b")
        alarms += ALARMS[name](y, p, cluster, group) < 0.05
        independent += ALARMS[name](y, p, None, group) < 0.05
    assert alarms <= 0.05 * runs + 2.6 * np.sqrt(0.05 * 0.95 * runs)
    if rate == 0.3:
        assert independent > alarms + 10  # as independent rows, they are flagged too often


@pytest.mark.slow
@pytest.mark.parametrize("rate", [0.02, 0.3])
def test_intervals_of_ratios_hold_with_clusters(rate):
    """The mean true probability of clusters drawn anew, 90% or more of the time."""
    rng = np.random.default_rng(6)
    _, p, _ = clustered(rng, 100_000, 6, rate, 0.0)
    truth, held = p.mean(), 0
    for _ in range(300):
        y, p, cluster = clustered(rng, 200, 6, rate, 0.5)
        found = group_test(y, p, np.zeros(len(y), int), clusters=cluster)[0]
        held += found.whole.ratio_low <= 1 <= found.whole.ratio_high
    assert truth > 0
    assert held >= 0.88 * 300
