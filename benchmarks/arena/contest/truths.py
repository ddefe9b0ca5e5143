"""Scores whose true probabilities are known, so that a map's excess log-loss is known as well.

Each true curve has the score of a quantile and the probability of a score. The excess log-loss of
a map, E[KL(true ‖ map)], is then an integral over quantiles, and not a mean over test rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, ndtri, xlogy

N_QUANTILES = 20_000


@dataclass(frozen=True)
class Truth:
    """Where scores lie, and what they should have been."""

    score: Callable[[np.ndarray], np.ndarray]
    probability: Callable[[np.ndarray], np.ndarray]

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        """Scores and labels; again if there is one class only."""
        while True:
            p = self.score(rng.random(n))
            y = (rng.random(n) < self.probability(p)).astype(int)
            if 0 < y.sum() < n:
                return p, y

    def excess(self, predict: Callable[[np.ndarray], np.ndarray]) -> float:
        """Return the excess of the expected log-loss of a map over the true curve, in nats."""
        p = self.score((np.arange(N_QUANTILES) + 0.5) / N_QUANTILES)
        true = self.probability(p)
        said = np.asarray(predict(p), dtype=float)
        said = said[:, 1] if said.ndim == 2 else said
        tiny = float(np.finfo(np.float32).tiny)
        with np.errstate(divide="ignore"):
            positive = xlogy(true, true / np.maximum(said, tiny))
            negative = xlogy(1 - true, (1 - true) / np.maximum(1 - said, tiny))
        return float((positive + negative).mean())


def _normal(mean: float, deviation: float) -> Callable[[np.ndarray], np.ndarray]:
    return lambda u: expit(mean + deviation * ndtri(u))


def _beta_shaped(p: np.ndarray) -> np.ndarray:
    return expit(0.5 * np.log(p) - 1.5 * np.log1p(-p) + 0.3)


def _steps(p: np.ndarray) -> np.ndarray:
    return np.select([p < 0.4, p < 0.7], [0.1, 0.5], 0.9)


def _wiggle(p: np.ndarray) -> np.ndarray:
    return expit(logit(p) + 1.2 * np.sin(2 * logit(p)))


TRUTHS = {
    "calibrated": Truth(_normal(0, 1.7), lambda p: p),
    "over-confident": Truth(_normal(0.3, 3), lambda p: expit(logit(p) / 2)),
    "under-confident": Truth(_normal(-0.2, 0.8), lambda p: expit(2 * logit(p))),
    "beta-shaped": Truth(_normal(0, 1.7), _beta_shaped),
    "steps": Truth(lambda u: u, _steps),
    "wiggle": Truth(_normal(0, 1.7), _wiggle),
    "rare positives": Truth(_normal(-5.5, 1.5), lambda p: expit(0.8 * logit(p) - 0.9)),
    "two digits": Truth(
        lambda u: np.round(expit(2.5 * ndtri(u)), 2),
        lambda p: expit(0.6 * logit(np.clip(p, 0.0025, 0.9975))),
    ),
}
