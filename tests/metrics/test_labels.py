"""Metrics of several labels are those of each column."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from sklearn.metrics import brier_score_loss, log_loss as sklearn_log_loss, roc_auc_score

from trueodds import AutoCalibrator
from trueodds.decisions import guaranteed_threshold
from trueodds.exceptions import InputError
from trueodds.metrics import (
    brier_score,
    evaluate_labels,
    expected_calibration_error,
    group_test,
    log_loss,
    per_label,
)

RNG = np.random.default_rng(0)
P = RNG.random((500, 4)).round(2).clip(0.01, 0.99)  # with ties
Y = (RNG.random((500, 4)) < P**1.3).astype(int)


@pytest.mark.parametrize("form", [lambda p: p, lambda p: [np.stack([1 - c, c], 1) for c in p.T],
                                  lambda p: list(p.T), pd.DataFrame])  # fmt: skip
def test_each_label_has_the_metric_of_its_column(form):
    expected = [sklearn_log_loss(Y[:, k], P[:, k]) for k in range(4)]
    np.testing.assert_allclose(per_label(Y, form(P)), expected, rtol=1e-12)
    expected = [brier_score_loss(Y[:, k], P[:, k]) for k in range(4)]
    np.testing.assert_allclose(per_label(csr_array(Y), form(P), brier_score), expected, rtol=1e-12)


def test_options_and_other_libraries_metrics_are_passed_on():
    weight = RNG.random(500)
    found = per_label(Y, P, expected_calibration_error, n_bins=5, sample_weight=weight)
    for k in range(4):
        bins = np.minimum((P[:, k] * 5).astype(int), 4)
        gaps = [abs(np.sum((weight * (Y[:, k] - P[:, k]))[bins == b])) for b in range(5)]
        assert found[k] == pytest.approx(sum(gaps) / weight.sum(), rel=1e-12)
    areas = [roc_auc_score(Y[:, k], P[:, k]) for k in range(4)]
    np.testing.assert_allclose(per_label(Y, P, roc_auc_score), areas)


def test_a_label_that_never_occurs_has_losses():
    y = Y.copy()
    y[:, 1] = 0
    assert per_label(y, P)[1] == pytest.approx(-np.log1p(-P[:, 1]).mean())
    assert per_label(y, P, brier_score)[1] == pytest.approx((P[:, 1] ** 2).mean())


def test_evaluations_are_named_by_columns():
    found = evaluate_labels(pd.DataFrame(Y, columns=list("abcd")), P, n_resamples=20)
    assert list(found) == list("abcd")
    for k, result in enumerate(found.values()):
        assert result.metrics["log_loss"].estimate == pytest.approx(log_loss(Y[:, k], P[:, k]))
        assert result.n == 500
        assert result.prevalence == pytest.approx(Y[:, k].mean())
    assert list(evaluate_labels(Y, P, n_resamples=20)) == [0, 1, 2, 3]


@pytest.mark.parametrize(
    ("y", "p", "message"),
    [
        (Y[:, 0], P[:, 0], "one column of 0 and 1 for each label"),
        (Y, P[:, :3], r"shape \(500, 4\), or be a list of 4 arrays; got shape \(500, 3\)"),
        (Y + 1, P, "must have entries 0 and 1 for several labels; got .*2"),
        (np.full(Y.shape, "a"), P, "must have entries 0 and 1"),
        (np.where(Y, np.nan, 0), P, "must have entries 0 and 1"),
        (Y, [np.stack([P[:, 0]] * 3, 1)] * 4, r"arrays of shape \(n, 2\) or \(n,\)"),
        (Y, [P[:9, 0]] * 4, "arrays of 500 rows"),
        (Y, P + 1, "in .0, 1."),
        (Y[:0], P[:0], "no rows"),
    ],
)
def test_wrong_shapes_and_values_are_refused(y, p, message):
    with pytest.raises(InputError, match=message):
        per_label(y, p)


def test_names_must_be_one_for_each_label():
    with pytest.raises(InputError, match="names must be 4 different names"):
        evaluate_labels(Y, P, names=["a", "b"])
    with pytest.raises(InputError, match="names must be 4 different names"):
        evaluate_labels(Y, P, names=["a", "a", "b", "c"])
    with pytest.raises(InputError, match="metric must be a function"):
        per_label(Y, P, "log_loss")


def test_any_function_of_two_classes_is_applied_to_each_label():
    frame = pd.DataFrame(Y, columns=list("abcd"))
    side = np.arange(len(Y)) % 2
    found = per_label(frame, P, group_test, groups=side)
    assert list(found) == list("abcd")
    for k, name in enumerate("abcd"):
        alone = group_test(Y[:, k], P[:, k], side)
        assert [g.p_value for g in found[name]] == [g.p_value for g in alone]
    limits = per_label(Y, P, guaranteed_threshold, at_most=0.5)
    assert limits[2] == guaranteed_threshold(Y[:, 2], np.ascontiguousarray(P[:, 2]), at_most=0.5)


def test_matrices_of_scores_and_labels_are_answered_with_what_to_do():
    """Whoever has scores of several labels is not sent to a method for one label of several."""
    for call in (
        lambda: AutoCalibrator().fit(P, Y),
        lambda: group_test(Y, P, np.arange(len(Y)) % 2),
        lambda: guaranteed_threshold(Y, P, at_most=0.1),
    ):
        with pytest.raises(InputError, match="take one column of scores and one of labels at a"):
            call()
    with pytest.raises(InputError, match="If a row can have several labels, take one column at"):
        AutoCalibrator().fit(P, Y[:, 0])
