"""How skl2onnx converts a calibrated classifier: each member's model and map, then their mean."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.frozen import FrozenEstimator
from sklearn.pipeline import Pipeline

from trueodds.calibrators import Calibrator
from trueodds.exceptions import InputError
from trueodds.export import render_onnx
from trueodds.export._model_onnx import TREES_IN_FLOAT64
from trueodds.export._side_by_side import side_by_side
from trueodds.maps import CalibrationMap
from trueodds.maps.exporting import formula_of
from trueodds.model_selection._onnx_trees import TreeScores, trees_of

__all__ = ["convert", "parse", "set_shapes"]

ROUNDED = 2.5e-7
"""How far below an edge a score that was computed in float32 still counts as on it, relatively."""
FLOAT32_PACKAGES = ("catboost", "lightgbm", "xgboost", "sklearn.ensemble", "sklearn.tree")
"""Whose trees are converted in float32 where they are not written here."""
FLOAT, DOUBLE = 1, 11  # as onnx.TensorProto numbers types


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
    total = _together(graph, members, operator.inputs)
    if total is None:
        total, *others = [_member(graph, member, operator.inputs) for member in members]
        for other in others:
            total = graph.op("Add", total, other)
        if others:
            total = graph.op("Div", total, graph.table(np.array(float(len(members)))))
    if len(model.classes_) == 2:
        total = graph.both_classes(total)
    graph.op("Identity", total, into=operator.outputs[1].full_name)
    best = graph.op("ArgMax", total, axis=1, keepdims=0)
    labels = _labels(graph, model.classes_)
    graph.op("Gather", labels, best, into=operator.outputs[0].full_name)


def _together(graph: _Writer, members: list[Any], inputs: list[Any]) -> str | None:
    """The mean of models of two classes whose maps differ in their numbers alone, or None."""
    if len(members) == 1 or any(member.n_classes != 2 for member in members):
        return None
    formula = side_by_side([formula_of(_map_of(member), 1) for member in members])
    if formula is None:
        return None
    scored = [graph.scores(member, inputs) for member in members]
    rounded = any(rounds for _, rounds in scored)
    columns = graph.op("Concat", *(scores for scores, _ in scored), axis=1)
    lowered = ROUNDED if rounded else 0.0
    drawn = render_onnx(formula, {}, edges_below=lowered, n_models=len(members))
    return graph.op("ReduceMean", graph.inline(drawn, columns), axes=[1], keepdims=1)


def _member(graph: _Writer, member: Any, inputs: list[Any]) -> str:
    """Probabilities of all classes from one model and its map; of two, those of the second."""
    drawn = _map_of(member)
    scores, rounded = graph.scores(member, inputs)
    result = graph.inline(drawn.to_onnx(edges_below=ROUNDED if rounded else 0.0), scores)
    n_known = len(member.known)
    if n_known == member.n_classes:
        return result
    if n_known == 2:
        result = graph.both_classes(result)
    places = np.zeros((n_known, member.n_classes))
    places[np.arange(n_known), member.known] = 1.0
    return graph.op("MatMul", result, graph.table(places))


def _map_of(member: Any) -> CalibrationMap:
    if not isinstance(member.calibrator, Calibrator):
        raise InputError("only calibrators of trueodds can be exported to ONNX.")
    drawn: CalibrationMap = member.calibrator.map_
    if drawn.attributes:
        raise InputError(
            "a map that asks for attributes cannot be joined to its model in ONNX; export it with "
            "map.to_onnx() and give it scores and attributes."
        )
    return drawn


class _Writer:
    """Nodes with names of their own in a graph that skl2onnx builds."""

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

    def both_classes(self, positive: str) -> str:
        """Two columns of the second."""
        negative = self.op("Sub", self.table(np.array(1.0)), positive)
        return self.op("Concat", negative, positive, axis=1)

    def scores(self, member: Any, inputs: list[Any]) -> tuple[str, bool]:
        """The scores of a member's model in float64, and whether they were rounded to float32.

        They have a column for each class that the model knows; of two, that of the second.
        """
        from skl2onnx._parse import _parse_sklearn

        model, last = member.estimator, _last(member.estimator)
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        margins = member.method == "decision_function"
        trees = trees_of(last) if TREES_IN_FLOAT64.get() else None
        if trees is not None:
            if last is not model and len(model.steps) > 1:
                inputs = _parse_sklearn(self.scope, model[:-1], inputs)
            return self.trees(trees, inputs, margins=margins), False
        asked = _options(last, raw=margins)
        for keeper in (self.scope, self.container):
            keeper.add_options(id(last), asked)
        outputs = _parse_sklearn(self.scope, model, inputs)
        scores = self.op("Cast", outputs[1].full_name, to=DOUBLE)
        if len(member.known) == 2:
            scores = self.op("Gather", scores, self.table(np.array([1])), axis=1)
        return scores, _computes_in_float32(last, inputs)

    def trees(self, model: TreeScores, inputs: list[Any], *, margins: bool) -> str:
        """Probabilities or margins of trees, in float64 throughout."""
        types = (FLOAT, DOUBLE) if model.rounds_features else (DOUBLE,)
        columns = [variable.full_name for variable in inputs]
        for to in types:
            columns = [self.op("Cast", column, to=to) for column in columns]
        features = columns[0] if len(columns) == 1 else self.op("Concat", *columns, axis=1)
        result = self.op(
            "TreeEnsemble",
            features,
            op_domain="ai.onnx.ml",
            op_version=1,
            **model.attributes(),
        )
        if model.link == "identity" or margins:
            return result
        if model.slope != 1:
            result = self.op("Mul", result, self.table(np.array(model.slope)))
        if model.link == "sigmoid":  # not by the operator, which says 0 below −37
            power = self.op("Exp", self.op("Neg", result))
            return self.op("Reciprocal", self.op("Add", power, self.table(np.array(1.0))))
        shares = self.op("Softmax", result, axis=1)
        if len(model.base) > 2:
            return shares
        return self.op("Gather", shares, self.table(np.array([1])), axis=1)

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
    """What its converter is to be told; not every converter knows every option."""
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


def _computes_in_float32(model: Any, inputs: list[Any]) -> bool:
    """Whether the scores of a model that its library converts are rounded to float32."""
    from skl2onnx.common.data_types import FloatTensorType

    floats = any(isinstance(variable.type, FloatTensorType) for variable in inputs)
    return floats or type(model).__module__.startswith(FLOAT32_PACKAGES)


def _last(model: Any) -> Any:
    """The model itself, the one that is frozen, or the last step of a pipeline."""
    if isinstance(model, FrozenEstimator):
        model = model.estimator
    return model.steps[-1][1] if isinstance(model, Pipeline) else model


def _label_type(model: Any) -> Any:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    return Int64TensorType if model.classes_.dtype.kind in "biuf" else StringTensorType


def _labels(graph: _Writer, classes: Any) -> str:
    if classes.dtype.kind in "biuf":
        return graph.table(classes.astype(np.int64))
    return graph.table(np.array([str(label) for label in classes], dtype=object))
