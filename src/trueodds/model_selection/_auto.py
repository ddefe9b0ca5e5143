"""The recommended calibrator: it uses the default method, or compares methods."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, Self, cast

import numpy as np

from trueodds.basics.log import logger
from trueodds.basics.wording import percent_text, share_percent_text
from trueodds.calibrators import (
    Calibrator,
    FeatureCalibrator,
    IdentityCalibrator,
    default_method,
    find_calibrator,
)
from trueodds.estimator import fact, unfitted
from trueodds.exceptions import InputError, TooFewRowsError, TrueoddsWarning, warn_user
from trueodds.inputs import Floats, InputScale, check_choice
from trueodds.maps import AverageMap, CalibrationMap, IdentityMap
from trueodds.numerics.mixture_weights import mixture_weights
from trueodds.rows import Rows

# Comparing methods loads scipy and joblib, which the recommended method does not need.
if TYPE_CHECKING:
    from trueodds.model_selection._comparison import (
        CalibratorComparison,
        ComparisonOptions,
        Scoring,
    )

__all__ = ["AutoCalibrator"]

Select = Literal["default", "one_se", "best", "stack"]
SELECT = ("default", "one_se", "best", "stack")


@dataclass(kw_only=True, eq=False, repr=False)
class AutoCalibrator(FeatureCalibrator):
    """The recommended method: the best on average, or the best of a comparison on your data.

    By default it is the Bayesian smooth curve (two classes) or the Bayesian structured scaling
    (several), which had the lowest losses of all methods and hardly change scores that are right.
    With ``select="one_se"`` methods are compared on your own data by cross-validation, "leave the
    scores alone" among them. To look before you choose, see
    :func:`~trueodds.model_selection.compare_calibrators`.

    Parameters
    ----------
    calibrators : {"default", "all"}, list or dict, default="default"
        Names (keys of ``all_calibrators()``) or calibrators to compare; or name → calibrator.
        The identity is always added. ``"default"``: methods that suit the number of classes and
        are fast.
    select : {"default", "one_se", "best", "stack"} or None, default=None
        ``"default"``: the recommended method, without a comparison. ``"one_se"``: the simplest
        method within one standard error of the paired difference from the lowest loss, so that
        nothing is changed without evidence. ``"best"``: the lowest loss. ``"stack"``: the mixture
        of all methods with the lowest out-of-fold log-loss. None: ``"default"``, or ``"one_se"`` if
        ``calibrators`` are given.
    scoring : {"log_loss", "brier_score"}, default="log_loss"
        What is compared. With log-loss, methods that forecast exactly 0 or 1 are out: one surprise
        costs infinitely much.
    cv : int, default=5
        Folds, stratified by class.
    n_repeats : int, default=1
        How often the comparison is repeated with other folds.
    random_state : int, Generator or None, default=0
        Seed for the folds.
    n_jobs : int, default=None
        Fits at once, as in joblib.
    scale : {"probability", "logit", "raw"}, default="probability"
        The scale of the scores.
    label_smoothing : {"platt", None} or float, default=None
        Given to every method; None leaves each method its own.
    classes : array-like, default=None
        All labels, if some may be absent from the calibration set.

    Attributes
    ----------
    best_method_ : str
        The name of the method that was taken; ``"stack"`` for a mixture.
    explanation_ : str
        A sentence, with numbers, on why.
    results_ : pandas frame, or list of dict if pandas is not installed
        One row for each method, simplest first; see
        :meth:`~trueodds.model_selection.CalibratorComparison.rows`. Empty if nothing was compared.
    failures_ : dict of str to str
        Methods that could not be fitted in some fold, with the error; a warning names them.
    calibrator_ : calibrator or None
        The method that was taken, fitted on everything; None for a mixture.
    stack_weights_ : dict of str to float
        With ``select="stack"``: the share of each method.
    map_ : CalibrationMap
        Its map.
    classes_ : ndarray of shape (n_classes,)

    Notes
    -----
    More than two classes are decided together: methods that learn all classes at once compete
    with those that learn one-vs-rest. With fewer than two rows of two
    classes nothing can be compared, and the scores are left alone. The choice does not depend on
    the order of the rows, and a count of k equals k rows.

    If a method needs the original features (``"tree"``), ``fit`` and ``predict_proba`` take
    ``features=``.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and regression trees, section
    3.4.3, for the rule of one standard error. Breiman (1996), Stacked regressions, Machine
    Learning 24, for mixtures by out-of-fold forecasts.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import AutoCalibrator
    >>> rng = np.random.default_rng(0)
    >>> z = rng.logistic(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z / 3))  # the scores are three times too sure
    >>> auto = AutoCalibrator(scale="logit").fit(z, y)
    >>> auto.best_method_
    'bayesian_smooth'
    >>> auto.predict_proba([3.0]).round(2)
    array([[0.26, 0.74]])
    >>> AutoCalibrator(scale="logit", select="one_se").fit(z, y).best_method_
    'temperature'
    """

    title = "automatic choice"
    label = "auto"
    learns_classes_jointly = True

    calibrators: Any = field(default="default", kw_only=False)
    select: Select | None = None
    scoring: Scoring = "log_loss"
    cv: int = 5
    n_repeats: int = 1
    random_state: Any = 0
    n_jobs: int | None = None

    @fact
    def is_monotone(self) -> bool:
        """Whether all candidates are."""
        return all(isinstance(m, Calibrator) and m.is_monotone for m in self._named_candidates())

    @fact
    def needs_features(self) -> bool:
        """Whether one of the candidates does."""
        return any(isinstance(m, Calibrator) and m.needs_features for m in self._named_candidates())

    def _named_candidates(self) -> list[Any]:
        """The candidates that the caller chose; a string stands for methods of all kinds."""
        if isinstance(self.calibrators, str):
            return [None]
        return list(self._resolved(2).values())

    @property
    def _select(self) -> Select:
        if self.select is not None:
            return self.select
        are_default = isinstance(self.calibrators, str) and self.calibrators == "default"
        return "default" if are_default else "one_se"

    def _resolved(self, n_classes: int) -> dict[str, Any]:
        from trueodds.model_selection._comparison import resolve_calibrators

        return resolve_calibrators(self.calibrators, n_classes, has_features=False)

    def _check_options(self) -> None:
        if self.select is not None:
            check_choice(self.select, SELECT, "select")
        if self._select == "default":
            if self.calibrators != "default":
                raise InputError('select="default" compares nothing, so it takes no calibrators.')
            return
        self._comparison_options()
        if self._select == "stack" and self.needs_features:
            raise InputError('select="stack" takes methods that learn from scores alone.')
        for name, method in self._resolved(2).items():
            if not isinstance(method, Calibrator):
                raise InputError(
                    f"AutoCalibrator takes calibrators of this library, and {name} is not one. "
                    "compare_calibrators takes any."
                )
            method.check_settings()

    def fit(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        counts: Any = None,
        features: Any = None,
    ) -> Self:
        """Compare the methods and fit the one that is taken.

        Parameters
        ----------
        scores, y, sample_weight, counts
            As every calibrator takes them.
        features : array-like or frame of shape (n, n_attributes), default=None
            The original features; required if one of the methods needs them.

        Returns
        -------
        self
        """
        if not self.needs_features:
            return super().fit(scores, y, sample_weight, counts=counts)
        from trueodds.model_selection._comparison import read_compared_rows

        self.check_settings()
        rows = read_compared_rows(scores, y, self.scale, sample_weight, counts, self.classes)
        with self._fitting():
            self.map_, self.classes_ = self._choose(rows, features), rows.classes
            if not self.map_.features:
                self._keep(rows)
        return self

    def _bounded(self, rows: Rows) -> Rows:
        """Importances stay importances: folds keep rows whole, and each fit counts its own."""
        return rows.bounded(self.scale)

    def _fit(self, rows: Rows) -> CalibrationMap:
        if self._select == "default":
            return self._fit_default(rows, default_method(2))
        return self._choose_of(rows.uncounted())

    def _fit_multiclass(self, rows: Rows) -> CalibrationMap:
        if self._select == "default":
            return self._fit_default(rows, default_method(rows.n_classes))
        return self._choose_of(rows)

    def _keep(self, rows: Rows) -> None:
        if self.calibrator_ is None:
            super()._keep(rows)
        else:
            self.calibrator_._keep(rows)
            self._kept, self._posteriors = self.calibrator_._kept, None

    def _band_curves(self, level: float) -> Any:
        """Those of the method that was taken; a mixture has those of any map."""
        if self.calibrator_ is None:
            return super()._band_curves(level)
        return self.calibrator_._band_curves(level)

    def _fit_default(self, rows: Rows, name: str) -> CalibrationMap:
        """Fit the recommended method, and report how much it changes."""
        kind: Any = find_calibrator(name)
        calibrator: Calibrator = kind(scale=self.scale, label_smoothing=self.label_smoothing)
        calibrator.map_ = calibrator.fit_map(rows)
        calibrator.classes_ = np.arange(calibrator.map_.n_classes or 2)
        self.calibrator_: Any = calibrator
        self._say(name, [], {}, explain_default(name, calibrator, rows))
        return calibrator.map_

    def _choose_of(self, rows: Rows) -> CalibrationMap:
        return self._choose(Rows(rows.scores, rows.codes.astype(np.intp, copy=False), rows.weight))

    def _choose(self, rows: Rows, features: Any = None) -> CalibrationMap:
        """Compare, store the comparison, and fit the choice."""
        comparison = self._compare(rows, features)
        if comparison is None:
            return self._leave_alone(rows.n_classes)
        methods = comparison.calibrators
        if self._select == "stack":
            weights = stack_weights(comparison, rows)
            fits = [fit_on_everything(methods[name], rows, self.scale, None) for name in weights]
            self._say_stack(weights, comparison)
            return mixture_map([fitted.map_ for fitted in fits], list(weights.values()))
        name = comparison.best_method
        self.calibrator_ = fit_on_everything(methods[name], rows, self.scale, features)
        self._say(name, comparison.rows(), comparison.failures, comparison.explanation)
        return cast("CalibrationMap", self.calibrator_.map_)

    def _leave_alone(self, n_classes: int) -> CalibrationMap:
        self._say("identity", [], {}, TOO_FEW)
        self.calibrator_ = IdentityCalibrator(scale=self.scale)
        self.calibrator_.classes_ = np.arange(n_classes)
        self.calibrator_.map_ = IdentityMap(scale=self.scale)
        return cast("CalibrationMap", self.calibrator_.map_)

    def _say_stack(self, weights: dict[str, float], comparison: CalibratorComparison) -> None:
        self.stack_weights_ = weights
        shares = ", ".join(f"{name} {weight:.0%}" for name, weight in weights.items())
        words = f"a mixture with the lowest out-of-fold log-loss: {shares}."
        self._say("stack", comparison.rows(), comparison.failures, words)
        self.calibrator_ = None

    def _compare(self, rows: Rows, features: Any) -> CalibratorComparison | None:
        from trueodds.model_selection._comparison import compare_rows

        methods, options = self._candidates(rows.n_classes), self._comparison_options()
        try:
            return compare_rows(rows, methods, options, self.scale, features)
        except TooFewRowsError:
            return None

    def _comparison_options(self) -> ComparisonOptions:
        from trueodds.model_selection._comparison import ComparisonOptions

        return ComparisonOptions(
            self.cv,
            self.n_repeats,
            self.random_state,
            self.n_jobs,
            scoring=self.scoring,
            select="one_se" if self._select == "one_se" else "best",
        )

    def _candidates(self, n_classes: int) -> dict[str, Any]:
        methods = self._resolved(n_classes)
        if self.label_smoothing is None:
            return methods
        return {
            name: unfitted(method).set_params(label_smoothing=self.label_smoothing)
            for name, method in methods.items()
        }

    def _say(
        self,
        name: str,
        rows: list[dict[str, Any]],
        failures: Mapping[str, str],
        explanation: str,
    ) -> None:
        logger.info("auto chose %s: %s", name, explanation)
        self.best_method_ = name
        self.explanation_ = explanation
        self.failures_ = dict(failures)
        self.results_: Any = rows
        if rows:
            from trueodds.basics.tables import frame_of

            with suppress(ImportError):
                self.results_ = frame_of(rows)
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
            The features of the same rows; used if the method that was taken needs them.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Rows sum to 1.
        """
        self._check_fitted("map_")
        if self.calibrator_ is not None and self.calibrator_.needs_features:
            return np.asarray(self.calibrator_.predict_proba(scores, features=features))
        return super().predict_proba(scores)


LEAST_WEIGHT = 0.01
"""Methods with a smaller share are left out."""


def fit_on_everything(method: Any, rows: Rows, scale: InputScale, features: Any) -> Any:
    """A copy of a method, fitted on all rows."""
    extra = {"features": features} if method.needs_features else {}
    copy = unfitted(method).set_params(scale=scale, classes=rows.classes)
    return copy.fit(rows.scores, rows.classes[rows.codes], sample_weight=rows.weight, **extra)


def stack_weights(comparison: CalibratorComparison, rows: Rows) -> dict[str, float]:
    """The mixture with the lowest out-of-fold log-loss; methods without a share are left out."""
    parts = comparison._first_repeat
    codes, counts, forecasts = rows.codes, rows.row_weight, comparison.out_of_fold
    if all(part.row is None for own in parts.values() for part in own):
        # Of cells, whose repetitions may be in several folds.
        first = next(iter(parts.values()))
        codes = comparison._folds.cells.codes[np.concatenate([part.cell for part in first])]
        counts = np.concatenate([part.weight for part in first])
        forecasts = {name: np.concatenate([p.prob for p in own]) for name, own in parts.items()}
    given = []
    for forecast in forecasts.values():
        if forecast.ndim == 1:
            given.append(np.where(codes == 1, forecast, 1 - forecast))
        else:
            given.append(forecast[np.arange(len(codes)), codes])
    p = np.column_stack(given)
    possible = p.max(axis=1) > 0  # what every method calls impossible tells none from another
    weights = mixture_weights(p[possible], counts[possible])
    kept = {n: float(w) for n, w in zip(forecasts, weights, strict=True) if w >= LEAST_WEIGHT}
    total = sum(kept.values())
    return {name: weight / total for name, weight in kept.items()}


def mixture_map(maps: Sequence[CalibrationMap], weights: Sequence[float]) -> CalibrationMap:
    """One map; what is an average itself adds its own parts."""
    parts: list[tuple[CalibrationMap, float]] = []
    for m, weight in zip(maps, weights, strict=True):
        if isinstance(m, AverageMap):
            parts += [(part, weight * w) for part, w in zip(m.maps, m.weights, strict=True)]
        else:
            parts.append((m, weight))
    if len(parts) == 1:
        return parts[0][0]
    total = sum(weight for _, weight in parts)
    return AverageMap(
        maps=tuple(part for part, _ in parts),
        weights=np.array([weight / total for _, weight in parts]),
        scale=maps[0].scale,
    )


UNCHANGED = 0.02
"""A mean change of probabilities, relative to the rarer class, that few decisions would notice."""

RARE = 0.1
"""Base rate below which the change is also given relative to it."""

MOST_ROWS = 100_000
"""Rows from which the mean change is computed: it is shown with two digits."""

TOO_FEW = (
    "Used identity without a comparison, which needs at least two rows of each of two classes. "
    "The scores are unchanged."
)


def explain_default(name: str, fitted: Calibrator, rows: Rows) -> str:
    """Which method was used, and how much it changes the scores."""
    scores = rows.scores
    used = f"Used {name}, the recommended default (no comparison was run)."
    if fitted.scale == "raw":
        return used
    every = -(-len(scores) // MOST_ROWS)
    scores = np.ascontiguousarray(scores[::every])
    before = IdentityMap(scale=fitted.scale)._apply_valid(scores)
    change = np.abs(fitted.map_._apply_valid(scores) - before)
    weight = rows.row_weight[::every]
    size = float(np.average(change.max(axis=1) if change.ndim == 2 else change, weights=weight))
    rate = min(rows.total_pos, rows.total_neg) / rows.total if scores.ndim == 1 else 0.5
    used += f" Scores changed by {size:.2g} on average"
    if 0 < rate < RARE:
        used += f", {share_percent_text(size / rate)} of the base rate of {percent_text(rate)}"
    return f"{used}, so calibration is hardly needed." if size < UNCHANGED * rate else f"{used}."
