"""Work is bounded by the number of distinct scores, not by their weight."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pytest

from trueodds import (
    BayesianIsotonicCalibrator,
    BBQCalibrator,
    IsotonicCalibrator,
    ScoreTable,
    all_calibrators,
)
from trueodds.calibrators._bbq import _bin_counts
from trueodds.exceptions import TrueoddsWarning
from trueodds.kernels import isotonic_mcmc
from trueodds.numerics.isotonic_pooling import pooled_starts

N_ROWS = 200
MEGABYTE = 1 << 20
CALIBRATORS = all_calibrators()


def evidence(n_rows=N_ROWS, seed=0):
    rng = np.random.default_rng(seed)
    scores = rng.random(n_rows)
    return scores, (rng.random(n_rows) < scores).astype(int)


def fit(calibrator, scores, y, weight):
    extra = {"features": scores[:, None]} if calibrator.promises.needs_features else {}
    calibrator.fit(scores, y, sample_weight=np.full(len(y), weight), **extra)
    return calibrator.predict_proba(scores, **extra)


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1e8, 1e12])
@pytest.mark.parametrize("name", sorted(CALIBRATORS))
def test_heavy_rows_take_no_more_memory_than_light_ones(name, weight):
    scores, y = evidence()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)
        fit(CALIBRATORS[name](), scores, y, 1.0)  # imports and compilation are not counted
        tracemalloc.start()
        try:
            p = fit(CALIBRATORS[name](), scores, y, weight)
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
    for weight in (1e8, 1e12):
        p = fit(BBQCalibrator(), scores, y, weight)[:, 1]
        np.testing.assert_allclose(p, y, atol=1e-6)


@pytest.mark.parametrize("options", [{}, {"n_groups": None}, {"bounds": "authors"}])
@pytest.mark.parametrize("weight", [1e8, 1e12])
def test_bayesian_isotonic_of_very_heavy_rows_mixes_and_is_isotonic_regression(options, weight):
    # Chains that mix badly warn, and a warning is an error here.
    for seed in range(3):
        scores, y = evidence(seed=seed)
        calibrator = BayesianIsotonicCalibrator(max_draws=2000, **options)
        p = fit(calibrator, scores, y, weight)[:, 1]
        isotonic = IsotonicCalibrator().fit(scores, y).predict_proba(scores)[:, 1]
        np.testing.assert_allclose(p, isotonic, atol=3e-5)


def test_light_rows_beside_a_heavy_one_are_still_smoothed():
    scores, y = evidence()
    weight = np.ones(N_ROWS)
    weight[np.argsort(scores)[N_ROWS // 2]] = 1e8
    table = ScoreTable.from_arrays(scores, y, weight)
    assert len(pooled_starts(table.n_neg, table.n_pos)) > 0.8 * N_ROWS


def test_nothing_is_pooled_on_a_hundred_thousand_ordinary_rows():
    table = ScoreTable.from_arrays(*evidence(100_000))
    assert len(pooled_starts(table.n_neg, table.n_pos)) == len(table)


def test_groups_are_pooled_where_the_evidence_presses_them_together_and_nowhere_else():
    # Excess of positives below the boundary: 8e5 − 12e5/2 = 2e5 in the first case.
    n_neg, n_pos = np.array([4e5, 8e5, 0.0]), np.array([8e5, 4e5, 1e6])
    np.testing.assert_array_equal(pooled_starts(n_neg, n_pos), [0, 2])
    np.testing.assert_array_equal(pooled_starts(n_neg / 4, n_pos / 4), [0, 1, 2])
    # At the ends: negatives only, then positives only.
    n_neg, n_pos = np.array([1.0, 2e7, 0.0, 0.0]), np.array([0.0, 0.0, 2e7, 1.0])
    np.testing.assert_array_equal(pooled_starts(n_neg, n_pos), [0, 2])
    np.testing.assert_array_equal(pooled_starts(n_neg / 4, n_pos / 4), [0, 1, 2, 3])


@pytest.mark.parametrize("length", [0, 1, 63, 64, 65, 66, 1000, 65_535, 10**9])
def test_the_end_of_a_long_slice_is_found_in_few_steps_and_is_that_of_single_steps(
    length, monkeypatch
):
    tried = []

    def is_outside(*arguments):
        value = arguments[6]
        tried.append(value)
        return value > 0.3 + (length - 0.5) * step

    step = 1e-3 / 7
    monkeypatch.setattr(isotonic_mcmc, "_is_outside", is_outside)
    monkeypatch.setattr(isotonic_mcmc, "_after", isotonic_mcmc._after.py_func)
    unused = [None] * 6
    found = isotonic_mcmc._step_out.py_func(
        *(None, None, None, None, None, 0, 0.3, step), *unused, 0.0, np.inf, 0.0
    )
    expected = 0.3
    for _ in range(min(length, 10**6)):
        expected += step
    if length < 10**6:
        assert found == expected
    else:
        assert found == pytest.approx(0.3 + length * step, abs=2 * step)
    assert len(tried) <= 64 + 2 * np.log2(length + 2) + 2
