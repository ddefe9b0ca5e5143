"""The level of probabilities of 0: by its own equation, or the likeliest inside the range."""

from functools import partial

import numpy as np
import pytest
from scipy.special import log_softmax, softmax

from trueodds.numerics.softmax.floor import SEARCH_ROWS, SoftmaxRows, fit_with_floor
from trueodds.numerics.softmax.regression import MatrixModel, TemperatureModel, VectorModel

K = 3
RIDGE = 0.01
MODELS = [TemperatureModel, VectorModel, partial(MatrixModel, off_diagonal_ridge=RIDGE)]
every_model = pytest.mark.parametrize("model", MODELS, ids=["temperature", "vector", "matrix"])


def make_rows(p, truth, weight=None):
    """Probabilities of shape (n, k) as they are passed on."""
    with np.errstate(divide="ignore"):
        logits = np.log(p).T
    weight = np.ones(len(p)) if weight is None else weight
    return SoftmaxRows(logits, np.eye(K)[:, truth], weight, np.ones(K, bool))


def votes(n=300, seed=0, wrong=0.0):
    """Like a small forest of ten trees; some rows have any class, those of no vote too."""
    rng = np.random.default_rng(seed)
    p = softmax(1.5 * rng.normal(size=(n, K)), axis=1)
    truth = (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
    shares = np.array([rng.multinomial(10, row) for row in p]) / 10
    return shares, np.where(rng.random(n) < wrong, rng.integers(0, K, n), truth)


def eta_of(found, logits):
    weights = np.diag(found.weights) if found.weights.ndim == 1 else found.weights
    return weights @ logits + found.bias[:, None]


def raised(p, floor):
    """Written anew: no logarithm further below the largest of its row."""
    top = np.log(p.max(axis=1, keepdims=True))
    return np.log(np.maximum(p, np.exp(top + floor))).T


def test_what_is_known_of_zeros():
    data = make_rows(np.array([[0.0, 0.2, 0.8], [0.5, 0.5, 0.0], [0.3, 0.3, 0.4]]), [2, 0, 1])
    np.testing.assert_array_equal(data.zero.T, [[1, 0, 0], [0, 0, 1], [0, 0, 0]])
    assert data.edge == pytest.approx(np.log(0.2 / 0.8))
    np.testing.assert_allclose(data.relative[1], np.log([0.25, 1.0, 0.75]))
    np.testing.assert_allclose(
        np.exp(data.with_floor(np.log(0.5))).T, [[0.4, 0.4, 0.8], [0.5, 0.5, 0.25], [0.3, 0.3, 0.4]]
    )
    part = data.take(np.array([2, 0]))
    np.testing.assert_array_equal(part.logits, data.logits[:, [2, 0]])
    np.testing.assert_array_equal(part.targets.argmax(axis=0), [1, 2])


def test_a_sample_is_small_and_the_same_whatever_the_order_of_the_rows():
    rng = np.random.default_rng(0)
    p, truth = votes(2500)
    p = (p + 1e-3 * rng.random(p.shape)) / 2  # so that no two rows are alike
    weight = rng.random(2500)
    order = rng.permutation(2500)
    some, same = (
        make_rows(*(each[rows] for each in (p, truth, weight))).sample()
        for rows in (np.arange(2500), order)
    )
    assert 1000 <= len(some.row_weight) <= SEARCH_ROWS
    np.testing.assert_array_equal(some.logits, same.logits)
    np.testing.assert_array_equal(some.targets, same.targets)
    np.testing.assert_array_equal(some.row_weight, same.row_weight)
    few = make_rows(*votes(100))
    assert sorted(few.sample().relative.T.tolist()) == sorted(few.relative.T.tolist())


@every_model
def test_without_zeros_there_is_no_level(model):
    p, truth = votes()
    data = make_rows((p + 0.01) / 1.03, truth)
    found, level = fit_with_floor(data, model)
    assert level is None
    # The gradient along the parameters themselves vanishes, with that of the ridge.
    eta = eta_of(found, data.logits)
    residual = (softmax(eta, axis=0) - data.targets) / len(p)
    off = found.weights - np.diag(np.diag(found.weights)) if found.weights.ndim > 1 else 0.0
    assert (residual * eta).sum() == pytest.approx(-RIDGE * np.sum(off**2), abs=1e-8)
    assert found.loss < -log_softmax(data.logits, axis=0)[truth, np.arange(len(p))].mean()


@every_model
def test_a_level_below_all_others_gives_zeros_their_frequency(model):
    p, truth = votes()
    weight = np.random.default_rng(1).integers(1, 4, len(p)).astype(float)
    found, level = fit_with_floor(make_rows(p, truth, weight), model)
    data = make_rows(p, truth, weight)
    assert level < data.edge
    fitted = softmax(eta_of(found, raised(p, level)), axis=0).T
    zero = p == 0
    n = (weight[:, None] * zero).sum()
    true = weight[zero[np.arange(len(p)), truth]].sum()
    assert true > 0
    mean = (weight[:, None] * fitted * zero).sum() / n
    assert mean == pytest.approx((true + 1) / (n + 2), rel=1e-5)
    # And the rest is the optimum at that level.
    share = weight / weight.sum()
    residual = (fitted.T - data.targets) * share
    if model is TemperatureModel:
        assert abs((residual * raised(p, level)).sum()) < 1e-5
    else:
        assert np.abs(residual.sum(axis=1)).max() < 1e-5


def test_zeros_that_are_never_true_do_not_sink_for_ever():
    p, _ = votes()
    truth = p.argmax(axis=1)
    truth[:60] = np.where(p[:60] > 0, p[:60], 2).argmin(axis=1)  # not separated
    found, level = fit_with_floor(make_rows(p, truth), TemperatureModel)
    zero = p == 0
    fitted = softmax(eta_of(found, raised(p, level)), axis=0).T
    assert fitted[zero].mean() == pytest.approx(1 / (zero.sum() + 2), rel=1e-5)


@every_model
def test_zeros_that_are_often_true_stand_at_the_likeliest_level_inside_the_range(model):
    p, truth = votes(wrong=0.8)
    data = make_rows(p, truth)
    found, level = fit_with_floor(data, model)
    assert data.edge <= level <= -np.log(2)

    def loss_at(floor):
        return data.fit(model, floor).loss

    assert found.loss == pytest.approx(loss_at(level), abs=1e-9)
    others = [loss_at(floor) for floor in -np.geomspace(np.log(2), -data.edge, 15)]
    assert found.loss <= min(others) + 1e-6
    eta = eta_of(found, raised(p, level))
    assert found.loss < -log_softmax(0 * eta, axis=0)[truth, np.arange(len(p))].mean()


@pytest.mark.parametrize("wrong", [0.0, 0.8])
def test_weights_are_repetitions_and_the_order_of_rows_does_not_matter(wrong):
    p, truth = votes(200, wrong=wrong)
    rng = np.random.default_rng(1)
    times = rng.integers(1, 4, len(p))
    rows = rng.permutation(np.repeat(np.arange(len(p)), times))
    weighted, level = fit_with_floor(make_rows(p, truth, times.astype(float)), VectorModel)
    repeated, same = fit_with_floor(make_rows(p[rows], truth[rows]), VectorModel)
    assert same == pytest.approx(level, rel=1e-4)
    np.testing.assert_allclose(
        softmax(eta_of(repeated, raised(p, same)), axis=0),
        softmax(eta_of(weighted, raised(p, level)), axis=0),
        atol=1e-4,
    )


def test_the_level_may_be_that_of_a_simpler_model():
    p, truth = votes()
    data = make_rows(p, truth)
    simple, level = fit_with_floor(data, TemperatureModel)
    found, same = fit_with_floor(data, VectorModel, level_by=TemperatureModel)
    assert same == level
    assert found.loss < simple.loss
    assert found.loss == pytest.approx(data.fit(VectorModel, level).loss, abs=1e-12)
