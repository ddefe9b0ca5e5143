"""Likelihoods of shifts and slopes from counts by part of the scale."""

from __future__ import annotations

import numpy as np

from trueodds.inputs import Floats
from trueodds.monitoring._bets import SHIFTS, SLOPES, kept_for_later, shares

__all__ = ["fit_line", "log_likelihood", "points", "start_log_evidence", "start_prior"]

SMALLEST = 1e-9
STEEPEST = 4.0
MAX_STEPS = 50


def points(cells: Floats) -> tuple[Floats, Floats, Floats]:
    """Two forecasts for each part of the scale, with the mean and variance of those in it.

    Returns
    -------
    p, weight, positives : ndarray of shape (..., n_parts, 2)
        The weight is shared equally between the two, the positives as the forecasts have it.
    """
    weight, expected, observed, squares = np.moveaxis(cells, -1, 0)
    safe = np.where(weight > 0, weight, 1.0)
    mean = expected / safe
    spread = np.sqrt(np.maximum(squares / safe - mean**2, 0.0))
    p = np.stack([mean - spread, mean + spread], axis=-1)
    p = np.clip(p, SMALLEST, 1.0 - SMALLEST)
    halves = np.repeat(0.5 * weight[..., None], 2, axis=-1)
    # Equal shares would lose that greater forecasts come true more often, and flatten the slope.
    return p, halves, observed[..., None] * p / p.sum(axis=-1, keepdims=True)


def log_likelihood(cells: Floats, intercept: float, slope: float) -> float:
    """Σ ln of the probability of each label if the log-odds are ``intercept + slope·z``."""
    p, weight, positives = points(cells)
    eta = intercept + slope * np.log(p / (1.0 - p))
    return float(np.sum(positives * eta - weight * np.logaddexp(0.0, eta)))


def fit_line(cells: Floats, *, free_slope: bool) -> tuple[Floats, Floats]:
    """Maximum likelihood of the intercept (and slope) of the log-odds, by Newton's steps.

    A Gaussian prior with a standard deviation of 10 keeps the estimate finite where all labels
    are the same.

    Returns
    -------
    estimate : ndarray of shape (2,)
        Intercept and slope; without ``free_slope`` the slope is 1.
    information : ndarray of shape (2, 2)
        Minus the second derivatives of the log-likelihood.
    """
    p, weight, positives = (part.ravel() for part in points(cells))
    z = np.log(p / (1.0 - p))
    design = np.stack([np.ones_like(z), z])
    theta = np.array([0.0, 1.0])
    size = 2 if free_slope else 1
    for _ in range(MAX_STEPS):
        q = 1.0 / (1.0 + np.exp(-np.clip(theta @ design, -500, 500)))
        information = (design * (weight * q * (1.0 - q))) @ design.T
        slope = (design @ (positives - weight * q) - 0.01 * (theta - [0.0, 1.0]))[:size]
        # The prior is lost beside great weights; least squares needs no inverse.
        curvature = information[:size, :size] + 0.01 * np.eye(size)
        step = np.linalg.lstsq(curvature, slope, rcond=None)[0]
        step = np.clip(step, -1.0, 1.0)
        theta[:size] += step
        if np.abs(step).max() < 1e-10:
            break
    return theta, information


def start_log_evidence(stretches: Floats, tolerance: float, centre: float) -> Floats:
    """Ln of the evidence that forecasts are wrong from the start of each stretch on.

    The mixture over shapes and parts of the scale that the monitor bets on, from counts instead
    of rows.
    """
    p, weight, positives = points(stretches)
    up, down = np.minimum(p + tolerance, 1.0), np.maximum(p - tolerance, 0.0)
    shifted = np.concatenate(
        [_gain(up[..., None], SHIFTS, weight, positives)]
        + [_gain(down[..., None], -SHIFTS, weight, positives)],
        axis=-1,
    )  # of each stretch, part and bet
    off = np.clip(np.log(p / (1.0 - p)), -14.0, 14.0) - centre
    turn = np.clip(off[..., None] * SLOPES, -STEEPEST, STEEPEST)
    edge = np.where(turn > 0, up[..., None], down[..., None])
    turned = _gain(edge, turn, weight, positives).sum(axis=1)
    share = shares(0, 0)
    bets = [(shifted.sum(axis=1), np.repeat(share[:2] / 8, 8))]
    bets.append((turned, np.repeat(share[2:4] / 8, 8)))
    parts = shifted.reshape(len(shifted), -1)
    bets.append((parts, np.repeat(share[4:] / 8, 8)))
    gains = np.concatenate([gain for gain, _ in bets], axis=1)
    weights = np.concatenate([each for _, each in bets])
    since = np.cumsum(gains[::-1], axis=0)[::-1]
    top = since.max(axis=1, keepdims=True)
    return np.asarray(top[:, 0] + np.log(np.exp(since - top) @ weights))


def _gain(edge: Floats, shift: Floats, weight: Floats, positives: Floats) -> Floats:
    """Log-likelihood ratios, summed over the two points of each part."""
    cost = np.log1p(edge * np.expm1(shift))
    return np.asarray((positives[..., None] * shift - weight[..., None] * cost).sum(axis=-2))


def start_prior(starts: Floats, rows: int) -> Floats:
    """The share of the stake on a start within each stretch."""
    bounds = kept_for_later(np.append(starts, rows))
    return np.asarray(bounds[:-1] - bounds[1:])
