"""Beta calibration equals the converged optimum, and the paper's constraint holds."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit

from trueodds import BetaCalibrator, LogisticCalibrator
from trueodds.exceptions import InputError, NonMonotoneWarning

SETS = ("n50", "n200", "n1000", "imbal2000", "aneg800", "bneg800")


def training_data(fixtures, name):
    own = fixtures / "beta" / f"{name}_train.csv"
    return pd.read_csv(own if own.exists() else fixtures / "data" / f"{name}_train.csv")


def log_likelihood(y, p):
    return np.sum(np.where(y == 1, np.log(p), np.log1p(-p)))


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.NonMonotoneWarning")
@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
@pytest.mark.parametrize("name", SETS)
def test_predictions_equal_the_converged_optimum(fixtures, name, parameters):
    train = training_data(fixtures, name)
    expected = pd.read_csv(fixtures / "beta" / f"{name}_pred.csv")
    calibrator = BetaCalibrator(parameters).fit(train["score"], train["label"])
    p = calibrator.predict_proba(expected["score"])[:, 1]
    np.testing.assert_allclose(p, expected[f"mle_{parameters}"], atol=1e-10)


@pytest.mark.filterwarnings("ignore::trueodds.exceptions.NonMonotoneWarning")
@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
@pytest.mark.parametrize("name", SETS)
def test_the_likelihood_is_at_least_that_of_betacal(fixtures, name, parameters):
    train = training_data(fixtures, name)
    table = pd.read_csv(fixtures / "beta" / "params.csv")
    row = table.query("dataset == @name and source == 'pypi' and parameters == @parameters").iloc[0]
    s = train["score"].to_numpy()
    c = row["intercept_c"] if parameters != "ab" else (row["a"] - row["b"]) * np.log(2)
    theirs = expit(row["a"] * np.log(s) - row["b"] * np.log1p(-s) + c)
    ours = BetaCalibrator(parameters).fit(s, train["label"]).predict_proba(s)[:, 1]
    assert log_likelihood(train["label"], ours) >= log_likelihood(train["label"], theirs) - 1e-9


@pytest.mark.parametrize("parameters", ["abm", "am"])
def test_inverted_scores_give_a_constant_and_a_warning_not_a_falling_map(fixtures, parameters):
    train = training_data(fixtures, "bothneg800")
    with pytest.warns(NonMonotoneWarning, match="constant"):
        fitted = BetaCalibrator(parameters).fit(train["score"], train["label"]).map_
    assert fitted.a == fitted.b == 0
    assert expit(fitted.c) == pytest.approx(train["label"].mean())


def test_the_midpoint_variant_obeys_the_constraint_on_request(fixtures):
    train = training_data(fixtures, "aneg800")
    with pytest.warns(NonMonotoneWarning, match="not increasing"):
        free = BetaCalibrator("ab").fit(train["score"], train["label"]).map_
    assert free.a < 0
    bound = BetaCalibrator("ab", monotone=True).fit(train["score"], train["label"]).map_
    assert bound.a == 0
    assert bound.b > 0
    assert bound.c == pytest.approx(-bound.b * np.log(2))


def test_elimination_finds_the_constrained_maximum():
    rng = np.random.default_rng(0)
    s = rng.random(300)
    y = rng.random(300) < expit(-0.7 * np.log(s) - 1.5 * np.log1p(-s) - 1)
    with np.errstate(divide="ignore"):
        fitted = BetaCalibrator().fit(s, y).map_
    assert min(fitted.a, fitted.b) == 0
    best = log_likelihood(y, fitted(s))
    for a, b, c in rng.uniform([0, 0, -3], [2, 3, 3], size=(3000, 3)):
        p = expit(a * np.log(s) - b * np.log1p(-s) + c)
        assert log_likelihood(y, p) <= best + 1e-9


@pytest.mark.parametrize("name", ["zeroone500", "ties1000"])
@pytest.mark.parametrize("parameters", ["abm", "am", "ab"])
def test_no_clip_constant_decides_the_fit(fixtures, name, parameters):
    train = training_data(fixtures, name)
    s, y = train["score"].to_numpy(), train["label"].to_numpy()
    from_probabilities = BetaCalibrator(parameters).fit(s, y)
    with np.errstate(divide="ignore"):
        z = logit(s)
    from_log_odds = BetaCalibrator(parameters, scale="logit").fit(z, y)
    p = from_probabilities.predict_proba(s)[:, 1]
    np.testing.assert_allclose(p, from_log_odds.predict_proba(z)[:, 1], atol=1e-9)
    clipped = BetaCalibrator(parameters).fit(np.clip(s, 1e-16, 1 - 1.2e-16), y)
    assert log_likelihood(y, p) > log_likelihood(y, clipped.predict_proba(s)[:, 1])


def test_am_is_logistic_calibration_of_the_log_odds():
    rng = np.random.default_rng(0)
    z = rng.normal(size=500)
    y = rng.random(500) < expit(z / 2 + 0.3)
    beta = BetaCalibrator("am").fit(expit(z), y).map_
    logistic = LogisticCalibrator(label_smoothing=None).fit(expit(z), y).map_
    assert beta.a == pytest.approx(logistic.a, rel=1e-9)
    assert beta.c == pytest.approx(logistic.c, rel=1e-9)


def test_calibrated_scores_are_left_alone():
    rng = np.random.default_rng(1)
    p = rng.random(200_000)
    y = rng.random(200_000) < p
    fitted = BetaCalibrator().fit(p, y).map_
    assert fitted.a == pytest.approx(1, abs=0.02)
    assert fitted.b == pytest.approx(1, abs=0.02)
    assert fitted.c == pytest.approx(0, abs=0.03)


def test_misspelled_options_are_refused():
    with pytest.raises(InputError, match="parameters must be one of 'abm', 'am', 'ab'; got 'abc'"):
        BetaCalibrator("abc").fit([0.1, 0.9], [0, 1])
    with pytest.raises(InputError, match="monotone must be one of"):
        BetaCalibrator(monotone="yes").fit([0.1, 0.9], [0, 1])
