"""Intervals of every calibrator: where the truth lies, not where the method is sure of itself."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from trueodds.basics.threads import single_threaded_blas
from trueodds.calibrators._shared.kept import (
    KeptClasses,
    KeptRows,
    keep_classes,
    keep_evidence,
)
from trueodds.evidence import ClassEvidence, Evidence
from trueodds.exceptions import InputError
from trueodds.maps import CalibrationMap, LogOddsCurveMap
from trueodds.validation import Floats, InputScale, Labels, check_level

if TYPE_CHECKING:
    from trueodds.calibrators._shared.base import Calibrator
    from trueodds.numerics.smooth_curve.kept import KeptCells
    from trueodds.numerics.smooth_curve.posterior import CurvePosterior

__all__ = ["Curves", "Intervals"]

Curves = tuple[CalibrationMap, ...]


class Intervals:
    """The part of a calibrator that says how sure one can be of its probabilities."""

    input: InputScale
    map_: CalibrationMap
    classes_: npt.NDArray[Any]
    _kept: Any = None
    _posteriors: tuple[CurvePosterior, ...] | None = None

    def predict_interval(self, scores: Any, *, level: float = 0.9) -> tuple[Floats, Floats]:
        """Where the true probability of such scores lies, given the evidence of the fit.

        It is about the probability, not about the label, and about the truth, not about the
        method: a method that is wrong somewhere has its error inside the interval. What the
        method itself says is never outside; if it lies on one of the ends, the evidence speaks
        against it.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            On the same scale as in ``fit``.
        level : float, default=0.9
            How often the interval holds the truth, on average over scores.

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
            With two classes those of the positive one. With several, each class by itself: the
            frequency of the class among all rows that are given this probability of it (or, if
            the method learns one class against the rest, that have this score of it).

        Notes
        -----
        The first call fits the curves of
        :class:`~trueodds.BayesianSmoothCalibrator` to what was kept of the evidence (some tens of
        milliseconds for each class). Measured coverage: ``docs/uncertainty.md``.
        """
        own = cast("Calibrator", self)
        own._check_fitted("map_")
        own._check_scores(scores)
        return self.map_with_band(level=level).interval(scores)

    def map_with_band(self, *, level: float = 0.9) -> CalibrationMap:
        """The map with its intervals, to be saved, exported or applied elsewhere.

        Parameters
        ----------
        level : float, default=0.9

        Returns
        -------
        CalibrationMap
            ``map_``, with ``band``.

        Examples
        --------
        >>> from trueodds import BetaCalibrator
        >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95], [0, 0, 1, 1, 0, 1]
        >>> banded = BetaCalibrator().fit(scores, y).map_with_band(level=0.5)
        >>> low, high = banded.interval([0.9])
        >>> bool(low[0] < banded([0.9])[0] < high[0])
        True
        """
        cast("Calibrator", self)._check_fitted("map_")
        level = check_level(level)
        lower, upper = self._band_curves(level)
        return self.map_.with_band(lower, upper, level=level)

    def learn_with_band(
        self, evidence: Evidence | ClassEvidence, *, level: float = 0.9
    ) -> CalibrationMap:
        """As :meth:`learn`, with the intervals of the evidence in the map."""
        own = cast("Calibrator", self)
        level = check_level(level)
        self.map_ = own.learn(evidence)
        n_classes = evidence.n_classes if isinstance(evidence, ClassEvidence) else 2
        self.classes_ = np.arange(n_classes)
        self._keep(evidence)
        return self.map_with_band(level=level)

    def _keep(self, evidence: Evidence | ClassEvidence) -> None:
        """Remember as much of the evidence as intervals need."""
        self._kept, self._posteriors = keep_evidence(evidence, self.input), None

    def _keep_forecasts(self, p: Floats, codes: Labels, weight: Floats) -> None:
        """The same for a method whose forecasts depend on more than the scores."""
        own = weight > 0
        forecasts = p[own, 1] if p.shape[1] == 2 else p[own]
        kept = keep_classes(forecasts, codes[own], weight[own], forecasts=True)
        self._kept, self._posteriors = kept, None

    def _band_curves(self, level: float) -> tuple[Curves, Curves]:
        """The lower and the upper curve, of the scores or of each class's forecast."""
        shares = ((1 - level) / 2, (1 + level) / 2)
        scale: InputScale = "probability" if self.map_.band_of_forecasts else self.input
        lower, upper = (
            tuple(LogOddsCurveMap(x=p.z, y=p.quantile(share), input=scale) for p in self._truth())
            for share in shares
        )
        return lower, upper

    def __getstate__(self) -> dict[str, Any]:
        """All but the curves, which can be fitted again and take more room than the rest."""
        state = {name: value for name, value in vars(self).items() if name != "_posteriors"}
        kept = state.get("_kept")
        if isinstance(kept, KeptRows) and not kept.are_few:
            state["_kept"] = kept.cells(self.input)
        return state

    def _truth(self) -> tuple[CurvePosterior, ...]:
        """What is known of the truth: of the positive class, or of each class."""
        if self._posteriors is None:
            kept = self._kept
            scale: InputScale = "probability" if self.map_.band_of_forecasts else self.input
            if kept is None:
                raise InputError(
                    f"this {type(self).__name__} has no evidence for an interval, as it was fitted "
                    "by an earlier version of trueodds: fit it again."
                )
            if isinstance(kept, KeptClasses):
                found = kept.cells(self.map_)
            else:
                found = [kept.cells(scale) if isinstance(kept, KeptRows) else kept]
            self._posteriors = tuple(_posterior(cells, scale) for cells in found)
        return self._posteriors


def _posterior(cells: KeptCells, scale: InputScale) -> CurvePosterior:
    from dataclasses import replace

    from trueodds.numerics.smooth_curve.fit import fit_smooth_curve

    with single_threaded_blas():
        posterior = fit_smooth_curve(
            cells.z, cells.n_neg, cells.n_pos, centred_on_scores=scale != "score", with_bare=False
        )
    return replace(posterior, z=np.asarray(posterior.z * cells.unit))
