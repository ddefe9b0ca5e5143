"""Cost-complexity pruning (Breiman et al., 1984) of a tree numbered in pre-order.

A node's subtree is the range [node, end[node]), its first child is node + 1, and the next child
begins where the one before ends, so no lists of children are kept.
"""

from __future__ import annotations

import numpy as np
from numba import njit

__all__ = ["prune_sequence", "subtree_ends"]

ROUNDING = 1e-12
"""Errors that differ by less than this share are equal."""

LAST = 1.0
"""The alpha of a node whose leaves count as one: above all others, as errors are at most 1."""


@njit(cache=True)
def subtree_ends(parent):  # type: ignore[no-untyped-def]
    """Where each node's subtree ends."""
    n = len(parent)
    end = np.arange(1, n + 1)
    for node in range(n - 1, 0, -1):
        end[parent[node]] = max(end[parent[node]], end[node])
    return end


@njit(cache=True)
def _set(tournament, size, node, value):  # type: ignore[no-untyped-def]
    place = size + node
    tournament[place] = value
    while place > 1:
        place //= 2
        tournament[place] = min(tournament[2 * place], tournament[2 * place + 1])


@njit(cache=True)
def _first_least(tournament, size):  # type: ignore[no-untyped-def]
    place = 1
    while place < size:
        place = 2 * place if tournament[2 * place] <= tournament[2 * place + 1] else 2 * place + 1
    return place - size


@njit(cache=True)
def _summarise(node, end, is_leaf, bare, error, below, leaves):  # type: ignore[no-untyped-def]
    """Error and number of leaves below a node; sibling leaves without a model count as one."""
    if is_leaf[node]:
        below[node], leaves[node] = error[node], 1
        return
    total, n_leaves, n_bare = 0.0, 0, 0
    child = node + 1
    while child < end[node]:
        total += below[child]
        n_leaves += leaves[child]
        if is_leaf[child] and bare[child]:
            n_bare += 1
        child = end[child]
    if n_bare > 1:
        n_leaves -= n_bare - 1
    below[node], leaves[node] = total, n_leaves


@njit(cache=True)
def _collapse(node, end, is_leaf, hidden, test_error, tournament, size):  # type: ignore[no-untyped-def]
    """Make a node a leaf, take what is below it out of sight; returns the change of test error."""
    change = test_error[node]
    is_leaf[node] = True
    _set(tournament, size, node, np.inf)
    for inner in range(node + 1, end[node]):
        if not hidden[inner]:
            if is_leaf[inner]:
                change -= test_error[inner]
            else:
                _set(tournament, size, inner, np.inf)
            hidden[inner] = True
    return change


@njit(cache=True)
def _sort(nodes, n, marked):  # type: ignore[no-untyped-def]
    """Sort the first n nodes, which are those that are marked."""
    if n > 200:  # many chains of ancestors: read the marks off in order
        n = 0
        for node in range(len(marked)):
            if marked[node]:
                nodes[n] = node
                n += 1
        return
    for i in range(1, n):
        node, j = nodes[i], i
        while j > 0 and nodes[j - 1] > node:
            nodes[j] = nodes[j - 1]
            j -= 1
        nodes[j] = node


@njit(cache=True)
def prune_sequence(parent, attribute, bare, error, test_error, total, is_leaf, permanent, stop):  # type: ignore[no-untyped-def]
    """Collapse the inner node of least alpha, again and again while alpha is at most ``stop``.

    alpha = (error as a leaf − error of the subtree)/(total·(leaves − 1)). A node whose subtree is
    no better than itself collapses at once and for good: it is marked in ``permanent``.
    ``is_leaf`` is left as the last tree has it.

    Returns the alphas (0 first) and the test error after each collapse.
    """
    n = len(parent)
    end = subtree_ends(parent)
    below = np.empty(n)
    leaves = np.empty(n, np.int64)
    size = 1
    while size < n:
        size *= 2
    tournament = np.full(2 * size, np.inf)
    hidden = np.zeros(n, np.bool_)
    current = 0.0
    for node in range(n):
        is_leaf[node] = attribute[node] < 0 or permanent[node]
        if not hidden[node] and is_leaf[node]:
            current += test_error[node]
            for inner in range(node + 1, end[node]):
                hidden[inner] = True
    alphas, test_errors = np.zeros(n + 1), np.zeros(n + 1)
    stale = np.ones(n, np.bool_)
    touched, gone = np.arange(n), np.empty(n, np.int64)
    n_touched, step = n, 0
    while True:
        for i in range(n_touched - 1, -1, -1):
            if not hidden[touched[i]]:
                _summarise(touched[i], end, is_leaf, bare, error, below, leaves)
        n_gone = 0
        for i in range(n_touched):
            node = touched[i]
            stale[node] = False
            if hidden[node] or is_leaf[node]:
                continue
            saved = error[node] - below[node]
            if saved <= ROUNDING * error[node]:
                permanent[node] = True
                current += _collapse(node, end, is_leaf, hidden, test_error, tournament, size)
                gone[n_gone] = node
                n_gone += 1
            else:
                alpha = saved / total / (leaves[node] - 1) if leaves[node] > 1 else LAST
                _set(tournament, size, node, alpha)
        if step == 0:
            test_errors[0] = current
        alpha = tournament[1]
        if alpha > stop or alpha == np.inf:
            break
        pick = _first_least(tournament, size)
        current += _collapse(pick, end, is_leaf, hidden, test_error, tournament, size)
        step += 1
        alphas[step], test_errors[step] = alpha, current
        # What collapsed in this round becomes known to the nodes above in the next one.
        gone[n_gone] = pick
        n_touched = 0
        for i in range(n_gone + 1):
            node = gone[i]
            while node >= 0 and not stale[node]:
                stale[node] = True
                touched[n_touched] = node
                n_touched += 1
                node = parent[node]
        _sort(touched, n_touched, stale)
    return alphas[: step + 1], test_errors[: step + 1]
