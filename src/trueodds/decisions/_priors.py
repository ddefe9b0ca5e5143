"""Changes of the base rate: adjustment to a known one, and estimation of an unknown one."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import ConvergenceWarning, InputError, warn_user
from trueodds.inputs import (
    METRIC_WORDS,
    Floats,
    Weights,
    as_dense,
    as_floats,
    check_integer,
    check_number,
    mass_of,
    validate_scores,
)

__all__ = ["adjust_prior", "as_prior", "estimate_prior"]


def as_prior(prior: Any, n_classes: int, name: str, *, inside: bool = True) -> Floats:
    """Return a base rate as one number per class; a single number is the positive class's."""
    array: npt.NDArray[Any] = as_floats(prior, name).reshape(as_dense(prior, name).shape)
    if array.ndim == 0 and n_classes == 2:
        array = np.array([1 - array.item(), array.item()])
    if array.shape != (n_classes,):
        raise InputError(
            f"{name} must be one number per class ({n_classes}), or the positive class's if there "
            f"are two; got shape {array.shape}."
        )
    legal = ((array > 0) & (array < 1)) if inside else ((array >= 0) & (array <= 1))
    if not legal.all() or abs(array.sum() - 1) > 1e-6:
        ends = "strictly between 0 and 1" if inside else "in [0, 1]"
        raise InputError(f"{name} must lie {ends} and sum to 1; got {array.tolist()}.")
    return np.asarray(array / array.sum())


def adjust_prior(y_prob: Any, old_prior: Any, new_prior: Any) -> Floats:
    """Adjust probabilities to a population with another base rate.

    By Bayes' theorem, each class's probability is multiplied by new/old, and rows are normalized.
    This is correct if the features have the same distribution within each class in both
    populations, and if the probabilities are calibrated for the old one.

    Parameters
    ----------
    y_prob : array-like of shape (n,) or (n, n_classes)
    old_prior : float or array-like of shape (n_classes,)
        Base rate of the positive class, or of every class, where the probabilities were calibrated.
    new_prior : float or array-like of shape (n_classes,)
        Base rate where they will be used.

    Returns
    -------
    ndarray of the shape of ``y_prob``
        Adjusted probabilities; 0 stays 0, and 1 stays 1.

    See Also
    --------
    adjust_map_prior : The same inside a calibration map.
    estimate_prior : If the new base rate is unknown.

    Examples
    --------
    >>> from trueodds.decisions import adjust_prior
    >>> adjust_prior([0.5, 0.9], old_prior=0.5, new_prior=0.1).round(6)
    array([0.1, 0.5])
    """
    prob = validate_scores(y_prob, "probability", words=METRIC_WORDS)
    columns = 2 if prob.ndim == 1 else prob.shape[1]
    old = as_prior(old_prior, columns, "old_prior")
    new = as_prior(new_prior, columns, "new_prior", inside=False)
    ratio = new / old
    if prob.ndim == 1:
        top = prob * ratio[1]
        return np.asarray(_normalized(np.stack([(1 - prob) * ratio[0], top], axis=1))[:, 1])
    return _normalized(prob * ratio)


def _normalized(rows: Floats) -> Floats:
    total = rows.sum(axis=1, keepdims=True)
    if not total.all():
        row = int(np.argmin(total))
        raise InputError(
            f"row {row} of y_prob has positive probability only for classes with new_prior 0."
        )
    return np.asarray(rows / total)


def estimate_prior(
    y_prob_unlabeled: Any,
    old_prior: Any,
    *,
    sample_weight: Any = None,
    counts: Any = None,
    max_iter: int = 10_000,
    tol: float = 1e-10,
) -> float | Floats:
    """Estimate the base rate of a new population from probabilities without labels (EM).

    This is the maximum-likelihood estimate under the assumptions of :func:`adjust_prior`. It
    relies on calibrated probabilities, so calibrate first, on labeled data of the old population.
    EM alternately adjusts the probabilities to the current estimate and averages them.

    Parameters
    ----------
    y_prob_unlabeled : array-like of shape (n,) or (n, n_classes)
        Probabilities of the model on rows of the new population, for the old base rate.
    old_prior : float or array-like of shape (n_classes,)
        Base rate of the population the model was calibrated on.
    sample_weight : array-like of shape (n,), default=None
        Importance of each row; a common factor changes nothing.
    counts : array-like of shape (n,), default=None
        How often each row occurred.
    max_iter : int, default=10000
    tol : float, default=1e-10
        Stop when no class's rate changes by more than this.

    Returns
    -------
    float or ndarray of shape (n_classes,)
        Base rate of the positive class if probabilities are 1-D, else of every class.

    References
    ----------
    Saerens, Latinne and Decaestecker (2002), Adjusting the outputs of a classifier to new a
    priori probabilities: a simple procedure, equation 9.

    Examples
    --------
    >>> import numpy as np
    >>> from trueodds.decisions import estimate_prior
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(20000) < 0.1
    >>> z = rng.normal(np.where(y, 1.0, -1.0))  # in the old population both are as frequent
    >>> round(estimate_prior(1 / (1 + np.exp(-2 * z)), old_prior=0.5), 2)
    0.1
    """
    words = replace(METRIC_WORDS, scores="y_prob_unlabeled")
    prob = validate_scores(y_prob_unlabeled, "probability", words=words)
    binary = prob.ndim == 1
    rows = np.stack([1 - prob, prob], axis=1) if binary else prob
    old = as_prior(old_prior, rows.shape[1], "old_prior")
    weight = mass_of(Weights.read(sample_weight, counts, len(rows)))
    max_iter = check_integer(max_iter, "max_iter", 1)
    tol = check_number(tol, "tol")
    likelihood = rows / old
    likelihood /= likelihood.max(axis=1, keepdims=True)  # only ratios count, and none underflows
    prior = old
    for _ in range(max_iter):
        posterior = likelihood * prior
        total = posterior.sum(axis=1, keepdims=True)
        posterior /= np.where(total > 0, total, 1.0)  # a row of weight 0 may be impossible
        updated = np.average(posterior, axis=0, weights=weight)
        change = np.abs(updated - prior).max()
        prior = updated
        if change <= tol:
            break
    else:
        warn_user(
            f"the base rate still changed by {change:.2g} after {max_iter} steps; increase "
            "max_iter or tol.",
            ConvergenceWarning,
        )
    return float(prior[1]) if binary else np.asarray(prior)
