"""A map on rows in memory, missing where SQL would give NULL."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from trueodds.inputs import Floats
from trueodds.maps import CalibrationMap, TreeMap
from trueodds.maps._formulas import usable_rows

__all__ = ["apply_to_rows"]


def apply_to_rows(
    calibration_map: CalibrationMap, scores: Floats, features: Mapping[str, Any] | None
) -> Floats:
    """Probabilities of shape (n, n_outputs) for scores (n, n_scores); NaN for unusable rows."""
    usable = usable_rows(calibration_map, scores)
    n_scores = scores.shape[1]
    result = np.full((len(scores), n_scores), np.nan)
    if not usable.any():
        return result
    kept = scores[usable]
    arranged = kept.ravel() if n_scores == 1 else kept
    if isinstance(calibration_map, TreeMap):
        values = calibration_map(arranged, features=_attributes(calibration_map, features, usable))
    else:
        values = calibration_map(arranged)
    result[usable] = values.reshape(len(kept), -1)
    return result


def _attributes(tree: TreeMap, features: Mapping[str, Any] | None, usable: Any) -> Any:
    """The attributes in the order of the fit; those that no node asks for are not needed."""
    n_attributes = len(tree.categories)
    columns = np.full((int(usable.sum()), n_attributes), None, dtype=object)
    for name, values in (features or {}).items():
        position = int(name)
        columns[:, position] = np.asarray(values, dtype=object)[usable]
    return columns
