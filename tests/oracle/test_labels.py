"""Metrics of several labels: each label by itself, computed by hand."""

from __future__ import annotations

import numpy as np
import pytest

from oracle import oracles
from trueodds.metrics import brier_score, evaluate_labels, log_loss, per_label


def labels_and_probabilities():
    """Three labels; one that no row has, and scores that tie or are 0 and 1."""
    rng = np.random.default_rng(7)
    p = rng.choice([0.0, 0.1, 0.35, 0.35, 0.8, 1.0], (90, 3))
    y = (rng.random((90, 3)) < 0.1 + 0.8 * p**2).astype(int)
    y[:, 2] = 0
    p[:, 2] = np.minimum(p[:, 2], 0.8)
    return y, p


@pytest.mark.parametrize(("metric", "oracle"), [(log_loss, "log_loss"), (brier_score, "brier")])
def test_per_label_is_the_metric_of_each_column(metric, oracle):
    y, p = labels_and_probabilities()
    weight = np.linspace(0.5, 2, len(y))
    inner = np.clip(p, 0.05, 0.95)
    expected = [
        getattr(oracles, oracle)(y[:, k].astype(float), inner[:, k], weight) for k in range(3)
    ]
    found = per_label(y, inner, metric, sample_weight=weight)
    assert found == pytest.approx(expected, rel=1e-12)
    as_list = [np.column_stack([1 - column, column]) for column in inner.T]
    assert per_label(y, as_list, metric, sample_weight=weight) == pytest.approx(expected, rel=1e-12)


def test_evaluate_labels_evaluates_each_column():
    y, p = labels_and_probabilities()
    found = evaluate_labels(y[:, :2], np.clip(p, 0.05, 0.95)[:, :2], names=["a", "b"])
    assert list(found) == ["a", "b"]
    for k, result in enumerate(found.values()):
        column, q = y[:, k].astype(float), np.clip(p[:, k], 0.05, 0.95)
        expected = oracles.metrics(column, q, np.ones(len(q)))
        for name in expected:
            assert result.metrics[name].estimate == pytest.approx(expected[name], rel=1e-9)
        exact = oracles.exact_test(column, q, np.ones(len(q)))
        assert result.exact_test.p_value == pytest.approx(exact["p_value"], rel=1e-9)
