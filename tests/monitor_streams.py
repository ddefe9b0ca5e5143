"""Streams of forecasts for tests of the monitor."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt


def stream(
    n: int, seed: int = 0, shift: float = 0.0, slope: float = 1.0, start: int = 0
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.intp]]:
    """Forecasts and labels; from ``start`` on the true log-odds are ``shift + slope·z``."""
    rng = np.random.default_rng(seed)
    z = rng.normal(-0.5, 1.5, n)
    true = np.where(np.arange(n) < start, z, shift + slope * z)
    y = rng.random(n) < 1 / (1 + np.exp(-true))
    return 1 / (1 + np.exp(-z)), y.astype(np.intp)
