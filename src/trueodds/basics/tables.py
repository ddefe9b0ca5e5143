"""Results as tables: a pandas frame, Markdown, LaTeX."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from trueodds.basics.imports import require
from trueodds.basics.shown import shown
from trueodds.exceptions import InputError

__all__ = ["Tabular", "frame_of", "in_latex", "in_markdown"]

MOST_DIGITS = 17
"""All that a number of float64 has."""


class Tabular:
    """What every result with :meth:`rows` has."""

    def rows(self) -> list[dict[str, Any]]:
        """One plain dict for each line of the table, all with the same keys."""
        raise NotImplementedError

    def to_frame(self) -> Any:
        """:meth:`rows` as a pandas frame."""
        return frame_of(self.rows())

    def to_markdown(self, digits: int = 3) -> str:
        """The table in Markdown."""
        return "\n\n".join(in_markdown(*table) for table in self._printed(_decimals(digits)))

    def to_latex(self, digits: int = 3) -> str:
        """The table in LaTeX, for the package booktabs."""
        return "\n\n".join(in_latex(*table) for table in self._printed(_decimals(digits)))

    def _printed(self, digits: int) -> list[tuple[list[str], list[list[str]]]]:
        """Header and cells of each table; the ends of an interval share a cell."""
        rows = self.rows()
        names = list(rows[0]) if rows else []
        ends = [(low, low.removesuffix("low") + "high") for low in names if low.endswith("low")]
        pairs = {low: high for low, high in ends if high in names}
        left = [name for name in names if name not in pairs.values()]
        shown = [f"{name[:-3]}interval" if name in pairs else name for name in left]
        header = [name.replace("_", " ") for name in shown]
        cells = [
            [
                _interval(row[name], row[pairs[name]], digits)
                if name in pairs
                else _cell(row[name], digits)
                for name in left
            ]
            for row in rows
        ]
        return [(header, cells)]


def frame_of(rows: list[dict[str, Any]]) -> Any:
    """A pandas frame, or an error that shows how to install pandas."""
    return require("pandas", "a frame of results", "pandas").DataFrame(rows)


def _decimals(digits: Any) -> int:
    if type(digits) is int and 0 <= digits <= MOST_DIGITS:
        return digits
    raise InputError(f"digits must be an integer from 0 to {MOST_DIGITS}; got {shown(digits)}.")


def _cell(value: Any, digits: int) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return "–"
    if isinstance(value, float):
        return f"{value:.{digits}f}".replace("-", "−")
    if isinstance(value, bool):
        return "yes" if value else ""
    return str(value)


def _interval(low: Any, high: Any, digits: int) -> str:
    ends = _cell(low, digits), _cell(high, digits)
    return " to ".join(ends) if ends != ("–", "–") else "–"


def in_markdown(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    r"""A table in Markdown.

    Examples
    --------
    >>> print(in_markdown(["a", "b"], [["x|y", "1"]]))
    | a | b |
    |---|---|
    | x\|y | 1 |
    """
    escaped = [[text.replace("|", "\\|") for text in row] for row in [header, *cells]]
    lines = [f"| {' | '.join(row)} |" for row in escaped]
    return "\n".join([lines[0], "|---" * len(header) + "|", *lines[1:]])


def in_latex(header: Sequence[str], cells: Sequence[Sequence[str]]) -> str:
    r"""A table in LaTeX, for the package booktabs.

    Examples
    --------
    >>> print(in_latex(["a_1", "b"], [["50%", "−1"]]))
    \begin{tabular}{lr}
    \toprule
    a\_1 & b \\
    \midrule
    50\% & $-$1 \\
    \bottomrule
    \end{tabular}
    """
    rows = [" & ".join(map(_escaped, row)) for row in [header, *cells]]
    body = "".join(f"{row} \\\\\n" for row in rows[1:])
    return (
        f"\\begin{{tabular}}{{l{'r' * (len(header) - 1)}}}\n\\toprule\n"
        f"{rows[0]} \\\\\n\\midrule\n{body}\\bottomrule\n\\end{{tabular}}"
    )


LATEX = {
    **{character: f"\\{character}" for character in "&%#_{}$"},
    "\\": "\\textbackslash{}",
    "~": "\\textasciitilde{}",
    "^": "\\textasciicircum{}",
    "−": "$-$",
    "–": "--",
    "<": "$<$",
    ">": "$>$",
}
"""Characters that LaTeX reads otherwise."""


def _escaped(text: str) -> str:
    return "".join(LATEX.get(character, character) for character in text)
