"""The penalized fit: splinecalib's optimum, and the evidence against numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad

from support.rival_samples import GRID, LABELS, SCORES
from trueodds.calibrators._spline import FINE, PenalizedLogistic
from trueodds.numerics.log_odds import log_odds, sigmoid

# calibrator = splinecalib.SplineCalib(knot_sample_size=0, add_knots=KNOTS, unity_prior=False,
#     reg_param_vec=[0.01], tol=1e-12, max_iter=100000, logodds_eps=1e-4)   (0.0.13)
# calibrator.fit(SCORES, LABELS); calibrator.calibrate(GRID)
# It keeps a fifth of the rows to choose among strengths and leaves them out of the final fit too.
KNOTS = np.array([1, 9, 23, 40, 54, 63]) / 64
LEFT_OUT = [0, 1, 21, 22, 23, 25, 29, 35]
SPLINECALIB = [
    0.063560074885, 0.128479581806, 0.153285950940, 0.261361095830, 0.325587642010, 0.394740672913,
    0.470071193834, 0.553843686684, 0.563636678709, 0.676824406612, 0.928757196804, 0.999942978886,
]  # fmt: skip


def truncated_powers(z, knots):
    """The basis of splinecalib: Hastie, Tibshirani and Friedman, equations 5.4 and 5.5."""

    def d(k):
        cubes = np.maximum(z - knots[k], 0) ** 3 - np.maximum(z - knots[-1], 0) ** 3
        return cubes / (knots[-1] - knots[k])

    inner = [d(k) - d(len(knots) - 2) for k in range(len(knots) - 2)]
    return np.stack([np.ones_like(z), z, *inner], axis=1)


def test_with_its_basis_and_penalty_the_fit_is_that_of_splinecalib():
    knots = log_odds(KNOTS, "probability")
    used = np.delete(np.arange(len(SCORES)), LEFT_OUT)
    design = truncated_powers(log_odds(SCORES[used], "probability"), knots)
    y = LABELS[used].astype(float)
    problem = PenalizedLogistic(design, y, np.ones(len(y)), np.eye(6), np.zeros((6, 0)))
    # Its penalty is 0.01/6·Σβ² beside the mean loss of a row.
    fit = problem.fit(2 * 0.01 / 6 * len(y), np.zeros(6), FINE)
    assert fit.converged
    found = sigmoid(truncated_powers(log_odds(GRID, "probability"), knots) @ fit.coef)
    np.testing.assert_allclose(found, SPLINECALIB, atol=1e-6)


def test_the_gradient_vanishes_at_every_strength():
    rng = np.random.default_rng(0)
    design = rng.normal(size=(80, 5))
    y = (rng.random(80) < 0.4).astype(float)
    penalty = np.diag([0.0, 0.0, 1e-6, 1.0, 1e6])
    problem = PenalizedLogistic(design, y, np.ones(80), penalty, np.eye(5)[:, :2])
    for strength in (1e-6, 1.0, 1e9):
        coef = problem.fit(strength, np.zeros(5), FINE).coef
        gradient = design.T @ (sigmoid(design @ coef) - y) + strength * penalty @ coef
        np.testing.assert_allclose(gradient, 0, atol=1e-6)


def test_the_evidence_is_the_integral_over_the_coefficients():
    """Of one coefficient with a normal prior, up to what does not depend on the strength."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=400)
    y = (rng.random(400) < sigmoid(0.5 * x)).astype(float)
    problem = PenalizedLogistic(x[:, None], y, np.ones(400), np.eye(1), np.zeros((1, 0)))

    def exactly(strength):
        def density(b):
            eta = b * x
            loss = np.logaddexp(0, eta).sum() - y @ eta + strength * b**2 / 2
            return np.sqrt(strength) * np.exp(250 - loss)

        return -np.log(quad(density, -1, 2, epsabs=0)[0])

    found = [problem.fit(s, np.zeros(1), FINE).evidence for s in (0.1, 100.0)]
    expected = [exactly(s) for s in (0.1, 100.0)]
    np.testing.assert_allclose(np.diff(found), np.diff(expected), atol=0.01)


@pytest.mark.parametrize("grid", [np.logspace(-3, 5, 9), np.logspace(-3, 5, 81)])
def test_the_best_strength_hardly_depends_on_the_grid(grid):
    rng = np.random.default_rng(2)
    x = np.linspace(-1, 1, 300)
    design = np.stack([np.cos(k * np.pi * (x + 1) / 2) for k in range(12)], axis=1)
    y = (rng.random(300) < sigmoid(2 * np.sin(3 * x))).astype(float)
    penalty = np.diag(np.arange(12.0) ** 4)
    problem = PenalizedLogistic(design, y, np.ones(300), penalty, np.eye(12)[:, :1])
    fit = problem.best(grid)
    assert 0.002 < fit.strength < 0.2
    everywhere = [problem.fit(s, problem.start, FINE).evidence for s in np.logspace(-3, 5, 161)]
    assert fit.evidence < min(everywhere) + 0.02
