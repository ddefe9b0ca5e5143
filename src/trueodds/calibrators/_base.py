"""What every calibrator shares: validation, classes, one-vs-rest, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trueodds.estimator import Estimator
from trueodds.exceptions import InputError, MissingClassWarning, warn_user
from trueodds.maps import CalibrationMap, IdentityMap, OneVsRestMap
from trueodds.numerics.class_logits import one_vs_rest_scores
from trueodds.numerics.log_odds import positive_column
from trueodds.table import Evidence, LabelledScores, LabelSmoothing, ScoreTable
from trueodds.validation import (
    Floats,
    InputScale,
    Labels,
    as_dense,
    check_scale,
    encode_labels,
    validate_scores,
    validate_weights,
)

__all__ = ["Calibrator", "Promises"]


@dataclass(frozen=True)
class Promises:
    """What a calibrator guarantees; the check suite holds it to them.

    Parameters
    ----------
    monotone : bool
        A higher score never gets a lower probability (binary problems).
    native_multiclass : bool
        More than two classes are learned together, not one against the rest.
    needs_features : bool
        ``fit`` and ``predict_proba`` take the original attributes as ``features=``.
    """

    monotone: bool = True
    native_multiclass: bool = False
    needs_features: bool = False


class Calibrator(Estimator, ABC):
    """Base of all calibrators.

    A subclass writes ``__init__`` and :meth:`_fit`, which turns a table of binary evidence into a
    map. More than two classes are then handled one against the rest, unless the subclass also
    writes :meth:`_fit_multiclass`.

    Attributes
    ----------
    map_ : CalibrationMap
        What was learned.
    classes_ : ndarray of shape (n_classes,)
        The labels; with two, the second one is positive.
    """

    _sorted_table: ClassVar[bool] = True
    _rows_sum_to_one: ClassVar[bool] = True

    input: InputScale
    label_smoothing: LabelSmoothing
    classes: Any
    map_: CalibrationMap
    classes_: npt.NDArray[Any]

    @property
    def promises(self) -> Promises:
        """What this calibrator guarantees with its present options."""
        return Promises()

    @abstractmethod
    def _fit(self, table: Any) -> CalibrationMap:
        """Learn a binary map from a ScoreTable to which label smoothing has been applied.

        If ``_sorted_table`` is False: from the scores in input order, without smoothing. Both
        classes have weight.
        """

    def _check_options(self) -> None:
        """Refuse options that make no sense, before anything is computed."""

    def fit(self, scores: Any, y: Any, sample_weight: Any = None) -> Self:
        """Learn the map.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the positive class, or one column per class, on the scale that ``input``
            says. Arrays, lists, or columns of pandas, polars or Arrow.
        y : array-like of shape (n,)
            Labels of any type that sorts.
        sample_weight : array-like of shape (n,), default=None
            A weight of k equals k repetitions; a weight of zero leaves the row out.

        Returns
        -------
        self
        """
        check_scale(self.input)
        self._check_options()
        array = validate_scores(scores, self.input, rows_sum_to_one=self._rows_sum_to_one)
        codes, classes = encode_labels(y, self.classes)
        if len(codes) != len(array):
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: scores has "
                f"{len(array)} rows, y has {len(codes)}."
            )
        weight = validate_weights(sample_weight, len(array))
        if weight is not None and not weight.all():
            kept = weight > 0
            array, codes, weight = array[kept], codes[kept], weight[kept]
        self._check_classes(array, codes, classes)
        self.classes_ = classes
        if len(classes) == 2:
            if array.ndim == 2:
                array = positive_column(array, self.input)
            evidence = self._evidence(array, codes, weight)
            self.map_ = _with_classes(self._fit(evidence), classes)
        else:
            fitted = self._fit_multiclass(array, codes, weight, len(classes))
            self.map_ = _with_classes(fitted, classes)
        return self

    def _check_classes(self, array: Floats, codes: Labels, classes: npt.NDArray[Any]) -> None:
        columns = 2 if array.ndim == 1 else array.shape[1]
        first = codes[0]
        if (codes == first).all():
            raise InputError(
                f"y has one class only ({classes.tolist()[first]!r}); calibration needs instances "
                "of at least two classes (of positive weight)."
            )
        if columns != len(classes):
            hint = (
                " Pass classes= to name those without instances." if columns > len(classes) else ""
            )
            raise InputError(
                f"scores have {columns} columns (1-D counts as 2) but there are {len(classes)} "
                f"classes.{hint}"
            )

    def _evidence(
        self, score: Floats, positive: npt.NDArray[Any], weight: Floats | None
    ) -> Evidence:
        if self._sorted_table:
            return ScoreTable.from_codes(score, positive, weight).smoothed(self.label_smoothing)
        return LabelledScores(score, positive, weight)

    def _fit_multiclass(
        self, scores: Floats, codes: Labels, weight: Floats | None, n_classes: int
    ) -> CalibrationMap:
        """Learn a map of several classes; by default one binary map for each, normalised."""
        columns = one_vs_rest_scores(scores, self.input)
        maps: list[CalibrationMap] = []
        for k in range(n_classes):
            positive = codes == k
            if positive.any():
                column = np.ascontiguousarray(columns[:, k])
                maps.append(self._fit(self._evidence(column, positive, weight)))
            else:
                warn_user(
                    f"class {k} of {n_classes} has no instance to calibrate on; its scores are "
                    "left as they are.",
                    MissingClassWarning,
                )
                maps.append(IdentityMap(input=self.input))
        return OneVsRestMap(maps=tuple(maps), input=self.input)

    def predict_proba(self, scores: Any) -> Floats:
        """Calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            On the same scale as in ``fit``. Each row's result depends on that row alone.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        self._check_fitted("map_")
        n_classes = len(self.classes_)
        array = validate_scores(
            scores, self.input, n_columns=n_classes, rows_sum_to_one=self._rows_sum_to_one
        )
        if n_classes > 2:
            return self.map_._apply(array)
        if array.ndim == 2:
            array = positive_column(array, self.input)
        # One row per class in memory, which is faster to fill; the caller sees (n, 2).
        result = np.empty((2, len(array)))
        result[1] = self.map_._apply(array)
        np.subtract(1.0, result[1], out=result[0])
        return result.T

    def predict(self, scores: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; the first of equals."""
        probabilities = self.predict_proba(scores)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def score(self, scores: Any, y: Any, sample_weight: Any = None) -> float:
        """Accuracy of :meth:`predict`, as of any classifier of scikit-learn."""
        right = self.predict(scores) == as_dense(y, "y")
        return float(np.average(right, weights=sample_weight))


def _with_classes(fitted: CalibrationMap, classes: npt.NDArray[Any]) -> CalibrationMap:
    return replace(fitted, classes=tuple(classes.tolist()))
