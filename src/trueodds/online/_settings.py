"""What an online calibrator is made of: its experts, mixtures, trackers and bets, and their masses.

Nothing here is learned and nothing is an option: the guarantees name these constants.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from trueodds.inputs import Floats

__all__ = [
    "BETS",
    "BET_MASS",
    "CLOCK",
    "CODES",
    "CURVES",
    "LINES",
    "MAX_CODE",
    "MAX_FORECAST_LOG_ODDS",
    "MAX_LOG_ODDS",
    "MIN_PROBABILITY",
    "MIXTURE_MASS",
    "OPEN_CLOCK",
    "PLACES",
    "SHARE_OFFSET",
    "SHRINK_AFTER",
    "STAKES",
    "SWITCH_RATES",
    "expert_names",
    "new_arrays",
    "prior_mass",
    "settings",
]

MIN_PROBABILITY = 1e-6
"""Scores and experts' forecasts lie in [TINY, 1 − TINY]."""
MAX_LOG_ODDS = float(np.log((1 - MIN_PROBABILITY) / MIN_PROBABILITY))
MAX_FORECAST_LOG_ODDS = 30.0
"""Log-odds beyond which no forecast lies."""

_HALF = [0.5, 1, 1.5, 2, 2.5, 3, 3.75, 4.5, 5.5, 7, 9, 12]
KNOTS = np.array([-k for k in reversed(_HALF)] + [0.0] + _HALF)
"""Log-odds of scores between which curves are straight."""
_HALF_PLACES = [0.4, 0.8, 1.2, 1.75, 2.5, 3.5, 5, 8]
PLACES = np.array([-p for p in reversed(_HALF_PLACES)] + [0.0] + _HALF_PLACES)
"""Log-odds of forecasts at which calibration is guaranteed."""
_SIZES = [0.9, 0.3, 0.1, 0.03, 0.01, 0.001, 0.0001]
BETS = np.array([-b for b in _SIZES] + _SIZES[::-1])
RIDGES = np.array([10.0, 60.0])
"""Pseudo-variance of each tracker: how many rows it takes before it corrects much."""

MEMORIES = [1.0, 0.9998, 0.999, 0.996, 0.985, 0.95]
SHIFT_PRECISION, SLOPE_PRECISION = 1e8, 1.0
"""Precision of the slope: that of a shift is so high that it has none."""
LINES = [(SHIFT_PRECISION, memory) for memory in MEMORIES] + [
    (SLOPE_PRECISION, memory) for memory in MEMORIES
]
INTERCEPT_PRECISION = 0.25
"""Prior precision of a line's intercept."""
START_MAP_PRECISION = (25.0, 100.0, 25.0)
"""What a start map adds to the first precision of intercepts, slopes and curves.

Lines and curves then begin near the map; they forget this precision as they forget rows. Without
it, their wide priors would multiply small probabilities before the first label comes.
"""
CURVES = [(2.0, 1.0), (10.0, 0.9995), (30.0, 0.998)]
"""Stiffness and memory."""
SWITCH_RATES = np.array([0.0, 1e-3, 2e-2])
"""Rates at which the three mixtures switch between experts."""

BET_MASS, TRACKER_MASS = 0.1, 0.15
MIXTURE_MASS = 1.0 - BET_MASS - TRACKER_MASS
STAKES = (len(PLACES) + 1) * len(BETS)
CLOCK = ("rows", "loss", "mixture_loss", "mixture_stake", "weight", "most_weight", "generations")
"""What the numbers of the array ``clock`` are."""
OPEN_CLOCK = ("asked", "answered", "loss", "mixture_gain")
"""The same of ``open_clock``, of the generation that is not closed yet."""
SHARE_OFFSET = 300.0
"""After t generations, 1/(t + SHARE_OFFSET) of all stakes is distributed as at the start."""
SHRINK_AFTER = 1e8
"""After t generations, if t is more than this, the smallest bets are 1/√t."""

CODES = len(LINES) + len(CURVES)
"""What a pending row remembers: the forecasts of lines and curves."""
MAX_CODE = 2047


def prior_mass(with_start: bool) -> Floats:
    """Prior masses of the center, the score where a start map is the center, lines and curves."""
    center, score = (0.15, 0.05) if with_start else (0.2, 0.0)
    lines = np.full(len(LINES), 0.5 / len(LINES))
    return np.concatenate([[center, score], lines, np.full(len(CURVES), 0.3 / len(CURVES))])


def expert_names(with_start: bool) -> list[str]:
    """The experts in words, in the order of their weights."""
    center = "the start map" if with_start else "the scores"
    lines = [
        f"{'shift' if slope == SHIFT_PRECISION else 'line'} of the log-odds, {_memory(memory)}"
        for slope, memory in LINES
    ]
    curves = [f"smooth curve, {_memory(memory)}" for _, memory in CURVES]
    return [center, "the scores", *lines, *curves]


def _memory(memory: float) -> str:
    if memory == 1:
        return "memory of all rows"
    return f"memory of about {round(1 / (1 - memory)):,} rows"


@cache
def settings(with_start: bool) -> dict[str, Any]:
    """The arrays and numbers of the kernel that do not change."""
    return {
        "knots": KNOTS,
        "places": PLACES,
        "bets": BETS,
        "ridges": RIDGES,
        "switch_rates": SWITCH_RATES,
        "prior": prior_mass(with_start),
        "line_memory": np.array([memory for _, memory in LINES]),
        "line_prior": np.array([(INTERCEPT_PRECISION, 0.0, slope) for slope, _ in LINES]),
        "curve_memory": np.array([memory for _, memory in CURVES]),
        "curve_prior": np.array([_curve_prior(stiffness) for stiffness, _ in CURVES]),
        "bet_stake": BET_MASS / STAKES,
        "tracker_stake": TRACKER_MASS / len(RIDGES),
        "share_offset": SHARE_OFFSET,
    }


def _curve_prior(stiffness: float) -> Floats:
    """Three bands of the precision of a curve: an integrated Wiener process, pulled to the score.

    Bends, the second differences, have the variance of the process between knots at distances h.
    """
    h, n = np.diff(KNOTS), len(KNOTS)
    bend = np.zeros((n - 2, n))
    for i in range(n - 2):
        bend[i, i : i + 3] = 1 / h[i], -1 / h[i] - 1 / h[i + 1], 1 / h[i + 1]
    precision = stiffness * bend.T @ np.diag(2 / (h[:-1] + h[1:])) @ bend
    precision += np.diag(0.25 * np.exp(-np.abs(KNOTS) / 2))
    return np.array([np.append(np.diag(precision, -k), np.zeros(k)) for k in range(3)])


def new_arrays(with_start: bool) -> dict[str, Floats]:
    """The arrays that a stream changes, before its first row."""
    fixed = settings(with_start)
    n_places, n_curves = len(PLACES), len(CURVES)
    clock = np.zeros(len(CLOCK))
    clock[CLOCK.index("mixture_stake")] = MIXTURE_MASS
    lines, curves = fixed["line_prior"].copy(), fixed["curve_prior"].copy()
    if with_start:
        intercept, slope, knot = START_MAP_PRECISION
        lines += (intercept, 0.0, slope)
        curves[:, 0] += knot
    return {
        "clock": clock,
        "loss": np.zeros(len(fixed["prior"])),
        "line_precision": lines,
        "line_shift": np.zeros((len(LINES), 2)),
        "curve_precision": curves,
        "curve_shift": np.zeros((n_curves, len(KNOTS))),
        "weights": np.tile(fixed["prior"], (len(SWITCH_RATES), 1)),
        "mixtures": np.full(len(SWITCH_RATES), 1 / len(SWITCH_RATES)),
        "stakes": np.full((n_places + 1, len(BETS)), fixed["bet_stake"]),
        "trackers": np.full(len(RIDGES), fixed["tracker_stake"]),
        "track": np.zeros((2, n_places)),
        "residual": np.zeros(n_places + 1),
        "squares": np.zeros(n_places + 1),
        "mass": np.zeros(n_places + 1),
        "open_clock": np.zeros(len(OPEN_CLOCK)),
        "open_experts": np.zeros(len(fixed["prior"])),
        "open_mixtures": np.zeros(len(SWITCH_RATES)),
        "open_trackers": np.zeros(len(RIDGES)),
        "open_stakes": np.zeros((n_places + 1, len(BETS))),
        "open_residual": np.zeros(n_places + 1),
        "open_squares": np.zeros(n_places + 1),
        "open_mass": np.zeros(n_places + 1),
        "open_track": np.zeros((2, n_places)),
    }
