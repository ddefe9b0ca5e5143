"""The columns that a command uses, as the user named them and as the file has them."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

from trueodds.basics.shown import shown, suggestion
from trueodds.cli.errors import UsageError
from trueodds.cli.files.open import FILE, DataSource
from trueodds.cli.files.sql import as_number, may_be_long
from trueodds.exceptions import InputError

if TYPE_CHECKING:
    from trueodds.inputs import InputScale

__all__ = ["ColumnNames", "Unit", "UnknownColumnError", "map_features", "refuse_margins"]

Unit = Literal["fraction", "percent"]


class UnknownColumnError(InputError):
    """A requested column that does not exist."""


@dataclass(frozen=True)
class ColumnNames:
    """Names of the columns that a command uses, as the user gave them."""

    score: tuple[str, ...]
    label: str | None = None
    weight: str | None = None
    counts: str | None = None
    groups: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    """Features that a map takes for categories; their values in text files stay texts."""
    named: tuple[str, ...] = ()
    """Requested columns of labels that may be missing, of times and of groups."""
    scale: InputScale = "probability"
    classes: tuple[str, ...] = ()
    """Labels passed as --class, in the order of the score columns."""
    sums_to_one: bool = True
    unit: Unit = "fraction"
    """Whether probabilities run to 1 or to 100."""

    def number(self, source: DataSource, name: str) -> str:
        """Return SQL of a column as a number; scores in percent become fractions."""
        percent = self.unit == "percent" and name in self.score
        return as_number(name, source.kinds[name], source.reading.decimal, percent=percent)

    def found_in(self, source: DataSource) -> ColumnNames:
        """The same with the score columns that a pattern or a range stands for.

        Raises InputError for a column that does not exist, with similar names.
        """
        found: dict[str, None] = {}
        for name in self.score:
            present = name in source.kinds
            found |= dict.fromkeys([name] if present else self._meant(name, [*source.kinds]))
        columns = replace(self, score=tuple(found))
        for name in columns.all_names():
            if name not in source.kinds:
                raise UnknownColumnError(_unknown(source, name, name in columns.features))
        return columns

    def texts(self, source: DataSource) -> list[str]:
        """Columns whose texts name groups and times, or labels that may be missing."""
        return [name for name in (*self.groups, *self.named) if may_be_long(source.kinds[name])]

    def named_in(self, header: Sequence[str]) -> bool:
        """Whether a row of texts has all names that are no patterns or ranges."""
        names = [name for name in self.all_names() if not set(name) & set("*?[:")]
        return bool(names) and set(names) <= {text.strip() for text in header}

    def _meant(self, name: str, present: list[str]) -> list[str]:
        """The columns of a range or a pattern, but not those that mean something else."""
        others = {self.label, self.weight, self.counts, *self.groups, *self.features, *self.named}
        first, colon, last = name.partition(":")
        if colon and first in present and last in present:
            names = present[present.index(first) : present.index(last) + 1]
        else:
            names = [one for one in present if fnmatch.fnmatchcase(one, name)]
        return [one for one in names if one not in others] or [name]

    def all_names(self) -> list[str]:
        """Every column that is needed."""
        single = [name for name in (self.label, self.weight, self.counts) if name is not None]
        return [*self.score, *single, *self.groups, *self.features, *self.named]


def map_features(fitted: Any) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the columns of features that a tree or a group map reads, and those of categories."""
    names = tuple(name for name in fitted.used_features if isinstance(name, str))
    if len(names) < len(fitted.used_features):
        raise InputError(
            "the map's features have no names, so the command cannot find their columns."
        )
    known = zip(fitted.features, getattr(fitted, "categories", ()), strict=True) if names else ()
    return names, tuple(n for n, categories in known if n in names and categories is not None)


def refuse_margins(scale: InputScale) -> None:
    """Raise for raw decision values where probabilities are needed."""
    if scale == "raw":
        raise UsageError(
            "raw decision values are not probabilities, so their calibration cannot be measured; "
            "run "
            "'trueodds fit --scale raw' first, or 'trueodds compare --scale raw'."
        )


def _unknown(source: DataSource, name: str, is_feature: bool) -> str:
    """Return the message for a missing column, with similar names."""
    use = ", a feature" if is_feature else ""
    known = [column for column in source.kinds if column != FILE]
    return f"{source.name} has no column {shown(name)}{use}; {suggestion(name, known)}"
