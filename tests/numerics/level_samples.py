"""Samples for levels of saturated scores, and what one regression loses by itself."""

import numpy as np
from scipy.special import expit, log_expit

from trueodds.inputs import Floats
from trueodds.numerics.log_odds import LogOddsRows
from trueodds.numerics.logistic_regression import Design, fit_finite

DESIGNS: list[Design] = ["temperature", "logistic", "beta", "beta_half"]


def counts(kind: str, n: int = 200, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """Scores, and the weight of negatives and positives at each."""
    rng = np.random.default_rng(seed)
    z = np.sort(rng.normal(0, 3, n))
    rising = {"rises": 0.4, "falls": -0.4, "bends": 0.4}[kind]
    p = expit(rising * z) if kind != "bends" else expit(np.where(z < 0, -0.1, 0.8) * z)
    weight = rng.integers(1, 6, n).astype(float)
    n_pos = rng.binomial(weight.astype(int), p).astype(float)
    return z, weight - n_pos, n_pos


def one_loss(z: Floats, n_neg: Floats, n_pos: Floats, design: Design, nonnegative: bool) -> float:
    """Negative log-likelihood of the best map, per unit of weight."""
    fit = fit_finite(LogOddsRows(z, n_neg, n_pos), design, nonnegative=nonnegative)
    eta = fit.at(z)
    loss = -(n_neg + n_pos) @ log_expit(-eta) - n_pos @ eta
    return float(loss / (n_neg + n_pos).sum())
