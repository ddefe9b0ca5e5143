"""The paper's own optimization of Charcoal Grill Scaling (its section 4.2).

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
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from trueodds import CharcoalGrillCalibrator
from trueodds.calibrators._charcoal_grill.classes_fit import ClassFit
from trueodds.calibrators._charcoal_grill.fit import (
    BEYOND_DATA,
    CoalFit,
    GrillRows,
    is_monotone,
)
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_integer
from trueodds.numerics.charcoal_grill import (
    ClassCoals,
    CoalRows,
    Coals,
    Layout,
    evaluate,
    loss_and_gradient,
    negative_log_likelihood,
)

__all__ = ["PaperGrill"]

Bounds = Sequence[tuple[float | None, float | None]]
Objective = Callable[[Floats], tuple[float, Floats]]

MAX_TURNS = 200
LEAST_DECREASE = 1e-8
LAMBDA_LIMIT = 1e9
LEAST_POSITIVE = 1e-3  # bound of temperatures and widths
TURNS_OF_CLASSES = 50


@dataclass(kw_only=True, eq=False, repr=False)
class PaperGrill(CharcoalGrillCalibrator):
    """Charcoal grill scaling by the paper's optimization.

    It is slower, depends on its start, and may do worse than one component. With more than two
    classes it measures distances between the logits as they are given, as equation 12 does: adding
    a constant to all logits of a row changes the fit.

    Parameters
    ----------
    regularization : float, default=0.01
        The paper's λ, which pulls temperatures towards 1.
    random_state : int, default=None
        Seed of the start: means uniform in [−6, 6], temperatures and widths close to 1. Without
        one, the means of two classes start on an even grid.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds_studies.papers.grill import PaperGrill
    >>> z = np.linspace(-3, 3, 200)
    >>> y = np.random.default_rng(0).random(200) < 1 / (1 + np.exp(-z / 2))
    >>> grill = PaperGrill(n_components=1, bias=False, scale="logit").fit(z, y)
    >>> float(grill.map_.temperature([0.0]).round()[0])
    2.0
    """

    random_state: int | None = None

    moved: ClassVar[dict[str, str]] = {}
    _on_raw_logits = True

    def _check_options(self) -> None:
        super()._check_options()
        if self.n_components == "auto":
            raise InputError('the paper has no n_components="auto".')
        if self.random_state is not None:
            check_integer(self.random_state, "random_state", 0, "None or ")

    def _solve_coals(self, rows: GrillRows, n_coals: int) -> CoalFit:
        return fit_paper(
            rows,
            n_coals,
            bias=self.bias,
            fit_width=self.fit_width,
            lam=float(self.regularization),
            seed=self.random_state,
        )

    def _fit_class_coals(self, rows: CoalRows, log_temperature: float, one_coal: bool) -> ClassFit:
        return fit_classes_paper(
            rows,
            1 if one_coal else int(self.n_components),
            bias=self.bias,
            fit_width=self.fit_width,
            lam=float(self.regularization),
            seed=self.random_state,
        )


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


def fit_classes_paper(
    rows: CoalRows,
    n_coals: int,
    *,
    bias: bool,
    fit_width: bool,
    lam: float,
    seed: int | None = None,
) -> ClassFit:
    """One bounded quasi-Newton step on each group in turn, with the paper's R and fixed λ.

    Means start at random points of the cube [−6, 6]ᵏ; without a seed, at those of seed 0.
    """
    n, k = n_coals, rows.logs.shape[1]
    rng = np.random.default_rng(0 if seed is None else seed)
    theta = np.concatenate(
        [
            rng.uniform(-6, 6, n * k),
            1 + 0.01 * rng.standard_normal(n),
            np.ones(n),
            np.zeros(k),
        ]
    )
    edges = np.cumsum([0, n * k, n, n, k])
    groups = [np.arange(edges[i], edges[i + 1]) for i in range(4)]
    used = [groups[0], groups[1], *([groups[2]] * fit_width), *([groups[3]] * bias)]
    bounds: list[tuple[float | None, float | None]] = [
        *[(None, None)] * (n * k),
        *[(LEAST_POSITIVE, None)] * (2 * n),
        *[(None, None)] * k,
    ]

    def coals_of(t: Floats) -> ClassCoals:
        return ClassCoals(t[groups[0]].reshape(n, k), t[groups[1]], t[groups[2]], t[groups[3]])

    def objective(t: Floats) -> tuple[float, Floats]:
        coals = coals_of(t)
        loss, slope = loss_and_gradient(rows, coals)
        penalty, by_temperature, by_width = paper_penalty(coals.temperatures, coals.widths)
        gradient = np.concatenate(
            [
                slope.means.ravel(),
                slope.temperatures + lam * by_temperature,
                slope.widths + lam * by_width,
                slope.bias,
            ]
        )
        return loss + lam * penalty, gradient

    theta, _ = minimize_in_turns(objective, theta, bounds, used, TURNS_OF_CLASSES)
    coals = coals_of(theta)
    return ClassFit(coals, loss_and_gradient(rows, coals)[0])
