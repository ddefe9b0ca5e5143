"""The most probable parameters."""

import numpy as np
import pytest
from scipy.optimize import minimize

from numerics.structured_rows import some_rows
from trueodds.numerics.structured_softmax.base import fit_plain_base
from trueodds.numerics.structured_softmax.blocks import make_design
from trueodds.numerics.structured_softmax.newton import Posterior, log_softmax_columns


def posterior(layout="full", **options):
    rows = some_rows(250, 3, **options)
    design = make_design(rows, fit_plain_base(rows), layout)
    return Posterior(design, rows.counts, rows.weight, np.zeros(len(design.blocks)))


def test_the_log_softmax_of_large_numbers_is_finite():
    found = log_softmax_columns(np.array([[1000.0], [0.0]]))
    np.testing.assert_array_equal(found, [[0.0], [-1000.0]])


@pytest.mark.parametrize("layout", ["full", "diagonal", "shared"])
@pytest.mark.parametrize("precision", [0.1, 10.0])
def test_the_top_is_that_of_a_general_optimiser(layout, precision):
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
    monkeypatch.setattr("trueodds.numerics.structured_softmax.newton.SLOW", -1.0)
    anew = posterior(power=3.0)
    anew.climb(precisions, 1e-10)
    np.testing.assert_allclose(kept.theta, anew.theta, atol=1e-5)


def test_the_factor_is_that_of_curvature_and_prior():
    found = posterior("shared")
    factor = found.factor(np.full(4, 2.0))
    np.testing.assert_allclose(factor @ factor.T, found.curvature + 2 * np.eye(4))


def test_steps_that_run_out_are_said(monkeypatch):
    monkeypatch.setattr("trueodds.numerics.structured_softmax.newton.MOST_STEPS", 1)
    found = posterior(power=3.0)
    assert not found.climb(np.full(len(found.theta), 0.1), 1e-12)
