"""Dirichlet calibration with off-diagonal and intercept regularization."""

import numpy as np
import pytest

from support.rival_samples import mixed_up_classes
from trueodds import BetaCalibrator, DirichletCalibrator, MatrixCalibrator
from trueodds.exceptions import InputError, SeparableScoresWarning

# First row, by dirichletcal 0.5.3:
#   FullDirichletCalibrator(reg_lambda=..., reg_mu=..., ref_row=False).fit(p, y)
REFERENCE = [
    (0, 500, 3, 1e-3, 1e-3, [0.387503703, 0.217733885, 0.394762412]),
    (0, 500, 3, 0.02, 0.003, [0.382937605, 0.219218004, 0.39784439]),
    (
        *(1, 1500, 5, 1e-3, 1e-3),
        [0.146710699, 0.28833836, 0.1687416, 0.021342407, 0.374866933],
    ),
    (
        *(1, 1500, 5, 0.02, 0.003),
        [0.146968847, 0.295151951, 0.167619304, 0.021331818, 0.36892808],
    ),
]


@pytest.mark.parametrize(("seed", "n", "k", "off_diagonal", "intercept", "row"), REFERENCE)
def test_the_fit_equals_that_of_the_reference(seed, n, k, off_diagonal, intercept, row):
    p, y = mixed_up_classes(seed, n, k)
    calibrator = DirichletCalibrator(
        off_diagonal_penalty=off_diagonal, intercept_penalty=intercept
    ).fit(p, y)
    np.testing.assert_allclose(calibrator.predict_proba(p[:1]), [row], atol=1e-7)


def test_the_penalized_loss_has_no_slope_where_the_fit_ends():
    p, y = mixed_up_classes(2, 600, 4)
    found = DirichletCalibrator(off_diagonal_penalty=0.01, intercept_penalty=0.002).fit(p, y)
    weights, bias = found.map_.weights, found.map_.bias
    residual = found.predict_proba(p) - np.eye(4)[y]
    held = 2 * 0.01 * weights * (1 - np.eye(4))
    np.testing.assert_allclose(residual.T @ np.log(p) / 600 + held, 0, atol=1e-7)
    np.testing.assert_allclose(residual.mean(axis=0) + 2 * 0.002 * bias, 0, atol=1e-7)


def test_without_a_penalty_it_is_matrix_scaling():
    p, y = mixed_up_classes(3, 800, 3)
    found = (
        DirichletCalibrator(off_diagonal_penalty=0, intercept_penalty=0).fit(p, y).predict_proba(p)
    )
    matrix = MatrixCalibrator(ridge=0.0).fit(p, y).predict_proba(p)
    np.testing.assert_allclose(found, matrix, atol=1e-6)


def test_large_strengths_leave_the_diagonal_alone():
    p, y = mixed_up_classes(4, 800, 3)
    found = DirichletCalibrator(off_diagonal_penalty=1e9, intercept_penalty=1e9).fit(p, y).map_
    assert np.abs(found.weights - np.diag(np.diag(found.weights))).max() < 1e-6
    assert np.abs(found.bias).max() < 1e-6
    assert np.ptp(np.diag(found.weights)) > 0.01


def test_on_two_classes_it_is_beta_calibration():
    p, y = mixed_up_classes(5, 500, 2)
    found = DirichletCalibrator().fit(p, y).predict_proba(p)
    beta = BetaCalibrator(monotone=False).fit(p, y).predict_proba(p)
    np.testing.assert_allclose(found, beta, atol=1e-12)


@pytest.mark.parametrize("name", ["off_diagonal_penalty", "intercept_penalty"])
def test_a_negative_strength_is_refused(name):
    p, y = mixed_up_classes(6, 50, 3)
    with pytest.raises(InputError, match=name):
        DirichletCalibrator(**{name: -1.0}).fit(p, y)


def test_scores_that_separate_the_classes_are_smoothed_with_one_warning():
    p = np.random.default_rng(7).dirichlet([0.3] * 6, size=70)
    y = p.argmax(axis=1)
    with pytest.warns(SeparableScoresWarning) as caught:  # and no overflow
        found = DirichletCalibrator().fit(p, y).predict_proba(p)
    assert len(caught) == 1
    assert (found.argmax(axis=1) == y).mean() > 0.9
    assert found.max() < 1
