"""The table of class counts by score, from which sorted methods are fitted."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.basics.log import logger
from trueodds.basics.threads import BLOCK_ROWS, side_by_side
from trueodds.engines.group import MAX_ROWS, GroupedScores, group_scores
from trueodds.exceptions import InputError
from trueodds.inputs import (
    Floats,
    InputScale,
    Labels,
    LabelSmoothing,
    as_codes,
    as_floats,
    check_increasing,
    check_integer,
    check_length,
    check_positive_class,
    check_smoothing,
    check_weight_size,
    encode_labels,
    is_label,
    validate_scores,
    validate_weights,
)
from trueodds.kernels.tables import merge_classes, split_by_class
from trueodds.numerics.binning import run_starts
from trueodds.numerics.label_targets import binary_targets, smooth_counts

__all__ = ["ScoreTable"]


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
        Non-negative weights; every row has some.

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

    def __post_init__(self) -> None:
        names = ("score", "n_neg", "n_pos")
        self._keep(*(as_floats(getattr(self, name), name).copy() for name in names))
        if self.score.ndim != 1 or not (self.score.shape == self.n_neg.shape == self.n_pos.shape):
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
        check_weight_size(self.n_neg, "n_neg")
        check_weight_size(self.n_pos, "n_pos")

    def _keep(self, *columns: Floats) -> None:
        for name, column in zip(("score", "n_neg", "n_pos"), columns, strict=True):
            view = as_floats(column, name).view()
            view.flags.writeable = False
            object.__setattr__(self, name, view)

    @classmethod
    def _of_checked(cls, score: Floats, n_neg: Floats, n_pos: Floats) -> ScoreTable:
        """Return a table of columns that were already validated."""
        table = cls.__new__(cls)
        table._keep(score, n_neg, n_pos)
        return table

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
            N are the weights of the classes. Weights are taken as counts: multiplying all of them
            by ten makes the correction about ten times weaker. Scale importance weights to sum to
            the number of rows. A float ε in [0, 1): 1 − ε/2 and ε/2. None: unchanged.

        Returns
        -------
        ScoreTable
            With the same total weight at every score.

        Examples
        --------
        >>> table = ScoreTable.from_arrays([0.2, 0.7, 0.9], [0, 1, 1])
        >>> table.smoothed("platt").n_pos
        array([0.33333333, 0.75      , 0.75      ])
        """
        check_smoothing(label_smoothing)
        if not label_smoothing:
            return self
        targets = binary_targets(self.total_neg, self.total_pos, label_smoothing)
        return self._of_checked(self.score, *smooth_counts(self.n_neg, self.n_pos, *targets))

    @classmethod
    def from_arrays(
        cls, scores: Any, y: Any, sample_weight: Any = None, pos_label: Any = None
    ) -> ScoreTable:
        """Group scores and labels.

        Parameters
        ----------
        scores : array-like of shape (n,)
            Probabilities, log-odds or decision values; ±inf is allowed, NaN is not.
        y : array-like of shape (n,)
            Two classes; with ``pos_label``, any number (the others are negative).
        sample_weight : array-like of shape (n,), default=None
            A weight of k equals k repetitions; rows of weight zero are dropped.
        pos_label : label, default=None
            The positive class; by default the last of two sorted labels.

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
        return cls.from_codes(score, positive, validate_weights(sample_weight, len(score)))

    @classmethod
    def from_frame(
        cls,
        frame: Any,
        *,
        score: str,
        label: str,
        weight: str | None = None,
        pos_label: Any = None,
        scale: InputScale = "probability",
        max_rows: int = MAX_ROWS,
    ) -> ScoreTable:
        """Group the rows of a frame on its own engine; only grouped rows come back.

        Parameters
        ----------
        frame : frame of pandas, polars (eager or lazy), PyArrow, DuckDB, PySpark, Dask or Ibis
        score, label, weight : str
            Names of columns. Rows of weight zero are left out.
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
            pos_label=pos_label,
            scale=scale,
            max_rows=max_rows,
        )
        return cls.from_grouped(grouped, max_rows)

    @classmethod
    def from_grouped(cls, grouped: GroupedScores, max_rows: int) -> ScoreTable:
        """Return the table of the result of :func:`trueodds.engines.group.group_scores`."""
        # −0.0 and 0.0 are two groups to some engines; two digits can be too many for a short table.
        table = cls.of_sorted(grouped.score, grouped.n_neg, grouped.n_pos)
        if not np.isfinite(table.total):
            raise InputError("the weights overflow when summed; rescale them, e.g. to mean 1.")
        return table.coarsen(max_rows)

    def as_rows(self) -> tuple[Floats, npt.NDArray[np.bool_], Floats]:
        """Return scores, labels and weights: the rows of this table, one per score and class."""
        score = np.concatenate([self.score, self.score])
        positive = np.repeat([False, True], len(self))
        weight = np.concatenate([self.n_neg, self.n_pos])
        kept = weight > 0
        return score[kept], positive[kept], weight[kept]

    @classmethod
    def from_codes(cls, score: Floats, positive: Any, weight: Floats | None = None) -> ScoreTable:
        """Group validated scores and boolean labels; see :meth:`from_arrays`."""
        if weight is not None and not weight.all():
            kept = weight > 0
            score, positive, weight = score[kept], positive[kept], weight[kept]
        if weight is None:
            # Two sorts of numbers are faster than one that remembers where each came from.
            classes = split_by_class(score, as_codes(positive))
            if len(score) > BLOCK_ROWS:
                side_by_side([scores.sort for scores in classes], len(score))
            else:
                for scores in classes:
                    scores.sort()
            return cls._of_checked(*merge_classes(*classes))
        order = np.argsort(score)
        weight = weight[order]
        n_pos = positive[order].astype(np.float64)
        n_pos *= weight
        return cls.of_sorted(score[order], weight - n_pos, n_pos)

    @classmethod
    def of_sorted(cls, score: Floats, n_neg: Floats, n_pos: Floats) -> ScoreTable:
        """Sum rows of equal score in columns that are sorted and validated."""
        if (score[1:] == score[:-1]).any():
            starts = run_starts(score)
            score = score[starts]
            n_neg, n_pos = np.add.reduceat(n_neg, starts), np.add.reduceat(n_pos, starts)
        return cls._of_checked(score, n_neg, n_pos)

    @classmethod
    def of_runs(cls, score: Floats, n_neg: Floats, n_pos: Floats, starts: Labels) -> ScoreTable:
        """Sum the rows from each of ``starts`` to the next, in sorted columns.

        The score of a run is its weighted mean. No two runs may hold the same score.
        """
        weight = n_neg + n_pos
        mass = np.add.reduceat(weight, starts)
        ends = np.append(starts[1:], len(score))
        base, last = score[starts], score[ends - 1]
        # Relative to the run's first score, so that close scores keep their digits.
        with np.errstate(invalid="ignore"):  # an infinite score is a run of its own
            offset = score - np.repeat(base, ends - starts)
            mean = base + np.add.reduceat(offset * weight, starts) / mass
        mean = np.where(base == last, base, np.clip(mean, base, last))
        return cls._of_checked(mean, np.add.reduceat(n_neg, starts), np.add.reduceat(n_pos, starts))

    def __add__(self, other: ScoreTable) -> ScoreTable:
        """Add two tables."""
        if not isinstance(other, ScoreTable):
            return NotImplemented
        score = np.concatenate([self.score, other.score])
        order = np.argsort(score, kind="stable")
        return self.of_sorted(
            score[order],
            np.concatenate([self.n_neg, other.n_neg])[order],
            np.concatenate([self.n_pos, other.n_pos])[order],
        )

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
        return self.of_runs(self.score, self.n_neg, self.n_pos, starts)
