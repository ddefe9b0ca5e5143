"""What structured vector and structured matrix scaling share."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, ClassVar

import numpy as np

from trueodds.calibrators._shared.base import Calibrator
from trueodds.calibrators._shared.log_odds import warn_not_converged, warn_separable
from trueodds.calibrators._shared.softmax import (
    LEAST_TOTAL,
    spare_absent,
    structured_ridges,
    warn_missing_classes,
)
from trueodds.evidence import ClassEvidence, Evidence
from trueodds.maps import CalibrationMap, StructuredSoftmaxMap
from trueodds.maps._formulas import as_pair
from trueodds.numerics.softmax.floor import SoftmaxEvidence
from trueodds.numerics.softmax.regression import SoftmaxModel, TemperatureModel
from trueodds.numerics.structured_softmax.base import Base
from trueodds.numerics.structured_softmax.features import N_SHARED
from trueodds.numerics.structured_softmax.rows import class_probabilities, margin_unit
from trueodds.validation import InputScale

__all__ = [
    "MixedStructuredCalibrator",
    "as_classes",
    "fit_mixed_structured_map",
    "structured_map",
]

LEAST = float(np.finfo(np.float32).tiny)
"""What a probability of 0 is taken for, as in the authors' program."""
ORDINARY_EXPONENT = 4
"""Logits that typically spread by more than 16 are scaled, lest many fall below ``LEAST``."""
HOTTEST = 1e6
"""τ where the map allows no more; reached only if smoothed labels are separated too."""


class MixedStructuredCalibrator(Calibrator):
    """Scaling of a temperature's forecasts with a little of chance: a subclass names its model."""

    model: ClassVar[type[SoftmaxModel]]

    def _fit(self, evidence: Evidence) -> CalibrationMap:
        return self._fit_multiclass(as_classes(evidence, self.input))

    def _fit_multiclass(self, evidence: ClassEvidence) -> CalibrationMap:
        return fit_mixed_structured_map(evidence, model_of=self.model, scale=self.input)


def as_classes(evidence: Evidence, scale: InputScale) -> ClassEvidence:
    """Evidence of two classes as that of any number."""
    score, positive, weight = evidence.rows()
    codes = positive.astype(np.int64)
    return ClassEvidence(as_pair(score, scale), codes, weight, evidence.label_smoothing)


def fit_mixed_structured_map(
    evidence: ClassEvidence, *, model_of: Callable[..., SoftmaxModel], scale: InputScale
) -> StructuredSoftmaxMap:
    """Fit a temperature, mix in 1/(n + 1) of chance, and then fit what the model adds."""
    warn_missing_classes(evidence)
    k, n = evidence.n_classes, max(float(evidence.row_weight.sum()), LEAST_TOTAL)
    unit = margin_unit(evidence.scores, scale, ORDINARY_EXPONENT)
    p = class_probabilities(evidence.scores, scale, unit)
    part = SoftmaxEvidence(
        np.log(p + LEAST),
        np.take(evidence.targets.T, evidence.codes, axis=1),
        evidence.row_weight,
        evidence.class_weight > 0,
    )
    warmed = part.fit(TemperatureModel, -np.inf)
    if warmed.separates and not evidence.label_smoothing:
        warn_separable()
        targets = np.take(evidence.smoothed("platt").targets.T, evidence.codes, axis=1)
        part = SoftmaxEvidence(part.logits, targets, part.row_weight, part.trainable)
        warmed = part.fit(TemperatureModel, -np.inf)
    tau = min(max(float(warmed.theta[0]), 0.0), HOTTEST)
    base = Base(tau, LEAST, 1 / (n + 1), np.full(k, 1 / k))
    mixed = SoftmaxEvidence(base.logs(p), part.targets, part.row_weight, part.trainable)
    fit = mixed.fit(partial(model_of, **structured_ridges(model_of, k, n)), -np.inf)
    if not (warmed.converged and fit.converged):
        warn_not_converged(fit.n_iter)
    weights, bias = spare_absent(fit.weights, fit.bias, evidence.class_weight > 0)
    weights = fit.weights if weights.ndim == 1 else weights  # whose neutral weight is 1, beside τ
    return structured_map(
        base,
        bias=bias,
        on_logs=weights - (np.eye(k) if weights.ndim == 2 else 1),
        on_probabilities=np.empty(0),
        shared=np.zeros(N_SHARED),
        unit=unit,
        input=scale,
    )


def structured_map(base: Base, **what_is_added: Any) -> StructuredSoftmaxMap:
    """A map of a base and what was learned on top of it."""
    return StructuredSoftmaxMap(
        tau=base.tau, floor=base.floor, mixing=base.mixing, prior=base.prior, **what_is_added
    )
