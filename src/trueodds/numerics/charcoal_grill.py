"""Charcoal Grill Scaling of two and more classes: temperature field, loss and derivatives.

Benton, "Calibration for anomaly detection", equations 11 and 12: calibrated log-odds are
η(z) = z/T(z) + b, and T(z) = Σ w_c(z)·T_c is an average over coals c with weights
w_c ∝ exp(−(z − μ_c)²/(2σ_c²)). Parameters are (μ, ln T, [ln σ], [b]), so every temperature and
width is positive whatever the solver does.

*Several classes*, in blocks of rows: η = l/T(l) + b, where l are the logarithms of a row's
probabilities and T(l) = Σ w_c(l)·T_c with w_c ∝ exp(−‖l − μ_c‖²/(2σ_c²)): equation 12 with vectors
as means. The paper takes a network's logits unchanged; logarithms of probabilities are the same
up to a constant for each row, which the softmax cannot see but distances can.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt

from trueodds.inputs import Floats, Labels

__all__ = [
    "ClassCoals",
    "CoalRows",
    "Coals",
    "FieldValues",
    "Layout",
    "class_coal_weights",
    "coal_weights",
    "evaluate",
    "loss_and_gradient",
    "negative_log_likelihood",
]


@dataclass(frozen=True)
class Layout:
    """Which parameters there are, and their places in the vector θ."""

    n_coals: int
    bias: bool
    fit_width: bool

    @property
    def size(self) -> int:
        """Length of θ."""
        return self.n_coals * (3 if self.fit_width else 2) + self.bias

    def pack(self, coals: Coals) -> Floats:
        """θ of some coals."""
        parts = [coals.means, np.log(coals.temperatures)]
        if self.fit_width:
            parts.append(np.log(coals.widths))
        if self.bias:
            parts.append(np.array([coals.bias]))
        return np.concatenate(parts)

    def unpack(self, theta: Floats) -> Coals:
        """The coals that θ stands for."""
        n = self.n_coals
        widths = np.exp(theta[2 * n : 3 * n]) if self.fit_width else np.ones(n)
        bias = float(theta[-1]) if self.bias else 0.0
        return Coals(theta[:n], np.exp(theta[n : 2 * n]), widths, bias)


@dataclass(frozen=True)
class Coals:
    """A field: where the coals lie, how hot and how wide they are, and the bias."""

    means: Floats
    temperatures: Floats
    widths: Floats
    bias: float

    def calibrated(self, z: Floats) -> Floats:
        """η(z) = z/T(z) + b."""
        weights = coal_weights(z, self.means, self.widths)
        return np.asarray(z / np.einsum("c,cn->n", self.temperatures, weights) + self.bias)

    def split(self, coal: int, *, apart: float, ratio: float) -> Coals:
        """One coal as two, ``apart`` from each other, with temperatures in the given ratio."""
        index = np.insert(np.arange(len(self.means)), coal, coal)
        means, temperatures = self.means[index], self.temperatures[index]
        means[coal] -= apart / 2
        means[coal + 1] += apart / 2
        temperatures[coal] /= np.sqrt(ratio)
        temperatures[coal + 1] *= np.sqrt(ratio)
        return Coals(means, temperatures, self.widths[index], self.bias)


def coal_weights(z: Floats, means: Floats, widths: Floats) -> Floats:
    """w_c(z) of equation 12, of shape (n_coals, n).

    The paper's text could also be read as a softmax of the Gaussian values themselves, but such
    weights differ by a factor of e at most and cannot reach its results.
    """
    exponent = (z - means[:, None]) / widths[:, None]
    exponent *= exponent
    exponent *= -0.5
    exponent -= exponent.max(axis=0)
    np.exp(exponent, out=exponent)
    exponent /= exponent.sum(axis=0)
    return exponent


@dataclass(frozen=True)
class FieldValues:
    """The field at some log-odds: everything that derivatives are made of.

    Arrays have one row per parameter or coal and one column per log-odds.
    """

    z: Floats
    eta: Floats
    jacobian: Floats
    field: Floats
    field_jacobian: Floats
    weights: Floats
    coals: Coals
    layout: Layout

    def curvature(self, residual: Floats) -> Floats:
        """Σ residual·∂²η/∂θ², for the exact Hessian of a likelihood."""
        n, size = self.layout.n_coals, self.layout.size
        w = self.weights
        widths = self.coals.widths[:, None]
        slope = self.z / self.field**2
        q = -residual * slope
        deviation = self.z - self.coals.means[:, None]
        heat = self.field_jacobian[n : 2 * n]  # w·T
        excess = heat - w * self.field
        # Derivatives of the exponents: one group by the means, one by the log-widths.
        by = {0: deviation / widths**2}
        second = {(0, 0): -1 / widths**2}
        if self.layout.fit_width:
            by[2] = (deviation / widths) ** 2
            second |= {(0, 2): -2 * by[0], (2, 2): -2 * by[2]}
        out = np.zeros((size, size))

        def put(row: int, column: int, block: Floats) -> None:
            out[row * n : row * n + n, column * n : column * n + n] = block
            out[column * n : column * n + n, row * n : row * n + n] = block.T

        for first, p in by.items():
            pw, weighted = p * w, p * excess * q
            for other in by:
                if first <= other:
                    r = by[other]
                    diagonal = (excess * (p * r + second[first, other])) @ q
                    cross = weighted @ (r * w).T + (pw * q) @ (r * excess).T
                    put(first, other, np.diag(diagonal) - cross)
            put(1, first, np.diag((p * heat) @ q) - (heat * q) @ pw.T)
        put(1, 1, np.diag(heat @ q))
        j = self.field_jacobian
        out += (j * (2 * residual * slope / self.field)) @ j.T
        return out


def evaluate(z: Floats, theta: Floats, layout: Layout) -> FieldValues:
    """η and its Jacobian at many log-odds."""
    coals, n = layout.unpack(theta), layout.n_coals
    weights = coal_weights(z, coals.means, coals.widths)
    field = np.einsum("c,cn->n", coals.temperatures, weights)  # faster than BLAS here
    by_field = np.zeros((layout.size, len(z)))
    deviation = z - coals.means[:, None]
    np.multiply(weights, coals.temperatures[:, None], out=by_field[n : 2 * n])
    by_field[:n] = by_field[n : 2 * n] - weights * field
    by_field[:n] *= deviation / coals.widths[:, None] ** 2
    if layout.fit_width:
        by_field[2 * n : 3 * n] = by_field[:n] * deviation
    jacobian = by_field * (-z / field**2)
    if layout.bias:
        jacobian[-1] = 1.0
    eta = z / field + coals.bias
    return FieldValues(z, eta, jacobian, field, by_field, weights, coals, layout)


def negative_log_likelihood(eta: Floats, n_neg: Floats, n_pos: Floats) -> float:
    """Σ over the rows of −ln P(label), for calibrated log-odds η."""
    return float((n_neg + n_pos) @ np.logaddexp(0.0, eta) - n_pos @ eta)


BLOCK_VALUES = 1 << 16
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

    A row's target is ``own`` for its class and ``other`` for each of the others; ``present`` marks
    the classes that have rows.
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
        rows = max(1, BLOCK_VALUES // self.logs.shape[1])
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


def loss_and_gradient(rows: CoalRows, coals: ClassCoals) -> tuple[float, ClassCoals]:
    """Σ weight·(−Σ target·ln p), and its derivatives by means, temperatures, widths and biases."""
    loss = 0.0
    means, bias = np.zeros_like(coals.means), np.zeros_like(coals.bias)
    temperatures, widths = np.zeros_like(coals.temperatures), np.zeros_like(coals.widths)
    for block in rows.blocks():
        logs, codes = rows.logs[block], rows.codes[block]
        weight, other = rows.weight[block], rows.other[block]
        extra = rows.own[block] - other
        at, distance = class_coal_weights(logs, rows.squares[block], coals)
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
    return loss, ClassCoals(means, temperatures, widths, bias * rows.present)
