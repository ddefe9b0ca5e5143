"""Kernel calibration: probmetrics' numbers, and the estimator written out."""

import numpy as np
import pytest
from scipy.stats import beta

from support.rival_samples import GRID, LABELS, SCORES
from trueodds import KernelCalibrator
from trueodds.exceptions import InputError

# calibrator = probmetrics.calibrators.KernelCalibrator()   (1.3.0)
# calibrator.fit(SCORES, LABELS); calibrator.predict_proba(GRID)[:, 1]
PROBMETRICS = [
    0.123423842006, 0.169366259335, 0.185053450962, 0.256108786329, 0.308289957902, 0.382381340816,
    0.491568399676, 0.611765229386, 0.622800975875, 0.704000560357, 0.806600100655, 0.934760896581,
]  # fmt: skip


def by_definition(scores, y, new, bandwidth):
    kernel = beta.pdf(new[:, None], scores / bandwidth + 1, (1 - scores) / bandwidth + 1)
    return kernel @ y / kernel.sum(axis=1)


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.beta(0.4, 0.7, n)
    return scores, (rng.random(n) < scores**1.5).astype(float)


def test_predictions_equal_those_of_probmetrics():
    calibrator = KernelCalibrator().fit(SCORES, LABELS)
    assert calibrator.bandwidth_ == pytest.approx(40**-0.4)
    np.testing.assert_allclose(calibrator.predict_proba(GRID)[:, 1], PROBMETRICS, atol=1e-6)


@pytest.mark.parametrize("n", [20, 400, 5000])  # the last one is binned
@pytest.mark.parametrize("bandwidth", [None, 0.01, 0.5])
def test_the_curve_is_the_weighted_mean_of_the_labels(n, bandwidth):
    scores, y = rows(n)
    calibrator = KernelCalibrator(bandwidth=bandwidth).fit(scores, y)
    new = np.linspace(0.001, 0.999, 333)
    expected = by_definition(scores, y, new, bandwidth or n**-0.4)
    np.testing.assert_allclose(calibrator.predict_proba(new)[:, 1], expected, atol=1.1e-6)


def test_zeros_and_ones_count_as_scores():
    scores, y = rows(300)
    scores[:40] = 0
    scores[40:60] = 1
    calibrator = KernelCalibrator().fit(scores, y)
    new = np.array([1e-9, 0.2, 0.9, 1 - 1e-9])
    expected = by_definition(scores, y, new, 300**-0.4)
    np.testing.assert_allclose(calibrator.predict_proba(new)[:, 1], expected, atol=1.1e-6)
    ends = calibrator.predict_proba([0.0, 1e-10, 1 - 1e-10, 1.0])[:, 1]
    np.testing.assert_allclose(ends[[0, 3]], ends[[1, 2]], atol=1e-9)


def test_log_odds_give_what_their_probabilities_give():
    scores, y = rows(300)
    z = np.log(scores / (1 - scores))
    new = np.array([-30.0, -2.0, 0.0, 5.0])
    a = KernelCalibrator().fit(scores, y).predict_proba(1 / (1 + np.exp(-new)))
    b = KernelCalibrator(scale="logit").fit(z, y).predict_proba(new)
    np.testing.assert_allclose(a, b, atol=1e-9)


def test_a_very_narrow_kernel_stays_within_its_knots_and_in_range():
    scores, y = rows(500)
    calibrator = KernelCalibrator(bandwidth=1e-9).fit(scores, y)
    assert len(calibrator.map_.x) <= 4096
    p = calibrator.predict_proba(scores)[:, 1]
    assert ((p > 0) & (p < 1)).all()


@pytest.mark.parametrize("bad", [0, -1.0, np.inf, np.nan, True, "wide"])
def test_other_bandwidths_are_refused(bad):
    with pytest.raises(InputError, match="bandwidth must be None or a number above 0"):
        KernelCalibrator(bandwidth=bad).fit([0.1, 0.9], [0, 1])
