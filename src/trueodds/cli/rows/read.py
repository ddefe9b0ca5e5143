"""Good rows as arrays, a sample that is the same every time, or counts of each class."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.shown import shown
from trueodds.cli.errors import require
from trueodds.cli.files.open import arrow_batches
from trueodds.cli.rows.columns import ColumnNames
from trueodds.cli.rows.labels import Classes
from trueodds.cli.rows.prepare import Prepared
from trueodds.engines.group import MAX_ROWS, group_scores
from trueodds.engines.sample import sample_positions, take_positions
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, Labels, Weights
from trueodds.table import ScoreTable

__all__ = ["FileRows", "count_rows", "read_rows"]

IN_MEMORY = MAX_ROWS
"""More rows are counted on the engine."""


@dataclass(frozen=True, eq=False)
class FileRows:
    """Rows in the order of the file."""

    scores: Floats
    """Array of shape (n,), or (n, n_classes)."""
    codes: Labels
    """Positions in ``classes``."""
    classes: tuple[Any, ...]
    weight: Weights | None
    groups: dict[str, npt.NDArray[Any]]
    features: Any
    """An Arrow table, or None."""
    n_available: int

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_classes(self) -> int:
        """The number of classes, those without rows included."""
        return len(self.classes)

    def notes(self, classes: Classes) -> list[str]:
        """What suggests that the other of two labels is the positive one."""
        if self.scores.ndim == 2:
            return []
        table = ScoreTable.from_codes(self.scores, self.codes == 1, self.weight)
        return classes.notes(table, np.bincount(self.codes, minlength=2).tolist())

    @property
    def is_sample(self) -> bool:
        """Whether rows were left out for their number."""
        return len(self) < self.n_available


def read_rows(prepared: Prepared, max_rows: int, seed: int = 0) -> FileRows:
    """Read the prepared rows, or a sample of at most ``max_rows`` of them."""
    pa = require("pyarrow")
    n_rows = prepared.tally.used
    batches = arrow_batches(prepared.relation)
    if n_rows > max_rows:
        batches = take_positions(batches, sample_positions(n_rows, max_rows, seed))
    table = pa.Table.from_batches(list(batches))
    columns = [_numbers(table.column(name)) for name in prepared.scores]
    scores = columns[0] if len(columns) == 1 else np.stack(columns, axis=1)
    importance, counts = (
        None if name is None else _numbers(table.column(role))
        for role, name in (("weight", prepared.columns.weight), ("counts", prepared.columns.counts))
    )
    weight = Weights.read(importance, counts, len(scores))
    groups = {
        name: _group_values(pa, table.column(f"group_{number}"))
        for number, name in enumerate(prepared.columns.groups)
    }
    features = None
    if prepared.columns.features:
        count = len(prepared.columns.features)
        features = table.select([f"feature_{number}" for number in range(count)])
        features = features.rename_columns(list(prepared.columns.features))
    codes = _numbers(table.column("label")).astype(np.intp)
    classes = prepared.classes.labels
    return FileRows(scores, codes, classes, weight, groups, features, n_rows)


def _numbers(column: Any) -> npt.NDArray[Any]:
    """A column without nulls; pyarrow's own conversion would import pandas, which is slow."""
    return np.from_dlpack(column.combine_chunks())


def _group_values(pa: Any, column: Any) -> npt.NDArray[Any]:
    """Numbers and texts; integers with missing ones are Python's, which stay exact."""
    if pa.types.is_floating(column.type) or (
        pa.types.is_integer(column.type) and not column.null_count
    ):
        return np.asarray(column.to_numpy())
    return np.array(column.to_pylist(), dtype=object)


def count_rows(
    relation: Any,
    n_rows: int,
    columns: ColumnNames,
    scale: InputScale = "probability",
) -> ScoreTable:
    """Count good rows: in memory, or on the engine if there are more than a million.

    Parameters
    ----------
    relation : DuckDB relation
        With the columns that :func:`trueodds.cli.rows.prepare.prepare` makes.
    n_rows : int
        How many rows it has.
    columns : ColumnNames
        What the file calls its columns.
    scale : {"probability", "logit", "raw"}, default="probability"
    """
    if n_rows > IN_MEMORY:
        grouped = group_scores(
            relation,
            score="score",
            label="label",
            weight=None if columns.weight is None else "weight",
            counts=None if columns.counts is None else "counts",
            scale=scale,
            checked=True,
        )
        return ScoreTable.from_grouped(grouped, MAX_ROWS).scaled()
    found = relation.fetchnumpy()
    for role, name in (("weight", columns.weight), ("counts", columns.counts)):
        if name is not None and not found[role].any():
            raise InputError(f"weight column {shown(name)} is zero in all {n_rows:,} rows.")
    weight = Weights.read(found.get("weight"), found.get("counts"), n_rows)
    return ScoreTable.from_codes(found["score"], found["label"] == 1, weight)
