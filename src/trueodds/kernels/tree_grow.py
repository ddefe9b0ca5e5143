"""Growing a calibration tree: one pass over presorted attributes for each node.

Nodes are numbered in pre-order. Each node owns a segment of the training rows, of the test rows
and of every attribute's sorted rows; a split partitions the segments in place and keeps order.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from numba import njit

from trueodds.kernels.logit_boost import (
    boost,
    choose_iterations,
    probabilities,
    squared_error,
    wrong_weight,
)
from trueodds.kernels.tree_folds import spread_folds, weka_folds
from trueodds.kernels.tree_split import best_split

__all__ = ["GrowData", "GrowRules", "Nodes", "grow"]

LEAST_TO_SPLIT = 4.0
EMPTY_ERROR = 1e-6
"""What the authors' program takes as the error of a branch without rows."""

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]


class GrowData(NamedTuple):
    """What all trees of one fit share, with rows last: attributes (d, n), scores (A, n).

    ``n_values`` is 0 for a numeric attribute, otherwise the number of codes of a nominal one.
    ``targets[i, j]`` is what class j is taken for in a row of class i. ``table`` comes from
    :func:`~trueodds.kernels.tree_split.entropy_table`.
    """

    attributes: Floats
    n_values: Ints
    many_valued: npt.NDArray[np.bool_]
    sorted_rows: Rows
    scores: Floats
    y: Rows
    targets: Floats
    table: Floats
    decks: Ints


class GrowRules(NamedTuple):
    """How trees are grown; ``n_iterations`` of 0 asks for cross-validation at every node."""

    n_iterations: int
    max_iterations: int
    patience: int
    slack: float
    weka: bool
    whole_rows: bool
    min_samples: float
    max_depth: int
    min_gap: float
    count_errors: bool


class Nodes(NamedTuple):
    """Nodes in pre-order; ``attribute`` is −1 for a leaf, ``done`` the iterations of the node."""

    parent: Ints
    attribute: Ints
    cut: Floats
    done: Ints
    mass: Floats
    error: Floats
    test_error: Floats
    coef: Floats


@njit(cache=True)
def _partition(rows, begin, end, branch, offsets, place, buffer):  # type: ignore[no-untyped-def]
    """Stable counting sort of rows[begin:end] by branch; offsets are the branches' beginnings."""
    for b in range(len(place)):
        place[b] = offsets[b]
    for i in range(begin, end):
        row = rows[i]
        b = branch[row]
        buffer[place[b]] = row
        place[b] += 1
    for i in range(begin, end):
        rows[i] = buffer[i - begin]


@njit(cache=True)
def _partition_sorted(rows, values, begin, end, branch, offsets, place, buffer, value_buffer):  # type: ignore[no-untyped-def]
    """The same for rows together with their values of the attribute that they are sorted by."""
    for b in range(len(place)):
        place[b] = offsets[b]
    for i in range(begin, end):
        row = rows[i]
        b = branch[row]
        buffer[place[b]] = row
        value_buffer[place[b]] = values[i]
        place[b] += 1
    for i in range(begin, end):
        rows[i] = buffer[i - begin]
        values[i] = value_buffer[i - begin]


@njit(cache=True)
def _largest_value_up_to(values, order, limit):  # type: ignore[no-untyped-def]
    low, high = 0, len(order)
    while low < high:
        middle = (low + high) // 2
        if values[order[middle]] <= limit:
            low = middle + 1
        else:
            high = middle
    return values[order[low - 1]]


@njit(cache=True)
def _of_positive_weight(rows, weight):  # type: ignore[no-untyped-def]
    kept = np.empty(len(rows), np.int32)
    n = 0
    for row in rows:
        if weight[row] > 0.0:
            kept[n] = row
            n += 1
    return kept[:n]


@njit(cache=True)
def _gather(scores, y, weight, rows):  # type: ignore[no-untyped-def]
    n_columns, n = scores.shape[0], len(rows)
    part = np.empty((n_columns, n))
    labels, mass = np.empty(n, np.int32), np.empty(n)
    for i in range(n):
        row = rows[i]
        labels[i] = y[row]
        mass[i] = weight[row]
        for a in range(n_columns):
            part[a, i] = scores[a, row]
    return part, labels, mass


@njit(cache=True)
def _longer(array):  # type: ignore[no-untyped-def]
    bigger = np.zeros(2 * len(array), array.dtype)
    for i in range(len(array)):
        bigger[i] = array[i]
    return bigger


@njit(cache=True)
def _error(model, scores, y, weight, rows, n_classes, count_errors):  # type: ignore[no-untyped-def]
    part, labels, mass = _gather(scores, y, weight, rows)
    F, p = np.empty((len(model), len(rows))), np.empty((len(model), len(rows)))
    probabilities(part, model, F, p)
    if count_errors:
        return wrong_weight(p, labels, mass)
    return squared_error(p, labels, mass, n_classes)


@njit(cache=True)
def _fit_node(model, data, rules, weight, total, rows):  # type: ignore[no-untyped-def]
    """Boost from the parent's model on the node's rows; returns the number of iterations."""
    n_folds = data.decks.shape[1]
    if total < n_folds:
        return 0
    scores, y, w = _gather(data.scores, data.y, weight, rows)
    wanted = rules.n_iterations
    if wanted == 0:
        n_classes = len(data.targets)
        if rules.weka:
            parts = weka_folds(y, w, n_folds)[0]
        else:
            parts = spread_folds(y, w, n_classes, data.decks, rules.whole_rows)
        wanted = choose_iterations(
            scores,
            y,
            w,
            data.targets,
            model,
            parts,
            rules.max_iterations,
            rules.patience,
            rules.slack,
        )
    F, p = np.empty((len(model), len(y))), np.empty((len(model), len(y)))
    probabilities(scores, model, F, p)
    return boost(scores, y, w, data.targets, wanted, model, F, p)


@njit(cache=True)
def _count(y, weight, rows, counts):  # type: ignore[no-untyped-def]
    """Weight of each class; returns the total and the weight outside the largest class."""
    total, largest = 0.0, 0.0
    for c in range(len(counts)):
        counts[c] = 0.0
    for row in rows:
        counts[y[row]] += weight[row]
    for c in range(len(counts)):
        total += counts[c]
        largest = max(largest, counts[c])
    return total, total - largest


@njit(cache=True)
def _send(rows, begin, end, values, is_numeric, cut, branch, offsets):  # type: ignore[no-untyped-def]
    """Note each row's branch, and where each branch will begin."""
    for b in range(len(offsets)):
        offsets[b] = 0
    for i in range(begin, end):
        row = rows[i]
        b = (0 if values[row] <= cut else 1) if is_numeric else int(values[row])
        branch[row] = b
        offsets[b + 1] += 1
    for b in range(len(offsets) - 1):
        offsets[b + 1] += offsets[b]


@njit(cache=True)
def grow(data, rules, weight, test_weight, sequence):  # type: ignore[no-untyped-def]
    """Grow a tree on the rows of positive ``weight``; measure it on those of ``test_weight``.

    ``sequence`` is the order of the rows, on which the folds of nodes depend.
    """
    n_attributes, n = data.attributes.shape
    n_classes, n_columns = len(data.targets), len(data.scores)
    n_models = 1 if n_classes == 2 else n_classes
    rows = _of_positive_weight(sequence, weight)
    test_rows = _of_positive_weight(sequence, test_weight)
    n_train, n_test = len(rows), len(test_rows)
    # Values travel with the sorted rows, so that the search for a cut reads memory in sequence.
    order = np.empty((n_attributes, n_train), np.int32)
    sorted_values = np.empty((n_attributes, n_train))
    unit_weight = True
    for row in rows:
        if weight[row] != 1.0:
            unit_weight = False
    for a in range(n_attributes):
        if data.n_values[a] == 0:
            i = 0
            for row in data.sorted_rows[a]:
                if weight[row] > 0.0:
                    order[a, i] = row
                    sorted_values[a, i] = data.attributes[a, row]
                    i += 1

    capacity = 64
    parent, attribute = np.zeros(capacity, np.int64), np.zeros(capacity, np.int64)
    done, cut = np.zeros(capacity, np.int64), np.zeros(capacity)
    mass, error, test_error = np.zeros(capacity), np.zeros(capacity), np.zeros(capacity)
    model_size = n_models * (n_columns + 1)
    coef = np.zeros(capacity * model_size)

    branch = np.empty(n, np.uint16)
    buffer = np.empty(max(n_train, n_test), np.int32)
    value_buffer = np.empty(n_train)
    counts = np.empty(n_classes)

    # What waits: parent, segment of the training rows, segment of the test rows, depth.
    stack = np.zeros(64 * 6, np.int64)
    stack[0], stack[2], stack[4] = -1, n_train, n_test
    waiting, n_nodes = 1, 0
    while waiting > 0:
        waiting -= 1
        top = 6 * waiting
        above, begin, end = stack[top], stack[top + 1], stack[top + 2]
        test_begin, test_end, depth = stack[top + 3], stack[top + 4], stack[top + 5]
        node = n_nodes
        n_nodes += 1
        if n_nodes > len(parent):
            parent, attribute, done = _longer(parent), _longer(attribute), _longer(done)
            cut, mass, coef = _longer(cut), _longer(mass), _longer(coef)
            error, test_error = _longer(error), _longer(test_error)
        parent[node], attribute[node] = above, -1
        if above >= 0:
            for i in range(model_size):
                coef[node * model_size + i] = coef[above * model_size + i]
        model = coef[node * model_size : (node + 1) * model_size].reshape((n_models, n_columns + 1))

        own = rows[begin:end]
        total, outside = _count(data.y, weight, own, counts)
        mass[node], error[node] = total, EMPTY_ERROR
        if end > begin:
            done[node] = _fit_node(model, data, rules, weight, total, own)
            error[node] = _error(
                model, data.scores, data.y, weight, own, n_classes, rules.count_errors
            )
        if test_end > test_begin:
            test_error[node] = _error(
                model,
                data.scores,
                data.y,
                test_weight,
                test_rows[test_begin:test_end],
                n_classes,
                rules.count_errors,
            )

        if (
            total < rules.min_samples
            or total < LEAST_TO_SPLIT
            or outside < EMPTY_ERROR
            or depth >= rules.max_depth
        ):
            continue
        a, limit = best_split(
            data,
            order[:, begin:end],
            sorted_values[:, begin:end],
            own,
            weight,
            unit_weight,
            counts,
            total,
            rules.min_gap,
        )
        if a < 0:
            continue
        is_numeric = data.n_values[a] == 0
        if is_numeric:
            # A value of the whole training set, even in a fold, as in the authors' program.
            limit = _largest_value_up_to(data.attributes[a], data.sorted_rows[a], limit)
        attribute[node], cut[node] = a, limit
        n_branches = 2 if is_numeric else data.n_values[a]
        offsets = np.empty(n_branches + 1, np.int64)
        test_offsets, place = np.empty_like(offsets), np.empty_like(offsets)
        values = data.attributes[a]
        # Test rows last: a row of both kinds has the same branch in both.
        _send(rows, begin, end, values, is_numeric, limit, branch, offsets)
        for other in range(n_attributes):
            if data.n_values[other] == 0:
                _partition_sorted(
                    order[other],
                    sorted_values[other],
                    begin,
                    end,
                    branch,
                    offsets,
                    place,
                    buffer,
                    value_buffer,
                )
        _partition(rows, begin, end, branch, offsets, place, buffer)
        _send(test_rows, test_begin, test_end, values, is_numeric, limit, branch, test_offsets)
        _partition(test_rows, test_begin, test_end, branch, test_offsets, place, buffer)
        while 6 * (waiting + n_branches) > len(stack):
            stack = _longer(stack)
        for b in range(n_branches - 1, -1, -1):
            top = 6 * waiting
            stack[top] = node
            stack[top + 1], stack[top + 2] = begin + offsets[b], begin + offsets[b + 1]
            stack[top + 3] = test_begin + test_offsets[b]
            stack[top + 4] = test_begin + test_offsets[b + 1]
            stack[top + 5] = depth + 1
            waiting += 1
    return Nodes(
        parent[:n_nodes],
        attribute[:n_nodes],
        cut[:n_nodes],
        done[:n_nodes],
        mass[:n_nodes],
        error[:n_nodes],
        test_error[:n_nodes],
        coef[: n_nodes * model_size].reshape((n_nodes, n_models, n_columns + 1)),
    )
