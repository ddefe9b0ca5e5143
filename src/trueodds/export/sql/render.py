"""Formulas as SQL expressions.

The text must mean the same on engines that disagree, so it keeps to what they share:

- Literals always have an exponent (``0.3e0``): without one, DuckDB and Spark read a DECIMAL.
- NaN is greater than all numbers in DuckDB, PostgreSQL, Spark and Snowflake, and comparable to
  none in BigQuery. ``x BETWEEN 0 AND 1`` and ``-x < -c`` are false for NaN in both, and for NULL,
  so no function that detects NaN is needed. Nor is a literal for infinity, since x is infinite if
  it lies beyond the largest float64.
- PostgreSQL and BigQuery refuse the logarithm of 0, an overflow, and a division by 0, PostgreSQL
  an underflow too; CASE is lazy in all of them.
- GREATEST and LEAST differ in what they do with NULL; they never see one here.
- A text that is no number is an error in a cast; in SQLite it would be 0, so its type is looked at.

Small lookups are balanced trees of CASE, of logarithmic depth, since parsers limit nesting. Large
ones, and parts that occur often, are written by :mod:`trueodds.export.sql.dialect_text`. In
dialects where a part cannot get a name, it is written as often as it occurs. What a single
engine cannot do is in :mod:`trueodds.export.sql.dialect_limits`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from trueodds.basics.imports import require
from trueodds.exceptions import SqlTooLargeError
from trueodds.export import expressions as e
from trueodds.export._renderer import Renderer
from trueodds.export.sql.dialect_limits import (
    HALF_RANGE,
    LEAST_READ,
    SMALL_UNIT,
    SQLITE_WAYS,
    TINY,
    add_level_stretch,
    check_name,
    check_names,
    flat_choice,
    has_no_product,
    slopes_of,
    sqlite_digits,
    without_underflow,
)
from trueodds.export.sql.dialect_text import MOST_CASES, NAMING, SEARCHING, item, named, position
from trueodds.export.sql.named_parts import least_nodes, shared_layers
from trueodds.inputs import category_number, check_choice

__all__ = ["MOST_NODES", "SqlDialect", "SqlTooLargeError", "quoted", "render_sql"]

SqlDialect = Literal["duckdb", "postgres", "spark", "bigquery", "snowflake", "sqlite"]

MISSING_TEXT, MISSING_TEXTS = "nan", ("nan", "NaN")
"""Texts that no category has; the first stands for a missing value."""
SPELLED_NUMBER = (
    "^-?(0|[1-9][0-9]{0,17})([.][0-9]{1,30}([eE][-+]?[0-9]{1,2})?|[eE][-+]?[0-9]{1,2})$"
)
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9]{2}:[0-9]{2}:[0-9]{2}([.][0-9]*)?)?")

MOST_NODES = 200_000
"""The most that is written for all outputs together, in nodes of SQL; about 2 MB of text."""


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

    Raises
    ------
    SqlTooLargeError
        If the outputs would take more than :data:`MOST_NODES` nodes together.
    """
    check_choice(dialect, get_args(SqlDialect), "dialect")
    require("sqlglot", "an export to SQL", "trueodds[engines]")
    check_names((*columns, *features), dialect)
    _check_size(sum(map(least_nodes, formula.outputs)))  # before much is written
    places = {f.index: name for f, name in zip(formula.features, features, strict=True)}
    writer = _SqlWriter(columns, places, dialect, formula.scale)
    return [
        writer.text(e.Choose(((formula.usable, output),), e.MISSING)) for output in formula.outputs
    ]


def quoted(name: str, dialect: SqlDialect) -> str:
    """A column's name as an identifier of a dialect, whatever it holds."""
    from sqlglot import exp

    check_name(name, dialect)
    return str(exp.to_identifier(name, quoted=True).sql(dialect=dialect))


def _check_size(nodes: int) -> None:
    if nodes > MOST_NODES:
        raise SqlTooLargeError(
            f"this map would take more than {MOST_NODES:,} nodes of SQL, the most that is written. "
            "Export it with to_onnx() or to_python(), or use trueodds.engines.apply_map, which "
            "calls NumPy on batches then."
        )


@dataclass
class _SqlWriter(Renderer[Any]):
    columns: Sequence[str]
    features: dict[int, str]
    dialect: SqlDialect
    scale: str

    def __post_init__(self) -> None:
        from sqlglot import exp

        self.x = exp
        self.written = 0
        self.names: dict[int, str] = {}  # of parts that have one, by the id of their node
        # No column may be taken for one of our names.
        self.prefix = "trueodds"
        taken = [name.lower() for name in (*self.columns, *self.features.values())]
        while any(name.startswith(self.prefix) for name in taken):
            self.prefix += "_"
        self.holders = 0
        self.as_given = False  # whether scores are only compared, so that no product needs them

    def text(self, output: e.Expression) -> str:
        # The cast: a CASE of literals only would be a decimal in PostgreSQL.
        return self._sql(self._double(self.number(output)))

    def number(self, node: e.Expression) -> Any:
        if id(node) in self.names:
            return self._text(self.names[id(node)])
        self._count()
        return self.write_number(node)

    def condition(self, node: e.Condition) -> Any:
        self._count()
        return self.write_condition(node)

    def _count(self, nodes: int = 1) -> None:
        self.written += nodes
        _check_size(self.written)

    # Names ----------------------------------------------------------------------------------

    def scope(self, root: e.Expression) -> Any:
        """A formula, or a branch of one, in which parts that occur often have names."""
        if self.dialect not in NAMING:
            return self.number(root)
        layers = shared_layers(root, self.names)
        written = []
        for layer in layers:
            holder = self._new_holder()
            fields = [(f"{holder}_{k}", self._sql(self._as_double(p))) for k, p in enumerate(layer)]
            written.append((holder, fields))
            for part, (name, _) in zip(layer, fields, strict=True):
                self.names[id(part)] = f"{holder}.{name}"
        body = self.number(root)
        for holder, fields in reversed(written):
            body = self._text(named(fields, self._sql(body), holder, self.dialect))
        for layer in layers:  # outside, the names mean nothing
            for part in layer:
                del self.names[id(part)]
        return body

    def _as_double(self, part: e.Expression) -> Any:
        # In PostgreSQL literals are decimals, slow and of other digits.
        value = self.number(part)
        return self._double(value) if self.dialect == "postgres" else value

    def _new_holder(self) -> str:
        self.holders += 1
        return f"{self.prefix}_{self.holders}"

    def _text(self, sql: str) -> Any:
        whole = " " not in sql or sql.startswith("(SELECT ")
        return self.x.Var(this=sql) if whole else self.x.Paren(this=self.x.Var(this=sql))

    def _sql(self, written: Any) -> str:
        return str(written.sql(dialect=self.dialect))

    # Leaves ---------------------------------------------------------------------------------

    def _double(self, node: Any) -> Any:
        return self.x.Cast(this=node, to=self.x.DataType.build("double"))

    def _literal(self, value: float) -> Any:
        if np.isnan(value):
            return self.x.Null()
        size = abs(float(value))
        if self.dialect == "sqlite" and 0 < size < LEAST_READ:
            near, unit = self._literal(size / SMALL_UNIT), self._literal(SMALL_UNIT)
            number = self._paren(self.x.Mul(this=near, expression=unit))
        else:
            digits = sqlite_digits(size) if self.dialect == "sqlite" else repr(size)
            text = digits if "e" in digits else f"{digits}e0"
            number = self.x.Literal(this=text, is_string=False)
        return self.x.Neg(this=number) if value < 0 else number

    def _constant(self, node: e.Constant) -> Any:
        return self._literal(node.value)

    def _column(self, name: str) -> Any:
        return self.x.Column(this=self.x.Identifier(this=name, quoted=True))

    def _raw_score(self, node: e.Score) -> Any:
        return self._double(self._column(self.columns[node.index]))

    def _score(self, node: e.Score) -> Any:
        score = self._raw_score(node)
        if self.scale == "probability" or self.as_given:
            return score
        if len(self.columns) > 1 and self.dialect in ("postgres", "bigquery"):
            raised_score = self._extreme("max", [score, self._literal(-HALF_RANGE)])
            score = self._extreme("min", [raised_score, self._literal(HALF_RANGE)])
        if self.dialect != "postgres":
            return score
        tiny = self.x.LT(this=self.x.Abs(this=score.copy()), expression=self._literal(TINY))
        sign = self.x.Sign(this=self._raw_score(node))
        least = self.x.Mul(this=sign, expression=self._literal(TINY))
        return self._case([(tiny, least)], score)

    # Arithmetic -----------------------------------------------------------------------------

    def _arithmetic(self, node: e.Arithmetic) -> Any:
        if self.dialect == "postgres" and node.operator == "*":
            node = without_underflow(node, self.scale)
        # Parentheses that change no order of operations are left out: SQLite's parser counts them.
        left, right = self.number(node.left), self.number(node.right)
        products: tuple[Any, ...] = (self.x.Mul, self.x.Div)
        is_product = node.operator in "*/"
        on_left = products if is_product else (*products, self.x.Add, self.x.Sub)
        on_right = () if is_product else products
        if self.dialect == "sqlite" and node.operator == "+":
            on_right = (*products, self.x.Add)  # summed in another order, but flat
        left = left if isinstance(left, on_left) else self._enclosed(left)
        right = right if isinstance(right, on_right) else self._enclosed(right)
        if node.operator == "/":
            # "typed" and not "safe": written as it is, with no cast and no NULLIF.
            return self.x.Div(this=left, expression=right, typed=True, safe=False)
        kind = {"+": self.x.Add, "-": self.x.Sub, "*": self.x.Mul}[node.operator]
        return kind(this=left, expression=right)

    def _enclosed(self, written: Any) -> Any:
        simple = (
            self.x.Cast,
            self.x.Literal,
            self.x.Anonymous,
            self.x.Paren,
            self.x.Func,
            self.x.Var,
        )
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
        chosen, otherwise = list(node.branches), node.otherwise
        by_text = self._choose_by_category(node)
        if by_text is not None:
            return by_text
        if self.dialect == "sqlite":
            chosen, otherwise = flat_choice(node)
        branches = [(self.condition(c), self.scope(value)) for c, value in chosen]
        return self._case(branches, self.scope(otherwise))

    def _steplookup(self, node: e.StepLookup) -> Any:
        kept = np.flatnonzero(node.values[1:] != node.values[:-1])
        edges = node.edges[kept].tolist()
        values = node.values[np.append(0, kept + 1)].tolist()
        if self._is_large(edges):
            at = self._sql(self.number(node.at))
            place = position(at, edges, self._new_holder(), self.dialect)
            return self._text(item(values, place, self.dialect))
        leaves = [lambda value=value: self._literal(value) for value in values]
        return self._search(node.at, edges, leaves)

    def _linearlookup(self, node: e.LinearLookup) -> Any:
        x, y = node.x.tolist(), node.y.tolist()
        if self.dialect == "postgres":
            add_level_stretch(x, y)

        slopes = slopes_of(x, y)
        if self._is_large(x):
            return self._large_linear(node.at, x, y, slopes)

        def line(j: int) -> Any:
            if slopes[j] == 0:
                return self._literal(y[j])
            return self.number(y[j] + slopes[j] * (node.at - x[j]))

        middle = [lambda j=j: line(j) for j in range(len(x) - 1)]
        ends = [lambda j=j: self._literal(y[j]) for j in (0, -1)]
        return self._search(node.at, x, [ends[0], *middle, ends[1]])

    def _is_large(self, edges: Sequence[float]) -> bool:
        return self.dialect in SEARCHING and len(edges) > MOST_CASES

    def _large_linear(
        self, at: e.Expression, x: list[float], y: list[float], slopes: list[float]
    ) -> Any:
        where, holder = self._sql(self.number(at)), self._new_holder()
        name = f"{holder}_place"
        # Left of all knots and right of them the line is level; a score there may be infinite.
        inside = self._sql(self.number(e.clip(at, x[0], x[-1])))
        begins, starts, rises = (
            item(numbers, f"{holder}.{name}", self.dialect)
            for numbers in ([x[0], *x], [y[0], *y], [0.0, *slopes, 0.0])
        )
        line = f"{starts} + {rises} * ({inside} - {begins})"
        place = position(where, x, self._new_holder(), self.dialect)
        return self._text(named([(name, place)], line, holder, self.dialect))

    def _search(self, at: e.Expression, edges: list[float], leaves: Sequence[Any]) -> Any:
        """CASE trees of logarithmic depth; ``leaves[i]`` writes the value below ``edges[i]``."""
        if not edges:
            return leaves[0]()
        ways = SQLITE_WAYS if self.dialect == "sqlite" else 2
        each = -(-len(leaves) // ways)  # leaves of a branch
        *begins, last = range(0, len(leaves), each)
        branches = []
        for begin in begins:
            condition = self.condition(at < edges[begin + each - 1])
            below = edges[begin : begin + each - 1]
            branches.append((condition, self._search(at, below, leaves[begin : begin + each])))
        return self._case(branches, self._search(at, edges[last:], leaves[last:]))

    # Conditions -----------------------------------------------------------------------------

    def _comparison(self, node: e.Comparison) -> Any:
        kinds = {"<": self.x.LT, "<=": self.x.LTE, ">": self.x.GT, ">=": self.x.GTE}
        given = (node.left, node.right)
        self.as_given = all(has_no_product(x) and id(x) not in self.names for x in given)
        sides = [self.number(side) for side in given]
        self.as_given = False
        return kinds[node.operator](this=sides[0], expression=sides[1])

    def _all(self, node: e.All) -> Any:
        return self.x.and_(*[self.condition(c) for c in node.conditions])

    def _any(self, node: e.Any) -> Any:
        return self.x.or_(*[self.condition(c) for c in node.conditions])

    def _between(self, value: Any, low: float, high: float) -> Any:
        return self.x.Between(this=value, low=self._literal(low), high=self._literal(high))

    def _usable(self, node: e.Usable) -> Any:
        within = self._within(node)
        if self.dialect != "sqlite":
            return within
        # Others refuse to cast what is no number; SQLite's cast gives 0.
        return self.x.and_(self._is_number(self._column(self.columns[node.score.index])), within)

    def _within(self, node: e.Usable) -> Any:
        score = self._raw_score(node.score)
        if node.scale == "probability":
            return self._between(score, 0.0, 1.0)
        if node.scale == "raw":
            return self._between(score, -e.LARGEST_FLOAT, e.LARGEST_FLOAT)
        finite = self.x.LTE(this=score, expression=self._literal(e.LARGEST_FLOAT))
        return finite if node.several else self.x.or_(finite, self._is_infinite(score.copy()))

    def _is_number(self, column: Any) -> Any:
        kind = self.x.Anonymous(this="TYPEOF", expressions=[column])
        numbers = [self.x.Literal(this=name, is_string=True) for name in ("real", "integer")]
        return self.x.In(this=kind, expressions=numbers)

    def _is_infinite(self, value: Any) -> Any:
        """Whether a number is +∞, which NaN must not pass for."""
        return self._less_negated(value, e.LARGEST_FLOAT)

    def _less_negated(self, value: Any, bound: float) -> Any:
        """Whether a value exceeds a bound, as −value < −bound: false for NaN everywhere."""
        return self.x.LT(this=self.x.Neg(this=value), expression=self._literal(-bound))

    def _choose_by_category(self, node: e.Choose) -> Any:
        """A choice between the categories of one feature, whose text is found once; else None."""
        values = [value for _, value in node.branches]
        if self.dialect == "sqlite" and not all(isinstance(v, e.Constant) for v in values):
            return None  # nested choices are flat there
        asked: set[e.Feature] = set()
        ifs, filled = [], MISSING_TEXT
        for condition, value in node.branches:
            parts = condition.conditions if isinstance(condition, e.Any) else (condition,)
            texts = [part.value for part in parts if isinstance(part, e.FeatureIs)]
            missing = [part for part in parts if isinstance(part, e.FeatureMissing)]
            if len(texts) + len(missing) < len(parts) or len(texts) > 1:
                return None
            if texts and missing:
                filled = texts[0]
            asked |= {part.feature for part in parts}  # type: ignore[attr-defined]
            ifs.append((texts[0] if texts else MISSING_TEXT, value))
        if len(asked) > 1 or not any(feature.categories for feature in asked):
            return None
        self._count(len(ifs))
        text = self._category(asked.pop(), filled)
        cases = [self.x.If(this=self._quoted(t), true=self.scope(v)) for t, v in ifs]
        return self.x.Case(this=text, ifs=cases, default=self.scope(node.otherwise))

    def _category(self, feature: e.Feature, filled: str = MISSING_TEXT) -> Any:
        """The twin of :func:`trueodds.inputs.category_text` as far as known categories need it.

        ``filled`` is the text of a missing value.
        """
        x, known = self.x, feature.categories or ()
        text = self._category_column(feature)
        missing = x.or_(
            x.Is(this=text, expression=x.Null()),
            x.In(this=text.copy(), expressions=[self._quoted(t) for t in MISSING_TEXTS]),
        )
        branches = [(missing, self._quoted(filled))]
        for value, spelling in (("1", "true"), ("0", "false"), ("0", "-0")):
            if value in known:
                lower = text.copy() if spelling == "-0" else x.Lower(this=text.copy())
                same = x.EQ(this=lower, expression=self._quoted(spelling))
                branches.append((same, self._quoted(value)))
        numbers = [(n, t) for t in known if (n := category_number(t)) is not None]
        if numbers:
            self._count(4 * len(numbers))
            cases = [x.If(this=self._literal(n), true=self._quoted(t)) for n, t in numbers]
            number = x.Case(this=self._double(text.copy()), ifs=cases, default=text.copy())
            branches.append((self._is_spelled_number(text.copy()), number))
        moments = [t for t in known if MOMENT.fullmatch(t)]
        if moments:
            self._count(4 * len(moments))
            branches.append(self._moment(text, moments))
        return self._paren(self._case(branches, text.copy()))

    def _category_column(self, feature: e.Feature) -> Any:
        return self.x.Cast(
            this=self._column(self.features[feature.index]), to=self.x.DataType.build("text")
        )

    def _is_spelled_number(self, text: Any) -> Any:
        """Whether a text spells a number with a point or an exponent."""
        if self.dialect != "sqlite":
            return self.x.RegexpLike(this=text, expression=self._quoted(SPELLED_NUMBER))
        characters = [
            self.x.Glob(this=text, expression=self._quoted("*[.eE]*")),
            self.x.not_(self.x.Glob(this=text.copy(), expression=self._quoted("*[^-+.0-9eE]*"))),
        ]
        return self.x.and_(
            *characters, self.x.Anonymous(this="JSON_VALID", expressions=[text.copy()])
        )

    def _moment(self, text: Any, moments: Sequence[str]) -> tuple[Any, Any]:
        """Whether a text may be a time, and then the category that it is."""

        def part(start: int, length: int | None = None) -> Any:
            numbers = [start] if length is None else [start, length]
            literals = [self.x.Literal(this=str(k), is_string=False) for k in numbers]
            return self.x.Anonymous(this="SUBSTR", expressions=[text.copy(), *literals])

        def one_of(value: Any, texts: Sequence[str]) -> Any:
            return self.x.In(this=value, expressions=[self._quoted(t) for t in texts])

        rest = part(20)
        for character in "0.":
            rest = self._right_trimmed(rest, character)
        whole = self.x.DPipe(
            this=self.x.DPipe(
                this=self.x.DPipe(this=part(1, 10), expression=self._quoted(" ")),
                expression=part(12, 8),
            ),
            expression=rest,
        )
        full = [t if " " in t else f"{t} 00:00:00" for t in moments]
        cases = [
            self.x.If(this=self._quoted(long), true=self._quoted(t))
            for long, t in zip(full, moments, strict=True)
        ]
        is_moment = self.x.and_(one_of(part(11, 1), (" ", "T")), one_of(part(20, 1), ("", ".")))
        return is_moment, self.x.Case(this=whole, ifs=cases, default=text.copy())

    def _right_trimmed(self, text: Any, character: str) -> Any:
        if self.dialect == "spark":  # whose RTRIM takes the characters first
            return self.x.Trim(this=text, expression=self._quoted(character), position="TRAILING")
        return self.x.Anonymous(this="RTRIM", expressions=[text, self._quoted(character)])

    def _quoted(self, text: str) -> Any:
        return self.x.Literal(this=text, is_string=True)

    def _feature(self, feature: e.Feature) -> Any:
        """A numeric feature."""
        column = self._column(self.features[feature.index])
        if self.dialect == "sqlite":  # a text or a blob is missing
            number = self._is_number(column.copy())
            return self._paren(self._case([(number, self._double(column))], None))
        return self._double(column)

    def _featureatmost(self, node: e.FeatureAtMost) -> Any:
        return self.x.LTE(this=self._feature(node.feature), expression=self._literal(node.cut))

    def _featureabove(self, node: e.FeatureAbove) -> Any:
        return self._less_negated(self._feature(node.feature), node.cut)

    def _featureis(self, node: e.FeatureIs) -> Any:
        text = self._category(node.feature)
        return self.x.EQ(this=text, expression=self._quoted(node.value))

    def _featuremissing(self, node: e.FeatureMissing) -> Any:
        if node.feature.categories is not None:
            text = self._category(node.feature)
            return self.x.EQ(this=text, expression=self._quoted(MISSING_TEXT))
        value = self._feature(node.feature)
        null = self.x.Is(this=value, expression=self.x.Null())
        value = value.copy()
        number = self.x.or_(
            self.x.LTE(this=value, expression=self._literal(e.LARGEST_FLOAT)),
            self._is_infinite(value.copy()),
        )
        return self.x.or_(null, self.x.not_(self._paren(number)))
