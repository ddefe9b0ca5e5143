"""The parts of Newton's method, against dense matrices and functions whose minimum is known."""

import numpy as np
import pytest
from hypothesis import given, strategies as st
from scipy.special import expit

from trueodds.numerics.softmax.regression import (
    INEXACTNESS,
    MAX_LENGTHS,
    conjugate_gradient,
    diagonal_inverse,
    principal_axes_inverse,
    row_block_inverse,
    step_length,
)

CLASSES, FEATURES, ROWS = 3, 4, 30


def weighted_design(seed=0):
    """Features that rise and fall together, variances, and a ridge of different sizes."""
    rng = np.random.default_rng(seed)
    design = rng.normal(size=(FEATURES, ROWS)) + 3 * rng.normal(size=ROWS)
    return design, rng.random((CLASSES, ROWS)), rng.random((CLASSES, FEATURES))


def blocks(design, variance, ridge):
    """Σ variance·x·xᵀ + ridge of each class, one row after the other."""
    return np.array(
        [
            sum(v * np.outer(x, x) for v, x in zip(row, design.T, strict=True)) + np.diag(extra)
            for row, extra in zip(variance, ridge, strict=True)
        ]
    )


def positive_matrix(n=12, seed=0):
    """Of condition about 1e4."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(n, n)))[0]
    return (axes * np.geomspace(1e-2, 1e2, n)) @ axes.T, rng.normal(size=n)


def test_where_a_diagonal_has_no_curvature_nothing_moves():
    found = diagonal_inverse(np.array([4.0, 0.0, 1e-200]))(np.array([2.0, 5.0, 1e-200]))
    np.testing.assert_allclose(found, [0.5, 0, 1])


def test_the_part_within_each_class_is_inverted():
    design, variance, ridge = weighted_design()
    vector = np.random.default_rng(1).normal(size=CLASSES * FEATURES)
    found = row_block_inverse(design, variance, ridge)(vector).reshape(CLASSES, FEATURES)
    for block, x, right in zip(
        blocks(design, variance, ridge), found, vector.reshape(CLASSES, -1), strict=True
    ):
        np.testing.assert_allclose(block @ x, right, rtol=0, atol=1e-6)


@pytest.mark.parametrize("size", [1e-100, 1e100])
def test_features_of_any_unit_are_inverted_alike(size):
    design, variance, ridge = weighted_design()
    unit = np.array([1.0, size, 1.0, 1.0])
    vector = np.random.default_rng(1).normal(size=(CLASSES, FEATURES))
    plain = row_block_inverse(design, variance, ridge)(vector.ravel())
    scaled = row_block_inverse(design * unit[:, None], variance, ridge * unit**2)(
        (vector * unit).ravel()
    )
    np.testing.assert_allclose(scaled.reshape(CLASSES, -1) * unit, plain.reshape(CLASSES, -1))


def test_features_that_are_equal_or_absent_leave_the_inverse_finite_and_positive():
    design, variance, _ = weighted_design()
    design[1], design[2] = design[0], 0.0
    inverse = row_block_inverse(design, variance, np.zeros((CLASSES, FEATURES)))
    for vector in np.eye(CLASSES * FEATURES):
        found = inverse(vector)
        assert np.isfinite(found).all()
        assert found @ vector > 0


def test_the_principal_axes_are_exact_if_the_classes_have_variances_of_one_shape():
    design, variance, _ = weighted_design()
    variance = np.outer([0.5, 1.0, 7.0], variance[0])
    vector = np.random.default_rng(1).normal(size=CLASSES * FEATURES)
    none = np.zeros((CLASSES, FEATURES))
    found = principal_axes_inverse(design, variance, none)(vector)
    expected = [
        np.linalg.solve(block, right)
        for block, right in zip(
            blocks(design, variance, none), vector.reshape(CLASSES, -1), strict=True
        )
    ]
    np.testing.assert_allclose(found, np.ravel(expected), rtol=1e-9)


def test_the_principal_axes_of_one_feature_are_exact_with_any_ridge_and_variance():
    design, variance, ridge = weighted_design()
    one = design[:1]
    vector = np.array([2.0, -3.0, 0.1])
    found = principal_axes_inverse(one, variance, ridge[:, :1])(vector)
    np.testing.assert_allclose(found, vector / (variance @ one[0] ** 2 + ridge[:, 0]), rtol=1e-13)


def test_the_principal_axes_give_a_symmetric_positive_inverse():
    design, variance, ridge = weighted_design()
    inverse = principal_axes_inverse(design, variance, ridge)
    matrix = np.array([inverse(vector) for vector in np.eye(CLASSES * FEATURES)])
    np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
    assert np.linalg.eigvalsh(matrix).min() > 0
    # Close enough to the inverse for conjugate gradients to gain by it.
    whole = np.zeros_like(matrix)
    for k, block in enumerate(blocks(design, variance, ridge)):
        rows = slice(k * FEATURES, (k + 1) * FEATURES)
        whole[rows, rows] = block
    by_diagonal = np.linalg.cond(whole / np.sqrt(np.outer(np.diag(whole), np.diag(whole))))
    root = np.linalg.cholesky(matrix)
    assert np.linalg.cond(root.T @ whole @ root) < by_diagonal / 5


@pytest.mark.parametrize("size", [1e3, 1.0, 1e-3, 1e-6])
def test_a_step_is_solved_the_more_exactly_the_smaller_it_is(size):
    matrix, right = positive_matrix()
    right *= size / np.sqrt(right @ np.linalg.solve(matrix, right))
    diagonal = np.diag(matrix)
    inverse = diagonal_inverse(diagonal)
    x = conjugate_gradient(lambda v: matrix @ v, right, inverse, diagonal)
    residual = right - matrix @ x
    first = right @ inverse(right)
    assert residual @ inverse(residual) <= 1.01 * first * min(INEXACTNESS**2, first)
    assert x @ right > 0


def test_with_the_exact_inverse_one_product_is_enough():
    matrix, right = positive_matrix()
    products = []

    def times(vector):
        products.append(vector)
        return matrix @ vector

    x = conjugate_gradient(times, right, lambda v: np.linalg.solve(matrix, v), np.diag(matrix))
    assert len(products) == 1
    np.testing.assert_allclose(x, np.linalg.solve(matrix, right), rtol=1e-9)


def test_where_there_is_no_curvature_at_all_the_approximate_inverse_decides():
    right = np.array([1.0, -2.0])
    x = conjugate_gradient(np.zeros_like, right, lambda v: v / 4, np.ones(2))
    np.testing.assert_array_equal(x, right / 4)


def test_a_direction_without_curvature_ends_the_solution_where_it_is():
    # Along (1, −1) the matrix is 0; what is asked for there has no solution.
    matrix = np.ones((2, 2))
    x = conjugate_gradient(lambda v: matrix @ v, np.array([3.0, 1.0]), lambda v: v, np.ones(2))
    assert np.isfinite(x).all()
    assert x.sum() == pytest.approx(2.5)  # one step of steepest descent: |g|²/(gᵀHg)·g


def test_a_step_goes_on_until_the_loss_is_nearly_level():
    for best in (1e-3, 0.7, 40.0):  # of (length − best)⁴, whose Newton steps fall short
        length = step_length(
            lambda t, best=best: (4 * (t - best) ** 3, 12 * (t - best) ** 2), -4 * best**3
        )
        assert abs(4 * (length - best) ** 3) <= 0.1 * 4 * best**3


@given(st.floats(0.01, 1000), st.floats(0.05, 2), st.sampled_from([0.1, 1e-3, 1e-9]))
def test_a_step_ends_where_no_more_is_left_of_the_slope_than_was_asked_for(best, sharp, left):
    # The loss is ln(e^{a(t−best)} + e^{−a(t−best)}): flat, then steep and straight on both sides.
    trials = []

    def slope_and_curvature(t):
        trials.append(t)
        p = expit(2 * sharp * (t - best))
        return sharp * (2 * p - 1), 4 * sharp**2 * p * (1 - p)

    slope, _ = slope_and_curvature(0.0)
    length = step_length(slope_and_curvature, slope, left)
    assert len(trials) <= 1 + MAX_LENGTHS
    assert abs(slope_and_curvature(length)[0]) <= left * abs(slope)
    assert min(trials) >= 0


def test_a_parabola_takes_one_step_of_newtons_method():
    trials = []

    def slope_and_curvature(t):
        trials.append(t)
        return 2 * (t - 3.5), 2.0

    assert step_length(slope_and_curvature, -7.0, 1e-12) == 3.5
    assert trials == [1.0, 3.5]


def test_a_loss_that_falls_for_ever_is_followed_far_but_not_for_ever():
    length = step_length(lambda t: (-1.0, 0.0), -1.0)
    assert length == 4.0**MAX_LENGTHS
