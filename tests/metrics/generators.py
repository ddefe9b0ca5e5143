"""Three ways to be miscalibrated, with known probabilities, and one way not to be."""

from __future__ import annotations

import numpy as np
from scipy.special import expit, logit


def charcoal(rng, n):
    """Section 3 of the charcoal grill paper: right below one half, too high above."""
    p = rng.random(n)
    z = logit(p)
    return p, expit(np.where(z > 0, z / 5, z))


def overconfident(rng, n):
    """Log-odds twice as large as they should be."""
    z = rng.normal(0, 1.5, n)
    return expit(2 * z), expit(z)


def rare(rng, n):
    """Few positives, and probabilities that are too high."""
    p = rng.beta(0.6, 6, n)
    return p, expit(0.8 * logit(np.clip(p, 1e-9, None)) - 0.5)


def calibrated(rng, n):
    """Probabilities that are right."""
    p = rng.beta(0.8, 1.2, n)
    return p, p


def labelled(generator, rng, n):
    p, truth = generator(rng, n)
    return p, (rng.random(n) < truth).astype(int)
