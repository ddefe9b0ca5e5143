"""Formulas as ONNX graphs in float64.

Numbers are vectors with one entry for each row; if the scores come as the only column of a matrix,
so do all numbers. Lookups are searches of :data:`PARTS` parts at a time, unrolled into as many
rounds as the table needs: exact, a few nodes even for large tables, no matrix of rows × knots.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.imports import require
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export._renderer import Renderer
from trueodds.export.expressions import all_nodes
from trueodds.inputs import Floats, category_text

__all__ = ["OPSET", "render_onnx"]

OPSET = 17
ML_OPSET = 3
IR_VERSION = 8
MISSING_TEXT = -2
PARTS = 32
"""Parts into which a round of a search divides the remaining positions. One row costs as many nodes
as there are rounds; many rows cost as many comparisons as there are parts."""

COMPARISONS = {"<": "Less", "<=": "LessOrEqual", ">": "Greater", ">=": "GreaterOrEqual"}
OPERATORS = {"+": "Add", "-": "Sub", "*": "Mul", "/": "Div"}
FUNCTIONS = {
    "log": "Log",
    "exp": "Exp",
    "abs": "Abs",
    "negative": "Neg",
    "max": "Max",
    "min": "Min",
}


def render_onnx(
    formula: e.Formula,
    metadata: Mapping[str, Any],
    *,
    edges_below: float = 0.0,
    n_models: int | None = None,
) -> Any:
    """A checked ``onnx.ModelProto``.

    The input is ``scores``, of shape (N,), or (N, n_classes) for several columns; and
    ``feature_<name>`` for each feature, of numbers (NaN if missing) or texts ("" if missing). The
    output is ``probability`` of shape (N,), or ``probabilities`` of shape (N, n_classes).

    With ``edges_below``, edges of steps are lowered by that share of themselves: for scores that
    were rounded. With ``n_models``, the formula is that of several models (see ``side_by_side``);
    scores and output then have a column for each.
    """
    onnx = require("onnx", "an export to ONNX", "trueodds[onnx]")
    graph = _Graph(onnx, formula, edges_below, n_models)
    model = onnx.helper.make_model(
        graph.build(),
        producer_name="trueodds",
        ir_version=IR_VERSION,
        opset_imports=[
            onnx.helper.make_opsetid("", OPSET),
            onnx.helper.make_opsetid("ai.onnx.ml", ML_OPSET),
        ],
    )
    texts = {f"trueodds.{name}": json.dumps(value) for name, value in metadata.items()}
    onnx.helper.set_model_props(model, texts)
    onnx.checker.check_model(model, full_check=True)
    return model


class _Graph(Renderer[str]):
    def __init__(
        self, onnx: Any, formula: e.Formula, edges_below: float, n_models: int | None
    ) -> None:
        self.onnx = onnx
        self.formula = formula
        self.edges_below = edges_below
        self.n_models = n_models
        self.nodes: list[Any] = []
        self.tables: dict[tuple[str, bytes, tuple[int, ...]], str] = {}
        self.initializers: list[Any] = []
        self.known: dict[int, str] = {}
        self.scalars: set[str] = set()  # results with one entry for all rows
        self.columns: dict[int, str] = {}  # of scores, by position
        self.shares: dict[str, str] = {}  # softmax of a matrix, by its name
        self.codes: dict[int, dict[str, int]] = {}  # of texts, by feature
        self.encoded: dict[int, str] = {}

    def build(self) -> Any:
        several = self.formula.n_scores > 1
        double, text = self.onnx.TensorProto.DOUBLE, self.onnx.TensorProto.STRING
        info = self.onnx.helper.make_tensor_value_info
        shape: list[str | int] = ["N", self.formula.n_scores] if several else ["N"]
        shape += [] if self.n_models is None else [self.n_models]
        inputs = [info("scores", double, shape)]
        inputs += [
            info(_feature_name(f), double if f.takes_numbers else text, ["N"])
            for f in self.formula.features
        ]
        self._code_texts()
        usable = self.condition(self.formula.usable)
        missing = self.constant(np.nan)
        results = [
            self.op("Where", usable, self.number(output), missing)
            for output in self.formula.outputs
        ]
        if several:
            self._rename(self.stack(results), "probabilities")
            outputs = [info("probabilities", double, ["N", len(results)])]
        else:
            self._rename(results[0], "probability")
            outputs = [info("probability", double, shape)]
        return self.onnx.helper.make_graph(
            self.nodes, "calibration", inputs, outputs, self.initializers
        )

    # Building blocks ------------------------------------------------------------------------

    def op(self, kind: str, *inputs: str, **attributes: Any) -> str:
        """Add one operation; returns the name of its result."""
        result = f"v{len(self.nodes)}"
        self.nodes.append(self.onnx.helper.make_node(kind, inputs, [result], **attributes))
        if inputs and all(name in self.scalars for name in inputs):
            self.scalars.add(result)
        return result

    def table(self, values: npt.NDArray[Any]) -> str:
        """An array that the graph holds; equal ones are held once."""
        key = (str(values.dtype), values.tobytes(), values.shape)
        if key not in self.tables:
            name = f"c{len(self.tables)}"
            self.tables[key] = name
            self.initializers.append(self.onnx.numpy_helper.from_array(values, name))
        return self.tables[key]

    def constant(self, value: float | Floats) -> str:
        name = self.table(np.array(value, dtype=np.float64))
        self.scalars.add(name)
        return name

    def integers(self, *values: int) -> str:
        return self.table(np.array(values, dtype=np.int64))

    def stack(self, columns: Sequence[str]) -> str:
        """Vectors as the columns of one matrix."""
        wide = [self._for_all_rows(name) for name in columns]
        standing = [self.op("Unsqueeze", name, self.integers(-1)) for name in wide]
        return self.op("Concat", *standing, axis=-1)

    def _for_all_rows(self, name: str) -> str:
        if name not in self.scalars:
            return name
        return self.op("Expand", name, self.op("Shape", self._first_score()))

    def _first_score(self) -> str:
        return self._score(e.Score(0))

    def _column(self, matrix: str, index: int) -> str:
        return self.op("Gather", matrix, self.table(np.array(index, dtype=np.int64)), axis=-1)

    def _rename(self, result: str, name: str) -> None:
        self.nodes.append(self.onnx.helper.make_node("Identity", [result], [name]))

    # Numbers --------------------------------------------------------------------------------

    def number(self, node: e.Expression) -> str:
        if id(node) not in self.known:
            self.known[id(node)] = self.write_number(node)
        return self.known[id(node)]

    def _constant(self, node: e.Constant) -> str:
        return self.constant(node.value)

    def _score(self, node: e.Score) -> str:
        if self.formula.n_scores == 1:
            return "scores"
        if node.index not in self.columns:
            self.columns[node.index] = self._column("scores", node.index)
        return self.columns[node.index]

    def _arithmetic(self, node: e.Arithmetic) -> str:
        return self.op(OPERATORS[node.operator], self.number(node.left), self.number(node.right))

    def _function(self, node: e.Function) -> str:
        if node.name == "min" and len(node.arguments) == 2:
            floored, high = node.arguments
            if isinstance(high, e.Constant) and isinstance(floored, e.Function):
                x, *low = floored.arguments
                if floored.name == "max" and len(low) == 1 and isinstance(low[0], e.Constant):
                    return self._clip(self.number(x), low[0].value, high.value)
        return self.op(FUNCTIONS[node.name], *[self.number(x) for x in node.arguments])

    def _clip(self, x: str, low: float | Floats, high: float | Floats) -> str:
        ends = self.constant(low), self.constant(high)
        if np.ndim(low) or np.ndim(high):  # which Clip does not take
            return self.op("Min", self.op("Max", x, ends[0]), ends[1])
        return self.op("Clip", x, *ends)

    def _matrix(self, terms: tuple[e.Expression, ...]) -> str:
        if id(terms) not in self.known:
            self.known[id(terms)] = self.stack([self.number(term) for term in terms])
        return self.known[id(terms)]

    def _dot(self, node: e.Dot) -> str:
        return self.op("MatMul", self._matrix(node.terms), self.table(np.array(node.weights)))

    def _softmax(self, node: e.Softmax) -> str:
        logits = self._matrix(node.logits)
        if logits not in self.shares:
            self.shares[logits] = self.op("Softmax", logits, axis=-1)
        return self._column(self.shares[logits], node.index)

    def _choose(self, node: e.Choose) -> str:
        result = self.number(node.otherwise)
        for condition, value in reversed(node.branches):
            result = self.op("Where", self.condition(condition), self.number(value), result)
        return result

    def _steplookup(self, node: e.StepLookup) -> str:
        if not len(node.edges):
            return self.constant(float(node.values[0]))
        edges = [part - self.edges_below * np.abs(part) for part in _tables(node.edges)]
        place = self._search(self.number(node.at), edges)
        return self._entry(_tables(node.values), place)

    def _linearlookup(self, node: e.LinearLookup) -> str:
        x, y = _tables(node.x), _tables(node.y)
        if len(x) == 1 and len(x[0]) == 1:
            return self.constant(float(y[0][0]))
        low, high = ([float(part[end]) for part in x] for end in (0, -1))
        single = len(x) == 1
        at = self._clip(
            self.number(node.at),
            low[0] if single else np.array(low),
            high[0] if single else np.array(high),
        )
        place = self._search(at, [part[1:] for part in x])
        slopes, begins, levels = (
            self._entry(part, place) for part in (list(map(_slopes, x, y)), x, y)
        )
        return self.op("Add", self.op("Mul", slopes, self.op("Sub", at, begins)), levels)

    def _entry(self, tables: Sequence[Floats], place: str) -> str:
        table = _filled(tables, 0.0)
        return self.op("Gather", self.table(table.ravel()), self._after(place, table.shape))

    def _after(self, place: str, shape: tuple[int, ...]) -> str:
        """Places in tables of that shape, one after the other."""
        if shape[0] == 1:
            return place
        return self.op("Add", place, self.integers(*range(0, shape[0] * shape[1], shape[1])))

    def _search(self, at: str, edges: Sequence[Floats]) -> str:
        """How many edges are at most ``at``, for each of several models at once.

        Written with ``PARTS`` as base, the answer has as many digits as there are rounds; a round
        finds the next digit by counting the pivots of its row that are reached. Beyond the last
        edge pivots are NaN, which nothing reaches.
        """
        filled = _filled(edges, np.nan)
        n_models, n_edges = filled.shape
        wide = self.op("Unsqueeze", at, self.integers(-1))
        step = 1
        while step * PARTS <= n_edges:
            step *= PARTS
        place = ""
        while step:
            n_rows = n_edges // (step * PARTS) + 1
            pivots = np.full((n_models, n_rows * PARTS), np.nan)
            reached_by = filled[:, step - 1 :: step]
            pivots[:, : reached_by.shape[1]] = reached_by
            rows = np.ascontiguousarray(pivots.reshape(-1, PARTS)[:, :-1])
            if place:
                row = self._after(place, (n_models, n_rows))
                pivot = self.op("Gather", self.table(rows), row, axis=0)
            else:
                pivot = self.table(rows if n_models > 1 else rows[0])
            reached = self.op("GreaterOrEqual", wide, pivot)
            counted = self.op("Cast", reached, to=self.onnx.TensorProto.INT64)
            digit = self.op("ReduceSum", counted, self.integers(-1), keepdims=0)
            if place:
                digit = self.op("Add", self.op("Mul", place, self.integers(PARTS)), digit)
            place = digit
            step //= PARTS
        return place

    # Conditions -----------------------------------------------------------------------------

    def condition(self, node: e.Condition) -> str:
        if id(node) not in self.known:
            self.known[id(node)] = self.write_condition(node)
        return self.known[id(node)]

    def _comparison(self, node: e.Comparison) -> str:
        return self.op(COMPARISONS[node.operator], self.number(node.left), self.number(node.right))

    def _all(self, node: e.All) -> str:
        return self._joined("And", node.conditions)

    def _any(self, node: e.Any) -> str:
        return self._joined("Or", node.conditions)

    def _joined(self, kind: str, conditions: Sequence[e.Condition]) -> str:
        result = self.condition(conditions[0])
        for condition in conditions[1:]:
            result = self.op(kind, result, self.condition(condition))
        return result

    def _usable(self, node: e.Usable) -> str:
        score = self._score(node.score)
        return self.op("Equal", score, self._clip(score, *node.limits))  # NaN equals nothing

    def _featureatmost(self, node: e.FeatureAtMost) -> str:
        return self.op("LessOrEqual", _feature_name(node.feature), self.constant(node.cut))

    def _featureabove(self, node: e.FeatureAbove) -> str:
        return self.op("Greater", _feature_name(node.feature), self.constant(node.cut))

    def _featureis(self, node: e.FeatureIs) -> str:
        if node.feature.takes_numbers:
            number = self.constant(float(node.value))
            return self.op("Equal", _feature_name(node.feature), number)
        return self._has_code(node.feature, self.codes[node.feature.index][node.value])

    def _featuremissing(self, node: e.FeatureMissing) -> str:
        if node.feature.takes_numbers:
            return self.op("IsNaN", _feature_name(node.feature))
        return self._has_code(node.feature, MISSING_TEXT)

    # Texts ----------------------------------------------------------------------------------

    def _code_texts(self) -> None:
        """Turn every feature of texts into integers; ONNX has no missing text, so "" is used."""
        for node in all_nodes(self.formula.outputs):
            if isinstance(node, e.FeatureIs) and not node.feature.takes_numbers:
                codes = self.codes.setdefault(node.feature.index, {})
                codes.setdefault(node.value, len(codes))
        for feature in self.formula.features:
            if feature.takes_numbers:
                continue
            codes = dict.fromkeys(("", "NaN", "nan"), MISSING_TEXT) | self.codes[feature.index]
            if codes[""] != MISSING_TEXT and not self._missing_is_empty(feature):
                raise InputError(
                    "ONNX has no missing texts, so the graph takes '' for one; but "
                    f"{feature.name!r} has the category '', which this map treats otherwise. "
                    "Replace empty texts by a name before the fit, or export to SQL or Python."
                )
            codes |= {
                spelling: code
                for text, code in self.codes[feature.index].items()
                for spelling in _spellings(text)
            }
            self.encoded[feature.index] = self.op(
                "LabelEncoder",
                _feature_name(feature),
                domain="ai.onnx.ml",
                keys_strings=list(codes),
                values_int64s=list(codes.values()),
                default_int64=-1,
            )

    def _missing_is_empty(self, feature: e.Feature) -> bool:
        """Whether a missing text always goes where the category "" goes."""
        for node in all_nodes(self.formula.outputs):
            if isinstance(node, e.Choose):  # a branch of their own, as that of groups
                alone = [c for c, _ in node.branches if isinstance(c, e.FeatureMissing)]
                if any(condition.feature == feature for condition in alone):
                    return False
            if isinstance(node, e.Any):
                asked = [part for part in node.conditions if _feature_of(part) == feature]
                if any(isinstance(part, e.FeatureMissing) for part in asked):
                    values = [part.value for part in asked if isinstance(part, e.FeatureIs)]
                    if "" not in values:
                        return False
        return True

    def _has_code(self, feature: e.Feature, code: int) -> str:
        return self.op("Equal", self.encoded[feature.index], self.integers(code))


def _tables(given: Any) -> list[Floats]:
    """The tables of several models, or of one."""
    return list(given) if isinstance(given, tuple) else [given]


def _filled(tables: Sequence[Floats], fill: float) -> Floats:
    """Tables as the rows of one, filled up to the longest."""
    rows = np.full((len(tables), max(map(len, tables))), fill)
    for row, table in zip(rows, tables, strict=True):
        row[: len(table)] = table
    return rows


def _slopes(x: Floats, y: Floats) -> Floats:
    with np.errstate(over="ignore"):
        slope = np.append(np.diff(y) / np.diff(x), 0.0)
    slope[~np.isfinite(slope)] = 0.0  # knots that are neighbors among float64s
    return slope


def _feature_of(condition: e.Condition) -> e.Feature | None:
    if isinstance(condition, (e.FeatureIs, e.FeatureMissing)):
        return condition.feature
    return None


def _spellings(text: str) -> list[str]:
    """How else libraries write a category."""
    candidates = [f"{text}.0", f"{text} 00:00:00", f"{text}T00:00:00", "true", "True", "TRUE"]
    candidates += ["false", "False", "FALSE", text.replace(" ", "T")]
    return [other for other in candidates if other != text and category_text(other) == text]


def _feature_name(feature: e.Feature) -> str:
    return f"feature_{feature.name}"
