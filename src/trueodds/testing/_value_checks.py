"""Checks of results: in range, and the same for equivalent input."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.table import ScoreTable
from trueodds.testing._sample import (
    Sample,
    binary_sample,
    features_argument,
    fit,
    fresh,
    multiclass_sample,
    positive,
    predict,
)

__all__ = ["is_distribution"]

ITERATED = 1e-7
"""Difference allowed between two fits to the same rows in other words: methods may iterate."""


def is_distribution(p: Any, n_classes: int) -> None:
    """Rows of probabilities, one column for each class."""
    assert p.ndim == 2, f"predict_proba must return two dimensions; got {p.ndim}."
    assert p.shape[1] == n_classes, f"expected {n_classes} columns; got {p.shape[1]}."
    assert np.isfinite(p).all(), "predict_proba must be finite."
    assert (p >= 0).all(), "a probability is negative."
    assert (p <= 1).all(), "a probability exceeds 1."
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-12, err_msg="rows must sum to 1.")


def _grid(sample: Sample, scores: Any) -> Sample:
    scores = np.asarray(scores)
    return Sample(scores, np.zeros(len(scores)), np.zeros((len(scores), sample.features.shape[1])))


def check_rows_are_distributions(calibrator: Any) -> None:
    sample = binary_sample()
    grid = _grid(sample, np.concatenate([[0, 1, 1e-300, 5e-324], np.linspace(0, 1, 50)]))
    is_distribution(predict(fit(calibrator, sample), grid), 2)


def check_rows_are_distributions_for_three_classes(calibrator: Any) -> None:
    sample = multiclass_sample()
    fitted = fit(calibrator, sample)
    is_distribution(predict(fitted, sample), 3)
    corners = _grid(sample, np.concatenate([np.eye(3), np.full((1, 3), 1 / 3)]))
    is_distribution(predict(fitted, corners), 3)


def check_never_decreases_where_promised(calibrator: Any) -> None:
    if not getattr(calibrator, "is_monotone", False):
        return
    for seed in range(3):
        sample = binary_sample(120, seed)
        for y in (sample.y, 1 - sample.y):
            grid = _grid(sample, np.linspace(0, 1, 400))
            p = positive(fit(calibrator, sample.with_(y=y)), grid)
            assert (np.diff(p) >= -1e-12).all(), "a higher score got a lower probability."


def check_input_order_does_not_matter(calibrator: Any) -> None:
    for sample in (binary_sample(), multiclass_sample()):
        order = np.random.default_rng(1).permutation(len(sample.y))
        a = predict(fit(calibrator, sample), sample)
        b = predict(fit(calibrator, sample.take(order)), sample)
        np.testing.assert_allclose(a, b, atol=1e-7, err_msg="the order of rows changes the fit.")


def check_smoothing_is_used(calibrator: Any) -> None:
    """Check that predictions change if labels are smoothed by nearly 1."""
    if "label_smoothing" not in calibrator.get_params():
        return
    for sample in (binary_sample(), multiclass_sample()):
        sharp = predict(fit(calibrator, sample, label_smoothing=None), sample)
        if np.array_equal(sharp, predict(fit(calibrator, _shuffled(sample)), sample)):
            continue  # it learns nothing from labels
        blurred = predict(fit(calibrator, sample, label_smoothing=0.98), sample)
        assert np.abs(blurred - sharp).max() > 1e-3, "label_smoothing has no effect."


def _shuffled(sample: Sample) -> Sample:
    """Return the same scores with the labels of other rows."""
    return sample.with_(y=np.random.default_rng(3).permutation(sample.y))


def check_other_rows_of_a_batch_do_not_matter(calibrator: Any) -> None:
    for sample in (binary_sample(), multiclass_sample()):
        fitted = fit(calibrator, sample)
        together = predict(fitted, sample)
        for row in (0, 7, 100):
            alone = predict(fitted, sample.take(np.array([row])))
            np.testing.assert_allclose(alone[0], together[row], atol=1e-12)


def check_counts_equal_repetition(calibrator: Any) -> None:
    sample = binary_sample()
    counts = np.random.default_rng(2).integers(0, 4, len(sample.y))
    repeated = sample.take(np.repeat(np.arange(len(sample.y)), counts))
    a = predict(fit(calibrator, sample.with_(counts=counts)), sample)
    b = predict(fit(calibrator, repeated), sample)
    np.testing.assert_allclose(a, b, atol=ITERATED, err_msg="a count of k differs from k rows.")


def check_a_table_equals_its_rows(calibrator: Any) -> None:
    sample = binary_sample()
    if features_argument(calibrator, sample):
        return
    table = ScoreTable.from_arrays(sample.scores, sample.y)
    a = predict(fresh(calibrator).fit_table(table), sample)
    b = predict(fit(calibrator, sample), sample)
    np.testing.assert_allclose(a, b, atol=ITERATED, err_msg="a table differs from its rows.")


def _important(sample: Sample) -> Sample:
    """Return the same rows with importances that vary from row to row."""
    return sample.with_(weight=np.random.default_rng(4).lognormal(size=len(sample.y)))


def check_a_factor_of_importances_changes_nothing(calibrator: Any) -> None:
    for plain in (binary_sample(), multiclass_sample()):
        sample = _important(plain)
        expected = predict(fit(calibrator, sample), plain)
        for factor, atol in ((2.0**-20, 0.0), (1e6, ITERATED)):
            found = predict(fit(calibrator, sample.with_(weight=sample.weight * factor)), plain)
            np.testing.assert_allclose(
                found, expected, rtol=0, atol=atol, err_msg=f"importances × {factor:g} differ."
            )


def check_equal_importances_are_no_weights(calibrator: Any) -> None:
    for sample in (binary_sample(), multiclass_sample()):
        expected = predict(fit(calibrator, sample), sample)
        for weight in (1.0, 0.1, 1e6):
            found = predict(
                fit(calibrator, sample.with_(weight=np.full(len(sample.y), weight))), sample
            )
            np.testing.assert_array_equal(
                found, expected, f"importances that all equal {weight:g} change the fit."
            )


def check_importance_zero_is_left_out(calibrator: Any) -> None:
    plain = binary_sample()
    for sample in (plain.with_(weight=np.ones(len(plain.y))), _important(plain)):
        kept = np.arange(len(plain.y)) % 3 != 0
        a = predict(fit(calibrator, sample.with_(weight=sample.weight * kept)), plain)
        b = predict(fit(calibrator, sample.take(np.flatnonzero(kept))), plain)
        np.testing.assert_allclose(
            a, b, rtol=0, atol=1e-12, err_msg="a row of importance zero changes the fit."
        )


def check_two_columns_equal_one(calibrator: Any) -> None:
    sample = binary_sample()
    both = sample.with_(scores=np.stack([1 - sample.scores, sample.scores], axis=1))
    a = predict(fit(calibrator, sample), sample)
    b = predict(fit(calibrator, both), both)
    np.testing.assert_allclose(a, b, atol=1e-7, err_msg="(n, 2) scores differ from (n,).")


def check_float32_equals_float64(calibrator: Any) -> None:
    sample = binary_sample()
    single = sample.with_(scores=sample.scores.astype(np.float32))
    double = sample.with_(scores=single.scores.astype(np.float64))
    a = predict(fit(calibrator, single), single)
    b = predict(fit(calibrator, double), double)
    np.testing.assert_allclose(a, b, atol=1e-6, err_msg="float32 differs from float64.")


def _sensible(calibrator: Any, sample: Sample) -> Any:
    p = predict(fit(calibrator, sample), sample)
    is_distribution(p, 2)
    return p[:, 1]


def check_constant_scores_give_the_base_rate_or_leave_it(calibrator: Any) -> None:
    sample = binary_sample()
    constant = sample.with_(scores=np.full(len(sample.y), 0.3))
    p = _sensible(calibrator, constant)
    if not features_argument(calibrator, sample):
        assert np.ptp(p) < 1e-12, "equal scores got different probabilities."


def check_ties_are_pooled(calibrator: Any) -> None:
    sample = binary_sample()
    _sensible(calibrator, sample.with_(scores=np.round(sample.scores, 1)))


def check_zeros_and_ones_are_legal(calibrator: Any) -> None:
    sample = binary_sample()
    scores = sample.scores.copy()
    scores[:30] = np.round(scores[:30])
    _sensible(calibrator, sample.with_(scores=scores))
    _sensible(calibrator, sample.with_(scores=np.round(sample.scores)))


def check_integer_scores_are_legal(calibrator: Any) -> None:
    sample = binary_sample()
    _sensible(calibrator, sample.with_(scores=np.round(sample.scores).astype(int)))


def check_tiny_probabilities_are_legal(calibrator: Any) -> None:
    sample = binary_sample()
    _sensible(calibrator, sample.with_(scores=sample.scores * 1e-8))
    _sensible(calibrator, sample.with_(scores=sample.scores * 1e-300))


def check_separable_scores_are_legal(calibrator: Any) -> None:
    sample = binary_sample()
    _sensible(calibrator, sample.with_(y=(sample.scores > 0.5).astype(int)))


def check_inverted_scores_are_legal(calibrator: Any) -> None:
    sample = binary_sample()
    _sensible(calibrator, sample.with_(y=1 - sample.y))
    _sensible(calibrator, sample.with_(y=(sample.scores < 0.5).astype(int)))


def check_two_rows_are_enough(calibrator: Any) -> None:
    features = np.array([[0.0, 1.0], [1.0, 0.0]])
    _sensible(calibrator, Sample(np.array([0.3, 0.6]), np.array([0, 1]), features))
    _sensible(calibrator, Sample(np.array([0.3, 0.3]), np.array([0, 1]), features))


def check_text_labels_keep_their_names(calibrator: Any) -> None:
    sample = binary_sample()
    names = np.array(["fraud", "honest"])
    fitted = fit(calibrator, sample.with_(y=names[sample.y]))
    assert list(fitted.classes_) == ["fraud", "honest"]
    np.testing.assert_allclose(
        predict(fitted, sample), predict(fit(calibrator, sample), sample), atol=1e-12
    )


def check_an_absent_class_can_be_declared(calibrator: Any) -> None:
    if "classes" not in calibrator.get_params():
        return
    sample = multiclass_sample(n_classes=4)
    seen = sample.take(np.flatnonzero(sample.y != 2))
    p = predict(fit(calibrator, seen, classes=[0, 1, 2, 3]), sample)
    is_distribution(p, 4)
