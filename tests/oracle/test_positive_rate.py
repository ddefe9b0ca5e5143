"""The share of positives among unlabeled rows: against a regression by hand, and by samples."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from trueodds.exceptions import InputError
from trueodds.metrics import estimate_positive_rate


def by_hand(y, p, others, level):
    """Least squares of y on p, predicted at the mean of the others; Wilson's interval."""
    n, m = len(y), len(others)
    design = np.column_stack([np.ones(n), p])
    (a, b), *_ = np.linalg.lstsq(design, y, rcond=None)
    share = a + b * others.mean()
    residual = np.sum((y - a - b * p) ** 2) / (n - 2)
    variance = np.sum((y - y.mean()) ** 2) / (n - 1)
    ratio = residual / variance
    z, t = stats.norm.ppf((1 + level) / 2), stats.t.ppf((1 + level) / 2, n - 2)
    ratio = min(1, max(ratio * t**2 / z**2, 1 / (n * y.mean() * (1 - y.mean()))))
    rows = 1 / (ratio * (1 / n + 1 / m))
    roots = np.roots(
        [1 + z**2 / rows, -2 * share - z**2 / rows, share**2]
    )  # (s − r)² = z² r (1 − r) / rows
    return share, *np.sort(roots.real), rows


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("n", [10, 41, 300])
def test_it_is_a_regression_with_wilsons_interval(seed, n):
    rng = np.random.default_rng([seed, n])
    p = rng.choice([0.0, 0.1, 0.5, 0.9, 1.0], n + 70)
    y = (rng.random(n + 70) < 0.2 + 0.6 * p)[:n].astype(float)
    y[:2] = 0, 1
    found = estimate_positive_rate(y, p[:n], p[n:], level=0.8)
    share, low, high, rows = by_hand(y, p[:n], p[n:], 0.8)
    assert found.estimate == pytest.approx(share, rel=1e-9)
    assert found.low == pytest.approx(low, rel=1e-9)
    assert found.high == pytest.approx(high, rel=1e-9)
    assert found.n_effective == pytest.approx(rows, rel=1e-9)
    assert (found.n_labeled, found.n_unlabeled, found.level) == (n, 70, 0.8)


def test_labels_in_both_orders_counts_and_columns():
    rng = np.random.default_rng(4)
    p, others = rng.random(60), rng.random(200)
    y = rng.random(60) < p
    plain = estimate_positive_rate(y, p, others)
    words = np.where(y, "right", "wrong")
    assert estimate_positive_rate(words, p, others, classes=["wrong", "right"]) == plain
    other = estimate_positive_rate(words, 1 - p, 1 - others, classes=["right", "wrong"])
    assert other.estimate == pytest.approx(1 - plain.estimate)
    assert other.low == pytest.approx(1 - plain.high)
    both = [np.column_stack([1 - s, s]) for s in (p, others)]
    assert estimate_positive_rate(y, *both) == plain
    counts = rng.integers(0, 4, 60)
    repeated = estimate_positive_rate(np.repeat(y, counts), np.repeat(p, counts), others)
    counted = estimate_positive_rate(y, p, others, counts=counts)
    assert counted.to_dict() == pytest.approx(repeated.to_dict(), rel=1e-12)
    several = rng.dirichlet([1, 1, 1], 260)
    answer = several.argmax(axis=1)
    truth = np.where(rng.random(260) < several.max(axis=1), answer, (answer + 1) % 3)
    found = estimate_positive_rate(truth[:60], several[:60], several[60:], classes=[0, 1, 2])
    assert found == estimate_positive_rate(
        (truth == answer)[:60], several[:60].max(axis=1), several[60:].max(axis=1)
    )


def test_few_rows_one_class_and_constant_scores_use_labels_alone():
    some = estimate_positive_rate([0, 1, 1, 1], [0.1, 0.8, 0.9, 0.7], [0.5] * 1000)
    assert some.estimate == 0.75
    same = estimate_positive_rate([1] * 40, np.linspace(0, 1, 40), [0.5] * 1000, classes=[0, 1])
    assert (same.estimate, same.high) == (1, 1)
    assert same.low == pytest.approx(1 / (1 + 1.6448536**2 / same.n_effective))
    flat = estimate_positive_rate([0, 1] * 20, [0.5] * 40, [0.5] * 1000)
    assert flat.n_effective == pytest.approx(1 / (1 / 40 + 1 / 1000))
    assert estimate_positive_rate([1], [0.9], [0.9], classes=[0, 1]).low < 0.2


@pytest.mark.slow
@pytest.mark.parametrize("n", [30, 150])
def test_the_interval_covers(n):
    rng = np.random.default_rng(n)
    held = 0
    for _ in range(600):
        z = rng.normal(1, 1.5, n + 500)
        p, y = 1 / (1 + np.exp(-3 * z)), rng.random(n + 500) < 1 / (1 + np.exp(-z))
        found = estimate_positive_rate(y[:n], p[:n], p[n:], classes=[False, True])
        held += found.low <= y[n:].mean() <= found.high
    assert 0.86 <= held / 600 <= 0.94


@pytest.mark.parametrize(
    ("others", "message"),
    [
        ([0.5, np.nan], "y_prob_unlabeled must not contain NaN"),
        ([1.5], "y_prob_unlabeled must lie in"),
        ([[0.2, 0.3, 0.5]], "must have the columns of y_prob"),
        ([], "y_prob_unlabeled"),
    ],
)
def test_bad_input_is_refused(others, message):
    with pytest.raises(InputError, match=message):
        estimate_positive_rate([0, 1], [0.2, 0.7], others)


@pytest.mark.filterwarnings("error")
def test_a_level_next_to_zero_has_an_interval():
    rng = np.random.default_rng(0)
    p = rng.random(60)
    y = rng.random(60) < p
    found = estimate_positive_rate(y, p, p, level=1e-320)
    assert found.low <= found.estimate <= found.high
