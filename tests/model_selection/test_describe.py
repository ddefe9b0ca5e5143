"""How a map was learned: complete, repeatable, and never at the price of a fit."""

import re

import numpy as np
import pytest

import trueodds
from trueodds.exceptions import InputError
from trueodds.metrics import brier_score, confidence_interval, log_loss, observed_expected_ratio
from trueodds.model_selection import _folds as fold_losses_module, compare_calibrators, fit_metadata


@pytest.fixture
def binary():
    rng = np.random.default_rng(0)
    z = rng.normal(-1, 1.5, 900)
    return 1 / (1 + np.exp(-2 * z)), (rng.random(900) < 1 / (1 + np.exp(-z))).astype(int)


@pytest.fixture
def several():
    rng = np.random.default_rng(0)
    scores = rng.dirichlet(np.ones(3), 400)
    return scores, (scores.cumsum(axis=1) > rng.random((400, 1))).argmax(axis=1)


def test_everything_that_is_known_of_a_fit_is_said(binary, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "86400")
    p, y = binary
    parent = trueodds.IdentityCalibrator().fit(p, y).map_
    calibrator = trueodds.HistogramCalibrator(n_bins=7).fit(p, y)
    metadata = fit_metadata(calibrator, p, y, parent=parent, notes=["by", {"hand": 1}])
    assert metadata["method"] == "histogram"
    assert metadata["options"]["n_bins"] == 7
    assert not {"scale", "classes"} & metadata["options"].keys()
    assert metadata["created"] == "1970-01-02T00:00:00Z"
    assert metadata["software"] == f"trueodds {trueodds.__version__}"
    assert (metadata["rows"], metadata["positives"]) == (900, int(y.sum()))
    assert metadata["score_range"] == [p.min(), p.max()]
    assert metadata["parent"] == parent.fingerprint
    assert metadata["notes"] == ["by", {"hand": 1}]
    assert "chosen" not in metadata
    assert calibrator.map_.with_metadata(metadata).metadata == metadata


def test_fitting_leaves_the_map_bare(binary):
    assert trueodds.BetaCalibrator().fit(*binary).map_.metadata is None


def test_what_auto_chose_is_said_with_the_reason(binary):
    auto = trueodds.AutoCalibrator().fit(*binary)
    metadata = fit_metadata(auto, *binary)
    assert (metadata["method"], metadata["chosen"]) == ("auto", "bayesian_smooth")
    assert metadata["reason"] == auto.explanation_
    assert metadata["losses"]["log_loss"]["after"] < metadata["losses"]["log_loss"]["before"]
    pool = trueodds.AutoCalibrator(["beta", "isotonic"], select="stack").fit(*binary)
    assert "losses" not in fit_metadata(pool, *binary)
    assert fit_metadata(pool, *binary)["options"]["calibrators"] == ["beta", "isotonic"]


def test_losses_before_are_those_of_the_scores(binary):
    p, y = binary
    losses = fit_metadata(trueodds.BetaCalibrator().fit(p, y), p, y)["losses"]
    assert losses["log_loss"]["before"] == pytest.approx(log_loss(y, p), rel=1e-12)
    assert losses["brier_score"]["before"] == pytest.approx(brier_score(y, p), rel=1e-12)
    assert (losses["folds"], losses["rows"]) == (5, 900)


def test_losses_after_are_out_of_fold(binary):
    """Isotonic regression would be better than it is, on the rows that it has seen."""
    p, y = binary
    calibrator = trueodds.IsotonicCalibrator().fit(p, y)
    after = fit_metadata(calibrator, p, y)["losses"]["brier_score"]["after"]
    compared = compare_calibrators(p, y, calibrators=["isotonic"], cv=5).rows()[1]["brier_score"]
    assert after == pytest.approx(compared, rel=0.02)
    assert after > 1.01 * brier_score(y, calibrator.predict_proba(p))


def test_several_classes_have_rows_of_each_and_losses(several):
    scores, y = several
    metadata = fit_metadata(trueodds.TemperatureCalibrator().fit(scores, y), scores, y)
    assert metadata["class_rows"] == np.bincount(y).tolist()
    assert "positives" not in metadata
    assert metadata["losses"]["log_loss"]["before"] == pytest.approx(log_loss(y, scores), rel=1e-12)


def test_margins_have_no_losses_before(binary):
    p, y = binary
    z = 40 * p
    metadata = fit_metadata(trueodds.LogisticCalibrator(scale="raw").fit(z, y), z, y)
    assert metadata["losses"]["log_loss"].keys() == {"after"}
    trueodds.maps.IdentityMap().with_metadata(metadata)  # so it may be saved


def test_infinite_losses_and_scores_can_be_saved():
    z, y = np.array([-np.inf, -1.0, 0.0, 1.0, 2.0, np.inf] * 4), np.array([1, 0, 0, 1, 1, 1] * 4)
    p = np.array([0.0, 0.3, 0.5, 0.7, 0.9, 1.0] * 4)
    of_logits = fit_metadata(trueodds.IdentityCalibrator(scale="logit").fit(z, y), z, y)
    assert of_logits["score_range"] == ["-inf", "inf"]
    of_probabilities = fit_metadata(trueodds.IdentityCalibrator().fit(p, y), p, y)
    assert of_probabilities["losses"]["log_loss"] == {"before": "inf", "after": "inf"}
    for metadata in (of_logits, of_probabilities):
        trueodds.maps.IdentityMap().with_metadata(metadata)


def test_methods_with_features_have_losses_out_of_fold(binary):
    p, y = binary
    rng = np.random.default_rng(0)
    site = rng.choice(["a", "b", "c"], len(y))
    y = np.where((site == "c") & (rng.random(len(y)) < 0.5), 1, y)
    features = np.array(site, dtype=object)[:, None]
    group = trueodds.GroupCalibrator().fit(p, y, features=features)
    losses = fit_metadata(group, p, y, features=features)["losses"]
    assert losses["log_loss"]["before"] == pytest.approx(log_loss(y, p), rel=1e-12)
    compared = compare_calibrators(p, y, calibrators=["group"], features=features).rows()[-1]
    assert losses["log_loss"]["after"] == pytest.approx(compared["log_loss"], rel=0.02)
    assert losses["log_loss"]["after"] > log_loss(y, group.predict_proba(p, features=features))
    weight = rng.integers(0, 3, len(y))
    kept = weight > 0
    fitted = trueodds.GroupCalibrator().fit(p, y, counts=weight, features=features)
    counted = fit_metadata(fitted, p, y, counts=weight, features=features)
    repeated = np.repeat(np.arange(len(y)), weight)
    ratio = weight @ y / (weight @ fitted.predict_proba(p, features=features)[:, 1])
    assert counted["observed_expected"]["after"]["estimate"] == pytest.approx(ratio, rel=1e-12)
    assert counted["losses"]["log_loss"]["before"] == pytest.approx(
        log_loss(y[repeated], p[repeated]), rel=1e-12
    )
    assert kept.sum() < len(y)


def test_a_tree_measures_its_losses_in_its_fit(binary):
    p, y = binary
    features = np.random.default_rng(0).random((len(y), 2))
    tree = trueodds.TreeCalibrator().fit(p, y, features=features)
    metadata = fit_metadata(tree, p, y, features=features)
    expected = {"after": tree.out_of_fold_log_loss_, "one_map": tree.one_map_log_loss_}
    found = metadata["losses"]["log_loss"]
    assert found == expected | {"before": pytest.approx(log_loss(y, p), rel=1e-12)}
    assert tree.map_.with_metadata(metadata).metadata["losses"]["log_loss"] == found
    assert "observed_expected" in metadata
    without = fit_metadata(tree, p, y)
    assert without["losses"] == metadata["losses"]
    assert "observed_expected" not in without
    group = trueodds.GroupCalibrator().fit(p, y, features=features)
    assert not {"losses", "observed_expected"} & fit_metadata(group, p, y).keys()


@pytest.mark.parametrize("weighting", [None, "sample_weight", "counts"])
def test_observed_over_expected_before_and_after(binary, weighting):
    """Against the metric, whose standard error is a ratio of two sums over the rows."""
    p, y = binary
    w = np.random.default_rng(3).integers(1, 5, len(y)).astype(float)
    given = {} if weighting is None else {weighting: w}
    w = w if given else np.ones(len(y))
    calibrator = trueodds.BayesianSmoothCalibrator().fit(p, y, **given)
    found = fit_metadata(calibrator, p, y, **given)["observed_expected"]
    assert found["level"] == 0.9
    for name, prob in (("before", p), ("after", calibrator.predict_proba(p)[:, 1])):
        ratio = w @ y / (w @ prob)
        metric = confidence_interval(observed_expected_ratio, y, prob, **given)
        expected = {"estimate": ratio, "low": metric.low, "high": metric.high}
        assert found[name] == pytest.approx(expected, rel=1e-6)


def test_margins_and_several_classes_have_no_ratio_before(binary, several):
    p, y = binary
    found = fit_metadata(trueodds.LogisticCalibrator(scale="raw").fit(p, y), p, y)
    assert found["observed_expected"].keys() == {"after", "level"}
    scores, labels = several
    fitted = trueodds.TemperatureCalibrator().fit(scores, labels)
    assert "observed_expected" not in fit_metadata(fitted, scores, labels)


def test_no_event_and_nothing_expected_can_be_saved():
    p, y = np.array([0.0, 0.0, 0.0, 0.0]), np.array([0, 1, 0, 0])
    metadata = fit_metadata(trueodds.IdentityCalibrator().fit(p, y), p, y)
    assert metadata["observed_expected"]["before"]["estimate"] == "inf"
    trueodds.maps.IdentityMap().with_metadata(metadata)


def test_a_formula_is_named_where_a_curve_gains_nothing():
    """Against paired differences of held-out losses, computed here."""
    rng = np.random.default_rng(0)
    n = 3000
    z = rng.normal(0, 2, n)
    y = (rng.random(n) < 1 / (1 + np.exp(-z / 2))).astype(int)
    p = 1 / (1 + np.exp(-z))
    fitted = trueodds.BayesianSmoothCalibrator().fit(p, y)
    formula = fit_metadata(fitted, p, y)["losses"]["formula"]
    assert formula["method"] == "temperature"
    compared = compare_calibrators(p, y, calibrators=["temperature"], random_state=0)
    assert compared.formula_as_good == "temperature"
    mean, error = compared.difference("temperature", "bayesian_smooth")
    assert abs(formula["difference"] - mean) < 2 * error
    assert formula["standard_error"] == pytest.approx(error, rel=0.5)
    bent = 1 / (1 + np.exp(-np.where(z > 0, 4 * z, z / 4)))  # no formula bends so
    curve = trueodds.BayesianSmoothCalibrator().fit(bent, y)
    assert "formula" not in fit_metadata(curve, bent, y)["losses"]
    assert "formula" not in fit_metadata(trueodds.BetaCalibrator().fit(p, y), p, y)["losses"]


def test_too_few_rows_to_hold_any_out_have_no_losses():
    calibrator = trueodds.IdentityCalibrator().fit([0.2, 0.7], [0, 1])
    assert "losses" not in fit_metadata(calibrator, [0.2, 0.7], [0, 1])


def test_of_many_rows_a_sample_measures_the_change_alone(binary, monkeypatch):
    monkeypatch.setattr(fold_losses_module, "MOST_ROWS", {True: 300})
    p, y = binary
    calibrator = trueodds.BetaCalibrator().fit(p, y)
    losses = fit_metadata(calibrator, p, y)["losses"]
    assert losses["rows"] == 300
    assert losses["log_loss"]["before"] == pytest.approx(log_loss(y, p), rel=1e-12)
    nothing = fit_metadata(trueodds.IdentityCalibrator().fit(p, y), p, y)["losses"]
    assert nothing["rows"] == 300
    for pair in (nothing["log_loss"], nothing["brier_score"]):
        assert pair["after"] == pytest.approx(pair["before"], rel=1e-12)
    assert losses == fit_metadata(calibrator, p, y)["losses"]


def test_the_fingerprint_of_data_depends_on_data_alone(binary):
    p, y = binary
    calibrator = trueodds.BetaCalibrator().fit(p, y)
    first = fit_metadata(calibrator, p, y)["data"]
    order = np.random.default_rng(1).permutation(len(y))
    assert fit_metadata(calibrator, p[order], y[order])["data"] == first
    assert fit_metadata(calibrator, p, y, np.full(len(y), 2.0))["data"] == first
    twice = fit_metadata(calibrator, p, y, counts=np.full(len(y), 2))
    assert twice["data"] == fit_metadata(calibrator, np.tile(p, 2), np.tile(y, 2))["data"] != first
    assert twice["rows"] == 1800
    assert "effective_rows" not in twice
    important = fit_metadata(calibrator, p, y, np.arange(1.0, 1.0 + len(y)))
    assert important["rows"] == 900
    assert important["effective_rows"] == pytest.approx(0.75 * 900, rel=0.01)
    assert important["data"] != first
    other = y.copy()
    other[0] = 1 - other[0]
    assert fit_metadata(calibrator, p, other)["data"] != first


def test_the_time_is_that_of_the_build_if_it_says_so(binary, monkeypatch):
    calibrator = trueodds.BetaCalibrator().fit(*binary)
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    assert fit_metadata(calibrator, *binary) == fit_metadata(calibrator, *binary)
    assert fit_metadata(calibrator, *binary)["created"] == "2023-11-14T22:13:20Z"
    for wrong in ("yesterday", "9" * 30):
        monkeypatch.setenv("SOURCE_DATE_EPOCH", wrong)
        with pytest.raises(InputError, match=f"must be a number of seconds.*got '{wrong}'"):
            fit_metadata(calibrator, *binary)
    monkeypatch.delenv("SOURCE_DATE_EPOCH")
    assert re.fullmatch(r"20\d\d-.*T.*Z", fit_metadata(calibrator, *binary)["created"])


def test_options_that_are_objects_are_named_and_not_by_their_address(binary):
    nested = trueodds.OneVsRestCalibrator(trueodds.BetaCalibrator("am")).fit(*binary)
    metadata = fit_metadata(nested, *binary)
    assert metadata["options"]["calibrator"] == "BetaCalibrator(parameters='am')"
    random = trueodds.AutoCalibrator(random_state=np.random.default_rng(0)).fit(*binary)
    assert fit_metadata(random, *binary)["options"]["random_state"] == "Generator"


def test_only_fitted_calibrators_can_be_described(binary):
    from sklearn.exceptions import NotFittedError

    with pytest.raises(NotFittedError, match="not fitted"):
        fit_metadata(trueodds.BetaCalibrator(), *binary)
    with pytest.raises(InputError, match="needs a calibrator; got str"):
        fit_metadata("beta", *binary)
