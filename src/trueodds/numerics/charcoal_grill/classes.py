"""Charcoal Grill Scaling of several classes: the loss and its gradient, in blocks of rows.

η = l/T(l) + b, where l are the logarithms of a row's probabilities and T(l) = Σ w_c(l)·T_c with
w_c ∝ exp(−‖l − μ_c‖²/(2σ_c²)): equation 12 with vectors as means. The paper takes a network's
logits as they are; logarithms of probabilities are the same up to a constant for each row, which
the softmax cannot see but distances can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, Labels

__all__ = ["ClassCoals", "CoalRows", "class_coal_weights", "loss_and_gradient"]

BLOCK = 1 << 16
"""Numbers in one temporary array; nothing larger is made."""


@dataclass(frozen=True)
class ClassCoals:
    """Means of shape (n_coals, k), temperatures, widths, and k biases; also their gradient."""

    means: Floats
    temperatures: Floats
    widths: Floats
    bias: Floats


@dataclass(frozen=True)
class CoalRows:
    """Logarithms of probabilities with their labels.

    A row's target is ``own`` for its class and ``other`` for each of the others; ``present`` tells
    which classes have instances.
    """

    logs: Floats
    codes: Labels
    own: Floats
    other: Floats
    weight: Floats
    present: npt.NDArray[np.bool_]

    def take(self, rows: Labels) -> CoalRows:
        """Some of the rows."""
        return CoalRows(
            self.logs[rows],
            self.codes[rows],
            self.own[rows],
            self.other[rows],
            self.weight[rows],
            self.present,
        )

    def blocks(self) -> Iterator[slice]:
        """Rows in pieces whose temporaries stay small."""
        rows = max(1, BLOCK // self.logs.shape[1])
        return (slice(begin, begin + rows) for begin in range(0, len(self.logs), rows))

    @cached_property
    def squares(self) -> Floats:
        """‖l‖² of each row."""
        return np.asarray(np.einsum("nk,nk->n", self.logs, self.logs))


def class_coal_weights(logs: Floats, squares: Floats, coals: ClassCoals) -> tuple[Floats, Floats]:
    """w_c(l) and ‖l − μ_c‖², of shape (n, n_coals)."""
    # Not by BLAS: threads cost more than such thin products take, and stall on a busy machine.
    distance = np.stack([np.einsum("nk,k->n", logs, mean) for mean in coals.means], axis=1)
    distance *= -2
    distance += squares[:, None]
    distance += np.einsum("ck,ck->c", coals.means, coals.means)
    weights = distance * (-0.5 / coals.widths**2)
    weights -= weights.max(axis=1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=1, keepdims=True)
    return weights, distance


def loss_and_gradient(evidence: CoalRows, coals: ClassCoals) -> tuple[float, ClassCoals]:
    """Σ weight·(−Σ target·ln p), and its derivatives by means, temperatures, widths and biases."""
    loss = 0.0
    means, bias = np.zeros_like(coals.means), np.zeros_like(coals.bias)
    temperatures, widths = np.zeros_like(coals.temperatures), np.zeros_like(coals.widths)
    for rows in evidence.blocks():
        logs, codes = evidence.logs[rows], evidence.codes[rows]
        weight, other = evidence.weight[rows], evidence.other[rows]
        extra = evidence.own[rows] - other
        at, distance = class_coal_weights(logs, evidence.squares[rows], coals)
        field = np.einsum("nc,c->n", at, coals.temperatures)
        eta = logs / field[:, None]
        eta += coals.bias
        index = np.arange(len(codes))
        own = eta[index, codes]
        top = eta.max(axis=1)
        target = extra * own
        if other.any():
            target += other * eta.sum(axis=1)
        eta -= top[:, None]
        np.exp(eta, out=eta)
        total = eta.sum(axis=1)
        loss += float(weight @ (np.log(total) + top - target))
        # From here on eta is weight·(p − target).
        eta *= (weight / total)[:, None]
        if other.any():
            eta -= (weight * other)[:, None]
        eta[index, codes] -= weight * extra
        bias += eta.sum(axis=0)
        by_field = np.einsum("nk,nk->n", eta, logs) / -(field**2)
        temperatures += np.einsum("n,nc->c", by_field, at)
        by_exponent = at * (coals.temperatures - field[:, None])
        by_exponent *= by_field[:, None]
        sums = by_exponent.sum(axis=0)
        pull = np.stack([np.einsum("n,nk->k", column, logs) for column in by_exponent.T])
        means += (pull - sums[:, None] * coals.means) / coals.widths[:, None] ** 2
        widths += (by_exponent * distance).sum(axis=0) / coals.widths**3
    return loss, ClassCoals(means, temperatures, widths, bias * evidence.present)
