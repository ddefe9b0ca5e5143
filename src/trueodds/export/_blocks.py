"""Formulas as the source of a function, in any language with blocks and infix operators.

The writer names what is used more than once and opens a block for each choice. Names and texts
enter the source as ASCII literals or not at all, so whatever a column or a category is called, it
cannot become code.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from trueodds.export import expressions as e
from trueodds.export._renderer import Renderer
from trueodds.inputs import Floats

__all__ = ["BlockWriter"]


@dataclass
class BlockWriter(Renderer[str]):
    """Writes a formula line by line; a language adds its literals, helpers and blocks."""

    AND: ClassVar[str]
    OR: ClassVar[str]
    EQUAL: ClassVar[str] = "=="
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

    def __post_init__(self) -> None:
        self.uses = _uses(self.formula)
        self.several = self.formula.n_scores > 1

    @abstractmethod
    def source(self) -> str:
        """The whole text."""

    @abstractmethod
    def number_of(self, given: str) -> str:
        """The call that turns an argument into a number."""

    def feature_of(self, given: str) -> str:
        """The call that turns a numeric feature into a number."""
        return self.number_of(given)

    @abstractmethod
    def category_of(self, given: str) -> str:
        """The call that turns a feature into the text of its category."""

    @abstractmethod
    def text(self, value: str) -> str:
        """A text as a literal of ASCII."""

    @abstractmethod
    def literal(self, number: float) -> str:
        """The shortest text that reads back as the same float64."""

    @abstractmethod
    def softmax_of(self, logits: str) -> str:
        """The call that gives all shares."""

    @abstractmethod
    def table_of(self, table: str, items: str) -> str:
        """The line that holds some numbers."""

    @abstractmethod
    def write_choice(
        self, branches: list[tuple[e.Condition, e.Expression]], otherwise: e.Expression, result: str
    ) -> None:
        """The lines that give ``result`` the value of the first branch whose condition holds."""

    @property
    def parameters(self) -> str:
        """Arguments of the function."""
        return ("scores" if self.several else "score") + (
            ", features" if self.formula.features else ""
        )

    def summary(self) -> str:
        """One sentence that documents the function."""
        what = (
            "probabilities of the classes, from a row of" if self.several else "probability, from a"
        )
        scale = {"probability": "probabilit", "logit": "log-odds", "raw": "raw score"}
        ending = {
            "probability": ("y", "ies"),
            "logit": ("", ""),
            "raw": ("", "s"),
        }[self.formula.scale][self.several]
        given = scale[self.formula.scale] + ending
        return f"Calibrated {what} {given}; NaN if a score is missing or out of range."

    def write_inputs(self) -> None:
        """One line for each score and feature."""
        for index in range(self.formula.n_scores):
            given = f"scores[{index}]" if self.several else "score"
            self._assign(f"s{index}", self.number_of(given))
        for feature in self.formula.features:
            key = self.text(str(feature.name)) if self.named_features else str(feature.index)
            given = f"features[{key}]"
            read = self.feature_of if feature.categories is None else self.category_of
            self._assign(f"f{feature.index}", read(given))

    def _assign(self, name: str, value: str) -> None:
        self.line(f"{self.NEW}{name} = {value}{self.END}")

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

    def line(self, text: str) -> None:
        """Write a line of the current block."""
        self.lines.append("    " * self.depth + text)

    def _constant(self, node: e.Constant) -> str:
        return self.literal(node.value)

    def _score(self, node: e.Score) -> str:
        return f"s{node.index}"

    def _arithmetic(self, node: e.Arithmetic) -> str:
        return f"({self.number(node.left)} {node.operator} {self.number(node.right)})"

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

    def table(self, kind: str, numbers: Floats) -> str:
        """The name of a table of numbers, which is written before the function."""
        table = f"_{self.name}_{kind}_{len(self.constants)}"
        items = "".join(f"{self.literal(number)}, " for number in numbers.tolist())
        self.constants.append(self.table_of(table, items.rstrip()))
        return table

    def _choose(self, node: e.Choose) -> str:
        self.n_names += 1
        result = f"v{self.n_names}"
        self.write_choice(list(node.branches), node.otherwise, result)
        return self._remember(id(node), result)

    def block(self, result: str, value: e.Expression) -> None:
        """Write a block that assigns a value."""
        self.depth += 1
        self.scopes.append({})
        self.line(f"{result} = {self.number(value)}{self.END}")
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

    def _featureatmost(self, node: e.FeatureAtMost) -> str:
        return f"f{node.feature.index} <= {self.literal(node.cut)}"

    def _featureabove(self, node: e.FeatureAbove) -> str:
        return f"f{node.feature.index} > {self.literal(node.cut)}"

    def _featureis(self, node: e.FeatureIs) -> str:
        return f"f{node.feature.index} {self.EQUAL} {self.text(node.value)}"


def _uses(formula: e.Formula) -> Counter[int]:
    """How many other nodes use a node; an output counts once more."""
    uses: Counter[int] = Counter()
    waiting: list[Any] = [formula.usable, *formula.outputs]
    while waiting:
        node = waiting.pop()
        uses[id(node)] += 1
        if uses[id(node)] == 1:
            waiting.extend(e.parts_of(node))
    return uses
