"""The rows of a report: scores, their probabilities, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, Labels, as_tuple, check_length
from trueodds.maps import IdentityMap
from trueodds.rows import Rows

__all__ = ["ReportRows", "read_report_rows", "sample_rows"]


@dataclass(frozen=True, eq=False)
class ReportRows:
    """Validated rows of positive weight.

    ``score`` is on the scale of the input, ``prob`` are probabilities; both are 1-D with two
    classes and have one column per class otherwise. ``classes`` are the names of the codes, and
    ``index`` the positions of the rows in the input.
    """

    score: Floats
    prob: Floats
    codes: Labels
    weight: Floats | None
    classes: npt.NDArray[Any]
    index: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return self.prob.ndim == 1

    def take(self, rows: npt.NDArray[np.intp]) -> ReportRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight[rows]
        return ReportRows(
            self.score[rows],
            self.prob[rows],
            self.codes[rows],
            weight,
            self.classes,
            self.index[rows],
        )


def read_report_rows(
    scores: Any,
    y: Any,
    sample_weight: Any,
    scale: InputScale,
    classes: Any = None,
    class_names: Sequence[Any] | None = None,
) -> ReportRows:
    """Validate everything once, and convert scores to probabilities."""
    given = Rows.read(scores, y, sample_weight, scale=scale, classes=classes)
    index = np.arange(len(given)) if given.weight is None else np.flatnonzero(given.weight)
    rows = given.of_positive_weight()
    names = rows.classes
    if class_names is not None:
        named = as_tuple(class_names, "class_names")
        names = np.empty(len(named), dtype=object)  # NumPy would make texts of some numbers
        names[:] = list(named)
        check_length(len(names), "class_names", rows.n_classes, "classes")
    absent = np.flatnonzero(np.bincount(rows.codes, minlength=rows.n_classes) == 0)
    if len(absent):
        label = names.tolist()[absent[0]]
        raise InputError(
            f"class {label!r} has no row of positive weight; a report needs rows of every class."
        )
    prob = IdentityMap(scale=scale)._apply(rows.scores)
    return ReportRows(rows.scores, prob, rows.codes, rows.weight, names, index)


def sample_rows(rows: ReportRows, max_rows: int, rng: np.random.Generator) -> ReportRows:
    """Sample at most about ``max_rows`` rows from each class in proportion, in input order."""
    if len(rows) <= max_rows:
        return rows
    share = max_rows / len(rows)
    drawn = []
    for code in range(len(rows.classes)):
        own = np.flatnonzero(rows.codes == code)
        count = min(len(own), max(20, round(share * len(own))))
        drawn.append(rng.choice(own, count, replace=False))
    return rows.take(np.sort(np.concatenate(drawn)))
