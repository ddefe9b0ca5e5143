"""What importances cost: the default with them, and without on as many rows as they are worth.

Usage: python benchmarks/coverage/importances.py [--repeats 50] [--rows 1000] [--method NAME]

The probability of every score in the target population is known. Rows are drawn from a sample that
represents it by importances. They vary at random (lognormal, independent of everything), or are
those of the classes (20 : 1). They undo undersampling of the negatives, or make up for rows whose
outcome was censored (inverse probability of censoring, some 35% unknown). For each weighting it
prints

- the mean effective number of rows, (Σw)²/Σw²;
- the excess log-loss over the true probabilities, times 10,000, with its standard error, and that
  of a fit without importances to that many rows of the target population itself;
- the share of scores of the target population whose probability is inside the 90% interval;
- by how many standard errors the out-of-fold log-loss that ``compare_calibrators`` claims differs
  from that on 100,000 fresh rows: the mean over the repeats, and the share beyond two.
"""

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit, logit, xlogy

from trueodds.calibrators import find_calibrator
from trueodds.model_selection import compare_calibrators

FRESH = 100_000
TWENTY = 20.0


@dataclass(frozen=True)
class Weighting:
    """A population of scores, and how a weighted sample of it is drawn.

    ``draw(rng, n)`` gives scores, labels and importances; ``target(rng, n)`` scores of the target
    population; ``truth(p)`` the probability at a score in the target population.
    """

    draw: Callable
    target: Callable
    truth: Callable


def bent(p: np.ndarray) -> np.ndarray:
    return expit(1.3 * logit(p) - 0.2)


def scores(rng: np.random.Generator, n: int) -> np.ndarray:
    return expit(rng.normal(0, 1.6, n))


def lognormal(sigma: float) -> Weighting:
    def draw(rng: np.random.Generator, n: int) -> tuple:
        p = scores(rng, n)
        return p, rng.random(n) < bent(p), rng.lognormal(0, sigma, n)

    return Weighting(draw, scores, bent)


def classes(mean: float) -> Weighting:
    """Positives count twenty times as much as negatives; scores know nothing of that."""

    def truth(p: np.ndarray) -> np.ndarray:
        return expit(1.3 * logit(p) - 0.2 + np.log(TWENTY))

    def sample(rng: np.random.Generator, n: int) -> tuple:
        p = expit(rng.normal(mean, 1.4, n))
        return p, rng.random(n) < bent(p)

    def draw(rng: np.random.Generator, n: int) -> tuple:
        p, y = sample(rng, n)
        return p, y, np.where(y, TWENTY, 1.0)

    def target(rng: np.random.Generator, n: int) -> np.ndarray:
        p, y = sample(rng, 60 * n)
        kept = y | (rng.random(len(p)) < 1 / TWENTY)
        return np.resize(p[kept], n)

    return Weighting(draw, target, truth)


def undersampled() -> Weighting:
    """One negative in twenty is kept, and counts twenty times; scores are those of all rows."""

    def target(rng: np.random.Generator, n: int) -> np.ndarray:
        return expit(rng.normal(-3.5, 1.3, n))

    def truth(p: np.ndarray) -> np.ndarray:
        return expit(1.2 * logit(p) + 0.4)

    def draw(rng: np.random.Generator, n: int) -> tuple:
        p = target(rng, 40 * n)
        y = rng.random(len(p)) < truth(p)
        kept = np.flatnonzero(y | (rng.random(len(p)) < 1 / TWENTY))[:n]
        return p[kept], y[kept], np.where(y[kept], 1.0, TWENTY)

    return Weighting(draw, target, truth)


def censored() -> Weighting:
    """Events before time 1 are the positives; exponential censoring hides some outcomes."""

    def draw(rng: np.random.Generator, n: int) -> tuple:
        p = scores(rng, n)
        event = rng.exponential(1, n) / -np.log1p(-bent(p))
        censoring = rng.exponential(1.6, n)
        y = event < 1
        known = np.where(y, censoring > event, censoring > 1)
        weight = np.exp(np.where(y, event, 1.0) / 1.6)
        return p[known], y[known], weight[known]

    return Weighting(draw, scores, bent)


WEIGHTINGS = {
    "lognormal, sigma 0": lognormal(0.0),
    "lognormal, sigma 0.5": lognormal(0.5),
    "lognormal, sigma 1": lognormal(1.0),
    "lognormal, sigma 1.5": lognormal(1.5),
    "classes 20 : 1, rare positives": classes(-3.0),
    "classes 20 : 1, balanced": classes(0.0),
    "negatives undersampled 20 times": undersampled(),
    "censored outcomes": censored(),
}


def excess(method, weighting: Weighting, p: np.ndarray) -> float:
    true, q = weighting.truth(p), method.predict_proba(p)[:, 1]
    return float(np.mean(xlogy(true, true / q) + xlogy(1 - true, (1 - true) / (1 - q))))


def repeat(name: str, weighting: Weighting, seed: int, n: int) -> tuple[float, ...]:
    rng = np.random.default_rng(seed)
    kind = find_calibrator(name)
    p, y, w = weighting.draw(rng, n)
    worth = w.sum() ** 2 / (w**2).sum()
    fitted = kind().fit(p, y, w)
    new = weighting.target(rng, FRESH)
    low, high = fitted.predict_interval(new)
    true = weighting.truth(new)
    inside = np.mean((low <= true) & (true <= high))
    own = weighting.target(rng, round(worth))
    plain = kind().fit(own, rng.random(len(own)) < weighting.truth(own))
    (row,) = [
        row
        for row in compare_calibrators(p, y, sample_weight=w, calibrators=[name]).rows()
        if row["method"] == name
    ]
    error = (row["log_loss_high"] - row["log_loss_low"]) / (2 * 1.6449)
    q = fitted.predict_proba(new)[:, 1]
    fresh = -np.mean(xlogy(true, q) + xlogy(1 - true, 1 - q))
    off = (row["log_loss"] - fresh) / error
    return worth, excess(fitted, weighting, new), excess(plain, weighting, new), inside, off


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=50)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--method", default="bayesian_smooth")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(f"{options.method}, {options.rows} rows, {options.repeats} repeats")
    print(f"{'':33}worth  excess ± s.e.   unweighted  ratio  inside  claim off (beyond 2)")
    for name, weighting in WEIGHTINGS.items():
        found = np.array(
            [repeat(options.method, weighting, s, options.rows) for s in range(options.repeats)]
        )
        worth, own, plain, inside, off = found.mean(axis=0)
        error = found[:, 1].std(ddof=1) / np.sqrt(len(found))
        beyond = np.mean(np.abs(found[:, 4]) > 2)
        print(
            f"{name:32}{worth:6.0f}{1e4 * own:8.1f} ± {1e4 * error:4.1f}{1e4 * plain:12.1f}"
            f"{own / plain:8.2f}{inside:8.1%}{off:+8.2f} ({beyond:.0%})"
        )


if __name__ == "__main__":
    main()
