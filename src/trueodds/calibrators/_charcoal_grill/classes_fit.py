"""Fit Charcoal Grill Scaling to several classes, all parameters together."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from trueodds.calibrators._charcoal_grill.fit import LOG_TEMPERATURE_REACH, PULL
from trueodds.calibrators._charcoal_grill.folds import N_FOLDS, one_standard_error
from trueodds.inputs import Floats
from trueodds.numerics.charcoal_grill import (
    ClassCoals,
    CoalRows,
    loss_and_gradient,
)

__all__ = ["ClassFit", "choose_class_coals", "fit_class_path"]

RIDGE = 50.0
"""λ = 0.01 is a standard normal prior on the biases and on the means' scaled coordinates."""
LOG_WIDTH_REACH = np.log(4.0)
MAX_ITER = 60
TRIAL_ITER = 12  # after which the best of several starts is known well enough


@dataclass(frozen=True)
class ClassFit:
    """The coals that were kept, with their negative log-likelihood."""

    coals: ClassCoals
    loss: float


class _ClassCoalProblem:
    """θ = (ν, ln T, [ln σ], [b]) with means μ = m + ν/s.

    m is the mean row and s the root mean square distance from it, so that coordinates of order 1
    make gates between coals that are neither flat nor steps, whatever the number of classes.
    """

    def __init__(
        self,
        rows: CoalRows,
        log_temperature: float,
        *,
        bias: bool,
        fit_width: bool,
        lam: float,
    ) -> None:
        self.rows = rows
        self.log_temperature = log_temperature
        self.bias, self.fit_width, self.lam = bias, fit_width, lam
        share = rows.weight / rows.weight.sum()
        self.middle = share @ rows.logs
        spread = float(share @ rows.squares - self.middle @ self.middle)
        self.scale = float(np.sqrt(max(spread, 1e-12)))
        k = rows.logs.shape[1]
        self.confident = np.full(k, 1 / np.sqrt(k))

    def unpack(self, theta: Floats, n: int) -> ClassCoals:
        """The coals that θ represents."""
        k = len(self.middle)
        nu = theta[: n * k].reshape(n, k)
        rest = theta[n * k :]
        widths = np.exp(rest[n : 2 * n]) if self.fit_width else np.ones(n)
        bias = rest[-k:] if self.bias else np.zeros(k)
        return ClassCoals(self.middle + nu / self.scale, np.exp(rest[:n]), widths, bias)

    def pack(self, coals: ClassCoals) -> Floats:
        """θ of some coals."""
        parts = [((coals.means - self.middle) * self.scale).ravel(), np.log(coals.temperatures)]
        if self.fit_width:
            parts.append(np.log(coals.widths))
        if self.bias:
            parts.append(coals.bias)
        return np.concatenate(parts)

    def objective(self, theta: Floats, n: int) -> tuple[float, Floats]:
        """Penalized loss and its gradient."""
        coals = self.unpack(theta, n)
        loss, slope = loss_and_gradient(self.rows, coals)
        parts = [slope.means.ravel() / self.scale, slope.temperatures * coals.temperatures]
        if self.fit_width:
            parts.append(slope.widths * coals.widths)
        if self.bias:
            parts.append(slope.bias)
        gradient = np.concatenate(parts)
        strength = np.full(len(theta), RIDGE * self.lam)
        k = len(self.middle)
        heat = slice(n * k, n * k + n)
        strength[heat] = PULL * self.lam
        away = theta.copy()
        away[heat] -= self.log_temperature
        loss += float(strength @ away**2)
        gradient += 2 * strength * away
        return loss, gradient

    def solve(self, start: ClassCoals, max_iter: int = MAX_ITER) -> ClassFit:
        """The optimum near a start."""
        from scipy.optimize import minimize  # slow to import

        n, k = len(start.temperatures), len(self.middle)
        heat = self.log_temperature
        bounds: list[tuple[float | None, float | None]] = [
            *[(None, None)] * (n * k if n > 1 else 0),
            *[(heat - LOG_TEMPERATURE_REACH, heat + LOG_TEMPERATURE_REACH)] * n,
            *[(-LOG_WIDTH_REACH, LOG_WIDTH_REACH)] * (n * self.fit_width),
            *[(None, None)] * (k * self.bias),
        ]
        theta = self.pack(start)
        free = slice(0 if n > 1 else k, None)  # the place of a single coal does not matter

        def part(x: Floats) -> tuple[float, Floats]:
            theta[free] = x
            loss, gradient = self.objective(theta, n)
            return loss, gradient[free]

        solution = minimize(
            part,
            theta[free].copy(),
            jac=True,
            method="L-BFGS-B",
            bounds=bounds,
            options={"maxiter": max_iter, "ftol": 1e-7, "gtol": 1e-6},
        )
        theta[free] = solution.x
        coals = self.unpack(theta, n)
        return ClassFit(coals, loss_and_gradient(self.rows, coals)[0])

    def one_coal(self) -> ClassCoals:
        """Temperature scaling."""
        return ClassCoals(
            self.middle[None, :],
            np.exp(np.array([self.log_temperature])),
            np.ones(1),
            np.zeros(len(self.middle)),
        )

    def starts(self, fewer: ClassCoals, n: int) -> Iterator[ClassCoals]:
        """Coals along the direction of confidence, hotter to one side; fewer coals, one split.

        The mean of a row's logarithms decreases as its largest probability grows, so the direction
        (1, …, 1) separates confident rows from the others.
        """
        along = self.scale * np.linspace(-1, 1, n)[:, None] * self.confident
        tilt = np.linspace(-0.2, 0.2, n)
        if len(fewer.temperatures) == n - 1 and n > 2:
            coal = int(np.argmax(np.abs(np.log(fewer.temperatures) - self.log_temperature)))
            index = np.insert(np.arange(n - 1), coal, coal)
            means, temperatures = fewer.means[index], fewer.temperatures[index]
            step = 0.5 * self.confident / self.scale
            means[coal] -= step
            means[coal + 1] += step
            yield ClassCoals(means, temperatures, fewer.widths[index], fewer.bias)
            return
        for side in (1.0, -1.0):
            temperatures = np.exp(self.log_temperature + side * tilt)
            means = self.middle + 2 * along / self.scale**2
            yield ClassCoals(means, temperatures, np.ones(n), fewer.bias)


def fit_class_path(
    rows: CoalRows,
    n_coals: int,
    log_temperature: float,
    *,
    bias: bool,
    fit_width: bool,
    lam: float,
) -> list[ClassFit]:
    """Fit 1, 2, … ``n_coals`` coals; each fit is at least as likely as the one before.

    Parameters
    ----------
    rows : CoalRows
    n_coals : int
    log_temperature : float
        ln T₀ of temperature scaling.
    bias, fit_width : bool
    lam : float
        Added to the summed log-loss; see ``PULL`` and ``RIDGE``.
    """
    problem = _ClassCoalProblem(rows, log_temperature, bias=bias, fit_width=fit_width, lam=lam)
    plain = problem.one_coal()
    best = ClassFit(plain, loss_and_gradient(rows, plain)[0])
    if bias:
        best = min(best, problem.solve(plain), key=lambda fit: fit.loss)
    path = [best]
    for n in range(2, n_coals + 1):
        tried = [problem.solve(start, TRIAL_ITER) for start in problem.starts(best.coals, n)]
        found = problem.solve(min(tried, key=lambda fit: fit.loss).coals)
        best = min(best, found, key=lambda fit: fit.loss)
        path.append(best)
    return path


def choose_class_coals(
    rows: CoalRows,
    most: int,
    log_temperature: float,
    *,
    bias: bool,
    fit_width: bool,
    lam: float,
) -> int:
    """The number of coals, 1 … ``most``, by five-fold cross-validation."""
    fold = np.random.default_rng(0).permutation(len(rows.codes)) % N_FOLDS
    losses = []
    for held in range(N_FOLDS):
        train = rows.take(np.flatnonzero(fold != held))
        test = rows.take(np.flatnonzero(fold == held))
        if not len(test.codes):
            continue
        path = fit_class_path(train, most, log_temperature, bias=bias, fit_width=fit_width, lam=lam)
        weight = float(test.weight.sum())
        losses.append([loss_and_gradient(test, fit.coals)[0] / weight for fit in path])
    return 1 + one_standard_error(np.array(losses)) if len(losses) > 1 else 1
