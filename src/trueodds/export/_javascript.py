"""Formulas as the source of a JavaScript module with one function and no dependencies."""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export._blocks import BlockWriter

__all__ = ["render_javascript"]

NAME = re.compile(r"[A-Za-z_$][A-Za-z0-9_$]*")
RESERVED = frozenset(
    """
    await break case catch class const continue debugger default delete do else enum export extends
    false finally for function if implements import in instanceof interface let new null package
    private protected public return static super switch this throw true try typeof var void while
    with yield arguments eval undefined NaN Infinity Math Number score scores features
    place line softmax number feature DECIMAL
    """.split()  # noqa: SIM905  # a list of one word each would fill a page
)

HELPERS = r"""
const DECIMAL = /^\s*[-+]?(\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?|Infinity)\s*$/i;
function place(edges, at) {
  let low = 0, high = edges.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (at < edges[middle]) high = middle; else low = middle + 1;
  }
  return low;
}
function line(at, x, y) {
  const last = x.length - 1;
  if (at <= x[0]) return y[0];
  if (at >= x[last]) return y[last];
  const j = place(x, at) - 1;
  if (at === x[j]) return y[j];
  const slope = (y[j + 1] - y[j]) / (x[j + 1] - x[j]);
  if (!Number.isFinite(slope)) return y[j];
  const value = slope * (at - x[j]) + y[j];
  return Math.min(Math.max(value, Math.min(y[j], y[j + 1])), Math.max(y[j], y[j + 1]));
}
function softmax(...logits) {
  const top = Math.max(...logits);
  const powers = logits.map((logit) => Math.exp(logit - top));
  const whole = powers.reduce((sum, power) => sum + power, 0);
  return powers.map((power) => power / whole);
}
function number(value) {
  if (typeof value === "number") return value;
  return typeof value === "string" && DECIMAL.test(value) ? Number(value) : NaN;
}
function feature(value) {
  return typeof value === "boolean" ? Number(value) : number(value);
}
"""


def render_javascript(formula: e.Formula, name: str, *, named_features: bool) -> str:
    """The source of an ES module that exports a function of one row.

    Parameters
    ----------
    formula : Formula
    name : str
        What the function is called.
    named_features : bool
        Whether features are found by name or by position.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name) or name in RESERVED:
        raise InputError(f"name must be a free name that JavaScript accepts; got {shown(name)}.")
    return _JavaScriptWriter(formula, name, named_features).source()


@dataclass
class _JavaScriptWriter(BlockWriter):
    AND = " && "
    OR = " || "
    EQUAL = "==="
    NEW = "const "
    END = ";"

    def source(self) -> str:
        self.write_inputs()
        missing = f"new Array({len(self.formula.outputs)}).fill(NaN)" if self.several else "NaN"
        self.line(f"if (!({self.condition(self.formula.usable)})) return {missing};")
        results = [self.number(output) for output in self.formula.outputs]
        self.line(f"return [{', '.join(results)}];" if self.several else f"return {results[0]};")
        constants = "".join(f"{constant}\n" for constant in self.constants)
        body = "\n".join(self.lines)
        return (
            f"{HELPERS.lstrip()}{constants}"
            f"/** {self.summary()} */\n"
            f"export function {self.name}({self.parameters}) {{\n{body}\n}}\n"
        )

    def number_of(self, given: str) -> str:
        return f"number({given})"

    def feature_of(self, given: str) -> str:
        return f"feature({given})"

    def text(self, value: str) -> str:
        return json.dumps(value)

    def literal(self, number: float) -> str:
        if math.isnan(number):
            return "NaN"
        return f"({number!r})" if number < 0 else repr(number)

    def _function(self, node: e.Function) -> str:
        arguments = ", ".join([self.number(argument) for argument in node.arguments])
        return f"(-{arguments})" if node.name == "negative" else f"Math.{node.name}({arguments})"

    def softmax_of(self, logits: str) -> str:
        return f"softmax({logits})"

    def _steplookup(self, node: e.StepLookup) -> str:
        edges, values = self.table("edges", node.edges), self.table("values", node.values)
        return f"{values}[place({edges}, {self.number(node.at)})]"

    def _linearlookup(self, node: e.LinearLookup) -> str:
        x, y = self.table("x", node.x), self.table("y", node.y)
        return f"line({self.number(node.at)}, {x}, {y})"

    def table_of(self, table: str, items: str) -> str:
        return f"const {table} = [{items}];"

    def write_choice(
        self, branches: list[tuple[e.Condition, e.Expression]], otherwise: e.Expression, result: str
    ) -> None:
        condition, value = branches[0]
        self.line(f"let {result};")
        self.line(f"if ({self.condition(condition)}) {{")
        self.block(result, value)
        if len(branches) > 1:
            otherwise = e.Choose(tuple(branches[1:]), otherwise)
        self.line("} else {")
        self.block(result, otherwise)
        self.line("}")

    def _usable(self, node: e.Usable) -> str:
        score = self._score(node.score)
        if node.scale == "probability":
            return f"0.0 <= {score} && {score} <= 1.0"
        if node.scale == "raw":
            return f"Number.isFinite({score})"
        return f"{score} < Infinity" if node.several else f"!Number.isNaN({score})"

    def _featuremissing(self, node: e.FeatureMissing) -> str:
        name = f"f{node.feature.index}"
        return f"{name} === null || {name} === undefined || {name} !== {name}"
