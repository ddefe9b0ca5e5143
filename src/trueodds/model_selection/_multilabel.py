"""Calibration of several labels at once: one model, and one map for each label."""

from __future__ import annotations

import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import KFold, StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, get_tags

from trueodds.basics.warned import ignored_warnings
from trueodds.exceptions import InputError, MissingClassWarning, warn_user
from trueodds.inputs import Floats, InputScale, Labels, as_dense
from trueodds.model_selection._foreign_calibrators import (
    fit_calibrator,
    needs_features,
    predict_calibrated,
)
from trueodds.model_selection._training import Training

__all__ = [
    "LabelsMember",
    "LabelsTask",
    "check_members",
    "check_supports_labels",
    "label_scores",
    "mean_of_members",
]


def check_supports_labels(estimator: Any) -> None:
    """Refuse a model that learns one label only, and name the wrapper that makes it learn more."""
    tags = get_tags(estimator)
    classifier = tags.classifier_tags
    if not (tags.target_tags.multi_output or (classifier is not None and classifier.multi_label)):
        name = type(estimator).__name__
        raise InputError(
            f"y has several columns, but {name} learns one label at a time. Wrap it: "
            f"CalibratedClassifier(sklearn.multioutput.MultiOutputClassifier({name}()))."
        )


def label_scores(model: Any, X: Any, method: str, n_labels: int) -> Floats:
    """A column of scores for each label, from either form in which scikit-learn's models give them.

    ``MultiOutputClassifier``, forests and neighbors return a list with probabilities of both
    classes for each label; ``OneVsRestClassifier``, networks and chains a matrix.
    """
    output = getattr(model, method)(X)
    if isinstance(output, list):
        if len(output) != n_labels:
            raise InputError(
                f"{type(model).__name__}.{method} gives {len(output)} arrays for {n_labels} labels."
            )
        classes = getattr(model, "classes_", [np.array([0, 1])] * n_labels)
        parts = zip(output, classes, strict=True)
        return np.stack([_positive(as_dense(part, method), own) for part, own in parts], axis=1)
    matrix = np.asarray(as_dense(output, method), dtype=np.float64)
    if matrix.ndim != 2 or matrix.shape[1] != n_labels:
        raise InputError(
            f"{type(model).__name__}.{method} gives shape {matrix.shape} for {n_labels} labels; "
            "one column per label is needed."
        )
    return matrix


def _positive(part: npt.NDArray[Any], classes: Any) -> Floats:
    """The positive class of one label; a model that saw one class only is certain of it."""
    if part.ndim == 1:
        return np.asarray(part, dtype=np.float64)
    known = np.asarray(classes)
    if 1 not in known:
        return np.zeros(len(part))
    return np.asarray(part[:, int(np.flatnonzero(known == 1)[0])], dtype=np.float64)


@dataclass(frozen=True, eq=False)
class LabelsMember:
    """A fitted model with a calibrator for each label.

    Parameters
    ----------
    estimator : object
        The fitted model.
    calibrators : sequence
        One for each label; None where the rows had one class only.
    method : str
        Method of the model that is called.
    """

    estimator: Any
    calibrators: Sequence[Any]
    method: str

    def scores(self, X: Any) -> Floats:
        """A column of scores for each label."""
        return label_scores(self.estimator, X, self.method, len(self.calibrators))

    def predict_proba(self, X: Any) -> Floats:
        """The probability of each label; NaN for those without a calibrator."""
        scores = self.scores(X)
        found = np.full(scores.shape, np.nan)
        for k, calibrator in enumerate(self.calibrators):
            if calibrator is not None:
                column = np.ascontiguousarray(scores[:, k])
                found[:, k] = predict_calibrated(calibrator, column, X)[:, 1]
        return found

    def predict_interval(self, X: Any, level: float) -> tuple[Floats, Floats]:
        """An interval for each label; NaN for those without a calibrator."""
        scores = self.scores(X)
        low, high = np.full(scores.shape, np.nan), np.full(scores.shape, np.nan)
        for k, calibrator in enumerate(self.calibrators):
            if calibrator is None:
                continue
            if not hasattr(calibrator, "predict_interval"):
                raise InputError("predict_interval needs a calibrator of trueodds.")
            extra = {"features": X} if needs_features(calibrator) else {}
            column = np.ascontiguousarray(scores[:, k])
            low[:, k], high[:, k] = calibrator.predict_interval(column, level=level, **extra)
        return low, high


def mean_of_members(parts: Sequence[Floats]) -> Floats:
    """The mean over members, for each label over those that have it."""
    return np.asarray(np.nanmean(parts, axis=0))


@dataclass(frozen=True, eq=False)
class LabelsTask:
    """What every fold needs.

    Parameters
    ----------
    training : Training
        With the indicator matrix as its labels.
    calibrator : object
    response : callable (model) → (method, scale)
    """

    training: Training
    calibrator: Any
    response: Any

    @property
    def y(self) -> npt.NDArray[np.int8]:
        """The indicator matrix."""
        return self.training.y

    def folds(self, cv: Any, for_splitter: Any) -> list[tuple[Labels, Labels]]:
        """Return the folds; a number of folds spreads combinations of labels evenly over them."""
        if cv is None or isinstance(cv, numbers.Integral):
            n_folds = 5 if cv is None else int(cv)
            if len(self.y) < n_folds:
                raise InputError(f"cv={n_folds} folds, but there are {len(self.y)} rows.")
            counts = np.bincount(self.training.codes)
            if counts.max() >= n_folds:
                splitter: Any = StratifiedKFold(n_folds)
                # Rare combinations are no matter here.
                with ignored_warnings(UserWarning, "The least populated class"):
                    return list(splitter.split(self.training.X, self.training.codes))
            return list(KFold(n_folds, shuffle=True, random_state=0).split(self.training.X))
        splitter = check_cv(cv, self.y, classifier=True)
        return list(splitter.split(self.training.X, self.y, **for_splitter))

    def both_classes(self, rows: Labels) -> npt.NDArray[np.bool_]:
        """For each label, whether rows of positive weight have it and lack it."""
        weight = self.training.weight_of(rows)
        kept = rows if weight is None else rows[weight.values > 0]
        part = self.y[kept]
        return np.asarray((part.max(axis=0, initial=0) == 1) & (part.min(axis=0, initial=1) == 0))

    def scores(self, model: Any, rows: Labels | None) -> Floats:
        """A model's scores."""
        X = self.training.X if rows is None else _safe_indexing(self.training.X, rows)
        return label_scores(model, X, self.response(model)[0], self.y.shape[1])

    def member(
        self, model: Any, scores: Floats, rows: Labels, learned: npt.NDArray[np.bool_]
    ) -> LabelsMember:
        """Calibrate each label that the model has learned and whose rows have both classes."""
        method, scale = self.response(model)
        usable = self.both_classes(rows) & learned
        return LabelsMember(
            model,
            tuple(
                self._calibrated(scores[:, k], rows, k, scale) if usable[k] else None
                for k in range(self.y.shape[1])
            ),
            method,
        )

    def _calibrated(self, scores: Floats, rows: Labels, k: int, scale: InputScale) -> Any:
        weight = self.training.weight_of(rows)
        asks = needs_features(self.calibrator)
        features = _safe_indexing(self.training.X, rows) if asks else None
        codes = self.y[rows, k].astype(np.intp)
        column = np.ascontiguousarray(scores)
        return fit_calibrator(
            self.calibrator, column, codes, weight, features, scale=scale, n_classes=2
        )

    def fit_fold(self, train: Labels, test: Labels) -> LabelsMember:
        """Train on one part, calibrate on the other."""
        model = self.training.fit(train, test)
        return self.member(model, self.scores(model, test), test, self.both_classes(train))

    def score_fold(self, train: Labels, test: Labels) -> tuple[Floats, Labels]:
        """Out-of-fold scores; NaN for labels that the training rows all have or all lack."""
        model = self.training.fit(train, test)
        scores = self.scores(model, test)
        return np.where(self.both_classes(train), scores, np.nan), test

    def pooled_member(self, model: Any, parts: Sequence[tuple[Floats, Labels]]) -> LabelsMember:
        """Calibrators of the out-of-fold scores of all rows, for a model of all rows."""
        scores = np.concatenate([part for part, _ in parts])
        rows = np.concatenate([rows for _, rows in parts])
        order = np.argsort(rows, kind="stable")
        scores, rows = scores[order], rows[order]
        method, scale = self.response(model)
        found: list[Any] = []
        for k in range(self.y.shape[1]):
            known = ~np.isnan(scores[:, k])
            usable = known.any() and self.both_classes(rows[known])[k]
            found.append(
                self._calibrated(scores[known, k], rows[known], k, scale) if usable else None
            )
        return LabelsMember(model, tuple(found), method)


def check_members(members: Sequence[LabelsMember]) -> None:
    """Warn of labels that some folds cannot calibrate; refuse those that none can."""
    missing = np.array([[c is None for c in member.calibrators] for member in members])
    never = np.flatnonzero(missing.all(axis=0))
    if len(never):
        raise InputError(
            f"label {never[0]} ({len(never)} in all) is present in all rows or in none of those "
            "that train or calibrate a model; drop its column, use fewer folds, or more data."
        )
    some = int(missing.any(axis=0).sum())
    if some:
        warn_user(
            f"{some} of {missing.shape[1]} labels are present in all rows or in none of some fold; "
            "the other folds calibrate them.",
            MissingClassWarning,
        )
