"""The rows of a report: scores, their probabilities, and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs import Floats, InputScale, Labels, Weights, as_tuple, check_length, mass_of
from trueodds.maps import IdentityMap
from trueodds.rows import Rows

__all__ = ["ReportRows", "read_report_rows", "sample_rows"]

MOST_DRAWN_EXACTLY = 10**9
"""Rows of a class that NumPy can draw from without replacement."""


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
    weight: Weights | None
    classes: npt.NDArray[Any]
    index: npt.NDArray[np.intp]

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def n_rows(self) -> int:
        """The number of rows, repetitions included."""
        return len(self) if self.weight is None else int(self.weight.row_counts.sum())

    @property
    def mass(self) -> Floats | None:
        """The weight of each row in a sum; None if each is one."""
        return mass_of(self.weight)

    @property
    def row_counts(self) -> Floats:
        """How many rows each stands for."""
        return np.ones(len(self)) if self.weight is None else self.weight.row_counts

    @property
    def binary(self) -> bool:
        """Whether there are two classes."""
        return self.prob.ndim == 1

    def take(self, rows: npt.NDArray[np.intp]) -> ReportRows:
        """Return some of the rows."""
        weight = None if self.weight is None else self.weight.take(rows)
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
    counts: Any,
    scale: InputScale,
    classes: Any = None,
    class_names: Sequence[Any] | None = None,
) -> ReportRows:
    """Validate everything once, and convert scores to probabilities."""
    given = Rows.read(scores, y, sample_weight, counts, scale=scale, classes=classes)
    index = np.arange(len(given)) if given.mass is None else np.flatnonzero(given.mass)
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
    if rows.n_rows <= max_rows:
        return rows
    share = max_rows / rows.n_rows
    times = np.zeros(len(rows))
    for code in range(len(rows.classes)):
        own = np.flatnonzero(rows.codes == code)
        sizes = rows.row_counts[own]
        n_own = int(sizes.sum())
        count = min(n_own, max(20, round(share * n_own)))
        if n_own == len(own):
            times[rng.choice(own, count, replace=False)] = 1
        elif n_own < MOST_DRAWN_EXACTLY:
            times[own] = rng.multivariate_hypergeometric(sizes.astype(np.int64), count)
        else:  # so few of so many that hardly one is drawn twice
            times[own] = np.minimum(rng.multinomial(count, sizes / sizes.sum()), sizes)
    kept = np.flatnonzero(times)
    found = rows.take(kept)
    if found.weight is None or found.weight.count is None:
        return found
    return replace(found, weight=replace(found.weight, count=times[kept]))
