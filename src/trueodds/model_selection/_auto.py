"""A calibrator that compares the others and takes the one that the data ask for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import clone

from trueodds.calibrators import About, Calibrator, FeatureCalibrator, IdentityCalibrator, Promises
from trueodds.evidence import ClassEvidence, Evidence
from trueodds.exceptions import InputError, TooFewInstancesError, TrueoddsWarning, warn_user
from trueodds.maps import CalibrationMap
from trueodds.model_selection._adapter import needs_features
from trueodds.model_selection._comparison import ComparisonOptions, compare_rows
from trueodds.model_selection._comparison_input import ComparedRows, read_compared_rows
from trueodds.model_selection._comparison_methods import resolve_calibrators
from trueodds.model_selection._comparison_result import (
    CalibratorComparison,
    Rule,
    Scoring,
    rows_to_frame,
)
from trueodds.validation import Floats, InputScale, LabelledScores, Labels, LabelSmoothing

__all__ = ["AutoCalibrator"]


class AutoCalibrator(FeatureCalibrator):
    """Compares methods by cross-validation, takes one, and fits it on everything.

    Use it when you do not know which method suits. "Leave the scores alone" is among the answers:
    of all methods whose loss is within one standard error of the lowest, the simplest is taken,
    so nothing is changed without evidence. What it costs is time: every method is fitted
    ``cv * n_repeats`` times. To look before you choose, see
    :func:`~trueodds.model_selection.compare_calibrators`.

    Parameters
    ----------
    calibrators : "default", list or dict, default="default"
        Names (keys of ``all_calibrators()``) or instances; or name → instance. The identity is
        always added. ``"default"``: methods that suit the number of classes and are fast.
    scoring : {"log_loss", "brier_score"}, default="log_loss"
        What is compared. With log-loss, methods that forecast exactly 0 or 1 are out: one surprise
        costs infinitely much.
    cv : int, default=5
        Folds, stratified by class.
    n_repeats : int, default=1
        How often the comparison is repeated with other folds.
    rule : {"one_standard_error", "best"}, default="one_standard_error"
        The simplest method within one standard error of the paired difference from the lowest
        loss; or the lowest loss.
    random_state : int, Generator or None, default=0
        Of the folds.
    n_jobs : int, default=None
        Fits at once, as in joblib.
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores.
    label_smoothing : {"platt", None} or float, default=None
        Given to every method; None leaves each method its own.
    classes : array-like, default=None
        All labels, if some may be absent from the calibration set.

    Attributes
    ----------
    best_method_ : str
        The name of the method that was taken.
    explanation_ : str
        A sentence, with numbers, on why.
    results_ : pandas frame, or list of dict if pandas is not installed
        One row for each method, simplest first; see
        :meth:`~trueodds.model_selection.CalibratorComparison.rows`. Empty if there were too few
        instances to compare.
    failures_ : dict of str to str
        Methods that could not be fitted in some fold, with the error; a warning names them.
    calibrator_ : calibrator
        The method that was taken, fitted on everything.
    map_ : CalibrationMap
        Its map.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    More than two classes are decided together: methods that learn all classes at once compete
    with those that learn one class against the rest. With fewer than two instances of two
    classes nothing can be compared, and the scores are left alone. The choice does not depend on
    the order of the rows, and a weight of k equals k rows.

    If a method needs the original attributes (``"tree"``), ``fit`` and ``predict_proba`` take
    ``features=``.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, section
    3.4.3, for the rule of one standard error.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.model_selection import AutoCalibrator
    >>> rng = np.random.default_rng(0)
    >>> z = rng.logistic(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z / 3))  # the scores are three times too sure
    >>> auto = AutoCalibrator(input="logit").fit(z, y)
    >>> auto.best_method_
    'temperature'
    >>> auto.predict_proba([3.0]).round(2)
    array([[0.26, 0.74]])
    """

    about = About(title="automatic choice", label="auto")

    def __init__(
        self,
        calibrators: Any = "default",
        *,
        scoring: Scoring = "log_loss",
        cv: int = 5,
        n_repeats: int = 1,
        rule: Rule = "one_standard_error",
        random_state: Any = 0,
        n_jobs: int | None = None,
        input: InputScale = "probability",  # noqa: A002
        label_smoothing: LabelSmoothing = None,
        classes: Any = None,
    ) -> None:
        self.calibrators = calibrators
        self.scoring = scoring
        self.cv = cv
        self.n_repeats = n_repeats
        self.rule = rule
        self.random_state = random_state
        self.n_jobs = n_jobs
        super().__init__(input=input, label_smoothing=label_smoothing, classes=classes)

    @property
    def promises(self) -> Promises:
        """What all candidates promise; features if one needs them."""
        if isinstance(self.calibrators, str):
            return Promises(monotone=False, native_multiclass=True)
        methods = list(resolve_calibrators(self.calibrators, 2, has_features=False).values())
        return Promises(
            monotone=all(isinstance(m, Calibrator) and m.promises.monotone for m in methods),
            native_multiclass=True,
            needs_features=any(needs_features(method) for method in methods),
        )

    def _check_options(self) -> None:
        self._comparison_options()
        methods = resolve_calibrators(self.calibrators, 2, has_features=False)
        for name, method in methods.items():
            if not isinstance(method, Calibrator):
                raise InputError(
                    f"AutoCalibrator takes calibrators of this library; {name} is none. "
                    "compare_calibrators takes any."
                )
            method.check_settings()

    def fit(self, scores: Any, y: Any, sample_weight: Any = None, *, features: Any = None) -> Self:
        """Compare the methods and fit the one that is taken.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the positive class, or one column per class, on the scale that ``input``
            says.
        y : array-like of shape (n,)
            Labels of any type that sorts.
        sample_weight : array-like of shape (n,), default=None
            A weight of k equals k repetitions; a weight of zero leaves the row out.
        features : array-like or frame of shape (n, n_attributes), default=None
            The original attributes; required if one of the methods needs them.

        Returns
        -------
        self
        """
        if not self.promises.needs_features:
            return super().fit(scores, y, sample_weight)
        self.check_settings()
        compared = read_compared_rows(scores, y, self.input, sample_weight, features, self.classes)
        with self._fitting():
            self._choose(compared)
            self.map_, self.classes_ = self.calibrator_.map_, compared.rows.classes
        return self

    def _fit(self, evidence: Evidence) -> CalibrationMap:
        score, positive, weight = evidence.rows()
        return self._choose_of(score, positive.astype(np.intp), weight, 2)

    def _fit_multiclass(self, evidence: ClassEvidence) -> CalibrationMap:
        return self._choose_of(evidence.scores, evidence.codes, evidence.weight, evidence.n_classes)

    def _choose_of(
        self, scores: Floats, codes: Labels, weight: Floats | None, n_classes: int
    ) -> CalibrationMap:
        rows = LabelledScores(scores, codes, weight, np.arange(n_classes))
        self._choose(ComparedRows.of(rows, self.input))
        fitted: CalibrationMap = self.calibrator_.map_
        return fitted

    def _choose(self, compared: ComparedRows) -> None:
        """Compare, say so in the attributes, and fit the choice."""
        comparison = self._compare(compared)
        if comparison is None:
            self._say("identity", [], {}, _TOO_FEW)
            best: Any = IdentityCalibrator()
        else:
            name = comparison.best_method
            self._say(name, comparison.rows(), comparison.failures, comparison.explanation)
            best = comparison.calibrators[name]
        extra = {"features": compared.features} if needs_features(best) else {}
        rows = compared.rows
        self.calibrator_: Any = clone(best).set_params(input=self.input, classes=rows.classes)
        self.calibrator_.fit(
            rows.scores, rows.classes[rows.codes], sample_weight=rows.weight, **extra
        )

    def _compare(self, compared: ComparedRows) -> CalibratorComparison | None:
        try:
            return compare_rows(compared, self._candidates(compared), self._comparison_options())
        except TooFewInstancesError:
            return None

    def _comparison_options(self) -> ComparisonOptions:
        return ComparisonOptions(
            self.cv,
            self.n_repeats,
            self.random_state,
            self.n_jobs,
            scoring=self.scoring,
            rule=self.rule,
        )

    def _candidates(self, compared: ComparedRows) -> dict[str, Any]:
        n_classes = compared.cells.n_classes
        methods = resolve_calibrators(self.calibrators, n_classes, has_features=False)
        if self.label_smoothing is None:
            return methods
        return {
            name: clone(method).set_params(label_smoothing=self.label_smoothing)
            for name, method in methods.items()
        }

    def _say(
        self,
        name: str,
        rows: list[dict[str, Any]],
        failures: Mapping[str, str],
        explanation: str,
    ) -> None:
        self.best_method_ = name
        self.explanation_ = explanation
        self.failures_ = dict(failures)
        try:
            self.results_ = rows_to_frame(rows)
        except ImportError:
            self.results_ = rows
        if failures:
            warn_user(
                "methods that could not be fitted were left out: "
                + "; ".join(f"{method} ({error})" for method, error in failures.items()),
                TrueoddsWarning,
            )

    def predict_proba(self, scores: Any, *, features: Any = None) -> Floats:
        """Calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            On the same scale as in ``fit``. Each row's result depends on that row alone.
        features : array-like or frame of shape (n, n_attributes), default=None
            The attributes of the same rows; used if the method that was taken needs them.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        self._check_fitted("map_")
        if needs_features(self.calibrator_):
            return np.asarray(self.calibrator_.predict_proba(scores, features=features))
        return super().predict_proba(scores)


_TOO_FEW = (
    "identity was taken without a comparison, which needs at least two instances of two classes: "
    "the scores are left as they are."
)
