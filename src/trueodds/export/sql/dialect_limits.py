"""What single SQL engines cannot do, and how formulas are written so that they need not.

- PostgreSQL stops at a product that underflows to 0, and like BigQuery at an overflow. A factor is
  raised to where it does not, which changes no result by more than 1e-290. Decision values of
  several classes are clipped to where their differences are finite.
- SQLite before 3.46 parses with a stack of 100 entries: choices are written side by side instead of
  inside each other. It reads a decimal by arithmetic in 64 bits, so that a text close to the middle
  of two float64s may become the other one.
- BigQuery has escape sequences in quoted names, and no columns whose names would need them.
- DuckDB, SQLite, Spark and BigQuery ignore the case of names, quoted ones too: DuckDB and SQLite
  that of ASCII letters, the others that of all letters.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.export import expressions as e

__all__ = [
    "HALF_RANGE",
    "LEAST_READ",
    "SMALL_UNIT",
    "SQLITE_WAYS",
    "TINY",
    "add_level_stretch",
    "check_name",
    "check_names",
    "flat_choice",
    "has_no_product",
    "slopes_of",
    "sqlite_digits",
    "without_underflow",
]

TINY = 1e-290
"""In PostgreSQL, scores closer to 0 than this count as this, with their sign."""
UNDERFLOW = 1e-305
"""Products are kept above this."""
HALF_RANGE = 8e307
"""The difference of two decision values of this size is finite."""
SQLITE_WAYS = 32
"""Branches of each choice in a search in SQLite: a thousand knots take two levels."""
LEAST_READ = 1e-280
"""SQLite divides twice to read a smaller number, and rounds twice."""
SMALL_UNIT = 2.0**-400
"""Smaller numbers are written as multiples of this power of two, which is exact."""

Branch = tuple[e.Condition, e.Expression]


def check_name(name: Any, dialect: str) -> None:
    """Refuse a column's name that a dialect cannot have or quote."""
    if not isinstance(name, str) or not name or "\0" in name:
        raise InputError(f"a column's name must be a text that is not empty; got {name!r}.")
    if dialect == "bigquery" and (set(name) & set("\\`") or not name.isprintable()):
        raise InputError(
            "BigQuery has no columns with a backslash, a backtick or a control character in their "
            f"names; got {name!r}. Rename the column; for a feature of a tree, name its column "
            "by features={...}."
        )


def _ascii_lower(name: str) -> str:
    return name.encode("utf-8", "surrogatepass").lower().decode("utf-8", "surrogatepass")


WITHOUT_CASE: dict[str, Callable[[str], str]] = {
    "duckdb": _ascii_lower,
    "sqlite": _ascii_lower,
    "spark": str.casefold,
    "bigquery": str.casefold,
}
"""Dialects that ignore the case of quoted names, and what they compare."""


def check_names(names: Iterable[Any], dialect: str) -> None:
    """Refuse names that a dialect cannot have, cannot quote, or takes for one column."""
    folded: dict[str, str] = {}
    for name in names:
        check_name(name, dialect)
        if dialect not in WITHOUT_CASE:
            continue
        other = folded.setdefault(WITHOUT_CASE[dialect](name), name)
        if other != name:
            raise InputError(
                f"the columns {shown(other)} and {shown(name)} differ in case alone, and the "
                f"dialect {dialect} takes them for one column. Rename one; for a feature of a "
                "tree, name its column by features={...}."
            )


def sqlite_digits(size: float) -> str:
    """A short text that SQLite reads as the same float64.

    The shortest text is kept unless it lies further from the number than 3/8 of the gap to the next
    float64. The middle of two float64s is then an eighth of a gap away, 10⁵ times as far as
    arithmetic in 64 bits errs. 18 digits lie within a tenth of a gap, and SQLite uses all of them.
    """
    shortest = repr(size)
    number, gap = Fraction(size), Fraction(size) - Fraction(math.nextafter(size, 0.0))
    return shortest if abs(Fraction(shortest) - number) <= gap * 3 / 8 else f"{size:.17e}"


def flat_choice(node: e.Choose) -> tuple[list[Branch], e.Expression]:
    """A choice among branches none of which is a choice by features, for SQLite.

    The first condition that holds decides, so a branch that is a choice becomes its own branches
    with both conditions, and what is left of it.
    """
    branches: list[Branch] = []
    for condition, value in node.branches:
        if isinstance(value, e.Choose) and _is_by_features(value):
            inner, rest = flat_choice(value)
            branches += [(_both(condition, other), chosen) for other, chosen in inner]
            branches.append((condition, rest))
        else:
            branches.append((condition, value))
    if isinstance(node.otherwise, e.Choose) and _is_by_features(node.otherwise):
        inner, rest = flat_choice(node.otherwise)
        return branches + inner, rest
    return branches, node.otherwise


def _both(first: e.Condition, second: e.Condition) -> e.Condition:
    parts = [part.conditions if isinstance(part, e.All) else (part,) for part in (first, second)]
    return e.All((*parts[0], *parts[1]))


def _is_by_features(node: e.Choose) -> bool:
    by_feature = (e.FeatureAbove, e.FeatureAtMost, e.FeatureIs, e.FeatureMissing, e.Any)
    return isinstance(node.branches[0][0], by_feature)


def without_underflow(node: e.Arithmetic, scale: str) -> e.Arithmetic:
    """A product that does not underflow in PostgreSQL.

    The factors that can be tiny are probabilities, powers, and what is squared; scores of other
    scales are not (:data:`TINY`).
    """
    left, right = node.left, node.right
    if left is right:
        size = e.maximum(e.absolute(left), float(np.sqrt(UNDERFLOW)))
        return e.Arithmetic("*", size, size)
    if isinstance(left, e.Constant) and 0 < abs(left.value) < 1 and _is_positive(right, scale):
        least = max(TINY, UNDERFLOW / abs(left.value))
        return e.Arithmetic("*", left, e.maximum(right, least))
    return node


def _is_positive(node: e.Expression, scale: str) -> bool:
    """Whether a number is seen to be no less than 0."""
    match node:
        case e.Constant():
            return node.value >= 0
        case e.Score():
            return scale == "probability"
        case e.Softmax():
            return True
        case e.Arithmetic():
            sides = (node.left, node.right)
            return node.operator != "-" and all(_is_positive(side, scale) for side in sides)
        case e.Function():
            found = [_is_positive(argument, scale) for argument in node.arguments]
            if node.name in ("exp", "abs"):
                return True
            return any(found) if node.name == "max" else node.name == "min" and all(found)
        case e.Choose():
            values = [value for _, value in node.branches]
            return all(_is_positive(value, scale) for value in (*values, node.otherwise))
        case e.StepLookup():
            return bool((node.values >= 0).all())
        case e.LinearLookup():
            return bool((node.y >= 0).all())
        case e.Dot():
            terms = all(_is_positive(term, scale) for term in node.terms)
            return terms and min(node.weights, default=0.0) >= 0
    return False


def has_no_product(node: e.Expression) -> bool:
    """Whether a number is a score, a constant, or an extreme of such."""
    if isinstance(node, e.Function):
        return node.name in ("max", "min") and all(map(has_no_product, node.arguments))
    return isinstance(node, (e.Score, e.Constant))


def add_level_stretch(x: list[float], y: list[float]) -> None:
    """Let the line that begins at 0 begin a little later, where no product underflows."""
    for j, knot in enumerate(x[:-1]):
        if abs(knot) < TINY and x[j + 1] > 2 * TINY:
            x.insert(j + 1, TINY)
            y.insert(j + 1, y[j])
            return


def slopes_of(x: list[float], y: list[float]) -> list[float]:
    """The slopes between neighbors; 0 where two are too close for one."""
    slopes = []
    for j in range(len(x) - 1):
        rise, run = y[j + 1] - y[j], x[j + 1] - x[j]
        slope = rise / run if run > 0 else np.inf
        slopes.append(slope if np.isfinite(slope) else 0.0)
    return slopes
