"""Scores of five classifiers of the same rows: how to make one calibrated probability of them.

Usage: python benchmarks/several_classifiers.py [--arena FOLDER]

The predictions are those of the arena (benchmarks/arena.py): for each data set, the scores of all
its classifiers for the same rows. Of these the first n calibrate, at most half, and the rest, at
most 10,000, judge. Shown are mean Brier score and log-loss over the data sets, and on how many of
them a way of combining has a lower log-loss than the default applied to the soft vote.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from contest.experiments import find_arena
from scipy.optimize import minimize
from scipy.sparse import coo_matrix, diags, identity
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree
from scipy.special import expit, logit

from trueodds import AutoCalibrator, IsotonicCalibrator, SmoothIsotonicCalibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds.kernels.pool_adjacent import pool_adjacent
from trueodds.metrics import brier_score, log_loss

SIZES = (100, 300, 1000, 3000)
TINY = 2.0**-52
STRENGTHS = (0.1, 1.0, 10.0)
NEIGHBOURS = 5
Way = Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray]


def log_odds(p):
    return logit(np.clip(p, TINY, 1 - TINY))


def calibrated(method, score, y, new):
    return method.fit(score, y).predict_proba(new)[:, 1]


def best_alone(p, y, new):
    """The classifier whose calibrated scores fit best, by 5-fold log-loss."""
    folds = np.arange(len(y)) % 5
    losses = []
    for k in range(p.shape[1]):
        held = np.empty(len(y))
        for fold in range(5):
            held[folds == fold] = calibrated(
                AutoCalibrator(), p[folds != fold, k], y[folds != fold], p[folds == fold, k]
            )
        losses.append(log_loss(y, held))
    k = int(np.argmin(losses))
    return calibrated(AutoCalibrator(), p[:, k], y, new[:, k])


def of_the_vote(make, vote=lambda p: p.mean(axis=1)) -> Way:
    """A soft vote, which is one score, and a calibrator of it."""
    return lambda p, y, new: calibrated(make(), vote(p), y, vote(new))


def geometric(p):
    return expit(log_odds(p).mean(axis=1))


def each_first(p, y, new):
    """Each classifier by itself, then the mean of their log-odds, then once more."""
    columns = range(p.shape[1])
    both = np.concatenate([p, new])
    q = np.stack([calibrated(AutoCalibrator(), p[:, k], y, both[:, k]) for k in columns], axis=1)
    return calibrated(AutoCalibrator(), geometric(q[: len(p)]), y, geometric(q[len(p) :]))


def weighed(p, y, new):
    """σ(c + Σ wₖ·logit qₖ), wₖ ≥ 0, of calibrated classifiers: monotone in every score."""
    columns = range(p.shape[1])
    folds = np.arange(len(y)) % 5
    held, ahead = np.empty(p.shape), np.empty(new.shape)
    for k in columns:
        for fold in range(5):
            kept, out = folds != fold, folds == fold
            held[out, k] = calibrated(AutoCalibrator(), p[kept, k], y[kept], p[out, k])
        ahead[:, k] = calibrated(AutoCalibrator(), p[:, k], y, new[:, k])
    design, sign = log_odds(held), np.where(y, 1.0, -1.0)

    def loss(theta):
        margin = sign * (design @ theta[1:] + theta[0])
        slope = -sign * expit(-margin)
        ridge = 0.5 * ((theta[1:] - 1 / len(columns)) ** 2).sum()
        gradient = np.append(slope.sum(), slope @ design + theta[1:] - 1 / len(columns))
        return np.logaddexp(0, -margin).sum() + ridge, gradient

    start = np.append(0.0, np.full(len(columns), 1 / len(columns)))
    bounds = [(None, None)] + [(0, None)] * len(columns)
    theta = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return expit(log_odds(ahead) @ theta[1:] + theta[0])


def graph_isotonic(p, y, new):
    """Isotonic regression of the soft vote, smooth along a graph of near rows (after the abstract
    of Zhong and Kwok): min ½·Σ(q − y)² + ½·λ·q′Lq, q increasing with the vote; by ADMM."""
    kept, held = np.arange(len(y)) % 5 > 0, np.arange(len(y)) % 5 == 0
    losses = [
        brier_score(y[held], _graph_fit(p[kept], y[kept], p[held], strength))
        for strength in STRENGTHS
    ]
    return _graph_fit(p, y, new, STRENGTHS[int(np.argmin(losses))])


def _graph_fit(p, y, new, strength, n_iter=200):
    vote = p.mean(axis=1)
    order = np.argsort(vote, kind="stable")
    p, y, vote = p[order], y[order].astype(float), vote[order]
    near = cKDTree(p).query(p, k=NEIGHBOURS + 1)[1][:, 1:]
    row = np.repeat(np.arange(len(p)), near.shape[1])
    link = coo_matrix((np.ones(near.size), (row, near.ravel())), shape=(len(p),) * 2)
    link = (link + link.T) / 2
    laplacian = diags(np.asarray(link.sum(axis=1)).ravel()) - link
    solve = splu((2 * identity(len(p)) + strength * laplacian).tocsc()).solve
    z, u = y.copy(), np.zeros(len(p))
    for _ in range(n_iter):
        q = solve(y + z - u)
        z = np.asarray(pool_adjacent(np.ascontiguousarray(q + u), np.ones(len(p)))[0])
        u += q - z
    at, first = np.unique(vote, return_index=True)
    means = np.add.reduceat(z, first) / np.diff(np.append(first, len(z)))
    return np.clip(np.interp(new.mean(axis=1), at, means), 0, 1)


WAYS: dict[str, Way] = {
    "best classifier, default": best_alone,
    "vote, isotonic": of_the_vote(lambda: IsotonicCalibrator(ends="laplace")),
    "vote, isotonic on a graph": graph_isotonic,
    "vote, smooth isotonic": of_the_vote(lambda: SmoothIsotonicCalibrator(ends="laplace")),
    "vote, default": of_the_vote(AutoCalibrator),
    "vote of log-odds, default": of_the_vote(AutoCalibrator, geometric),
    "each, vote of log-odds": each_first,
    "each, weighed": weighed,
}
BASE = "vote, default"


def sets(folder: Path):
    """Labels and the scores of all classifiers, of each set that has several."""
    for name in sorted({path.name.partition("@")[0] for path in folder.glob("*.npz")}):
        files = [np.load(path) for path in sorted(folder.glob(f"{name}@*.npz"))]
        same = all(np.array_equal(files[0]["y"], file["y"]) for file in files)
        if len(files) > 1 and same:
            yield name, np.stack([file["p"] for file in files], axis=1), files[0]["y"] > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arena", type=Path, help="folder of predictions (or TRUEODDS_ARENA)")
    folder = find_arena(parser.parse_args().arena) / "binary"
    warnings.simplefilter("ignore", TrueoddsWarning)
    for size in SIZES:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
        for _, p, y in sets(folder):
            if len(y) < 2 * size or len(np.unique(y[:size])) < 2:
                continue
            new, y_new = p[size : size + 10_000], y[size : size + 10_000]
            for name, way in WAYS.items():
                q = way(p[:size], y[:size], new)
                q = np.clip(q, TINY, 1 - TINY)
                found[name].append((brier_score(y_new, q), log_loss(y_new, q)))
        base = np.array(found[BASE])
        print(f"\n{size} rows to calibrate, {len(base)} data sets", flush=True)
        for name, losses in found.items():
            brier, log = np.array(losses).T
            wins = int((log < base[:, 1]).sum())
            print(f"{name:28}{brier.mean():9.4f}{log.mean():9.4f}{wins:5}", flush=True)


if __name__ == "__main__":
    main()
