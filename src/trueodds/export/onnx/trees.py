"""Trees as one ONNX node, in the precision in which their library computes.

Converters write trees in float32, and a score that is rounded can fall on the other side of a map's
step. The operator ``TreeEnsemble`` of ai.onnx.ml 5 takes float64, so the trees of scikit-learn,
LightGBM, CatBoost (float64) and XGBoost (float32) are written here. The libraries' converters write
what is not read here (categories, other losses).
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
)
from sklearn.ensemble._forest import ForestClassifier
from sklearn.tree import DecisionTreeClassifier

from trueodds.exceptions import InputError
from trueodds.inputs import Floats

__all__ = ["TreeScores", "trees_of"]

SUM, AT_MOST, BELOW = 1, 0, 1  # as the operator numbers them
LIGHTGBM_ZERO = float(np.float32(1e-35))
"""LightGBM takes numbers up to this size for 0."""
MOST_NODES = 5_000_000
"""A leaf belongs to one class, so a forest is written once for each class; larger ones are not."""
BRANCHES = (
    "nodes_featureids",
    "nodes_splits",
    "nodes_missing_value_tracks_true",
    "nodes_truenodeids",
    "nodes_falsenodeids",
    "nodes_trueleafs",
    "nodes_falseleafs",
)


@dataclass(frozen=True, eq=False)
class Tree:
    """A tree as arrays over its nodes; a leaf has no left branch (a negative number).

    Rows go left if their feature is at most the threshold (below it, in XGBoost), or missing and
    ``missing_left``.
    """

    left: npt.NDArray[np.int64]
    right: npt.NDArray[np.int64]
    feature: npt.NDArray[np.int64]
    threshold: Floats
    missing_left: npt.NDArray[np.bool_]
    value: Floats
    output: int = 0


@dataclass(frozen=True, eq=False)
class TreeScores:
    """Sums over the leaves of some trees, and what makes probabilities of them.

    Parameters
    ----------
    trees : list of Tree
    base : ndarray of shape (n_outputs,)
        What is added to the sum of the leaves.
    link : {"identity", "sigmoid", "softmax"}
        Link of the one output, that of the positive class, or of the outputs of all classes.
    rounds_features : bool
        Whether features are compared in float32.
    divisor : float, default=1.0
        What the sum of the leaves is divided by, once: a mean of n pure leaves is then exactly 1,
        whereas n leaves of 1/n can add up to more.
    slope : float, default=1.0
        What decision values are multiplied by before the link.
    in_float32 : bool, default=False
        Whether leaves are added in float32, and rows go left only below a threshold: XGBoost. The
        node then has an output for each tree, those of the first class first.
    """

    trees: list[Tree]
    base: Floats
    link: Literal["identity", "sigmoid", "softmax"]
    rounds_features: bool
    divisor: float = 1.0
    slope: float = 1.0
    in_float32: bool = False

    def attributes(self) -> dict[str, Any]:
        """What the node is told."""
        from onnx import numpy_helper

        parts: dict[str, list[Any]] = {name: [] for name in (*BRANCHES, "value", "output")}
        roots, n_inner, n_leaves = [], 0, 0
        dtype = np.float32 if self.in_float32 else np.float64
        base = self.base.astype(dtype)
        trees = sorted(self.trees, key=lambda tree: tree.output) if self.in_float32 else self.trees
        for place, tree in enumerate(map(_with_a_branch, trees)):
            inner = tree.left >= 0
            value = tree.value[~inner].astype(dtype) + base[tree.output]
            base[tree.output] = 0.0  # the first tree of an output has it
            number = np.where(inner, n_inner + np.cumsum(inner), n_leaves + np.cumsum(~inner)) - 1
            left, right = tree.left[inner], tree.right[inner]
            parts["nodes_featureids"].append(tree.feature[inner])
            parts["nodes_splits"].append(tree.threshold[inner])
            parts["nodes_missing_value_tracks_true"].append(tree.missing_left[inner])
            parts["nodes_truenodeids"].append(number[left])
            parts["nodes_falsenodeids"].append(number[right])
            parts["nodes_trueleafs"].append(~inner[left])
            parts["nodes_falseleafs"].append(~inner[right])
            parts["value"].append(value)
            output = place if self.in_float32 else tree.output
            parts["output"].append(np.full((~inner).sum(), output))
            roots.append(n_inner)
            n_inner, n_leaves = n_inner + int(inner.sum()), n_leaves + int((~inner).sum())
        whole = {name: np.concatenate(part) for name, part in parts.items()}
        tensors: dict[str, npt.NDArray[Any]] = {
            "nodes_splits": whole.pop("nodes_splits").astype(dtype),
            "nodes_modes": np.full(n_inner, BELOW if self.in_float32 else AT_MOST, dtype=np.uint8),
            "leaf_weights": whole.pop("value").astype(dtype),
        }
        integers = {
            ("leaf_targetids" if name == "output" else name): part.astype(np.int64).tolist()
            for name, part in whole.items()
        }
        return {
            **{name: numpy_helper.from_array(part) for name, part in tensors.items()},
            **integers,
            "tree_roots": roots,
            "n_targets": len(trees) if self.in_float32 else len(self.base),
            "aggregate_function": SUM,
            "post_transform": 0,
        }


def _with_a_branch(tree: Tree) -> Tree:
    """The tree, or, of one that is a single leaf, a branch whose two leaves are the same."""
    if len(tree.left) > 1:
        return tree
    zeros = np.zeros(3, dtype=np.int64)
    return Tree(
        np.array([1, -1, -1]), np.array([2, -1, -1]), zeros, zeros.astype(float),
        zeros.astype(bool), np.repeat(tree.value, 3), tree.output,
    )  # fmt: skip


def trees_of(model: Any) -> TreeScores | None:
    """A fitted model's trees; None if the model has none, or some that are not read here."""
    for matches, read in READERS:
        if matches(model):
            return read(model)
    return None


# scikit-learn --------------------------------------------------------------------------------


def _of_scikit_learn(
    tree: Any, values: Floats, output: int = 0, columns: npt.NDArray[np.int64] | None = None
) -> Tree:
    """A tree with these values; ``columns`` are the numbers of its features in the rows."""
    feature = tree.feature if columns is None else columns[np.maximum(tree.feature, 0)]
    return Tree(
        tree.children_left, tree.children_right, feature, tree.threshold,
        tree.missing_go_to_left.astype(bool), values, output,
    )  # fmt: skip


def _read_forest(model: Any) -> TreeScores | None:
    """A tree, a forest, or trees in a bag: the mean of the leaves."""
    members = getattr(model, "estimators_", [model])
    if not all(isinstance(member, DecisionTreeClassifier) for member in members):
        return None
    n_classes = len(model.classes_)
    written = [1] if n_classes == 2 else range(n_classes)
    n_nodes = len(written) * sum(member.tree_.node_count for member in members)
    if n_nodes > MOST_NODES:
        raise InputError(
            f"a forest of {n_nodes:,} nodes (counted once for each class beyond two) is too large "
            f"for ONNX, where {MOST_NODES:,} can be written; grow fewer trees, or limit them by "
            "min_samples_leaf."
        )
    chosen = getattr(model, "estimators_features_", [None] * len(members))
    trees = []
    for member, columns in zip(members, chosen, strict=True):
        shares = member.tree_.value[:, 0]
        if len(member.classes_) < n_classes:  # in a bag some class can be missing
            placed = np.zeros((len(shares), n_classes))
            placed[:, member.classes_.astype(int)] = shares
            shares = placed
        trees += [
            _of_scikit_learn(member.tree_, shares[:, k], output, columns)
            for output, k in enumerate(written)
        ]
    base = np.zeros(len(written))
    return TreeScores(trees, base, "identity", rounds_features=True, divisor=len(members))


def _read_adaboost(model: Any) -> TreeScores | None:
    """Each tree votes for its leaf's class with its weight (SAMME)."""
    if not all(isinstance(member, DecisionTreeClassifier) for member in model.estimators_):
        return None
    n_classes = len(model.classes_)
    trees = []
    for member, weight in zip(model.estimators_, model.estimator_weights_, strict=False):
        chosen = member.tree_.value[:, 0].argmax(axis=1)
        if n_classes == 2:  # the margin is the difference of two votes that are opposite
            votes = np.where(chosen == 1, 2 * weight, -2 * weight)
            trees.append(_of_scikit_learn(member.tree_, votes))
            continue
        for k in range(n_classes):
            votes = np.where(chosen == k, weight, -1 / (n_classes - 1) * weight)
            trees.append(_of_scikit_learn(member.tree_, votes, k))
    several = n_classes > 2
    return TreeScores(
        trees,
        np.zeros(n_classes if several else 1),
        "softmax" if several else "sigmoid",
        rounds_features=True,
        divisor=float(model.estimator_weights_.sum()),
        slope=1 / (n_classes - 1),
    )


def _read_gradient_boosting(model: Any) -> TreeScores | None:
    if not (isinstance(model.init_, DummyClassifier) or model.init_ == "zero"):
        return None
    base = model._raw_predict_init(np.zeros((1, model.n_features_in_)))[0]
    trees = [
        _of_scikit_learn(member.tree_, model.learning_rate * member.tree_.value[:, 0, 0], output)
        for stage in model.estimators_
        for output, member in enumerate(stage)
    ]
    several = len(base) > 1
    slope = 2.0 if model.loss == "exponential" else 1.0
    link: Literal["sigmoid", "softmax"] = "softmax" if several else "sigmoid"
    return TreeScores(trees, base, link, rounds_features=True, slope=slope)


def _read_histogram_boosting(model: Any) -> TreeScores | None:
    base = model._baseline_prediction.ravel()
    trees = []
    columns = np.arange(model.n_features_in_)
    if model.is_categorical_ is not None:  # nodes count categories first
        columns = np.argsort(~model.is_categorical_, kind="stable")
    for stage in model._predictors:
        for output, predictor in enumerate(stage):
            nodes = predictor.nodes
            if nodes["is_categorical"].any():
                raise InputError(
                    "histogram boosting that splits by categories cannot be written in ONNX; "
                    "encode them before the model, such as with OneHotEncoder."
                )
            leaf = nodes["is_leaf"].astype(bool)
            trees.append(
                Tree(
                    np.where(leaf, -1, nodes["left"].astype(np.int64)),
                    nodes["right"].astype(np.int64),
                    columns[nodes["feature_idx"].astype(np.int64)],
                    nodes["num_threshold"],
                    nodes["missing_go_to_left"].astype(bool),
                    nodes["value"],
                    output,
                )
            )
    return TreeScores(trees, base, "softmax" if len(base) > 1 else "sigmoid", rounds_features=False)


# LightGBM ------------------------------------------------------------------------------------


def _read_lightgbm(model: Any) -> TreeScores | None:
    dumped = model.booster_.dump_model()
    objective, *options = dumped["objective"].split()
    settings = dict(option.split(":") for option in options if ":" in option)
    if objective not in ("binary", "multiclass"):
        return None
    n_outputs = dumped["num_tree_per_iteration"]
    trees = []
    for index, tree in enumerate(dumped["tree_info"]):
        rows = list(_lightgbm_rows(tree["tree_structure"]))
        if None in rows:
            return None
        left, right, feature, cut, missing_left, value = map(np.array, zip(*rows, strict=True))
        trees.append(Tree(left, right, feature, cut, missing_left, value, index % n_outputs))
    return TreeScores(
        trees,
        np.zeros(n_outputs),
        "softmax" if n_outputs > 1 else "sigmoid",
        rounds_features=False,
        divisor=len(trees) / n_outputs if dumped["average_output"] else 1.0,
        slope=float(settings.get("sigmoid", 1.0)),
    )


def _lightgbm_rows(node: dict[str, Any], start: int = 0) -> Iterator[tuple[Any, ...] | None]:
    """A node and all below it, as rows of a :class:`Tree`; None for a split by categories."""
    if "leaf_value" in node:
        if "leaf_coeff" in node:
            raise InputError(
                "LightGBM's linear trees cannot be written in ONNX; train with linear_tree=False."
            )
        yield -1, -1, 0, 0.0, False, node["leaf_value"]
        return
    if node["decision_type"] != "<=":
        yield None
        return
    if node["missing_type"] == "Zero":
        raise InputError(
            "LightGBM's trees that take 0 for missing cannot be written in ONNX; train with "
            "zero_as_missing=False, on NaN instead of 0."
        )
    cut = float(node["threshold"])
    if -LIGHTGBM_ZERO <= cut < LIGHTGBM_ZERO:  # rows of such small numbers go where 0 goes
        cut = LIGHTGBM_ZERO if cut >= 0 else float(np.nextafter(-LIGHTGBM_ZERO, -np.inf))
    # Where training saw nothing missing, it is taken for 0.
    missing_left = node["default_left"] if node["missing_type"] == "NaN" else cut >= 0
    below = list(_lightgbm_rows(node["left_child"], start + 1))
    right = start + 1 + len(below)
    yield (start + 1, right, node["split_feature"], cut, missing_left, 0.0)
    yield from below
    yield from _lightgbm_rows(node["right_child"], right)


# XGBoost -------------------------------------------------------------------------------------


def _read_xgboost(model: Any) -> TreeScores | None:
    if not np.isnan(model.missing):
        raise InputError(
            f"XGBoost's models that take {model.missing!r} for missing cannot be written in ONNX; "
            "train with missing=nan, on NaN instead."
        )
    learner = json.loads(model.get_booster().save_raw("json"))["learner"]
    booster = learner["gradient_booster"]
    inner = booster.get("gbtree", booster)  # of dart, which adds weights of trees
    objective = learner["objective"]["name"]
    if booster["name"] == "gblinear":
        raise InputError(
            "XGBoost's linear models cannot be written in ONNX; train with booster='gbtree', or "
            "scikit-learn's LogisticRegression."
        )
    if objective not in ("binary:logistic", "multi:softprob"):
        return None
    saved = inner["model"]
    try:
        n_trees = saved["iteration_indptr"][model.best_iteration + 1]
    except AttributeError:  # was not stopped early
        n_trees = len(saved["trees"])
    weights = booster.get("weight_drop", np.ones(n_trees))
    base = np.array(json.loads(learner["learner_model_param"]["base_score"]), dtype=np.float32)
    binary = objective == "binary:logistic"
    if binary:
        odds = np.float32(1) / base - np.float32(1)
        base = -np.log(odds.astype(float))  # and rounded, as C's logarithm of float32 is
    trees = []
    for tree, output, weight in zip(saved["trees"], saved["tree_info"], weights, strict=False):
        if any(tree["split_type"]):
            return None
        left = np.array(tree["left_children"])
        cut = np.array(tree["split_conditions"], dtype=np.float32)  # of a leaf: its value
        value = cut * np.float32(weight)
        trees.append(
            Tree(
                left,
                np.array(tree["right_children"]),
                np.array(tree["split_indices"]),
                cut.astype(float),
                np.array(tree["default_left"], dtype=bool),
                value.astype(float),
                output,
            )
        )
        if len(trees) == n_trees:
            break
    return TreeScores(
        trees,
        np.atleast_1d(base),
        "sigmoid" if binary else "softmax",
        rounds_features=True,
        in_float32=True,
    )


# CatBoost ------------------------------------------------------------------------------------


def _read_catboost(model: Any) -> TreeScores | None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "model.json"
        model.save_model(str(file), format="json")
        saved = json.loads(file.read_text(encoding="utf-8"))
    if "oblivious_trees" not in saved or saved["features_info"].get("categorical_features"):
        return None
    loss = saved["model_info"]["params"]["loss_function"]["type"]
    if loss not in ("Logloss", "MultiClass"):
        return None
    features = saved["features_info"]["float_features"]
    scale, base = saved["scale_and_bias"]
    trees = [
        tree for grown in saved["oblivious_trees"] for tree in _of_catboost(grown, features, scale)
    ]
    link: Literal["sigmoid", "softmax"] = "sigmoid" if loss == "Logloss" else "softmax"
    n_outputs = 1 + max(tree.output for tree in trees)
    return TreeScores(
        trees, np.broadcast_to(np.array(base, dtype=float), n_outputs), link, rounds_features=True
    )


def _of_catboost(
    grown: dict[str, Any], features: list[dict[str, Any]], scale: float
) -> Iterator[Tree]:
    """A tree for each output; all nodes of a level compare the same feature with the same border.

    The answer to split i is bit i of a leaf's number, so the last split is the root's.
    """
    splits = list(reversed(grown["splits"] or []))
    n_inner = (1 << len(splits)) - 1
    n_leaves = n_inner + 1
    node = np.arange(n_inner + n_leaves)
    inner = node < n_inner
    level = np.floor(np.log2(node[inner] + 1)).astype(int)
    chosen = [features[split["float_feature_index"]] for split in splits]
    flat = [feature["flat_feature_index"] for feature in chosen]
    missing = [feature["nan_value_treatment"] != "AsTrue" for feature in chosen]
    spare = np.zeros(n_leaves)
    values = np.array(grown["leaf_values"]).reshape(n_leaves, -1) * scale
    for output, value in enumerate(values.T):
        yield Tree(
            np.where(inner, 2 * node + 1, -1),
            np.where(inner, 2 * node + 2, -1),
            np.append(np.array(flat, dtype=np.int64)[level], spare.astype(np.int64)),
            np.append(np.array([split["border"] for split in splits], dtype=float)[level], spare),
            np.append(np.array(missing, dtype=bool)[level], spare.astype(bool)),
            np.append(np.zeros(n_inner), value),
            output,
        )


def _is_of(package: str, name: str) -> Callable[[Any], bool]:
    """Whether a model is of such a class, without importing its library."""
    return lambda model: any(
        kind.__name__ == name and kind.__module__.startswith(package) for kind in type(model).mro()
    )


READERS: list[tuple[Callable[[Any], bool], Callable[[Any], TreeScores | None]]] = [
    (
        lambda model: isinstance(
            model, (ForestClassifier, DecisionTreeClassifier, BaggingClassifier)
        ),
        _read_forest,
    ),
    (lambda model: isinstance(model, AdaBoostClassifier), _read_adaboost),
    (lambda model: isinstance(model, GradientBoostingClassifier), _read_gradient_boosting),
    (lambda model: isinstance(model, HistGradientBoostingClassifier), _read_histogram_boosting),
    (_is_of("lightgbm", "LGBMClassifier"), _read_lightgbm),
    (_is_of("xgboost", "XGBClassifier"), _read_xgboost),
    (_is_of("catboost", "CatBoostClassifier"), _read_catboost),
]
