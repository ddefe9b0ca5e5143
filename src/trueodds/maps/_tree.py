"""A tree of maps: features choose the node, and the node's map calibrates the score."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError, MapFormatError
from trueodds.export import Expression, Feature
from trueodds.export.expressions import (
    INFINITE,
    Any as AnyOf,
    Choose,
    Condition,
    Constant,
    FeatureAbove,
    FeatureAtMost,
    FeatureIs,
    FeatureMissing,
)
from trueodds.inputs import Floats, as_tuple, check_integer, positive_column
from trueodds.kernels.maps import linear_probabilities, route
from trueodds.maps import _json
from trueodds.maps._base import CalibrationMap
from trueodds.maps._binary import LogOddsMap
from trueodds.maps._classes import SoftmaxMap
from trueodds.maps._formulas import positive_expression, probability_log_odds
from trueodds.maps.features import (
    ONE,
    ZERO,
    FeatureSpace,
    check_decoded_features,
    check_names,
    plain_categories,
    score_columns,
)

__all__ = ["TreeMap", "branch_text", "children_of"]

Ints = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False, kw_only=True)
class TreeMap(CalibrationMap):
    """The map of the node that a row's features lead to.

    Nodes are listed in pre-order: the root, then each child with all that is below it.

    Parameters
    ----------
    maps : tuple of maps
        One for every node, inner ones too: a row whose category was never seen stops at the node
        that splits on it. If their ``scale`` is ``"raw"`` and the tree's is not, they take
        log-odds (see Notes).
    parent : array of int of shape (n_nodes,)
        −1 for the root.
    attribute : array of int of shape (n_nodes,)
        Position of the feature that an inner node splits on; −1 for a leaf.
    cut : array of shape (n_nodes,)
        A numeric feature up to this goes to the first child, else to the second. A nominal
        feature has one child for each category, in their order.
    weight : array of shape (n_nodes,)
        The weight of the training rows at each node.
    names : tuple of str, or None
        Names of the features; columns of frames are found by them. None for arrays.
    categories : tuple
        For each feature None if it is a number, else its categories: distinct texts. Other
        values stand for their texts: 1 for ``"1"``.
    fill : array
        For each feature what stands for a missing value: a number, or a category's position.

    Notes
    -----
    Log-odds are ln(p/(1−p)), with exact 0 and 1 taken for 0.00001 and 0.99999.

    Examples
    --------
    >>> from trueodds.maps import LogOddsMap, TreeMap
    >>> same, half, third = (LogOddsMap(a=a, b=a, c=0.0) for a in (1.0, 0.5, 1 / 3))
    >>> tree = TreeMap(
    ...     maps=(same, half, third), parent=[-1, 0, 0], attribute=[0, -1, -1], cut=[40.0, 0, 0],
    ...     weight=[90.0, 50.0, 40.0], names=("age",), categories=(None,), fill=[35.0],
    ... )
    >>> tree([0.9, 0.9], features=[[30], [50]]).round(4)
    array([0.75  , 0.6753])
    """

    maps: tuple[CalibrationMap, ...]
    parent: Ints
    attribute: Ints
    cut: Floats
    weight: Floats
    names: tuple[str, ...] | None
    categories: tuple[tuple[str, ...] | None, ...]
    fill: Floats

    family: ClassVar[str] = "tree"
    reduces_pairs: ClassVar[bool] = False

    @property
    def n_classes(self) -> int:
        """That of the nodes' maps."""
        return self.maps[0].n_classes or 2

    @property
    def takes_one_score(self) -> bool:
        """If there are two classes."""
        return self.n_classes == 2

    @property
    def features(self) -> tuple[str | int, ...]:
        """Names of columns, or their positions if the tree was fitted on an array."""
        return tuple(range(len(self.categories))) if self.names is None else self.names

    @property
    def space(self) -> FeatureSpace:
        """The features, ready to encode."""
        return FeatureSpace(self.names, self.categories, self.fill)

    def _check(self) -> None:
        object.__setattr__(self, "maps", as_tuple(self.maps, "maps"))
        known = as_tuple(self.categories, "categories")
        object.__setattr__(self, "categories", plain_categories(known))
        if self.names is not None:
            object.__setattr__(self, "names", as_tuple(self.names, "names"))
        for name in ("parent", "attribute"):
            self._freeze_integers(name)
        for name in ("cut", "weight", "fill"):
            if self._freeze(name).ndim != 1 or not np.isfinite(getattr(self, name)).all():
                raise InputError(f"{name} must be a list of finite numbers.")
        self._check_attributes()
        n = len(self.parent)
        if n == 0 or not n == len(self.attribute) == len(self.cut) == len(self.weight):
            raise InputError("parent, attribute, cut, weight must have one entry per node.")
        if (self.weight < 0).any():
            raise InputError("weight must not be negative.")
        self._check_maps()
        self._check_structure()

    def _freeze_integers(self, name: str) -> None:
        numbers = self._freeze(name)
        if numbers.ndim != 1 or (numbers != np.floor(numbers)).any() or (numbers < -1).any():
            raise InputError(f"{name} must be a list of integers of at least -1.")
        if (numbers > len(self.maps) + len(self.categories)).any():
            raise InputError(f"{name} holds an index beyond the nodes and features.")
        integers = numbers.astype(np.int64)
        integers.flags.writeable = False
        object.__setattr__(self, name, integers)

    def _check_attributes(self) -> None:
        d = len(self.categories)
        if d == 0 or len(self.fill) != d or (self.names is not None and len(self.names) != d):
            raise InputError("names, categories and fill must have one entry per feature.")
        check_names(self.names, d)
        for known, code in zip(self.categories, self.fill, strict=True):
            if known and code not in range(len(known)):
                raise InputError("fill must be the position of a category.")

    def _check_maps(self) -> None:
        n_classes = self.maps[0].n_classes if self.maps else None
        scale = self.maps[0].scale if self.maps else None
        if len(self.maps) != len(self.parent) or scale not in (self.scale, "raw"):
            raise InputError('maps must be one per node, of the tree\'s scale or "raw".')
        for fitted in self.maps:
            if not isinstance(fitted, CalibrationMap) or fitted.features:
                raise InputError("a tree's maps must be maps without features, not trees.")
            if fitted.scale != scale or (fitted.n_classes or 2) != (n_classes or 2):
                raise InputError("maps must have one scale and one number of classes.")

    def _check_structure(self) -> None:
        """Nodes in pre-order, each inner one with its number of children: a tree, no cycle."""
        n, d = len(self.parent), len(self.categories)
        if self.parent[0] != -1 or (self.attribute >= d).any():
            raise InputError("the first node must be the root, and features must exist.")
        parents, asked = self.parent.tolist(), self.attribute.tolist()
        children: list[list[int]] = [[] for _ in range(n)]
        path = [0]  # from the root to the node before
        for node in range(1, n):
            while path and path[-1] != parents[node]:
                path.pop()
            if not path:
                raise InputError(f"node {node} does not follow its parent in pre-order.")
            children[path[-1]].append(node)
            path.append(node)
        for node, below in enumerate(children):
            a = asked[node]
            known = None if a < 0 else self.categories[a]
            wanted = 0 if a < 0 else 2 if known is None else len(known)
            if len(below) != wanted or (a >= 0 and wanted == 0):
                raise InputError(f"node {node} must have {wanted} children; it has {len(below)}.")
        first = np.cumsum([0] + [len(below) for below in children[:-1]])
        flat = np.array([child for below in children for child in below], dtype=np.int64)
        object.__setattr__(self, "_first_child", first.astype(np.int64))
        object.__setattr__(self, "_children", flat)

    @classmethod
    def _decode(cls, parameters: dict[str, Any]) -> dict[str, Any]:
        documents = parameters["maps"]
        names, categories = parameters["names"], parameters["categories"]
        if not isinstance(documents, list):
            raise MapFormatError("maps must be a list of maps.")
        for document in documents:
            if isinstance(document, dict) and document.get("family") in (cls.family, "group"):
                raise MapFormatError("a tree map cannot hold another, nor a group map.")
        check_decoded_features(names, categories)
        result = {
            name: _json.decode(parameters[name], name)
            for name in ("parent", "attribute", "cut", "weight", "fill")
        }
        if not all(isinstance(value, np.ndarray) for value in result.values()):
            raise MapFormatError("parent, attribute, cut, weight and fill must be lists.")
        result["maps"] = tuple(CalibrationMap.from_dict(document) for document in documents)
        result["names"] = None if names is None else tuple(names)
        result["categories"] = tuple(categories)
        return result

    def nodes_of(self, features: Any) -> npt.NDArray[np.int32]:
        """The node (a leaf, unless a category is unknown) that each row of features leads to."""
        return self.nodes_of_encoded(self.space.encode(features))

    def nodes_of_encoded(self, encoded: Floats) -> npt.NDArray[np.int32]:
        """:meth:`nodes_of` of features whose categories are codes already."""
        first, children = self.__dict__["_first_child"], self.__dict__["_children"]
        nodes: npt.NDArray[np.int32] = route(
            encoded,
            self.fill,
            self.space.n_values,
            self.attribute,
            self.cut,
            first,
            children,
        )
        return nodes

    @property
    def band_of_forecasts(self) -> bool:
        """True: probabilities also depend on features."""
        return True

    def _apply(self, scores: Floats) -> Floats:
        raise InputError("a tree map needs the original features: pass features=.")

    def _apply_valid(self, scores: Floats, features: Any = None) -> Floats:
        """Map validated scores of rows with these features."""
        result = self._apply_to_all(scores, features)
        return result[:, 1] if scores.ndim == 1 else result

    def _apply_to_all(self, scores: Floats, features: Any = None) -> Floats:
        """Probabilities of all classes, of shape (n, n_classes), from validated scores."""
        return self._apply_encoded(scores, self.space.encode(features))

    def _apply_encoded(self, scores: Floats, encoded: Floats) -> Floats:
        """:meth:`_apply_to_all` with features whose categories are codes already."""
        nodes = self.nodes_of_encoded(encoded)
        if len(nodes) != len(scores):
            raise InputError(
                f"Found input variables with inconsistent numbers of samples: scores has "
                f"{len(scores)} rows, features has {len(nodes)}."
            )
        with np.errstate(all="ignore"):
            return self._apply_maps(scores, nodes)

    def at_node(self, node: int, scores: Any) -> Floats:
        """Probabilities (n, n_classes) by the map of one node, whatever the features."""
        node = check_integer(node, "node", 0, most=len(self.maps) - 1)
        array = self._validated(scores)
        return self._apply_maps(array, np.full(len(array), node, dtype=np.int32))

    def _apply_maps(self, scores: Floats, nodes: npt.NDArray[np.int32]) -> Floats:
        if self.n_classes == 2:
            scores = self._scores_for_maps(scores)
        if self.maps[0].scale != self.scale:
            scores = score_columns(scores, self.scale)
        coef = self._linear()
        if coef is not None:
            columns = np.ascontiguousarray(scores.reshape(len(scores), -1))
            p = linear_probabilities(columns, nodes, coef)
            return np.concatenate([1 - p, p], axis=1) if p.shape[1] == 1 else p
        result = np.empty((len(scores), self.n_classes))
        order = np.argsort(nodes, kind="stable")
        starts = np.searchsorted(nodes[order], np.arange(len(self.maps) + 1))
        for node, fitted in enumerate(self.maps):
            rows = order[starts[node] : starts[node + 1]]
            if len(rows):
                result[rows] = _both(fitted, scores[rows])
        return result

    def _scores_for_maps(self, scores: Floats) -> Floats:
        """Two columns as one for binary maps, one as two for maps of both columns."""
        if not isinstance(self.maps[0], SoftmaxMap):
            return positive_column(scores, self.scale) if scores.ndim == 2 else scores
        if scores.ndim == 2:
            return scores
        pair = (1 - scores, scores) if self.scale == "probability" else (-scores / 2, scores / 2)
        return np.stack(pair, axis=1)

    def _linear(self) -> Floats | None:
        """Slopes and intercepts of all nodes if there is no more to them, for the kernel."""
        if self.maps[0].scale != "raw":
            return None
        lines = [[[m.a, m.c]] for m in self.maps if isinstance(m, LogOddsMap) and _is_line(m)]
        if len(lines) == len(self.maps):
            return np.array(lines)
        planes = [
            np.concatenate([m.weights, m.bias[:, None]], axis=1)
            for m in self.maps
            if isinstance(m, SoftmaxMap) and m.weights.ndim == 2
        ]
        return np.array(planes) if len(planes) == len(self.maps) else None

    def _formulas(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        wanted = self._expressions_for_maps(scores)
        if self.maps[0].scale != self.scale:
            wanted = tuple(_log_odds(score, self.scale) for score in wanted)
        children = children_of(self)

        @cache
        def at_node(node: int) -> tuple[Expression, ...]:
            return self.maps[node].expression(wanted)

        def below(node: int, output: int) -> Expression:
            own = at_node(node)[output]
            if not children[node]:
                return own
            return self._choice(node, [below(child, output) for child in children[node]], own)

        n_outputs = len(at_node(0))
        if len(scores) == 1:
            return (below(0, n_outputs - 1),)
        if n_outputs == 1:
            p = below(0, 0)
            return 1 - p, p
        return tuple(below(0, output) for output in range(n_outputs))

    def _with_log_odds_shift(self, shift: float, tolerance: float) -> TreeMap:
        maps = tuple(m._with_log_odds_shift(shift, tolerance) for m in self.maps)
        return replace(self, maps=maps)

    def _with_logit_shift(self, shift: Floats) -> TreeMap:
        return replace(self, maps=tuple(m._with_logit_shift(shift) for m in self.maps))

    def _expressions_for_maps(self, scores: Sequence[Expression]) -> tuple[Expression, ...]:
        """The twin of :meth:`_scores_for_maps`."""
        if self.n_classes != 2:
            return tuple(scores)
        if not isinstance(self.maps[0], SoftmaxMap):
            return tuple(scores) if len(scores) == 1 else (positive_expression(scores, self.scale),)
        if len(scores) == 2:
            return tuple(scores)
        (score,) = scores
        return (1 - score, score) if self.scale == "probability" else (-score / 2, score / 2)

    def _choice(self, node: int, values: list[Expression], own: Expression) -> Expression:
        """The branch of an inner node, or its own formula for a category that was not seen."""
        index = int(self.attribute[node])
        known, fill = self.categories[index], float(self.fill[index])
        feature = Feature(index, self.space.name(index), known)
        if known is None:
            cut, (left, right) = float(self.cut[node]), values
            # A missing value fails both conditions, so it goes where the other branch is.
            if fill <= cut:
                return Choose(((FeatureAbove(feature, cut), right),), left)
            return Choose(((FeatureAtMost(feature, cut), left),), right)
        branches: list[tuple[Condition, Expression]] = []
        for code, (category, value) in enumerate(zip(known, values, strict=True)):
            condition: Condition = FeatureIs(feature, category)
            if code == fill:
                condition = AnyOf((condition, FeatureMissing(feature)))
            branches.append((condition, value))
        return Choose(tuple(branches), own)

    def export_text(self, decimals: int = 3) -> str:
        """The tree as lines of text, one for each branch, with the leaves' weights and maps."""
        decimals = check_integer(decimals, "decimals", 0, most=17)
        children = children_of(self)
        if len(self.maps) == 1:
            return f"one leaf: {self._leaf_text(0, decimals)}"
        lines = []
        # Nodes still to write, with their depth and the condition that leads to them.
        waiting = [(0, -1, "")]
        while waiting:
            node, depth, condition = waiting.pop()
            if node > 0:
                leaf = "" if children[node] else f": {self._leaf_text(node, decimals)}"
                lines.append("|   " * depth + condition + leaf)
            for branch in reversed(range(len(children[node]))):
                child = children[node][branch]
                waiting.append((child, depth + 1, branch_text(self, node, branch, decimals)))
        return "\n".join(lines)

    def _leaf_text(self, node: int, decimals: int) -> str:
        """The map of a leaf, as short as its family allows, and the training weight."""
        fitted, text = self.maps[node], self.maps[node].family
        if isinstance(fitted, LogOddsMap) and fitted.a == fitted.b:
            text = f"σ({fitted.a:.{decimals}f}·z {fitted.c:+.{decimals}f})"
        return f"{text}  (n={self.weight[node]:g})"


def _is_line(fitted: LogOddsMap) -> bool:
    return fitted.a == fitted.b and fitted.lower == -np.inf and fitted.upper == np.inf


def _both(fitted: CalibrationMap, scores: Floats) -> Floats:
    """Probabilities of all classes by a node's own map."""
    p = fitted._apply(scores)
    return np.stack([1 - p, p], axis=1) if scores.ndim == 1 else p


def _log_odds(score: Expression, scale: str) -> Expression:
    """The twin of :func:`trueodds.maps.features.score_columns`."""
    low, high = (Constant(float(np.log(p / (1 - p)))) for p in (ZERO, ONE))
    if scale == "probability":
        inner = probability_log_odds(score)
        return Choose(((score <= 0, low), (score >= 1, high)), inner)
    # Of infinite log-odds, both count as the upper end in size.
    low = Constant(-high.value)
    return Choose(((score >= INFINITE, high), (score <= -INFINITE, low)), score)


def children_of(tree: TreeMap) -> list[list[int]]:
    """The children of every node, in order."""
    children: list[list[int]] = [[] for _ in tree.maps]
    for node, parent in enumerate(tree.parent.tolist()):
        if parent >= 0:
            children[parent].append(node)
    return children


def branch_text(tree: TreeMap, node: int, branch: int, decimals: int) -> str:
    """What a row must satisfy to go from a node into one of its branches."""
    a = int(tree.attribute[node])
    name, known = tree.space.name(a), tree.categories[a]
    if known is not None:
        return f"{name} = {known[branch]}"
    return f"{name} {'<=' if branch == 0 else '>'} {tree.cut[node]:.{decimals}f}"
