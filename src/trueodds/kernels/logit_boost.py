"""LogitBoost with simple regressions on one score column at a time (paper, section 3).

A node's model is F_k(x) = Σ_a coef[k, a]·s_a + coef[k, A], one row for each modelled class. With
two classes only the positive one is modelled and p = σ(F₁), because the regression of the other
class is its mirror image; otherwise p = softmax(F).

Arrays of a node are laid out with rows last: scores (A, n), F and p (K, n).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

__all__ = ["boost", "choose_iterations", "probabilities", "squared_error", "wrong_weight"]

# Sums may be reordered, but NaN and infinity keep their meaning.
REORDER = {"reassoc", "contract", "nsz"}

NEGLIGIBLE = 1e-24
"""A column whose weighted variance is below this share of its squared range is constant."""


@njit(cache=True, error_model="numpy", fastmath=REORDER)
def probabilities(scores, coef, F, p):  # type: ignore[no-untyped-def]
    """Fill F and p of every row from the coefficients."""
    n_models, n_columns = coef.shape[0], coef.shape[1] - 1
    n = scores.shape[1]
    for k in range(n_models):
        for i in range(n):
            F[k, i] = coef[k, n_columns]
        for a in range(n_columns):
            slope = coef[k, a]
            if slope != 0.0:
                for i in range(n):
                    F[k, i] += slope * scores[a, i]
    _link(F, p)


@njit(cache=True, error_model="numpy")
def _link(F, p):  # type: ignore[no-untyped-def]
    n_models, n = F.shape
    if n_models == 1:
        for i in range(n):
            p[0, i] = 1.0 / (1.0 + math.exp(-F[0, i]))
        return
    for i in range(n):
        top = F[0, i]
        for k in range(1, n_models):
            top = max(top, F[k, i])
        total = 0.0
        for k in range(n_models):
            p[k, i] = math.exp(F[k, i] - top)
            total += p[k, i]
        for k in range(n_models):
            p[k, i] /= total


@njit(cache=True, error_model="numpy", fastmath=REORDER)
def _regress(scores, p, y, weight, targets, spread, centre, column, slope, intercept, work, resid):  # type: ignore[no-untyped-def]
    """Fit one regression for each modelled class; False if some class has no weight left.

    The working response of a row is z = 1/p, at most 3, for its own class and −1/(1−p), at least
    −3, for others, with weight (t − p)/z. So weight·z = t − p, and the weight needs no division.
    """
    n_models, n = p.shape
    n_columns = scores.shape[0]
    for k in range(n_models):
        total, pull = 0.0, 0.0
        of_class = targets.shape[0] - 1 if n_models == 1 else k
        for i in range(n):
            q = p[k, i]
            target = targets[y[i], of_class]
            own = (1.0 - q) * max(q, 1.0 / 3.0)
            other = q * max(1.0 - q, 1.0 / 3.0)
            w = weight[i] * (target * own + (1.0 - target) * other)
            work[i] = w
            resid[i] = weight[i] * (target - q)
            total += w
            pull += resid[i]
        if not total > 0.0:
            return False
        mean = pull / total
        # Without a usable column only the mean is fitted: the program is left to rounding here.
        best, column[k], slope[k], intercept[k] = -1.0, 0, 0.0, mean
        for a in range(n_columns):
            if spread[a] == 0.0:
                continue
            origin = centre[k, a]
            sx, sxx, sxr = 0.0, 0.0, 0.0
            for i in range(n):
                d = scores[a, i] - origin
                sx += work[i] * d
                sxx += work[i] * d * d
                sxr += resid[i] * d
            shift = sx / total
            variance = sxx - sx * shift
            if variance < 1e-6 * sxx:  # the origin lay far off: too many digits were lost
                origin += shift
                sx, sxx, sxr = 0.0, 0.0, 0.0
                for i in range(n):
                    d = scores[a, i] - origin
                    sx += work[i] * d
                    sxx += work[i] * d * d
                    sxr += resid[i] * d
                shift = sx / total
                variance = sxx - sx * shift
            # The weights change little from one iteration to the next, so this mean is a good
            # origin for the next one, and one pass is as exact as two.
            centre[k, a] = origin + shift
            if not variance > NEGLIGIBLE * total * spread[a] * spread[a]:
                continue
            covariance = sxr - pull * shift
            explained = covariance * covariance / variance
            if explained > best:
                best = explained
                column[k] = a
                slope[k] = covariance / variance
                intercept[k] = mean - slope[k] * (origin + shift)
    return True


@njit(cache=True, error_model="numpy")
def _advance(scores, column, slope, intercept, F, p, step):  # type: ignore[no-untyped-def]
    """Add the regressions, centred over the classes and times (m−1)/m, to F."""
    n_models, n = F.shape
    if n_models == 1:
        a, b, c = column[0], slope[0], intercept[0]
        for i in range(n):
            F[0, i] += b * scores[a, i] + c
    else:
        for i in range(n):
            step[i] = 0.0
        for k in range(n_models):
            a, b, c = column[k], slope[k], intercept[k]
            for i in range(n):
                step[i] += b * scores[a, i] + c
        share = (n_models - 1.0) / n_models
        for i in range(n):
            step[i] /= n_models
        for k in range(n_models):
            a, b, c = column[k], slope[k], intercept[k]
            for i in range(n):
                F[k, i] += share * (b * scores[a, i] + c - step[i])
    _link(F, p)


@njit(cache=True, error_model="numpy")
def _accumulate(column, slope, intercept, coef):  # type: ignore[no-untyped-def]
    n_models, last = coef.shape[0], coef.shape[1] - 1
    if n_models == 1:
        coef[0, column[0]] += slope[0]
        coef[0, last] += intercept[0]
        return
    share = (n_models - 1.0) / n_models
    for j in range(n_models):
        for k in range(n_models):
            factor = share * ((1.0 if j == k else 0.0) - 1.0 / n_models)
            coef[k, column[j]] += factor * slope[j]
            coef[k, last] += factor * intercept[j]


@njit(cache=True, error_model="numpy")
def _origins(scores, weight, n_models, centre, spread):  # type: ignore[no-untyped-def]
    n_columns, n = scores.shape
    for a in range(n_columns):
        first = scores[a, 0]
        total, mean, widest = 0.0, 0.0, 0.0
        for i in range(n):
            d = scores[a, i] - first
            mean += weight[i] * d
            total += weight[i]
            widest = max(widest, abs(d))
        spread[a] = widest
        for k in range(n_models):
            centre[k, a] = first + mean / total


@njit(cache=True, error_model="numpy")
def boost(scores, y, weight, targets, n_iterations, coef, F, p):  # type: ignore[no-untyped-def]
    """Run iterations from the present state; returns how many could be done."""
    n_models, n = F.shape
    n_columns = scores.shape[0]
    centre = np.empty((n_models, n_columns))
    spread = np.empty(n_columns)
    column = np.zeros(n_models, np.int64)
    slope, intercept = np.zeros(n_models), np.zeros(n_models)
    work, resid = np.empty(n), np.empty(n)
    _origins(scores, weight, n_models, centre, spread)
    for iteration in range(n_iterations):
        if not _regress(
            scores, p, y, weight, targets, spread, centre, column, slope, intercept, work, resid
        ):
            return iteration
        _accumulate(column, slope, intercept, coef)
        _advance(scores, column, slope, intercept, F, p, work)
    return n_iterations


@njit(cache=True, error_model="numpy")
def squared_error(p, y, weight, n_classes):  # type: ignore[no-untyped-def]
    """Weighted sum over rows of the mean over classes of (p − y)², the paper's equation 3."""
    n_models, n = p.shape
    total = 0.0
    for i in range(n):
        if n_models == 1:
            d = p[0, i] - y[i]
            total += weight[i] * d * d
        else:
            row = 0.0
            for k in range(n_models):
                d = p[k, i] - (1.0 if y[i] == k else 0.0)
                row += d * d
            total += weight[i] * row / n_classes
    return total


@njit(cache=True, error_model="numpy")
def wrong_weight(p, y, weight):  # type: ignore[no-untyped-def]
    """Weight of the rows whose most probable class (the first of equals) is not theirs."""
    n_models, n = p.shape
    total = 0.0
    for i in range(n):
        if n_models == 1:
            best = 1 if p[0, i] > 0.5 else 0
        else:
            best = 0
            for k in range(1, n_models):
                if p[k, i] > p[best, i]:
                    best = k
        if best != y[i]:
            total += weight[i]
    return total


@njit(cache=True, error_model="numpy")
def _part(scores, y, weight):  # type: ignore[no-untyped-def]
    """The rows of positive weight."""
    n_columns, n = scores.shape
    size = 0
    for i in range(n):
        if weight[i] > 0.0:
            size += 1
    part = np.empty((n_columns, size))
    labels, mass = np.empty(size, np.int32), np.empty(size)
    j = 0
    for i in range(n):
        if weight[i] > 0.0:
            for a in range(n_columns):
                part[a, j] = scores[a, i]
            labels[j] = y[i]
            mass[j] = weight[i]
            j += 1
    return part, labels, mass


@njit(cache=True, error_model="numpy")
def choose_iterations(scores, y, weight, targets, start, test_weight, most, patience, slack):  # type: ignore[no-untyped-def]
    """The number of iterations with the least cross-validated RMSE, summed over the folds.

    A fold stops early at the iteration after ``patience`` consecutive ones that did not improve
    the sum of the folds so far; later folds run no longer than the shortest before them. The first
    number whose error is within ``slack`` of the least one is taken: once the fit has converged,
    the least one of all is a matter of rounding.
    """
    n_models, n_columns, n_classes = start.shape[0], scores.shape[0], len(targets)
    error, rest = np.zeros(most + 1), np.empty(len(y))
    shortest = most
    column = np.zeros(n_models, np.int64)
    slope, intercept = np.zeros(n_models), np.zeros(n_models)
    centre, spread = np.empty((n_models, n_columns)), np.empty(n_columns)
    for fold in range(test_weight.shape[0]):
        for i in range(len(y)):
            rest[i] = weight[i] - test_weight[fold, i]
        train, y_train, w_train = _part(scores, y, rest)
        test, y_test, w_test = _part(scores, y, test_weight[fold])
        if len(y_test) == 0 or len(y_train) == 0:
            continue
        n_train, n_test = len(y_train), len(y_test)
        F, p = np.empty((n_models, n_train)), np.empty((n_models, n_train))
        F_test, p_test = np.empty((n_models, n_test)), np.empty((n_models, n_test))
        probabilities(train, start, F, p)
        probabilities(test, start, F_test, p_test)
        _origins(train, w_train, n_models, centre, spread)
        work, resid, step = np.empty(n_train), np.empty(n_train), np.empty(n_test)
        total = 0.0
        for i in range(n_test):
            total += w_test[i]
        error[0] += math.sqrt(squared_error(p_test, y_test, w_test, n_classes) / total)
        least, failures, done = np.inf, 0, 0
        while done < shortest:
            if not _regress(
                train,
                p,
                y_train,
                w_train,
                targets,
                spread,
                centre,
                column,
                slope,
                intercept,
                work,
                resid,
            ):
                break
            _advance(train, column, slope, intercept, F, p, work)
            _advance(test, column, slope, intercept, F_test, p_test, step)
            done += 1
            error[done] += math.sqrt(squared_error(p_test, y_test, w_test, n_classes) / total)
            if failures >= patience:
                break
            if error[done] < least:
                least, failures = error[done], 0
            else:
                failures += 1
        shortest = min(shortest, done)
    least = np.inf
    for iteration in range(shortest + 1):
        least = min(least, error[iteration])
    for iteration in range(shortest + 1):
        if error[iteration] <= least * (1.0 + slack):
            return iteration
    return shortest
