"""Any calibrator, one-vs-rest."""

from __future__ import annotations

from dataclasses import dataclass, field

from trueodds.calibrators import Calibrator
from trueodds.estimator import fact
from trueodds.inputs import check_instance
from trueodds.maps import CalibrationMap
from trueodds.rows import Rows

__all__ = ["OneVsRestCalibrator"]


@dataclass(kw_only=True, eq=False, repr=False)
class OneVsRestCalibrator(Calibrator):
    """One binary calibrator per class, with rows normalized to sum to 1.

    Binary methods do this automatically with more than two classes. Use this class to apply it to a
    method that would otherwise fit all classes jointly, or to columns that are independent scores
    and need not sum to 1.

    Parameters
    ----------
    calibrator : Calibrator, default=None
        Method for each class; None for :class:`~trueodds.LogisticCalibrator`.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores; overrides that of the calibrator.
    label_smoothing : {"platt", None} or float, default=None
        Label smoothing that overrides that of the calibrator, if not None.
    classes : array-like, default=None
        All labels; a class without rows keeps its scores.

    Attributes
    ----------
    map_ : OneVsRestMap, or the calibrator's map for two classes

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import BetaCalibrator, OneVsRestCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random((300, 3))
    >>> y = scores.argmax(axis=1)
    >>> y[:60] = rng.integers(0, 3, 60)
    >>> OneVsRestCalibrator(BetaCalibrator()).fit(scores, y).predict_proba(scores).shape
    (300, 3)
    """

    rows_sum_to_one = False

    title = "one-vs-rest calibration"
    label = "one vs rest"

    calibrator: Calibrator | None = field(default=None, kw_only=False)

    def _inner(self) -> Calibrator:
        if self.calibrator is None:
            from trueodds.calibrators._logistic import LogisticCalibrator

            inner: Calibrator = LogisticCalibrator()
        else:
            check_instance(self.calibrator, Calibrator, "calibrator")
            inner = type(self.calibrator)(**self.calibrator.get_params(deep=False))
        inner.set_params(scale=self.scale)
        if self.label_smoothing is not None:
            inner.set_params(label_smoothing=self.label_smoothing)
        return inner

    @fact
    def is_monotone(self) -> bool:
        """True if the calibrator of each class is."""
        return self._inner().is_monotone

    @fact
    def ignores_row_order(self) -> bool:
        """True if the calibrator of each class does."""
        return self._inner().ignores_row_order

    def _check_options(self) -> None:
        self._inner().check_settings()

    def _fit(self, rows: Rows) -> CalibrationMap:
        return self._inner().fit_map(rows)
