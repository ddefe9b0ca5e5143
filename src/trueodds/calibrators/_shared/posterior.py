"""What methods with a posterior share: intervals of the probability, and draws of the map."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any

import numpy as np

from trueodds.calibrators._shared.base import Calibrator, Curves
from trueodds.exceptions import InputError
from trueodds.inputs import as_seed, check_integer
from trueodds.maps import CalibrationMap

__all__ = ["PosteriorCalibrator"]


class PosteriorCalibrator(Calibrator):
    """A calibrator that knows how sure it is, of two classes."""

    @abstractmethod
    def _quantile_maps(self, shares: Sequence[float]) -> list[CalibrationMap]:
        """Maps below which the posterior has these shares, at each score."""

    @abstractmethod
    def _drawn_maps(self, n_maps: int, rng: np.random.Generator) -> list[CalibrationMap]:
        """Draws of the map."""

    def _band_curves(self, level: float) -> tuple[Curves, Curves]:
        """The posterior's own quantiles; with several classes as of any method."""
        if len(self.classes_) > 2:
            return super()._band_curves(level)
        low, high = self._quantile_maps([(1 - level) / 2, (1 + level) / 2])
        return (low,), (high,)

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
        self._check_fitted("map_")
        if len(self.classes_) > 2:
            raise InputError(
                f"sample_maps is for two classes; this was fitted on {len(self.classes_)}. Fit one "
                "class against the rest."
            )
        check_integer(n_maps, "n_maps", 1)
        drawn = self._drawn_maps(n_maps, np.random.default_rng(as_seed(random_state)))
        return [m.with_classes(self.map_.classes) for m in drawn]
