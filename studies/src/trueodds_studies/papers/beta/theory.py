"""Statements of the beta paper that are mathematics, checked by computation."""

from __future__ import annotations

import numpy as np
from scipy.optimize import brentq
from scipy.special import betaln, expit
from scipy.stats import beta as beta_law, norm

from trueodds.inputs import Floats
from trueodds.maps import LogOddsMap
from trueodds_studies._report import Claim

__all__ = ["theory_claims"]

EXACT = 1e-9
GRID = np.linspace(0.01, 0.99, 99)
N_DRAWS = 200


def theory_claims() -> list[Claim]:
    """Sections 2.5, 3.1 and 3.2."""
    return [
        _exact(
            "Logistic calibration is exact if the scores of each class are normal with the same "
            "variance.",
            "section 2.5",
            _normal_scores(),
            "log-odds of two normal densities against the line γ·s + δ",
        ),
        _exact(
            "Scores with a beta density in each class have a beta map, and every map with a, b > "
            "0 arises from two such densities.",
            "section 3.1",
            _beta_densities(),
            "likelihood ratio of the densities against the map of (a, b, c); the limits in the "
            "paper's proof are exchanged (the ratio is infinite, not 0, at y = 0), its conclusion "
            "holds",
        ),
        _exact(
            "The maps with a = b are closed under inversion.",
            "section 3.2",
            _inverted(),
            "numerical inverse of the map against the map with 1/a and the intercept −c/a",
        ),
    ]


def _exact(text: str, where: str, gap: float, words: str) -> Claim:
    good = gap < EXACT
    evidence = f"at most {gap:.1e} apart with {N_DRAWS} random parameters: {words}"
    return Claim(text, where, good, evidence, None if good else "refuted")


def _normal_scores() -> float:
    rng = np.random.default_rng(0)
    gap = 0.0
    for _ in range(N_DRAWS):
        low, high = np.sort(rng.normal(size=2))
        spread = rng.uniform(0.3, 2)
        odds = norm.logpdf(GRID, high, spread) - norm.logpdf(GRID, low, spread)
        slope = (high - low) / spread**2
        gap = max(gap, float(np.abs(odds - slope * (GRID - (low + high) / 2)).max()))
    return gap


def _map(a: float, b: float, c: float) -> Floats:
    return np.asarray(LogOddsMap(a=a, b=b, c=c, scale="probability")(GRID))


def _beta_densities() -> float:
    """Any a, b, c: the two densities whose likelihood ratio is that map, found by a root."""
    rng = np.random.default_rng(1)
    gap = 0.0
    for _ in range(N_DRAWS):
        a, b = rng.uniform(0.05, 3, size=2)
        c = rng.normal()
        # From (x, y) = (0, ∞) to (∞, 0) the ratio of the normalizers goes from 0 to ∞.
        t = brentq(_normalizers, -8, 8, args=(a, b, c), xtol=1e-14)
        x, y = np.exp(t), np.exp(-t)
        ratio = beta_law.logpdf(GRID, x + a, y) - beta_law.logpdf(GRID, x, y + b)
        gap = max(gap, float(np.abs(expit(ratio) - _map(a, b, c)).max()))
    return gap


def _normalizers(t: float, a: float, b: float, c: float) -> float:
    """Logarithm of B(x + a, y) / B(x, y + b), plus c."""
    x, y = np.exp(t), np.exp(-t)
    return float(betaln(x + a, y) - betaln(x, y + b) + c)


def _inverted() -> float:
    rng = np.random.default_rng(2)
    gap = 0.0
    for _ in range(N_DRAWS):
        a, c = rng.uniform(0.2, 4), rng.normal()
        inverse = _map(1 / a, 1 / a, -c / a)
        for score, found in zip(GRID[::14], inverse[::14], strict=True):
            at = brentq(_excess, -200, 200, args=(a, c, score), xtol=1e-13)
            gap = max(gap, abs(float(expit(at)) - float(found)))
    return gap


def _excess(z: float, a: float, c: float, score: float) -> float:
    """Return by how much the map exceeds a score at the log-odds z."""
    return float(expit(a * z + c) - score)
