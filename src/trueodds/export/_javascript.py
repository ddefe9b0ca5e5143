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
    place line softmax number feature category digits DECIMAL SPELLED MOMENT
    """.split()  # noqa: SIM905  # a list of one word each would fill a page
)

HELPERS = r"""
const DECIMAL = /^\s*[-+]?(\d+\.?\d*(e[-+]?\d+)?|\.\d+(e[-+]?\d+)?|Infinity)\s*$/i;
const SPELLED = /^-?(0|[1-9][0-9]{0,17})(\.[0-9]{1,30})?([eE][-+]?[0-9]{1,2})?$/;
const MOMENT = /^[0-9]{4}(-[0-9]{2}){2}[ T][0-9]{2}(:[0-9]{2}){2}(\.[0-9]*)?$/;
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
function category(value) {
  if (value === null || value === undefined) return null;
  if (value instanceof Date) value = value.toISOString().slice(0, -1);
  if (typeof value === "bigint") return String(value);
  if (typeof value === "number" || typeof value === "boolean") return digits(Number(value));
  if (typeof value !== "string") throw new TypeError("a category is a text, number or boolean");
  if (value === "NaN" || value === "nan") return null;
  if (/^true$/i.test(value)) return "1";
  if (/^false$/i.test(value)) return "0";
  if (SPELLED.test(value)) {
    if (/^-?[0-9]+$/.test(value)) return value === "-0" ? "0" : value;
    return digits(Number(value));
  }
  if (!MOMENT.test(value)) return value;
  const rest = value.slice(19).replace(/0+$/, "").replace(/\.$/, "");
  return `${value.slice(0, 10)} ${value.slice(11, 19)}${rest}`.replace(/ 00:00:00$/, "");
}
function digits(number) {
  if (Number.isNaN(number)) return null;
  if (!Number.isFinite(number)) return number < 0 ? "-inf" : "inf";
  if (Number.isInteger(number) && Math.abs(number) < 1e18) return String(BigInt(number));
  if (Math.abs(number) >= 1e-4 && Math.abs(number) < 1e16) return String(number);
  const [mantissa, exponent] = number.toExponential().split("e");
  const size = exponent.slice(1);
  return `${mantissa}e${exponent[0]}${size.length < 2 ? "0" : ""}${size}`;
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

    def category_of(self, given: str) -> str:
        return f"category({given})"

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
        return f"{name} !== {name}" if node.feature.categories is None else f"{name} === null"
