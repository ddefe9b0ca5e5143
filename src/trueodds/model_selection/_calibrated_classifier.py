"""A classifier and its calibrator as one scikit-learn estimator."""

from __future__ import annotations

import copy
import functools
import numbers
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils import _safe_indexing, column_or_1d, get_tags, indexable
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import _num_samples, check_is_fitted

from trueodds.basics.shown import shown
from trueodds.basics.warned import ignored_warnings
from trueodds.calibrators import find_calibrator
from trueodds.exceptions import InputError, MissingClassWarning, warn_user
from trueodds.inputs import (
    Floats,
    InputScale,
    Labels,
    Weights,
    as_dense,
    as_tuple,
    check_choice,
    check_flag,
    check_integer,
    check_jobs,
    check_length,
    dense_labels,
    encode_labels,
    indicator_matrix,
    is_indicator,
    label_column,
)
from trueodds.model_selection._auto import AutoCalibrator
from trueodds.model_selection._foreign_calibrators import (
    fit_calibrator,
    needs_features,
    predict_calibrated,
)
from trueodds.model_selection._multilabel import (
    LabelsTask,
    check_members,
    check_supports_labels,
    mean_of_members,
)
from trueodds.model_selection._training import EvalSet, Training, clone_model, share_parameters

__all__ = [
    "CalibratedClassifier",
    "CalibratedMember",
    "FoldTask",
    "ResponseMethod",
    "ScoredFold",
    "choose_response",
    "response_of",
]


class CalibratedClassifier(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]  # untyped bases
    """A classifier whose probabilities are calibrated on data that it was not trained on.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba`` or ``decision_function``. Inside scikit-learn's ``FrozenEstimator``
        it is not trained again, and all rows are used for calibration.
    calibrator : calibrator or str, default=None
        Any calibrator of trueodds, the name of one, such as ``"beta"``, or any object with
        ``fit(scores, y)`` and ``predict_proba(scores)`` or ``predict(scores)``. None for
        :class:`~trueodds.AutoCalibrator`, the recommended method.
    cv : int, splitter or iterable of (train, test), default=5
        The folds; an integer means stratified folds.
    ensemble : bool, default=True
        True: in each fold one model is trained and calibrated on the rest, and their outputs are
        averaged. False: one calibrator is fitted on the out-of-fold scores of all rows and used
        with one model that is trained on everything.
    response_method : {"auto", "predict_proba", "decision_function"}, default="auto"
        What is calibrated; probabilities if the model has them. The scale is known from the
        method. A calibrator made with ``scale="logit"`` or ``"raw"`` needs the decision
        function.
    eval_set : {None, "held_out"}, default=None
        ``"held_out"``: in each fold the model's ``fit`` is given the held-out rows as ``eval_set``,
        by which LightGBM, XGBoost and CatBoost stop early, alone or last in a pipeline. With
        ``ensemble=False`` the model of all rows is trained for the mean of the folds' rounds.
    n_jobs : int, default=None
        Folds fitted at once, as in joblib.

    Attributes
    ----------
    calibrated_classifiers_ : list of CalibratedMember
        Each has the fitted ``estimator`` and ``calibrator``, and a method ``predict_proba``.
    classes_ : ndarray of shape (n_classes,)
        With several labels a list with ``[0, 1]`` for each.
    multilabel_ : bool
        Whether y had several labels.

    Notes
    -----
    **Several labels.** If y is an indicator matrix, the model must support it (such as
    ``MultiOutputClassifier``, ``OneVsRestClassifier``, ``ClassifierChain``, forests or
    networks). It is trained once in each fold, and each label is calibrated separately. Folds
    spread the combinations of labels evenly. ``predict_proba`` returns a matrix with a column for
    each label, whichever form the model's own has.

    Sample weights go to the calibrator, and to the model if its ``fit`` takes them, unless it was
    told ``set_fit_request(sample_weight=False)``. X is passed on untouched, whatever it is. A class
    that a fold's model has not seen gets probability 0 from that fold; a fold in which only one
    class is left to train or to calibrate on is left out.

    With scikit-learn's metadata routing switched on, parameters of ``fit`` go where they were
    requested, to the model or to the splitter, and ``sample_weight`` to the calibrator in any case.

    Rows by which a model was stopped are a little too easy for it. As only the number of rounds is
    chosen by them, calibrating on the same rows is common practice; to be strict, pass separate
    rows as ``fit(X, y, eval_set=[(X_stop, y_stop)])``.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from trueodds import CalibratedClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CalibratedClassifier(GaussianNB()).fit(X, y)
    >>> model.predict_proba(X[:2]).round(2)
    array([[0.99, 0.01],
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
        eval_set: EvalSet = None,
        n_jobs: int | None = None,
    ) -> None:
        self.estimator = estimator
        self.calibrator = calibrator
        self.cv = cv
        self.ensemble = ensemble
        self.response_method = response_method
        self.eval_set = eval_set
        self.n_jobs = n_jobs

    def _calibrator(self) -> Any:
        given = self.calibrator
        if given is None or (isinstance(given, str) and given == "auto"):
            return AutoCalibrator()
        if isinstance(given, str):
            return find_calibrator(given)()
        if not callable(getattr(given, "fit", None)) or isinstance(given, type):
            raise InputError(
                f"calibrator must be an object such as BetaCalibrator(), or a name; got "
                f"{shown(given)}."
            )
        return given

    def fit(
        self, X: Any, y: Any, sample_weight: Any = None, *, counts: Any = None, **fit_params: Any
    ) -> Self:
        """Train and calibrate.

        Parameters
        ----------
        X : {array-like, frame, sparse matrix} of shape (n, n_features)
            Passed to the model untouched.
        y : array-like of shape (n,), or of shape (n, n_labels)
            Several columns of 0 and 1 are labels that may occur together; each gets a map.
        sample_weight : array-like of shape (n,), default=None
            Importance of each row, which stays one observation.
        counts : array-like of shape (n,), default=None
            How often each row occurred. The model is trained on that many copies; all of them are
            in one fold.
        **fit_params : dict
            ``groups`` go to the splitter, everything else to the model's ``fit``, in each fold cut
            to its rows if there is an entry for each row; with metadata routing, as requested.

        Returns
        -------
        self
        """
        frozen = isinstance(self.estimator, FrozenEstimator)
        self._check_estimator(frozen)
        check_flag(self.ensemble, "ensemble")
        check_jobs(self.n_jobs)
        if is_indicator(y):
            weights = Weights.read(sample_weight, counts, _num_samples(X), raw=True)
            return self._fit_labels(X, y, weights, fit_params, frozen=frozen)
        labels = dense_labels(y)
        label_column(labels)  # or InputError
        check_length(len(labels), "y", _num_samples(X), "X")
        X, labels = indexable(X, labels)
        labels = _of_plain_texts(labels)
        codes, classes = encode_labels(labels, self.estimator.classes_ if frozen else None)
        labels = column_or_1d(labels, warn=True)
        if labels.dtype.kind == "O":  # numbers of several kinds, which models may refuse
            labels = classes[codes]
        weight = Weights.read(sample_weight, counts, len(codes), raw=True)
        if len(classes) < 2:
            raise InputError(
                f"y has one class only ({classes.tolist()[0]!r}); at least two are needed."
            )
        for_model, for_splitter = share_parameters(self, weight, fit_params)
        training = Training(self.estimator, X, labels, codes, weight, for_model, self.eval_set)
        task = FoldTask(training, self._calibrator(), classes, self.response_method)
        if frozen:
            members = [self._fit_prefit(task)]
        else:
            training.check()
            fit = self._fit_ensemble if self.ensemble else self._fit_single
            members = fit(task, for_splitter)
        return self._fitted(classes, members, multilabel=False)

    def _fitted(self, classes: Any, members: list[Any], *, multilabel: bool) -> Self:
        """Keep the result of a fit."""
        self.classes_, self.calibrated_classifiers_ = classes, members
        self.multilabel_ = multilabel
        first = self.calibrated_classifiers_[0].estimator
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(first, name):
                setattr(self, name, getattr(first, name))
        return self

    def _fit_labels(
        self,
        X: Any,
        y: Any,
        weight: Weights | None,
        fit_params: dict[str, Any],
        *,
        frozen: bool,
    ) -> Self:
        """Several labels: one model, and one calibrator for each label."""
        matrix = indicator_matrix(y)
        check_length(len(matrix), "y", _num_samples(X), "X")
        check_supports_labels(self.estimator.estimator if frozen else self.estimator)
        if self.eval_set is not None:
            raise InputError("eval_set needs a single label; train the model on all rows instead.")
        X, matrix = indexable(X, matrix)
        for_model, for_splitter = share_parameters(self, weight, fit_params)
        _, combinations = np.unique(matrix, axis=0, return_inverse=True)
        codes = np.asarray(combinations).ravel()
        training = Training(self.estimator, X, matrix, codes, weight, for_model, None)
        calibrator = self._calibrator()

        def response(model: Any) -> tuple[str, InputScale]:
            return choose_response(model, calibrator, self.response_method)

        task = LabelsTask(training, calibrator, response)
        if frozen:
            every = np.arange(len(matrix))
            learned = np.ones(matrix.shape[1], dtype=bool)
            members = [
                task.member(self.estimator, task.scores(self.estimator, None), every, learned)
            ]
        else:
            folds = task.folds(_checked_folds(self.cv), for_splitter)
            run = Parallel(n_jobs=self.n_jobs)
            if self.ensemble:
                members = list(run(delayed(task.fit_fold)(*fold) for fold in folds))
            else:
                parts = run(delayed(task.score_fold)(*fold) for fold in folds)
                members = [task.pooled_member(training.fit_all([]), parts)]
        check_members(members)
        classes = [np.array([0, 1]) for _ in range(matrix.shape[1])]
        return self._fitted(classes, members, multilabel=True)

    def _check_estimator(self, frozen: bool) -> None:
        if not callable(getattr(self.estimator, "fit", None)) or isinstance(self.estimator, type):
            raise InputError(
                "estimator must be a model with a method fit, such as LogisticRegression(); got "
                f"{shown(self.estimator)}."
            )
        if frozen and not hasattr(self.estimator, "classes_"):
            raise InputError(
                f"{type(self.estimator.estimator).__name__} in FrozenEstimator is not fitted: fit "
                "it first, or pass it without FrozenEstimator to have it trained here."
            )

    def _fit_prefit(self, task: FoldTask) -> CalibratedMember:
        scores, method, scale = task.scores(self.estimator, None)
        return task.member(self.estimator, scores, np.arange(len(scores)), method, scale)

    def _folds(
        self, task: FoldTask, for_splitter: Mapping[str, Any], *, calibrates_each: bool
    ) -> list[tuple[Labels, Labels]]:
        X, y = task.training.X, task.training.y
        cv = check_cv(_checked_folds(self.cv), y, classifier=True)
        if isinstance(cv, StratifiedKFold):
            largest = int(np.bincount(task.training.codes).max())
            if largest < cv.get_n_splits():
                raise InputError(
                    f"cv={cv.get_n_splits()} folds, but no class has more than {largest} rows."
                )
        with ignored_warnings(UserWarning, "The least populated class"):  # is our business, below
            folds = list(cv.split(X, y, **for_splitter))
        if not folds:
            raise InputError(
                "cv has no folds. A generator gives them once only: pass list(generator) to fit "
                "again."
            )
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
            way_out = " With ensemble=False the rows of all folds calibrate one model together."
            raise InputError(
                "no fold has two classes both to train and to calibrate on; shuffle the folds, use "
                "fewer of them, or more data." + (way_out if calibrates_each else "")
            )
        return usable

    def _fit_ensemble(
        self, task: FoldTask, for_splitter: Mapping[str, Any]
    ) -> list[CalibratedMember]:
        folds = self._folds(task, for_splitter, calibrates_each=True)
        return list(Parallel(n_jobs=self.n_jobs)(delayed(task.fit_fold)(*fold) for fold in folds))

    def _fit_single(
        self, task: FoldTask, for_splitter: Mapping[str, Any]
    ) -> list[CalibratedMember]:
        folds = self._folds(task, for_splitter, calibrates_each=False)
        scored = Parallel(n_jobs=self.n_jobs)(delayed(task.score_fold)(*fold) for fold in folds)
        # Scores of a model that has not seen all classes are not comparable with the others'.
        complete = [part for part in scored if len(part.known) == len(task.classes)]
        if not complete:
            raise InputError("no fold's model saw every class; use fewer folds or more data.")
        scores = np.concatenate([part.scores for part in complete])
        rows = np.concatenate([part.rows for part in complete])
        # Back in the order of the data, so that the number of folds leaves no trace of its own.
        order = np.argsort(rows, kind="stable")
        model = task.training.fit_all([part.rounds for part in complete if part.rounds])
        return [task.member(model, scores[order], rows[order], *task.response_of(model))]

    def predict_proba(self, X: Any) -> Floats:
        """Calibrated probabilities.

        Parameters
        ----------
        X : {array-like, frame, sparse matrix} of shape (n, n_features)

        Returns
        -------
        ndarray of shape (n, n_classes), or (n, n_labels) with several labels
        """
        check_is_fitted(self)
        members = self.calibrated_classifiers_
        if self.multilabel_:
            return mean_of_members([member.predict_proba(X) for member in members])
        total = sum(member.predict_proba(X) for member in members)
        return np.asarray(total / len(members))

    def predict_interval(self, X: Any, *, level: float = 0.9) -> tuple[Floats, Floats]:
        """Where the true probability of such rows lies, given the rows used for calibration.

        Parameters
        ----------
        X : {array-like, frame, sparse matrix} of shape (n, n_features)
        level : float, default=0.9

        Returns
        -------
        low, high : ndarray of shape (n,), (n, n_classes) with several classes, or (n, n_labels)
            With two classes those of the positive one. Those of an ensemble are the means of its
            members' ends. Each member uses one fold alone, so they tend to be too wide.
        """
        check_is_fitted(self)
        members = self.calibrated_classifiers_
        ends = [member.predict_interval(X, level) for member in members]
        if self.multilabel_:
            return mean_of_members([e[0] for e in ends]), mean_of_members([e[1] for e in ends])
        low, high = (np.mean([end[k] for end in ends], axis=0) for k in (0, 1))
        return low, high

    def predict_log_proba(self, X: Any) -> Floats:
        """Logarithms of :meth:`predict_proba`, −inf for a probability of 0."""
        with np.errstate(divide="ignore"):
            return np.log(self.predict_proba(X))

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """The most probable class of each row; with several labels those above one half."""
        if getattr(self, "multilabel_", False):
            return np.asarray(self.predict_proba(X) > 0.5, dtype=np.intp)
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def get_metadata_routing(self) -> MetadataRouter:
        """Where scikit-learn's metadata routing takes parameters of ``fit``.

        Returns
        -------
        MetadataRouter
        """
        return (
            MetadataRouter(owner=self)
            .add_self_request(self)
            .add(
                estimator=self.estimator,
                method_mapping=MethodMapping().add(caller="fit", callee="fit"),
            )
            .add(splitter=self.cv, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        )

    def onnx_parser(self) -> Any:
        """Called by skl2onnx: which outputs the graph has."""
        if self.multilabel_:
            raise InputError(
                "a calibrated model of several labels has no ONNX graph yet; export the model, and "
                "the map of each label: calibrated_classifiers_[0].calibrators[k].map_."
            )
        from trueodds.export.onnx import classifier

        return functools.partial(classifier.parse, self)

    def onnx_shape_calculator(self) -> Any:
        """Called by skl2onnx: the shapes of the outputs."""
        from trueodds.export.onnx import classifier

        return classifier.set_shapes

    def onnx_converter(self) -> Any:
        """Called by skl2onnx: how the graph is written; see :func:`trueodds.export.to_onnx`."""
        from trueodds.export.onnx import classifier

        return classifier.convert

    def __sklearn_clone__(self) -> Self:
        try:
            cloned: Self = super().__sklearn_clone__()
        except RuntimeError:  # of a model that scikit-learn cannot clone
            copied = type(self)(
                **{name: clone_model(value) for name, value in self.get_params(deep=False).items()}
            )
            if hasattr(self, "_metadata_request"):
                copied._metadata_request = copy.deepcopy(self._metadata_request)
            return copied
        return cloned

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags.sparse = inner.input_tags.sparse
        tags.input_tags.allow_nan = inner.input_tags.allow_nan
        tags.input_tags.pairwise = inner.input_tags.pairwise
        tags.target_tags.multi_output = inner.target_tags.multi_output
        if inner.classifier_tags is not None:
            tags.classifier_tags.multi_label = inner.classifier_tags.multi_label
        return tags


def _checked_folds(cv: Any) -> Any:
    """A number of folds, a splitter, or pairs of rows, as scikit-learn takes them."""
    if isinstance(cv, str):
        raise InputError(
            f"cv must be a number of folds or a splitter; got {shown(cv)}. If the model is trained "
            "already, wrap it in sklearn.frozen.FrozenEstimator, and fit on rows that it has not "
            "seen."
        )
    if cv is None or callable(getattr(cv, "get_n_splits", None)):
        return cv
    if isinstance(cv, numbers.Number):
        return check_integer(cv, "cv", 2)
    folds = [tuple(map(_rows_of_fold, as_tuple(fold, "a fold"))) for fold in as_tuple(cv, "cv")]
    if any(len(fold) != 2 for fold in folds):
        raise InputError("cv must be pairs of rows, to train on and to calibrate on.")
    return folds


def _rows_of_fold(rows: Any) -> npt.NDArray[Any]:
    array = as_dense(rows, "cv")
    if array.ndim != 1 or array.dtype.kind not in "iub":
        raise InputError(f"cv must hold the positions of rows; got {shown(rows)}.")
    return array


def _of_plain_texts(labels: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """NumPy's texts of any length as objects; most models do not support them."""
    return labels.astype(object) if labels.dtype.kind == "T" else labels


@dataclass(frozen=True, eq=False)
class ScoredFold:
    """Out-of-fold scores, of which rows, and what their model knew."""

    scores: Floats
    rows: Labels
    known: Labels
    rounds: int | None


@dataclass(frozen=True, eq=False)
class FoldTask:
    """What every fold needs."""

    training: Training
    calibrator: Any
    classes: npt.NDArray[Any]
    response_method: ResponseMethod

    def known_to(self, model: Any) -> Labels:
        """Positions of the model's classes among ours."""
        places = {label: k for k, label in enumerate(self.classes.tolist())}
        return np.array([places[label] for label in np.asarray(model.classes_).tolist()])

    def scores(self, model: Any, rows: Labels | None) -> tuple[Floats, str, InputScale]:
        """A model's scores, the method that gave them, and their scale."""
        method, scale = self.response_of(model)
        X = self.training.X if rows is None else _safe_indexing(self.training.X, rows)
        return response_of(model, X, method, len(model.classes_)), method, scale

    def response_of(self, model: Any) -> tuple[str, InputScale]:
        """The method of the model to call, and the scale of what it returns."""
        return choose_response(model, self.calibrator, self.response_method)

    def member(
        self,
        model: Any,
        scores: Floats,
        rows: Labels,
        method: str,
        scale: InputScale,
    ) -> CalibratedMember:
        """Calibrate ``model`` on ``scores`` of those ``rows`` whose class it was trained on."""
        known = self.known_to(model)
        position = np.full(len(self.classes), -1)
        position[known] = np.arange(len(known))
        codes = position[self.training.codes[rows]]
        kept = codes >= 0
        if not kept.all():
            scores, codes, rows = scores[kept], codes[kept], rows[kept]
        weight = self.training.weight_of(rows)
        asks = needs_features(self.calibrator)
        features = _safe_indexing(self.training.X, rows) if asks else None
        fitted = fit_calibrator(
            self.calibrator, scores, codes, weight, features, scale=scale, n_classes=len(known)
        )
        return CalibratedMember(model, fitted, known, method, len(self.classes))

    def can_calibrate(self, train: Labels, test: Labels) -> bool:
        """Whether ``test`` has two classes that are in ``train``."""
        codes = self.training.codes
        return self.usable(test[np.isin(codes[test], codes[train])])

    def usable(self, rows: Labels) -> bool:
        """Whether rows of positive weight hold two classes or more."""
        codes, weight = self.training.codes[rows], self.training.weight_of(rows)
        if weight is not None:
            codes = codes[weight.values > 0]
        return bool(len(codes) and (codes != codes[0]).any())

    def fit_fold(self, train: Labels, test: Labels) -> CalibratedMember:
        """Train on one part, calibrate on the other."""
        model = self.training.fit(train, test)
        scores, method, scale = self.scores(model, test)
        return self.member(model, scores, test, method, scale)

    def score_fold(self, train: Labels, test: Labels) -> ScoredFold:
        """Train on one part, score the other."""
        model = self.training.fit(train, test)
        scores, _, _ = self.scores(model, test)
        return ScoredFold(scores, test, self.known_to(model), self.training.rounds(model))


@dataclass(frozen=True, eq=False)
class CalibratedMember:
    """A fitted model with its calibrator, for the classes that the model was trained on.

    Parameters
    ----------
    estimator : object
        The fitted model.
    calibrator : object
        The fitted calibrator.
    known : ndarray of int
        Positions in ``classes_`` of the model's classes.
    method : str
        Method of the model that is called.
    n_classes : int
        Number of classes in ``classes_``.
    """

    estimator: Any
    calibrator: Any
    known: Labels
    method: str
    n_classes: int

    def scores(self, X: Any) -> Floats:
        """What the model gives for its classes; of two, the score of the second."""
        return response_of(self.estimator, X, self.method, len(self.known))

    def predict_proba(self, X: Any) -> Floats:
        """Probabilities of all classes; 0 for those that the model was not trained on."""
        return self.calibrate(self.scores(X), X)

    def calibrate(self, scores: Floats, X: Any) -> Floats:
        """Probabilities of all classes from the model's scores."""
        p = predict_calibrated(self.calibrator, scores, X)
        if len(self.known) == self.n_classes:
            return p
        result = np.zeros((len(p), self.n_classes))
        result[:, self.known] = p
        return result

    def predict_interval(self, X: Any, level: float) -> tuple[Floats, Floats]:
        """Intervals of all classes; [0, 1] for those that the model was not trained on."""
        if not hasattr(self.calibrator, "predict_interval"):
            raise InputError("predict_interval needs a calibrator of trueodds.")
        scores = self.scores(X)
        extra = {"features": X} if needs_features(self.calibrator) else {}
        ends = self.calibrator.predict_interval(scores, level=level, **extra)
        if self.n_classes == 2:
            return np.asarray(ends[0]), np.asarray(ends[1])
        shape = len(scores), self.n_classes
        low, high = np.zeros(shape), np.ones(shape)
        if len(self.known) == 2:
            ends = (np.stack([1 - ends[1], ends[0]], 1), np.stack([1 - ends[0], ends[1]], 1))
        low[:, self.known], high[:, self.known] = ends
        return low, high


ResponseMethod = Literal["auto", "predict_proba", "decision_function"]


def choose_response(
    estimator: Any, calibrator: Any, response_method: ResponseMethod
) -> tuple[str, InputScale]:
    """Name the method to call and the scale of what it returns.

    Probabilities are probabilities. The values of a decision function are on the scale ``"raw"``,
    unless the calibrator was made with ``scale="logit"``: then they are log-odds.
    """
    check_choice(response_method, ("auto", "predict_proba", "decision_function"), "response_method")
    wanted: InputScale = getattr(calibrator, "scale", "probability")
    if response_method == "auto":
        order = ["predict_proba", "decision_function"]
        if wanted != "probability":
            order.reverse()
        available = [name for name in order if hasattr(estimator, name)]
        if not available:
            raise InputError(
                f"{type(estimator).__name__} has neither predict_proba nor decision_function."
            )
        response_method = (
            "predict_proba" if available[0] == "predict_proba" else "decision_function"
        )
    elif not hasattr(estimator, response_method):
        raise InputError(f"{type(estimator).__name__} has no {response_method}.")
    if response_method == "predict_proba":
        return response_method, "probability"
    return response_method, "logit" if wanted == "logit" else "raw"


def response_of(estimator: Any, X: Any, method: str, n_classes: int) -> Floats:
    """The scores: 1-D for two classes, one column per class for more."""
    output = np.asarray(as_dense(getattr(estimator, method)(X), method), dtype=np.float64)
    if n_classes == 2:
        return np.ascontiguousarray(output[:, 1]) if output.ndim == 2 else output
    if output.ndim != 2 or output.shape[1] != n_classes:
        raise InputError(
            f"{type(estimator).__name__}.{method} gives shape {output.shape} for {n_classes} "
            "classes; one column per class is needed."
        )
    return output
