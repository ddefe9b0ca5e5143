"""Base models of the papers' experiments: boosted stumps, and Weka's regression trees."""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

__all__ = ["GrownTree", "RegressionForest", "boost_stumps", "grow_trees", "stump_margins"]

# Stumps ------------------------------------------------------------------------------------------
# AdaBoost of decision stumps, discrete or real.
#
# The features are coded once: ``codes[f, i]`` is the rank of row i's value among the distinct
# values of feature f. A round is then one pass over the rows and one over the distinct values of
# each feature, O(n·d). Growing a new tree would sort every feature again.


def boost_stumps(
    codes: cython.int[:, ::1],
    n_distinct: cython.int[::1],
    positive: cython.schar[::1],
    n_rounds: cython.Py_ssize_t,
    real: cython.bint = False,
):
    """Boost on rows with labels ``positive`` (n, int8).

    Returns (attribute, cut, left, right, alpha): the stump of a round votes ``left`` for rows whose
    code is at most ``cut`` and ``right`` for the others, with weight ``alpha``. The split has the
    least weighted Gini impurity, as scikit-learn's trees choose it; the first attribute and the
    lowest cut win ties. Discrete votes are ±1 with alpha = 0.5·ln((1 − ε)/ε). Real ones are
    0.5·ln(w₁/w₀) of the weights on that side, each share at least 2.2e-16, with alpha = 1
    (SAMME.R). Boosting ends when a stump makes no error (its alpha is then 1, as in scikit-learn
    and the beta paper's program) or, if votes are discrete, none is better than chance.
    """
    d: cython.Py_ssize_t = codes.shape[0]
    n: cython.Py_ssize_t = codes.shape[1]
    attribute: cython.int[::1] = np.zeros(n_rounds, np.int32)
    cut: cython.int[::1] = np.zeros(n_rounds, np.int32)
    left: cython.double[::1] = np.zeros(n_rounds)
    right: cython.double[::1] = np.zeros(n_rounds)
    alpha: cython.double[::1] = np.zeros(n_rounds)
    weight: cython.double[::1] = np.full(n, 1.0 / n)
    cells: cython.double[:, ::1] = np.empty((max(1, *n_distinct), 2))
    used: cython.Py_ssize_t = 0
    t: cython.Py_ssize_t
    f: cython.Py_ssize_t
    c: cython.Py_ssize_t
    i: cython.Py_ssize_t
    vote: cython.double
    with cython.nogil:
        for t in range(n_rounds):
            total0: cython.double = 0.0
            total1: cython.double = 0.0
            for i in range(n):
                if positive[i] == 1:
                    total1 += weight[i]
                else:
                    total0 += weight[i]
            total: cython.double = total0 + total1
            best: cython.double = -1.0  # purities are not negative
            best_f: cython.Py_ssize_t = -1
            best_cut: cython.int = 0
            best_left0: cython.double = 0.0
            best_left1: cython.double = 0.0
            for f in range(d):
                if n_distinct[f] < 2:
                    continue
                for c in range(n_distinct[f]):
                    cells[c, 0] = 0.0
                    cells[c, 1] = 0.0
                for i in range(n):
                    cells[codes[f, i], positive[i]] += weight[i]
                left0: cython.double = 0.0
                left1: cython.double = 0.0
                for c in range(n_distinct[f] - 1):
                    left0 += cells[c, 0]
                    left1 += cells[c, 1]
                    weight_left: cython.double = left0 + left1
                    weight_right: cython.double = total - weight_left
                    if weight_left <= 0.0 or weight_right <= 0.0:
                        continue
                    right0: cython.double = total0 - left0
                    right1: cython.double = total1 - left1
                    # Least impurity = greatest Σ over sides of (w₀² + w₁²)/(w₀ + w₁).
                    purity: cython.double = (left0 * left0 + left1 * left1) / weight_left + (
                        right0 * right0 + right1 * right1
                    ) / weight_right
                    if purity > best:
                        best = purity
                        best_f, best_cut = f, cython.cast(cython.int, c)
                        best_left0, best_left1 = left0, left1
            if best_f < 0:
                break
            vote_left: cython.double = 1.0 if best_left1 > best_left0 else -1.0
            vote_right: cython.double = 1.0 if total1 - best_left1 > total0 - best_left0 else -1.0
            error: cython.double = 0.0
            for i in range(n):
                vote = vote_left if codes[best_f, i] <= best_cut else vote_right
                if (vote > 0.0) != (positive[i] == 1):
                    error += weight[i]
            error /= total
            if real:
                vote_left = _half_log_odds(best_left0, best_left1)
                vote_right = _half_log_odds(total0 - best_left0, total1 - best_left1)
            attribute[t] = cython.cast(cython.int, best_f)
            cut[t], left[t], right[t] = best_cut, vote_left, vote_right
            if error <= 0.0:
                alpha[t] = 1.0
                used = t + 1
                break
            if error >= 0.5 and not real:
                break
            alpha[t] = 1.0 if real else 0.5 * math.log((1.0 - error) / error)
            used = t + 1
            total = 0.0
            left_up: cython.double = math.exp(alpha[t] * vote_left)
            left_down: cython.double = math.exp(-alpha[t] * vote_left)
            right_up: cython.double = math.exp(alpha[t] * vote_right)
            right_down: cython.double = math.exp(-alpha[t] * vote_right)
            for i in range(n):
                if codes[best_f, i] <= best_cut:
                    weight[i] *= left_down if positive[i] == 1 else left_up
                else:
                    weight[i] *= right_down if positive[i] == 1 else right_up
                total += weight[i]
            for i in range(n):
                weight[i] /= total
    return (
        np.asarray(attribute)[:used],
        np.asarray(cut)[:used],
        np.asarray(left)[:used],
        np.asarray(right)[:used],
        np.asarray(alpha)[:used],
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _half_log_odds(negative: cython.double, positive: cython.double) -> cython.double:
    """Half of the log ratio of two weights, each share of them at least 2.2e-16."""
    total: cython.double = negative + positive
    least: cython.double = 2.220446049250313e-16
    return 0.5 * (math.log(max(positive / total, least)) - math.log(max(negative / total, least)))


def stump_margins(
    X: cython.double[:, ::1],
    attribute: cython.int[::1],
    threshold: cython.double[::1],
    left: cython.double[::1],
    right: cython.double[::1],
    alpha: cython.double[::1],
):
    """Σ over the stumps of alpha · vote for each row of X (n, d); at most a threshold is left."""
    margin: cython.double[::1] = np.zeros(X.shape[0])
    i: cython.Py_ssize_t
    t: cython.Py_ssize_t
    with cython.nogil:
        for i in range(X.shape[0]):
            total: cython.double = 0.0
            for t in range(alpha.shape[0]):
                vote: cython.double = left[t] if X[i, attribute[t]] <= threshold[t] else right[t]
                total += alpha[t] * vote
            margin[i] = total
    return np.asarray(margin)


# Regression trees --------------------------------------------------------------------------------
# Weighted least-squares trees of few levels, as Weka grows them: weak learners of LogitBoost.
#
# Two kinds, which differ in nominal attributes and missing values. A *stump* splits a nominal
# attribute into one value and the rest, and has a third branch for missing values. A *tree*
# gives every value a branch of its own, and sends a row without a value down all branches, with
# the shares that the known rows have.
#
# The attributes are coded once: ``codes[f, i]`` is the rank of row i's value among the distinct
# values of attribute f, or the number of its nominal value, and ``n_values[f]`` where it is
# missing. A level is then one pass over rows and attributes.

LEAST_GAIN = cython.declare(cython.double, 1e-6)
"""Of a tree's split, in squares of the response times rows; also the least share of a branch."""
LEAST_VARIANCE = cython.declare(cython.double, 1e-3)
"""Share of the root's variance below which a node of a tree is not split."""
NO_SPLIT = (-1.0, -1.0, -1.0, -1.0)


class GrownTree:
    """Nodes in the order of levels; attribute −1 is a leaf.

    ``low`` and ``high`` are the codes on either side of a numeric cut (``low`` alone is the value
    of a nominal stump). The children of a node are ``first``, ``first + 1``, …; ``share`` is the
    part of its parent's rows without a value that a node gets. ``fitted`` is the tree's answer for
    each training row.
    """

    def __init__(self, n: int) -> None:
        self.attribute: list[int] = [-1]
        self.low: list[int] = [-1]
        self.high: list[int] = [-1]
        self.first: list[int] = [0]
        self.n_children: list[int] = [0]
        self.value: list[float] = [0.0]
        self.share: list[float] = [1.0]
        self.fitted = np.zeros(n)

    def add(self, value: float, share: float) -> None:
        """One more leaf."""
        for column, entry in (
            (self.attribute, -1), (self.low, -1), (self.high, -1), (self.first, 0),
            (self.n_children, 0), (self.value, value), (self.share, share),
        ):  # fmt: skip
            column.append(entry)


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _square(s: cython.double, w: cython.double) -> cython.double:
    """What rows of weight w and sum s take off the sum of squares, if they get their mean."""
    return s * s / w if w > 0.0 else 0.0


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _count(
    cells: cython.double[:, ::1],
    size: cython.Py_ssize_t,
    codes: cython.const[cython.int][::1],
    rows: cython.const[cython.int][::1],
    ws: cython.const[cython.double][:, ::1],
) -> cython.void:
    """Add up what each code has in the columns of ws: weight and sum, of one response or more."""
    c: cython.Py_ssize_t
    e: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for c in range(size):
        for j in range(ws.shape[1]):
            cells[c, j] = 0.0
    if ws.shape[1] == 2:
        for e in range(rows.shape[0]):
            c = codes[rows[e]]
            cells[c, 0] += ws[e, 0]
            cells[c, 1] += ws[e, 1]
        return
    for e in range(rows.shape[0]):
        c = codes[rows[e]]
        for j in range(ws.shape[1]):
            cells[c, j] += ws[e, j]


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _two_sides(
    cells: cython.const[cython.double][:, ::1],
    j: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    nominal: cython.bint,
    total_w: cython.double,
    total_s: cython.double,
    cut: cython.double[::1],
) -> cython.double:
    """Σ s²/w of the best cut of the known rows, or of the best value against the others.

    Written as (low, high, weight and sum of the first side); −1 if there is none.
    """
    best: cython.double = -1.0
    w: cython.double = 0.0
    s: cython.double = 0.0
    last: cython.Py_ssize_t = -1
    c: cython.Py_ssize_t
    for c in range(size):
        if cells[c, j] <= 0.0:
            continue
        if nominal:
            w, s, last = cells[c, j], cells[c, j + 1], c
        if last >= 0:
            # s²/w + (S − s)²/(W − w), compared without the division.
            rest: cython.double = total_s - s
            denominator: cython.double = w * (total_w - w)
            squares: cython.double = s * s * (total_w - w) + rest * rest * w
            if denominator > 0.0 and squares > best * denominator:
                best = squares / denominator
                cut[0], cut[1], cut[2], cut[3] = last, c, w, s
        if not nominal:
            w += cells[c, j]
            s += cells[c, j + 1]
            last = c
    return best


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _squares_of_split(
    cells: cython.const[cython.double][:, ::1],
    j: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    nominal: cython.bint,
    stump: cython.bint,
    cut: cython.double[::1],
) -> cython.double:
    """Σ s²/w over the branches of an attribute's best split, missing rows included; −1 if none."""
    w: cython.double = 0.0
    s: cython.double = 0.0
    c: cython.Py_ssize_t
    for c in range(size):
        w += cells[c, j]
        s += cells[c, j + 1]
    if w <= 0.0:
        return -1.0
    missing_w: cython.double = cells[size, j]
    missing_s: cython.double = cells[size, j + 1]
    squares: cython.double = 0.0
    if nominal and not stump:
        cut[0], cut[1] = -1, -1
        for c in range(size):
            part: cython.double = cells[c, j] / w
            squares += _square(cells[c, j + 1] + part * missing_s, cells[c, j] + part * missing_w)
        return squares
    squares = _two_sides(cells, j, size, nominal, w, s, cut)
    if squares < 0.0:
        return -1.0
    if stump:
        return squares + _square(missing_s, missing_w)
    below: cython.double = cut[2] / w
    return _square(cut[3] + below * missing_s, cut[2] + below * missing_w) + _square(
        s - cut[3] + (1.0 - below) * missing_s, w - cut[2] + (1.0 - below) * missing_w
    )


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def _branch(
    code: cython.Py_ssize_t,
    size: cython.Py_ssize_t,
    low: cython.Py_ssize_t,
    nominal: cython.bint,
    stump: cython.bint,
) -> cython.Py_ssize_t:
    """Which branch a code takes; −1 for all of them."""
    if code == size:
        return 2 if stump else -1
    if not nominal:
        return 0 if code <= low else 1
    if stump:
        return 0 if code == low else 1
    return code


def _best_splits(
    codes: cython.const[cython.int][:, ::1],
    n_values: cython.const[cython.int][::1],
    nominal: cython.const[cython.schar][::1],
    stump: cython.bint,
    rows: cython.const[cython.int][::1],
    ws: cython.const[cython.double][:, ::1],
    cells: cython.double[:, ::1],
):
    """For each response the best split as (Σ s²/w, attribute, low, high); −1 if there is none."""
    n_responses: cython.Py_ssize_t = ws.shape[1] // 2
    best = np.full((n_responses, 4), -1.0)
    found: cython.double[:, ::1] = best
    cut: cython.double[::1] = np.empty(4)
    f: cython.Py_ssize_t
    j: cython.Py_ssize_t
    for f in range(codes.shape[0]):
        _count(cells, n_values[f] + 1, codes[f], rows, ws)
        for j in range(n_responses):
            squares: cython.double = _squares_of_split(
                cells, 2 * j, n_values[f], nominal[f], stump, cut
            )
            if squares > found[j, 0]:
                found[j, 0], found[j, 1], found[j, 2], found[j, 3] = squares, f, cut[0], cut[1]
    return best


def grow_trees(
    codes: cython.const[cython.int][:, ::1],
    n_values: cython.const[cython.int][::1],
    nominal: cython.const[cython.schar][::1],
    response: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][:, ::1],
    max_depth: cython.int,
    stump: cython.bint,
):
    """Fit a tree of at most ``max_depth`` levels to each of the responses (m, n) with its weights.

    Features and cuts that come first win ties. A tree's node is a leaf if its variance is below a
    thousandth of the root's or no split gains; a stump is always split, if that is possible. The
    roots are split together, because then the codes are read once for all of them.
    """
    m: cython.Py_ssize_t = response.shape[0]
    n: cython.Py_ssize_t = response.shape[1]
    rows = np.arange(n, dtype=np.int32)
    cells = np.empty((1 + max(1, *n_values), 2 * m))
    ws = np.empty((n, 2 * m))
    ws[:, 0::2] = np.transpose(weight)
    ws[:, 1::2] = np.transpose(weight) * np.transpose(response)
    splits = _best_splits(codes, n_values, nominal, stump, rows, ws, cells)
    own = np.empty((cells.shape[0], 2))
    return [
        _grow_tree(
            codes, n_values, nominal, response[j], weight[j], max_depth, stump, own, splits[j]
        )
        for j in range(m)
    ]


def _grow_tree(
    codes: cython.const[cython.int][:, ::1],
    n_values: cython.const[cython.int][::1],
    nominal: cython.const[cython.schar][::1],
    response: cython.const[cython.double][::1],
    weight: cython.const[cython.double][::1],
    max_depth: cython.int,
    stump: cython.bint,
    cells: cython.double[:, ::1],
    root_split,
):
    n: cython.Py_ssize_t = response.shape[0]
    tree = GrownTree(n)
    fitted: cython.double[::1] = tree.fitted
    level = [(0, np.arange(n, dtype=np.int32), np.ones(n))]
    least_gain: cython.double = 0.0
    least_variance: cython.double = 0.0
    depth: cython.int
    e: cython.Py_ssize_t
    node: cython.Py_ssize_t
    for depth in range(max_depth + 1):
        below = []
        for node, node_rows, node_share in level:
            rows: cython.const[cython.int][::1] = node_rows
            share: cython.const[cython.double][::1] = node_share
            ws: cython.double[:, ::1] = np.empty((rows.shape[0], 2))
            mass: cython.double = 0.0
            total: cython.double = 0.0
            squares: cython.double = 0.0
            for e in range(rows.shape[0]):
                ws[e, 0] = weight[rows[e]] * share[e]
                ws[e, 1] = ws[e, 0] * response[rows[e]]
                mass += ws[e, 0]
                total += ws[e, 1]
                squares += ws[e, 1] * response[rows[e]]
            variance: cython.double = (squares - _square(total, mass)) / (mass or 1.0)
            if node == 0:
                tree.value[0] = total / mass if mass > 0.0 else 0.0
                least_gain, least_variance = LEAST_GAIN * mass / n, LEAST_VARIANCE * variance
            split = root_split
            if node > 0 and depth < max_depth and variance >= least_variance:
                (split,) = _best_splits(codes, n_values, nominal, stump, rows, ws, cells)
            elif node > 0:
                split = NO_SPLIT
            gain: cython.double = split[0] - _square(total, mass)
            if split[0] < 0.0 or (not stump and gain <= least_gain):
                value: cython.double = tree.value[node]
                for e in range(rows.shape[0]):
                    fitted[rows[e]] += share[e] * value
            else:
                f: cython.Py_ssize_t = int(split[1])
                tree.attribute[node] = f
                tree.low[node], tree.high[node] = int(split[2]), int(split[3])
                below += _divide(
                    tree, node, codes[f], n_values[f], nominal[f], stump, rows, share, ws
                )
        level = below
    return tree


def _divide(
    tree,
    node: cython.Py_ssize_t,
    codes: cython.const[cython.int][::1],
    size: cython.Py_ssize_t,
    nominal: cython.bint,
    stump: cython.bint,
    rows: cython.const[cython.int][::1],
    share: cython.const[cython.double][::1],
    ws: cython.const[cython.double][:, ::1],
):
    """Give a node its children; returns those that have rows, with the rows and their shares."""
    low: cython.Py_ssize_t = tree.low[node]
    n_children: cython.Py_ssize_t = 3 if stump else (size if nominal else 2)
    branch: cython.int[::1] = np.empty(rows.shape[0], np.int32)
    mass: cython.double[::1] = np.zeros(n_children)
    total: cython.double[::1] = np.zeros(n_children)
    missing_mass: cython.double = 0.0
    missing_total: cython.double = 0.0
    e: cython.Py_ssize_t
    b: cython.Py_ssize_t
    for e in range(rows.shape[0]):
        b = _branch(codes[rows[e]], size, low, nominal, stump)
        branch[e] = cython.cast(cython.int, b)
        if b < 0:
            missing_mass += ws[e, 0]
            missing_total += ws[e, 1]
        else:
            mass[b] += ws[e, 0]
            total[b] += ws[e, 1]
    known: cython.double = np.sum(mass)
    tree.first[node], tree.n_children[node] = len(tree.value), n_children
    below = []
    for b in range(n_children):
        part: cython.double = 0.0 if stump else mass[b] / known
        own: cython.double = mass[b] + part * missing_mass
        tree.add((total[b] + part * missing_total) / own if own > 0.0 else tree.value[node], part)
        chosen, shares = _rows_of(b, part if part > LEAST_GAIN else 0.0, branch, rows, share)
        if len(chosen):
            below.append((len(tree.value) - 1, chosen, shares))
    return below


def _rows_of(
    branch: cython.int,
    part: cython.double,
    branches: cython.const[cython.int][::1],
    rows: cython.const[cython.int][::1],
    share: cython.const[cython.double][::1],
):
    """The rows of a branch, and its part of those that take all branches."""
    chosen = np.empty(rows.shape[0], np.int32)
    shares = np.empty(rows.shape[0])
    to_rows: cython.int[::1] = chosen
    to_share: cython.double[::1] = shares
    count: cython.Py_ssize_t = 0
    e: cython.Py_ssize_t
    for e in range(rows.shape[0]):
        if branches[e] == branch or (branches[e] < 0 and part > 0.0):
            to_rows[count] = rows[e]
            to_share[count] = share[e] if branches[e] == branch else share[e] * part
            count += 1
    return chosen[:count], shares[:count]


# Answers of regression trees ---------------------------------------------------------------------
# What grown trees answer to new rows.


@cython.final
@cython.cclass
class RegressionForest:
    """Trees one after another, as arrays of their nodes; attribute −1 is a leaf.

    Parameters
    ----------
    nominal : int8 array of shape (d,)
    roots, column : int32 arrays of shape (n_trees,)
        Where each tree begins, and to which sum it adds.
    attribute, first, n_children : int32 arrays of shape (n_nodes,)
    cut, value, share : arrays of shape (n_nodes,)
        See ``GrownTree``; the cut is a number, or the value of a nominal stump.
    stump : bool
    """

    nominal: cython.const[cython.schar][::1]
    roots: cython.const[cython.int][::1]
    column: cython.const[cython.int][::1]
    attribute: cython.const[cython.int][::1]
    first: cython.const[cython.int][::1]
    n_children: cython.const[cython.int][::1]
    cut: cython.const[cython.double][::1]
    value: cython.const[cython.double][::1]
    share: cython.const[cython.double][::1]
    stump: cython.bint

    def __init__(
        self, nominal, roots, column, attribute, cut, first, n_children, value, share, stump
    ):
        self.nominal, self.roots, self.column, self.stump = nominal, roots, column, stump
        self.attribute, self.first, self.n_children = attribute, first, n_children
        self.cut, self.value, self.share = cut, value, share

    def sums(self, X):
        """Sums (n, n_columns) of the trees' answers to rows X (n, d)."""
        rows: cython.const[cython.double][:, ::1] = X
        found = np.zeros((rows.shape[0], 1 + np.max(self.column)))
        total: cython.double[:, ::1] = found
        i: cython.Py_ssize_t
        t: cython.Py_ssize_t
        for i in range(rows.shape[0]):
            for t in range(self.roots.shape[0]):
                total[i, self.column[t]] += self.answer(rows[i], self.roots[t])
        return found

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def answer(
        self, row: cython.const[cython.double][::1], node: cython.Py_ssize_t
    ) -> cython.double:
        """Return the value of the tree below a node."""
        f: cython.Py_ssize_t
        child: cython.Py_ssize_t
        branch: cython.Py_ssize_t
        while self.attribute[node] >= 0:
            f = self.attribute[node]
            x: cython.double = row[f]
            child = self.first[node]
            if x != x and not self.stump:
                total: cython.double = 0.0
                for branch in range(child, child + self.n_children[node]):
                    if self.share[branch] > 0.0:
                        total += self.share[branch] * self.answer(row, branch)
                return total
            if x != x:
                child += 2
            elif self.nominal[f] and self.stump:
                child += x != self.cut[node]
            elif self.nominal[f]:
                child += cython.cast(cython.Py_ssize_t, x)
            elif self.stump:
                child += x > self.cut[node]
            else:
                child += x >= self.cut[node]
            node = child
        return self.value[node]
