"""A calibrated model as one ONNX graph: the base model's converter, then the map.

scikit-learn's models are converted by skl2onnx, those of LightGBM and XGBoost by onnxmltools,
CatBoost's by itself. ``CalibratedClassifier`` tells skl2onnx by methods of its own how it is
converted (``onnx_converter``), so it need not be registered.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from trueodds.basics.optional import require
from trueodds.exceptions import InputError

__all__ = ["register_onnx_converters", "to_onnx"]

HINT = "trueodds[onnx] skl2onnx onnxmltools"
OURS = "TrueoddsCalibratedClassifier"
OPSETS = {"": 17, "ai.onnx.ml": 3}
"""What skl2onnx, onnxmltools and the maps can all write."""
TREE_OPSET = 5
"""Of ai.onnx.ml, since which trees can be in float64. skl2onnx does not know it, so its number is
written into the graph afterwards."""
TREES_IN_FLOAT64: ContextVar[bool] = ContextVar("TREES_IN_FLOAT64", default=False)
"""Whether the graph that is being written may have trees in float64."""


def to_onnx(model: Any, X: Any = None) -> Any:
    """A fitted model, calibrated or with a calibrated model inside, as one ONNX graph.

    Parameters
    ----------
    model : CalibratedClassifier, or a pipeline or a vote with such inside
        Fitted. The base model may be whatever skl2onnx, onnxmltools or CatBoost can convert.
    X : {array, pandas frame}, default=None
        A row or more as the model gets them: the graph takes what has their types. A frame gives
        one input for each column. None for one input ``X`` of float64 numbers.

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label``, and ``probabilities`` of shape (N, n_classes) in float64.

    Notes
    -----
    Everything is computed in float64, but for XGBoost's trees, forests of several classes, and
    models other than trees if X is float32. Where a score of these is a hair below the edge of a
    step, it counts as on it; see ``docs/export.md``.

    Examples
    --------
    >>> import onnxruntime
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from trueodds import BetaCalibrator, CalibratedClassifier
    >>> from trueodds.export import to_onnx
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = CalibratedClassifier(GaussianNB(), BetaCalibrator()).fit(X, y)
    >>> session = onnxruntime.InferenceSession(to_onnx(model).SerializeToString())
    >>> session.run(["probabilities"], {"X": X[:2]})[0].round(2)
    array([[1.  , 0.  ],
           [0.99, 0.01]])
    """
    skl2onnx = require("skl2onnx", "an export of a model to ONNX", HINT)
    register_onnx_converters()
    initial = None
    if X is None:
        if not hasattr(model, "n_features_in_"):
            raise InputError("the model does not say how many features it takes; pass rows as X.")
        doubles = skl2onnx.common.data_types.DoubleTensorType
        initial = [("X", doubles([None, int(model.n_features_in_)]))]

    def write(*, float64: bool) -> Any:
        token = TREES_IN_FLOAT64.set(float64)
        try:
            written = skl2onnx.to_onnx(
                model,
                None if X is None else X[:1],
                initial_types=initial,
                target_opset=OPSETS,
                options={"zipmap": False},
            )
        finally:
            TREES_IN_FLOAT64.reset(token)
        _drop_unused(written.graph)
        return written

    graph = write(float64=True)
    kinds = {node.op_type for node in graph.graph.node}
    if "TreeEnsemble" not in kinds:
        return graph
    if kinds & {"TreeEnsembleClassifier", "TreeEnsembleRegressor"}:  # which that opset has no more
        return write(float64=False)
    return _with_tree_opset(graph)


def _drop_unused(graph: Any) -> None:
    """Drop what nobody asks for, such as the labels of base models; runtimes would compute it."""
    used = {output.name for output in graph.output}
    for node in reversed(graph.node):  # which are in the order of computation
        if used.intersection(node.output):
            used.update(_asked_for(node))
    for parts in (graph.node, graph.initializer):
        for index in reversed(range(len(parts))):
            names = parts[index].output if parts is graph.node else [parts[index].name]
            if not used.intersection(names):
                del parts[index]


def _asked_for(node: Any) -> Iterator[str]:
    """Names that a node uses, by itself or in a graph inside it (a loop)."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _asked_for(inner)


def _with_tree_opset(graph: Any) -> Any:
    from onnx.helper import find_min_ir_version_for

    for opset in graph.opset_import:
        if opset.domain == "ai.onnx.ml":
            opset.version = TREE_OPSET
    graph.ir_version = max(graph.ir_version, find_min_ir_version_for(graph.opset_import))
    return graph


def register_onnx_converters() -> None:
    """Tell skl2onnx how models of LightGBM, XGBoost and CatBoost are converted, and ours.

    :func:`to_onnx` does so itself; call it once before ``skl2onnx.to_onnx`` of a calibrated model
    of theirs, or of calibrated models that vote. Only libraries that are loaded already are
    registered.
    """
    skl2onnx = require("skl2onnx", "an export of a model to ONNX", HINT)
    from skl2onnx.common.shape_calculator import calculate_linear_classifier_output_shapes

    known: dict[Any, tuple[str, Any]] = {}
    if "lightgbm" in sys.modules:
        require("onnxmltools", "an export of LightGBM's models to ONNX", HINT)
        from onnxmltools.convert.lightgbm.operator_converters.LightGbm import convert_lightgbm

        kind = sys.modules["lightgbm"].LGBMClassifier
        known[kind] = "LightGbmLGBMClassifier", convert_lightgbm
    if "xgboost" in sys.modules:
        require("onnxmltools", "an export of XGBoost's models to ONNX", HINT)
        from onnxmltools.convert.xgboost.operator_converters.XGBoost import convert_xgboost

        kind = sys.modules["xgboost"].XGBClassifier
        known[kind] = "XGBoostXGBClassifier", convert_xgboost
    if "catboost" in sys.modules:
        kind = sys.modules["catboost"].CatBoostClassifier
        known[kind] = "CatBoostClassifier", _convert_catboost
    options = {"nocl": [True, False], "zipmap": [True, False, "columns"]}
    for kind, (alias, convert) in known.items():
        skl2onnx.update_registered_converter(
            kind,
            alias,
            calculate_linear_classifier_output_shapes,
            convert,
            parser=_parse_classifier,
            options=options,
            overwrite=True,
        )
    if "trueodds.model_selection" in sys.modules:  # for voting and stacking, which look it up
        skl2onnx.update_registered_converter(
            sys.modules["trueodds.model_selection"].CalibratedClassifier,
            OURS,
            lambda operator: operator.raw_operator.onnx_shape_calculator()(operator),
            _convert_calibrated,
            parser=_parse_calibrated,
            options=options,
            overwrite=True,
        )


def _parse_classifier(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    """Labels and probabilities as arrays, never as dictionaries.

    XGBoost and CatBoost round features to float32 before they compare them, so the graph does, too.
    """
    from skl2onnx._supported_operators import _get_sklearn_operator_name
    from skl2onnx.common.data_types import FloatTensorType, Int64TensorType

    if len(inputs) == 1 and not type(model).__module__.startswith("lightgbm"):
        rounding = scope.declare_local_operator("SklearnCast")
        rounding.inputs = inputs
        shape = getattr(inputs[0].type, "shape", None)
        rounding.outputs.append(scope.declare_local_variable("rounded", FloatTensorType(shape)))
        inputs = rounding.outputs
    operator = scope.declare_local_operator(_get_sklearn_operator_name(type(model)), model)
    operator.inputs = inputs
    operator.outputs.append(scope.declare_local_variable("label", Int64TensorType()))
    operator.outputs.append(scope.declare_local_variable("probabilities", FloatTensorType()))
    return operator.outputs


def _parse_calibrated(scope: Any, model: Any, inputs: Any, custom_parsers: Any = None) -> Any:  # noqa: ARG001
    operator = scope.declare_local_operator(OURS, model)
    operator.inputs = inputs
    for variable in model.onnx_parser()(scope=scope, inputs=inputs):
        operator.outputs.append(variable)
    return operator.outputs


def _convert_calibrated(scope: Any, operator: Any, container: Any) -> None:
    operator.raw_operator.onnx_converter()(scope, operator, container)


def _convert_catboost(scope: Any, operator: Any, container: Any) -> None:
    """CatBoost's own graph is one node for the trees, and one that makes dictionaries of them."""
    from catboost.utils import convert_to_onnx_object
    from onnx.helper import get_attribute_value

    graph = convert_to_onnx_object(operator.raw_operator).graph
    (trees,) = [node for node in graph.node if node.op_type == "TreeEnsembleClassifier"]
    attributes = {item.name: get_attribute_value(item) for item in trees.attribute}
    container.add_node(
        "TreeEnsembleClassifier",
        operator.inputs[0].full_name,
        [operator.outputs[0].full_name, operator.outputs[1].full_name],
        op_domain="ai.onnx.ml",
        name=scope.get_unique_operator_name("TreeEnsembleClassifier"),
        **attributes,
    )
