"""The C4.5 split of a node: gain ratio among attributes of at least average gain (section 3).

Gains are in bits per unit of weight. Equal within ``SMALL`` counts as equal, as in the authors'
program, so that the first attribute or cut wins a tie whatever the rounding.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

__all__ = ["Splitter", "entropy_table"]

SMALL = cython.declare(cython.double, 1e-6)
LEAST_BRANCH = cython.declare(cython.double, 2.0)
"""Two branches of a nominal split, and both sides of a cut, weigh at least this."""

TABLE_LIMIT = 1 << 22


def entropy_table(weight):
    """k·log₂k for all counts up to the sum; of length 1 if weights are not whole numbers."""
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

    Each node owns a segment of the training rows, of the test rows and of every numeric
    attribute's sorted rows; a split partitions the segments in place and keeps order.

    Parameters
    ----------
    attributes : array of shape (n_attributes, n)
    n_values : int64 array of shape (n_attributes,)
        0 for a numeric attribute, otherwise the number of codes of a nominal one.
    y : int32 array of shape (n,)
    weight : array of shape (n,)
        No tree has heavier rows.
    n_classes : int
    min_gap : float
        Between the values on both sides of a cut.
    """

    def __init__(self, attributes, n_values, y, weight, n_classes, min_gap):
        d, n = attributes.shape
        self.n_attributes, self.n_classes, self.min_gap = d, n_classes, min_gap
        self.attributes, self.n_values, self.y = attributes, n_values, y
        # With about as many values as rows, an attribute's gain is always high.
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
        # Values travel with the sorted rows, so that the search for a cut reads memory in sequence.
        for a in range(self.n_attributes):
            if self.n_values[a] > 0:
                continue
            n = 0
            for i in range(sequence.shape[0]):
                row = self.sorted_rows[a, i]
                if weight[row] > 0.0:
                    self.order[a, n], self.values[a, n] = row, self.attributes[a, row]
                    n += 1

    def count(self, begin, end):
        """Weigh the classes of a node: ``total`` and ``largest`` are then known."""
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

    def choose(self, begin, end):
        """The attribute to split the counted node on, and its ``cut``; −1 if none is worth it."""
        a: cython.Py_ssize_t
        usable: cython.Py_ssize_t = 0
        mean_gain: cython.double = 0.0
        for a in range(self.n_attributes):
            self.gains[a], self.ratios[a], self.cuts[a] = -1.0, 0.0, 0.0
            if self.n_values[a] > 0:
                self.weigh_branches(a, begin, end)
            else:
                self.find_cut(a, begin, end)
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
                and self.ratios[a] - best_ratio > SMALL
            ):
                best, best_ratio, self.cut = a, self.ratios[a], self.cuts[a]
        return best

    def x_log_x(self, x):
        """x·log₂x."""
        if self.table.shape[0] > 1:
            return self.table[cython.cast(cython.Py_ssize_t, x)]
        return x * math.log2(x) if x > SMALL else 0.0

    def find_cut(self, a, begin, end):
        """Gain (less the price of choosing among the cuts), ratio and place of the best cut."""
        i: cython.Py_ssize_t
        c: cython.Py_ssize_t
        total: cython.double = self.total
        if not self.values[a, begin] + self.min_gap < self.values[a, end - 1]:
            return  # no gap between neighbours can be wide enough unless the whole range is
        least: cython.double = min(max(0.1 * total / self.n_classes, LEAST_BRANCH), 25.0)
        if total < 2 * least - SMALL:
            return
        n_left: cython.double = 0.0
        sum_left: cython.double = 0.0
        sum_right: cython.double = 0.0
        for c in range(self.n_classes):
            self.left[c], self.right[c] = 0.0, self.counts[c]
            sum_right += self.x_log_x(self.counts[c])
        before: cython.double = self.x_log_x(total) - sum_right
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
                if n_left >= least - SMALL and n_right >= least - SMALL:
                    n_cuts += 1
                    after: cython.double = self.x_log_x(n_left) - sum_left
                    after = after + self.x_log_x(n_right) - sum_right
                    gain: cython.double = before - after
                    gain = 0.0 if abs(gain) < SMALL else gain / total
                    if gain - best > SMALL:
                        best, best_at, best_left = gain, i, n_left
        if best_at < 0:
            return
        best -= math.log2(n_cuts) / total
        if best < SMALL:
            return
        low: cython.double = self.values[a, best_at]
        high: cython.double = self.values[a, best_at + 1]
        middle: cython.double = 0.5 * low + 0.5 * high
        bits: cython.double = self.x_log_x(total) - self.x_log_x(best_left)
        bits = (bits - self.x_log_x(total - best_left)) / total
        self.gains[a], self.ratios[a] = best, best / bits if bits * total > SMALL else 0.0
        self.cuts[a] = low if middle >= high else middle

    def weigh_branches(self, a, begin, end):
        """Gain and ratio of one branch for each value, if two have enough weight."""
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
        before: cython.double = self.x_log_x(self.total)
        bits: cython.double = before
        after: cython.double = 0.0
        filled: cython.Py_ssize_t = 0
        for c in range(self.n_classes):
            before -= self.x_log_x(self.counts[c])
        for v in range(self.n_values[a]):
            branch: cython.double = 0.0
            for c in range(self.n_classes):
                branch += self.cells[v, c]
                after -= self.x_log_x(self.cells[v, c])
            after += self.x_log_x(branch)
            bits -= self.x_log_x(branch)
            if branch >= LEAST_BRANCH - SMALL:
                filled += 1
        if filled < 2:
            return
        gain: cython.double = before - after
        self.gains[a] = 0.0 if abs(gain) < SMALL else gain / self.total
        self.ratios[a] = self.gains[a] * self.total / bits if bits > SMALL else 0.0

    def split(self, a, begin, end, test_begin, test_end):
        """Sort the node's rows into the branches of ``a``, which begin at the offsets."""
        other: cython.Py_ssize_t
        self.n_branches = 2
        if self.n_values[a] > 0:
            self.n_branches = self.n_values[a]
        else:
            # A value of the whole training set, even in a fold, as in the authors' program.
            self.cut = self.largest_value_up_to(a, self.cut)
        # Test rows last: a row of both kinds has the same branch in both.
        self.send(a, self.rows, begin, end, self.offsets)
        for other in range(self.n_attributes):
            if self.n_values[other] == 0:
                self.partition_sorted(other, begin, end)
        self.partition(self.rows, begin, end, self.offsets)
        self.send(a, self.test_rows, test_begin, test_end, self.test_offsets)
        self.partition(self.test_rows, test_begin, test_end, self.test_offsets)

    def largest_value_up_to(self, a, limit):
        """Among all values of an attribute."""
        low: cython.Py_ssize_t = 0
        high: cython.Py_ssize_t = self.sorted_rows.shape[1]
        while low < high:
            middle: cython.Py_ssize_t = (low + high) // 2
            if self.attributes[a, self.sorted_rows[a, middle]] <= limit:
                low = middle + 1
            else:
                high = middle
        return self.attributes[a, self.sorted_rows[a, low - 1]]

    def send(self, a, rows, begin, end, offsets):
        """Note each row's branch, and where each branch will begin."""
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

    def partition(self, rows, begin, end, offsets):
        """Stable counting sort of rows[begin:end] by branch."""
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

    def partition_sorted(self, a, begin, end):
        """The same for the rows that are sorted by an attribute, together with their values."""
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
