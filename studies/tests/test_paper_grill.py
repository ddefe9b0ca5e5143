"""The paper's own optimization: its penalty, its turns, and when λ grows."""

import warnings
from dataclasses import replace

import numpy as np
import pytest
import scipy
from scipy.special import log_softmax, logit, softmax

from support.grill_examples import distorted, overconfident_classes
from trueodds import CharcoalGrillCalibrator, LogisticCalibrator, TemperatureCalibrator
from trueodds.calibrators._charcoal_grill.fit import GrillRows, is_monotone
from trueodds.exceptions import ConvergenceWarning, InputError
from trueodds.maps import CharcoalGrillMap
from trueodds.numerics.charcoal_grill import ClassCoals, CoalRows, Layout, loss_and_gradient
from trueodds.numerics.logistic_regression import fit_logistic
from trueodds_studies.papers.grill import PaperGrill, paper_grill as paper
from trueodds_studies.papers.grill.paper_grill import (
    LEAST_POSITIVE,
    _objective,
    fit_classes_paper,
    fit_paper,
    minimize_in_turns,
    paper_penalty,
    paper_start,
)

GRID = np.linspace(0.001, 0.999, 999)
K = 3


def log_loss(calibrator, p, y):
    q = calibrator.predict_proba(p)[np.arange(len(y)), y]
    return -np.log(q).sum()


def class_rows(n):
    logits, codes = overconfident_classes(n, K, 0)
    logs = log_softmax(logits, axis=1)
    return CoalRows(logs, codes, np.ones(n), np.zeros(n), np.ones(n), np.ones(K, bool))


def make_rows(n=60, seed=0):
    p, y = distorted(n, seed)
    z = logit(p)
    line = fit_logistic([z], y.astype(float), np.ones(n))
    return GrillRows(z, 1.0 - y, y.astype(float), line.coef[0], line.intercept)


def test_the_penalty_by_hand():
    # T = ½ and 2 are as far from 1 as each other; widths count by 1/σ².
    value, by_temperature, by_width = paper_penalty(
        np.array([0.5, 1.0, 2.0]), np.array([1, 2, 4.0])
    )
    assert value == 1 + 0 + 1 + 1 + 1 / 4 + 1 / 16
    np.testing.assert_allclose(by_temperature, [-8, 0, 2])
    np.testing.assert_allclose(by_width, [-2, -1 / 4, -1 / 32])


def test_the_derivatives_of_the_penalty_agree_with_finite_differences():
    rng = np.random.default_rng(0)
    temperatures, widths = np.exp(rng.normal(size=(2, 6)))
    _, by_temperature, by_width = paper_penalty(temperatures, widths)
    h = 1e-6
    for i, step in enumerate(h * np.eye(6)):
        up, down = (paper_penalty(temperatures + s * step, widths)[0] for s in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(by_temperature[i], rel=1e-6)
        up, down = (paper_penalty(temperatures, widths + s * step)[0] for s in (1, -1))
        assert (up - down) / (2 * h) == pytest.approx(by_width[i], rel=1e-6)


@pytest.mark.parametrize("layout", [Layout(3, True, True), Layout(2, False, False)])
def test_the_papers_objective_has_the_right_gradient(layout):
    theta = np.abs(np.random.default_rng(1).normal(size=layout.size)) + 0.3
    data = make_rows()
    gradient = _objective(theta, data, layout, 0.1)[1]
    h = 1e-6
    numeric = [
        (_objective(theta + d, data, layout, 0.1)[0] - _objective(theta - d, data, layout, 0.1)[0])
        / (2 * h)
        for d in h * np.eye(layout.size)
    ]
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)


def parabola(curvature, middle, seen=None):
    def objective(theta):
        if seen is not None:
            seen.append(theta.copy())
        away = theta - middle
        return float(away @ curvature @ away) / 2, curvature @ away

    return objective


def test_turns_lead_to_the_minimum_within_the_bounds():
    rng = np.random.default_rng(0)
    root = rng.normal(size=(4, 4))
    curvature, middle = root @ root.T + np.eye(4), np.array([1.0, -2.0, 3.0, 0.5])
    blocks = [np.array([0, 2]), np.array([1, 3])]
    bounds = [(None, None), (-1.5, None), (None, None), (None, None)]
    objective = parabola(curvature, middle)
    theta, converged = minimize_in_turns(objective, np.zeros(4), bounds, blocks)
    assert converged
    assert theta[1] == -1.5
    gradient = objective(theta)[1]
    assert np.abs(gradient[[0, 2, 3]]).max() < 1e-3
    assert gradient[1] > 0


def test_a_parameter_in_no_block_stays_and_too_few_turns_are_reported():
    seen = []
    objective = parabola(np.array([[2.0, 1.9], [1.9, 2.0]]), np.array([0.7, 0.3]), seen)
    both = [np.array([0]), np.array([1])]
    theta, converged = minimize_in_turns(objective, np.zeros(2), [(None, None)] * 2, both[:1])
    assert converged
    assert theta[1] == 0
    assert theta[0] == pytest.approx(0.7 + 0.95 * 0.3, abs=1e-3)
    assert (np.array(seen)[:, 1] == 0).all()
    _, converged = minimize_in_turns(objective, np.zeros(2), [(None, None)] * 2, both, 3)
    assert not converged


def test_one_coal_is_logistic_calibration():
    data = make_rows(200)
    found = fit_paper(data, 1, bias=True, fit_width=False, lam=1e-9)
    expected = data.slope * data.z + data.bias
    np.testing.assert_allclose(found.coals.calibrated(data.z), expected, atol=1e-3)
    assert found.loss == pytest.approx(data.loss(data.one_coal), abs=1e-5)
    assert not found.fell_back


def test_while_the_map_falls_lambda_is_multiplied_by_ten_and_the_last_one_has_its_optimum(
    monkeypatch,
):
    used = []
    original = paper._objective

    def spy(theta, data, layout, lam):
        used.append(lam)
        return original(theta, data, layout, lam)

    monkeypatch.setattr(paper, "_objective", spy)
    data, layout = make_rows(100), Layout(2, True, False)
    found = fit_paper(data, 2, bias=True, fit_width=False, lam=1.0)
    assert found.converged
    assert not found.fell_back
    assert sorted(set(used)) == [1.0, 10.0]
    assert is_monotone(found.coals, *data.checked)
    assert found.loss == pytest.approx(data.loss(found.coals), rel=1e-14)
    theta = np.concatenate([found.coals.means, found.coals.temperatures, [found.coals.bias]])
    _, slope = original(theta, data, layout, 10.0)
    assert np.abs(slope[2:]).max() < 1e-3
    # The likelihood pushes the second coal outwards, but not further than 2 beyond the data.
    assert theta[1] == data.z.max() + 2
    assert slope[1] < 0
    assert abs(slope[0]) < 1e-3


@pytest.mark.parametrize(("width", "reach"), [(1.0, 6.0), (9.0, 11.0)])
def test_coals_may_move_over_the_interval_of_the_paper_and_a_little_beyond_the_data(
    width, reach, monkeypatch
):
    given = []

    def fake(objective, theta, bounds, blocks, max_turns):
        assert max_turns == 200
        given.append((bounds, [block.tolist() for block in blocks]))
        return theta, True

    monkeypatch.setattr(paper, "minimize_in_turns", fake)
    ends = np.array([-width, width])
    data = GrillRows(ends, np.array([3.0, 1.0]), np.array([1.0, 3.0]), 1.0, 0.0)
    fit_paper(data, 2, bias=True, fit_width=True, lam=0.1)
    bounds, blocks = given[0]
    assert bounds[:2] == [(-reach, reach)] * 2
    assert bounds[2:] == [(LEAST_POSITIVE, None)] * 4 + [(None, None)]
    assert blocks == [[0, 1], [2, 3], [4, 5], [6]]


def test_widths_are_fitted_and_a_fit_cut_short_says_so():
    data = make_rows(100)
    held, free = (
        fit_paper(data, 2, bias=False, fit_width=fit_width, lam=10.0, max_turns=5)
        for fit_width in (False, True)
    )
    np.testing.assert_array_equal(held.coals.widths, 1)
    assert (free.coals.widths > 1).all()  # R asks for wide ones
    for found in (held, free):
        assert not found.converged
        assert found.coals.bias == 0
        assert (found.coals.temperatures >= LEAST_POSITIVE).all()
        assert is_monotone(found.coals, *data.checked)


def test_a_lambda_beyond_the_limit_leaves_one_coal():
    data = make_rows()
    found = fit_paper(data, 3, bias=True, fit_width=False, lam=1e10)
    assert found.fell_back
    np.testing.assert_allclose(found.coals.calibrated(data.z), data.slope * data.z + data.bias)
    assert found.loss == data.loss(data.one_coal)


def logits_of_a_network(n=600, k=3, seed=0):
    """Logits whose sizes say how sure the model is, and labels that are less sure above 3."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(0, 2.5, (n, k)) + rng.normal(0, 2, (n, 1))
    heat = np.where(logits.max(axis=1, keepdims=True) > 3, 3.0, 1.0)
    p = softmax(logits / heat, axis=1)
    return logits, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def paper_options(**more):
    return {"n_components": 2, "bias": False, "scale": "logit", **more}


def test_with_several_classes_the_papers_coals_lie_among_the_raw_logits():
    # Equations 11 and 12: a constant that is added to a row moves it away from its coals.
    logits, y = logits_of_a_network()
    shifted = logits + np.random.default_rng(1).normal(0, 5, (len(y), 1))
    paper, moved = (PaperGrill(**paper_options()).fit(x, y) for x in (logits, shifted))
    assert np.abs(paper.predict_proba(logits) - moved.predict_proba(shifted)).max() > 0.01
    joint = [
        CharcoalGrillCalibrator(**paper_options()).fit(x, y).predict_proba(x)
        for x in (logits, shifted)
    ]
    np.testing.assert_allclose(joint[0], joint[1], atol=1e-6)


@pytest.mark.parametrize("bias", [False, True])
def test_the_papers_map_of_several_classes_is_its_equations(bias):
    logits, y = logits_of_a_network()
    grill = PaperGrill(**paper_options(bias=bias, fit_width=True)).fit(logits, y).map_
    expected = []
    for row in logits:  # equations 11 and 12, row by row
        closeness = np.exp(-((row - grill.means) ** 2).sum(axis=1) / (2 * grill.widths**2))
        heat = (closeness * grill.temperatures).sum() / closeness.sum()
        expected.append(softmax(row / heat + grill.bias))
    np.testing.assert_allclose(grill(logits), expected, rtol=0, atol=1e-12)


@pytest.mark.slow
def test_the_papers_start_of_several_classes_decides_the_fit():
    logits, y = logits_of_a_network()

    def loss(seed):
        fitted = PaperGrill(**paper_options(random_state=seed)).fit(logits, y)
        return -np.log(fitted.predict_proba(logits)[np.arange(len(y)), y]).mean()

    losses = [loss(seed) for seed in range(5)]
    assert loss(0) == losses[0] == loss(None)
    assert np.ptp(losses) > 1e-4


def test_a_seed_moves_the_start_of_two_classes_and_none_is_an_even_grid():
    means, temperatures, widths = paper_start(3, None)
    assert means.tolist() == [-6, 0, 6]
    assert paper_start(1, None)[0].tolist() == [0]
    assert widths.tolist() == [1, 1, 1]
    assert 0 < np.abs(temperatures - 1).max() < 0.1
    means, temperatures, widths = paper_start(1000, 7)
    assert scipy.stats.kstest(means, scipy.stats.uniform(-6, 12).cdf).pvalue > 0.01
    for parameter in (temperatures, widths):
        assert 0.005 < np.std(parameter) < 0.02
    with pytest.raises(InputError, match="random_state must be None or an integer"):
        PaperGrill(random_state=-1).fit([0.1, 0.9, 0.4], [0, 1, 1])


def test_the_papers_turns_lower_its_own_objective_and_respect_its_bounds():
    data, lam = class_rows(150), 0.1
    found = fit_classes_paper(data, 2, bias=True, fit_width=True, lam=lam)
    coals = found.coals
    assert found.loss == pytest.approx(loss_and_gradient(data, coals)[0], rel=1e-12)
    assert (coals.temperatures >= LEAST_POSITIVE).all()
    assert (coals.widths > 1).all()  # R asks for wide ones
    even = ClassCoals(coals.means, np.ones(2), np.ones(2), np.zeros(K))

    def objective(some):
        loss = loss_and_gradient(data, some)[0]
        return loss + lam * paper_penalty(some.temperatures, some.widths)[0]

    assert objective(coals) < objective(even) - 5
    # Temperatures are where a little more or less of any of them is no better.
    for i in range(2):
        for factor in (0.97, 1.03):
            moved = coals.temperatures.copy()
            moved[i] *= factor
            assert objective(replace(coals, temperatures=moved)) > objective(coals) - 1e-3


def test_the_papers_turns_leave_alone_what_is_not_fitted():
    found = fit_classes_paper(class_rows(60), 2, bias=False, fit_width=False, lam=0.1)
    np.testing.assert_array_equal(found.coals.bias, 0)
    np.testing.assert_array_equal(found.coals.widths, 1)


def test_the_papers_solver_is_no_better_than_the_joint_one():
    p, y = distorted(300)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        paper = PaperGrill(n_components=2).fit(p, y)
    assert isinstance(paper.map_, CharcoalGrillMap)
    assert (np.diff(paper.predict_proba(GRID)[:, 1]) >= 0).all()
    joint = CharcoalGrillCalibrator(n_components=2, regularization=1e-6).fit(p, y)
    assert log_loss(joint, p, y) <= log_loss(paper, p, y) + 1e-6


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("bias", [False, True])
def test_one_coal_is_temperature_scaling_or_logistic_calibration(seed, bias):
    p, y = distorted(seed=seed)
    grill = PaperGrill(n_components=1, bias=bias, regularization=1e-9).fit(p, y)
    other = LogisticCalibrator(label_smoothing=None) if bias else TemperatureCalibrator()
    expected = other.fit(p, y).predict_proba(GRID)
    np.testing.assert_allclose(grill.predict_proba(GRID), expected, atol=1e-5)


def test_the_number_of_components_is_not_chosen():
    with pytest.raises(InputError, match="the paper has no"):
        PaperGrill(n_components="auto").fit([0.1, 0.9, 0.4], [0, 1, 1])
