"""Adjusted p-values and the corrected resampled t-test, against computations by hand."""

import numpy as np
import pytest
from scipy import stats

from trueodds.exceptions import InputError
from trueodds.stats import corrected_resampled_t_test, holm_adjust


def test_holm_adjustment_by_hand():
    np.testing.assert_allclose(
        holm_adjust([0.01, 0.04, 0.03, 0.005]), [0.03, 0.06, 0.06, 0.02], rtol=1e-12
    )
    np.testing.assert_allclose(holm_adjust([0.9, 0.8]), [1, 1])


def test_corrected_t_test_by_hand():
    # Differences 1, 2, 3, 2, 2: mean 2, variance 0.5; ten folds, so n_test/n_train = 1/9.
    result = corrected_resampled_t_test([2, 4, 6, 4, 3], [1, 2, 3, 2, 1], n_train=90, n_test=10)
    assert result.difference == 2
    assert result.standard_error == pytest.approx(np.sqrt((0.2 + 1 / 9) * 0.5))
    assert result.statistic == pytest.approx(2 / np.sqrt(14 / 45 * 0.5))
    assert result.p_value == pytest.approx(2 * stats.t.sf(2 / np.sqrt(7 / 45), 4))
    assert result.high - result.difference == pytest.approx(stats.t.ppf(0.95, 4) * np.sqrt(7 / 45))


def test_corrected_t_test_without_variance():
    same = corrected_resampled_t_test([1, 2], [1, 2], n_train=2, n_test=1)
    assert (same.statistic, same.p_value) == (0, 1)
    shifted = corrected_resampled_t_test([1, 2], [2, 3], n_train=2, n_test=1)
    assert (shifted.statistic, shifted.p_value) == (-np.inf, 0)


def test_it_reads_as_a_sentence():
    text = str(corrected_resampled_t_test([1, 2], [2, 4], n_train=2, n_test=1))
    assert "t(1)" in text


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: holm_adjust([2.0]), "p_values"),
        (lambda: corrected_resampled_t_test([1], [2], n_train=1, n_test=1), "at least 2"),
        (lambda: corrected_resampled_t_test([1, 2], [2, 1], n_train=0, n_test=1), "n_train"),
        (lambda: corrected_resampled_t_test([1, 2], [2], n_train=2, n_test=1), "differ in length"),
        (lambda: corrected_resampled_t_test([1, 2], [2, np.inf], n_train=2, n_test=1), "finite"),
    ],
)
def test_bad_input_is_refused_with_a_reason(call, message):
    with pytest.raises(InputError, match=message):
        call()
