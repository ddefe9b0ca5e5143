"""Bayesian logistic regressions by Laplace's method: many models with one design.

Model j has log-odds η = offset_j + X·θ, with θ ~ N(mean_j, diag(1/precision_j)). Newton's method
finds the mode of the posterior. Most of the cost is the Hessian
H = Xᵀ·diag(w·p·(1 − p))·X + diag(precision), so it is kept while steps with it converge fast. A
model begins with the solution and the Hessian of its parent, a model with a narrower prior. One
Hessian is always computed at the end, because the evidence and the uncertainty need it.

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
        sigmoid_and_softplus_into,
    )
else:
    from trueodds.kernels.elementary import (
        add_weighted_rows,
        exp_in_place,
        sigmoid_and_softplus_into,
    )

__all__ = ["LogisticModels", "mean_probabilities", "standard_deviations"]

INFINITY = cython.declare(cython.double, float("inf"))
MAX_STEPS = cython.declare(cython.int, 200)
MAX_HALVINGS = cython.declare(cython.int, 40)
GAIN_TOLERANCE = cython.declare(cython.double, 1e-15)
"""The step at which the squared Newton decrement, gᵀ·H⁻¹·g, is below this is the last."""
MAX_CONTRACTION = cython.declare(cython.double, 0.05)
"""The Hessian is computed again if a step reduces the squared decrement by a larger factor."""
MIN_CURVATURE = cython.declare(cython.double, 1e-9)
"""Least w·p·(1 − p) of a cell; keeps Hessians regular where every forecast is certain."""
LOG_POSTERIOR_ROUNDING = cython.declare(cython.double, 1e-13)


@cython.final
@cython.cclass
class LogisticModels:
    """The cells and the features that all models share, and work arrays.

    Parameters
    ----------
    features : float64 array of shape (n_cells, n_features)
    n_pos, weight : float64 array of shape (n_cells,)
        Weight of the positive class, and of both classes.
    """

    rows: cython.const[cython.double][:, ::1]
    columns: cython.const[cython.double][:, ::1]
    n_pos: cython.const[cython.double][::1]
    weight: cython.const[cython.double][::1]
    eta: cython.double[::1]
    p: cython.double[::1]
    softplus: cython.double[::1]
    cell_work: cython.double[::1]
    gradient: cython.double[::1]
    step: cython.double[::1]
    trial: cython.double[::1]
    feature_work: cython.double[::1]

    def __init__(self, features, n_pos, weight):
        n, d = features.shape
        self.rows = np.ascontiguousarray(features)
        self.columns = np.ascontiguousarray(features.T)
        self.n_pos = n_pos
        self.weight = weight
        self.eta, self.p, self.softplus, self.cell_work = np.empty((4, n))
        self.gradient, self.step, self.trial, self.feature_work = np.empty((4, d))

    def fit(
        self,
        offset: cython.const[cython.double][:, ::1],
        mean: cython.const[cython.double][:, ::1],
        precision: cython.const[cython.double][:, ::1],
        parent: cython.const[cython.Py_ssize_t][::1],
        theta: cython.double[:, ::1],
        hessian: cython.double[:, :, ::1],
        factor: cython.double[:, :, ::1],
        log_evidence: cython.double[::1],
    ):
        """Fit all models, and write the results into the last four arrays.

        Parameters
        ----------
        offset : array of shape (n_models, n_cells)
        mean, precision : array of shape (n_models, n_features)
        parent : integer array of shape (n_models,)
            An earlier model, or −1 for none; then ``theta`` must contain a starting point.
        theta : array of shape (n_models, n_features)
        hessian, factor : array of shape (n_models, n_features, n_features)
            Only upper triangles are written.
        log_evidence : array of shape (n_models,)
            Logarithm of the marginal likelihood; NaN if rounding leaves no maximum.
        """
        j: cython.Py_ssize_t
        a: cython.Py_ssize_t
        b: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.rows.shape[1]
        has_parent: cython.bint
        with cython.nogil:
            for j in range(offset.shape[0]):
                # Enormous weights can leave a Hessian without a factor: the evidence is NaN.
                has_parent = parent[j] >= 0 and not math.isnan(log_evidence[parent[j]])
                if has_parent:
                    theta[j, :] = theta[parent[j]]
                    for a in range(d):
                        for b in range(a, d):
                            hessian[j, a, b] = hessian[parent[j], a, b]
                        hessian[j, a, a] += precision[j, a] - precision[parent[j], a]
                log_evidence[j] = self._maximize(
                    offset[j], mean[j], precision[j], theta[j], hessian[j], factor[j],
                    has_parent,
                )  # fmt: skip
                self._hessian_into(precision[j], hessian[j])
                cholesky(hessian[j], factor[j], self.feature_work)
                for a in range(d):
                    # 0.5·ln det of the prior's precision, and of the posterior's.
                    log_evidence[j] += 0.5 * math.log(precision[j, a]) - math.log(factor[j, a, a])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _maximize(
        self,
        offset: cython.const[cython.double][::1],
        mean: cython.const[cython.double][::1],
        precision: cython.const[cython.double][::1],
        theta: cython.double[::1],
        hessian: cython.double[:, ::1],
        factor: cython.double[:, ::1],
        has_hessian: cython.bint,
    ) -> cython.double:
        """Move ``theta`` to the mode of the posterior; return the log-posterior there."""
        a: cython.Py_ssize_t
        d: cython.Py_ssize_t = self.rows.shape[1]
        decrement: cython.double
        last_decrement: cython.double = INFINITY
        step_size: cython.double
        log_posterior: cython.double = self._log_posterior(offset, mean, precision, theta)
        new_log_posterior: cython.double = log_posterior
        hessian_is_current: cython.bint = False  # whether the Hessian is that of theta
        _trial: cython.int
        _halving: cython.int
        if has_hessian:
            cholesky(hessian, factor, self.feature_work)
        for _trial in range(MAX_STEPS):
            if not has_hessian:
                self._hessian_into(precision, hessian)
                cholesky(hessian, factor, self.feature_work)
                has_hessian = hessian_is_current = True
            decrement = self._newton_step(mean, precision, theta, factor)
            if not hessian_is_current and decrement > MAX_CONTRACTION * last_decrement:
                has_hessian = False
                last_decrement = INFINITY
                continue
            step_size = 1.0
            for _halving in range(MAX_HALVINGS if hessian_is_current else 1):
                for a in range(d):
                    self.trial[a] = theta[a] + step_size * self.step[a]
                new_log_posterior = self._log_posterior(offset, mean, precision, self.trial)
                if new_log_posterior >= log_posterior - 1e-9 - LOG_POSTERIOR_ROUNDING * abs(
                    log_posterior
                ):
                    break
                step_size *= 0.5
            else:  # no step increases it
                log_posterior = self._log_posterior(offset, mean, precision, theta)
                if hessian_is_current:
                    break
                has_hessian = False
                continue
            theta[:] = self.trial
            log_posterior = new_log_posterior
            if decrement < GAIN_TOLERANCE:
                break
            # A damped step does not predict how fast the next one converges.
            last_decrement = decrement if step_size == 1.0 else 0.0
            hessian_is_current = False
        return log_posterior

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _log_posterior(
        self,
        offset: cython.const[cython.double][::1],
        mean: cython.const[cython.double][::1],
        precision: cython.const[cython.double][::1],
        theta: cython.const[cython.double][::1],
    ) -> cython.double:
        """Return the log-posterior up to a constant; ``eta`` and ``p`` are those of ``theta``."""
        i: cython.Py_ssize_t
        log_posterior: cython.double = 0.0
        self.eta[:] = offset
        add_weighted_rows(self.columns, 0, theta, theta.shape[0], self.eta)
        sigmoid_and_softplus_into(self.eta, self.p, self.softplus)
        for i in range(self.eta.shape[0]):
            log_posterior += self.eta[i] * self.n_pos[i] - self.softplus[i] * self.weight[i]
        for i in range(theta.shape[0]):
            log_posterior -= 0.5 * precision[i] * (theta[i] - mean[i]) ** 2
        return log_posterior

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _hessian_into(
        self, precision: cython.const[cython.double][::1], hessian: cython.double[:, ::1]
    ) -> cython.void:
        """Write the Hessian of the negative log-posterior at the last ``p``."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        n: cython.Py_ssize_t = self.rows.shape[0]
        for i in range(n):
            self.softplus[i] = max(self.weight[i] * self.p[i] * (1.0 - self.p[i]), MIN_CURVATURE)
        for a in range(self.rows.shape[1]):
            hessian[a, :] = 0.0
            hessian[a, a] = precision[a]
            for i in range(n):
                self.cell_work[i] = self.softplus[i] * self.columns[a, i]
            add_weighted_rows(self.rows, a, self.cell_work, n, hessian[a])

    @cython.cfunc
    @cython.nogil
    @cython.exceptval(check=False)
    def _newton_step(
        self,
        mean: cython.const[cython.double][::1],
        precision: cython.const[cython.double][::1],
        theta: cython.const[cython.double][::1],
        factor: cython.const[cython.double][:, ::1],
    ) -> cython.double:
        """Solve for Newton's step; return the squared Newton decrement gᵀ·H⁻¹·g."""
        i: cython.Py_ssize_t
        a: cython.Py_ssize_t
        decrement: cython.double = 0.0
        for i in range(self.rows.shape[0]):
            self.cell_work[i] = self.n_pos[i] - self.weight[i] * self.p[i]
        for a in range(theta.shape[0]):
            self.gradient[a] = precision[a] * (mean[a] - theta[a])
        add_weighted_rows(self.rows, 0, self.cell_work, self.rows.shape[0], self.gradient)
        self.step[:] = self.gradient
        cholesky_solve(factor, self.step)
        for a in range(theta.shape[0]):
            decrement += self.gradient[a] * self.step[a]
        return decrement


# Triangular factors ------------------------------------------------------------------------------


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cholesky(
    matrix: cython.const[cython.double][:, ::1],
    factor: cython.double[:, ::1],
    work: cython.double[::1],
) -> cython.void:
    """Write U with Uᵀ·U = matrix, row by row; only upper triangles are read and written."""
    a: cython.Py_ssize_t
    b: cython.Py_ssize_t
    root: cython.double
    d: cython.Py_ssize_t = matrix.shape[0]
    for a in range(d):
        for b in range(a):
            work[b] = -factor[b, a]
        for b in range(a, d):
            factor[a, b] = matrix[a, b]
        add_weighted_rows(factor, a, work, a, factor[a])
        root = math.sqrt(factor[a, a])
        for b in range(a, d):
            factor[a, b] /= root


@cython.cfunc
@cython.nogil
@cython.exceptval(check=False)
def cholesky_solve(
    factor: cython.const[cython.double][:, ::1], x: cython.double[::1]
) -> cython.void:
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


def standard_deviations(
    factor: cython.const[cython.double][:, :, ::1],
    models: cython.const[cython.Py_ssize_t][::1],
    columns: cython.const[cython.double][:, ::1],
    std: cython.double[:, ::1],
):
    """Write the posterior standard deviations of X·θ under some models into ``std``.

    With s = U⁻ᵀ·x, the variance xᵀ·H⁻¹·x is sᵀ·s.

    Parameters
    ----------
    factor : array of shape (n_models, n_features, n_features)
    models : integer array
        Indices of the models.
    columns : array of shape (n_features, n)
        The transpose of X.
    std : array of shape (len(models), n)
    """
    j: cython.Py_ssize_t
    k: cython.Py_ssize_t
    a: cython.Py_ssize_t
    i: cython.Py_ssize_t
    d: cython.Py_ssize_t = columns.shape[0]
    n: cython.Py_ssize_t = columns.shape[1]
    solved: cython.double[:, ::1] = np.empty((d, n))
    work: cython.double[::1] = np.empty(d)
    with cython.nogil:
        for k in range(models.shape[0]):
            j = models[k]
            std[k, :] = 0.0
            for a in range(d):
                for i in range(a):
                    work[i] = -factor[j, i, a]
                solved[a, :] = columns[a]
                add_weighted_rows(solved, 0, work, a, solved[a])
                for i in range(n):
                    solved[a, i] /= factor[j, a, a]
                    std[k, i] += solved[a, i] * solved[a, i]
            for i in range(n):
                std[k, i] = math.sqrt(std[k, i])


# Mixtures of normal curves -----------------------------------------------------------------------


def mean_probabilities(
    mean: cython.const[cython.double][:, ::1],
    std: cython.const[cython.double][:, ::1],
    weight: cython.const[cython.double][::1],
    nodes: cython.const[cython.double][::1],
    node_weights: cython.const[cython.double][::1],
    p: cython.double[::1],
    q: cython.double[::1],
):
    """Write the means of σ(η) and of 1 − σ(η) over a mixture of normal η into ``p`` and ``q``.

    Parameters
    ----------
    mean, std : array of shape (n_members, n)
    weight : array of shape (n_members,)
    nodes, node_weights : array
        Nodes and weights of a quadrature over a standard normal; the weights sum to 1.
    p, q : array of shape (n,)
    """
    k: cython.Py_ssize_t
    i: cython.Py_ssize_t
    node: cython.Py_ssize_t
    n: cython.Py_ssize_t = mean.shape[1]
    node_weight: cython.double
    larger: cython.double
    smaller: cython.double
    eta: cython.double[::1] = np.empty(n)
    exp_minus_abs: cython.double[::1] = np.empty(n)
    with cython.nogil:
        p[:] = 0.0
        q[:] = 0.0
        for k in range(mean.shape[0]):
            for node in range(nodes.shape[0]):
                node_weight = weight[k] * node_weights[node]
                for i in range(n):
                    eta[i] = mean[k, i] + std[k, i] * nodes[node]
                    exp_minus_abs[i] = -abs(eta[i])
                exp_in_place(exp_minus_abs)
                for i in range(n):
                    larger = node_weight / (1.0 + exp_minus_abs[i])
                    smaller = larger * exp_minus_abs[i]
                    p[i] += larger if eta[i] >= 0.0 else smaller
                    q[i] += smaller if eta[i] >= 0.0 else larger
