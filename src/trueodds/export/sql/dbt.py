"""Formulas as macros for dbt: SQL with the columns as arguments."""

from __future__ import annotations

import re
from collections.abc import Sequence

from trueodds.basics.shown import shown
from trueodds.exceptions import InputError
from trueodds.export import expressions as e
from trueodds.export.expressions import all_nodes
from trueodds.export.sql.render import SqlDialect, render_sql

__all__ = ["render_dbt"]

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
OPENING = re.compile(r"\{(?=[{%#])")
"""Where Jinja would see the beginning of Jinja code."""


def render_dbt(
    formula: e.Formula, name: str, dialect: SqlDialect, features: Sequence[str] = ()
) -> str:
    """The text of a macro of one column, or of one macro for each of several classes.

    Parameters
    ----------
    formula : Formula
    name : str
        Name of the macro; those of several classes are numbered from 0: ``name_0``.
    dialect : str
    features : sequence of str
        Columns of the features; they are not arguments.
    """
    if not isinstance(name, str) or not NAME.fullmatch(name):
        raise InputError(f"name must be letters, digits and underscores; got {shown(name)}.")
    count = formula.n_scores
    arguments = ["score"] if count == 1 else [f"score_{k}" for k in range(count)]
    stem = "trueodds_column"
    while any(stem in text.lower() for text in _texts_in(formula, features)):
        stem += "_"
    holders = [f"{stem}_{k}_" for k in range(count)]
    macros = []
    for k, text in enumerate(render_sql(formula, holders, dialect, features)):
        body = OPENING.sub("{{ '{' }}", text)
        for holder, argument in zip(holders, arguments, strict=True):
            body = re.sub(rf'["`]{holder}["`]', f"{{{{ {argument} }}}}", body)
        own = name if count == 1 else f"{name}_{k}"
        macros.append(f"{{% macro {own}({', '.join(arguments)}) %}}\n{body}\n{{% endmacro %}}\n")
    return "\n".join(macros)


def _texts_in(formula: e.Formula, features: Sequence[str]) -> list[str]:
    """The texts of others that the SQL of a formula contains: columns and categories."""
    nodes = all_nodes(formula.outputs)
    return [*features, *(node.value for node in nodes if isinstance(node, e.FeatureIs))]
