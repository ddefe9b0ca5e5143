"""The rows that a fitted calibrator stores for its intervals."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from trueodds.inputs import Floats, InputScale, as_codes
from trueodds.maps import CalibrationMap
from trueodds.numerics.softmax.logits import one_vs_rest_scores
from trueodds.rows import CountedRows, Rows
from trueodds.table import ScoreTable

# Fitting a few rows needs none of it: imported when there are many, or an interval is asked for.
if TYPE_CHECKING:
    from trueodds.numerics.smooth_curve.kept import KeptCells

__all__ = ["ForecastRows", "cells_of", "keep_rows", "sample_rows", "smaller"]

FEW_ROWS = 4096
"""Up to this many rows stay rows; more become cells for an interval or a pickle."""
MANY_ROWS = 2**17
"""Up to this many unweighted rows are copied, which takes no time; more become cells at once."""
MOST_VALUES, FEWEST_ROWS = 2**17, 1000
"""Of several classes: the number of scores kept, or of rows if there are very many classes."""


class ForecastRows(Rows):
    """Rows whose scores are the predictions of the map, as those of a tree."""


def keep_rows(rows: Rows, scale: InputScale) -> Rows | KeptCells:
    """The rows that intervals need: at most 131,072 rows or scores of classes, or 1,500 cells."""
    if rows.scores.ndim == 2:
        return sample_rows(rows)
    if isinstance(rows, CountedRows):
        return _cells_of_table(rows.counted, scale, rows.offset)
    if len(rows) <= (MANY_ROWS if rows.weight is None else FEW_ROWS):
        kept = replace(rows.smoothed(None), codes=rows.codes.astype(np.bool_))
        return kept.take(np.arange(len(rows)))  # copies
    if rows.weight is None:
        return _cells_of_many(rows, scale)
    return _cells_of_table(rows.smoothed(None).table, scale, rows.offset)


def sample_rows(rows: Rows) -> Rows:
    """Copies of the rows, or of a random sample of them if there are many."""
    columns = rows.scores.shape[1] if rows.scores.ndim == 2 else 1
    most = max(MOST_VALUES // columns, FEWEST_ROWS)
    chosen = np.arange(len(rows))
    if len(rows) > most:
        chosen = np.random.default_rng(0).choice(len(rows), most, replace=False)
    return rows.take(chosen).smoothed(None)


def smaller(kept: Any, scale: InputScale) -> Any:
    """State for pickle: more than 4,096 rows of two classes become cells."""
    if isinstance(kept, Rows) and not isinstance(kept, ForecastRows):
        return _cells_of_many(kept, scale) if kept.scores.ndim == 1 and _are_many(kept) else kept
    return kept


def cells_of(kept: Rows, fitted: CalibrationMap, scale: InputScale) -> list[KeptCells]:
    """For each class, or for the positive one of two, the scores that its band is a function of.

    A method that fits each class separately may follow single rows, so that its predictions on
    these rows look better than they are. Its band is then a function of the class's scores.
    """
    if isinstance(kept, ForecastRows):
        p, scale = np.clip(kept.scores, 0.0, 1.0), "probability"
    elif kept.scores.ndim == 1:
        many = _are_many(kept)
        return [_cells_of_many(kept, scale) if many else _cells(kept, kept.scores, 1, scale)]
    elif fitted.band_of_forecasts:
        p, scale = np.clip(fitted._apply_valid(kept.scores), 0.0, 1.0), "probability"
    else:
        p, scale = one_vs_rest_scores(kept.scores, fitted.scale), fitted.scale
    if p.ndim == 1 or p.shape[1] == 1:  # the one column of two classes is the positive one
        return [_cells(kept, p.ravel(), 1, scale)]
    return [_cells(kept, np.ascontiguousarray(p[:, k]), k, scale) for k in range(p.shape[1])]


def _are_many(rows: Rows) -> bool:
    return len(rows) > FEW_ROWS


def _cells(rows: Rows, column: Floats, positive: int, scale: InputScale) -> KeptCells:
    table = ScoreTable.from_codes(column, rows.codes == positive, rows.weight)
    return _cells_of_table(table, scale, rows.offset)


def _cells_of_many(rows: Rows, scale: InputScale) -> KeptCells:
    from trueodds.numerics.smooth_curve.kept import kept_of_rows

    return kept_of_rows(rows.scores, as_codes(rows.codes), scale)


def _cells_of_table(table: ScoreTable, scale: InputScale, offset: float) -> KeptCells:
    from trueodds.numerics.smooth_curve.kept import kept_of_columns

    return replace(kept_of_columns(table.score, table.n_neg, table.n_pos, scale), offset=offset)
