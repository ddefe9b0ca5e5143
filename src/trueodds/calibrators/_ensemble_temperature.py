"""Ensemble temperature scaling."""

from __future__ import annotations

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.calibrators._temperature import TemperatureCalibrator
from trueodds.inputs import Floats
from trueodds.maps import AverageMap, CalibrationMap, IdentityMap, LogOddsMap, SoftmaxMap
from trueodds.numerics.mixture_weights import mixture_weights
from trueodds.rows import Rows

__all__ = ["EnsembleTemperatureCalibrator"]


class EnsembleTemperatureCalibrator(Calibrator):
    """w₁·softmax(l/T) + w₂·p + w₃/k: temperature scaling, the scores and an even split mixed.

    Use it for networks that are overconfident by about the same factor everywhere but occasionally
    very wrong. The mixture keeps the order of classes in a row and never returns 0 if w₃ is
    positive.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. p is the softmax of logits and decision values.

    Attributes
    ----------
    map_ : AverageMap
        The map; its ``weights`` are w₁, w₂ and w₃.

    Notes
    -----
    T is fitted first, as by :class:`TemperatureCalibrator`, then w by maximum likelihood. Cost:
    that of temperature scaling and about ten passes over three numbers for each row.

    References
    ----------
    Zhang, Kailkhura and Han (2020), Mix-n-Match: ensemble and compositional methods for uncertainty
    calibration in deep learning, section 3.2.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import EnsembleTemperatureCalibrator
    >>> rng = np.random.default_rng(0)
    >>> logits = 2 * rng.normal(size=(2000, 3))
    >>> p = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    >>> mixed = 0.8 * p + 0.2 / 3
    >>> y = (mixed.cumsum(axis=1) > rng.random((2000, 1))).argmax(axis=1)
    >>> EnsembleTemperatureCalibrator().fit(p, y).map_.weights.round(1)
    array([0. , 0.8, 0.2])
    """

    title = "ensemble temperature scaling"
    label = "ensemble temperature"
    complexity = 30
    learns_classes_jointly = True

    def _fit(self, rows: Rows) -> CalibrationMap:
        uniform = LogOddsMap(a=0.0, b=0.0, c=0.0, scale=self.scale)
        maps = self._members(rows, uniform)
        p = np.stack([m._apply_valid(rows.scores) for m in maps], axis=1)
        n_neg, n_pos = rows.smoothed_counts()
        return self._mixed(maps, np.concatenate([1 - p, p]), np.concatenate([n_neg, n_pos]))

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        nothing = np.zeros(rows.n_classes)
        uniform = SoftmaxMap(weights=nothing, bias=nothing, scale=self.scale)
        maps = self._members(rows, uniform)
        counts = rows.class_targets[rows.codes] * rows.row_weight[:, None]
        seen = np.nonzero(counts)
        p = np.stack([m._apply_valid(rows.scores)[seen] for m in maps], axis=1)
        return self._mixed(maps, p, counts[seen])

    def _members(self, rows: Rows, uniform: CalibrationMap) -> tuple[CalibrationMap, ...]:
        plain = TemperatureCalibrator(scale=self.scale, label_smoothing=self.label_smoothing)
        return plain.fit_map(rows), IdentityMap(scale=self.scale), uniform

    def _mixed(self, maps: tuple[CalibrationMap, ...], p: Floats, counts: Floats) -> CalibrationMap:
        seen = counts > 0
        weights = mixture_weights(p[seen], counts[seen])
        return AverageMap(maps=maps, weights=weights, scale=self.scale)
