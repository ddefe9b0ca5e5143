"""Small changes of a module, one at a time, by Cosmic Ray's operators."""

from __future__ import annotations

import ast
import importlib.abc
import importlib.util
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator

__all__ = ["Mutant", "mutants_of"]

COMPARISONS = {
    "Lt": ("LtE", "GtE"), "LtE": ("Lt", "Gt"), "Gt": ("GtE", "LtE"), "GtE": ("Gt", "Lt"),
    "Eq": ("NotEq",), "NotEq": ("Eq",), "Is": ("IsNot",), "IsNot": ("Is",),
}  # fmt: skip
"""Every comparison by its neighbour and by its opposite, not by all others."""
ARITHMETIC = {
    "Add": "Sub", "Sub": "Add", "Mul": "Div", "Div": "Mul", "FloorDiv": "Mul", "Mod": "Mul",
    "Pow": "Mul", "BitAnd": "BitOr", "BitOr": "BitAnd",
}  # fmt: skip
OPERATORS = [
    *(f"core/ReplaceComparisonOperator_{a}_{b}" for a in COMPARISONS for b in COMPARISONS[a]),
    *(f"core/ReplaceBinaryOperator_{a}_{b}" for a, b in ARITHMETIC.items()),
    *("core/ReplaceUnaryOperator_USub_UAdd", "core/ReplaceUnaryOperator_Delete_Not", "core/AddNot"),
    *("core/ReplaceUnaryOperator_Delete_Invert", "core/ReplaceTrueWithFalse"),
    *("core/ReplaceFalseWithTrue", "core/ReplaceAndWithOr", "core/ReplaceOrWithAnd"),
    *("core/ReplaceBreakWithContinue", "core/ReplaceContinueWithBreak"),
    *("core/ExceptionReplacer", "core/NumberReplacer", "core/ZeroIterationForLoop"),
]


@dataclass(frozen=True)
class Mutant:
    """A module with one change: that of an operator at one of the places where it applies."""

    path: Path
    line: int
    operator: str
    occurrence: int

    @cached_property
    def code(self) -> str:
        """The changed text."""
        operator = get_operator(self.operator)()
        code: str = mutate_code(self.path.read_text("utf-8"), operator, self.occurrence)
        return code

    def install(self) -> None:
        """Let this process import the changed module in place of the real one."""
        parts = self.path.with_suffix("").parts
        name = ".".join(parts[len(parts) - parts[::-1].index("trueodds") - 1 :])
        sys.meta_path.insert(0, _Finder(name.removesuffix(".__init__"), self))


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.SourceLoader):  # type: ignore[misc]
    """Finds one module, whose text it was given."""

    def __init__(self, name: str, mutant: Mutant) -> None:
        self.name, self.mutant = name, mutant

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> Any:
        if fullname != self.name:
            return None
        return importlib.util.spec_from_file_location(fullname, self.mutant.path, loader=self)

    def get_filename(self, fullname: str) -> str:
        return str(self.mutant.path)

    def get_data(self, path: str | bytes) -> bytes:
        return self.mutant.code.encode()


def mutants_of(path: Path) -> Iterator[Mutant]:
    """All changes of a module but those of annotations, which nobody runs."""
    text = path.read_text("utf-8")
    annotated = list(_annotations(ast.parse(text)))
    nodes = list(ast_nodes(get_ast(text)))
    for name in OPERATORS:
        operator = get_operator(name)()
        positions = (place for node in nodes for place in operator.mutation_positions(node))
        for number, (begin, _) in enumerate(positions):
            if not any(first <= begin < last for first, last in annotated):
                yield Mutant(path, begin[0], name, number)


def _annotations(tree: ast.AST) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    """Where annotations begin and end."""
    for node in ast.walk(tree):
        for name in ("annotation", "returns"):
            part = getattr(node, name, None)
            if part is not None:
                yield (part.lineno, part.col_offset), (part.end_lineno, part.end_col_offset)
