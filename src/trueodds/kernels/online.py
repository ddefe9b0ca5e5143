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
LONGEST_DELAY = cython.declare(cython.int, 6)

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
    bets: cython.const[cython.double][::1]
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
    variance: cython.double[::1]
    squares: cython.double[::1]
    mass: cython.double[::1]
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

    def __init__(self, settings, arrays):
        self.knots, self.places = settings["knots"], settings["places"]
        self.bets, self.ridges = settings["bets"], settings["ridges"]
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
        self.residual, self.variance = arrays["residual"], arrays["variance"]
        self.squares, self.mass = arrays["squares"], arrays["mass"]
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
    def _judge(self, y: cython.double, weight: cython.double, rate: cython.double) -> cython.void:
        """Multiply weights by what each expert gave the label; then a share of each is dealt anew.

        Sums are taken anew in every row, so rounding does not accumulate. A weight never reaches
        0: an expert that was wrong for long can still return.
        """
        a: cython.Py_ssize_t
        k: cython.Py_ssize_t
        given: cython.double
        total: cython.double
        share: cython.double
        power: cython.double = weight * rate
        sum_: cython.double = 0.0
        for k in range(self.n_experts):
            given = self.said[k] if y == 1.0 else 1.0 - self.said[k]
            self.loss[k] -= weight * math.log(given)
            self.given[k] = given if power == 1.0 else math.pow(given, power)
        for a in range(self.shares.shape[0]):
            total = 0.0
            for k in range(self.n_experts):
                self.weights[a, k] *= self.given[k]
                total += self.weights[a, k]
            share = (1.0 - self.shares[a]) / total
            for k in range(self.n_experts):
                self.weights[a, k] = max(
                    share * self.weights[a, k] + self.shares[a] * self.prior[k], LEAST
                )
            self.mixtures[a] = max(self.mixtures[a] * total, LEAST)
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
        shift: cython.double = (1.0 - w) * self.residual[j] / (self.variance[j] + ridge)
        shift += w * self.residual[j + 1] / (self.variance[j + 1] + ridge)
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
        self, v: cython.double, q: cython.double, y: cython.double, weight: cython.double,
        rate: cython.double,
    ) -> cython.void:  # fmt: skip
        """Pay the mixture, the trackers and the bets for the forecast σ(v); then count residuals.

        ``tracked`` holds what the trackers said. Gains are raised to the power weight·rate.
        """
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        f: cython.double = _sigmoid(v)
        given: cython.double = f if y == 1.0 else 1.0 - f
        off: cython.double = y - f
        ratio: cython.double
        phi: cython.double
        total: cython.double
        keep: cython.double
        power: cython.double = weight * rate
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_share(self.places, j, v)
        last: cython.Py_ssize_t = self.places.shape[0]
        share: cython.double = 1.0 / (self.clock[ROWS] + self.patience)
        ratio = (q if y == 1.0 else 1.0 - q) / given
        self.clock[MIXTURE_STAKE] *= ratio if power == 1.0 else math.pow(ratio, power)
        total = self.clock[MIXTURE_STAKE]
        for i in range(self.ridges.shape[0]):
            ratio = (self.tracked[i] if y == 1.0 else 1.0 - self.tracked[i]) / given
            self.trackers[i] *= ratio if power == 1.0 else math.pow(ratio, power)
            total += self.trackers[i]
        for b in range(last + 1):
            phi = 1.0 if b == last else 1.0 - w if b == j else w if b == j + 1 else 0.0
            if phi > 0.0:
                for i in range(self.bets.shape[0]):
                    ratio = 1.0 + self.bets[i] * phi * off
                    self.stakes[b, i] *= ratio if power == 1.0 else math.pow(ratio, power)
                self.squares[b] += weight * phi * phi * off * off
                self.mass[b] += weight * phi
            for i in range(self.bets.shape[0]):
                total += self.stakes[b, i]
        keep = (1.0 - share) / total  # the total is 1 but for rounding, if the power is 1
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
        self.residual[j] += weight * (1.0 - w) * off
        self.residual[j + 1] += weight * w * off
        self.residual[last] += weight * off
        self.variance[j] += weight * (1.0 - w) * f * (1.0 - f)
        self.variance[j + 1] += weight * w * f * (1.0 - f)

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
    def _learn(
        self, z: cython.double, y: cython.double, weight: cython.double,
        v: cython.double, q: cython.double, delay: cython.double, rate: cython.double,
    ) -> cython.void:  # fmt: skip
        """Learn from a label. ``said`` and ``tracked`` hold what was said; v and q were forecast.

        ``mean`` is of this moment: posteriors learn from where they are.
        """
        self.clock[ROWS] += 1.0
        self.clock[WEIGHT] += weight
        self.clock[MOST_WEIGHT] = max(self.clock[MOST_WEIGHT], weight)
        self.clock[LONGEST_DELAY] = max(self.clock[LONGEST_DELAY], delay)
        self.clock[LOSS] += weight * math.log1p(math.exp(-v if y == 1.0 else v))
        self.clock[MIXTURE_LOSS] -= weight * math.log(q if y == 1.0 else 1.0 - q)
        self._settle(v, q, y, weight, rate)
        self._judge(y, weight, rate)
        self._teach(z, y, weight)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _forecast_and_learn(
        self, z: cython.double, score: cython.double, y: cython.double, weight: cython.double
    ) -> cython.double:
        q: cython.double
        v: cython.double
        self._consult(z, score)
        q = self._mix()
        v = self._fair(q)
        if weight > 0.0:
            self._track(v)
            self._learn(z, y, weight, v, q, 1.0, 1.0)
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
        told: cython.double[::1], codes: cython.short[:, ::1],
    ) -> None:  # fmt: skip
        """Forecast rows whose labels come later: log-odds, and in ``codes`` what everybody said.

        The columns are lines and curves, the mixture, and trackers. A code c stands for
        z + sinh(0.004·c)/60, exact to 0.00004 near z and to 0.2% far from it.
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.n_experts - 2
        q: cython.double
        with cython.nogil:
            for i in range(z.shape[0]):
                self._consult(z[i], score[i])
                q = self._mix()
                told[i] = self._fair(q)
                self._track(told[i])
                for k in range(n):
                    codes[i, k] = _code(self.said[2 + k], z[i])
                codes[i, n] = _code(q, z[i])
                for k in range(self.ridges.shape[0]):
                    codes[i, n + 1 + k] = _code(self.tracked[k], z[i])

    def learn_late(
        self, z: cython.const[cython.double][::1], score: cython.const[cython.double][::1],
        y: cython.const[cython.double][::1], weight: cython.const[cython.double][::1],
        told: cython.const[cython.double][::1], codes: cython.const[cython.short][:, ::1],
        delay: cython.const[cython.double][::1],
    ) -> None:  # fmt: skip
        """Learn from rows that were asked: everybody answers for what was said then.

        Gains are raised to the power 1/delay: of ``delay`` rows that were forecast from the same
        weights, each counts as a part of one (``docs/online.md``).
        """
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.n_experts - 2
        q: cython.double
        with cython.nogil:
            for i in range(z.shape[0]):
                self._consult(z[i], score[i])
                for k in range(n):
                    self.said[2 + k] = _inside(_decoded(codes[i, k], z[i]))
                q = _inside(_decoded(codes[i, n], z[i]))
                for k in range(self.ridges.shape[0]):
                    self.tracked[k] = _decoded(codes[i, n + 1 + k], z[i])
                self._learn(z[i], y[i], weight[i], told[i], q, delay[i], 1.0 / delay[i])
