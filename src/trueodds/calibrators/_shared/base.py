"""Calibrator, the base of every method; bases of methods with features or a posterior."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from trueodds.basics.log import logger
from trueodds.basics.shown import shown
from trueodds.basics.threads import single_threaded_blas
from trueodds.calibrators._shared.arithmetic import errors_as_input_errors
from trueodds.calibrators._shared.docs import document_inherited
from trueodds.calibrators._shared.intervals import (
    ForecastRows,
    cells_of,
    keep_rows,
    sample_rows,
    smaller,
)
from trueodds.engines.checks import WeightColumns
from trueodds.engines.group import MAX_ROWS, group_scores
from trueodds.estimator import Estimator
from trueodds.exceptions import InputError, MissingClassWarning, warn_user
from trueodds.inputs import (
    Floats,
    InputScale,
    LabelSmoothing,
    Weights,
    as_dense,
    as_names,
    as_seed,
    check_integer,
    check_length,
    check_level,
    check_scale,
    check_smoothing,
    encode_labels,
    label_column,
    mass_of,
    positive_column,
    returns_like_input,
    validate_scores,
)
from trueodds.maps import CalibrationMap, IdentityMap, LogOddsCurveMap, OneVsRestMap
from trueodds.rows import Rows
from trueodds.table import ScoreTable

if TYPE_CHECKING:
    from trueodds.numerics.smooth_curve.kept import KeptCells
    from trueodds.numerics.smooth_curve.posterior import CurvePosterior

__all__ = ["LAST_COMPLEXITY", "Calibrator", "Curves", "FeatureCalibrator", "PosteriorCalibrator"]

LAST_COMPLEXITY = 1000
"""Complexity of a method that does not state one: greater than that of all that do."""

Curves = tuple[CalibrationMap, ...]


@dataclass(kw_only=True, eq=False, repr=False)
class Calibrator(Estimator, ABC):
    """Base class of all calibrators.

    A subclass implements :meth:`_fit`, which turns rows of two classes into a map, and is a
    dataclass if it has options. More than two classes are then handled one-vs-rest, unless the
    subclass also implements :meth:`_fit_multiclass`.

    Class variables describe the method (``title``, ``complexity``, ``compared``) and its guarantees
    (``is_monotone``, ``needs_features``, …). :mod:`trueodds.testing` checks the guarantees.

    Parameters
    ----------
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels; or ε, which replaces 1 and 0 by 1 − ε/2 and ε/2.
    classes : array-like, default=None
        All labels, if some may be absent from the calibration set.

    Attributes
    ----------
    map_ : CalibrationMap
        The fitted map.
    classes_ : ndarray of shape (n_classes,)
        The labels; with two, the second one is positive.

    Examples
    --------
    >>> from trueodds import BetaCalibrator
    >>> from trueodds.calibrators import Calibrator
    >>> isinstance(BetaCalibrator(scale="logit"), Calibrator)
    True
    """

    title: ClassVar[str] = "calibration"
    """Name of the method in a sentence: ``"beta calibration"``."""

    label: ClassVar[str] = ""
    """Name in tables and legends; if empty, the name of the method."""

    complexity: ClassVar[int] = LAST_COMPLEXITY
    """Complexity, by which the simplest of several equally good methods is chosen. No parameter: 0;
    one to three parameters: 10 to 30. A smooth curve: 40 to 60; a curve without a formula: 70 to
    90; an average of many: 100 and more."""

    compared: ClassVar[tuple[int, float] | None] = None
    """Fewest and most classes with which it takes part in a comparison by default."""

    rows_sum_to_one: ClassVar[bool] = True
    """Whether rows of probabilities must sum to 1 when there are several classes."""

    by_order_alone: ClassVar[bool] = False
    """Whether scores are compared and never calculated with, so that any float64 will do."""

    is_monotone: ClassVar[bool] = True
    """Whether a higher score never gets a lower probability (binary problems)."""

    learns_classes_jointly: ClassVar[bool] = False
    """Whether more than two classes are fitted jointly instead of one-vs-rest."""

    needs_features: ClassVar[bool] = False
    """Whether ``fit`` and ``predict_proba`` take the original features as ``features=``."""

    ignores_row_order: ClassVar[bool] = True
    """Whether the order of the rows does not matter, so that a table of counts is enough."""

    scale: InputScale = "probability"
    label_smoothing: LabelSmoothing = None
    classes: Any = None

    map_: CalibrationMap = field(init=False)
    sampling_error_: float = field(init=False)

    classes_: npt.NDArray[Any] = field(init=False)
    _kept: Any = field(default=None, init=False)
    _posteriors: tuple[CurvePosterior, ...] | None = field(default=None, init=False)

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        document_inherited(cls, Calibrator)

    @classmethod
    def is_compared(cls, n_classes: int) -> bool:
        """Whether it is compared by default with this many classes."""
        check_integer(n_classes, "n_classes", 2)
        return cls.compared is not None and cls.compared[0] <= n_classes <= cls.compared[1]

    @abstractmethod
    def _fit(self, rows: Rows) -> CalibrationMap:
        """The map of rows of two classes, both of which have weight."""

    def _counts_by_class(self) -> bool:
        """Whether ``_fit`` allows for ``rows.offset``, which needs a constant in the log-odds."""
        return False

    def _check_options(self) -> None:
        """Refuse options of this method that make no sense, before anything is computed."""

    def check_settings(self) -> None:
        """Refuse options that make no sense; ``fit`` does so before it computes anything."""
        check_scale(self.scale)
        check_smoothing(self.label_smoothing)
        self._check_options()

    def fit_map(self, rows: Rows) -> CalibrationMap:
        """Fit a map to validated rows; its classes have no names.

        Every fit passes through this method, so that labels are smoothed in one way, numbers are
        bounded, and an arithmetic error becomes an InputError. BLAS uses one thread: matrices of a
        few columns gain nothing from several, and lose much if other work uses the cores.
        """
        return self._fit_bounded(self._bounded(rows))

    def _bounded(self, rows: Rows) -> Rows:
        """The rows as every method learns from them: of counts, and of bounded numbers."""
        counted = rows.in_counts(by_class=self._counts_by_class())
        return counted.bounded(self.scale, by_order_alone=self.by_order_alone)

    def _fit_bounded(self, rows: Rows) -> CalibrationMap:
        smoothed = rows.smoothed(self.label_smoothing)
        fit = self._fit if rows.scores.ndim == 1 else self._fit_multiclass
        name = type(self).__name__
        with errors_as_input_errors(name, rows.scores, rows.mass), single_threaded_blas():
            return self._checked(fit(smoothed))

    def _checked(self, fitted: Any) -> CalibrationMap:
        """The map that a method returned; anything else is a defect of the method."""
        if not isinstance(fitted, CalibrationMap):
            found = f"{type(fitted).__name__}"
        elif fitted.scale != self.scale:
            found = f"a map with scale={fitted.scale!r}"
        else:
            return fitted
        raise TypeError(
            f"{type(self).__name__} has a defect: its fit must return a CalibrationMap with "
            f"scale={self.scale!r} (scale=self.scale); it returned {found}."
        )

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, *, counts: Any = None) -> Self:
        """Fit the map to scores and labels.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the positive class, or one column per class, on the scale given by ``scale``.
            Arrays, lists, or columns of pandas, polars or Arrow.
        y : array-like of shape (n,)
            Labels of any sortable type. With one column of scores and without ``classes``, the last
            of two sorted labels is positive; labels whose words contradict that (``"ja"`` and
            ``"nein"``) are refused.
        sample_weight : array-like of shape (n,), default=None
            Importance of each row, which stays one observation. Only ratios matter: multiplying all
            importances by a constant changes nothing. A row of importance zero is left out.
        counts : array-like of shape (n,), default=None
            How often each row occurred: a count of k equals k repetitions.

        Returns
        -------
        self
        """
        self.check_settings()
        rows = self.read_rows(scores, y, sample_weight, counts, self.classes)
        rows.check_two_classes()
        return self._fit_rows(rows)

    def read_rows(self, scores: Any, y: Any, sample_weight: Any, counts: Any, classes: Any) -> Rows:
        """Validate the arguments of ``fit``; rows of weight zero are left out."""
        return Rows.read(
            scores,
            y,
            sample_weight,
            counts,
            scale=self.scale,
            classes=classes,
            rows_sum_to_one=self.rows_sum_to_one,
        ).of_positive_weight()

    def _fit_rows(self, rows: Rows) -> Self:
        """Fit to validated rows and set the fitted attributes."""
        start = time.perf_counter()
        with self._fitting():
            self._set_fitted(self.fit_map(rows), rows)
        name, family = type(self).__name__, self.map_.family
        logger.info("%s fitted a %s map in %.3f s", name, family, time.perf_counter() - start)
        return self

    def _set_fitted(self, fitted: CalibrationMap, rows: Rows) -> None:
        """Set the map, the names of its classes, and the rows that intervals need."""
        self.map_ = fitted.with_classes(rows.classes.tolist())
        self.classes_ = rows.classes
        self._keep(rows)

    @contextmanager
    def _fitting(self) -> Iterator[None]:
        """Remove the state of an earlier fit; restore it if the new fit fails."""
        before = self._forget()
        try:
            yield
        except BaseException:
            self._forget()
            vars(self).update(before)
            raise

    def _forget(self) -> dict[str, Any]:
        """Remove fitted attributes and return them."""
        names = [name for name in vars(self) if name.endswith("_") and not name.startswith("_")]
        return {name: vars(self).pop(name) for name in names}

    def fit_table(self, table: ScoreTable) -> Self:
        """Fit the map of two classes to counts, as :meth:`fit` does to the rows themselves.

        Parameters
        ----------
        table : ScoreTable
            Counts of scores on the scale given by ``scale``. The classes are those of ``classes``,
            or 0 and 1.

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
        validate_scores(table.score, self.scale, n_columns=1)
        return self._fit_table(table, _declared_pair(self.classes))

    def _fit_table(self, table: ScoreTable, classes: npt.NDArray[Any]) -> Self:
        self.check_settings()
        self._check_that_counts_suffice()
        if not (table.total_neg and table.total_pos):
            raise InputError("the table has only one class; calibration needs two.")
        return self._fit_rows(Rows.of_table(table, classes))

    def fit_frame(
        self,
        frame: Any,
        *,
        score: str | Sequence[str],
        label: str,
        weight: str | None = None,
        counts: str | None = None,
        pos_label: Any = None,
        max_rows: int = MAX_ROWS,
    ) -> Self:
        """Fit the map to columns of a data frame of any library.

        Parameters
        ----------
        frame : frame of pandas, polars (eager or lazy), PyArrow, DuckDB, PySpark, Dask or Ibis
        score : str or list of str
            With one score column, the rows are grouped on the frame's engine and never collected;
            see :meth:`trueodds.ScoreTable.from_frame`. With several, one per class in the order of
            the sorted labels (or of ``classes``), one-vs-rest methods group each column on the
            engine. Methods that fit all classes jointly need whole rows: they collect all of them,
            or a random sample of ``max_rows``.
        label, weight, counts : str
            Names of the columns: ``weight`` holds importances, ``counts`` how often each row
            occurred.
        pos_label : label, default=None
            Positive class if there is one score column; by default the last of ``classes``, or of
            two sorted labels.
        max_rows : int, default=1000000
            Largest number of distinct scores of a column; more are rounded. With several columns of
            a lazy frame, it is the largest number of whole rows; more are sampled on the engine,
            with rare classes left whole. A :class:`~trueodds.exceptions.SampledRowsWarning` gives
            the standard error that this adds.

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
        self.check_settings()
        self._check_that_counts_suffice()
        columns = as_names(score, "score")
        if len(columns) != 1:
            from trueodds.calibrators._shared.frames import fit_columns

            if pos_label is not None:
                raise InputError("pos_label needs one score column; with several, use classes=.")
            alone = type(self)._fit_multiclass is Calibrator._fit_multiclass
            weights = WeightColumns(weight, counts)
            return fit_columns(self, frame, columns, label, weights, max_rows, alone=alone)
        declared = None if self.classes is None else _declared_pair(self.classes)
        if pos_label is None and declared is not None:
            pos_label = declared[1]
        grouped = group_scores(
            frame,
            score=columns[0],
            label=label,
            weight=weight,
            counts=counts,
            pos_label=pos_label,
            scale=self.scale,
            max_rows=max_rows,
        )
        # A class against all others has no name for them.
        classes = np.array(grouped.labels or (False, True))
        if declared is not None:
            if grouped.labels is None or not np.array_equal(declared, classes):
                raise InputError(
                    f"the labels of column {label!r} differ from classes={declared.tolist()!r}."
                )
            classes = declared
        return self._fit_table(ScoreTable.from_grouped(grouped, max_rows), classes)

    def _check_that_counts_suffice(self) -> None:
        if self.needs_features:
            raise InputError(
                f"{type(self).__name__} needs features, which a ScoreTable does not keep. "
                "Call fit(scores, y, features=X) instead."
            )
        if not self.ignores_row_order:
            raise InputError(
                f"{self!r} depends on row order, which a ScoreTable does not keep. "
                "Call fit(scores, y) instead."
            )

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        """Fit a map to rows of several classes; by default one binary map per class, normalized.

        Attributes that :meth:`_fit` sets would be those of the last class, so they are removed; see
        :meth:`_keep_of_classes`.
        """
        maps: list[CalibrationMap] = []
        seen: list[dict[str, Any]] = []
        for k, problem in enumerate(rows.one_vs_rest(self.scale)):
            if problem is None:
                warn_user(
                    f"class {k} of {rows.n_classes} has no rows; its scores stay unchanged.",
                    MissingClassWarning,
                )
                maps.append(IdentityMap(scale=self.scale))
            else:
                maps.append(self._checked(self._fit(problem)))
                seen.append(self._forget())
        self._keep_of_classes(seen)
        return OneVsRestMap(maps=tuple(maps), scale=self.scale)

    def _keep_of_classes(self, fitted: list[dict[str, Any]]) -> None:
        """Combine the fitted attributes of all classes; by default none are kept."""

    @returns_like_input
    def predict_proba(self, scores: Any) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the same scale as in ``fit``. Each row's result depends on that row alone.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities of the classes; rows sum to 1.
        """
        self._check_fitted("map_")
        array = self._check_scores(scores)
        if len(self.classes_) > 2:
            return self.map_._apply_valid(array)
        if array.ndim == 2:
            array = positive_column(array, self.scale)
        return self.map_._apply_to_all(array)

    def _check_scores(self, scores: Any) -> Floats:
        return validate_scores(
            scores,
            self.scale,
            n_columns=len(self.classes_),
            rows_sum_to_one=self.rows_sum_to_one,
        )

    def predict(self, scores: Any) -> npt.NDArray[Any]:
        """Return the most probable class of each row; the first of equals."""
        probabilities = self.predict_proba(scores)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def score(self, scores: Any, y: Any, sample_weight: Any = None, *, counts: Any = None) -> float:
        """Return the accuracy of :meth:`predict`, as scikit-learn's classifiers do."""
        predicted = self.predict(scores)
        return _share_right(predicted, self.classes_, y, sample_weight, counts)

    def predict_interval(self, scores: Any, *, level: float = 0.9) -> tuple[Floats, Floats]:
        """Interval of the true probability at each score, given the fitted rows.

        It is an interval for the probability, not for the label, and it includes the bias of a
        method that is wrong somewhere. It always contains the calibrated probability. A probability
        at the edge of its interval is a warning: the rows contradict the method.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the same scale as in ``fit``.
        level : float, default=0.9
            Confidence level: the share of scores whose interval contains the true probability, on
            average.

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
            Ends of the intervals; with two classes those of the positive one. With several, each
            class separately: the frequency of the class among all rows with this probability of it.
            For a one-vs-rest method, it is the frequency among all rows with this score of the
            class.

        Notes
        -----
        The first call fits the curves of :class:`~trueodds.BayesianSmoothCalibrator` to the stored
        rows (5 to 25 milliseconds for each class). ``docs/uncertainty.md`` has the measured
        coverage.
        """
        self._check_fitted("map_")
        self._check_scores(scores)
        return self.to_map(interval=check_level(level)).interval(scores)

    def to_map(self, *, interval: float | None = None) -> CalibrationMap:
        """Return the map, optionally with intervals, to be saved, exported or applied elsewhere.

        Parameters
        ----------
        interval : float, default=None
            Confidence level of the intervals, such as 0.9; None for ``map_`` without intervals.

        Returns
        -------
        CalibrationMap
            ``map_``; with ``band`` if it has intervals.

        Examples
        --------
        >>> from trueodds import BetaCalibrator
        >>> scores, y = [0.02, 0.4, 0.1, 0.97, 0.8, 0.95], [0, 0, 1, 1, 0, 1]
        >>> banded = BetaCalibrator().fit(scores, y).to_map(interval=0.5)
        >>> low, high = banded.interval([0.9])
        >>> bool(low[0] < banded([0.9])[0] < high[0])
        True
        """
        self._check_fitted("map_")
        if interval is None:
            return self.map_
        level = check_level(interval, "interval")
        lower, upper = self._band_curves(level)
        return self.map_.with_band(lower, upper, level=level)

    def fit_map_with_band(self, rows: Rows, *, level: float = 0.9) -> CalibrationMap:
        """Like :meth:`fit_map`, with intervals in the map."""
        level = check_level(level)
        self.map_ = self.fit_map(rows)
        self.classes_ = np.arange(rows.n_classes)
        self._keep(rows)
        return self.to_map(interval=check_level(level))

    def _keep(self, rows: Rows) -> None:
        """Store the rows that intervals need."""
        rows = rows.bounded(self.scale, by_order_alone=self.by_order_alone)
        self._kept, self._posteriors = keep_rows(rows.in_counts(by_class=True), self.scale), None

    def _keep_forecasts(self, p: Floats, rows: Rows) -> None:
        """The same for a method whose predictions depend on more than the scores."""
        forecasts = p[:, 1] if p.shape[1] == 2 else p
        kept = ForecastRows(forecasts, rows.codes, rows.weight, self.classes_).in_counts()
        self._kept, self._posteriors = sample_rows(kept.of_positive_weight()), None

    def _band_curves(self, level: float) -> tuple[Curves, Curves]:
        """Lower and upper curve, as functions of the scores or of each class's prediction."""
        shares = ((1 - level) / 2, (1 + level) / 2)
        scale: InputScale = "probability" if self.map_.band_of_forecasts else self.scale
        lower, upper = (
            tuple(LogOddsCurveMap(x=p.z, y=p.quantile(share), scale=scale) for p in self._truth())
            for share in shares
        )
        return lower, upper

    def __getstate__(self) -> dict[str, Any]:
        """State without the curves, which can be fitted again and take more room than the rest."""
        state = vars(self).copy()  # another thread may add the curves meanwhile
        state.pop("_posteriors", None)
        if "_kept" in state:
            state["_kept"] = smaller(state["_kept"], self.scale)
        return state

    def _truth(self) -> tuple[CurvePosterior, ...]:
        """Posterior of the true probability: of the positive class, or of each class."""
        if self._posteriors is None:
            kept = self._kept
            scale: InputScale = "probability" if self.map_.band_of_forecasts else self.scale
            if kept is None:
                raise InputError(
                    f"this {type(self).__name__} has no rows for an interval, because it was "
                    "fitted by an earlier version of trueodds. Fit it again."
                )
            found = cells_of(kept, self.map_, scale) if isinstance(kept, Rows) else [kept]
            self._posteriors = tuple(_posterior(cells, scale) for cells in found)
        return self._posteriors


class FeatureCalibrator(Calibrator):
    """Base class of calibrators with ``features=``; a subclass implements ``predict_proba``."""

    def predict_proba(self, scores: Any, *, features: Any = None) -> Floats:
        """Return calibrated probabilities computed from the scores alone."""
        return super().predict_proba(scores)

    def predict_interval(
        self, scores: Any, *, level: float = 0.9, features: Any = None
    ) -> tuple[Floats, Floats]:
        """Interval of the true probability at each score, or of rows with such a prediction.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the same scale as in ``fit``.
        level : float, default=0.9
            Confidence level: the share of rows whose interval contains the true probability, on
            average.
        features : array-like or frame of shape (n, n_attributes), default=None
            Features of the same rows, if the method needs them.

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
        """
        self._check_fitted("map_")
        if not self.map_.features:
            return super().predict_interval(scores, level=level)
        return self.to_map(interval=check_level(level)).interval(scores, features)

    def predict(self, scores: Any, *, features: Any = None) -> npt.NDArray[Any]:
        """Return the most probable class of each row; the first of equals."""
        probabilities = self.predict_proba(scores, features=features)
        return np.asarray(self.classes_[probabilities.argmax(axis=1)])

    def score(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        counts: Any = None,
        features: Any = None,
    ) -> float:
        """Return the accuracy of :meth:`predict`, as scikit-learn's classifiers do."""
        predicted = self.predict(scores, features=features)
        return _share_right(predicted, self.classes_, y, sample_weight, counts)


class PosteriorCalibrator(Calibrator):
    """Base class of binary calibrators with a posterior."""

    @abstractmethod
    def _quantile_maps(self, shares: Sequence[float]) -> list[CalibrationMap]:
        """Quantiles of the posterior at each score, as maps."""

    @abstractmethod
    def _drawn_maps(self, n_maps: int, rng: np.random.Generator) -> list[CalibrationMap]:
        """Draws of the map."""

    def _band_curves(self, level: float) -> tuple[Curves, Curves]:
        """Quantiles of the posterior; with several classes, the intervals of any method."""
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
                f"sample_maps supports two classes; this calibrator was fitted on "
                f"{len(self.classes_)}. Fit one-vs-rest."
            )
        check_integer(n_maps, "n_maps", 1)
        drawn = self._drawn_maps(n_maps, np.random.default_rng(as_seed(random_state)))
        return [m.with_classes(self.map_.classes) for m in drawn]


def _share_right(
    predicted: npt.NDArray[Any],
    classes: npt.NDArray[Any],
    y: Any,
    sample_weight: Any,
    counts: Any,
) -> float:
    """Accuracy: the weighted share of rows whose label is the predicted one."""
    labels = label_column(y)
    if labels.dtype.kind == "O":
        encode_labels(labels)  # refuses what is missing or does not sort
    check_length(len(labels), "y", len(predicted), "scores")
    first, known = labels[:1].tolist()[0], classes.tolist()
    if not any(_kind(first) == _kind(label) for label in known):
        raise InputError(
            f"y contains labels such as {shown(first)}, but those of fit are {shown(known)}; pass "
            "labels of the same type."
        )
    weight = Weights.read(sample_weight, counts, len(labels))
    return float(np.average(predicted == labels, weights=mass_of(weight)))


def _kind(label: Any) -> tuple[bool, bool]:
    """Whether a label is a text, and whether it is a number: 1, 1.0 and True are one label."""
    return isinstance(label, str), isinstance(label, Real)


def _declared_pair(classes: Any) -> npt.NDArray[Any]:
    if classes is None:
        return np.array([0, 1])
    declared = np.asarray(as_dense(classes, "classes"))
    if declared.shape != (2,):
        raise InputError(f"a ScoreTable has two classes; got classes= {declared.tolist()!r}.")
    return declared


def _posterior(cells: KeptCells, scale: InputScale) -> CurvePosterior:
    from trueodds.numerics.smooth_curve.fit import fit_smooth_curve

    with single_threaded_blas():
        posterior = fit_smooth_curve(
            cells.z,
            cells.n_neg,
            cells.n_pos,
            centered_on_scores=scale != "raw",
            with_simplest=False,
            offset=cells.offset,
        )
    return replace(posterior, z=np.asarray(posterior.z * cells.unit))
