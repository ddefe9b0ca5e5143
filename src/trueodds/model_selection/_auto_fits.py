"""What a comparison leads to: one method fitted on everything, or a mixture of several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import clone

from trueodds.inputs import Floats, InputScale
from trueodds.maps import AverageMap, CalibrationMap
from trueodds.model_selection._adapter import needs_features
from trueodds.model_selection._comparison_input import ComparedRows
from trueodds.model_selection._comparison_run import reason_of
from trueodds.numerics.mixture_weights import mixture_weights
from trueodds.rows import Rows

__all__ = ["fit_on_everything", "fit_those", "pool_maps", "pool_weights"]

LEAST_WEIGHT = 0.01
"""Methods with a smaller share are left out."""


def fit_on_everything(method: Any, compared: ComparedRows, scale: InputScale) -> Any:
    """A copy of a method, fitted on all rows."""
    rows = compared.rows
    extra = {"features": compared.features} if needs_features(method) else {}
    copy = clone(method).set_params(input=scale, classes=rows.classes)
    return copy.fit(rows.scores, rows.classes[rows.codes], sample_weight=rows.weight, **extra)


def fit_those(
    methods: Mapping[str, Any],
    compared: ComparedRows,
    scale: InputScale,
    failures: dict[str, str],
) -> dict[str, Any]:
    """Copies of methods, fitted on all rows; those that cannot be are named among the failures."""
    fitted = {}
    for name, method in methods.items():
        try:
            fitted[name] = fit_on_everything(method, compared, scale)
        except Exception as error:  # as in a comparison: whatever the reason
            failures[name] = reason_of(error)
    return fitted


def pool_weights(out_of_fold: Mapping[str, Floats], rows: Rows) -> dict[str, float]:
    """The mixture with the lowest out-of-fold log-loss; methods without a share are left out."""
    given = []
    for forecast in out_of_fold.values():
        if forecast.ndim == 1:
            given.append(np.where(rows.codes == 1, forecast, 1 - forecast))
        else:
            given.append(forecast[np.arange(len(rows.codes)), rows.codes])
    p = np.column_stack(given)
    counts = np.ones(len(p)) if rows.weight is None else rows.weight
    possible = p.max(axis=1) > 0  # what every method calls impossible tells none from another
    weights = mixture_weights(p[possible], counts[possible])
    kept = {n: float(w) for n, w in zip(out_of_fold, weights, strict=True) if w >= LEAST_WEIGHT}
    total = sum(kept.values())
    return {name: weight / total for name, weight in kept.items()}


def pool_maps(maps: Sequence[CalibrationMap], weights: Sequence[float]) -> CalibrationMap:
    """One map; what is an average itself adds its own parts."""
    parts: list[tuple[CalibrationMap, float]] = []
    for m, weight in zip(maps, weights, strict=True):
        if isinstance(m, AverageMap):
            parts += [(part, weight * w) for part, w in zip(m.maps, m.weights, strict=True)]
        else:
            parts.append((m, weight))
    if len(parts) == 1:
        return parts[0][0]
    total = sum(weight for _, weight in parts)
    return AverageMap(
        maps=tuple(part for part, _ in parts),
        weights=np.array([weight / total for _, weight in parts]),
        input=maps[0].input,
    )
