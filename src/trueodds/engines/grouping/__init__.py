"""Frames of any library, reduced on their own engine to what a calibrator learns from.

One code path (narwhals) serves pandas, polars, PyArrow, DuckDB, Spark, Dask and Ibis. Only
grouped rows, a few numbers, or the columns asked for ever leave the engine.
"""

from trueodds.engines.grouping._cells import ScoreCells, cells_for
from trueodds.engines.grouping._class_rows import SampledRows, is_elsewhere, sample_class_rows
from trueodds.engines.grouping._collect import check_columns, collect_columns, open_frame
from trueodds.engines.grouping._grouping import MAX_ROWS, GroupedScores, group_scores
from trueodds.engines.grouping._sampling import sample_positions, take_positions

__all__ = [
    "MAX_ROWS",
    "GroupedScores",
    "SampledRows",
    "ScoreCells",
    "cells_for",
    "check_columns",
    "collect_columns",
    "group_scores",
    "is_elsewhere",
    "open_frame",
    "sample_class_rows",
    "sample_positions",
    "take_positions",
]
