"""Bets against the calibration of a stream of forecasts, row by row."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.maps import count_up_to, log_or_infinity
else:
    from trueodds.kernels.maps import count_up_to, log_or_infinity

__all__ = ["watch_rows"]

# What the numbers of ``clock`` are.
ROWS = cython.declare(cython.int, 0)
CENTER = cython.declare(cython.int, 1)
EVIDENCE = cython.declare(cython.int, 2)
PEAK = cython.declare(cython.int, 3)
ALARM_ROW = cython.declare(cython.int, 4)

CAP = cython.declare(cython.double, 1e280)  # a stake never grows beyond it, so nothing overflows
FARTHEST = cython.declare(cython.double, 14.0)  # log-odds of one in a million
STEEPEST = cython.declare(cython.double, 4.0)  # no odds are multiplied by more than exp(4)
EARLY_ROWS = cython.declare(cython.double, 100.0)
EACH = cython.declare(cython.double, 0.125)  # there are eight bets on a place


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _still_to_start(row: cython.double) -> cython.double:
    """The share of the stake that is kept for starts after this row.

    Half is put down before the first row, the rest so slowly that a change is noticed whenever it
    comes.
    """
    return 0.5 / (1.0 + math.log1p((row - 1.0) / EARLY_ROWS))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _ratio(
    tilt: cython.double, edge: cython.double, happened: cython.bint, weight: cython.double
) -> cython.double:
    """Likelihood of the label with the odds of ``edge`` times ``tilt``, over that with ``edge``."""
    ratio: cython.double = (tilt if happened else 1.0) / (1.0 + edge * (tilt - 1.0))
    return ratio if weight == 1.0 else math.pow(ratio, weight)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _settle(
    stakes: cython.double[:, ::1], open_share: cython.double[::1], value: cython.double[::1],
    place: cython.Py_ssize_t, ratio: cython.double[::1], left: cython.double,
) -> cython.void:  # fmt: skip
    """Pay the eight bets on a place.

    ``stakes[place, k]`` is Σ over start rows s of w_s·Π_{i=s…t} ratio_i: new starts join, then all
    are multiplied. A place that rows did not touch has ratios of 1, so its starts join later.
    """
    k: cython.Py_ssize_t
    total: cython.double = 0.0
    joined: cython.double = max(open_share[place] - left, 0.0)
    for k in range(8):
        stakes[place, k] = min((stakes[place, k] + joined) * ratio[k], CAP)
        total += stakes[place, k]
    open_share[place] = left
    value[place] = EACH * total + left


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _look(
    value: cython.double[::1], share: cython.const[cython.double][::1], named: cython.double[::1],
    clock: cython.double[::1], threshold: cython.double,
) -> cython.void:  # fmt: skip
    """Add up the evidence after a row, and see whether it is enough."""
    k: cython.Py_ssize_t
    part: cython.double
    total: cython.double = 0.0
    for k in range(value.shape[0]):
        part = share[k] * value[k]
        total += part
        if part >= threshold and named[k] == 0.0:
            named[k] = clock[ROWS]
    clock[EVIDENCE] = total
    clock[PEAK] = max(clock[PEAK], total)
    if total >= threshold and clock[ALARM_ROW] == 0.0:
        clock[ALARM_ROW] = clock[ROWS]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _add(
    sums: cython.double[:, ::1], row: cython.Py_ssize_t,
    weight: cython.double, p: cython.double, happened: cython.bint,
) -> cython.void:  # fmt: skip
    """Add a forecast to the weight, the expected and the observed positives of a row."""
    sums[row, 0] += weight
    sums[row, 1] += weight * p
    if happened:
        sums[row, 2] += weight


def watch_rows(
    prob: cython.const[cython.double][::1], positive: cython.const[cython.Py_ssize_t][::1],
    stakes: cython.double[:, ::1], open_share: cython.double[::1], value: cython.double[::1],
    share: cython.const[cython.double][::1], named: cython.double[::1], clock: cython.double[::1],
    cells: cython.double[:, ::1], sums: cython.double[:, ::1],
    tilts: cython.const[cython.double][::1], slopes: cython.const[cython.double][::1],
    edges: cython.const[cython.double][::1], tolerance: cython.double, threshold: cython.double,
    weight: cython.const[cython.double][::1] = None,
    group: cython.const[cython.Py_ssize_t][::1] = None,
    class_prob: cython.const[cython.double][:, ::1] = None,
    codes: cython.const[cython.Py_ssize_t][::1] = None,
) -> None:  # fmt: skip
    """Take rows in their order.

    Places 0 and 1 are "too low" and "too high" everywhere, 2 and 3 slopes below and above 1; then
    come two for each part of the scale, and two for each row of ``sums``: classes, then groups.
    ``weight``, ``group``, ``class_prob`` and ``codes`` may be None; a group of −1 has no place.
    """
    i: cython.Py_ssize_t
    k: cython.Py_ssize_t
    c: cython.Py_ssize_t
    cell: cython.Py_ssize_t
    happened: cython.bint
    p: cython.double
    z: cython.double
    w: cython.double = 1.0
    up: cython.double
    down: cython.double
    left: cython.double
    off: cython.double
    tilt: cython.double
    weighted: cython.bint = weight is not None
    grouped: cython.bint = group is not None
    n_classes: cython.Py_ssize_t = 0 if class_prob is None else class_prob.shape[1]
    inner: cython.Py_ssize_t = edges.shape[0]
    first_sum: cython.Py_ssize_t = 6 + 2 * inner
    rising: cython.double[::1] = np.empty(8)
    falling: cython.double[::1] = np.empty(8)
    turning: cython.double[::1] = np.empty(8)
    with cython.nogil:
        for i in range(prob.shape[0]):
            p = prob[i]
            happened = positive[i] == 1
            if weighted:
                w = weight[i]
            clock[ROWS] += 1.0
            left = _still_to_start(clock[ROWS])
            # The null hypothesis is a band; a bet is against the edge of its own side.
            up = min(p + tolerance, 1.0)
            down = max(p - tolerance, 0.0)
            for k in range(8):
                rising[k] = _ratio(tilts[k], up, happened, w)
                falling[k] = _ratio(tilts[8 + k], down, happened, w)
            cell = count_up_to(edges, inner, p)
            _settle(stakes, open_share, value, 0, rising, left)
            _settle(stakes, open_share, value, 1, falling, left)
            _settle(stakes, open_share, value, 4 + 2 * cell, rising, left)
            _settle(stakes, open_share, value, 5 + 2 * cell, falling, left)
            if grouped and group[i] >= 0:
                c = n_classes + group[i]
                _settle(stakes, open_share, value, first_sum + 2 * c, rising, left)
                _settle(stakes, open_share, value, first_sum + 2 * c + 1, falling, left)
                _add(sums, c, w, p, happened)
            z = log_or_infinity(p / (1.0 - p)) if p < 1.0 else FARTHEST
            off = min(max(z, -FARTHEST), FARTHEST) - clock[CENTER]
            for k in range(16):
                tilt = math.exp(min(max(slopes[k] * off, -STEEPEST), STEEPEST))
                turning[k & 7] = _ratio(tilt, up if tilt > 1.0 else down, happened, w)
                if k == 7:
                    _settle(stakes, open_share, value, 2, turning, left)
            _settle(stakes, open_share, value, 3, turning, left)
            # The center of the slopes is the mean of the rows before: known when the bet is made.
            clock[CENTER] += off / clock[ROWS]
            _add(cells, cell, w, p, happened)
            cells[cell, 3] += w * p * p
            for c in range(n_classes):
                p = class_prob[i, c]
                happened = codes[i] == c
                for k in range(8):
                    rising[k] = _ratio(tilts[k], min(p + tolerance, 1.0), happened, w)
                    falling[k] = _ratio(tilts[8 + k], max(p - tolerance, 0.0), happened, w)
                _settle(stakes, open_share, value, first_sum + 2 * c, rising, left)
                _settle(stakes, open_share, value, first_sum + 2 * c + 1, falling, left)
                _add(sums, c, w, p, happened)
            _look(value, share, named, clock, threshold)
