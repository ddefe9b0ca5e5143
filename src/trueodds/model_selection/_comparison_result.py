"""What a comparison of methods found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from scipy.special import ndtri

from trueodds.basics.optional import require
from trueodds.inputs import Floats, check_choice
from trueodds.model_selection._comparison_choice import choose
from trueodds.model_selection._comparison_losses import LossTable

__all__ = ["ECE", "CalibratorComparison", "Rule", "Scoring", "rows_to_frame"]

Scoring = Literal["log_loss", "brier_score"]
Rule = Literal["one_standard_error", "best"]
ECE = "expected_calibration_error"


@dataclass(frozen=True, eq=False)
class CalibratorComparison:
    """What cross-validation says of each method.

    Attributes
    ----------
    methods : tuple of str
        Those that could be fitted in every fold, simplest first.
    best_method : str
        The choice by ``scoring`` and ``rule``.
    explanation : str
        A sentence on why.
    calibrators : dict of str to calibrator
        The unfitted calibrator of each method; ``calibrators[best_method]`` is to be fitted on
        everything.
    fold_losses : dict of str to dict of str to ndarray of shape (n_repeats·cv,)
        ``fold_losses[metric][method]``; the same folds for all methods. Metrics are
        ``"log_loss"``, ``"brier_score"`` and ``"expected_calibration_error"``.
    out_of_fold : dict of str to ndarray of shape (n,) or (n, n_classes)
        Of the first repeat, in the order of the input: the probability of the positive class, or
        one column per class.
    seconds : dict of str to float
        Median time to fit one fold and forecast the rest of it.
    failures : dict of str to str
        Methods that are left out because a fold could not be fitted, with the first error.
    warnings : dict of str to tuple of str
        What the methods warned of in any fold; each message once.
    scoring, rule : str
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
    (('identity', 'beta'), 2)
    """

    methods: tuple[str, ...]
    best_method: str
    explanation: str
    calibrators: dict[str, Any]
    fold_losses: dict[str, dict[str, Floats]]
    out_of_fold: dict[str, Floats]
    seconds: dict[str, float]
    failures: dict[str, str]
    warnings: dict[str, tuple[str, ...]]
    scoring: Scoring
    rule: Rule
    level: float
    n_folds: int
    n_repeats: int
    _tables: dict[str, LossTable]
    _calibration_error: dict[str, float]
    _certain: frozenset[str]

    def rows(self) -> list[dict[str, Any]]:
        """One plain dict for each method, simplest first.

        Returns
        -------
        list of dict
            ``method``; ``log_loss`` and ``brier_score``, each with ``_low`` and ``_high``;
            ``expected_calibration_error`` of the out-of-fold forecasts of a whole repeat (mean
            over the repeats); ``gain``, the relative reduction of log-loss against the identity,
            with ``gain_low`` and ``gain_high``; ``seconds``; ``chosen``. A log-loss may be
            infinite, and then so are its bounds; ``gain`` is None where it is not defined.
        """
        return [self._row(method) for method in self.methods]

    def _row(self, method: str) -> dict[str, Any]:
        row: dict[str, Any] = {"method": method}
        for metric, table in self._tables.items():
            low, high = self._interval(table.mean(method), table.standard_error(method))
            row |= {metric: table.mean(method), f"{metric}_low": max(low, 0.0)}
            row[f"{metric}_high"] = high
        row[ECE] = self._calibration_error[method]
        gain = self.relative_gain(method) or (None, None, None)
        row |= dict(zip(("gain", "gain_low", "gain_high"), gain, strict=True))
        return row | {"seconds": self.seconds[method], "chosen": method == self.best_method}

    @property
    def gain_metric(self) -> Scoring:
        """The loss by which methods can be compared with doing nothing.

        ``"log_loss"``, or ``"brier_score"`` if doing nothing has an infinite log-loss: every finite
        one is 100 % less, which says nothing.
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
        gain = self._tables[metric].relative_gain(method, self.methods[0])
        return None if gain is None else (gain[0], *self._interval(*gain))

    def _interval(self, mean: float, error: float) -> tuple[float, float]:
        if not np.isfinite(mean):
            return mean, mean
        half = float(ndtri(0.5 + self.level / 2)) * error
        return mean - half, mean + half

    def choose(self, *, scoring: Scoring = "log_loss", rule: Rule = "one_standard_error") -> str:
        """The method that another metric or rule would take; see :func:`compare_calibrators`."""
        check_choice(scoring, ("log_loss", "brier_score"), "scoring")
        check_choice(rule, ("one_standard_error", "best"), "rule")
        return choose(self._tables, scoring, rule, self._certain).method

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

    def to_frame(self) -> Any:
        """:meth:`rows` as a pandas frame."""
        return rows_to_frame(self.rows())

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


def rows_to_frame(rows: list[dict[str, Any]]) -> Any:
    """A pandas frame, or an error that says how to get pandas."""
    return require("pandas", "a frame of results", "pandas").DataFrame(rows)
