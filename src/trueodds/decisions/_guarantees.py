"""Thresholds with a finite-sample guarantee: "of the cases I act on, at most 5% are wrong".

Acting on every row whose probability is at least t has a risk R(t): a rate of errors, misses or
false alarms, or a mean cost. We want a threshold of a fixed grid with R(t) ≤ limit that acts on the
most rows (for misses: on the fewest). It may be wrong with a probability of δ = 1 − confidence.

Each threshold has a p-value of the hypothesis "R(t) > limit": the exact binomial one for rates
(k wrong of n have P(Bin(n, limit) ≤ k)), Hoeffding's and Bentkus' for costs. The hypotheses are
tested one after the other, each at the full δ; the first that is not rejected ends the walk
(fixed-sequence testing). A wrong threshold is chosen only if the first true hypothesis on the way
is rejected, which has a probability of at most δ. Fine grids therefore cost nothing.

Where the walk begins must not depend on the labels:

- misses and false alarms are monotone in t: it begins at the safe end;
- a cost begins at the threshold that is optimal for calibrated probabilities;
- errors among the rows acted on have no safe end, because high thresholds keep too few rows to
  prove anything. The walk begins where the probabilities themselves predict the test to be most
  likely to pass, and proceeds to lower thresholds.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, xlogy

from trueodds.basics.wording import percent_text
from trueodds.decisions._costs import optimal_threshold
from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    check_choice,
    check_number,
    encode_groups,
    repeat_rows,
)
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = [
    "Risk",
    "ThresholdGuarantee",
    "guarantee_of_table",
    "guaranteed_threshold",
    "guaranteed_thresholds",
]

Risk = Literal["errors", "misses", "false_alarms", "cost"]
Flags = npt.NDArray[np.bool_]

LEAST_DOUBT, MOST_DOUBT = 1e-9, 0.25
"""The range of δ. With at most 1/4, a passing test has fewer wrong rows than expected at the limit,
which the proof for errors needs (Hoeffding 1956)."""


def _grid() -> Floats:
    """Thresholds in steps of 0.01 of the log-odds from −14 to 14, with three digits each."""
    low = 1 / (1 + np.exp(np.arange(1, 1401) / 100))
    digits = np.array([float(f"{p:.3g}") for p in low])
    return np.unique(np.concatenate([[0.0], digits, [0.5], np.round(1 - digits, 9)]))


GRID = _grid()
"""Increasing; it does not depend on the data."""


@dataclass(frozen=True)
class ThresholdGuarantee:
    """A threshold and its guarantee, or why there is none.

    Attributes
    ----------
    threshold : float or None
        Act on a row if its probability is at least this. None if no threshold has the guarantee.
    risk : {"errors", "misses", "false_alarms", "cost"}
    at_most : float
        The limit that the risk must not exceed.
    confidence : float
        Probability that the guarantee holds, over samples of rows.
    n_rows, n_acted : int
        Rows, and rows that reach the threshold (0 without one).
    n_counted, n_wrong : int
        Rows that the rate is a share of, and how many of them count as wrong. With costs: all
        rows, and those with a cost.
    estimate : float or None
        The risk on these rows.
    bound : float or None
        Upper confidence bound of the risk at this threshold; at most ``at_most``.
    lowest_limit : float or None
        The lowest limit for which the same rows give a threshold. A limit that was chosen after
        looking at this number has no guarantee on the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import guaranteed_threshold
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(4, 1, 2000)
    >>> y = rng.random(2000) < p
    >>> found = guaranteed_threshold(y, p, at_most=0.1)
    >>> found.threshold, found.n_acted, round(found.bound, 3)
    (0.801, 1182, 0.099)
    """

    threshold: float | None
    risk: Risk
    at_most: float
    confidence: float
    n_rows: int
    n_acted: int
    n_counted: int
    n_wrong: int
    estimate: float | None
    bound: float | None
    lowest_limit: float | None

    @property
    def is_reachable(self) -> bool:
        """Whether a threshold has the guarantee."""
        return self.threshold is not None

    @property
    def share_acted(self) -> float:
        """Share of the rows that reach the threshold."""
        return self.n_acted / self.n_rows

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values."""
        return {**asdict(self), "share_acted": self.share_acted}

    def __str__(self) -> str:
        sure = percent_text(self.confidence)
        limit = self._size(self.at_most)
        if self.threshold is None or self.estimate is None or self.bound is None:
            words = (
                f"Not reachable: these {self.n_rows:,} rows do not support a limit of {limit} on "
                f"{_NAMES[self.risk]} with {sure} confidence."
            )
            if self.lowest_limit is None:
                return f"{words} They support no limit."
            return f"{words} The lowest limit that they support is {self._size(self.lowest_limit)}."
        return (
            f"Act on a probability of at least {self.threshold:g}: "
            f"{self.n_acted:,} of {self.n_rows:,} rows ({percent_text(self.share_acted)}). "
            f"{_NAMES[self.risk].capitalize()}: {self._size(self.estimate)} in these rows, with "
            f"{sure} confidence at most {self._size(self.bound)} (limit {limit})."
        )

    def _size(self, value: float) -> str:
        return f"{value:.4g} per row" if self.risk == "cost" else percent_text(value)


_NAMES: Mapping[Risk, str] = {
    "errors": "errors among the rows acted on",
    "misses": "missed positives",
    "false_alarms": "false alarms among negatives",
    "cost": "the mean cost",
}


def guaranteed_threshold(
    y_true: Any,
    y_prob: Any,
    *,
    at_most: float,
    risk: Risk = "errors",
    confidence: float = 0.9,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    counts: Any = None,
    classes: Any = None,
) -> ThresholdGuarantee:
    """Find the threshold that acts on the most rows and keeps a risk below a limit.

    Use it to guarantee, for example, that at most 5% of the answers sent out without review are
    wrong. It holds for any sample size and any model; calibrated probabilities give the
    most rows to act on.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Labels. The rows must be independent, drawn like the future ones, and unseen by the model
        *and* the calibrator.
    y_prob : array-like of shape (n,), (n, 2) or (n, n_classes)
        Probabilities. With three or more classes, to act is to answer with the most probable
        class; ``risk`` must then be "errors".
    at_most : float
        The limit: a rate in (0, 1), or a positive mean cost per row.
    risk : {"errors", "misses", "false_alarms", "cost"}, default="errors"
        "errors": share of negatives (wrong answers) among the rows acted on, 1 − precision.
        "misses": share of the positives that are not acted on, 1 − recall; the threshold that acts
        on the fewest rows is returned. "false_alarms": share of the negatives that are acted on.
        "cost": mean cost per row.
    confidence : float, default=0.9
        Probability that the guarantee holds; at least 0.75.
    cost_fp, cost_fn : float, default=1.0
        Cost of acting on a negative, and of not acting on a positive, for ``risk="cost"``.
    counts : array-like of shape (n,), default=None
        How often each row occurred. There is no ``sample_weight``: an exact guarantee counts rows.
    classes : array-like, default=None
        All labels in the order of the columns of ``y_prob``, if some may be absent; the last of
        two is positive.

    Returns
    -------
    ThresholdGuarantee

    Notes
    -----
    For misses, false alarms and costs, the risk of the returned threshold exceeds ``at_most`` with
    a probability of at most 1 − ``confidence``, whatever the distribution. For errors, the same
    holds for the mean error probability of the given rows that reach the threshold. The page
    "Guaranteed thresholds" has the proofs and the measured share of violations. Cost: one sort.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan and Lei (2021), Learn then test: calibrating predictive
    algorithms to achieve risk control.
    Hoeffding (1956), On the distribution of the number of successes in independent trials.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import guaranteed_threshold
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(4, 1, 2000)
    >>> y = rng.random(2000) < p
    >>> print(guaranteed_threshold(y, p, at_most=0.1))
    Act on a probability of at least 0.801: 1,182 of 2,000 rows (59%). Errors among the rows acted
    on: 8.8% in these rows, with 90% confidence at most 10% (limit 10%).
    >>> print(guaranteed_threshold(y[:60], p[:60], at_most=0.01))
    Not reachable: these 60 rows do not support a limit of 1% on errors among the rows acted on
    with 90% confidence. The lowest limit that they support is 11%.
    """
    columns = repeat_rows(counts, y_true=y_true, y_prob=y_prob)
    rows = Rows.read(
        columns["y_prob"],
        columns["y_true"],
        scale="probability",
        classes=classes,
        words=METRIC_WORDS,
    )
    prob, positive = _actions(rows, risk)
    return guarantee_of_table(
        ScoreTable.from_codes(prob, positive),
        at_most=at_most,
        risk=risk,
        confidence=confidence,
        cost_fp=cost_fp,
        cost_fn=cost_fn,
    )


def guaranteed_thresholds(
    y_true: Any,
    y_prob: Any,
    *,
    groups: Any,
    at_most: float,
    risk: Risk = "errors",
    confidence: float = 0.9,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
    classes: Any = None,
) -> dict[Any, ThresholdGuarantee]:
    """Find a threshold for each group, such that all guarantees hold together.

    Parameters
    ----------
    y_true, y_prob, at_most, risk, cost_fp, cost_fn, classes
        As in :func:`guaranteed_threshold`.
    groups : array-like of shape (n,)
        Group of each row.
    confidence : float, default=0.9
        Probability that every guarantee holds. With g groups each gets a g-th of the doubt.

    Returns
    -------
    dict of group to ThresholdGuarantee
        In the sorted order of the groups.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import guaranteed_thresholds
    >>> rng = np.random.default_rng(0)
    >>> p, group = rng.beta(4, 1, 4000), rng.choice(["law", "math"], 4000)
    >>> y = rng.random(4000) < p
    >>> found = guaranteed_thresholds(y, p, groups=group, at_most=0.1)
    >>> {name: one.n_acted for name, one in found.items()}
    {'law': 1277, 'math': 1291}
    """
    rows = Rows.read(y_prob, y_true, scale="probability", classes=classes, words=METRIC_WORDS)
    prob, positive = _actions(rows, risk)
    codes, names = encode_groups(groups, len(positive))
    doubt = _doubt(confidence)
    return {
        name: guarantee_of_table(
            ScoreTable.from_codes(prob[codes == i], positive[codes == i]),
            at_most=at_most,
            risk=risk,
            confidence=1 - doubt / len(names),
            cost_fp=cost_fp,
            cost_fn=cost_fn,
        )
        for i, name in enumerate(names.tolist())
    }


def _actions(rows: Rows, risk: Risk) -> tuple[Floats, Flags]:
    """Probability that to act is right, and whether it was, for each row."""
    check_choice(risk, get_args(Risk), "risk")
    if rows.n_classes == 2:
        prob = rows.scores if rows.scores.ndim == 1 else rows.scores[:, 1]
        return prob, rows.codes == 1
    if risk != "errors":
        raise InputError(
            f"with {rows.n_classes} classes, risk must be 'errors'; got {risk!r}. To act is to "
            "answer with the most probable class."
        )
    answer = rows.scores.argmax(axis=1)
    return rows.scores.max(axis=1), answer == rows.codes


def guarantee_of_table(
    table: ScoreTable,
    *,
    at_most: float,
    risk: Risk,
    confidence: float,
    cost_fp: float = 1.0,
    cost_fn: float = 1.0,
) -> ThresholdGuarantee:
    """:func:`guaranteed_threshold` of counted rows."""
    check_choice(risk, get_args(Risk), "risk")
    doubt = _doubt(confidence)
    rates = _Costs(table, cost_fp, cost_fn) if risk == "cost" else _Rates(table, risk)
    limit = check_number(at_most, "at_most", 0.0, rates.largest, above=True)
    last = rates.last_passed(limit, doubt)
    n_rows = round(table.total)
    if last is None:
        lowest = _least(lambda other: rates.last_passed(other, doubt) is not None, limit, rates)
        return ThresholdGuarantee(
            None, risk, limit, confidence, n_rows, 0, 0, 0, None, None, lowest
        )
    at = rates.place[last]
    return ThresholdGuarantee(
        threshold=float(GRID[last]),
        risk=risk,
        at_most=limit,
        confidence=confidence,
        n_rows=n_rows,
        n_acted=round(float(rates.acted[at])),
        n_counted=round(float(rates.counted[at])),
        n_wrong=round(float(rates.wrong[at])),
        estimate=float(rates.estimate[at]),
        bound=_least(lambda other: bool(rates.p_values(other)[at] <= doubt), 0.0, rates),
        lowest_limit=None,
    )


def _doubt(confidence: float) -> float:
    """δ, the probability that the guarantee fails."""
    return 1 - check_number(confidence, "confidence", 1 - MOST_DOUBT, 1 - LEAST_DOUBT)


def _least(holds: Callable[[float], bool], low: float, rates: _Counted) -> float | None:
    """The least limit above ``low`` for which something holds; None if there is none."""
    high = rates.largest
    if not holds(high):
        return None
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


class _Counted:
    """Rows at or above each threshold of the grid, and the tests of the risk there.

    Thresholds between the same two scores act on the same rows: arrays have one entry for all of
    them, and ``place`` is the entry of each threshold.
    """

    largest = 1.0
    """The largest limit: no risk exceeds it."""
    counted: Floats
    """Rows that the risk is a mean over."""
    wrong: Floats
    """How many of them count as wrong."""
    estimate: Floats
    start: int
    """Where the walk begins, as a position in the grid."""
    step = -1
    """Its direction: −1 to act on more rows."""

    def __init__(self, table: ScoreTable) -> None:
        first, self.place = np.unique(np.searchsorted(table.score, GRID), return_inverse=True)

        def above(weight: Floats) -> Floats:
            return np.append(np.cumsum(weight[::-1])[::-1], 0.0)[first]

        self.table = table
        self.acted = above(table.weight)
        self.acted_pos = above(table.n_pos)
        self.acted_neg = above(table.n_neg)
        self.predicted_neg = above(table.weight * (1 - table.score))

    def p_values(self, limit: float) -> Floats:
        """P-values of the hypotheses that the risk exceeds the limit."""
        raise NotImplementedError

    def begin(self, limit: float, doubt: float) -> int:
        """Position of the first test; it must not depend on the labels."""
        return self.start

    def last_passed(self, limit: float, doubt: float) -> int | None:
        """Position of the last threshold before the first that fails."""
        begin = self.begin(limit, doubt)
        passed = (self.p_values(limit) <= doubt)[self.place][begin :: self.step]
        n_passed = len(passed) if passed.all() else int(passed.argmin())
        return begin + self.step * (n_passed - 1) if n_passed else None


class _Rates(_Counted):
    """Errors, misses or false alarms: shares of rows, which are binomial at each threshold."""

    def __init__(self, table: ScoreTable, risk: Risk) -> None:
        super().__init__(table)
        self.is_conditional = risk == "errors"
        if risk == "errors":
            self.counted, self.wrong = self.acted, self.acted_neg
        elif risk == "misses":
            self.counted = np.full(len(self.acted), table.total_pos)
            self.wrong = table.total_pos - self.acted_pos
            self.step = 1
        else:
            self.counted = np.full(len(self.acted), table.total_neg)
            self.wrong = self.acted_neg
        self.start = 0 if risk == "misses" else len(GRID) - 1
        self.estimate = self.wrong / np.maximum(self.counted, 1)

    def p_values(self, limit: float) -> Floats:
        """Probability of at most this many wrong rows if the risk equals the limit."""
        return _binomial_cdf(self.wrong, self.counted, limit)

    def begin(self, limit: float, doubt: float) -> int:
        """For errors: where the test is most likely to pass if the probabilities are right."""
        if not self.is_conditional:
            return self.start
        allowed = _most_wrong(self.acted, limit, doubt)
        expected = self.predicted_neg / np.maximum(self.acted, 1)
        power = np.where(allowed >= 0, _binomial_cdf(allowed, self.acted, expected), 0.0)
        return int(np.flatnonzero(power[self.place] >= power.max() - 1e-3)[-1])


class _Costs(_Counted):
    """Mean cost of acting on negatives and of not acting on positives."""

    def __init__(self, table: ScoreTable, cost_fp: float, cost_fn: float) -> None:
        super().__init__(table)
        best = optimal_threshold(cost_fp, cost_fn)
        self.start = int(np.searchsorted(GRID, best, side="right")) - 1
        missed = table.total_pos - self.acted_pos
        self.largest = float(max(cost_fp, cost_fn))
        self.counted = np.full(len(self.acted), table.total)
        self.wrong = self.acted_neg + missed
        self.estimate = (cost_fp * self.acted_neg + cost_fn * missed) / table.total

    def p_values(self, limit: float) -> Floats:
        """The smaller of Hoeffding's and Bentkus' bounds for means of numbers in [0, 1]."""
        mean, share = self.estimate / self.largest, limit / self.largest
        below = np.minimum(mean, share)
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = xlogy(below, below / share) + xlogy(1 - below, (1 - below) / (1 - share))
        hoeffding = np.exp(-self.counted * divergence)
        bentkus = math.e * _binomial_cdf(np.ceil(self.counted * mean), self.counted, share)
        return np.minimum(hoeffding, bentkus)


def _binomial_cdf(k: Floats, n: Floats, p: float | Floats) -> Floats:
    """P(Bin(n, p) ≤ k); 1 for k ≥ n."""
    inner = k < n
    safe_k, safe_n = np.where(inner, k, 0.0), np.where(inner, n, 1.0)
    return np.where(inner, betainc(safe_n - safe_k, safe_k + 1, 1 - np.asarray(p)), 1.0)


def _most_wrong(n: Floats, limit: float, doubt: float) -> Floats:
    """The largest k with P(Bin(n, limit) ≤ k) ≤ δ; −1 if there is none."""
    low, high = np.full(len(n), -1.0), n.copy()
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        passes = _binomial_cdf(np.maximum(middle, 0.0), n, limit) <= doubt
        passes &= middle >= 0
        low, high = np.where(passes, middle, low), np.where(passes, high, middle)
    return low
