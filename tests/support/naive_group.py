"""The posterior of pooled effects with a dense design matrix, block by block: slow and obvious."""

from itertools import pairwise
from typing import Any

import numpy as np

from trueodds.calibrators._group.pooling import (
    DAMPING,
    DEVIATIONS,
    GIVEN_EFFECT,
    LEAST_PRECISION,
    SHARED,
)


def naive_pooling(
    designs: Any,
    kinds: Any,
    wide: Any,
    offset: Any,
    y: Any,
    weight: Any,
    no_effect: Any,
    schedule: Any,
) -> tuple[Any, Any, Any]:
    """Mean, covariance and weights of deviations.

    ``designs`` are matrices of rows and coefficients, ``kinds`` their names in ``no_effect``;
    ``wide`` is a matrix of its own or None; ``schedule`` lists Newton steps and turns.
    """
    every = [*designs] if wide is None else [*designs, wide]
    names = [*kinds] if wide is None else [*kinds, "shift"]
    X = np.concatenate(every, axis=1)
    ends = np.cumsum([0] + [d.shape[1] for d in every])
    own = [slice(a, b) for a, b in pairwise(ends)]
    precision = [np.eye(d.shape[1]) / 0.2**2 for d in every]
    information = [np.zeros(d.shape[1]) for d in every]
    weights = [np.zeros(len(DEVIATIONS)) for _ in every]
    mean = np.zeros(X.shape[1])

    def solve(A: Any, h: Any) -> tuple[Any, Any]:
        total = A.copy()
        for s, p in zip(own, precision, strict=True):
            total[s, s] += p
        covariance = np.linalg.inv(total)
        return covariance @ (h + np.concatenate(information)), covariance

    for steps, turns in schedule:
        for _ in range(steps):
            p = 1 / (1 + np.exp(-offset - X @ mean))
            A = X.T @ (X * (weight * p * (1 - p))[:, None])
            h = X.T @ (weight * (y - p)) + A @ mean
            mean, covariance = solve(A, h)
            for turn in range(turns):
                damping = DAMPING[min(turn, len(DAMPING) - 1)]
                found = []
                for k, s in enumerate(own):
                    prior = (
                        SHARED
                        * np.r_[no_effect[names[k]], (1 - no_effect[names[k]]) * GIVEN_EFFECT]
                    )
                    prior = prior + sum(
                        w for j, w in enumerate(weights) if j != k and names[j] == names[k]
                    )
                    is_wide = wide is not None and k == len(own) - 1
                    if is_wide:  # given the mean of the others
                        others = np.setdiff1d(np.arange(len(mean)), np.arange(s.start, s.stop))
                        cavity = A[s, s]
                        pull = h[s] - A[s][:, others] @ mean[others]
                    else:
                        marginal = np.linalg.inv(covariance[s, s])
                        cavity = marginal - precision[k]
                        pull = marginal @ mean[s] - information[k]
                    found.append(_mixture(cavity, pull, np.log(prior / prior.sum())))
                for k, (w, center, matched, cavity, pull) in enumerate(found):
                    weights[k] = w
                    if wide is not None and k == len(own) - 1:
                        variance = (np.trace(matched) + center @ center) / len(center)
                        precision[k] = np.eye(len(center)) / variance
                        continue
                    site = np.linalg.inv(matched) - cavity
                    sizes, directions = np.linalg.eigh((site + site.T) / 2)
                    site = directions @ np.diag(np.maximum(sizes, LEAST_PRECISION)) @ directions.T
                    shift = (site + cavity) @ center - pull
                    precision[k] = precision[k] + damping * (site - precision[k])
                    information[k] = information[k] + damping * (shift - information[k])
                mean, covariance = solve(A, h)
    return mean, covariance, weights


def _mixture(cavity: Any, pull: Any, log_prior: Any) -> tuple[Any, ...]:
    """Mean and covariance under a mixture of normal priors, each deviation by itself."""
    size = len(pull)
    covariances = [np.linalg.inv(cavity + np.eye(size) / t**2) for t in DEVIATIONS]
    means = [c @ pull for c in covariances]
    evidence = np.array(
        [
            0.5 * m @ pull - 0.5 * np.linalg.slogdet(np.eye(size) + t**2 * cavity)[1]
            for m, t in zip(means, DEVIATIONS, strict=True)
        ]
    )
    w = np.exp(evidence + log_prior - (evidence + log_prior).max())
    w /= w.sum()
    center = sum(a * m for a, m in zip(w, means, strict=True))
    matched = sum(
        a * (c + np.outer(m - center, m - center))
        for a, c, m in zip(w, covariances, means, strict=True)
    )
    return w, center, matched, cavity, pull
