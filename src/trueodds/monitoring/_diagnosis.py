"""From counts by time and part of the scale to answers."""

from __future__ import annotations

import math

import numpy as np

from trueodds.inputs import Floats
from trueodds.monitoring._confidence import line_margins, mean_interval
from trueodds.monitoring._findings import Action, Advice, ChangePoint, Deviation
from trueodds.monitoring._history import History, Moment
from trueodds.monitoring._likelihood import (
    fit_line,
    log_likelihood,
    start_log_evidence,
    start_prior,
)

__all__ = ["advise", "find_change", "measure", "start_level"]

CREDIBLE = 0.95
WORTH_REFITTING = 0.002
"""The share of the log-loss that a refit must gain beyond a shift."""
COST_SHARE = 0.1


def find_change(
    history: History, alarm_row: int, alarm_time: Moment, tolerance: float, centre: float
) -> ChangePoint:
    """The posterior of the first wrong row, by stretches; it is no later than the alarm."""
    starts = np.array(history.starts, dtype=np.float64)
    possible = int(np.searchsorted(starts, alarm_row))  # stretches that begin before the alarm
    logs = start_log_evidence(history.stack(), tolerance, centre)[:possible]
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
    """The share of alpha for rows from ``first_row`` on; the shares of all first rows sum to 1.

    They fall as slowly as j·ln²j, where j counts stretches of 64 rows.
    """
    j = (first_row - 1) / 64.0 + 1.0
    if j == 1.0:
        return 0.5 * alpha
    # Σ_{j≥2} of the difference telescopes to ½.
    return 0.5 * alpha * (1.0 / (1.0 + math.log(j - 1.0)) - 1.0 / (1.0 + math.log(j)))


def since_row(history: History, first_row: int) -> Floats:
    """Counts of all stretches from a row on."""
    first = history.starts.index(first_row - 1)
    return np.asarray(history.stack()[first:].sum(axis=0))


def measure(history: History, rows: int, first_row: int, alpha: float) -> Deviation:
    """How far forecasts are off since a row that begins a stretch."""
    cells = since_row(history, first_row)
    weight, expected, observed = (float(cells[:, k].sum()) for k in range(3))
    level = start_level(first_row, alpha)
    low, high = mean_interval(weight, observed, level / 3)
    shift, information = fit_line(cells, free_slope=False)
    margin = line_margins(shift, information, level / 3, 1)[0]
    line, information = fit_line(cells, free_slope=True)
    turn = line_margins(line, information, level / 3, 2)[1]
    unit = weight / expected if expected > 0 else math.inf
    return Deviation(
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


def advise(history: History, rows: int, first_row: int) -> Advice:
    """The action whose expected gain is greatest.

    Of k parameters that were fitted to n rows, the gain on new rows is about (Δ − k)/n, where Δ is
    what they gained on the old ones (Akaike).
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
    # One number is easy to review: a refit must be worth more, and not by chance.
    extra = refitted - shifted
    worth = extra > WORTH_REFITTING * -right or shifted < 0.25 * refitted
    better = extra > 2.0 and worth
    gain, size = (refitted, size) if better else (shifted, 1)
    if weight <= 0 or gain <= 0:
        words = "Leave it: what the rows since then could teach is less than what learning costs."
        return Advice("leave", 0.0, 0.0, 0.0, rows_since, None, words)
    gain, refitted = gain / weight, max(refitted, 0.0) / weight
    needed = math.ceil(size / (2.0 * COST_SHARE * gain))
    action: Action = "refit" if better else "shift"
    what = (
        "Fit a new map to the rows since then"
        if better
        else f"Shift the log-odds by {shift:+.3f} (a new intercept)"
    )
    enough = (
        f"the {rows_since:,} rows since then are enough"
        if rows_since >= needed
        else f"wait for {needed:,} rows, there are {rows_since:,}"
    )
    words = f"{what}: log-loss falls by about {gain:.2g} a row; {enough}."
    if not better and extra > 2.0:
        words = f"{words[:-1]} (a new map would bring {refitted:.2g})."
    return Advice(action, gain, refitted, 0.0 if better else shift, rows_since, needed, words)


def _parts_gain(cells: Floats) -> float:
    """What the frequency of each part of the scale gains over the forecasts in it."""
    weight, expected, observed = cells[:, 0], cells[:, 1], cells[:, 2]
    held = weight > 0
    n, e, o = weight[held], expected[held], observed[held]
    with np.errstate(divide="ignore", invalid="ignore"):
        # Quotients could overflow: forecasts may be as small as float64 can hold.
        hits = np.where(o > 0, o * (np.log(o) - np.log(e)), 0.0)
        misses = np.where(n > o, (n - o) * (np.log(n - o) - np.log(n - e)), 0.0)
    total = float(np.sum(hits + misses))
    return total if math.isfinite(total) else 0.0
