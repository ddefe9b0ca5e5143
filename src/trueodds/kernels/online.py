"""Calibration of a stream: experts that forget, switching mixtures of them, and fair stakes.

``docs/online.md`` has the formulas and proofs. The cost of a row does not depend on earlier rows.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

__all__ = ["OnlineState", "clipped_log_odds", "clipped_log_odds_into"]

# Indices of ``clock``.
ROWS = cython.declare(cython.int, 0)
LOSS = cython.declare(cython.int, 1)
MIXTURE_LOSS = cython.declare(cython.int, 2)
MIXTURE_STAKE = cython.declare(cython.int, 3)
WEIGHT = cython.declare(cython.int, 4)
MOST_WEIGHT = cython.declare(cython.int, 5)
GENERATIONS = cython.declare(cython.int, 6)

# Indices of ``open_clock``, for the generation that is still open.
ASKED = cython.declare(cython.int, 0)
ANSWERED = cython.declare(cython.int, 1)
OPEN_LOSS = cython.declare(cython.int, 2)
OPEN_GAIN = cython.declare(cython.int, 3)  # of the mixture over the forecast

MIN_PROBABILITY = cython.declare(cython.double, 1e-6)  # of an expert's forecast
MAX_FORECAST_LOG_ODDS = cython.declare(cython.double, 30.0)  # of the final forecast
MIN_WEIGHT = cython.declare(cython.double, 1e-300)  # positive, so that an expert can recover
PROBIT_FACTOR = cython.declare(
    cython.double, 0.3927
)  # π/8, in the mean of σ over a normal (MacKay 1992)
MAX_CORRECTION = cython.declare(cython.double, 2.0)  # of log-odds by a tracker
CODE_STEP = cython.declare(cython.double, 0.004)
CODE_UNIT = cython.declare(cython.double, 60.0)
MAX_CODE = cython.declare(cython.double, 2047.0)
MAX_PROBABILITY = cython.declare(cython.double, 0.999999)
MAX_LOG_ODDS = cython.declare(cython.double, 13.815509557963773)  # of MAX_PROBABILITY
MAX_DIRECT_WEIGHT = cython.declare(
    cython.double, 16.0
)  # of a row whose gains are multiplied without logarithms
SHRINK_AFTER = cython.declare(
    cython.double, 1e8
)  # generations after which the smallest bets shrink


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _sigmoid(v: cython.double) -> cython.double:
    return 1.0 / (1.0 + math.exp(-v))


@cython.ccall
@cython.exceptval(check=False)
def clipped_log_odds(score: cython.double, is_probability: cython.bint) -> cython.double:
    """Return the log-odds of a score, clipped to ±MAX_LOG_ODDS; other scores are only clipped."""
    if not is_probability:
        return min(max(score, -MAX_LOG_ODDS), MAX_LOG_ODDS)
    return (
        -MAX_LOG_ODDS
        if score <= MIN_PROBABILITY
        else MAX_LOG_ODDS
        if score >= MAX_PROBABILITY
        else math.log(score / (1.0 - score))
    )


def clipped_log_odds_into(
    scores: cython.const[cython.double][::1], is_probability: cython.bint, out: cython.double[::1]
) -> None:
    """Write :func:`clipped_log_odds` of each score into ``out``."""
    i: cython.Py_ssize_t
    for i in range(scores.shape[0]):
        out[i] = clipped_log_odds(scores[i], is_probability)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _clip_probability(p: cython.double) -> cython.double:
    return min(max(p, MIN_PROBABILITY), MAX_PROBABILITY)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _encoded_probability(p: cython.double, z: cython.double) -> cython.short:
    """Return a code of 12 bits for the distance of a forecast from log-odds z."""
    code: cython.double = math.asinh(CODE_UNIT * (math.log(p / (1.0 - p)) - z)) / CODE_STEP
    return cython.cast(cython.short, math.floor(min(max(code, -MAX_CODE), MAX_CODE) + 0.5))


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _decoded_probability(code: cython.short, z: cython.double) -> cython.double:
    return _sigmoid(z + math.sinh(CODE_STEP * code) / CODE_UNIT)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _cell(knots: cython.const[cython.double][::1], v: cython.double) -> cython.Py_ssize_t:
    """Return the cell of v: the number of inner knots below it."""
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
def _right_weight(
    knots: cython.const[cython.double][::1], j: cython.Py_ssize_t, v: cython.double
) -> cython.double:
    """Return the weight of the right end of cell j in a linear interpolation at v."""
    return min(max((v - knots[j]) / (knots[j + 1] - knots[j]), 0.0), 1.0)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _place_weight(b: cython.Py_ssize_t, j: cython.Py_ssize_t, w: cython.double) -> cython.double:
    """Return the weight φ of place b for a forecast in cell j with right weight w."""
    return 1.0 - w if b == j else w if b == j + 1 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _label_probability(p: cython.double, y: cython.double) -> cython.double:
    """Return the probability of label y if that of 1 is p."""
    return p if y == 1.0 else 1.0 - p


@cython.final
@cython.cclass
class OnlineState:
    """The state that is learned from a stream of two classes, as arrays that the caller owns.

    Parameters
    ----------
    settings : dict of float64 arrays
        Constants, see ``trueodds.online._settings``.
    arrays : dict of float64 arrays
        The state, which is updated in place. The arrays are replaced by views of one block.

    A forecast from a state without finite experts is NaN. :meth:`is_finite` shows whether a state
    can be used after learning; otherwise :meth:`restore` returns to the one of :meth:`keep`.
    """

    knots: cython.const[cython.double][::1]
    places: cython.const[cython.double][::1]
    bets: cython.double[::1]
    ridges: cython.const[cython.double][::1]
    switch_rates: cython.const[cython.double][::1]
    prior: cython.const[cython.double][::1]
    line_memory: cython.const[cython.double][::1]
    line_prior: cython.const[cython.double][:, ::1]
    curve_memory: cython.const[cython.double][::1]
    curve_prior: cython.const[cython.double][:, :, ::1]
    bet_stake: cython.double
    tracker_stake: cython.double
    share_offset: cython.double
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
    numbers: cython.double[::1]  # all arrays of the state
    kept: cython.double[::1]  # the same as they were before learning
    # Derived from the arrays, or work arrays of one row.
    n_lines: cython.Py_ssize_t
    n_curves: cython.Py_ssize_t
    n_experts: cython.Py_ssize_t
    factor: cython.double[:, :, ::1]
    curve_mean: cython.double[:, ::1]
    mean: cython.double[::1]
    expert_p: cython.double[::1]
    likelihood: cython.double[::1]
    tracker_p: cython.double[::1]
    bet_sums: cython.double[::1]
    mixture_p: cython.double[::1]
    smallest_bet: cython.double

    def __init__(self, settings, arrays):
        self.knots, self.places = settings["knots"], settings["places"]
        self.bets, self.ridges = settings["bets"].copy(), settings["ridges"]
        self.switch_rates, self.prior = settings["switch_rates"], settings["prior"]
        self.line_memory, self.line_prior = settings["line_memory"], settings["line_prior"]
        self.curve_memory, self.curve_prior = settings["curve_memory"], settings["curve_prior"]
        self.bet_stake, self.tracker_stake = settings["bet_stake"], settings["tracker_stake"]
        self.share_offset = settings["share_offset"]
        numbers = np.concatenate([np.ravel(array) for array in arrays.values()])
        self.numbers, self.kept = numbers, numbers.copy()
        begin: cython.Py_ssize_t = 0
        for name, array in arrays.items():
            arrays[name] = numbers[begin : begin + array.size].reshape(array.shape)
            begin += array.size
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
        self.mean, self.expert_p = np.zeros(self.n_experts), np.zeros(self.n_experts)
        self.likelihood, self.tracker_p = np.zeros(self.n_experts), np.zeros(len(self.ridges))
        self.bet_sums = np.zeros(len(self.places) + 1)
        self.mixture_p = np.zeros(len(self.switch_rates))
        self._derive()

    # All or nothing ------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _derive(self) -> cython.void:
        """Compute what is derived from the arrays."""
        k: cython.Py_ssize_t
        for k in range(self.n_curves):
            self._factorize(k)
        self._shrink_bets()

    @cython.ccall
    def keep(self) -> cython.void:
        """Keep the state, for :meth:`restore`."""
        i: cython.Py_ssize_t
        for i in range(self.numbers.shape[0]):  # faster than an assignment of slices
            self.kept[i] = self.numbers[i]

    @cython.ccall
    def restore(self) -> cython.void:
        """Return to the state that was kept."""
        self.numbers[:] = self.kept
        self._derive()

    @cython.ccall
    def is_finite(self) -> cython.bint:
        """Whether all numbers of the state are finite."""
        i: cython.Py_ssize_t
        bad: cython.int = 0
        for i in range(self.numbers.shape[0]):
            bad |= self.numbers[i] - self.numbers[i] != 0.0
        return bad == 0

    # The experts ---------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _factorize(self, k: cython.Py_ssize_t) -> cython.void:
        """Factorize the pentadiagonal precision of curve k, L·D·Lᵀ (1/D in row 0); set its mean."""
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
    def _forecast_experts(self, z: cython.double, score: cython.double) -> cython.void:
        """Set the mean log-odds of each expert, and its probability averaged over its posterior."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t = _cell(self.knots, z)
        w: cython.double = _right_weight(self.knots, j, z)
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
        self.expert_p[0] = _clip_probability(_sigmoid(z))
        self.mean[1] = score
        self.expert_p[1] = _clip_probability(_sigmoid(score))
        for k in range(self.n_lines):
            a = precision[k, 0]
            b = precision[k, 1]
            c = precision[k, 2]
            inverse = 1.0 / (a * c - b * b)
            self.mean[2 + k] = z + inverse * (
                c * shift[k, 0] - b * shift[k, 1] + z * (a * shift[k, 1] - b * shift[k, 0])
            )
            variance = inverse * (c - 2.0 * b * z + a * z * z)
            self.expert_p[2 + k] = _clip_probability(
                _sigmoid(self.mean[2 + k] / math.sqrt(1.0 + PROBIT_FACTOR * variance))
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
            self.expert_p[first + k] = _clip_probability(
                _sigmoid(self.mean[first + k] / math.sqrt(1.0 + PROBIT_FACTOR * variance))
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _update_experts(
        self, z: cython.double, y: cython.double, weight: cython.double
    ) -> cython.void:
        """Discount the posteriors of lines and curves, then take one Newton step of each."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        c: cython.Py_ssize_t
        j: cython.Py_ssize_t = _cell(self.knots, z)
        w: cython.double = _right_weight(self.knots, j, z)
        g: cython.double
        p: cython.double
        h: cython.double
        r: cython.double
        first: cython.Py_ssize_t = 2 + self.n_lines
        precision: cython.double[:, ::1]
        prior: cython.const[cython.double][:, ::1]
        shift: cython.double[::1]
        for k in range(self.n_lines):
            g = self.line_memory[k]
            p = _sigmoid(self.mean[2 + k])
            h = weight * p * (1.0 - p)
            r = h * (self.mean[2 + k] - z) + weight * (y - p)
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
            p = _sigmoid(self.mean[first + k])
            h = weight * p * (1.0 - p)
            r = h * (self.mean[first + k] - z) + weight * (y - p)
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
        """Set the forecasts of the mixtures, and return their weighted mean."""
        a: cython.Py_ssize_t
        k: cython.Py_ssize_t
        q: cython.double = 0.0
        total: cython.double
        for a in range(self.switch_rates.shape[0]):
            total = 0.0
            for k in range(self.n_experts):
                total += self.weights[a, k] * self.expert_p[k]
            self.mixture_p[a] = total
            q += self.mixtures[a] * total
        return q

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _update_weights(self, y: cython.double, weight: cython.double) -> cython.void:
        """Multiply the weights by the probability of the label; then apply fixed share.

        Sums are computed in every row, so rounding does not accumulate. A weight never reaches 0,
        so an expert that was wrong for long can recover.
        """
        a: cython.Py_ssize_t
        k: cython.Py_ssize_t
        likelihood: cython.double
        for k in range(self.n_experts):
            likelihood = _label_probability(self.expert_p[k], y)
            self.loss[k] -= weight * math.log(likelihood)
            self.likelihood[k] = likelihood if weight == 1.0 else math.pow(likelihood, weight)
        for a in range(self.switch_rates.shape[0]):
            self._fixed_share(a)
            likelihood = _label_probability(self.mixture_p[a], y)
            if weight != 1.0:
                likelihood = math.pow(likelihood, weight)
            self.mixtures[a] = max(self.mixtures[a] * likelihood, MIN_WEIGHT)
        self._normalize_mixtures()

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fixed_share(self, a: cython.Py_ssize_t) -> cython.void:
        """Multiply the weights of mixture a by ``likelihood``; mix a share of the prior in."""
        k: cython.Py_ssize_t
        total: cython.double = 0.0
        share: cython.double
        for k in range(self.n_experts):
            self.weights[a, k] *= self.likelihood[k]
            total += self.weights[a, k]
        share = (1.0 - self.switch_rates[a]) / total
        for k in range(self.n_experts):
            self.weights[a, k] = max(
                share * self.weights[a, k] + self.switch_rates[a] * self.prior[k], MIN_WEIGHT
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _normalize_mixtures(self) -> cython.void:
        a: cython.Py_ssize_t
        total: cython.double = 0.0
        for a in range(self.switch_rates.shape[0]):
            total += self.mixtures[a]
        for a in range(self.switch_rates.shape[0]):
            self.mixtures[a] /= total

    # The stakes ----------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _tracker_forecast(
        self, v: cython.double, j: cython.Py_ssize_t, w: cython.double, ridge: cython.double
    ) -> cython.double:
        """Return the forecast σ(v), corrected by the mean residuals near it."""
        shift: cython.double = (1.0 - w) * self.track[0, j] / (self.track[1, j] + ridge)
        shift += w * self.track[0, j + 1] / (self.track[1, j + 1] + ridge)
        return _sigmoid(v + min(max(shift, -MAX_CORRECTION), MAX_CORRECTION))

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _imbalance(self, v: cython.double, q: cython.double) -> cython.double:
        """Return Σ stake·(r − σ(v)) over all participants, where r is what each forecasts."""
        i: cython.Py_ssize_t
        p: cython.double = _sigmoid(v)
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_weight(self.places, j, v)
        local_sum: cython.double = (1.0 - w) * self.bet_sums[j] + w * self.bet_sums[j + 1]
        imbalance: cython.double = self.clock[MIXTURE_STAKE] * (q - p)
        imbalance += p * (1.0 - p) * (self.bet_sums[self.places.shape[0]] + local_sum)
        for i in range(self.ridges.shape[0]):
            imbalance += self.trackers[i] * (self._tracker_forecast(v, j, w, self.ridges[i]) - p)
        return imbalance

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _fair_forecast(self, q: cython.double) -> cython.double:
        """Return the log-odds of the zero of the imbalance nearest to q, on the side of its sign.

        The search goes cell by cell, so that the result is non-decreasing in q. Inside a cell it is
        false position (Illinois), which keeps its bracket.
        """
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.places.shape[0]
        total: cython.double
        v: cython.double
        bracket_end: cython.double
        x: cython.double
        at_v: cython.double
        at_e: cython.double
        at_x: cython.double
        up: cython.bint
        for b in range(n + 1):
            total = 0.0
            for i in range(self.bets.shape[0]):
                total += self.stakes[b, i] * self.bets[i]
            self.bet_sums[b] = total
        v = math.log(q / (1.0 - q))
        at_v = self._imbalance(v, q)
        if at_v != at_v:  # the search below would end at the smallest probability
            return at_v
        up = at_v > 0.0
        # The first place beyond v, on the side of the imbalance.
        b = _cell(self.places, v)
        if up:
            while b < n and self.places[b] <= v:
                b += 1
        else:
            b += 1
            while b >= 0 and self.places[b] >= v:
                b -= 1
        while True:
            if 0 <= b < n:
                bracket_end = self.places[b]
            else:
                bracket_end = MAX_FORECAST_LOG_ODDS if up else -MAX_FORECAST_LOG_ODDS
            at_e = self._imbalance(bracket_end, q)
            if (at_e > 0.0) != up:
                break
            if not 0 <= b < n:
                return bracket_end
            v = bracket_end
            at_v = at_e
            b += 1 if up else -1
        for _ in range(60):
            x = (v * at_e - bracket_end * at_v) / (at_e - at_v) if at_e != at_v else v
            at_x = self._imbalance(x, q)
            if abs(at_x) < 1e-14 or abs(bracket_end - v) < 1e-11:
                return x
            if (at_x > 0.0) == (at_e > 0.0):
                at_v *= 0.5
            else:
                v = bracket_end
                at_v = at_e
            bracket_end = x
            at_e = at_x
        return bracket_end

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _update_stakes(
        self, v: cython.double, q: cython.double, y: cython.double, weight: cython.double
    ) -> cython.void:
        """Multiply the stakes by their gains over the forecast σ(v); then add the residuals.

        ``tracker_p`` contains the forecasts of the trackers. Gains are raised to the power of the
        weight.
        """
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        f: cython.double = _sigmoid(v)
        likelihood: cython.double = _label_probability(f, y)
        error: cython.double = y - f
        ratio: cython.double
        phi: cython.double
        total: cython.double
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_weight(self.places, j, v)
        last: cython.Py_ssize_t = self.places.shape[0]
        ratio = _label_probability(q, y) / likelihood
        self.clock[MIXTURE_STAKE] *= ratio if weight == 1.0 else math.pow(ratio, weight)
        total = self.clock[MIXTURE_STAKE]
        for i in range(self.ridges.shape[0]):
            ratio = _label_probability(self.tracker_p[i], y) / likelihood
            self.trackers[i] *= ratio if weight == 1.0 else math.pow(ratio, weight)
            total += self.trackers[i]
        for b in range(last + 1):
            phi = 1.0 if b == last else _place_weight(b, j, w)
            if phi > 0.0:
                for i in range(self.bets.shape[0]):
                    ratio = 1.0 + self.bets[i] * phi * error
                    self.stakes[b, i] *= ratio if weight == 1.0 else math.pow(ratio, weight)
                self.squares[b] += weight * phi * phi * error * error
                self.mass[b] += weight * phi
                self.residual[b] += weight * phi * error
            for i in range(self.bets.shape[0]):
                total += self.stakes[b, i]
        self._share_stakes(total)
        self.track[0, j] += weight * (1.0 - w) * error
        self.track[0, j + 1] += weight * w * error
        self.track[1, j] += weight * (1.0 - w) * f * (1.0 - f)
        self.track[1, j + 1] += weight * w * f * (1.0 - f)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _share_stakes(self, total: cython.double) -> cython.void:
        """Divide the stakes by their total, and mix a share of the first stakes in."""
        i: cython.Py_ssize_t
        b: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.places.shape[0]
        share: cython.double = 1.0 / (self.clock[GENERATIONS] + self.share_offset)
        kept_share: cython.double = (1.0 - share) / total
        self.clock[MIXTURE_STAKE] = kept_share * self.clock[MIXTURE_STAKE] + share * (
            1.0
            - self.bet_stake * self.bets.shape[0] * (last + 1)
            - self.tracker_stake * self.ridges.shape[0]
        )
        for i in range(self.ridges.shape[0]):
            self.trackers[i] = kept_share * self.trackers[i] + share * self.tracker_stake
        for b in range(last + 1):
            for i in range(self.bets.shape[0]):
                self.stakes[b, i] = kept_share * self.stakes[b, i] + share * self.bet_stake

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _shrink_bets(self) -> cython.void:
        """After t > SHRINK_AFTER generations, decrease the smallest bets as 1/√t."""
        i: cython.Py_ssize_t = self.bets.shape[0] // 2
        if self.clock[GENERATIONS] > SHRINK_AFTER:
            self.bets[i] = self.smallest_bet * math.sqrt(SHRINK_AFTER / self.clock[GENERATIONS])
            self.bets[i - 1] = -self.bets[i]

    # Generations: rows that were forecast from the same weights and stakes -----------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add_to_generation(
        self, v: cython.double, q: cython.double, y: cython.double, weight: cython.double
    ) -> cython.void:
        """Add a row to the sums of the open generation; its forecasts are set."""
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        b: cython.Py_ssize_t
        f: cython.double = _sigmoid(v)
        likelihood: cython.double = _label_probability(f, y)
        error: cython.double = y - f
        r: cython.double
        phi: cython.double
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_weight(self.places, j, v)
        last: cython.Py_ssize_t = self.places.shape[0]
        self.open_clock[ANSWERED] += 1.0
        self.open_clock[OPEN_LOSS] -= weight * math.log(likelihood)
        self.open_clock[OPEN_GAIN] += weight * math.log(_label_probability(q, y) / likelihood)
        for k in range(self.n_experts):
            r = _label_probability(self.expert_p[k], y)
            self.open_experts[k] += weight * math.log(r)
        for a in range(self.switch_rates.shape[0]):
            r = _label_probability(self.mixture_p[a], y)
            self.open_mixtures[a] += weight * math.log(r)
        for i in range(self.ridges.shape[0]):
            r = _label_probability(self.tracker_p[i], y)
            self.open_trackers[i] += weight * math.log(r / likelihood)
        for b in range(last + 1):
            phi = 1.0 if b == last else _place_weight(b, j, w)
            if phi > 0.0:
                for i in range(self.bets.shape[0]):
                    self.open_stakes[b, i] += weight * math.log1p(self.bets[i] * phi * error)
                self.open_residual[b] += weight * phi * error
                self.open_squares[b] += weight * phi * phi * error * error
                self.open_mass[b] += weight * phi

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _add_residual(
        self, v: cython.double, y: cython.double, weight: cython.double
    ) -> cython.void:
        """Add a residual for the trackers, which use it when the open generation is closed."""
        f: cython.double = _sigmoid(v)
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_weight(self.places, j, v)
        self.open_track[0, j] += weight * (1.0 - w) * (y - f)
        self.open_track[0, j + 1] += weight * w * (y - f)
        self.open_track[1, j] += weight * (1.0 - w) * f * (1.0 - f)
        self.open_track[1, j + 1] += weight * w * f * (1.0 - f)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _close_generation(self) -> cython.void:
        """Update stakes and weights with the n rows of the open generation: gains to the power 1/n.

        Mixtures that switch use the gains of their experts unchanged (``docs/online.md``).
        """
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        k: cython.Py_ssize_t
        b: cython.Py_ssize_t
        last: cython.Py_ssize_t = self.places.shape[0]
        power: cython.double
        max_gain: cython.double
        total: cython.double
        if self.open_clock[ANSWERED] > 0.0:
            power = 1.0 / self.open_clock[ANSWERED]
            self.clock[GENERATIONS] += 1.0
            self.clock[LOSS] += power * self.open_clock[OPEN_LOSS]
            self.clock[MIXTURE_LOSS] += power * (
                self.open_clock[OPEN_LOSS] - self.open_clock[OPEN_GAIN]
            )
            max_gain = self.open_clock[OPEN_GAIN]
            for i in range(self.ridges.shape[0]):
                max_gain = max(max_gain, self.open_trackers[i])
            for b in range(last + 1):
                for i in range(self.bets.shape[0]):
                    max_gain = max(max_gain, self.open_stakes[b, i])
            self.clock[MIXTURE_STAKE] *= math.exp(power * (self.open_clock[OPEN_GAIN] - max_gain))
            total = self.clock[MIXTURE_STAKE]
            for i in range(self.ridges.shape[0]):
                self.trackers[i] *= math.exp(power * (self.open_trackers[i] - max_gain))
                total += self.trackers[i]
            for b in range(last + 1):
                for i in range(self.bets.shape[0]):
                    self.stakes[b, i] *= math.exp(power * (self.open_stakes[b, i] - max_gain))
                    total += self.stakes[b, i]
                self.residual[b] += power * self.open_residual[b]
                self.squares[b] += power * self.open_squares[b]
                self.mass[b] += power * self.open_mass[b]
            self._share_stakes(total)
            max_gain = self.open_experts[0]
            for k in range(self.n_experts):
                self.loss[k] -= power * self.open_experts[k]
                if self.prior[k] > 0.0:
                    max_gain = max(max_gain, self.open_experts[k])
            for a in range(self.switch_rates.shape[0]):
                for k in range(self.n_experts):
                    self.likelihood[k] = max(
                        math.exp(
                            min(self.open_experts[k] - max_gain, 0.0)
                            * (1.0 if self.switch_rates[a] > 0.0 else power)
                        ),
                        MIN_WEIGHT,
                    )
                self._fixed_share(a)
            max_gain = self.open_mixtures[0]
            for a in range(self.switch_rates.shape[0]):
                max_gain = max(max_gain, self.open_mixtures[a])
            for a in range(self.switch_rates.shape[0]):
                self.mixtures[a] = max(
                    self.mixtures[a] * math.exp(power * (self.open_mixtures[a] - max_gain)),
                    MIN_WEIGHT,
                )
            self._normalize_mixtures()
            self._shrink_bets()
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
        """Close the open generation if all its rows are answered, or half before a new row."""
        asked: cython.double = self.open_clock[ASKED]
        answered: cython.double = self.open_clock[ANSWERED]
        if answered == asked or (asking and 2.0 * answered >= asked):
            self._close_generation()

    # One row -------------------------------------------------------------------------------------

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _forecast_trackers(self, v: cython.double) -> cython.void:
        """Set the forecasts of the trackers, given the forecast σ(v)."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t = _cell(self.places, v)
        w: cython.double = _right_weight(self.places, j, v)
        for i in range(self.ridges.shape[0]):
            self.tracker_p[i] = self._tracker_forecast(v, j, w, self.ridges[i])

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
        self._forecast_experts(z, score)
        q = self._mix()
        v = self._fair_forecast(q)
        if weight > 0.0:
            self._forecast_trackers(v)
            self._count(weight)
            if self.open_clock[ASKED] == 0.0 and weight <= MAX_DIRECT_WEIGHT:
                # A generation of one row, without logarithms.
                self.clock[GENERATIONS] += 1.0
                self.clock[LOSS] += weight * math.log1p(math.exp(-v if y == 1.0 else v))
                self.clock[MIXTURE_LOSS] -= weight * math.log(_label_probability(q, y))
                self._update_stakes(v, q, y, weight)
                self._update_weights(y, weight)
                self._shrink_bets()
            else:
                self.open_clock[ASKED] += 1.0
                self._add_to_generation(v, q, y, weight)
                self._add_residual(v, y, weight)
                self._close_if_due(False)
            self._update_experts(z, y, weight)
        return _sigmoid(v)

    # The interface: z is the log-odds of the center, ``score`` those of the score ----------------

    @cython.ccall
    def forecast_one(self, z: cython.double, score: cython.double) -> cython.double:
        """Return the forecast of one row; the state does not change."""
        self._forecast_experts(z, score)
        return _sigmoid(self._fair_forecast(self._mix()))

    @cython.ccall
    def learn_one(
        self, z: cython.double, score: cython.double, y: cython.double, weight: cython.double
    ) -> cython.double:
        """Learn from one row, and return its forecast before the label was used.

        If the state would not be finite, nothing is learned, and NaN is returned.
        """
        p: cython.double
        self.keep()
        p = self._forecast_and_learn(z, score, y, weight)
        if self.is_finite():
            return p
        self.restore()
        return np.nan

    def forecast(
        self, z: cython.const[cython.double][::1], score: cython.const[cython.double][::1],
        out: cython.double[::1],
    ) -> bool:  # fmt: skip
        """Write the forecast of each row into ``out``; the state does not change.

        Returns whether all of them are numbers.
        """
        i: cython.Py_ssize_t
        bad: cython.int = 0
        with cython.nogil:
            for i in range(z.shape[0]):
                self._forecast_experts(z[i], score[i])
                out[i] = _sigmoid(self._fair_forecast(self._mix()))
                bad |= out[i] != out[i]
        return bad == 0

    def learn(
        self, z: cython.const[cython.double][::1], score: cython.const[cython.double][::1],
        y: cython.const[cython.double][::1], weight: cython.const[cython.double][::1],
        out: cython.double[::1],
    ) -> None:  # fmt: skip
        """Learn from rows in their order; write the forecast of each before its label into ``out``.

        A row of weight 0 is forecast and not learned.
        """
        i: cython.Py_ssize_t
        with cython.nogil:
            for i in range(z.shape[0]):
                out[i] = self._forecast_and_learn(z[i], score[i], y[i], weight[i])

    def ask(
        self, z: cython.const[cython.double][::1], score: cython.const[cython.double][::1],
        forecast_log_odds: cython.float[::1], codes: cython.short[:, ::1],
    ) -> bool:  # fmt: skip
        """Forecast rows whose labels come later: log-odds, and codes of the experts' forecasts.

        Code c means the log-odds z + sinh(0.004·c)/60, exact to 0.00004 near z and to 0.2% of
        larger distances. The forecast uses the decoded values, so that it can be scored exactly.

        Returns whether all forecasts are numbers.
        """
        i: cython.Py_ssize_t
        bad: cython.int = 0
        with cython.nogil:
            if z.shape[0] > 0 and self.open_clock[ASKED] > 0.0:
                self._close_if_due(True)
            for i in range(z.shape[0]):
                self._forecast_experts(z[i], score[i])
                self._encode(z[i], codes[i])
                forecast_log_odds[i] = cython.cast(cython.float, self._fair_forecast(self._mix()))
                bad |= forecast_log_odds[i] != forecast_log_odds[i]
                self.open_clock[ASKED] += 1.0
        return bad == 0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _encode(self, z: cython.double, codes: cython.short[::1]) -> cython.void:
        """Write the codes of lines and curves, and replace their forecasts by the decoded ones.

        NaN has no code; it stays, so that the forecast is NaN also.
        """
        k: cython.Py_ssize_t
        for k in range(self.n_experts - 2):
            if self.expert_p[2 + k] != self.expert_p[2 + k]:
                return
            codes[k] = _encoded_probability(self.expert_p[2 + k], z)
        self._decode(z, codes)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _decode(self, z: cython.double, codes: cython.const[cython.short][::1]) -> cython.void:
        k: cython.Py_ssize_t
        for k in range(self.n_experts - 2):
            self.expert_p[2 + k] = _clip_probability(_decoded_probability(codes[k], z))

    def learn_late(
        self, z: cython.double, score: cython.double, y: cython.double, weight: cython.double,
        forecast_log_odds: cython.double, codes: cython.const[cython.short][::1],
        judged: cython.bint,
    ) -> None:  # fmt: skip
        """Learn from a row that was asked.

        A row is ``judged``, and changes weights and stakes, if its generation is still open.
        Otherwise only experts and trackers learn.
        """
        q: cython.double
        with cython.nogil:
            self._forecast_experts(z, score)
            self._count(weight)
            if judged:
                self._decode(z, codes)
                q = self._mix()
                self._forecast_trackers(forecast_log_odds)
                self._add_to_generation(forecast_log_odds, q, y, weight)
            self._add_residual(forecast_log_odds, y, weight)
            self._update_experts(z, y, weight)
            self._close_if_due(False)

    def drop_row(self) -> None:
        """Remove a row that will not be answered from the open generation."""
        self.open_clock[ASKED] -= 1.0
        self._close_if_due(False)
