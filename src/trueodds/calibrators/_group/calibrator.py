"""Calibration with groups: one map, and pooled effects of features."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from trueodds.basics.threads import single_threaded_blas
from trueodds.calibrators import (
    Calibrator,
    Curves,
    FeatureCalibrator,
    default_method,
    find_calibrator,
)
from trueodds.calibrators._group.effects import GroupEffects, effects_of, feature_name
from trueodds.calibrators._shared.arithmetic import errors_as_input_errors
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, as_tuple, validate_scores
from trueodds.maps import CalibrationMap, GroupMap, GroupTerm, base_log_odds, standardized
from trueodds.maps.features import FeatureSpace
from trueodds.numerics.label_targets import binary_targets, class_targets
from trueodds.rows import Rows

# Their SciPy is needed for fits, not for a list of methods.
if TYPE_CHECKING:
    from trueodds.calibrators._group.pooling import Pooling

__all__ = ["GroupCalibrator"]

MOST_CATEGORIES = 500_000
"""Of one feature; effects have the most frequent 100,000 of them."""
LEAST_UNIT = 0.05
"""Of the standardized log-odds, if all scores are nearly equal."""


@dataclass(kw_only=True, eq=False, repr=False)
class GroupCalibrator(FeatureCalibrator):
    """One map for all rows, plus effects of groups and features, as far as the rows show them.

    Use it when scores may be wrong in some groups (regions, subjects, ages, sites). The log-odds
    are those of one map, plus a shift and a slope for each level of each feature, plus
    interactions that have evidence. The variance of each kind of effect is learned from the rows,
    and "this feature changes nothing" is among the answers, so small groups borrow from large ones.
    There is nothing to tune. The map need not be monotone, and an error that no feature shows
    remains.

    Parameters
    ----------
    categorical : sequence of str or int, default=None
        Numeric columns that are categories, by name or position. Text, boolean and categorical
        columns of frames are detected. Other columns are numbers, with effects that are smooth in
        the rank.
    base : Calibrator, default=None
        Calibrator of the one map; None for the default, Bayesian smooth calibration of two
        classes and Bayesian structured calibration of several.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels. The prior makes it unnecessary.

    Attributes
    ----------
    map_ : GroupMap
        The fitted map; it is called on scores and features.
    base_ : Calibrator
        Calibrator of the one map, fitted on the same rows.
    effects_ : GroupEffects
        Shift, interval and slope of every level of every feature; ``effects_.to_frame()`` is a
        frame.
    included_ : dict of str to float
        Probability that a feature has an effect; ``"score"`` is the score itself.
    interactions_ : list of (tuple of str, float)
        The features of each interaction in the map, and the probability that it has an effect.
    unused_ : dict of str to str or None
        Features without effects: the feature that splits the rows into the same groups, such as
        a code next to its name, or None if the value is the same in all rows.

    Notes
    -----
    Effects are normal a priori. Their standard deviation is one of 0, 0.05, 0.1, …, 1.6 on the
    scale of the log-odds; its posterior is found by expectation propagation around the mode, and
    everything is averaged over it. The probability of a row includes the uncertainty of its
    effects, as if the effects of different features were independent. Intervals have another
    prior, which is uniform in the standard deviation of shifts (Gelman, 2006): they are fair to
    large effects, not centered on the forecast, and contain it. For intervals, effects of groups
    of few rows are integrated numerically, given the probability in a random group (Heagerty,
    1999). The result is deterministic; with up to 50,000 rows it does not depend on their order,
    and a count of k equals k rows. With more rows, interactions are searched in a random sample
    of 50,000.

    Features that split the rows into the same groups have effects once: a category before a
    number, else the first. With several classes, ``unused_`` has those without effects on any.

    Missing values are one more level. A category that was not seen has the mean effect, and the
    uncertainty of a new group. Numbers are cut into 12 bins (20 with 3,000 rows or more). Of one
    feature, up to 100,000 levels have effects; of a second one with more than 300 levels, the 300
    most frequent have. With several classes, each class against all others has its own effects.

    Cost: proportional to the rows, times the square of the number of features.

    References
    ----------
    Gelman and Hill (2007), Data analysis using regression and multilevel/hierarchical models,
    Cambridge University Press. Gelman (2006), Prior distributions for variance parameters in
    hierarchical models, Bayesian Analysis 1(3). Heagerty (1999), Marginally specified
    logistic-normal models for longitudinal binary data, Biometrics 55(3). Minka (2001),
    Expectation propagation for approximate Bayesian inference, UAI. MacKay (1992), The evidence
    framework applied to classification networks, Neural Computation 4(5).

    Examples
    --------
    The scores are right in the south and too low in the north:

    >>> import numpy as np
    >>> from trueodds import GroupCalibrator
    >>> rng = np.random.default_rng(0)
    >>> z, region = rng.normal(size=2000), rng.choice(["north", "south"], 2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z - (region == "north")))
    >>> grouped = GroupCalibrator(scale="logit").fit(z, y, features=region[:, None])
    >>> grouped.predict_proba([0.0, 0.0], features=[["north"], ["south"]])[:, 1].round(2)
    array([0.73, 0.52])
    >>> print(grouped.effects_.of("x0"))
    feature  level  rows  shift           90%  slope
    x0       south   976  -0.48  -0.58, -0.40  -0.00
    x0       north  1024  +0.46  +0.38, +0.55  +0.00
    """

    title = "one map with pooled effects of groups"
    label = "groups"
    complexity = 130
    compared = (2, math.inf)
    is_monotone = False
    learns_classes_jointly = True
    needs_features = True

    categorical: Sequence[Any] | None = None
    base: Calibrator | None = None

    base_: Calibrator = field(init=False)
    effects_: GroupEffects = field(init=False)
    included_: dict[str, float] = field(init=False)
    interactions_: list[tuple[tuple[str, ...], float]] = field(init=False)
    unused_: dict[str, str | None] = field(init=False)

    def _check_options(self) -> None:
        if isinstance(self.categorical, str):
            raise InputError("categorical must be a list of columns; got a single string.")
        if self.categorical is not None:
            as_tuple(self.categorical, "categorical")
        if self.base is not None and not isinstance(self.base, Calibrator):
            raise InputError(
                f"base must be a calibrator or None; got a {type(self.base).__name__}."
            )
        if self.base is not None and self.base.needs_features:
            raise InputError("base must be a calibrator that does not need features.")

    def fit(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        counts: Any = None,
        features: Any = None,
    ) -> Self:
        """Fit the one map and the effects of the features.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the positive class, or one column per class, on the scale given by ``scale``.
        y : array-like of shape (n,)
            Labels of any sortable type.
        sample_weight : array-like of shape (n,), default=None
            Importance of each row, which stays one observation. A row of importance zero is left
            out.
        counts : array-like of shape (n,), default=None
            How often each row occurred: a count of k equals k repetitions.
        features : array-like or frame of shape (n, n_features)
            Groups and features of the same rows; required.

        Returns
        -------
        self
        """
        self.check_settings()
        given = Rows.read(scores, y, sample_weight, counts, scale=self.scale, classes=self.classes)
        weight = given.row_weight
        rows = given.of_positive_weight()
        rows.check_two_classes()
        space, encoded = FeatureSpace.learn(features, self.categorical, weight, MOST_CATEGORIES)
        rows = self._bounded(rows)
        name = type(self).__name__
        with (
            self._fitting(),
            errors_as_input_errors(name, rows.scores, rows.mass),
            single_threaded_blas(),
        ):
            self._fit_effects(rows, space, encoded[weight > 0])
        return self

    def _fit(self, rows: Rows) -> CalibrationMap:
        raise InputError(
            "GroupCalibrator needs the original features: call fit(scores, y, features=X)."
        )

    def _fit_effects(self, rows: Rows, space: FeatureSpace, encoded: Floats) -> None:
        from trueodds.calibrators._group.search import Features, fit_effects

        self.classes_ = rows.classes
        self.base_ = self._unfitted_base(rows.n_classes)._fit_rows(rows)
        weight, base = rows.row_weight, self.base_.map_.with_classes(None)
        fits: list[tuple[int, Pooling]] = []
        unused: dict[int, int | None] = {}
        centers, units = [], []
        for output, (m, y) in enumerate(
            zip(base_log_odds(base, rows.scores), self._targets(rows), strict=True)
        ):
            center, unit = _moments(m, weight)
            centers.append(center)
            units.append(unit)
            if y.min() < y.max():  # a class without rows has no effects
                z = standardized(m, center, unit)
                cut = Features.cut(z, encoded, space.categories, weight)
                fits.append((output, fit_effects(m, z, y, weight, cut)))
                unused |= cut.unused
        terms, level_weights = _terms(fits)
        fitted = GroupMap(
            base=base,
            center=np.array(centers),
            unit=np.array(units),
            names=space.names,
            categories=space.categories,
            terms=tuple(terms),
            scale=self.scale,
            classes=tuple(rows.classes.tolist()),
        )
        labels = [None] if len(centers) == 1 else rows.classes.tolist()
        self.map_, self.effects_ = fitted, effects_of(fitted, level_weights, labels)
        self.unused_ = {
            feature_name(fitted, k): None if twin is None else feature_name(fitted, twin)
            for k, twin in sorted(unused.items())
            if fitted.features[k] not in fitted.used_features
        }
        self._set_included(fitted, [pooling for _, pooling in fits])

    def _unfitted_base(self, n_classes: int) -> Calibrator:
        own = {"scale": self.scale, "label_smoothing": self.label_smoothing}
        if self.base is not None:
            options = {**self.base.get_params(deep=False), **own, "classes": None}
            return type(self.base)(**options)
        kind: Any = find_calibrator(default_method(n_classes))
        default: Calibrator = kind(**own)
        return default

    def _targets(self, rows: Rows) -> list[Floats]:
        """What the rows count as, for the positive class or for each of several."""
        codes = rows.codes.astype(np.intp)
        counts = np.bincount(codes, rows.row_weight, rows.n_classes).astype(np.float64)
        if rows.n_classes == 2:
            low, high = binary_targets(counts[0], counts[1], self.label_smoothing)
            return [np.where(codes == 1, high, low)]
        return list(class_targets(counts, self.label_smoothing)[codes].T)

    def _set_included(self, fitted: GroupMap, fits: list[Pooling]) -> None:
        """Probabilities that there is an effect, on any class."""
        absent: dict[tuple[int, ...], float] = {}
        for pooling in fits:
            for block in pooling.all_blocks:
                name = block.levels.features
                absent[name] = absent.get(name, 1.0) * (1 - block.included)
        named = {
            tuple(feature_name(fitted, f) for f in features): 1 - nothing
            for features, nothing in sorted(absent.items())
        }
        self.included_ = {name[0]: share for name, share in named.items() if len(name) == 1}
        self.interactions_ = [(name, share) for name, share in named.items() if len(name) > 1]

    def predict_proba(self, scores: Any, *, features: Any = None) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the same scale as in ``fit``. Each row's result depends on that row alone.
        features : array-like or frame of shape (n, n_features)
            Features of the same rows; required.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities of the classes; rows sum to 1.
        """
        self._check_fitted("map_")
        array = validate_scores(scores, self.scale, n_columns=len(self.classes_))
        return self.map_._apply_to_all(array, features)

    def _band_curves(self, level: float) -> tuple[Curves, Curves]:
        """Those of the one map; the map adds the uncertainty of the effects."""
        return self.base_._band_curves(level)


def _terms(fits: list[tuple[int, Pooling]]) -> tuple[list[GroupTerm], list[Floats]]:
    """Tables of all classes, and the weight of the rows at the levels of each."""
    from trueodds.calibrators._group.terms import terms_of

    terms: list[GroupTerm] = []
    weights: list[Floats] = []
    for output, pooling in fits:
        found, rows = terms_of(pooling, output)
        terms += found
        weights += rows
    return terms, weights


def _moments(m: Floats, weight: Floats) -> tuple[float, float]:
    """Mean and standard deviation of the log-odds over the rows."""
    center = float(np.average(m, weights=weight))
    return center, max(float(np.sqrt(np.average((m - center) ** 2, weights=weight))), LEAST_UNIT)
