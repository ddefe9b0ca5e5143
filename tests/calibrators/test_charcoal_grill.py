"""CharcoalGrillCalibrator: its limits are known methods, its map never falls, more coals help."""

import numpy as np
import pytest
from scipy.special import expit, logit

from support.grill_examples import distorted, overconfident_classes
from trueodds import CharcoalGrillCalibrator, LogisticCalibrator, TemperatureCalibrator
from trueodds.calibrators._charcoal_grill import fit as charcoal_grill_fit
from trueodds.exceptions import (
    ConvergenceWarning,
    InputError,
    MissingClassWarning,
    NonMonotoneWarning,
    SeparableScoresWarning,
)
from trueodds.maps import CharcoalSoftmaxMap
from trueodds.plots import CalibrationMapDisplay

GRID = np.linspace(0.001, 0.999, 999)


def log_loss(calibrator, p, y):
    q = calibrator.predict_proba(p)[np.arange(len(y)), y]
    return -np.log(q).sum()


@pytest.mark.parametrize("seed", range(3))
def test_one_coal_without_bias_is_temperature_scaling(seed):
    p, y = distorted(seed=seed)
    grill = CharcoalGrillCalibrator(n_components=1, bias=False, regularization=1e-9).fit(p, y)
    expected = TemperatureCalibrator().fit(p, y).predict_proba(GRID)
    np.testing.assert_allclose(grill.predict_proba(GRID), expected, atol=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_one_coal_with_bias_is_logistic_calibration(seed):
    p, y = distorted(seed=seed)
    grill = CharcoalGrillCalibrator(n_components=1, regularization=1e-9).fit(p, y)
    expected = LogisticCalibrator(label_smoothing=None).fit(p, y).predict_proba(GRID)
    np.testing.assert_allclose(grill.predict_proba(GRID), expected, atol=1e-5)


def test_decision_values_that_spread_like_log_odds_are_treated_as_such():
    """The standard deviation of the logistic distribution is π/√3; here it is that of weights."""
    rng = np.random.default_rng(0)
    z = rng.normal(0, 40, 300)
    y = (rng.random(300) < expit(z / 30 - np.sin(z / 20))).astype(int)
    weight = np.where(z > 20, 12.0, 1.0)
    deviation = np.sqrt(np.cov(z, aweights=weight, ddof=0))
    z *= np.pi / np.sqrt(3) / deviation
    raw, logits = (
        CharcoalGrillCalibrator(scale=scale, n_components=3).fit(z, y, weight).predict_proba(z)
        for scale in ("raw", "logit")
    )
    np.testing.assert_allclose(raw, logits, atol=1e-9)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("seed", [0, 7])
def test_the_loss_never_grows_with_the_number_of_coals(seed, bias):
    p, y = distorted(seed=seed)
    losses = [
        log_loss(CharcoalGrillCalibrator(n_components=n, bias=bias).fit(p, y), p, y)
        for n in range(1, 6)
    ]
    assert (np.diff(losses) <= 1e-6).all()
    assert losses[1] < losses[0] - 5  # and two coals see the distortion, as one cannot


@pytest.mark.parametrize("bias", [True, False])
def test_the_distortion_of_the_paper_is_undone(bias):
    p, y = distorted(20_000)
    q = CharcoalGrillCalibrator(bias=bias).fit(p, y).predict_proba(GRID)[:, 1]
    z = logit(GRID)
    assert np.abs(q - expit(np.where(z > 0, z / 5, z))).mean() < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"fit_width": True}, {"n_components": 5, "bias": False}])
@pytest.mark.parametrize("seed", range(4))
def test_the_map_never_falls_anywhere(seed, options):
    rng = np.random.default_rng(seed)
    z = rng.normal(scale=4, size=150)
    y = (rng.uniform(size=150) < expit(np.sin(z) + z / 3)).astype(int)
    grill = CharcoalGrillCalibrator(scale="logit", **options).fit(z, y)
    q = grill.predict_proba(np.linspace(-60, 60, 20_001))[:, 1]
    assert (np.diff(q) >= 0).all()


def test_a_thousand_rows_and_their_summary_give_the_same_map(monkeypatch):
    p, y = distorted(5000)
    summary = CharcoalGrillCalibrator().fit(p, y)
    monkeypatch.setattr("trueodds.calibrators._charcoal_grill.calibrator.FINE_CELLS", 10**6)
    whole = CharcoalGrillCalibrator().fit(p, y)
    np.testing.assert_allclose(whole.predict_proba(GRID), summary.predict_proba(GRID), atol=2e-6)


def test_margins_of_any_scale_give_the_same_probabilities():
    p, y = distorted()
    z = logit(p)
    small = CharcoalGrillCalibrator(scale="raw").fit(1e-3 * z, y)
    large = CharcoalGrillCalibrator(scale="raw").fit(1e3 * z, y)
    np.testing.assert_allclose(
        small.predict_proba(1e-3 * z), large.predict_proba(1e3 * z), atol=1e-6
    )


def test_inverted_scores_give_a_constant_and_a_warning():
    p, y = distorted()
    with pytest.warns(NonMonotoneWarning, match="fewer positives"):
        grill = CharcoalGrillCalibrator().fit(p, 1 - y)
    np.testing.assert_allclose(grill.predict_proba(GRID)[:, 1], 1 - y.mean(), atol=1e-6)


def test_separable_scores_are_smoothed_with_a_warning():
    p = np.linspace(0.05, 0.95, 40)
    with pytest.warns(SeparableScoresWarning, match="separate the classes"):
        grill = CharcoalGrillCalibrator().fit(p, p > 0.5)
    q = grill.predict_proba(p)[:, 1]
    assert q[0] > 1e-4
    assert q[-1] < 1 - 1e-4


def test_if_no_start_gives_an_increasing_map_the_one_coal_fit_is_used(monkeypatch):
    monkeypatch.setattr(
        charcoal_grill_fit, "_falling", lambda coals, grid: np.ones(len(grid) - 1, bool)
    )
    p, y = distorted()
    with pytest.warns(ConvergenceWarning, match="fell back to logistic calibration"):
        grill = CharcoalGrillCalibrator().fit(p, y)
    expected = LogisticCalibrator(label_smoothing=None).fit(p, y).predict_proba(GRID)
    np.testing.assert_allclose(grill.predict_proba(GRID), expected, atol=1e-9)


@pytest.mark.slow
def test_auto_takes_one_coal_where_one_is_enough_and_more_where_it_is_not():
    p, y = distorted(2000)
    assert len(CharcoalGrillCalibrator(n_components="auto").fit(p, y).map_.means) > 1
    p, y = distorted(2000, seed=1, temperature=1.0)
    assert len(CharcoalGrillCalibrator(n_components="auto").fit(p, y).map_.means) == 1


def test_the_display_shows_the_temperature_field():
    p, y = distorted()
    grill = CharcoalGrillCalibrator(n_components=2).fit(p, y)
    display = CalibrationMapDisplay.from_calibrator(grill, scores=p, y=y)
    np.testing.assert_allclose(display.temperature, grill.map_.temperature(display.x))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_components": 0}, "n_components must be"),
        ({"n_components": True}, "n_components must be"),
        ({"n_components": "many"}, "n_components must be"),
        ({"bias": 1}, "bias must be"),
        ({"fit_width": None}, "fit_width must be"),
        ({"solver": "paper"}, "solver of CharcoalGrillCalibrator is in trueodds-studies"),
        ({"regularization": -1.0}, "regularization must be"),
        ({"regularization": np.nan}, "regularization must be"),
    ],
)
def test_impossible_options_are_refused(options, message):
    with pytest.raises(InputError, match=message):
        CharcoalGrillCalibrator(**options).fit([0.1, 0.9], [0, 1])


def test_one_coal_of_several_classes_is_temperature_scaling():
    logits, y = overconfident_classes()
    grill = CharcoalGrillCalibrator(n_components=1, bias=False, scale="logit").fit(logits, y)
    expected = TemperatureCalibrator(scale="logit").fit(logits, y)
    np.testing.assert_allclose(
        grill.predict_proba(logits), expected.predict_proba(logits), atol=1e-7
    )


@pytest.mark.parametrize("bias", [True, False])
def test_the_loss_of_several_classes_never_grows_with_the_number_of_coals(bias):
    logits, y = overconfident_classes()
    fits = [
        CharcoalGrillCalibrator(n_components=n, bias=bias, scale="logit").fit(logits, y)
        for n in (1, 2, 3)
    ]
    losses = [log_loss(fit, logits, y) for fit in fits]
    assert (np.diff(losses) <= 1e-6).all()
    assert losses[1] < losses[0] - 5
    temperature = TemperatureCalibrator(scale="logit").fit(logits, y)
    assert losses[0] <= log_loss(temperature, logits, y) + 1e-6


def test_more_coals_help_on_new_rows_of_several_classes():
    logits, y = overconfident_classes(4000)
    new, labels = overconfident_classes(4000, seed=1)
    grill = CharcoalGrillCalibrator(n_components=2, scale="logit").fit(logits, y)
    assert isinstance(grill.map_, CharcoalSoftmaxMap)
    temperature = TemperatureCalibrator(scale="logit").fit(logits, y)
    assert log_loss(grill, new, labels) < log_loss(temperature, new, labels) - 10


def test_counts_of_several_classes_act_like_repetition():
    logits, y = overconfident_classes(300)
    counts = np.random.default_rng(0).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    grill = CharcoalGrillCalibrator(n_components=2, scale="logit")
    a = grill.fit(logits, y, counts=counts).predict_proba(logits)
    b = grill.fit(logits[rows], y[rows]).predict_proba(logits)
    np.testing.assert_allclose(a, b, atol=1e-3)


@pytest.mark.parametrize("options", [{"fit_width": True}, {"n_components": "auto"}])
def test_every_option_works_for_several_classes(options):
    logits, y = overconfident_classes(300)
    grill = CharcoalGrillCalibrator(scale="logit", **options).fit(logits, y)
    p = grill.predict_proba(logits)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert log_loss(grill, logits, y) < -np.log(expit(0) ** 2) * len(y)


def test_a_class_without_instances_keeps_a_bias_of_zero():
    logits, y = overconfident_classes(300)
    seen = y != 2
    grill = CharcoalGrillCalibrator(scale="logit", classes=[0, 1, 2, 3])
    with pytest.warns(MissingClassWarning, match=r"classes \[2\] have no rows"):
        grill.fit(logits[seen], y[seen])
    assert grill.map_.bias[2] == 0


def test_classes_ranked_the_wrong_way_round_give_even_probabilities():
    logits, y = overconfident_classes(300)
    with pytest.warns(NonMonotoneWarning, match="rank the classes in reverse"):
        grill = CharcoalGrillCalibrator(scale="logit").fit(-5 * logits, y)
    np.testing.assert_allclose(grill.predict_proba(logits), 0.25, atol=1e-4)
