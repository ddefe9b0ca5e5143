"""What decisions cost before and after calibration, for every ratio of the two costs."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtri

from trueodds.inputs import Floats
from trueodds.report._evidence import Event, ReportRows, event_of
from trueodds.report._plain import numbers

__all__ = ["decision_costs"]

BINARY_RATIOS = np.geomspace(1e-3, 1e3, 121)
"""Cost of a miss, a false alarm being 1: twenty steps to a power of ten."""
SEVERAL_RATIOS = 10 ** (np.arange(2, 61) / 20)
"""Cost of a wrong answer, asking somebody being 1; below 1 nobody would ask."""


def decision_costs(
    sample: ReportRows, out_of_fold: dict[str, Floats], baseline: str, level: float
) -> dict[str, Any]:
    """Mean cost per row of the best decisions by each method's probabilities.

    Two classes: act where p ≥ 1/(1 + r); a false alarm costs 1 and a miss costs r. Several
    classes: name the most probable one where its p ≥ 1 − 1/r, otherwise ask somebody; asking
    costs 1 and a wrong answer costs r. Both are (share of the cheap kind) + r·(share of the dear
    kind), and both thresholds are optimal for calibrated probabilities.

    The saving against doing nothing is paired by row; its interval is normal.
    """
    ratios = BINARY_RATIOS if sample.binary else SEVERAL_RATIOS
    thresholds = 1 / (1 + ratios) if sample.binary else 1 - 1 / ratios
    events = {m: event_of(p, sample.codes, sample.weight) for m, p in out_of_fold.items()}
    shares = {m: [_shares(e, t, sample.binary) for t in thresholds] for m, e in events.items()}
    base = events[baseline]
    methods = {}
    for method, event in events.items():
        cheap, dear = np.array(shares[method]).T
        low, high = _saving(events[baseline], event, ratios, thresholds, level, sample.binary)
        methods[method] = {
            "cheap": numbers(cheap),
            "dear": numbers(dear),
            "saving_low": numbers(low),
            "saving_high": numbers(high),
        }
    return {
        "kind": "act" if sample.binary else "ask",
        "ratios": numbers(ratios),
        "thresholds": numbers(thresholds),
        "start": int(np.argmin(np.abs(np.log(ratios / _usual_ratio(base, sample.binary))))),
        "rows": len(sample),
        "default": numbers(_without_model(base, ratios, sample.binary)),
        "methods": methods,
    }


def _usual_ratio(event: Event, binary: bool) -> float:
    """Where the slider starts: rare events are usually worth as much more as they are rarer."""
    if not binary:
        return 10.0
    positive = _mean(event, event.hit)
    return float(np.clip(round((1 - positive) / positive), 1, 100))


def _kinds(event: Event, threshold: float, binary: bool) -> tuple[Any, Any]:
    """Which rows are decided wrongly in the cheap way, and which in the dear way."""
    act = event.prob >= threshold
    if binary:
        return act & ~event.hit, ~act & event.hit
    return ~act, act & ~event.hit


def _mean(event: Event, values: Any) -> float:
    if event.weight is None:
        return float(np.count_nonzero(values)) / len(event)
    return float(event.weight @ values / event.weight.sum())


def _shares(event: Event, threshold: float, binary: bool) -> tuple[float, float]:
    cheap, dear = _kinds(event, threshold, binary)
    return _mean(event, cheap), _mean(event, dear)


def _without_model(event: Event, ratios: Floats, binary: bool) -> Floats:
    """The cheaper of treating every row alike: act on all or none; answer all or ask always."""
    if binary:
        positive = _mean(event, event.hit)
        return np.minimum(1 - positive, ratios * positive)
    return np.minimum(1.0, ratios * _mean(event, ~event.hit))


def _saving(
    before: Event,
    after: Event,
    ratios: Floats,
    thresholds: Floats,
    level: float,
    binary: bool,
) -> tuple[Floats, Floats]:
    """Ends of the interval of cost before − cost after, row by row."""
    z = float(ndtri((1 + level) / 2))
    weight = np.ones(len(before)) if before.weight is None else before.weight
    weight = weight / weight.sum()
    concentration = float(weight @ weight)
    low, high = np.empty(len(ratios)), np.empty(len(ratios))
    for i, (ratio, threshold) in enumerate(zip(ratios, thresholds, strict=True)):
        cheap_a, dear_a = _kinds(before, threshold, binary)
        cheap_b, dear_b = _kinds(after, threshold, binary)
        changed = np.flatnonzero((cheap_a != cheap_b) | (dear_a != dear_b))
        difference = (
            cheap_a[changed].astype(np.float64)
            - cheap_b[changed]
            + ratio * (dear_a[changed].astype(np.float64) - dear_b[changed])
        )
        mean = float(weight[changed] @ difference)
        # Σ w²·(d − mean)² with d = 0 on the rows that did not change.
        square = float((weight[changed] ** 2) @ (difference**2 - 2 * mean * difference))
        square += mean**2 * concentration
        half = z * np.sqrt(max(square, 0.0))
        low[i], high[i] = mean - half, mean + half
    return low, high
