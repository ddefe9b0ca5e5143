"""The cases that other libraries get wrong, and convergence to the optimum."""

import warnings

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit, logsumexp
from sklearn.metrics import log_loss

from trueodds import (
    BetaCalibrator,
    IdentityCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
    MatrixCalibrator,
    OneVsRestCalibrator,
    TemperatureCalibrator,
    VectorCalibrator,
)
from trueodds.exceptions import (
    InputError,
    MissingClassWarning,
    NonMonotoneWarning,
    SeparableScoresWarning,
)
from trueodds.numerics.softmax.regression import MatrixModel

PARAMETRIC = [LogisticCalibrator(), TemperatureCalibrator(), BetaCalibrator()]


def by_class(calibrator):
    return type(calibrator).__name__


@pytest.mark.parametrize("calibrator", PARAMETRIC, ids=by_class)
def test_a_model_that_reports_two_and_a_half_times_the_log_odds_is_set_right(calibrator):
    errors = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=4000) * 1.5
        y = rng.random(4000) < expit(z)
        p = expit(2.5 * z)
        calibrated = calibrator.fit(p, y).predict_proba(p)[:, 1]
        errors.append(np.sqrt(np.mean((calibrated - expit(z)) ** 2)))
    assert np.mean(errors) <= 0.010


@pytest.mark.parametrize("saturation", ["at random", "at the ends"])
@pytest.mark.parametrize("calibrator", PARAMETRIC, ids=by_class)
def test_thirty_percent_zeros_and_ones_do_not_wreck_the_fit(calibrator, saturation):
    ours, isotonic = [], []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        z = rng.normal(size=8000) * 1.5
        y = (rng.random(8000) < expit(z)).astype(int)
        p = expit(2.5 * z)
        if saturation == "at random":
            hard = rng.random(8000) < 0.3
        else:
            hard = (p < np.quantile(p, 0.15)) | (p > np.quantile(p, 0.85))
        p[hard] = np.round(p[hard])
        fitted = calibrator.fit(p[:4000], y[:4000])
        ours.append(log_loss(y[4000:], fitted.predict_proba(p[4000:])))
        reference = IsotonicCalibrator().fit(p[:4000], y[:4000])
        isotonic.append(log_loss(y[4000:], reference.predict_proba(p[4000:])))
    assert np.mean(ours) <= np.mean(isotonic) * 1.02


@pytest.mark.parametrize("calibrator", PARAMETRIC, ids=by_class)
def test_scores_of_only_zero_and_one_get_their_frequencies(calibrator):
    p = np.array([0.0] * 100 + [1.0] * 100)
    y = np.array([1] * 20 + [0] * 80 + [1] * 70 + [0] * 30)
    fitted = calibrator.fit(p, y)
    frequencies = fitted.predict_proba([0.0, 1.0])[:, 1]
    np.testing.assert_allclose(frequencies, [21 / 102, 71 / 102], atol=0.01)


def test_a_pure_group_of_zeros_keeps_a_finite_log_loss():
    rng = np.random.default_rng(0)
    p = np.concatenate([np.zeros(50), rng.random(200)])
    y = np.concatenate([np.zeros(50), rng.random(200) < p[50:]])
    calibrated = BetaCalibrator().fit(p, y).predict_proba([0.0])[0, 1]
    assert 0 < calibrated <= 1 / 52 + 1e-9


def test_logistic_regression_is_converged_to_the_last_digit():
    rng = np.random.default_rng(0)
    for n in (60, 200_000):  # below and above the size at which the start is found on a sample
        z = rng.normal(size=n) * 2
        y = rng.random(n) < expit(z / 2 + 0.2)
        fitted = LogisticCalibrator(label_smoothing=None, scale="logit").fit(z, y).map_
        residual = expit(fitted.a * z + fitted.c) - y
        assert abs(residual.sum()) <= 1e-8 * n
        assert abs(residual @ z) <= 1e-8 * np.abs(z).sum()


@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_margins_far_from_zero_are_fitted_as_well(offset):
    rng = np.random.default_rng(3)
    z = rng.normal(size=400)
    y = rng.random(400) < expit(z)
    near = LogisticCalibrator(scale="raw").fit(z, y)
    far = LogisticCalibrator(scale="raw").fit(z + offset, y)
    np.testing.assert_allclose(far.predict_proba(z + offset), near.predict_proba(z), atol=1e-7)


def test_platts_targets_are_used_by_default():
    z, y = np.array([-2.0, -1.0, 0.5, 1.0]), np.array([0, 0, 1, 1])
    fitted = LogisticCalibrator(scale="logit").fit(z, y).map_
    targets = np.where(y == 1, 3 / 4, 1 / 4)

    def loss(theta):
        eta = theta[0] * z + theta[1]
        return np.sum(np.logaddexp(0, eta) - targets * eta)

    best = minimize(loss, [1.0, 0.0], method="BFGS", options={"gtol": 1e-10}).x
    np.testing.assert_allclose([fitted.a, fitted.c], best, atol=1e-6)


def test_the_raw_axis_takes_probabilities_as_they_are():
    rng = np.random.default_rng(0)
    p = rng.random(300)
    y = rng.random(300) < p
    raw = LogisticCalibrator(axis="raw").fit(p, y)
    as_margin = LogisticCalibrator(scale="raw").fit(p, y)
    np.testing.assert_allclose(raw.predict_proba(p), as_margin.predict_proba(p))
    with pytest.raises(InputError, match=r"\[0, 1\]"):
        raw.predict_proba([1.5])
    with pytest.raises(InputError, match="axis must be one of"):
        LogisticCalibrator(axis="log").fit(p, y)


@pytest.mark.parametrize(
    "calibrator", [BetaCalibrator(), BetaCalibrator("ab"), TemperatureCalibrator()], ids=by_class
)
def test_separable_scores_fall_back_on_platts_targets_and_say_so(calibrator):
    p = np.concatenate([np.linspace(0.1, 0.4, 20), np.linspace(0.6, 0.9, 20)])
    y = np.repeat([0, 1], 20)
    with pytest.warns(SeparableScoresWarning, match="Platt"):
        calibrated = calibrator.fit(p, y).predict_proba(p)[:, 1]
    assert 0.001 < calibrated.min() < 0.3
    assert 0.7 < calibrated.max() < 0.999


def test_a_single_shared_score_still_counts_as_separable():
    p = np.array([0.1, 0.2, 0.5, 0.5, 0.8, 0.9])
    y = np.array([0, 0, 0, 1, 1, 1])
    with pytest.warns(SeparableScoresWarning, match="separate"):
        fitted = BetaCalibrator("am").fit(p, y).map_
    assert fitted.a < 10


def test_inverted_scores_make_logistic_fall_and_temperature_constant():
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    y = rng.random(300) < expit(-z)
    with pytest.warns(NonMonotoneWarning, match="not increasing"):
        assert LogisticCalibrator(scale="logit").fit(z, y).map_.a < 0
    with pytest.warns(NonMonotoneWarning, match="constant"):
        temperature = TemperatureCalibrator(scale="logit").fit(z, y)
    assert temperature.temperature_ == np.inf
    np.testing.assert_allclose(temperature.predict_proba(z), 0.5)


def test_temperature_is_that_of_a_direct_search():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(400, 4)) * 3
    y = np.array([rng.choice(4, p=row) for row in np.exp(log_softmax(logits / 2.5, axis=1))])
    fitted = TemperatureCalibrator(scale="logit").fit(logits, y)
    grid = np.linspace(1.5, 4, 2001)
    losses = [-log_softmax(logits / t, axis=1)[np.arange(400), y].mean() for t in grid]
    assert fitted.temperature_ == pytest.approx(grid[np.argmin(losses)], abs=0.002)
    two = TemperatureCalibrator(scale="logit").fit(logits[:, 1] - logits[:, 0], y % 2)
    assert two.temperature_ == pytest.approx(1 / two.map_.a)


def softmax_gradient(fitted, logits, y, ridge=0.0):
    weights = np.diag(fitted.weights) if fitted.weights.ndim == 1 else fitted.weights
    eta = logits @ weights.T + fitted.bias
    residual = np.exp(eta - logsumexp(eta, axis=1, keepdims=True)) - np.eye(len(weights))[y]
    off = weights - np.diag(np.diag(weights))
    return residual.T @ logits / len(y) + ridge * off, residual.mean(axis=0)


@pytest.mark.parametrize("ridge", [0.0, 0.05])
def test_vector_and_matrix_scaling_are_converged(ridge):
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(2000, 5)) * 2
    y = np.array([rng.choice(5, p=row) for row in np.exp(log_softmax(logits / 2, axis=1))])
    vector = VectorCalibrator(scale="logit").fit(logits, y).map_
    gradient, bias_gradient = softmax_gradient(vector, logits, y)
    assert np.abs(np.diag(gradient)).max() <= 1e-8
    assert np.abs(bias_gradient).max() <= 1e-8
    matrix = MatrixCalibrator(scale="logit", ridge=ridge).fit(logits, y).map_
    gradient, bias_gradient = softmax_gradient(matrix, logits, y, ridge)
    assert np.abs(gradient).max() <= 1e-8
    assert np.abs(bias_gradient).max() <= 1e-8


def correlated_classes(n=600, k=20, seed=0):
    """Logits that mostly rise and fall together, as a network's do."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(n, k)) + 4 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, k))
    y = np.array([rng.choice(k, p=row) for row in np.exp(log_softmax(logits / 4, axis=1))])
    return logits, y


@pytest.mark.parametrize("dependent", [False, True])
def test_matrix_scaling_of_correlated_logits_takes_few_products(dependent, monkeypatch):
    logits, y = correlated_classes()
    if dependent:
        logits[:, 0] = logits[:, 1]
    products = []
    forward = MatrixModel.forward
    monkeypatch.setattr(
        MatrixModel, "forward", lambda model, v: products.append(1) or forward(model, v)
    )
    fitted = MatrixCalibrator(scale="logit", ridge=1e-3).fit(logits, y).map_
    gradient, bias_gradient = softmax_gradient(fitted, logits, y, 1e-3)
    assert np.abs(gradient).max() <= 1e-8
    assert np.abs(bias_gradient).max() <= 1e-8
    assert len(products) < 400  # with the Hessian's diagonal alone more than a thousand


@pytest.mark.parametrize("ridge", [0.1, 1e-3])
def test_more_classes_than_blocks_are_held_for_are_fitted_all_the_same(ridge, monkeypatch):
    logits, y = correlated_classes()
    blocks = MatrixCalibrator(scale="logit", ridge=ridge).fit(logits, y).map_
    monkeypatch.setattr("trueodds.numerics.softmax.regression.MOST_BLOCKS", 19)
    products = []
    forward = MatrixModel.forward
    monkeypatch.setattr(
        MatrixModel, "forward", lambda model, v: products.append(1) or forward(model, v)
    )
    axes = MatrixCalibrator(scale="logit", ridge=ridge).fit(logits, y).map_
    np.testing.assert_allclose(axes(logits), blocks(logits), atol=1e-7)
    assert len(products) < 600


def many_classes(n, k):
    rng = np.random.default_rng(0)
    y = np.resize(np.arange(k), n)
    logits = rng.normal(size=(n, k)) + 2 * rng.normal(size=(n, 3)) @ rng.normal(size=(3, k))
    return logits, y


def test_matrix_scaling_of_more_than_a_hundred_classes_inverts_no_matrix_for_each(monkeypatch):
    logits, y = many_classes(202, 101)

    def refuse(*arguments):
        raise AssertionError("101 matrices of 102 rows")

    monkeypatch.setattr("trueodds.numerics.softmax.regression.row_block_inverse", refuse)
    fitted = MatrixCalibrator(scale="logit", ridge=2.0).fit(logits, y).map_
    gradient, bias_gradient = softmax_gradient(fitted, logits, y, 2.0)
    assert np.abs(gradient).max() <= 1e-8
    assert np.abs(bias_gradient).max() <= 1e-8


def test_zeros_among_very_many_classes_stand_where_vector_scaling_puts_them(monkeypatch):
    monkeypatch.setattr("trueodds.calibrators._shared.softmax.MOST_BLOCKS", 19)
    logits, y = correlated_classes()
    p = np.exp(log_softmax(logits / 4, axis=1))
    p[p < 1e-3] = 0
    p /= p.sum(axis=1, keepdims=True)
    models = []
    begin = MatrixModel.__init__
    monkeypatch.setattr(
        MatrixModel, "__init__", lambda *a, **options: models.append(1) or begin(*a, **options)
    )
    matrix = MatrixCalibrator(ridge=0.01).fit(p, y).map_
    assert len(models) == 1  # dozens, if the level were sought by matrix scaling
    assert matrix.floor == VectorCalibrator().fit(p, y).map_.floor


@pytest.mark.parametrize("ridge", ["structured", 0.0])
def test_counts_in_matrix_scaling_act_like_repetition(ridge):
    logits, y = correlated_classes(k=4)
    counts = np.random.default_rng(1).integers(0, 3, len(y))
    rows = np.repeat(np.arange(len(y)), counts)
    calibrator = MatrixCalibrator(scale="logit", ridge=ridge)
    counted = calibrator.fit(logits, y, counts=counts).predict_proba(logits)
    repeated = calibrator.fit(logits[rows], y[rows]).predict_proba(logits)
    np.testing.assert_allclose(counted, repeated, atol=1e-7)


def test_a_large_ridge_turns_matrix_into_vector_scaling():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(1000, 3)) * 2
    y = np.array([rng.choice(3, p=row) for row in np.exp(log_softmax(logits / 2, axis=1))])
    vector = VectorCalibrator(scale="logit").fit(logits, y).predict_proba(logits)
    matrix = MatrixCalibrator(scale="logit", ridge=1e6).fit(logits, y).predict_proba(logits)
    np.testing.assert_allclose(matrix, vector, atol=1e-5)
    with pytest.raises(InputError, match="ridge must be"):
        MatrixCalibrator(ridge=-1).fit(logits, y)
    with pytest.raises(InputError, match='ridge must be "structured" or a number'):
        MatrixCalibrator(ridge="none").fit(logits, y)


def test_structured_matrix_scaling_minimizes_its_penalized_loss():
    """Stated once more, in units of the temperature, and minimized by a general solver."""
    logits, y = correlated_classes(k=3)
    logits, y = logits[:150], y[:150]
    n, k = logits.shape
    slope = TemperatureCalibrator(scale="logit").fit(logits, y).map_.weights[0]

    def loss(theta):
        change, bias = theta[: k * k].reshape(k, k), theta[k * k :]
        eta = slope * logits @ (np.eye(k) + change).T + bias
        diagonal = np.sum(np.diag(change) ** 2) + np.sum(bias**2)
        off_diagonal = np.sum(change**2) - np.sum(np.diag(change) ** 2)
        penalty = k / n * diagonal + k * (k - 1) / n * off_diagonal
        return penalty - log_softmax(eta, axis=1)[np.arange(n), y].mean()

    found = minimize(loss, np.zeros(k * k + k), tol=1e-12, options={"gtol": 1e-9}).x
    fitted = MatrixCalibrator(scale="logit").fit(logits, y).map_
    expected = slope * (np.eye(k) + found[: k * k].reshape(k, k))
    np.testing.assert_allclose(fitted.weights, expected, atol=1e-5)
    np.testing.assert_allclose(fitted.bias, found[k * k :], atol=1e-5)


def test_structured_matrix_scaling_does_not_depend_on_the_scale_of_the_logits():
    logits, y = correlated_classes(k=4)
    once, thousandfold = (
        MatrixCalibrator(scale="logit").fit(scale * logits, y).predict_proba(scale * logits)
        for scale in (1.0, 1000.0)
    )
    np.testing.assert_allclose(once, thousandfold, atol=1e-7)


def test_many_classes_and_few_rows_do_little_harm_by_default():
    """Calibrated scores, more parameters than rows."""
    rng = np.random.default_rng(0)
    logits = 1.5 * rng.normal(size=(3000, 25))
    p = np.exp(log_softmax(logits, axis=1))
    y = (p.cumsum(axis=1) > rng.random((3000, 1))).argmax(axis=1)
    harm = {}
    for ridge in ("structured", 0.1):
        fitted = MatrixCalibrator(scale="logit", ridge=ridge).fit(logits[:500], y[:500])
        harm[ridge] = log_loss(y[500:], fitted.predict_proba(logits[500:])) - log_loss(
            y[500:], p[500:]
        )
    assert harm["structured"] < 0.02
    assert harm["structured"] < harm[0.1] / 5


@pytest.mark.parametrize(
    "calibrator", [TemperatureCalibrator(), VectorCalibrator(), MatrixCalibrator()], ids=by_class
)
def test_zero_probabilities_of_several_classes_do_not_wreck_the_fit(calibrator):
    ours, uncalibrated = [], []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        logits = rng.normal(size=(4000, 3)) * 1.5
        p = np.exp(log_softmax(logits, axis=1))
        y = (p.cumsum(axis=1) > rng.random((4000, 1))).argmax(axis=1)
        votes = np.array([rng.multinomial(10, row) for row in p]) / 10  # like a small forest
        fitted = calibrator.fit(votes[:2000], y[:2000])
        ours.append(log_loss(y[2000:], fitted.predict_proba(votes[2000:])))
        isotonic = IsotonicCalibrator(label_smoothing="platt").fit(votes[:2000], y[:2000])
        uncalibrated.append(log_loss(y[2000:], isotonic.predict_proba(votes[2000:])))
    assert np.mean(ours) <= np.mean(uncalibrated) * 1.02


def test_separable_classes_fall_back_on_platts_targets():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(200, 3))
    for kind in (TemperatureCalibrator, VectorCalibrator, MatrixCalibrator):
        calibrator = kind(scale="logit")
        with pytest.warns(SeparableScoresWarning, match="Platt"):
            p = calibrator.fit(logits, logits.argmax(axis=1)).predict_proba(logits)
        assert p.max() < 1


def test_one_row_that_contradicts_another_does_not_hide_that_the_rest_is_separated():
    logits = np.random.default_rng(0).normal(size=(155, 12))  # matrix scaling: 156 parameters
    y = logits.argmax(axis=1)
    logits[0], y[0] = logits[1], (y[1] + 1) % 12
    with pytest.warns(SeparableScoresWarning, match="Platt"):
        MatrixCalibrator(scale="logit", ridge=0.0).fit(logits, y)


def test_inverted_classes_get_an_infinite_temperature():
    rng = np.random.default_rng(0)
    logits = rng.normal(size=(300, 3))
    y = np.array([rng.choice(3, p=row) for row in np.exp(log_softmax(-logits, axis=1))])
    with pytest.warns(NonMonotoneWarning, match="infinite"):
        fitted = TemperatureCalibrator(scale="logit").fit(logits, y)
    assert fitted.temperature_ == np.inf
    np.testing.assert_allclose(fitted.predict_proba(logits), 1 / 3)


def test_absent_classes_keep_their_scores_and_are_reported():
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1, 1], size=200)
    y = p[:, :3].argmax(axis=1)
    y[:80] = rng.integers(0, 3, 80)
    names = ["a", "b", "c", "d"]
    with pytest.warns(MissingClassWarning, match="no rows"):
        VectorCalibrator(classes=range(4)).fit(p, y)
    with pytest.warns(MissingClassWarning, match="no rows"):
        matrix = MatrixCalibrator(classes=range(4), ridge=0.0).fit(p, y).map_
    np.testing.assert_array_equal(matrix.weights[3], [0, 0, 0, 1])
    assert matrix.bias[3] == 0
    with pytest.warns(MissingClassWarning, match="no rows"):
        structured = MatrixCalibrator(classes=range(4)).fit(p, y).map_
    temperature = TemperatureCalibrator(classes=range(4)).fit(p, y).map_
    np.testing.assert_allclose(structured.weights[3], [0, 0, 0, temperature.weights[0]])
    with pytest.warns(MissingClassWarning, match="scores stay unchanged"):
        fitted = OneVsRestCalibrator(classes=names).fit(p, np.array(names)[y])
    assert fitted.classes_.tolist() == names
    with pytest.raises(InputError, match="Pass classes="):
        VectorCalibrator().fit(p, y)


def three_classes(n):
    rng = np.random.default_rng(0)
    p = rng.dirichlet([1, 1, 1], size=n)
    return p, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)


def test_binary_methods_learn_several_classes_one_against_the_rest():
    p, y = three_classes(400)
    fitted = BetaCalibrator().fit(p, y)
    wrapped = OneVsRestCalibrator(BetaCalibrator()).fit(p, y)
    np.testing.assert_array_equal(fitted.predict_proba(p), wrapped.predict_proba(p))
    columns = np.stack(
        [BetaCalibrator().fit(p[:, k], y == k).predict_proba(p[:, k])[:, 1] for k in range(3)], 1
    )
    np.testing.assert_allclose(
        fitted.predict_proba(p), columns / columns.sum(axis=1, keepdims=True), atol=1e-12
    )


def test_one_vs_rest_takes_columns_that_do_not_sum_to_one():
    rng = np.random.default_rng(0)
    scores = rng.random((200, 3))
    y = scores.argmax(axis=1)
    y[:80] = rng.integers(0, 3, 80)
    assert OneVsRestCalibrator().fit(scores, y).predict_proba(scores).shape == (200, 3)
    with pytest.raises(InputError, match="use OneVsRestCalibrator"):
        BetaCalibrator().fit(scores, y)


def test_a_row_of_0998_changes_no_other_row():
    p, y = three_classes(300)
    fitted = TemperatureCalibrator().fit(p, y)
    clean = fitted.predict_proba(p[:2])
    rounded = p[:2].copy()
    rounded[1] *= 0.998
    np.testing.assert_array_equal(fitted.predict_proba(rounded)[0], clean[0])
    np.testing.assert_allclose(fitted.predict_proba(rounded)[1], clean[1], atol=1e-12)


def test_probabilities_logits_and_two_columns_are_the_same_evidence():
    rng = np.random.default_rng(0)
    z = rng.normal(size=300)
    y = rng.random(300) < expit(z)
    for kind in (LogisticCalibrator, TemperatureCalibrator, BetaCalibrator, VectorCalibrator):
        a = kind().fit(expit(z), y).predict_proba(expit(z))
        b = kind(scale="logit").fit(z, y).predict_proba(z)
        c = kind(scale="logit").fit(np.stack([0 * z, z], 1), y)
        np.testing.assert_allclose(a, b, atol=1e-9)
        np.testing.assert_allclose(c.predict_proba(np.stack([5 - z, 0 * z + 5], 1)), b, atol=1e-9)


def test_identity_leaves_probabilities_alone():
    fitted = IdentityCalibrator().fit([0.2, 0.8], [0, 1])
    assert fitted.predict_proba([0.0, 0.3, 1.0])[:, 1].tolist() == [0.0, 0.3, 1.0]
    logits = IdentityCalibrator(scale="logit").fit([[0.0, 1.0, 2.0]] * 3, [0, 1, 2])
    np.testing.assert_allclose(
        logits.predict_proba([[0.0, 1.0, 2.0]]), np.exp(log_softmax([[0.0, 1.0, 2.0]], axis=1))
    )


def test_warnings_point_at_the_line_of_the_caller():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        BetaCalibrator().fit([0.1, 0.2, 0.8, 0.9], [0, 0, 1, 1])
    assert caught[0].filename == __file__


def test_a_million_to_one_imbalance_is_fitted():
    rng = np.random.default_rng(0)
    z = rng.normal(size=20_000) - 8
    y = np.zeros(20_000, dtype=int)
    y[np.argsort(z)[-3:]] = 1
    y[0] = 1
    p = LogisticCalibrator().fit(expit(z), y).predict_proba(expit(z))[:, 1]
    assert p.mean() == pytest.approx(y.mean(), rel=0.5)
    assert logit(p).std() > 0


@pytest.mark.parametrize("kind", [VectorCalibrator, MatrixCalibrator])
def test_a_class_without_rows_keeps_its_share(kind):
    rng = np.random.default_rng(0)
    z = rng.normal(0, 2, (2000, 4))
    y = (z / 2 + rng.gumbel(size=z.shape)).argmax(axis=1)
    p = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    with pytest.warns(MissingClassWarning):
        fitted = kind(classes=range(4)).fit(p[y != 3], y[y != 3])
    found = fitted.predict_proba(p)
    assert 0.22 < found[:, 3].mean() < 0.28
    # Among the others nothing but what the rows say.
    seen = TemperatureCalibrator(classes=range(4)).fit(p[y != 3], y[y != 3]).predict_proba(p)
    shares, plain = (q[:, :3] / q[:, :3].sum(axis=1, keepdims=True) for q in (found, seen))
    assert np.abs(shares - plain).mean() < 0.03
