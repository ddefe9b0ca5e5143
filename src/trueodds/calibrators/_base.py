"""What every calibrator shares: validation, classes, one-vs-rest, prediction."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trueodds.estimator import Estimator
from trueodds.evidence import Evidence, LabelledScores, LabelSmoothing
from trueodds.exceptions import InputError, MissingClassWarning, warn_user
from trueodds.frames import MAX_ROWS, collect_columns, group_scores, open_frame
from trueodds.maps import CalibrationMap, IdentityMap, OneVsRestMap
from trueodds.numerics.class_logits import one_vs_rest_scores
from trueodds.numerics.log_odds import positive_column
from trueodds.table import ScoreTable
from trueodds.validation import (
    Floats,
    InputScale,
    Labels,
    as_dense,
    check_scale,
    encode_labels,
    label_column,
    validate_scores,
    validate_weights,
)

__all__ = ["Calibrator", "Promises", "share_right"]


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
        return self._learn(array, codes, weight, classes)

    def fit_table(self, table: ScoreTable) -> Self:
        """Learn the map of two classes from counts, as :meth:`fit` would from the rows themselves.

        Parameters
        ----------
        table : ScoreTable
            Scores on the scale that ``input`` says. The classes are those of ``classes``, or 0
            and 1.

        Returns
        -------
        self

        Examples
        --------
        >>> from trueodds import BetaCalibrator, ScoreTable
        >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95], [0, 0, 1, 1, 0, 1]
        >>> table = ScoreTable.from_arrays(scores, y)
        >>> BetaCalibrator().fit_table(table).predict_proba([0.9]).round(3)
        array([[0.298, 0.702]])
        """
        if not isinstance(table, ScoreTable):
            raise InputError(f"fit_table needs a ScoreTable; got {type(table).__name__}.")
        return self._fit_counts(table, _declared_pair(self.classes))

    def _fit_counts(self, table: ScoreTable, classes: npt.NDArray[Any]) -> Self:
        check_scale(self.input)
        self._check_options()
        self._refuse_features()
        score, positive, weight = table.as_rows()
        array = validate_scores(score, self.input, n_columns=1)
        return self._learn(array, positive.astype(np.intp), weight, classes)

    def fit_frame(
        self,
        frame: Any,
        *,
        score: str | Sequence[str],
        label: str,
        weight: str | None = None,
        pos_label: Any = None,
        max_rows: int = MAX_ROWS,
    ) -> Self:
        """Learn the map from columns of a frame of any library.

        Parameters
        ----------
        frame : frame of pandas, polars (eager or lazy), PyArrow, DuckDB, PySpark, Dask or Ibis
        score : str or list of str
            One column: the rows are grouped on the frame's engine and never collected, see
            :meth:`trueodds.ScoreTable.from_frame`. Several, one per class in the order of the
            sorted labels (or of ``classes``): these columns, the labels and the weights are
            collected into memory, because methods of several classes need whole rows.
        label, weight : str
            Names of columns.
        pos_label : label, default=None
            With one score column, the positive class; by default the last of ``classes``, or
            the greater of two labels.
        max_rows : int, default=1000000
            With one score column: more distinct scores than this are rounded.

        Returns
        -------
        self

        Examples
        --------
        >>> import pandas as pd
        >>> from trueodds import BetaCalibrator
        >>> frame = pd.DataFrame({"p": [0.02, 0.4, 0.1, 0.97, 0.8, 0.95], "y": [0, 0, 1, 1, 0, 1]})
        >>> BetaCalibrator().fit_frame(frame, score="p", label="y").predict_proba([0.9]).round(3)
        array([[0.298, 0.702]])
        """
        self._refuse_features()
        columns = [score] if isinstance(score, str) else list(score)
        if len(columns) != 1:
            return self._fit_columns(frame, columns, label, weight, pos_label)
        declared = None if self.classes is None else _declared_pair(self.classes)
        if pos_label is None and declared is not None:
            pos_label = declared[1]
        grouped = group_scores(
            frame,
            score=columns[0],
            label=label,
            weight=weight,
            pos_label=pos_label,
            scale=self.input,
            max_rows=max_rows,
        )
        # A class against all others has no name for them.
        classes = np.array(grouped.labels or (False, True))
        if declared is not None:
            if grouped.labels is None or not np.array_equal(declared, classes):
                raise InputError(
                    f"label column {label!r} has other labels than classes={declared.tolist()!r}."
                )
            classes = declared
        return self._fit_counts(ScoreTable.from_grouped(grouped, max_rows), classes)

    def _fit_columns(
        self, frame: Any, columns: list[str], label: str, weight: str | None, pos_label: Any
    ) -> Self:
        if not columns:
            raise InputError("score must name at least one column.")
        if pos_label is not None:
            raise InputError("pos_label applies to one score column; with several, use classes=.")
        names = [*columns, label, *([] if weight is None else [weight])]
        found = collect_columns(open_frame(frame), names)
        scores = np.column_stack([found[name] for name in columns])
        return self.fit(scores, found[label], None if weight is None else found[weight])

    def _refuse_features(self) -> None:
        if self.promises.needs_features:
            raise InputError(
                f"{type(self).__name__} learns from features= also, so it needs rows: use fit."
            )

    def _learn(
        self, array: Floats, codes: Labels, weight: Floats | None, classes: npt.NDArray[Any]
    ) -> Self:
        """Learn from validated rows of positive weight."""
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
        return share_right(self.predict(scores), y, sample_weight)


def share_right(predicted: npt.NDArray[Any], y: Any, sample_weight: Any) -> float:
    """Accuracy: the share of rows, by weight, whose label is the predicted one."""
    labels = label_column(y)
    if len(labels) != len(predicted):
        raise InputError(f"scores and y differ in length: {len(predicted)} and {len(labels)}.")
    weight = validate_weights(sample_weight, len(labels))
    return float(np.average(predicted == labels, weights=weight))


def _declared_pair(classes: Any) -> npt.NDArray[Any]:
    if classes is None:
        return np.array([0, 1])
    declared = np.asarray(as_dense(classes, "classes"))
    if declared.shape != (2,):
        raise InputError(
            f"a table of counts has two classes; classes= names {declared.tolist()!r}."
        )
    return declared


def _with_classes(fitted: CalibrationMap, classes: npt.NDArray[Any]) -> CalibrationMap:
    return replace(fitted, classes=tuple(classes.tolist()))
