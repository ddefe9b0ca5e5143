"""What the authors' program has and the paper's text has not: a criterion, and groups of rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from trueodds import ENIRCalibrator
from trueodds.calibrators._enir import Integers, NearIsotonicPath
from trueodds.inputs import Floats, check_integer

__all__ = ["AuthorsENIR", "groups_cut_by_label"]


@dataclass(kw_only=True, eq=False, repr=False)
class AuthorsENIR(ENIRCalibrator):
    """ENIR whose models are weighted by k·(ln N + ln 2π) for k bins, as in the authors' program.

    It keeps fewer bins than the paper's k·ln N. On known curves it is slightly better for monotone
    ones and worse for others (``benchmarks/choices/enir_criterion.py``).

    Parameters
    ----------
    max_models : int, default=None
        Number of models to keep, evenly spaced along the path; the program keeps 100.

    Examples
    --------
    >>> from trueodds_studies.papers.enir import AuthorsENIR
    >>> AuthorsENIR().fit([0.1, 0.2, 0.3, 0.9], [0, 1, 0, 1]).n_bins_
    array([3])
    """

    moved: ClassVar[dict[str, str]] = {}

    max_models: int | None = None

    def _check_options(self) -> None:
        super()._check_options()
        if self.max_models is not None:
            check_integer(self.max_models, "max_models", 1, "None or ")

    def _models(self, path: NearIsotonicPath) -> Integers:
        models = super()._models(path)
        if self.max_models is None or self.max_models >= len(models):
            return models
        last = len(path.lambdas) - 1
        return np.unique(np.linspace(last, 1, int(self.max_models)).round().astype(np.int64))

    def _cost(self, n_bins: Integers, total: float) -> Floats:
        return super()._cost(n_bins, total) + n_bins * math.log(2 * math.pi) / 2


def groups_cut_by_label(y: npt.NDArray[Any], p: Floats, n_groups: int) -> list[npt.NDArray[Any]]:
    """Rows of each of the groups of equal count, as the program's ECE and MCE have them.

    Of rows with equal forecasts the negatives come first. This finds errors in forecasts that have
    none: a calibrated constant gets a large ECE.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds_studies.papers.enir.authors import groups_cut_by_label
    >>> groups_cut_by_label(np.array([1, 0]), np.array([0.5, 0.5]), 2)
    [array([1]), array([0])]
    """
    return np.array_split(np.lexsort((y, p)), n_groups)
