"""What is learned from a stream of two classes: its arrays, checked when read, and its bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.basics.wording import percent_text
from trueodds.exceptions import StateFormatError
from trueodds.inputs import Floats
from trueodds.kernels.online import OnlineState
from trueodds.monitoring._state import MOST_ROWS, Fields
from trueodds.online._settings import (
    BET_MASS,
    BETS,
    CLOCK,
    MIXTURE_MASS,
    PATIENCE,
    PLACES,
    SHARES,
    STAKES,
    expert_names,
    new_arrays,
    settings,
)

__all__ = ["Expert", "PlaceCalibration", "Stream"]

LARGEST = 1e18
"""Of sums over rows: more than 2⁵² rows of the largest log-odds."""
ROUNDING = 1e-9
"""How far masses may be from a sum of 1."""


@dataclass(frozen=True)
class Expert:
    """A forecaster in the mixture.

    Attributes
    ----------
    name : str
        What it is, such as ``"smooth curve, memory of all rows"``.
    share : float
        Its share of the mixture for the next row.
    loss : float
        Log-loss of its forecasts so far, in nats.
    """

    name: str
    share: float
    loss: float

    def __str__(self) -> str:
        return f"{self.name}: {percent_text(self.share)}"


@dataclass(frozen=True)
class PlaceCalibration:
    """Residuals of the forecasts near one probability, and the bound on their sum.

    Attributes
    ----------
    probability : float or None
        The place; None stands for all forecasts.
    weight : float
        Sum of φ, the share with which each forecast belongs to the place.
    residual : float
        Sum of φ·(label − forecast).
    bound : float
        What the absolute value of ``residual`` cannot exceed, whatever the labels.
    """

    probability: float | None
    weight: float
    residual: float
    bound: float


class Stream:
    """The state of a stream of two classes."""

    def __init__(self, with_start: bool, arrays: dict[str, Floats] | None = None) -> None:
        self.with_start = with_start
        self.arrays = new_arrays(with_start) if arrays is None else arrays
        self.kernel = OnlineState(settings(with_start), self.arrays)

    def clock(self, name: str) -> float:
        """One of the numbers of ``clock``."""
        return float(self.arrays["clock"][CLOCK.index(name)])

    @property
    def rows(self) -> int:
        """Rows that were learned from."""
        return int(self.clock("rows"))

    def experts(self) -> tuple[Expert, ...]:
        """Experts by their share, the largest first."""
        shares = self.arrays["mixtures"] @ self.arrays["weights"]
        names = expert_names(self.with_start)
        found = [
            Expert(name, float(share), float(loss))
            for name, share, loss, mass in zip(
                names, shares, self.arrays["loss"], settings(self.with_start)["prior"], strict=True
            )
            if mass > 0
        ]
        return tuple(sorted(found, key=lambda expert: -expert.share))

    def best_expert(self) -> int:
        """The expert whose bound is the tightest: its loss and its prior mass decide."""
        prior = settings(self.with_start)["prior"]
        with np.errstate(divide="ignore"):
            return int(np.argmin(self.arrays["loss"] - np.log(prior)))

    def regret(self) -> float:
        """Log-loss of the forecasts minus that of the best expert, in nats."""
        return self.clock("loss") - float(self.arrays["loss"][self.best_expert()])

    def bound(self) -> float:
        """What :meth:`regret` cannot exceed; infinite if weights were above 1 or labels late."""
        prior = float(settings(self.with_start)["prior"][self.best_expert()])
        static = -math.log(MIXTURE_MASS) + math.log(len(SHARES)) - math.log(prior)
        return self._if_proven(static + self._lost_to_shares())

    def _lost_to_shares(self) -> float:
        return math.log1p(self.clock("rows") / PATIENCE)

    def _if_proven(self, bound: float) -> float:
        """The theorems need weights of at most 1, and each label before the next forecast."""
        proven = self.clock("most_weight") <= 1.0 and self.clock("longest_delay") <= 1.0
        return bound if proven else math.inf

    def calibration(self) -> tuple[PlaceCalibration, ...]:
        """Residuals at each place of the scale, and of all forecasts together, with bounds."""
        a = self.arrays
        budget = self._if_proven(math.log(STAKES / BET_MASS) + self._lost_to_shares())
        sizes = BETS[BETS > 0]
        kappa = (-np.log1p(-sizes) - sizes) / sizes**2
        found = []
        for b in range(len(PLACES) + 1):
            bound = float(np.min(budget / sizes + kappa * sizes * a["squares"][b]))
            place = 1 / (1 + math.exp(-PLACES[b])) if b < len(PLACES) else None
            weight, residual = float(a["mass"][b]), float(a["residual"][b])
            found.append(PlaceCalibration(place, weight, residual, bound))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """All arrays, exactly."""
        return {name: array.tolist() for name, array in self.arrays.items()}

    @classmethod
    def from_dict(cls, content: Any, with_start: bool) -> Stream:
        """A stream from its arrays, every one of which is checked."""
        fresh = new_arrays(with_start)
        fields = Fields(content, set(fresh), "stream")
        signed = {"line_precision", "curve_precision", "line_shift", "curve_shift", "residual"}
        arrays = {
            name: fields.array(name, array.shape, -LARGEST if name in signed else 0.0, LARGEST)
            for name, array in fresh.items()
        }
        _check_clock(arrays["clock"])
        _check_masses(arrays)
        _check_lines(arrays["line_precision"], fresh["line_precision"])
        _check_curves(arrays["curve_precision"], fresh["curve_precision"])
        return cls(with_start, arrays)


def _check_clock(clock: Floats) -> None:
    rows, delay = clock[CLOCK.index("rows")], clock[CLOCK.index("longest_delay")]
    if rows != math.floor(rows) or rows > MOST_ROWS:
        raise StateFormatError(f"stream.clock must hold a whole number of rows; got {rows:g}.")
    if rows and not delay >= 1.0:
        raise StateFormatError(f"stream.clock must hold a delay of 1 or more; got {delay:g}.")


def _check_masses(arrays: dict[str, Floats]) -> None:
    stake = arrays["clock"][CLOCK.index("mixture_stake")]
    totals = {
        "weights": arrays["weights"].sum(axis=1),
        "mixtures": arrays["mixtures"].sum(),
        "stakes": stake + arrays["trackers"].sum() + arrays["stakes"].sum(),
    }
    for name, total in totals.items():
        if not bool((np.abs(total - 1.0) <= ROUNDING).all()):
            raise StateFormatError(f"stream.{name} must sum to 1; got {np.ravel(total)[0]:.17g}.")


def _check_lines(precision: Floats, prior: Floats) -> None:
    """Refuse lines whose precision is below their prior's, which no labels make.

    P − P₀ is positive semidefinite, so det P ≥ a₀·c and det P ≥ c₀·a; half of that leaves room for
    rounding.
    """
    a, b, c = precision.T
    a0, _, c0 = prior.T
    above = (a >= a0 * (1 - ROUNDING)) & (c >= c0 * (1 - ROUNDING))
    determinant = a * c - b * b
    definite = (determinant >= 0.5 * a0 * c) & (determinant >= 0.5 * c0 * a)
    if not bool((above & definite).all()):
        raise StateFormatError("stream.line_precision is less than that of the prior.")


def _check_curves(precision: Floats, prior: Floats) -> None:
    """Refuse curves whose precision is not positive definite.

    Pivots of P ≥ P₀ are at least those of P₀ (Schur complements are monotone).
    """
    for found, least in zip(precision, prior, strict=True):
        if math.isnan(_pivots(found, 0.5 * _pivots(least))[-1]):
            raise StateFormatError("stream.curve_precision is less than that of the prior.")


def _pivots(bands: Floats, least: Floats | None = None) -> Floats:
    """D of L·D·Lᵀ for a pentadiagonal matrix; NaN after one that is below ``least``."""
    n = bands.shape[1]
    found, below = [math.nan] * n, 0.0
    first, second, third = bands.tolist()
    for i in range(n):
        u2 = third[i - 2] if i > 1 else 0.0
        l2 = u2 / found[i - 2] if i > 1 else 0.0
        u1 = second[i - 1] - l2 * below if i > 0 else 0.0
        l1 = u1 / found[i - 1] if i > 0 else 0.0
        pivot = first[i] - l1 * u1 - l2 * u2
        if least is not None and not least[i] <= pivot < math.inf:
            break
        found[i], below = pivot, u1
    return np.array(found)
