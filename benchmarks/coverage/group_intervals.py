"""Coverage of the 90% intervals of GroupCalibrator by group, with known probabilities.

Usage: python benchmarks/coverage/group_intervals.py [--repeats 100] [--rows 1000] [--groups 500]

Scores are 1.5 times too extreme. Twelve groups of 1% to 25% of the rows have shifts of the log-odds
with standard deviation ``effect``; a number has a linear effect of the same size, and two more
features have none. It prints the share of new rows whose true probability lies within the interval,
in the smallest and the largest groups and in groups without rows in the fit. The same is printed
for the intervals of the one map alone. It also prints the share of groups whose true shift lies
within the interval of ``effects_``, and the excess log-loss over the one map. ``--no-effect 0.6``
sets the prior probability of "no effect" that intervals have, to see what intervals would cover
that trust it more. The priors were chosen on seeds below 100; the first seed here is 1000.
``--groups 500`` draws 500 groups of about equal size, some of which may have no rows.
"""

import argparse
from dataclasses import replace

import numpy as np
from scipy.special import expit

from trueodds import GroupCalibrator
from trueodds.calibrators._group import terms

SHARES = np.array([0.01, 0.01, 0.02, 0.03, 0.04, 0.05, 0.07, 0.09, 0.11, 0.14, 0.18, 0.25])
NEW_ROWS = 4000
CLASSES = {
    "up to 3% of the rows": slice(0, 4),
    "4% to 9%": slice(4, 8),
    "11% or more": slice(8, 12),
}


def draw(
    rng: np.random.Generator, n: int, shares: np.ndarray, shift: np.ndarray, slope: float
) -> tuple:
    """Scores, true probabilities and features of n rows."""
    z, age, noise = rng.normal(size=(3, n))
    z *= 1.2
    group, other = rng.choice(len(shares), n, p=shares), rng.integers(0, 5, n)
    true = expit(z + shift[group] + slope * age)
    return expit(1.5 * z), true, np.column_stack([group, other, age, noise])


def repeat(
    seed: int, n: int, shares: np.ndarray, effect: float
) -> tuple[np.ndarray, float, float, float, float]:
    """Coverage of each group, excess log-loss over the one map, other coverages.

    These are of the one map, of effects, and of groups that were not seen.
    """
    rng = np.random.default_rng(seed)
    shift, slope = effect * rng.normal(size=len(shares)), effect * rng.normal()
    p, true, features = draw(rng, n, shares, shift, slope)
    y = rng.random(n) < true
    fitted = GroupCalibrator(categorical=[0, 1]).fit(p, y, features=features)
    relative = shift - shift[features[:, 0].astype(int)].mean()
    of_effects = np.mean(
        [e.low <= relative[int(e.level)] <= e.high for e in fitted.effects_.of("x0")]
    )
    p, true, features = draw(rng, NEW_ROWS, shares, shift, slope)
    low, high = fitted.predict_interval(p, features=features)
    inside = (low <= true) & (true <= high)
    q, one = fitted.predict_proba(p, features=features)[:, 1], fitted.base_.predict_proba(p)[:, 1]
    rows = np.bincount(features[:, 0].astype(int), minlength=len(shares))
    covered = np.bincount(features[:, 0].astype(int), inside, len(shares))
    covered = np.divide(covered, rows, out=np.full(len(shares), np.nan), where=rows > 0)
    low, high = fitted.base_.predict_interval(p)
    of_one = float(((low <= true) & (true <= high)).mean())
    others = np.full(NEW_ROWS, 1 / NEW_ROWS)
    p_new, new, features = draw(rng, NEW_ROWS, others, effect * rng.normal(size=NEW_ROWS), slope)
    features[:, 0] += len(shares)
    low, high = fitted.predict_interval(p_new, features=features)
    unseen = float(((low <= new) & (new <= high)).mean())
    return covered, risk(true, q) - risk(true, one), of_one, float(of_effects), unseen


def risk(true: np.ndarray, p: np.ndarray) -> float:
    """Expected log-loss."""
    return float(-np.mean(true * np.log(p) + (1 - true) * np.log1p(-p)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1000)
    parser.add_argument("--groups", type=int)
    parser.add_argument("--no-effect", type=float)
    chosen = parser.parse_args()
    if chosen.no_effect is not None:
        terms.INTERVAL_PRIOR = replace(terms.INTERVAL_PRIOR, shift=chosen.no_effect)
    shares, classes = SHARES, CLASSES
    if chosen.groups is not None:
        shares, classes = np.full(chosen.groups, 1 / chosen.groups), {"all groups": slice(None)}
    seeds = range(chosen.seed, chosen.seed + chosen.repeats)
    for effect in (0.0, 0.2, 0.5, 1.0):
        runs = [repeat(seed, chosen.rows, shares, effect) for seed in seeds]
        covered = np.array([run[0] for run in runs])
        cost = np.array([run[1] for run in runs])
        words = ", ".join(
            f"{name} {np.nanmean(covered[:, own]):.1%}" for name, own in classes.items()
        )
        words += f"; unseen groups {np.mean([run[4] for run in runs]):.1%}"
        words += f"; one map alone {np.mean([run[2] for run in runs]):.1%}"
        words += f"; effects {np.mean([run[3] for run in runs]):.1%}"
        error = cost.std() / np.sqrt(len(cost))
        print(f"effect {effect}: {words}; log-loss {cost.mean():+.5f} ± {error:.5f}", flush=True)


if __name__ == "__main__":
    main()
