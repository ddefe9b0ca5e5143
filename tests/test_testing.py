"""The check suite catches calibrators that break the contract."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from trueodds import BetaCalibrator, IsotonicCalibrator, LogisticCalibrator
from trueodds.inputs import Weights
from trueodds.maps import StepMap
from trueodds.testing import calibrator_checks, check_calibrator


def failures(calibrator, name=""):
    failed = set()
    for check in calibrator_checks(calibrator):
        if name not in check.function.__name__:
            continue
        try:
            check()
        except Exception:
            failed.add(check.function.__name__.removeprefix("check_"))
    return failed


class Unweighted(IsotonicCalibrator):
    def fit(self, scores, y, sample_weight=None, *, counts=None):
        return super().fit(scores, y)


class Repeating(LogisticCalibrator):
    """An importance of k as k rows, which Platt's correction counts."""

    def fit(self, scores, y, sample_weight=None, *, counts=None):
        if sample_weight is not None:
            sample_weight = Weights(None, np.asarray(sample_weight, dtype=float))
        return super().fit(scores, y, sample_weight, counts=counts)


class Timid(BetaCalibrator):
    """No importance is zero."""

    def fit(self, scores, y, sample_weight=None, *, counts=None):
        weight = None if sample_weight is None else np.maximum(sample_weight, 0.1)
        return super().fit(scores, y, weight, counts=counts)


class Silencer(BetaCalibrator):
    def fit(self, scores, y, sample_weight=None):
        super().fit(scores, y, sample_weight)
        warnings.filters.insert(0, ("ignore", None, Warning, None, 0))
        return self


class Unsmoothed(BetaCalibrator):
    def _fit(self, evidence):
        return super()._fit(evidence.smoothed(None))


class BatchNormaliser(BetaCalibrator):
    def predict_proba(self, scores):
        p = super().predict_proba(scores)
        return (p + p.mean(axis=0)) / 2


class Falling(IsotonicCalibrator):
    is_monotone = True

    def predict_proba(self, scores):
        return super().predict_proba(scores)[:, ::-1]


class Noisy(BetaCalibrator):
    def fit(self, scores, y, sample_weight=None):
        super().fit(scores, y, sample_weight)
        np.random.random()  # noqa: NPY002
        return self


class OrderDependent(BetaCalibrator):
    def fit(self, scores, y, sample_weight=None):
        super().fit(scores, y, sample_weight)
        self.first_ = float(np.asarray(scores).ravel()[0])
        return self

    def predict_proba(self, scores):
        p = super().predict_proba(scores)
        return p * (1 - self.first_ / 10) + self.first_ / 10 / p.shape[1]


class Forgetful(BetaCalibrator):
    def fit(self, scores, y, sample_weight=None):
        self.parameters = "am"
        return super().fit(scores, y, sample_weight)


class Dividing(BetaCalibrator):
    def predict_proba(self, scores):
        p = super().predict_proba(scores)
        with np.errstate(all="ignore"):
            tiny = (np.asarray(scores) > 0) & np.isinf(1 / np.asarray(scores))
        p[:, 1] = np.where(tiny, np.inf, p[:, 1])
        return p


class Gappy(BetaCalibrator):
    def fit(self, scores, y, sample_weight=None):
        distinct = np.unique(scores)
        if len(distinct) > 50 and np.diff(distinct).min() < 1e-15:
            raise ZeroDivisionError("a gap")
        return super().fit(scores, y, sample_weight)


class SquaredWeights(BetaCalibrator):
    def fit(self, scores, y, sample_weight=None):
        return super().fit(scores, y, None if sample_weight is None else sample_weight**2)


class Ranked(BetaCalibrator):
    def predict_proba(self, scores):
        p = super().predict_proba(scores)
        at_one = np.asarray(scores) == 1
        p[at_one, 1] *= 1 - 1e-9 * np.arange(at_one.sum())
        p[:, 0] = 1 - p[:, 1]
        return p


class CutTies(IsotonicCalibrator):
    """Two bins of as many rows, wherever the cut falls."""

    def _fit(self, evidence):
        score, positive, _ = evidence.rows()
        order = np.argsort(score, kind="stable")
        rates = [float(positive[part].mean()) for part in np.array_split(order, 2)]
        edge = float(score[order[len(order) // 2]])
        return StepMap(edges=[edge], values=rates, scale=self.scale)


class Remembering(BetaCalibrator):
    def fit(self, scores, y, sample_weight=None):
        self.__dict__.setdefault("most", len(np.unique(y)))
        return super().fit(scores, y, sample_weight)

    def predict_proba(self, scores):
        p = super().predict_proba(scores)
        return p if self.most == 2 or p.shape[1] > 2 else (p + 0.5) / 2


class Overflowing(BetaCalibrator):
    def predict_proba(self, scores):
        np.exp(np.abs(np.asarray(scores, dtype=float)))
        return super().predict_proba(scores)


@pytest.mark.parametrize(
    ("calibrator", "check"),
    [
        (Dividing(), "subnormal_scores_give_probabilities"),
        (Gappy(), "scores_one_ulp_apart_give_probabilities"),
        (SquaredWeights(), "extreme_weights_give_probabilities_or_a_sentence"),
        (Ranked(), "ties_at_the_ends_are_legal"),
        (CutTies(), "a_tie_is_not_cut"),
        (Remembering(), "a_refit_on_other_classes_forgets_the_first"),
        (Overflowing(), "no_warning_of_numpy_is_seen"),
        (Unweighted(), "counts_equal_repetition"),
        (Repeating(), "a_factor_of_importances_changes_nothing"),
        (Repeating(), "equal_importances_are_no_weights"),
        (Timid(), "importance_zero_is_left_out"),
        (Unweighted(), "one_class_in_weight_is_refused"),
        (Unsmoothed(), "smoothing_is_used"),
        (Silencer(), "nothing_global_is_changed"),
        (BatchNormaliser(), "other_rows_of_a_batch_do_not_matter"),
        (Falling(), "never_decreases_where_promised"),
        (Noisy(), "nothing_global_is_changed"),
        (OrderDependent(), "input_order_does_not_matter"),
        (Forgetful(), "fit_leaves_parameters_alone"),
    ],
)
def test_a_planted_bug_is_caught(calibrator, check):
    with warnings.catch_warnings():
        assert check in failures(calibrator, check)


class Careless(ClassifierMixin, BaseEstimator):
    """A third party's calibrator without any validation."""

    def fit(self, scores, y, sample_weight=None):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, scores):
        return np.stack([1 - np.asarray(scores), np.asarray(scores)], axis=1)


def test_one_call_names_all_failures():
    with pytest.raises(AssertionError, match=r"(?s)checks failed:.*nan_score.*one_class"):
        check_calibrator(Careless())


def test_a_good_calibrator_passes():
    check_calibrator(BetaCalibrator())
