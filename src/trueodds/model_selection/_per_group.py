"""A map for each group, without pooling: what partial pooling is compared with."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
import numpy.typing as npt

from trueodds.basics.warned import ignored_warnings
from trueodds.calibrators import FeatureCalibrator, default_method, find_calibrator
from trueodds.exceptions import InputError, TrueoddsWarning
from trueodds.inputs import Floats, cuts_of_array
from trueodds.maps import CalibrationMap
from trueodds.maps.features import FeatureSpace
from trueodds.rows import Rows

__all__ = ["PerGroupCalibrator"]

MOST_GROUPS = 100
"""The most frequent; others share the map of all rows."""
Codes = npt.NDArray[np.intp]


class PerGroupCalibrator(FeatureCalibrator):
    """The default method in each group separately, for comparison only.

    A group has the same level of every feature; numbers of more than ten values are cut into five
    bands, as in :func:`trueodds.metrics.group_test`. Groups that are not among the 100 most
    frequent, or have one class only, use the map of all rows.
    """

    title = "a map for each group"
    complexity = 130
    is_monotone = False
    learns_classes_jointly = True
    needs_features = True

    def _fit(self, rows: Rows) -> CalibrationMap:
        raise InputError("a map for each group needs features: call fit(scores, y, features=X).")

    def fit(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        counts: Any = None,
        features: Any = None,
    ) -> Self:
        """Fit one map to all rows, and one to the rows of each group."""
        self.check_settings()
        given = Rows.read(scores, y, sample_weight, counts, scale=self.scale, classes=self.classes)
        rows = given.of_positive_weight()
        rows.check_two_classes()
        weight = given.row_weight
        self._space, encoded = FeatureSpace.learn(features, None, weight)
        encoded = encoded[weight > 0]
        counts = np.ones(len(rows)) if rows.row_counts is None else rows.row_counts
        self._cuts = [
            _cuts(column, counts) if known is None else None
            for column, known in zip(encoded.T, self._space.categories, strict=True)
        ]
        self._groups, group = np.unique(self._cells(encoded), axis=0, return_inverse=True)
        sizes = np.bincount(group.ravel(), counts)
        kind: Any = find_calibrator(default_method(rows.n_classes))
        method = kind(scale=self.scale, label_smoothing=self.label_smoothing)
        with self._fitting():
            self.classes_ = given.classes
            self.map_ = method.fit_map(rows)
            self._maps = [self.map_] * len(sizes)
            for code in np.argsort(-sizes, kind="stable")[:MOST_GROUPS]:
                own = rows.take(np.flatnonzero(group.ravel() == code))
                if len(np.unique(own.codes)) > 1:
                    with ignored_warnings(TrueoddsWarning):  # a class may be missing
                        self._maps[code] = method.fit_map(own)
        return self

    def _cells(self, encoded: Floats) -> Codes:
        """The level of each feature in each row; -1 if it is missing, -2 if it is new."""
        columns = [
            np.where(column < 0, -2, column)
            if cuts is None
            else np.searchsorted(cuts, column, side="right")
            for column, cuts in zip(encoded.T, self._cuts, strict=True)
        ]
        return np.where(np.isnan(encoded), -1, np.stack(columns, axis=1)).astype(np.intp)

    def predict_proba(self, scores: Any, *, features: Any = None) -> Floats:
        """Return the probabilities by the map of each row's group."""
        self._check_fitted("map_")
        array = self._check_scores(scores)
        result = self.map_._apply_to_all(array)
        cells = self._cells(self._space.encode(features))
        known, group = np.unique(cells, axis=0, return_inverse=True)
        place = {tuple(cell): k for k, cell in enumerate(self._groups.tolist())}
        for code, cell in enumerate(known.tolist()):
            own = group.ravel() == code
            if (k := place.get(tuple(cell))) is not None:
                result[own] = self._maps[k]._apply_to_all(array[own])
        return result


def _cuts(column: Floats, counts: Floats) -> Floats:
    """Where bands begin, or each value."""
    known = ~np.isnan(column)
    distinct, place = np.unique(column[known], return_inverse=True)
    cuts = cuts_of_array(distinct, np.bincount(place, counts[known]))
    return distinct if cuts is None else np.array(cuts, dtype=np.float64)
