"""The table of class counts by score, from which sorted methods are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.log import logger
from trueodds.basics.threads import BLOCK_ROWS, in_threads
from trueodds.engines.group import MAX_ROWS, GroupedScores, group_scores
from trueodds.exceptions import BinnedScoresWarning, InputError, warn_user
from trueodds.inputs import (
    Floats,
    InputScale,
    Labels,
    LabelSmoothing,
    Weights,
    as_codes,
    as_floats,
    check_count_size,
    check_increasing,
    check_integer,
    check_length,
    check_positive_class,
    check_smoothing,
    encode_labels,
    is_label,
    validate_scores,
)
from trueodds.kernels.tables import merge_classes, split_by_class
from trueodds.numerics.binning import run_starts
from trueodds.numerics.label_targets import binary_targets, smooth_counts

__all__ = ["ScoreTable"]

CONSTANT_WITHIN = 0.95
"""Importances of a class are nearly constant if its rows are worth this share of their number."""
CLASSES_WORTH = 1.2
"""Classes have separate factors if that makes the rows worth this many times as much."""


@dataclass(frozen=True, eq=False)
class ScoreTable:
    """Distinct scores in increasing order, with the weight of each class at each score.

    It handles ties, weights, duplicates and input order once, for every method. Tables can be
    added, so any engine can build them in parts with ``group by score``.

    Parameters
    ----------
    score : ndarray of shape (n_rows,)
        Strictly increasing; may begin with −inf and end with +inf (log-odds).
    n_neg, n_pos : ndarray of shape (n_rows,)
        Counts of rows, or sums of their importances; not negative, and not both zero.
    square_neg, square_pos : ndarray of shape (n_rows,), default=None
        Sums of squared importances. None if ``n_neg`` and ``n_pos`` are counts.

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> a = ScoreTable.from_arrays([0.8, 0.2, 0.8], [1, 0, 0])
    >>> b = ScoreTable.from_arrays(["0.5"], ["no"], pos_label="yes")
    >>> both = a + b
    >>> both.score, both.n_neg, both.n_pos
    (array([0.2, 0.5, 0.8]), array([1., 1., 1.]), array([0., 0., 1.]))
    >>> len(both), both.total_pos
    (3, 1.0)
    """

    score: Floats
    n_neg: Floats
    n_pos: Floats
    square_neg: Floats | None = None
    square_pos: Floats | None = None

    def __post_init__(self) -> None:
        if (self.square_neg is None) != (self.square_pos is None):
            raise InputError("pass square_neg and square_pos together, or neither.")
        given = {
            name: getattr(self, name)
            for name in ("score", "n_neg", "n_pos", "square_neg", "square_pos")
            if getattr(self, name) is not None
        }
        self._keep(*(as_floats(column, name).copy() for name, column in given.items()))
        if self.score.ndim != 1 or len({c.shape for c in (self.score, *self.columns)}) > 1:
            raise InputError("score, n_neg and n_pos must be 1-D and of one length.")
        if len(self.score) == 0:
            raise InputError("a ScoreTable needs at least one row.")
        check_increasing(self.score, "score")
        counts_are_legal = (
            np.isfinite(self.n_neg).all()
            and np.isfinite(self.n_pos).all()
            and (self.n_neg >= 0).all()
            and (self.n_pos >= 0).all()
            and (self.weight > 0).all()
        )
        if not counts_are_legal:
            raise InputError("n_neg and n_pos must be finite, not negative, and not both zero.")
        if self.square_neg is None or self.square_pos is None:
            check_count_size(self.n_neg, "n_neg")
            check_count_size(self.n_pos, "n_pos")
            return
        for total, square in ((self.n_neg, self.square_neg), (self.n_pos, self.square_pos)):
            # Σw² of positive numbers is positive and at most (Σw)².
            possible = (square > 0) == (total > 0)
            if not (possible & (square <= total**2 * (1 + 1e-9))).all():
                raise InputError(
                    "square_neg and square_pos must be sums of the squares of the importances that "
                    "n_neg and n_pos are sums of."
                )

    def _keep(self, *columns: Floats) -> None:
        names = ("score", "n_neg", "n_pos", "square_neg", "square_pos")
        for name, column in zip(names, (*columns, None, None), strict=False):
            view = None if column is None else column.view()
            if view is not None:
                view.flags.writeable = False
            object.__setattr__(self, name, view)

    @classmethod
    def _of_checked(
        cls, score: Floats, n_neg: Floats, n_pos: Floats, *squares: Floats
    ) -> ScoreTable:
        """Return a table of columns that were already validated."""
        table = cls.__new__(cls)
        table._keep(score, n_neg, n_pos, *squares)
        return table

    @property
    def columns(self) -> tuple[Floats, ...]:
        """``n_neg`` and ``n_pos``; of importances also ``square_neg`` and ``square_pos``."""
        if self.square_neg is None or self.square_pos is None:
            return self.n_neg, self.n_pos
        return self.n_neg, self.n_pos, self.square_neg, self.square_pos

    @property
    def are_counts(self) -> bool:
        """Whether the weights are counts of rows."""
        return self.square_neg is None

    @cached_property
    def square_weight(self) -> Floats:
        """Weight of both classes at each score in the variance of a sum: Σw², or the counts."""
        if self.square_neg is None or self.square_pos is None:
            return self.weight
        return self.square_neg + self.square_pos

    @property
    def rows_per_weight(self) -> float:
        """Σw/Σw²: the effective rows for each unit of weight; 1 of counts."""
        return float(self.weight.sum() / self.square_weight.sum())

    @property
    def effective(self) -> float:
        """The number of rows that the table is worth: that of counts, or (Σw)²/Σw²."""
        return self.total * self.rows_per_weight

    def scaled(self) -> ScoreTable:
        """The same with importances that sum to the effective rows; counts are unchanged.

        Importances that are all alike become counts.
        """
        if self.are_counts:
            return self
        factor = self.rows_per_weight
        powers = factor, factor, factor**2, factor**2
        columns = [column * power for column, power in zip(self.columns, powers, strict=True)]
        counts = [np.rint(column) for column in columns[:2]]
        near = zip(columns, counts * 2, strict=True)
        if all((np.abs(column - whole) <= 1e-9 * whole).all() for column, whole in near):
            return self._of_checked(self.score, *counts)
        return self._of_checked(self.score, *columns)

    @cached_property
    def rows_per_weight_of_class(self) -> tuple[float, float] | None:
        """Σw/Σw² of the negatives and of the positives, if each class should be counted by its own.

        So it is with class weights, and where one class was undersampled: importances are nearly
        constant within each class, and the classes together are worth many more rows than all rows
        counted by one factor. None otherwise.
        """
        if self.square_neg is None or self.square_pos is None:
            return None
        sums = [float(column.sum()) for column in self.columns]
        if min(sums) == 0:
            return None
        factors = sums[0] / sums[2], sums[1] / sums[3]
        effective = sums[0] * factors[0], sums[1] * factors[1]
        if sum(effective) < CLASSES_WORTH * self.effective:
            return None
        with np.errstate(divide="ignore", invalid="ignore"):  # 0/0 without rows, or tiny weights
            worth = np.nansum(
                np.divide(self.columns[:2], self.columns[2:]) * self.columns[:2], axis=1
            )
        if (np.array(effective) < CONSTANT_WITHIN * worth).any():
            return None
        return factors

    def times(self, neg: float, pos: float) -> ScoreTable:
        """Counts: the sums of each class times a number."""
        return self._of_checked(self.score, self.n_neg * neg, self.n_pos * pos)

    def in_counts(self) -> ScoreTable:
        """The number of rows that the weights are worth in a likelihood; counts are unchanged."""
        return self if self.are_counts else self.times(*[self.rows_per_weight] * 2)

    def __len__(self) -> int:
        return len(self.score)

    @cached_property
    def weight(self) -> Floats:
        """Weight of both classes at each score."""
        return self.n_neg + self.n_pos

    @property
    def total_neg(self) -> float:
        """Weight of all negatives."""
        return float(self.n_neg.sum())

    @property
    def total_pos(self) -> float:
        """Weight of all positives."""
        return float(self.n_pos.sum())

    @property
    def total(self) -> float:
        """Weight of everything."""
        return self.total_neg + self.total_pos

    def smoothed(self, label_smoothing: LabelSmoothing) -> ScoreTable:
        """Replace the labels 0 and 1 by targets strictly between them.

        Parameters
        ----------
        label_smoothing : "platt", float or None
            ``"platt"``: positives count as (N₊ + 1)/(N₊ + 2) and negatives as 1/(N₋ + 2), where
            N are the rows of the classes. A float ε in [0, 1): 1 − ε/2 and ε/2. None: unchanged.

        Returns
        -------
        ScoreTable
            With the same total weight at every score; importances as the rows that they are worth.

        Examples
        --------
        >>> table = ScoreTable.from_arrays([0.2, 0.7, 0.9], [0, 1, 1])
        >>> table.smoothed("platt").n_pos
        array([0.33333333, 0.75      , 0.75      ])
        """
        check_smoothing(label_smoothing)
        if not label_smoothing:
            return self
        rows = self.in_counts()
        targets = binary_targets(rows.total_neg, rows.total_pos, label_smoothing)
        return self._of_checked(self.score, *smooth_counts(rows.n_neg, rows.n_pos, *targets))

    @classmethod
    def from_arrays(
        cls,
        scores: Any,
        y: Any,
        sample_weight: Any = None,
        pos_label: Any = None,
        *,
        counts: Any = None,
    ) -> ScoreTable:
        """Group scores and labels.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Probabilities, log-odds or decision values; ±inf is allowed, NaN is not.
        y : array-like of shape (n,)
            Two classes; with ``pos_label``, any number (the others are negative).
        sample_weight : array-like of shape (n,), default=None
            Importances; rows of weight zero are dropped. Tables that are added must have
            importances of one scale.
        pos_label : label, default=None
            The positive class; by default the last of two sorted labels.
        counts : array-like of shape (n,), default=None
            How often each row occurred.

        Returns
        -------
        ScoreTable
            Scores that differ at all stay apart: float32 is widened exactly.
        """
        score = validate_scores(scores, "logit", n_columns=1)
        codes, classes = encode_labels(y)
        check_length(len(codes), "y", len(score), "scores")
        if pos_label is not None:
            positive = is_label(classes, pos_label)[codes]
        elif len(classes) == 2:
            check_positive_class(classes, "pos_label")
            positive = codes == 1
        else:
            raise InputError(
                f"y must have two classes; got {classes!r}. With several classes, pass pos_label."
            )
        weight = Weights.read(sample_weight, counts, len(score), raw=True)
        if weight is not None:
            with np.errstate(over="ignore", under="ignore"):
                _check_squares(weight.squares)
        return cls.from_codes(score, positive, weight)

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        score: str,
        label: str,
        weight: str | None = None,
        counts: str | None = None,
        pos_label: Any = None,
        scale: InputScale = "probability",
        max_rows: int = MAX_ROWS,
    ) -> ScoreTable:
        """Group the rows of a frame on its own engine; only grouped rows come back.

        Parameters
        ----------
        frame : frame of pandas, polars (eager or lazy), PyArrow, DuckDB, PySpark, Dask or Ibis
        score, label, weight, counts : str
            Names of columns: ``weight`` holds importances, ``counts`` how often each row occurred.
            Rows of weight zero are left out.
        pos_label : label, default=None
            The positive class; by default the last of two sorted labels.
        scale : {"probability", "logit", "raw"}, default="probability"
            The scale of the scores.
        max_rows : int, default=1000000
            If there are more distinct scores, they are rounded on the engine.

        Returns
        -------
        ScoreTable
            The same on every engine: scores and counts exactly, sums of weights up to the order of
            summation. With at most ``max_rows`` distinct scores, what :meth:`from_arrays` gives.

        Notes
        -----
        Rounding keeps k significant binary digits of p, or of 1 − p above one half: the most that
        ``max_rows`` allows for. No score moves by more than 2^−k of its distance from the nearer
        end, and no log-odds by more than 2^(1−k); k is 15 for a million rows and scores between
        1e-8 and 1 − 1e-8. See ``docs/engines.md`` for other scales, and for what maps lose by it.

        Cost: two or three passes on the engine, which never holds all distinct scores at once.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"p": [0.8, 0.2, 0.8], "bought": ["yes", "no", "no"]})
        >>> table = ScoreTable.from_frame(frame, score="p", label="bought")
        >>> table.score, table.n_neg, table.n_pos
        (array([0.2, 0.8]), array([1., 1.]), array([0., 1.]))
        """
        grouped = group_scores(
            frame,
            score=score,
            label=label,
            weight=weight,
            counts=counts,
            pos_label=pos_label,
            scale=scale,
            max_rows=max_rows,
        )
        return cls.from_grouped(grouped, max_rows)

    @classmethod
    def from_grouped(cls, grouped: GroupedScores, max_rows: int) -> ScoreTable:
        """Return the table of the result of :func:`trueodds.engines.group.group_scores`."""
        if grouped.cells is not None:
            warn_user(
                f"there are more than {max_rows:,} distinct scores, so those of "
                f"{grouped.n_rows:,} rows were rounded to {len(grouped.score):,}, which "
                f"{grouped.cells.change()}. A larger max_rows rounds less.",
                BinnedScoresWarning,
            )
        # −0.0 and 0.0 are two groups to some engines; two digits can be too many for a short table.
        table = cls.of_sorted(grouped.score, *grouped.columns)
        if not all(np.isfinite(column.sum()) for column in table.columns):
            raise InputError("the weights overflow when summed; rescale them, e.g. to mean 1.")
        _check_squares(table.square_weight)
        return table.coarsen(max_rows)

    def as_rows(self) -> tuple[Floats, npt.NDArray[np.bool_], Weights]:
        """Return scores, labels and weights: the rows of this table, one per score and class.

        Importances at one score become as many rows of equal importance as they are worth.
        """
        score = np.concatenate([self.score, self.score])
        positive = np.repeat([False, True], len(self))
        weight = np.concatenate([self.n_neg, self.n_pos])
        kept = weight > 0
        total = weight[kept]
        if self.square_neg is None or self.square_pos is None:
            return score[kept], positive[kept], Weights(None, total)
        square = np.concatenate([self.square_neg, self.square_pos])[kept]
        with np.errstate(divide="ignore"):  # the square of a tiny importance is 0: one row
            rows, importance = total * (total / square), square / total
        rows = np.where(square > 0, rows, 1.0)
        whole = np.rint(rows)
        one_weight = np.abs(rows - whole) < 1e-9 * whole
        rows, importance = (
            np.where(one_weight, whole, rows),
            np.where(one_weight, total / whole, importance),
        )
        return score[kept], positive[kept], Weights(importance, rows)

    @classmethod
    def from_codes(cls, score: Floats, positive: Any, weight: Weights | None = None) -> ScoreTable:
        """Group validated scores and boolean labels; see :meth:`from_arrays`."""
        if weight is not None and not weight.values.all():
            kept = weight.values > 0
            score, positive, weight = score[kept], positive[kept], weight.take(kept)
        if weight is None:
            # Two sorts of numbers are faster than one that remembers where each came from.
            classes = split_by_class(score, as_codes(positive))
            if len(score) > BLOCK_ROWS:
                in_threads([scores.sort for scores in classes], len(score))
            else:
                for scores in classes:
                    scores.sort()
            return cls._of_checked(*merge_classes(*classes))
        order = np.argsort(score)
        return cls.from_sorted_codes(score[order], positive[order], weight.take(order))

    @classmethod
    def from_sorted_codes(cls, score: Floats, positive: Any, weight: Weights | None) -> ScoreTable:
        """The same of rows in increasing order of their scores, all of positive weight."""
        hit = np.asarray(positive, dtype=np.float64)
        if weight is None:
            return cls.of_sorted(score, 1 - hit, hit)
        columns: list[Floats] = []
        for values in (weight.values, *(() if weight.importance is None else (weight.squares,))):
            n_pos = hit * values
            columns += [values - n_pos, n_pos]
        return cls.of_sorted(score, *columns)

    @classmethod
    def of_sorted(cls, score: Floats, *columns: Floats) -> ScoreTable:
        """Sum rows of equal score in :attr:`columns` that are sorted and validated."""
        if (score[1:] == score[:-1]).any():
            starts = run_starts(score)
            score = score[starts]
            columns = tuple(np.add.reduceat(column, starts) for column in columns)
        return cls._of_checked(score, *columns)

    @classmethod
    def of_runs(cls, score: Floats, *columns: Floats, starts: Labels) -> ScoreTable:
        """Sum the rows from each of ``starts`` to the next, in sorted :attr:`columns`.

        The score of a run is its weighted mean. No two runs may hold the same score.
        """
        weight = columns[0] + columns[1]
        mass = np.add.reduceat(weight, starts)
        ends = np.append(starts[1:], len(score))
        base, last = score[starts], score[ends - 1]
        # Relative to the run's first score, so that close scores keep their digits.
        with np.errstate(invalid="ignore"):  # an infinite score is a run of its own
            offset = score - np.repeat(base, ends - starts)
            mean = base + np.add.reduceat(offset * weight, starts) / mass
        mean = np.where(base == last, base, np.clip(mean, base, last))
        return cls._of_checked(mean, *(np.add.reduceat(column, starts) for column in columns))

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """Add two tables."""
        if not isinstance(other, ScoreTable):
            return NotImplemented
        ours, theirs = self.columns, other.columns
        if self.are_counts != other.are_counts:  # a count is a sum of importances of one
            ours, theirs = ((t.n_neg, t.n_pos, *t.columns[-2:]) for t in (self, other))
        score = np.concatenate([self.score, other.score])
        order = np.argsort(score, kind="stable")
        both = (np.concatenate(pair)[order] for pair in zip(ours, theirs, strict=True))
        return self.of_sorted(score[order], *both)

    def coarsen(self, max_rows: int) -> ScoreTable:
        """Merge neighboring rows until at most ``max_rows`` are left.

        The first and the last row are unchanged, so the range of scores does not change. The
        rows between are cut into groups of equal weight; a group's score is its weighted mean.

        Parameters
        ----------
        max_rows : int
            At least 3.

        Returns
        -------
        ScoreTable
            The weight of each class is kept exactly. The weighted distribution function of the
            scores, of either class, moves at any point by less than the weight of one group: at
            most total/(max_rows − 2), plus the heaviest row.

        Examples
        --------
        >>> import numpy as np
        >>> table = ScoreTable.from_arrays(np.arange(1000) / 999, np.arange(1000) % 2)
        >>> coarse = table.coarsen(102)
        >>> len(coarse), coarse.score[[0, -1]], coarse.total_pos
        (102, array([0., 1.]), 500.0)
        """
        check_integer(max_rows, "max_rows", 3)
        if len(self) <= max_rows:
            return self
        weight = self.weight[1:-1]
        middle = np.cumsum(weight) - weight / 2
        group = np.floor(middle / weight.sum() * (max_rows - 2))
        group = np.minimum(group, max_rows - 3)
        starts = np.concatenate([[0], 1 + run_starts(group), [len(self) - 1]])
        logger.info("pooled %s distinct scores in %s", f"{len(self):,}", f"{len(starts):,}")
        return self.of_runs(self.score, *self.columns, starts=starts)


def _check_squares(square: Floats) -> None:
    """Refuse importances whose squares float64 cannot hold; a table does not rescale them."""
    if not 0 < square.sum() < np.inf:
        raise InputError(
            "squares of the weights overflow or vanish; rescale the weights, e.g. to mean 1."
        )
