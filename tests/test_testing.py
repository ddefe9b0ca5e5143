"""The check suite catches calibrators that break the contract."""

import warnings

import numpy as np
import pytest
from sklearn.base import BaseEstimator, ClassifierMixin

from trueodds import BetaCalibrator, IsotonicCalibrator
from trueodds.calibrators import Promises
from trueodds.testing import calibrator_checks, check_calibrator


def failures(calibrator):
    failed = set()
    for check in calibrator_checks(calibrator):
        try:
            check()
        except Exception:
            failed.add(check.function.__name__.removeprefix("check_"))
    return failed


class Unweighted(IsotonicCalibrator):
    def fit(self, scores, y, sample_weight=None):
        return super().fit(scores, y)


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
    @property
    def promises(self):
        return Promises(monotone=True)

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


@pytest.mark.parametrize(
    ("calibrator", "check"),
    [
        (Unweighted(), "weights_equal_repetition"),
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
        assert check in failures(calibrator)


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
