"""Update an old model for new rows, by no more than they require."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import chdtrc

from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    as_floats,
    check_choice,
    check_level,
    validate_scores,
)
from trueodds.maps import CalibrationMap, IdentityMap, LogOddsCurveMap, LogOddsMap
from trueodds.maps._binary import LARGEST_LOG_ODDS
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

    Examples
    --------
    >>> from trueodds.model_selection import UpdateStep
    >>> UpdateStep("none", "curve", statistic=12.1, degrees=3, p_value=0.007).larger
    'curve'
    """

    smaller: str
    larger: str
    statistic: float
    degrees: int
    p_value: float


@dataclass(frozen=True, eq=False)
class ModelUpdate:
    """The result of :func:`update_model`.

    Attributes
    ----------
    method : {"none", "intercept", "logistic", "curve", "revision"}
        What was done.
    map_ : CalibrationMap or None
        The update as a map of probabilities, to be saved and shipped; None for a revision, which
        needs the features.
    intercept, slope : float
        Intercept and slope of the log-odds; NaN for a curve.
    coef : ndarray of shape (n_features,) or None
        What a revision adds for each feature.
    steps : tuple of UpdateStep
        The tests, in their order.
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
    bounds: tuple[float, float] = (-UNSEEN_LEVEL, UNSEEN_LEVEL)

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
        features = _features(X, len(prob))
        coef = np.asarray(self.coef)
        if features.shape[1] != len(coef):
            raise InputError(f"X must have {len(coef)} columns; got {features.shape[1]}.")
        z = np.clip(log_odds(prob, "probability"), *self.bounds)
        return sigmoid(self.intercept + self.slope * z + features @ coef)


def update_model(
    y_true: Any,
    y_prob: Any,
    *,
    X: Any = None,
    method: Method = "closed_test",
    alpha: float = 0.05,
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
    X : array-like of shape (n, n_features), default=None
        Features of the model; with them the largest update is a revision of all coefficients.
    method : {"closed_test", "none", "intercept", "logistic", "curve", "revision"}, \
default="closed_test"
        ``"none"``; a new intercept (all log-odds moved); intercept and slope; a restricted cubic
        spline of the log-odds with three knots; or log-odds and features in a new logistic
        regression. ``"closed_test"`` chooses among them. It tests the largest update (a revision
        if there is X, else a curve) against no update, a new intercept, and intercept and slope,
        in this order. The first that is not significantly worse is used.
    alpha : float, default=0.05
        Level of the tests; as a closed procedure, of all of them together.
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
    features = None if X is None else _features(X, len(rows))
    if method == "revision" and features is None:
        raise InputError('method="revision" needs the features X.')
    # One class, one probability, classes that are separated: it says so.
    calibration_slope(rows.codes, rows.scores, sample_weight=rows.weight)
    updates = _Updates(rows, features)
    steps: list[UpdateStep] = []
    if method == "closed_test":
        largest = "curve" if features is None else "revision"
        chosen = largest
        for smaller in ("none", "intercept", "logistic"):
            steps.append(updates.step(smaller, largest))
            if steps[-1].p_value >= alpha:
                chosen = smaller
                break
    else:
        chosen = method
    return updates.result(chosen, tuple(steps))


class _Updates:
    """All candidate models of the rows."""

    def __init__(self, rows: Rows, features: Any) -> None:
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
        return UpdateStep(smaller, larger, gain, degrees, p_value)

    def result(self, name: str, steps: tuple[UpdateStep, ...]) -> ModelUpdate:
        """A candidate as an update."""
        coef = self.fit(name)[0].coef
        if name == "none":
            return ModelUpdate(name, IdentityMap(), 0.0, 1.0, None, steps)
        if name == "curve":
            inside = [self.spline.linear_knots(coef, KNOT_TOLERANCE, MOST_KNOTS)]
            x = np.unique(np.concatenate([*inside, [self.z.min(), self.z.max()]]))
            y = np.clip(self.spline.basis(x) @ coef, -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)
            return ModelUpdate(name, LogOddsCurveMap(x=x, y=y), np.nan, np.nan, None, steps)
        slope = 1.0 if name == "intercept" else float(coef[1])
        low, high = -UNSEEN_LEVEL, UNSEEN_LEVEL
        if self.prob.min() == 0:
            low = float(self.z.min())
        if self.prob.max() == 1:
            high = float(self.z.max())
        if name == "revision":
            return ModelUpdate(name, None, float(coef[0]), slope, coef[2:], steps, (low, high))
        update = LogOddsMap(a=slope, b=slope, c=float(coef[0]), lower=low, upper=high)
        return ModelUpdate(name, update, float(coef[0]), slope, None, steps)


def _features(X: Any, n: int) -> Floats:
    if X is None:
        raise InputError("a revision needs the features X.")
    array = as_floats(X, "X")
    array = array[:, None] if array.ndim == 1 else array
    if array.ndim != 2 or len(array) != n:
        raise InputError(f"X must have shape ({n}, n_features); got {array.shape}.")
    if not np.isfinite(array).all():
        raise InputError("X must be finite numbers; encode categories and fill what is missing.")
    return array
