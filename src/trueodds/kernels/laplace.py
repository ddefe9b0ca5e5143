"""Bayesian logistic regressions by Laplace's method: many models with one design.

Model j has log-odds η = offset_j + X·θ, with θ ~ N(mean_j, diag(1/precision_j)). The most probable
θ is found by Newton's method. Its Hessian, H = Xᵀ·diag(w·q·(1 − q))·X + diag(precision), is most of
the cost, so a Hessian is kept while steps with it converge fast: a model begins with the solution
and the Hessian of its parent, a model whose prior is a little narrower. One Hessian is always
computed at the end, because the evidence and the uncertainty need it.

Factors are upper triangular, H = Uᵀ·U. All products are sums of weighted rows, so that one loop
(``add_weighted_rows``) does nearly all of the work.
"""

from __future__ import annotations

import cython
import numpy as np
from cython.cimports.libc import math

if cython.compiled:
    from cython.cimports.trueodds.kernels.elementary import (
        add_weighted_rows,
        exp_in_place,
        find_forecasts,
    )
else:
    from trueodds.kernels.elementary import add_weighted_rows, exp_in_place, find_forecasts

__all__ = ["LogisticModels", "find_deviations", "mean_probabilities"]

INFINITY = cython.declare(cython.double, float("inf"))
MOST_STEPS = cython.declare(cython.int, 200)
MOST_HALVINGS = cython.declare(cython.int, 40)
ENOUGH = cython.declare(cython.double, 1e-15)
"""A step that promises to gain less than half of this, in nats, is the last."""
FAST = cython.declare(cython.double, 0.05)
"""If a step leaves more than this share of what could be gained, the Hessian is computed anew."""
LEAST_CURVATURE = cython.declare(cython.double, 1e-9)
"""Of a cell; keeps Hessians regular where every forecast is certain."""
ROUNDING = cython.declare(cython.double, 1e-13)


@cython.final
@cython.cclass
class LogisticModels:
    """The cells and the features that all models share, and room to work in.

    Parameters
    ----------
    features : float64 array of shape (n_cells, n_features)
    n_pos, weight : float64 array of shape (n_cells,)
        The weight of the positive class, and of both.
    """

    rows: cython.const[cython.double][:, ::1]
    columns: cython.const[cython.double][:, ::1]
    n_pos: cython.const[cython.double][::1]
    weight: cython.const[cython.double][::1]
    eta: cython.double[::1]
    forecast: cython.double[::1]
    softplus: cython.double[::1]
    of_cells: cython.double[::1]
    gradient: cython.double[::1]
    step: cython.double[::1]
    tried: cython.double[::1]
    of_features: cython.double[::1]

    def __init__(self, features, n_pos, weight):
        n, d = features.shape
        self.rows = np.ascontiguousarray(features)
        self.columns = np.ascontiguousarray(features.T)
        self.n_pos = n_pos
        self.weight = weight
        self.eta, self.forecast, self.softplus, self.of_cells = np.empty((4, n))
        self.gradient, self.step, self.tried, self.of_features = np.empty((4, d))

    def fit(
        self,
        offset: cython.const[cython.double][:, ::1],
        mean: cython.const[cython.double][:, ::1],
        precision: cython.const[cython.double][:, ::1],
        parent: cython.const[cython.Py_ssize_t][::1],
        theta: cython.double[:, ::1],
        hessian: cython.double[:, :, ::1],
        factor: cython.double[:, :, ::1],
        evidence: cython.double[::1],
    ):
        """Fit all models, and write what is found into the last four.

        Parameters
        ----------
        offset : array of shape (n_models, n_cells)
        mean, precision : array of shape (n_models, n_features)
        parent : integer array of shape (n_models,)
            An earlier model; −1: none, and then ``theta`` holds a guess.
        theta : array of shape (n_models, n_features)
        hessian, factor : array of shape (n_models, n_features, n_features)
            Their upper triangles.
        evidence : array of shape (n_models,)
            Ln of the marginal likelihood; NaN if rounding has left no maximum.
        """
        j: cython.Py_ssize_t
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.rows.shape[1]
        has_parent: cython.bint
        with cython.nogil:
            for j in range(offset.shape[0]):
                # Enormous weights can leave a Hessian without a factor: the model has no evidence.
                has_parent = parent[j] >= 0 and not math.isnan(evidence[parent[j]])
                if has_parent:
                    theta[j, :] = theta[parent[j]]
                    for a in range(d):
                        for b in range(a, d):
                            hessian[j, a, b] = hessian[parent[j], a, b]
                        hessian[j, a, a] += precision[j, a] - precision[parent[j], a]
                evidence[j] = self._climb(
                    offset[j], mean[j], precision[j], theta[j], hessian[j], factor[j],
                    has_parent,
                )  # fmt: skip
                self._find_hessian(precision[j], hessian[j])
                factorize(hessian[j], factor[j], self.of_features)
                for a in range(d):
                    # ½·ln det of the prior's precision, and of the posterior's.
                    evidence[j] += 0.5 * math.log(precision[j, a]) - math.log(factor[j, a, a])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _climb(
        self,
        offset: cython.const[cython.double][::1],
        mean: cython.const[cython.double][::1],
        precision: cython.const[cython.double][::1],
        theta: cython.double[::1],
        hessian: cython.double[:, ::1],
        factor: cython.double[:, ::1],
        has_hessian: cython.bint,
    ) -> cython.double:
        """Take ``theta`` to the top of the log-posterior, whose height is returned."""
        a: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.rows.shape[1]
        promised: cython.double
        before: cython.double = INFINITY
        length: cython.double
        height: cython.double = self._height(offset, mean, precision, theta)
        new_height: cython.double = height
        is_newton: cython.bint = False  # whether the Hessian is that of theta
        _trial: cython.int
        _halving: cython.int
        if has_hessian:
            factorize(hessian, factor, self.of_features)
        for _trial in range(MOST_STEPS):
            if not has_hessian:
                self._find_hessian(precision, hessian)
                factorize(hessian, factor, self.of_features)
                has_hessian = is_newton = True
            promised = self._find_step(mean, precision, theta, factor)
            if not is_newton and promised > FAST * before:
                has_hessian = False
                before = INFINITY
                continue
            length = 1.0
            for _halving in range(MOST_HALVINGS if is_newton else 1):
                for a in range(d):
                    self.tried[a] = theta[a] + length * self.step[a]
                new_height = self._height(offset, mean, precision, self.tried)
                if new_height >= height - 1e-9 - ROUNDING * abs(height):
                    break
                length *= 0.5
            else:  # every step falls
                height = self._height(offset, mean, precision, theta)
                if is_newton:
                    break
                has_hessian = False
                continue
            theta[:] = self.tried
            height = new_height
            if promised < ENOUGH:
                break
            # A shortened step says little of how well the next one will do.
            before = promised if length == 1.0 else 0.0
            is_newton = False
        return height

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _height(
        self,
        offset: cython.const[cython.double][::1],
        mean: cython.const[cython.double][::1],
        precision: cython.const[cython.double][::1],
        theta: cython.const[cython.double][::1],
    ) -> cython.double:
        """The log-posterior but for constants; log-odds and forecasts are left in the room."""
        i: cython.Py_ssize_t
        height: cython.double = 0.0
        self.eta[:] = offset
        add_weighted_rows(self.columns, 0, theta, theta.shape[0], self.eta)
        find_forecasts(self.eta, self.forecast, self.softplus)
        for i in range(self.eta.shape[0]):
            height += self.eta[i] * self.n_pos[i] - self.softplus[i] * self.weight[i]
        for i in range(theta.shape[0]):
            height -= 0.5 * precision[i] * (theta[i] - mean[i]) ** 2
        return height

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _find_hessian(
        self, precision: cython.const[cython.double][::1], hessian: cython.double[:, ::1]
    ) -> cython.void:
        """Minus the second derivatives of the log-posterior at the last forecasts."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.rows.shape[0]
        for i in range(n):
            self.softplus[i] = max(
                self.weight[i] * self.forecast[i] * (1.0 - self.forecast[i]), LEAST_CURVATURE
            )
        for a in range(self.rows.shape[1]):
            hessian[a, :] = 0.0
            hessian[a, a] = precision[a]
            for i in range(n):
                self.of_cells[i] = self.softplus[i] * self.columns[a, i]
            add_weighted_rows(self.rows, a, self.of_cells, n, hessian[a])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _find_step(
        self,
        mean: cython.const[cython.double][::1],
        precision: cython.const[cython.double][::1],
        theta: cython.const[cython.double][::1],
        factor: cython.const[cython.double][:, ::1],
    ) -> cython.double:
        """Solve for Newton's step; return twice the gain that it promises."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        promised: cython.double = 0.0
        for i in range(self.rows.shape[0]):
            self.of_cells[i] = self.n_pos[i] - self.weight[i] * self.forecast[i]
        for a in range(theta.shape[0]):
            self.gradient[a] = precision[a] * (mean[a] - theta[a])
        add_weighted_rows(self.rows, 0, self.of_cells, self.rows.shape[0], self.gradient)
        self.step[:] = self.gradient
        solve(factor, self.step)
        for a in range(theta.shape[0]):
            promised += self.gradient[a] * self.step[a]
        return promised


# Triangular factors ------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def factorize(
    matrix: cython.const[cython.double][:, ::1],
    factor: cython.double[:, ::1],
    room: cython.double[::1],
) -> cython.void:
    """U with Uᵀ·U = matrix (Cholesky), row by row; only upper triangles are read and written."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    root: cython.double
    d: cython.Py_ssize_t = matrix.shape[0]
    for a in range(d):
        for b in range(a):
            room[b] = -factor[b, a]
        for b in range(a, d):
            factor[a, b] = matrix[a, b]
        add_weighted_rows(factor, a, room, a, factor[a])
        root = math.sqrt(factor[a, a])
        for b in range(a, d):
            factor[a, b] /= root


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def solve(factor: cython.const[cython.double][:, ::1], x: cython.double[::1]) -> cython.void:
    """Replace x by the solution of Uᵀ·U·s = x."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    d: cython.Py_ssize_t = factor.shape[0]
    for a in range(d):
        x[a] /= factor[a, a]
        for b in range(a + 1, d):
            x[b] -= x[a] * factor[a, b]
    for a in range(d - 1, -1, -1):
        for b in range(a + 1, d):
            x[a] -= factor[a, b] * x[b]
        x[a] /= factor[a, a]


def find_deviations(
    factor: cython.const[cython.double][:, :, ::1],
    chosen: cython.const[cython.Py_ssize_t][::1],
    columns: cython.const[cython.double][:, ::1],
    deviation: cython.double[:, ::1],
):
    """Write the standard deviations of X·θ under some models into ``deviation``.

    With U⁻ᵀ·x = s, the variance xᵀ·H⁻¹·x is the sum of the squares of s.

    Parameters
    ----------
    factor : array of shape (n_models, n_features, n_features)
    chosen : integer array
        The models that are asked for.
    columns : array of shape (n_features, n)
        The transpose of X.
    deviation : array of shape (len(chosen), n)
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    d: cython.Py_ssize_t = columns.shape[0]
    n: cython.Py_ssize_t = columns.shape[1]
    solved: cython.double[:, ::1] = np.empty((d, n))
    room: cython.double[::1] = np.empty(d)
    with cython.nogil:
        for k in range(chosen.shape[0]):
            j = chosen[k]
            deviation[k, :] = 0.0
            for a in range(d):
                for i in range(a):
                    room[i] = -factor[j, i, a]
                solved[a, :] = columns[a]
                add_weighted_rows(solved, 0, room, a, solved[a])
                for i in range(n):
                    solved[a, i] /= factor[j, a, a]
                    deviation[k, i] += solved[a, i] * solved[a, i]
            for i in range(n):
                deviation[k, i] = math.sqrt(deviation[k, i])


# Mixtures of normal curves -----------------------------------------------------------------------


def mean_probabilities(
    mean: cython.const[cython.double][:, ::1],
    deviation: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    nodes: cython.const[cython.double][::1],
    node_weights: cython.const[cython.double][::1],
    p: cython.double[::1],
    rest: cython.double[::1],
):
    """Write the mean of σ(η) over a mixture of normal η, and of 1 − σ(η), into ``p`` and ``rest``.

    Parameters
    ----------
    mean, deviation : array of shape (n_members, n)
    weight : array of shape (n_members,)
    nodes, node_weights : array
        Of quadrature over a standard normal; the weights sum to 1.
    p, rest : array of shape (n,)
    """
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    node: cython.Py_ssize_t
    n: cython.Py_ssize_t = mean.shape[1]
    share: cython.double
    near: cython.double
    far: cython.double
    eta: cython.double[::1] = np.empty(n)
    power: cython.double[::1] = np.empty(n)
    with cython.nogil:
        p[:] = 0.0
        rest[:] = 0.0
        for k in range(mean.shape[0]):
            for node in range(nodes.shape[0]):
                share = weight[k] * node_weights[node]
                for i in range(n):
                    eta[i] = mean[k, i] + deviation[k, i] * nodes[node]
                    power[i] = -abs(eta[i])
                exp_in_place(power)
                for i in range(n):
                    near = share / (1.0 + power[i])
                    far = near * power[i]
                    p[i] += near if eta[i] >= 0.0 else far
                    rest[i] += far if eta[i] >= 0.0 else near
