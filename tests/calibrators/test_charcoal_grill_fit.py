"""Coals of two classes: derivatives, optima, and maps that never fall."""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import expit, logit

from support.grill_examples import distorted
from trueodds.calibrators._charcoal_grill import fit as charcoal_grill_fit
from trueodds.calibrators._charcoal_grill.fit import (
    BEYOND_DATA,
    GrillRows,
    _CoalProblem,
    _Optimum,
    _starts,
    fit_coal_path,
    is_monotone,
)
from trueodds.numerics.charcoal_grill import Coals, Layout
from trueodds.numerics.logistic_regression import fit_logistic

OPTIONS = {"bias": True, "fit_width": False, "lam": 1e-2}
GRID = np.linspace(-6, 6, 101)


def make_rows(n=60, seed=0):
    p, y = distorted(n, seed)
    z = logit(p)
    line = fit_logistic([z], y.astype(float), np.ones(n))
    return GrillRows(z, 1.0 - y, y.astype(float), line.coef[0], line.intercept)


def wavy(n=150):
    """Frequencies that rise and fall, so that a free map would too."""
    rng = np.random.default_rng(0)
    z = np.sort(rng.normal(scale=4, size=n))
    y = (rng.uniform(size=n) < expit(np.sin(z) + z / 3)).astype(float)
    return GrillRows(z, 1 - y, y, 0.4, 0.0)


def test_a_map_falls_where_coals_are_too_close_for_their_difference_in_temperature():
    means, widths = np.array([0.0, 3.0]), np.ones(2)
    assert is_monotone(Coals(means, np.array([1.0, 1.2]), widths, 0.0), -6, 6)
    falling = Coals(means, np.array([1.0, 9.0]), widths, 0.0)
    assert not is_monotone(falling, -6, 6)
    assert is_monotone(falling, -6, 0.5)


def test_the_range_of_the_paper_and_of_the_data_is_checked():
    data = make_rows()
    assert replace(data, z=np.array([-1.0, 2.0])).checked == (-6, 6)
    assert replace(data, z=np.array([-9.0, 2.0])).checked == (-9, 6)
    assert replace(data, z=np.array([-1.0, 20.0])).checked == (-6, 20)


def test_one_coal_is_the_line_that_was_given():
    data = make_rows()
    eta = data.slope * GRID + data.bias
    np.testing.assert_allclose(data.one_coal.calibrated(GRID), eta, rtol=1e-12)
    expected = np.logaddexp(0, np.where(data.n_pos > 0, -1, 1) * (data.slope * data.z + data.bias))
    assert data.loss(data.one_coal) == pytest.approx(expected.sum(), rel=1e-13)


def test_a_summary_is_shorter_and_has_the_same_loss():
    data = make_rows(2000)
    short = data.summary(64)
    assert len(short.z) <= 4 * 65
    assert short.total == pytest.approx(2000)
    assert (short.slope, short.bias) == (data.slope, data.bias)
    field = Coals(np.array([-1.0, 2.0]), np.array([1.0, 2.0]), np.ones(2), -0.2)
    assert short.loss(field) == pytest.approx(data.loss(field), rel=1e-4)
    assert data.summary(1000) is data


@pytest.mark.parametrize("layout", [Layout(3, True, True), Layout(2, False, False)])
@pytest.mark.parametrize("penalty", [0.0, 0.5])
def test_derivatives_agree_with_finite_differences(layout, penalty):
    p, y = distorted(60)
    data = GrillRows(np.sort(logit(p)), 1.0 - y, y.astype(float), 0.5, -0.3)
    problem = _CoalProblem(data, layout, 0.003)
    theta = 0.2 * np.random.default_rng(3).normal(size=layout.size)
    theta[layout.n_coals - 1] += 4.0
    theta[2 * layout.n_coals - 1] += 2.5  # a hot coal, so that some slopes are negative
    cells = np.arange(0, 9999, 400)
    h = 1e-5

    def at(t):
        loss, derivatives = problem.objective(t, penalty, cells)
        return loss, *derivatives()

    up = [at(theta + d) for d in h * np.eye(layout.size)]
    down = [at(theta - d) for d in h * np.eye(layout.size)]
    loss, gradient, hessian = at(theta)
    if penalty:
        assert loss > problem.objective(theta, 0.0, cells)[0] + 1e-4
    numeric = np.array([(a[0] - b[0]) / (2 * h) for a, b in zip(up, down, strict=True)])
    np.testing.assert_allclose(gradient, numeric, atol=1e-6)
    if not penalty:  # the penalty's curvature is approximated on purpose
        numeric = np.array([(a[1] - b[1]) / (2 * h) for a, b in zip(up, down, strict=True)])
        np.testing.assert_allclose(hessian, numeric, atol=1e-6)


def test_without_the_penalty_this_data_would_give_a_falling_map(monkeypatch):
    data = wavy()
    free = _CoalProblem(data, Layout(3, True, False), 1e-2)
    start = _Optimum(next(_starts(data, data.one_coal, 3)))
    with monkeypatch.context() as patch:
        patch.setattr(
            charcoal_grill_fit, "_falling", lambda coals, grid: np.zeros(len(grid) - 1, bool)
        )
        coals = free.solve(start).coals
    assert not is_monotone(coals, *data.checked)
    held = _CoalProblem(data, Layout(3, True, False), 1e-2).solve(start)
    assert held.stage > 0
    assert is_monotone(held.coals, *data.checked)
    assert data.loss(coals) < data.loss(held.coals)


@pytest.mark.parametrize(
    ("layout", "lam"), [(Layout(2, True, False), 1e-2), (Layout(2, True, True), 0.1)]
)
def test_an_optimum_within_the_bounds_has_no_slope_and_positive_curvature(layout, lam):
    data = make_rows(300)
    problem = _CoalProblem(data, layout, lam)
    found = problem.solve(_Optimum(next(_starts(data, data.one_coal, 2))))
    assert found.converged
    theta = layout.pack(found.coals)
    lower, upper = problem.bounds()
    _, derivatives = problem.objective(
        theta, charcoal_grill_fit.PENALTIES[found.stage], found.cells
    )
    slope, curvature = derivatives()
    outwards = ((theta <= lower) & (slope > 0)) | ((theta >= upper) & (slope < 0))
    free = np.flatnonzero(~outwards)
    assert len(free) >= len(theta) - 1
    assert np.abs(slope[free]).max() < 1e-3
    assert np.linalg.eigvalsh(curvature[np.ix_(free, free)]).min() > 0


def test_an_optimum_that_was_found_before_is_not_returned_again():
    data = make_rows(100)
    problem = _CoalProblem(data, Layout(2, True, False), 1e-2)
    start = _Optimum(next(_starts(data, data.one_coal, 2)))
    assert problem.solve(start) is not None
    assert problem.solve(start) is None


def test_starts_lie_on_the_quantiles_of_the_weight_and_on_coals_split():
    data = GrillRows(np.array([3.0, 1.0, 2.0]), np.array([1.0, 4.0, 1.0]), np.zeros(3), 0.5, 0.1)
    first, second = _starts(data, Coals(np.zeros(4), np.ones(4), np.ones(4), 0.0), 2)
    # Rows have their middles at 2, 4.5 and 5.5 of 6; the quarters are 1.5 and 4.5.
    np.testing.assert_allclose(first.means, [1, 2])
    np.testing.assert_allclose(first.temperatures, 2 * np.exp([-0.25 * 2, 0.25 * 2]))
    np.testing.assert_allclose(second.temperatures, first.temperatures[::-1])
    assert len(list(_starts(data, data.one_coal, 2))) == 3


def test_a_path_of_fits_has_one_entry_for_each_number_of_coals():
    path = fit_coal_path(make_rows(), 3, **OPTIONS)
    assert len(path) == 3
    assert len(path[0].coals.means) == 1


@pytest.mark.parametrize("bias", [True, False])
def test_losses_never_grow_along_the_path_and_no_map_falls(bias):
    data = make_rows(300)
    if not bias:
        line = fit_logistic([data.z], data.n_pos, np.ones(300), intercept=False)
        data = replace(data, slope=line.coef[0], bias=0.0)
    path = fit_coal_path(data, 3, bias=bias, fit_width=False, lam=1e-2)
    losses = [fit.loss for fit in path]
    assert (np.diff(losses) <= 0).all()
    assert losses[1] < losses[0] - 1
    for fit in path:
        assert fit.loss == pytest.approx(data.loss(fit.coals), rel=1e-13)
        assert is_monotone(fit.coals, *data.checked)
        assert bias or fit.coals.bias == 0
        assert (fit.coals.means >= data.z.min() - BEYOND_DATA).all()
        assert (fit.coals.means <= data.z.max() + BEYOND_DATA).all()
    assert path[0].fell_back
    assert not path[1].fell_back


def test_a_strong_pull_holds_every_temperature_at_that_of_one_coal_and_one_coal_is_kept():
    data = make_rows(200)
    problem = _CoalProblem(data, Layout(2, True, False), 1e8)
    two = problem.solve(_Optimum(next(_starts(data, data.one_coal, 2)))).coals
    np.testing.assert_allclose(two.temperatures, 1 / data.slope, rtol=1e-3)
    np.testing.assert_allclose(two.calibrated(GRID), data.one_coal.calibrated(GRID), atol=1e-2)
    path = fit_coal_path(data, 2, bias=True, fit_width=False, lam=1e8)
    assert len(path[1].coals.means) == 1  # two are no likelier
    assert not path[1].fell_back


def test_the_other_class_has_the_mirrored_map():
    data = make_rows(200)
    other = GrillRows(-data.z, data.n_pos, data.n_neg, data.slope, -data.bias)
    found, mirrored = (fit_coal_path(each, 2, **OPTIONS)[-1] for each in (data, other))
    assert mirrored.loss == pytest.approx(found.loss, abs=1e-5)
    np.testing.assert_allclose(
        -mirrored.coals.calibrated(-GRID), found.coals.calibrated(GRID), atol=1e-3
    )


def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter():
    data = make_rows(60)
    rng = np.random.default_rng(1)
    times = rng.integers(1, 3, 60)
    rows = rng.permutation(np.repeat(np.arange(60), times))
    weighted = replace(data, n_neg=data.n_neg * times, n_pos=data.n_pos * times)
    found, same = (fit_coal_path(each, 2, **OPTIONS)[-1] for each in (weighted, data.take(rows)))
    assert same.loss == pytest.approx(found.loss, rel=1e-9)
    np.testing.assert_allclose(same.coals.calibrated(GRID), found.coals.calibrated(GRID), atol=1e-4)
