"""How skl2onnx converts a calibrated classifier: each member's model and map, then their mean.

Trees, votes, bags, stacks, one-vs-rest and scikit-learn's own calibrated models are written here,
in float64 throughout; skl2onnx and the libraries' converters write all other base models.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import ColumnTransformer
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import BaggingClassifier, StackingClassifier, VotingClassifier
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection._search import BaseSearchCV
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder

from trueodds.basics.warned import ignored_warnings
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export.onnx.formula import render_onnx
from trueodds.export.onnx.model import PRECISION
from trueodds.export.onnx.side_by_side import side_by_side
from trueodds.export.onnx.trees import TreeScores, trees_of

__all__ = ["convert", "parse", "set_shapes"]

ROUNDED = 2.5e-7
"""How far below an edge a score that was computed in float32 still counts as on it, relatively."""
FLOAT, DOUBLE = 1, 11  # as onnx.TensorProto numbers types
NO_LABEL = {"text": "", "integer": np.iinfo(np.int64).min, "float": np.nan}
"""The label of a row whose probabilities are NaN, which is no class."""


def parse(model: Any, *, scope: Any, inputs: Any) -> list[Any]:  # noqa: ARG001
    """The variables that the classifier gives: labels and probabilities."""
    from skl2onnx.common.data_types import DoubleTensorType

    kind = _label_type(model)
    return [
        scope.declare_local_variable("label", kind()),
        scope.declare_local_variable("probabilities", DoubleTensorType()),
    ]


def set_shapes(operator: Any) -> None:
    """Rows are free, columns are classes."""
    from skl2onnx.common.data_types import DoubleTensorType

    model = operator.raw_operator
    operator.outputs[0].type = _label_type(model)([None])
    operator.outputs[1].type = DoubleTensorType([None, len(model.classes_)])


def convert(scope: Any, operator: Any, container: Any) -> None:
    """Write the graph of a fitted classifier."""
    model = operator.raw_operator
    graph = _Writer(scope, container)
    members = model.calibrated_classifiers_
    inputs = operator.inputs
    total = _together(graph, members, inputs)
    if total is None:
        total = graph.mean([_member(graph, member, inputs) for member in members])
    total = _without_refused(graph, total, members[0], inputs)
    graph.op("Identity", total, into=operator.outputs[1].full_name)
    best = graph.op("ArgMax", total, axis=1, keepdims=0)
    summed = graph.op("ReduceSum", total, graph.table(np.array([1])), keepdims=0)
    unknown = graph.op("IsNaN", summed)
    place = graph.op("Where", unknown, graph.table(np.array(len(model.classes_))), best)
    graph.op("Gather", _labels(graph, model.classes_), place, into=operator.outputs[0].full_name)


def _together(graph: _Writer, members: list[Any], inputs: list[Any]) -> str | None:
    """The mean of models of two classes whose maps differ in their numbers alone, or None."""
    if len(members) == 1 or any(member.n_classes != 2 for member in members):
        return None
    formula = side_by_side([_map_of(member).formula() for member in members])
    if formula is None:
        return None
    columns = graph.op("Concat", *(graph.scores(member, inputs) for member in members), axis=1)
    drawn = render_onnx(formula, {}, edges_below=_lowered(), n_models=len(members))
    total = graph.in_turn(graph.both_classes(graph.inline(drawn, columns)), 2)
    return graph.op("Div", total, graph.table(np.array(float(len(members)))))


def _member(graph: _Writer, member: Any, inputs: list[Any]) -> str:
    """Probabilities of all classes from one model and its map."""
    drawn = _map_of(member).to_onnx(edges_below=_lowered())
    result = graph.inline(drawn, graph.scores(member, inputs))
    if len(member.known) == 2:
        result = graph.both_classes(result)
    if len(member.known) == member.n_classes:
        return result
    return graph.place_columns(result, member.known, member.n_classes)


def _lowered() -> float:
    return ROUNDED if PRECISION.get().rounded else 0.0


def _inside(model: Any) -> Any:
    """The model that predicts for a frozen one, a search or a pipeline; None for others."""
    if isinstance(model, FrozenEstimator):
        return model.estimator
    if isinstance(model, BaseSearchCV):
        return model.best_estimator_
    return model.steps[-1][1] if isinstance(model, Pipeline) else None


def _without_refused(graph: _Writer, total: str, member: Any, inputs: list[Any]) -> str:
    """NaN for rows with a missing or infinite number where the base model refuses such in Python.

    Tried on rows of zeros with one such number; what pipelines and bags do depends on the column.
    """
    from skl2onnx.common.data_types import StringTensorType

    texts = any(isinstance(given.type, StringTensorType) for given in inputs)
    if texts or any(
        isinstance(part, Pipeline | ColumnTransformer | BaggingClassifier)
        for part in _parts(member.estimator)
    ):
        return total
    taken = [_takes(member, number) for number in (0.0, np.nan, np.inf)]
    if not taken[0] or all(taken):
        return total
    features = graph.matrix(inputs)
    if taken[1]:
        missing = graph.op("IsNaN", features)
        features = graph.op("Where", missing, graph.table(np.array(0.0)), features)
    if taken[2]:
        limit = graph.table(np.array(np.finfo(float).max))
        features = graph.op("Clip", features, graph.op("Neg", limit), limit)
    nothing = graph.op("Mul", features, graph.table(np.array(0.0)))  # NaN of what is not finite
    added = graph.op("ReduceSum", nothing, graph.table(np.array([1])), keepdims=1)
    return graph.op("Add", total, added)


def _takes(member: Any, number: float) -> bool:
    try:
        row = np.zeros((1, member.estimator.n_features_in_))
        row[0, 0] = number
        with ignored_warnings(), np.errstate(all="ignore"):  # rows of a frame have names
            member.scores(row)
    except Exception:  # of any library
        return False
    return True


def _map_of(member: Any) -> Any:
    drawn: Any = getattr(member.calibrator, "map_", None)
    if not hasattr(drawn, "to_onnx"):
        raise InputError("only calibrators of trueodds can be exported to ONNX.")
    if drawn.features:
        raise InputError(
            "a map that needs features cannot be joined to its model in ONNX; export it with "
            "map.to_onnx() and give it scores and features."
        )
    return drawn


class _Writer:
    """Nodes with unique names in a graph that skl2onnx builds."""

    def __init__(self, scope: Any, container: Any) -> None:
        self.scope = scope
        self.container = container

    def op(self, kind: str, *inputs: str, into: str | None = None, **attributes: Any) -> str:
        result: str = into or self.scope.get_unique_variable_name("calibration")
        self.container.add_node(
            kind,
            list(inputs),
            [result],
            name=self.scope.get_unique_operator_name(kind),
            **attributes,
        )
        return result

    def table(self, values: Any) -> str:
        from onnx import numpy_helper

        name: str = self.scope.get_unique_variable_name("table")
        tensor = numpy_helper.from_array(np.asarray(values), name)
        self.container.initializers.append(tensor)
        return name

    def variable(self, name: str, n_columns: int | None) -> Any:
        """A matrix of float64 under this name, as skl2onnx takes it for an input."""
        from skl2onnx.common.data_types import DoubleTensorType

        result = self.scope.declare_local_variable("matrix", DoubleTensorType([None, n_columns]))
        self.op("Identity", name, into=result.full_name)
        result.init_status(is_fed=True)
        return result

    def matrix(self, inputs: list[Any]) -> str:
        """All inputs side by side in float64."""
        columns = [self.op("Cast", given.full_name, to=DOUBLE) for given in inputs]
        return columns[0] if len(columns) == 1 else self.op("Concat", *columns, axis=1)

    def column(self, matrix: str, *places: int) -> str:
        return self.op("Gather", matrix, self.table(np.array(places)), axis=1)

    def both_classes(self, positive: str) -> str:
        """Columns of the first class, then those of the second, which are given."""
        negative = self.op("Sub", self.table(np.array(1.0)), positive)
        return self.op("Concat", negative, positive, axis=1)

    def place_columns(self, columns: str, places: Any, n_classes: int) -> str:
        """Columns of some classes among those of all; the others are 0."""
        where = np.zeros((len(places), n_classes))
        where[np.arange(len(places)), np.asarray(places, dtype=int)] = 1.0
        return self.op("MatMul", columns, self.table(where))

    def mean(self, parts: Sequence[str], weights: Sequence[float] | None = None) -> str:
        """Parts are added first and divided once, as NumPy does."""
        if weights is not None:
            parts = [
                self.op("Mul", part, self.table(np.array(float(weight))))
                for part, weight in zip(parts, weights, strict=True)
            ]
        if len(parts) == 1 and weights is None:
            return parts[0]
        divisor = float(len(parts)) if weights is None else float(np.sum(weights))
        return self.op("Div", self.sum(parts), self.table(np.array(divisor)))

    def sum(self, parts: Sequence[str]) -> str:
        """Added one after the other."""
        total = parts[0]
        for part in parts[1:]:
            total = self.op("Add", total, part)
        return total

    def sigmoid(self, margins: str) -> str:
        """Not by the operator, which gives 0 below −37."""
        power = self.op("Exp", self.op("Neg", margins))
        return self.op("Reciprocal", self.op("Add", power, self.table(np.array(1.0))))

    def scores(self, member: Any, inputs: list[Any]) -> str:
        """What a member's map takes, in float64.

        There is a column for each class that the model has seen; of two, that of the second.
        """
        if member.method == "decision_function":
            return self.margins(member.estimator, inputs)
        p = self.probabilities(member.estimator, inputs)
        if len(member.known) == 2:
            p = self.column(p, 1)
        ends = self.table(np.array(0.0)), self.table(np.array(1.0))
        return self.op("Clip", p, *ends)  # a sum of rounded shares can exceed 1

    def margins(self, model: Any, inputs: list[Any]) -> str:
        """The decision function; of two classes one column."""
        model, inputs = self.last_step(model, inputs)
        trees = trees_of(model) if PRECISION.get().tree_operator else None
        if trees is not None:
            return self.trees(trees, inputs, margins=True)
        margins = self.converted(model, inputs, raw=True)
        return self.column(margins, 1) if len(model.classes_) == 2 else margins

    def probabilities(self, model: Any, inputs: list[Any]) -> str:
        """Probabilities of all classes of a base model."""
        model, inputs = self.last_step(model, inputs)
        trees = trees_of(model) if PRECISION.get().tree_operator else None
        if trees is not None:
            p = self.trees(trees, inputs)
            return self.both_classes(p) if len(trees.base) == 1 else p
        write = WRITTEN_HERE.get(type(model))
        written = write(self, model, inputs) if write else None
        return written or self.converted(model, inputs)

    def last_step(self, model: Any, inputs: list[Any]) -> tuple[Any, list[Any]]:
        """The model that predicts, and what it takes: behind frozen ones, searches, pipelines."""
        from skl2onnx._parse import _parse_sklearn
        from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

        texts = any(isinstance(given.type, StringTensorType) for given in inputs)
        ready = len(inputs) == 1 and isinstance(inputs[0].type, DoubleTensorType)
        if not (ready or texts or _tells_columns_apart(model)):
            n_columns = [_n_columns(given) for given in inputs]
            n_known = None if None in n_columns else sum(filter(None, n_columns))
            inputs = [self.variable(self.matrix(inputs), n_known)]
        while (inner := _inside(model)) is not None:
            if isinstance(model, Pipeline) and len(model.steps) > 1:
                inputs = _parse_sklearn(self.scope, model[:-1], inputs)
            model = inner
        return model, inputs

    def converted(self, model: Any, inputs: list[Any], *, raw: bool = False) -> str:
        """Probabilities, or decision values if ``raw``, as another converter writes them."""
        from skl2onnx._parse import _parse_sklearn

        asked = _options(model, raw=raw)
        for keeper in (self.scope, self.container):
            keeper.add_options(id(model), asked)
        outputs = _parse_sklearn(self.scope, model, inputs)
        return self.op("Cast", outputs[1].full_name, to=DOUBLE)

    def trees(self, model: TreeScores, inputs: list[Any], *, margins: bool = False) -> str:
        """Probabilities or decision values of trees; one column for two classes."""
        features = self.matrix(inputs)
        if model.rounds_features:
            features = self.op("Cast", features, to=FLOAT)
            if not model.in_float32:
                features = self.op("Cast", features, to=DOUBLE)
        result = self.op(
            "TreeEnsemble",
            features,
            op_domain="ai.onnx.ml",
            op_version=1,
            **model.attributes(),
        )
        if model.in_float32:
            return self.float32_link(self.in_turn(result, len(model.base)), model.link)
        if model.divisor != 1:
            result = self.op("Div", result, self.table(np.array(float(model.divisor))))
        if model.link == "identity" or margins:
            return result
        if model.slope != 1:
            result = self.op("Mul", result, self.table(np.array(model.slope)))
        return (
            self.sigmoid(result) if model.link == "sigmoid" else self.op("Softmax", result, axis=1)
        )

    def in_turn(self, columns: str, n_outputs: int) -> str:
        """Sums of columns, added one after the other as in Python: rounding depends on it.

        The columns of the first output come first.
        """
        shape = self.table(np.array([0, n_outputs, -1]))
        sums = self.op("CumSum", self.op("Reshape", columns, shape), self.table(np.array(2)))
        return self.op("Gather", sums, self.table(np.array(-1)), axis=2)

    def float32_link(self, margins: str, link: str) -> str:
        """The sigmoid or softmax of XGBoost, rounded to float32 after the same operations."""
        if link == "softmax":
            largest = self.op("ReduceMax", margins, axes=[1], keepdims=1)
            powers = self.float32_exp(self.op("Sub", margins, largest))
            wide = self.op("Cast", powers, to=DOUBLE)
            total = self.op("ReduceSum", wide, self.table(np.array([1])), keepdims=1)
            p = self.op("Div", powers, self.op("Cast", total, to=FLOAT))
        else:
            one = self.table(np.array(1.0, dtype=np.float32))
            p = self.op("Div", one, self.op("Add", self.float32_exp(self.op("Neg", margins)), one))
        return self.op("Cast", p, to=DOUBLE)

    def float32_exp(self, powers: str) -> str:
        """Rounded correctly, as C libraries nearly always do; runtimes' own in float32 is not."""
        return self.op("Cast", self.op("Exp", self.op("Cast", powers, to=DOUBLE)), to=FLOAT)

    def inline(self, graph: Any, scores: str) -> str:
        """Write a map's graph into this one; returns the name of its result."""
        from onnx.helper import get_attribute_value

        names = {"scores": scores}
        for tensor in graph.graph.initializer:
            copied = type(tensor)()
            copied.CopyFrom(tensor)
            copied.name = names[tensor.name] = self.scope.get_unique_variable_name("table")
            self.container.initializers.append(copied)
        for node in graph.graph.node:
            attributes = {item.name: get_attribute_value(item) for item in node.attribute}
            inputs = [names[name] for name in node.input]
            names[node.output[0]] = self.op(node.op_type, *inputs, **attributes)
        return names[graph.graph.output[0].name]


def _options(model: Any, *, raw: bool) -> dict[str, bool]:
    """The options for its converter; not every converter has every option."""
    from skl2onnx._supported_operators import _get_sklearn_operator_name
    from skl2onnx.common._registration import get_converter

    alias = _get_sklearn_operator_name(type(model))
    known = {} if alias is None else get_converter(alias).get_allowed_options() or {}
    if raw and "raw_scores" not in known:
        raise InputError(
            f"skl2onnx cannot write the decision function of {type(model).__name__}; calibrate its "
            "probabilities instead (response_method='predict_proba')."
        )
    asked = {"zipmap": False} if "zipmap" in known else {}
    return {**asked, "raw_scores": True} if raw else asked


def _n_columns(variable: Any) -> int | None:
    shape = getattr(variable.type, "shape", None)
    return shape[1] if shape and len(shape) == 2 else None


def _tells_columns_apart(model: Any) -> bool:
    """Whether the names or types of a frame's columns matter somewhere in the model."""
    kinds = ColumnTransformer, OneHotEncoder, OrdinalEncoder
    return any(isinstance(part, kinds) for part in _parts(model))


def _parts(model: Any) -> list[Any]:
    """A model and what it is made of, however deep."""
    inner = model.get_params(deep=True).values() if hasattr(model, "get_params") else ()
    return [model, *inner]


# Base models written here. Each function returns None for what it leaves to skl2onnx. ---------


def _write_vote(graph: _Writer, model: Any, inputs: list[Any]) -> str | None:
    if model.voting != "soft":
        return None
    parts = [graph.probabilities(member, inputs) for member in model.estimators_]
    return graph.mean(parts, model._weights_not_none)


def _write_bag(graph: _Writer, model: Any, inputs: list[Any]) -> str | None:
    if not all(hasattr(member, "predict_proba") for member in model.estimators_):
        return None
    n_classes, features = len(model.classes_), graph.matrix(inputs)
    parts = []
    for member, columns in zip(model.estimators_, model.estimators_features_, strict=True):
        chosen = graph.variable(graph.column(features, *columns), len(columns))
        p = graph.probabilities(member, [chosen])
        if len(member.classes_) < n_classes:
            p = graph.place_columns(p, member.classes_, n_classes)
        parts.append(p)
    return graph.mean(parts)


def _write_stack(graph: _Writer, model: Any, inputs: list[Any]) -> str | None:
    if not set(model.stack_method_) <= {"predict_proba", "decision_function"}:
        return None
    binary = len(model.classes_) == 2
    parts = []
    for member, method in zip(model.estimators_, model.stack_method_, strict=True):
        if method == "decision_function":
            parts.append(graph.margins(member, inputs))
        else:
            p = graph.probabilities(member, inputs)
            parts.append(graph.column(p, 1) if binary else p)
    if model.passthrough:
        parts.append(graph.matrix(inputs))
    joined = graph.op("Concat", *parts, axis=1)
    width = getattr(model.final_estimator_, "n_features_in_", None)
    return graph.probabilities(model.final_estimator_, [graph.variable(joined, width)])


def _write_one_vs_rest(graph: _Writer, model: Any, inputs: list[Any]) -> str | None:
    if model.multilabel_ or not all(hasattr(m, "classes_") for m in model.estimators_):
        return None  # a class that was never, or always there
    columns = [graph.column(graph.probabilities(m, inputs), 1) for m in model.estimators_]
    if len(columns) == 1:
        return graph.both_classes(columns[0])
    return _shares(graph, columns, otherwise=0.0)


def _write_calibrated(graph: _Writer, model: Any, inputs: list[Any]) -> str | None:
    """scikit-learn's own calibration: a sigmoid or an isotonic curve for each class."""
    n_classes = len(model.classes_)
    parts = []
    for member in model.calibrated_classifiers_:
        base = member.estimator
        if member.method == "temperature" or len(base.classes_) < n_classes:
            return None
        if hasattr(base, "decision_function"):
            scores = graph.margins(base, inputs)
        else:
            scores = graph.probabilities(base, inputs)
            scores = graph.column(scores, 1) if n_classes == 2 else scores
        columns = [
            _platt_or_isotonic(graph, calibrator, graph.column(scores, k))
            for k, calibrator in enumerate(member.calibrators)
        ]
        if n_classes == 2:
            parts.append(graph.both_classes(columns[0]))
        else:
            parts.append(_shares(graph, columns, otherwise=1.0 / n_classes))
    return graph.mean(parts)


def _platt_or_isotonic(graph: _Writer, calibrator: Any, scores: str) -> str:
    if hasattr(calibrator, "a_"):
        slope, offset = graph.table(np.array(-calibrator.a_)), graph.table(np.array(calibrator.b_))
        return graph.sigmoid(graph.op("Sub", graph.op("Mul", scores, slope), offset))
    score = e.Score(0)
    curve = e.LinearLookup(score, calibrator.X_thresholds_, calibrator.y_thresholds_)
    formula = e.Formula(1, "raw", e.Usable(score, "raw", several=False), (curve,))
    return graph.inline(render_onnx(formula, {}), scores)


def _shares(graph: _Writer, columns: Sequence[str], *, otherwise: float) -> str:
    """Rows divided by their sums, in NumPy's order; ``otherwise`` where the sum is 0."""
    total = graph.sum(columns)
    empty = graph.op("Equal", total, graph.table(np.array(0.0)))
    p = graph.op("Div", graph.op("Concat", *columns, axis=1), total)
    return graph.op("Where", empty, graph.table(np.array(otherwise)), p)


def _write_discriminant(graph: _Writer, model: Any, inputs: list[Any]) -> str | None:
    if len(model.classes_) != 2:
        return None
    product = graph.op("MatMul", graph.matrix(inputs), graph.table(model.coef_.T))
    margins = graph.op("Add", product, graph.table(model.intercept_))
    return graph.both_classes(graph.sigmoid(margins))


WRITTEN_HERE: dict[type, Callable[[_Writer, Any, list[Any]], str | None]] = {
    VotingClassifier: _write_vote,
    BaggingClassifier: _write_bag,
    StackingClassifier: _write_stack,
    OneVsRestClassifier: _write_one_vs_rest,
    CalibratedClassifierCV: _write_calibrated,
    LinearDiscriminantAnalysis: _write_discriminant,
}


def _label_kind(classes: Any) -> str:
    if classes.dtype.kind in "biu":
        return "integer"
    return "float" if classes.dtype.kind == "f" else "text"


def _label_type(model: Any) -> Any:
    from skl2onnx.common import data_types

    kinds = {
        "integer": data_types.Int64TensorType,
        "float": data_types.DoubleTensorType,
        "text": data_types.StringTensorType,
    }
    return kinds[_label_kind(model.classes_)]


def _labels(graph: _Writer, classes: Any) -> str:
    """The classes, and last what stands for none of them."""
    kind = _label_kind(classes)
    if kind == "text":
        texts = [*map(str, classes), NO_LABEL[kind]]
        return graph.table(np.array(texts, dtype=object))
    dtype = np.int64 if kind == "integer" else np.float64
    return graph.table(np.append(classes.astype(dtype), np.array(NO_LABEL[kind], dtype=dtype)))
