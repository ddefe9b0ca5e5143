"""LogitBoost with simple regressions on one score column at a time (paper, section 3).

A node's model is F_k(x) = Σ_a coef[k, a]·s_a + coef[k, A], one row for each modelled class. With
two classes only the positive one is modelled and p = σ(F₁), because the regression of the other
class is its mirror image; otherwise p = softmax(F).
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

__all__ = ["BoostedRows", "Booster"]

NEGLIGIBLE = cython.declare(cython.double, 1e-24)
"""A column whose weighted variance is below this share of its squared range is constant."""

BLOCK = cython.declare(cython.Py_ssize_t, 256)
"""Rows that go through the softmax together, in the processor's cache."""

EXPONENT_LIMIT = cython.declare(cython.double, 709.0)  # beyond it exp overflows
INFINITY = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class BoostedRows:
    """Up to ``capacity`` rows, laid out with rows last: scores (A, n), F and p (K, n)."""

    def __init__(self, n_columns, n_classes, capacity):
        n_models = 1 if n_classes == 2 else n_classes
        self.n, self.n_columns, self.n_classes, self.n_models = 0, n_columns, n_classes, n_models
        self.scores = np.empty((n_columns, capacity))
        self.y, self.weight = np.empty(capacity, np.int32), np.empty(capacity)
        self.top, self.total = np.empty(BLOCK), np.empty(BLOCK)
        self.F, self.p = np.empty((n_models, capacity)), np.empty((n_models, capacity))

    def take(self, scores, y, weight, rows):
        """Replace the rows by these rows of the arrays."""
        i: cython.Py_ssize_t
        self.n = 0
        for i in range(rows.shape[0]):
            self.add(scores, y[rows[i]], weight[rows[i]], rows[i])

    def add(self, scores, label, weight, row):
        """One more row."""
        a: cython.Py_ssize_t
        for a in range(self.n_columns):
            self.scores[a, self.n] = scores[a, row]
        self.y[self.n], self.weight[self.n] = label, weight
        self.n += 1

    def evaluate(self, coef):
        """Fill F and p from the coefficients."""
        k: cython.Py_ssize_t
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for k in range(self.n_models):
            for i in range(self.n):
                self.F[k, i] = coef[k, self.n_columns]
            for a in range(self.n_columns):
                slope: cython.double = coef[k, a]
                if slope != 0.0:
                    for i in range(self.n):
                        self.F[k, i] += slope * self.scores[a, i]
        self.link()

    def link(self):
        """Fill p from F."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        if self.n_models == 1:
            for i in range(self.n):
                self.p[0, i] = 1.0 / (1.0 + math.exp(min(-self.F[0, i], EXPONENT_LIMIT)))
            return
        begin: cython.Py_ssize_t = 0
        while begin < self.n:
            end: cython.Py_ssize_t = min(begin + BLOCK, self.n)
            for i in range(begin, end):
                self.top[i - begin], self.total[i - begin] = self.F[0, i], 0.0
            for k in range(1, self.n_models):
                for i in range(begin, end):
                    self.top[i - begin] = max(self.top[i - begin], self.F[k, i])
            # The largest exponent is 1: exp(0) takes a branch that no processor can foresee.
            for k in range(self.n_models):
                for i in range(begin, end):
                    self.p[k, i] = math.exp(self.F[k, i] - self.top[i - begin] + 1.0)
                    self.total[i - begin] += self.p[k, i]
            for k in range(self.n_models):
                for i in range(begin, end):
                    self.p[k, i] /= self.total[i - begin]
            begin = end

    def squared_error(self):
        """Weighted sum over rows of the mean over classes of (p − y)², the paper's equation 3."""
        total: cython.double = 0.0
        d: cython.double
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for i in range(self.n):
            if self.n_models == 1:
                d = self.p[0, i] - self.y[i]
                total += self.weight[i] * d * d
            else:
                row: cython.double = 0.0
                for k in range(self.n_models):
                    d = self.p[k, i] - (1.0 if self.y[i] == k else 0.0)
                    row += d * d
                total += self.weight[i] * row / self.n_classes
        return total

    def wrong_weight(self):
        """Weight of the rows whose most probable class (the first of equals) is not theirs."""
        total: cython.double = 0.0
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        best: cython.Py_ssize_t
        for i in range(self.n):
            if self.n_models == 1:
                best = 1 if self.p[0, i] > 0.5 else 0
            else:
                best = 0
                for k in range(1, self.n_models):
                    if self.p[k, i] > self.p[best, i]:
                        best = k
            if best != self.y[i]:
                total += self.weight[i]
        return total


@cython.final
@cython.cclass
class Booster:
    """Boosts models of samples of up to ``capacity`` rows.

    Parameters
    ----------
    targets : array of shape (n_classes, n_classes)
        ``targets[i, j]`` is what class j is taken for in a row of class i.
    n_columns, capacity : int
        Of the samples.
    most, patience, slack
        See :meth:`choose_iterations`.
    """

    def __init__(self, targets, n_columns, capacity, *, most, patience, slack):
        n_classes = len(targets)
        n_models = 1 if n_classes == 2 else n_classes
        self.targets = targets
        self.share = (n_models - 1) / n_models if n_models > 1 else 1.0
        self.most, self.patience, self.slack = most, patience, slack
        self.error = np.empty(most + 1)
        self.train = BoostedRows(n_columns, n_classes, capacity)
        self.test = BoostedRows(n_columns, n_classes, capacity)
        self.centre, self.spread = np.empty((n_models, n_columns)), np.empty(n_columns)
        self.wanted = np.empty((n_models, capacity))
        self.column = np.zeros(n_models, np.int64)
        self.slope, self.intercept = np.zeros(n_models), np.zeros(n_models)
        self.work, self.resid = np.empty(capacity), np.empty(capacity)

    def boost(self, sample, n_iterations, coef):
        """Run iterations from the sample's F and p; returns how many could be done."""
        iteration: cython.Py_ssize_t
        self.prepare(sample)
        for iteration in range(n_iterations):
            if not self.regress(sample):
                return iteration
            self.accumulate(coef)
            self.advance(sample)
        return n_iterations

    def choose_iterations(self, sample, start, test_weight):
        """The number of iterations with the least cross-validated RMSE, summed over the folds.

        A fold stops early at the iteration after ``patience`` consecutive ones that did not improve
        the sum of the folds so far; later folds run no longer than the shortest before them. At
        most ``most`` are tried. The first number whose error is within ``slack`` of the least one
        is taken: once the fit has converged, the least one of all is a matter of rounding.
        """
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        shortest: cython.Py_ssize_t = self.most
        for i in range(self.most + 1):
            self.error[i] = 0.0
        for fold in range(test_weight.shape[0]):
            self.train.n = self.test.n = 0
            for i in range(sample.n):
                held: cython.double = test_weight[fold, i]
                if held > 0.0:
                    self.test.add(sample.scores, sample.y[i], held, i)
                if sample.weight[i] - held > 0.0:
                    self.train.add(sample.scores, sample.y[i], sample.weight[i] - held, i)
            if self.test.n > 0 and self.train.n > 0:
                self.train.evaluate(start)
                self.test.evaluate(start)
                shortest = self.run_fold(shortest)
        least: cython.double = INFINITY
        for i in range(shortest + 1):
            least = min(least, self.error[i])
        for i in range(shortest + 1):
            if self.error[i] <= least * (1.0 + self.slack):
                return i
        return shortest

    def run_fold(self, shortest):
        """Boost on ``train`` and add the errors on ``test``; returns the number of iterations."""
        total: cython.double = 0.0
        least: cython.double = INFINITY
        failures: cython.Py_ssize_t = 0
        done: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        for i in range(self.test.n):
            total += self.test.weight[i]
        self.prepare(self.train)
        self.error[0] += math.sqrt(self.test.squared_error() / total)
        while done < shortest and self.regress(self.train):
            self.advance(self.train)
            self.advance(self.test)
            done += 1
            self.error[done] += math.sqrt(self.test.squared_error() / total)
            if failures >= self.patience:
                break
            if self.error[done] < least:
                least, failures = self.error[done], 0
            else:
                failures += 1
        return done

    def prepare(self, sample):
        """What the rows are to be taken for; range and weighted mean of each column."""
        a: cython.Py_ssize_t
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for k in range(sample.n_models):
            of_class: cython.Py_ssize_t = 1 if sample.n_models == 1 else k
            for i in range(sample.n):
                self.wanted[k, i] = self.targets[sample.y[i], of_class]
        for a in range(self.spread.shape[0]):
            first: cython.double = sample.scores[a, 0]
            total: cython.double = 0.0
            mean: cython.double = 0.0
            widest: cython.double = 0.0
            for i in range(sample.n):
                d: cython.double = sample.scores[a, i] - first
                mean += sample.weight[i] * d
                total += sample.weight[i]
                widest = max(widest, abs(d))
            self.spread[a] = widest
            for k in range(sample.n_models):
                self.centre[k, a] = first + mean / total

    def regress(self, sample):
        """Fit one regression for each modelled class; False if some class has no weight left.

        The working response of a row is z = 1/p, at most 3, for its own class and −1/(1−p), at
        least −3, for others, with weight (t − p)/z. So weight·z = t − p, and the weight needs no
        division.
        """
        k: cython.Py_ssize_t
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        d: cython.double
        for k in range(sample.n_models):
            total: cython.double = 0.0
            pull: cython.double = 0.0
            for i in range(sample.n):
                q: cython.double = sample.p[k, i]
                target: cython.double = self.wanted[k, i]
                own: cython.double = (1.0 - q) * max(q, 1.0 / 3.0)
                other: cython.double = q * max(1.0 - q, 1.0 / 3.0)
                w: cython.double = sample.weight[i] * (target * own + (1.0 - target) * other)
                r: cython.double = sample.weight[i] * (target - q)
                self.work[i], self.resid[i] = w, r
                total += w
                pull += r
            if not total > 0.0:
                return False
            mean: cython.double = pull / total
            # Without a usable column only the mean is fitted: the program is left to rounding here.
            best: cython.double = -1.0
            self.column[k], self.slope[k], self.intercept[k] = 0, 0.0, mean
            for a in range(sample.n_columns):
                if self.spread[a] == 0.0:
                    continue
                origin: cython.double = self.centre[k, a]
                is_near: cython.bint = False
                while True:
                    sx: cython.double = 0.0
                    sxx: cython.double = 0.0
                    sxr: cython.double = 0.0
                    for i in range(sample.n):
                        d = sample.scores[a, i] - origin
                        sx += self.work[i] * d
                        sxx += self.work[i] * d * d
                        sxr += self.resid[i] * d
                    shift: cython.double = sx / total
                    variance: cython.double = sxx - sx * shift
                    if is_near or not variance < 1e-6 * sxx:
                        break
                    origin += shift  # it lay far off: too many digits were lost
                    is_near = True
                # The weights change little from one iteration to the next, so this mean is a good
                # origin for the next one, and one pass is as exact as two.
                self.centre[k, a] = origin + shift
                if not variance > NEGLIGIBLE * total * self.spread[a] * self.spread[a]:
                    continue
                covariance: cython.double = sxr - pull * shift
                explained: cython.double = covariance * covariance / variance
                if explained > best:
                    best = explained
                    self.column[k], self.slope[k] = a, covariance / variance
                    self.intercept[k] = mean - self.slope[k] * (origin + shift)
        return True

    def advance(self, sample):
        """Add the regressions, centred over the classes and times (m−1)/m, to F."""
        m: cython.Py_ssize_t = sample.n_models
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        slope: cython.double
        intercept: cython.double
        for i in range(sample.n):
            self.work[i] = 0.0
        if m > 1:
            for k in range(m):
                a, slope, intercept = self.column[k], self.slope[k], self.intercept[k]
                for i in range(sample.n):
                    self.work[i] += slope * sample.scores[a, i] + intercept
            for i in range(sample.n):
                self.work[i] /= m
        share: cython.double = self.share
        for k in range(m):
            a, slope, intercept = self.column[k], self.slope[k], self.intercept[k]
            for i in range(sample.n):
                sample.F[k, i] += share * (slope * sample.scores[a, i] + intercept - self.work[i])
        sample.link()

    def accumulate(self, coef):
        """Add the regressions, centred likewise, to the coefficients."""
        m: cython.Py_ssize_t = coef.shape[0]
        last: cython.Py_ssize_t = coef.shape[1] - 1
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for j in range(m):
            for k in range(m):
                factor: cython.double = 1.0 if j == k else 0.0
                if m > 1:
                    factor = self.share * (factor - 1.0 / m)
                coef[k, self.column[j]] += factor * self.slope[j]
                coef[k, last] += factor * self.intercept[j]
