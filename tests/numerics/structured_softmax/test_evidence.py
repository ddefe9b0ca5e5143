"""Variances and models by their evidence."""

import numpy as np
import pytest
from scipy.integrate import quad

from numerics.structured_rows import some_rows
from trueodds.numerics.structured_softmax.base import fit_plain_base
from trueodds.numerics.structured_softmax.blocks import Block, make_design
from trueodds.numerics.structured_softmax.evidence import (
    PSEUDO_OBSERVATIONS,
    fit_by_evidence,
    prior_variances,
)
from trueodds.numerics.structured_softmax.newton import Posterior


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
    monkeypatch.setattr("trueodds.numerics.structured_softmax.evidence.ROUNDS", 1)

    # All but the first coefficient are held at 0 by their prior: what is left has one dimension.
    class OneFree(type(design)):
        blocks = np.array([Block.SHARED, *[Block.INTERCEPT] * 3], np.int8)

    design = OneFree(**{name: getattr(design, name) for name in design.__dataclass_fields__})
    variances = np.full(len(Block), 1e-12)
    variances[Block.SHARED] = 0.1
    monkeypatch.setattr(
        "trueodds.numerics.structured_softmax.evidence.prior_variances", lambda k, w: variances
    )
    (fit,) = fit_by_evidence(rows, design, (1.0,))
    posterior = Posterior(design, rows.counts, rows.weight, np.zeros(4))

    def density(x):
        posterior.theta = np.array([x, 0.0, 0.0, 0.0])
        posterior.__post_init__()
        value = posterior.value(np.array([10.0, 0.0, 0.0, 0.0])) - fit.evidence
        return np.exp(value) / np.sqrt(2 * np.pi * 0.1)

    assert np.log(quad(density, -1.5, 1.5)[0]) == pytest.approx(0, abs=0.02)


def test_evidence_asks_for_a_matrix_only_where_classes_are_mixed_up():
    plain = some_rows(3000, 4, seed=1)
    logits = np.log(plain.p)
    mixed = np.exp(logits + 0.8 * logits[[1, 2, 3, 0]])
    wrong = type(plain)(mixed / mixed.sum(axis=0), mixed == mixed.max(axis=0), plain.counts)
    for rows, margin in ((wrong, 20), (plain, -5)):
        matrix, diagonal = (fits(rows, layout)[1][0].evidence for layout in ("logs", "diagonal"))
        assert np.sign(margin) * (matrix - diagonal) > abs(margin)


def test_one_row_of_weight_two_counts_as_two_rows():
    rows = some_rows(100, 3)
    twice = type(rows)(rows.p, rows.top, 2 * rows.counts)
    both = type(rows)(*[np.concatenate([a, a], axis=1) for a in (rows.p, rows.top, rows.counts)])
    one, other = fits(twice)[1][0], fits(both)[1][0]
    assert one.evidence == pytest.approx(other.evidence, abs=1e-6)
    np.testing.assert_allclose(one.theta, other.theta, atol=1e-7)
