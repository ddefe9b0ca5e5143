"""CalibratedClassifier inside scikit-learn: parameters of fit, routing, splitters, labels."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_matrix
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.ensemble import StackingClassifier, VotingClassifier
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    GroupKFold,
    KFold,
    LeaveOneOut,
    StratifiedKFold,
    TimeSeriesSplit,
    cross_val_predict,
)
from sklearn.naive_bayes import GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from trueodds import (
    BBQCalibrator,
    BetaCalibrator,
    CalibratedClassifier,
    CharcoalGrillCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
)
from trueodds.exceptions import InputError, MissingClassWarning


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(240, 3))
    return X, (X[:, 0] + rng.normal(size=240) > 0).astype(int)


class Notes(ClassifierMixin, BaseEstimator):
    """Notes what its fit was given; its scores are the first column."""

    given: list = []  # noqa: RUF012

    def fit(self, X, y, sample_weight=None, color=None, table=None):
        Notes.given.append({"n": len(y), "w": sample_weight, "color": color, "table": table})
        self.classes_ = np.unique(y)
        return self

    def decision_function(self, X):
        return np.asarray(X)[:, 0]


@pytest.fixture
def given():
    Notes.given.clear()
    return Notes.given


@pytest.mark.parametrize("ensemble", [True, False])
def test_parameters_of_fit_are_cut_with_the_rows(rows, given, ensemble):
    X, y = rows
    color = np.arange(len(y))
    table = {"any": "object"}
    model = CalibratedClassifier(Notes(), cv=KFold(3), ensemble=ensemble)
    model.fit(X, y, color=color.tolist(), table=table)
    for (train, _), call in zip(KFold(3).split(X), given, strict=False):
        assert list(call["color"]) == train.tolist()
        assert call["table"] is table
        assert call["w"] is None
    assert len(given) == (3 if ensemble else 4)
    if not ensemble:
        assert list(given[3]["color"]) == color.tolist()


def test_an_unknown_parameter_of_fit_is_an_error_of_the_model(rows):
    with pytest.raises(TypeError, match="shape_of_clouds"):
        CalibratedClassifier(GaussianNB(), cv=2).fit(*rows, shape_of_clouds=1)


def test_parameters_reach_a_step_of_a_pipeline(rows, given):
    X, y = rows
    weight = np.arange(1.0, len(y) + 1)
    pipeline = make_pipeline(StandardScaler(), Notes())
    CalibratedClassifier(pipeline, cv=KFold(2)).fit(X, y, notes__sample_weight=weight)
    assert [call["w"].sum() for call in given] == [weight[120:].sum(), weight[:120].sum()]


@pytest.mark.parametrize("routing", [False, True])
def test_groups_go_to_the_splitter(rows, given, routing):
    X, y = rows
    groups = np.arange(len(y)) % 4
    with config_context(enable_metadata_routing=routing):
        model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=GroupKFold(4))
        model.fit(X, y, groups=groups)
    assert len(model.calibrated_classifiers_) == 4
    folds = list(GroupKFold(4).split(X, y, groups))
    same = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=folds).fit(X, y)
    np.testing.assert_array_equal(model.predict_proba(X), same.predict_proba(X))


def test_routing_takes_metadata_where_it_was_requested(rows, given):
    X, y = rows
    weight, color = np.arange(1.0, len(y) + 1), np.arange(len(y))
    with config_context(enable_metadata_routing=True):
        unset = CalibratedClassifier(Notes(), cv=KFold(2))
        with pytest.raises(UnsetMetadataPassedError, match="sample_weight"):
            unset.fit(X, y, sample_weight=weight)
        with pytest.raises(TypeError, match="nobody"):
            unset.fit(X, y, nobody=1)
        asks = Notes().set_fit_request(sample_weight=True, color="paint", table=False)
        routed = CalibratedClassifier(asks, cv=KFold(2)).fit(X, y, weight, paint=color)
        assert given[0]["w"].tolist() == weight[120:].tolist()
        assert given[0]["color"].tolist() == color[120:].tolist()
        declines = Notes().set_fit_request(sample_weight=False)
        kept = CalibratedClassifier(declines, cv=KFold(2)).fit(X, y, weight)
        assert given[-1]["w"] is None
        # In both cases the calibrator has the weights, as without routing.
        np.testing.assert_array_equal(kept.predict_proba(X), routed.predict_proba(X))
        outer = CalibratedClassifier(clone(asks), cv=2).set_fit_request(sample_weight=True)
        outer.set_score_request(sample_weight=False)
        search = GridSearchCV(outer, {"calibrator": [BetaCalibrator()]}, cv=2)
        search.fit(X, y, sample_weight=weight)
        assert given[-1]["w"] is not None
    plain = CalibratedClassifier(Notes(), cv=KFold(2)).fit(X, y)
    assert (plain.predict_proba(X) != routed.predict_proba(X)).any()


def test_a_generator_of_folds_serves_once_and_says_so(rows):
    X, y = rows
    model = CalibratedClassifier(GaussianNB(), cv=KFold(3).split(X))
    assert len(model.fit(X, y).calibrated_classifiers_) == 3
    with pytest.raises(InputError, match=r"pass list\(generator\)"):
        model.fit(X, y)


def test_leaving_one_out_calibrates_one_model_together(rows):
    X, y = rows[0][:40], rows[1][:40]
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=LeaveOneOut(), ensemble=False)
    out = cross_val_predict(GaussianNB(), X, y, cv=LeaveOneOut(), method="predict_proba")
    calibrator = BetaCalibrator().fit(out, y)
    expected = calibrator.predict_proba(GaussianNB().fit(X, y).predict_proba(X))
    np.testing.assert_allclose(model.fit(X, y).predict_proba(X), expected, atol=1e-9)
    with (
        pytest.warns(MissingClassWarning, match="40 of 40 folds"),
        pytest.raises(InputError, match="With ensemble=False"),
    ):
        model.set_params(ensemble=True).fit(X, y)


@pytest.mark.parametrize("ensemble", [True, False])
def test_time_series_leave_the_first_rows_to_training(rows, ensemble):
    X, y = rows
    splits = TimeSeriesSplit(3)
    model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=splits, ensemble=ensemble)
    model.fit(X, y)
    assert len(model.calibrated_classifiers_) == (3 if ensemble else 1)
    assert model.score(X, y) > 0.6


TEXTS = {
    "object": lambda y: np.where(y, "yes", "no").astype(object),
    "text": lambda y: np.where(y, "yes", "no"),
    "text of any length": lambda y: np.where(y, "yes", "no").astype(np.dtypes.StringDType()),
    "list": lambda y: np.where(y, "yes", "no").tolist(),
    "pandas string": lambda y: pd.Series(np.where(y, "yes", "no"), dtype="string"),
    "pandas Arrow": lambda y: pd.Series(np.where(y, "yes", "no"), dtype="string[pyarrow]"),
    "pandas category": lambda y: pd.Series(np.where(y, "yes", "no"), dtype="category"),
}
NUMBERS = {
    "bool": lambda y: y.astype(bool),
    "uint8": lambda y: y.astype(np.uint8),
    "float": lambda y: y.astype(float),
    "pandas Int64": lambda y: pd.Series(y, dtype="Int64"),
    "pandas boolean": lambda y: pd.Series(y.astype(bool), dtype="boolean"),
    "pandas Arrow": lambda y: pd.Series(y, dtype="int64[pyarrow]"),
}


def test_labels_of_every_type_give_the_same_probabilities(rows):
    X, y = rows
    expected = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=2).fit(X, y)
    p, right = expected.predict_proba(X), expected.predict(X).astype(bool)
    for labels, kinds in ((["no", "yes"], TEXTS), ([0, 1], NUMBERS)):
        for name, make in kinds.items():
            model = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=2).fit(X, make(y))
            assert model.classes_.tolist() == labels, name
            np.testing.assert_array_equal(model.predict_proba(X), p, err_msg=name)
            assert (model.predict(X) == labels[1]).tolist() == right.tolist(), name


@pytest.mark.parametrize("dtype", ["Float64", "double[pyarrow]"])
def test_nullable_and_arrow_columns_are_legal(rows, dtype):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    expected = CalibratedClassifier(GaussianNB(), cv=2).fit(frame, y)
    model = CalibratedClassifier(GaussianNB(), cv=2).fit(frame.astype(dtype), y)
    np.testing.assert_array_equal(
        model.predict_proba(frame.astype(dtype)), expected.predict_proba(frame)
    )
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]


@pytest.mark.parametrize("kind", [IdentityCalibrator, HistogramCalibrator, BBQCalibrator])
def test_sparse_rows_are_legal(rows, kind):
    X, y = np.abs(rows[0]).round(1), rows[1]
    for base in (MultinomialNB(), LinearSVC()):
        dense = CalibratedClassifier(base, kind(), cv=2).fit(X, y).predict_proba(X)
        sparse = CalibratedClassifier(base, kind(), cv=2).fit(csr_matrix(X), y)
        np.testing.assert_allclose(sparse.predict_proba(csr_matrix(X)), dense, atol=1e-3)


def test_it_works_inside_and_around_other_estimators(rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    ours = CalibratedClassifier(GaussianNB(), BetaCalibrator(), cv=2)
    p = ours.fit(X, y).predict_proba(X)
    vote = VotingClassifier([("a", clone(ours)), ("b", clone(ours))], voting="soft").fit(X, y)
    np.testing.assert_allclose(vote.predict_proba(X), p)
    stack = StackingClassifier([("a", clone(ours))], LogisticRegression(), cv=2).fit(X, y)
    assert stack.score(X, y) > 0.6
    pipeline = make_pipeline(StandardScaler(), clone(ours)).set_output(transform="pandas")
    assert pipeline.fit(frame, y).score(frame, y) > 0.6
    assert pipeline[-1].feature_names_in_.tolist() == ["a", "b", "c"]
    inside = CalibratedClassifier(make_pipeline(StandardScaler(), LinearSVC()), cv=2).fit(X, y)
    assert inside.calibrated_classifiers_[0].method == "decision_function"


def test_logarithms_of_probabilities(rows):
    X, y = rows
    model = CalibratedClassifier(GaussianNB(), IsotonicCalibrator(), cv=2).fit(X, y)
    p, logs = model.predict_proba(X), model.predict_log_proba(X)
    assert (p == 0).any()
    np.testing.assert_array_equal(np.isneginf(logs), p == 0)
    np.testing.assert_array_equal(np.exp(logs[p > 0]).round(12), p[p > 0].round(12))


def test_isotonic_regression_is_asked_within_the_range_it_was_fitted_on(rows):
    X, y = rows
    prefit = FrozenEstimator(LinearSVC().fit(X, y))
    inner = np.abs(prefit.decision_function(X)) < 1
    silent = CalibratedClassifier(prefit, IsotonicRegression()).fit(X[inner], y[inner])
    clipped = CalibratedClassifier(prefit, IsotonicRegression(out_of_bounds="clip"))
    expected = clipped.fit(X[inner], y[inner]).predict_proba(X)
    np.testing.assert_array_equal(silent.predict_proba(X), expected)


def test_a_count_of_two_is_the_row_twice_for_charcoal(rows):
    X, y = rows
    prefit = FrozenEstimator(GaussianNB().fit(X, y))
    counts = 1 + (np.arange(len(y)) % 3 == 0)
    twice = np.repeat(np.arange(len(y)), counts)
    counted = CalibratedClassifier(prefit, CharcoalGrillCalibrator()).fit(X, y, counts=counts)
    repeated = CalibratedClassifier(prefit, CharcoalGrillCalibrator()).fit(X[twice], y[twice])
    np.testing.assert_allclose(counted.predict_proba(X), repeated.predict_proba(X), atol=1e-6)


def test_a_model_of_zero_probabilities_is_uniform():
    class Never(BaseEstimator):
        """A third party's calibrator that gives every class nothing."""

        def fit(self, scores, y):
            return self

        def predict(self, scores):
            return np.zeros(len(scores))

    X = np.arange(30.0)[:, None]
    y = np.arange(30) % 3
    model = CalibratedClassifier(GaussianNB(), Never(), cv=StratifiedKFold(2)).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(X), 1 / 3)


def test_options_of_the_calibrator_are_searched_by_name(rows):
    search = GridSearchCV(
        CalibratedClassifier(GaussianNB(), LogisticCalibrator(), cv=2),
        {"calibrator__label_smoothing": [None, "platt"], "ensemble": [True, False]},
        scoring="neg_log_loss",
        cv=2,
    )
    assert set(search.fit(*rows).best_params_) == {"calibrator__label_smoothing", "ensemble"}
