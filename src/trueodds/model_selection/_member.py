"""One of the models of a calibrated classifier, with its calibrator."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, Labels
from trueodds.model_selection._adapter import needs_features, predict_calibrated
from trueodds.model_selection._response import response_of

__all__ = ["CalibratedMember"]


@dataclass(frozen=True, eq=False)
class CalibratedMember:
    """A fitted model with its calibrator, for the classes that the model knows.

    Parameters
    ----------
    estimator : object
        The fitted model.
    calibrator : object
        The fitted calibrator.
    known : ndarray of int
        Positions in ``classes_`` of the model's classes.
    method : str
        What the model is asked for.
    n_classes : int
        Of all that are in ``classes_``.
    """

    estimator: Any
    calibrator: Any
    known: Labels
    method: str
    n_classes: int

    def scores(self, X: Any) -> Floats:
        """What the model gives for its classes; of two, the score of the second."""
        return response_of(self.estimator, X, self.method, len(self.known))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of all classes; those that the model does not know get 0."""
        return self.calibrate(self.scores(X), X)

    def calibrate(self, scores: Floats, X: Any) -> Floats:
        """Probabilities of all classes from the model's scores."""
        p = predict_calibrated(self.calibrator, scores, X)
        if len(self.known) == self.n_classes:
            return p
        result = np.zeros((len(p), self.n_classes))
        result[:, self.known] = p
        return result

    def predict_interval(self, X: Any, level: float) -> tuple[Floats, Floats]:
        """Intervals of all classes; of those that the model does not know nothing is known."""
        if not hasattr(self.calibrator, "predict_interval"):
            raise InputError("predict_interval needs a calibrator of trueodds.")
        scores = self.scores(X)
        extra = {"features": X} if needs_features(self.calibrator) else {}
        ends = self.calibrator.predict_interval(scores, level=level, **extra)
        if self.n_classes == 2:
            return np.asarray(ends[0]), np.asarray(ends[1])
        shape = len(scores), self.n_classes
        low, high = np.zeros(shape), np.ones(shape)
        if len(self.known) == 2:
            ends = (np.stack([1 - ends[1], ends[0]], 1), np.stack([1 - ends[0], ends[1]], 1))
        low[:, self.known], high[:, self.known] = ends
        return low, high
