"""Distances between a flexible calibration curve and the diagonal: ICI, E50, E90, Emax, ECI.

Chance adds to each of them, so an interval around the estimate would lie too high. Their intervals
hold every size of the error for which the estimate is not unusual: the curve that was found, times
a factor, plus the noise of resamples (the inverse of a test).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from trueodds.inputs import Floats, Labels, as_seed
from trueodds.metrics._curves import CurveOptions, FlexibleCurve, Smoother, read_options
from trueodds.metrics._estimates import MetricInterval, counted, undefined
from trueodds.metrics._resampling import Units, drawn_cells
from trueodds.metrics._sample import Forecasts, read_two_classes
from trueodds.numerics.local_regression import Kernel
from trueodds.numerics.natural_spline import weighted_quantile

__all__ = [
    "CURVE_ERRORS",
    "CurveErrors",
    "curve_error_intervals",
    "curve_errors",
    "errors_of_rows",
    "integrated_calibration_index",
]

CURVE_ERRORS = ("ici", "e50", "e90", "emax", "eci")


@dataclass(frozen=True)
class CurveErrors:
    """Distances between the probabilities and a flexible calibration curve; 0 is best.

    Attributes
    ----------
    ici : float
        Mean distance (integrated calibration index).
    e50, e90 : float
        Median distance, and the distance that 90% of the rows do not exceed.
    emax : float
        Greatest distance. It depends on a few rows at the ends; look at the curve as well.
    eci : float
        Mean squared distance, divided by the mean squared distance between the probabilities and
        the frequency of events (estimated calibration index). A model whose curve is flat has 1.
        NaN if all probabilities equal the frequency of events.
    unscaled_eci : float
        100 times the mean squared distance: ECI as it was first published.

    Examples
    --------
    >>> from trueodds.metrics import curve_errors
    >>> found = curve_errors([0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8])
    >>> round(found.e90, 6), round(found.emax, 6)
    (0.2, 0.2)
    """

    ici: float
    e50: float
    e90: float
    emax: float
    eci: float
    unscaled_eci: float


def errors_of_gaps(gap: Floats, prob: Floats, weight: Floats, prevalence: float) -> CurveErrors:
    """The errors, from the distances between curve and diagonal; weights may be 0."""
    total, size, seen = float(weight.sum()), np.abs(gap), weight > 0
    e50, e90 = weighted_quantile(size[seen], weight[seen], np.array([0.5, 0.9])).tolist()
    no_skill = float(weight @ (prob - prevalence) ** 2)
    squares = float(weight @ gap**2)
    return CurveErrors(
        ici=float(weight @ size) / total,
        e50=e50,
        e90=e90,
        emax=float(size[seen].max()),
        eci=squares / no_skill if no_skill > 0 else np.nan,
        unscaled_eci=100 * squares / total,
    )


def errors_of_rows(view: Forecasts, options: CurveOptions) -> CurveErrors:
    """The errors of a sample: loess at each probability, if these are not too many."""
    curve, weight = FlexibleCurve.of(view, options), view.row_weight
    values = curve.values(weight, fine=True)
    if curve.exact:
        gap, prob = values[curve.index] - view.prob, view.prob
    else:
        gap, prob, weight = values - curve.prob, curve.prob, curve.sums(weight)
    return errors_of_gaps(gap, prob, weight, view.mean(view.hit))


FACTORS = 24
"""Multiples of the curve at which the noise is added; between them shares are interpolated."""


def curve_error_intervals(
    view: Forecasts,
    options: CurveOptions,
    level: float,
    *,
    n_resamples: int,
    random_state: Any,
    cluster: Labels | None = None,
) -> dict[str, MetricInterval]:
    """The errors, with intervals of the mean distances (ICI, ECI).

    Quantiles and the greatest distance have none: no interval that was tried holds them where
    events are rare.
    """
    if cluster is None:
        view = counted(view)
    exact = errors_of_rows(view, options)
    curve = FlexibleCurve.of(view, options, rough=True)
    rng = np.random.default_rng(as_seed(random_state))
    mass, events = _drawn(view, curve, n_resamples, rng, cluster)
    gap, noise = curve.gap_and_noise(view.row_weight, mass, events)
    whole = curve.sums(view.row_weight)
    measures: dict[str, Callable[..., Floats]] = {
        "ici": _mean,
        "eci": partial(_scaled_square, distance=curve.prob - view.mean(view.hit)),
    }
    found = {}
    for name in CURVE_ERRORS:
        estimate = getattr(exact, name)
        if name not in measures or not np.isfinite(estimate):
            found[name] = undefined(level, estimate=estimate)
            continue
        measure = measures[name]
        rough = float(measure(np.abs(gap)[None], whole[None])[0])
        degree = 2 if name == "eci" else 1
        low, high, error = _inverted(partial(measure, mass=mass), rough, gap, noise, level, degree)
        scale = estimate / rough if rough > 0 else 1.0  # of cells and interpolation
        low, high = min(low * scale, estimate), max(high * scale, estimate)
        found[name] = MetricInterval(estimate, low, high, level, error, "inverted", np.empty(0))
    return found


def _drawn(
    view: Forecasts,
    curve: FlexibleCurve,
    n_resamples: int,
    rng: np.random.Generator,
    cluster: Labels | None,
) -> tuple[Floats, Floats]:
    """Weight, and weight of the events, in each cell of the curve in resamples."""
    hit = curve.hit
    if cluster is not None:
        units = Units.of(view, cluster)
        weights = (units.bootstrap(rng).values for _ in range(n_resamples))
        drawn = np.array([[curve.sums(w), curve.sums(w * hit)] for w in weights])
        return drawn[:, 0], drawn[:, 1]
    both, squares = (
        np.concatenate([curve.sums(values * (1 - hit)), curve.sums(values * hit)])
        for values in (view.row_weight, view.squares)
    )
    others, events = np.split(drawn_cells(both, squares, n_resamples, rng), 2, axis=1)
    return others + events, events


def _mean(size: Floats, mass: Floats) -> Floats:
    return np.asarray((size * mass).sum(axis=1) / mass.sum(axis=1))


def _scaled_square(size: Floats, mass: Floats, distance: Floats) -> Floats:
    return np.asarray((size**2 * mass).sum(axis=1) / (mass @ distance**2))


def _inverted(
    measure: Callable[[Floats], Floats],
    found: float,
    gap: Floats,
    noise: Floats,
    level: float,
    degree: int,
) -> tuple[float, float, float]:
    """The errors whose distribution has the one found within its quantiles; the standard error."""
    of_noise = measure(np.abs(noise))
    error = float(measure(np.abs(gap + noise)).std(ddof=1))
    tails = (1 + level) / 2, (1 - level) / 2
    if found <= 0:
        return 0.0, float(np.quantile(of_noise, tails[0])), error
    most = 1.2 + 2.4 * float(np.quantile(of_noise, 0.99) / found) ** (1 / degree)
    factor = np.linspace(0.0, most, FACTORS)
    below = np.array([(measure(np.abs(t * gap + noise)) <= found).mean() for t in factor])
    below = np.minimum.accumulate(below)  # larger errors are below less often, but for chance
    low, high = (found * float(np.interp(-tail, -below, factor)) ** degree for tail in tails)
    return (0.0 if below[0] <= tails[0] else low), high, error


def curve_errors(
    y_true: Any,
    y_prob: Any,
    *,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> CurveErrors:
    """ICI, E50, E90, Emax and ECI: distances of a flexible calibration curve from the diagonal.

    They are calibration errors with a smooth curve instead of bins. None of them can be 0 in a
    sample: chance alone moves the curve of a calibrated model, and more so with few rows.

    Parameters
    ----------
    y_true, y_prob, sample_weight, counts, classes
        As in :func:`observed_expected_ratio`.
    curve : {"loess", "splines"}, default="loess"
        Local parabolas of the probabilities; or a restricted cubic spline of the log-odds in a
        logistic regression, with knots at Harrell's quantiles.
    span : float, default=0.75
        Share of the rows that determine the curve at each place (loess).
    kernel : {"epanechnikov", "tricube"}, default="epanechnikov"
        How the weight of a row falls with its distance (loess): a parabola, or the tricube of R's
        ``loess``.
    n_knots : int, default=5
        3 to 7 (splines).

    Returns
    -------
    CurveErrors
        All of them, from one curve.

    Notes
    -----
    Loess is that of R's ``loess(y ~ p, degree = 2, surface = "direct")``, with values below 0 and
    above 1 moved to these. Above 4,096 distinct probabilities the rows are put in about 2,000
    cells, and loess is interpolated between 200 places.

    References
    ----------
    Austin and Steyerberg (2019), The Integrated Calibration Index (ICI) and related metrics for
    quantifying the calibration of logistic regression models.
    Van Hoorde et al. (2015), A spline-based tool to assess and visualize the calibration of
    multiclass risk predictions.
    Van Calster et al. (2025), Evaluation of performance measures in predictive artificial
    intelligence models to support medical decisions.

    Examples
    --------
    >>> from trueodds.metrics import curve_errors
    >>> found = curve_errors([0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8])
    >>> round(found.ici, 6), round(found.e50, 6)
    (0.2, 0.2)
    >>> round(found.eci, 6)  # 0.2² / 0.3²
    0.444444
    >>> round(found.unscaled_eci, 6)
    4.0
    """
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    return errors_of_rows(view, read_options(curve, span, kernel, n_knots))


def integrated_calibration_index(
    y_true: Any,
    y_prob: Any,
    *,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Mean distance between the probabilities and a flexible calibration curve (ICI); 0 is best.

    :func:`curve_errors` computes it with E50, E90, Emax and ECI. This function is a metric for
    :func:`confidence_interval` and for scikit-learn's ``make_scorer``.

    Parameters
    ----------
    y_true, y_prob, curve, span, kernel, n_knots, sample_weight, counts, classes
        As in :func:`curve_errors`.

    Returns
    -------
    float

    References
    ----------
    Austin and Steyerberg (2019), The Integrated Calibration Index (ICI) and related metrics for
    quantifying the calibration of logistic regression models.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.metrics import integrated_calibration_index
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(2000)
    >>> y = rng.random(2000) < p**2
    >>> round(integrated_calibration_index(y, p), 2)  # ∫ p − p² = 1/6
    0.17
    """
    view = read_two_classes(y_true, y_prob, sample_weight, counts, classes)
    return errors_of_rows(view, read_options(curve, span, kernel, n_knots)).ici
