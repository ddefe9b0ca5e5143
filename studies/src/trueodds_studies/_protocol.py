"""Pieces of experiments that cross sets, models, repeats and folds.

:func:`stratified_fold` cuts the outer folds, :func:`inner_scores` trains the base model on inner
folds and keeps its scores on disk, :func:`averaged` calibrates each inner model and averages.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from trueodds.exceptions import InputError, TrueoddsWarning
from trueodds.inputs import Floats
from trueodds_studies._learners import Learner, coded_matrix
from trueodds_studies._scratch import Arrays, Scratch

__all__ = [
    "Fold",
    "InnerScores",
    "as_matrix",
    "averaged",
    "binary_labels",
    "clipped_log_loss",
    "cpu_seconds",
    "inner_scores",
    "quietly",
    "stratified_fold",
]

Indices = npt.NDArray[np.intp]


@dataclass(frozen=True)
class Fold:
    """Row numbers to train on and to test on."""

    train: Indices
    test: Indices


def binary_labels(y: Any) -> npt.NDArray[np.int8]:
    """Two classes from any number: the most frequent class against the others.

    With two classes the second in sorted order is positive. The first of equals counts as the most
    frequent.
    """
    labels, codes = np.unique(np.asarray(y), return_inverse=True)
    positive = 1 if len(labels) == 2 else int(np.bincount(codes).argmax())
    return np.asarray(codes == positive, dtype=np.int8)


def as_matrix(X: Any) -> Floats:
    """A float64 matrix of a pandas frame: categories as codes, missing as the column's mean."""
    matrix, _ = coded_matrix(X)
    for column in matrix.T:
        missing = np.isnan(column)
        if missing.any():
            column[missing] = 0.0 if missing.all() else np.nanmean(column)
    return matrix


def stratified_fold(strata: Any, *, n_folds: int, fold: int, seed: int) -> Fold:
    """Fold number ``fold`` of a stratified shuffled partition of the rows."""
    from sklearn.model_selection import StratifiedKFold

    if not 0 <= fold < n_folds:
        raise InputError(f"fold must be from 0 to {n_folds - 1}; got {fold}.")
    splitter = StratifiedKFold(n_folds, shuffle=True, random_state=seed)
    with warnings.catch_warnings():
        # Classes with fewer members than folds are legal: they are missing from some folds.
        warnings.filterwarnings("ignore", message="The least populated class", category=UserWarning)
        folds = list(splitter.split(np.zeros(len(strata)), np.asarray(strata)))
    train, test = folds[fold]
    return Fold(train=train, test=test)


@dataclass(frozen=True)
class InnerScores:
    """Scores of a base model trained on inner folds of an outer training set.

    Attributes
    ----------
    out_of_fold : ndarray of shape (n_train, k)
        Scores of each training row by the inner model that did not see it.
    inner : ndarray of shape (n_train,)
        Number of that inner model.
    test : ndarray of shape (n_inner, n_test, k)
        Scores of the outer test rows by each inner model.
    refit : ndarray of shape (n_test, k) or None
        Scores of the test rows by a model of all training rows, if requested.
    """

    out_of_fold: Floats
    inner: npt.NDArray[Any]
    test: Floats
    refit: Floats | None = None


def inner_scores(
    scratch: Scratch,
    description: Mapping[str, Any],
    learner: Learner,
    X: Floats,
    y: npt.NDArray[Any],
    fold: Fold,
    *,
    n_inner: int,
    seed: int,
    refit: bool = False,
) -> InnerScores:
    """Train a base model on inner folds, or read its scores from an earlier run.

    Parameters
    ----------
    scratch : Scratch
    description : mapping
        What identifies the scores: set, learner and its version, repeat, fold. ``n_inner``,
        ``seed`` and ``refit`` are added.
    learner : callable
        See :mod:`trueodds_studies._learners`.
    X : ndarray of shape (n, d)
    y : ndarray of shape (n,)
        Inner folds are stratified by it.
    fold : Fold
    n_inner : int
    seed : int
    refit : bool, default=False
        Whether to train on the whole training set too.
    """

    def compute() -> Arrays:
        X_train, y_train, X_test = X[fold.train], y[fold.train], X[fold.test]
        inner = np.empty(len(fold.train), np.int16)
        parts, tests = [], []
        for i in range(n_inner):
            part = stratified_fold(y_train, n_folds=n_inner, fold=i, seed=seed)
            inner[part.test] = i
            held_out, test = learner(
                X_train[part.train], y_train[part.train], [X_train[part.test], X_test]
            )
            parts.append((part.test, held_out))
            tests.append(test)
        out_of_fold = np.empty((len(fold.train), parts[0][1].shape[1]))
        for rows, scores in parts:
            out_of_fold[rows] = scores
        arrays: Arrays = {"out_of_fold": out_of_fold, "inner": inner, "test": np.stack(tests)}
        if refit:
            arrays["refit"] = learner(X_train, y_train, [X_test])[0]
        return arrays

    whole = {**description, "n_inner": n_inner, "seed": seed, "refit": refit}
    arrays = scratch.arrays(whole, compute)
    return InnerScores(arrays["out_of_fold"], arrays["inner"], arrays["test"], arrays.get("refit"))


def averaged(
    calibrator: Callable[[], Any],
    out_of_fold: Any,
    inner: Any,
    test: Any,
    y_train: Any,
) -> Floats:
    """Calibrate each inner model on the rows it did not see, and average what they say of the test.

    Parameters
    ----------
    calibrator : callable () → Calibrator
    out_of_fold : ndarray of shape (n_train,) or (n_train, n_classes)
        One model's scores out of :class:`InnerScores`, on the scale that the calibrator expects.
    inner : ndarray of shape (n_train,)
    test : ndarray of shape (n_inner, n_test) or (n_inner, n_test, n_classes)
    y_train : ndarray of shape (n_train,)

    Returns
    -------
    ndarray of shape (n_test,), or (n_test, n_classes) if there are more than two
        With two classes, the probability of the second.
    """
    found = []
    for i, scores in enumerate(test):
        rows = inner == i
        with quietly():
            p = calibrator().fit(out_of_fold[rows], y_train[rows]).predict_proba(scores)
        found.append(p[:, 1] if p.shape[1] == 2 else p)
    return np.asarray(np.mean(found, axis=0))


class quietly(warnings.catch_warnings):  # noqa: N801 - reads as a verb: with quietly()
    """A block in which our own warnings are not shown: small folds are often separable."""

    def __enter__(self) -> None:
        super().__enter__()
        warnings.simplefilter("ignore", TrueoddsWarning)


def clipped_log_loss(y: Any, p: Any, *, clip: float = 1e-16) -> float:
    """Log-loss with probabilities kept ``clip`` away from 0 and 1, as the papers' programs do.

    Isotonic regression gives exact zeros, whose log-loss would be infinite; with the clip it
    depends on ``clip``, which is therefore part of what is compared.
    """
    p = np.clip(np.asarray(p, dtype=np.float64), clip, 1 - clip)
    return float(-np.mean(np.where(np.asarray(y) == 1, np.log(p), np.log1p(-p))))


LEAST_REPEATS, MOST_REPEATS, BUDGET = 3, 201, 0.5


def cpu_seconds(call: Callable[[], object]) -> float:
    """Return the median time of the calls that fit into half a second; the first is not counted."""
    call()
    times: list[float] = []
    while len(times) < LEAST_REPEATS or (sum(times) < BUDGET and len(times) < MOST_REPEATS):
        begin = time.process_time()
        call()
        times.append(time.process_time() - begin)
    return statistics.median(times)
