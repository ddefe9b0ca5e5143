"""Group by score on the engine: exactly if there are few scores, else by cells."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.basics.log import logger
from trueodds.engines.cells import ScoreCells, _rounded, cells_for
from trueodds.engines.checks import (
    FEW_ROWS,
    Facts,
    FrameColumns,
    WeightColumns,
    check_rows,
    open_columns,
)
from trueodds.engines.frames import collect_columns, collect_row, open_frame
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    InputScale,
    check_integer,
    check_positive_class,
    check_scale,
)

__all__ = ["MAX_ROWS", "GroupedScores", "group_scores"]

MAX_ROWS = 1_000_000
SAMPLED_SHARE = 1 / 128
GOLDEN = (5**0.5 - 1) / 2
MANY_TIMES = 1.25
"""More distinct scores than this many times ``max_rows`` are not grouped one by one first."""
WORTH_A_PASS = 64
"""Cells are refined if they can be this many times finer (scores far from an outlier)."""


@dataclass(frozen=True, eq=False)
class GroupedScores:
    """Scores in increasing order with the weight of each class at each, and where they are from.

    Attributes
    ----------
    score : ndarray of shape (n_groups,)
    columns : tuple of ndarray of shape (n_groups,)
        As :attr:`trueodds.ScoreTable.columns`: ``n_neg``, ``n_pos`` and, of importances, the sums
        of their squares.
    labels : (label, label) or None
        The negative and the positive class; None if ``pos_label`` is compared with several.
    n_rows : int
        Rows that were grouped.
    cells : ScoreCells or None
        Resolution of the scores; None if exact.
    """

    score: Floats
    columns: tuple[Floats, ...]
    labels: tuple[Any, Any] | None
    n_rows: int
    cells: ScoreCells | None


def group_scores(
    frame: Any,
    *,
    score: str,
    label: str,
    weight: str | None = None,
    counts: str | None = None,
    pos_label: Any = None,
    scale: InputScale = "probability",
    max_rows: int = MAX_ROWS,
    checked: bool = False,
) -> GroupedScores:
    """Reduce a frame to counts on its own engine; see :meth:`trueodds.ScoreTable.from_frame`.

    With ``checked`` the rows are known to be good, and are not looked at for that again.
    """
    check_scale(scale)
    check_integer(max_rows, "max_rows", 3)
    start = time.perf_counter()
    weights = WeightColumns(weight, counts)
    found = _grouped(frame, score, label, weights, pos_label, scale, int(max_rows), checked)
    rounded = "" if found.cells is None else ", rounded"
    logger.info(
        "grouped %s rows into %s scores%s in %.3f s",
        *(f"{found.n_rows:,}", f"{len(found.score):,}", rounded, time.perf_counter() - start),
    )
    return found


def _grouped(
    frame: Any,
    score: str,
    label: str,
    weights: WeightColumns,
    pos_label: Any,
    scale: InputScale,
    max_rows: int,
    checked: bool,
) -> GroupedScores:
    opened = open_frame(frame)
    logger.info("grouping scores on %s", opened.implementation.name.lower())
    columns = open_columns(opened, score, label, weights)
    facts = check_rows(columns, scale, checked=checked)
    query = _Query.of(columns, facts, pos_label)
    if facts.low is None or facts.high is None:
        return query.grouped(None)
    cells = cells_for(scale, facts.low, facts.high, max_rows)
    if not _has_many_scores(columns, facts, scale, max_rows):
        exact = query.grouped(None)
        if len(exact.score) <= max_rows:
            return exact
        return _refined(lambda cells: _merged(exact, cells), cells, max_rows)
    return _refined(query.grouped, cells, max_rows)


def _refined(group: Any, cells: ScoreCells, max_rows: int) -> GroupedScores:
    """Group by cells, and again by finer ones as long as that is worth it.

    Cells are as many as could lie between the lowest and the highest score. If few of them are
    in use, because the scores crowd far from an outlier, there is room for finer ones.
    """
    found: GroupedScores = group(cells)
    while WORTH_A_PASS * len(found.score) <= max_rows:
        # A cell splits into two for every bit, and its ends may share cells with neighbors.
        finer = cells.finer(max_rows / (2 * len(found.score)))
        if finer is None:
            break
        cells, found = finer, group(finer)
    return found


def _merged(grouped: GroupedScores, cells: ScoreCells) -> GroupedScores:
    """What grouping by cells would have given."""
    score = cells.of_array(grouped.score)
    starts = np.flatnonzero(np.concatenate([[True], score[1:] > score[:-1]]))
    return GroupedScores(
        score[starts],
        tuple(np.add.reduceat(column, starts) for column in grouped.columns),
        grouped.labels,
        grouped.n_rows,
        cells,
    )


def _has_many_scores(columns: FrameColumns, facts: Facts, scale: InputScale, max_rows: int) -> bool:
    """Whether there are clearly more distinct scores than ``max_rows``, without keeping them all.

    About one score in 128 is drawn by its own last digits, the same on every engine, and only
    those are counted exactly. The draw: of score·φ, the part below 26 significant digits, in
    units of 2^−10 of the greatest such part, is as good as random.
    """
    import narwhals as nw

    if facts.n_rows <= max_rows:
        return False
    score = columns.score
    inside = (score > 0) & (score < 1) if scale == "probability" else (score.abs() < 2.0**960)
    usable = nw.when(inside & (score != 0)).then(score).otherwise(GOLDEN)
    product = usable * GOLDEN
    head = _rounded(product, 26)
    digits = (product - head) / head * 2.0**36
    drawn = columns.frame.select(score.alias("score"), (digits - digits.floor()).alias("draw"))
    drawn = drawn.filter(nw.col("draw") < SAMPLED_SHARE)
    row = collect_row(drawn.select(nw.col("score").n_unique().alias("scores")))
    return int(row["scores"] or 0) > MANY_TIMES * SAMPLED_SHARE * max_rows


def _by_class(is_positive: Any, value: Any, negative: str, positive: str) -> dict[str, Any]:
    """A column for each class: the value in its rows, 0 in the others."""
    import narwhals as nw

    return {
        positive: nw.when(is_positive).then(value).otherwise(0.0),
        negative: nw.when(is_positive).then(0.0).otherwise(value),
    }


@dataclass(frozen=True, eq=False)
class _Query:
    """The grouping query without the resolution of scores."""

    columns: FrameColumns
    facts: Facts
    pos_label: Any
    positive: Any
    may_have_more: bool

    @classmethod
    def of(cls, columns: FrameColumns, facts: Facts, pos_label: Any) -> _Query:
        first, last = facts.first_label, facts.last_label
        if pos_label is None and first == last:
            raise InputError(
                f"label column {columns.label.name!r} must hold two classes; all "
                f"{facts.n_rows} rows are {columns.label.written(first)!r}."
            )
        if pos_label is None:
            check_positive_class((first, last), "pos_label")
        positive = last if pos_label is None else columns.label.meant(pos_label)
        whole = isinstance(first, int) and last - first <= 1
        return cls(columns, facts, pos_label, positive, may_have_more=not whole)

    def grouped(self, cells: ScoreCells | None) -> GroupedScores:
        """Run it."""
        import narwhals as nw

        columns, facts = self.columns, self.facts
        frame, score, label = columns.frame, columns.score, columns.label.value
        weights = columns.weights
        if facts.zero_weights:
            frame = frame.filter(weights.value > 0)
        is_positive = label == self.positive
        parts = {}
        if not weights.names:
            parts["positive"] = is_positive.cast(nw.Float64)
        else:
            parts |= _by_class(is_positive, weights.value, "negative", "positive")
        if weights.importance is not None:
            parts |= _by_class(is_positive, weights.square, "square_neg", "square_pos")
        if self.may_have_more:
            neither = (label != facts.first_label) & (label != facts.last_label)
            parts["neither"] = neither.cast(nw.Float64)
        key = score if cells is None else cells.of_column(score)
        keyed = frame.select(key.alias("score"), *(v.alias(name) for name, v in parts.items()))
        sums = [nw.col(name).sum() for name in parts]
        # A sum of integers is wider than an integer on some engines.
        table = keyed.group_by("score").agg(nw.len().alias("rows"), *sums)
        found = collect_columns(table, ["score", "rows", *parts])
        order = np.argsort(found["score"], kind="stable")
        ordered = {name: column[order].astype(np.float64) for name, column in found.items()}
        n_pos = ordered["positive"]
        n_neg = ordered["negative"] if weights.names else ordered["rows"] - n_pos
        squares = (ordered[name] for name in ("square_neg", "square_pos") if name in ordered)
        has_more = self.may_have_more and bool(ordered["neither"].any())
        self._check_labels(has_more, bool(n_pos.any()))
        names = None if has_more else self._names()
        n_rows = int(ordered["rows"].sum())
        return GroupedScores(ordered["score"], (n_neg, n_pos, *squares), names, n_rows, cells)

    def _names(self) -> tuple[Any, Any] | None:
        first, last = self.facts.first_label, self.facts.last_label
        if first == last:
            return None
        negative = first if self.positive == last else last
        label = self.columns.label
        return label.written(negative), label.written(self.positive)

    def _check_labels(self, has_more: bool, has_positive: bool) -> None:
        name = self.columns.label.name
        if self.pos_label is None and has_more:
            raise InputError(
                f"label column {name!r} must hold two classes; found more, for example "
                f"{self._examples()}; pass pos_label= to compare one with all others."
            )
        if self.pos_label is not None and not has_positive:
            raise InputError(
                f"label column {name!r} has no row (of positive weight) with pos_label "
                f"{self.pos_label!r}; it has {self._examples()}."
            )

    def _examples(self) -> str:
        few = self.columns.frame.select(self.columns.label.value.alias("label")).head(FEW_ROWS)
        labels = set(collect_columns(few, ["label"])["label"].tolist())
        labels |= {self.facts.first_label, self.facts.last_label}
        shown = [repr(self.columns.label.written(label)) for label in sorted(labels)]
        return ", ".join(shown[:5]) + (", …" if len(shown) > 5 else "")
