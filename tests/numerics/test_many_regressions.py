"""Many regressions at once must be what each would be by itself."""

import numpy as np
import pytest

from numerics.level_samples import DESIGNS, counts, one_loss
from trueodds.numerics.level_search import ManyRegressions
from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import fit_finite


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", ["rises", "falls", "bends"])
@pytest.mark.parametrize("design", DESIGNS)
def test_all_levels_at_once_lose_what_each_loses_by_itself(design, kind, nonnegative):
    z, n_neg, n_pos = counts(kind)
    z[-1] = np.inf
    levels = np.quantile(z[:-1], [0.2, 0.5, 0.9, 1.0])
    many = ManyRegressions(LogOddsRows(z, n_neg, n_pos), np.full(4, -np.inf), levels, design)
    together, _, parameters = many.optima(nonnegative, None)
    again, *_ = many.optima(nonnegative, parameters[0])
    alone = [one_loss(np.minimum(z, at), n_neg, n_pos, design, nonnegative) for at in levels]
    np.testing.assert_allclose(together, alone, rtol=1e-8)
    np.testing.assert_allclose(again, alone, rtol=1e-8)


def test_levels_that_separate_the_classes_are_judged_with_platts_targets():
    z = np.array([-3.0, -2.0, 1.0, 2.0, np.inf])
    n_pos = np.array([0.0, 0, 1, 1, 3])
    many = ManyRegressions(
        LogOddsRows(z, 1 - n_pos.clip(max=1), n_pos), np.full(1, -9.0), np.ones(1) * 2, "beta"
    )
    together, *_ = many.optima(nonnegative=True, start=None)
    alone = one_loss(np.minimum(z, 2.0), 1 - n_pos.clip(max=1), n_pos, "beta", True)
    np.testing.assert_allclose(together, alone, rtol=1e-6)


@pytest.mark.parametrize("nonnegative", [False, True])
@pytest.mark.parametrize("kind", ["rises", "falls", "bends"])
@pytest.mark.parametrize("design", DESIGNS)
def test_rows_that_are_left_out_do_not_count_but_get_their_log_odds(design, kind, nonnegative):
    z, n_neg, n_pos = counts(kind)
    levels = np.quantile(z, [0.3, 0.6])
    left_out = z > levels[:, None]
    rows = LogOddsRows(z, n_neg, n_pos)
    many = ManyRegressions(rows, np.full(2, -np.inf), levels, design, left_out)
    losses, eta, _ = many.optima(nonnegative, None)
    for loss, fitted, level in zip(losses, eta, levels, strict=True):
        inside = rows.take(z <= level)
        alone = one_loss(inside.z, inside.n_neg, inside.n_pos, design, nonnegative)
        np.testing.assert_allclose(loss, alone * inside.total / rows.total, rtol=1e-8)
        expected = fit_finite(inside, design, nonnegative=nonnegative).at(np.minimum(z, level))
        np.testing.assert_allclose(fitted, expected, atol=1e-3)


def test_regressions_of_one_class_or_of_nothing_do_no_harm():
    rows = LogOddsRows(np.array([-2.0, 0.0, 1.0, 3.0]), np.ones(4), np.array([0.0, 0, 1, 1]))
    left_out = np.array([[False, False, True, True], [True] * 4, [False] * 4])
    ends = np.full(3, -np.inf), np.full(3, np.inf)
    for design in DESIGNS:
        many = ManyRegressions(rows, *ends, design, left_out)
        losses, eta, _ = many.optima(nonnegative=True, start=None)
        assert np.isfinite(losses).all()
        assert np.isfinite(eta).all()
        assert many.separable.tolist() == [True, True, False]
        assert losses[1] == 0
