"""Options that a file seems to need: decimal commas, percentages, missing values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from trueodds.cli.files.open import DataSource
from trueodds.cli.files.sql import TEXT_TYPES, as_number, as_text, quoted, values
from trueodds.cli.rows.columns import ColumnNames

__all__ = ["ReadingAdvice", "advise", "totals_found"]

MISSING_WORDS = ("na", "n/a", "nan", "null", "none", "-", "--", "?", ".", "#n/a", "k.a.")
"""Common texts for missing values."""
FEWEST_SCORES = 10
"""Scores that are needed to infer their unit."""


@dataclass(frozen=True)
class ReadingAdvice:
    """Options to add to the command, and the reasons for them."""

    options: tuple[str, ...] = ()
    hint: str = ""
    wrong_scale: bool = False
    """Whether the scores are not probabilities at all, so that leaving rows out would mislead."""


def advise(source: DataSource, columns: ColumnNames) -> ReadingAdvice:
    """Look at all scores and return the options that would make them probabilities."""
    options, reasons = [], []
    if source.totals:
        options += ["--footer-rows", str(source.totals)]
        reasons.append(totals_found(source.totals))
        rows = source.relation.aggregate("count(*)").fetchall()[0][0]
        relation = source.relation.limit(max(0, rows - source.totals))
        source = replace(source, relation=relation)
    comma, missing, blanks, signs = _texts(source, columns)
    if comma:
        options += ["--decimal", ","]
        reasons.append(f"numbers have a decimal comma ({comma!r})")
    for word in missing:
        options += ["--na", word]
    if missing:
        reasons.append(f"{', '.join(map(repr, missing))} means a missing value")
    decimal = "," if comma else source.reading.decimal
    percent = _percent(source, columns, decimal, signs)
    if percent:
        options += ["--unit", "percent"]
        reasons.append(percent)
    if not options:
        return ReadingAdvice()
    if (blanks or missing) and not source.reading.skip_malformed:
        options += ["--on-bad-rows", "skip" if columns.label is not None else "blank"]
        reasons.append("some scores are missing")
    said = "; ".join(reasons)
    return ReadingAdvice(tuple(options), f"{said[:1].upper()}{said[1:]}.", bool(percent))


def totals_found(count: int) -> str:
    """Return the message that rows at the end look like totals."""
    last = "row looks like a total" if count == 1 else f"{count} rows look like totals"
    return f"the last {last}"


def _texts(source: DataSource, columns: ColumnNames) -> tuple[str | None, list[str], bool, bool]:
    """A number with a comma, words for nothing, whether scores are missing, or have a % sign."""
    comma, missing, blanks, signs = None, set(), False, False
    if columns.unit == "percent":
        return None, [], False, False
    for name in columns.score:
        kind = source.kinds[name]
        if kind not in TEXT_TYPES:
            found = _one(source, f"count(*) > count({quoted(name)})")
            blanks = blanks or bool(found[0])
            continue
        text = f"rtrim({as_text(name, kind)}, ' %')"
        commas = (
            f"{as_number(name, kind)} IS NULL AND regexp_full_match({text}, '[-+]?[0-9.]*,[0-9]+')"
        )
        words = f"lower(trim({text})) IN {values(MISSING_WORDS)}"
        found = _one(
            source,
            f"any_value({text}) FILTER ({commas})",
            f"list(DISTINCT {text}) FILTER ({words})",
            f"count(*) > count({quoted(name)})",
            f"coalesce(bool_or({as_text(name, kind)} LIKE '%\\%' ESCAPE '\\'), false)",
        )
        comma = comma or found[0]
        missing |= set(found[1] or ())
        blanks, signs = blanks or found[2], signs or found[3]
    return comma, sorted(missing), blanks, signs


def _percent(source: DataSource, columns: ColumnNames, decimal: str, signs: bool) -> str:
    """Return the reason why the scores look like percentages; empty if they do not."""
    from trueodds.inputs import seem_percentages

    if columns.scale != "probability" or columns.unit == "percent":
        return ""
    numbers = [
        as_number(name, source.kinds[name], decimal, percent=signs) for name in columns.score
    ]
    parts = (
        (f"count({n})", f"min({n})", f"max({n})", f"count(*) FILTER ({n} > 1)") for n in numbers
    )
    found = _one(source, *(part for four in parts for part in four))
    counts, lows, highs, above = (found[k::4] for k in range(4))
    if min(counts) < FEWEST_SCORES:
        return ""
    low, high = min(lows), max(highs)
    if signs:
        low, high = 100 * low, 100 * high
    elif not seem_percentages(low, high, sum(above) / max(counts)):
        return ""
    return f"scores run from {low:.4g} to {high:.4g}, so they look like percentages"


def _one(source: DataSource, *expressions: str) -> Any:
    return source.relation.aggregate(", ".join(expressions)).fetchall()[0]
