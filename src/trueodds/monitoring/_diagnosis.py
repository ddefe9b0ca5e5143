"""Diagnosis from counts by time and score range: likelihoods, intervals, change point."""

from __future__ import annotations

import math

import numpy as np

from trueodds.inputs import Floats
from trueodds.monitoring._bets import SHIFTS, SLOPES, History, kept_for_later, shares
from trueodds.monitoring._findings import Action, ChangePoint, Miscalibration, Recommendation
from trueodds.numerics.glm import DenseLogLoss
from trueodds.numerics.log_odds import sigmoid
from trueodds.numerics.newton import minimize
from trueodds.state_file import Moment

__all__ = [
    "advise",
    "find_change",
    "fit_line",
    "line_margins",
    "log_likelihood",
    "mean_interval",
    "measure",
    "points",
    "start_level",
]

# ----- likelihoods of shifts and slopes, from counts ----------------------------------------------

SMALLEST = 1e-9
STEEPEST = 4.0
MAX_STEPS = 50
SHORT_STEP, LONGEST_STEP = 1e-10, 1.0
PRIOR_PRECISION = 0.01  # precision of the prior of intercept and slope: a standard deviation of 10


def points(cells: Floats) -> tuple[Floats, Floats, Floats]:
    """Return two forecasts for each score range, with the mean and variance of those in it.

    Returns
    -------
    p, weight, positives : ndarray of shape (..., n_parts, 2)
        The weight is shared equally between the two, the positives in proportion to the forecasts
        as far as the weight allows.
    """
    weight, expected, observed, squares = np.moveaxis(cells, -1, 0)
    safe = np.where(weight > 0, weight, 1.0)
    mean = expected / safe
    spread = np.sqrt(np.maximum(squares / safe - mean**2, 0.0))
    p = np.stack([mean - spread, mean + spread], axis=-1)
    p = np.clip(p, SMALLEST, 1.0 - SMALLEST)
    halves = np.repeat(0.5 * weight[..., None], 2, axis=-1)
    # Equal shares would flatten the slope, because larger forecasts come true more often.
    higher = np.minimum(observed * p[..., 1] / p.sum(axis=-1), 0.5 * weight)
    return p, halves, np.stack([observed - higher, higher], axis=-1)


def log_likelihood(cells: Floats, intercept: float, slope: float) -> float:
    """Return the log-likelihood of the labels if the log-odds are ``intercept + slope·z``."""
    p, weight, positives = points(cells)
    eta = intercept + slope * np.log(p / (1.0 - p))
    return float(np.sum(positives * eta - weight * np.logaddexp(0.0, eta)))


def fit_line(cells: Floats, *, free_slope: bool) -> tuple[Floats, Floats]:
    """Maximum likelihood of the intercept (and slope) of the log-odds.

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
    design = np.stack([np.ones_like(z), z], axis=1)
    size = 2 if free_slope else 1
    # Parameters are the distances from an intercept of 0 and a slope of 1.
    loss = DenseLogLoss(design[:, :size], positives, weight, z, PRIOR_PRECISION)
    theta = np.array([0.0, 1.0])
    theta[:size] += minimize(
        loss, np.zeros(size), step=SHORT_STEP, longest=lambda _: LONGEST_STEP, max_iter=MAX_STEPS
    ).theta
    q = sigmoid(design @ theta)
    return theta, (design.T * (weight * q * (1.0 - q))) @ design


def start_log_e_value(stretches: Floats, tolerance: float, center: float) -> Floats:
    """Return the log e-value of miscalibration since the start of each stretch.

    This is the mixture over shapes and score ranges that the monitor bets on, computed from counts
    instead of rows.
    """
    p, weight, positives = points(stretches)
    up, down = np.minimum(p + tolerance, 1.0), np.maximum(p - tolerance, 0.0)
    shifted = np.concatenate(
        [_gain(up[..., None], SHIFTS, weight, positives)]
        + [_gain(down[..., None], -SHIFTS, weight, positives)],
        axis=-1,
    )  # of each stretch, part and bet
    off = np.clip(np.log(p / (1.0 - p)), -14.0, 14.0) - center
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
    """Return log-likelihood ratios, summed over the two points of each range."""
    cost = np.log1p(edge * np.expm1(shift))
    return np.asarray((positives[..., None] * shift - weight[..., None] * cost).sum(axis=-2))


def start_prior(starts: Floats, rows: int) -> Floats:
    """Return the share of the stake on a start within each stretch."""
    bounds = kept_for_later(np.append(starts, rows))
    return np.asarray(bounds[:-1] - bounds[1:])


# ----- confidence sequences: intervals that hold at all times at once -----------------------------

_LAMBDAS = np.concatenate([2.0 ** np.arange(-12, 2), -(2.0 ** np.arange(-12, 2))])
BISECTIONS = 60
PRIOR_SD = 1.0
"""Variance of the Gaussian mixture over shifts and slopes."""


def mean_interval(weight: float, observed: float, alpha: float) -> tuple[float, float]:
    """Return an interval for the mean of the true probabilities, which may differ by row.

    For each λ, exp(λ·Σy)/Π(1 − π + π·exp λ) is a martingale. The logarithm of a factor is concave
    in π, so the product is largest if all π are equal to their mean; replacing them by it can only
    reduce the e-value. The interval follows from a mixture over fixed λ and Ville's inequality.

    Parameters
    ----------
    weight, observed : float
        Number of rows and of positives.
    alpha : float
        Probability that the mean is ever outside.
    """
    if weight <= 0:
        return 0.0, 1.0
    middle = min(max(observed / weight, 0.0), 1.0)

    def refuted(mean: float) -> bool:
        logs = _LAMBDAS * observed - weight * np.log1p(mean * np.expm1(_LAMBDAS))
        top = float(logs.max())
        return top + math.log(float(np.exp(logs - top).mean())) >= -math.log(alpha)

    def edge(outside: float) -> float:
        inside = middle
        if not refuted(outside):
            return outside
        for _ in range(BISECTIONS):
            half = 0.5 * (inside + outside)
            inside, outside = (inside, half) if refuted(half) else (half, outside)
        return outside

    return edge(0.0), edge(1.0)


def line_margins(estimate: Floats, information: Floats, alpha: float, size: int) -> Floats:
    """Return half-widths of intervals for the intercept (and slope), for all times at once.

    A Gaussian mixture over the parameters, centered at "calibrated", evaluated by Laplace's method:
    exact in the limit of many rows, under the model that the log-odds are off by a line.
    """
    own = information[:size, :size]
    off = (estimate - [0.0, 1.0])[:size]
    with_prior = np.eye(size) + PRIOR_SD**2 * own
    level = -math.log(alpha) + 0.5 * float(np.linalg.slogdet(with_prior)[1])
    level += 0.5 * float(off @ off) / PRIOR_SD**2
    # A direction with rounding errors only has hardly any information.
    known, axes = np.linalg.eigh(own)
    known = np.where(known > 1e-14 * known[-1], known, 0.0) + 1e-12
    return np.asarray(np.sqrt(2.0 * level * (axes**2 / known).sum(axis=1)))


# ----- the diagnosis ----------------------------------------------------------------------------

CREDIBLE = 0.95
WORTH_REFITTING = 0.002
"""Share of the log-loss that a refit must gain beyond a shift."""
COST_SHARE = 0.1


def find_change(
    history: History, alarm_row: int, alarm_time: Moment, tolerance: float, center: float
) -> ChangePoint:
    """Return the posterior of the first miscalibrated row, by stretches, up to the alarm."""
    starts = np.array(history.starts, dtype=np.float64)
    possible = int(np.searchsorted(starts, alarm_row))  # stretches that begin before the alarm
    logs = start_log_e_value(history.stack(), tolerance, center)[:possible]
    logs = logs + np.log(np.maximum(start_prior(starts[:possible], alarm_row), 1e-300))
    posterior = np.exp(logs - logs.max())
    posterior /= posterior.sum()
    best = int(np.argmax(posterior))
    below = np.cumsum(posterior)
    tail = (1.0 - CREDIBLE) / 2
    low = min(best, int(np.searchsorted(below, tail)))
    high = max(best, int(np.searchsorted(below, 1.0 - tail)))
    high = min(high, possible - 1)
    after = high + 1 < possible
    from_start = low == 0
    # A change within a stretch looks like one at either of its ends.
    low = max(low - 1, 0)
    return ChangePoint(
        row=history.starts[best] + 1,
        low=history.starts[low] + 1,
        high=history.starts[high + 1] if after else alarm_row,
        time=history.moments[best],
        time_low=history.moments[low],
        time_high=history.moments[high + 1] if after else alarm_time,
        from_start=from_start,
    )


def start_level(first_row: int, alpha: float) -> float:
    """Return the share of alpha for rows since ``first_row``; all shares sum to 1.

    They decrease like 1/(j·ln²j), where j counts stretches of 64 rows.
    """
    j = (first_row - 1) / 64.0 + 1.0
    if j == 1.0:
        return 0.5 * alpha
    # Σ_{j≥2} of the difference telescopes to ½.
    return 0.5 * alpha * (1.0 / (1.0 + math.log(j - 1.0)) - 1.0 / (1.0 + math.log(j)))


def since_row(history: History, first_row: int) -> Floats:
    """Return the counts of all stretches since a row."""
    first = history.starts.index(first_row - 1)
    return np.asarray(history.stack()[first:].sum(axis=0))


def measure(history: History, rows: int, first_row: int, alpha: float) -> Miscalibration:
    """Return the size of the miscalibration since a row that begins a stretch."""
    cells = since_row(history, first_row)
    weight, expected, observed = (float(cells[:, k].sum()) for k in range(3))
    level = start_level(first_row, alpha)
    low, high = mean_interval(weight, observed, level / 3)
    shift, information = fit_line(cells, free_slope=False)
    margin = line_margins(shift, information, level / 3, 1)[0]
    line, information = fit_line(cells, free_slope=True)
    turn = line_margins(line, information, level / 3, 2)[1]
    unit = weight / expected if expected > 0 else math.inf
    return Miscalibration(
        first_row=first_row,
        rows=rows - first_row + 1,
        weight=weight,
        expected=expected,
        observed=observed,
        ratio=observed / expected if expected > 0 else math.nan,
        ratio_low=low * unit,
        ratio_high=high * unit,
        intercept=float(shift[0]),
        intercept_low=float(shift[0] - margin),
        intercept_high=float(shift[0] + margin),
        slope=float(line[1]),
        slope_low=float(line[1] - turn),
        slope_high=float(line[1] + turn),
    )


def advise(history: History, rows: int, first_row: int) -> Recommendation:
    """Return the action with the largest expected gain.

    If k parameters are fitted to n rows, the gain on new rows is about (Δ − k)/n, where Δ is their
    gain on the old rows (Akaike).
    """
    cells = since_row(history, first_row)
    weight = float(cells[:, 0].sum())
    right = log_likelihood(cells, 0.0, 1.0)
    shift = float(fit_line(cells, free_slope=False)[0][0])
    line = fit_line(cells, free_slope=True)[0]
    used = int(np.count_nonzero(cells[:, 0]))
    shifted = log_likelihood(cells, shift, 1.0) - right - 1.0
    refits = [(log_likelihood(cells, line[0], line[1]) - right - 2.0, 2)]
    refits.append((_parts_gain(cells) - used, used))
    refitted, size = max(refits)
    rows_since = rows - first_row + 1
    # A shift is one number and easy to review, so a refit must gain clearly more.
    extra = refitted - shifted
    worth = extra > WORTH_REFITTING * -right or shifted < 0.25 * refitted
    better = extra > 2.0 and worth
    gain, size = (refitted, size) if better else (shifted, 1)
    if weight <= 0 or gain <= 0:
        words = "Keep the forecasts. The rows since the change are too few to improve on them."
        return Recommendation("keep", 0.0, 0.0, 0.0, rows_since, None, words)
    gain, refitted = gain / weight, max(refitted, 0.0) / weight
    needed = math.ceil(size / (2.0 * COST_SHARE * gain))
    action: Action = "refit" if better else "shift"
    signed_shift = f"{shift:+.3f}".replace("-", "−")
    what = (
        "Fit a new map to the rows since the change"
        if better
        else f"Shift the log-odds by {signed_shift}"
    )
    words = f"{what}. This reduces log-loss by about {gain:.2g} per row"
    if not better and extra > 2.0:
        words += f" (a new map: {refitted:.2g})"
    if rows_since < needed:
        words += f". Wait for {needed:,} rows since the change; there are {rows_since:,}"
    words += "."
    return Recommendation(
        action, gain, refitted, 0.0 if better else shift, rows_since, needed, words
    )


def _parts_gain(cells: Floats) -> float:
    """Return the gain of each range's observed frequency over its forecasts."""
    weight, expected, observed = cells[:, 0], cells[:, 1], cells[:, 2]
    held = weight > 0
    n, e, o = weight[held], expected[held], observed[held]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Quotients could overflow: forecasts may be as small as float64 can hold.
        hits = np.where(o > 0, o * (np.log(o) - np.log(e)), 0.0)
        misses = np.where(n > o, (n - o) * (np.log(n - o) - np.log(n - e)), 0.0)
    total = float(np.sum(hits + misses))
    return total if math.isfinite(total) else 0.0
