"""Which models are averaged.

Variances and models by their evidence.

The most probable parameters.
"""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from numerics.structured_rows import some_rows
from trueodds.numerics.structured_softmax.base import fit_plain_base
from trueodds.numerics.structured_softmax.model import Block, make_design
from trueodds.numerics.structured_softmax.pool import (
    LEAST_WEIGHT,
    PSEUDO_OBSERVATIONS,
    Posterior,
    fit_by_evidence,
    fit_pool,
    log_softmax_columns,
    pool_weights,
    prior_variances,
)
from trueodds.numerics.structured_softmax.rows import ClassRows


def test_weights_are_proportional_to_the_fifth_root_of_the_evidence():
    found = pool_weights(np.array([-10.0, -5.0, -10.0]), np.ones(3))
    np.testing.assert_allclose(found / found[0], [1, np.e, 1])
    assert found.sum() == pytest.approx(1)


def test_members_of_little_weight_are_left_out():
    found = pool_weights(np.array([-10000.0, 0.0, 5 * np.log(LEAST_WEIGHT / 2)]), np.ones(3))
    np.testing.assert_array_equal(found, [0, 1, 0])


def test_the_best_that_was_learned_always_counts():
    found = pool_weights(np.array([0.0, -100.0, -80.0]), np.ones(3))
    assert found[0] < 1
    assert found[1] == 0
    assert 0 < found[2] < 1e-6


def test_calibrated_scores_are_mostly_left_alone():
    members, weights = fit_pool(some_rows(1000, 3))
    assert members[0].base is None
    assert weights[0] > 0.5


def test_a_nearly_perfect_model_is_mostly_left_alone_whatever_few_rows_say():
    """Two hundred rows without an error do not show that errors are rarer than the scores say."""
    n, k = 200, 4
    rng = np.random.default_rng(3)
    right = rng.integers(k, size=n)
    p = np.full((k, n), 0.01 / (k - 1))
    p[right, np.arange(n)] = 0.99
    counts = np.zeros((k, n))
    counts[right, np.arange(n)] = 1
    rows = ClassRows(p, p == p.max(axis=0), counts)
    members, weights = fit_pool(rows)
    assert members[0].counts_as == pytest.approx(1 + 10 / 2)
    assert weights[0] > 0.4
    averaged = pool_weights(np.array([m.log_evidence for m in members]), np.ones(len(members)))
    assert averaged[0] < 0.15


def test_the_errors_that_scores_expect_are_counted_with_the_weights():
    rows = some_rows(500, 3)
    heavy = ClassRows(rows.p, rows.top, 2 * rows.counts)
    light, twice = (fit_pool(r)[0][0].counts_as - 1 for r in (rows, heavy))
    assert light == pytest.approx(2 * twice)


def test_scores_of_another_scale_are_never_left_alone():
    members, _ = fit_pool(some_rows(1000, 3), as_they_are=False)
    assert [member.base is None for member in members] == [False] * 7


def test_what_was_called_impossible_and_happened_rules_out_leaving_alone():
    rows = some_rows(300, 3)
    p = rows.p.copy()
    seen = rows.counts.argmax(axis=0)[0]
    p[seen, 0] = 0.0
    members, _ = fit_pool(type(rows)(p / p.sum(axis=0), rows.top, rows.counts))
    assert [member.base is None for member in members] == [False] * 7


def fits(rows, layout="full", widths=(4.0,)):
    design = make_design(rows, fit_plain_base(rows), layout)
    return design, fit_by_evidence(rows, design, widths)


def test_prior_variances_of_a_block_share_the_same_total():
    for k in (3, 10):
        found = prior_variances(k, 4.0)
        assert k * found[Block.LOG_DIAGONAL] == pytest.approx(2)
        assert k * (k - 1) * found[Block.LOG_OTHERS] == pytest.approx(2)
        assert found[Block.SHARED] == 0.1


def test_variances_are_a_fixed_point():
    rows = some_rows(800, 3, power=2.0)
    design, (fit,) = fits(rows)
    posterior = Posterior(design, rows.counts, rows.weight, fit.theta)
    precision = 1 / fit.variances[design.blocks]
    spread = np.diag(np.linalg.inv(posterior.curvature + np.diag(precision)))
    prior, nu = prior_variances(3, 4.0), PSEUDO_OBSERVATIONS
    for block in Block:
        own = design.blocks == block
        known = own.sum() - (spread[own] / fit.variances[block]).sum()
        expected = ((fit.theta[own] ** 2).sum() + nu * prior[block]) / (known + nu)
        assert fit.variances[block] == pytest.approx(expected, rel=0.1)


def test_the_evidence_is_near_the_integral_where_that_can_be_computed(monkeypatch):
    rows = some_rows(150, 3, power=1.5)
    design = make_design(rows, fit_plain_base(rows), "shared")
    monkeypatch.setattr("trueodds.numerics.structured_softmax.pool.ROUNDS", 1)

    # All but the first coefficient are held at 0 by their prior: what is left has one dimension.
    class OneFree(type(design)):
        blocks = np.array([Block.SHARED, *[Block.INTERCEPT] * 3], np.int8)

    design = OneFree(**{name: getattr(design, name) for name in design.__dataclass_fields__})
    variances = np.full(len(Block), 1e-12)
    variances[Block.SHARED] = 0.1
    monkeypatch.setattr(
        "trueodds.numerics.structured_softmax.pool.prior_variances", lambda k, w: variances
    )
    (fit,) = fit_by_evidence(rows, design, (1.0,))
    posterior = Posterior(design, rows.counts, rows.weight, np.zeros(4))

    def density(x):
        posterior.theta = np.array([x, 0.0, 0.0, 0.0])
        posterior.__post_init__()
        value = posterior.value(np.array([10.0, 0.0, 0.0, 0.0])) - fit.log_evidence
        return np.exp(value) / np.sqrt(2 * np.pi * 0.1)

    assert np.log(quad(density, -1.5, 1.5)[0]) == pytest.approx(0, abs=0.02)


def test_evidence_asks_for_a_matrix_only_where_classes_are_mixed_up():
    plain = some_rows(3000, 4, seed=1)
    logits = np.log(plain.p)
    mixed = np.exp(logits + 0.8 * logits[[1, 2, 3, 0]])
    wrong = type(plain)(mixed / mixed.sum(axis=0), mixed == mixed.max(axis=0), plain.counts)
    for rows, margin in ((wrong, 20), (plain, -5)):
        matrix, diagonal = (
            fits(rows, layout)[1][0].log_evidence for layout in ("logs", "diagonal")
        )
        assert np.sign(margin) * (matrix - diagonal) > abs(margin)


def test_one_row_of_weight_two_counts_as_two_rows():
    rows = some_rows(100, 3)
    twice = type(rows)(rows.p, rows.top, 2 * rows.counts)
    both = type(rows)(*[np.concatenate([a, a], axis=1) for a in (rows.p, rows.top, rows.counts)])
    one, other = fits(twice)[1][0], fits(both)[1][0]
    assert one.log_evidence == pytest.approx(other.log_evidence, abs=1e-6)
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-7)


def posterior(layout="full", **options):
    rows = some_rows(250, 3, **options)
    design = make_design(rows, fit_plain_base(rows), layout)
    return Posterior(design, rows.counts, rows.weight, np.zeros(len(design.blocks)))


def test_a_kept_factor_is_that_of_the_last_precision_and_curvature():
    found = posterior(power=2.0)

    def square(precision):
        factor = np.tril(found.factor(np.full(len(found.theta), precision)))
        return factor @ factor.T - np.diag(np.full(len(found.theta), precision))

    for precision in (1.0, 1.0, 3.0):
        np.testing.assert_allclose(square(precision), found.curvature, atol=1e-9)
    found.logs = found.logs * 0 - np.log(3)
    found.refresh()
    np.testing.assert_allclose(square(3.0), found.curvature, atol=1e-9)


def test_the_log_softmax_of_large_numbers_is_finite():
    found = log_softmax_columns(np.array([[1000.0], [0.0]]))
    np.testing.assert_array_equal(found, [[0.0], [-1000.0]])


@pytest.mark.parametrize("layout", ["full", "diagonal", "shared"])
@pytest.mark.parametrize("precision", [0.1, 10.0])
def test_the_top_is_that_of_a_general_optimizer(layout, precision):
    found = posterior(layout, power=2.0)
    precisions = np.full(len(found.theta), precision)
    assert found.climb(precisions, 1e-10)

    def loss(theta):
        other = found.design.offset + found.design.predictor(theta)
        logs = log_softmax_columns(other)
        slope = found.design.gradient(found.counts - found.weight * np.exp(logs))
        value = float(np.vdot(found.counts, logs)) - 0.5 * precision * theta @ theta
        return -value, -(slope - precision * theta)

    expected = minimize(loss, np.zeros(len(found.theta)), jac=True, options={"gtol": 1e-7})
    assert found.value(precisions) == pytest.approx(-expected.fun, abs=1e-8)
    np.testing.assert_allclose(found.theta, expected.x, atol=1e-4)


def test_a_kept_curvature_leads_to_the_same_top(monkeypatch):
    kept = posterior(power=3.0)
    precisions = np.full(len(kept.theta), 0.5)
    kept.climb(precisions, 1e-10)
    monkeypatch.setattr("trueodds.numerics.structured_softmax.pool.SLOW", -1.0)
    anew = posterior(power=3.0)
    anew.climb(precisions, 1e-10)
    np.testing.assert_allclose(kept.theta, anew.theta, atol=1e-5)


def test_the_factor_is_that_of_curvature_and_prior():
    found = posterior("shared")
    factor = found.factor(np.full(4, 2.0))
    np.testing.assert_allclose(factor @ factor.T, found.curvature + 2 * np.eye(4))


def test_steps_that_run_out_are_said(monkeypatch):
    monkeypatch.setattr("trueodds.numerics.structured_softmax.pool.MOST_STEPS", 1)
    found = posterior(power=3.0)
    assert not found.climb(np.full(len(found.theta), 0.1), 1e-12)
