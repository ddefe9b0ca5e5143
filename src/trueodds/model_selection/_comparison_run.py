"""Fitting every method on every fold, and what it says of the rows held out."""

from __future__ import annotations

import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from joblib import Parallel, delayed

from trueodds.basics.progress import Progress
from trueodds.calibrators import Calibrator
from trueodds.estimator import unfitted
from trueodds.exceptions import TrueoddsWarning
from trueodds.inputs import Floats, Labels
from trueodds.model_selection._comparison_folds import Folds
from trueodds.model_selection._comparison_input import ComparedRows

__all__ = ["HeldOut", "MethodRun", "reason_of", "run_methods"]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Forecasts of one fitted method for what it has not seen.

    Parameters
    ----------
    cell : ndarray of int
        The cell of each forecast.
    weight : ndarray
    prob : ndarray of shape (n,) or (n, n_classes)
    row : ndarray of int or None
        The row of each forecast, if it is made for rows and not for cells.
    """

    cell: Labels
    weight: Floats
    prob: Floats
    row: Labels | None = None


@dataclass
class MethodRun:
    """Everything one method did: an entry for each fold, repeat by repeat."""

    held_out: list[HeldOut] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    error: str | None = None


@dataclass(frozen=True, eq=False)
class _Answer:
    held_out: HeldOut | None
    seconds: float
    ours: list[str]
    others: list[tuple[str, type[Warning]]]
    error: str | None


def run_methods(
    methods: Mapping[str, Any],
    compared: ComparedRows,
    partitions: list[Folds],
    *,
    n_jobs: int | None,
    progress: bool | None,
) -> dict[str, MethodRun]:
    """Fit each method on each fold's complement; a failure ends that method alone."""
    tasks = [
        (name, folds, fold)
        for name in methods
        for folds in partitions
        for fold in range(folds.n_folds)
    ]
    runs = {name: MethodRun() for name in methods}
    work = Parallel(n_jobs=n_jobs, return_as="generator")(
        delayed(_fit_fold)(methods[name], compared, folds, fold) for name, folds, fold in tasks
    )
    foreign: set[tuple[str, type[Warning]]] = set()
    with Progress(len(tasks), "comparing methods", progress) as bar:
        for (name, _, _), answer in zip(tasks, work, strict=True):
            run = runs[name]
            run.seconds.append(answer.seconds)
            run.warnings += [text for text in answer.ours if text not in run.warnings]
            foreign.update(answer.others)
            if answer.held_out is None:
                run.error = run.error or answer.error
            else:
                run.held_out.append(answer.held_out)
            bar.step()
    for message, category in sorted(foreign, key=str):
        warnings.warn(message, category, stacklevel=2)
    return runs


def reason_of(problem: Exception) -> str:
    """Why a method failed: what it raised itself, if that was put into words of ours."""
    own = problem.__cause__ or problem
    return f"{type(own).__name__}: {own}"


def _fit_fold(method: Any, compared: ComparedRows, folds: Folds, fold: int) -> _Answer:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        held_out, error = None, None
        try:
            held_out = _forecast(method, compared, folds, fold)
        except Exception as problem:  # a method that fails is reported, whatever its reason
            error = reason_of(problem)
        seconds = time.perf_counter() - start
    ours = [str(w.message) for w in caught if issubclass(w.category, TrueoddsWarning)]
    others = [
        (str(w.message), w.category) for w in caught if not issubclass(w.category, TrueoddsWarning)
    ]
    return _Answer(held_out, seconds, ours, others, error)


def _forecast(method: Any, compared: ComparedRows, folds: Folds, fold: int) -> HeldOut:
    if not isinstance(method, Calibrator) or _needs_rows(method):
        return _forecast_rows(method, compared, folds, fold)
    ours = unfitted(method).set_params(input=compared.scale)
    ours.check_settings()
    test = folds.test_cells(fold)
    prob = ours.fit_map(folds.train_rows(fold)).apply(folds.cells.scores[test])
    return HeldOut(test, folds.test_weight(fold)[test], prob)


def _needs_rows(method: Calibrator) -> bool:
    """Whether rows of equal score and class are not alike to the method."""
    return method.needs_features or not method.ignores_row_order


def _forecast_rows(method: Any, compared: ComparedRows, folds: Folds, fold: int) -> HeldOut:
    """Where rows of equal score are not alike, or weights not understood."""
    # Only here is scikit-learn needed, which takes longer to import than most comparisons.
    from sklearn.utils import _safe_indexing

    from trueodds.model_selection._adapter import (
        fit_calibrator,
        needs_features,
        predict_calibrated,
    )

    train = np.flatnonzero(folds.fold_of_row != fold)
    test = np.flatnonzero(folds.fold_of_row == fold)
    weight = compared.weight
    features = compared.features
    wanted = needs_features(method)
    fitted = fit_calibrator(
        method,
        compared.scores[train],
        compared.codes[train],
        None if weight is None else weight[train],
        _safe_indexing(features, train) if wanted else None,
        scale=compared.scale,
        n_classes=folds.cells.n_classes,
    )
    held_features = _safe_indexing(features, test) if wanted else None
    prob = predict_calibrated(fitted, compared.scores[test], held_features)
    if folds.cells.n_classes == 2:
        prob = prob[:, 1]
    held_weight = np.ones(len(test)) if weight is None else weight[test]
    return HeldOut(folds.cells.cell_of_row[test], held_weight, prob, test)
