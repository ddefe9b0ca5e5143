"""Thresholds with a finite-sample guarantee: "of the cases I act on, at most 5% are wrong".

Acting on every row whose probability is at least t has a risk R(t) in the population: a rate of
errors, misses or false alarms, or a mean cost. We want a threshold of a fixed grid with
R(t) ≤ limit that acts on the most rows (for misses: on the fewest). It may be wrong with a
probability of δ = 1 − confidence.

Each threshold has a p-value of the hypothesis "R(t) > limit": the exact binomial one for rates
(k wrong of n have P(Bin(n, limit) ≤ k)), Hoeffding's and Bentkus' for costs. The hypotheses are
tested one after the other; a test that passes hands its level on to the next one, and one that
fails loses it. The order, and where the walk begins, do not depend on the rows tested:

- misses and false alarms are monotone in t: it begins at the safe end with the level δ;
- a cost begins at the threshold that is optimal for calibrated probabilities;
- errors among the rows acted on have no safe end, because high thresholds keep too few rows to
  prove anything. If probabilities are calibrated, 1 − limit is safe: the walk has half of δ there.
  Eight starts above and below it share the other half, for probabilities that are not calibrated.

Let H₁, H₂, … be the true hypotheses in the order of the walk. As long as none of them is rejected,
the level of Hⱼ is at most what starts between Hⱼ₋₁ and Hⱼ received. These parts of δ add up to at
most δ, so a wrong threshold is returned with a probability of at most δ (Wiens 2003). Fine grids
therefore cost nothing.

``anytime`` replaces the p-values by 1/E, where E is the capital of a bet against the hypothesis. It
exceeds 1/δ at any time with a probability of at most δ (Ville 1939), so the same walk is valid at
all sample sizes together.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
from scipy.special import betainc, betaincinv, xlogy

from trueodds.basics.wording import percent_text
from trueodds.decisions._costs import optimal_threshold
from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    MOST_VALUES,
    Band,
    Floats,
    GroupColumn,
    check_choice,
    check_flag,
    check_number,
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
Indices = npt.NDArray[np.intp]

LEAST_DOUBT, MOST_DOUBT = 1e-9, 0.5
"""The range of δ."""


def _grid() -> Floats:
    """Thresholds in steps of 0.01 of the log-odds from −14 to 14, with three digits each."""
    low = 1 / (1 + np.exp(np.arange(1, 1401) / 100))
    digits = np.array([float(f"{p:.3g}") for p in low])
    return np.unique(np.concatenate([[0.0], digits, [0.5], np.round(1 - digits, 9)]))


GRID = _grid()
"""Increasing; it does not depend on the data."""

STARTS = ((0.0, 0.5), *((shift, 0.5 / 8) for shift in (-2.0, -1.0, -0.5, 0.5, 1.0, 2.0, 4.0, 8.0)))
"""Where the walk for errors begins: log-odds from 1 − limit, and their shares of δ."""
BETS = (np.arange(256) + 0.5) / 256
"""E-values bet that the risk is this share of the limit, with equal parts of the capital."""
SCANNED = 300
"""Limits that are tried to find the lowest one."""
FEWEST_ACTED = 20
"""Rows at or above a threshold whose rate of errors is worth telling."""
MOST_TIMES = 10_000
"""Times as many rows that are tried to find how many a limit needs."""


@dataclass(frozen=True)
class ThresholdGuarantee:
    """A threshold and its guarantee, or why there is none.

    Attributes
    ----------
    threshold : float
        Act on a row if its probability is at least this. Infinite, so that no row reaches it, if
        no threshold has the guarantee.
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
        Upper confidence bound of the risk at this threshold considered alone; at most
        ``at_most``. The guarantee is ``at_most``: the bound does not allow for the choice.
    lowest_limit : float or None
        If no threshold has the guarantee: the lowest limit for which the same rows give one. A
        limit that was chosen after looking at this number has no guarantee on the same rows.
    anytime : bool
        Whether the guarantee holds for all sample sizes together.
    lowest_threshold : float or None
        The threshold for ``lowest_limit``.
    lowest_acted : int
        Rows that reach ``lowest_threshold``.
    acted_wrong : int
        Negatives (wrong answers) among the rows acted on, whatever the risk.
    best_rate : float or None
        If no threshold has the guarantee: the lowest risk on these rows of any threshold. For
        errors, of those that 20 or more rows reach. No number of labels makes a limit reachable
        that is below the true rate; only a score that ranks better does.
    best_rate_low : float or None
        The lowest of the lower confidence bounds of these rates, each at ``confidence``; None for
        costs.
    rows_needed : int or None
        If no threshold has the guarantee: about how many rows like these would give one; None if
        more rows hardly help.
    pooled_threshold : float or None
        If no group has a guarantee: the threshold that all groups have together. It holds for
        the mixture of groups, not in each.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import guaranteed_threshold
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(4, 1, 2000)
    >>> y = rng.random(2000) < p
    >>> found = guaranteed_threshold(y, p, at_most=0.1)
    >>> found.threshold, found.n_acted, round(found.bound, 3)
    (0.805, 1165, 0.099)
    """

    threshold: float
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
    anytime: bool = False
    lowest_threshold: float | None = None
    lowest_acted: int = 0
    acted_wrong: int = 0
    best_rate: float | None = None
    best_rate_low: float | None = None
    rows_needed: int | None = None
    pooled_threshold: float | None = None

    @property
    def is_reachable(self) -> bool:
        """Whether a threshold has the guarantee."""
        return math.isfinite(self.threshold)

    @property
    def share_acted(self) -> float:
        """Share of the rows that reach the threshold."""
        return self.n_acted / self.n_rows

    @property
    def share_wrong(self) -> float | None:
        """Share of negatives (wrong answers) among the rows acted on; None if there are none."""
        return self.acted_wrong / self.n_acted if self.n_acted else None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON values; the threshold is None if it is infinite."""
        threshold = self.threshold if self.is_reachable else None
        shares = {"share_acted": self.share_acted, "share_wrong": self.share_wrong}
        reachable = {"is_reachable": self.is_reachable}
        return {**asdict(self), "threshold": threshold, **reachable, **shares}

    def __str__(self) -> str:
        sure = percent_text(self.confidence)
        limit = self._size(self.at_most)
        if self.estimate is None:
            rows = "this row does" if self.n_rows == 1 else f"these {self.n_rows:,} rows do"
            words = (
                f"Not reachable: {rows} not support a limit of {limit} on "
                f"{_NAMES[self.risk]} with {sure} confidence."
            )
            return " ".join([words, *self._remedies()])
        always = ", at all sample sizes together" if self.anytime else ""
        wrong = ""
        if self.risk in ("false_alarms", "misses") and self.share_wrong is not None:
            wrong = f" Of the rows acted on, {percent_text(self.share_wrong)} are negatives here."
        return (
            f"Act on a probability of at least {self.threshold:g}: "
            f"{self.n_acted:,} of {self.n_rows:,} rows ({percent_text(self.share_acted)}). "
            f"{_NAMES[self.risk].capitalize()}: {self._size(self.estimate)} in these rows, and in "
            f"future ones at most {limit} with {sure} confidence{always}.{wrong}"
        )

    def _remedies(self) -> list[str]:
        """What would help, as sentences."""
        said = []
        if self.rows_needed is not None:
            more = self.rows_needed - self.n_rows
            said.append(
                f"About {self.rows_needed:,} rows like these would support it ({more:,} more)."
            )
        elif self.best_rate is not None and self.best_rate > self.at_most:
            reached = f" that {FEWEST_ACTED} or more rows reach" if self.risk == "errors" else ""
            best = f"the lowest rate of any threshold{reached} is {self._size(self.best_rate)}"
            if self.best_rate_low is not None and self.best_rate_low > self.at_most:
                said.append(
                    f"More labels will not help: {best} (at least "
                    f"{self._size(self.best_rate_low)}). It takes a score that ranks better."
                )
            else:
                said.append(f"More labels may not help: {best} here.")
        if self.pooled_threshold is not None:
            said.append(
                f"All groups together support it at {self.pooled_threshold:g}; that guarantee is "
                "for the mixture of groups, not for each."
            )
        if self.lowest_limit is None or self.lowest_threshold is None:
            return [*said, "These rows support no limit."]
        return [
            *said,
            f"The lowest limit that these rows support is {self._size(self.lowest_limit)}: "
            f"act on a probability of at least {self.lowest_threshold:g}, which "
            f"{self.lowest_acted:,} of {self.n_rows:,} rows reach "
            f"({percent_text(self.lowest_acted / self.n_rows)}). A limit that is chosen now has "
            "no guarantee on these rows; confirm it on others.",
        ]

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
    anytime: bool = False,
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
        Probability that the guarantee holds; at least 0.5.
    cost_fp, cost_fn : float, default=1.0
        Cost of acting on a negative, and of not acting on a positive, for ``risk="cost"``.
    anytime : bool, default=False
        Make the guarantee hold for all sample sizes together. Use it if rows arrive over time and
        you compute the threshold again and again: with the stated confidence, no threshold that
        was ever returned breaks the limit. The price is fewer rows to act on.
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
    The risk of the returned threshold, for future rows drawn like the given ones, exceeds
    ``at_most`` with a probability of at most 1 − ``confidence``, whatever the distribution. The
    page "Guaranteed thresholds" has the proofs and the measured share of violations. Cost: one
    sort.

    References
    ----------
    Angelopoulos, Bates, Candès, Jordan and Lei (2021), Learn then test: calibrating predictive
    algorithms to achieve risk control.
    Wiens (2003), A fixed sequence Bonferroni procedure for testing multiple endpoints.
    Waudby-Smith and Ramdas (2024), Estimating means of bounded random variables by betting.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import guaranteed_threshold
    >>> rng = np.random.default_rng(0)
    >>> p = rng.beta(4, 1, 2000)
    >>> y = rng.random(2000) < p
    >>> print(guaranteed_threshold(y, p, at_most=0.1))
    Act on a probability of at least 0.805: 1,165 of 2,000 rows (58%). Errors among the rows acted
    on: 8.6% in these rows, and in future ones at most 10% with 90% confidence.
    >>> print(guaranteed_threshold(y[:60], p[:60], at_most=0.01))
    Not reachable: these 60 rows do not support a limit of 1% on errors among the rows acted on
    with 90% confidence. More labels may not help: the lowest rate of any threshold that 20 or more
    rows reach is 4.8% here. The lowest limit that these rows support is 18%: act on a probability
    of at least 0.67, which 48 of 60 rows reach (80%). A limit that is chosen now has no guarantee
    on these rows; confirm it on others.
    """
    rows = _read(y_true, y_prob, counts, classes)
    return guarantee_of_table(
        ScoreTable.from_codes(*_actions(rows, risk), rows.weight),
        at_most=at_most,
        risk=risk,
        confidence=confidence,
        cost_fp=cost_fp,
        cost_fn=cost_fn,
        anytime=anytime,
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
    anytime: bool = False,
    counts: Any = None,
    classes: Any = None,
) -> dict[Any, ThresholdGuarantee]:
    """Find a threshold for each group, such that all guarantees hold together.

    Parameters
    ----------
    y_true, y_prob, at_most, risk, cost_fp, cost_fn, anytime, counts, classes
        As in :func:`guaranteed_threshold`.
    groups : array-like of shape (n,)
        Group of each row. A column of numbers with more than ten distinct values is cut into five
        bands of about equal mass, as in :func:`trueodds.metrics.group_test`.
    confidence : float, default=0.9
        Probability that every guarantee holds. With g groups each gets a g-th of the doubt.

    Returns
    -------
    dict of group to ThresholdGuarantee
        In the sorted order of the groups. A key is a value, a :class:`trueodds.metrics.Band` of
        numbers, or None for missing values. If no group has a guarantee, each has the threshold
        that all groups have together (``pooled_threshold``), if any.

    Notes
    -----
    Groups share information: for errors, the other groups decide where half of a group's tests
    begin. Only the group's own rows are evidence, so the guarantee needs no similarity of groups.
    With ``anytime`` nothing is shared.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import guaranteed_thresholds
    >>> rng = np.random.default_rng(0)
    >>> p, group = rng.beta(4, 1, 4000), rng.choice(["law", "math"], 4000)
    >>> y = rng.random(4000) < p
    >>> found = guaranteed_thresholds(y, p, groups=group, at_most=0.1)
    >>> {name: one.n_acted for name, one in found.items()}
    {'law': 1277, 'math': 1288}
    """
    rows = _read(y_true, y_prob, counts, classes)
    parts = GroupColumn.read("group", groups, len(rows), rows.row_counts)
    codes = parts.codes
    if rows.mass is not None:  # groups without rows are none
        codes, rows = codes[rows.mass > 0], rows.of_positive_weight()
    prob, positive = _actions(rows, risk)

    def table_of(chosen: Flags) -> ScoreTable:
        own = None if rows.weight is None else rows.weight.take(chosen)
        return ScoreTable.from_codes(prob[chosen], positive[chosen], own)

    check_flag(anytime, "anytime")
    if anytime and isinstance(parts.keys[0], Band):
        raise InputError(
            "with anytime, groups must not change as rows arrive, and bands of numbers would; got "
            f"numbers of more than {MOST_VALUES} distinct values. Pass your own bands as texts."
        )
    present = np.unique(codes).tolist()
    doubt = _doubt(confidence) / len(present)
    found: dict[Any, ThresholdGuarantee] = {}
    for code in present:
        own = codes == code
        others = None
        if risk == "errors" and not anytime and len(present) > 1:
            others = table_of(~own)
        found[parts.keys[code]] = guarantee_of_table(
            table_of(own),
            at_most=at_most,
            risk=risk,
            confidence=1 - doubt,
            cost_fp=cost_fp,
            cost_fn=cost_fn,
            anytime=anytime,
            others=others,
        )
    if len(found) > 1 and not any(one.is_reachable for one in found.values()):
        pooled = guarantee_of_table(
            table_of(np.ones(len(rows), dtype=np.bool_)),
            at_most=at_most,
            risk=risk,
            confidence=confidence,
            cost_fp=cost_fp,
            cost_fn=cost_fn,
            anytime=anytime,
        )
        if pooled.is_reachable:
            found = {
                key: replace(one, pooled_threshold=pooled.threshold) for key, one in found.items()
            }
    return found


def _read(y_true: Any, y_prob: Any, counts: Any, classes: Any) -> Rows:
    return Rows.read(
        y_prob,
        y_true,
        counts=counts,
        scale="probability",
        classes=classes,
        words=METRIC_WORDS,
    )


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
    anytime: bool = False,
    others: ScoreTable | None = None,
) -> ThresholdGuarantee:
    """:func:`guaranteed_threshold` of counted rows.

    ``others`` are rows that are independent of the table's, such as those of other groups: they
    help to choose where the walk for errors begins.
    """
    check_choice(risk, get_args(Risk), "risk")
    check_flag(anytime, "anytime")
    doubt = _doubt(confidence)
    rates: _Counted
    if risk == "cost":
        rates = _Costs(table, anytime, cost_fp, cost_fn)
    elif risk == "errors":
        rates = _Errors(table, anytime, others)
    else:
        rates = _MonotoneRates(table, anytime, risk)
    limit = check_number(at_most, "at_most", 0.0, rates.largest, above=True)
    last = rates.walk(limit, doubt)
    n_rows = round(table.total)
    if last is None:
        lowest = _lowest_limit(rates, limit, doubt)
        found = ThresholdGuarantee(
            *(math.inf, risk, limit, confidence, n_rows, 0, 0, 0, None, None, lowest, anytime),
            best_rate=rates.best_rate(),
            best_rate_low=rates.best_rate_low(doubt),
            rows_needed=rates.rows_needed(limit, doubt),
        )
        best = None if lowest is None else rates.walk(lowest, doubt)
        if best is None:
            return found
        acted = round(float(rates.acted[rates.place[best[0]]]))
        return replace(found, lowest_threshold=float(GRID[best[0]]), lowest_acted=acted)
    position, level = last
    at = rates.place[position]
    return ThresholdGuarantee(
        threshold=float(GRID[position]),
        risk=risk,
        at_most=limit,
        confidence=confidence,
        n_rows=n_rows,
        n_acted=round(float(rates.acted[at])),
        n_counted=round(float(rates.counted[at])),
        n_wrong=round(float(rates.wrong[at])),
        estimate=float(rates.estimate[at]),
        bound=_bisect(
            lambda other: bool(rates.p_values(other, np.array([at]))[0] <= level), 0.0, limit
        ),
        lowest_limit=None,
        anytime=anytime,
        acted_wrong=round(float(rates.acted_neg[at])),
    )


def _doubt(confidence: float) -> float:
    """δ, the probability that the guarantee fails."""
    return 1 - check_number(confidence, "confidence", 1 - MOST_DOUBT, 1 - LEAST_DOUBT)


def _bisect(holds: Callable[[float], bool], low: float, high: float) -> float:
    """The least number for which something holds that holds at ``high``, and above if anywhere."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _lowest_limit(rates: _Counted, low: float, doubt: float) -> float | None:
    """The lowest limit above ``low`` that some threshold has; None if there is none.

    If the starts move with the limit, a limit may be reachable where a greater one is not: limits
    are scanned from below.
    """
    scanned = (
        np.geomspace(low, rates.largest, SCANNED)[1:] if rates.starts_move else [rates.largest]
    )
    for high in map(float, scanned):
        if rates.is_reachable(high, doubt):
            return _bisect(lambda limit: rates.is_reachable(limit, doubt), low, high)
        low = high
    return None


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
    losses: tuple[tuple[float, Floats], ...]
    """Losses above 0 of a row, as shares of the largest, and the number of rows with each."""
    step = -1
    """Direction of the walk: −1 to act on more rows."""
    starts_move = False
    """Whether the starts depend on the limit."""

    def __init__(self, table: ScoreTable, anytime: bool) -> None:
        first, self.place = np.unique(np.searchsorted(table.score, GRID), return_inverse=True)

        def above(weight: Floats) -> Floats:
            return np.append(np.cumsum(weight[::-1])[::-1], 0.0)[first]

        self.anytime = anytime
        self.total = table.total
        self.acted = above(table.weight)
        self.acted_pos = above(table.n_pos)
        self.acted_neg = above(table.n_neg)

    def starts(self, limit: float, doubt: float) -> list[tuple[int, float]]:
        """Positions in the grid where the walk begins, in its order, and their shares of δ.

        They must not depend on the rows of the table.
        """
        raise NotImplementedError

    def p_values(self, limit: float, at: Indices | slice = slice(None)) -> Floats:
        """P-values of the hypotheses that the risk exceeds the limit."""
        return self._bets(limit, at) if self.anytime else self._tests(limit, at)

    def _tests(self, limit: float, at: Indices | slice) -> Floats:
        """P-values that hold for one sample size."""
        raise NotImplementedError

    def _bets(self, limit: float, at: Indices | slice) -> Floats:
        """1/E of bets against the hypothesis, at most 1.

        A part λ of the capital bets that a row's loss is below the limit: the capital is multiplied
        by 1 + λ(limit − loss), whose mean is at most 1 if the hypothesis is true. The result
        depends on the numbers of rows only, not on their order.
        """
        share = limit / self.largest
        counted = self.counted[at]
        if share >= 1:  # no risk exceeds the largest
            return np.where(counted > 0, 0.0, 1.0)
        part = (1 - BETS) / (1 - share)
        right = counted.copy()
        gain = np.zeros((len(counted), len(BETS)))
        for size, number in self.losses:
            right -= number[at]
            gain += np.outer(number[at], np.log1p(part * (share - size)))
        gain += np.outer(right, np.log1p(part * share))
        best = gain.max(axis=1)
        capital = best + np.log(np.exp(gain - best[:, None]).mean(axis=1))
        return np.asarray(np.exp(-np.maximum(capital, 0.0)))

    def walk(self, limit: float, doubt: float) -> tuple[int, float] | None:
        """Position of the last threshold that passes, and the level of its test."""
        p_values = self.p_values(limit)[self.place]
        starts = self.starts(limit, doubt)
        ends = [start for start, _ in starts[1:]] + [len(GRID) if self.step > 0 else -1]
        last, kept = None, 0.0
        for (start, share), end in zip(starts, ends, strict=True):
            level = kept + share * doubt
            way = np.arange(start, end, self.step)
            failed = np.flatnonzero(p_values[way] > level)
            n_passed = int(failed[0]) if len(failed) else len(way)
            if n_passed:
                last = int(way[n_passed - 1]), level
            kept = level if n_passed == len(way) else 0.0
        return last

    @property
    def telling(self) -> Flags:
        """Where enough rows are counted for an estimate."""
        return np.ones(len(self.acted), dtype=np.bool_)

    def best_rate(self) -> float | None:
        """The lowest risk on these rows of any threshold; None if there are too few."""
        return float(self.estimate[self.telling].min()) if self.telling.any() else None

    def best_rate_low(self, doubt: float) -> float | None:
        """The lowest of the lower confidence bounds of these risks; None if they are no rates."""
        return None

    def rows_needed(self, limit: float, doubt: float) -> int | None:
        """About how many rows like these make a start pass; None if no number is likely to."""
        positions, shares = map(np.array, zip(*self.starts(limit, doubt), strict=True))
        at = self.place[positions]
        kept = self.telling[at] & (self.estimate[at] < limit)
        at, levels = at[kept], shares[kept] * doubt

        def passes(times: float) -> bool:
            return bool((self._times(times).p_values(limit, at) <= levels).any())

        if not len(at) or not passes(MOST_TIMES):
            return None
        low, high = 1.0, 2.0
        while not passes(high):
            low, high = high, 2 * high
        while high - low > 0.001 * low:
            middle = (low + high) / 2
            low, high = (low, middle) if passes(middle) else (middle, high)
        return math.ceil(high * self.total)

    def _times(self, times: float) -> _Counted:
        """The same with this many times as many rows of each kind."""
        many = copy.copy(self)
        many.counted, many.wrong = times * self.counted, times * self.wrong
        many.losses = tuple((size, times * number) for size, number in self.losses)
        return many

    def is_reachable(self, limit: float, doubt: float) -> bool:
        """Whether the walk finds a threshold: one of its starts passes."""
        positions, shares = zip(*self.starts(limit, doubt), strict=True)
        p_values = self.p_values(limit, self.place[list(positions)])
        return bool((p_values <= np.array(shares) * doubt).any())


class _Rates(_Counted):
    """Shares of rows that are wrong, which are binomial at each threshold."""

    def _count(self, counted: Floats, wrong: Floats) -> None:
        self.counted, self.wrong = counted, wrong
        self.losses = ((1.0, wrong),)
        self.estimate = wrong / np.maximum(counted, 1)

    def best_rate_low(self, doubt: float) -> float | None:
        """Clopper and Pearson's lower bound of each rate; the lowest of them."""
        wrong, counted = self.wrong[self.telling], self.counted[self.telling]
        some = wrong > 0
        if not len(wrong) or not some.all():
            return 0.0 if len(wrong) else None
        return float(betaincinv(wrong, counted - wrong + 1, doubt).min())

    def _tests(self, limit: float, at: Indices | slice) -> Floats:
        """Probability of at most this many wrong rows if the risk equals the limit."""
        return _binomial_cdf(self.wrong[at], self.counted[at], limit)


class _MonotoneRates(_Rates):
    """Misses and false alarms."""

    def __init__(self, table: ScoreTable, anytime: bool, risk: Risk) -> None:
        super().__init__(table, anytime)
        if risk == "misses":
            counted = np.full(len(self.acted), table.total_pos)
            self._count(counted, table.total_pos - self.acted_pos)
            self.step = 1
        else:
            self._count(np.full(len(self.acted), table.total_neg), self.acted_neg)

    def starts(self, limit: float, doubt: float) -> list[tuple[int, float]]:
        """The safe end."""
        return [(0 if self.step > 0 else len(GRID) - 1, 1.0)]


class _Errors(_Rates):
    """Errors among the rows acted on."""

    starts_move = True

    def __init__(self, table: ScoreTable, anytime: bool, others: ScoreTable | None = None) -> None:
        super().__init__(table, anytime)
        self._count(self.acted, self.acted_neg)
        self.others = None if others is None else _Errors(others, anytime)

    @property
    def telling(self) -> Flags:
        """Where enough rows are acted on."""
        return self.acted >= FEWEST_ACTED

    def starts(self, limit: float, doubt: float) -> list[tuple[int, float]]:
        """Return starts around 1 − limit, and the best start for the other rows."""
        center = math.log1p(-limit) - math.log(limit) if limit < 1 else -math.inf
        shares: dict[int, float] = {}
        for shift, share in STARTS:
            at = int(np.searchsorted(GRID, 1 / (1 + math.exp(-center - shift)), side="right")) - 1
            shares[at] = shares.get(at, 0.0) + share
        if self.others is not None:
            shares = {at: share / 2 for at, share in shares.items()}
            at = self.others.most_promising(self.total, limit, doubt / 2)
            shares[at] = shares.get(at, 0.0) + 0.5
        return sorted(shares.items(), reverse=True)

    def most_promising(self, n_rows: float, limit: float, level: float) -> int:
        """Position of the highest threshold that n rows like these are most likely to pass."""
        acted = np.round(self.acted * (n_rows / self.total))
        rate = (self.wrong + 0.5) / (self.counted + 1)
        allowed = _most_wrong(acted, limit, level)
        power = np.where(allowed >= 0, _binomial_cdf(allowed, acted, rate), 0.0)
        return int(np.flatnonzero(power[self.place] >= power.max() - 1e-3)[-1])


class _Costs(_Counted):
    """Mean cost of acting on negatives and of not acting on positives."""

    def __init__(self, table: ScoreTable, anytime: bool, cost_fp: float, cost_fn: float) -> None:
        super().__init__(table, anytime)
        best = optimal_threshold(cost_fp, cost_fn)
        self.start = int(np.searchsorted(GRID, best, side="right")) - 1
        missed = table.total_pos - self.acted_pos
        self.largest = float(max(cost_fp, cost_fn))
        self.counted = np.full(len(self.acted), table.total)
        self.wrong = self.acted_neg + missed
        self.losses = (
            (cost_fp / self.largest, self.acted_neg),
            (cost_fn / self.largest, missed),
        )
        self.estimate = (cost_fp * self.acted_neg + cost_fn * missed) / table.total

    def starts(self, limit: float, doubt: float) -> list[tuple[int, float]]:
        """The threshold that is optimal for calibrated probabilities."""
        return [(self.start, 1.0)]

    def _tests(self, limit: float, at: Indices | slice) -> Floats:
        """The smaller of Hoeffding's and Bentkus' bounds for means of numbers in [0, 1]."""
        mean, share = self.estimate[at] / self.largest, limit / self.largest
        counted = self.counted[at]
        below = np.minimum(mean, share)
        with np.errstate(divide="ignore", invalid="ignore"):
            divergence = xlogy(below, below / share) + xlogy(1 - below, (1 - below) / (1 - share))
        hoeffding = np.exp(-counted * divergence)
        bentkus = math.e * _binomial_cdf(np.ceil(counted * mean), counted, share)
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
