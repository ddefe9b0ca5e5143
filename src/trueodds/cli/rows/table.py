"""Rows that have been checked, as counts of each class at each score."""

from __future__ import annotations

import math
from typing import Any

from trueodds.basics.shown import shown
from trueodds.engines.grouping import MAX_ROWS, group_scores
from trueodds.exceptions import InputError
from trueodds.inputs import InputScale
from trueodds.table import ScoreTable

__all__ = ["score_table"]

IN_MEMORY = MAX_ROWS
"""More rows are counted on the engine."""


def score_table(
    relation: Any, n_rows: int, *, weight: str | None, scale: InputScale = "probability"
) -> ScoreTable:
    """Count good rows: in memory, or on the engine if there are more than a million.

    Parameters
    ----------
    relation : DuckDB relation
        With the columns that :func:`trueodds.cli.rows.prepare.prepare` makes.
    n_rows : int
        How many rows it has.
    weight : str or None
        What the file calls the column of weights, if there is one.
    scale : {"probability", "logit", "score"}, default="probability"
    """
    if n_rows > IN_MEMORY:
        named = None if weight is None else "weight"
        grouped = group_scores(
            relation, score="score", label="label", weight=named, scale=scale, checked=True
        )
        return ScoreTable.from_grouped(grouped, MAX_ROWS)
    found = relation.fetchnumpy()
    mass = None
    if weight is not None:
        mass = found["weight"]
        if not mass.any():
            raise InputError(f"weight column {shown(weight)} is zero in all {n_rows} rows.")
        if math.isinf(mass.sum()):
            raise InputError("the weights sum to infinity; divide them by a large number.")
    return ScoreTable.from_codes(found["score"], found["label"] == 1, mass)
