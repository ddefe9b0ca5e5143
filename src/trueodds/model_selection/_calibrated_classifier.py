"""A classifier and its calibrator as one scikit-learn estimator."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRequest, get_routing_for_object
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from trueodds.exceptions import InputError, MissingClassWarning, TrueoddsWarning, warn_user
from trueodds.model_selection._adapter import fit_calibrator, needs_features
from trueodds.model_selection._member import CalibratedMember
from trueodds.model_selection._response import ResponseMethod, choose_response, response_of
from trueodds.validation import (
    Floats,
    InputScale,
    Labels,
    as_dense,
    encode_labels,
    validate_weights,
)

__all__ = ["CalibratedClassifier"]


@dataclass(frozen=True)
class _Task:
    """What every fold needs."""

    estimator: Any
    calibrator: Any
    X: Any
    y: npt.NDArray[Any]
    codes: Labels
    classes: npt.NDArray[Any]
    weight: Floats | None
    response_method: ResponseMethod

    def fit_model(self, rows: Labels | None) -> Any:
        model = clone(self.estimator)
        X, y, weight = self.X, self.y, self.weight
        if rows is not None:
            X, y = _safe_indexing(X, rows), y[rows]
            weight = None if weight is None else weight[rows]
        if weight is not None and _wants_weights(model):
            return model.fit(X, y, sample_weight=weight)
        return model.fit(X, y)

    def known_to(self, model: Any) -> Labels:
        """Positions of the model's classes among ours."""
        places = {label: k for k, label in enumerate(self.classes.tolist())}
        return np.array([places[label] for label in np.asarray(model.classes_).tolist()])

    def scores(self, model: Any, rows: Labels | None) -> tuple[Floats, str, InputScale]:
        method, scale = choose_response(model, self.calibrator, self.response_method)
        X = self.X if rows is None else _safe_indexing(self.X, rows)
        return response_of(model, X, method, len(model.classes_)), method, scale

    def member(
        self,
        model: Any,
        scores: Floats,
        rows: Labels,
        method: str,
        scale: InputScale,
    ) -> CalibratedMember:
        """Calibrate ``model`` on ``scores`` of ``rows``, as far as it knows their classes."""
        known = self.known_to(model)
        position = np.full(len(self.classes), -1)
        position[known] = np.arange(len(known))
        codes = position[self.codes[rows]]
        kept = codes >= 0
        if not kept.all():
            scores, codes, rows = scores[kept], codes[kept], rows[kept]
        weight = None if self.weight is None else self.weight[rows]
        features = _safe_indexing(self.X, rows) if needs_features(self.calibrator) else None
        fitted = fit_calibrator(
            self.calibrator, scores, codes, weight, features, scale=scale, n_classes=len(known)
        )
        return CalibratedMember(model, fitted, known, method)

    def can_calibrate(self, train: Labels, test: Labels) -> bool:
        """Whether two classes that a model of ``train`` knows are left in ``test``."""
        return self.usable(test[np.isin(self.codes[test], self.codes[train])])

    def usable(self, rows: Labels) -> bool:
        """Whether rows of positive weight hold two classes or more."""
        codes = self.codes[rows] if self.weight is None else self.codes[rows][self.weight[rows] > 0]
        return bool(len(codes) and (codes != codes[0]).any())

    def fit_fold(self, train: Labels, test: Labels) -> CalibratedMember:
        model = self.fit_model(train)
        scores, method, scale = self.scores(model, test)
        return self.member(model, scores, test, method, scale)

    def score_fold(self, train: Labels, test: Labels) -> tuple[Floats, Labels, Labels]:
        model = self.fit_model(train)
        scores, _, _ = self.scores(model, test)
        return scores, test, self.known_to(model)


def _wants_weights(model: Any) -> bool:
    """Whether ``fit`` takes sample weights and the user has not asked to keep them from it."""
    if not has_fit_parameter(model, "sample_weight"):
        return False
    routing = get_routing_for_object(model)
    if not isinstance(routing, MetadataRequest):
        return True
    return routing.fit.requests.get("sample_weight") is not False


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A classifier whose probabilities are calibrated on data that it was not trained on.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``. Inside scikit-learn's ``FrozenEstimator``
        it is taken as it is, and all data goes into the calibration.
    calibrator : calibrator, default=None
        Any of ours, or any object with ``fit(scores, y)`` and ``predict_proba(scores)`` or
        ``predict(scores)``. None for :class:`~trueodds.LogisticCalibrator`.
    cv : int, splitter or iterable of (train, test), default=5
        The folds; an integer means stratified folds.
    ensemble : bool, default=True
        True: in each fold one model is trained and calibrated on the rest, and their outputs are
        averaged. False: one calibrator is fitted on the out-of-fold scores of all rows and used
        with one model that is trained on everything.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What is calibrated; probabilities if the model has them. The scale is known from the
        method. A calibrator made with ``input="logit"`` or ``"score"`` asks for the decision
        function.
    n_jobs : int, default=None
        Folds fitted at once, as in joblib.

    Attributes
    ----------
    calibrated_classifiers_ : list of CalibratedMember
        Each with the fitted ``estimator`` and ``calibrator``.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    Sample weights go to the calibrator, and to the model if its ``fit`` takes them, unless it was
    told ``set_fit_request(sample_weight=False)``. X is passed on untouched, whatever it is. A class
    that a fold's model has not seen gets probability 0 from that fold; a fold in which only one
    class is left to train or to calibrate on is left out.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from trueodds import BetaCalibrator, CalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CalibratedClassifier(GaussianNB(), BetaCalibrator()).fit(X, y)
    >>> model.predict_proba(X[:2]).round(2)
    array([[1.  , 0.  ],
           [0.99, 0.01]])
    """

    def __init__(
        self,
        estimator: Any,
        calibrator: Any = None,
        *,
        cv: Any = 5,
        ensemble: bool = True,
        response_method: ResponseMethod = "auto",
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.ensemble = ensemble
        self.response_method = response_method
        self.n_jobs = n_jobs

    def _calibrator(self) -> Any:
        if isinstance(self.calibrator, (str, type)):
            raise InputError(
                f"calibrator must be an object such as BetaCalibrator(); got {self.calibrator!r}."
            )
        if self.calibrator is not None:
            return self.calibrator
        from trueodds.calibrators import LogisticCalibrator

        return LogisticCalibrator()

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train and calibrate.

        Parameters
        ----------
        X : {array-like, frame, sparse matrix} of shape (n, n_features)
            Passed to the model untouched.
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), default=None

        Returns
        -------
        self
        """
        X, y = indexable(X, y)
        labels = column_or_1d(as_dense(y, "y"), warn=True)
        frozen = isinstance(self.estimator, FrozenEstimator)
        codes, classes = encode_labels(labels, self.estimator.classes_ if frozen else None)
        weight = validate_weights(sample_weight, len(codes))
        if len(classes) < 2:
            raise InputError(
                f"y has one class only ({classes.tolist()[0]!r}); at least two are needed."
            )
        self.classes_ = classes
        if (
            weight is not None
            and not frozen
            and not has_fit_parameter(self.estimator, "sample_weight")
        ):
            warn_user(
                f"{type(self.estimator).__name__}.fit takes no sample_weight; weights are used for "
                "calibration only.",
                TrueoddsWarning,
            )
        task = _Task(
            self.estimator,
            self._calibrator(),
            X,
            labels,
            codes,
            classes,
            weight,
            self.response_method,
        )
        if frozen:
            self.calibrated_classifiers_ = [self._fit_prefit(task)]
        elif self.ensemble:
            self.calibrated_classifiers_ = self._fit_ensemble(task)
        else:
            self.calibrated_classifiers_ = [self._fit_single(task)]
        first = self.calibrated_classifiers_[0].estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        return self

    def _fit_prefit(self, task: _Task) -> CalibratedMember:
        scores, method, scale = task.scores(self.estimator, None)
        return task.member(self.estimator, scores, np.arange(len(task.codes)), method, scale)

    def _folds(self, task: _Task, *, calibrates_each: bool) -> list[tuple[Labels, Labels]]:
        if isinstance(self.cv, str):
            raise InputError(
                f"cv must be a number of folds or a splitter; got {self.cv!r}. If the model is "
                "trained already, wrap it in sklearn.frozen.FrozenEstimator, and fit on rows that "
                "it has not seen."
            )
        cv = check_cv(self.cv, task.y, classifier=True)
        if isinstance(cv, StratifiedKFold):
            largest = int(np.bincount(task.codes).max())
            if largest < cv.get_n_splits():
                raise InputError(
                    f"cv={cv.get_n_splits()} folds, but no class has more than {largest} instances."
                )
        with warnings.catch_warnings():  # a rare class is our business, below
            warnings.filterwarnings("ignore", "The least populated class", UserWarning)
            folds = list(cv.split(task.X, task.y))
        usable = [
            (train, test)
            for train, test in folds
            if task.usable(train) and (task.can_calibrate(train, test) or not calibrates_each)
        ]
        if len(usable) < len(folds):
            warn_user(
                f"{len(folds) - len(usable)} of {len(folds)} folds leave fewer than two classes to "
                "train or to calibrate on, and are left out.",
                MissingClassWarning,
            )
        if not usable:
            raise InputError(
                "no fold has two classes both to train and to calibrate on; shuffle the folds, use "
                "fewer of them, or more data."
            )
        return usable

    def _fit_ensemble(self, task: _Task) -> list[CalibratedMember]:
        folds = self._folds(task, calibrates_each=True)
        return list(Parallel(n_jobs=self.n_jobs)(delayed(task.fit_fold)(*fold) for fold in folds))

    def _fit_single(self, task: _Task) -> CalibratedMember:
        folds = self._folds(task, calibrates_each=False)
        scored = Parallel(n_jobs=self.n_jobs)(delayed(task.score_fold)(*fold) for fold in folds)
        # Scores of a model that has not seen all classes are not comparable with the others'.
        complete = [part for part in scored if len(part[2]) == len(task.classes)]
        if not complete:
            raise InputError("no fold's model saw every class; use fewer folds or more data.")
        scores = np.concatenate([part[0] for part in complete])
        rows = np.concatenate([part[1] for part in complete])
        # Back in the order of the data, so that the number of folds leaves no trace of its own.
        order = np.argsort(rows, kind="stable")
        model = task.fit_model(None)
        method, scale = choose_response(model, task.calibrator, task.response_method)
        return task.member(model, scores[order], rows[order], method, scale)

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities.

        Parameters
        ----------
        X : {array-like, frame, sparse matrix} of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_classes)
        """
        check_is_fitted(self)
        members = self.calibrated_classifiers_
        total = sum(member.predict_proba(X, len(self.classes_)) for member in members)
        return np.asarray(total / len(members))

    def predict_interval(self, X: Any, *, level: float = 0.9) -> tuple[Floats, Floats]:
        """Where the true probability of such rows lies, given the rows used for calibration.

        Parameters
        ----------
        X : {array-like, frame, sparse matrix} of shape (n, n_features)
        level : float, default=0.9

        Returns
        -------
        low, high : ndarray of shape (n,), or (n, n_classes) with several classes
            With two classes those of the positive one. Those of an ensemble are the means of its
            members' ends, each of which knows its own fold alone: on the safe side.
        """
        check_is_fitted(self)
        members = self.calibrated_classifiers_
        ends = [member.predict_interval(X, len(self.classes_), level) for member in members]
        low, high = (np.mean([end[k] for end in ends], axis=0) for k in (0, 1))
        return low, high

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        return tags
