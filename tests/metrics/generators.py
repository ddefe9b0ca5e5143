"""Three ways to be miscalibrated, with known probabilities, and one way not to be."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

Floats = npt.NDArray[np.float64]
Pair = tuple[Floats, Floats]
"""Probabilities as given, and as they are."""


def charcoal(rng: np.random.Generator, n: int) -> Pair:
    """Section 3 of the charcoal grill paper: right below one half, too high above."""
    p = rng.random(n)
    z = logit(p)
    return p, expit(np.where(z > 0, z / 5, z))


def overconfident(rng: np.random.Generator, n: int) -> Pair:
    """Log-odds twice as large as they should be."""
    z = rng.normal(0, 1.5, n)
    return expit(2 * z), expit(z)


def rare(rng: np.random.Generator, n: int) -> Pair:
    """Few positives, and probabilities that are too high."""
    p = rng.beta(0.6, 6, n)
    return p, expit(0.8 * logit(np.clip(p, 1e-9, None)) - 0.5)


def calibrated(rng: np.random.Generator, n: int) -> Pair:
    """Probabilities that are right."""
    p = rng.beta(0.8, 1.2, n)
    return p, p


def labeled(
    generator: Callable[[np.random.Generator, int], Pair], rng: np.random.Generator, n: int
) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Probabilities, and labels drawn with the true ones."""
    p, truth = generator(rng, n)
    return p, (rng.random(n) < truth).astype(int)
