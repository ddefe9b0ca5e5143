"""Formulas as torch modules: a graph of torch operations on float64, which scripts and exports.

Numbers are tensors with one entry for each row, or one for all. Every branch of a choice is
computed and one is taken, so logarithms and quotients are kept finite where they are not taken:
else their gradients would be NaN.

Tables are buffers of integers, the bits of their float64: ``half()``, ``bfloat16()`` and
``float()`` of a network that contains the module round floating-point buffers only.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from trueodds.basics.imports import require
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export._renderer import Renderer

__all__ = ["render_torch"]

OPERATORS = {"+": "add", "-": "sub", "*": "mul", "/": "div"}
COMPARISONS = {"<": "lt", "<=": "le", ">": "gt", ">=": "ge"}


TEMPERATURE = "temperature"
"""The parameter by which logits are divided: formulas multiply by its reciprocal."""


def render_torch(
    formula: e.Formula, parameters: dict[str, Any], *, trainable: bool, logits: bool
) -> Any:
    """A ``torch.nn.Module`` of scores, and of numeric features if the formula uses them.

    Parameters
    ----------
    formula : Formula
    parameters : dict of str to array
        Constants of the formula that are :class:`~expressions.Named` are entries of these.
    trainable : bool
        Whether an optimizer can change the parameters.
    logits : bool
        Whether the module returns log-odds, or logits of all classes, instead of probabilities.
    """
    torch = require("torch", "an export to torch", "torch")
    names = [feature.name for feature in formula.features if not feature.takes_numbers]
    if names:
        raise InputError(
            f"cannot export to torch: this tree splits on text features ({', '.join(names)}). "
            "Encode them as numbers and refit."
        )
    if logits:
        formula = replace(formula, outputs=_logits(formula.outputs))
    return _TorchGraph(torch, formula, parameters, trainable=trainable).build()


def _logits(outputs: tuple[e.Expression, ...]) -> tuple[e.Expression, ...]:
    """Log-odds of one output; of several, what their softmax is taken of, else logarithms."""
    if len(outputs) == 1:
        return (_log_odds(outputs[0]),)
    first = outputs[0]
    if isinstance(first, e.Softmax) and all(
        isinstance(node, e.Softmax) and node.logits is first.logits for node in outputs
    ):
        return first.logits
    return tuple(e.Choose(((p > 0, e.log(p)),), e.Constant(-np.inf)) for p in outputs)


def _log_odds(p: e.Expression) -> e.Expression:
    match p:
        case e.Choose():
            branches = tuple((condition, _log_odds(value)) for condition, value in p.branches)
            return e.Choose(branches, _log_odds(p.otherwise))
        case e.Function("min", (e.Arithmetic("/", _, e.Arithmetic("+", _, power)), e.Constant())):
            match power:  # as expressions.sigmoid writes it
                case e.Function("exp", (e.Function("min", (e.Function("max", (minus, _)), _)),)):
                    return -minus
    ends = (p <= 0, e.Constant(-np.inf)), (p >= 1, e.Constant(np.inf))
    return e.Choose(ends, e.log(p / (1 - p)))


class _TorchGraph(Renderer[Any]):
    def __init__(
        self, torch: Any, formula: e.Formula, parameters: dict[str, Any], *, trainable: bool
    ) -> None:
        self.torch = torch
        self.formula = formula
        self.graph = torch.fx.Graph()
        self.root = torch.nn.Module()
        self.parameters: dict[str, Any] = {}
        for name, values in parameters.items():
            if trainable:
                start = torch.tensor(np.asarray(values, dtype=np.float64))
                self.root.register_parameter(name, torch.nn.Parameter(start))
                found = self.graph.get_attr(name)
            else:
                found = self.buffer(name, np.array(values, dtype=np.float64))
            if name == TEMPERATURE:
                found = self.call("reciprocal", found)
            self.parameters[name] = found
        self.tables: dict[bytes, Any] = {}
        self.roles: Counter[str] = Counter()
        self.known: dict[int, Any] = {}
        self.columns: dict[int, Any] = {}

    def build(self) -> Any:
        given = self.graph.placeholder("scores")
        if self.formula.features:
            self.features = self.graph.placeholder("features")
        self.scores = self.graph.call_method("double", (given,))
        usable = self.condition(self.formula.usable)
        missing = self.table(np.array(np.nan))
        results = [
            self.call("where", usable, self.for_all_rows(self.number(output)), missing)
            for output in self.formula.outputs
        ]
        several = self.formula.n_scores > 1
        result = self.call("stack", results, -1) if several else results[0]
        # The dtype of floating-point scores; of integers and booleans, torch's default.
        like = self.call("mul", given, 1.0)
        self.graph.output(self.graph.call_method("type_as", (result, like)))
        self.graph.lint()
        return self.torch.fx.GraphModule(self.root, self.graph, "CalibrationModule")

    # Building blocks ------------------------------------------------------------------------

    def call(self, name: str, *arguments: Any) -> Any:
        return self.graph.call_function(getattr(self.torch, name), arguments)

    def table(self, values: Any, role: str = "constant") -> Any:
        """Numbers that move with the module; equal ones are held once."""
        array = np.array(values, dtype=np.float64)
        key = array.tobytes() + bytes(str(array.shape), "ascii")
        if key not in self.tables:
            self.roles[role] += 1
            self.tables[key] = self.buffer(f"{role}_{self.roles[role]}", array)
        return self.tables[key]

    def buffer(self, name: str, array: Any) -> Any:
        """Numbers of the state dict, as the bits of their float64."""
        self.root.register_buffer(name, self.torch.tensor(array.view(np.int64)))
        bits = self.graph.get_attr(name)
        return self.graph.call_function(  # scripts, which "view" does not
            self.torch.view_copy, (bits,), {"dtype": self.torch.float64}
        )

    def for_all_rows(self, value: Any) -> Any:
        return self.graph.call_method("expand_as", (value, self._score(e.Score(0))))

    def stack(self, terms: Sequence[e.Expression]) -> Any:
        if id(terms) not in self.known:
            columns = [self.for_all_rows(self.number(term)) for term in terms]
            self.known[id(terms)] = self.call("stack", columns, -1)
        return self.known[id(terms)]

    # Numbers --------------------------------------------------------------------------------

    def number(self, node: e.Expression) -> Any:
        if id(node) not in self.known:
            self.known[id(node)] = self.write_number(node)
        return self.known[id(node)]

    def value(self, number: float) -> Any:
        """A constant, or an entry of a parameter."""
        if isinstance(number, e.Named):
            entry = self.parameters[number.name]
            for index in number.index:
                entry = self.call("select", entry, 0, index)
            return entry
        return self.table(number)

    def _constant(self, node: e.Constant) -> Any:
        return self.value(node.value)

    def _score(self, node: e.Score) -> Any:
        if self.formula.n_scores == 1:
            return self.scores
        if node.index not in self.columns:
            self.columns[node.index] = self.call("select", self.scores, -1, node.index)
        return self.columns[node.index]

    def _arithmetic(self, node: e.Arithmetic) -> Any:
        left, right = self.number(node.left), self.number(node.right)
        if node.operator == "/":
            right = self._one_where("eq", right)
        return self.call(OPERATORS[node.operator], left, right)

    def _one_where(self, comparison: str, number: Any) -> Any:
        """1 instead of what compares so with 0, in a branch that is not taken."""
        bad = self.call(comparison, number, self.table(0.0))
        return self.call("where", bad, self.table(1.0), number)

    def _function(self, node: e.Function) -> Any:
        arguments = [self.number(argument) for argument in node.arguments]
        if node.name == "log":
            return self.call("log", self._one_where("le", arguments[0]))
        if node.name in ("max", "min"):
            name = "maximum" if node.name == "max" else "minimum"
            result = arguments[0]
            for other in arguments[1:]:
                result = self.call(name, result, other)
            return result
        return self.call({"exp": "exp", "abs": "abs", "negative": "neg"}[node.name], arguments[0])

    def _choose(self, node: e.Choose) -> Any:
        result = self.number(node.otherwise)
        for condition, value in reversed(node.branches):
            result = self.call("where", self.condition(condition), self.number(value), result)
        return result

    def _steplookup(self, node: e.StepLookup) -> Any:
        if not len(node.edges):
            return self.table(node.values[0])
        place = self._place(self.number(node.at), node.edges, "edges")
        return self._entry(node.values, place, "values")

    def _linearlookup(self, node: e.LinearLookup) -> Any:
        x, y = node.x, node.y
        if len(x) == 1:
            return self.table(y[0])
        at = self.call("maximum", self.number(node.at), self.table(x[0]))
        at = self.call("minimum", at, self.table(x[-1]))
        place = self._place(at, x[1:], "edges")
        with np.errstate(over="ignore"):
            slope = np.append(np.diff(y) / np.diff(x), 0.0)
        slope[~np.isfinite(slope)] = 0.0  # knots that are neighbors among float64s
        parts = {"slopes": slope, "knots": x, "levels": y}
        slopes, begins, levels = (self._entry(part, place, name) for name, part in parts.items())
        rise = self.call("mul", slopes, self.call("sub", at, begins))
        return self.call("add", rise, levels)

    def _place(self, at: Any, edges: Any, role: str) -> Any:
        """How many edges are at most ``at``."""
        row = self.graph.call_method("contiguous", (self.for_all_rows(at),))
        return self.graph.call_function(
            self.torch.bucketize, (row, self.table(edges, role)), {"right": True}
        )

    def _entry(self, values: Any, place: Any, role: str) -> Any:
        return self.call("take", self.table(values, role), place)

    def _dot(self, node: e.Dot) -> Any:
        first = node.weights[0]
        if isinstance(first, e.Named):  # a row of a matrix
            weights = self.call("select", self.parameters[first.name], 0, first.index[0])
        else:
            weights = self.table(np.array(node.weights), "weights")
        return self.call("matmul", self.stack(node.terms), weights)

    def _softmax(self, node: e.Softmax) -> Any:
        shares = self.call("softmax", self.stack(node.logits), -1)
        return self.call("select", shares, -1, node.index)

    # Conditions -----------------------------------------------------------------------------

    def condition(self, node: e.Condition) -> Any:
        if id(node) not in self.known:
            self.known[id(node)] = self.write_condition(node)
        return self.known[id(node)]

    def _comparison(self, node: e.Comparison) -> Any:
        return self.call(
            COMPARISONS[node.operator], self.number(node.left), self.number(node.right)
        )

    def _all(self, node: e.All) -> Any:
        return self._joined("logical_and", node.conditions)

    def _any(self, node: e.Any) -> Any:
        return self._joined("logical_or", node.conditions)

    def _joined(self, name: str, conditions: Sequence[e.Condition]) -> Any:
        result = self.condition(conditions[0])
        for condition in conditions[1:]:
            result = self.call(name, result, self.condition(condition))
        return result

    def _usable(self, node: e.Usable) -> Any:
        score = self._score(node.score)
        low, high = node.limits
        above = self.call("ge", score, self.table(low))
        return self.call("logical_and", above, self.call("le", score, self.table(high)))

    def _feature(self, feature: e.Feature) -> Any:
        column = self.call("select", self.features, -1, feature.index)
        return self.graph.call_method("double", (column,))

    def _featureatmost(self, node: e.FeatureAtMost) -> Any:
        return self.call("le", self._feature(node.feature), self.table(node.cut))

    def _featureabove(self, node: e.FeatureAbove) -> Any:
        return self.call("gt", self._feature(node.feature), self.table(node.cut))

    def _featureis(self, node: e.FeatureIs) -> Any:
        return self.call("eq", self._feature(node.feature), self.table(float(node.value)))

    def _featuremissing(self, node: e.FeatureMissing) -> Any:
        return self.call("isnan", self._feature(node.feature))
