"""Calibration trees: growing, splitting, boosting at the nodes, and pruning."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import cython
import numpy as np
import numpy.typing as npt
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import add_column_moments, exp_in_place
else:
    from trueodds.kernels.elementary import add_column_moments, exp_in_place

__all__ = [
    "BoostedRows",
    "Booster",
    "GrowRules",
    "Nodes",
    "Pruner",
    "Splitter",
    "TreeFolds",
    "TreeGrower",
    "entropy_table",
    "subtree_ends",
]

# LogitBoost --------------------------------------------------------------------------------------
# LogitBoost with simple regressions on one score column at a time (paper, section 3).
#
# The model of a node is F_k(x) = Σ_a coef[k, a]·s_a + coef[k, A], one row for each modeled class.
# With two classes only the positive one is modeled and p = σ(F₁), because the regression of the
# other class is its negative; otherwise p = softmax(F).

CONSTANT_COLUMN = cython.declare(cython.double, 1e-24)
"""A column whose weighted variance is below this share of its squared range is constant."""

BLOCK = cython.declare(cython.Py_ssize_t, 256)
"""Rows of a block, which fit into the cache."""

EXPONENT_LIMIT = cython.declare(cython.double, 708.0)  # exp(−708) is not subnormal
INFINITY = cython.declare(cython.double, float("inf"))


@cython.final
@cython.cclass
class BoostedRows:
    """Up to ``capacity`` rows, stored with rows last: scores (A, n), F and p (K, n)."""

    n = cython.declare(cython.Py_ssize_t, visibility="readonly")
    n_models: cython.Py_ssize_t
    n_columns: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t
    scores: cython.double[:, ::1]
    F: cython.double[:, ::1]
    y: cython.int[::1]
    weight: cython.double[::1]
    top: cython.double[::1]
    total: cython.double[::1]
    p = cython.declare(cython.double[:, ::1], visibility="readonly")

    def __init__(self, n_columns, n_classes, capacity):
        n_models = 1 if n_classes == 2 else n_classes
        self.n, self.n_columns, self.n_classes, self.n_models = 0, n_columns, n_classes, n_models
        self.scores = np.empty((n_columns, capacity))
        self.y, self.weight = np.empty(capacity, np.int32), np.empty(capacity)
        self.top, self.total = np.empty(BLOCK), np.empty(BLOCK)
        self.F, self.p = np.empty((n_models, capacity)), np.empty((n_models, capacity))

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def take(
        self,
        scores: cython.const[cython.double][:, ::1],
        y: cython.const[cython.int][::1],
        weight: cython.const[cython.double][::1],
        rows: cython.const[cython.int][::1],
    ) -> cython.void:
        """Replace the rows by these rows of the arrays."""
        i: cython.Py_ssize_t
        self.n = 0
        for i in range(rows.shape[0]):
            self.add(scores, y[rows[i]], weight[rows[i]], rows[i])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add(
        self,
        scores: cython.const[cython.double][:, ::1],
        label: cython.int,
        weight: cython.double,
        row: cython.Py_ssize_t,
    ) -> cython.void:
        """Add a row."""
        a: cython.Py_ssize_t
        for a in range(self.n_columns):
            self.scores[a, self.n] = scores[a, row]
        self.y[self.n], self.weight[self.n] = label, weight
        self.n += 1

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def evaluate(self, coef: cython.const[cython.double][:, ::1]) -> cython.void:
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
            self.update_probabilities(begin, min(begin + BLOCK, self.n))
            begin += BLOCK

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def update_probabilities(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
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
                # No subnormal numbers: a class whose rows are all certain has weight 0.
                near: cython.bint = self.F[k, begin + i] - self.top[i] >= -EXPONENT_LIMIT
                odds: cython.double = self.p[k, begin + i] if near else 0.0
                self.p[k, begin + i] = odds
                self.total[i] += odds
        for i in range(n):
            self.total[i] = 1.0 / self.total[i]
        for k in range(self.n_models):
            for i in range(n):
                self.p[k, begin + i] *= self.total[i]

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def squared_error(self) -> cython.double:
        """Return the weighted sum over rows of the mean over classes of (p − y)² (equation 3)."""
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

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def wrong_weight(self) -> cython.double:
        """Return the weight of misclassified rows; the first of equally probable classes wins."""
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
        ``targets[i, j]`` is the target of class j in a row of class i.
    n_columns, capacity : int
        Columns and rows of the samples.
    most, patience, slack
        See :meth:`choose_iterations`.
    """

    train: BoostedRows
    test: BoostedRows
    targets: cython.const[cython.double][:, ::1]
    max_iterations: cython.Py_ssize_t
    patience: cython.Py_ssize_t
    slack: cython.double
    shrinkage: cython.double
    error: cython.double[::1]
    class_target: cython.double[:, ::1]
    center: cython.double[:, ::1]
    sums: cython.double[:, :, ::1]
    column_range: cython.double[::1]
    slope: cython.double[::1]
    intercept: cython.double[::1]
    work: cython.double[::1]
    residual: cython.double[::1]
    column: cython.longlong[::1]

    def __init__(self, targets, n_columns, capacity, *, max_iterations, patience, slack):
        n_classes = len(targets)
        n_models = 1 if n_classes == 2 else n_classes
        self.targets = targets
        self.shrinkage = (n_models - 1) / n_models if n_models > 1 else 1.0
        self.max_iterations, self.patience, self.slack = max_iterations, patience, slack
        self.error = np.empty(max_iterations + 1)
        self.train = BoostedRows(n_columns, n_classes, capacity)
        self.test = BoostedRows(n_columns, n_classes, capacity)
        self.center, self.column_range = np.empty((n_models, n_columns)), np.empty(n_columns)
        self.class_target = np.empty((n_models, capacity))
        self.column = np.zeros(n_models, np.int64)
        self.slope, self.intercept = np.zeros(n_models), np.zeros(n_models)
        self.work, self.residual = np.empty(BLOCK), np.empty(BLOCK)
        self.sums = np.empty((n_models, n_columns + 1, 3))

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def boost(
        self, sample: BoostedRows, n_iterations: cython.Py_ssize_t, coef: cython.double[:, ::1]
    ) -> cython.Py_ssize_t:
        """Run iterations from the sample's F and p; return how many were possible."""
        iteration: cython.Py_ssize_t
        self.prepare(sample)
        for iteration in range(n_iterations):
            if not self.fit_regressions(sample):
                return iteration
            self.update_coefficients(coef)
            self.update_scores(sample)
        return n_iterations

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def choose_iterations(
        self,
        sample: BoostedRows,
        start: cython.const[cython.double][:, ::1],
        test_weight: cython.const[cython.double][:, ::1],
    ) -> cython.Py_ssize_t:
        """Return the number of iterations with the least cross-validated RMSE, summed over folds.

        A fold stops at the iteration after ``patience`` consecutive ones that did not improve the
        sum of the folds so far. Later folds run no longer than the shortest before them. At most
        ``max_iterations`` are tried. The first number whose error is within ``slack`` of the least
        is returned: after convergence, the position of the minimum is due to rounding.
        """
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        shortest: cython.Py_ssize_t = self.max_iterations
        for i in range(self.max_iterations + 1):
            self.error[i] = 0.0
        for fold in range(test_weight.shape[0]):
            self.train.n = self.test.n = 0
            for i in range(sample.n):
                held_weight: cython.double = test_weight[fold, i]
                if held_weight > 0.0:
                    self.test.add(sample.scores, sample.y[i], held_weight, i)
                if sample.weight[i] - held_weight > 0.0:
                    self.train.add(sample.scores, sample.y[i], sample.weight[i] - held_weight, i)
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

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def run_fold(self, shortest: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Boost on ``train`` and add the errors on ``test``; return the number of iterations."""
        total: cython.double = 0.0
        least: cython.double = INFINITY
        failures: cython.Py_ssize_t = 0
        iterations: cython.Py_ssize_t = 0
        i: cython.Py_ssize_t
        for i in range(self.test.n):
            total += self.test.weight[i]
        self.prepare(self.train)
        self.error[0] += math.sqrt(self.test.squared_error() / total)
        while iterations < shortest and self.fit_regressions(self.train):
            self.update_scores(self.train)
            self.update_scores(self.test)
            iterations += 1
            self.error[iterations] += math.sqrt(self.test.squared_error() / total)
            if failures >= self.patience:
                break
            if self.error[iterations] < least:
                least, failures = self.error[iterations], 0
            else:
                failures += 1
        return iterations

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def prepare(self, sample: BoostedRows) -> cython.void:
        """Set the targets of the rows, and the range and weighted mean of each column."""
        a: cython.Py_ssize_t
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for k in range(sample.n_models):
            of_class: cython.Py_ssize_t = 1 if sample.n_models == 1 else k
            for i in range(sample.n):
                self.class_target[k, i] = self.targets[sample.y[i], of_class]
        for a in range(self.column_range.shape[0]):
            first: cython.double = sample.scores[a, 0]
            total: cython.double = 0.0
            mean: cython.double = 0.0
            widest: cython.double = 0.0
            for i in range(sample.n):
                d: cython.double = sample.scores[a, i] - first
                mean += sample.weight[i] * d
                total += sample.weight[i]
                widest = max(widest, abs(d))
            self.column_range[a] = widest
            for k in range(sample.n_models):
                self.center[k, a] = first + mean / total

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def fit_regressions(self, sample: BoostedRows) -> cython.bint:
        """Fit one regression for each modeled class; return False if a class has weight 0."""
        k: cython.Py_ssize_t
        begin: cython.Py_ssize_t = 0
        self.sums[:, :, :] = 0.0
        while begin < sample.n:
            for k in range(sample.n_models):
                self.add_block_moments(sample, k, begin)
            begin += BLOCK
        fitted: cython.bint = True
        for k in range(sample.n_models):
            fitted = fitted and self.choose_column(sample, k)
        return fitted

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def add_block_moments(
        self, sample: BoostedRows, k: cython.Py_ssize_t, begin: cython.Py_ssize_t
    ) -> cython.void:
        """Add the moments of a block of rows that the regressions of a class need.

        The working response of a row is z = 1/p, at most 3, for its own class and −1/(1−p), at
        least −3, for others, with weight (t − p)/z. So weight·z = t − p, and the weight needs no
        division.
        """
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t = min(BLOCK, sample.n - begin)
        for i in range(n):
            q: cython.double = sample.p[k, begin + i]
            target: cython.double = self.class_target[k, begin + i]
            own: cython.double = (1.0 - q) * max(q, 1.0 / 3.0)
            other: cython.double = q * max(1.0 - q, 1.0 / 3.0)
            weight: cython.double = sample.weight[begin + i]
            self.work[i] = weight * (target * own + (1.0 - target) * other)
            self.residual[i] = weight * (target - q)
        add_column_moments(
            sample.scores, begin, self.work, self.residual, n, self.center[k], self.sums[k]
        )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def choose_column(self, sample: BoostedRows, k: cython.Py_ssize_t) -> cython.bint:
        """Choose the column with the best regression of a class; False if its weight is 0."""
        a: cython.Py_ssize_t
        begin: cython.Py_ssize_t
        total: cython.double = self.sums[k, sample.n_columns, 0]
        residual_sum: cython.double = self.sums[k, sample.n_columns, 1]
        if not total > 0.0:
            return False
        recentered: cython.bint = False
        for a in range(sample.n_columns):
            if self.column_range[a] > 0.0 and _is_imprecise(
                self.sums[k, a, 0], self.sums[k, a, 1], total
            ):
                self.center[k, a] += self.sums[k, a, 0] / total
                recentered = True
        if recentered:  # an origin was so distant that too many digits were lost
            self.sums[k, :, :] = 0.0
            begin = 0
            while begin < sample.n:
                self.add_block_moments(sample, k, begin)
                begin += BLOCK
        mean: cython.double = residual_sum / total
        # Without a usable column only the mean is fitted; rounding decides in the authors' program.
        best: cython.double = -1.0
        self.column[k], self.slope[k], self.intercept[k] = 0, 0.0, mean
        for a in range(sample.n_columns):
            if self.column_range[a] == 0.0:
                continue
            shift: cython.double = self.sums[k, a, 0] / total
            variance: cython.double = self.sums[k, a, 1] - self.sums[k, a, 0] * shift
            # Weights change little between iterations, so this mean is a good origin for the next
            # one, and one pass is as exact as two.
            self.center[k, a] += shift
            if not variance > CONSTANT_COLUMN * total * self.column_range[a] * self.column_range[a]:
                continue
            covariance: cython.double = self.sums[k, a, 2] - residual_sum * shift
            explained: cython.double = covariance * covariance / variance
            if explained > best:
                best = explained
                self.column[k], self.slope[k] = a, covariance / variance
                self.intercept[k] = mean - self.slope[k] * self.center[k, a]
        return True

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def update_scores(self, sample: BoostedRows) -> cython.void:
        """Add the regressions, centered over the classes and times (m−1)/m, to F; fill p."""
        m: cython.Py_ssize_t = sample.n_models
        k: cython.Py_ssize_t
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        slope: cython.double
        intercept: cython.double
        shrinkage: cython.double = self.shrinkage
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
                    sample.F[k, begin + i] += shrinkage * (change - self.work[i])
            sample.update_probabilities(begin, begin + n)
            begin += BLOCK

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def update_coefficients(self, coef: cython.double[:, ::1]) -> cython.void:
        """Add the regressions, centered likewise, to the coefficients."""
        m: cython.Py_ssize_t = coef.shape[0]
        last: cython.Py_ssize_t = coef.shape[1] - 1
        j: cython.Py_ssize_t
        k: cython.Py_ssize_t
        for j in range(m):
            for k in range(m):
                factor: cython.double = 1.0 if j == k else 0.0
                if m > 1:
                    factor = self.shrinkage * (factor - 1.0 / m)
                coef[k, self.column[j]] += factor * self.slope[j]
                coef[k, last] += factor * self.intercept[j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _is_imprecise(first: cython.double, second: cython.double, total: cython.double) -> cython.bint:
    """Whether a variance computed from these moments has lost more than six digits."""
    return second - first * first / total < 1e-6 * second


# Splits ------------------------------------------------------------------------------------------
# The C4.5 split of a node: gain ratio among attributes of at least average gain (section 3).
#
# Gains are in bits per unit of weight. Numbers within ``WEKA_SMALL`` are equal, as in the authors'
# program, so that the first attribute or cut wins a tie for any rounding.

WEKA_SMALL = cython.declare(cython.double, 1e-6)
MIN_BRANCH_WEIGHT = cython.declare(cython.double, 2.0)
"""Least weight of two branches of a nominal split, and of both sides of a cut."""

TABLE_LIMIT = 1 << 22


def entropy_table(weight):
    """Return k·log₂k for all counts up to the sum; of length 1 if weights are not integers."""
    total = float(weight.sum())
    if not (weight == np.floor(weight)).all() or total >= TABLE_LIMIT:
        return np.zeros(1)
    counts = np.arange(int(total) + 1, dtype=np.float64)
    counts[1:] *= np.log2(counts[1:])
    return counts


@cython.final
@cython.cclass
class Splitter:
    """Chooses the splits of nodes, and sorts their rows into the branches.

    Each node has a segment of the training rows, of the test rows and of the sorted rows of every
    numeric attribute. A split partitions the segments in place and keeps order.

    Parameters
    ----------
    attributes : array of shape (n_attributes, n)
    n_values : int64 array of shape (n_attributes,)
        0 for a numeric attribute, otherwise the number of codes of a nominal one.
    y : int32 array of shape (n,)
    weight : array of shape (n,)
        The largest weights that rows have in any tree.
    n_classes : int
    min_gap : float
        Least distance between the values on both sides of a cut.
    """

    n_attributes: cython.Py_ssize_t
    n_classes: cython.Py_ssize_t
    min_gap: cython.double
    all_many_valued: cython.bint
    unit_weight: cython.bint
    # The whole training set.
    attributes: cython.const[cython.double][:, ::1]
    n_values: cython.const[cython.longlong][::1]
    many_valued: cython.const[cython.uchar][::1]
    sorted_rows: cython.const[cython.int][:, ::1]
    y: cython.const[cython.int][::1]
    table: cython.const[cython.double][::1]
    # The rows of the tree, with a segment for each node.
    n_train = cython.declare(cython.Py_ssize_t, visibility="readonly")
    n_test = cython.declare(cython.Py_ssize_t, visibility="readonly")
    weight: cython.const[cython.double][::1]
    rows: cython.int[::1]
    test_rows: cython.int[::1]
    order: cython.int[:, ::1]
    values: cython.double[:, ::1]
    # The current node.
    total = cython.declare(cython.double, visibility="readonly")
    largest = cython.declare(cython.double, visibility="readonly")
    cut = cython.declare(cython.double, visibility="readonly")
    counts: cython.double[::1]
    left: cython.double[::1]
    right: cython.double[::1]
    gains: cython.double[::1]
    ratios: cython.double[::1]
    cuts: cython.double[::1]
    cells: cython.double[:, ::1]
    n_branches = cython.declare(cython.Py_ssize_t, visibility="readonly")
    offsets: cython.longlong[::1]
    test_offsets: cython.longlong[::1]
    place: cython.longlong[::1]
    branch: cython.ushort[::1]
    buffer: cython.int[::1]
    value_buffer: cython.double[::1]

    def __init__(self, attributes, n_values, y, weight, n_classes, min_gap):
        d, n = attributes.shape
        self.n_attributes, self.n_classes, self.min_gap = d, n_classes, min_gap
        self.attributes, self.n_values, self.y = attributes, n_values, y
        # The gain of an attribute with about as many values as rows is always high.
        many_valued = n_values >= 0.3 * weight.sum() - 1e-6
        self.many_valued, self.all_many_valued = many_valued.view(np.uint8), many_valued.all()
        sorted_rows = np.zeros((d, n), dtype=np.int32)
        for a in np.flatnonzero(n_values == 0):
            sorted_rows[a] = np.argsort(attributes[a], kind="stable")
        self.sorted_rows, self.table = sorted_rows, entropy_table(weight)
        self.rows, self.test_rows = np.empty(n, np.int32), np.empty(n, np.int32)
        self.order, self.values = np.empty((d, n), np.int32), np.empty((d, n))
        self.counts, self.left, self.right = (np.empty(n_classes) for _ in range(3))
        self.gains, self.ratios, self.cuts = (np.empty(d) for _ in range(3))
        widest = max(2, *n_values)
        self.cells = np.empty((widest, n_classes))
        self.offsets, self.test_offsets, self.place = np.empty((3, widest + 1), np.int64)
        self.branch, self.buffer = np.empty(n, np.uint16), np.empty(n, np.int32)
        self.value_buffer = np.empty(n)

    def begin(
        self,
        weight: cython.const[cython.double][::1],
        test_weight: cython.const[cython.double][::1],
        sequence: cython.const[cython.int][::1],
    ):
        """Begin a tree with the rows of positive weight, in the order of ``sequence``."""
        a: cython.Py_ssize_t
        i: cython.Py_ssize_t
        n: cython.Py_ssize_t
        row: cython.int
        self.weight, self.unit_weight = weight, True
        self.n_train = self.n_test = 0
        for i in range(sequence.shape[0]):
            row = sequence[i]
            if weight[row] > 0.0:
                self.rows[self.n_train] = row
                self.n_train += 1
                if weight[row] != 1.0:
                    self.unit_weight = False
            if test_weight[row] > 0.0:
                self.test_rows[self.n_test] = row
                self.n_test += 1
        # Values are stored with the sorted rows, so that the search for a cut reads them in order.
        for a in range(self.n_attributes):
            if self.n_values[a] > 0:
                continue
            n = 0
            for i in range(sequence.shape[0]):
                row = self.sorted_rows[a, i]
                if weight[row] > 0.0:
                    self.order[a, n], self.values[a, n] = row, self.attributes[a, row]
                    n += 1

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def count(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.void:
        """Sum the weights of the classes of a node; sets ``total`` and ``largest``."""
        c: cython.Py_ssize_t
        i: cython.Py_ssize_t
        self.total = self.largest = 0.0
        for c in range(self.n_classes):
            self.counts[c] = 0.0
        for i in range(begin, end):
            self.counts[self.y[self.rows[i]]] += self.weight[self.rows[i]]
        for c in range(self.n_classes):
            self.total += self.counts[c]
            self.largest = max(self.largest, self.counts[c])

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def choose(self, begin: cython.Py_ssize_t, end: cython.Py_ssize_t) -> cython.Py_ssize_t:
        """Return the attribute to split the counted node on, or −1; sets ``cut``."""
        a: cython.Py_ssize_t
        usable: cython.Py_ssize_t = 0
        mean_gain: cython.double = 0.0
        for a in range(self.n_attributes):
            self.gains[a], self.ratios[a], self.cuts[a] = -1.0, 0.0, 0.0
            if self.n_values[a] > 0:
                self.nominal_gain(a, begin, end)
            else:
                self.numeric_gain(a, begin, end)
            if self.gains[a] >= 0.0 and (self.all_many_valued or not self.many_valued[a]):
                mean_gain += self.gains[a]
                usable += 1
        if usable == 0:
            return -1
        mean_gain /= usable
        best: cython.Py_ssize_t = -1
        best_ratio: cython.double = 0.0
        for a in range(self.n_attributes):
            if (
                self.gains[a] >= 0.0
                and self.gains[a] >= mean_gain - 1e-3
                and self.ratios[a] - best_ratio > WEKA_SMALL
            ):
                best, best_ratio, self.cut = a, self.ratios[a], self.cuts[a]
        return best

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def x_log_x(self, x: cython.double) -> cython.double:
        """Return x·log₂x."""
        if self.table.shape[0] > 1:
            return self.table[cython.cast(cython.Py_ssize_t, x)]
        return x * math.log2(x) if x > WEKA_SMALL else 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def numeric_gain(
        self, a: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        """Find the best cut: gain, corrected for the number of cuts, gain ratio and position."""
        i: cython.Py_ssize_t
        c: cython.Py_ssize_t
        total: cython.double = self.total
        if not self.values[a, begin] + self.min_gap < self.values[a, end - 1]:
            return  # the whole range is narrower than the least gap
        least: cython.double = min(max(0.1 * total / self.n_classes, MIN_BRANCH_WEIGHT), 25.0)
        if total < 2 * least - WEKA_SMALL:
            return
        n_left: cython.double = 0.0
        sum_left: cython.double = 0.0
        sum_right: cython.double = 0.0
        for c in range(self.n_classes):
            self.left[c], self.right[c] = 0.0, self.counts[c]
            sum_right += self.x_log_x(self.counts[c])
        entropy_before: cython.double = self.x_log_x(total) - sum_right
        best: cython.double = 0.0
        best_at: cython.Py_ssize_t = -1
        best_left: cython.double = 0.0
        n_cuts: cython.Py_ssize_t = 0
        for i in range(begin, end - 1):
            row: cython.Py_ssize_t = self.order[a, i]
            c = self.y[row]
            w: cython.double = 1.0 if self.unit_weight else self.weight[row]
            sum_left -= self.x_log_x(self.left[c])
            sum_right -= self.x_log_x(self.right[c])
            self.left[c] += w
            self.right[c] -= w
            sum_left += self.x_log_x(self.left[c])
            sum_right += self.x_log_x(self.right[c])
            n_left += w
            if self.values[a, i] + self.min_gap < self.values[a, i + 1]:
                n_right: cython.double = total - n_left
                if n_left >= least - WEKA_SMALL and n_right >= least - WEKA_SMALL:
                    n_cuts += 1
                    entropy_after: cython.double = self.x_log_x(n_left) - sum_left
                    entropy_after = entropy_after + self.x_log_x(n_right) - sum_right
                    gain: cython.double = entropy_before - entropy_after
                    gain = 0.0 if abs(gain) < WEKA_SMALL else gain / total
                    if gain - best > WEKA_SMALL:
                        best, best_at, best_left = gain, i, n_left
        if best_at < 0:
            return
        best -= math.log2(n_cuts) / total
        if best < WEKA_SMALL:
            return
        low: cython.double = self.values[a, best_at]
        high: cython.double = self.values[a, best_at + 1]
        middle: cython.double = 0.5 * low + 0.5 * high
        split_info: cython.double = self.x_log_x(total) - self.x_log_x(best_left)
        split_info = (split_info - self.x_log_x(total - best_left)) / total
        self.gains[a], self.ratios[a] = (
            best,
            best / split_info if split_info * total > WEKA_SMALL else 0.0,
        )
        self.cuts[a] = low if middle >= high else middle

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def nominal_gain(
        self, a: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        """Find gain and gain ratio of one branch per value, if two branches have enough weight."""
        c: cython.Py_ssize_t
        i: cython.Py_ssize_t
        v: cython.Py_ssize_t
        for v in range(self.n_values[a]):
            for c in range(self.n_classes):
                self.cells[v, c] = 0.0
        for i in range(begin, end):
            row: cython.Py_ssize_t = self.rows[i]
            v = cython.cast(cython.Py_ssize_t, self.attributes[a, row])
            self.cells[v, self.y[row]] += self.weight[row]
        entropy_before: cython.double = self.x_log_x(self.total)
        split_info: cython.double = entropy_before
        entropy_after: cython.double = 0.0
        n_filled: cython.Py_ssize_t = 0
        for c in range(self.n_classes):
            entropy_before -= self.x_log_x(self.counts[c])
        for v in range(self.n_values[a]):
            branch: cython.double = 0.0
            for c in range(self.n_classes):
                branch += self.cells[v, c]
                entropy_after -= self.x_log_x(self.cells[v, c])
            entropy_after += self.x_log_x(branch)
            split_info -= self.x_log_x(branch)
            if branch >= MIN_BRANCH_WEIGHT - WEKA_SMALL:
                n_filled += 1
        if n_filled < 2:
            return
        gain: cython.double = entropy_before - entropy_after
        self.gains[a] = 0.0 if abs(gain) < WEKA_SMALL else gain / self.total
        self.ratios[a] = self.gains[a] * self.total / split_info if split_info > WEKA_SMALL else 0.0

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def split(
        self,
        a: cython.Py_ssize_t,
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        test_begin: cython.Py_ssize_t,
        test_end: cython.Py_ssize_t,
    ) -> cython.void:
        """Sort the node's rows into the branches of ``a``, which begin at the offsets."""
        other: cython.Py_ssize_t
        self.n_branches = 2
        if self.n_values[a] > 0:
            self.n_branches = self.n_values[a]
        else:
            # A value of the whole training set, also in a fold, as in the authors' program.
            self.cut = self.largest_value_up_to(a, self.cut)
        # Test rows last; a row in both sets has the same branch in both.
        self.assign_branches(a, self.rows, begin, end, self.offsets)
        for other in range(self.n_attributes):
            if self.n_values[other] == 0:
                self.partition_sorted(other, begin, end)
        self.partition(self.rows, begin, end, self.offsets)
        self.assign_branches(a, self.test_rows, test_begin, test_end, self.test_offsets)
        self.partition(self.test_rows, test_begin, test_end, self.test_offsets)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def largest_value_up_to(self, a: cython.Py_ssize_t, limit: cython.double) -> cython.double:
        """Return the largest value of an attribute that is at most ``limit``."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.sorted_rows.shape[1]
        while low < high:
            middle: cython.Py_ssize_t = (low + high) // 2
            if self.attributes[a, self.sorted_rows[a, middle]] <= limit:
                low = middle + 1
            else:
                high = middle
        return self.attributes[a, self.sorted_rows[a, low - 1]]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def assign_branches(
        self,
        a: cython.Py_ssize_t,
        rows: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        offsets: cython.longlong[::1],
    ) -> cython.void:
        """Store the branch of each row, and the offset at which each branch will begin."""
        b: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for b in range(self.n_branches + 1):
            offsets[b] = 0
        for i in range(begin, end):
            value: cython.double = self.attributes[a, rows[i]]
            if self.n_values[a] > 0:
                b = cython.cast(cython.Py_ssize_t, value)
            else:
                b = 0 if value <= self.cut else 1
            self.branch[rows[i]] = cython.cast(cython.ushort, b)
            offsets[b + 1] += 1
        for b in range(self.n_branches):
            offsets[b + 1] += offsets[b]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def partition(
        self,
        rows: cython.int[::1],
        begin: cython.Py_ssize_t,
        end: cython.Py_ssize_t,
        offsets: cython.longlong[::1],
    ) -> cython.void:
        """Sort rows[begin:end] by branch (stable counting sort)."""
        b: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for b in range(self.n_branches):
            self.place[b] = offsets[b]
        for i in range(begin, end):
            b = self.branch[rows[i]]
            self.buffer[self.place[b]] = rows[i]
            self.place[b] += 1
        for i in range(begin, end):
            rows[i] = self.buffer[i - begin]

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def partition_sorted(
        self, a: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t
    ) -> cython.void:
        """Do the same for the rows that are sorted by an attribute, with their values."""
        b: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for b in range(self.n_branches):
            self.place[b] = self.offsets[b]
        for i in range(begin, end):
            row: cython.int = self.order[a, i]
            b = self.branch[row]
            self.buffer[self.place[b]] = row
            self.value_buffer[self.place[b]] = self.values[a, i]
            self.place[b] += 1
        for i in range(begin, end):
            self.order[a, i] = self.buffer[i - begin]
            self.values[a, i] = self.value_buffer[i - begin]


# Folds -------------------------------------------------------------------------------------------
# Stratified folds, as the weight of each row in the test part of each fold.


@cython.final
@cython.cclass
class TreeFolds:
    """Assigns samples of up to ``capacity`` rows to folds.

    Parameters
    ----------
    fold_orders : int64 array of shape (n_orders, n_folds)
        Each row is a permutation of the folds.
    dealer : callable or None
        A function of the labels of a sample that returns its rows in another order, in which each
        fold is a block; orders are not needed then.
    whole_rows : bool
        Each row is in one fold; otherwise a row of integer weight k counts as k rows, which may be
        in several folds.

    Attributes
    ----------
    test_weight : array of shape (n_folds, capacity)
    order : int32 array
        Rows of the sample in the order of the dealer.
    """

    fold_orders: cython.const[cython.longlong][:, ::1]
    dealer: object
    is_dealt = cython.declare(cython.bint, visibility="readonly")
    whole_rows: cython.bint
    fold_weight: cython.double[:, ::1]
    sequence: cython.int[::1]
    test_weight = cython.declare(object, visibility="readonly")
    order = cython.declare(object, visibility="readonly")

    def __init__(self, fold_orders, dealer, whole_rows, capacity):
        self.fold_orders, self.whole_rows = fold_orders, whole_rows
        self.dealer, self.is_dealt = dealer, dealer is not None
        self.test_weight = np.empty((fold_orders.shape[1], capacity))
        self.fold_weight = self.test_weight

    @cython.ccall
    @cython.nogil
    @cython.exceptval(check=False)
    def assign(self, sample: BoostedRows) -> cython.void:
        """Fill ``test_weight`` of a sample's rows."""
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for fold in range(self.fold_orders.shape[1]):
            for i in range(sample.n):
                self.fold_weight[fold, i] = 0.0
        if self.is_dealt:
            with cython.gil:
                self.order = self.dealer(np.asarray(sample.y)[: sample.n])
                self.sequence = self.order
            self.assign_blocks(sample)
        else:
            self.assign_in_orders(sample)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def assign_blocks(self, sample: BoostedRows) -> cython.void:
        """Cut the dealer's order into consecutive folds."""
        n: cython.Py_ssize_t = sample.n
        n_folds: cython.Py_ssize_t = self.fold_orders.shape[1]
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t = 0
        for fold in range(n_folds):
            for i in range(j, j + n // n_folds + (1 if fold < n % n_folds else 0)):
                self.fold_weight[fold, self.sequence[i]] = sample.weight[self.sequence[i]]
                j += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def assign_in_orders(self, sample: BoostedRows) -> cython.void:
        """Assign the rows of one class after the other, in the order of ``fold_orders``."""
        n_folds: cython.Py_ssize_t = self.fold_orders.shape[1]
        n_assigned: cython.Py_ssize_t = 0
        label: cython.Py_ssize_t
        fold: cython.Py_ssize_t
        i: cython.Py_ssize_t
        for label in range(sample.n_classes):
            for i in range(sample.n):
                if sample.y[i] != label:
                    continue
                left_over: cython.Py_ssize_t = 1
                row_weight: cython.double = sample.weight[i]
                if not self.whole_rows:
                    left_over = cython.cast(cython.Py_ssize_t, sample.weight[i])
                    row_weight = 1.0
                    for fold in range(n_folds):
                        self.fold_weight[fold, i] = left_over // n_folds
                    left_over %= n_folds
                for _ in range(left_over):
                    order_index: cython.Py_ssize_t = (
                        n_assigned // n_folds
                    ) % self.fold_orders.shape[0]
                    self.fold_weight[self.fold_orders[order_index, n_assigned % n_folds], i] += (
                        row_weight
                    )
                    n_assigned += 1


# Growth ------------------------------------------------------------------------------------------
# Growing a calibration tree: one pass over presorted attributes for each node.

MIN_SPLIT_WEIGHT = cython.declare(cython.double, 4.0)
EMPTY_ERROR = cython.declare(cython.double, 1e-6)
"""Error of a branch without rows in the authors' program."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


class GrowRules(NamedTuple):
    """Options of growth; 0 for ``n_iterations`` means cross-validation at every node."""

    n_iterations: int
    max_iterations: int
    patience: int
    slack: float
    dealer: Callable[[npt.NDArray[np.int32]], npt.NDArray[np.int32]] | None
    whole_rows: bool
    min_samples: float
    max_depth: int
    min_gap: float
    count_errors: bool


class Nodes(NamedTuple):
    """Nodes in pre-order; ``attribute`` is −1 for a leaf."""

    parent: Ints
    attribute: Ints
    cut: Floats
    iterations: Ints
    weight: Floats
    error: Floats
    test_error: Floats
    coef: Floats


@cython.final
@cython.cclass
class TreeGrower:
    """Grows the trees of one fit.

    Parameters
    ----------
    attributes : array of shape (n_attributes, n)
    n_values : int64 array of shape (n_attributes,)
        0 for a numeric attribute, otherwise the number of codes of a nominal one.
    scores : array of shape (n_columns, n)
    y : int32 array of shape (n,)
    weight : array of shape (n,)
    targets : array of shape (n_classes, n_classes)
        ``targets[i, j]`` is the target of class j in a row of class i.
    fold_orders : int64 array of shape (n_orders, n_folds)
        Each row is a permutation of the folds.
    rules : GrowRules

    Attributes
    ----------
    n_iterations : int
        Iterations of every node, or 0 to choose them at each node.
    """

    n_iterations = cython.declare(cython.Py_ssize_t, visibility="readonly")
    min_samples: cython.double
    max_depth: cython.Py_ssize_t
    count_errors: cython.bint
    n_folds: cython.Py_ssize_t
    scores: cython.const[cython.double][:, ::1]
    y: cython.const[cython.int][::1]
    weight: cython.const[cython.double][::1]
    train_weight: cython.const[cython.double][::1]
    test_weight: cython.const[cython.double][::1]
    sample: BoostedRows
    booster: Booster
    folds: TreeFolds
    splitter: Splitter
    # The columns of Nodes.
    n_nodes: cython.Py_ssize_t
    parent: cython.longlong[::1]
    attribute: cython.longlong[::1]
    cut: cython.double[::1]
    iterations: cython.longlong[::1]
    node_weight: cython.double[::1]
    error: cython.double[::1]
    test_error: cython.double[::1]
    coef: cython.double[:, :, ::1]
    # A stack of nodes: parent, segment of the training rows, segment of the test rows, depth.
    stack_size: cython.Py_ssize_t
    widest: cython.Py_ssize_t
    stack: cython.longlong[:, ::1]

    def __init__(self, attributes, n_values, scores, y, weight, targets, fold_orders, rules):
        n_columns, n = scores.shape
        n_classes = len(targets)
        self.scores, self.y, self.weight = scores, y, weight
        self.n_folds, self.n_iterations = fold_orders.shape[1], rules.n_iterations
        self.min_samples, self.max_depth = rules.min_samples, rules.max_depth
        self.count_errors = rules.count_errors
        self.sample = BoostedRows(n_columns, n_classes, n)
        search = {
            "max_iterations": rules.max_iterations,
            "patience": rules.patience,
            "slack": rules.slack,
        }
        self.booster = Booster(targets, n_columns, n, **search)
        self.folds = TreeFolds(fold_orders, rules.dealer, rules.whole_rows, n)
        self.splitter = Splitter(attributes, n_values, y, weight, n_classes, rules.min_gap)
        initial_size, self.widest = 64, max(2, *n_values)
        self.parent, self.attribute, self.iterations = np.empty((3, initial_size), np.int64)
        self.cut, self.node_weight, self.error, self.test_error = np.empty((4, initial_size))
        self.coef = np.empty((initial_size, 1 if n_classes == 2 else n_classes, n_columns + 1))
        self.stack = np.empty((initial_size + self.widest, 6), np.int64)

    def assign_folds(self):
        """Assign all rows; return their weights in the test part of each fold, and their order."""
        sequence = np.arange(self.y.shape[0], dtype=np.int32)
        self.sample.take(self.scores, self.y, self.weight, sequence)
        self.folds.assign(self.sample)
        if self.folds.is_dealt:
            sequence = self.folds.order.copy()
        return self.folds.test_weight.copy(), sequence

    def choose_iterations(self):
        """Choose ``n_iterations`` on all rows, once for all nodes."""
        rows: cython.int[::1] = np.arange(self.y.shape[0], dtype=np.int32)
        self.coef[0, :, :] = 0.0
        with cython.nogil:
            self.sample.take(self.scores, self.y, self.weight, rows)
            # All rows together may allow fewer iterations than the folds did.
            self.n_iterations = self._boost(self.coef[0])

    def grow(
        self,
        weight: cython.const[cython.double][::1],
        test_weight: cython.const[cython.double][::1],
        sequence: cython.const[cython.int][::1],
    ):
        """Grow a tree on the rows of positive ``weight``; measure it on those of ``test_weight``.

        ``sequence`` is the order of the rows, on which the folds of nodes depend.
        """
        self.train_weight, self.test_weight = weight, test_weight
        self.splitter.begin(weight, test_weight, sequence)
        self.n_nodes = self.stack_size = 0
        self._push(-1, 0, self.splitter.n_train, 0, self.splitter.n_test, 0)
        while self.stack_size > 0:
            self._reserve()
            with cython.nogil:
                self._grow_node()
        end = self.n_nodes
        return Nodes(
            np.array(self.parent[:end]),
            np.array(self.attribute[:end]),
            np.array(self.cut[:end]),
            np.array(self.iterations[:end]),
            np.array(self.node_weight[:end]),
            np.array(self.error[:end]),
            np.array(self.test_error[:end]),
            np.array(self.coef[:end]),
        )

    @cython.cfunc
    def _reserve(self):
        """Reserve memory for one more node and its children."""
        if self.stack_size + self.widest > self.stack.shape[0]:
            self.stack = _doubled(self.stack)
        if self.n_nodes == self.parent.shape[0]:
            self.parent, self.attribute = _doubled(self.parent), _doubled(self.attribute)
            self.iterations, self.cut, self.node_weight = (
                _doubled(self.iterations),
                _doubled(self.cut),
                _doubled(self.node_weight),
            )
            self.error, self.test_error = _doubled(self.error), _doubled(self.test_error)
            self.coef = _doubled(self.coef)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _push(
        self, parent: cython.Py_ssize_t, begin: cython.Py_ssize_t, end: cython.Py_ssize_t,
        test_begin: cython.Py_ssize_t, test_end: cython.Py_ssize_t, depth: cython.Py_ssize_t,
    ) -> cython.void:  # fmt: skip
        top: cython.Py_ssize_t = self.stack_size
        self.stack[top, 0], self.stack[top, 1], self.stack[top, 2] = parent, begin, end
        self.stack[top, 3], self.stack[top, 4], self.stack[top, 5] = test_begin, test_end, depth
        self.stack_size += 1

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _grow_node(self) -> cython.void:
        """Pop a node from the stack, fit and split it, and push its children."""
        self.stack_size -= 1
        top: cython.Py_ssize_t = self.stack_size
        parent: cython.Py_ssize_t = self.stack[top, 0]
        begin: cython.Py_ssize_t = self.stack[top, 1]
        end: cython.Py_ssize_t = self.stack[top, 2]
        test_begin: cython.Py_ssize_t = self.stack[top, 3]
        test_end: cython.Py_ssize_t = self.stack[top, 4]
        depth: cython.Py_ssize_t = self.stack[top, 5]
        node: cython.Py_ssize_t = self.n_nodes
        self.n_nodes += 1
        self.parent[node], self.attribute[node], self.cut[node] = parent, -1, 0.0
        if parent < 0:
            self.coef[node, :, :] = 0.0
        else:
            self.coef[node, :, :] = self.coef[parent]

        self.splitter.count(begin, end)
        total: cython.double = self.splitter.total
        self.node_weight[node] = total
        self.iterations[node], self.error[node], self.test_error[node] = 0, EMPTY_ERROR, 0.0
        if end > begin:
            self.sample.take(self.scores, self.y, self.train_weight, self.splitter.rows[begin:end])
            if total >= self.n_folds:
                self.iterations[node] = self._boost(self.coef[node])
            self.error[node] = self._error(self.coef[node])
        if test_end > test_begin:
            self.sample.take(
                self.scores, self.y, self.test_weight, self.splitter.test_rows[test_begin:test_end]
            )
            self.test_error[node] = self._error(self.coef[node])

        if (
            total < self.min_samples
            or total < MIN_SPLIT_WEIGHT
            or total - self.splitter.largest < EMPTY_ERROR
            or depth >= self.max_depth
        ):
            return
        a: cython.Py_ssize_t = self.splitter.choose(begin, end)
        if a < 0:
            return
        self.splitter.split(a, begin, end, test_begin, test_end)
        self.attribute[node], self.cut[node] = a, self.splitter.cut
        b: cython.Py_ssize_t
        for b in range(self.splitter.n_branches - 1, -1, -1):
            self._push(
                node,
                begin + self.splitter.offsets[b],
                begin + self.splitter.offsets[b + 1],
                test_begin + self.splitter.test_offsets[b],
                test_begin + self.splitter.test_offsets[b + 1],
                depth + 1,
            )

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _boost(self, coef: cython.double[:, ::1]) -> cython.Py_ssize_t:
        """Boost the model on the sample; return the number of iterations."""
        n_iterations: cython.Py_ssize_t = self.n_iterations
        if n_iterations == 0:
            self.folds.assign(self.sample)
            n_iterations = self.booster.choose_iterations(self.sample, coef, self.folds.fold_weight)
        self.sample.evaluate(coef)
        return self.booster.boost(self.sample, n_iterations, coef)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _error(self, coef: cython.double[:, ::1]) -> cython.double:
        """Return the error of the model on the sample."""
        self.sample.evaluate(coef)
        if self.count_errors:
            return self.sample.wrong_weight()
        return self.sample.squared_error()


def _doubled(array):
    return np.concatenate([array, np.empty_like(array)])


# Pruning -----------------------------------------------------------------------------------------
# Cost-complexity pruning (Breiman et al., 1984) of a tree numbered in pre-order.
#
# The subtree of a node is the range [node, end[node]), its first child is node + 1, and the next
# child begins where the one before ends, so no lists of children are needed.

ERROR_TOLERANCE = cython.declare(cython.double, 1e-12)
"""Errors with a relative difference below this are equal."""

MAX_ALPHA = cython.declare(cython.double, 1.0)
"""Alpha of a node whose leaves count as one; it exceeds all others, as errors are at most 1."""

INSERTION_SORT_LIMIT = cython.declare(cython.Py_ssize_t, 200)
"""Up to this many nodes are sorted by insertion."""


def subtree_ends(parent: cython.const[cython.longlong][::1]):
    """Return the end of the subtree of each node."""
    n: cython.Py_ssize_t = parent.shape[0]
    result = np.arange(1, n + 1, dtype=np.int64)
    end: cython.longlong[::1] = result
    node: cython.Py_ssize_t
    for node in range(n - 1, 0, -1):
        end[parent[node]] = max(end[parent[node]], end[node])
    return result


@cython.final
@cython.cclass
class Pruner:
    """Prunes a grown tree, and prunes it again after its useless subtrees are removed.

    Parameters
    ----------
    nodes : Nodes
    total : float
        Weight of the training rows.

    Attributes
    ----------
    is_leaf : bool array of shape (n_nodes,)
        Leaves of the last tree.
    permanent : bool array of shape (n_nodes,)
        Nodes that collapsed because their subtrees are useless.
    """

    is_leaf = cython.declare(object, visibility="readonly")
    permanent = cython.declare(object, visibility="readonly")
    n: cython.Py_ssize_t
    total: cython.double
    parent: cython.const[cython.longlong][::1]
    attribute: cython.const[cython.longlong][::1]
    end: cython.const[cython.longlong][::1]
    error: cython.const[cython.double][::1]
    test_error: cython.const[cython.double][::1]
    unboosted: cython.const[cython.uchar][::1]
    leaf_view: cython.uchar[::1]
    permanent_view: cython.uchar[::1]
    hidden: cython.uchar[::1]
    is_dirty: cython.uchar[::1]
    subtree_error: cython.double[::1]
    leaf_count: cython.longlong[::1]
    dirty: cython.longlong[::1]
    collapsed: cython.longlong[::1]
    tournament: cython.double[::1]
    size: cython.Py_ssize_t

    def __init__(self, nodes, total):
        n = len(nodes.parent)
        self.n, self.total, self.end = n, total, subtree_ends(nodes.parent)
        self.parent, self.attribute = nodes.parent, nodes.attribute
        self.error, self.test_error = nodes.error, nodes.test_error
        self.unboosted = (nodes.iterations == 0).view(np.uint8)
        self.is_leaf, self.permanent = np.zeros((2, n), dtype=bool)
        self.leaf_view, self.permanent_view = (
            self.is_leaf.view(np.uint8),
            self.permanent.view(np.uint8),
        )
        self.hidden, self.is_dirty = np.empty((2, n), dtype=np.uint8)
        self.leaf_count, self.dirty, self.collapsed = np.empty((3, n), dtype=np.int64)
        self.subtree_error = np.empty(n)
        self.size = 1 << (n - 1).bit_length()
        self.tournament = np.empty(2 * self.size)

    def run(self, stop: cython.double):
        """Collapse the inner node of least alpha repeatedly, while alpha is at most ``stop``.

        alpha = (error as a leaf − error of the subtree)/(total·(leaves − 1)). A node whose subtree
        is no better than the node as a leaf collapses immediately.

        Returns the alphas (0 first) and the test error after each collapse.
        """
        alphas: cython.double[::1] = np.zeros(self.n + 1)
        test_errors: cython.double[::1] = np.zeros(self.n + 1)
        steps: cython.Py_ssize_t
        with cython.nogil:
            steps = self._run(stop, alphas, test_errors)
        return np.array(alphas[: steps + 1]), np.array(test_errors[: steps + 1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _run(
        self, stop: cython.double, alphas: cython.double[::1], test_errors: cython.double[::1]
    ) -> cython.Py_ssize_t:
        i: cython.Py_ssize_t
        node: cython.Py_ssize_t
        alpha: cython.double
        steps: cython.Py_ssize_t = 0
        test_error_sum: cython.double = self._restore()
        n_dirty: cython.Py_ssize_t = self.n
        while True:
            for i in range(n_dirty - 1, -1, -1):
                if not self.hidden[self.dirty[i]]:
                    self._summarize(self.dirty[i])
            n_collapsed: cython.Py_ssize_t = 0
            for i in range(n_dirty):
                node = self.dirty[i]
                self.is_dirty[node] = False
                if self.hidden[node] or self.leaf_view[node]:
                    continue
                reduction: cython.double = self.error[node] - self.subtree_error[node]
                if reduction <= ERROR_TOLERANCE * self.error[node]:
                    self.permanent_view[node] = True
                    test_error_sum += self._collapse(node)
                    self.collapsed[n_collapsed] = node
                    n_collapsed += 1
                else:
                    alpha = MAX_ALPHA
                    if self.leaf_count[node] > 1:
                        alpha = reduction / self.total / (self.leaf_count[node] - 1)
                    self._set_alpha(node, alpha)
            if steps == 0:
                test_errors[0] = test_error_sum
            alpha = self.tournament[1]
            if alpha > stop or alpha == INFINITY:
                return steps
            node = self._argmin()
            test_error_sum += self._collapse(node)
            steps += 1
            alphas[steps], test_errors[steps] = alpha, test_error_sum
            # Ancestors of the nodes that collapsed in this round are updated in the next one.
            self.collapsed[n_collapsed] = node
            n_dirty = 0
            for i in range(n_collapsed + 1):
                node = self.collapsed[i]
                while node >= 0 and not self.is_dirty[node]:
                    self.is_dirty[node] = True
                    self.dirty[n_dirty] = node
                    n_dirty += 1
                    node = self.parent[node]
            self._sort_dirty(n_dirty)

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _restore(self) -> cython.double:
        """Restore all but the useless subtrees; return the test error."""
        i: cython.Py_ssize_t
        node: cython.Py_ssize_t
        for i in range(2 * self.size):
            self.tournament[i] = INFINITY
        for node in range(self.n):
            self.hidden[node], self.is_dirty[node], self.dirty[node] = False, True, node
        test_error_sum: cython.double = 0.0
        for node in range(self.n):
            self.leaf_view[node] = self.attribute[node] < 0 or self.permanent_view[node]
            if not self.hidden[node] and self.leaf_view[node]:
                test_error_sum += self.test_error[node]
                for i in range(node + 1, self.end[node]):
                    self.hidden[i] = True
        return test_error_sum

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _set_alpha(self, node: cython.Py_ssize_t, alpha: cython.double) -> cython.void:
        place: cython.Py_ssize_t = self.size + node
        self.tournament[place] = alpha
        while place > 1:
            place //= 2
            self.tournament[place] = min(self.tournament[2 * place], self.tournament[2 * place + 1])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _argmin(self) -> cython.Py_ssize_t:
        place: cython.Py_ssize_t = 1
        while place < self.size:
            place *= 2
            if self.tournament[place] > self.tournament[place + 1]:
                place += 1
        return place - self.size

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _summarize(self, node: cython.Py_ssize_t) -> cython.void:
        """Sum the errors and count the leaves below a node.

        Sibling leaves without a boosted model count as one.
        """
        if self.leaf_view[node]:
            self.subtree_error[node], self.leaf_count[node] = self.error[node], 1
            return
        total: cython.double = 0.0
        n_leaves: cython.longlong = 0
        n_bare: cython.longlong = 0
        child: cython.Py_ssize_t = node + 1
        while child < self.end[node]:
            total += self.subtree_error[child]
            n_leaves += self.leaf_count[child]
            if self.leaf_view[child] and self.unboosted[child]:
                n_bare += 1
            child = self.end[child]
        if n_bare > 1:
            n_leaves -= n_bare - 1
        self.subtree_error[node], self.leaf_count[node] = total, n_leaves

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _collapse(self, node: cython.Py_ssize_t) -> cython.double:
        """Make a node a leaf and hide its subtree; return the change of the test error."""
        change: cython.double = self.test_error[node]
        inner: cython.Py_ssize_t
        self.leaf_view[node] = True
        self._set_alpha(node, INFINITY)
        for inner in range(node + 1, self.end[node]):
            if not self.hidden[inner]:
                if self.leaf_view[inner]:
                    change -= self.test_error[inner]
                else:
                    self._set_alpha(inner, INFINITY)
                self.hidden[inner] = True
        return change

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _sort_dirty(self, n: cython.Py_ssize_t) -> cython.void:
        """Sort the first n nodes of ``dirty``, which are marked in ``is_dirty``."""
        i: cython.Py_ssize_t
        j: cython.Py_ssize_t
        node: cython.Py_ssize_t
        if n > INSERTION_SORT_LIMIT:  # many paths of ancestors: read the marks in order
            j = 0
            for node in range(self.n):
                if self.is_dirty[node]:
                    self.dirty[j] = node
                    j += 1
            return
        for i in range(1, n):
            node = self.dirty[i]
            j = i
            while j > 0 and self.dirty[j - 1] > node:
                self.dirty[j] = self.dirty[j - 1]
                j -= 1
            self.dirty[j] = node
