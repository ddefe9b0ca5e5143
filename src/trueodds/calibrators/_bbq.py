"""BBQ: Bayesian binning into quantiles."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from trueodds.calibrators import Calibrator
from trueodds.estimator import fact
from trueodds.inputs import Floats, InputScale, Labels, check_choice
from trueodds.kernels.binnings import log_gamma, log_gammas
from trueodds.maps import CalibrationMap, StepMap
from trueodds.numerics.binning import edges_between
from trueodds.numerics.log_odds import sigmoid
from trueodds.rows import Rows

__all__ = ["BBQCalibrator"]

EQUIVALENT_SAMPLE = 2.0
"""C, the weight of a bin's prior in rows."""

PRIOR_LIMIT = 0.005
"""Smallest distance between the prior mean of a bin, which is its midpoint, and 0 or 1."""

ELBOW = 0.001
"""Models are kept while the weight drops by more than this, in units of the weights' variance."""

INSTANCES_PER_SCORE = 1000.0
"""Average weight per distinct score above which no further bins are needed."""


@dataclass(kw_only=True, eq=False, repr=False)
class BBQCalibrator(Calibrator):
    """Average of equal-frequency histograms, weighted by their marginal likelihood (BBQ).

    Use it as a histogram whose number of bins need not be chosen. The map is constant between edges
    and need not be monotone.

    Parameters
    ----------
    average : {"elbow", "all", "best"}, default="elbow"
        Histograms that are averaged. ``"elbow"`` keeps the best ones until the next weight is no
        longer clearly lower (the default of the authors' program), ``"all"`` keeps all, and
        ``"best"`` keeps one.
    ties : {"whole", "share", "input"}, default="whole"
        Treatment of rows with equal scores when an edge falls among them. ``"whole"`` keeps them
        together and moves the edge to the nearer end. ``"share"`` cuts them and gives each side the
        same frequency of positives. ``"input"`` cuts them in the order given, as in the authors'
        program, so the result depends on that order. Without ties all three agree.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Log-odds and decision values pass through the logistic function where a
        probability is needed; edges lie halfway between scores on the given scale.

    Attributes
    ----------
    map_ : StepMap
        The whole average as one function.
    n_bins_ : ndarray of shape (n_models,)
        Number of bins of each histogram. This and the next two exist for binary problems only.
    scores_ : ndarray of shape (n_models,)
        −2·ln of its marginal likelihood; smaller is better.
    weights_ : ndarray of shape (n_models,)
        Its weight in the average. Weights sum to 1; histograms that are not averaged have weight 0.

    Notes
    -----
    For N rows there are histograms of max(1, ⌊N^(1/3)/10⌋) to min(⌈N/5⌉, ⌈10·N^(1/3)⌉) bins. Each
    has ⌊N/b⌋ rows in a bin and the rest in the last; neighboring bins that contain only the same
    score are merged. A bin with n₁ positives among n rows gives (n₁ + p₀)/(n + 1), where p₀ is the
    mean of the positives' scores and the bin's midpoint. All this follows the authors' program.

    One deviation: in the limits on the number of bins, N counts as at most 1000 for each distinct
    score. More weight on the same scores makes the frequencies more precise but leaves nothing to
    cut more finely.

    Cost: O(n log n) for n rows; about 50·N^(2/3) bins are scored, with N limited as above.

    References
    ----------
    Naeini, Cooper and Hauskrecht (2015), Obtaining well calibrated probabilities using Bayesian
    binning, AAAI.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import BBQCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> y = rng.random(2000) < 4 * (scores - 0.5) ** 2  # high at both ends
    >>> BBQCalibrator().fit(scores, y).predict_proba([0.02, 0.5, 0.98])[:, 1].round(2)
    array([0.86, 0.03, 0.88])
    """

    n_bins_: Labels = field(init=False)
    scores_: Floats = field(init=False)
    weights_: Floats = field(init=False)

    title = "BBQ calibration"
    label = "BBQ"
    complexity = 100
    is_monotone = False
    compared = (2, 2)

    average: Literal["elbow", "all", "best"] = "elbow"
    ties: Literal["whole", "share", "input"] = "whole"

    @fact
    def ignores_row_order(self) -> bool:
        """True unless ties are cut in the order of the rows."""
        return self.ties != "input"

    def _check_options(self) -> None:
        check_choice(self.average, ("elbow", "all", "best"), "average")
        check_choice(self.ties, ("whole", "share", "input"), "ties")

    def _fit(self, rows: Rows) -> CalibrationMap:
        if self.ties != "input":
            table = rows.table
            score, n_neg, n_pos = table.score, table.n_neg, table.n_pos
        else:
            order = np.argsort(rows.scores, kind="stable")
            score = rows.scores[order]
            n_neg, n_pos = (counts[order] for counts in rows.smoothed_counts())
        whole = self.ties == "whole"
        bins = _HistogramBins.of_all_models(score, n_neg, n_pos, self.scale, whole=whole)
        self.scores_ = bins.model_scores()
        self.n_bins_ = np.bincount(bins.model)
        relative = np.exp((self.scores_.min() - self.scores_) / 2)
        kept = np.argsort(-relative, kind="stable")
        if self.average == "best":
            kept = kept[:1]
        elif self.average == "elbow":
            kept = kept[: _elbow(relative[kept])]
        weights = np.zeros(len(relative))
        weights[kept] = relative[kept] / relative[kept].sum()
        self.weights_ = weights
        return bins.averaged(weights, self.scale)


def _elbow(decreasing: Floats) -> int:
    """Number of best models to keep."""
    count = len(decreasing)
    if count == 1:
        return 1
    drops = -np.diff(decreasing)
    variance = float(np.var(decreasing))
    k = 1
    while k < count and drops[k - 1] == 0:  # exact ties at the top
        k += 1
    while k < count and drops[k - 1] > ELBOW * variance:
        k += 1
    return max(k - 1, 1)


def _bin_counts(total: float, n_scores: int) -> range:
    """Numbers of bins to try for this total weight and number of distinct scores."""
    total = min(total, INSTANCES_PER_SCORE * n_scores)
    root = total ** (1 / 3)
    fewest = max(1, math.floor(root / 10))
    return range(fewest, max(fewest, min(math.ceil(total / 5), math.ceil(10 * root))) + 1)


def _nearest(grid: Floats, values: Floats) -> Floats:
    """For each value the nearest number of an increasing grid, the lower of two."""
    above = np.clip(np.searchsorted(grid, values, side="left"), 1, len(grid) - 1)
    lower, upper = grid[above - 1], grid[above]
    return np.where(values - lower <= upper - values, lower, upper)


@dataclass(frozen=True)
class _HistogramBins:
    """The bins of all histograms, one after the other."""

    model: Labels
    lower_edge: Floats  # on the given scale; unused for the first bin of a model
    midpoint: Floats  # of the edges as probabilities
    n: Floats
    n_pos: Floats
    estimate: Floats

    @classmethod
    def of_all_models(
        cls, score: Floats, n_neg: Floats, n_pos: Floats, scale: InputScale, *, whole: bool
    ) -> _HistogramBins:
        probability = score if scale == "probability" else sigmoid(score)
        below = np.append(0.0, np.cumsum(n_neg + n_pos))  # weight below each row
        total = float(below[-1])
        # Where bins begin and end, as the weight below that point.
        counts = _bin_counts(total, 1 + int(np.count_nonzero(score[1:] > score[:-1])))
        bounds_of = [np.append(np.arange(b) * (total // b), total) for b in counts]
        bounds = np.concatenate(bounds_of)
        if whole and (_nearest(below, bounds) != bounds).any():
            moved = [np.unique(_nearest(below, each)) for each in bounds_of]
            # Moved, bounds of several models may be the same: these are one model.
            bounds_of = list({each.tobytes(): each for each in moved}.values())
            bounds = np.concatenate(bounds_of)
        model = np.repeat(np.arange(len(bounds_of)), [len(each) for each in bounds_of])
        last = len(score) - 1
        row_before = np.clip(np.searchsorted(below, bounds, side="left") - 1, 0, last)
        row_after = np.clip(np.searchsorted(below, bounds, side="right") - 1, 0, last)
        # A bound goes if the bins on both sides of it hold one and the same score only.
        kept = np.ones(len(bounds), dtype=bool)
        inner = (model[2:] == model[1:-1]) & (model[1:-1] == model[:-2])
        kept[1:-1] = ~inner | (score[row_after[:-2]] != score[row_before[2:]])
        bounds, model = bounds[kept], model[kept]
        row_before, row_after = row_before[kept], row_after[kept]

        edge = edges_between(score[row_before], score[row_after])
        unit_edge = (probability[row_before] + probability[row_after]) / 2
        unit_edge[bounds == 0] = 0.0
        unit_edge[bounds == total] = 1.0
        # A row that is cut by a bound gives each side the same frequency of positives.
        pos_below = np.interp(bounds, below, np.append(0.0, np.cumsum(n_pos)))
        mass = np.append(0.0, np.cumsum(n_pos * probability))
        mass_below = np.interp(bounds, below, mass)

        inside = model[1:] == model[:-1]
        n = np.diff(bounds)[inside]
        positives = np.clip(np.diff(pos_below)[inside], 0.0, n)
        midpoint = ((unit_edge[1:] + unit_edge[:-1]) / 2)[inside]
        prior = (np.diff(mass_below)[inside] + midpoint) / (positives + 1)
        estimate = np.clip((positives + prior) / (n + 1), 0.0, 1.0)
        return cls(model[1:][inside], edge[:-1][inside], midpoint, n, positives, estimate)

    def model_scores(self) -> Floats:
        """−2·ln of each histogram's marginal likelihood (BDeu)."""
        q = np.clip(self.midpoint, PRIOR_LIMIT, 1 - PRIOR_LIMIT)
        a, b = EQUIVALENT_SAMPLE * q, EQUIVALENT_SAMPLE * (1 - q)
        log_evidence = log_gammas(self.n_pos + a) - log_gammas(a)
        log_evidence += log_gammas(self.n - self.n_pos + b) - log_gammas(b)
        log_evidence += log_gamma(EQUIVALENT_SAMPLE) - log_gammas(self.n + EQUIVALENT_SAMPLE)
        return np.asarray(-2 * np.bincount(self.model, log_evidence))

    def averaged(self, weights: Floats, scale: InputScale) -> StepMap:
        """The weighted sum of the histograms as one."""
        used = np.flatnonzero(weights[self.model] > 0)
        model = self.model[used]
        parts = weights[model] * self.estimate[used]
        first = np.append(True, model[1:] > model[:-1])
        # The sum changes at every edge by the weighted step there.
        steps = np.diff(parts)[~first[1:]]
        edges, where = np.unique(self.lower_edge[used][~first], return_inverse=True)
        change = np.bincount(where, steps, len(edges)).astype(np.float64)
        values = np.cumsum(np.append(parts[first].sum(), change))
        return StepMap(edges=edges, values=np.clip(values, 0.0, 1.0), scale=scale)
