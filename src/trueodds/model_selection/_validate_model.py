"""What a model that can be fitted again is worth on new rows, from the rows that made it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sklearn.base import clone
from sklearn.utils import _safe_indexing, indexable
from sklearn.utils.validation import _num_samples

from trueodds.basics.tables import Tabular
from trueodds.exceptions import InputError, UndefinedReplicatesWarning, warn_user
from trueodds.inputs import (
    Floats,
    Labels,
    as_seed,
    check_choice,
    check_integer,
    check_jobs,
    check_length,
    encode_clusters,
    encode_labels,
)
from trueodds.metrics import (
    brier_score,
    c_statistic,
    calibration_intercept,
    calibration_slope,
    integrated_calibration_index,
    observed_expected_ratio,
    scaled_brier_score,
)

__all__ = ["ModelValidation", "validate_model"]

Metric = Callable[..., float]
Figures = dict[str, float]
DEFAULT: dict[str, Metric] = {
    "observed_expected": observed_expected_ratio,
    "intercept": calibration_intercept,
    "slope": calibration_slope,
    "ici": integrated_calibration_index,
    "c_statistic": c_statistic,
    "brier_score": brier_score,
    "scaled_brier": scaled_brier_score,
}
METHODS = ("harrell", "632+", "internal_external")
PERMUTATIONS = 20
"""Permutations of the labels, which give the results of a model without information."""


@dataclass(frozen=True, eq=False)
class ModelValidation(Tabular):
    """The result of :func:`validate_model`.

    Attributes
    ----------
    method : {"harrell", "632+", "internal_external"}
    apparent : dict of str to float
        Each metric of the model on the rows that it was fitted to.
    corrected : dict of str to float
        What to expect on new rows; of internal–external validation the mean over the clusters.
    optimism : dict of str to float
        ``apparent − corrected``.
    replicates : dict of str to ndarray
        What each resample (or cluster) had: its optimism (``"harrell"``), or the metric of the rows
        that were left out. NaN where the metric is not defined.
    clusters : tuple
        The clusters, in the order of the replicates, for internal–external validation.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from trueodds.model_selection import validate_model
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> found = validate_model(GaussianNB(), X[:90, :2], y[:90], n_resamples=5, random_state=0)
    >>> found.method, sorted(found.corrected) == sorted(found.apparent)
    ('harrell', True)
    """

    method: str
    apparent: Figures
    corrected: Figures
    optimism: Figures
    replicates: dict[str, Floats]
    clusters: tuple[Any, ...]

    def rows(self) -> list[dict[str, Any]]:
        """One plain dict for each metric."""
        return [
            {
                "metric": name,
                "apparent": self.apparent[name],
                "optimism": self.optimism[name],
                "corrected": self.corrected[name],
                "spread": float(np.nanstd(values, ddof=1)) if _enough(values) else np.nan,
            }
            for name, values in self.replicates.items()
        ]

    def __str__(self) -> str:
        """A table for reading."""
        width = max(len(name) for name in self.apparent)
        lines = [f"{self.method:{width}}{'apparent':>11}{'optimism':>11}{'corrected':>11}"]
        for row in self.rows():
            numbers = "".join(f"{row[key]:11.4f}" for key in ("apparent", "optimism", "corrected"))
            lines.append(f"{row['metric']:{width}}{numbers}")
        return "\n".join(lines)


def validate_model(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    method: Literal["harrell", "632+", "internal_external"] = "harrell",
    clusters: Any = None,
    metrics: Mapping[str, Metric] | None = None,
    n_resamples: int = 200,
    random_state: Any = None,
    n_jobs: int | None = None,
) -> ModelValidation:
    """Validate a model on the rows that it is made from, corrected for its optimism.

    Everything that was learned from the rows (which features to take, a calibration) must happen
    in ``estimator.fit``, or its optimism stays in.

    Parameters
    ----------
    estimator : classifier
        With ``predict_proba``; it is cloned and fitted anew for every resample.
    X : array or frame of n rows
    y : array-like of shape (n,)
        Labels of two classes.
    method : {"harrell", "632+", "internal_external"}, default="harrell"
        ``"harrell"``: a model of each bootstrap sample is measured on the sample and on all rows,
        and the mean difference is taken off the apparent value. ``"632+"``: apparent value and the
        mean on rows that a sample left out, weighted by how much the model overfits.
        ``"internal_external"``: each cluster in turn is left out and measured; needs ``clusters``.
    clusters : array-like of shape (n,), default=None
        Hospitals, countries, years. In the bootstrap rows of a cluster are drawn together.
    metrics : dict of str to callable, default=None
        ``metric(y, p)`` → float. By default O:E, intercept, slope, ICI, C statistic, Brier score
        and scaled Brier score.
    n_resamples : int, default=200
        Bootstrap samples.
    random_state : int or Generator, default=None
        The result depends on it, but not on ``n_jobs``.
    n_jobs : int, default=None
        Threads; −1 for all.

    Returns
    -------
    ModelValidation

    References
    ----------
    Harrell, Lee and Mark (1996), Multivariable prognostic models.
    Efron and Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method.
    Steyerberg and Harrell (2016), Prediction models need appropriate internal, internal-external,
    and external validation.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from trueodds.model_selection import validate_model
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(100, 10))
    >>> y = rng.random(100) < 1 / (1 + np.exp(-X[:, 0]))
    >>> result = validate_model(LogisticRegression(C=1e6), X, y, n_resamples=50, random_state=0)
    >>> result.corrected["slope"] < 0.9 < result.apparent["slope"] < 1.1
    True
    """
    check_choice(method, METHODS, "method")
    n_resamples = check_integer(n_resamples, "n_resamples", 2)
    check_jobs(n_jobs)
    codes, classes = encode_labels(y)
    check_length(len(codes), "y", _num_samples(X), "X")
    (X,) = indexable(X)
    if len(classes) != 2:
        raise InputError(f"validate needs labels of two classes; got {len(classes)}.")
    unit, names = _units(clusters, len(codes))
    work = _Work(estimator, X, codes, np.asarray(classes), dict(metrics or DEFAULT))
    model = work.fit(np.arange(len(codes)))
    apparent = work.figures(model, np.arange(len(codes)))
    if method == "internal_external":
        if clusters is None or len(names) < 2:
            raise InputError(
                'method="internal_external" needs clusters= with at least two different clusters; '
                f"got {0 if clusters is None else len(names)}."
            )
        found = _run(work.left_out, [np.flatnonzero(unit == k) for k in range(len(names))], n_jobs)
        corrected = {name: _mean(values) for name, values in found.items()}
        shown = tuple(names.tolist())
    else:
        samples = _samples(unit, codes, n_resamples, np.random.default_rng(as_seed(random_state)))
        shown = ()
        if method == "harrell":
            found = _run(work.optimism, samples, n_jobs)
            corrected = {name: apparent[name] - _mean(found[name]) for name in found}
        else:
            found = _run(work.out_of_sample, samples, n_jobs)
            chance = work.without_knowledge(model, as_seed(random_state, draw=False))
            corrected = {
                name: _plus(apparent[name], _mean(found[name]), chance[name]) for name in found
            }
    _tell(found)
    optimism = {name: apparent[name] - corrected[name] for name in corrected}
    return ModelValidation(method, apparent, corrected, optimism, found, shown)


@dataclass(frozen=True, eq=False)
class _Work:
    """The model and the rows; each method fits one model and measures it."""

    estimator: Any
    X: Any
    codes: Labels
    classes: Any
    metrics: dict[str, Metric]

    def fit(self, rows: Labels) -> Any:
        X, y = _safe_indexing(self.X, rows), self.classes[self.codes[rows]]
        try:
            return clone(self.estimator).fit(X, y)
        except ValueError as error:  # dates as labels, for example
            raise InputError(f"the estimator cannot be fitted to these rows: {error}") from error

    def figures(self, model: Any, rows: Labels) -> Figures:
        prob = np.asarray(model.predict_proba(_safe_indexing(self.X, rows)), dtype=np.float64)
        return self.measured(self.codes[rows], np.clip(prob[:, -1], 0.0, 1.0))

    def measured(self, y: Labels, prob: Floats) -> Figures:
        found = {}
        for name, metric in self.metrics.items():
            try:
                found[name] = float(metric(y, prob))
            except ValueError:  # our InputError too: a slope of separated classes, one class only
                found[name] = np.nan
        return found

    def optimism(self, rows: Labels) -> Figures:
        model = self.fit(rows)
        own, whole = self.figures(model, rows), self.figures(model, np.arange(len(self.codes)))
        return {name: own[name] - whole[name] for name in own}

    def out_of_sample(self, rows: Labels) -> Figures:
        left = np.setdiff1d(np.arange(len(self.codes)), rows)
        return self.figures(self.fit(rows), left) if len(left) else self.measured(rows[:0], _NONE)

    def left_out(self, cluster: Labels) -> Figures:
        rest = np.setdiff1d(np.arange(len(self.codes)), cluster)
        if len(np.unique(self.codes[rest])) < 2:
            return dict.fromkeys(self.metrics, np.nan)
        return self.figures(self.fit(rest), cluster)

    def without_knowledge(self, model: Any, seed: int) -> Figures:
        """The metrics if labels had nothing to do with the features."""
        rng = np.random.default_rng(seed)
        prob = np.clip(np.asarray(model.predict_proba(self.X), dtype=np.float64)[:, -1], 0.0, 1.0)
        drawn = [self.measured(rng.permutation(self.codes), prob) for _ in range(PERMUTATIONS)]
        return {name: _mean(np.array([d[name] for d in drawn])) for name in self.metrics}


_NONE = np.empty(0)


def _run(work: Callable[[Labels], Figures], samples: list[Labels], n_jobs: int | None) -> Any:
    if n_jobs in (None, 1):
        found = [work(rows) for rows in samples]
    else:
        from joblib import Parallel, delayed

        found = Parallel(n_jobs=n_jobs, prefer="threads")(delayed(work)(rows) for rows in samples)
    return {name: np.array([each[name] for each in found]) for name in found[0]}


def _units(clusters: Any, n: int) -> tuple[Labels, Any]:
    if clusters is None:
        return np.arange(n), np.arange(n)
    unit, names = encode_clusters(clusters, n)
    return unit, names


def _samples(
    unit: Labels, codes: Labels, n_resamples: int, rng: np.random.Generator
) -> list[Labels]:
    """Rows of bootstrap samples of the units; a sample of one class is drawn again."""
    order = np.argsort(unit, kind="stable")
    size = np.bincount(unit)
    start = np.cumsum(size) - size
    samples: list[Labels] = []
    tries = 0
    while len(samples) < n_resamples:
        tries += 1
        if tries > 20 * n_resamples:
            raise InputError("nearly all bootstrap samples have one class only; too few events.")
        drawn = rng.integers(0, len(size), len(size))
        rows = np.concatenate([order[start[k] : start[k] + size[k]] for k in drawn])
        if codes[rows].min() != codes[rows].max():
            samples.append(np.sort(rows))
    return samples


def _enough(values: Floats) -> bool:
    return int(np.isfinite(values).sum()) > 1


def _mean(values: Floats) -> float:
    """Return the mean of the defined values."""
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if len(kept) else float("nan")


def _plus(apparent: float, left_out: float, chance: float) -> float:
    """Efron and Tibshirani's .632+ estimate (their equations 27 to 32), of losses and scores alike.

    Where knowing nothing is no worse, as for O:E, it is the plain .632 estimate.
    """
    if not np.isfinite([apparent, left_out, chance]).all():
        return float("nan")
    lost, most = left_out - apparent, chance - apparent
    overfit = 0.0
    if lost * most > 0:
        overfit = min(lost / most, 1.0)
        lost = overfit * most
    weight = 0.632 / (1 - 0.368 * overfit)
    return apparent + weight * lost


def _tell(found: dict[str, Floats]) -> None:
    lost = {name: int((~np.isfinite(values)).sum()) for name, values in found.items()}
    shown = ", ".join(f"{name} in {count}" for name, count in lost.items() if count)
    if shown:
        total = len(next(iter(found.values())))
        warn_user(
            f"some metrics have no finite value in some of {total} resamples or clusters "
            f"({shown}); they are left out there.",
            UndefinedReplicatesWarning,
        )
