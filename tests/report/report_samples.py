"""Scores and labels whose faults are known."""

import numpy as np

from trueodds.calibrators import all_calibrators

HOSTILE = "</script><img src=x onerror=\"document.title='owned'\"><!--"
METHODS = ["identity", "temperature", "beta"]


def expit(z):
    return 1 / (1 + np.exp(-z))


def over_confident(n=3000, seed=0):
    """Log-odds twice too large; in the west they are moved up as well."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(0, 1.6, n)
    y = rng.random(n) < expit(truth)
    region = rng.choice(["north", "south", "west"], n)
    return expit(2 * truth + 1.5 * (region == "west")), y, {"region": region}


def calibrated(n=3000, seed=0):
    rng = np.random.default_rng(seed)
    p = rng.beta(1, 2, n)
    return p, rng.random(n) < p


def several_classes(n=2000, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.normal(0, 1.5, (n, 4))
    q = np.exp(z) / np.exp(z).sum(axis=1, keepdims=True)
    codes = (rng.random((n, 1)) > np.cumsum(q, axis=1)).sum(axis=1)
    p = np.exp(2 * z) / np.exp(2 * z).sum(axis=1, keepdims=True)
    return p, np.array([HOSTILE, "ant", "bee", "cat"])[codes]  # in sorted order


def method(name, **options):
    return all_calibrators()[name](**options)
