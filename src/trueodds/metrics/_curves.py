"""Reliability curves as numbers: in bins, isotonic, smoothed, by loess and by splines."""

from __future__ import annotations

from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    as_seed,
    check_choice,
    check_integer,
    check_level,
    check_number,
)
from trueodds.metrics._bands import CurveBand, binned_band, corp_band, make_cells, smooth_band
from trueodds.metrics._calibration_band import guaranteed_band
from trueodds.metrics._errors import bin_edges
from trueodds.metrics._recalibration import finite_log_odds
from trueodds.metrics._sample import Forecasts, event_view
from trueodds.metrics._smooth import SmoothCurve
from trueodds.numerics.glm import LogisticModel, fit_logistic_model
from trueodds.numerics.isotonic import isotonic_fit
from trueodds.numerics.local_regression import KERNELS, Kernel, LocalFit, LocalRegression
from trueodds.numerics.log_odds import log_odds, sigmoid
from trueodds.numerics.natural_spline import KNOT_SHARES, NaturalSpline, harrell_knots
from trueodds.numerics.reliability_bins import bin_sums, uniform_edges

__all__ = [
    "CurveOptions",
    "CurveStrategy",
    "FlexibleCurve",
    "ReliabilityCurve",
    "Smoother",
    "read_options",
    "reliability_curve",
]

Smoother = Literal["loess", "splines"]

EXACT = 4096
"""Distinct probabilities up to which loess is computed at each; above, in cells and on a grid."""
CELLS = 2048
GRID, ROUGH_GRID = 200, 64
ROUGH_CELLS = 96
POINTS = 201


@dataclass(frozen=True)
class CurveOptions:
    """How the curve is made."""

    method: Smoother = "loess"
    span: float = 0.75
    kernel: Kernel = "epanechnikov"
    n_knots: int = 5


def read_options(method: Any, span: Any, kernel: Any, n_knots: Any) -> CurveOptions:
    """Check the options of a curve."""
    check_choice(method, ("loess", "splines"), "curve")
    check_choice(kernel, KERNELS, "kernel")
    n_knots = check_integer(n_knots, "n_knots", 3)
    if n_knots > max(KNOT_SHARES):
        raise InputError(f"n_knots must be 3 to {max(KNOT_SHARES)}; got {n_knots}.")
    return CurveOptions(method, check_number(span, "span", above=True), kernel, n_knots)


@dataclass(frozen=True, eq=False)
class FlexibleCurve:
    """Rows in cells of (nearly) equal probability, from which the curves of resamples are made.

    Attributes
    ----------
    x : ndarray of shape (n_cells,)
        Positions of the cells on the axis: probabilities (loess) or log-odds (splines).
    prob : ndarray of shape (n_cells,)
        Mean probability of each.
    index : ndarray of shape (n,)
        The cell of each row.
    hit : ndarray of shape (n,)
        1 where the event happened, else 0.
    exact : bool
        Whether a cell is one probability.
    spline : NaturalSpline or None
    """

    options: CurveOptions
    x: Floats
    prob: Floats
    index: Any
    hit: Floats
    exact: bool
    spline: NaturalSpline | None

    @classmethod
    def of(cls, view: Forecasts, options: CurveOptions, *, rough: bool = False) -> FlexibleCurve:
        """Put the rows in cells; in fewer, if the curve is to be made for hundreds of resamples."""
        cells = ROUGH_CELLS if rough else CELLS
        weight = view.row_weight
        axis = view.prob if options.method == "loess" else finite_log_odds(view)
        x, index = np.unique(axis, return_inverse=True)
        exact = len(x) <= (2 * ROUGH_CELLS if rough else EXACT)
        if not exact:
            index = _cell_of_distinct(x, np.bincount(index, weight).astype(np.float64), cells)[
                index
            ]
        mass = np.bincount(index, weight)
        if not exact:
            x = np.bincount(index, weight * axis) / mass
        spline = None
        if options.method == "splines":
            spline = NaturalSpline(harrell_knots(axis, weight, options.n_knots))
        prob = np.bincount(index, weight * view.prob) / mass
        return cls(options, x, prob, index, view.hit.astype(np.float64), exact, spline)

    def sums(self, values: Floats) -> Floats:
        """Sums over the rows of each cell."""
        return np.bincount(self.index, values, len(self.x)).astype(np.float64, copy=False)

    def values(self, weight: Floats, *, fine: bool) -> Floats:
        """The curve at every cell, for rows of these weights.

        Unless ``fine``, loess is computed on a grid, with cubics of its values and slopes between;
        so it is in any case where probabilities are many.
        """
        mass, events = self.sums(weight), self.sums(weight * self.hit)
        if self.spline is not None:
            return sigmoid(self._basis @ self._model(mass, events, mass).coef)
        points = GRID if fine else ROUGH_GRID
        if (fine and self.exact) or len(self.x) <= points:
            return np.clip(self._loess(mass, events, self.x).value, 0.0, 1.0)
        at = _grid(self.x[mass > 0], points)
        fit = self._loess(mass, events, at)
        return np.clip(_hermite(at, fit.value, fit.slope, self.x), 0.0, 1.0)

    def gap_and_noise(self, weight: Floats, mass: Floats, events: Floats) -> tuple[Floats, Floats]:
        """The curve less the diagonal at each cell, and what resamples change in it.

        ``mass`` and ``events`` hold the weights in the cells of each resample. The curve is
        linearized: windows and curvature are those of all rows.
        """
        whole, hits = self.sums(weight), self.sums(weight * self.hit)
        if self.spline is not None:
            coef = self._model(whole, hits, whole).coef
            center = sigmoid(self._basis @ coef)
            information = (self._basis * (whole * center * (1 - center))[:, None]).T @ self._basis
            step = (events - mass * center) @ self._basis @ np.linalg.pinv(information)
            return center - self.prob, sigmoid((coef + step) @ self._basis.T) - center
        local = LocalRegression(self.x, whole, span=self.options.span, kernel=self.options.kernel)
        operator = local.operator(self.x)
        center = operator @ hits
        return np.clip(center, 0.0, 1.0) - self.prob, (events - mass * center) @ operator.T

    def drawn(
        self, view: Forecasts, level: float, kind: str
    ) -> tuple[Floats, Floats, Floats, Floats]:
        """Points of the curve: probability, frequency, and the ends of a pointwise band."""
        prob = _grid(self.prob, POINTS)
        weight = view.row_weight
        mass, events = self.sums(weight), self.sums(weight * self.hit)
        squares = self.sums(view.squares)
        z = float(ndtri((1 + level) / 2))
        if self.spline is not None:
            # Probabilities of exactly 0 and 1 stand where the cells at the ends do.
            at = np.clip(log_odds(prob, "probability"), self.x[0], self.x[-1])
            basis = self.spline.basis(at)
            model = self._model(mass, events, squares)
            center = basis @ model.coef
            covariance = model.covariance
            if kind == "consistency":
                covariance = self._covariance_if_calibrated(mass, squares)
            half = z * np.sqrt(np.einsum("ij,jk,ik->i", basis, covariance, basis))
            middle = at if kind == "consistency" else center
            return prob, sigmoid(center), sigmoid(middle - half), sigmoid(middle + half)
        share = self.values(weight, fine=True) if kind == "confidence" else self.prob
        fit = self._loess(mass, events, prob, squares * share * (1 - share))
        middle = fit.value
        if kind == "consistency":  # loess of the probabilities themselves
            middle = self._loess(mass, mass * self.prob, prob).value
        half = z * np.sqrt(np.asarray(fit.variance))
        low, high = np.clip(middle - half, 0.0, 1.0), np.clip(middle + half, 0.0, 1.0)
        return prob, np.clip(fit.value, 0.0, 1.0), low, high

    def _loess(
        self, mass: Floats, events: Floats, at: Floats, noise: Floats | None = None
    ) -> LocalFit:
        seen = mass > 0
        local = LocalRegression(
            self.x[seen], mass[seen], span=self.options.span, kernel=self.options.kernel
        )
        return local.fit(events[seen] / mass[seen], at, None if noise is None else noise[seen])

    def _model(self, mass: Floats, events: Floats, squares: Floats) -> LogisticModel:
        seen = mass > 0
        return fit_logistic_model(
            self._basis[seen], events[seen] / mass[seen], mass[seen], squares=squares[seen]
        )

    @cached_property
    def _basis(self) -> Floats:
        return np.empty((0, 0)) if self.spline is None else self.spline.basis(self.x)

    def _covariance_if_calibrated(self, mass: Floats, squares: Floats) -> Floats:
        """That of the coefficients if every probability is right."""
        spread = self.prob * (1 - self.prob)
        basis = self._basis
        inverse = np.linalg.pinv((basis * (mass * spread)[:, None]).T @ basis, hermitian=True)
        return np.asarray(inverse @ ((basis * (squares * spread)[:, None]).T @ basis) @ inverse)


def _cell_of_distinct(distinct: Floats, mass: Floats, count: int) -> Any:
    """A cell for each distinct value: equal in mass, and narrow where rows are few."""
    share = np.floor((np.cumsum(mass) - mass / 2) / mass.sum() * count)
    place = np.floor((distinct - distinct[0]) / (distinct[-1] - distinct[0]) * count)
    new = (share[1:] != share[:-1]) | (place[1:] != place[:-1])
    return np.concatenate([[0], np.cumsum(new)])


def _grid(x: Floats, points: int) -> Floats:
    """Half of the points evenly, half where the rows are."""
    half = points // 2
    even = np.linspace(x[0], x[-1], half)
    return np.unique(np.concatenate([even, x[np.linspace(0, len(x) - 1, half).astype(np.intp)]]))


def _hermite(at: Floats, value: Floats, slope: Floats, x: Floats) -> Floats:
    """Cubics with given values and slopes at the grid; beyond it the value at its end."""
    if len(at) == 1:
        return np.full(len(x), value[0])
    x = np.clip(x, at[0], at[-1])
    left = np.clip(np.searchsorted(at, x, side="right") - 1, 0, len(at) - 2)
    gap = np.diff(at)[left]
    t = (x - at[left]) / gap
    rise = value[left + 1] - value[left]
    first, last = slope[left] * gap - rise, rise - slope[left + 1] * gap
    return np.asarray(value[left] + t * rise + t * (1 - t) * ((1 - t) * first + t * last))


CurveStrategy = Literal["uniform", "quantile", "corp", "smooth", "loess", "splines"]
STRATEGIES = ("uniform", "quantile", "corp", "smooth", "loess", "splines")
HISTOGRAM_BINS = 20


@dataclass(frozen=True, eq=False)
class ReliabilityCurve:
    """Frequencies against probabilities, with a band, and how the probabilities are distributed.

    Attributes
    ----------
    strategy : {"uniform", "quantile", "corp", "smooth", "loess", "splines"}
    prob_pred, prob_true : ndarray of shape (n_points,)
        Mean probability and frequency in each bin that is not empty, or both ends of each block of
        the isotonic fit (``"corp"``). ``"smooth"`` has points of an even grid; of ``"loess"`` and
        ``"splines"`` half are even and half are quantiles of the rows.
    weight : ndarray of shape (n_points,)
        Weight of each bin (the number of rows if there are no weights); of the block, shared
        by its two ends; or around the grid point.
    edges : ndarray or None
        Inner edges of the bins, without the ends 0 and 1; only for bins.
    filled : ndarray or None
        Which bins between the edges the points stand for.
    band_kind : {"consistency", "confidence", "guaranteed"} or None
    level : float or None
        Share of the draws that the band holds at each point separately; for ``"guaranteed"``, how
        probable it is that the band holds the whole curve.
    band_x, band_low, band_high : ndarray or None
        The band and the points where it is given.
    hist_edges, hist_weight : ndarray
        Weight of the probabilities in 20 bins of equal width.
    n_rows : int
        Rows (pairs, if pooled) of positive weight.
    event : str
        What the probabilities are of.
    name : str or None
        What to call the curve in a legend.

    Examples
    --------
    >>> from trueodds.metrics import reliability_curve
    >>> y, p = [0, 1, 0, 1, 1, 0] * 10, [0.2, 0.9, 0.4, 0.6, 0.7, 0.3] * 10
    >>> curve = reliability_curve(y, p, n_bins=2, band=None)
    >>> curve.prob_pred.round(2).tolist(), curve.prob_true.tolist()
    ([0.3, 0.73], [0.0, 1.0])
    """

    strategy: CurveStrategy
    prob_pred: Floats
    prob_true: Floats
    weight: Floats
    edges: Floats | None
    filled: Any
    band_kind: str | None
    level: float | None
    band_x: Floats | None
    band_low: Floats | None
    band_high: Floats | None
    hist_edges: Floats
    hist_weight: Floats
    n_rows: int
    event: str
    name: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The curve as plain JSON values."""
        values = {f.name: getattr(self, f.name) for f in fields(self)}
        return {k: v.tolist() if isinstance(v, np.ndarray) else v for k, v in values.items()}


def reliability_curve(
    y_true: Any,
    y_prob: Any,
    *,
    strategy: CurveStrategy = "quantile",
    n_bins: int | None = None,
    band: Literal["consistency", "confidence", "guaranteed"] | None = "consistency",
    level: float = 0.9,
    n_resamples: int = 500,
    multiclass: Literal["top_label", "pooled"] = "top_label",
    pos_label: Any = None,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
    random_state: Any = None,
    name: str | None = None,
) -> ReliabilityCurve:
    """Compute the observed frequency as a function of the predicted probability.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`expected_calibration_error`. A single column of probabilities is that of the
        positive class: ``pos_label``, or the last label if that is not given.
    strategy : {"uniform", "quantile", "corp", "smooth", "loess", "splines"}, default="quantile"
        Bins of equal width; bins of equal mass; the isotonic fit, which needs no choice but
        assumes an increasing curve; or a kernel average with the bandwidth of
        :func:`smooth_calibration_error`. ``"loess"`` and ``"splines"`` are the flexible curves of
        clinical papers: local parabolas, or a restricted cubic spline of five knots, as in
        :func:`curve_errors`.
    n_bins : int, default=None
        For bins: 10 of equal width, or at most 30 of equal mass (as in the calibration trees
        paper) with at least 20 rows each on average.
    band : {"consistency", "confidence", "guaranteed"} or None, default="consistency"
        ``"consistency"``: where the curve of a calibrated model would lie, from labels drawn
        anew from the probabilities; a curve that leaves it is not due to chance. It lies around
        the diagonal. ``"confidence"``: how far the curve itself would move in another sample,
        from bootstrap samples of the rows; it lies around the curve. (A bin whose rows are all
        of one class has no width then.) Those of ``"loess"`` and ``"splines"`` are computed by a
        formula: normal around the curve, or around its log-odds. ``"guaranteed"``: where the true
        curve lies, all of it at once and at any sample size, if it does not fall; see
        :func:`calibration_band`.
    level : float, default=0.9
        Share of the draws within the band at each point. It holds pointwise: of ten points of a
        calibrated model, one is expected outside a band of 90%. For ``"guaranteed"``, how
        probable it is that no point of the true curve is outside.
    n_resamples : int, default=500
    multiclass : {"top_label", "pooled"}, default="top_label"
        With more than two classes: the most probable one, or all ⟨row, class⟩ pairs.
    pos_label : label, default=None
        The curve of this class against the rest. With a single column of probabilities it is
        the class that they are of, as in scikit-learn's ``calibration_curve``.
    random_state : int or Generator, default=None
    name : str, default=None
        What to call the curve in a legend.

    Returns
    -------
    ReliabilityCurve

    Notes
    -----
    A row is one independent observation for the bands, whatever its importance; a count of k is k
    of them. Bins are closed on the left. Cost: one sort, and O(n_resamples · 4096) for the band.

    References
    ----------
    Bröcker and Smith (2007), Increasing the reliability of reliability diagrams.
    Dimitriadis, Gneiting and Jordan (2021), Stable reliability diagrams for probabilistic
    classifiers.

    Examples
    --------
    >>> from trueodds.metrics import reliability_curve
    >>> y, p = [0, 1, 0, 1, 1, 1], [0.1, 0.1, 0.4, 0.4, 0.9, 0.9]
    >>> curve = reliability_curve(y, p, n_bins=3, random_state=0)
    >>> curve.prob_pred, curve.prob_true, curve.weight
    (array([0.1, 0.4, 0.9]), array([0.5, 0.5, 1. ]), array([2., 2., 2.]))
    """
    check_choice(strategy, STRATEGIES, "strategy")
    check_choice(band, ("consistency", "confidence", "guaranteed", None), "band")
    check_choice(multiclass, ("top_label", "pooled"), "multiclass")
    level = check_level(level)
    n_resamples = check_integer(n_resamples, "n_resamples", 20)
    if n_bins is not None:
        n_bins = check_integer(n_bins, "n_bins", 1)
    view, event = event_view(y_true, y_prob, sample_weight, counts, classes, multiclass, pos_label)
    rng = np.random.default_rng(as_seed(random_state))
    drawn = band in ("consistency", "confidence")
    draws = (band or "", level, n_resamples, rng)
    edges = filled = None
    if strategy in ("uniform", "quantile"):
        most = 10 if strategy == "uniform" else mass_bins(view.effective)
        edges = bin_edges(view, most if n_bins is None else n_bins, strategy)
        x, y, weight, filled = binned_points(view, edges, uniform=strategy == "uniform")
        found = binned_band(make_cells(view.table, edges), edges, x, *draws) if drawn else None
    elif strategy == "corp":
        x, y, weight = _corp_points(view)
        found = corp_band(make_cells(view.table), *draws) if drawn else None
    elif strategy in ("loess", "splines"):
        x, y, weight, found = _flexible(view, strategy, band if drawn else None, level)
    else:
        smooth = SmoothCurve.of(view)
        x, y, weight = smooth.x, smooth.y, smooth.weight
        found = smooth_band(make_cells(view.table), smooth, *draws) if drawn else None
    shown = found or CurveBand(None, None, None)
    if band == "guaranteed":
        shown = CurveBand(*guaranteed_band(view, level, event=event).outline())
    return curve_of(
        view,
        shown,
        strategy=strategy,
        prob_pred=x,
        prob_true=np.clip(y, 0.0, 1.0),
        weight=weight,
        edges=edges,
        filled=filled,
        band_kind=band,
        level=level if band else None,
        n_rows=view.n_rows,
        event=event,
        name=name,
    )


def mass_bins(n_rows: float) -> int:
    """The default number of bins of equal mass: at most 30, of 20 or more rows on average."""
    return int(np.clip(n_rows // 20, 1, 30))


def binned_points(
    view: Forecasts, edges: Floats, *, uniform: bool = False
) -> tuple[Floats, Floats, Floats, Any]:
    """Mean probability, frequency and weight of each bin that is not empty, and its number."""
    sums = bin_sums(view.prob, view.codes, view.weight, edges, uniform=uniform)
    number = np.flatnonzero(sums.weight > 0)
    sums = sums.filled()
    return sums.prob / sums.weight, sums.positive / sums.weight, sums.weight, number


def curve_of(view: Forecasts, band: CurveBand, **fields: Any) -> ReliabilityCurve:
    """A curve with its band and the histogram of the probabilities."""
    hist = bin_sums(view.prob, view.codes, view.weight, uniform_edges(HISTOGRAM_BINS), uniform=True)
    return ReliabilityCurve(
        band_x=band.x,
        band_low=band.low,
        band_high=band.high,
        hist_edges=np.arange(HISTOGRAM_BINS + 1) / HISTOGRAM_BINS,
        hist_weight=hist.weight,
        **fields,
    )


def _flexible(
    view: Forecasts, strategy: Any, band: str | None, level: float
) -> tuple[Floats, Floats, Floats, CurveBand | None]:
    """The curve of loess or splines, the weight nearest to each of its points, and the band."""
    rows = view.row_weight
    curve = FlexibleCurve.of(view, CurveOptions(strategy))
    x, y, low, high = curve.drawn(view, level, band or "confidence")
    nearest = np.searchsorted((x[1:] + x[:-1]) / 2, view.prob)
    weight = np.bincount(nearest, rows, len(x)).astype(np.float64)
    return x, y, weight, CurveBand(x, low, high) if band else None


def _corp_points(view: Forecasts) -> tuple[Floats, Floats, Floats]:
    """Both ends of every block of the isotonic fit, once if they are the same."""
    table = view.table
    values, blocks = isotonic_fit(table.n_pos, table.weight)
    first, last = blocks[:-1], blocks[1:] - 1
    mass = np.add.reduceat(table.weight, first)
    ends = np.stack([first, last], axis=1)
    kept = np.stack([np.ones(len(first), bool), last > first], axis=1)
    shared = np.where(last > first, mass / 2, mass)
    rows = ends[kept]
    return table.score[rows], values[rows], np.repeat(shared, 2)[kept.ravel()]
