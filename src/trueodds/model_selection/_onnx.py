"""How skl2onnx converts a calibrated classifier: each member's model and map, then their mean."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.exceptions import InputError

__all__ = ["convert", "parse", "set_shapes"]

ROUNDED = 2.5e-7
"""How far below an edge a score that was computed in float32 still counts as on it, relatively."""
FLOAT32_PACKAGES = ("catboost", "lightgbm", "xgboost", "sklearn.ensemble", "sklearn.tree")
DOUBLE = 11  # as onnx.TensorProto numbers types


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
    members = [
        _member(graph, member, operator.inputs, len(model.classes_))
        for member in model.calibrated_classifiers_
    ]
    total = members[0]
    for other in members[1:]:
        total = graph.op("Add", total, other)
    if len(members) > 1:
        total = graph.op("Div", total, graph.table(np.array(float(len(members)))))
    graph.op("Identity", total, into=operator.outputs[1].full_name)
    best = graph.op("ArgMax", total, axis=1, keepdims=0)
    labels = graph.op("Gather", _labels(graph, model.classes_), best)
    graph.op("Identity", labels, into=operator.outputs[0].full_name)


def _member(graph: _Writer, member: Any, inputs: list[Any], n_classes: int) -> str:
    """Probabilities of all classes from one model and its map."""
    calibrator = member.calibrator
    if not isinstance(calibrator, Calibrator):
        raise InputError("only calibrators of trueodds can be exported to ONNX.")
    drawn = calibrator.map_
    if drawn.attributes:
        raise InputError(
            "a map that asks for attributes cannot be joined to its model in ONNX; export it with "
            "map.to_onnx() and give it scores and attributes."
        )
    scores = graph.model(member, inputs)
    rounded = _computes_in_float32(member.estimator, inputs)
    n_known = len(member.known)
    if n_known == 2 and drawn.takes_one_score:
        column = graph.op("Gather", scores, graph.table(np.array(1)), axis=1)
        positive = graph.inline(drawn.to_onnx(edges_below=ROUNDED if rounded else 0.0), column)
        negative = graph.op("Sub", graph.table(np.array(1.0)), positive)
        standing = [
            graph.op("Unsqueeze", x, graph.table(np.array([1]))) for x in (negative, positive)
        ]
        result = graph.op("Concat", *standing, axis=1)
    else:
        result = graph.inline(drawn.to_onnx(edges_below=ROUNDED if rounded else 0.0), scores)
    if n_known == n_classes:
        return result
    places = np.zeros((n_known, n_classes))
    places[np.arange(n_known), member.known] = 1.0
    return graph.op("MatMul", result, graph.table(places))


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

    def model(self, member: Any, inputs: list[Any]) -> str:
        """The scores of a member's model in float64, a column for each class that it knows."""
        from skl2onnx._parse import _parse_sklearn
        from sklearn.frozen import FrozenEstimator
        from sklearn.pipeline import Pipeline

        model = member.estimator
        if isinstance(model, FrozenEstimator):
            model = model.estimator
        last = model.steps[-1][1] if isinstance(model, Pipeline) else model
        asked = _options(last, raw=member.method == "decision_function")
        for keeper in (self.scope, self.container):
            keeper.add_options(id(last), asked)
        if _rounds_features(last):
            if last is not model and len(model.steps) > 1:
                inputs = _parse_sklearn(self.scope, model[:-1], inputs)
            model, inputs = last, self.rounded(inputs)
        outputs = _parse_sklearn(self.scope, model, inputs)
        scores = self.scope.get_unique_variable_name("scores")
        self.container.add_node("Cast", outputs[1].full_name, scores, to=DOUBLE)
        return str(scores)

    def rounded(self, inputs: list[Any]) -> list[Any]:
        """Features in float32."""
        from skl2onnx.common.data_types import DoubleTensorType, FloatTensorType

        if len(inputs) != 1 or not isinstance(inputs[0].type, DoubleTensorType):
            return inputs
        rounding = self.scope.declare_local_operator("SklearnCast")
        rounding.inputs = inputs
        kind = FloatTensorType(inputs[0].type.shape)
        rounding.outputs.append(self.scope.declare_local_variable("rounded", kind))
        return list(rounding.outputs)

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
    """Whether the converted model's scores are rounded to float32."""
    from skl2onnx.common.data_types import FloatTensorType

    if any(isinstance(variable.type, FloatTensorType) for variable in inputs):
        return True
    last = getattr(model, "estimator", model)
    last = last.steps[-1][1] if hasattr(last, "steps") else last
    return type(last).__module__.startswith(FLOAT32_PACKAGES)


def _rounds_features(model: Any) -> bool:
    """Whether it is one of scikit-learn's trees, which compare features in float32."""
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.ensemble._forest import ForestClassifier
    from sklearn.tree import DecisionTreeClassifier

    return isinstance(model, (GradientBoostingClassifier, ForestClassifier, DecisionTreeClassifier))


def _label_type(model: Any) -> Any:
    from skl2onnx.common.data_types import Int64TensorType, StringTensorType

    return Int64TensorType if model.classes_.dtype.kind in "biuf" else StringTensorType


def _labels(graph: _Writer, classes: Any) -> str:
    if classes.dtype.kind in "biuf":
        return graph.table(classes.astype(np.int64))
    return graph.table(np.array([str(label) for label in classes], dtype=object))
