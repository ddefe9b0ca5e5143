"""What is learned from a stream of two classes: its arrays, checked when read, and its bounds."""

from __future__ import annotations

import base64
import binascii
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.basics.wording import percent_text
from trueodds.exceptions import StateFormatError
from trueodds.inputs import Floats
from trueodds.kernels.online import OnlineState
from trueodds.online._settings import (
    BET_MASS,
    BETS,
    CLOCK,
    MIXTURE_MASS,
    OPEN_CLOCK,
    PLACES,
    SHARE_OFFSET,
    SHRINK_AFTER,
    STAKES,
    SWITCH_RATES,
    expert_names,
    new_arrays,
    settings,
)
from trueodds.state_file import MOST_ROWS, Fields

__all__ = ["Expert", "PlaceCalibration", "Stream"]

LARGEST_SUM = 1e18
"""Of sums over rows: more than 2⁵² rows of the largest log-odds."""
SUM_TOLERANCE = 1e-9
"""How far masses may be from a sum of 1."""
LEAST_STAKE = 1e-25
"""Less than what is dealt to each stake after 2⁵² generations."""


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
        Log-loss of its forecasts so far, in nats. Of labels that come together later, the mean
        counts.
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
        Sum of φ, the share with which each forecast belongs to the place. Of labels that come
        together later, the mean counts, here and in ``residual``.
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

    @property
    def generations(self) -> int:
        """Generations that were closed."""
        return int(self.clock("generations"))

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
        """What :meth:`regret` cannot exceed; infinite if a weight was above 1."""
        prior = float(settings(self.with_start)["prior"][self.best_expert()])
        static = -math.log(MIXTURE_MASS) + math.log(len(SWITCH_RATES)) - math.log(prior)
        return self._if_proven(static + self._lost_to_shares())

    def _lost_to_shares(self) -> float:
        return math.log1p(self.clock("generations") / SHARE_OFFSET)

    def _if_proven(self, bound: float) -> float:
        """The theorems need weights of at most 1."""
        return bound if self.clock("most_weight") <= 1.0 else math.inf

    def calibration(self) -> tuple[PlaceCalibration, ...]:
        """Residuals at each place of the scale, and of all forecasts together, with bounds."""
        a = self.arrays
        budget = self._if_proven(math.log(STAKES / BET_MASS) + self._lost_to_shares())
        sizes = BETS[BETS > 0]  # the smallest first
        kappa = (-np.log1p(-sizes) - sizes) / sizes**2
        found = []
        generations = self.clock("generations")
        for b in range(len(PLACES) + 1):
            bounds = budget / sizes + kappa * sizes * a["squares"][b]
            if generations > SHRINK_AFTER:  # the smallest bets have shrunk
                spent = kappa[0] * (1.0 + math.log(generations / SHRINK_AFTER))
                bounds[0] = 2.0 * math.sqrt(generations) * (budget + spent)
            bound = float(bounds.min())
            place = 1 / (1 + math.exp(-PLACES[b])) if b < len(PLACES) else None
            weight, residual = float(a["mass"][b]), float(a["residual"][b])
            found.append(PlaceCalibration(place, weight, residual, bound))
        return tuple(found)

    def to_dict(self) -> dict[str, Any]:
        """All arrays, exactly; those of the open generation as one text, or null without one."""
        whole = {name: array.tolist() for name, array in self.arrays.items() if not _is_open(name)}
        if self.waits is None:
            return whole | {"open": None}
        parts = [np.ravel(array) for name, array in self.arrays.items() if _is_open(name)]
        content = np.concatenate(parts).astype("<f8").tobytes()
        return whole | {"open": base64.b85encode(content).decode("ascii")}

    @property
    def waits(self) -> int | None:
        """Rows of the open generation without a label; None if no generation is open."""
        asked, answered = self.arrays["open_clock"][:2].tolist()
        return int(asked - answered) if asked else None

    @classmethod
    def from_dict(cls, content: Any, with_start: bool) -> Stream:
        """A stream from its arrays, every one of which is checked."""
        fresh = new_arrays(with_start)
        names = {name for name in fresh if not _is_open(name)}
        fields = Fields(content, names | {"open"}, "stream")
        signed = {"line_precision", "curve_precision", "line_shift", "curve_shift", "residual"}
        arrays = fresh | {
            name: fields.array(
                name,
                fresh[name].shape,
                -LARGEST_SUM if name in {*signed, "track"} else 0.0,
                LARGEST_SUM,
            )
            for name in fresh
            if name in names
        }
        _check_clock(arrays["clock"])
        _check_masses(arrays)
        _check_lines(arrays["line_precision"], settings(with_start)["line_prior"])
        _check_curves(arrays["curve_precision"], settings(with_start)["curve_prior"])
        if not bool((arrays["track"][1] >= 0.0).all()):
            raise StateFormatError("stream.track must hold variances of 0 or more.")
        if fields.raw("open") is not None:
            _read_open(fields.raw("open"), arrays)
        return cls(with_start, arrays)


def _is_open(name: str) -> bool:
    return name.startswith("open_")


def _read_open(text: Any, arrays: dict[str, Floats]) -> None:
    """Write the sums of an open generation into its arrays."""
    open_arrays = [array for name, array in arrays.items() if _is_open(name)]
    size = sum(array.size for array in open_arrays)
    try:
        content = base64.b85decode(text) if isinstance(text, str) else b""
    except (ValueError, binascii.Error):
        content = b""
    if len(content) != 8 * size:
        raise StateFormatError(f"stream.open must be {size} numbers in base 85.")
    numbers = np.frombuffer(content, "<f8")
    if not bool((np.abs(numbers) <= LARGEST_SUM).all()):
        raise StateFormatError(f"stream.open must hold numbers within ±{LARGEST_SUM:g}.")
    begin = 0
    for array in open_arrays:
        array[...] = numbers[begin : begin + array.size].reshape(array.shape)
        begin += array.size
    clock = dict(zip(OPEN_CLOCK, arrays["open_clock"].tolist(), strict=True))
    counts = (clock["asked"], clock["answered"])
    if any(n != math.floor(n) or n > MOST_ROWS for n in counts) or not 0 <= counts[1] < counts[0]:
        raise StateFormatError("stream.open must count more rows asked than answered.")
    losses = np.array([-clock["loss"], clock["mixture_gain"] - clock["loss"]])
    negative = [losses, arrays["open_experts"], arrays["open_mixtures"]]
    positive = [arrays["open_squares"], arrays["open_mass"], arrays["open_track"][1]]
    if any((array > 0).any() for array in negative) or any((a < 0).any() for a in positive):
        raise StateFormatError("stream.open must hold losses and squares of 0 or more.")
    for name in ("residual", "squares", "mass", "track"):
        if (np.abs(arrays[name]) + np.abs(arrays[f"open_{name}"])).max() > LARGEST_SUM:
            raise StateFormatError("stream.open must hold smaller numbers.")
    lost = arrays["clock"][[CLOCK.index("loss"), CLOCK.index("mixture_loss")]] - losses
    if max(lost.max(), (arrays["loss"] - arrays["open_experts"]).max()) > LARGEST_SUM:
        raise StateFormatError("stream.open must hold smaller losses.")


def _check_clock(clock: Floats) -> None:
    for name in ("rows", "generations"):
        found = clock[CLOCK.index(name)]
        if found != math.floor(found) or found > MOST_ROWS:
            raise StateFormatError(
                f"stream.clock must hold a whole number of {name}; got {found:g}."
            )


def _check_masses(arrays: dict[str, Floats]) -> None:
    stake = arrays["clock"][CLOCK.index("mixture_stake")]
    totals = {
        "weights": arrays["weights"].sum(axis=1),
        "mixtures": arrays["mixtures"].sum(),
        "stakes": stake + arrays["trackers"].sum() + arrays["stakes"].sum(),
    }
    for name, total in totals.items():
        if not bool((np.abs(total - 1.0) <= SUM_TOLERANCE).all()):
            raise StateFormatError(f"stream.{name} must sum to 1; got {np.ravel(total)[0]:.17g}.")
    if min(stake, arrays["trackers"].min(), arrays["stakes"].min()) < LEAST_STAKE:
        raise StateFormatError("stream.stakes must be positive.")


def _check_lines(precision: Floats, prior: Floats) -> None:
    """Refuse lines whose precision is below their prior's, which no labels make.

    P − P₀ is positive semidefinite, so det P ≥ a₀·c and det P ≥ c₀·a; half of that leaves room for
    rounding.
    """
    a, b, c = precision.T
    a0, _, c0 = prior.T
    above = (a >= a0 * (1 - SUM_TOLERANCE)) & (c >= c0 * (1 - SUM_TOLERANCE))
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
