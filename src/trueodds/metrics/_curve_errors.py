"""Distances between a flexible calibration curve and the diagonal: ICI, E50, E90, Emax, ECI."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.inputs import Floats
from trueodds.metrics._curves import CurveOptions, FlexibleCurve, Smoother, read_options
from trueodds.metrics._sample import Forecasts, read_two_classes
from trueodds.numerics.local_regression import Kernel
from trueodds.numerics.natural_spline import weighted_quantile

__all__ = [
    "CURVE_ERRORS",
    "CurveErrors",
    "curve_errors",
    "errors_of_gaps",
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
