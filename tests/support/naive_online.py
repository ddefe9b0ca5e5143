"""A slow, obvious twin of the online calibrator's kernel: whole matrices, all experts, one row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cache

import numpy as np
import numpy.typing as npt
from scipy.optimize import brentq

Floats = npt.NDArray[np.float64]

KNOTS = np.array(
    [-12, -9, -7, -5.5, -4.5, -3.75, -3, -2.5, -2, -1.5, -1, -0.5, 0]
    + [0.5, 1, 1.5, 2, 2.5, 3, 3.75, 4.5, 5.5, 7, 9, 12],
)  # fmt: skip
PLACES = [-8, -5, -3.5, -2.5, -1.75, -1.2, -0.8, -0.4, 0, 0.4, 0.8, 1.2, 1.75, 2.5, 3.5, 5, 8]
SIZES = [0.9, 0.3, 0.1, 0.03, 0.01, 0.001, 0.0001]
BETS = np.array([-b for b in SIZES] + SIZES[::-1])
MEMORIES = [1, 0.9998, 0.999, 0.996, 0.985, 0.95]


def sigmoid(v: float) -> float:
    return 1 / (1 + math.exp(-v))


def logit(p: float) -> float:
    return math.log(p / (1 - p))


def hat(knots: Floats, v: float) -> Floats:
    """Weights of the knots at v: straight lines between them are means of their values."""
    v = min(max(v, knots[0]), knots[-1])
    right = int(np.clip(np.searchsorted(knots, v), 1, len(knots) - 1))
    found = np.zeros(len(knots))
    found[right] = (v - knots[right - 1]) / (knots[right] - knots[right - 1])
    found[right - 1] = 1 - found[right]
    return found


@cache
def at_places(v: float) -> Floats:
    return hat(np.array(PLACES, float), v)


@dataclass
class Regression:
    """A Bayesian logistic regression around an offset, which forgets back to its prior."""

    prior: Floats
    memory: float
    shapes: str
    precision: Floats = field(init=False)
    shift: Floats = field(init=False)

    def __post_init__(self) -> None:
        self.precision, self.shift = self.prior.copy(), np.zeros(len(self.prior))

    def features(self, z: float) -> Floats:
        return np.array([1.0, z]) if self.shapes == "line" else hat(KNOTS, z)

    def mean(self, z: float) -> float:
        return z + float(self.features(z) @ np.linalg.solve(self.precision, self.shift))

    def forecast(self, z: float) -> float:
        x = self.features(z)
        variance = float(x @ np.linalg.solve(self.precision, x))
        p = sigmoid(self.mean(z) / math.sqrt(1 + 0.3927 * variance))
        return min(max(p, 1e-6), 1 - 1e-6)

    def learn(self, z: float, y: int, weight: float) -> None:
        x, eta = self.features(z), self.mean(z)
        p = sigmoid(eta)
        h = weight * p * (1 - p)
        target = h * (eta - z) + weight * (y - p)
        self.precision = self.memory * self.precision + (1 - self.memory) * self.prior
        self.precision = self.precision + h * np.outer(x, x)
        self.shift = self.memory * self.shift + target * x


def curve_prior(stiffness: float) -> Floats:
    """Penalty ∫f″² of the natural pieces, by bends at inner knots, and a weak pull to 0."""
    total = np.diag(0.25 * np.exp(-np.abs(KNOTS) / 2))
    for i in range(1, len(KNOTS) - 1):
        left, right = KNOTS[i] - KNOTS[i - 1], KNOTS[i + 1] - KNOTS[i]
        bend = np.zeros(len(KNOTS))
        bend[i - 1], bend[i], bend[i + 1] = 1 / left, -1 / left - 1 / right, 1 / right
        total += stiffness * np.outer(bend, bend) / ((left + right) / 2)
    return total


class NaiveOnline:
    """One row at a time."""

    def __init__(self, with_start: bool = False) -> None:
        lines = [
            Regression(np.diag([0.25, slope]), memory, "line")
            for slope in (1e8, 1.0)
            for memory in MEMORIES
        ]
        curves = [
            Regression(curve_prior(stiffness), memory, "curve")
            for stiffness, memory in ((2, 1), (10, 0.9995), (30, 0.998))
        ]
        self.regressions = lines + curves
        if with_start:  # all begin near the start map
            for one in lines:
                one.precision = one.precision + np.diag([25.0, 100.0])
            for one in curves:
                one.precision = one.precision + 25.0 * np.eye(len(KNOTS))
        fixed = [0.15, 0.05] if with_start else [0.2, 0.0]
        self.prior = np.array(fixed + [0.5 / 12] * 12 + [0.1] * 3)
        self.shares = [0.0, 1e-3, 2e-2]
        self.weights = [self.prior.copy() for _ in self.shares]
        self.mixtures = np.full(3, 1 / 3)
        self.stake = {"mixture": 0.75, "tracker 10": 0.075, "tracker 60": 0.075}
        for b in range(18):
            for i in range(14):
                self.stake[f"bet {b} {i}"] = 0.1 / 252
        self.first_stake = dict(self.stake)
        self.residual, self.variance = np.zeros(17), np.zeros(17)
        self.generations = 0

    def experts(self, z: float, score: float) -> Floats:
        fixed = [min(max(sigmoid(v), 1e-6), 1 - 1e-6) for v in (z, score)]
        return np.array(fixed + [one.forecast(z) for one in self.regressions])

    def mixture(self, said: Floats) -> float:
        return float(sum(u * (w @ said) for u, w in zip(self.mixtures, self.weights, strict=True)))

    def says(self, name: str, v: float, q: float) -> float:
        """The probability that one of those with a stake gives, if the forecast is σ(v)."""
        p, phi = sigmoid(v), at_places(v)
        if name == "mixture":
            return q
        if name.startswith("tracker"):
            ridge = float(name.split()[1])
            shift = float(phi @ (self.residual / (self.variance + ridge)))
            return sigmoid(v + min(max(shift, -2), 2))
        _, b, i = name.split()
        share = 1.0 if b == "17" else phi[int(b)]
        return float(p + self.bet(int(i)) * share * p * (1 - p))

    def bet(self, i: int) -> float:
        """The size of a bet; the smallest shrink after 10⁸ generations."""
        size = float(BETS[i])
        if abs(size) > min(SIZES):
            return size
        return size * min(1.0, math.sqrt(1e8 / max(self.generations, 1)))

    def pull(self, v: float, q: float) -> float:
        p = sigmoid(v)
        return sum(stake * (self.says(name, v, q) - p) for name, stake in self.stake.items())

    def fair(self, q: float) -> float:
        """The first place from q on, in the direction of the pull, where the pull vanishes."""
        v = logit(q)
        up = self.pull(v, q) > 0
        ends = [p for p in PLACES if (p > v if up else p < v)]
        ends = (sorted(ends) if up else sorted(ends, reverse=True)) + [30 if up else -30]
        for end in ends:
            if (self.pull(end, q) > 0) != up:
                return float(brentq(self.pull, v, end, args=(q,), xtol=1e-13))
            v = end
        return float(ends[-1])

    def forecast(self, z: float, score: float) -> float:
        return sigmoid(self.fair(self.mixture(self.experts(z, score))))

    def asked(self, said: Floats) -> tuple[Floats, float, float, dict[str, float]]:
        """What everybody says of a row, given the experts: mixtures, q, log-odds, all stakes."""
        q = self.mixture(said)
        v = self.fair(q)
        mixtures = np.array([w @ said for w in self.weights])
        return mixtures, q, v, {name: self.says(name, v, q) for name in self.stake}

    def learn(self, z: float, score: float, y: int, weight: float = 1.0) -> float:
        said = self.experts(z, score)
        mixtures, _, v, words = self.asked(said)
        self.settle([(y, weight, said, mixtures, v, words)])
        self.teach(z, y, weight)
        return sigmoid(v)

    def teach(self, z: float, y: int, weight: float) -> None:
        for one in self.regressions:
            one.learn(z, y, weight)

    def see(self, y: int, weight: float, v: float) -> None:
        """Residuals for the trackers."""
        f, phi = sigmoid(v), at_places(v)
        self.residual = self.residual + weight * phi * (y - f)
        self.variance = self.variance + weight * phi * f * (1 - f)

    def settle(
        self, rows: list[tuple[int, float, Floats, Floats, float, dict[str, float]]]
    ) -> None:
        """Everybody answers for a generation: products of gains, to the power of 1/n."""
        self.generations += 1
        each, share = 1 / len(rows), 1 / (self.generations + 300)
        product, top = np.zeros(len(self.prior)), np.zeros(len(self.shares))
        for y, weight, said, mixtures, v, words in rows:
            f = sigmoid(v)
            for name, p in words.items():
                gain = p / f if y else (1 - p) / (1 - f)
                self.stake[name] *= gain ** (weight * each)
            product += weight * np.log(said if y else 1 - said)
            top += weight * np.log(mixtures if y else 1 - mixtures)
            self.see(y, weight, v)
        total = sum(self.stake.values())
        for name, first in self.first_stake.items():
            self.stake[name] = (1 - share) * self.stake[name] / total + share * first
        for a, alpha in enumerate(self.shares):
            w = self.weights[a] * np.exp((product - product.max()) * (1 if alpha else each))
            self.weights[a] = (1 - alpha) * w / w.sum() + alpha * self.prior
        mixed = self.mixtures * np.exp(each * (top - top.max()))
        self.mixtures = mixed / mixed.sum()
