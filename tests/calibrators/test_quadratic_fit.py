"""The quadratic fit beside scikit-learn's, and where saturated scores are put."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from trueodds.calibrators._quadratic import QuadraticFit as Fit, fit_quadratic
from trueodds.inputs import Weights
from trueodds.numerics.log_odds import sigmoid
from trueodds.rows import Rows


def test_the_fit_equals_that_of_scikit_learn():
    rng = np.random.default_rng(1)
    z = rng.normal(size=400)
    y = rng.random(400) < sigmoid(0.5 * z - 0.3 * z**2)
    weight = rng.integers(1, 4, 400).astype(float)
    fit = fit_quadratic(Rows(z, y, Weights(None, weight)), scale="logit")
    reference = LogisticRegression(C=np.inf, tol=1e-12, max_iter=10_000)
    reference.fit(np.stack([z**2, z], axis=1), y, weight)
    np.testing.assert_allclose([fit.a, fit.b], reference.coef_[0], atol=1e-5)
    np.testing.assert_allclose(fit.c, reference.intercept_[0], atol=1e-5)
    assert fit.converged
    assert (fit.lower, fit.upper) == (z.min(), z.max())


@pytest.mark.parametrize(
    ("a", "b", "c", "wanted", "edge", "side", "level"),
    [
        (0.0, 2.0, 0.0, 6.0, 1.0, 1, 3.0),  # a line
        (0.0, 2.0, 0.0, 6.0, 1.0, -1, None),  # on the other side
        (1.0, 0.0, 0.0, 4.0, 0.5, 1, 2.0),  # the nearer of two roots is on the other side
        (1.0, 0.0, 0.0, 4.0, -3.0, 1, -2.0),  # the nearer of two roots beyond the edge
        (1.0, 0.0, 0.0, -4.0, 0.0, 1, None),  # no real root
        (0.0, 0.0, 1.0, 4.0, 0.0, 1, None),  # constant
        (1e-200, 0.0, 0.0, 1.0, 0.0, 1, 1e100),
    ],
)
def test_the_level_is_the_nearest_place_beyond_the_edge(a, b, c, wanted, edge, side, level):
    found = Fit(a, b, c).level_beyond(wanted, edge, side)
    assert found == (None if level is None else pytest.approx(level))


@pytest.mark.parametrize(
    ("z", "y", "separable"),
    [
        ([1, 2, 3], [0, 1, 0], True),
        ([1, 2, 3, 4], [0, 1, 0, 1], False),
        ([1, 2, 2, 3], [0, 0, 1, 1], True),  # touching
        ([1, 1, 2, 2], [0, 1, 0, 1], False),
        ([1, 1, 2, 2], [0, 1, 1, 1], True),
        ([1, 1], [0, 1], False),
        ([1, 1, 2, 2, 3], [0, 1, 0, 1, 1], True),  # zero at two of them, positive at the third
    ],
)
def test_classes_that_a_parabola_parts_are_found(z, y, separable):
    evidence = Rows(np.array(z, dtype=float), np.array(y, dtype=bool))
    assert fit_quadratic(evidence, scale="logit").separable is separable
