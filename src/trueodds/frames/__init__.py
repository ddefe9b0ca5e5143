"""Frames of any library, reduced on their own engine to what a calibrator learns from.

One code path (narwhals) serves pandas, polars, PyArrow, DuckDB, Spark, Dask and Ibis. Only
grouped rows, a few numbers, or the columns asked for ever leave the engine.
"""

from trueodds.frames._cells import ScoreCells, cells_for
from trueodds.frames._collect import collect_columns, open_frame
from trueodds.frames._grouping import MAX_ROWS, GroupedScores, group_scores
from trueodds.frames._sampling import sample_positions, take_positions

__all__ = [
    "MAX_ROWS",
    "GroupedScores",
    "ScoreCells",
    "cells_for",
    "collect_columns",
    "group_scores",
    "open_frame",
    "sample_positions",
    "take_positions",
]
