"""LogitBoost with simple regressions on one score column at a time (paper, section 3).

A node's model is F_k(x) = Σ_a coef[k, a]·s_a + coef[k, A], one row for each modelled class. With
two classes only the positive one is modelled and p = σ(F₁), because the regression of the other
class is its mirror image; otherwise p = softmax(F).
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import add_column_moments, exp_in_place
else:
    from trueodds.kernels.elementary import add_column_moments, exp_in_place

__all__ = ["BoostedRows", "Booster"]

NEGLIGIBLE = cython.declare(cython.double, 1e-24)
"""A column whose weighted variance is below this share of its squared range is constant."""

BLOCK = cython.declare(cython.Py_ssize_t, 256)
"""Rows that are worked on together, in the processor's cache."""

EXPONENT_LIMIT = cython.declare(cython.double, 708.0)  # exp(−708) is not subnormal
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
        begin: cython.Py_ssize_t = 0
        while begin < self.n:
            self.link(begin, min(begin + BLOCK, self.n))
            begin += BLOCK

    def link(self, begin, end):
        """Fill p from F in a block of rows."""
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = end - begin
        if self.n_models == 1:
            for i in range(n):
                self.total[i] = -self.F[0, begin + i]
            exp_in_place(self.total[:n])
            for i in range(n):
                self.p[0, begin + i] = 1.0 / (1.0 + self.total[i])
            return
        for i in range(n):
            self.top[i], self.total[i] = self.F[0, begin + i], 0.0
        for k in range(1, self.n_models):
            for i in range(n):
                self.top[i] = max(self.top[i], self.F[k, begin + i])
        for k in range(self.n_models):
            for i in range(n):
                self.p[k, begin + i] = self.F[k, begin + i] - self.top[i]
            exp_in_place(self.p[k, begin:end])
            for i in range(n):
                # No subnormal numbers: a class whose rows are all certain has no weight left.
                near: cython.bint = self.F[k, begin + i] - self.top[i] >= -EXPONENT_LIMIT
                odds: cython.double = self.p[k, begin + i] if near else 0.0
                self.p[k, begin + i] = odds
                self.total[i] += odds
        for i in range(n):
            self.total[i] = 1.0 / self.total[i]
        for k in range(self.n_models):
            for i in range(n):
                self.p[k, begin + i] *= self.total[i]

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
        self.work, self.resid = np.empty(BLOCK), np.empty(BLOCK)
        self.sums = np.empty((n_models, n_columns + 1, 3))

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
        """Fit one regression for each modelled class; False if some class has no weight left."""
        k: cython.Py_ssize_t
        begin: cython.Py_ssize_t = 0
        self.sums[:, :, :] = 0.0
        while begin < sample.n:
            for k in range(sample.n_models):
                self.measure(sample, k, begin)
            begin += BLOCK
        fitted: cython.bint = True
        for k in range(sample.n_models):
            fitted = fitted and self.choose_column(sample, k)
        return fitted

    def measure(self, sample, k, begin):
        """Add what the regressions of a class need to know of a block of rows.

        The working response of a row is z = 1/p, at most 3, for its own class and −1/(1−p), at
        least −3, for others, with weight (t − p)/z. So weight·z = t − p, and the weight needs no
        division.
        """
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = min(BLOCK, sample.n - begin)
        for i in range(n):
            q: cython.double = sample.p[k, begin + i]
            target: cython.double = self.wanted[k, begin + i]
            own: cython.double = (1.0 - q) * max(q, 1.0 / 3.0)
            other: cython.double = q * max(1.0 - q, 1.0 / 3.0)
            weight: cython.double = sample.weight[begin + i]
            self.work[i] = weight * (target * own + (1.0 - target) * other)
            self.resid[i] = weight * (target - q)
        add_column_moments(
            sample.scores, begin, self.work, self.resid, n, self.centre[k], self.sums[k]
        )

    def choose_column(self, sample, k):
        """The column whose regression explains most of a class; False if it has no weight left."""
        a: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        total: cython.double = self.sums[k, sample.n_columns, 0]
        pull: cython.double = self.sums[k, sample.n_columns, 1]
        if not total > 0.0:
            return False
        far: cython.bint = False
        for a in range(sample.n_columns):
            if self.spread[a] > 0.0 and _is_imprecise(
                self.sums[k, a, 0], self.sums[k, a, 1], total
            ):
                self.centre[k, a] += self.sums[k, a, 0] / total
                far = True
        if far:  # some origin lay so far off that too many digits were lost
            self.sums[k, :, :] = 0.0
            begin = 0
            while begin < sample.n:
                self.measure(sample, k, begin)
                begin += BLOCK
        mean: cython.double = pull / total
        # Without a usable column only the mean is fitted: the program is left to rounding here.
        best: cython.double = -1.0
        self.column[k], self.slope[k], self.intercept[k] = 0, 0.0, mean
        for a in range(sample.n_columns):
            if self.spread[a] == 0.0:
                continue
            shift: cython.double = self.sums[k, a, 0] / total
            variance: cython.double = self.sums[k, a, 1] - self.sums[k, a, 0] * shift
            # The weights change little from one iteration to the next, so this mean is a good
            # origin for the next one, and one pass is as exact as two.
            self.centre[k, a] += shift
            if not variance > NEGLIGIBLE * total * self.spread[a] * self.spread[a]:
                continue
            covariance: cython.double = self.sums[k, a, 2] - pull * shift
            explained: cython.double = covariance * covariance / variance
            if explained > best:
                best = explained
                self.column[k], self.slope[k] = a, covariance / variance
                self.intercept[k] = mean - self.slope[k] * self.centre[k, a]
        return True

    def advance(self, sample):
        """Add the regressions, centred over the classes and times (m−1)/m, to F; fill p."""
        m: cython.Py_ssize_t = sample.n_models
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        slope: cython.double
        intercept: cython.double
        share: cython.double = self.share
        begin: cython.Py_ssize_t = 0
        while begin < sample.n:
            n: cython.Py_ssize_t = min(BLOCK, sample.n - begin)
            for i in range(n):
                self.work[i] = 0.0
            if m > 1:
                for k in range(m):
                    a, slope, intercept = self.column[k], self.slope[k], self.intercept[k]
                    for i in range(n):
                        self.work[i] += slope * sample.scores[a, begin + i] + intercept
                for i in range(n):
                    self.work[i] /= m
            for k in range(m):
                a, slope, intercept = self.column[k], self.slope[k], self.intercept[k]
                for i in range(n):
                    change: cython.double = slope * sample.scores[a, begin + i] + intercept
                    sample.F[k, begin + i] += share * (change - self.work[i])
            sample.link(begin, begin + n)
            begin += BLOCK

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


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_imprecise(first: cython.double, second: cython.double, total: cython.double) -> cython.bint:
    """Whether a variance computed from these moments has lost more than six digits."""
    return second - first * first / total < 1e-6 * second
