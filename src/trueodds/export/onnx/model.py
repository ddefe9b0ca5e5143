"""A calibrated model as one ONNX graph: the base model, then the map.

``CalibratedClassifier`` writes some base models itself; skl2onnx calls its method
``onnx_converter``. skl2onnx converts scikit-learn's other models, onnxmltools
those of LightGBM and XGBoost, CatBoost its own.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from trueodds.basics.imports import require
from trueodds.exceptions import InputError
from trueodds.export.onnx.check import check_graph, name_of
from trueodds.export.onnx.columns import columns_of

__all__ = ["PRECISION", "register_onnx_converters", "to_onnx"]

HINT = "trueodds[onnx] skl2onnx onnxmltools"
OURS = "TrueoddsCalibratedClassifier"
OPSETS = {"": 17, "ai.onnx.ml": 3}
"""What skl2onnx, onnxmltools and the maps can all write."""
TREE_OPSET = 5
"""Of ai.onnx.ml, since which trees can be in float64. skl2onnx does not write it, so its number is
put into the graph afterwards."""
FLOAT, DOUBLE = 1, 11  # as onnx.TensorProto numbers types
OLD_TREES = {"TreeEnsembleClassifier", "TreeEnsembleRegressor"}
FLOAT32_OPERATORS = OLD_TREES | {
    "Imputer", "LinearClassifier", "LinearRegressor", "Normalizer", "SVMClassifier",
    "SVMRegressor", "Scaler",
}  # fmt: skip
"""Which give float32, whatever they take."""


@dataclass(frozen=True)
class Precision:
    """How the graph that is being written computes; the default is that of ``skl2onnx.to_onnx``.

    Parameters
    ----------
    tree_operator : bool, default=False
        Whether trees may be written by the operator ``TreeEnsemble``, in float64.
    rounded : bool, default=True
        Whether some score is rounded to float32 that is not in Python, so that edges of steps must
        be lowered. XGBoost's are rounded in both.
    types : dict of str to dtype, default={}
        The types of the caller's numbers, if scikit-learn computes in them.
    """

    tree_operator: bool = False
    rounded: bool = True
    types: Mapping[str, Any] = field(default_factory=dict)


PRECISION: ContextVar[Precision] = ContextVar("PRECISION", default=Precision())  # noqa: B039 (frozen)


def to_onnx(model: Any, X: Any = None, *, check: bool = True) -> Any:
    """A fitted model, calibrated or with a calibrated model inside, as one ONNX graph.

    The graph is run in onnxruntime before it is returned, and refused if it does not give what the
    model gives in Python.

    Parameters
    ----------
    model : CalibratedClassifier, or a pipeline or a vote with such inside
        Fitted. The base model may be whatever skl2onnx, onnxmltools or CatBoost can convert.
    X : {array, frame of pandas or polars}, default=None
        Rows as the model gets them. The graph takes their types; a frame gives one input of shape
        (N, 1) for each column, of strings for texts and categories. The check runs on all of them.
        None for one input ``X`` of float64 numbers.
    check : bool, default=True
        Whether to run the graph on ``X`` and on about 650 random rows, and to compare probabilities
        and labels with ``predict_proba`` and ``predict``. It takes the time of about a dozen calls
        of ``predict_proba``.

    Returns
    -------
    onnx.ModelProto
        With the outputs ``label``, and ``probabilities`` of shape (N, n_classes) in float64. If the
        probabilities of a row are NaN, its label is no class: "" for texts, −2⁶³ for integers and
        booleans, NaN for floats.

    Raises
    ------
    InputError
        If the model cannot be written, if onnxruntime cannot run its graph, or if the graph fails
        the check.

    Warns
    -----
    UncheckedGraphWarning
        If onnxruntime is not installed, so that nothing was checked.

    Notes
    -----
    The random rows recombine values of ``X``, thresholds, means and stored rows found in the graph.
    Zeros, values far beyond that range, and missing values are tried where Python takes them.
    Columns of texts and categories take their values from ``X`` alone.

    A probability may differ by 1e-9, plus the change of the map if each base model's score moves by
    1e-10 of itself (and 1e-12 near 0). If anything in the graph is computed in float32 (XGBoost,
    support vector machines, rows of float32), the limits are 1e-6, and 1e-5 of the score (and 1e-7
    near 0). A score that close to an edge of a step map may get the value of either side. A label
    may differ only if its two best classes are closer than that. Votes and stacks *of* calibrated
    models must agree to 1e-9 (1e-5 in float32).

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
    if X is None:
        if not hasattr(model, "n_features_in_"):
            raise InputError("the model has no attribute n_features_in_; pass rows as X.")
        doubles = skl2onnx.common.data_types.DoubleTensorType
        inputs, own = [("X", doubles([None, int(model.n_features_in_)]))], [np.dtype(float)]
    else:
        inputs, own = _types_of(X)
    # Of polars and of pandas' nullable numbers scikit-learn makes float64.
    given = X.dtypes if hasattr(X, "iloc") else [getattr(X, "dtype", None)]
    numbers = {
        name: dtype if isinstance(kind, np.dtype) else np.dtype(float)
        for (name, _), dtype, kind in zip(inputs, own, given, strict=False)
        if dtype is not None
    }
    precision = Precision(tree_operator=True, rounded=False, types=numbers)
    graph = _written(model, inputs, precision)
    kinds = {node.op_type for node in graph.graph.node}
    if "TreeEnsemble" in kinds and kinds & OLD_TREES:  # which no opset has both
        raise InputError(
            f"{name_of(model)} has trees that only their library's converter writes next to others "
            "of the operator TreeEnsemble; ONNX does not have both in one graph."
        )
    if kinds & FLOAT32_OPERATORS:
        precision = replace(precision, rounded=True)
        graph = _written(model, inputs, precision)
    if "TreeEnsemble" in kinds:
        _set_tree_opset(graph)
    _take_own_types(graph.graph, own)
    if check:
        check_graph(graph, model, X, in_float32=_computes_in_float32(graph.graph))
    return graph


def _types_of(X: Any) -> tuple[list[tuple[str, Any]], list[Any]]:
    """What the graph takes, for skl2onnx, and the types of the caller; None for texts.

    Numbers of all types are float64 inside: converters mix no others.
    """
    from skl2onnx.common.data_types import DoubleTensorType, StringTensorType

    columns = columns_of(X)
    if isinstance(X, np.ndarray):
        columns = [replace(columns[0], name="X")] if columns else []
        width = X.shape[1]
    else:
        width = 1
    kinds = [StringTensorType if column.dtype is None else DoubleTensorType for column in columns]
    inputs = [
        (column.name, kind([None, width])) for column, kind in zip(columns, kinds, strict=True)
    ]
    return inputs, [column.dtype for column in columns]


def _take_own_types(graph: Any, dtypes: list[Any]) -> None:
    """Make the inputs those of the caller, who need not cast them."""
    from onnx.helper import make_node, np_dtype_to_tensor_dtype

    casts = []
    for given, dtype in zip(graph.input, dtypes, strict=True):
        if dtype in (None, np.dtype(float)):
            continue
        wide = f"{given.name}_in_float64"
        for node in graph.node:
            names = [wide if name == given.name else name for name in node.input]
            node.ClearField("input")
            node.input.extend(names)
        given.type.tensor_type.elem_type = np_dtype_to_tensor_dtype(dtype)
        casts.append(make_node("Cast", [given.name], [wide], to=DOUBLE))
    nodes = [*casts, *graph.node]
    graph.ClearField("node")
    graph.node.extend(nodes)


def _fractions(model: Any) -> str:
    """Which column a one-hot encoder takes that has fractions, for which there is no converter."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import OneHotEncoder

    parts = [model]
    for part in parts:  # which grows
        parts += [member.estimator for member in getattr(part, "calibrated_classifiers_", ())]
        parts += [step for _, step in getattr(part, "steps", ())]
        columns = part.transformers_ if isinstance(part, ColumnTransformer) else ()
        for _, encoder, names in columns:
            for step in [step for _, step in getattr(encoder, "steps", [("", encoder)])]:
                kinds = step.categories_ if isinstance(step, OneHotEncoder) else ()
                for name, categories in zip(names, kinds, strict=False):
                    if categories.dtype.kind == "f" and (categories % 1 != 0).any():
                        return (
                            f" The column {name!r} has categories that are no integers: make "
                            "them texts, or use OrdinalEncoder, and fit again."
                        )
    return ""


def _written(model: Any, inputs: Any, precision: Precision) -> Any:
    import skl2onnx
    from sklearn.impute import SimpleImputer
    from sklearn.preprocessing import StandardScaler

    token = PRECISION.set(precision)
    try:
        graph = skl2onnx.convert_sklearn(
            model,
            initial_types=inputs,
            target_opset=OPSETS,
            options={"zipmap": False},
            custom_conversion_functions={
                SimpleImputer: _convert_imputer,
                StandardScaler: _convert_scaler,
            },
        )
    except InputError:
        raise
    except Exception as error:  # of any converter, for a model that it does not take
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InputError(
            f"{name_of(model)} cannot be written in ONNX: {reason[:300]}{_fractions(model)}"
        ) from error
    finally:
        PRECISION.reset(token)
    for opset in graph.opset_import:
        if opset.domain == "":
            opset.version = OPSETS[""]
    _drop_unused(graph.graph)
    return graph


def _computes_in_float32(graph: Any) -> bool:
    """Whether any number but a feature that a tree compares is rounded to float32."""
    users: dict[str, list[Any]] = {}
    for node in graph.node:
        for name in node.input:
            users.setdefault(name, []).append(node)
    for node in graph.node:
        if node.op_type in FLOAT32_OPERATORS:
            return True
        for attribute in node.attribute:
            if attribute.name == "leaf_weights" and attribute.t.data_type == FLOAT:
                return True
            if attribute.name == "to" and attribute.i == FLOAT:
                nexts = users.get(node.output[0], [])
                if any(not _casts_to_float64(following) for following in nexts):
                    return True
    inputs = (value.type.tensor_type.elem_type for value in graph.input)
    tables = (tensor.data_type for tensor in graph.initializer)
    return FLOAT in (*inputs, *tables)


def _casts_to_float64(node: Any) -> bool:
    return any(part.name == "to" and part.i == DOUBLE for part in node.attribute)


def _drop_unused(graph: Any) -> None:
    """Drop what no output needs, such as the labels of base models; runtimes would compute it."""
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
    """Names that a node uses, directly or in a graph inside it (a loop)."""
    yield from node.input
    for attribute in node.attribute:
        for inner in attribute.g.node:
            yield from _asked_for(inner)


def _set_tree_opset(graph: Any) -> None:
    from onnx.helper import find_min_ir_version_for

    for opset in graph.opset_import:
        if opset.domain == "ai.onnx.ml":
            opset.version = TREE_OPSET
    graph.ir_version = max(graph.ir_version, find_min_ir_version_for(graph.opset_import))


def register_onnx_converters() -> None:
    """Register converters for LightGBM, XGBoost, CatBoost and trueodds with skl2onnx.

    :func:`to_onnx` does so itself. Call it once before ``skl2onnx.to_onnx`` of a calibrated model
    of these libraries, or of calibrated models that vote. Only libraries that are loaded already
    are registered.
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


def _convert_scaler(scope: Any, operator: Any, container: Any) -> None:
    """In float32 if Python does, where trees can cut at or next to a number that was rounded."""
    from onnx import numpy_helper
    from skl2onnx.common._registration import get_converter

    types = PRECISION.get().types
    known = [types[name] for name in _sources(scope, operator.inputs) if name in types]
    if not types or np.result_type(*(known or types.values())) != np.float32:
        get_converter(operator.type)(scope, operator, container)
        return
    model = operator.raw_operator
    names = [variable.full_name for variable in operator.inputs]

    def written(kind: str, *given: str, **attributes: Any) -> str:
        result: str = scope.get_unique_variable_name("scaled")
        name = scope.get_unique_operator_name(kind)
        container.add_node(kind, list(given), [result], name=name, **attributes)
        return result

    result = names[0] if len(names) == 1 else written("Concat", *names, axis=1)
    result = written("Cast", result, to=FLOAT)
    for kind, values, used in (
        ("Sub", model.mean_, model.with_mean),
        ("Div", model.scale_, model.with_std),
    ):
        if used:
            table = scope.get_unique_variable_name("table")
            tensor = numpy_helper.from_array(values.astype(np.float32), table)
            container.initializers.append(tensor)
            result = written(kind, result, table)
    name = scope.get_unique_operator_name("Cast")
    container.add_node("Cast", [result], [operator.outputs[0].full_name], name=name, to=DOUBLE)


def _sources(scope: Any, variables: list[Any]) -> set[str]:
    """The names of the inputs that some variables are made of."""
    found = {variable.raw_name for variable in variables}
    for variable in variables:
        for made in scope.operators.values():
            if any(output is variable for output in made.outputs):
                found |= _sources(scope, made.inputs)
    return found


def _convert_imputer(scope: Any, operator: Any, container: Any) -> None:
    """Missing numbers in float64, for which ONNX Runtime has no ``Imputer``."""
    from onnx import numpy_helper
    from skl2onnx.common._registration import get_converter
    from skl2onnx.common.data_types import DoubleTensorType

    model = operator.raw_operator
    doubles = all(isinstance(given.type, DoubleTensorType) for given in operator.inputs)
    fill = model.statistics_
    missing = model.missing_values
    known = isinstance(missing, float) and np.isnan(missing) and fill.dtype.kind == "f"
    if not (doubles and known) or model.add_indicator or np.isnan(fill).any():
        get_converter(operator.type)(scope, operator, container)
        return
    given, mask, table = (scope.get_unique_variable_name("imputed") for _ in range(3))
    names = [variable.full_name for variable in operator.inputs]
    container.add_node("Concat", names, [given], name=scope.get_unique_operator_name("C"), axis=1)
    container.add_node("IsNaN", [given], [mask], name=scope.get_unique_operator_name("IsNaN"))
    container.initializers.append(numpy_helper.from_array(fill, table))
    container.add_node(
        "Where",
        [mask, table, given],
        [operator.outputs[0].full_name],
        name=scope.get_unique_operator_name("Where"),
    )
