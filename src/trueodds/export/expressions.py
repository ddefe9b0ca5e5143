"""Formulas as small trees of typed nodes, to be written in any language.

A node stands for one float64 of a row, a :class:`Condition` for a truth value. Nodes have no
hidden guards: if you build a tree, take logarithms of positive numbers only and keep exponents
below :data:`EXPONENT_LIMIT`, by choosing (:class:`Choose`) or clipping before. That is what lets
the same tree run where an overflow is an error. Choices are lazy in SQL
and Python; in ONNX all branches are computed and one is taken.

A node that occurs several times is the same object each time, so that renderers can name it once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from trueodds.inputs import Floats, InputScale, category_number

__all__ = [
    "BELOW_ONE",
    "EXPONENT_LIMIT",
    "INFINITE",
    "LARGEST_FLOAT",
    "MISSING",
    "All",
    "Any",
    "Arithmetic",
    "Choose",
    "Comparison",
    "Condition",
    "Constant",
    "Dot",
    "Expression",
    "Feature",
    "FeatureAbove",
    "FeatureAtMost",
    "FeatureIs",
    "FeatureMissing",
    "Formula",
    "Function",
    "LinearLookup",
    "Named",
    "Numeric",
    "Score",
    "Softmax",
    "StepLookup",
    "Truth",
    "Usable",
    "absolute",
    "all_nodes",
    "clip",
    "exp",
    "features_in",
    "log",
    "maximum",
    "minimum",
    "parts_of",
    "sigmoid",
    "total",
]

EXPONENT_LIMIT = 708.0
"""exp(708) is the last whole power below the overflow of float64."""
BELOW_ONE = float(np.nextafter(1.0, 0.0))
LARGEST_FLOAT = float(np.finfo(np.float64).max)
INFINITE = 1e300
"""Log-odds from here on count as infinite, so that no infinity enters a sum or a product."""

Number = float | int


class Named(float):
    """A constant that is an entry of a map's parameter: ``a``, or ``weights`` at [2, 0].

    It keeps its name in sums and products with expressions, and in differences of two such.
    """

    name: str
    index: tuple[int, ...]

    def __new__(cls, value: float, name: str, index: tuple[int, ...] = ()) -> Named:
        """The number, with its name."""
        number = super().__new__(cls, value)
        number.name, number.index = name, index
        return number

    def __sub__(self, other: object) -> object:  # type: ignore[override]  # not always a float
        if isinstance(other, Named):
            return Arithmetic("-", Constant(self), Constant(other))
        return super().__sub__(other)  # type: ignore[operator]


class Expression:
    """A number that depends on a row; operators build larger ones."""

    def __add__(self, other: Expression | Number) -> Expression:
        return self if _is(other, 0) else Arithmetic("+", self, _node(other))

    def __radd__(self, other: Number) -> Expression:
        return self if _is(other, 0) else Arithmetic("+", _node(other), self)

    def __sub__(self, other: Expression | Number) -> Expression:
        return self if _is(other, 0) else Arithmetic("-", self, _node(other))

    def __rsub__(self, other: Number) -> Expression:
        return Arithmetic("-", _node(other), self)

    def __mul__(self, other: Expression | Number) -> Expression:
        return self if _is(other, 1) else Arithmetic("*", self, _node(other))

    def __rmul__(self, other: Number) -> Expression:
        return self if _is(other, 1) else Arithmetic("*", _node(other), self)

    def __truediv__(self, other: Expression | Number) -> Expression:
        return self if _is(other, 1) else Arithmetic("/", self, _node(other))

    def __rtruediv__(self, other: Number) -> Expression:
        return Arithmetic("/", _node(other), self)

    def __neg__(self) -> Expression:
        return Function("negative", (self,))

    def __lt__(self, other: Expression | Number) -> Condition:
        return Comparison("<", self, _node(other))

    def __le__(self, other: Expression | Number) -> Condition:
        return Comparison("<=", self, _node(other))

    def __gt__(self, other: Expression | Number) -> Condition:
        return Comparison(">", self, _node(other))

    def __ge__(self, other: Expression | Number) -> Condition:
        return Comparison(">=", self, _node(other))


class Condition:
    """Something that holds for a row or does not."""


@dataclass(frozen=True, eq=False)
class Constant(Expression):
    """A number; NaN stands for a missing value. Never infinite."""

    value: float


MISSING = Constant(float("nan"))


@dataclass(frozen=True, eq=False)
class Score(Expression):
    """A column of scores, by its position."""

    index: int


@dataclass(frozen=True, eq=False)
class Arithmetic(Expression):
    """left + right, left − right, left · right, left / right."""

    operator: Literal["+", "-", "*", "/"]
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False)
class Function(Expression):
    """A function of one argument, or the largest or least of several."""

    name: Literal["log", "exp", "abs", "negative", "max", "min"]
    arguments: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Choose(Expression):
    """The value of the first condition that holds, else ``otherwise``."""

    branches: tuple[tuple[Condition, Expression], ...]
    otherwise: Expression


@dataclass(frozen=True, eq=False)
class StepLookup(Expression):
    """``values[i]`` for edges[i−1] ≤ at < edges[i]; edges are finite and strictly increasing."""

    at: Expression
    edges: Floats
    values: Floats


@dataclass(frozen=True, eq=False)
class LinearLookup(Expression):
    """Linear interpolation between finite, strictly increasing knots; constant beyond them."""

    at: Expression
    x: Floats
    y: Floats


@dataclass(frozen=True, eq=False)
class Dot(Expression):
    """Σ weights[i]·terms[i]."""

    weights: tuple[float, ...]
    terms: tuple[Expression, ...]


@dataclass(frozen=True, eq=False)
class Softmax(Expression):
    """exp(logits[index]) / Σ exp(logits), without overflow."""

    logits: tuple[Expression, ...]
    index: int


@dataclass(frozen=True, eq=False)
class Comparison(Condition):
    """left < right, and so on."""

    operator: Literal["<", "<=", ">", ">="]
    left: Expression
    right: Expression


@dataclass(frozen=True, eq=False)
class All(Condition):
    """Every condition holds."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Any(Condition):
    """At least one condition holds."""

    conditions: tuple[Condition, ...]


@dataclass(frozen=True, eq=False)
class Usable(Condition):
    """A score is there, is not NaN, and lies in the range of its scale.

    Probabilities lie in [0, 1]; decision values are finite; log-odds may be infinite if they are
    those of one column (``several=False``), and may be −inf among several.
    """

    score: Score
    scale: InputScale
    several: bool

    @property
    def limits(self) -> tuple[float, float]:
        """The least and the greatest usable score."""
        if self.scale == "probability":
            return 0.0, 1.0
        if self.scale == "raw":
            return -LARGEST_FLOAT, LARGEST_FLOAT
        return -np.inf, LARGEST_FLOAT if self.several else np.inf


@dataclass(frozen=True)
class Feature:
    """A column of features, by its position in the fit; with its categories if it is no number."""

    index: int
    name: str
    categories: tuple[str, ...] | None = field(hash=False)  # there may be very many

    @property
    def takes_numbers(self) -> bool:
        """Whether it is a number, or its categories all are."""
        return all(category_number(text) is not None for text in self.categories or ())


@dataclass(frozen=True, eq=False)
class FeatureAtMost(Condition):
    """feature ≤ cut; does not hold for a missing value."""

    feature: Feature
    cut: float


@dataclass(frozen=True, eq=False)
class FeatureAbove(Condition):
    """feature > cut; does not hold for a missing value."""

    feature: Feature
    cut: float


@dataclass(frozen=True, eq=False)
class FeatureIs(Condition):
    """The category of the feature is this text; does not hold for a missing value."""

    feature: Feature
    value: str


@dataclass(frozen=True, eq=False)
class FeatureMissing(Condition):
    """The feature is null or NaN."""

    feature: Feature


Numeric = (
    Constant | Score | Arithmetic | Function | Choose | StepLookup | LinearLookup | Dot | Softmax
)
"""Every kind of expression that a renderer must know."""

Truth = Comparison | All | Any | Usable | FeatureAtMost | FeatureAbove | FeatureIs | FeatureMissing
"""Every kind of condition that a renderer must know."""


@dataclass(frozen=True, eq=False)
class Formula:
    """Outputs for a row of ``n_scores`` scores and some features, missing if it is not usable."""

    n_scores: int
    scale: InputScale
    usable: Condition
    outputs: tuple[Expression, ...]
    features: tuple[Feature, ...] = ()


def log(x: Expression) -> Expression:
    """The natural logarithm of a positive number."""
    return Function("log", (x,))


def exp(x: Expression) -> Expression:
    """The exponential of a number of at most 708 in size."""
    return Function("exp", (x,))


def absolute(x: Expression) -> Expression:
    """|x|."""
    return Function("abs", (x,))


def maximum(*numbers: Expression | Number) -> Expression:
    """The largest of some numbers."""
    return Function("max", tuple(_node(x) for x in numbers))


def minimum(*numbers: Expression | Number) -> Expression:
    """The least of some numbers."""
    return Function("min", tuple(_node(x) for x in numbers))


def clip(x: Expression, low: float, high: float) -> Expression:
    """The number of [low, high] next to x."""
    return minimum(maximum(x, low), high)


def sigmoid(eta: Expression) -> Expression:
    """1/(1 + exp(−η)), never exactly 0 or 1, as :func:`trueodds.numerics.log_odds.sigmoid`."""
    power = exp(clip(-eta, -EXPONENT_LIMIT, EXPONENT_LIMIT))
    return minimum(1 / (1 + power), BELOW_ONE)


def total(terms: Sequence[Expression]) -> Expression:
    """The sum of one or more terms, as a balanced tree: parsers limit the depth."""
    if len(terms) == 1:
        return terms[0]
    half = len(terms) // 2
    return total(terms[:half]) + total(terms[half:])


def _node(value: Expression | Number) -> Expression:
    if isinstance(value, Expression):
        return value
    return Constant(value if isinstance(value, Named) else float(value))


def _is(value: Expression | Number, number: int) -> bool:
    return not isinstance(value, (Expression, Named)) and value == number


Node = Expression | Condition


def parts_of(node: Node) -> Sequence[Node]:
    """The nodes that a node uses, each as often as it does."""
    match node:
        case Arithmetic() | Comparison():
            return (node.left, node.right)
        case Function():
            return node.arguments
        case Choose():
            return [*(part for branch in node.branches for part in branch), node.otherwise]
        case StepLookup() | LinearLookup():
            return (node.at,)
        case Dot():
            return node.terms
        case Softmax():
            return node.logits
        case All() | Any():
            return node.conditions
        case Usable():
            return (node.score,)
        case _:
            return ()


def all_nodes(roots: Sequence[Node]) -> list[Node]:
    """Some nodes and all that they use, each once."""
    found: dict[int, Node] = {}
    waiting = list(roots)
    while waiting:
        node = waiting.pop()
        if id(node) not in found:
            found[id(node)] = node
            waiting.extend(parts_of(node))
    return list(found.values())


def features_in(roots: Sequence[Node]) -> tuple[Feature, ...]:
    """The features that some nodes use, in the order of the fit."""
    asking = (FeatureAbove, FeatureAtMost, FeatureIs, FeatureMissing)
    found = {n.feature.index: n.feature for n in all_nodes(roots) if isinstance(n, asking)}
    return tuple(found[index] for index in sorted(found))
