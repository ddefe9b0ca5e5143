"""What a fitted calibrator keeps of its evidence, for intervals that may be asked for later."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from trueodds.evidence import ClassEvidence, Evidence
from trueodds.inputs import Floats, InputScale, Labels, as_codes
from trueodds.maps import CalibrationMap
from trueodds.numerics.softmax.logits import one_vs_rest_scores
from trueodds.table import ScoreTable

# Fitting a few rows needs none of it: imported when there are many, or an interval is asked for.
if TYPE_CHECKING:
    from trueodds.numerics.smooth_curve.kept import KeptCells

__all__ = ["KeptClasses", "KeptRows", "keep_classes", "keep_evidence"]

FEW_ROWS = 4096
"""So few stay rows for ever; more become cells when an interval is asked for, or for a pickle."""
MANY_ROWS = 2**17
"""Copied as they are, which takes no time; more are counted in cells at once."""
MOST_VALUES, FEWEST_ROWS = 2**17, 1000
"""Of several classes: scores that are kept, or so many rows if there are very many classes."""


@dataclass(frozen=True, eq=False)
class KeptRows:
    """Copies of the rows of two classes."""

    score: Floats
    positive: npt.NDArray[np.bool_]
    weight: Floats | None

    @property
    def are_few(self) -> bool:
        """Whether they take no more room than cells do."""
        return len(self.score) <= FEW_ROWS

    def cells(self, scale: InputScale) -> KeptCells:
        """The rows as cells."""
        if self.are_few:
            return _of_rows(self.score, self.positive, self.weight, scale)
        from trueodds.numerics.smooth_curve.kept import kept_of_rows

        return kept_of_rows(self.score, as_codes(self.positive), scale)


@dataclass(frozen=True, eq=False)
class KeptClasses:
    """Rows of several classes, a random sample if there are many.

    ``forecasts`` says whether the scores are what the map made of them, as those of a tree are.
    """

    scores: Floats
    codes: Labels
    weight: Floats | None
    forecasts: bool = False

    def cells(self, fitted: CalibrationMap) -> list[KeptCells]:
        """For each class, what its band is of, and whether the class was right.

        A method that learns each class by itself may follow single rows, so that its forecasts of
        these rows look better than they are: the band is of the class's scores then.
        """
        scale: InputScale = "probability"
        if self.forecasts:
            p = np.clip(self.scores, 0.0, 1.0)
        elif fitted.band_of_forecasts:
            p = np.clip(fitted.apply(self.scores), 0.0, 1.0)
        else:
            p, scale = one_vs_rest_scores(self.scores, fitted.input), fitted.input
        p = p[:, None] if p.ndim == 1 else p
        found = []
        for k in range(p.shape[1]):
            own = 1 if p.shape[1] == 1 else k  # the one column of two classes is the positive one
            column = np.ascontiguousarray(p[:, k])
            found.append(_of_rows(column, self.codes == own, self.weight, scale))
        return found


def keep_evidence(
    evidence: Evidence | ClassEvidence, scale: InputScale
) -> KeptRows | KeptCells | KeptClasses:
    """As much as intervals need: at most 131,072 rows or scores of classes, or 1,500 cells."""
    if isinstance(evidence, ClassEvidence):
        return keep_classes(evidence.scores, evidence.codes, evidence.weight)
    if evidence.source is not None:
        return _of_table(evidence.source, scale)
    positive, weight = np.asarray(evidence.positive), evidence.weight
    if len(evidence) <= (MANY_ROWS if weight is None else FEW_ROWS):
        copied = None if weight is None else weight.copy()
        return KeptRows(evidence.score.copy(), positive.astype(np.bool_), copied)
    if weight is None:
        from trueodds.numerics.smooth_curve.kept import kept_of_rows

        return kept_of_rows(evidence.score, as_codes(positive), scale)
    return _of_table(evidence.smoothed(None).table, scale)


def _of_rows(
    score: Floats, positive: npt.NDArray[np.bool_], weight: Floats | None, scale: InputScale
) -> KeptCells:
    return _of_table(ScoreTable.from_codes(score, positive, weight), scale)


def _of_table(table: ScoreTable, scale: InputScale) -> KeptCells:
    from trueodds.numerics.smooth_curve.kept import kept_of_columns

    return kept_of_columns(table.score, table.n_neg, table.n_pos, scale)


def keep_classes(
    scores: Floats, codes: Labels, weight: Floats | None, *, forecasts: bool = False
) -> KeptClasses:
    """Copies of the rows, or of a sample of them."""
    columns = scores.shape[1] if scores.ndim == 2 else 1
    most = max(MOST_VALUES // columns, FEWEST_ROWS)
    chosen: Any = slice(None)
    if len(codes) > most:
        chosen = np.random.default_rng(0).choice(len(codes), most, replace=False)
    return KeptClasses(
        np.array(scores[chosen]),
        np.array(codes[chosen]),
        None if weight is None else np.array(weight[chosen]),
        forecasts,
    )
