"""Claims of the Bayesian isotonic paper outside its tables, and its open question.

Sections 4.2 and 4.3: the prior of sorted uniform numbers, the posterior mean with and without
bounds, running time. The abstract: smoothness. Section 6: bins of 1000 consecutive ranks, each with
a separate map, merged.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.special import rel_entr

from trueodds import BayesianIsotonicCalibrator
from trueodds.inputs import Floats
from trueodds.numerics.isotonic import isotonic_fit
from trueodds_studies._protocol import quietly
from trueodds_studies._study import Row
from trueodds_studies._task import Task, crossed, stable_seed
from trueodds_studies.datasets import make_beta_mixture

__all__ = ["FREE", "LARGE", "PARTS", "TIMED", "TRUE_MAPS", "extra_tasks", "run_extras"]

PARTS = ("posterior", "prior", "time", "merged")
FREE = "bayes-iso-free"
"""The authors' sampler without bounds."""
DRAWN = ["bayes-iso", "bayes-iso-text", FREE, "chains", "iso", "iso-platt"]
TRUE_MAPS: dict[str, Callable[[Floats], Floats]] = {
    "diagonal": lambda s: s,
    "rare positives": lambda s: 0.1 * s,
    "mostly positives": lambda s: 0.6 + 0.35 * s,
}
"""True probability by relative rank."""
N_PRIOR, N_SWEEPS, N_BURN = 200, 20_000, 2000
TIMED, N_MAPS = (100, 300, 1000, 3000), (1000, 10_000)
LARGE, BIN = (3000, 10_000, 30_000), 1000
N_TEST = 50_000
REPLICATES = {"quick": 2, "standard": 10, "full": 10}
LEAST_REPEATS = 3
GRID = [round(i / 100, 2) for i in range(101)]


def extra_tasks(profile: str) -> list[Task]:
    """Maps with and without bounds, two priors, times, and large samples in bins."""
    runs = range(REPLICATES[profile])
    large = LARGE[:1] if profile == "quick" else LARGE
    return [
        *crossed("posterior", n=[100, 1000], replicate=runs, method=DRAWN),
        *crossed("prior", true=list(TRUE_MAPS), replicate=runs, method=["sorted", "paper"]),
        *crossed("time", n=list(TIMED), maps=list(N_MAPS), method="bayes-iso"),
        *crossed("merged", n=list(large), replicate=runs, method=["merged", "chains", "iso-platt"]),
        *crossed("merged", n=list(large[:2]), replicate=runs, method="bayes-iso"),
    ]


Factories = Mapping[str, Callable[..., Any]]


def run_extras(todo: Sequence[Task], methods: Factories) -> Iterator[tuple[Task, Any]]:
    """Each part by its own function."""
    parts: dict[str, Callable[[Task, Factories], Any]] = {
        "posterior": _posterior,
        "prior": _prior,
        "time": _time,
        "merged": _merged,
    }
    for task in todo:
        with quietly():
            yield task, parts[task.part](task, methods)


def _sample(task: Task) -> Any:
    n, replicate = task.pick("n", "replicate")
    return make_beta_mixture(n, random_state=stable_seed("fit", n, replicate))


def _posterior(task: Task, methods: Factories) -> list[Row]:
    """A map on a grid of scores, and the weight of the heaviest sampled map."""
    data = _sample(task)
    free = {"bounds": None} if task["method"] == FREE else {}
    make = methods["bayes-iso" if free else task["method"]]
    fitted = make(**free).fit(data.scores, data.y)
    p = fitted.predict_proba(GRID)[:, 1]
    weight = getattr(fitted, "max_weight_", None)
    heaviest = {} if weight is None else {"heaviest": float(weight)}
    return [{"score": s, "probability": float(q), **heaviest} for s, q in zip(GRID, p, strict=True)]


def _prior(task: Task, _methods: Factories) -> Row:
    """Distance of the posterior mean from the true map with either prior."""
    true_map, replicate = task.pick("true", "replicate")
    rng = np.random.default_rng(stable_seed("prior", true_map, replicate))
    ranks = (np.arange(N_PRIOR) + 0.5) / N_PRIOR
    true = TRUE_MAPS[true_map](ranks)
    y = (rng.random(N_PRIOR) < true).astype(int)
    y[0], y[-1] = (0, 1) if y.min() == y.max() else (y[0], y[-1])
    if task["method"] == "sorted":
        p = sorted_uniform_mean(y, rng)
    else:
        made = BayesianIsotonicCalibrator(n_groups=None, progress=False).fit(ranks, y)
        p = made.predict_proba(ranks)[:, 1]
    return {
        "distance": _root_mean_square(p - true),
        "distance_of_diagonal": _root_mean_square(ranks - true),
        "from_diagonal": _root_mean_square(p - ranks),
    }


def _root_mean_square(x: Floats) -> float:
    return float(np.sqrt(np.mean(x**2)))


def sorted_uniform_mean(y: Any, rng: np.random.Generator) -> Floats:
    """Posterior mean of sorted uniform numbers with labels, by Gibbs sampling.

    Given its neighbors, a value has the density c or 1 − c between them. Odd and even ranks take
    turns, so that each half is drawn at once.
    """
    n = len(y)
    c = np.concatenate([[0.0], (np.arange(n) + 0.5) / n, [1.0]])
    total = np.zeros(n)
    halves = [np.arange(1, n + 1, 2), np.arange(2, n + 1, 2)]
    positive = [np.asarray(y)[half - 1] == 1 for half in halves]
    for sweep in range(N_SWEEPS):
        for half, is_positive in zip(halves, positive, strict=True):
            low, high = c[half - 1], c[half + 1]
            u = rng.random(len(half))
            up = np.sqrt(low**2 + u * (high**2 - low**2))
            down = 1 - np.sqrt((1 - high) ** 2 + u * ((1 - low) ** 2 - (1 - high) ** 2))
            c[half] = np.clip(np.where(is_positive, up, down), low, high)
        if sweep >= N_BURN:
            total += c[1:-1]
    return np.asarray(total / (N_SWEEPS - N_BURN))


def _time(task: Task, methods: Factories) -> Row:
    data = make_beta_mixture(task["n"], random_state=0)
    times = []
    for _ in range(LEAST_REPEATS):
        begin = time.process_time()
        methods["bayes-iso"](n_samples=task["maps"]).fit(data.scores, data.y)
        times.append(time.process_time() - begin)
    return {"milliseconds": 1000 * statistics.median(times)}


def _merged(task: Task, methods: Factories) -> Row:
    """Expected log-loss and Brier score above those of the true probabilities."""
    data = _sample(task)
    test = make_beta_mixture(N_TEST, random_state=stable_seed("test", task["replicate"]))
    begin = time.process_time()
    if task["method"] == "merged":
        p = merged_bins(data.scores, data.y, test.scores, methods["bayes-iso"])
    else:
        fitted = methods[task["method"]]().fit(data.scores, data.y)
        p = fitted.predict_proba(test.scores)[:, 1]
    seconds = time.process_time() - begin
    p, true = np.clip(p, 1e-15, 1 - 1e-15), test.probability
    return {
        "log_loss_excess": float(np.mean(rel_entr(true, p) + rel_entr(1 - true, 1 - p))),
        "brier_excess": float(np.mean((p - true) ** 2)),
        "cpu_seconds": seconds,
    }


def merged_bins(scores: Floats, y: Any, new: Floats, make: Callable[..., Any]) -> Floats:
    """A map for each bin of 1000 consecutive ranks, merged by isotonic regression of the values."""
    order = np.argsort(scores, kind="stable")
    x, labels = np.asarray(scores)[order], np.asarray(y)[order]
    values = np.empty(len(x))
    for rows in np.array_split(np.arange(len(x)), max(1, round(len(x) / BIN))):
        if labels[rows].min() == labels[rows].max():
            smoothed = (labels[rows].sum() + 1) / (len(rows) + 2)
            values[rows] = smoothed
        else:
            values[rows] = make().fit(x[rows], labels[rows]).predict_proba(x[rows])[:, 1]
    return np.interp(new, x, isotonic_fit(values, np.ones(len(values)))[0])
