"""Calibrators that may look at the original attributes too."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.calibrators._shared.accuracy import share_right
from trueodds.calibrators._shared.base import Calibrator
from trueodds.inputs import Floats
from trueodds.maps import TreeMap

__all__ = ["FeatureCalibrator"]


class FeatureCalibrator(Calibrator):
    """A calibrator whose methods take ``features=``; a subclass writes ``predict_proba``."""

    def predict_proba(self, scores: Any, *, features: Any = None) -> Floats:
        """Calibrated probabilities by the scores alone."""
        return super().predict_proba(scores)

    def predict_interval(
        self, scores: Any, *, level: float = 0.9, features: Any = None
    ) -> tuple[Floats, Floats]:
        """Where the true probability lies: of such scores, or of rows given such a probability.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            On the same scale as in ``fit``.
        level : float, default=0.9
            How often the interval holds the truth, on average over rows.
        features : array-like or frame of shape (n, n_attributes), default=None
            The attributes of the same rows, if the method needs them.

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
        """
        self._check_fitted("map_")
        if not isinstance(self.map_, TreeMap):
            return super().predict_interval(scores, level=level)
        banded = self.map_with_band(level=level)
        assert isinstance(banded, TreeMap)  # noqa: S101  # the same map
        return banded.interval(scores, features)

    def predict(self, scores: Any, *, features: Any = None) -> npt.NDArray[Any]:
        """The most probable class of each row; the first of equals."""
        probabilities = self.predict_proba(scores, features=features)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def score(
        self, scores: Any, y: Any, sample_weight: Any = None, *, features: Any = None
    ) -> float:
        """Accuracy of :meth:`predict`, as of any classifier of scikit-learn."""
        return share_right(self.predict(scores, features=features), y, sample_weight)
