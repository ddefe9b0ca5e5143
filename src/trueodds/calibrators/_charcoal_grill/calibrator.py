"""Charcoal Grill Scaling."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._charcoal_grill.classes import fit_charcoal_softmax_map
from trueodds.calibrators._charcoal_grill.classes_fit import (
    ClassFit,
    choose_class_coals,
    fit_class_path,
)
from trueodds.calibrators._charcoal_grill.fit import CoalFit, GrillRows, fit_coal_path
from trueodds.calibrators._charcoal_grill.folds import choose_n_coals
from trueodds.calibrators._shared.parametric import warn_separable
from trueodds.exceptions import (
    ConvergenceWarning,
    NonMonotoneWarning,
    warn_user,
)
from trueodds.inputs import (
    InputScale,
    check_choice,
    check_integer,
    check_number,
    is_choice,
)
from trueodds.maps import CalibrationMap, CharcoalGrillMap
from trueodds.numerics.charcoal_grill import CoalRows
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.logistic_regression import LogOddsFit, fit_log_odds
from trueodds.numerics.magnitude import size_exponent
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = ["CharcoalGrillCalibrator"]

MOST_COALS = 5
"""Largest number that ``n_components="auto"`` tries, as in the paper."""
FINE_CELLS = 1024  # more rows than a few thousand are fitted by their Gauss points
LOGISTIC_DEVIATION = float(np.pi / np.sqrt(3))
EXTREME = 2.0**64
OUTLIER_LIMIT = 2.0**20
"""Outliers are fitted as if they were no further, in units of the spread: they have squares."""


@dataclass(kw_only=True, eq=False, repr=False)
class CharcoalGrillCalibrator(Calibrator):
    """Charcoal grill scaling: σ(z/T(z) + b), a temperature that depends on the score.

    Components (the paper's coals) lie on the log-odds axis, each with a temperature; T(z) averages
    them by their closeness to z. Use it when scores are distorted in one region only, as after
    training on rare positives, and a smooth increasing map is needed. With a few hundred rows, or
    evenly distorted scores, temperature or logistic calibration does as well.

    Parameters
    ----------
    n_components : int or "auto", default=3
        Largest number of components; the last ones are left out if they do not raise the
        likelihood. One component is temperature scaling (without bias) or logistic calibration
        (with it). ``"auto"`` chooses up to five by cross-validated log-loss: the fewest within one
        standard error of the best.
    bias : bool, default=True
        Whether b is fitted; with several classes one b for each.
    fit_width : bool, default=False
        Whether the components' widths are fitted; otherwise they are 1, in log-odds, as in the
        paper.
    regularization : float, default=0.01
        Strength λ with which each ln T is pulled towards that of the one-component fit: 100·λ·Σ(ln
        T_c − ln T₀)² is added to the summed log-loss.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Decision values are first divided such that their standard deviation is
        that of log-odds of evenly spread probabilities (1.8); widths and λ act on that scale. With
        more than two classes, logits and decision values are scaled only if they typically spread
        by more than 65,536 within a row; below 1/65,536 one component is used.

    Attributes
    ----------
    map_ : CharcoalGrillMap, or CharcoalSoftmaxMap for more than two classes
        ``map_.temperature(scores)`` is T(z).

    Notes
    -----
    For two classes the map is non-decreasing: it is checked at 10,000 points of the range of the
    data, widened to [−6, 6], and is constant outside. With more classes T depends on the vector of
    all logits, and the ranking may change. Probabilities of exactly 0 and 1 are placed where the
    one-component fit places them. Cost: one sort, then the same for any number of rows; time grows
    with about the square of ``n_components``.

    All parameters move together. ``trueodds_studies.papers.grill.PaperGrill`` has the paper's own
    optimization, which is slower, depends on its start, and may do worse than one component.

    References
    ----------
    Benton, Calibration for anomaly detection, equations 11 to 13.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import CharcoalGrillCalibrator
    >>> rng = np.random.default_rng(0)
    >>> z = rng.logistic(size=20000)
    >>> true_z = np.where(z > 0, z / 5, z)  # too sure of positives only: equation 5
    >>> y = rng.random(20000) < 1 / (1 + np.exp(-true_z))
    >>> calibrator = CharcoalGrillCalibrator(n_components=2, scale="logit").fit(z, y)
    >>> calibrator.map_.temperature([-3.0, 3.0]).round(0)
    array([1., 5.])
    """

    title = "charcoal grill scaling"
    label = "charcoal grill"
    complexity = 50
    compared = (2, math.inf)
    learns_classes_jointly = True

    n_components: int | Literal["auto"] = 3
    bias: bool = True
    fit_width: bool = False
    regularization: float = 1e-2
    moved: ClassVar[dict[str, str]] = dict.fromkeys(
        ("solver", "random_state"), "trueodds_studies.papers.grill.PaperGrill"
    )
    _on_raw_logits = False

    def _check_options(self) -> None:
        if not is_choice(self.n_components, "auto"):
            check_integer(self.n_components, "n_components", 1, '"auto" or ')
        for name in ("bias", "fit_width"):
            check_choice(getattr(self, name), (True, False), name)
        check_number(self.regularization, "regularization")

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        base = self._one_coal(table)
        if base.separable:
            warn_separable()
            table = table.smoothed("platt")
            base = self._one_coal(table)
        if not base.a > 0:
            if base.eliminated:
                warn_user(
                    "higher scores go with fewer positives; the best monotone map is "
                    "constant. Check which class is positive.",
                    NonMonotoneWarning,
                )
            return _constant_map(base.c, self.scale)
        z = np.clip(log_odds(table.score, self.scale), base.lower, base.upper)
        unit = _log_odds_unit(z, table.weight, self.scale)
        near = np.clip(z / unit, -OUTLIER_LIMIT, OUTLIER_LIMIT)
        grill = GrillRows(near, table.n_neg, table.n_pos, base.a * unit, base.c)
        if z.min() == z.max():
            return _as_map(CoalFit(grill.one_coal, 0.0), grill, base, unit, self.scale)
        grill = grill.summary(FINE_CELLS)
        fit = self._fit_coals(grill, table.total / len(table))
        if not fit.converged:
            warn_user(
                "the fit did not converge; the result may be slightly off.", ConvergenceWarning
            )
        return _as_map(fit, grill, base, unit, self.scale)

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        return fit_charcoal_softmax_map(
            rows,
            bias=self.bias,
            solve=self._fit_class_coals,
            raw_logits=self._on_raw_logits,
            scale=self.scale,
        )

    def _fit_class_coals(self, rows: CoalRows, log_temperature: float, one_coal: bool) -> ClassFit:
        options: Any = {
            "bias": self.bias,
            "fit_width": self.fit_width,
            "lam": float(self.regularization),
        }
        if one_coal:
            n_coals = 1
        elif self.n_components == "auto":
            n_coals = choose_class_coals(rows, MOST_COALS, log_temperature, **options)
        else:
            n_coals = int(self.n_components)
        return fit_class_path(rows, n_coals, log_temperature, **options)[-1]

    def _one_coal(self, table: ScoreTable) -> LogOddsFit:
        return fit_log_odds(
            Rows.of_table(table),
            scale=self.scale,
            design="logistic" if self.bias else "temperature",
            nonnegative=True,
        )

    def _fit_coals(self, rows: GrillRows, unit: float) -> CoalFit:
        bias, fit_width, lam = self.bias, self.fit_width, float(self.regularization)
        if self.n_components == "auto":
            n_coals = choose_n_coals(
                rows, MOST_COALS, unit=unit, bias=bias, fit_width=fit_width, lam=lam
            )
        else:
            n_coals = int(self.n_components)
        fit = self._solve_coals(rows, n_coals)
        if fit.fell_back and n_coals > 1:
            name = "logistic calibration" if bias else "temperature scaling"
            warn_user(
                f"could not fit a monotone map with n_components={n_coals}; fell back to {name}.",
                ConvergenceWarning,
            )
        return fit

    def _solve_coals(self, rows: GrillRows, n_coals: int) -> CoalFit:
        bias, fit_width, lam = self.bias, self.fit_width, float(self.regularization)
        return fit_coal_path(rows, n_coals, bias=bias, fit_width=fit_width, lam=lam)[-1]


def _log_odds_unit(z: Any, weight: Any, scale: InputScale) -> float:
    """Divisor that makes decision values spread like log-odds; 1 for log-odds unless extreme.

    A few outliers do not count if the rest would otherwise have no spread at all.
    """
    exponent = size_exponent(z)
    scaled = np.ldexp(z, -exponent)  # squares must not overflow
    mean = float(np.average(scaled, weights=weight))
    deviation = float(np.sqrt(np.average((scaled - mean) ** 2, weights=weight)))
    typical = float(np.median(np.abs(scaled - np.median(scaled))))
    if deviation > EXTREME * typical > 0:
        deviation = typical
    unit = float(np.ldexp(deviation / LOGISTIC_DEVIATION, exponent))
    if not 0 < unit < np.inf:
        return 1.0
    return unit if scale == "raw" or not 1 / EXTREME < unit < EXTREME else 1.0


def _constant_map(bias: float, scale: InputScale) -> CharcoalGrillMap:
    one = np.ones(1)
    return CharcoalGrillMap(
        means=0 * one, temperatures=one, widths=one, bias=bias, lower=0.0, upper=0.0, scale=scale
    )


def _as_map(
    fit: CoalFit, rows: GrillRows, base: LogOddsFit, unit: float, scale: InputScale
) -> CharcoalGrillMap:
    """The coals on the scale of the scores; several coals within the range that was checked."""
    lower, upper = base.lower, base.upper
    if len(fit.coals.means) > 1:
        low, high = rows.checked
        lower, upper = max(lower, low * unit), min(upper, high * unit)
    order = np.argsort(fit.coals.means, kind="stable")
    return CharcoalGrillMap(
        means=fit.coals.means[order] * unit,
        temperatures=fit.coals.temperatures[order] * unit,
        widths=fit.coals.widths[order] * unit,
        bias=fit.coals.bias,
        lower=lower,
        upper=upper,
        scale=scale,
    )
