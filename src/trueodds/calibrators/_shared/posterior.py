"""What methods with a posterior share: intervals of the probability, and draws of the map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueodds.calibrators._shared.base import Calibrator
from trueodds.exceptions import InputError
from trueodds.maps import CalibrationMap
from trueodds.validation import (
    Floats,
    as_seed,
    check_integer,
    check_level,
    positive_column,
    validate_scores,
)

__all__ = ["PosteriorCalibrator"]


class PosteriorCalibrator(Calibrator):
    """A calibrator that knows how sure it is, of two classes."""

    @abstractmethod
    def _quantile_maps(self, shares: Sequence[float]) -> list[CalibrationMap]:
        """Maps below which the posterior has these shares, at each score."""

    @abstractmethod
    def _drawn_maps(self, n_maps: int, rng: np.random.Generator) -> list[CalibrationMap]:
        """Draws of the map."""

    def predict_interval(self, scores: Any, *, level: float = 0.9) -> tuple[Floats, Floats]:
        """A credible interval of the calibrated probability at each score.

        It is about the probability, not about the label: where it is narrow, the calibration map
        is known well. Of binary problems only.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, 2)
        level : float, default=0.9
            The posterior probability that the interval holds the map at that score.

        Returns
        -------
        low, high : ndarray of shape (n,)
        """
        self._check_two_classes("predict_interval")
        check_level(level)
        array = validate_scores(scores, self.input, n_columns=2)
        if array.ndim == 2:
            array = positive_column(array, self.input)
        low, high = self._quantile_maps([(1 - level) / 2, (1 + level) / 2])
        return low.apply(array), high.apply(array)

    def sample_maps(self, n_maps: int = 1, *, random_state: Any = 0) -> list[CalibrationMap]:
        """Draw maps from the posterior, to carry its uncertainty through a calculation.

        Parameters
        ----------
        n_maps : int, default=1
        random_state : int, Generator, RandomState or None, default=0

        Returns
        -------
        list of CalibrationMap
        """
        self._check_two_classes("sample_maps")
        check_integer(n_maps, "n_maps", 1)
        drawn = self._drawn_maps(n_maps, np.random.default_rng(as_seed(random_state)))
        return [replace(m, classes=self.map_.classes) for m in drawn]

    def _check_two_classes(self, method: str) -> None:
        self._check_fitted("map_")
        if len(self.classes_) > 2:
            raise InputError(
                f"{method} is for two classes; this was fitted on {len(self.classes_)}. Fit one "
                "class against the rest."
            )
