"""Comparing methods on the same folds, the identity among them."""

from __future__ import annotations

import contextlib
import time
import warnings
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np
from joblib import Parallel, delayed

from trueodds.basics.progress import Progress
from trueodds.basics.shown import shown
from trueodds.basics.tables import Tabular
from trueodds.basics.threads import single_threaded_blas
from trueodds.basics.warned import collected_warnings, ignored_warnings
from trueodds.basics.wording import fixed
from trueodds.calibrators import (
    LAST_COMPLEXITY,
    Calibrator,
    all_calibrators,
    calibrator_names,
    default_method,
    find_calibrator,
    method_name,
    tier_of,
)
from trueodds.estimator import unfitted
from trueodds.exceptions import InputError, TooFewRowsError, TrueoddsWarning
from trueodds.inputs import (
    Floats,
    InputScale,
    Labels,
    as_generator,
    check_choice,
    check_integer,
    check_jobs,
    check_level,
    is_choice,
)
from trueodds.metrics import expected_calibration_error
from trueodds.model_selection._folds import (
    Folds,
    HeldOut,
    LossTable,
    cell_losses,
    deal_folds,
    weights_of,
    whole_rows,
)
from trueodds.rows import Rows

__all__ = [
    "ECE",
    "CalibratorComparison",
    "Choice",
    "ComparisonOptions",
    "MethodRun",
    "Scoring",
    "choose",
    "compare_calibrators",
    "compare_rows",
    "read_compared_rows",
    "reason_of",
    "resolve_calibrators",
    "run_methods",
]

Scoring = Literal["log_loss", "brier_score"]
Select = Literal["default", "one_se", "best"]
SELECT = ("default", "one_se", "best")
ECE = "expected_calibration_error"


@dataclass(frozen=True, eq=False)
class CalibratorComparison(Tabular):
    """Results of cross-validation for each method.

    Attributes
    ----------
    methods : tuple of str
        Those that could be fitted in every fold, simplest first.
    best_method : str
        The choice by ``scoring`` and ``select``.
    recommended : str
        The default method, which :class:`~trueodds.AutoCalibrator` uses. If it could not be fitted:
        the simplest method within one standard error of the lowest loss.
    formula_as_good : str or None
        The simplest formula of a few parameters whose loss is within one standard error of that
        of the recommended method; ``"identity"`` if the scores themselves do as well.
    explanation : str
        What the chosen method gains, and whether a formula does as well.
    calibrators : dict of str to calibrator
        The unfitted calibrator of each method; ``calibrators[best_method]`` is to be fitted on
        everything.
    fold_losses : dict of str to dict of str to ndarray of shape (n_repeats·cv,)
        ``fold_losses[metric][method]``; the same folds for all methods. Metrics are
        ``"log_loss"``, ``"brier_score"`` and ``"expected_calibration_error"``.
    out_of_fold : dict of str to ndarray of shape (n,) or (n, n_classes)
        Forecasts of the first repeat, in the order of the input: the probability of the
        positive class, or one column per class.
    seconds : dict of str to float
        Median time to fit one fold and forecast the rest of it.
    failures : dict of str to str
        Methods that are left out because a fold could not be fitted, with the first error.
    warnings : dict of str to tuple of str
        What the methods warned of in any fold; each message once.
    scoring, select : str
    level : float
        Level of all intervals.
    n_folds, n_repeats : int

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import compare_calibrators
    >>> rng = np.random.default_rng(0)
    >>> p = rng.random(200)
    >>> y = rng.random(200) < p
    >>> found = compare_calibrators(p, y, calibrators=["beta"], cv=2, random_state=0)
    >>> found.methods, found.n_folds
    (('identity', 'beta', 'bayesian_smooth'), 2)
    """

    methods: tuple[str, ...]
    best_method: str
    recommended: str
    formula_as_good: str | None
    explanation: str
    calibrators: dict[str, Any]
    fold_losses: dict[str, dict[str, Floats]]
    out_of_fold: dict[str, Floats]
    seconds: dict[str, float]
    failures: dict[str, str]
    warnings: dict[str, tuple[str, ...]]
    scoring: Scoring
    select: Select
    level: float
    n_folds: int
    n_repeats: int
    _tables: dict[str, LossTable]
    _calibration_error: dict[str, float]
    _certain: frozenset[str]
    _folds: Folds
    _first_repeat: dict[str, list[HeldOut]]

    @property
    def formula_verdict(self) -> str | None:
        """How ``formula_as_good`` does, in words: as well here, or slightly better."""
        if self.formula_as_good is None:
            return None
        table = self._tables[self.scoring]
        return table.verdict(self.formula_as_good, self.recommended)

    def rows(self) -> list[dict[str, Any]]:
        """One plain dict for each method, simplest first.

        Returns
        -------
        list of dict
            Keys: ``method``; ``log_loss`` and ``brier_score``, each with ``_low`` and ``_high``;
            ``expected_calibration_error``; ``gain``, with ``gain_low`` and ``gain_high``;
            ``seconds``; ``chosen``; ``recommended``. The calibration error is that of the
            out-of-fold forecasts of a whole repeat (mean over the repeats). The gain is the
            relative reduction of log-loss compared with the identity.

            A log-loss may be infinite, and then so are its bounds; ``gain`` is None where it is not
            defined.
        """
        return [self._row(method) for method in self.methods]

    def _out_of_fold_parts(self) -> tuple[Labels, Labels | None, dict[str, Floats]]:
        """Rows by the folds of the first repeat that their repetitions are in, with forecasts.

        Returns
        -------
        row : ndarray of shape (n_parts,)
            Position of the row; each once if no row is in several folds.
        counts : ndarray of shape (n_parts,) or None
            How many of its repetitions are in the fold; None if no row is in several folds.
        forecasts : dict of str to ndarray of shape (n_parts,) or (n_parts, n_classes)
            As ``out_of_fold``, by the method that was fitted without this fold.
        """
        folds = self._folds
        counts = folds.row_counts
        if counts is None:
            return np.arange(len(folds.cell_of_row)), None, self.out_of_fold
        row, fold = np.nonzero(counts)
        forecasts = {name: prob[row] for name, prob in self.out_of_fold.items()}
        for name, held_out in self._first_repeat.items():
            for k, part in enumerate(held_out):
                own = np.flatnonzero(fold == k)
                forecasts[name][own] = part.forecasts(row[own], folds.cell_of_row)
        return row, counts[row, fold], forecasts

    def _row(self, method: str) -> dict[str, Any]:
        row: dict[str, Any] = {"method": method}
        for metric, table in self._tables.items():
            low, high = table.interval(method, self.level)
            row |= {metric: table.mean(method), f"{metric}_low": low, f"{metric}_high": high}
        row[ECE] = self._calibration_error[method]
        gain = self.relative_gain(method) or (None, None, None)
        row |= dict(zip(("gain", "gain_low", "gain_high"), gain, strict=True))
        return row | {
            "seconds": self.seconds[method],
            "chosen": method == self.best_method,
            "recommended": method == self.recommended,
        }

    @property
    def gain_metric(self) -> Scoring:
        """The loss by which methods can be compared with doing nothing.

        ``"log_loss"``, or ``"brier_score"`` if doing nothing has an infinite log-loss: every finite
        one is 100% less, so all would look alike.
        """
        finite = np.isfinite(self._tables["log_loss"].mean(self.methods[0]))
        return "log_loss" if finite else "brier_score"

    def relative_gain(
        self, method: str, *, metric: Scoring = "log_loss"
    ) -> tuple[float, float, float] | None:
        """The share by which a method lowers the loss of doing nothing.

        Returns
        -------
        gain, low, high : float
            With its interval, paired by instance; None if it is not defined.
        """
        check_choice(metric, ("log_loss", "brier_score"), "metric")
        check_choice(method, self.methods, "method")
        return self._tables[metric].relative_gain(method, self.methods[0], self.level)

    def choose(self, *, scoring: Scoring = "log_loss", select: Select = "default") -> str:
        """The method by another metric or another rule; see :func:`compare_calibrators`."""
        check_choice(scoring, ("log_loss", "brier_score"), "scoring")
        check_choice(select, SELECT, "select")
        if select == "default":
            return self.recommended
        return choose(self._tables, scoring, select, self._certain).method

    def difference(
        self, method: str, other: str, *, metric: Scoring = "log_loss"
    ) -> tuple[float, float]:
        """How much greater the loss of ``method`` is than that of ``other``.

        Returns
        -------
        mean, standard_error : float
            Paired by instance. If a loss is infinite: the difference (0 if both are) and infinity.
        """
        check_choice(metric, ("log_loss", "brier_score"), "metric")
        for name in (method, other):
            check_choice(name, self.methods, "method")
        return self._tables[metric].difference(method, other)

    def __str__(self) -> str:
        """A table for reading."""
        width = max(len(name) for name in self.methods)
        lines = [f"  {'':{width}}{'log-loss':>10}{'Brier':>10}{'ECE':>10}{'gain':>9}"]
        for row in self.rows():
            mark = "* " if row["chosen"] else "  "
            gain = "" if row["gain"] is None else f"{row['gain']:9.1%}"
            numbers = "".join(f"{row[key]:10.5f}" for key in ("log_loss", "brier_score", ECE))
            lines.append(f"{mark}{row['method']:{width}}{numbers}{gain}")
        lines += [f"{name}: left out, {error}" for name, error in self.failures.items()]
        return "\n".join([*lines, self.explanation])


def compare_calibrators(
    scores: Any,
    y: Any,
    *,
    calibrators: Any = "default",
    scale: InputScale = "probability",
    sample_weight: Any = None,
    counts: Any = None,
    features: Any = None,
    cv: int = 5,
    n_repeats: int = 1,
    random_state: Any = 0,
    n_jobs: int | None = None,
    progress: bool | None = False,
    level: float = 0.9,
    scoring: Scoring = "log_loss",
    select: Select = "default",
    classes: Any = None,
) -> CalibratorComparison:
    """Compare methods by repeated, stratified cross-validation on the same folds.

    Use it to see what calibration gains. The default method takes part and is the recommendation
    (``recommended``); so does "leave the scores alone". A simpler method is named only where it
    does as well (``formula_as_good``).

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        As in ``fit`` of a calibrator; they must come from a model that has not seen these rows.
    y : array-like of shape (n,)
        Labels.
    calibrators : {"default", "all"}, list or dict, default="default"
        Names (keys of ``all_calibrators()``) or calibrators; or name → calibrator. ``"default"``:
        the default method, those that can be better for a reason, and those of the papers that
        this package is built on, as far as they suit the number of classes and are fast.
        ``"all"``: also methods that are only there for comparison, such as isotonic regression
        and histograms. The identity is added, and the default method unless another ``select``
        chooses among yours.
    scale : {"probability", "logit", "raw"}, default="probability"
        The scale of the scores.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row, which stays one observation and is in one fold.
    counts : array-like of shape (n,), default=None
        How often each row occurred. The repetitions can be in different folds.
    features : array or frame of n rows, default=None
        For methods that need the original features. With them, ``"default"`` also has ``group``,
        ``tree`` and ``per_group``: the default method in each group separately, without pooling.
        Its groups are all combinations of levels, with numbers in five bands.
    cv : int, default=5
        Number of folds; at most the number of rows.
    n_repeats : int, default=1
        How often, with other folds.
    random_state : int, Generator or None, default=0
    n_jobs : int, default=None
        Fits at once, as in joblib.
    progress : bool or None, default=False
        None shows progress on a terminal if it takes long.
    level : float, default=0.9
        Confidence level of the intervals.
    scoring : {"log_loss", "brier_score"}, default="log_loss"
        What ``best_method`` is chosen by.
    select : {"default", "one_se", "best"}, default="default"
        How ``best_method`` is chosen. ``"default"``: the recommended method. ``"one_se"``: the
        simplest method whose loss is within one standard error (of the paired difference) of the
        lowest. ``"best"``: the lowest.
    classes : array-like, default=None
        All labels in the order of the columns; of two, the second is positive. By default the
        sorted labels.

    Returns
    -------
    CalibratorComparison

    Notes
    -----
    Intervals and standard errors take the out-of-fold losses of rows as independent, and
    differences are paired by row. There are many rows and few folds, so this is much steadier
    than a standard error over folds. It does not measure how much a method would differ on
    another training set, and so is a little too small for methods that overfit.
    ``fold_losses`` with :func:`trueodds.stats.corrected_resampled_t_test` is the alternative.

    A method that gives probability 0 to what happened has an infinite log-loss. With
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
    >>> result = compare_calibrators(z, y, scale="logit", calibrators=["temperature", "isotonic"])
    >>> result.methods, result.best_method
    (('identity', 'temperature', 'isotonic', 'bayesian_smooth'), 'bayesian_smooth')
    >>> result.formula_as_good
    'temperature'
    >>> round(result.rows()[-1]["gain"], 2)
    0.13
    """
    options = ComparisonOptions(
        cv, n_repeats, random_state, n_jobs, progress, level, scoring, select
    )
    rows = read_compared_rows(scores, y, scale, sample_weight, counts, classes)
    default = None
    if select == "default":
        default = default_method(rows.n_classes, has_features=features is not None)
    if features is not None and is_choice(calibrators, "default"):
        from trueodds.model_selection._per_group import PerGroupCalibrator

        one_map = default_method(rows.n_classes)
        calibrators = {
            one_map: find_calibrator(one_map)(),
            **_named(calibrators, rows.n_classes, has_features=True),
            "per_group": PerGroupCalibrator(),
        }
    return compare_rows(rows, calibrators, options, scale, features, default=default)


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
    select: Select = "default"

    def __post_init__(self) -> None:
        check_integer(self.cv, "cv", 2)
        check_integer(self.n_repeats, "n_repeats", 1)
        check_level(self.level)
        check_jobs(self.n_jobs)
        check_choice(self.scoring, ("log_loss", "brier_score"), "scoring")
        check_choice(self.select, SELECT, "select")

    def seeds(self) -> Labels:
        """One for each repeat."""
        rng = as_generator(self.random_state)
        return np.asarray(rng.integers(0, 2**63, size=self.n_repeats))


def compare_rows(
    rows: Rows,
    calibrators: Any,
    options: ComparisonOptions,
    scale: InputScale,
    features: Any = None,
    *,
    default: str | None = None,
) -> CalibratorComparison:
    """:func:`compare_calibrators` for rows that have been validated; ``default`` is added."""
    methods = resolve_calibrators(
        calibrators, rows.n_classes, features is not None, default=default
    )
    n_folds = min(options.cv, int(whole_rows(rows).sum()))
    if n_folds < 2:
        raise TooFewRowsError("comparing methods needs at least two rows.")
    partitions = [deal_folds(rows, n_folds, int(seed)) for seed in options.seeds()]
    cells = partitions[0].cells
    with single_threaded_blas():
        runs = run_methods(
            methods,
            rows,
            scale,
            features,
            partitions,
            n_jobs=options.n_jobs,
            progress=options.progress,
        )
    kept = {name: run for name, run in runs.items() if run.error is None}
    tables, fold_losses = _tables(cells, kept)
    calibration = {
        name: np.array([_calibration_error(cells, [part]) for part in run.held_out])
        for name, run in kept.items()
    }
    certain = frozenset(name for name, run in kept.items() if _is_certain(run))
    candidates = {name: methods[name] for name in kept}
    recommended = None
    if features is not None:
        recommended = _name_of_kind(default_method(2, has_features=True), candidates)
    recommended = recommended or _name_of_kind(default_method(cells.n_classes), candidates)
    if recommended is None:
        recommended = choose(tables, options.scoring, "one_se", certain).method
    formula = _formula_as_good(tables[options.scoring], methods, recommended, certain)
    if options.select == "default":
        choice = Choice(
            recommended, _explain_recommended(tables, options.scoring, recommended, formula)
        )
    else:
        choice = choose(tables, options.scoring, options.select, certain)
    return CalibratorComparison(
        methods=tuple(kept),
        best_method=choice.method,
        recommended=recommended,
        formula_as_good=formula,
        explanation=choice.explanation,
        calibrators={name: methods[name] for name in kept},
        fold_losses={**fold_losses, ECE: calibration},
        out_of_fold={name: _out_of_fold(run, partitions[0]) for name, run in kept.items()},
        seconds={name: float(np.median(run.seconds)) for name, run in kept.items()},
        failures={name: run.error for name, run in runs.items() if run.error is not None},
        warnings={name: tuple(run.warnings) for name, run in runs.items() if run.warnings},
        scoring=options.scoring,
        select=options.select,
        level=options.level,
        n_folds=n_folds,
        n_repeats=options.n_repeats,
        _tables=tables,
        _certain=certain,
        _folds=partitions[0],
        _first_repeat={name: run.held_out[:n_folds] for name, run in kept.items()},
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
    cells: Rows, runs: dict[str, MethodRun]
) -> tuple[dict[str, LossTable], dict[str, dict[str, Floats]]]:
    tables: dict[str, LossTable] = {}
    fold_losses: dict[str, dict[str, Floats]] = {}
    for metric in ("log_loss", "brier_score"):
        both = {name: cell_losses(metric, cells, run.held_out) for name, run in runs.items()}
        tables[metric] = LossTable(
            weights_of(cells), {name: pair[0] for name, pair in both.items()}
        )
        fold_losses[metric] = {name: pair[1] for name, pair in both.items()}
    return tables, fold_losses


def _is_certain(run: MethodRun) -> bool:
    """Whether any class was ever given probability 0."""
    return any(
        bool(((part.prob == 0) | ((part.prob == 1) & (part.prob.ndim == 1))).any())
        for part in run.held_out
    )


def _calibration_error(cells: Rows, parts: list[HeldOut]) -> float:
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
        rows = np.flatnonzero(folds.fold_of_row == fold)
        result[rows] = run.held_out[fold].forecasts(rows, folds.cell_of_row)
    return result


WORDS = {"log_loss": "log-loss", "brier_score": "Brier score"}


@dataclass(frozen=True)
class Choice:
    """A method and the reason for it."""

    method: str
    explanation: str


def choose(
    tables: Mapping[str, LossTable], scoring: str, select: str, certain: Collection[str] = ()
) -> Choice:
    """Choose by the losses: the lowest, or the simplest within one standard error of it.

    Parameters
    ----------
    tables : dict of str to LossTable
        By metric; methods in order of simplicity.
    scoring, select : str
    certain : collection of str
        Methods with forecasts of exactly 0 or 1. With log-loss they are out, even if every such
        forecast was right so far: the next one may cost infinitely much. If no other method is
        left, those with a finite loss are in again; if there is none, the Brier score decides.
    """
    table = tables[scoring]
    finite = [name for name in table.losses if np.isfinite(table.mean(name))]
    if not finite:
        second = choose(tables, "brier_score", select)
        return Choice(
            second.method,
            "every method gave probability 0 to something that happened, so the Brier score "
            f"decides: {second.explanation}",
        )
    safe = [name for name in finite if name not in certain or scoring != "log_loss"] or finite
    lowest = min(safe, key=table.mean)
    chosen = lowest
    if select == "one_se":
        chosen = next(name for name in safe if table.is_close(name, lowest))
    return Choice(chosen, _explain(table, WORDS[scoring], chosen, lowest, len(safe)))


def _formula_as_good(
    table: LossTable, methods: Mapping[str, Any], recommended: str, certain: Collection[str]
) -> str | None:
    """The simplest formula within one standard error of the recommended method."""
    most = find_calibrator("isotonic").complexity  # simpler methods are formulas
    for name in table.losses:
        is_formula = _complexity(methods[name]) < most and np.isfinite(table.mean(name))
        usable = is_formula and name != recommended and name not in certain
        if usable and table.is_close(name, recommended):
            return name
    return None


def _explain_recommended(
    tables: Mapping[str, LossTable], scoring: str, name: str, formula: str | None
) -> str:
    table, word = tables[scoring], WORDS[scoring]
    base = next(iter(table.losses))
    said = f"{name} is recommended. Its out-of-fold {word} is {table.mean(name):.5f}"
    gap, error = table.difference(base, name)
    if not np.isfinite(gap):
        said += "; that of the uncalibrated scores is infinite."
    elif name != base:
        said += f"; that of the uncalibrated scores is {table.mean(base):.5f} "
        said += f"(difference {fixed(gap, 5)} ± {error:.5f})."
    else:
        said += "."
    if formula is None:
        return said
    gap, error = table.difference(formula, name)
    what = "Leaving the scores unchanged" if formula == base else f"A formula, {formula},"
    words = table.verdict(formula, name)
    return f"{said} {what} {words} (difference {fixed(gap, 5)} ± {error:.5f})."


def _explain(table: LossTable, word: str, chosen: str, lowest: str, count: int) -> str:
    base = next(iter(table.losses))
    start = f"{chosen} has an out-of-fold {word} of {table.mean(chosen):.5f}"
    out = len(table.losses) - count
    among = f"{count} methods" + (f" (not counting {out} with forecasts of 0 or 1)" if out else "")
    if chosen == lowest:
        middle = f", the lowest of {among}"
    else:
        gap, error = table.difference(chosen, lowest)
        middle = (
            f" and is the simplest of {among} within one standard error of the lowest "
            f"({lowest}, {table.mean(lowest):.5f}; difference {fixed(gap, 5)} ± {error:.5f})"
        )
    if chosen == base:
        return f"{start}{middle}. Calibration does not help; use the scores unchanged."
    gap, error = table.difference(base, chosen)
    if not np.isfinite(gap):
        return f"{start}{middle}; that of the uncalibrated scores is infinite."
    return (
        f"{start}{middle}; that of the uncalibrated scores is {table.mean(base):.5f} "
        f"(difference {fixed(gap, 5)} ± {error:.5f})."
    )


def resolve_calibrators(
    calibrators: Any, n_classes: int, has_features: bool, *, default: str | None = None
) -> dict[str, Any]:
    """Names and unfitted calibrators, the simplest first; the identity is always among them.

    Parameters
    ----------
    calibrators : "default", "all", a list of names and instances, or a dict name → instance
    n_classes : int
    has_features : bool
        Whether a method that needs the features can take part.
    default : str, default=None
        A method that is added as well.
    """
    named = _named(calibrators, n_classes, has_features)
    for name in ("identity",) if default is None else ("identity", default):
        if _name_of_kind(name, named) is None:
            named = {_free_name(name, named): find_calibrator(name)(), **named}
    # Python sorts are stable: methods that do not say come last, in the order given.
    return dict(sorted(named.items(), key=lambda item: _complexity(item[1])))


def _name_of_kind(kind: str, methods: Mapping[str, Any]) -> str | None:
    """The first of the methods that is of this kind, by its name; None if none is."""
    wanted = find_calibrator(kind)
    return next((name for name, method in methods.items() if isinstance(method, wanted)), None)


def _complexity(method: Any) -> int:
    return method.complexity if isinstance(method, Calibrator) else LAST_COMPLEXITY


def _named(calibrators: Any, n_classes: int, has_features: bool) -> dict[str, Any]:
    if isinstance(calibrators, str):
        if calibrators not in ("default", "all"):
            raise InputError(
                f'calibrators must be "default", "all", a list of names or calibrators, or a dict; '
                f'got {calibrators!r}. For one method pass ["{calibrators}"].'
            )
        calibrators = _suitable(n_classes, has_features, advised=calibrators == "default")
    if isinstance(calibrators, Mapping):
        return {str(name): _instance(method) for name, method in calibrators.items()}
    if not isinstance(calibrators, (list, tuple)):
        raise InputError(
            'calibrators must be "default", "all", a list of names or calibrators, or a dict; got '
            f"{type(calibrators).__name__}."
        )
    named: dict[str, Any] = {}
    for method in calibrators:
        name = _free_name(_name_of(method), named)
        named[name] = _instance(method)
    return named


def _suitable(n_classes: int, has_features: bool, *, advised: bool) -> list[str]:
    """The fast methods for this many classes; ``advised``: without those for comparison."""
    found = [
        (kind.complexity, name)
        for name, kind in all_calibrators().items()
        if kind.is_compared(n_classes)
        and (has_features or not kind.needs_features)
        and not (advised and tier_of(name) == "for comparison")
    ]
    return [name for _, name in sorted(found)]


def _name_of(method: Any) -> str:
    if isinstance(method, str):
        return method
    name = method_name(type(method).__name__)
    known = name in calibrator_names() and type(method) is find_calibrator(name)
    return name if known else type(method).__name__


def _free_name(name: str, taken: Mapping[str, Any]) -> str:
    """``beta``, then ``beta-2``: one method may be compared with several options."""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name}-{count}"
    return free


def _instance(method: Any) -> Any:
    if isinstance(method, str):
        return find_calibrator(method)()
    if isinstance(method, type) or not hasattr(method, "fit"):
        raise InputError(
            f"a calibrator must be a name or an instance with fit; got {shown(method)}."
        )
    return method


def read_compared_rows(
    scores: Any, y: Any, scale: InputScale, sample_weight: Any, counts: Any, classes: Any
) -> Rows:
    """Validate rows. Rows of weight zero stay: they are forecast too."""
    rows = Rows.read(scores, y, sample_weight, counts, scale=scale, classes=classes)
    rows.of_positive_weight().check_two_classes()
    return rows


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
    rows: Rows,
    scale: InputScale,
    features: Any,
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
        delayed(_fit_fold)(methods[name], rows, scale, features, folds, fold)
        for name, folds, fold in tasks
    )
    foreign: set[tuple[str, type[Warning]]] = set()
    with Progress(len(tasks), "comparing methods", progress) as bar, _ended_silently(work):
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


@contextlib.contextmanager
def _ended_silently(work: Any) -> Iterator[None]:
    """Cancel what an error leaves of the work; joblib would warn of it."""
    try:
        yield
    finally:
        with ignored_warnings():
            work.close()


def reason_of(problem: Exception) -> str:
    """Why a method failed: the original error, if we raised another from it."""
    own = problem.__cause__ or problem
    return f"{type(own).__name__}: {own}"


def _fit_fold(
    method: Any, rows: Rows, scale: InputScale, features: Any, folds: Folds, fold: int
) -> _Answer:
    with collected_warnings() as caught:
        start = time.perf_counter()
        held_out, error = None, None
        try:
            if isinstance(method, Calibrator) and not _needs_rows(method):
                held_out = _forecast_cells(method, scale, folds, fold)
            else:
                held_out = _forecast_rows(method, rows, scale, features, folds, fold)
        except Exception as problem:  # a method that fails is reported, whatever its reason
            error = reason_of(problem)
        seconds = time.perf_counter() - start
    ours = [str(w.message) for w in caught if issubclass(w.category, TrueoddsWarning)]
    others = [
        (str(w.message), w.category) for w in caught if not issubclass(w.category, TrueoddsWarning)
    ]
    return _Answer(held_out, seconds, ours, others, error)


def _forecast_cells(method: Calibrator, scale: InputScale, folds: Folds, fold: int) -> HeldOut:
    ours = unfitted(method).set_params(scale=scale)
    ours.check_settings()
    test = folds.test_cells(fold)
    prob = ours.fit_map(folds.train_rows(fold))._apply_valid(folds.cells.scores[test])
    return HeldOut(test, folds.test_weight(fold)[test], prob)


def _needs_rows(method: Calibrator) -> bool:
    """Whether rows of equal score and class are not alike to the method."""
    return method.needs_features or not method.ignores_row_order


def _forecast_rows(
    method: Any, rows: Rows, scale: InputScale, features: Any, folds: Folds, fold: int
) -> HeldOut:
    """Forecasts by a method that distinguishes rows of equal score, or that takes no weights."""
    # Only here is scikit-learn needed, which takes longer to import than most comparisons.
    from sklearn.utils import _safe_indexing

    from trueodds.model_selection._foreign_calibrators import (
        fit_calibrator,
        needs_features,
        predict_calibrated,
    )

    train, seen = folds.rows_outside(rows, fold)
    test, held = folds.rows_inside(rows, fold)
    wanted = needs_features(method)
    fitted = fit_calibrator(
        method,
        seen.scores,
        seen.codes,
        seen.weight,
        _safe_indexing(features, train) if wanted else None,
        scale=scale,
        n_classes=rows.n_classes,
    )
    held_features = _safe_indexing(features, test) if wanted else None
    prob = predict_calibrated(fitted, held.scores, held_features)
    if rows.n_classes == 2:
        prob = prob[:, 1]
    return HeldOut(folds.cell_of_row[test], held.row_weight, prob, test)
