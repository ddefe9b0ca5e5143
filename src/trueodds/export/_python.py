"""Formulas as the source of a Python function that needs the standard library only.

Names and texts enter the source as ASCII literals or not at all, so whatever a column or a category
is called, it cannot become code.
"""

from __future__ import annotations

import keyword
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export._renderer import Renderer
from trueodds.export._walk import parts_of
from trueodds.inputs import Floats

__all__ = ["PythonWriter", "render_python"]

RESERVED = frozenset({"bisect", "math", "score", "scores", "features"})

LINE = '''
def _{name}_line(at, x, y):
    """Interpolate between knots; constant beyond them."""
    if at <= x[0]:
        return y[0]
    if at >= x[-1]:
        return y[-1]
    j = bisect.bisect_right(x, at) - 1
    if at == x[j]:
        return y[j]
    slope = (y[j + 1] - y[j]) / (x[j + 1] - x[j])
    if math.isinf(slope):
        return y[j]
    return min(max(slope * (at - x[j]) + y[j], min(y[j], y[j + 1])), max(y[j], y[j + 1]))
'''

SOFTMAX = '''
def _{name}_softmax(*logits):
    """Exponentials over their sum, without overflow."""
    top = max(logits)
    powers = [math.exp(logit - top) for logit in logits]
    whole = math.fsum(powers)
    return [power / whole for power in powers]
'''

NUMBER = '''
def _{name}_number(value):
    """A float; NaN for what is no number."""
    try:
        return math.nan if isinstance(value, (bytes, bytearray)) else float(value)
    except (TypeError, ValueError, OverflowError):
        return math.nan
'''


def render_python(formula: e.Formula, name: str, *, named_features: bool) -> str:
    """The source of a function of one row.

    Parameters
    ----------
    formula : Formula
    name : str
        What the function is called.
    named_features : bool
        Whether features are found by name or by position.
    """
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name):
        raise InputError(f"name must be a name that Python accepts; got {shown(name)}.")
    if name in RESERVED or not name.isascii():
        raise InputError(f"name must be plain ASCII and none of {sorted(RESERVED)}; got {name!r}.")
    return PythonWriter(formula, name, named_features).source()


@dataclass
class PythonWriter(Renderer[str]):
    """Writes a formula line by line; a language with blocks and infix operators can inherit it."""

    AND: ClassVar[str] = " and "
    OR: ClassVar[str] = " or "
    NEW: ClassVar[str] = ""
    END: ClassVar[str] = ""

    formula: e.Formula
    name: str
    named_features: bool
    lines: list[str] = field(default_factory=list)
    constants: list[str] = field(default_factory=list)
    depth: int = 1
    n_names: int = 0
    # Names of what has been computed, for each block that encloses the current line.
    scopes: list[dict[int, str]] = field(default_factory=lambda: [{}])

    def source(self) -> str:
        several = self.formula.n_scores > 1
        self.count_uses()
        self._emit_inputs(several)
        missing = f"[math.nan] * {len(self.formula.outputs)}" if several else "math.nan"
        self._line(f"if not ({self.condition(self.formula.usable)}):")
        self._line(f"    return {missing}")
        results = [self.number(output) for output in self.formula.outputs]
        self._line(f"return [{', '.join(results)}]" if several else f"return {results[0]}")
        body = "\n".join(self.lines)
        helpers = [NUMBER]
        helpers += [LINE] if f"_{self.name}_line(" in body else []
        helpers += [SOFTMAX] if f"_{self.name}_softmax(" in body else []
        parameters = "scores" if several else "score"
        parameters += ", features" if self.formula.features else ""
        return (
            "import bisect\nimport math\n\n"
            + "".join(f"{constant}\n" for constant in self.constants)
            + "".join(f"{helper.replace('{name}', self.name)}\n" for helper in helpers)
            + f"\ndef {self.name}({parameters}):\n"
            + f'    """{self._summary(several)}"""\n'
            + f"{body}\n"
        )

    def count_uses(self) -> None:
        """Find out which nodes are asked for more than once."""
        self.uses = _uses(self.formula)

    def _summary(self, several: bool) -> str:
        what = "probabilities of the classes, from a row of" if several else "probability, from a"
        scale = {"probability": "probabilit", "logit": "log-odds", "score": "margin"}
        ending = {
            "probability": ("y", "ies"),
            "logit": ("", ""),
            "score": ("", "s"),
        }[self.formula.scale][several]
        given = scale[self.formula.scale] + ending
        return f"Calibrated {what} {given}; NaN if a score is missing or out of range."

    def _emit_inputs(self, several: bool) -> None:
        for index in range(self.formula.n_scores):
            given = f"scores[{index}]" if several else "score"
            self._assign(f"s{index}", self.number_of(given))
        for feature in self.formula.features:
            key = self.text(str(feature.name)) if self.named_features else str(feature.index)
            given = f"features[{key}]"
            self._assign(f"f{feature.index}", given if feature.text else self.attribute_of(given))

    def _assign(self, name: str, value: str) -> None:
        self._line(f"{self.NEW}{name} = {value}{self.END}")

    def number_of(self, given: str) -> str:
        """What turns an argument into a number."""
        return f"_{self.name}_number({given})"

    def attribute_of(self, given: str) -> str:
        """What turns a numeric feature into a number."""
        return self.number_of(given)

    def text(self, value: str) -> str:
        """A text as a literal of ASCII."""
        return ascii(value)

    # Numbers --------------------------------------------------------------------------------

    def number(self, node: e.Expression) -> str:
        """Text that stands for a node, after whatever lines it needs."""
        for scope in self.scopes:
            if id(node) in scope:
                return scope[id(node)]
        written = self.write_number(node)
        if self.uses[id(node)] > 1 and not isinstance(node, (e.Constant, e.Score)):
            return self._remember(id(node), self._new_name(written))
        return written

    def _new_name(self, value: str) -> str:
        self.n_names += 1
        self._assign(f"v{self.n_names}", value)
        return f"v{self.n_names}"

    def _remember(self, key: int, name: str) -> str:
        self.scopes[-1][key] = name
        return name

    def _line(self, text: str) -> None:
        self.lines.append("    " * self.depth + text)

    def literal(self, number: float) -> str:
        """The shortest text that reads back as the same float64."""
        return _literal(number)

    def _constant(self, node: e.Constant) -> str:
        return self.literal(node.value)

    def _score(self, node: e.Score) -> str:
        return f"s{node.index}"

    def _arithmetic(self, node: e.Arithmetic) -> str:
        return f"({self.number(node.left)} {node.operator} {self.number(node.right)})"

    def _function(self, node: e.Function) -> str:
        arguments = ", ".join([self.number(argument) for argument in node.arguments])
        if node.name == "negative":
            return f"(-{arguments})"
        return {"log": "math.log", "exp": "math.exp"}.get(node.name, node.name) + f"({arguments})"

    def _dot(self, node: e.Dot) -> str:
        terms = [
            f"{self.literal(weight)} * {self.number(term)}"
            for weight, term in zip(node.weights, node.terms, strict=True)
            if weight != 0
        ]
        return f"({' + '.join(terms) or '0.0'})"

    def _softmax(self, node: e.Softmax) -> str:
        key = id(node.logits)
        for scope in self.scopes:
            if key in scope:
                return f"{scope[key]}[{node.index}]"
        logits = ", ".join([self.number(logit) for logit in node.logits])
        shares = self._remember(key, self._new_name(self.softmax_of(logits)))
        return f"{shares}[{node.index}]"

    def softmax_of(self, logits: str) -> str:
        """The call that gives all shares."""
        return f"_{self.name}_softmax({logits})"

    def _steplookup(self, node: e.StepLookup) -> str:
        edges, values = self._table("edges", node.edges), self._table("values", node.values)
        return f"{values}[bisect.bisect_right({edges}, {self.number(node.at)})]"

    def _linearlookup(self, node: e.LinearLookup) -> str:
        x, y = self._table("x", node.x), self._table("y", node.y)
        return f"_{self.name}_line({self.number(node.at)}, {x}, {y})"

    def _table(self, kind: str, numbers: Floats) -> str:
        table = f"_{self.name}_{kind}_{len(self.constants)}"
        items = "".join(f"{self.literal(number)}, " for number in numbers.tolist())
        self.constants.append(self.table_of(table, items.rstrip()))
        return table

    def table_of(self, table: str, items: str) -> str:
        """The line that holds some numbers."""
        return f"{table} = ({items})"

    # Choices --------------------------------------------------------------------------------

    def _choose(self, node: e.Choose) -> str:
        self.n_names += 1
        result = f"v{self.n_names}"
        self._branch(list(node.branches), node.otherwise, result)
        return self._remember(id(node), result)

    def _branch(
        self,
        branches: list[tuple[e.Condition, e.Expression]],
        otherwise: e.Expression,
        result: str,
        word: str = "if",
    ) -> None:
        condition, value = branches[0]
        self._line(f"{word} {self.condition(condition)}:")
        self._block(result, value)
        if len(branches) > 1:
            if _is_plain(branches[1][0]):
                self._branch(branches[1:], otherwise, result, "elif")
                return
            otherwise = e.Choose(tuple(branches[1:]), otherwise)
        self._line("else:")
        self._block(result, otherwise)

    def _block(self, result: str, value: e.Expression) -> None:
        self.depth += 1
        self.scopes.append({})
        self._line(f"{result} = {self.number(value)}{self.END}")
        self.scopes.pop()
        self.depth -= 1

    # Conditions -----------------------------------------------------------------------------

    def condition(self, node: e.Condition) -> str:
        """Text that stands for a condition, after whatever lines it needs."""
        return self.write_condition(node)

    def _comparison(self, node: e.Comparison) -> str:
        return f"{self.number(node.left)} {node.operator} {self.number(node.right)}"

    def _all(self, node: e.All) -> str:
        return self.AND.join(f"({self.condition(c)})" for c in node.conditions)

    def _any(self, node: e.Any) -> str:
        return self.OR.join(f"({self.condition(c)})" for c in node.conditions)

    def _usable(self, node: e.Usable) -> str:
        score = self._score(node.score)
        if node.scale == "probability":
            return f"0.0 <= {score} <= 1.0"
        if node.scale == "score":
            return f"math.isfinite({score})"
        return f"{score} < math.inf" if node.several else f"not math.isnan({score})"

    def _featureatmost(self, node: e.FeatureAtMost) -> str:
        return f"f{node.feature.index} <= {self.literal(node.cut)}"

    def _featureabove(self, node: e.FeatureAbove) -> str:
        return f"f{node.feature.index} > {self.literal(node.cut)}"

    def _featureis(self, node: e.FeatureIs) -> str:
        value = self.text(node.value) if isinstance(node.value, str) else self.literal(node.value)
        return f"f{node.feature.index} == {value}"

    def _featuremissing(self, node: e.FeatureMissing) -> str:
        name = f"f{node.feature.index}"
        return f"{name} is None or {name} != {name}"


def _literal(number: float) -> str:
    """The shortest text that reads back as the same float64."""
    if number != number:
        return "math.nan"
    return f"({number!r})" if number < 0 else repr(number)


def _is_plain(condition: e.Condition) -> bool:
    """Whether a condition needs no lines of its own, so that it can follow ``elif``."""
    if isinstance(condition, e.Comparison):
        return all(isinstance(x, (e.Score, e.Constant)) for x in (condition.left, condition.right))
    return not isinstance(condition, e.All)


def _uses(formula: e.Formula) -> Counter[int]:
    """How many other nodes ask for a node; the outputs ask once more."""
    uses: Counter[int] = Counter()
    waiting: list[Any] = [formula.usable, *formula.outputs]
    while waiting:
        node = waiting.pop()
        uses[id(node)] += 1
        if uses[id(node)] == 1:
            waiting.extend(parts_of(node))
    return uses
