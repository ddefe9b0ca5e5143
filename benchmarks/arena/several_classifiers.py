"""Scores of five classifiers of the same rows: how to make one calibrated probability of them.

Usage: python benchmarks/arena/several_classifiers.py [--arena FOLDER]

The predictions are those that arena.py reads: for each data set, the scores of all its classifiers
for the same rows. Of these the first n calibrate, at most half and with at least
ten of each class, and the rest, at most 10,000, judge. Shown are mean Brier score and log-loss
over the data sets, and on how many of these a way has a lower log-loss than the default applied to
the soft vote.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from contest.experiments import find_arena
from scipy.optimize import minimize
from scipy.sparse import coo_matrix, diags, identity
from scipy.sparse.linalg import splu
from scipy.spatial import cKDTree
from scipy.special import expit, logit
from sklearn.linear_model import LogisticRegression

from trueodds import AutoCalibrator, IsotonicCalibrator, SmoothIsotonicCalibrator
from trueodds.exceptions import TrueoddsWarning
from trueodds.kernels.isotonic import pool_adjacent_violators
from trueodds.metrics import brier_score, log_loss

SIZES = (300, 1000, 3000)
FEWEST = 10
TINY = 2.0**-52
STRENGTHS = (0.1, 1.0, 10.0)
NEIGHBORS = 5


def log_odds(p):
    return logit(np.clip(p, TINY, 1 - TINY))


def calibrated(method, score, y, new):
    return method.fit(score, y).predict_proba(new)[:, 1]


def mean(p):
    return p.mean(axis=1)


def mean_log_odds(p):
    return expit(log_odds(p).mean(axis=1))


@dataclass(frozen=True)
class Case:
    """Scores (n, m) of m classifiers with labels, and scores of new rows."""

    p: np.ndarray
    y: np.ndarray
    new: np.ndarray

    @cached_property
    def folds(self):
        """Five, each with its share of both classes; rows are in random order."""
        folds = np.empty(len(self.y), dtype=int)
        for label in (False, True):
            folds[self.y == label] = np.arange((self.y == label).sum()) % 5
        return folds

    @cached_property
    def each_held_out(self):
        """Every classifier's scores, calibrated by the default on the other folds."""
        held = np.empty(self.p.shape)
        for fold in range(5):
            kept, out = self.folds != fold, self.folds == fold
            for k, column in enumerate(self.p.T):
                held[out, k] = calibrated(AutoCalibrator(), column[kept], self.y[kept], column[out])
        return held

    @cached_property
    def each_new(self):
        """Every classifier's scores of the new rows, calibrated by the default."""
        pairs = zip(self.p.T, self.new.T, strict=True)
        columns = [calibrated(AutoCalibrator(), old, self.y, new) for old, new in pairs]
        return np.stack(columns, axis=1)


def best_alone(case):
    """The classifier whose calibrated scores have the least log-loss, held out."""
    losses = [log_loss(case.y, np.clip(q, TINY, 1 - TINY)) for q in case.each_held_out.T]
    return case.each_new[:, int(np.argmin(losses))]


def vote(make, one_score=mean):
    """A soft vote, which is one score, and a calibrator of it."""
    return lambda case: calibrated(make(), one_score(case.p), case.y, one_score(case.new))


def each_first(case):
    """Calibrate each classifier separately, then the vote of their log-odds, then once more."""
    held, new = mean_log_odds(case.each_held_out), mean_log_odds(case.each_new)
    return calibrated(AutoCalibrator(), held, case.y, new)


def weighed(case):
    """σ(c + Σ wₖ·logit qₖ), wₖ ≥ 0, of calibrated classifiers: it rises with every score."""
    design, sign = log_odds(case.each_held_out), np.where(case.y, 1.0, -1.0)
    equal = np.full(design.shape[1], 1 / design.shape[1])

    def loss(theta):
        margin = sign * (design @ theta[1:] + theta[0])
        slope = -sign * expit(-margin)
        away = theta[1:] - equal
        gradient = np.append(slope.sum(), slope @ design + away)
        return np.logaddexp(0, -margin).sum() + 0.5 * away @ away, gradient

    bounds = [(None, None)] + [(0, None)] * len(equal)
    start = np.append(0.0, equal)
    theta = minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B").x
    return expit(log_odds(case.each_new) @ theta[1:] + theta[0])


def regression(case):
    """The same by scikit-learn's logistic regression, whose weights may be negative."""
    model = LogisticRegression().fit(log_odds(case.each_held_out), case.y)
    return model.predict_proba(log_odds(case.each_new))[:, 1]


def graph_isotonic(case):
    """Isotonic regression of the soft vote that is smooth along a graph of near rows.

    After the abstract of Zhong and Kwok (2013): min 0.5·Σ(q − y)² + 0.5·λ·q′Lq, where q rises with
    the vote and L is the Laplacian of each row's nearest rows; by ADMM. λ is chosen on a fifth.
    """
    kept, held = case.folds > 0, case.folds == 0
    losses = [
        brier_score(case.y[held], _graph_fit(case.p[kept], case.y[kept], case.p[held], strength))
        for strength in STRENGTHS
    ]
    return _graph_fit(case.p, case.y, case.new, STRENGTHS[int(np.argmin(losses))])


def _graph_fit(p, y, new, strength, n_iter=200):
    order = np.argsort(mean(p), kind="stable")
    p, y = p[order], y[order].astype(float)
    near = cKDTree(p).query(p, k=NEIGHBORS + 1)[1][:, 1:]
    row = np.repeat(np.arange(len(p)), NEIGHBORS)
    link = coo_matrix((np.ones(near.size), (row, near.ravel())), shape=(len(p),) * 2)
    link = (link + link.T) / 2
    laplacian = diags(np.asarray(link.sum(axis=1)).ravel()) - link
    solve = splu((2 * identity(len(p)) + strength * laplacian).tocsc()).solve
    rising, gap = y.copy(), np.zeros(len(p))
    for _ in range(n_iter):
        smooth = solve(y + rising - gap)
        pooled, _ = pool_adjacent_violators(np.ascontiguousarray(smooth + gap), np.ones(len(p)))
        rising = np.asarray(pooled)
        gap += smooth - rising
    at, first, count = np.unique(mean(p), return_index=True, return_counts=True)
    return np.clip(np.interp(mean(new), at, np.add.reduceat(rising, first) / count), 0, 1)


WAYS: dict[str, Callable[[Case], np.ndarray]] = {
    "best classifier, default": best_alone,
    "vote, isotonic": vote(lambda: IsotonicCalibrator(tail_smoothing="laplace")),
    "vote, isotonic on a graph": graph_isotonic,
    "vote, smooth isotonic": vote(lambda: SmoothIsotonicCalibrator(tail_smoothing="laplace")),
    "vote, default": vote(AutoCalibrator),
    "vote of log-odds, default": vote(AutoCalibrator, mean_log_odds),
    "each, vote of log-odds": each_first,
    "each, weighed": weighed,
    "each, logistic regression": regression,
}
BASE = "vote, default"


def sets(folder: Path):
    """The scores of all classifiers and the labels, of each set that has several."""
    for name in sorted({path.name.partition("@")[0] for path in folder.glob("*.npz")}):
        files = [np.load(path) for path in sorted(folder.glob(f"{name}@*.npz"))]
        same = all(np.array_equal(files[0]["y"], file["y"]) for file in files)
        if len(files) > 1 and same:
            yield np.stack([file["p"] for file in files], axis=1), files[0]["y"] > 0


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arena", type=Path, help="folder of predictions (or TRUEODDS_ARENA)")
    folder = find_arena(parser.parse_args().arena) / "binary"
    warnings.simplefilter("ignore", TrueoddsWarning)
    for size in SIZES:
        found: dict[str, list[tuple[float, float]]] = {name: [] for name in WAYS}
        for p, y in sets(folder):
            fewest = min(y[:size].sum(), (~y[:size]).sum())
            if len(y) < 2 * size or fewest < FEWEST:
                continue
            case, y_new = Case(p[:size], y[:size], p[size:][:10_000]), y[size:][:10_000]
            for name, way in WAYS.items():
                q = np.clip(way(case), TINY, 1 - TINY)
                found[name].append((brier_score(y_new, q), log_loss(y_new, q)))
        base = np.array(found[BASE])
        print(
            f"\n{size} rows to calibrate, {len(base)} data sets: Brier, log-loss, lower", flush=True
        )
        for name, losses in found.items():
            brier, log = np.array(losses).T
            wins = int((log < base[:, 1]).sum())
            print(f"{name:28}{brier.mean():9.4f}{log.mean():9.4f}{wins:5}", flush=True)


if __name__ == "__main__":
    main()
