"""Bayesian isotonic calibration."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from trueodds.calibrators import PosteriorCalibrator
from trueodds.calibrators._bayesian_isotonic.posterior import (
    IsotonicPosterior,
    chain_posterior,
    importance_posterior,
)
from trueodds.exceptions import DegenerateWeightsWarning, PoorMixingWarning, warn_user
from trueodds.inputs import (
    as_seed,
    check_choice,
    check_integer,
    check_jobs,
    check_number,
    is_choice,
)
from trueodds.maps import CalibrationMap, PiecewiseLinearMap
from trueodds.rows import Rows

__all__ = ["BayesianIsotonicCalibrator"]

HIGHEST_R_HAT = 1.05
"""Split-R̂ of chains above which a warning is given."""


"""Result of a fit."""


@dataclass(kw_only=True, eq=False, repr=False)
class BayesianIsotonicCalibrator(PosteriorCalibrator):
    """Posterior mean over all non-decreasing maps.

    Use it if the map must be monotone and its shape is unknown, from a hundred rows to millions. It
    finds any increasing shape, as isotonic regression does, but is smooth and not overconfident:
    never exactly 0 or 1, no ties. It also returns a credible band.

    Parameters
    ----------
    sampler : {"mcmc", "importance"}, default="mcmc"
        ``"mcmc"``: Markov chains on grouped ranks, for any number of rows. ``"importance"``: the
        paper's algorithm, for comparison; it degrades with more than a few hundred rows.
    n_groups : int, "auto" or None, default="auto"
        Number of groups of ranks that share a value (``"mcmc"``). ``"auto"``: 7·N^(1/4), from 30 to
        200. None: one group per distinct score, as in the paper; slower, and rougher with many.
        Half of the chains have groups shifted by half a group, and the map has the knots of both.
    min_effective_size : float, default=400
        Precision at which the chains stop: at every knot the mean of the map is as precise as that
        of this many independent draws. With 400, the error is a twentieth of the posterior standard
        deviation.
    max_draws : int, default=20000
        Largest length of a chain.
    n_chains : int, default=4
    n_samples : int, default=10000
        Number of maps to draw (``"importance"``).
    bounds : {"auto", "authors", "paper", None}, default="auto"
        Limits within which maps are drawn: as in the authors' program, as in the paper, or none.
        They change the prior. ``"auto"``: none for ``"mcmc"``, which does not need them;
        ``"authors"`` for ``"importance"``, which does.
    random_state : int, Generator, RandomState or None, default=0
        Seed of the chains. The result does not depend on ``n_jobs``. None makes each fit different.
    n_jobs : int, default=None
        Number of threads; None means 1 unless in a ``joblib.parallel_config``, −1 means all.
    progress : bool, default=None
        Whether to show progress on stderr; None shows it on a terminal, after two seconds.
    scale : {"probability", "logit", "raw"}, default="probability"
        Scale of the scores. The fit depends on their order alone; interpolation uses the given
        scale.
    label_smoothing : {"platt", None} or float, default=None
        Platt's correction of the labels; unnecessary here.

    Attributes
    ----------
    map_ : PiecewiseLinearMap
        The posterior mean.
    effective_sample_size_ : float
        Number of independent draws that would be as precise as the mean, at its worst knot. With
        several classes, this and the next two are those of the worst class.
    r_hat_ : float
        Largest split-R̂ of chains on the same groups (``"mcmc"``); 1 if they agree.
    max_weight_ : float
        Weight of the heaviest map (``"importance"``).
    posterior_ : IsotonicPosterior
        Draws of the map; binary problems only.

    Notes
    -----
    The prior (the paper's section 4.2) draws a rank uniformly and its value uniformly. It then does
    the same to the left below and to the right above, until all ranks have a value.

    Deviations from the paper: Markov chains instead of weighted draws between bounds, which change
    the prior; ranks in groups, which are smaller at both ends. ``sampler="importance"`` has none
    with ``bounds="paper"``, and is the authors' program with ``bounds="authors"``. Chains with
    ``n_groups=None`` and the same bounds converge to the same mean.

    Groups whose values the data force together, as with very large weights, share a value: those
    that would differ by about 1e-5 in log-odds, or from 0 or 1 by about 1e-7. This needs an excess
    of 10⁵ positives below a boundary over what the order of the scores allows, or 10⁷ negatives (or
    positives) alone at an end. The map is then flat there, as isotonic regression is.

    Cost: one sort, and chains on at most 201 groups, for any N and any weights.

    References
    ----------
    Allikivi and Kull (2019), Non-parametric Bayesian isotonic calibration: fighting
    over-confidence in binary classification, ECML PKDD.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds import BayesianIsotonicCalibrator
    >>> rng = np.random.default_rng(0)
    >>> scores = rng.random(1000)
    >>> y = rng.random(1000) < scores**2
    >>> calibrator = BayesianIsotonicCalibrator().fit(scores, y)
    >>> calibrator.predict_proba([0.1, 0.5, 0.8])[:, 1].round(1)
    array([0. , 0.3, 0.6])
    >>> low, high = calibrator.predict_interval([0.1, 0.5, 0.8], level=0.9)
    >>> low.round(1), high.round(1)
    (array([0. , 0.2, 0.5]), array([0. , 0.3, 0.7]))
    """

    posterior_: IsotonicPosterior = field(init=False)
    effective_sample_size_: float = field(init=False)
    r_hat_: float = field(init=False)
    max_weight_: float = field(init=False)

    title = "Bayesian isotonic calibration"
    label = "Bayesian isotonic"
    complexity = 130
    compared = (2, 2)

    sampler: Literal["mcmc", "importance"] = "mcmc"
    n_groups: int | Literal["auto"] | None = "auto"
    min_effective_size: float = 400
    max_draws: int = 20_000
    n_chains: int = 4
    n_samples: int = 10_000
    bounds: Literal["auto", "paper", "authors"] | None = "auto"
    random_state: Any = 0
    n_jobs: int | None = None
    progress: bool | None = None

    def _check_options(self) -> None:
        check_choice(self.sampler, ("mcmc", "importance"), "sampler")
        check_choice(self.bounds, ("auto", "paper", "authors", None), "bounds")
        if self.n_groups is not None and not is_choice(self.n_groups, "auto"):
            check_integer(self.n_groups, "n_groups", 1, '"auto", None or ')
        check_integer(self.max_draws, "max_draws", 10)
        check_integer(self.n_chains, "n_chains", 1)
        check_integer(self.n_samples, "n_samples", 1)
        check_number(self.min_effective_size, "min_effective_size", above=True)
        as_seed(self.random_state, draw=False)
        check_jobs(self.n_jobs)

    def _fit(self, rows: Rows) -> CalibrationMap:
        table = rows.table
        seed = as_seed(self.random_state)
        from joblib import effective_n_jobs  # slow to import

        n_threads = effective_n_jobs(self.n_jobs)
        bounds = self.bounds
        if bounds == "auto":
            bounds = "authors" if self.sampler == "importance" else None
        if self.sampler == "importance":
            posterior = importance_posterior(
                table,
                bounds=bounds,
                n_samples=self.n_samples,
                seed=seed,
                n_threads=n_threads,
                progress=self.progress,
            )
        else:
            posterior = chain_posterior(
                table,
                n_groups=self.n_groups,
                bounds=bounds,
                n_chains=self.n_chains,
                wanted=self.min_effective_size,
                max_draws=self.max_draws,
                seed=seed,
                n_threads=n_threads,
                progress=self.progress,
            )
        self._report(posterior)
        return PiecewiseLinearMap(x=posterior.score, y=posterior.mean, scale=self.scale)

    def _report(self, posterior: IsotonicPosterior) -> None:
        """Keep the diagnostics, and warn if they are poor."""
        size = posterior.effective_sample_size
        self.posterior_ = posterior
        self.effective_sample_size_ = size
        if posterior.max_weight is not None:
            self.max_weight_ = posterior.max_weight
            if posterior.max_weight > 0.5:  # the paper's flag, section 5.3
                warn_user(
                    f"one of the {self.n_samples} sampled maps has "
                    f"{100 * posterior.max_weight:.0f}% of the weight, so the result is almost "
                    'that map alone. Use sampler="mcmc", or raise n_samples.',
                    DegenerateWeightsWarning,
                )
        if posterior.r_hat is not None:
            self.r_hat_ = posterior.r_hat
            if size < self.min_effective_size or posterior.r_hat > HIGHEST_R_HAT:
                warn_user(
                    f"the effective sample size of the Markov chains is {size:.0f} "
                    f"(min_effective_size={self.min_effective_size:g}) and their split-R̂ is "
                    f"{posterior.r_hat:.3f} (should be below {HIGHEST_R_HAT}). Raise max_draws, "
                    "or lower n_groups.",
                    PoorMixingWarning,
                )

    def _keep_of_classes(self, fitted: list[dict[str, Any]]) -> None:
        """The diagnostics of the worst class."""
        worst = {"effective_sample_size_": min, "max_weight_": max, "r_hat_": max}
        for name, choose in worst.items():
            values = [attributes[name] for attributes in fitted if name in attributes]
            if values:
                setattr(self, name, choose(values))

    def _quantile_maps(self, shares: Sequence[float]) -> list[CalibrationMap]:
        points, ends = self.posterior_.quantiles(list(shares))
        return [PiecewiseLinearMap(x=points, y=end, scale=self.scale) for end in ends]

    def _drawn_maps(self, n_maps: int, rng: np.random.Generator) -> list[CalibrationMap]:
        """Different draws as long as there are enough of the 2000 (``"mcmc"``) that are kept."""
        posterior = self.posterior_
        rows = np.repeat(np.arange(len(posterior.draws)), posterior.repeats)
        chosen = rng.choice(rows, size=n_maps, replace=n_maps > len(rows))
        draws = np.maximum.accumulate(posterior.draws[chosen], axis=1)
        return [PiecewiseLinearMap(x=posterior.score, y=draw, scale=self.scale) for draw in draws]
