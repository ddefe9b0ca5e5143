"""The average of all models finds what is there."""

import numpy as np
import pytest
from scipy.special import expit

from trueodds.numerics.smooth_curve.fit import fit_smooth_curve


def sample(truth, n, seed=0, spread=2.0):
    rng = np.random.default_rng(seed)
    z = np.sort(rng.normal(0, spread, n))
    n_pos = (rng.random(n) < expit(truth(z))).astype(float)
    return z, 1 - n_pos, n_pos


def error(truth, n, **options):
    """Root mean square error of the probability, over the scores."""
    z, n_neg, n_pos = sample(truth, n, **options)
    posterior = fit_smooth_curve(z, n_neg, n_pos)
    curve = np.interp(z, posterior.z, posterior.log_odds())
    return np.sqrt(np.mean((expit(curve) - expit(truth(z))) ** 2))


@pytest.mark.parametrize(
    ("truth", "limit"),
    [
        (lambda z: z, 0.01),
        (lambda z: z / 3 - 1, 0.02),
        (lambda z: z + np.sin(3 * z), 0.035),
        (lambda z: np.where(z < 0.5, -2.0, 1.5), 0.03),
    ],
    ids=["calibrated", "too sure", "waves", "a jump"],
)
def test_shapes_are_found(truth, limit):
    assert error(truth, 5000) < limit


def test_order_of_magnitude_of_uncertainty_falls_with_rows():
    widths = []
    for n in (200, 20_000):
        posterior = fit_smooth_curve(*sample(lambda z: z / 2, n))
        at = np.searchsorted(posterior.z, 0.0)
        widths.append((posterior.quantile(0.95) - posterior.quantile(0.05))[at])
    assert widths[1] < widths[0] / 4


def test_one_distinct_score_gets_about_its_frequency():
    posterior = fit_smooth_curve(np.array([0.3]), np.array([40.0]), np.array([960.0]))
    assert expit(posterior.log_odds())[0] == pytest.approx(0.96, abs=0.01)


def test_weights_of_members_sum_to_one():
    posterior = fit_smooth_curve(*sample(lambda z: z, 300))
    assert sum(member.weight for member in posterior.members) == pytest.approx(1)
    assert min(member.weight for member in posterior.members) >= 3e-3
