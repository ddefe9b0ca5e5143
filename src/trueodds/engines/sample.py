"""Random rows: of several classes on a frame's own engine, or of batches that are read once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.engines.checks import (
    INFINITE_HINT,
    OUTSIDE_HINT,
    WeightColumns,
    check_number,
    refusal,
)
from trueodds.engines.frames import (
    check_columns,
    check_plain_names,
    collect_columns,
    collect_row,
    open_frame,
)
from trueodds.engines.labels import LabelColumn
from trueodds.engines.rules import (
    Column,
    any_broken,
    count_true,
    score_rules,
)
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, Weights

__all__ = [
    "SampledRows",
    "is_elsewhere",
    "sample_class_rows",
    "sample_positions",
    "take_positions",
]

RARE = 20
"""A class with at most 1/RARE of its equal share of the sample is taken whole."""
SEED = 20210
BLOCK_ROWS = 1 << 20
MOST_IN_BLOCKS = 1_000_000_000
"""NumPy draws how many rows fall into each block of fewer rows than this."""


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Whole rows, or a random sample of them.

    The importances in ``weight`` make up for classes that are taken whole; ``n_rows`` is the number
    of rows of the frame.
    """

    scores: Floats
    labels: npt.NDArray[Any]
    weight: Weights | None
    n_rows: int

    @property
    def is_sample(self) -> bool:
        """Whether rows were left out."""
        return len(self.labels) < self.n_rows


def is_elsewhere(frame: Any) -> bool:
    """Whether a frame's rows are not in this process's memory yet."""
    import narwhals as nw

    return isinstance(open_frame(frame), nw.LazyFrame)


def sample_class_rows(
    frame: Any,
    scores: Sequence[str],
    label: str,
    weights: WeightColumns,
    max_rows: int,
    scale: InputScale,
    *,
    rows_sum_to_one: bool = True,
) -> SampledRows:
    """Collect all rows, or about ``max_rows`` of them, drawn at random on the engine.

    Every row of a class has the same chance; rare classes are taken whole. All rows are checked
    on the engine for what would be refused in memory.
    """
    import narwhals as nw

    opened = open_frame(frame)
    names = [*scores, label, *weights.names]
    check_columns(opened, names)
    check_plain_names(opened, names)
    _check_rows(opened, scores, label, weights, scale, rows_sum_to_one)
    counted = opened.group_by(label).agg(nw.len().alias("trueodds rows"))
    counts = collect_columns(counted, [label, "trueodds rows"])
    total = int(counts["trueodds rows"].sum())
    rows = opened.select(*names)
    if total <= max_rows:
        found = collect_columns(rows, names)
        given = weights.collected(found)
    else:
        found, rate = _drawn(rows, names, label, counts, max_rows)
        given = weights.collected(found)
        own = given["sample_weight"]
        given["sample_weight"] = 1 / rate if own is None else np.asarray(own, np.float64) / rate
    table = np.column_stack([np.asarray(found[name], dtype=np.float64) for name in scores])
    return SampledRows(table, found[label], Weights.read(**given, n_rows=len(table)), total)


def _check_rows(
    frame: Any,
    scores: Sequence[str],
    label: str,
    weights: WeightColumns,
    scale: InputScale,
    sums_to_one: bool,
) -> None:
    import narwhals as nw

    schema = frame.collect_schema()
    for role, numbers in (("score", scores), ("weight", weights.names)):
        for name in numbers:
            check_number(frame, schema[name], name, role)
    rules = score_rules(
        [Column(name, nw.col(name).cast(nw.Float64)) for name in scores],
        scale,
        sums_to_one=sums_to_one,
        outside_hint=OUTSIDE_HINT,
        infinite_hint=INFINITE_HINT,
        sum_hint="if a row can have several labels, take one column at a time. If only one class "
        "is right and the columns are separate scores, use OneVsRestCalibrator.",
    )
    rules += LabelColumn.of(label, schema[label]).rules() + weights.rules()
    found = collect_row(
        frame.select(nw.len().alias("rows"), count_true(any_broken(rules)).alias("bad"))
    )
    if int(found["bad"] or 0):
        raise InputError(refusal(frame, rules, int(found["rows"])))


def _drawn(
    rows: Any, names: list[str], label: str, counts: dict[str, Any], max_rows: int
) -> tuple[dict[str, npt.NDArray[Any]], Floats]:
    """Rare classes whole, and the others at one rate; and the rate of each row."""
    import narwhals as nw

    sizes = counts["trueodds rows"]
    rare = sizes <= max_rows / len(sizes) / RARE
    rate = float((max_rows - sizes[rare].sum()) / sizes[~rare].sum())
    whole = nw.col(label).is_in(counts[label][rare].tolist())
    parts = [collect_columns(_bernoulli(rows.filter(~whole), rate), names)]
    rates = [np.full(len(parts[0][label]), rate)]
    if rare.any():
        parts.append(collect_columns(rows.filter(whole), names))
        rates.append(np.ones(len(parts[1][label])))
    merged = {name: np.concatenate([part[name] for part in parts]) for name in names}
    return merged, np.concatenate(rates)


def _bernoulli(frame: Any, rate: float) -> Any:
    """Each row with the same chance, drawn by the engine itself."""
    import narwhals as nw

    native, kind = nw.to_native(frame), frame.implementation
    if kind is nw.Implementation.DASK:
        drawn = native.sample(frac=rate, random_state=SEED)
    elif kind is nw.Implementation.DUCKDB:
        share = f"{100 * rate:.9f} PERCENT (bernoulli, {SEED})"
        drawn = native.query("rows_drawn", f"FROM rows_drawn USING SAMPLE {share}")
    elif kind is nw.Implementation.POLARS:
        import polars as pl

        bits = pl.int_range(pl.len(), dtype=pl.UInt64).hash(SEED)
        drawn = native.filter(bits < int(rate * 2**64))
    elif kind is nw.Implementation.IBIS:
        drawn = native.sample(rate, seed=SEED)
    else:
        drawn = native.sample(fraction=rate, seed=SEED)  # Spark and compatible engines
    return nw.from_native(drawn)


def sample_positions(n_rows: int, size: int, seed: int) -> npt.NDArray[np.int64]:
    """``size`` of ``n_rows`` positions in increasing order, every subset equally likely.

    How many fall into each block is drawn first, so memory is that of the sample. Of very many
    rows, as counts can stand for, positions are drawn until enough of them differ.

    Parameters
    ----------
    n_rows, size, seed : int

    Returns
    -------
    ndarray of shape (size,)

    Examples
    --------
    >>> sample_positions(1_000_000, 4, seed=0)
    array([269786, 511135, 636960, 850621])
    """
    rng = np.random.default_rng(seed)
    if n_rows >= MOST_IN_BLOCKS:
        drawn = np.unique(rng.integers(0, n_rows, size))
        while len(drawn) < size:  # few are drawn twice
            drawn = np.union1d(drawn, rng.integers(0, n_rows, size - len(drawn)))
        return drawn
    starts = np.arange(0, n_rows, BLOCK_ROWS)
    lengths = np.minimum(BLOCK_ROWS, n_rows - starts)
    counts = rng.multivariate_hypergeometric(lengths, size, method="marginals")
    parts = [
        start + np.sort(rng.choice(length, count, replace=False, shuffle=False))
        for start, length, count in zip(starts, lengths, counts, strict=True)
    ]
    return np.concatenate(parts).astype(np.int64)


def take_positions(batches: Iterable[Any], positions: npt.NDArray[np.int64]) -> Iterator[Any]:
    """The rows at increasing positions, from Arrow record batches that follow each other."""
    begin = 0
    for batch in batches:
        end = begin + batch.num_rows
        low, high = np.searchsorted(positions, [begin, end])
        yield batch.take(positions[low:high] - begin)
        begin = end
