"""A search for rows on which an ONNX graph and its model differ.

Random rows seldom reach the highest probability of a class, or the border between two, where
rounding decides. Rows that recombine the best ones do.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import onnxruntime

from trueodds.basics.warned import ignored_warnings
from trueodds.export.onnx.check import Check
from trueodds.export.onnx.model import _computes_in_float32
from trueodds.inputs import Floats

Pair = tuple[Floats, Floats]

N_PARENTS, N_CHILDREN, N_ROUNDS = 16, 24, 8
N_PAIRS, N_HALVINGS = 16, 10


class Search(Check):
    """The check of the library, on bred rows."""

    def bred(self) -> Iterator[Pair]:
        """Rows from the pools, then of ever higher probability, then at borders."""
        numbers, p = self.judged(self.drawn(400))
        for _ in range(N_ROUNDS if len(p) else 0):
            classes = self.rng.permutation(p.shape[1])[:8]
            children = [self.children(numbers[np.argsort(-p[:, k])[:N_PARENTS]]) for k in classes]
            more, q = self.judged(np.concatenate(children))
            if len(more):
                numbers, p = np.concatenate([numbers, more]), np.concatenate([p, q])
        yield numbers, p
        yield from self.borders(numbers, p)

    def children(self, parents: Floats) -> Floats:
        """Rows that take each value from one of two parents, and one in ten anew."""
        pairs = self.rng.integers(0, len(parents), (2, N_CHILDREN))
        shape = N_CHILDREN, parents.shape[1]
        result: Floats = np.where(
            self.rng.random(shape) < 0.5, parents[pairs[0]], parents[pairs[1]]
        )
        return np.asarray(np.where(self.rng.random(shape) < 0.1, self.drawn(N_CHILDREN), result))

    def borders(self, numbers: Floats, p: Floats) -> Iterator[Pair]:
        """What lies between rows of two labels, ever closer to where the label changes."""
        label = p.argmax(axis=1) if len(p) else np.zeros(0)
        if len(np.unique(label)) < 2:
            return
        first = self.rng.integers(0, len(numbers), N_PAIRS)
        other = [self.rng.choice(np.flatnonzero(label != label[row])) for row in first]
        a, b, side = numbers[first], numbers[other], label[first]
        for _ in range(N_HALVINGS):
            middle, q = self.judged((a + b) / 2)
            if len(middle) < N_PAIRS:
                return
            yield middle, q
            same = (q.argmax(axis=1) == side)[:, np.newaxis]
            a, b = np.where(same, middle, a), np.where(same, b, middle)


def assert_no_counterexample(graph: Any, model: Any, X: Any = None) -> None:
    """No bred row has another probability or another label than in Python."""
    in_float32 = _computes_in_float32(graph.graph)
    with np.errstate(all="ignore"), ignored_warnings():
        search = Search(onnxruntime, graph, model, X, in_float32=in_float32)
        for numbers, p in search.bred():
            if len(numbers):
                search.compare(search.rows(numbers), p)
    assert search.n_rows > 400
    assert not search.n_wrong, f"{search.n_wrong} of {search.n_rows}, by {search.worst}"
    assert not search.n_wrong_labels
