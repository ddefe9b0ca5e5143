"""The temperature field of Charcoal Grill Scaling, with its first and second derivatives.

Benton, "Calibration for anomaly detection", equations 11 and 12: calibrated log-odds are
η(z) = z/T(z) + b, and T(z) = Σ w_c(z)·T_c is an average over coals c with weights
w_c ∝ exp(−(z − μ_c)²/(2σ_c²)). Parameters are (μ, ln T, [ln σ], [b]), so every temperature and
width is positive whatever the solver does.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats

__all__ = ["Coals", "FieldValues", "Layout", "coal_weights", "evaluate", "negative_log_likelihood"]


@dataclass(frozen=True)
class Layout:
    """Which parameters there are and where they stand in the vector θ."""

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
    """Σ over the evidence of −ln P(label), for calibrated log-odds η."""
    return float((n_neg + n_pos) @ np.logaddexp(0.0, eta) - n_pos @ eta)
