"""Scores that Charcoal Grill Scaling is made for, of two classes and of several."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy.special import expit, logit

__all__ = ["distorted", "overconfident_classes"]

Floats = npt.NDArray[np.float64]
Labels = npt.NDArray[np.intp]


def distorted(n: int = 1000, seed: int = 0, temperature: float = 5.0) -> tuple[Floats, Labels]:
    """Equation 5 of the paper: right below one half, too sure above."""
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=n)
    z = logit(p)
    true = expit(np.where(z > 0, z / temperature, z))
    return p, (rng.uniform(size=n) < true).astype(np.intp)


def overconfident_classes(n: int = 1500, k: int = 4, seed: int = 0) -> tuple[Floats, Labels]:
    """Logits of a network that is too sure, and more so where it is surest."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(scale=2.5, size=(n, k))
    true = logits / np.where(logits.max(axis=1) > 3, 3.0, 1.2)[:, None]
    p = np.exp(true)
    p /= p.sum(axis=1, keepdims=True)
    return logits, (p.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
