"""Closed-form standard errors against scipy, sums written out, and the jackknife."""

import numpy as np
import pytest
from scipy import stats
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from trueodds import metrics
from trueodds.inputs import Weights
from trueodds.metrics import compare_metric, confidence_interval
from trueodds.numerics.standard_errors import Spread, mean_spread

FIGURES = (
    metrics.log_loss,
    metrics.brier_score,
    metrics.accuracy,
    metrics.scaled_brier_score,
    metrics.c_statistic,
    metrics.observed_expected_ratio,
    metrics.calibration_intercept,
    metrics.root_mean_squared_error,
)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 1.5, 600)
    y = (rng.random(600) < expit(0.7 * z)).astype(int)
    return y, expit(z), rng.lognormal(0, 0.8, 600), rng.integers(0, 90, 600)


def test_a_mean_has_the_standard_error_and_skewness_of_textbooks(rows):
    y, p, *_ = rows
    loss = (p - y) ** 2
    mean, spread = mean_spread(loss)
    assert mean == pytest.approx(loss.mean())
    assert spread.error == pytest.approx(stats.sem(loss))
    assert spread.skewness == pytest.approx(stats.skew(loss) / np.sqrt(600))
    found = confidence_interval(metrics.brier_score, y, p)
    assert found.standard_error == pytest.approx(stats.sem(loss))


def test_the_interval_inverts_halls_transformation():
    spread = Spread(0.3, 0.2, 25.0)
    low, high = spread.interval(2.0, 0.9)
    for end, target in ((low, 1), (high, -1)):
        t = (2.0 - end) / 0.3
        x = t + 0.2 * t**2 / 3 + 0.2**2 * t**3 / 27 + 0.2 / 6
        assert x == pytest.approx(target * stats.t.ppf(0.95, 25))
    assert spread.p_value(2.0 - low) == pytest.approx(0.1)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
def test_counts_are_rows_and_importances_are_not(rows, figure):
    y, p, w, _ = rows
    k = np.random.default_rng(1).integers(1, 4, len(y))
    ends = ("estimate", "low", "high", "standard_error")
    counted = confidence_interval(figure, y, p, counts=k)
    written = confidence_interval(figure, np.repeat(y, k), np.repeat(p, k))
    for name in ends:
        assert getattr(counted, name) == pytest.approx(getattr(written, name), rel=1e-9)
    once, thousand = (confidence_interval(figure, y, p, sample_weight=f * w) for f in (1, 1000))
    assert once.standard_error == pytest.approx(thousand.standard_error)


@pytest.mark.parametrize("figure", FIGURES, ids=lambda f: f.__name__)
@pytest.mark.parametrize("kind", ["plain", "weighted", "clusters"])
def test_standard_errors_are_those_of_the_jackknife(rows, figure, kind):
    """Leaving out each row, or cluster, in turn; the figures are smooth, so both agree."""
    y, p, w, cluster = rows
    weight = w if kind == "weighted" else np.ones(len(y))
    unit = cluster if kind == "clusters" else np.arange(len(y))
    options = {"weighted": {"sample_weight": w}, "clusters": {"clusters": cluster}}.get(kind, {})
    found = confidence_interval(figure, y, p, **options)
    left_out = [
        figure(y[kept], p[kept], sample_weight=weight[kept])
        for kept in (unit != k for k in np.unique(unit))
    ]
    n = len(left_out)
    error = np.sqrt((n - 1) / n * ((left_out - np.mean(left_out)) ** 2).sum())
    assert found.standard_error == pytest.approx(error, rel=0.03)


def test_weighted_and_clustered_means_are_sums_over_rows_and_clusters(rows):
    y, p, w, cluster = rows
    loss = -np.log(np.where(y, p, 1 - p))
    names = np.unique(cluster)
    sums = np.array([(loss - loss.mean())[cluster == k].sum() for k in names])
    robust = np.sqrt((sums**2).sum() * len(names) / (len(names) - 1)) / len(y)
    found = confidence_interval(metrics.log_loss, y, p, clusters=cluster)
    assert found.standard_error == pytest.approx(robust)
    mean = (w * loss).sum() / w.sum()
    square = (w**2 * (loss - mean) ** 2).sum() / w.sum() ** 2
    effective = w.sum() ** 2 / (w**2).sum()
    error = np.sqrt(square * effective / (effective - 1))
    assert Spread.of(loss - mean, Weights(w)).error == pytest.approx(error)
    weighted = confidence_interval(metrics.log_loss, y, p, sample_weight=w)
    assert weighted.standard_error == pytest.approx(error)


def test_the_ratio_of_observed_to_expected_is_that_of_two_sums(rows):
    y, p, *_ = rows
    ratio = y.sum() / p.sum()
    error = np.sqrt(((y - ratio * p) ** 2).sum() * 600 / 599) / p.sum()
    found = confidence_interval(metrics.observed_expected_ratio, y, p)
    assert (found.estimate, found.standard_error) == pytest.approx((ratio, error))
    assert found.low < ratio < found.high


def test_slopes_of_clusters_have_the_sandwich_of_their_scores(rows):
    y, p, _, cluster = rows
    z = logit(p)
    model = LogisticRegression(C=1e12, tol=1e-12).fit(z[:, None], y)
    q = model.predict_proba(z[:, None])[:, 1]
    design = np.stack([np.ones(len(y)), z], axis=1)
    bread = np.linalg.inv((design * (q * (1 - q))[:, None]).T @ design)
    names = np.unique(cluster)
    scores = np.array([((y - q)[:, None] * design)[cluster == k].sum(axis=0) for k in names])
    robust = bread @ (scores.T @ scores) @ bread * len(names) / (len(names) - 1)
    found = confidence_interval(metrics.calibration_slope, y, p, clusters=cluster)
    assert found.standard_error == pytest.approx(np.sqrt(robust[1, 1]), rel=1e-3)
    plain = confidence_interval(metrics.calibration_slope, y, p)
    assert plain.standard_error == pytest.approx(np.sqrt(bread[1, 1]), rel=1e-3)


def test_the_difference_of_two_models_is_paired(rows):
    y, p, *_ = rows
    q = expit(0.7 * np.log(p / (1 - p)))
    loss = [-np.log(np.where(y, prob, 1 - prob)) for prob in (p, q)]
    found = compare_metric(metrics.log_loss, y, p, q)
    gap = loss[0] - loss[1]
    assert found.difference == pytest.approx(gap.mean())
    assert found.p_value == pytest.approx(stats.ttest_1samp(gap, 0).pvalue, abs=0.01)
    drawn = compare_metric(metrics.log_loss, y, p, q, method="bca", random_state=0)
    width = found.high - found.low
    assert drawn.low == pytest.approx(found.low, abs=0.1 * width)
    assert drawn.high == pytest.approx(found.high, abs=0.1 * width)
    same = compare_metric(metrics.log_loss, y, p, p)
    assert (same.difference, same.low, same.high, same.p_value) == (0, 0, 0, 1)


def test_the_difference_of_two_c_statistics_is_delongs(rows):
    """All pairs, by covariances of the placements."""
    y, p, *_ = rows
    q = np.random.default_rng(2).permutation(p) * 0.3 + p * 0.7
    events, others = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    placed = []
    for prob in (p, q):
        wins = (prob[events][:, None] > prob[others]) + (prob[events][:, None] == prob[others]) / 2
        placed.append((wins.mean(axis=1), wins.mean(axis=0)))
    of_events = np.cov([placed[0][0], placed[1][0]])
    of_others = np.cov([placed[0][1], placed[1][1]])
    covariance = of_events / len(events) + of_others / len(others)
    error = np.sqrt(covariance[0, 0] + covariance[1, 1] - 2 * covariance[0, 1])
    found = compare_metric(metrics.c_statistic, y, p, q)
    assert found.difference == pytest.approx(placed[0][0].mean() - placed[1][0].mean())
    assert (found.high - found.low) / 2 == pytest.approx(1.645 * error, rel=0.03)


def test_without_variation_a_share_of_pairs_has_the_bound_of_the_smaller_class():
    y = np.repeat([0, 1], [30, 12])
    found = confidence_interval(metrics.c_statistic, y, np.arange(42) / 50)
    assert (found.estimate, found.high) == (1, 1)
    assert found.low == pytest.approx(0.05 ** (1 / 12))
