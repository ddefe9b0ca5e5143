"""The calibrator that chooses: its choice, its contract, and its place inside a classifier."""

import pickle
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.naive_bayes import GaussianNB

from trueodds import (
    BayesianSmoothCalibrator,
    BayesianStructuredCalibrator,
    CalibratedClassifier,
    CalibrationMap,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    OneVsRestCalibrator,
    ScoreTable,
    TemperatureCalibrator,
)
from trueodds.exceptions import InputError, TrueoddsWarning
from trueodds.model_selection import AutoCalibrator, compare_calibrators
from trueodds.testing import calibrator_checks
from trueodds.testing._sample import binary_sample, multiclass_sample

FAST = ["temperature", "beta", "isotonic"]


@pytest.fixture(scope="module")
def sure():
    rng = np.random.default_rng(0)
    z = 3 * rng.logistic(size=1500)
    return 1 / (1 + np.exp(-z)), (rng.random(1500) < 1 / (1 + np.exp(-z / 3))).astype(int)


@pytest.mark.parametrize("check", calibrator_checks(AutoCalibrator(FAST)), ids=str)
def test_it_keeps_the_contract_of_all_calibrators(check):
    check()


@pytest.mark.slow
@pytest.mark.parametrize("check", calibrator_checks(AutoCalibrator(["beta", "tree"])), ids=str)
def test_it_keeps_the_contract_with_a_tree_among_the_methods(check):
    check()


@pytest.mark.parametrize("check", calibrator_checks(AutoCalibrator()), ids=str)
def test_the_recommended_methods_keep_the_contract(check):
    check()


def test_by_default_it_is_the_recommended_method_without_a_comparison(sure):
    auto = AutoCalibrator().fit(*sure)
    assert auto.best_method_ == "bayesian_smooth"
    assert auto.map_ == BayesianSmoothCalibrator().fit(*sure).map_
    assert len(auto.results_) == 0
    assert "Scores changed by 0.1" in auto.explanation_
    three = AutoCalibrator().fit(*_few(multiclass_sample(90)))
    assert three.best_method_ == "bayesian_structured"
    assert three.map_ == BayesianStructuredCalibrator().fit(*_few(multiclass_sample(90))).map_


def test_by_default_calibrated_scores_are_hardly_changed_and_it_says_so():
    rng = np.random.default_rng(1)
    p = rng.random(5000)
    auto = AutoCalibrator().fit(p, rng.random(5000) < p)
    assert auto.explanation_.endswith("so calibration is hardly needed.")
    np.testing.assert_allclose(auto.predict_proba(p)[:, 1], p, atol=0.02)


def test_a_small_change_of_rare_events_is_not_called_small():
    rng = np.random.default_rng(2)
    truth = np.exp(rng.normal(-6, 0.3, 20_000))
    y = rng.random(20_000) < truth
    auto = AutoCalibrator().fit(2 * truth, y)  # twice too high, by 0.0025 on average
    found = auto.predict_proba(2 * truth)[:, 1]
    size, rate = np.abs(found - 2 * truth).mean(), y.mean()
    assert size < 0.01
    assert size / rate > 0.5
    assert auto.explanation_.endswith(
        f"by {size:.2g} on average, {size / rate:.0%} of the base rate of {100 * rate:.2f}%."
    )


def test_the_recommended_method_is_found_without_scikit_learn_or_pandas():
    code = (
        "import sys, trueodds; "
        "trueodds.AutoCalibrator().fit([0.1, 0.4, 0.6, 0.9] * 9, [0, 0, 1, 1] * 9); "
        "sys.exit(bool({'sklearn', 'pandas', 'joblib'} & set(sys.modules)))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_pool_is_the_mixture_that_would_have_cost_least(sure):
    methods = {"none": IdentityCalibrator(), "flat": HistogramCalibrator(n_bins=1)}
    auto = AutoCalibrator(methods, select="stack").fit(*sure)
    assert auto.best_method_ == "stack"
    assert sum(auto.stack_weights_.values()) == pytest.approx(1)
    assert set(auto.stack_weights_) == {"none", "flat"}  # too sure, and not sure at all
    base, w = sure[1].mean(), auto.stack_weights_["none"]
    np.testing.assert_allclose(
        auto.predict_proba([0.01, 0.7])[:, 1], w * np.array([0.01, 0.7]) + (1 - w) * base
    )
    losses = {
        share: -np.log(np.abs(1 - sure[1] - (share * sure[0] + (1 - share) * base))).mean()
        for share in (w - 0.1, w, w + 0.1)
    }
    assert min(losses, key=losses.get) == w


def test_a_pool_of_several_classes_is_one_map(tmp_path):
    scores, y = _few(multiclass_sample(150))
    auto = AutoCalibrator(["temperature", "vector", "bayesian_structured"], select="stack")
    auto.fit(scores, y).map_.save(tmp_path / "map.json")
    again = CalibrationMap.load(tmp_path / "map.json")
    np.testing.assert_array_equal(again(scores), auto.predict_proba(scores))


def test_it_takes_what_compare_calibrators_chooses_and_fits_it_on_everything(sure):
    auto = AutoCalibrator(FAST).fit(*sure)
    assert (
        auto.best_method_
        == compare_calibrators(*sure, calibrators=FAST, select="one_se").best_method
    )
    assert auto.best_method_ == "temperature"
    alone = TemperatureCalibrator().fit(*sure)
    assert auto.map_ == alone.map_
    assert auto.calibrator_.temperature_ == alone.temperature_


def test_calibrated_scores_are_left_alone():
    rng = np.random.default_rng(1)
    p = rng.random(2000)
    auto = AutoCalibrator(FAST).fit(p, rng.random(2000) < p)
    assert auto.best_method_ == "identity"
    np.testing.assert_array_equal(auto.predict_proba(p)[:, 1], p)
    assert auto.explanation_.endswith("Calibration does not help; use the scores unchanged.")


def test_results_are_a_frame_with_one_row_for_each_method(sure):
    auto = AutoCalibrator(FAST).fit(*sure)
    assert isinstance(auto.results_, pd.DataFrame)
    assert auto.results_["method"].tolist() == ["identity", *FAST]
    assert auto.results_.loc[auto.results_["chosen"], "method"].tolist() == ["temperature"]


def test_results_are_plain_dicts_without_pandas(sure, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    auto = AutoCalibrator(["temperature"]).fit(*sure)
    assert [row["method"] for row in auto.results_] == ["identity", "temperature"]
    comparison = compare_calibrators(*sure, calibrators=["temperature"])
    with pytest.raises(ImportError, match="pip install"):
        comparison.to_frame()


def test_the_lowest_loss_wins_if_asked(sure):
    auto = AutoCalibrator(FAST, select="best", scoring="brier_score").fit(*sure)
    frame = auto.results_
    assert auto.best_method_ == frame.loc[frame["brier_score"].idxmin(), "method"]
    assert "Brier score" in auto.explanation_


def test_the_default_methods_suit_the_number_of_classes():
    def compared(calibrators, sample):
        auto = AutoCalibrator(calibrators, select="one_se").fit(*_few(sample))
        return set(auto.results_["method"])

    two, three = binary_sample(60), multiclass_sample(90)
    assert {"enir", "beta", "logistic"} <= compared("default", two)
    assert {"temperature", "charcoal_grill"} <= compared("default", three)
    assert compared("all", two) - compared("default", two) == {
        "acp",
        "bbq",
        "histogram",
        "isotonic",
    }
    assert compared("all", three) - compared("default", three) == {"isotonic", "matrix", "vector"}


def _few(sample):
    return sample.scores, sample.y


def test_its_map_is_json(tmp_path, sure):
    auto = AutoCalibrator(FAST).fit(sure[0], np.array(["no", "yes"])[sure[1]])
    auto.map_.save(tmp_path / "map.json")
    again = CalibrationMap.load(tmp_path / "map.json")
    assert again == auto.map_
    assert again.classes == ("no", "yes")
    np.testing.assert_array_equal(again(sure[0]), auto.predict_proba(sure[0])[:, 1])


def test_label_smoothing_is_given_to_every_method(sure):
    smooth = AutoCalibrator(["isotonic"], label_smoothing="platt", select="best").fit(*sure)
    assert np.isfinite(smooth.results_["log_loss"]).all()
    assert smooth.calibrator_.label_smoothing == "platt"
    plain = AutoCalibrator(["isotonic", "logistic"]).fit(*sure)
    assert np.isinf(plain.results_["log_loss"]).any()
    assert plain.calibrator_.label_smoothing == LogisticCalibrator().label_smoothing


def test_too_few_instances_to_compare_leave_the_scores_alone():
    auto = AutoCalibrator(select="one_se").fit([0.2, 0.4, 0.9], [0, 0, 1])
    assert auto.best_method_ == "identity"
    assert "without a comparison" in auto.explanation_
    assert len(auto.results_) == 0


def test_a_method_that_fails_is_warned_of(sure, monkeypatch):
    def fail(self, table):
        raise ZeroDivisionError("no luck")

    monkeypatch.setattr(HistogramCalibrator, "_fit", fail)
    with pytest.warns(TrueoddsWarning, match="left out: histogram .ZeroDivisionError: no luck"):
        auto = AutoCalibrator(["histogram", "temperature"]).fit(*sure)
    assert auto.best_method_ == "temperature"
    assert list(auto.failures_) == ["histogram"]


@pytest.mark.parametrize("select", [None, "one_se"])
def test_it_keeps_no_rows_but_those_of_the_calibrator_that_it_chose(select, sure):
    auto = AutoCalibrator(["temperature", "beta"], select=select).fit(*sure)
    own = len(pickle.dumps(auto)) - len(pickle.dumps(auto.calibrator_))
    assert own < sure[0].nbytes / 2
    assert auto._kept is auto.calibrator_._kept


def test_it_learns_from_a_table_of_counts(sure):
    scores, y = np.round(sure[0], 2), sure[1]
    table = ScoreTable.from_arrays(scores, y)
    a = AutoCalibrator(FAST).fit_table(table)
    b = AutoCalibrator(FAST).fit(scores, y)
    assert a.best_method_ == b.best_method_
    np.testing.assert_allclose(a.predict_proba(scores), b.predict_proba(scores), atol=1e-9)


def test_it_can_be_compared_with_the_methods_that_it_chooses_from(sure):
    result = compare_calibrators(
        *sure, calibrators={"auto": AutoCalibrator(["temperature"]), "temperature": "temperature"}
    )
    losses = {row["method"]: row["log_loss"] for row in result.rows()}
    assert losses["auto"] == pytest.approx(losses["temperature"])


def test_it_works_inside_a_classifier_of_two_classes():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(400, 3))
    X = np.concatenate([X, X[:, :1], X[:, :1]], axis=1)  # naive Bayes counts it three times
    y = rng.random(400) < 1 / (1 + np.exp(-X[:, 0]))
    model = CalibratedClassifier(GaussianNB(), AutoCalibrator(FAST), ensemble=False).fit(X, y)
    member = model.calibrated_classifiers_[0]
    assert member.calibrator.best_method_ in {"temperature", "beta"}
    assert model.predict_proba(X).shape == (400, 2)


@pytest.mark.slow
@pytest.mark.parametrize("ensemble", [True, False])
def test_it_works_inside_a_classifier_of_three_classes(ensemble):
    X, y = load_iris(return_X_y=True)
    auto = AutoCalibrator(["temperature", "vector", "isotonic"])
    forest = RandomForestClassifier(20, random_state=0)
    model = CalibratedClassifier(forest, auto, ensemble=ensemble, cv=3).fit(X, y)
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert (model.predict(X) == y).mean() > 0.9
    names = {member.calibrator.best_method_ for member in model.calibrated_classifiers_}
    assert names <= {"identity", "temperature", "vector", "isotonic"}


def test_a_tree_among_the_methods_gets_the_features_of_the_classifier():
    rng = np.random.default_rng(3)
    X = rng.random((600, 2))
    y = rng.random(600) < np.where(X[:, 0] > 0.5, 0.9, 0.1)

    class Constant(GaussianNB):
        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    auto = AutoCalibrator(["logistic", "tree"])
    model = CalibratedClassifier(Constant(), auto, ensemble=False).fit(X, y)
    assert model.calibrated_classifiers_[0].calibrator.best_method_ == "tree"
    assert model.score(X, y) > 0.8


def test_one_vs_rest_may_choose_for_each_class(sure):
    sample = multiclass_sample(300)
    inner = AutoCalibrator(["temperature"])
    p = OneVsRestCalibrator(inner).fit(sample.scores, sample.y).predict_proba(sample.scores)
    np.testing.assert_allclose(p.sum(axis=1), 1)


def test_promises_are_those_that_all_methods_keep():
    assert AutoCalibrator(["temperature", "isotonic"]).is_monotone
    assert not AutoCalibrator(["temperature", "enir"]).is_monotone
    assert not AutoCalibrator().needs_features
    assert AutoCalibrator(["tree"]).needs_features


def test_clones_copy_the_methods():
    auto = AutoCalibrator([IsotonicCalibrator(interpolation="step")])
    copy = clone(auto)
    assert copy.calibrators[0] is not auto.calibrators[0]
    assert copy.calibrators[0].interpolation == "step"


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibrators": [HistogramCalibrator(n_bins=0)]}, "n_bins must be"),
        ({"calibrators": [IsotonicRegression()]}, "compare_calibrators takes any"),
        ({"calibrators": "isotonic"}, r"pass \[\"isotonic\"\]"),
        ({"label_smoothing": 2}, "label_smoothing must be"),
        ({"select": "one_se", "cv": 0}, "cv must be"),
        ({"select": "default", "calibrators": ["beta"]}, "takes no calibrators"),
        ({"select": "two"}, "select must be"),
        ({"select": "stack", "calibrators": ["beta", "tree"]}, "scores alone"),
    ],
)
def test_bad_options_are_refused_before_anything_is_fitted(options, message, sure):
    with pytest.raises(InputError, match=message):
        AutoCalibrator(**options).fit(*sure, features=np.zeros((len(sure[0]), 1)))


@pytest.mark.parametrize("select", ["one_se", "stack"])
def test_a_method_that_fails_on_all_rows_is_an_error(sure, monkeypatch, select):
    def fail(self, *_, **__):
        raise KeyError("no luck")

    monkeypatch.setattr(TemperatureCalibrator, "fit", fail)  # a comparison calls fit_map
    with pytest.raises(KeyError, match="no luck"):
        AutoCalibrator(["temperature"], select=select).fit(*sure)


def test_a_recommended_method_that_fails_is_an_error(sure, monkeypatch):
    def fail(error):
        def raises(self, rows):
            raise error

        monkeypatch.setattr(BayesianSmoothCalibrator, "_fit", raises)
        return AutoCalibrator()

    with pytest.raises(ValueError, match=r"^a defect$"):
        fail(ValueError("a defect")).fit(*sure)
    auto = fail(np.linalg.LinAlgError("no luck"))
    with pytest.raises(InputError, match=r"BayesianSmooth.*scores are .* to .*no luck"):
        auto.fit(*sure)
    assert not hasattr(auto, "map_")


def test_too_few_rows_with_features_have_an_interval():
    auto = AutoCalibrator(["group", "beta"])
    auto.fit([0.2, 0.8, 0.4], [0, 1, 1], features=[[0], [1], [1]])
    assert auto.best_method_ == "identity"
    low, high = auto.predict_interval([0.3], features=[[0]])
    alone = IdentityCalibrator().fit([0.2, 0.8, 0.4], [0, 1, 1]).predict_interval([0.3])
    assert (low, high) == alone
