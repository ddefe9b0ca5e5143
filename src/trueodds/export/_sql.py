"""Formulas as SQL expressions.

The text must mean the same on engines that disagree, so it keeps to what they share:

- Literals always have an exponent (``0.3e0``): without one, DuckDB and Spark read a DECIMAL.
- NaN is greater than all numbers in DuckDB, PostgreSQL, Spark and Snowflake, and comparable to
  none in BigQuery. ``x BETWEEN 0 AND 1`` and ``-x < -c`` are false for NaN in both worlds, and for
  NULL, so no function that tells NaN is needed; nor is a literal for infinity, since x is infinite
  if it lies beyond the largest float64.
- PostgreSQL and BigQuery refuse the logarithm of 0, an overflow, and a division by 0, PostgreSQL
  an underflow too; CASE is lazy in all of them.
- GREATEST and LEAST differ in what they do with NULL; they never see one here.

Lookups are balanced trees of CASE, of logarithmic depth, since parsers limit nesting. SQL cannot
name a part of an expression, so what occurs twice is written twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from trueodds.exceptions import InputError
from trueodds.export import _expression as e
from trueodds.export._optional import require
from trueodds.validation import check_choice

__all__ = ["MOST_NODES", "SqlDialect", "render_sql"]

SqlDialect = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite"]

MOST_NODES = 200_000
"""The largest formula that is written, counted in nodes of SQL; about 2 MB of text."""

TINY = 1e-290
"""PostgreSQL refuses products that underflow: scores closer to 0 than this count as 0 there."""


def render_sql(
    formula: e.Formula,
    columns: Sequence[str],
    dialect: SqlDialect,
    features: Sequence[str] = (),
) -> list[str]:
    """One SQL expression for each output.

    Parameters
    ----------
    formula : Formula
    columns : sequence of str
        Names of the score columns; quoted whatever they hold.
    dialect : {"duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite"}
    features : sequence of str, default=()
        Names of the columns of ``formula.features``, in the same order.
    """
    check_choice(dialect, get_args(SqlDialect), "dialect")
    require("sqlglot", "an export to SQL", "engines")
    for name in (*columns, *features):
        _check_name(name)
    size = _Size()
    for output in formula.outputs:
        if size.of(output) > MOST_NODES:
            raise InputError(
                f"this map would take {size.of(output):,} nodes of SQL, and {MOST_NODES:,} are the "
                "most that is written: SQL cannot name a part of an expression. Export it with "
                "to_onnx() or to_python(), or use trueodds.engines.apply_map."
            )
    places = {f.index: name for f, name in zip(formula.features, features, strict=True)}
    writer = _Writer(columns, places, dialect, formula.scale)
    return [
        writer.text(e.Choose(((formula.usable, output),), e.MISSING)) for output in formula.outputs
    ]


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name or "\0" in name:
        raise InputError(f"a column's name must be a text that is not empty; got {name!r}.")


@dataclass
class _Writer:
    columns: Sequence[str]
    features: dict[int, str]
    dialect: SqlDialect
    scale: str

    def __post_init__(self) -> None:
        from sqlglot import exp

        self.x = exp

    def text(self, output: e.Expression) -> str:
        # The cast: a CASE of literals only would be a decimal in PostgreSQL.
        result: str = self._double(self.number(output)).sql(dialect=self.dialect)
        return result

    def number(self, node: e.Expression) -> Any:
        write: Callable[[Any], Any] = getattr(self, f"_{type(node).__name__.lower()}")
        return write(node)

    def condition(self, node: e.Condition) -> Any:
        write: Callable[[Any], Any] = getattr(self, f"_{type(node).__name__.lower()}")
        return write(node)

    # Leaves ---------------------------------------------------------------------------------

    def _double(self, node: Any) -> Any:
        return self.x.Cast(this=node, to=self.x.DataType.build("double"))

    def _literal(self, value: float) -> Any:
        if np.isnan(value):
            return self.x.Null()
        digits = repr(abs(float(value)))  # the shortest text that reads back as the same float64
        number = self.x.Literal(this=digits if "e" in digits else f"{digits}e0", is_string=False)
        return self.x.Neg(this=number) if value < 0 else number

    def _constant(self, node: e.Constant) -> Any:
        return self._literal(node.value)

    def _column(self, name: str) -> Any:
        return self.x.Column(this=self.x.Identifier(this=name, quoted=True))

    def _raw_score(self, node: e.Score) -> Any:
        return self._double(self._column(self.columns[node.index]))

    def _score(self, node: e.Score) -> Any:
        score = self._raw_score(node)
        if self.dialect != "postgres" or self.scale == "probability":
            return score
        tiny = self.x.LT(this=self.x.Abs(this=score.copy()), expression=self._literal(TINY))
        return self._case([(tiny, self._literal(0.0))], score)

    # Arithmetic -----------------------------------------------------------------------------

    def _arithmetic(self, node: e.Arithmetic) -> Any:
        left, right = self._operand(node.left), self._operand(node.right)
        if node.operator == "/":
            # "typed" and not "safe": written as it is, with no cast and no NULLIF.
            return self.x.Div(this=left, expression=right, typed=True, safe=False)
        kind = {"+": self.x.Add, "-": self.x.Sub, "*": self.x.Mul}[node.operator]
        return kind(this=left, expression=right)

    def _operand(self, node: e.Expression) -> Any:
        return self._enclosed(self.number(node))

    def _enclosed(self, written: Any) -> Any:
        simple = (self.x.Cast, self.x.Literal, self.x.Anonymous, self.x.Paren, self.x.Func)
        is_case = isinstance(written, self.x.Case)
        return written if isinstance(written, simple) and not is_case else self._paren(written)

    def _paren(self, written: Any) -> Any:
        return self.x.Paren(this=written)

    def _function(self, node: e.Function) -> Any:
        arguments = [self.number(argument) for argument in node.arguments]
        if node.name == "negative":
            return self.x.Neg(this=self._enclosed(arguments[0]))
        if node.name in ("max", "min"):
            return self._extreme(node.name, arguments)
        kind = {"log": self.x.Ln, "exp": self.x.Exp, "abs": self.x.Abs}[node.name]
        return kind(this=arguments[0])

    def _extreme(self, name: str, arguments: list[Any]) -> Any:
        # As plain names: sqlglot would guard its own GREATEST against NULL.
        names = {"max": "GREATEST", "min": "LEAST"}
        function = name.upper() if self.dialect == "sqlite" else names[name]
        return self.x.Anonymous(this=function, expressions=arguments)

    def _dot(self, node: e.Dot) -> Any:
        terms = [
            term if weight == 1 else e.Constant(weight) * term
            for weight, term in zip(node.weights, node.terms, strict=True)
            if weight != 0
        ]
        return self.number(e.total(terms)) if terms else self._literal(0.0)

    def _softmax(self, node: e.Softmax) -> Any:
        # 1/Σ exp(l_j − l_i) needs no maximum, which would have to be written in every term.
        own = node.logits[node.index]
        limit = e.EXPONENT_LIMIT - 8  # so that a sum of hundreds does not overflow either
        others = [
            e.exp(e.clip(other - own, -limit, limit))
            for index, other in enumerate(node.logits)
            if index != node.index
        ]
        return self.number(1 / (1 + e.total(others)))

    # Choices --------------------------------------------------------------------------------

    def _case(self, branches: Sequence[tuple[Any, Any]], otherwise: Any) -> Any:
        ifs = [self.x.If(this=condition, true=value) for condition, value in branches]
        return self.x.Case(ifs=ifs, default=otherwise)

    def _choose(self, node: e.Choose) -> Any:
        branches = [(self.condition(c), self.number(value)) for c, value in node.branches]
        return self._case(branches, self.number(node.otherwise))

    def _steplookup(self, node: e.StepLookup) -> Any:
        kept = np.flatnonzero(node.values[1:] != node.values[:-1])
        edges, values = node.edges[kept], node.values[np.append(0, kept + 1)]
        leaves = [lambda value=value: self._literal(value) for value in values.tolist()]
        return self._search(node.at, edges.tolist(), leaves)

    def _linearlookup(self, node: e.LinearLookup) -> Any:
        x, y = node.x.tolist(), node.y.tolist()
        if self.dialect == "postgres":
            _add_level_stretch(x, y)

        def line(j: int) -> Any:
            rise, run = y[j + 1] - y[j], x[j + 1] - x[j]
            slope = rise / run if run > 0 else np.inf
            if rise == 0 or not np.isfinite(slope):
                return self._literal(y[j])
            return self.number(y[j] + slope * (node.at - x[j]))

        middle = [lambda j=j: line(j) for j in range(len(x) - 1)]
        ends = [lambda j=j: self._literal(y[j]) for j in (0, -1)]
        return self._search(node.at, x, [ends[0], *middle, ends[1]])

    def _search(self, at: e.Expression, edges: list[float], leaves: Sequence[Any]) -> Any:
        """CASE trees of logarithmic depth; ``leaves[i]`` writes the value below ``edges[i]``."""
        if not edges:
            return leaves[0]()
        middle = len(edges) // 2
        below = self.condition(at < edges[middle])
        left = self._search(at, edges[:middle], leaves[: middle + 1])
        right = self._search(at, edges[middle + 1 :], leaves[middle + 1 :])
        return self._case([(below, left)], right)

    # Conditions -----------------------------------------------------------------------------

    def _comparison(self, node: e.Comparison) -> Any:
        kinds = {"<": self.x.LT, "<=": self.x.LTE, ">": self.x.GT, ">=": self.x.GTE}
        sides = [
            self._raw_score(side) if isinstance(side, e.Score) else self.number(side)
            for side in (node.left, node.right)
        ]
        return kinds[node.operator](this=sides[0], expression=sides[1])

    def _all(self, node: e.All) -> Any:
        return self.x.and_(*[self.condition(c) for c in node.conditions])

    def _any(self, node: e.Any) -> Any:
        return self.x.or_(*[self.condition(c) for c in node.conditions])

    def _between(self, value: Any, low: float, high: float) -> Any:
        return self.x.Between(this=value, low=self._literal(low), high=self._literal(high))

    def _usable(self, node: e.Usable) -> Any:
        score = self._raw_score(node.score)
        if node.scale == "probability":
            return self._between(score, 0.0, 1.0)
        if node.scale == "score":
            return self._between(score, -e.LARGEST, e.LARGEST)
        finite = self.x.LTE(this=score, expression=self._literal(e.LARGEST))
        return finite if node.several else self.x.or_(finite, self._is_infinite(score.copy()))

    def _is_infinite(self, value: Any) -> Any:
        """Whether a number is +∞, which NaN must not pass for."""
        return self._less_negated(value, e.LARGEST)

    def _less_negated(self, value: Any, bound: float) -> Any:
        """Whether a value exceeds a bound, as −value < −bound: false for NaN everywhere."""
        return self.x.LT(this=self.x.Neg(this=value), expression=self._literal(-bound))

    def _feature(self, feature: e.Feature) -> Any:
        column = self._column(self.features[feature.index])
        return column if feature.text else self._double(column)

    def _featureatmost(self, node: e.FeatureAtMost) -> Any:
        return self.x.LTE(this=self._feature(node.feature), expression=self._literal(node.cut))

    def _featureabove(self, node: e.FeatureAbove) -> Any:
        return self._less_negated(self._feature(node.feature), node.cut)

    def _featureis(self, node: e.FeatureIs) -> Any:
        value = (
            self.x.Literal(this=node.value, is_string=True)
            if isinstance(node.value, str)
            else self._literal(node.value)
        )
        return self.x.EQ(this=self._feature(node.feature), expression=value)

    def _featuremissing(self, node: e.FeatureMissing) -> Any:
        column = self._column(self.features[node.feature.index])
        null = self.x.Is(this=column, expression=self.x.Null())
        if node.feature.text:
            return null
        value = self._feature(node.feature)
        number = self.x.or_(
            self.x.LTE(this=value, expression=self._literal(e.LARGEST)),
            self._is_infinite(value.copy()),
        )
        return self.x.or_(null, self.x.not_(self._paren(number)))


def _add_level_stretch(x: list[float], y: list[float]) -> None:
    """Let the line that begins at 0 begin a little later, where no product underflows."""
    for j, knot in enumerate(x[:-1]):
        if abs(knot) < TINY and x[j + 1] > 2 * TINY:
            x.insert(j + 1, TINY)
            y.insert(j + 1, y[j])
            return


class _Size:
    """How many nodes of SQL an expression takes, found without writing it."""

    def __init__(self) -> None:
        self._known: dict[int, int] = {}

    def of(self, node: e.Expression | e.Condition) -> int:
        if id(node) not in self._known:
            self._known[id(node)] = self._count(node)
        return self._known[id(node)]

    def _count(self, node: e.Expression | e.Condition) -> int:
        match node:
            case e.Arithmetic() | e.Comparison():
                return 1 + self.of(node.left) + self.of(node.right)
            case e.Function():
                return 1 + sum(map(self.of, node.arguments))
            case e.Dot():
                # Terms of weight 0 are not written.
                pairs = zip(node.weights, node.terms, strict=True)
                return 1 + sum(self.of(term) + 3 for weight, term in pairs if weight != 0)
            case e.Softmax():
                own = self.of(node.logits[node.index])
                others = (t for k, t in enumerate(node.logits) if k != node.index)
                return 4 + sum(self.of(other) + own + 8 for other in others)
            case e.Choose():
                parts = [self.of(part) for branch in node.branches for part in branch]
                return 1 + sum(parts) + self.of(node.otherwise)
            case e.StepLookup():
                return len(node.values) * (4 + self.of(node.at))
            case e.LinearLookup():
                return len(node.x) * (10 + 2 * self.of(node.at))
            case e.All() | e.Any():
                return 1 + sum(map(self.of, node.conditions))
            case e.Score() | e.Usable() | e.FeatureAbove() | e.FeatureMissing():
                return 4
        return 2
