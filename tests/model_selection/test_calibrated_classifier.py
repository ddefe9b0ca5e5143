"""CalibratedClassifier: cross-fitting, prefit models, weights, rare classes, any calibrator."""

import warnings
from enum import Enum

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import GridSearchCV, KFold, StratifiedKFold, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from trueodds import (
    BetaCalibrator,
    CalibratedClassifier,
    IdentityCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
)
from trueodds.exceptions import InputError, MissingClassWarning, TrueoddsWarning

NO_REPETITIONS = (
    "sample_weight is an importance: a row stays one observation, and only ratios matter. "
    "Repetitions are counts=. statsmodels separates var_weights and freq_weights in the same way."
)


def expected_failures(estimator):
    """Checks that take an importance of k for k rows. Isotonic regression alone cannot tell them
    apart: it has no prior, and its steps are weighted means.
    """
    if isinstance(estimator.calibrator, IsotonicCalibrator):
        return {}
    kinds = ("dense", "sparse")
    return {f"check_sample_weight_equivalence_on_{kind}_data": NO_REPETITIONS for kind in kinds}


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::trueodds.exceptions.TrueoddsWarning")
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.SkipTestWarning")
@parametrize_with_checks(
    [
        # A formula, steps, and several classes at once. The suite tests CalibratedClassifier; what
        # calibrators promise is in trueodds.testing. Two folds: it takes long enough.
        CalibratedClassifier(LogisticRegression(), kind(), cv=2)
        for kind in (LogisticCalibrator, IsotonicCalibrator, TemperatureCalibrator)
    ],
    expected_failed_checks=expected_failures,
)
def test_scikit_learns_own_suite(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def binary():
    return make_classification(1500, 8, n_informative=3, flip_y=0.15, random_state=0)


@pytest.fixture(scope="module")
def three_classes():
    return make_classification(900, 8, n_informative=5, n_classes=3, flip_y=0.1, random_state=0)


def test_an_ensemble_averages_the_calibrated_folds(binary):
    X, y = binary
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=3).fit(X, y)
    expected = 0
    for train, test in StratifiedKFold(3).split(X, y):
        fold = GaussianNB().fit(X[train], y[train])
        calibrator = BetaCalibrator().fit(fold.predict_proba(X[test]), y[test])
        expected = expected + calibrator.predict_proba(fold.predict_proba(X)) / 3
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-9)
    np.testing.assert_array_equal(model.predict(X), expected.argmax(axis=1))


def test_a_single_model_is_calibrated_on_out_of_fold_scores(binary):
    X, y = binary
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=3, ensemble=False).fit(X, y)
    scores = cross_val_predict(GaussianNB(), X, y, cv=StratifiedKFold(3), method="predict_proba")
    calibrator = BetaCalibrator().fit(scores[:, 1], y)
    whole = GaussianNB().fit(X, y)
    expected = calibrator.predict_proba(whole.predict_proba(X)[:, 1])
    np.testing.assert_allclose(model.predict_proba(X), expected, atol=1e-12)
    assert len(model.calibrated_classifiers_) == 1


def test_a_frozen_model_is_not_refitted(binary):
    X, y = binary
    prefit = GaussianNB().fit(X[:700], y[:700])
    model = CalibratedClassifier(FrozenEstimator(prefit), IsotonicCalibrator())
    model.fit(X[700:], y[700:])
    calibrator = IsotonicCalibrator().fit(prefit.predict_proba(X[700:])[:, 1], y[700:])
    expected = calibrator.predict_proba(prefit.predict_proba(X)[:, 1])
    np.testing.assert_allclose(model.predict_proba(X), expected)


def test_calibration_lowers_the_log_loss_of_naive_bayes(binary):
    X, y = binary
    raw = GaussianNB().fit(X[:1000], y[:1000])
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator()).fit(X[:1000], y[:1000])
    calibrated = log_loss(y[1000:], model.predict_proba(X[1000:]))
    assert calibrated < log_loss(y[1000:], raw.predict_proba(X[1000:]))


def test_the_isotonic_ensemble_equals_that_of_scikit_learn(binary):
    X, y = binary
    ours = CalibratedClassifier(LogisticRegression(), IsotonicCalibrator(), cv=4).fit(X, y)
    theirs = CalibratedClassifierCV(LogisticRegression(), method="isotonic", cv=4).fit(X, y)
    # Theirs calibrates the decision function; order is the same, interpolation is not.
    difference = np.abs(ours.predict_proba(X) - theirs.predict_proba(X))
    assert difference.max() < 0.02


def test_the_scale_of_the_scores_is_known(binary):
    X, y = binary

    def scale_of(estimator, calibrator, **options):
        model = CalibratedClassifier(estimator, calibrator, **options).fit(X, y)
        member = model.calibrated_classifiers_[0]
        return member.method, member.calibrator.scale

    assert scale_of(GaussianNB(), BetaCalibrator()) == ("predict_proba", "probability")
    assert scale_of(LinearSVC(), BetaCalibrator()) == ("decision_function", "raw")
    forced = scale_of(
        LogisticRegression(), LogisticCalibrator(), response_method="decision_function"
    )
    assert forced == ("decision_function", "raw")
    assert scale_of(LogisticRegression(), LogisticCalibrator(scale="logit")) == (
        "decision_function",
        "logit",
    )


def test_a_response_that_the_model_lacks_is_refused(binary):
    X, y = binary
    with pytest.raises(InputError, match="LinearSVC has no predict_proba"):
        CalibratedClassifier(LinearSVC(), response_method="predict_proba").fit(X, y)
    with pytest.raises(InputError, match="response_method must be one of"):
        CalibratedClassifier(LinearSVC(), response_method="predict").fit(X, y)

    class Mute(ClassifierMixin, BaseEstimator):
        def fit(self, X, y):
            self.classes_ = np.unique(y)
            return self

    with pytest.raises(InputError, match="neither predict_proba nor decision_function"):
        CalibratedClassifier(Mute()).fit(X, y)


class Recorder(GaussianNB):
    """Notes what its fit was given."""

    seen: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None):
        Recorder.seen.append((type(X), None if sample_weight is None else sample_weight.sum()))
        return super().fit(np.asarray(X), y, sample_weight=sample_weight)

    def predict_proba(self, X):
        Recorder.seen.append((type(X), None))
        return super().predict_proba(np.asarray(X))


@pytest.mark.parametrize("make", [pd.DataFrame, pl.DataFrame])
def test_frames_reach_the_model_untouched(binary, make):
    X, y = binary
    columns = {f"x{k}": X[:, k] for k in range(X.shape[1])}
    Recorder.seen.clear()
    model = CalibratedClassifier(Recorder(), cv=2).fit(make(columns), y)
    p = model.predict_proba(make(columns))
    assert {kind for kind, _ in Recorder.seen} == {make}
    np.testing.assert_allclose(
        p, CalibratedClassifier(GaussianNB(), cv=2).fit(X, y).predict_proba(X)
    )


def test_weights_reach_the_model_and_the_calibrator(binary):
    X, y = binary
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    Recorder.seen.clear()
    CalibratedClassifier(Recorder(), cv=[(np.arange(800), np.arange(800, 1500))]).fit(X, y, weight)
    assert Recorder.seen[0][1] == weight[:800].sum()
    prefit = FrozenEstimator(GaussianNB().fit(X, y))
    weighted = CalibratedClassifier(prefit, BetaCalibrator()).fit(X, y, weight)
    rows = np.repeat(np.arange(len(y)), weight.astype(int))
    repeated = CalibratedClassifier(prefit, BetaCalibrator()).fit(X[rows], y[rows])
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), atol=1e-9)


def test_weights_are_kept_from_a_model_that_asks_for_none(binary):
    X, y = binary
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float)
    folds = [(np.arange(800), np.arange(800, 1500))]
    with config_context(enable_metadata_routing=True):
        unweighted = Recorder().set_fit_request(sample_weight=False)
    Recorder.seen.clear()
    weighted = CalibratedClassifier(unweighted, cv=folds).fit(X, y, weight)
    assert Recorder.seen[0][1] is None
    plain = CalibratedClassifier(Recorder(), cv=folds).fit(X, y)
    assert (weighted.predict_proba(X) != plain.predict_proba(X)).any()  # the calibrator has them


def test_a_model_without_weights_is_reported(binary):
    X, y = binary

    class Unweighted(GaussianNB):
        def fit(self, X, y):
            return super().fit(X, y)

    with pytest.warns(TrueoddsWarning, match="weights are used for calibration only"):
        CalibratedClassifier(Unweighted(), cv=2).fit(X, y, np.ones(len(y)))


@pytest.mark.parametrize("ensemble", [True, False])
@pytest.mark.parametrize("kind", [BetaCalibrator, TemperatureCalibrator, OneVsRestCalibrator])
def test_a_class_absent_from_folds_is_handled(three_classes, kind, ensemble):
    X, y = three_classes
    rare = np.flatnonzero(y == 2)[2:]
    X, y = np.delete(X, rare, axis=0), np.delete(y, rare)
    assert (y == 2).sum() == 2
    model = CalibratedClassifier(LogisticRegression(), kind(), cv=5, ensemble=ensemble)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        p = model.fit(X, y).predict_proba(X)
    assert p.shape == (len(X), 3)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert model.classes_.tolist() == [0, 1, 2]


def test_a_class_that_a_fold_model_never_saw_gets_nothing_from_that_fold(three_classes):
    X, y = three_classes
    order = np.argsort(y == 2, kind="stable")  # the third class comes last
    X, y = X[order], y[order]
    folds = [(np.arange(400), np.arange(400, 600)), (np.arange(300, 900), np.arange(300))]
    model = CalibratedClassifier(LogisticRegression(), LogisticCalibrator(), cv=folds)
    with pytest.warns(MissingClassWarning, match="has no rows"):
        model.fit(X, y)
    first = model.calibrated_classifiers_[0]
    assert first.known.tolist() == [0, 1]
    assert (first.predict_proba(X)[:, 2] == 0).all()


def test_a_class_absent_from_the_calibration_set_of_a_prefit_model_is_handled(three_classes):
    X, y = three_classes
    prefit = LogisticRegression().fit(X, np.array(["a", "b", "c"])[y])
    part = y != 1
    names = np.array(["a", "b", "c"])[y]
    for calibrator in (TemperatureCalibrator(), IdentityCalibrator()):
        model = CalibratedClassifier(FrozenEstimator(prefit), calibrator)
        p = model.fit(X[part], names[part]).predict_proba(X)
        assert model.classes_.tolist() == ["a", "b", "c"]
        assert p.shape == (len(X), 3)
    model = CalibratedClassifier(FrozenEstimator(prefit), BetaCalibrator())
    with pytest.warns(MissingClassWarning, match="has no rows"):
        model.fit(X[part], names[part])
    with pytest.raises(InputError, match="not in classes"):
        CalibratedClassifier(FrozenEstimator(prefit)).fit(X, y)


def test_folds_of_one_class_are_left_out_and_reported(binary):
    X, y = binary
    folds = [*KFold(3).split(X), (np.arange(1000), np.flatnonzero(y == 0)[:50])]
    model = CalibratedClassifier(GaussianNB(), cv=folds)
    with pytest.warns(MissingClassWarning, match="1 of 4 folds"):
        model.fit(X, y)
    assert len(model.calibrated_classifiers_) == 3
    with (
        pytest.warns(MissingClassWarning, match="1 of 1 folds"),
        pytest.raises(InputError, match="no fold has two classes"),
    ):
        CalibratedClassifier(GaussianNB(), cv=folds[3:]).fit(X, y)


def test_a_fold_without_two_classes_that_its_model_knows_is_left_out():
    X, y = np.arange(12.0)[:, None], np.repeat([0, 1, 2, 3], 3)
    with pytest.warns(MissingClassWarning, match="2 of 3 folds"):
        model = CalibratedClassifier(GaussianNB(), IdentityCalibrator(), cv=KFold(3)).fit(X, y)
    assert len(model.calibrated_classifiers_) == 1
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_too_many_folds_are_refused():
    with pytest.raises(InputError, match="no class has more than 2 rows"):
        CalibratedClassifier(GaussianNB(), cv=5).fit([[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1])


class ThirdParty:
    """Not a scikit-learn estimator: halves the log-odds."""

    def fit(self, scores, y):
        assert scores.ndim == 1
        assert set(np.unique(y)) <= {0, 1}
        return self

    def predict(self, scores):
        odds = np.sqrt(scores / (1 - scores + 1e-300))
        return odds / (1 + odds)


def test_any_object_that_fits_and_predicts_will_do(binary, three_classes):
    for X, y in (binary, three_classes):
        p = (
            CalibratedClassifier(LogisticRegression(), ThirdParty(), cv=2)
            .fit(X, y)
            .predict_proba(X)
        )
        np.testing.assert_allclose(p.sum(axis=1), 1)
    X, y = binary
    regression = IsotonicRegression(out_of_bounds="clip")
    theirs = CalibratedClassifier(GaussianNB(), regression, cv=3).fit(X, y).predict_proba(X)
    ours = CalibratedClassifier(GaussianNB(), IsotonicCalibrator(), cv=3).fit(X, y)
    np.testing.assert_allclose(theirs, ours.predict_proba(X), atol=1e-9)
    stacked = CalibratedClassifier(GaussianNB(), LogisticRegression(), cv=3).fit(X, y)
    assert stacked.predict_proba(X).shape == (len(X), 2)
    with pytest.warns(TrueoddsWarning, match="takes no sample_weight"):
        CalibratedClassifier(GaussianNB(), ThirdParty(), cv=2).fit(X, y, np.ones(len(y)))


def test_a_third_party_that_returns_no_probabilities_is_refused(binary):
    class Wild(ThirdParty):
        def predict(self, scores):
            return scores * 7

    X, y = binary
    model = CalibratedClassifier(GaussianNB(), Wild(), cv=2).fit(X, y)
    with pytest.raises(InputError, match="one probability"):
        model.predict_proba(X)


@pytest.mark.slow
def test_folds_in_parallel_give_the_same(binary):
    X, y = binary
    alone = CalibratedClassifier(GaussianNB(), BetaCalibrator()).fit(X, y)
    parallel = CalibratedClassifier(GaussianNB(), BetaCalibrator(), n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(alone.predict_proba(X), parallel.predict_proba(X))


def test_constant_models_are_calibrated_to_the_base_rate(binary):
    X, y = binary
    rare = (np.arange(len(y)) % 10 == 0).astype(int)
    model = CalibratedClassifier(DummyClassifier(strategy="prior"), BetaCalibrator()).fit(X, rare)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], 0.1, atol=0.01)


def test_nested_parameters_can_be_set():
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator())
    model.set_params(calibrator__parameters="am", estimator__var_smoothing=1e-3)
    assert clone(model).calibrator.parameters == "am"
    assert clone(model).estimator.var_smoothing == 1e-3


def test_a_class_in_place_of_a_calibrator_is_refused():
    with pytest.raises(InputError, match=r"an object such as BetaCalibrator\(\), or a name; got"):
        CalibratedClassifier(GaussianNB(), BetaCalibrator).fit([[0.0], [1.0]] * 10, [0, 1] * 10)


def test_a_calibrator_may_be_given_by_its_name(binary):
    X, y = binary
    for name, same in (("isotonic", IsotonicCalibrator()), ("auto", None)):
        found = CalibratedClassifier(GaussianNB(), name).fit(X, y).predict_proba(X)
        expected = CalibratedClassifier(GaussianNB(), same).fit(X, y).predict_proba(X)
        np.testing.assert_array_equal(found, expected)
    search = GridSearchCV(
        CalibratedClassifier(GaussianNB()), {"calibrator": ["isotonic", "beta"]}, cv=2
    )
    assert search.fit(X, y).best_params_["calibrator"] in ("isotonic", "beta")
    with pytest.raises(InputError, match="unknown method 'sigmoid'; did you mean 'logistic'"):
        CalibratedClassifier(GaussianNB(), "sigmoid").fit(X, y)


def test_prefit_is_answered_with_what_to_do():
    with pytest.raises(InputError, match="FrozenEstimator"):
        CalibratedClassifier(GaussianNB(), cv="prefit").fit([[0.0], [1.0]] * 10, [0, 1] * 10)


@pytest.mark.parametrize("nothing", [None, "logistic", GaussianNB])
def test_what_is_no_model_is_refused(nothing):
    with pytest.raises(InputError, match=r"estimator must be a model with a method fit.*got"):
        CalibratedClassifier(nothing).fit([[0.0], [1.0]] * 10, [0, 1] * 10)


def test_a_frozen_model_that_was_never_fitted_is_refused():
    with pytest.raises(InputError, match="GaussianNB in FrozenEstimator is not fitted"):
        CalibratedClassifier(FrozenEstimator(GaussianNB())).fit([[0.0], [1.0]] * 10, [0, 1] * 10)


def test_a_generator_of_folds_that_has_given_them_is_refused(binary):
    X, y = binary
    model = CalibratedClassifier(GaussianNB(), cv=StratifiedKFold(2).split(X, y)).fit(X, y)
    with pytest.raises(InputError, match=r"cv has no folds.*list\(generator\)"):
        model.fit(X, y)


def test_members_of_an_enum_of_texts_are_labels_like_others(binary):
    X, y = binary
    answer = Enum("Answer", {"NO": "never", "YES": "yes"}, type=str)
    named = [answer.YES if label else answer.NO for label in y]
    model = CalibratedClassifier(GaussianNB()).fit(X, named)
    assert model.classes_.tolist() == ["never", "yes"]
    plain = CalibratedClassifier(GaussianNB()).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), plain.predict_proba(X))
