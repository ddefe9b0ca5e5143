"""Formulas as the source of a Python function that needs the standard library only."""

from __future__ import annotations

import ast
import inspect
import keyword
from dataclasses import dataclass

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export._blocks import BlockWriter
from trueodds.inputs import category_text

__all__ = ["render_python"]

RESERVED = frozenset({"bisect", "dt", "math", "re", "score", "scores", "features"})

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
    return _PythonWriter(formula, name, named_features).source()


@dataclass
class _PythonWriter(BlockWriter):
    AND = " and "
    OR = " or "

    def source(self) -> str:
        self.write_inputs()
        missing = f"[math.nan] * {len(self.formula.outputs)}" if self.several else "math.nan"
        self.line(f"if not ({self.condition(self.formula.usable)}):")
        self.line(f"    return {missing}")
        results = [self.number(output) for output in self.formula.outputs]
        self.line(f"return [{', '.join(results)}]" if self.several else f"return {results[0]}")
        body = "\n".join(self.lines)
        helpers = [NUMBER]
        imports = "import bisect\nimport math\n"
        if f"_{self.name}_category(" in body:
            helpers.append(f"\n{_category_source('_{name}_category')}\n")
            imports = "import bisect\nimport datetime as dt\nimport math\nimport re\n"
        helpers += [LINE] if f"_{self.name}_line(" in body else []
        helpers += [SOFTMAX] if f"_{self.name}_softmax(" in body else []
        return (
            f"{imports}\n"
            + "".join(f"{constant}\n" for constant in self.constants)
            + "".join(f"{helper.replace('{name}', self.name)}\n" for helper in helpers)
            + f"\ndef {self.name}({self.parameters}):\n"
            + f'    """{self.summary()}"""\n'
            + f"{body}\n"
        )

    def number_of(self, given: str) -> str:
        return f"_{self.name}_number({given})"

    def category_of(self, given: str) -> str:
        return f"_{self.name}_category({given})"

    def text(self, value: str) -> str:
        return ascii(value)

    def literal(self, number: float) -> str:
        if number != number:
            return "math.nan"
        return f"({number!r})" if number < 0 else repr(number)

    def _function(self, node: e.Function) -> str:
        arguments = ", ".join([self.number(argument) for argument in node.arguments])
        if node.name == "negative":
            return f"(-{arguments})"
        return {"log": "math.log", "exp": "math.exp"}.get(node.name, node.name) + f"({arguments})"

    def softmax_of(self, logits: str) -> str:
        return f"_{self.name}_softmax({logits})"

    def _steplookup(self, node: e.StepLookup) -> str:
        edges, values = self.table("edges", node.edges), self.table("values", node.values)
        return f"{values}[bisect.bisect_right({edges}, {self.number(node.at)})]"

    def _linearlookup(self, node: e.LinearLookup) -> str:
        x, y = self.table("x", node.x), self.table("y", node.y)
        return f"_{self.name}_line({self.number(node.at)}, {x}, {y})"

    def table_of(self, table: str, items: str) -> str:
        return f"{table} = ({items})"

    def write_choice(
        self,
        branches: list[tuple[e.Condition, e.Expression]],
        otherwise: e.Expression,
        result: str,
        word: str = "if",
    ) -> None:
        condition, value = branches[0]
        self.line(f"{word} {self.condition(condition)}:")
        self.block(result, value)
        if len(branches) > 1:
            if _is_plain(branches[1][0]):
                self.write_choice(branches[1:], otherwise, result, "elif")
                return
            otherwise = e.Choose(tuple(branches[1:]), otherwise)
        self.line("else:")
        self.block(result, otherwise)

    def _usable(self, node: e.Usable) -> str:
        score = self._score(node.score)
        if node.scale == "probability":
            return f"0.0 <= {score} <= 1.0"
        if node.scale == "raw":
            return f"math.isfinite({score})"
        return f"{score} < math.inf" if node.several else f"not math.isnan({score})"

    def _featuremissing(self, node: e.FeatureMissing) -> str:
        name = f"f{node.feature.index}"
        return f"{name} != {name}" if node.feature.categories is None else f"{name} is None"


def _category_source(name: str) -> str:
    """The source of :func:`trueodds.inputs.category_text` under another name."""
    (function,) = ast.parse(inspect.getsource(category_text)).body
    assert isinstance(function, ast.FunctionDef)  # noqa: S101
    function.name = name
    function.args.args[0].annotation = function.returns = None
    function.body[0] = ast.parse('"""The text of a category; None for a missing value."""').body[0]
    return ast.unparse(function)


def _is_plain(condition: e.Condition) -> bool:
    """Whether a condition needs no separate lines, so that it can follow ``elif``."""
    if isinstance(condition, e.Comparison):
        return all(isinstance(x, (e.Score, e.Constant)) for x in (condition.left, condition.right))
    return not isinstance(condition, e.All)
