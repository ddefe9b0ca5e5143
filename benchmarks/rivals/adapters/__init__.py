"""One adapter for each rival: the same tasks, each in its own words.

An adapter module has ``adapter() -> Adapter`` and imports its library inside it, so that a library
that is not installed costs nothing and is left out of the tables by name.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray
Predictor = Callable[[Array], Array]

NAMES = (
    "scikit_learn",
    "betacal",
    "netcal",
    "calibre",
    "probmetrics",
    "pycalib",
    "venn_abers",
    "relplot",
    "model_diagnostics",
    "torchmetrics",
)


@dataclass(frozen=True)
class Adapter:
    """What a library can do.

    Parameters
    ----------
    fit : dict
        Method → ``fit(p, y)`` which returns a predictor of positive-class probabilities.
    fit_classes : dict
        Method → ``fit(P, y)`` for probabilities of several classes, which returns a predictor.
    measure : dict
        Metric → ``measure(y, p)``; a number, or None if the task has none to compare.
    cross_fit : dict
        Method → ``cross_fit(model, X, y, X_new)``, calibrated in 5 folds, which returns
        positive-class probabilities.
    fit_groups : dict
        Method → ``fit(p, y, features)`` which returns a predictor of scores and features;
        ``benchmarks/arena/groups.py`` runs it.
    """

    fit: dict[str, Callable[[Array, Array], Predictor]] = field(default_factory=dict)
    fit_classes: dict[str, Callable[[Array, Array], Predictor]] = field(default_factory=dict)
    measure: dict[str, Callable[[Array, Array], Any]] = field(default_factory=dict)
    cross_fit: dict[str, Callable[[Any, Array, Array, Array], Array]] = field(default_factory=dict)
    fit_groups: dict[str, Callable[[Array, Array, Any], Any]] = field(default_factory=dict)


def both(p: Array) -> Array:
    """Probabilities of two classes as columns."""
    return np.stack([1 - p, p], axis=1)
