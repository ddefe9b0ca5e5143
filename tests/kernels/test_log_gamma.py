"""The logarithm of the gamma function against scipy's."""

import numpy as np
from scipy.special import gammaln

from trueodds.kernels.binnings import log_gamma, log_gammas


def test_log_gamma_is_accurate_everywhere():
    x = np.concatenate([np.logspace(-3, 7, 2001), np.arange(1, 200) / 4])
    found = np.array([log_gamma(value) for value in x])
    np.testing.assert_allclose(found, gammaln(x), rtol=1e-14, atol=2e-14)


def test_arrays_give_what_single_numbers_give():
    values = np.array([1e-9, 0.5, 1.0, 2.0, 9.99, 10.0, 1e6])
    assert log_gammas(values).tolist() == [log_gamma(value) for value in values]
    np.testing.assert_allclose(log_gammas(values), gammaln(values), rtol=1e-14, atol=1e-14)
