"""Calibrators that may look at the original attributes too."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.calibrators._shared.base import Calibrator, share_right
from trueodds.validation import Floats

__all__ = ["FeatureCalibrator"]


class FeatureCalibrator(Calibrator):
    """A calibrator whose methods take ``features=``; a subclass writes ``predict_proba``."""

    def predict_proba(self, scores: Any, *, features: Any = None) -> Floats:
        """Calibrated probabilities by the scores alone."""
        return super().predict_proba(scores)

    def predict(self, scores: Any, *, features: Any = None) -> npt.NDArray[Any]:
        """The most probable class of each row; the first of equals."""
        probabilities = self.predict_proba(scores, features=features)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def score(
        self, scores: Any, y: Any, sample_weight: Any = None, *, features: Any = None
    ) -> float:
        """Accuracy of :meth:`predict`, as of any classifier of scikit-learn."""
        return share_right(self.predict(scores, features=features), y, sample_weight)
