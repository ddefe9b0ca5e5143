"""Scores and labels whose faults are known."""

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.calibrators import all_calibrators

Floats = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!--"
METHODS = ["identity", "temperature", "beta"]


def expit(z: Floats) -> Floats:
    return np.asarray(1 / (1 + np.exp(-z)))


def over_confident(
    n: int = 3000, seed: int = 0
) -> tuple[Floats, Flags, dict[str, npt.NDArray[np.str_]]]:
    """Log-odds twice too large; in the west they are moved up as well."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.6, n)
    y = rng.random(n) < expit(truth)
    region = rng.choice(["north", "south", "west"], n)
    return expit(2 * truth + 1.5 * (region == "west")), y, {"region": region}


def calibrated(n: int = 3000, seed: int = 0) -> tuple[Floats, Flags]:
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n)
    return p, rng.random(n) < p


def several_classes(n: int = 2000, seed: int = 0) -> tuple[Floats, npt.NDArray[np.str_]]:
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, (n, 4))
    q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > np.cumsum(q, axis=1)).sum(axis=1)
    p = np.exp(2 * z) / np.exp(2 * z).sum(axis=1, keepdims=True)
    return p, np.array([HOSTILE, "ant", "bee", "cat"])[codes]  # in sorted order


def method(name: str, **options: Any) -> Any:
    return all_calibrators()[name](**options)
