"""Costs of decisions, and optimal decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import ndtri

from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    Labels,
    Weights,
    as_floats,
    check_number,
    encode_labels,
    is_label,
    mass_of,
    positive_column,
    validate_scores,
)
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = [
    "CostCurve",
    "RatioCosts",
    "best_decision",
    "cost_curve",
    "costs_by_ratio",
    "expected_cost",
    "optimal_threshold",
    "realized_cost",
]


MOST_COST = 1e300
"""Sums of a few such numbers are finite."""
BINARY_RATIOS = np.geomspace(1e-3, 1e3, 121)
"""Cost of a miss if a false alarm costs 1, in twenty steps per power of ten."""
SEVERAL_RATIOS = 10 ** (np.arange(2, 61) / 20)
"""Cost of a wrong answer if a deferral costs 1; below 1, deferring never pays."""


def optimal_threshold(
    cost_fp: float, cost_fn: float, *, cost_tp: float = 0.0, cost_tn: float = 0.0
) -> float:
    """Return the probability at or above which acting is the cheaper decision.

    It needs no data: for calibrated probabilities it is the same for every model. A threshold that
    is tuned on a sample corrects miscalibration for one pair of costs only.

    Parameters
    ----------
    cost_fp, cost_fn : float
        Cost of acting on a negative, and of not acting on a positive.
    cost_tp, cost_tn : float, default=0.0
        Cost of the right decisions; negative for a gain. Each must be below the cost of the
        wrong decision for the same class.

    Returns
    -------
    float
        (cost_fp − cost_tn) / (cost_fp − cost_tn + cost_fn − cost_tp); act if p is at least that.

    References
    ----------
    Elkan (2001), The foundations of cost-sensitive learning, equation 2.

    Examples
    --------
    >>> from trueodds.decisions import optimal_threshold
    >>> optimal_threshold(cost_fp=1, cost_fn=9)
    0.1
    """
    given = {"cost_fp": cost_fp, "cost_fn": cost_fn, "cost_tp": cost_tp, "cost_tn": cost_tn}
    cost_fp, cost_fn, cost_tp, cost_tn = (
        check_number(cost, name, -MOST_COST, MOST_COST) for name, cost in given.items()
    )
    too_much, too_little = cost_fp - cost_tn, cost_fn - cost_tp
    if too_much <= 0 or too_little <= 0:
        raise InputError(
            "a wrong decision must cost more than the correct one for the same class; got cost_fp "
            f"− cost_tn = {too_much:g} and cost_fn − cost_tp = {too_little:g}. Otherwise one "
            "decision is always best, whatever the probability."
        )
    return float(too_much / (too_much + too_little))


def _probabilities(y_prob: Any) -> Floats:
    """Validated probabilities: of two classes 1-D, those of the positive one."""
    prob = validate_scores(y_prob, "probability", words=METRIC_WORDS)
    return positive_column(prob, "probability") if prob.shape[1:] == (2,) else prob


def _expected(prob: Floats, costs: Floats) -> Floats:
    return np.asarray((np.stack([1 - prob, prob], axis=1) if prob.ndim == 1 else prob) @ costs)


def _n_classes(prob: Floats) -> int:
    return 2 if prob.ndim == 1 else prob.shape[1]


def _costs(cost_matrix: Any, n_classes: int | None = None) -> Floats:
    costs = as_floats(cost_matrix, "cost_matrix")
    if costs.ndim != 2 or min(costs.shape) < 2 or not (np.abs(costs) <= MOST_COST).all():
        raise InputError(
            "cost_matrix must be finite numbers, one row per class and one column per decision, "
            f"none beyond {MOST_COST:g}; got shape {costs.shape}."
        )
    if n_classes is not None and costs.shape[0] != n_classes:
        raise InputError(
            f"cost_matrix must have one row for each of {n_classes} classes; got {costs.shape[0]}."
        )
    return costs


def expected_cost(y_prob: Any, cost_matrix: Any) -> Floats:
    """Return the expected cost of each decision for each row, if the probabilities are calibrated.

    Parameters
    ----------
    y_prob : array-like of shape (n,) or (n, n_classes)
    cost_matrix : array-like of shape (n_classes, n_decisions)
        Cost of each decision (column) if each class (row) is the true one. Decisions need not be
        classes; one may be to defer to an expert. With two classes: ``[[cost_tn, cost_fp],
        [cost_fn, cost_tp]]``.

    Returns
    -------
    ndarray of shape (n, n_decisions)

    Examples
    --------
    >>> from trueodds.decisions import expected_cost
    >>> expected_cost([0.2, 0.9], [[0, 1], [9, 0]]).round(6)
    array([[1.8, 0.8],
           [8.1, 0.1]])
    """
    prob = _probabilities(y_prob)
    return _expected(prob, _costs(cost_matrix, _n_classes(prob)))


def best_decision(y_prob: Any, cost_matrix: Any) -> Labels:
    """Return the decision with the lowest expected cost for each row; of equal ones, the last.

    Parameters
    ----------
    y_prob, cost_matrix
        As in :func:`expected_cost`.

    Returns
    -------
    ndarray of shape (n,)
        Columns of ``cost_matrix``. With two classes and two decisions, 1 where p is at least
        :func:`optimal_threshold`.

    Examples
    --------
    >>> from trueodds.decisions import best_decision
    >>> best_decision([0.05, 0.2, 0.6], [[0, 5, 1], [9, 0, 1]])  # the third: ask an expert
    array([0, 2, 2])
    """
    prob = _probabilities(y_prob)
    costs = _costs(cost_matrix, _n_classes(prob))
    if costs.shape == (2, 2):
        (cost_tn, cost_fp), (cost_fn, cost_tp) = costs.tolist()
        if cost_fp > cost_tn and cost_fn > cost_tp:  # rounded sums of costs would differ at a tie
            threshold = optimal_threshold(cost_fp, cost_fn, cost_tp=cost_tp, cost_tn=cost_tn)
            return np.asarray(prob >= threshold, dtype=np.intp)
    cost = _expected(prob, costs)
    return np.asarray(cost.shape[1] - 1 - cost[:, ::-1].argmin(axis=1))


def realized_cost(
    y_true: Any,
    y_prob: Any,
    cost_matrix: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> float:
    """Return the mean cost of the best decisions by the probabilities, given the true labels.

    Use it to compare models, or calibrated with uncalibrated probabilities, by their cost.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_prob, cost_matrix
        As in :func:`expected_cost`.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    classes : array-like, default=None
        All labels in the order of the rows of ``cost_matrix``, if some may be absent.

    Returns
    -------
    float

    Examples
    --------
    >>> from trueodds.decisions import realized_cost
    >>> realized_cost([0, 1, 1], [0.3, 0.05, 0.8], [[0, 1], [9, 0]])  # (1 + 9 + 0) / 3
    3.3333333333333335
    """
    rows = Rows.read(
        y_prob,
        y_true,
        sample_weight,
        counts,
        scale="probability",
        classes=classes,
        words=METRIC_WORDS,
    )
    costs = _costs(cost_matrix, rows.n_classes)
    taken = best_decision(rows.scores, costs)
    return float(np.average(costs[rows.codes, taken], weights=rows.mass))


@dataclass(frozen=True, eq=False)
class CostCurve:
    """Mean cost as a function of the decision threshold.

    Attributes
    ----------
    threshold : ndarray of shape (n_points,)
        0, every distinct probability, and infinity (never act).
    cost : ndarray of shape (n_points,)
        Mean cost of acting on every row whose probability is at least the threshold.
    theoretical_threshold : float
        The best threshold if the probabilities are calibrated; see :func:`optimal_threshold`.
    theoretical_cost : float
        Its mean cost on these rows.
    empirical_threshold, empirical_cost : float
        The cheapest threshold on these rows, and its mean cost. If it is much cheaper, calibrate.

    Examples
    --------
    >>> from trueodds.decisions import cost_curve
    >>> y, p = [0, 0, 1, 1], [0.1, 0.4, 0.3, 0.8]
    >>> curve = cost_curve(y, p, cost_fp=1, cost_fn=4)
    >>> curve.theoretical_threshold, curve.theoretical_cost, curve.empirical_cost
    (0.2, 0.25, 0.25)
    """

    threshold: Floats
    cost: Floats
    theoretical_threshold: float
    theoretical_cost: float
    empirical_threshold: float
    empirical_cost: float


def cost_curve(
    y_true: Any,
    y_prob: Any,
    *,
    cost_fp: float | None = None,
    cost_fn: float | None = None,
    cost_matrix: Any = None,
    sample_weight: Any = None,
    counts: Any = None,
    pos_label: Any = None,
) -> CostCurve:
    """Compute the mean cost of every threshold on a sample of two classes.

    Parameters
    ----------
    y_true : array-like of shape (n,)
    y_prob : array-like of shape (n,) or (n, 2)
    cost_fp, cost_fn : float, default=None
        Cost of acting on a negative, and of not acting on a positive; or
    cost_matrix : array-like of shape (2, 2), default=None
        all four, as ``[[cost_tn, cost_fp], [cost_fn, cost_tp]]``.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    pos_label : label, default=None
        Positive label. Default: the last of two sorted labels. A single column of probabilities
        belongs to this class; of two columns, its own is used.

    Returns
    -------
    CostCurve

    Notes
    -----
    Several classes have no single threshold; compare :func:`realized_cost` instead.

    Examples
    --------
    >>> from trueodds.decisions import cost_curve
    >>> curve = cost_curve([0, 0, 1], [0.1, 0.4, 0.3], cost_fp=1, cost_fn=3)
    >>> curve.threshold, curve.cost.round(3)
    (array([0. , 0.1, 0.3, 0.4, inf]), array([0.667, 0.667, 0.333, 1.333, 1.   ]))
    >>> curve.theoretical_threshold, curve.empirical_threshold
    (0.25, 0.3)
    """
    if cost_matrix is None:
        if cost_fp is None or cost_fn is None:
            raise InputError("pass cost_fp and cost_fn, or cost_matrix.")
        cost_matrix = [[0.0, cost_fp], [cost_fn, 0.0]]
    elif cost_fp is not None or cost_fn is not None:
        raise InputError("pass either cost_fp and cost_fn, or cost_matrix; not both.")
    costs = _costs(cost_matrix, 2)
    if costs.shape != (2, 2):
        raise InputError("cost_matrix must have shape (2, 2) for a curve over thresholds.")
    (cost_tn, fp), (fn, cost_tp) = costs.tolist()
    best_possible = optimal_threshold(fp, fn, cost_tp=cost_tp, cost_tn=cost_tn)
    prob = validate_scores(y_prob, "probability", words=METRIC_WORDS)
    if prob.shape[1:] == (2,):  # of the sorted labels; one column is that of pos_label
        labels = encode_labels(y_true)[1].tolist()
        pos_label = labels[-1] if pos_label is None and len(labels) == 2 else pos_label
        is_first = is_label(np.array(labels[:1]), pos_label)[0]
        prob = positive_column(prob[:, ::-1] if is_first else prob, "probability")
    if prob.ndim == 2:
        raise InputError(f"y_prob must be of two classes; got {prob.shape[1]} columns.")
    table = ScoreTable.from_arrays(prob, y_true, sample_weight, pos_label, counts=counts).scaled()
    # Positives and negatives below the threshold: those on whom nobody acts.
    missed = np.concatenate([[0.0], np.cumsum(table.n_pos)])
    spared = np.concatenate([[0.0], np.cumsum(table.n_neg)])
    total = (
        fn * missed
        + cost_tp * (table.total_pos - missed)
        + cost_tn * spared
        + fp * (table.total_neg - spared)
    ) / table.total
    threshold = np.concatenate([table.score, [np.inf]])
    at_optimal = float(total[np.searchsorted(table.score, best_possible, side="left")])
    if threshold[0] > 0:
        threshold, total = np.concatenate([[0.0], threshold]), np.concatenate([total[:1], total])
    best = len(total) - 1 - int(total[::-1].argmin())
    return CostCurve(
        threshold,
        total,
        best_possible,
        at_optimal,
        float(threshold[best]),
        float(total[best]),
    )


@dataclass(frozen=True, eq=False)
class RatioCosts:
    """Costs of decisions by each method's probabilities, for every ratio of the two costs.

    Attributes
    ----------
    ratio, threshold : ndarray of shape (n_ratios,)
        Cost of the expensive mistake if the cheap one costs 1, and the resulting decision
        threshold.
    cheap, expensive : dict of str to ndarray of shape (n_ratios,)
        Shares of rows with either mistake. The mean cost is ``cheap + ratio * expensive``.
    saving : dict of str to tuple of ndarray
        Ends of the interval of the saving against the baseline.
    without_model : ndarray of shape (n_ratios,)
        Mean cost of treating every row alike.
    usual : float
        A ratio to start with; the rarer the events, the larger it is.
    """

    ratio: Floats
    threshold: Floats
    cheap: dict[str, Floats]
    expensive: dict[str, Floats]
    saving: dict[str, tuple[Floats, Floats]]
    without_model: Floats
    usual: float


def costs_by_ratio(
    codes: Labels,
    y_prob: Mapping[str, Floats],
    *,
    baseline: str,
    weights: Weights | None = None,
    level: float = 0.9,
) -> RatioCosts:
    """Compute the mean cost per row of the best decisions by each method's probabilities.

    Two classes: act where p ≥ 1/(1 + r); a false alarm costs 1 and a miss costs r. Several
    classes: answer with the most probable one where its p ≥ 1 − 1/r, otherwise defer; a deferral
    costs 1 and a wrong answer costs r. Both thresholds are optimal for calibrated probabilities.

    The saving against the baseline is paired by row; its interval is normal.
    """
    binary = y_prob[baseline].ndim == 1
    ratios = BINARY_RATIOS if binary else SEVERAL_RATIOS
    thresholds = 1 / (1 + ratios) if binary else 1 - 1 / ratios
    weight = mass_of(weights)
    share = squares = np.ones(len(codes))
    if weights is not None:
        share, squares = weights.values, weights.squares
    share, squares = share / share.sum(), squares / share.sum() ** 2
    mistakes = {
        method: [_mistakes(codes, prob, threshold) for threshold in thresholds]
        for method, prob in y_prob.items()
    }

    def shares(method: str, kind: int) -> Floats:
        if weight is None:
            return np.array([np.count_nonzero(m[kind]) / len(codes) for m in mistakes[method]])
        return np.array([weight @ m[kind] / weight.sum() for m in mistakes[method]])

    if binary:
        positive = float(np.average(codes == 1, weights=weight))
        without = np.minimum(1 - positive, ratios * positive)
        usual = float(np.clip(round((1 - positive) / positive), 1, 100))
    else:
        wrong = float(np.average(y_prob[baseline].argmax(axis=1) != codes, weights=weight))
        without, usual = np.minimum(1.0, ratios * wrong), 10.0
    return RatioCosts(
        ratio=ratios,
        threshold=thresholds,
        cheap={method: shares(method, 0) for method in y_prob},
        expensive={method: shares(method, 1) for method in y_prob},
        saving={
            method: _saving(mistakes[baseline], mistakes[method], ratios, (share, squares), level)
            for method in y_prob
        },
        without_model=without,
        usual=usual,
    )


_Mistakes = tuple[npt.NDArray[np.bool_], npt.NDArray[np.bool_]]


def _mistakes(codes: Labels, prob: Floats, threshold: float) -> _Mistakes:
    """Return the rows with the cheap mistake, and those with the expensive one."""
    if prob.ndim == 1:
        act, positive = prob >= threshold, codes == 1
        return act & ~positive, ~act & positive
    top = prob.argmax(axis=1)
    answer = np.take_along_axis(prob, top[:, None], axis=1).ravel() >= threshold
    return ~answer, answer & (top != codes)


def _saving(
    before: list[_Mistakes],
    after: list[_Mistakes],
    ratios: Floats,
    shares: tuple[Floats, Floats],
    level: float,
) -> tuple[Floats, Floats]:
    """Return the interval of cost before − cost after, paired by row.

    ``shares`` are the weights of the rows in a mean and in its variance. Where few decisions
    changed, their number is uncertain by more than itself: half a row of every kind of change is
    added to the variance (Agresti and Min).
    """
    z = float(ndtri((1 + level) / 2))
    share, squares = shares
    concentration = float(squares.sum())
    low, high = np.empty(len(ratios)), np.empty(len(ratios))
    for i, ratio in enumerate(ratios):
        (cheap_a, dear_a), (cheap_b, dear_b) = before[i], after[i]
        changed = np.flatnonzero((cheap_a != cheap_b) | (dear_a != dear_b))
        difference = (
            cheap_a[changed].astype(np.float64)
            - cheap_b[changed]
            + ratio * (dear_a[changed].astype(np.float64) - dear_b[changed])
        )
        mean = float(share[changed] @ difference)
        # Σ w²·(d − mean)² with d = 0 on the rows that did not change.
        square = float(squares[changed] @ (difference**2 - 2 * mean * difference))
        square += mean**2 * concentration
        if before is not after:
            square += (1 + ratio**2) * concentration**2
        half = z * np.sqrt(max(square, 0.0))
        low[i], high[i] = mean - half, mean + half
    return low, high
