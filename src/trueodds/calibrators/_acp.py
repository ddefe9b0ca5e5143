"""ACP: adaptive calibration of predictions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    InputScale,
    Labels,
    as_dense,
    check_level,
    check_number,
    number_text,
    positive_column,
    validate_scores,
)
from trueodds.maps import CalibrationMap, StepMap
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = ["ACPCalibrator", "logistic_intervals"]


@dataclass(kw_only=True, eq=False, repr=False)
class ACPCalibrator(Calibrator):
    """Frequency of positives among the rows inside each prediction's own interval (ACP).

    Use it with a classifier that gives an interval for each score, such as logistic regression: an
    uncertain prediction then gets a wide bin. The map need not be monotone.

    Parameters
    ----------
    level : float, default=0.95
        Confidence level of the default interval, which is used if ``predict_proba`` is given no
        intervals.
    interval_size : float, default=None
        Number of rows behind the default interval: Wilson's interval for a frequency equal to the
        score, observed in this many rows. None uses N^(2/3), where N is the total weight in
        ``fit``.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores and of the intervals. For log-odds and decision values, Wilson's
        interval is computed at their logistic function.

    Attributes
    ----------
    map_ : StepMap
        The map that uses Wilson's intervals.
    table_ : ScoreTable
        Counts that user-supplied intervals are evaluated on; binary problems only.

    Notes
    -----
    The published method needs an interval for every prediction. Wilson's interval replaces those of
    classifiers that have none, so that the method can be used and compared like any other. An
    interval without rows is widened to the nearest score on either side. Cost: one sort. A
    prediction takes two binary searches in cumulative counts (O(log N); the ENIR paper's Table VII
    has O(N)).

    References
    ----------
    Jiang, Osl, Kim and Ohno-Machado (2012), Calibrating predictive model estimates to support
    personalized medicine, JAMIA 19. Naeini and Cooper (2016), section II.

    Examples
    --------
    >>> from trueodds import ACPCalibrator
    >>> calibrator = ACPCalibrator().fit([0.1, 0.2, 0.3, 0.6, 0.9], [0, 1, 0, 1, 1])
    >>> calibrator.predict_proba([0.2, 0.7], intervals=([0.1, 0.6], [0.3, 0.9]))[:, 1]
    array([0.33333333, 1.        ])
    """

    table_: ScoreTable = field(init=False)

    title = "ACP calibration"
    label = "ACP"
    complexity = 90
    compared = (2, 2)
    is_monotone = False

    level: float = 0.95
    interval_size: float | None = None

    def _check_options(self) -> None:
        check_level(self.level)
        if self.interval_size is not None:
            check_number(self.interval_size, "interval_size", above=True, otherwise="None or ")

    def _fit(self, rows: Rows) -> CalibrationMap:
        from scipy.special import expit, logit  # slow to import

        self.table_ = table = rows.table
        score = table.score if self.scale == "probability" else expit(table.score)
        size = table.total ** (2 / 3) if self.interval_size is None else float(self.interval_size)
        # x lies in Wilson's interval around s if and only if |s − x| ≤ z·√(x(1 − x)/size). Within
        # [0, 1] both ends of that range of s grow with x; rounding must not undo that.
        reach = _quantile(self.level) * np.sqrt(score * (1 - score) / size)
        enter = np.maximum.accumulate(np.maximum(score - reach, 0.0))
        leave = np.maximum.accumulate(np.minimum(score + reach, 1.0))
        after = np.nextafter(leave, 2.0)
        edges = np.unique(np.concatenate([enter[enter > 0], after[after <= 1]]))
        at = np.append(0.0, edges)
        values = _frequency(
            table, np.searchsorted(leave, at), np.searchsorted(enter, at, side="right")
        )
        if self.scale != "probability":
            edges = logit(edges)
            # Probabilities near 1 lie closer together than their log-odds can tell.
            last = np.append(edges[1:] > edges[:-1], True)[: len(edges)]
            edges, values = edges[last], values[np.append(True, last)]
        return StepMap(edges=edges, values=values, scale=self.scale)

    def predict_proba(self, scores: Any, intervals: Any = None) -> Floats:
        """Calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the same scale as in ``fit``.
        intervals : pair of array-like of shape (n,), default=None
            Lower and upper end of each score's interval, both inclusive, on the scale of the
            scores; see :func:`logistic_intervals`. Binary problems only. None uses the default
            interval; see ``level``.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        if intervals is None:
            return super().predict_proba(scores)
        self._check_fitted("map_")
        if len(self.classes_) > 2:
            raise InputError(
                f"intervals are supported for two classes; there are {len(self.classes_)}."
            )
        array = validate_scores(scores, self.scale, n_columns=2)
        if array.ndim == 2:
            array = positive_column(array, self.scale)
        low, high = _check_intervals(intervals, self.scale, len(array))
        table = self.table_
        first = np.searchsorted(table.score, low, side="left")
        last = np.searchsorted(table.score, high, side="right")
        p = _frequency(table, first, last)
        return np.stack([1 - p, p], axis=1)


def _frequency(table: ScoreTable, first: Labels, last: Labels) -> Floats:
    """Frequency of positives in rows first, …, last − 1; without rows, in the neighboring ones."""
    empty = first >= last
    first = np.where(empty, np.maximum(first - 1, 0), first)
    last = np.where(empty, np.minimum(last + 1, len(table)), last)
    n_pos = np.append(0.0, np.cumsum(table.n_pos))
    weight = np.append(0.0, np.cumsum(table.weight))
    mass = weight[last] - weight[first]
    lost = mass <= 0  # rows so light that a sum over all does not notice them
    rate = (n_pos[last] - n_pos[first]) / np.where(lost, 1.0, mass)
    rate[lost] = (table.n_pos / table.weight)[first[lost]]
    return np.asarray(np.clip(rate, 0.0, 1.0))


def _quantile(level: float) -> float:
    from scipy.special import ndtri  # slow to import

    return float(ndtri((1 + float(level)) / 2))


def _check_intervals(intervals: Any, scale: InputScale, n_rows: int) -> tuple[Floats, Floats]:
    if not isinstance(intervals, (tuple, list)) or len(intervals) != 2:
        raise InputError("intervals must be a pair (low, high) of arrays.")
    low, high = (validate_scores(end, scale, n_columns=1) for end in intervals)
    if len(low) != n_rows or len(high) != n_rows:
        raise InputError(
            f"intervals must have {n_rows} rows, as scores have; got {len(low)} and {len(high)}."
        )
    if (low > high).any():
        index = int(np.argmax(low > high))
        raise InputError(
            f"the upper end of an interval must not be below the lower one; got "
            f"[{number_text(low[index], high[index])}, {number_text(high[index], low[index])}] "
            f"at index {index}."
        )
    return low, high


def logistic_intervals(
    model: Any, X_fit: Any, X: Any, *, sample_weight: Any = None, level: float = 0.95
) -> tuple[Floats, Floats]:
    """Confidence intervals for the probabilities of a fitted logistic regression.

    Parameters
    ----------
    model : sklearn.linear_model.LogisticRegression
        Fitted model with two classes and without an L1 penalty.
    X_fit : array-like of shape (n_fit, n_features)
        Features that the model was fitted on.
    X : array-like of shape (n, n_features)
        Features of the rows to predict.
    sample_weight : array-like of shape (n_fit,), default=None
        Weights that the model was fitted with. Multiply class weights into them.
    level : float, default=0.95

    Returns
    -------
    low, high : ndarray of shape (n,)
        Ends of the probability intervals: the logistic function of η ± z·√(xᵀ·Σ·x), where Σ is the
        inverse of the Hessian of the penalized log-likelihood.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from trueodds import ACPCalibrator
    >>> from trueodds.calibrators import logistic_intervals
    >>> X, y = make_classification(500, random_state=0)
    >>> model = LogisticRegression().fit(X, y)
    >>> calibrator = ACPCalibrator().fit(model.predict_proba(X), y)
    >>> intervals = logistic_intervals(model, X, X[:2])
    >>> calibrator.predict_proba(model.predict_proba(X[:2]), intervals).shape
    (2, 2)
    """
    from scipy.special import expit  # slow to import

    check_level(level)
    from sklearn.utils.validation import check_is_fitted  # a model of its own has loaded it

    check_is_fitted(model, "coef_")
    if len(model.classes_) != 2:
        raise InputError(f"model must have two classes; it has {len(model.classes_)}.")
    options = model.get_params()
    if options.get("penalty") in ("l1", "elasticnet") or options.get("l1_ratio"):
        raise InputError("an L1 penalty has no Hessian; fit the model with an L2 penalty or none.")
    features, new = (np.asarray(as_dense(x, "X"), dtype=np.float64) for x in (X_fit, X))
    p = expit(features @ model.coef_[0] + model.intercept_[0])
    curvature = p * (1 - p)
    if sample_weight is not None:
        curvature = curvature * np.asarray(sample_weight, dtype=np.float64)
    if model.fit_intercept:
        features, new = (np.column_stack([x, np.ones(len(x))]) for x in (features, new))
    hessian = features.T @ (features * curvature[:, None])
    if options.get("penalty", "l2") is not None and np.isfinite(model.C):
        hessian[np.diag_indices(model.coef_.shape[1])] += 1 / model.C
    eta = new[:, : model.coef_.shape[1]] @ model.coef_[0] + model.intercept_[0]
    variance = np.einsum("ij,ji->i", new, np.linalg.pinv(hessian, hermitian=True) @ new.T)
    margin = _quantile(level) * np.sqrt(np.maximum(variance, 0.0))
    return np.asarray(expit(eta - margin)), np.asarray(expit(eta + margin))
