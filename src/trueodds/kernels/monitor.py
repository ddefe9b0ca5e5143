"""Bets of a monitor against the calibration of forecasts, row by row."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.maps import log_or_minus_infinity, searchsorted
else:
    from trueodds.kernels.maps import log_or_minus_infinity, searchsorted

__all__ = ["update_bets"]

# Indices of ``clock``.
ROWS = cython.declare(cython.int, 0)
CENTER = cython.declare(cython.int, 1)
E_VALUE = cython.declare(cython.int, 2)
PEAK_E_VALUE = cython.declare(cython.int, 3)
ALARM_ROW = cython.declare(cython.int, 4)

MAX_STAKE = cython.declare(cython.double, 1e280)  # products with it do not overflow
MAX_LOG_ODDS = cython.declare(cython.double, 14.0)  # log-odds of one in a million
MAX_LOG_TILT = cython.declare(cython.double, 4.0)  # odds are multiplied by at most exp(4)
EARLY_ROWS = cython.declare(cython.double, 100.0)
BET_SHARE = cython.declare(cython.double, 0.125)  # a place has eight bets


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _reserved_share(row: cython.double) -> cython.double:
    """Return the share of the stake that is reserved for starts after this row.

    Half is bet from the first row. The rest is released so slowly that a change at any time is
    detected.
    """
    return 0.5 / (1.0 + math.log1p((row - 1.0) / EARLY_ROWS))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _likelihood_ratio(
    tilt: cython.double, p_null: cython.double, is_positive: cython.bint, weight: cython.double
) -> cython.double:
    """Return the likelihood ratio of a label: odds of ``p_null`` times ``tilt`` over ``p_null``."""
    ratio: cython.double = (tilt if is_positive else 1.0) / (1.0 + p_null * (tilt - 1.0))
    return ratio if weight == 1.0 else math.pow(ratio, weight)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _pay_bets(
    stakes: cython.double[:, ::1], reserved_share: cython.double[::1], value: cython.double[::1],
    place: cython.Py_ssize_t, ratio: cython.double[::1], reserved: cython.double,
) -> cython.void:  # fmt: skip
    """Update the eight bets on a place.

    ``stakes[place, k]`` is Σ over start rows s of w_s·Π_{i=s…t} ratio_i: new starts are added, then
    all are multiplied. A row outside a place has ratio 1, so the starts are added later.
    """
    k: cython.Py_ssize_t
    total: cython.double = 0.0
    new_starts: cython.double = max(reserved_share[place] - reserved, 0.0)
    for k in range(8):
        stakes[place, k] = min((stakes[place, k] + new_starts) * ratio[k], MAX_STAKE)
        total += stakes[place, k]
    reserved_share[place] = reserved
    value[place] = BET_SHARE * total + reserved


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _check_alarms(
    value: cython.double[::1], share: cython.const[cython.double][::1],
    alarm_rows: cython.double[::1],
    clock: cython.double[::1], threshold: cython.double,
) -> cython.void:  # fmt: skip
    """Compute the e-value after a row, and note the first row at which it reaches the threshold."""
    k: cython.Py_ssize_t
    part: cython.double
    total: cython.double = 0.0
    for k in range(value.shape[0]):
        part = share[k] * value[k]
        total += part
        if part >= threshold and alarm_rows[k] == 0.0:
            alarm_rows[k] = clock[ROWS]
    clock[E_VALUE] = total
    clock[PEAK_E_VALUE] = max(clock[PEAK_E_VALUE], total)
    if total >= threshold and clock[ALARM_ROW] == 0.0:
        clock[ALARM_ROW] = clock[ROWS]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(
    sums: cython.double[:, ::1], row: cython.Py_ssize_t,
    weight: cython.double, p: cython.double, is_positive: cython.bint,
) -> cython.void:  # fmt: skip
    """Add a forecast to the weight, the expected and the observed positives of a row."""
    sums[row, 0] += weight
    sums[row, 1] += weight * p
    if is_positive:
        sums[row, 2] += weight


def update_bets(
    prob: cython.const[cython.double][::1], positive: cython.const[cython.Py_ssize_t][::1],
    stakes: cython.double[:, ::1], reserved_share: cython.double[::1], value: cython.double[::1],
    share: cython.const[cython.double][::1], alarm_rows: cython.double[::1],
    clock: cython.double[::1],
    cells: cython.double[:, ::1], sums: cython.double[:, ::1],
    tilts: cython.const[cython.double][::1], slopes: cython.const[cython.double][::1],
    edges: cython.const[cython.double][::1], tolerance: cython.double, threshold: cython.double,
    weight: cython.const[cython.double][::1] = None,
    group: cython.const[cython.Py_ssize_t][::1] = None,
    class_prob: cython.const[cython.double][:, ::1] = None,
    codes: cython.const[cython.Py_ssize_t][::1] = None,
) -> bool:  # fmt: skip
    """Update all bets with rows in their order; False, and no change, if the state is not finite.

    What is finite stays so: stakes are bounded, and so are weights.

    Places 0 and 1 bet that forecasts are too low and too high everywhere, places 2 and 3 that the
    slope is below and above 1. Then follow two places for each part of the scale, and two for each
    row of ``sums``: classes, then groups. ``weight``, ``group``, ``class_prob`` and ``codes`` may
    be None. A group of −1 has no place.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    is_positive: cython.bint
    p: cython.double
    z: cython.double
    w: cython.double = 1.0
    upper: cython.double
    lower: cython.double
    reserved: cython.double
    centered: cython.double
    tilt: cython.double
    weighted: cython.bint = weight is not None
    grouped: cython.bint = group is not None
    n_classes: cython.Py_ssize_t = 0 if class_prob is None else class_prob.shape[1]
    n_edges: cython.Py_ssize_t = edges.shape[0]
    offset: cython.Py_ssize_t = 6 + 2 * n_edges
    ratio_up: cython.double[::1] = np.empty(8)
    ratio_down: cython.double[::1] = np.empty(8)
    ratio_slope: cython.double[::1] = np.empty(8)
    total: cython.double = clock[CENTER] + clock[E_VALUE] + clock[PEAK_E_VALUE]
    for c in range(cells.shape[0]):
        total += cells[c, 0] + cells[c, 1] + cells[c, 2] + cells[c, 3]
    for c in range(sums.shape[0]):
        total += sums[c, 0] + sums[c, 1] + sums[c, 2]
    if not math.isfinite(total):
        return False
    with cython.nogil:
        for i in range(prob.shape[0]):
            p = prob[i]
            is_positive = positive[i] == 1
            if weighted:
                w = weight[i]
            clock[ROWS] += 1.0
            reserved = _reserved_share(clock[ROWS])
            # The null hypothesis is a band; a bet is against the end of the band on its side.
            upper = min(p + tolerance, 1.0)
            lower = max(p - tolerance, 0.0)
            for k in range(8):
                ratio_up[k] = _likelihood_ratio(tilts[k], upper, is_positive, w)
                ratio_down[k] = _likelihood_ratio(tilts[8 + k], lower, is_positive, w)
            cell = searchsorted(edges, n_edges, p)
            _pay_bets(stakes, reserved_share, value, 0, ratio_up, reserved)
            _pay_bets(stakes, reserved_share, value, 1, ratio_down, reserved)
            _pay_bets(stakes, reserved_share, value, 4 + 2 * cell, ratio_up, reserved)
            _pay_bets(stakes, reserved_share, value, 5 + 2 * cell, ratio_down, reserved)
            if grouped and group[i] >= 0:
                c = n_classes + group[i]
                _pay_bets(stakes, reserved_share, value, offset + 2 * c, ratio_up, reserved)
                _pay_bets(stakes, reserved_share, value, offset + 2 * c + 1, ratio_down, reserved)
                _add(sums, c, w, p, is_positive)
            z = log_or_minus_infinity(p / (1.0 - p)) if p < 1.0 else MAX_LOG_ODDS
            centered = min(max(z, -MAX_LOG_ODDS), MAX_LOG_ODDS) - clock[CENTER]
            for k in range(16):
                tilt = math.exp(min(max(slopes[k] * centered, -MAX_LOG_TILT), MAX_LOG_TILT))
                ratio_slope[k & 7] = _likelihood_ratio(
                    tilt, upper if tilt > 1.0 else lower, is_positive, w
                )
                if k == 7:
                    _pay_bets(stakes, reserved_share, value, 2, ratio_slope, reserved)
            _pay_bets(stakes, reserved_share, value, 3, ratio_slope, reserved)
            # The center of the slopes is the mean of earlier rows, known when the bet is made.
            clock[CENTER] += centered / clock[ROWS]
            _add(cells, cell, w, p, is_positive)
            cells[cell, 3] += w * p * p
            for c in range(n_classes):
                p = class_prob[i, c]
                is_positive = codes[i] == c
                for k in range(8):
                    ratio_up[k] = _likelihood_ratio(
                        tilts[k], min(p + tolerance, 1.0), is_positive, w
                    )
                    ratio_down[k] = _likelihood_ratio(
                        tilts[8 + k], max(p - tolerance, 0.0), is_positive, w
                    )
                _pay_bets(stakes, reserved_share, value, offset + 2 * c, ratio_up, reserved)
                _pay_bets(stakes, reserved_share, value, offset + 2 * c + 1, ratio_down, reserved)
                _add(sums, c, w, p, is_positive)
            _check_alarms(value, share, alarm_rows, clock, threshold)
    return True
