"""Methods compared on the same folds: what is reported, and that it is honest."""

import json
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit

from trueodds import (
    BetaCalibrator,
    HistogramCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    TemperatureCalibrator,
    TreeCalibrator,
)
from trueodds.exceptions import InputError, SeparableScoresWarning
from trueodds.metrics import brier_score, confidence_interval, expected_calibration_error, log_loss
from trueodds.model_selection import compare_calibrators
from trueodds.model_selection._folds import deal_folds
from trueodds.rows import Rows
from trueodds.testing._sample import multiclass_sample

FAST = ["temperature", "logistic", "isotonic"]


@pytest.fixture(scope="module")
def sure():
    """Log-odds that are three times too large, with some ties."""
    rng = np.random.default_rng(0)
    z = np.round(3 * rng.logistic(size=1500), 2)
    return z, (rng.random(1500) < 1 / (1 + np.exp(-z / 3))).astype(int)


@pytest.fixture(scope="module")
def comparison(sure):
    return compare_calibrators(*sure, scale="logit", calibrators=FAST, n_repeats=2, select="one_se")


def test_identity_takes_part_and_the_simplest_comes_first(comparison):
    assert comparison.methods == ("identity", "temperature", "logistic", "isotonic")


def test_a_row_has_the_agreed_keys_and_is_json(comparison):
    rows = json.loads(json.dumps(comparison.rows()))
    assert list(rows[0]) == [
        "method",
        "log_loss",
        "log_loss_low",
        "log_loss_high",
        "brier_score",
        "brier_score_low",
        "brier_score_high",
        "expected_calibration_error",
        "gain",
        "gain_low",
        "gain_high",
        "seconds",
        "chosen",
        "recommended",
    ]
    assert [row["method"] for row in rows if row["chosen"]] == [comparison.best_method]


def test_identity_out_of_fold_is_the_score_itself(sure, comparison):
    z, y = sure
    p = 1 / (1 + np.exp(-z))
    np.testing.assert_allclose(comparison.out_of_fold["identity"], p, rtol=1e-12)
    row = comparison.rows()[0]
    assert row["log_loss"] == pytest.approx(log_loss(y, p))
    assert row["brier_score"] == pytest.approx(brier_score(y, p))
    assert row["expected_calibration_error"] == pytest.approx(expected_calibration_error(y, p))
    assert (row["gain"], row["gain_low"], row["gain_high"]) == (0, 0, 0)


def test_reported_losses_are_those_of_the_out_of_fold_forecasts(sure):
    z, y = sure
    once = compare_calibrators(z, y, scale="logit", calibrators=FAST)
    assert len(once.rows()) > len(FAST)  # with the scores as they are
    for row in once.rows():
        p = once.out_of_fold[row["method"]]
        assert row["log_loss"] == pytest.approx(log_loss(y, p))
        assert row["brier_score"] == pytest.approx(brier_score(y, p))


def test_out_of_fold_forecasts_come_from_maps_that_did_not_see_the_row():
    # The labels are noise: a method that had seen them would look good.
    rng = np.random.default_rng(1)
    p, y = rng.random(400), rng.integers(0, 2, 400)
    result = compare_calibrators(p, y, calibrators=[HistogramCalibrator(n_bins=100)])
    fitted = HistogramCalibrator(n_bins=100).fit(p, y).predict_proba(p)[:, 1]
    assert brier_score(y, fitted) < 0.22
    assert result.rows()[1]["brier_score"] > 0.26


def test_fold_losses_are_paired_and_average_to_the_reported_loss(sure, comparison):
    n_folds = 5 * 2
    for metric in ("log_loss", "brier_score", "expected_calibration_error"):
        assert set(comparison.fold_losses[metric]) == set(comparison.methods)
        assert comparison.fold_losses[metric]["identity"].shape == (n_folds,)
    for row in comparison.rows():
        folds = comparison.fold_losses["brier_score"][row["method"]]
        assert folds.mean() == pytest.approx(row["brier_score"], rel=1e-3)


def test_intervals_of_a_mean_of_independent_losses_by_hand(sure):
    z, y = sure
    row = compare_calibrators(z, y, scale="logit", calibrators=[], level=0.9).rows()[0]
    losses = np.logaddexp(0, np.where(y == 1, -z, z))
    half = 1.6448536269514722 * losses.std(ddof=1) / np.sqrt(len(y))
    # Nearly: the interval is corrected for skewness.
    assert row["log_loss_high"] - row["log_loss_low"] == pytest.approx(2 * half, rel=0.02)
    alone = confidence_interval(log_loss, y, expit(z))
    ends = (row["log_loss"], row["log_loss_low"], row["log_loss_high"])
    assert ends == pytest.approx((alone.estimate, alone.low, alone.high), rel=1e-9)


def test_gain_interval_is_paired_and_covers_the_gain(comparison):
    row = comparison.rows()[1]
    assert row["method"] == "temperature"
    assert row["gain_low"] < row["gain"] < row["gain_high"]
    assert row["gain"] == pytest.approx(1 - row["log_loss"] / comparison.rows()[0]["log_loss"])
    # Unpaired, the interval would be at least as wide as that of the loss itself.
    assert row["gain_high"] - row["gain_low"] < (row["log_loss_high"] - row["log_loss_low"]) * 2


def test_the_simplest_method_within_one_standard_error_is_chosen(sure, comparison):
    assert comparison.best_method == "temperature"
    assert "temperature has an out-of-fold log-loss of 0." in comparison.explanation
    best = compare_calibrators(*sure, scale="logit", calibrators=FAST, select="best")
    losses = {row["method"]: row["log_loss"] for row in best.rows()}
    assert best.best_method == min(losses, key=losses.get)


def test_the_default_takes_part_and_is_recommended_with_what_it_gains(sure):
    result = compare_calibrators(*sure, scale="logit", calibrators=FAST)
    assert result.best_method == result.recommended == result.choose() == "bayesian_smooth"
    assert [row["method"] for row in result.rows() if row["recommended"]] == ["bayesian_smooth"]
    assert result.relative_gain("bayesian_smooth")[1] > 0
    assert result.explanation.startswith("bayesian_smooth is recommended. Its out-of-fold log-loss")
    # The scores are three times too large, so one factor is all that is needed.
    assert result.formula_as_good == "temperature"
    assert "A formula, temperature, does as well here" in result.explanation
    gap, error = result.difference("temperature", "bayesian_smooth")
    assert gap <= error
    assert result.formula_verdict == "does as well here"
    # A formula whose loss is lower by many standard errors does not do "as well".
    gap, error = result.difference("temperature", "identity")
    assert gap < -3 * error
    better = replace(result, recommended="identity").formula_verdict
    assert better.startswith("is slightly better here; the default is safer")


def test_a_formula_is_named_only_where_it_does_as_well():
    rng = np.random.default_rng(3)
    p = rng.random(6000)
    y = (rng.random(6000) < np.where(p < 0.5, 0.1, 0.9)).astype(int)
    bent = compare_calibrators(p, y, calibrators=["temperature", "logistic"])
    assert bent.recommended == "bayesian_smooth"
    assert bent.formula_as_good is None
    assert "formula" not in bent.explanation
    right = compare_calibrators(p, (rng.random(6000) < p).astype(int), calibrators=["temperature"])
    assert right.formula_as_good == "identity"
    assert "Leaving the scores unchanged does as well here" in right.explanation


def test_a_choice_among_listed_methods_takes_no_other(sure):
    result = compare_calibrators(*sure, scale="logit", calibrators=["isotonic"], select="best")
    assert result.methods == ("identity", "isotonic")
    assert result.recommended in result.methods


class Nudge:
    """Move every score up by a thousandth, whatever the labels say."""

    def fit(self, scores, y):
        return self

    def predict(self, scores):
        return np.asarray(scores) + 0.001

    def get_params(self, deep=False):
        return {}


@pytest.mark.parametrize(
    ("positives", "errors", "chosen"),
    [(54, 0.789, "identity"), (57, 1.397, "nudge"), (59, 1.811, "nudge"), (61, 2.234, "nudge")],
)
def test_one_standard_error_is_one_and_not_two(positives, errors, chosen):
    # Of the Brier score at p = 0.5, a move by h takes h − h² from a positive and adds h + h² to
    # a negative: over 100 rows the mean gain is (2m − 1)·h − h² with m the share of positives, and
    # its standard error 2h·√(m(1 − m)/99).
    m, h = positives / 100, 0.001
    gap, error = (2 * m - 1) * h - h**2, 2 * h * np.sqrt(m * (1 - m) / 99)
    assert gap / error == pytest.approx(errors, abs=0.001)
    y = (np.arange(100) < positives).astype(int)
    result = compare_calibrators(
        np.full(100, 0.5), y, calibrators={"nudge": Nudge()}, scoring="brier_score", select="one_se"
    )
    assert result.difference("identity", "nudge", metric="brier_score") == pytest.approx(
        (gap, error), rel=1e-9
    )
    assert result.best_method == chosen


def test_an_infinite_log_loss_is_reported_and_never_chosen(comparison):
    row = comparison.rows()[-1]
    assert row["method"] == "isotonic"
    assert row["log_loss"] == row["log_loss_low"] == row["log_loss_high"] == np.inf
    assert row["gain"] == row["gain_low"] == row["gain_high"] == -np.inf
    assert np.isfinite(row["brier_score_high"])
    for each in comparison.rows():
        numbers = [value for value in each.values() if isinstance(value, float)]
        assert not np.isnan(numbers).any()


def test_if_every_log_loss_is_infinite_the_brier_score_decides():
    p = np.array([0.0, 1.0] * 50)
    y = np.array([0, 1] * 45 + [1, 0] * 5)  # the identity is certain and sometimes wrong
    result = compare_calibrators(p, y, calibrators=[IdentityCalibrator()], select="one_se")
    assert result.best_method == "identity"
    assert "the Brier score decides" in result.explanation
    assert result.rows()[0]["gain"] == 0
    better = compare_calibrators(p, y, calibrators=["isotonic"], select="one_se")
    assert better.best_method == "isotonic"
    assert better.rows()[1]["gain"] == 1
    assert "that of the uncalibrated scores is infinite" in better.explanation


def test_a_method_that_fails_is_named_and_left_out(sure):
    z, y = sure
    methods = {"bad": HistogramCalibrator(n_bins=-1), "t": "temperature"}
    result = compare_calibrators(z, y, scale="logit", calibrators=methods)
    assert result.methods == ("identity", "t", "bayesian_smooth")
    assert "n_bins must be" in result.failures["bad"]
    assert "left out" in str(result)


def test_warnings_of_ours_are_collected_and_not_shown():
    p = np.linspace(0.01, 0.99, 60)
    y = (p > 0.5).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        result = compare_calibrators(p, y, calibrators=["beta"])
    with pytest.warns(SeparableScoresWarning) as seen:
        BetaCalibrator().fit(p, y)
    assert result.warnings == {"beta": (str(seen[0].message),)}


def test_input_order_does_not_matter(sure):
    z, y = sure
    order = np.random.default_rng(3).permutation(len(y))
    a = compare_calibrators(z, y, scale="logit", calibrators=FAST).rows()
    b = compare_calibrators(z[order], y[order], scale="logit", calibrators=FAST).rows()
    assert [row["method"] for row in a] == [row["method"] for row in b] != []
    for key in ("brier_score", "brier_score_high"):
        np.testing.assert_allclose([row[key] for row in a], [row[key] for row in b], rtol=1e-12)


def test_counts_equal_repetition_in_losses_and_intervals(sure):
    z, y = sure[0][:300], sure[1][:300]
    counts = np.random.default_rng(4).integers(0, 4, 300)
    options = {"scale": "logit", "calibrators": FAST}
    a = compare_calibrators(z, y, counts=counts, **options)
    b = compare_calibrators(np.repeat(z, counts), np.repeat(y, counts), **options)
    assert a.best_method == b.best_method
    for one, other in zip(a.rows(), b.rows(), strict=True):
        for key in ("brier_score", "brier_score_high", "gain"):
            assert one[key] == pytest.approx(other[key], rel=1e-9)
    assert a.out_of_fold["temperature"].shape == (300,)
    assert np.isfinite(a.out_of_fold["temperature"]).all()


def test_importance_weights_of_any_scale_give_the_same_choice(sure):
    z, y = sure
    weight = np.random.default_rng(5).random(len(y))
    options = {"scale": "logit", "calibrators": ["temperature"]}
    a = compare_calibrators(z, y, sample_weight=weight, **options).rows()
    b = compare_calibrators(z, y, sample_weight=weight / 1000, **options).rows()
    assert a[1]["gain_low"] == pytest.approx(b[1]["gain_low"], rel=1e-12)


def test_folds_are_balanced_by_class_and_share_nothing():
    rng = np.random.default_rng(6)
    scores, codes = rng.random(103), (rng.random(103) < 0.2).astype(np.intp)
    folds = deal_folds(Rows(scores, codes), 5, 0)
    for k in range(2):
        sizes = np.bincount(folds.fold_of_row[codes == k], minlength=5)
        assert np.ptp(sizes) <= 1
    for fold in range(5):
        table = folds.train_rows(fold).table
        kept = folds.fold_of_row != fold
        np.testing.assert_array_equal(table.score, np.sort(scores[kept]))
        assert table.total_pos == codes[kept].sum()


def test_tables_of_folds_add_up_for_heavy_ties():
    rng = np.random.default_rng(7)
    scores = np.round(rng.random(5000), 1)
    codes = (rng.random(5000) < scores).astype(np.intp)
    folds = deal_folds(Rows(scores, codes), 4, 0)
    assert len(folds.cells.codes) <= 22
    total = sum(folds.train_rows(fold).table.total for fold in range(4))
    assert total == pytest.approx(3 * 5000)
    assert np.ptp(np.bincount(folds.fold_of_row)) <= 2


def test_three_classes_with_native_and_one_vs_rest_methods():
    sample = multiclass_sample(400)
    result = compare_calibrators(
        sample.scores, sample.y, calibrators=["temperature", "vector", "isotonic"]
    )
    listed = ("identity", "temperature", "vector", "isotonic")
    assert result.methods == (*listed, "bayesian_structured")
    assert result.out_of_fold["vector"].shape == (400, 3)
    row = result.rows()[1]
    assert row["log_loss"] == pytest.approx(log_loss(sample.y, result.out_of_fold["temperature"]))
    assert row["brier_score"] == pytest.approx(
        brier_score(sample.y, result.out_of_fold["temperature"])
    )
    assert result.best_method == result.recommended == "bayesian_structured"
    assert result.formula_as_good == result.choose(select="one_se") == "temperature"


def test_a_tree_sees_the_features_of_its_own_rows():
    rng = np.random.default_rng(8)
    x = rng.random(600)
    y = (rng.random(600) < np.where(x > 0.5, 0.9, 0.1)).astype(int)
    result = compare_calibrators(
        np.full(600, 0.5),
        y,
        calibrators=["logistic", TreeCalibrator()],
        features=pd.DataFrame({"x": x}),
        select="one_se",
    )
    assert result.best_method == "tree"
    high = result.out_of_fold["tree"][x > 0.5]
    assert high.mean() == pytest.approx(0.9, abs=0.05)


def test_any_object_with_fit_and_predict_can_be_compared(sure):
    from sklearn.isotonic import IsotonicRegression

    z, y = sure
    p = 1 / (1 + np.exp(-z))
    result = compare_calibrators(
        p, y, calibrators=[IsotonicRegression(out_of_bounds="clip"), IsotonicCalibrator()]
    )
    assert result.methods == ("identity", "isotonic", "bayesian_smooth", "IsotonicRegression")
    ours, _, theirs = result.rows()[1:]
    assert theirs["brier_score"] == pytest.approx(ours["brier_score"], abs=2e-3)


def test_two_instances_of_one_method_get_two_names(sure):
    result = compare_calibrators(
        *sure, scale="logit", calibrators=[LogisticCalibrator(), "logistic"]
    )
    assert result.methods == ("identity", "logistic", "logistic-2", "bayesian_smooth")


def test_several_processes_give_the_same_result(sure):
    options = {"scale": "logit", "calibrators": ["temperature"], "cv": 2}
    a = compare_calibrators(*sure, **options)
    b = compare_calibrators(*sure, **options, n_jobs=2)
    np.testing.assert_array_equal(
        a.fold_losses["log_loss"]["temperature"], b.fold_losses["log_loss"]["temperature"]
    )


def test_another_random_state_gives_other_folds(sure):
    options = {"scale": "logit", "calibrators": ["temperature"]}
    a = compare_calibrators(*sure, **options)
    b = compare_calibrators(*sure, **options, random_state=1)
    assert not np.array_equal(
        a.fold_losses["log_loss"]["temperature"], b.fold_losses["log_loss"]["temperature"]
    )


def test_progress_is_shown_on_request(sure, capsys):
    compare_calibrators(*sure, scale="logit", calibrators=["temperature"], progress=True)
    assert "comparing methods" in capsys.readouterr().err


def test_the_frame_has_the_rows(comparison):
    frame = comparison.to_frame()
    assert frame["method"].tolist() == list(comparison.methods)
    assert frame["log_loss"].tolist() == [row["log_loss"] for row in comparison.rows()]


def test_text_labels_and_declared_classes():
    p = np.array([[0.7, 0.2, 0.1], [0.2, 0.7, 0.1]] * 20)
    y = np.array(["a", "b"] * 20)
    result = compare_calibrators(p, y, classes=["a", "b", "c"], calibrators=["temperature"])
    assert result.out_of_fold["temperature"].shape == (40, 3)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"calibrators": "beta"}, r"pass \[\"beta\"\]"),
        ({"calibrators": ["betta"]}, "unknown method 'betta'; did you mean 'beta'"),
        ({"calibrators": [TemperatureCalibrator]}, "name or an instance"),
        ({"calibrators": 3}, "a list of names"),
        ({"cv": 1}, "cv must be"),
        ({"n_repeats": 0}, "n_repeats must be"),
        ({"level": 90}, "level must be"),
        ({"scoring": "accuracy"}, "scoring must be"),
        ({"select": "worst"}, "select must be"),
        ({"scale": "odds"}, "scale must be"),
        ({"classes": [0, 1, 2]}, "2 columns"),
        ({"sample_weight": [1.0]}, "sample_weight must have shape"),
    ],
)
def test_bad_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        compare_calibrators([0.1, 0.2, 0.8, 0.9], [0, 1, 0, 1], **options)


def test_too_few_instances_are_refused_with_their_number():
    with pytest.raises(InputError, match="found 3, 1 of each class"):
        compare_calibrators([0.1, 0.2, 0.3, 0.9], [0, 0, 0, 1])
    with pytest.raises(InputError, match="one class only"):
        compare_calibrators([0.1, 0.2], [0, 0])
    with pytest.raises(InputError, match="differ in length"):
        compare_calibrators([0.1, 0.2], [0, 1, 1])


def test_differences_are_paired_by_instance(sure):
    z, y = sure
    result = compare_calibrators(z, y, scale="logit", calibrators=FAST)
    p, q = result.out_of_fold["identity"], result.out_of_fold["temperature"]
    gap = (p - y) ** 2 - (q - y) ** 2
    mean, error = result.difference("identity", "temperature", metric="brier_score")
    assert mean == pytest.approx(gap.mean())
    assert error == pytest.approx(gap.std() / np.sqrt(len(gap)), rel=0.01)
    assert result.difference("isotonic", "identity") == (np.inf, np.inf)
    assert result.difference("isotonic", "isotonic") == (0, np.inf)
    with pytest.raises(InputError, match="method must be"):
        result.difference("identity", "tempo")


def test_with_log_loss_a_method_that_is_ever_certain_is_not_chosen():
    # Isotonic is right about its zeros and ones in every fold here, and has the lowest loss.
    p = np.repeat([0.6, 0.7, 0.8], 100)
    y = np.where(p == 0.6, 0, np.where(p == 0.8, 1, np.arange(300) % 2))
    options = {"calibrators": ["isotonic", "temperature"], "select": "best"}
    result = compare_calibrators(p, y, **options)
    losses = {row["method"]: row["log_loss"] for row in result.rows()}
    assert min(losses, key=losses.get) == "isotonic"
    assert result.best_method == "temperature"
    assert "not counting 1 with forecasts of 0 or 1" in result.explanation
    assert compare_calibrators(p, y, **options, scoring="brier_score").best_method == "isotonic"
    assert result.choose(scoring="brier_score", select="best") == "isotonic"


def test_if_all_are_certain_the_finite_losses_are_compared():
    p = np.array([0.0, 1.0] * 50)
    result = compare_calibrators(p, p.astype(int), calibrators=["isotonic"], select="one_se")
    assert result.best_method == "identity"
    assert result.rows()[0]["log_loss"] == 0


def test_another_method_that_is_called_identity_does_not_take_its_place():
    sample = multiclass_sample(100, 2)
    scores, y = sample.scores[:, 1], sample.y
    methods = {"identity": BetaCalibrator(), "t": TemperatureCalibrator()}
    found = compare_calibrators(scores, y, calibrators=methods, cv=2, random_state=0)
    assert isinstance(found.calibrators["identity-2"], IdentityCalibrator)
    assert isinstance(found.calibrators["identity"], BetaCalibrator)
    np.testing.assert_array_equal(found.out_of_fold["identity-2"], scores)
