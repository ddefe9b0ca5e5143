"""Fit the coals of a binary Charcoal Grill map, and keep it monotone.

Differences from the paper's optimization (its section 4.2), with reasons:

- All parameters move together, by Newton steps with exact second derivatives, from several starts
  that depend on the data alone.
- A map that decreases somewhere is pushed back by a penalty on its negative slopes. The paper
  multiplies λ by ten instead. That pulls every temperature to 1 but does not remove the cause:
  coals that are too close for their difference in temperature.
- λ pulls ln T_c towards ln T₀ of the one-coal fit instead of T_c towards 1, so that one coal is
  exactly temperature or Platt scaling, whatever the scale of the logits.
- The fit with one coal less is always a candidate; the one of the highest likelihood is kept.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from trueodds.calibrators._charcoal_grill.newton import Derivatives, minimize_bounded
from trueodds.inputs import Floats, Labels
from trueodds.numerics.charcoal_grill import Coals, Layout, evaluate, negative_log_likelihood
from trueodds.numerics.compression import compress
from trueodds.numerics.log_odds import LogOddsRows

__all__ = ["CoalFit", "GrillRows", "fit_coal_path", "is_monotone"]

CHECK_POINTS = 10_000  # as many as in the paper's footnote 7
CHECK_REACH = 6.0  # and on at least its interval [−6, 6]
LEAST_SLOPE = 1e-3
PENALTIES = (0.0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e6)
"""Successive weights of the penalty on negative slopes, per row."""
NEW_CELLS = 24  # of those where the map falls, added to the penalty in each round
PULL = 100.0
"""With the paper's λ = 0.01, ln T_c has a normal prior of variance 0.5 around the one-coal fit."""
BEYOND_DATA = 2.0  # how far outside the data a coal may lie
LOG_TEMPERATURE_REACH = 6.0
LOG_WIDTH_RANGE = (np.log(0.5), np.log(8.0))
MAX_ITER = 200
ROUGH_CELLS = 64  # starts are tried on a summary of the data, the best one then on all of it
SAME_LOSS = 1e-7  # nats in all: starts that differ by less have found the same optimum


@dataclass(frozen=True)
class GrillRows(LogOddsRows):
    """Finite log-odds, and the one-coal fit to them."""

    slope: float
    bias: float

    @property
    def checked(self) -> tuple[float, float]:
        """Range on which a map must not decrease: that of the data and of the paper."""
        return min(float(self.z.min()), -CHECK_REACH), max(float(self.z.max()), CHECK_REACH)

    @property
    def one_coal(self) -> Coals:
        """Temperature or Platt scaling as a field."""
        middle = np.array([0.5 * (self.z.min() + self.z.max())])
        return Coals(middle, np.array([1 / self.slope]), np.ones(1), self.bias)

    def summary(self, cells: int) -> GrillRows:
        """The same in at most 4·cells rows, if that is fewer."""
        if len(self.z) <= 3 * cells:
            return self
        short = compress(
            self.z, "logit", lambda rows: (self.n_neg[rows], self.n_pos[rows]), cells=cells
        )
        return replace(self, z=short.z, n_neg=short.n_neg, n_pos=short.n_pos)

    def loss(self, coals: Coals) -> float:
        """Negative log-likelihood, summed."""
        return negative_log_likelihood(coals.calibrated(self.z), self.n_neg, self.n_pos)


@dataclass(frozen=True)
class CoalFit:
    """The coals that were kept, and what happened on the way."""

    coals: Coals
    loss: float
    converged: bool = True
    fell_back: bool = True  # to the one-coal fit, because no start gave a monotone map


def is_monotone(coals: Coals, low: float, high: float) -> bool:
    """Whether calibrated log-odds never decrease on a grid of 10,000 points."""
    return not _falling(coals, np.linspace(low, high, CHECK_POINTS)).any()


def _falling(coals: Coals, grid: Floats) -> npt.NDArray[np.bool_]:
    return np.asarray(np.diff(coals.calibrated(grid)) < 0)


@dataclass(frozen=True)
class _Optimum:
    """Coals, and the stage of the penalty and the cells of the grid that made them monotone."""

    coals: Coals
    stage: int = 0
    cells: Labels = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    converged: bool = True


class _CoalProblem:
    """Penalized likelihood of one number of coals."""

    def __init__(self, rows: GrillRows, layout: Layout, lam: float) -> None:
        self.rows = rows
        self.layout = layout
        self.lam = lam
        self.seen: list[float] = []
        self.best = np.inf
        self.log_slope = float(np.log(rows.slope))
        self.grid = np.linspace(*rows.checked, CHECK_POINTS)
        self.spacing = float(self.grid[1] - self.grid[0])
        self.least_slope = min(LEAST_SLOPE, 0.05 * rows.slope)

    def objective(self, theta: Floats, penalty: float, cells: Labels) -> tuple[float, Derivatives]:
        """Loss, and gradient and Hessian on demand, with some cells' slopes penalized."""
        rows, n = self.rows, self.layout.n_coals
        at = evaluate(rows.z, theta, self.layout)
        pull = theta[n : 2 * n] + self.log_slope
        strength = PULL * self.lam
        loss = negative_log_likelihood(at.eta, rows.n_neg, rows.n_pos)
        loss += strength * float(pull @ pull)
        narrow = np.exp(-2 * theta[2 * n : 3 * n]) if self.layout.fit_width else np.zeros(n)
        loss += self.lam * float(narrow.sum())  # R_σ of equation 13
        slopes, short, scale = self._short_slopes(theta, penalty, cells)
        loss += scale * float(short @ short)

        def derivatives() -> tuple[Floats, Floats]:
            weight = rows.n_neg + rows.n_pos
            from scipy.special import expit  # slow to import

            probability = expit(at.eta)
            residual = weight * probability - rows.n_pos
            gradient = at.jacobian @ residual
            fisher = weight * probability * (1 - probability)
            hessian = (at.jacobian * fisher) @ at.jacobian.T + at.curvature(residual)
            gradient[n : 2 * n] += 2 * strength * pull
            diagonal = np.einsum("ii->i", hessian)
            diagonal[n : 2 * n] += 2 * strength
            if self.layout.fit_width:
                gradient[2 * n : 3 * n] -= 2 * self.lam * narrow
                diagonal[2 * n : 3 * n] += 4 * self.lam * narrow
            if len(short):  # the curvature of Gauss and Newton
                gradient -= 2 * scale * (slopes @ short)
                hessian += 2 * scale * (slopes @ slopes.T)
            return gradient, hessian

        return loss, derivatives

    def _short_slopes(
        self, theta: Floats, penalty: float, cells: Labels
    ) -> tuple[Floats, Floats, float]:
        """Slopes' Jacobian and what they lack, where too small; the weight of its square."""
        n = len(cells)
        if not n:
            return np.empty((self.layout.size, 0)), np.empty(0), 0.0
        ends = np.concatenate([self.grid[cells], self.grid[cells + 1]])
        at = evaluate(ends, theta, self.layout)
        short = self.least_slope - (at.eta[n:] - at.eta[:n]) / self.spacing
        used = short > 0
        slopes = (at.jacobian[:, n:] - at.jacobian[:, :n])[:, used] / self.spacing
        return slopes, short[used], penalty * self.rows.total / n

    def bounds(self) -> tuple[Floats, Floats]:
        """Coals stay near the data, temperatures within e⁶ of the one-coal fit."""
        n, z = self.layout.n_coals, self.rows.z
        middle = -self.log_slope
        low = [np.full(n, z.min() - BEYOND_DATA), np.full(n, middle - LOG_TEMPERATURE_REACH)]
        high = [np.full(n, z.max() + BEYOND_DATA), np.full(n, middle + LOG_TEMPERATURE_REACH)]
        if self.layout.fit_width:
            low.append(np.full(n, LOG_WIDTH_RANGE[0]))
            high.append(np.full(n, LOG_WIDTH_RANGE[1]))
        if self.layout.bias:
            low.append(np.array([-np.inf]))
            high.append(np.array([np.inf]))
        return np.concatenate(low), np.concatenate(high)

    def solve(self, start: _Optimum) -> _Optimum | None:
        """The optimum near a start, with a map that decreases nowhere.

        None if there is none, or if the optimum was found before or cannot be better than that.
        """
        lower, upper = self.bounds()
        theta, cells = self.layout.pack(start.coals), start.cells
        for stage in range(start.stage, len(PENALTIES)):
            penalty = PENALTIES[stage]

            def objective(
                t: Floats, penalty: float = penalty, cells: Labels = cells
            ) -> tuple[float, Derivatives]:
                return self.objective(t, penalty, cells)

            result = minimize_bounded(objective, theta, lower, upper, max_iter=MAX_ITER)
            if stage == 0:
                if any(abs(result.loss - loss) <= SAME_LOSS for loss in self.seen):
                    return None
                self.seen.append(result.loss)
            if result.loss >= self.best:
                return None
            theta = result.theta
            coals = self.layout.unpack(theta)
            falling = np.flatnonzero(_falling(coals, self.grid))
            if not len(falling):
                self.best = result.loss
                return _Optimum(coals, stage, cells, result.converged)
            spread = np.linspace(0, len(falling) - 1, NEW_CELLS).round().astype(np.intp)
            cells = np.union1d(cells, falling[spread])
        return None


def fit_coal_path(
    rows: GrillRows, n_coals: int, *, bias: bool, fit_width: bool, lam: float
) -> list[CoalFit]:
    """Fit 1, 2, … ``n_coals`` coals.

    Parameters
    ----------
    rows : GrillRows
    n_coals : int
    bias, fit_width : bool
        Whether b and the widths are free; else 0 and 1.
    lam : float
        Pull of each ln T_c towards the one-coal fit, against the summed log-loss.

    Returns
    -------
    list of CoalFit
        Each of the highest likelihood among the monotone optima found for up to that many coals:
        a fit has fewer if the last ones do not raise the likelihood.
    """
    rough = rows.summary(ROUGH_CELLS)
    best = CoalFit(rows.one_coal, rows.loss(rows.one_coal))
    path = [best]
    for n in range(2, n_coals + 1):
        layout = Layout(n, bias, fit_width)
        search = _CoalProblem(rough, layout, lam)
        found = None
        for start in _starts(rough, best.coals, n):
            found = search.solve(_Optimum(start)) or found  # better than those before it
        if found is not None and rough is not rows:
            found = _CoalProblem(rows, layout, lam).solve(found)
        if found is not None:
            best = replace(best, fell_back=False)
            loss = rows.loss(found.coals)
            if loss < best.loss - SAME_LOSS:
                best = CoalFit(found.coals, loss, found.converged, fell_back=False)
        path.append(best)
    return path


def _starts(rows: GrillRows, fewer: Coals, n_coals: int) -> Iterator[Coals]:
    """Coals along the quantiles of the scores, hotter to one side; and fewer coals, one split."""
    order = np.argsort(rows.z, kind="stable")
    weight = (rows.n_neg + rows.n_pos)[order]
    middle = np.cumsum(weight) - weight / 2
    ranks = (np.arange(n_coals) + 0.5) / n_coals * weight.sum()
    means = np.interp(ranks, middle, rows.z[order])
    side = np.linspace(-0.5, 0.5, n_coals)
    for tilt in (1.0, -1.0):
        temperatures = np.exp(tilt * side) / rows.slope
        yield Coals(means, temperatures, np.ones(n_coals), rows.bias)
    if len(fewer.means) == n_coals - 1:
        for coal in range(len(fewer.means)):
            yield fewer.split(coal, apart=1.0, ratio=1.2)
