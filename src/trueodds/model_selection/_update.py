"""Update an old model for new rows, by no more than they require."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc, ndtri

from trueodds.basics.shown import shown
from trueodds.basics.wording import aligned_table, decimal_text, p_text, significant
from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    as_floats,
    check_choice,
    check_level,
    check_number,
    check_text,
    validate_scores,
)
from trueodds.maps import LARGEST_LOG_ODDS, CalibrationMap, IdentityMap, LogOddsCurveMap, LogOddsMap
from trueodds.metrics import calibration_slope
from trueodds.numerics.glm import LogisticModel, fit_logistic_model, log_likelihood
from trueodds.numerics.log_odds import log_odds, sigmoid
from trueodds.numerics.logistic_regression import estimated_log_odds
from trueodds.numerics.natural_spline import NaturalSpline, harrell_knots
from trueodds.numerics.saturated import UNSEEN_LEVEL
from trueodds.rows import Rows

__all__ = ["ModelUpdate", "UpdateStep", "update_model"]

Method = Literal["closed_test", "none", "intercept", "logistic", "curve", "revision"]
METHODS = ("closed_test", "none", "intercept", "logistic", "curve", "revision")
N_KNOTS = 3  # more would find curves in noise
KNOT_TOLERANCE, MOST_KNOTS = 1e-4, 500
WORDS = {
    "none": "none",
    "intercept": "a new intercept",
    "logistic": "a new intercept and slope",
    "curve": "a curve of the log-odds",
    "revision": "a revision of all coefficients",
}


@dataclass(frozen=True)
class UpdateStep:
    """The largest update tested against a smaller one.

    Attributes
    ----------
    smaller, larger : str
    statistic : float
        Twice the difference in log-likelihood.
    degrees : int
        Parameters that the larger one has more.
    p_value : float
    gain : float
        By which share of the old model's log-loss the larger one is better.

    Examples
    --------
    >>> from trueodds.model_selection import UpdateStep
    >>> UpdateStep("none", "curve", statistic=12.1, degrees=3, p_value=0.007, gain=0.01).larger
    'curve'
    """

    smaller: str
    larger: str
    statistic: float
    degrees: int
    p_value: float
    gain: float


@dataclass(frozen=True, eq=False, repr=False)
class ModelUpdate:
    """The result of :func:`update_model`; prints as a table.

    Attributes
    ----------
    method : {"none", "intercept", "logistic", "curve", "revision"}
        What was done.
    map_ : CalibrationMap or None
        The update as a map of probabilities, to be saved and shipped; None for a revision, which
        needs the features: :meth:`to_sql` writes its equation.
    intercept, slope : float
        Intercept and slope of the log-odds; NaN for a curve.
    coef : ndarray of shape (n_features,) or None
        What a revision adds for each feature.
    steps : tuple of UpdateStep
        The tests, in their order.
    intervals : dict of str to tuple of float
        Wald intervals of ``"intercept"``, ``"slope"`` and the features, of those that were fitted.
    level : float
        Confidence level of the intervals.
    log_loss : tuple of float
        Log-loss on these rows before and after the update. The update was fitted to them, so that
        on new rows the gain is smaller, by about k/n for k parameters and n rows.
    alpha, tolerance : float
        Level of the tests, and the share of the log-loss that a simpler update may lose.
    features : tuple of str
        Names of the features of a revision.
    bounds : tuple of float
        Log-odds between which those of a revision are kept: where probabilities of exactly 0 and 1
        are placed.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.model_selection import update_model
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(500)
    >>> update = update_model(rng.random(500) < p**2, p)
    >>> update.method, update.map_ is not None
    ('intercept', True)
    """

    method: str
    map_: CalibrationMap | None
    intercept: float
    slope: float
    coef: Floats | None
    steps: tuple[UpdateStep, ...]
    intervals: dict[str, tuple[float, float]]
    level: float
    log_loss: tuple[float, float]
    alpha: float
    tolerance: float
    features: tuple[str, ...] = ()
    bounds: tuple[float, float] = (-UNSEEN_LEVEL, UNSEEN_LEVEL)

    @property
    def gain(self) -> float:
        """By which share the update lowers the log-loss of these rows."""
        before, after = self.log_loss
        return (before - after) / before if before else 0.0

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values, without the map."""
        values = dict(zip(self.features, [] if self.coef is None else self.coef, strict=True))
        if np.isfinite(self.intercept):
            values = {"intercept": self.intercept, "slope": self.slope, **values}
        return {
            "method": self.method,
            "level": self.level,
            "coefficients": {
                name: {"estimate": float(value), "interval": list(self.intervals.get(name, ()))}
                for name, value in values.items()
            },
            "log_loss": {"before": self.log_loss[0], "after": self.log_loss[1], "gain": self.gain},
            "alpha": self.alpha,
            "tolerance": self.tolerance,
            "steps": [asdict(step) for step in self.steps],
        }

    def __str__(self) -> str:
        """Coefficients with intervals, the tests, and the gain."""
        found = self.to_dict()["coefficients"]
        lines = [f"Update: {WORDS[self.method]}."]
        if found:
            cells = []
            for name, entry in found.items():
                ends = " to ".join(decimal_text(end, 3) for end in entry["interval"])
                cells.append([name, decimal_text(entry["estimate"], 3), ends or "not fitted"])
            lines.append(aligned_table(["", "Estimate", f"{100 * self.level:g}% interval"], cells))
        if self.steps:
            header = [f"Against a {self.steps[0].larger}", "Parameters fewer", "p", "Log-loss lost"]
            tests = [
                [WORDS[s.smaller], f"{s.degrees}", p_text(s.p_value), f"{100 * s.gain:.2g}%"]
                for s in self.steps
            ]
            lines.append(aligned_table(header, tests))
        before, after = (significant(loss, 4) for loss in self.log_loss)
        lines.append(f"Log-loss {before} → {after} (gain {100 * self.gain:.2g}%).")
        last = self.steps[-1] if self.steps else None
        if last is not None and self.method == last.smaller and last.p_value < self.alpha:
            lines.append(
                f"A {last.larger} gains {100 * last.gain:.2g}% more ({p_text(last.p_value)}), "
                f"within the tolerance of {100 * self.tolerance:g}%."
            )
        return "\n".join(lines)

    __repr__ = __str__

    def to_sql(self, column: str, **options: Any) -> str:
        """The update as an SQL expression.

        Parameters
        ----------
        column : str
            Column of the old model's probabilities.
        **options
            As for :meth:`trueodds.maps.CalibrationMap.to_sql`. The equation of a revision has no
            options: it is in standard SQL, with the features as columns.

        Returns
        -------
        str

        Examples
        --------
        >>> import numpy as np
        >>> from trueodds.model_selection import update_model
        >>> rng = np.random.default_rng(0)
        >>> p, age = rng.random(400), rng.integers(20, 80, 400).astype(float)
        >>> y = rng.random(400) < p * age / 80
        >>> update = update_model(y, p, X={"age": age}, method="revision")
        >>> update.to_sql("risk").count('"age"')
        1
        """
        if self.map_ is not None:
            return self.map_.to_sql(column, **options)
        check_text(column, "column")
        if options:
            raise InputError(f"the equation of a revision takes no options; got {list(options)}.")
        low, high = (float(end) for end in sigmoid(np.array(self.bounds)))

        def quoted(name: str) -> str:
            return '"' + name.replace('"', '""') + '"'

        p = f"LEAST(GREATEST({quoted(column)}, {low!r}), {high!r})"
        terms = [f"{self.slope!r} * LN({p} / (1 - {p}))"]
        named = zip(self.features, np.asarray(self.coef).tolist(), strict=True)
        terms += [f"{value!r} * {quoted(name)}" for name, value in named]
        return f"1 / (1 + EXP(-({' + '.join([repr(self.intercept), *terms])})))"

    def predict_proba(self, y_prob: Any, X: Any = None) -> Floats:
        """Updated probabilities of the event, of shape (n,).

        Parameters
        ----------
        y_prob : array-like of shape (n,)
            Probabilities of the old model.
        X : array-like of shape (n, n_features), default=None
            Needed by a revision.
        """
        if self.map_ is not None:
            return self.map_(y_prob)
        prob = validate_scores(y_prob, "probability", words=METRIC_WORDS, n_columns=1)
        names, features = _features(X, len(prob))
        coef = np.asarray(self.coef)
        if features.shape[1] != len(coef):
            raise InputError(f"X must have {len(coef)} columns; got {features.shape[1]}.")
        if hasattr(X, "columns") and names != self.features:
            raise InputError(f"X must have the columns {list(self.features)}; got {list(names)}.")
        z = np.clip(log_odds(prob, "probability"), *self.bounds)
        return sigmoid(self.intercept + self.slope * z + features @ coef)


def update_model(
    y_true: Any,
    y_prob: Any,
    *,
    X: Any = None,
    method: Method = "closed_test",
    alpha: float = 0.05,
    tolerance: float = 0.005,
    level: float = 0.9,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> ModelUpdate:
    """Update a prediction model for another population, by as much as its rows can support.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels of two classes in the new population.
    y_prob : array-like of shape (n,) or (n, 2)
        Probabilities of the old model for the same rows.
    X : array-like or frame of shape (n, n_features), default=None
        Features of the model, as numbers; with them the largest update is a revision of all
        coefficients. Columns of texts and categories must be encoded, such as by
        ``pandas.get_dummies(X, drop_first=True)``.
    method : {"closed_test", "none", "intercept", "logistic", "curve", "revision"}, \
default="closed_test"
        ``"none"``; a new intercept (all log-odds moved); intercept and slope; a restricted cubic
        spline of the log-odds with three knots; or log-odds and features in a new logistic
        regression. ``"closed_test"`` chooses among them. It tests the largest update (a revision
        if there is X, else a curve) against no update, a new intercept, and intercept and slope,
        in this order. The first that is not significantly worse is used, or the first update that
        is worse by no more than ``tolerance``.
    alpha : float, default=0.05
        Level of the tests; as a closed procedure, of all of them together.
    tolerance : float, default=0.005
        A simpler update is enough if it loses at most this share of the old model's log-loss
        against the largest one. With many rows every difference is significant, and a curve that
        gains 0.2% is not worth its complexity. Only updates are compared so: no update at all must
        pass the test, because a new intercept costs nothing. 0 is the closed test alone.
    level : float, default=0.9
        Confidence level of the intervals.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row, which stays one observation.
    counts : array-like of shape (n,), default=None
        How often each row occurred: a count of k equals k repetitions.
    classes : array-like, default=None
        Both labels, the event last.

    Returns
    -------
    ModelUpdate

    Notes
    -----
    Probabilities of exactly 0 and 1 are placed on the log-odds axis by maximum likelihood, as
    calibrators do. For the most accurate map that the rows allow use
    :class:`trueodds.AutoCalibrator`; this function is for a change that can be written in a paper.

    References
    ----------
    Vergouwe et al. (2017), A closed testing procedure to select an appropriate method for updating
    prediction models, Statistics in Medicine 36.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.model_selection import update_model
    >>> rng = np.random.default_rng(1)
    >>> z = rng.normal(size=1000)
    >>> y = rng.random(1000) < 1 / (1 + np.exp(-z - 1))  # the same ranking, more events
    >>> update = update_model(y, 1 / (1 + np.exp(-z)))
    >>> update.method, round(update.intercept, 1)
    ('intercept', 1.0)
    """
    check_choice(method, METHODS, "method")
    alpha = check_level(alpha, "alpha")
    level = check_level(level)
    tolerance = check_number(tolerance, "tolerance", 0.0, 1.0)
    rows = Rows.read(
        y_prob,
        y_true,
        sample_weight,
        counts,
        scale="probability",
        classes=classes,
        words=METRIC_WORDS,
    )
    if rows.scores.ndim != 1:
        raise InputError(f"update_model needs two classes; got {rows.n_classes}.")
    names, features = ((), None) if X is None else _features(X, len(rows))
    if method == "revision" and features is None:
        raise InputError('method="revision" needs the features X.')
    # One class, one probability, classes that are separated: it says so.
    calibration_slope(rows.codes, rows.scores, sample_weight=rows.weight)
    updates = _Updates(rows, features, names, level, (alpha, tolerance))
    steps: list[UpdateStep] = []
    if method == "closed_test":
        largest = "curve" if features is None else "revision"
        chosen = largest
        for smaller in ("none", "intercept", "logistic"):
            steps.append(step := updates.step(smaller, largest))
            if step.p_value >= alpha or (smaller != "none" and step.gain <= tolerance):
                chosen = smaller
                break
    else:
        chosen = method
    return updates.result(chosen, tuple(steps))


class _Updates:
    """All candidate models of the rows."""

    def __init__(
        self,
        rows: Rows,
        features: Any,
        names: tuple[str, ...],
        level: float,
        limits: tuple[float, float],
    ) -> None:
        self.names, self.level, self.limits = names, level, limits
        kept = rows.row_weight > 0
        rows = rows.take(kept)
        self.prob, self.weight = rows.scores, rows.row_weight
        self.squares = self.weight if rows.weight is None else rows.weight.squares
        self.hit = (rows.codes == 1).astype(np.float64)
        self.z = estimated_log_odds(rows.in_counts())
        self.spline = NaturalSpline(harrell_knots(self.z, self.weight, N_KNOTS))
        self.features = None if features is None else features[kept]
        self.scale = float(self.weight.sum() / self.squares.sum())
        self.found: dict[str, tuple[LogisticModel, int]] = {}

    def fit(self, name: str) -> tuple[LogisticModel, int]:
        """A candidate, and its number of parameters."""
        if name not in self.found:
            one = np.ones((len(self.z), 1))
            offset = self.z if name == "intercept" else None
            if name == "none":
                value = log_likelihood(self.z, self.hit, self.weight)
                nothing = np.empty(0)
                self.found[name] = LogisticModel(nothing, np.empty((0, 0)), value, True), 0
                return self.found[name]
            if name == "intercept":
                design = one
            elif name == "logistic":
                design = np.concatenate([one, self.z[:, None]], axis=1)
            elif name == "curve":
                design = self.spline.basis(self.z)
            else:
                design = np.concatenate([one, self.z[:, None], self.features], axis=1)
            model = fit_logistic_model(design, self.hit, self.weight, offset, squares=self.squares)
            if not model.converged:
                raise InputError(
                    f"the {name} update has no finite optimum: the features or probabilities "
                    "separate those with the event from those without."
                )
            self.found[name] = model, int(np.linalg.matrix_rank(design))
        return self.found[name]

    def step(self, smaller: str, larger: str) -> UpdateStep:
        """The likelihood-ratio test of two candidates."""
        (small, few), (large, many) = self.fit(smaller), self.fit(larger)
        gain = max(0.0, 2 * self.scale * (large.log_likelihood - small.log_likelihood))
        degrees = many - few
        p_value = float(chdtrc(degrees, gain)) if degrees > 0 else 1.0
        lost = self.loss(smaller) - self.loss(larger)
        whole = self.loss("none")
        return UpdateStep(smaller, larger, gain, degrees, p_value, lost / whole if whole else 0.0)

    def loss(self, name: str) -> float:
        """The mean log-loss of a candidate."""
        return -self.fit(name)[0].log_likelihood / float(self.weight.sum())

    def intervals(self, name: str) -> dict[str, tuple[float, float]]:
        """Wald intervals of the coefficients of a candidate."""
        model = self.fit(name)[0]
        if name == "curve":
            return {}
        half = float(ndtri((1 + self.level) / 2)) * np.sqrt(np.diag(model.covariance))
        ends = zip((model.coef - half).tolist(), (model.coef + half).tolist(), strict=True)
        return dict(zip(("intercept", "slope", *self.names), ends, strict=False))

    def result(self, name: str, steps: tuple[UpdateStep, ...]) -> ModelUpdate:
        """A candidate as an update."""
        coef = self.fit(name)[0].coef
        losses = self.loss("none"), self.loss(name)
        said = steps, self.intervals(name), self.level, losses, *self.limits
        if name == "none":
            return ModelUpdate(name, IdentityMap(), 0.0, 1.0, None, *said)
        if name == "curve":
            inside = [self.spline.linear_knots(coef, KNOT_TOLERANCE, MOST_KNOTS)]
            x = np.unique(np.concatenate([*inside, [self.z.min(), self.z.max()]]))
            y = np.clip(self.spline.basis(x) @ coef, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
            return ModelUpdate(name, LogOddsCurveMap(x=x, y=y), np.nan, np.nan, None, *said)
        slope = 1.0 if name == "intercept" else float(coef[1])
        low, high = -UNSEEN_LEVEL, UNSEEN_LEVEL
        if self.prob.min() == 0:
            low = float(self.z.min())
        if self.prob.max() == 1:
            high = float(self.z.max())
        if name == "revision":
            ends = self.names, (low, high)
            return ModelUpdate(name, None, float(coef[0]), slope, coef[2:], *said, *ends)
        update = LogOddsMap(a=slope, b=slope, c=float(coef[0]), lower=low, upper=high)
        return ModelUpdate(name, update, float(coef[0]), slope, None, *said)


def _features(X: Any, n: int) -> tuple[tuple[str, ...], Floats]:
    """Names and numbers of features; texts and categories are refused, even if they are digits."""
    if X is None:
        raise InputError("a revision needs the features X.")
    names: tuple[str, ...] = ()
    if isinstance(X, Mapping) or hasattr(X, "columns"):
        names = tuple(map(str, X if isinstance(X, Mapping) else X.columns))
        columns = [X[name] for name in (X if isinstance(X, Mapping) else X.columns)]
        for name, column in zip(names, columns, strict=True):
            kind = str(getattr(column, "dtype", "")).lower()
            if kind.startswith(("cat", "enum", "str")) or _has_texts(np.asarray(column)):
                raise InputError(
                    f"the column {shown(name)} of X has texts or categories; a revision needs "
                    "numbers. Encode them, such as by pandas.get_dummies(X, drop_first=True)."
                )
        X = np.column_stack([as_floats(column, f"X[{name!r}]") for column in columns])
    elif _has_texts(np.asarray(X)):
        raise InputError(
            "X has texts; a revision needs numbers. Encode them, such as by "
            "pandas.get_dummies(X, drop_first=True)."
        )
    array = as_floats(X, "X")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise InputError(f"X must have shape ({n}, n_features); got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError("X must be finite numbers; encode categories and fill what is missing.")
    return names or tuple(f"x{k}" for k in range(array.shape[1])), array


def _has_texts(array: Any) -> bool:
    if array.dtype.kind == "O":
        return any(isinstance(value, (str, bytes)) for value in array.ravel().tolist())
    return bool(array.dtype.kind in "US")
