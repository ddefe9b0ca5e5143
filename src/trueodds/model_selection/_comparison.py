"""Comparing methods honestly: on the same folds, the identity among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from trueodds.basics.threads import single_threaded_blas
from trueodds.exceptions import TooFewInstancesError
from trueodds.inputs import (
    Floats,
    InputScale,
    Labels,
    as_generator,
    check_choice,
    check_integer,
    check_jobs,
    check_level,
)
from trueodds.metrics import expected_calibration_error
from trueodds.model_selection._comparison_choice import Choice, choose
from trueodds.model_selection._comparison_folds import FoldCells, Folds, deal_folds
from trueodds.model_selection._comparison_input import ComparedRows, read_compared_rows
from trueodds.model_selection._comparison_losses import LossTable, cell_losses
from trueodds.model_selection._comparison_methods import resolve_calibrators
from trueodds.model_selection._comparison_result import (
    ECE,
    CalibratorComparison,
    Rule,
    Scoring,
)
from trueodds.model_selection._comparison_run import HeldOut, MethodRun, run_methods

__all__ = ["ComparisonOptions", "compare_calibrators", "compare_rows"]


def compare_calibrators(
    scores: Any,
    y: Any,
    *,
    calibrators: Any = "default",
    input: InputScale = "probability",  # noqa: A002
    sample_weight: Any = None,
    features: Any = None,
    cv: int = 5,
    n_repeats: int = 1,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = False,
    level: float = 0.9,
    scoring: Scoring = "log_loss",
    rule: Rule = "one_standard_error",
    classes: Any = None,
) -> CalibratorComparison:
    """Compare methods by repeated, stratified cross-validation on the same folds.

    Use it to see whether calibration pays and which method to take;
    :class:`~trueodds.AutoCalibrator` takes it for you. "Leave the scores alone" always takes part.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        As in ``fit`` of a calibrator; they must come from a model that has not seen these rows.
    y : array-like of shape (n,)
        Labels.
    calibrators : "default", list or dict, default="default"
        Names (keys of ``all_calibrators()``) or instances; or name → instance. ``"default"``: the
        methods that suit the number of classes and are fast.
    input : {"probability", "logit", "score"}, default="probability"
        The scale of the scores.
    sample_weight : array-like of shape (n,), default=None
        A weight of k equals k repetitions, which may fall into different folds.
    features : array or frame of n rows, default=None
        For methods that need the original attributes; with them, ``"default"`` has the tree.
    cv : int, default=5
        Folds. Fewer are made if there are fewer instances.
    n_repeats : int, default=1
        How often, with other folds.
    random_state : int, Generator or None, default=0
    n_jobs : int, default=None
        Fits at once, as in joblib.
    progress : bool or None, default=False
        None shows progress on a terminal if it takes long.
    level : float, default=0.9
        Of the intervals.
    scoring : {"log_loss", "brier_score"}, default="log_loss"
        What ``best_method`` is chosen by.
    rule : {"one_standard_error", "best"}, default="one_standard_error"
        The simplest method whose loss is within one standard error (of the paired difference) of
        the lowest; or the lowest.
    classes : array-like, default=None
        All labels in the order of the columns; of two, the second is positive. By default the
        sorted labels.

    Returns
    -------
    CalibratorComparison

    Notes
    -----
    Intervals and standard errors take the out-of-fold losses of instances as independent, and
    differences are paired by instance. There are many instances and few folds, so this is much
    steadier than a standard error over folds; the price is that it does not see how much a
    method would differ on another training set, and so is a little too small for methods that
    overfit. ``fold_losses`` with :func:`trueodds.compare.corrected_resampled_t_test` is the
    alternative.

    A method that gives probability 0 to what happened has an infinite log-loss and says so. With
    log-loss no method is chosen that forecasts exactly 0 or 1, even if all such forecasts were
    right: the next one may cost infinitely much. A method that raises an error in a fold is left
    out and named in ``failures``.

    Cost: for two classes the evidence is sorted once, and the tables of the folds are sums.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.model_selection import compare_calibrators
    >>> rng = np.random.default_rng(0)
    >>> z = rng.logistic(size=2000)
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-z / 3))  # the scores are three times too sure
    >>> result = compare_calibrators(z, y, input="logit", calibrators=["temperature", "isotonic"])
    >>> result.methods, result.best_method
    (('identity', 'temperature', 'isotonic'), 'temperature')
    >>> round(result.rows()[1]["gain"], 2)
    0.13
    """
    options = ComparisonOptions(cv, n_repeats, random_state, n_jobs, progress, level, scoring, rule)
    compared = read_compared_rows(scores, y, input, sample_weight, features, classes)
    return compare_rows(compared, calibrators, options)


@dataclass(frozen=True)
class ComparisonOptions:
    """How methods are compared; see :func:`compare_calibrators`."""

    cv: int = 5
    n_repeats: int = 1
    random_state: Any = 0
    n_jobs: int | None = None
    progress: bool | None = False
    level: float = 0.9
    scoring: Scoring = "log_loss"
    rule: Rule = "one_standard_error"

    def __post_init__(self) -> None:
        check_integer(self.cv, "cv", 2)
        check_integer(self.n_repeats, "n_repeats", 1)
        check_level(self.level)
        check_jobs(self.n_jobs)
        check_choice(self.scoring, ("log_loss", "brier_score"), "scoring")
        check_choice(self.rule, ("one_standard_error", "best"), "rule")

    def seeds(self) -> Labels:
        """One for each repeat."""
        rng = as_generator(self.random_state)
        return np.asarray(rng.integers(0, 2**63, size=self.n_repeats))


def compare_rows(
    compared: ComparedRows, calibrators: Any, options: ComparisonOptions
) -> CalibratorComparison:
    """:func:`compare_calibrators` for rows that have been validated."""
    cells = compared.cells
    methods = resolve_calibrators(calibrators, cells.n_classes, compared.features is not None)
    n_folds = min(options.cv, int(cells.units.sum()))
    if n_folds < 2:
        raise TooFewInstancesError("comparing methods needs at least two instances.")
    partitions = [deal_folds(cells, n_folds, int(seed)) for seed in options.seeds()]
    with single_threaded_blas():
        runs = run_methods(
            methods, compared, partitions, n_jobs=options.n_jobs, progress=options.progress
        )
    kept = {name: run for name, run in runs.items() if run.error is None}
    tables, fold_losses = _tables(cells, kept)
    calibration = {
        name: np.array([_calibration_error(cells, [part]) for part in run.held_out])
        for name, run in kept.items()
    }
    certain = frozenset(name for name, run in kept.items() if _is_certain(run))
    choice: Choice = choose(tables, options.scoring, options.rule, certain)
    return CalibratorComparison(
        methods=tuple(kept),
        best_method=choice.method,
        explanation=choice.explanation,
        calibrators={name: methods[name] for name in kept},
        fold_losses={**fold_losses, ECE: calibration},
        out_of_fold={name: _out_of_fold(run, partitions[0]) for name, run in kept.items()},
        seconds={name: float(np.median(run.seconds)) for name, run in kept.items()},
        failures={name: run.error for name, run in runs.items() if run.error is not None},
        warnings={name: tuple(run.warnings) for name, run in runs.items() if run.warnings},
        scoring=options.scoring,
        rule=options.rule,
        level=options.level,
        n_folds=n_folds,
        n_repeats=options.n_repeats,
        _tables=tables,
        _certain=certain,
        _calibration_error={
            name: float(
                np.mean(
                    [
                        _calibration_error(cells, run.held_out[i : i + n_folds])
                        for i in range(0, len(run.held_out), n_folds)
                    ]
                )
            )
            for name, run in kept.items()
        },
    )


def _tables(
    cells: FoldCells, runs: dict[str, MethodRun]
) -> tuple[dict[str, LossTable], dict[str, dict[str, Floats]]]:
    tables: dict[str, LossTable] = {}
    fold_losses: dict[str, dict[str, Floats]] = {}
    for metric in ("log_loss", "brier_score"):
        both = {name: cell_losses(metric, cells, run.held_out) for name, run in runs.items()}
        tables[metric] = LossTable(cells, {name: pair[0] for name, pair in both.items()})
        fold_losses[metric] = {name: pair[1] for name, pair in both.items()}
    return tables, fold_losses


def _is_certain(run: MethodRun) -> bool:
    """Whether any class was ever given probability 0."""
    return any(
        bool(((part.prob == 0) | ((part.prob == 1) & (part.prob.ndim == 1))).any())
        for part in run.held_out
    )


def _calibration_error(cells: FoldCells, parts: list[HeldOut]) -> float:
    return expected_calibration_error(
        np.concatenate([cells.codes[part.cell] for part in parts]),
        np.concatenate([part.prob for part in parts]),
        sample_weight=np.concatenate([part.weight for part in parts]),
        classes=np.arange(cells.n_classes),
    )


def _out_of_fold(run: MethodRun, folds: Folds) -> Floats:
    """The forecast for each row by the first repeat's method that was fitted without it."""
    first = run.held_out[0].prob
    result = np.empty((len(folds.fold_of_row), *first.shape[1:]))
    for fold in range(folds.n_folds):
        part = run.held_out[fold]
        if part.row is not None:
            result[part.row] = part.prob
            continue
        rows = np.flatnonzero(folds.fold_of_row == fold)
        place = np.searchsorted(part.cell, folds.cells.cell_of_row[rows])
        result[rows] = part.prob[place]
    return result
