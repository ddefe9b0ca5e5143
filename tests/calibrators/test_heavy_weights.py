"""Work is bounded by the number of distinct scores, not by their counts."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

from trueodds import (
    BayesianIsotonicCalibrator,
    BBQCalibrator,
    IsotonicCalibrator,
    all_calibrators,
)
from trueodds.calibrators._bbq import _bin_counts
from trueodds.exceptions import TrueoddsWarning

N_ROWS = 200
MEGABYTE = 1 << 20
CALIBRATORS = all_calibrators()


def evidence(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random(n_rows)
    return scores, (rng.random(n_rows) < scores).astype(int)


def fit(calibrator, scores, y, count):
    extra = {"features": scores[:, None]} if calibrator.needs_features else {}
    calibrator.fit(scores, y, counts=np.full(len(y), count), **extra)
    return calibrator.predict_proba(scores, **extra)


@pytest.mark.slow
@pytest.mark.parametrize("count", [1e8, 1e12])
@pytest.mark.parametrize("name", sorted(CALIBRATORS))
def test_heavy_rows_take_no_more_memory_than_light_ones(name, count):
    scores, y = evidence()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        fit(CALIBRATORS[name](), scores, y, 1.0)  # imports and compilation are not counted
        tracemalloc.start()
        try:
            p = fit(CALIBRATORS[name](), scores, y, count)
            peak = tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()
    assert peak < 32 * MEGABYTE
    assert ((p >= 0) & (p <= 1)).all()


def test_bbq_tries_no_more_bins_for_scores_that_weigh_more_than_a_thousand_each():
    assert _bin_counts(2e10, 200) == _bin_counts(2e5, 200)
    assert _bin_counts(1.9e5, 200) == range(5, 576)  # as the authors' program


def test_bbq_of_very_heavy_rows_gives_each_score_its_own_frequency():
    scores, y = evidence()
    for count in (1e8, 1e12):
        p = fit(BBQCalibrator(), scores, y, count)[:, 1]
        np.testing.assert_allclose(p, y, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"n_groups": None}, {"bounds": "authors"}])
@pytest.mark.parametrize("count", [1e8, 1e12])
def test_bayesian_isotonic_of_very_heavy_rows_mixes_and_is_isotonic_regression(options, count):
    # Chains that mix badly warn, and a warning is an error here.
    for seed in range(3):
        scores, y = evidence(seed=seed)
        calibrator = BayesianIsotonicCalibrator(max_draws=2000, **options)
        p = fit(calibrator, scores, y, count)[:, 1]
        isotonic = IsotonicCalibrator().fit(scores, y).predict_proba(scores)[:, 1]
        np.testing.assert_allclose(p, isotonic, atol=3e-5)
