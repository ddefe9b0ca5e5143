"""ENIR: the near-isotonic path, and the ensemble of all regressions on it."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from trueodds.calibrators import Calibrator
from trueodds.exceptions import InputError
from trueodds.inputs import Floats, check_choice, is_choice
from trueodds.kernels.isotonic import near_isotonic_merges
from trueodds.maps import CalibrationMap, PiecewiseLinearMap
from trueodds.numerics.log_odds import sigmoid
from trueodds.rows import Rows
from trueodds.table import ScoreTable

__all__ = ["ENIRCalibrator", "NearIsotonicPath", "near_isotonic_path"]

Integers = npt.NDArray[np.int64]
NEVER = np.iinfo(np.int64).max

NEGLIGIBLE_NATS = 37.0
"""A model this many nats below the best has a weight of 0 next to 1 in float64."""

BOUND_SLACK = 1e-12
"""Relative rounding error granted to the bound on a model's score."""

CHUNK_PAIRS = 1 << 20  # pairs of a bin and a model that are scored at a time

Criterion = Literal["bic", "aic", "aicc"]


@dataclass(frozen=True, eq=False, repr=False)
class NearIsotonicPath:
    """All solutions of near-isotonic regression, for every λ ≥ 0.

    Returned by :func:`near_isotonic_path`. Bins are runs of rows that share one value. With growing
    λ they merge and never split, so the path is a forest: each merge joins two neighboring bins.

    Parameters
    ----------
    table : ScoreTable
        The rows; λ is measured in units of their weights.
    violates : bool ndarray of shape (n_rows + 1,)
        Whether the row before a boundary has the higher frequency. Boundary i lies before row i.
    merge_boundary : ndarray of shape (n_merges,)
        The boundary that each merge removes, in the order of λ.
    merge_start, merge_stop : ndarray of shape (n_merges,)
        The rows start, …, stop − 1 of the bin that the merge makes.
    merge_lambda : ndarray of shape (n_merges,)
        Non-decreasing; merges of one breakpoint have exactly the same λ.
    merge_n_pos, merge_weight : ndarray of shape (n_merges,)
        Weight of the positives, and of all rows, in the bin that the merge makes.
    """

    table: ScoreTable
    violates: npt.NDArray[np.bool_]
    merge_boundary: Integers
    merge_start: Integers
    merge_stop: Integers
    merge_lambda: Floats
    merge_n_pos: Floats
    merge_weight: Floats

    def __repr__(self) -> str:
        return (
            f"NearIsotonicPath({len(self.table)} rows, {len(self.lambdas)} breakpoints, "
            f"{self.n_bins[0]} to {self.n_bins[-1]} bins)"
        )

    @cached_property
    def lambdas(self) -> Floats:
        """The breakpoints, increasing: 0, then every λ at which bins merge."""
        later = self.merge_lambda[self.merge_lambda > 0]
        new = np.ones(len(later), dtype=bool)
        np.not_equal(later[1:], later[:-1], out=new[1:])
        return np.concatenate([[0.0], later[new]])

    @cached_property
    def merges_done(self) -> Integers:
        """Number of merges up to each breakpoint, those at the breakpoint included."""
        return np.searchsorted(self.merge_lambda, self.lambdas, side="right").astype(np.int64)

    @property
    def n_bins(self) -> Integers:
        """Number of bins at each breakpoint (and up to the next)."""
        return len(self.table) - self.merges_done

    @cached_property
    def removed_by(self) -> Integers:
        """Index of the merge that removes each boundary; the largest integer if none does."""
        removed = np.full(len(self.table) + 1, NEVER)
        removed[self.merge_boundary] = np.arange(len(self.merge_boundary))
        return removed

    def starts_at(self, lam: float) -> Integers:
        """The first row of every bin at λ."""
        if not lam >= 0:
            raise InputError(f"λ must not be negative; got {lam!r}.")
        return self.starts_after(int(np.searchsorted(self.merge_lambda, lam, side="right")))

    def starts_after(self, n_merges: int) -> Integers:
        """First row of every bin after this many merges."""
        return np.flatnonzero(self.removed_by[:-1] >= n_merges)

    def slopes(self, starts: Integers, stops: Integers) -> Floats:
        """W·∂p/∂λ of bins (equation 7): +1 if pushed up from below, −1 if down from above."""
        return self.violates[starts].astype(np.float64) - self.violates[stops]

    def at(self, lam: float) -> Floats:
        """The solution at λ, linear between breakpoints.

        Parameters
        ----------
        lam : float
            Penalty, at least 0; ``inf`` gives isotonic regression.

        Returns
        -------
        ndarray of shape (n_rows,)
            The value of every row of the table.
        """
        starts = self.starts_at(lam)
        # Beyond the last breakpoint nothing moves; this also keeps 0·inf out.
        lam = min(float(lam), float(self.lambdas[-1]))
        stops = np.append(starts[1:], len(self.table))
        n_pos = np.add.reduceat(self.table.n_pos, starts)
        weight = np.add.reduceat(self.table.weight, starts)
        values = (n_pos + lam * self.slopes(starts, stops)) / weight
        return np.repeat(np.clip(values, 0.0, 1.0), stops - starts)


def near_isotonic_path(table: Any) -> NearIsotonicPath:
    """Minimize 0.5·Σ w·(p − z)² + λ·Σ max(0, p_i − p_(i+1)) for every λ ≥ 0 at once.

    z is the frequency of positives at each score and w the weight there. At λ = 0 the solution is
    z itself, at the last breakpoint it is isotonic regression; between breakpoints it is linear.

    Parameters
    ----------
    table : ScoreTable

    Returns
    -------
    NearIsotonicPath

    Notes
    -----
    Two neighbors count as equal when their values differ by less than 1e-13 of their size. Weights
    that are whole numbers need no tolerance: all sums and products are then exact up to 2⁵³. Cost:
    O(n log n) time and O(n) memory for n rows; a million rows take about three times as long as
    sorting them.

    References
    ----------
    Tibshirani, Hoefling and Tibshirani (2011), Nearly-isotonic regression, Technometrics 53.
    Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, ICDM, equations 3 to 9 and algorithm 1.

    Examples
    --------
    >>> from trueodds import ScoreTable
    >>> from trueodds.calibrators import near_isotonic_path
    >>> path = near_isotonic_path(ScoreTable.from_arrays([0.1, 0.2, 0.3, 0.4], [0, 1, 0, 1]))
    >>> path
    NearIsotonicPath(4 rows, 2 breakpoints, 4 to 3 bins)
    >>> path.lambdas, path.n_bins
    (array([0. , 0.5]), array([4, 3]))
    >>> path.at(0.25)
    array([0.  , 0.75, 0.25, 1.  ])
    """
    if not isinstance(table, ScoreTable):
        raise InputError(
            f"table must be a ScoreTable; got {type(table).__name__}. Make one with "
            "ScoreTable.from_arrays(scores, y)."
        )
    merges = near_isotonic_merges(table.n_pos, table.weight)
    return NearIsotonicPath(table, *merges)


@dataclass(kw_only=True, eq=False, repr=False)
class ENIRCalibrator(Calibrator):
    """Weighted average of all near-isotonic regressions, from no smoothing to isotonic (ENIR).

    Use it if the ranking of the scores is mostly, but not everywhere, right: the average includes
    isotonic regression and departs from it where the data contradict the order. Like isotonic
    regression it needs a thousand rows or more. The map need not be monotone.

    Parameters
    ----------
    criterion : {"bic", "aic", "aicc"}, default="bic"
        Criterion that weights the models: −2·ln L plus a penalty for k bins. ``"bic"``: k·ln N, as
        in the paper. ``"aic"``: 2·k, which keeps more bins. ``"aicc"``: 2·k·N/(N − k − 1), its
        correction for small samples.
    smoothing : {"authors", None}, default="authors"
        Whether the value of each bin is pulled towards its mean score with a weight of at most one
        row, as in the authors' program. This keeps it away from 0 and 1. The paper does not smooth.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. Their order decides the models, and interpolation uses the given scale.
        Where a probability is needed (``smoothing``), log-odds and decision values pass through the
        logistic function (the paper's footnote 2).

    Attributes
    ----------
    map_ : PiecewiseLinearMap
        The whole ensemble as one function.
    path_ : NearIsotonicPath
        Every model, with the table it was fitted to. This and the next three exist for binary
        problems only.
    lambdas_ : ndarray of shape (n_models,)
        λ of each model.
    n_bins_ : ndarray of shape (n_models,)
        Number of bins of each model.
    weights_ : ndarray of shape (n_models,)
        Weight of each model. Weights sum to 1; those below 1e-16 of the largest are 0.

    Notes
    -----
    There is one model at each breakpoint of the path. The one at λ = 0 is left out unless it is the
    only one, which happens if the frequencies never decrease (separable or constant scores): it
    then is isotonic regression.

    The average costs no more than one model. Between breakpoints the value of a bin is linear in λ,
    so its weighted sum over all models that contain the bin is a difference of cumulative sums of
    the weights w and of w·λ. Few models need to be scored: the likelihood of the bins' own
    frequencies bounds the score of a model from above and changes at merges only. The likelihood
    decreases along the path, so every scored model also bounds those after it. Models that must be
    37 nats below the best are left out, because their weight is 0 in float64.

    Cost: O(n log n) time and O(n) memory for n distinct scores.

    Deviations from the authors' program: BIC is the paper's, and all breakpoints are kept
    (``trueodds_studies.papers.enir.AuthorsENIR`` has the program's); values are not rounded to 6
    decimals; smoothed labels enter the likelihood unchanged.

    References
    ----------
    Naeini and Cooper (2016), Binary classifier calibration using an ensemble of near isotonic
    regression models, ICDM.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import ENIRCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(2000)
    >>> y = rng.random(2000) < 4 * (scores - 0.5) ** 2  # high at both ends
    >>> ENIRCalibrator().fit(scores, y).predict_proba([0.02, 0.5, 0.98])[:, 1].round(2)
    array([0.84, 0.04, 0.98])
    """

    path_: NearIsotonicPath = field(init=False)
    lambdas_: Floats = field(init=False)
    n_bins_: Integers = field(init=False)
    weights_: Floats = field(init=False)

    title = "ENIR calibration"
    label = "ENIR"
    complexity = 110
    compared = (2, 20)
    is_monotone = False

    moved: ClassVar[dict[str, str]] = {"max_models": "trueodds_studies.papers.enir.AuthorsENIR"}

    criterion: Criterion = "bic"
    smoothing: Literal["authors"] | None = "authors"

    def _check_options(self) -> None:
        if is_choice(self.criterion, "bic-authors"):
            raise InputError(
                "the criterion of the authors' program is in trueodds-studies: see "
                "trueodds_studies.papers.enir.AuthorsENIR."
            )
        check_choice(self.criterion, get_args(Criterion), "criterion")
        check_choice(self.smoothing, ("authors", None), "smoothing")

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        path = near_isotonic_path(table)
        models = self._models(path)
        cost = self._cost(path.n_bins[models], table.total)
        scores = model_scores(path, models, cost)
        weights = np.exp(scores - scores.max())
        weights /= weights.sum()
        self.path_, self.weights_ = path, weights
        self.lambdas_, self.n_bins_ = path.lambdas[models], path.n_bins[models]

        prior: Floats | None = None
        if self.smoothing == "authors":
            prior = table.score if self.scale == "probability" else sigmoid(table.score)
        kept = np.flatnonzero(weights)
        starts, values = _average(path, models[kept], weights[kept], prior)
        ends = np.append(starts[1:], len(table)) - 1
        knots = np.stack([starts, ends], axis=1).ravel()
        new = np.append(True, knots[1:] > knots[:-1])
        return PiecewiseLinearMap(
            x=table.score[knots[new]], y=np.repeat(values, 2)[new], scale=self.scale
        )

    def _models(self, path: NearIsotonicPath) -> Integers:
        """Breakpoints that are models: all but λ = 0, unless it is the only one."""
        return np.arange(min(1, len(path.lambdas) - 1), len(path.lambdas))

    def _cost(self, n_bins: Integers, total: float) -> Floats:
        """Half the penalty of models with these numbers of bins."""
        k: Floats = n_bins.astype(np.float64)
        if self.criterion == "bic":
            k *= math.log(total) / 2
        elif self.criterion == "aicc":
            k *= total / np.maximum(total - k - 1, 0.5)  # finite if there are as many bins as rows
        return k


@dataclass(frozen=True)
class _PathBins:
    """Every bin that occurs in some of the models, and the models that contain it.

    A bin exists in the models birth, …, death − 1, which index the list of models. Its value in
    model t is (n_pos + slope·λ_t)/weight (equation 6).
    """

    start: Integers
    stop: Integers
    n_pos: Floats
    weight: Floats
    slope: Floats
    birth: Integers
    death: Integers

    @classmethod
    def of_models(cls, path: NearIsotonicPath, models: Integers) -> _PathBins:
        done = path.merges_done[models]
        first, last = int(done[0]), int(done[-1])
        starts = path.starts_after(first)
        merges = slice(first, last)
        start = np.concatenate([starts, path.merge_start[merges]])
        stop = np.concatenate([starts[1:], [len(path.table)], path.merge_stop[merges]])
        n_pos = np.concatenate(
            [np.add.reduceat(path.table.n_pos, starts), path.merge_n_pos[merges]]
        )
        weight = np.concatenate(
            [np.add.reduceat(path.table.weight, starts), path.merge_weight[merges]]
        )
        made = np.concatenate([np.full(len(starts), first), np.arange(first, last) + 1])
        gone = np.minimum(path.removed_by[start], path.removed_by[stop])
        gone = np.minimum(gone, last) + 1
        # The first model that has seen so many merges, by a table: faster than a search for each.
        model_after = np.searchsorted(done, np.arange(first, last + 2))
        birth, death = model_after[made - first], model_after[gone - first]
        lives = death > birth  # not so if it is merged again at the breakpoint that made it
        start, stop = start[lives], stop[lives]
        return cls(
            start,
            stop,
            n_pos[lives],
            weight[lives],
            path.slopes(start, stop),
            birth[lives],
            death[lives],
        )

    def take(self, chosen: Any) -> _PathBins:
        return _PathBins(*(getattr(self, name)[chosen] for name in self.__dataclass_fields__))

    def log_likelihood(self, probability: Floats) -> Floats:
        n_neg = np.maximum(self.weight - self.n_pos, 0.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            positive, negative = self.n_pos * np.log(probability), n_neg * np.log1p(-probability)
        # 0·ln 0 = 0.
        return np.where(self.n_pos > 0, positive, 0.0) + np.where(n_neg > 0, negative, 0.0)

    def sum_per_model(self, values: Floats, n_models: int) -> Floats:
        """Add up one number per bin over the bins of each model."""
        added = np.bincount(self.birth, values, n_models + 1)
        removed = np.bincount(self.death, values, n_models + 1)
        # Long sums in extended precision where the machine has it.
        return np.cumsum(added - removed, dtype=np.longdouble)[:n_models].astype(np.float64)


def model_scores(path: NearIsotonicPath, models: Integers, cost: Floats) -> Floats:
    """−BIC/2, or another criterion, of each model: ln L − cost; −inf for models that cannot matter.

    Parameters
    ----------
    path : NearIsotonicPath
    models : ndarray of shape (n_models,)
        Increasing indices of breakpoints.
    cost : ndarray of shape (n_models,)
        Smoothing of each model's bins; the fewer they are, the smaller.
    """
    last = len(models) - 1
    best = float(_log_likelihoods(path, models[[last]])[0] - cost[last])
    # ln L ≤ 0: models of very many bins are out at once, and with them most of the path.
    first = int(np.argmax(-cost >= best - NEGLIGIBLE_NATS))
    kept, cost = models[first:], cost[first:]
    bins = _PathBins.of_models(path, kept)
    bound = bins.sum_per_model(bins.log_likelihood(bins.n_pos / bins.weight), len(kept))
    slack = BOUND_SLACK * float(np.abs(bound).max())

    # A bin's value moves away from its frequency as λ grows, and merging changes no value: so
    # ln L falls along the path, and what was scored also bounds all that comes after it.
    likelihood = np.full(len(kept), np.inf)
    scored = np.zeros(len(kept), dtype=bool)
    chosen = np.array([np.argmax(bound - cost)])
    batch = 32
    while len(chosen):
        likelihood[chosen] = _log_likelihoods(path, kept[chosen])
        scored[chosen] = True
        best = max(best, float((likelihood - cost)[scored].max()))
        passed = np.minimum.accumulate(likelihood)
        hopeful = np.minimum(bound, passed) + slack - cost >= best - NEGLIGIBLE_NATS
        chosen = np.flatnonzero(hopeful & ~scored)
        if len(chosen) > batch:  # spread over the path, to bound as many of the others as can be
            chosen = chosen[:: -(-len(chosen) // batch)]
        batch *= 2
    scores = np.where(scored, likelihood - cost, -np.inf)
    scores[scores < best - NEGLIGIBLE_NATS] = -np.inf
    return np.concatenate([np.full(first, -np.inf), scores])


def _log_likelihoods(path: NearIsotonicPath, models: Integers) -> Floats:
    """Return the log-likelihood of each model: constant bins once, changing bins at every λ."""
    bins = _PathBins.of_models(path, models)
    moves = bins.slope != 0
    rest = bins.take(~moves)
    total = rest.sum_per_model(rest.log_likelihood(rest.n_pos / rest.weight), len(models))
    moving = bins.take(moves)
    lambdas = path.lambdas[models]
    lives = moving.death - moving.birth
    chunk_of = np.cumsum(lives) // CHUNK_PAIRS
    cuts = np.append(np.flatnonzero(np.append(True, chunk_of[1:] > chunk_of[:-1])), len(lives))
    for begin, end in pairwise(cuts):
        part, life = moving.take(slice(begin, end)), lives[begin:end]
        each = part.take(np.repeat(np.arange(end - begin), life))
        age = np.arange(len(each.birth)) - np.repeat(np.cumsum(life) - life, life)
        model = each.birth + age
        values = (each.n_pos + each.slope * lambdas[model]) / each.weight
        total += np.bincount(
            model, each.log_likelihood(np.clip(values, 0.0, 1.0)), minlength=len(models)
        )
    return total


def _average(
    path: NearIsotonicPath, models: Integers, weights: Floats, prior: Floats | None
) -> tuple[Integers, Floats]:
    """The weighted sum of the models, constant on the bins of the first of them.

    Returns
    -------
    starts : ndarray
        First row of each bin.
    values : ndarray
    """
    bins = _PathBins.of_models(path, models)
    starts = path.starts_after(int(path.merges_done[models[0]]))
    begin, end = np.searchsorted(starts, bins.start), np.searchsorted(starts, bins.stop)
    # Over the models of a bin's life, Σ w·(n_pos + slope·λ) = n_pos·Σ w + slope·Σ w·λ.
    cumulated = np.append(0.0, np.cumsum(weights))
    cumulated_lambda = np.append(0.0, np.cumsum(weights * path.lambdas[models]))
    share = cumulated[bins.death] - cumulated[bins.birth]
    lam = cumulated_lambda[bins.death] - cumulated_lambda[bins.birth]
    n_pos, weight = bins.n_pos, bins.weight
    if prior is not None:
        # (p·n + e·(1 − c))/(n + 1 − c), with c = |o − e| (the authors' program).
        mass = np.add.reduceat(prior * path.table.weight, starts)
        sums = np.append(0.0, np.cumsum(mass, dtype=np.longdouble))
        mean = (sums[end] - sums[begin]).astype(np.float64) / weight
        extra = 1 - np.abs(n_pos / weight - mean)
        n_pos, weight = n_pos + mean * extra, weight + extra
    parts = (n_pos * share + bins.slope * lam) / weight
    change = np.bincount(begin, parts, len(starts) + 1) - np.bincount(end, parts, len(starts) + 1)
    return starts, np.clip(np.cumsum(change[:-1]), 0.0, 1.0)
