"""Net benefit: true positives minus false positives, weighted by the odds of the threshold."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    as_dense,
    as_floats,
    check_flag,
    number_text,
)
from trueodds.rows import Rows

__all__ = ["ActionShares", "Outcomes", "check_thresholds", "net_benefit", "read_outcomes"]


def net_benefit(
    y_true: Any,
    y_prob: Any,
    threshold: Any,
    *,
    standardized: bool = False,
    sample_weight: Any = None,
    counts: Any = None,
    classes: Any = None,
) -> Any:
    """Compute the net benefit of acting on probabilities; larger is better.

    You act where p ≥ threshold. The threshold t implies that one true positive is worth (1 − t)/t
    false positives, so the net benefit is TP/n − FP/n · t/(1 − t). Treating nobody has net
    benefit 0. The unit is true positives per row.

    Parameters
    ----------
    y_true, y_prob
        Labels of two classes, and probabilities of the positive one (the last label) or of both.
    threshold : float or array-like
        In [0, 1).
    standardized : bool, default=False
        Divide by the frequency of events, so that the maximum is 1.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    classes : array-like, default=None
        Both labels, the event last; needed if one may be absent.

    Returns
    -------
    float or ndarray
        Same shape as ``threshold``. The standardized one is NaN if there are no events.

    See Also
    --------
    decision_curve : For many thresholds and models, with intervals.

    References
    ----------
    Vickers and Elkin (2006), Decision curve analysis: a novel method for evaluating prediction
    models.

    Examples
    --------
    >>> from trueodds.decisions import net_benefit
    >>> net_benefit([0, 0, 1, 1], [0.1, 0.6, 0.2, 0.9], 0.5)  # (1 − 1 · 0.5/0.5) / 4
    0.0
    >>> net_benefit([0, 0, 1, 1], [0.1, 0.6, 0.2, 0.9], [0.2, 0.8]).round(4)
    array([0.4375, 0.25  ])
    """
    outcomes = read_outcomes(y_true, y_prob, sample_weight, counts, classes)
    places = check_thresholds(threshold)
    check_flag(standardized, "standardized")
    shares = outcomes.at(places)
    found = shares.net_benefit
    if standardized:
        found = found / outcomes.prevalence if outcomes.prevalence else np.full(len(found), np.nan)
    given = as_dense(threshold, "threshold").shape
    return found.reshape(given) if given else float(found[0])


def check_thresholds(threshold: Any) -> Floats:
    """Return thresholds as a flat array, each in [0, 1)."""
    places = np.atleast_1d(as_floats(threshold, "threshold")).ravel()
    bad = ~((places >= 0) & (places < 1))
    if bad.any():
        raise InputError(
            f"threshold must satisfy 0 <= threshold < 1; got {number_text(places[bad][0], 0, 1)}."
        )
    return places


@dataclass(frozen=True, eq=False)
class Outcomes:
    """Rows in order of probability, with cumulative weights of both classes.

    ``below[k]`` is the share of class k (0: no event) among the rows before each place, and
    ``squares[k]`` the same sum of squared shares, from which variances are made. ``n_rows`` is
    the number of rows, repetitions included.
    """

    prob: Floats
    below: Floats
    squares: Floats
    n_rows: int

    @property
    def prevalence(self) -> float:
        """Return the share of events."""
        return float(self.below[1, -1])

    def at(self, threshold: Floats) -> ActionShares:
        """Outcomes at some thresholds."""
        place = np.searchsorted(self.prob, threshold, side="left")
        spared, total = self.below[:, place], self.below[:, -1:]
        spared_squares = self.squares[:, place]
        return ActionShares(
            threshold,
            np.stack([spared, total - spared]),
            np.stack([spared_squares, self.squares[:, -1:] - spared_squares]),
        )


@dataclass(frozen=True, eq=False)
class ActionShares:
    """Shares of rows by action (0: spared, 1: acted on) and event, and sums of squared shares."""

    threshold: Floats
    share: Floats
    squares: Floats

    @property
    def odds(self) -> Floats:
        """Odds of the threshold: the weight of a false positive."""
        return np.asarray(self.threshold / (1 - self.threshold))

    @property
    def net_benefit(self) -> Floats:
        """Net benefit of acting at or above the threshold."""
        return np.asarray(self.share[1, 1] - self.odds * self.share[1, 0])

    def error(self, gain: npt.NDArray[Any]) -> Floats:
        """Standard error of the mean of a gain that depends on action and event alone.

        ``gain`` has shape (2, 2, n_thresholds), as the shares.
        """
        mean = (self.share * gain).sum(axis=(0, 1))
        return np.asarray(np.sqrt((self.squares * (gain - mean) ** 2).sum(axis=(0, 1))))


def read_outcomes(
    y_true: Any, y_prob: Any, sample_weight: Any, counts: Any, classes: Any
) -> Outcomes:
    """Validate rows of two classes and sort them."""
    rows = Rows.read(
        y_prob,
        y_true,
        sample_weight,
        counts,
        scale="probability",
        classes=classes,
        words=METRIC_WORDS,
    ).of_positive_weight()
    if rows.scores.ndim != 1:
        raise InputError(
            f"net benefit needs two classes; y_prob has {rows.scores.shape[1]} columns. Evaluate "
            "one class against the rest: (y_true == label, y_prob[:, k])."
        )
    order = np.argsort(rows.scores, kind="stable")
    share = np.full(len(rows), 1 / len(rows))
    squared, n_rows = share**2, len(rows)
    if rows.weight is not None:
        share = rows.weight.values[order] / rows.total
        squared = rows.weight.squares[order] / rows.total**2
        n_rows = int(rows.weight.row_counts.sum())
    event = rows.codes[order] == 1
    below, squares = (
        np.pad(
            np.cumsum([np.where(event, 0.0, v), np.where(event, v, 0.0)], axis=1), ((0, 0), (1, 0))
        )
        for v in (share, squared)
    )
    return Outcomes(rows.scores[order], below, squares, n_rows)
