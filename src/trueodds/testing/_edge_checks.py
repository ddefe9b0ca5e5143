"""Checks at the limits of float64: valid probabilities or one error, never a NumPy warning."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from trueodds.testing._sample import (
    Sample,
    binary_sample,
    features_argument,
    fit,
    multiclass_sample,
    positive,
    predict,
)
from trueodds.testing._value_checks import is_distribution

__all__: list[str] = []

ROWS = 80
TINY = np.array([5e-324, 2e-316, 8e-316, 2e-313, 1e-310, 3e-308, 1e-300])
ENDS = np.concatenate([[0.0, 1.0, 0.5, 1 - 2**-53], TINY, np.nextafter(TINY, 1)])


def _at(scores: Any) -> Sample:
    scores = np.asarray(scores, dtype=float)
    features = np.random.default_rng(2).normal(size=(len(scores), 2))
    return Sample(scores, np.zeros(len(scores)), features)


def _quietly(fitted: Any, sample: Sample) -> Any:
    """``predict_proba``, with every warning an error."""
    with warnings.catch_warnings(), np.errstate(all="warn"):
        warnings.simplefilter("error")
        return predict(fitted, sample)


def _answers(calibrator: Any, sample: Sample, asked: Any, **params: Any) -> None:
    is_distribution(_quietly(fit(calibrator, sample, **params), _at(asked)), 2)


def check_subnormal_scores_give_probabilities(calibrator: Any) -> None:
    sample = binary_sample(ROWS)
    scores = np.random.default_rng(1).choice(TINY, ROWS)
    _answers(calibrator, sample.with_(scores=scores), ENDS)


def check_scores_one_ulp_apart_give_probabilities(calibrator: Any) -> None:
    sample = binary_sample(ROWS)
    place = np.argsort(np.argsort(sample.scores))
    scores = 0.5 + place * 2.0**-53
    _answers(calibrator, sample.with_(scores=scores), np.concatenate([scores, ENDS]))


def check_extreme_weights_give_probabilities_or_a_sentence(calibrator: Any) -> None:
    sample = binary_sample(ROWS)
    mixed = np.where(np.arange(ROWS) % 2 == 0, 1e-300, 1.0)
    for weight in (np.full(ROWS, 1e-300), np.full(ROWS, 5e-324), mixed):
        _answers(calibrator, sample.with_(weight=weight), ENDS)
    try:
        _answers(calibrator, sample.with_(weight=np.full(ROWS, 1e300)), ENDS)
    except ValueError as error:
        assert "weight" in str(error), f"the error should mention weights; got: {error}"


def check_ties_at_the_ends_are_legal(calibrator: Any) -> None:
    sample = binary_sample(2 * ROWS)
    scores = np.where(sample.scores < 0.3, 0.0, np.where(sample.scores > 0.7, 1.0, sample.scores))
    tied = sample.with_(scores=scores)
    fitted = fit(calibrator, tied)
    p = _quietly(fitted, tied)
    is_distribution(p, 2)
    if not features_argument(fitted, sample):
        for end in (0.0, 1.0):
            assert np.ptp(p[scores == end, 1]) == 0, "equal scores got different probabilities."


def check_a_tie_is_not_cut(calibrator: Any) -> None:
    """Check that rows of one score are not split between bins.

    A method that returns the overall frequency for every row splits nothing.
    """
    scores = np.repeat([0.1, 0.9], [150, 12])
    y = np.zeros(162, dtype=int)
    y[:8], y[150:161] = 1, 1
    order = np.random.default_rng(0).permutation(162)
    sample = _at(scores).with_(y=y).take(order)
    low, high = positive(fit(calibrator, sample), _at([0.1, 0.9]))
    same_for_all = low == high and abs(low - y.mean()) < 0.05
    assert same_for_all or high - low > 0.25, (
        f"a tie of 150 rows was split: {low:.3f} at 0.1 and {high:.3f} at 0.9."
    )


def check_a_refit_on_other_classes_forgets_the_first(calibrator: Any) -> None:
    first, second = multiclass_sample(60), binary_sample(ROWS)
    twice = fit(calibrator, first)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        twice.fit(second.scores, second.y, **features_argument(twice, second))
    once = fit(calibrator, second)
    assert len(twice.classes_) == 2, "a refit on two classes still returns three."
    np.testing.assert_array_equal(predict(twice, second), predict(once, second))


def check_no_warning_of_numpy_is_seen(calibrator: Any) -> None:
    """Check log-odds and decision values at both ends of float64; a method may raise InputError."""
    if "scale" not in calibrator.get_params():
        return
    sample = binary_sample(ROWS)
    z = np.log(sample.scores / (1 - sample.scores))
    asked = [0.0, 5e-324, 1e-300, 700.0, -1e16, 1e300, -1e308, 1.7e308, -1.7e308]
    for scale, scores in (("logit", 3 * z), ("raw", 1e300 * z), ("raw", 1e-300 * z)):
        try:
            _answers(calibrator, sample.with_(scores=scores), asked, scale=scale)
        except ValueError as error:
            assert str(error), "an error must describe the problem."
