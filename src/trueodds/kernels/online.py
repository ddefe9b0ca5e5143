"""Calibration of a stream: experts that forget, a switching mixture of them, and fair stakes.

``docs/online.md`` has the formulas and proofs. The cost of a row does not depend on those before.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

__all__ = ["OnlineState", "find_places", "place_of"]

# What the numbers of ``clock`` are.
ROWS = cython.declare(cython.int, 0)
LOSS = cython.declare(cython.int, 1)
MIXTURE_LOSS = cython.declare(cython.int, 2)
MIXTURE_STAKE = cython.declare(cython.int, 3)
WEIGHT = cython.declare(cython.int, 4)
MOST_WEIGHT = cython.declare(cython.int, 5)
GENERATIONS = cython.declare(cython.int, 6)

# What the numbers of ``open_clock`` are, of the generation that is not closed yet.
ASKED = cython.declare(cython.int, 0)
ANSWERED = cython.declare(cython.int, 1)
OPEN_LOSS = cython.declare(cython.int, 2)
OPEN_GAIN = cython.declare(cython.int, 3)  # of the mixture, against the forecast

TINY = cython.declare(cython.double, 1e-6)  # no expert forecasts less, or more than 1 − TINY
END = cython.declare(cython.double, 30.0)  # log-odds beyond which no forecast lies
LEAST = cython.declare(cython.double, 1e-300)  # a weight never reaches 0, so that it can return
PROBIT = cython.declare(cython.double, 0.3927)  # π/8: mean of σ over a normal (MacKay 1992)
FARTHEST = cython.declare(cython.double, 2.0)  # a tracker corrects log-odds by at most this
CODE_STEP = cython.declare(cython.double, 0.004)
CODE_UNIT = cython.declare(cython.double, 60.0)
MOST_CODE = cython.declare(cython.double, 2047.0)
HIGHEST = cython.declare(cython.double, 0.999999)
REACH = cython.declare(cython.double, 13.815509557963773)  # log-odds of HIGHEST
LARGEST_POWER = cython.declare(cython.double, 16.0)  # of gains that are multiplied directly
MANY = cython.declare(cython.double, 1e8)  # generations after which the smallest bets shrink


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sigmoid(v: cython.double) -> cython.double:
    return 1.0 / (1.0 + math.exp(-v))


@cython.ccall
@cython.exceptval(check=False)
def place_of(score: cython.double, is_probability: cython.bint) -> cython.double:
    """Log-odds of a score, none beyond those of TINY; log-odds and margins are clipped alike."""
    if not is_probability:
        return min(max(score, -REACH), REACH)
    return (
        -REACH if score <= TINY else REACH if score >= HIGHEST else math.log(score / (1.0 - score))
    )


def find_places(
    scores: cython.const[cython.double][::1], is_probability: cython.bint, out: cython.double[::1]
) -> None:
    """Write :func:`place_of` each score into ``out``."""
    i: cython.Py_ssize_t
    for i in range(scores.shape[0]):
        out[i] = place_of(scores[i], is_probability)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _inside(p: cython.double) -> cython.double:
    return min(max(p, TINY), HIGHEST)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _code(p: cython.double, z: cython.double) -> cython.short:
    """12 bits for the distance of a forecast from log-odds z."""
    far: cython.double = math.asinh(CODE_UNIT * (math.log(p / (1.0 - p)) - z)) / CODE_STEP
    return cython.cast(cython.short, math.floor(min(max(far, -MOST_CODE), MOST_CODE) + 0.5))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decoded(code: cython.short, z: cython.double) -> cython.double:
    return _sigmoid(z + math.sinh(CODE_STEP * code) / CODE_UNIT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cell(knots: cython.const[cython.double][::1], v: cython.double) -> cython.Py_ssize_t:
    """The cell of v: the number of inner knots below it."""
    low: cython.Py_ssize_t = 0
    high: cython.Py_ssize_t = knots.shape[0] - 2
    middle: cython.Py_ssize_t
    while low < high:
        middle = (low + high + 1) // 2
        if knots[middle] < v:
            low = middle
        else:
            high = middle - 1
    return low


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _right_share(
    knots: cython.const[cython.double][::1], j: cython.Py_ssize_t, v: cython.double
) -> cython.double:
    """The weight of the right end of cell j at v."""
    return min(max((v - knots[j]) / (knots[j + 1] - knots[j]), 0.0), 1.0)


@cython.final
@cython.cclass
class OnlineState:
    """All that is learned from a stream of two classes, as arrays that the caller owns.

    Parameters
    ----------
    settings : dict of float64 arrays
        What does not change: see ``trueodds.online._settings``.
    arrays : dict of float64 arrays
        What does; they are updated in place.
    """

    knots: cython.const[cython.double][::1]
    places: cython.const[cython.double][::1]
    bets: cython.double[::1]
    ridges: cython.const[cython.double][::1]
    shares: cython.const[cython.double][::1]
    prior: cython.const[cython.double][::1]
    line_memory: cython.const[cython.double][::1]
    line_prior: cython.const[cython.double][:, ::1]
    curve_memory: cython.const[cython.double][::1]
    curve_prior: cython.const[cython.double][:, :, ::1]
    bet_stake: cython.double
    tracker_stake: cython.double
    patience: cython.double
    clock: cython.double[::1]
    loss: cython.double[::1]
    line_precision: cython.double[:, ::1]
    line_shift: cython.double[:, ::1]
    curve_precision: cython.double[:, :, ::1]
    curve_shift: cython.double[:, ::1]
    weights: cython.double[:, ::1]
    mixtures: cython.double[::1]
    stakes: cython.double[:, ::1]
    trackers: cython.double[::1]
    residual: cython.double[::1]
    track: cython.double[:, ::1]
    squares: cython.double[::1]
    mass: cython.double[::1]
    open_clock: cython.double[::1]
    open_experts: cython.double[::1]
    open_mixtures: cython.double[::1]
    open_trackers: cython.double[::1]
    open_stakes: cython.double[:, ::1]
    open_residual: cython.double[::1]
    open_squares: cython.double[::1]
    open_mass: cython.double[::1]
    open_track: cython.double[:, ::1]
    # Derived from the arrays, or room for one row.
    n_lines: cython.Py_ssize_t
    n_curves: cython.Py_ssize_t
    n_experts: cython.Py_ssize_t
    factor: cython.double[:, :, ::1]
    curve_mean: cython.double[:, ::1]
    mean: cython.double[::1]
    said: cython.double[::1]
    given: cython.double[::1]
    tracked: cython.double[::1]
    pull_of: cython.double[::1]
    mixture_said: cython.double[::1]
    smallest_bet: cython.double

    def __init__(self, settings, arrays):
        self.knots, self.places = settings["knots"], settings["places"]
        self.bets, self.ridges = settings["bets"].copy(), settings["ridges"]
        self.shares, self.prior = settings["shares"], settings["prior"]
        self.line_memory, self.line_prior = settings["line_memory"], settings["line_prior"]
        self.curve_memory, self.curve_prior = settings["curve_memory"], settings["curve_prior"]
        self.bet_stake, self.tracker_stake = settings["bet_stake"], settings["tracker_stake"]
        self.patience = settings["patience"]
        self.clock, self.loss = arrays["clock"], arrays["loss"]
        self.line_precision, self.line_shift = arrays["line_precision"], arrays["line_shift"]
        self.curve_precision, self.curve_shift = arrays["curve_precision"], arrays["curve_shift"]
        self.weights, self.mixtures = arrays["weights"], arrays["mixtures"]
        self.stakes, self.trackers = arrays["stakes"], arrays["trackers"]
        self.residual, self.track = arrays["residual"], arrays["track"]
        self.squares, self.mass = arrays["squares"], arrays["mass"]
        self.open_clock, self.open_experts = arrays["open_clock"], arrays["open_experts"]
        self.open_mixtures = arrays["open_mixtures"]
        self.open_trackers, self.open_stakes = arrays["open_trackers"], arrays["open_stakes"]
        self.open_residual, self.open_squares = arrays["open_residual"], arrays["open_squares"]
        self.open_mass, self.open_track = arrays["open_mass"], arrays["open_track"]
        self.smallest_bet = self.bets[len(self.bets) // 2]
        self.n_lines, self.n_curves = len(self.line_memory), len(self.curve_memory)
        self.n_experts = 2 + self.n_lines + self.n_curves
        self.factor = np.zeros((self.n_curves, 3, len(self.knots)))
        self.curve_mean = np.zeros((self.n_curves, len(self.knots)))
        self.mean, self.said = np.zeros(self.n_experts), np.zeros(self.n_experts)
        self.given, self.tracked = np.zeros(self.n_experts), np.zeros(len(self.ridges))
        self.pull_of = np.zeros(len(self.places) + 1)
        self.mixture_said = np.zeros(len(self.shares))
        for k in range(self.n_curves):
            self._factorize(k)
        self._shrink()

    # The experts ---------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _factorize(self, k: cython.Py_ssize_t) -> cython.void:
        """L·D·Lᵀ of the pentadiagonal precision of curve k (1/D in row 0), and the curve's mean."""
        n: cython.Py_ssize_t = self.knots.shape[0]
        i: cython.Py_ssize_t
        precision: cython.double[:, ::1] = self.curve_precision[k]
        factor: cython.double[:, ::1] = self.factor[k]
        mean: cython.double[::1] = self.curve_mean[k]
        shift: cython.double[::1] = self.curve_shift[k]
        # d is D, u and m are L·D and the mean, of the last knot (1) and the one before it (2).
        l1: cython.double
        l2: cython.double
        u1: cython.double
        d: cython.double
        m: cython.double
        inverse: cython.double
        inverse_1: cython.double = 0.0
        inverse_2: cython.double = 0.0
        below: cython.double = 0.0  # L[i−1, i−2]·D[i−2]
        m1: cython.double = 0.0
        m2: cython.double = 0.0
        for i in range(n):
            u2: cython.double = precision[2, i - 2] if i > 1 else 0.0
            l2 = u2 * inverse_2
            u1 = precision[1, i - 1] - l2 * below if i > 0 else 0.0
            l1 = u1 * inverse_1
            d = precision[0, i] - l1 * u1 - l2 * u2
            m = shift[i] - l1 * m1 - l2 * m2
            inverse = 1.0 / d
            factor[0, i] = inverse
            factor[1, i] = l1
            factor[2, i] = l2
            mean[i] = m * inverse
            inverse_2 = inverse_1
            inverse_1 = inverse
            below = u1
            m2 = m1
            m1 = m
        for i in range(n - 2, -1, -1):
            mean[i] -= factor[1, i + 1] * mean[i + 1]
            if i + 2 < n:
                mean[i] -= factor[2, i + 2] * mean[i + 2]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _consult(self, z: cython.double, score: cython.double) -> cython.void:
        """Mean log-odds of each expert, and its probability averaged over its posterior."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t = _cell(self.knots, z)
        w: cython.double = _right_share(self.knots, j, z)
        a: cython.double
        b: cython.double
        c: cython.double
        inverse: cython.double
        variance: cython.double
        r: cython.double
        r1: cython.double
        r2: cython.double
        first: cython.Py_ssize_t = 2 + self.n_lines
        precision: cython.double[:, ::1] = self.line_precision
        shift: cython.double[:, ::1] = self.line_shift
        factor: cython.double[:, :, ::1] = self.factor
        self.mean[0] = z
        self.said[0] = _inside(_sigmoid(z))
        self.mean[1] = score
        self.said[1] = _inside(_sigmoid(score))
        for k in range(self.n_lines):
            a = precision[k, 0]
            b = precision[k, 1]
            c = precision[k, 2]
            inverse = 1.0 / (a * c - b * b)
            self.mean[2 + k] = z + inverse * (
                c * shift[k, 0] - b * shift[k, 1] + z * (a * shift[k, 1] - b * shift[k, 0])
            )
            variance = inverse * (c - 2.0 * b * z + a * z * z)
            self.said[2 + k] = _inside(
                _sigmoid(self.mean[2 + k] / math.sqrt(1.0 + PROBIT * variance))
            )
        for k in range(self.n_curves):
            # hᵀ·P⁻¹·h = Σ r²/D with L·r = h, and h has the weights 1 − w and w at knots j and j+1.
            r1 = 1.0 - w
            r2 = 0.0
            variance = r1 * r1 * factor[k, 0, j]
            for i in range(j + 1, self.knots.shape[0]):
                r = (w if i == j + 1 else 0.0) - factor[k, 1, i] * r1 - factor[k, 2, i] * r2
                variance += r * r * factor[k, 0, i]
                r2 = r1
                r1 = r
            self.mean[first + k] = (
                z + (1.0 - w) * self.curve_mean[k, j] + w * self.curve_mean[k, j + 1]
            )
            self.said[first + k] = _inside(
                _sigmoid(self.mean[first + k] / math.sqrt(1.0 + PROBIT * variance))
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _teach(self, z: cython.double, y: cython.double, weight: cython.double) -> cython.void:
        """Let lines and curves forget, then take one Newton step of their posteriors."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        c: cython.Py_ssize_t
        j: cython.Py_ssize_t = _cell(self.knots, z)
        w: cython.double = _right_share(self.knots, j, z)
        g: cython.double
        e: cython.double
        h: cython.double
        r: cython.double
        first: cython.Py_ssize_t = 2 + self.n_lines
        precision: cython.double[:, ::1]
        prior: cython.const[cython.double][:, ::1]
        shift: cython.double[::1]
        for k in range(self.n_lines):
            g = self.line_memory[k]
            e = _sigmoid(self.mean[2 + k])
            h = weight * e * (1.0 - e)
            r = h * (self.mean[2 + k] - z) + weight * (y - e)
            self.line_shift[k, 0] = g * self.line_shift[k, 0] + r
            self.line_shift[k, 1] = g * self.line_shift[k, 1] + r * z
            self.line_precision[k, 0] = (
                g * self.line_precision[k, 0] + (1.0 - g) * self.line_prior[k, 0] + h
            )
            self.line_precision[k, 1] = g * self.line_precision[k, 1] + h * z
            self.line_precision[k, 2] = (
                g * self.line_precision[k, 2] + (1.0 - g) * self.line_prior[k, 2] + h * z * z
            )
        for k in range(self.n_curves):
            g = self.curve_memory[k]
            e = _sigmoid(self.mean[first + k])
            h = weight * e * (1.0 - e)
            r = h * (self.mean[first + k] - z) + weight * (y - e)
            precision = self.curve_precision[k]
            shift = self.curve_shift[k]
            if g < 1.0:
                prior = self.curve_prior[k]
                for i in range(self.knots.shape[0]):
                    shift[i] *= g
                for c in range(3):
                    for i in range(self.knots.shape[0]):
                        precision[c, i] = g * precision[c, i] + (1.0 - g) * prior[c, i]
            shift[j] += r * (1.0 - w)
            shift[j + 1] += r * w
            precision[0, j] += h * (1.0 - w) * (1.0 - w)
            precision[1, j] += h * w * (1.0 - w)
            precision[0, j + 1] += h * w * w
            self._factorize(k)

    # The mixture ---------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _mix(self) -> cython.double:
        """What the mixtures say, and the mean of them."""
        a: cython.Py_ssize_t
        k: cython.Py_ssize_t
        q: cython.double = 0.0
        sum_: cython.double
        for a in range(self.shares.shape[0]):
            sum_ = 0.0
            for k in range(self.n_experts):
                sum_ += self.weights[a, k] * self.said[k]
            self.mixture_said[a] = sum_
            q += self.mixtures[a] * sum_
        return q

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _judge(self, y: cython.double, weight: cython.double) -> cython.void:
        """Multiply weights by what each expert gave the label; then a share of each is dealt anew.

        Sums are taken anew in every row, so rounding does not accumulate. A weight never reaches
        0: an expert that was wrong for long can still return.
        """
        a: cython.Py_ssize_t
        k: cython.Py_ssize_t
        given: cython.double
        for k in range(self.n_experts):
            given = self.said[k] if y == 1.0 else 1.0 - self.said[k]
            self.loss[k] -= weight * math.log(given)
            self.given[k] = given if weight == 1.0 else math.pow(given, weight)
        for a in range(self.shares.shape[0]):
            self._deal_weights(a)
            given = self.mixture_said[a] if y == 1.0 else 1.0 - self.mixture_said[a]
            if weight != 1.0:
                given = math.pow(given, weight)
            self.mixtures[a] = max(self.mixtures[a] * given, LEAST)
        self._deal_mixtures()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _deal_weights(self, a: cython.Py_ssize_t) -> cython.void:
        """Multiply the weights of mixture a by ``given``, and deal its share anew."""
        k: cython.Py_ssize_t
        total: cython.double = 0.0
        share: cython.double
        for k in range(self.n_experts):
            self.weights[a, k] *= self.given[k]
            total += self.weights[a, k]
        share = (1.0 - self.shares[a]) / total
        for k in range(self.n_experts):
            self.weights[a, k] = max(
                share * self.weights[a, k] + self.shares[a] * self.prior[k], LEAST
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _deal_mixtures(self) -> cython.void:
        a: cython.Py_ssize_t
        sum_: cython.double = 0.0
        for a in range(self.shares.shape[0]):
            sum_ += self.mixtures[a]
        for a in range(self.shares.shape[0]):
            self.mixtures[a] /= sum_

    # The stakes ----------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _tracked(
        self, v: cython.double, j: cython.Py_ssize_t, w: cython.double, ridge: cython.double
    ) -> cython.double:
        """The forecast σ(v), corrected by the mean residuals near it."""
        shift: cython.double = (1.0 - w) * self.track[0, j] / (self.track[1, j] + ridge)
        shift += w * self.track[0, j + 1] / (self.track[1, j + 1] + ridge)
        return _sigmoid(v + min(max(shift, -FARTHEST), FARTHEST))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _pull(self, v: cython.double, q: cython.double) -> cython.double:
        """What all together would add to the forecast σ(v); they bet on the side of its sign."""
        i: cython.Py_ssize_t
        p: cython.double = _sigmoid(v)
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_share(self.places, j, v)
        near: cython.double = (1.0 - w) * self.pull_of[j] + w * self.pull_of[j + 1]
        pull: cython.double = self.clock[MIXTURE_STAKE] * (q - p)
        pull += p * (1.0 - p) * (self.pull_of[self.places.shape[0]] + near)
        for i in range(self.ridges.shape[0]):
            pull += self.trackers[i] * (self._tracked(v, j, w, self.ridges[i]) - p)
        return pull

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fair(self, q: cython.double) -> cython.double:
        """Log-odds of the forecast nearest to q, on the side of the pull, where the pull is 0.

        Found cell by cell, so that it never falls as q rises; inside a cell by false position
        (Illinois), which keeps its bracket.
        """
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.places.shape[0]
        sum_: cython.double
        v: cython.double
        e: cython.double
        x: cython.double
        at_v: cython.double
        at_e: cython.double
        at_x: cython.double
        up: cython.bint
        for b in range(n + 1):
            sum_ = 0.0
            for i in range(self.bets.shape[0]):
                sum_ += self.stakes[b, i] * self.bets[i]
            self.pull_of[b] = sum_
        v = math.log(q / (1.0 - q))
        at_v = self._pull(v, q)
        up = at_v > 0.0
        # The first place beyond v, on the side of the pull.
        b = _cell(self.places, v)
        if up:
            while b < n and self.places[b] <= v:
                b += 1
        else:
            b += 1
            while b >= 0 and self.places[b] >= v:
                b -= 1
        while True:
            e = self.places[b] if 0 <= b < n else (END if up else -END)
            at_e = self._pull(e, q)
            if (at_e > 0.0) != up:
                break
            if not 0 <= b < n:
                return e
            v = e
            at_v = at_e
            b += 1 if up else -1
        for _ in range(60):
            x = (v * at_e - e * at_v) / (at_e - at_v) if at_e != at_v else v
            at_x = self._pull(x, q)
            if abs(at_x) < 1e-14 or abs(e - v) < 1e-11:
                return x
            if (at_x > 0.0) == (at_e > 0.0):
                at_v *= 0.5
            else:
                v = e
                at_v = at_e
            e = x
            at_e = at_x
        return e

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _settle(
        self, v: cython.double, q: cython.double, y: cython.double, weight: cython.double
    ) -> cython.void:
        """Pay the mixture, the trackers and the bets for the forecast σ(v); then count residuals.

        ``tracked`` holds what the trackers said. Gains are raised to the power of the weight.
        """
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        f: cython.double = _sigmoid(v)
        given: cython.double = f if y == 1.0 else 1.0 - f
        off: cython.double = y - f
        ratio: cython.double
        phi: cython.double
        total: cython.double
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_share(self.places, j, v)
        last: cython.Py_ssize_t = self.places.shape[0]
        ratio = (q if y == 1.0 else 1.0 - q) / given
        self.clock[MIXTURE_STAKE] *= ratio if weight == 1.0 else math.pow(ratio, weight)
        total = self.clock[MIXTURE_STAKE]
        for i in range(self.ridges.shape[0]):
            ratio = (self.tracked[i] if y == 1.0 else 1.0 - self.tracked[i]) / given
            self.trackers[i] *= ratio if weight == 1.0 else math.pow(ratio, weight)
            total += self.trackers[i]
        for b in range(last + 1):
            phi = 1.0 if b == last else 1.0 - w if b == j else w if b == j + 1 else 0.0
            if phi > 0.0:
                for i in range(self.bets.shape[0]):
                    ratio = 1.0 + self.bets[i] * phi * off
                    self.stakes[b, i] *= ratio if weight == 1.0 else math.pow(ratio, weight)
                self.squares[b] += weight * phi * phi * off * off
                self.mass[b] += weight * phi
                self.residual[b] += weight * phi * off
            for i in range(self.bets.shape[0]):
                total += self.stakes[b, i]
        self._deal_stakes(total)
        self.track[0, j] += weight * (1.0 - w) * off
        self.track[0, j + 1] += weight * w * off
        self.track[1, j] += weight * (1.0 - w) * f * (1.0 - f)
        self.track[1, j + 1] += weight * w * f * (1.0 - f)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _deal_stakes(self, total: cython.double) -> cython.void:
        """Divide stakes by their total, and deal a share anew."""
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.places.shape[0]
        share: cython.double = 1.0 / (self.clock[GENERATIONS] + self.patience)
        keep: cython.double = (1.0 - share) / total
        self.clock[MIXTURE_STAKE] = keep * self.clock[MIXTURE_STAKE] + share * (
            1.0
            - self.bet_stake * self.bets.shape[0] * (last + 1)
            - self.tracker_stake * self.ridges.shape[0]
        )
        for i in range(self.ridges.shape[0]):
            self.trackers[i] = keep * self.trackers[i] + share * self.tracker_stake
        for b in range(last + 1):
            for i in range(self.bets.shape[0]):
                self.stakes[b, i] = keep * self.stakes[b, i] + share * self.bet_stake

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _shrink(self) -> cython.void:
        """After many generations t, the smallest bets are 1/√t."""
        i: cython.Py_ssize_t = self.bets.shape[0] // 2
        if self.clock[GENERATIONS] > MANY:
            self.bets[i] = self.smallest_bet * math.sqrt(MANY / self.clock[GENERATIONS])
            self.bets[i - 1] = -self.bets[i]

    # Generations: rows that were forecast from the same weights and stakes -----------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _note(
        self, v: cython.double, q: cython.double, y: cython.double, weight: cython.double
    ) -> cython.void:
        """Add a row to the sums of the open generation; ``said`` and ``tracked`` are as asked."""
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        b: cython.Py_ssize_t
        f: cython.double = _sigmoid(v)
        given: cython.double = f if y == 1.0 else 1.0 - f
        off: cython.double = y - f
        said: cython.double
        phi: cython.double
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_share(self.places, j, v)
        last: cython.Py_ssize_t = self.places.shape[0]
        self.open_clock[ANSWERED] += 1.0
        self.open_clock[OPEN_LOSS] -= weight * math.log(given)
        self.open_clock[OPEN_GAIN] += weight * math.log((q if y == 1.0 else 1.0 - q) / given)
        for k in range(self.n_experts):
            said = self.said[k] if y == 1.0 else 1.0 - self.said[k]
            self.open_experts[k] += weight * math.log(said)
        for a in range(self.shares.shape[0]):
            said = self.mixture_said[a] if y == 1.0 else 1.0 - self.mixture_said[a]
            self.open_mixtures[a] += weight * math.log(said)
        for i in range(self.ridges.shape[0]):
            said = self.tracked[i] if y == 1.0 else 1.0 - self.tracked[i]
            self.open_trackers[i] += weight * math.log(said / given)
        for b in range(last + 1):
            phi = 1.0 if b == last else 1.0 - w if b == j else w if b == j + 1 else 0.0
            if phi > 0.0:
                for i in range(self.bets.shape[0]):
                    self.open_stakes[b, i] += weight * math.log1p(self.bets[i] * phi * off)
                self.open_residual[b] += weight * phi * off
                self.open_squares[b] += weight * phi * phi * off * off
                self.open_mass[b] += weight * phi

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _note_residual(
        self, v: cython.double, y: cython.double, weight: cython.double
    ) -> cython.void:
        """Let the trackers see a residual when the open generation is closed."""
        f: cython.double = _sigmoid(v)
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_share(self.places, j, v)
        self.open_track[0, j] += weight * (1.0 - w) * (y - f)
        self.open_track[0, j + 1] += weight * w * (y - f)
        self.open_track[1, j] += weight * (1.0 - w) * f * (1.0 - f)
        self.open_track[1, j + 1] += weight * w * f * (1.0 - f)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _close(self) -> cython.void:
        """Pay everybody for the open generation of n rows: gains are raised to the power 1/n.

        Mixtures that switch take the gains of their experts unchanged (``docs/online.md``).
        """
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        b: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.places.shape[0]
        each: cython.double
        most: cython.double
        total: cython.double
        if self.open_clock[ANSWERED] > 0.0:
            each = 1.0 / self.open_clock[ANSWERED]
            self.clock[GENERATIONS] += 1.0
            self.clock[LOSS] += each * self.open_clock[OPEN_LOSS]
            self.clock[MIXTURE_LOSS] += each * (
                self.open_clock[OPEN_LOSS] - self.open_clock[OPEN_GAIN]
            )
            most = self.open_clock[OPEN_GAIN]
            for i in range(self.ridges.shape[0]):
                most = max(most, self.open_trackers[i])
            for b in range(last + 1):
                for i in range(self.bets.shape[0]):
                    most = max(most, self.open_stakes[b, i])
            self.clock[MIXTURE_STAKE] *= math.exp(each * (self.open_clock[OPEN_GAIN] - most))
            total = self.clock[MIXTURE_STAKE]
            for i in range(self.ridges.shape[0]):
                self.trackers[i] *= math.exp(each * (self.open_trackers[i] - most))
                total += self.trackers[i]
            for b in range(last + 1):
                for i in range(self.bets.shape[0]):
                    self.stakes[b, i] *= math.exp(each * (self.open_stakes[b, i] - most))
                    total += self.stakes[b, i]
                self.residual[b] += each * self.open_residual[b]
                self.squares[b] += each * self.open_squares[b]
                self.mass[b] += each * self.open_mass[b]
            self._deal_stakes(total)
            most = self.open_experts[0]
            for k in range(self.n_experts):
                self.loss[k] -= each * self.open_experts[k]
                if self.prior[k] > 0.0:
                    most = max(most, self.open_experts[k])
            for a in range(self.shares.shape[0]):
                for k in range(self.n_experts):
                    self.given[k] = max(
                        math.exp(
                            min(self.open_experts[k] - most, 0.0)
                            * (1.0 if self.shares[a] > 0.0 else each)
                        ),
                        LEAST,
                    )
                self._deal_weights(a)
            most = self.open_mixtures[0]
            for a in range(self.shares.shape[0]):
                most = max(most, self.open_mixtures[a])
            for a in range(self.shares.shape[0]):
                self.mixtures[a] = max(
                    self.mixtures[a] * math.exp(each * (self.open_mixtures[a] - most)), LEAST
                )
            self._deal_mixtures()
            self._shrink()
        for b in range(last):
            self.track[0, b] += self.open_track[0, b]
            self.track[1, b] += self.open_track[1, b]
        self.open_clock[:] = 0.0
        self.open_experts[:] = 0.0
        self.open_mixtures[:] = 0.0
        self.open_trackers[:] = 0.0
        self.open_stakes[:, :] = 0.0
        self.open_residual[:] = 0.0
        self.open_squares[:] = 0.0
        self.open_mass[:] = 0.0
        self.open_track[:, :] = 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _close_if_due(self, asking: cython.bint) -> cython.void:
        """Close the open generation if all its rows are answered or, before a new row, half."""
        asked: cython.double = self.open_clock[ASKED]
        answered: cython.double = self.open_clock[ANSWERED]
        if answered == asked or (asking and 2.0 * answered >= asked):
            self._close()

    # One row -------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _track(self, v: cython.double) -> cython.void:
        """What the trackers say, given the forecast σ(v)."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_share(self.places, j, v)
        for i in range(self.ridges.shape[0]):
            self.tracked[i] = self._tracked(v, j, w, self.ridges[i])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _count(self, weight: cython.double) -> cython.void:
        self.clock[ROWS] += 1.0
        self.clock[WEIGHT] += weight
        self.clock[MOST_WEIGHT] = max(self.clock[MOST_WEIGHT], weight)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _forecast_and_learn(
        self, z: cython.double, score: cython.double, y: cython.double, weight: cython.double
    ) -> cython.double:
        q: cython.double
        v: cython.double
        if weight > 0.0 and self.open_clock[ASKED] > 0.0:
            self._close_if_due(True)
        self._consult(z, score)
        q = self._mix()
        v = self._fair(q)
        if weight > 0.0:
            self._track(v)
            self._count(weight)
            if self.open_clock[ASKED] == 0.0 and weight <= LARGEST_POWER:
                # A generation of one row, without logarithms.
                self.clock[GENERATIONS] += 1.0
                self.clock[LOSS] += weight * math.log1p(math.exp(-v if y == 1.0 else v))
                self.clock[MIXTURE_LOSS] -= weight * math.log(q if y == 1.0 else 1.0 - q)
                self._settle(v, q, y, weight)
                self._judge(y, weight)
                self._shrink()
            else:
                self.open_clock[ASKED] += 1.0
                self._note(v, q, y, weight)
                self._note_residual(v, y, weight)
                self._close_if_due(False)
            self._teach(z, y, weight)
        return _sigmoid(v)

    # What callers use: z are log-odds of the center, ``score`` those of the score ----------------

    @cython.ccall
    def forecast_one(self, z: cython.double, score: cython.double) -> cython.double:
        """The forecast of one row; the state does not change."""
        self._consult(z, score)
        return _sigmoid(self._fair(self._mix()))

    @cython.ccall
    def learn_one(
        self, z: cython.double, score: cython.double, y: cython.double, weight: cython.double
    ) -> cython.double:
        """Learn from one row, and return its forecast before the label was used."""
        return self._forecast_and_learn(z, score, y, weight)

    def forecast(
        self, z: cython.const[cython.double][::1], score: cython.const[cython.double][::1],
        out: cython.double[::1],
    ) -> None:  # fmt: skip
        """Write the forecast of each row into ``out``; the state does not change."""
        i: cython.Py_ssize_t
        with cython.nogil:
            for i in range(z.shape[0]):
                self._consult(z[i], score[i])
                out[i] = _sigmoid(self._fair(self._mix()))

    def learn(
        self, z: cython.const[cython.double][::1], score: cython.const[cython.double][::1],
        y: cython.const[cython.double][::1], weight: cython.const[cython.double][::1],
        out: cython.double[::1],
    ) -> None:  # fmt: skip
        """Learn from rows in their order; ``out`` gets the forecast of each before its label.

        A row of weight 0 is forecast and not learned.
        """
        i: cython.Py_ssize_t
        with cython.nogil:
            for i in range(z.shape[0]):
                out[i] = self._forecast_and_learn(z[i], score[i], y[i], weight[i])

    def ask(
        self, z: cython.const[cython.double][::1], score: cython.const[cython.double][::1],
        told: cython.float[::1], codes: cython.short[:, ::1],
    ) -> None:  # fmt: skip
        """Forecast rows whose labels come later: log-odds, and in ``codes`` what experts said.

        A code c stands for z + sinh(0.004·c)/60, exact to 0.00004 near z and to 0.2% far from it.
        Experts are taken at their codes, so that the forecast can be judged exactly.
        """
        i: cython.Py_ssize_t
        with cython.nogil:
            if z.shape[0] > 0 and self.open_clock[ASKED] > 0.0:
                self._close_if_due(True)
            for i in range(z.shape[0]):
                self._consult(z[i], score[i])
                self._encode(z[i], codes[i])
                told[i] = cython.cast(cython.float, self._fair(self._mix()))
                self.open_clock[ASKED] += 1.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _encode(self, z: cython.double, codes: cython.short[::1]) -> cython.void:
        """Write what lines and curves said as codes, and take them at their codes."""
        k: cython.Py_ssize_t
        for k in range(self.n_experts - 2):
            codes[k] = _code(self.said[2 + k], z)
        self._decode(z, codes)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _decode(self, z: cython.double, codes: cython.const[cython.short][::1]) -> cython.void:
        k: cython.Py_ssize_t
        for k in range(self.n_experts - 2):
            self.said[2 + k] = _inside(_decoded(codes[k], z))

    def learn_late(
        self, z: cython.double, score: cython.double, y: cython.double, weight: cython.double,
        told: cython.double, codes: cython.const[cython.short][::1], judged: cython.bint,
    ) -> None:  # fmt: skip
        """Learn from a row that was asked; if it is ``judged``, everybody answers for it.

        A row is judged if its generation is still open. Otherwise only experts and trackers learn.
        """
        q: cython.double
        with cython.nogil:
            self._consult(z, score)
            self._count(weight)
            if judged:
                self._decode(z, codes)
                q = self._mix()
                self._track(told)
                self._note(told, q, y, weight)
            self._note_residual(told, y, weight)
            self._teach(z, y, weight)
            self._close_if_due(False)

    def give_up(self) -> None:
        """Take a row that will not be answered out of the open generation."""
        self.open_clock[ASKED] -= 1.0
        self._close_if_due(False)
