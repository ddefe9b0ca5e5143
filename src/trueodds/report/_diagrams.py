"""Reliability curves and histograms of every method."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from trueodds.inputs import Floats, Weights
from trueodds.metrics import reliability_curve
from trueodds.metrics._curves import CurveOptions, FlexibleCurve
from trueodds.metrics._sample import TOP_LABEL, Forecasts, event_of
from trueodds.numerics.log_odds import log_odds
from trueodds.numerics.natural_spline import weighted_quantile
from trueodds.report._plain import number, numbers
from trueodds.report._rows import ReportRows

__all__ = ["diagrams"]

MAX_BINS = 20
ROWS_PER_BIN = 30
N_DRAWS = 200
SMOOTH_POINTS = 61
OUTERMOST = 0.005
ROUNDING = 1e-12
HELD_AT = (0.05, 0.275, 0.5, 0.725, 0.95)
LINEAR_BARS = 100
MAX_CLASS_DIAGRAMS = 10
LOG_ODDS_LIMIT = 9.0
"""About 1 in 8,000; more extreme values fall into the outermost bars."""
LOG_ODDS_BARS = 48


def diagrams(
    rows: ReportRows, sample: ReportRows, out_of_fold: dict[str, Floats], *, level: float, seed: int
) -> list[dict[str, Any]]:
    """Return one diagram for two classes; for several, the most probable class and each class.

    The curve ``before`` uses all rows; the curves of methods use the compared rows.
    """
    if rows.binary:
        events = [(1, "positive", str(rows.classes[1]))]
    else:
        frequent = np.argsort(-np.bincount(rows.codes, rows.row_counts), kind="stable")[
            :MAX_CLASS_DIAGRAMS
        ]
        events = [(TOP_LABEL, "top", "most probable class")]
        events += [(int(k), "class", str(rows.classes[k])) for k in sorted(frequent)]
    found = []
    for of_class, kind, name in events:
        before = event_of(rows.prob, rows.codes, rows.weight, of_class)
        curves = {
            method: _curve(event_of(prob, sample.codes, sample.weight, of_class), level, seed)
            for method, prob in out_of_fold.items()
        }
        found.append(
            {
                "kind": kind,
                "event": name,
                "before": _curve(before, level, seed),
                "methods": curves,
            }
        )
    return found


def _curve(event: Forecasts, level: float, seed: int) -> dict[str, Any]:
    n_bins = int(np.clip(event.effective // ROWS_PER_BIN, 2, MAX_BINS))
    curve = reliability_curve(
        event.hit.astype(np.intp),
        event.prob,
        strategy="quantile",
        n_bins=n_bins,
        band="consistency",
        level=level,
        n_resamples=N_DRAWS,
        sample_weight=event.weight,
        random_state=seed,
    )
    return {
        "rows": event.n_rows,
        "predicted": numbers(curve.prob_pred),
        "observed": numbers(curve.prob_true),
        "weight": numbers(curve.weight),
        "band_low": numbers(curve.band_low),
        "band_high": numbers(curve.band_high),
        "smooth": _smooth(event, level),
        "histogram": _histogram(event),
    }


def _smooth(event: Forecasts, level: float) -> dict[str, Any] | None:
    """Fit a restricted cubic spline of the log-odds with its confidence band.

    A prior worth one row at each of five quantiles keeps the spline finite where no event
    occurred. Returns None if there is only one distinct probability or one outcome.
    """
    if np.ptp(event.prob) == 0 or event.hit.all() or not event.hit.any():
        return None
    at = _quantiles(event, HELD_AT)
    # The prior's rows have the mean importance of a row.
    mean = event.total / event.n_rows
    importance = counts = np.ones(len(event))
    if event.weight is not None:
        counts = event.weight.row_counts
        importance = event.weight.values / counts
    held = Weights(
        np.concatenate([importance, mean * at, mean * (1 - at)]),
        np.concatenate([counts, np.ones(2 * len(at))]),
    )
    hit = np.concatenate([event.hit, np.ones(len(at), bool), np.zeros(len(at), bool)])
    view = Forecasts(np.concatenate([event.prob, at, at]), hit, held)
    curve = FlexibleCurve.of(view, CurveOptions("splines"))
    points = curve.drawn(view, level, "confidence")
    inside = np.flatnonzero(_between_quantiles(points[0], event))
    if len(inside) < 2:
        return None
    kept = inside[np.linspace(0, len(inside) - 1, SMOOTH_POINTS).round().astype(np.intp)]
    names = ("predicted", "observed", "band_low", "band_high")
    return {name: numbers(v[np.unique(kept)]) for name, v in zip(names, points, strict=True)}


def _between_quantiles(prob: Floats, event: Forecasts) -> Any:
    """Return the range that has enough rows for a curve."""
    low, high = _quantiles(event, (OUTERMOST, 1 - OUTERMOST))
    return (prob >= low - ROUNDING) & (prob <= high + ROUNDING)


def _quantiles(event: Forecasts, shares: Sequence[float]) -> Floats:
    times = np.ones(len(event)) if event.row_counts is None else event.row_counts
    return weighted_quantile(event.prob, times, np.array(shares))


def _histogram(event: Forecasts) -> dict[str, Any]:
    """Return the shares of events and of other rows in bars of equal width on either axis."""
    # Edges are compared, not multiplied: 0.29 · 100 is less than 29 in float64.
    linear = np.searchsorted(np.arange(1, LINEAR_BARS) / LINEAR_BARS, event.prob, side="right")
    inner = np.linspace(-LOG_ODDS_LIMIT, LOG_ODDS_LIMIT, LOG_ODDS_BARS + 1)[1:-1]
    curved = np.searchsorted(inner, log_odds(event.prob, "probability"), side="right")
    return {
        "linear": _shares(linear, event, LINEAR_BARS),
        "log_odds": _shares(curved, event, LOG_ODDS_BARS),
        "log_odds_limit": LOG_ODDS_LIMIT,
    }


def _shares(index: Any, event: Forecasts, size: int) -> dict[str, list[float | None]]:
    weight = event.row_weight
    shares: dict[str, list[float | None]] = {}
    for name, own in (("events", event.hit), ("others", ~event.hit)):
        mass = np.bincount(index[own], weight[own], size)
        total = mass.sum()
        shares[name] = [number(round(v, 5)) for v in mass / total] if total else [0.0] * size
    return shares
