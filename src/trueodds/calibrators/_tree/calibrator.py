"""Probability calibration trees."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.basics.warned import ignored_warnings
from trueodds.calibrators import (
    Calibrator,
    FeatureCalibrator,
    default_method,
    find_calibrator,
)
from trueodds.calibrators._shared.arithmetic import errors_as_input_errors
from trueodds.calibrators._tree.growth import (
    Dealer,
    FittedTree,
    TreeData,
    TreeOptions,
    fit_tree,
)
from trueodds.calibrators._tree.leaves import leaf_maps, linear_map
from trueodds.calibrators._tree.rows import TreeRows, canonical_rows
from trueodds.exceptions import (
    InputError,
    TrueoddsWarning,
    WorseThanOneMapWarning,
    warn_user,
)
from trueodds.inputs import (
    Floats,
    Weights,
    as_seed,
    as_tuple,
    check_choice,
    check_integer,
    check_number,
    is_choice,
    positive_column,
    validate_scores,
)
from trueodds.maps import CalibrationMap, TreeMap
from trueodds.maps.features import FeatureSpace, score_columns
from trueodds.numerics.label_targets import class_targets
from trueodds.numerics.losses import row_losses
from trueodds.rows import Rows

__all__ = ["TreeCalibrator"]

NO_LIMIT = np.iinfo(np.int64).max
ENOUGH_ROWS = 10_000
"""Out of fold, after which no further fold is held out."""


@dataclass(kw_only=True, eq=False, repr=False)
class TreeCalibrator(FeatureCalibrator):
    """Decision tree on the features with a logistic calibration at every leaf.

    Use it when the scores are wrong in different ways in different regions of the feature space.
    Cross-validation prunes the tree: where one curve is enough it becomes one logistic calibration.
    Splits are chosen by class frequencies, as in any decision tree, so regions with equal class
    frequencies are not separated, however differently their scores err. The map need not be
    monotone: in another leaf a higher score may get a lower probability.

    Parameters
    ----------
    leaf : "logistic" or Calibrator, default="logistic"
        Model of the leaves. Any other calibrator replaces the logistic models after pruning. A copy
        is fitted at every node that has ``min_samples`` of weight and every class. A node of one
        class predicts class frequencies, shrunk toward its parent's. Other nodes use their parent's
        map.
    n_iterations : "auto", "node" or int, default="auto"
        Boosting iterations at each node, on top of the parent's: chosen once by cross-validated
        RMSE, chosen at every node (slow), or given.
    pruning : {"rmse", "error", None}, default="rmse"
        Cross-validated measure for pruning: the paper's RMSE, or the error rate as in logistic
        model trees. None keeps the whole tree.
    min_samples : int, default=16
        Least weight of a node that may be split; the authors' "more than 15".
    max_depth : int, default=None
        The largest number of splits above a leaf; None for no limit.
    min_gap : float, default=1e-5
        Smallest gap between neighboring values of a numeric feature at which a split is possible.
        Lower it for features with very small values.
    categorical : sequence of str or int, default=None
        Numeric columns that are categories, by name or position. Text, boolean and categorical
        columns of frames are detected.
    cv : int, default=5
        Number of stratified, shuffled folds. (The folds of the authors' program are in
        ``trueodds_studies.papers.trees.AuthorsTree``.)
    random_state : int, RandomState instance or None, default=0
        Seed that shuffles the folds. None makes each fit different.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Probabilities are converted to log-odds, with exact 0 and 1 replaced by
        0.00001 and 0.99999; log-odds and decision values (of an SVM) are used unchanged.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the targets of the logistic models.

    Attributes
    ----------
    map_ : TreeMap
        The fitted map; it is called on scores and features.
    n_iterations_ : int
        Iterations at each node; 0 if chosen at every node.
    n_leaves_ : int
    out_of_fold_log_loss_ : float
        Log-loss of rows that are predicted by trees grown and pruned without them. Of many rows,
        only as many folds are held out as have 10,000.
    one_map_log_loss_ : float
        Log-loss of the same rows by one map for all of them, the default method, on the same folds.
        Both are NaN if a fold leaves a single class.

    Notes
    -----
    Scores must come from rows that the classifier was not trained on;
    :class:`~trueodds.CalibratedClassifier` ensures this. Missing values of numeric features are
    replaced by the mean, those of nominal ones by the mode. At prediction, a row with a category
    that did not occur in fitting is calibrated by the inner node that splits on it.

    The result does not depend on the order of rows, and a count of k equals
    k repetitions. With importances each row stays within one fold.

    If no score column varies at a node, an intercept is fitted; in the authors' program rounding
    decides there.

    A tree of several leaves whose out-of-fold log-loss is greater than that of one map raises a
    :class:`~trueodds.exceptions.WorseThanOneMapWarning`. The cross-validation repeats the whole
    fit, so the loss is honest, but it is that of ``cv`` other trees.

    Cost: features are sorted once; then one pass over rows and features for each level of cv + 1
    trees. The losses repeat this for each fold that is held out, with a fit of the default method.

    References
    ----------
    Leathart, Frank, Holmes and Pfahringer (2017), Probability calibration trees. Landwehr, Hall
    and Frank (2005), Logistic model trees.

    Examples
    --------
    Where the feature is positive the scores are too extreme, and positives more frequent:

    >>> import numpy as np
    >>> from trueodds import TreeCalibrator
    >>> rng = np.random.default_rng(0)
    >>> x, z = rng.normal(size=(2, 2000))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-np.where(x > 0, z / 4 + 1, z)))
    >>> calibrator = TreeCalibrator(scale="logit").fit(z, y, features=x[:, None])
    >>> print(calibrator.export_text(decimals=1))
    x0 <= -0.0: σ(0.9·z -0.0)  (n=1030)
    x0 > -0.0: σ(0.2·z +1.0)  (n=970)
    >>> calibrator.predict_proba([2.0, 2.0], features=[[-1], [1]])[:, 1].round(2)
    array([0.85, 0.81])
    """

    title = "a calibration tree"
    label = "tree"
    complexity = 140
    compared = (2, math.inf)
    is_monotone = False
    learns_classes_jointly = True
    needs_features = True

    leaf: Literal["logistic"] | Calibrator = "logistic"
    n_iterations: Literal["auto", "node"] | int = "auto"
    pruning: Literal["rmse", "error"] | None = "rmse"
    min_samples: float = 16
    max_depth: int | None = None
    min_gap: float = 1e-5
    categorical: Sequence[Any] | None = None
    cv: int = 5
    random_state: Any = 0

    def _check_options(self) -> None:
        if not isinstance(self.leaf, Calibrator):
            if not isinstance(self.leaf, str) or self.leaf != "logistic":
                raise InputError(
                    f'leaf must be "logistic" or a calibrator; got {shown(self.leaf)}.'
                )
        elif self.leaf.needs_features:
            raise InputError("leaf must be a calibrator that does not need features.")
        if not is_choice(self.n_iterations, "auto", "node"):
            check_integer(self.n_iterations, "n_iterations", 1, '"auto", "node" or ')
        check_choice(self.pruning, ("rmse", "error", None), "pruning")
        if self.max_depth is not None:
            check_integer(self.max_depth, "max_depth", 0, "None or ")
        if is_choice(self.cv, "weka"):
            raise InputError(
                "the folds of the authors' program are in trueodds-studies: see "
                "trueodds_studies.papers.trees.AuthorsTree."
            )
        check_integer(self.cv, "cv", 2)
        check_number(self.min_samples, "min_samples", 2)
        check_number(self.min_gap, "min_gap")
        if isinstance(self.categorical, str):
            raise InputError("categorical must be a list of columns; got a single string.")
        if self.categorical is not None:
            as_tuple(self.categorical, "categorical")

    def fit(
        self,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        counts: Any = None,
        features: Any = None,
    ) -> Self:
        """Fit the tree and the maps of its nodes.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores of the positive class, or one column per class, on the scale given by ``scale``.
        y : array-like of shape (n,)
            Labels of any sortable type.
        sample_weight : array-like of shape (n,), default=None
            Importance of each row, which stays one observation and is in one fold. A row of
            importance zero is left out.
        counts : array-like of shape (n,), default=None
            How often each row occurred: a count of k equals k repetitions, unless there are
            importances as well: the repetitions are then in one fold.
        features : array-like or frame of shape (n, n_attributes)
            Original features of the same rows; required.

        Returns
        -------
        self
        """
        self.check_settings()
        given = Rows.read(
            scores,
            y,
            sample_weight,
            counts,
            scale=self.scale,
            classes=self.classes,
            keep_two_columns=True,
        )
        given.of_positive_weight().check_two_classes()
        space, attributes = FeatureSpace.learn(features, self.categorical, given.row_weight)
        bounded = self._bounded(given)
        learned = bounded.scores, bounded.row_weight
        rows = TreeRows(
            learned[0],
            space.filled(attributes),
            given.codes,
            learned[1],
            are_counts=not given.has_importances,
        ).of_positive_weight()
        with self._fitting(), errors_as_input_errors(type(self).__name__, *learned):
            self._grow(rows, space, given.classes)
        forecasts = self._tree()._apply_to_all(given.scores, features)
        self._keep_forecasts(forecasts, given)
        return self

    def _grow(self, rows: TreeRows, space: FeatureSpace, classes: npt.NDArray[Any]) -> None:
        if self._dealer() is None:
            rows = canonical_rows(rows)
        options = self._tree_options(rows.are_counts)
        tree, self.map_ = self._fit_tree(rows, space, classes, options)
        self.classes_ = classes
        self.n_iterations_ = tree.n_iterations
        self.n_leaves_ = int((tree.attribute < 0).sum())
        self._measure(rows, space, tree.test_weight, options)

    def _fit_tree(
        self, rows: TreeRows, space: FeatureSpace, classes: npt.NDArray[Any], options: TreeOptions
    ) -> tuple[FittedTree, TreeMap]:
        columns = self._columns(rows.scores, len(classes))
        counts = np.bincount(rows.codes, rows.weight, len(classes)).astype(np.float64)
        data = TreeData(
            attributes=np.ascontiguousarray(rows.attributes.T),
            n_values=space.n_values,
            scores=np.ascontiguousarray(columns.T),
            y=rows.codes.astype(np.int32),
            weight=np.ascontiguousarray(rows.weight),
            targets=class_targets(counts, self.label_smoothing),
        )
        tree = fit_tree(data, options)
        return tree, self._tree_map(tree, space, rows, classes)

    def _measure(
        self, rows: TreeRows, space: FeatureSpace, test_weight: Floats, options: TreeOptions
    ) -> None:
        """Set the losses out of fold, and warn if one map for all rows has a smaller one."""
        own, one, total, n_tested = 0.0, 0.0, 0.0, 0
        try:
            with ignored_warnings(TrueoddsWarning):  # the fit itself has warned
                for weight in test_weight:
                    train, test = rows.weighing(rows.weight - weight), rows.weighing(weight)
                    if not len(test.codes) or n_tested >= ENOUGH_ROWS:
                        continue
                    for_one = self._one_map(train, test)
                    _, fitted = self._fit_tree(train, space, self.classes_, options)
                    own += _loss(fitted._apply_encoded(test.scores, test.attributes), test)
                    one += _loss(for_one, test)
                    total += float(test.weight.sum())
                    n_tested += len(test.codes)
        except (InputError, ArithmeticError, np.linalg.LinAlgError):
            total = math.nan  # too few rows for a fold
        self.out_of_fold_log_loss_, self.one_map_log_loss_ = own / total, one / total
        if self.n_leaves_ > 1 and self.out_of_fold_log_loss_ > self.one_map_log_loss_:
            warn_user(
                f"out of fold, trees have a log-loss of {self.out_of_fold_log_loss_:.4f}, one map "
                f"for all rows {self.one_map_log_loss_:.4f}: the tree overfits. GroupCalibrator "
                "learns from features only what the rows show; AutoCalibrator is one map.",
                WorseThanOneMapWarning,
            )

    def _one_map(self, train: TreeRows, test: TreeRows) -> Floats:
        """Probabilities (n, n_classes) of the test rows by the default method."""
        n_classes = len(self.classes_)
        kind: Any = find_calibrator(default_method(n_classes))
        method: Calibrator = kind(scale=self.scale, label_smoothing=self.label_smoothing)
        learn, apply = train.scores, test.scores
        if n_classes == 2 and learn.ndim == 2:
            learn, apply = positive_column(learn, self.scale), positive_column(apply, self.scale)
        rows = Rows(learn, train.codes, Weights(None, train.weight))
        rows.check_two_classes()
        return method.fit_map(rows)._apply_to_all(apply)

    def _fit(self, rows: Rows) -> CalibrationMap:
        raise InputError(
            "TreeCalibrator needs the original features: call fit(scores, y, features=X)."
        )

    def _columns(self, scores: Floats, n_classes: int) -> Floats:
        """Columns (n, A) that the logistic models are linear in.

        Two columns that mirror each other become one, because rounding would decide which of them a
        regression chooses.
        """
        if n_classes > 2:
            return score_columns(scores, self.scale)
        if scores.ndim == 2 and self.scale != "probability":
            columns = score_columns(scores, self.scale)
            size = np.abs(columns).sum(axis=1)
            if (np.abs(columns.sum(axis=1)) > 1e-9 * size).any():
                return columns
        if scores.ndim == 2:
            scores = positive_column(scores, self.scale)
        return score_columns(scores, self.scale)[:, None]

    def _dealer(self) -> Dealer | None:
        """What deals rows into folds that depend on their order; None for shuffled folds."""
        return None

    def _tree_options(self, are_counts: bool) -> TreeOptions:
        return TreeOptions(
            n_iterations=None if isinstance(self.n_iterations, str) else int(self.n_iterations),
            node_search=self.n_iterations == "node",
            n_folds=int(self.cv),
            dealer=self._dealer(),
            whole_rows=not are_counts,
            seed=as_seed(self.random_state, below=2**31 - 1),
            min_samples=float(self.min_samples),
            max_depth=NO_LIMIT if self.max_depth is None else int(self.max_depth),
            min_gap=float(self.min_gap),
            count_errors=self.pruning == "error",
            prune=self.pruning is not None,
        )

    def _tree_map(
        self, tree: FittedTree, space: FeatureSpace, rows: TreeRows, classes: npt.NDArray[Any]
    ) -> TreeMap:
        result = TreeMap(
            maps=tuple(linear_map(coef) for coef in tree.coef),
            parent=tree.parent,
            attribute=tree.attribute,
            cut=tree.cut,
            weight=tree.weight,
            names=space.names,
            categories=space.categories,
            fill=space.fill,
            scale=self.scale,
            classes=tuple(classes.tolist()),
        )
        if isinstance(self.leaf, Calibrator):
            maps = leaf_maps(self._leaf(self.leaf, len(classes)), result, rows, self.min_samples)
            return replace(result, maps=maps)
        return result

    def _leaf(self, leaf: Calibrator, n_classes: int) -> Calibrator:
        options = leaf.get_params(deep=False)
        return type(leaf)(**{**options, "scale": self.scale, "classes": range(n_classes)})

    def predict_proba(self, scores: Any, *, features: Any = None) -> Floats:
        """Return calibrated probabilities.

        Parameters
        ----------
        scores : array-like of shape (n,) or (n, n_classes)
            Scores on the same scale as in ``fit``. Each row's result depends on that row alone.
        features : array-like or frame of shape (n, n_attributes)
            Features of the same rows; required.

        Returns
        -------
        ndarray of shape (n, n_classes)
            Probabilities of the classes; rows sum to 1.
        """
        self._check_fitted("map_")
        array = validate_scores(scores, self.scale, n_columns=len(self.classes_))
        return self._tree()._apply_to_all(array, features)

    def export_text(self, *, decimals: int = 3) -> str:
        """The tree as text: one line per branch, with each leaf's weight and map."""
        self._check_fitted("map_")
        return self._tree().export_text(decimals)

    def _tree(self) -> TreeMap:
        if not isinstance(self.map_, TreeMap):
            raise InputError("map_ is not a tree.")
        return self.map_


def _loss(p: Floats, rows: TreeRows) -> float:
    """Log-loss of all rows, weighted."""
    losses = row_losses("log_loss", rows.codes, p[:, 1] if p.shape[1] == 2 else p)
    return float(rows.weight @ losses)
