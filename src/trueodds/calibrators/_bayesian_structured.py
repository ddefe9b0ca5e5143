"""Bayesian structured scaling of several classes."""

from __future__ import annotations

import numpy as np

from trueodds.basics.threads import single_threaded_blas
from trueodds.calibrators import Calibrator
from trueodds.calibrators._shared.softmax import structured_map
from trueodds.exceptions import ConvergenceWarning, MissingClassWarning, warn_user
from trueodds.inputs import Floats, InputScale
from trueodds.maps import AverageMap, CalibrationMap, IdentityMap, as_pair
from trueodds.numerics.magnitude import spread_unit
from trueodds.numerics.structured_softmax.pool import Member, fit_pool
from trueodds.numerics.structured_softmax.rows import (
    ClassRows,
    class_probabilities,
    tops_of,
)
from trueodds.rows import Rows

__all__ = ["BayesianStructuredCalibrator"]


class BayesianStructuredCalibrator(Calibrator):
    """Average of Bayesian softmax regressions, from unchanged scores to a full matrix.

    Use it as the default for more than two classes. Every model learns as much as the calibration
    set supports: the evidence sets the variance of each block of coefficients (shared features,
    intercepts, diagonal, off-diagonal) and the weight of each model. Scores that are already
    calibrated hardly change. The ranking of classes in a row may change.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Logits and decision values are first converted to probabilities.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels. The priors make it unnecessary.
    classes : array-like, default=None
        All labels; a class without rows becomes less probable, never impossible.

    Attributes
    ----------
    map_ : AverageMap
        Average of :class:`~trueodds.maps.IdentityMap` and
        :class:`~trueodds.maps.StructuredSoftmaxMap`; ``map_.weights`` are their weights. Models
        with a weight below 0.001 are left out.

    Notes
    -----
    With up to 16 classes all blocks are used; with up to 32 those of the logarithms; with up to 256
    intercepts and the diagonal; with more, shared features alone. Cost: about twenty Hessians of
    (number of parameters)²·(number of rows) operations and a hundred passes over the scores.
    Memory: 12 to 20 times that of the scores.

    References
    ----------
    MacKay (1992), Bayesian interpolation; Berta, Holzmüller, Jordan and Bach (2025), Structured
    matrix scaling for multi-class calibration, for the blocks.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import BayesianStructuredCalibrator
    >>> rng = np.random.default_rng(0)
    >>> p = rng.dirichlet([1, 1, 1], size=500)
    >>> y = (p.cumsum(axis=1) > rng.random((500, 1))).argmax(axis=1)
    >>> calibrator = BayesianStructuredCalibrator().fit(p, y)
    >>> calibrator.predict_proba([[0.2, 0.3, 0.5]]).round(2)
    array([[0.2 , 0.31, 0.5 ]])
    """

    title = "Bayesian structured scaling"
    label = "Bayesian structured"
    complexity = 110
    is_monotone = False
    learns_classes_jointly = True

    def _fit(self, rows: Rows) -> CalibrationMap:
        counts = np.stack(rows.smoothed_counts())
        return _fit_map(as_pair(rows.scores, self.scale), counts, self.scale)

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        absent = np.flatnonzero(rows.class_weight == 0).tolist()
        if absent:
            warn_user(
                f"classes {absent} have no rows; their probabilities are lowered as far as the "
                "number of rows supports.",
                MissingClassWarning,
            )
        counts = np.take(rows.class_targets.T, rows.codes, axis=1) * rows.row_weight
        return _fit_map(rows.scores, counts, self.scale)


def _fit_map(scores: Floats, counts: Floats, scale: InputScale) -> AverageMap:
    unit = spread_unit(scores, scale)
    rows = ClassRows(class_probabilities(scores, scale, unit), tops_of(scores), counts)
    import scipy.linalg  # noqa: F401  # slow to import; its BLAS must be there to be limited

    with single_threaded_blas():
        members, weights = fit_pool(rows, as_they_are=unit == 1)
    if not all(member.converged for member in members):
        warn_user(
            "one of the averaged models did not converge; results may be slightly off. Check for "
            "extreme logits or weights.",
            ConvergenceWarning,
        )
    maps = tuple(_as_map(member, scale, unit) for member in members)
    return AverageMap(maps=maps, weights=weights, scale=scale)


def _as_map(member: Member, scale: InputScale, unit: float) -> CalibrationMap:
    base, found = member.base, member.coefficients
    if base is None or found is None:
        return IdentityMap(scale=scale)
    return structured_map(
        base,
        bias=found.bias,
        on_logs=found.on_logs,
        on_probabilities=found.on_probabilities,
        shared=found.shared,
        unit=unit,
        scale=scale,
    )
