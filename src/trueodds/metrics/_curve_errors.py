"""How far a flexible calibration curve lies from the diagonal: ICI, E50, E90, Emax, ECI."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.inputs import (
    Floats,
    check_flag,
)
from trueodds.metrics._curves import (
    CurveOptions,
    FlexibleCurve,
    Smoother,
    read_options,
)
from trueodds.metrics._sample import Forecasts, read_two_classes
from trueodds.numerics.local_regression import Kernel
from trueodds.numerics.natural_spline import weighted_quantile

__all__ = [
    "CURVE_FIGURES",
    "curve_figures",
    "e50_error",
    "e90_error",
    "emax_error",
    "estimated_calibration_index",
    "integrated_calibration_index",
]

CURVE_FIGURES = ("ici", "e50", "e90", "emax", "eci")


def curve_figures(gap: Floats, prob: Floats, weight: Floats, prevalence: float) -> dict[str, float]:
    """All figures of the distances between curve and diagonal."""
    total = float(weight.sum())
    size = np.abs(gap)
    seen = weight > 0
    whole = weight if (weight[seen] != 1).any() else None
    kept = None if whole is None else weight[seen]
    median, ninth = weighted_quantile(size[seen], kept, np.array([0.5, 0.9])).tolist()
    no_skill = float(weight @ (prob - prevalence) ** 2)
    squares = float(weight @ gap**2)
    return {
        "ici": float(weight @ size) / total,
        "e50": median,
        "e90": ninth,
        "emax": float(size[seen].max()),
        "eci": squares / no_skill if no_skill > 0 else np.nan,
        "unscaled_eci": 100 * squares / total,
    }


def figures_of_rows(view: Forecasts, options: CurveOptions) -> dict[str, float]:
    """The figures of a sample: loess at each probability, if these are not too many."""
    curve, weight = FlexibleCurve.of(view, options), view.row_weight
    values = curve.values(weight, fine=True)
    if curve.exact:
        gap, prob = values[curve.index] - view.prob, view.prob
    else:
        gap, prob, weight = values - curve.prob, curve.prob, curve.sums(weight)
    return curve_figures(gap, prob, weight, float(np.average(view.hit, weights=view.weight)))


def _figures(
    y_true: Any,
    y_prob: Any,
    curve: Smoother,
    span: float,
    kernel: Kernel,
    n_knots: int,
    sample_weight: Any,
    classes: Any,
) -> dict[str, float]:
    view = read_two_classes(y_true, y_prob, sample_weight, classes)
    return figures_of_rows(view, read_options(curve, span, kernel, n_knots))


def integrated_calibration_index(
    y_true: Any,
    y_prob: Any,
    *,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    sample_weight: Any = None,
    classes: Any = None,
) -> float:
    """Mean distance between the probabilities and a flexible calibration curve (ICI); 0 is best.

    Like the expected calibration error, with a smooth curve in the place of bins. It cannot be 0
    in a sample: a calibrated model has some distance by chance, and the more so with few rows.

    Parameters
    ----------
    y_true, y_prob, sample_weight, classes
        As in :func:`observed_expected_ratio`.
    curve : {"loess", "splines"}, default="loess"
        Local parabolas of the probabilities; or a restricted cubic spline of the log-odds in a
        logistic regression, with knots at Harrell's quantiles.
    span : float, default=0.75
        Share of the rows that have a say at each place (loess).
    kernel : {"epanechnikov", "tricube"}, default="epanechnikov"
        How that falls with the distance (loess): a parabola, or the tricube of R's ``loess``.
    n_knots : int, default=5
        3 to 7 (splines).

    Returns
    -------
    float

    Notes
    -----
    Loess is that of R's ``loess(y ~ p, degree = 2, surface = "direct")``, with values below 0 and
    above 1 moved to these. Above 4,096 distinct probabilities the rows are put in some thousand
    cells, and loess is interpolated between 200 places.

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
    return _figures(y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes)["ici"]


def e50_error(
    y_true: Any,
    y_prob: Any,
    *,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    sample_weight: Any = None,
    classes: Any = None,
) -> float:
    """Median distance between the probabilities and a flexible calibration curve (E50).

    Parameters
    ----------
    y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes
        As in :func:`integrated_calibration_index`.

    Returns
    -------
    float

    Examples
    --------
    >>> from trueodds.metrics import e50_error
    >>> round(e50_error([0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8]), 6)
    0.2
    """
    return _figures(y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes)["e50"]


def e90_error(
    y_true: Any,
    y_prob: Any,
    *,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    sample_weight: Any = None,
    classes: Any = None,
) -> float:
    """The distance that 90% of the probabilities do not exceed (E90).

    Parameters
    ----------
    y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes
        As in :func:`integrated_calibration_index`.

    Returns
    -------
    float

    Examples
    --------
    >>> from trueodds.metrics import e90_error
    >>> round(e90_error([0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8]), 6)
    0.2
    """
    return _figures(y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes)["e90"]


def emax_error(
    y_true: Any,
    y_prob: Any,
    *,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    sample_weight: Any = None,
    classes: Any = None,
) -> float:
    """Greatest distance between the probabilities and a flexible calibration curve (Emax).

    It hangs on a few rows at the ends; read it beside the curve.

    Parameters
    ----------
    y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes
        As in :func:`integrated_calibration_index`.

    Returns
    -------
    float

    Examples
    --------
    >>> from trueodds.metrics import emax_error
    >>> round(emax_error([0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8]), 6)
    0.2
    """
    return _figures(y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes)["emax"]


def estimated_calibration_index(
    y_true: Any,
    y_prob: Any,
    *,
    scaled: bool = True,
    curve: Smoother = "loess",
    span: float = 0.75,
    kernel: Kernel = "epanechnikov",
    n_knots: int = 5,
    sample_weight: Any = None,
    classes: Any = None,
) -> float:
    """Mean squared distance between probabilities and a flexible calibration curve (ECI).

    Parameters
    ----------
    y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes
        As in :func:`integrated_calibration_index`.
    scaled : bool, default=True
        Divide by the mean squared distance between the probabilities and the frequency of events,
        so that a model whose curve is flat has 1. Otherwise, as it was first published, it is
        multiplied by 100.

    Returns
    -------
    float
        NaN if it is scaled and all probabilities equal the frequency of events.

    References
    ----------
    Van Hoorde et al. (2015), A spline-based tool to assess and visualize the calibration of
    multiclass risk predictions.
    Van Calster et al. (2025), Evaluation of performance measures in predictive artificial
    intelligence models to support medical decisions.

    Examples
    --------
    >>> from trueodds.metrics import estimated_calibration_index
    >>> y, p = [0, 0, 1, 1], [0.2, 0.2, 0.8, 0.8]
    >>> round(estimated_calibration_index(y, p), 6)  # 0.2² / 0.3²
    0.444444
    >>> round(estimated_calibration_index(y, p, scaled=False), 6)
    4.0
    """
    check_flag(scaled, "scaled")
    return _figures(y_true, y_prob, curve, span, kernel, n_knots, sample_weight, classes)[
        "eci" if scaled else "unscaled_eci"
    ]
