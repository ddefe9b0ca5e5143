"""The paper's own optimization of Charcoal Grill Scaling (its section 4.2), for comparison.

One bounded quasi-Newton step on each group of parameters in turn, until a full turn lowers the loss
by no more than 1e-8; then λ is multiplied by ten while the map decreases somewhere. The paper
leaves open the following choices. The log-loss is summed, not averaged (the only reading that
reaches its tables). Groups are means, temperatures, widths, bias. Means start on an even grid over
[−6, 6], or at random points of it with a seed, and stay within the data ±2. Temperatures start at 1
with a disturbance of 1%; so do widths, with a seed. There are at most 200 turns for each λ. The map
is checked on [−6, 6] and on the range of the data.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from trueodds.calibrators._charcoal_grill.fit import (
    BEYOND_DATA,
    CoalFit,
    GrillRows,
    is_monotone,
)
from trueodds.inputs import Floats
from trueodds.numerics.charcoal_grill import Coals, Layout, evaluate, negative_log_likelihood

__all__ = ["Bounds", "fit_paper", "minimize_in_turns", "paper_penalty", "paper_start"]

Bounds = Sequence[tuple[float | None, float | None]]
Objective = Callable[[Floats], tuple[float, Floats]]

MAX_TURNS = 200
LEAST_DECREASE = 1e-8
LAMBDA_LIMIT = 1e9
LEAST_POSITIVE = 1e-3  # bound of temperatures and widths


def paper_penalty(temperatures: Floats, widths: Floats) -> tuple[float, Floats, Floats]:
    """R of equation 13, with its derivatives by the temperatures and the widths."""
    cold = np.maximum(1 / temperatures - 1, 0.0)
    hot = np.maximum(temperatures - 1, 0.0)
    value = float(cold @ cold + hot @ hot + (1 / widths**2).sum())
    return value, 2 * hot - 2 * cold / temperatures**2, -2 / widths**3


def paper_start(n_coals: int, seed: int | None) -> tuple[Floats, Floats, Floats]:
    """Means, temperatures and widths: "μ distributed uniformly in [−6, 6]" has two readings."""
    if seed is None:
        means = np.linspace(-6, 6, n_coals) if n_coals > 1 else np.zeros(1)
        return means, 1 + 0.01 * np.random.default_rng(0).standard_normal(n_coals), np.ones(n_coals)
    rng = np.random.default_rng(seed)
    means = rng.uniform(-6, 6, n_coals)
    temperatures, widths = 1 + 0.01 * rng.standard_normal((2, n_coals))
    return means, temperatures, widths


def minimize_in_turns(
    objective: Objective,
    theta: Floats,
    bounds: Bounds,
    blocks: Sequence[npt.NDArray[np.intp]],
    max_turns: int = MAX_TURNS,
) -> tuple[Floats, bool]:
    """One bounded quasi-Newton step for each block in turn, until the loss stays."""
    from scipy.optimize import minimize  # slow to import

    loss = objective(theta)[0]
    for _ in range(max_turns):
        before = loss
        for block in blocks:

            def part(x: Floats, block: npt.NDArray[np.intp] = block) -> tuple[float, Floats]:
                whole = theta.copy()  # noqa: B023
                whole[block] = x
                value, gradient = objective(whole)
                return value, gradient[block]

            step = minimize(
                part,
                theta[block],
                jac=True,
                method="L-BFGS-B",
                bounds=[bounds[i] for i in block],
                options={"maxiter": 1},
            )
            if step.fun < loss:
                theta = theta.copy()
                theta[block] = step.x
                loss = float(step.fun)
        if before - loss <= LEAST_DECREASE:
            return theta, True
    return theta, False


def fit_paper(
    rows: GrillRows,
    n_coals: int,
    *,
    bias: bool,
    fit_width: bool,
    lam: float,
    seed: int | None = None,
    max_turns: int = MAX_TURNS,
) -> CoalFit:
    """Fit a binary map as the paper does; falls back to the one-coal fit if λ grows beyond 1e9.

    The paper has no ``max_turns``: ``benchmarks/choices/charcoal_turns.py`` shows what it costs.
    """
    layout = Layout(n_coals, bias, fit_width)
    means, temperatures, widths = paper_start(n_coals, seed)
    n = n_coals
    theta = np.concatenate([means, temperatures, widths[: n * fit_width], np.zeros(int(bias))])
    reach = (float(rows.z.min()) - BEYOND_DATA, float(rows.z.max()) + BEYOND_DATA)
    bounds: list[tuple[float | None, float | None]] = [
        *[(min(reach[0], -6.0), max(reach[1], 6.0))] * n,
        *[(LEAST_POSITIVE, None)] * (n * (1 + fit_width)),
        *[(None, None)] * int(bias),
    ]
    edges = np.cumsum([0, n, n, n * fit_width, int(bias)])
    blocks = [np.arange(begin, end) for begin, end in pairwise(edges) if begin < end]
    converged = True
    while lam <= LAMBDA_LIMIT:
        theta, converged = minimize_in_turns(
            lambda t, lam=lam: _objective(t, rows, layout, lam),  # type: ignore[misc]
            theta,
            bounds,
            blocks,
            max_turns,
        )
        coals = _coals(theta, layout)
        if is_monotone(coals, *rows.checked):
            return CoalFit(coals, rows.loss(coals), converged, fell_back=False)
        lam *= 10
    return CoalFit(rows.one_coal, rows.loss(rows.one_coal), converged)


def _coals(theta: Floats, layout: Layout) -> Coals:
    n = layout.n_coals
    widths = theta[2 * n : 3 * n] if layout.fit_width else np.ones(n)
    return Coals(theta[:n], theta[n : 2 * n], widths, float(theta[-1]) if layout.bias else 0.0)


def _objective(theta: Floats, rows: GrillRows, layout: Layout, lam: float) -> tuple[float, Floats]:
    """NLL + λ·R by the temperatures and widths themselves, not their logarithms."""
    from scipy.special import expit  # slow to import

    n, coals = layout.n_coals, _coals(theta, layout)
    at = evaluate(rows.z, layout.pack(coals), layout)
    residual = (rows.n_neg + rows.n_pos) * expit(at.eta) - rows.n_pos
    gradient = at.jacobian @ residual
    penalty, by_temperature, by_width = paper_penalty(coals.temperatures, coals.widths)
    gradient[n : 2 * n] = gradient[n : 2 * n] / coals.temperatures + lam * by_temperature
    if layout.fit_width:
        gradient[2 * n : 3 * n] = gradient[2 * n : 3 * n] / coals.widths + lam * by_width
    loss = negative_log_likelihood(at.eta, rows.n_neg, rows.n_pos)
    return loss + lam * penalty, gradient
