"""A compressed table gives the same sums of smooth functions, and so the same fits."""

import numpy as np
import pytest
from scipy.special import expit

from trueodds import BetaCalibrator, LogisticCalibrator, TemperatureCalibrator
from trueodds.numerics import saturated
from trueodds.numerics.compression import CELLS, compress
from trueodds.rows import Rows


def sample(kind, n=200_000, seed=0):
    rng = np.random.default_rng(seed)
    z = {
        "normal": lambda: rng.normal(size=n) * 2,
        "heavy tails": lambda: np.clip(rng.standard_t(1, size=n), -700, 700),
        "ties": lambda: np.round(rng.normal(size=n), 1),
        "one score": lambda: np.full(n, 0.7),
        "saturated": lambda: np.where(rng.random(n) < 0.2, np.inf, 1) * rng.normal(size=n),
    }[kind]()
    return z, rng.random(n) < expit(z / 2)


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "ties", "one score"])
@pytest.mark.parametrize("slope", [0.01, 0.4, 3.0])
def test_sums_of_logistic_functions_are_kept(kind, slope):
    z, y = sample(kind)
    counts = Rows(z, y).counts
    small = compress(z, "logit", counts)
    assert len(small.z) <= 4 * (CELLS + 2)
    assert small.n_pos.sum() == pytest.approx(y.sum(), rel=1e-12)
    for function in (
        np.ones_like,
        lambda x: expit(slope * x + 0.3),
        lambda x: x * expit(slope * x),
    ):
        whole, kept = function(z), function(small.z)
        scale = np.abs(whole).sum()
        assert kept @ small.n_pos == pytest.approx(whole[y].sum(), abs=1e-10 * scale)
        assert kept @ small.n_neg == pytest.approx(whole[~y].sum(), abs=1e-10 * scale)


def test_saturated_scores_become_one_row_for_each_end():
    z, y = sample("saturated")
    small = compress(z, "logit", Rows(z, y).counts)
    for end in (-np.inf, np.inf):
        row = small.z == end
        assert row.sum() == 1
        assert small.n_pos[row][0] == y[z == end].sum()
        assert small.n_neg[row][0] == (~y)[z == end].sum()


@pytest.mark.parametrize("kind", ["normal", "heavy tails", "saturated"])
@pytest.mark.parametrize(
    "calibrator",
    [
        LogisticCalibrator(scale="logit"),
        TemperatureCalibrator(scale="logit"),
        BetaCalibrator(scale="logit"),
    ],
    ids=lambda c: type(c).__name__,
)
def test_many_rows_are_fitted_as_if_they_were_few(calibrator, kind, monkeypatch):
    z, y = sample(kind)
    weight = np.random.default_rng(1).integers(1, 3, len(z)).astype(float)
    compressed = calibrator.fit(z, y, weight).predict_proba(z)
    monkeypatch.setattr(saturated, "COMPRESS_FROM", 10**9)
    direct = calibrator.fit(z, y, weight).predict_proba(z)
    # A level searched for inside the range is found on a coarse table, to its own accuracy.
    np.testing.assert_allclose(compressed, direct, atol=1e-3 if kind == "saturated" else 1e-9)


def test_a_slope_too_steep_for_the_cells_is_fitted_to_the_rows_themselves():
    rng = np.random.default_rng(0)
    z = rng.normal(size=100_000) / 1000
    z[:2] = -700, 700
    y = rng.random(100_000) < expit(500 * z)
    fitted = LogisticCalibrator(scale="logit", label_smoothing=None).fit(z, y).map_
    residual = expit(fitted.a * z + fitted.c) - y
    assert fitted.a == pytest.approx(500, rel=0.1)
    assert abs(residual @ z) <= 1e-8 * np.abs(z).sum()
