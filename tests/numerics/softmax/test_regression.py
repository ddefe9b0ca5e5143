"""Temperature, vector and matrix scaling: their operators, their loss, and its optimum."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, softmax

from trueodds.numerics.logistic_regression import fit_logistic
from trueodds.numerics.softmax.regression import (
    MatrixModel,
    TemperatureModel,
    VectorModel,
    _Loss,
    fit_softmax,
    row_block_inverse,
)

K = 4
RIDGE = 0.05


def penalized(logits, trainable):
    return MatrixModel(logits, trainable, RIDGE)


every_model = pytest.mark.parametrize(
    "kind", [TemperatureModel, VectorModel, MatrixModel, penalized], ids=lambda kind: kind.__name__
)


def sample(n=200, seed=0, k=K):
    """Logits that are twice as sure as they should be, one-hot targets, weights that sum to 1."""
    rng = np.random.default_rng(seed)
    logits = 2 * rng.normal(size=(k, n))
    truth = (softmax(logits / 2, axis=0).cumsum(axis=0) > rng.random(n)).argmax(axis=0)
    weight = rng.integers(1, 4, n).astype(float)
    return logits, np.eye(k)[:, truth], weight / weight.sum()


def all_of(logits):
    return np.ones(len(logits), bool)


def fit(kind, logits, targets, weight, trainable=None):
    model = kind(logits, all_of(logits) if trainable is None else trainable)
    return fit_softmax(model, targets, weight, model.start)


def as_matrix(found):
    return np.diag(found.weights) if found.weights.ndim == 1 else found.weights


def mean_loss(weights, bias, logits, targets, weight, ridge=0.0):
    """Written anew: −Σ w·t·ln p, plus the ridge off the diagonal."""
    eta = weights @ logits + bias[:, None]
    off = weights - np.diag(np.diag(weights))
    return -(weight * (targets * log_softmax(eta, axis=0)).sum(axis=0)).sum() + ridge * np.sum(
        off**2 / 2
    )


def optimum_by_scipy(kind, logits, targets, weight):
    k = len(logits)

    def unpack(theta):
        if kind is TemperatureModel:
            return theta[0] * np.eye(k), np.zeros(k)
        if kind is VectorModel:
            return np.diag(theta[:k]), theta[k:]
        return theta[: k * k].reshape(k, k), theta[k * k :]

    start = {TemperatureModel: np.ones(1), VectorModel: np.repeat([1.0, 0.0], k)}.get(
        kind, np.append(np.eye(k).ravel(), np.zeros(k))
    )
    ridge = RIDGE if kind is penalized else 0.0
    found = minimize(
        lambda theta: mean_loss(*unpack(theta), logits, targets, weight, ridge),
        start,
        method="BFGS",
        options={"gtol": 1e-7},
    )
    return found.fun, *unpack(found.x)


def fitted_probabilities(weights, bias, logits):
    return softmax(weights @ logits + bias[:, None], axis=0)


@every_model
def test_the_start_leaves_the_logits_as_they_are(kind):
    logits, _, _ = sample(20)
    model = kind(logits, all_of(logits))
    np.testing.assert_array_equal(model.forward(model.start), logits)


@every_model
def test_scores_are_the_logits_times_the_weights_plus_the_bias(kind):
    logits, _, _ = sample(20)
    model = kind(logits, all_of(logits))
    theta = np.random.default_rng(1).normal(size=len(model.start))
    weights, bias = model.weights_and_bias(theta)
    expected = (np.diag(weights) if weights.ndim == 1 else weights) @ logits + bias[:, None]
    np.testing.assert_allclose(model.forward(theta), expected, atol=1e-12)


@every_model
def test_the_adjoint_is_the_transpose_and_that_of_squares_its_square(kind):
    logits, _, _ = sample(20)
    model = kind(logits, all_of(logits))
    columns = np.array([model.forward(unit) for unit in np.eye(len(model.start))])
    given_to = np.random.default_rng(1).normal(size=logits.shape)
    expected = (columns * given_to).sum(axis=(1, 2))
    np.testing.assert_allclose(model.adjoint(given_to), expected, atol=1e-12)
    expected = (columns**2 * given_to).sum(axis=(1, 2))
    np.testing.assert_allclose(model.squared_adjoint(given_to), expected, atol=1e-11)


@every_model
def test_the_loss_and_its_derivatives_agree_with_finite_differences(kind):
    logits, targets, weight = sample(40)
    smoothed = 0.9 * targets + 0.1 / K
    model = kind(logits, all_of(logits))
    loss = _Loss(model, smoothed, weight)
    rng = np.random.default_rng(1)
    theta = model.start + 0.3 * rng.normal(size=len(model.start))
    place, h = loss.at(theta), 1e-5
    weights, bias = model.weights_and_bias(theta)
    weights = np.diag(weights) if weights.ndim == 1 else weights
    ridge = RIDGE if kind is penalized else 0.0
    assert place.value == pytest.approx(mean_loss(weights, bias, logits, smoothed, weight, ridge))
    around = [(loss.at(theta + h * unit), loss.at(theta - h * unit)) for unit in np.eye(len(theta))]
    gradient = [(up.value - down.value) / (2 * h) for up, down in around]
    np.testing.assert_allclose(place.gradient, gradient, atol=1e-9)
    hessian = np.array([(up.gradient - down.gradient) / (2 * h) for up, down in around])
    step = rng.normal(size=len(theta))
    slope, curvature = loss.along(place, step)(0.0)
    assert slope == pytest.approx(place.gradient @ step)
    assert curvature == pytest.approx(step @ hessian @ step, rel=1e-7)
    further, _ = loss.along(place, step)(0.7)
    assert further == pytest.approx(loss.at(theta + 0.7 * step).gradient @ step)
    # A Newton step far from the optimum is solved roughly, but never uphill.
    step = loss.newton_step(place)
    left = hessian @ step + place.gradient
    assert np.linalg.norm(left) < 0.3 * np.linalg.norm(place.gradient)
    assert place.gradient @ step < 0


@every_model
def test_the_optimum_is_that_of_a_general_solver(kind):
    logits, targets, weight = sample()
    found = fit(kind, logits, targets, weight)
    least, weights, bias = optimum_by_scipy(kind, logits, targets, weight)
    assert found.converged
    assert not found.separates
    assert found.loss == pytest.approx(least, abs=1e-10)
    np.testing.assert_allclose(
        fitted_probabilities(as_matrix(found), found.bias, logits),
        fitted_probabilities(weights, bias, logits),
        atol=1e-4,
    )


@every_model
def test_the_gradient_vanishes_at_the_optimum(kind):
    logits, targets, weight = sample()
    found = fit(kind, logits, targets, weight)
    weights = as_matrix(found)
    residual = (fitted_probabilities(weights, found.bias, logits) - targets) * weight
    by_weight, by_bias = residual @ logits.T, residual.sum(axis=1)
    if kind is TemperatureModel:
        assert abs(np.trace(by_weight)) < 1e-9
        return
    if kind is penalized:
        by_weight += RIDGE * (weights - np.diag(np.diag(weights)))
    used = np.diag(by_weight) if kind is VectorModel else by_weight
    assert np.abs(used).max() < 1e-8
    assert np.abs(by_bias).max() < 1e-8


@every_model
def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter(kind):
    logits, targets, _ = sample(150)
    rng = np.random.default_rng(1)
    times = rng.integers(0, 4, 150)
    rows = rng.permutation(np.repeat(np.arange(150), times))
    weighted = fit(kind, logits, targets, times / times.sum())
    repeated = fit(kind, logits[:, rows], targets[:, rows], np.full(len(rows), 1 / len(rows)))
    assert repeated.loss == pytest.approx(weighted.loss, rel=1e-12)
    np.testing.assert_allclose(
        fitted_probabilities(as_matrix(repeated), repeated.bias, logits),
        fitted_probabilities(as_matrix(weighted), weighted.bias, logits),
        atol=1e-7,
    )


@every_model
def test_the_order_of_the_classes_does_not_matter(kind):
    logits, targets, weight = sample()
    order = np.array([2, 0, 3, 1])
    found = fit(kind, logits, targets, weight)
    other = fit(kind, logits[order], targets[order], weight)
    np.testing.assert_allclose(
        fitted_probabilities(as_matrix(other), other.bias, logits[order]),
        fitted_probabilities(as_matrix(found), found.bias, logits)[order],
        atol=1e-7,
    )


def test_a_temperature_does_not_see_a_constant_that_a_row_is_shifted_by():
    logits, targets, weight = sample()
    shifted = logits + np.random.default_rng(1).normal(scale=10, size=logits.shape[1])
    found = fit(TemperatureModel, logits, targets, weight)
    assert fit(TemperatureModel, shifted, targets, weight).theta == pytest.approx(found.theta)


def test_two_classes_are_logistic_regression():
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    y = (rng.random(300) < expit(0.6 * z + 0.4)).astype(float)
    logits, targets = np.stack([0 * z, z]), np.stack([1 - y, y])
    share = np.full(300, 1 / 300)
    temperature = fit(TemperatureModel, logits, targets, share)
    binary = fit_logistic([z], y, np.ones(300), intercept=False)
    assert temperature.theta[0] == pytest.approx(binary.coef[0], rel=1e-8)
    assert temperature.loss == pytest.approx(binary.loss, rel=1e-12)
    vector = fit(VectorModel, logits, targets, share)
    binary = fit_logistic([z], y, np.ones(300))
    assert vector.weights[1] == pytest.approx(binary.coef[0], rel=1e-6)
    assert vector.bias[1] - vector.bias[0] == pytest.approx(binary.intercept, rel=1e-6)


@pytest.mark.parametrize("kind", [VectorModel, MatrixModel, penalized])
def test_a_class_without_instances_keeps_its_score(kind):
    logits, _, weight = sample()
    truth = np.random.default_rng(1).integers(0, K - 1, logits.shape[1])
    targets = np.eye(K)[:, truth]
    found = fit(kind, logits, targets, weight, trainable=np.arange(K) < K - 1)
    assert found.converged
    np.testing.assert_array_equal(as_matrix(found)[-1], np.eye(K)[-1])
    assert found.bias[-1] == 0
    # The others are at their optimum, given that.
    residual = (fitted_probabilities(as_matrix(found), found.bias, logits) - targets) * weight
    assert np.abs(residual.sum(axis=1)[:-1]).max() < 1e-8


@every_model
def test_separated_classes_are_reported_and_smoothed_ones_have_an_optimum(kind):
    logits, _, weight = sample(seed=2)
    targets = np.eye(K)[:, logits.argmax(axis=0)]
    found = fit(kind, logits, targets, weight)
    assert found.separates
    assert np.isfinite(found.theta).all()
    if kind is not penalized:
        assert not found.converged
    smoothed = fit(kind, logits, 0.9 * targets + 0.1 / K, weight)
    assert smoothed.converged
    assert smoothed.loss > -0.9 * np.log(0.9 + 0.1 / K)


@pytest.mark.parametrize("copies", [1, 2])
def test_rows_that_are_all_but_interpolated_count_as_separated_if_parameters_are_more(copies):
    logits = np.random.default_rng(0).normal(size=(12, 155))  # 156 parameters
    truth = logits.argmax(axis=0)
    logits[:, 0], truth[0] = logits[:, 1], (truth[1] + 1) % 12  # these two contradict each other
    rows = np.tile(np.arange(155), copies)
    found = fit(
        MatrixModel, logits[:, rows], np.eye(12)[:, truth[rows]], np.full(len(rows), 1 / len(rows))
    )
    assert found.loss > 2 * np.log(2) / 155
    assert found.separates == (copies == 1)


def test_a_start_elsewhere_leads_to_the_same_optimum():
    logits, targets, weight = sample()
    model = penalized(logits, all_of(logits))
    found = fit_softmax(model, targets, weight, model.start)
    start = np.random.default_rng(1).normal(size=len(model.start))
    other = fit_softmax(model, targets, weight, start)
    assert other.loss == pytest.approx(found.loss, rel=1e-12)
    again = fit_softmax(model, targets, weight, found.theta)
    assert again.n_iter <= 2


def test_logits_that_say_nothing_are_left_alone():
    targets = np.eye(K)[:, np.arange(12) % K]
    found = fit(TemperatureModel, np.zeros((K, 12)), targets, np.full(12, 1 / 12))
    assert found.converged
    assert found.theta.tolist() == [1.0]
    assert found.loss == pytest.approx(np.log(K))


def test_a_hundred_classes_are_still_solved_by_the_block_of_each():
    logits, _, _ = sample(200, k=100)
    model = MatrixModel(logits, all_of(logits))
    variance = np.full((100, 200), 1e-3)
    vector = np.random.default_rng(0).normal(size=100 * 101)
    inverse = row_block_inverse(model.design, variance, np.zeros((100, 101)))
    found = model.inverse(variance, model.squared_adjoint(variance))(vector)
    np.testing.assert_array_equal(found, inverse(vector))


def test_a_ridge_that_spares_the_diagonal_does_not_run_after_separated_classes():
    p = np.random.default_rng(7).dirichlet([0.3] * 6, size=70).T
    targets = np.eye(6)[p.argmax(axis=0)].T
    model = MatrixModel(np.log(p), np.ones(6, bool), off_diagonal_ridge=0.06, bias_ridge=0.06)
    fit = fit_softmax(model, targets, np.full(70, 1 / 70), model.start)
    assert fit.separates
    assert fit.n_iter < 10
    assert np.abs(fit.weights).max() < 100


def test_biases_have_a_ridge_of_their_own():
    model = MatrixModel(np.zeros((2, 3)), np.ones(2, bool), 0.1, 0.2, bias_ridge=0.3)
    np.testing.assert_array_equal(model.ridge().reshape(2, 3), [[0.2, 0.1, 0.3], [0.1, 0.2, 0.3]])
