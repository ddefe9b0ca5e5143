"""Logistic regression with a quadratic penalty whose strength the data decides.

Minimised is Σ w·ln(1 + e^η) − n₊·η + ½·λ·β'Sβ, where η = X·β. Read as a model, β has a normal prior
of precision λ·S. The strength λ is the one of highest evidence, the integral over β of likelihood
and prior by Laplace's method: Wood (2011), Fast stable restricted maximum likelihood and marginal
likelihood estimation of semiparametric generalized linear models, JRSS B 73.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats

__all__ = ["PenalisedFit", "PenalisedLogistic"]

MAX_ITERATIONS = 100
ROUGH, FINE = 1e-6, 1e-12
"""Decrements of Newton's method, per unit of weight, below which one step more is the last: to
compare strengths, and in the end. That step squares the error."""
JITTER = 1e-13  # of the diagonal: what nothing determines stays where it is


@dataclass(frozen=True)
class PenalisedFit:
    """Coefficients, the objective, minus the logarithm of the evidence, and how it ended."""

    coef: Floats
    objective: float
    evidence: float
    strength: float
    converged: bool
    n_iter: int


class PenalisedLogistic:
    """The likelihood of some rows, to be fitted at several strengths.

    Parameters
    ----------
    design : ndarray of shape (n, k)
        X above.
    n_pos, weight : ndarray of shape (n,)
        Weight of the positives, and of all, in each row.
    penalty : ndarray of shape (k, k)
        S above, positive semi-definite.
    free : ndarray of shape (k, m)
        Coefficients that are not penalised: S·free = 0, and nothing else is.

    Notes
    -----
    Inside, coefficients are those of the directions free and of S's eigenvectors. With S itself,
    λ·S·β would be the small difference of large numbers where λ is large.
    """

    def __init__(
        self, design: Floats, n_pos: Floats, weight: Floats, penalty: Floats, free: Floats
    ) -> None:
        n_free = free.shape[1]
        directions = np.linalg.qr(free, mode="complete")[0]
        rest = directions[:, n_free:]
        sizes, vectors = np.linalg.eigh(rest.T @ penalty @ rest)
        self.turn = np.concatenate([directions[:, :n_free], rest @ vectors], axis=1)
        self.penalty = np.append(np.zeros(n_free), np.maximum(sizes, 0.0))
        self.design = design @ self.turn
        self.weight = weight
        self.statistic = self.design.T @ n_pos
        self.total = float(weight.sum())
        self.rank = len(sizes)
        share = float(n_pos.sum()) / self.total
        self.start = np.full(design.shape[1], np.log(share) - np.log1p(-share))

    def best(self, strengths: Floats) -> PenalisedFit:
        """The fit of highest evidence: the best of some strengths, then between its neighbours."""
        if self.rank == 0:
            return self.fit(0.0, self.start, FINE)
        fits: list[PenalisedFit] = []
        start = self.start
        for strength in np.sort(strengths)[::-1]:  # from the smoothest on
            fits.append(self.fit(float(strength), start, ROUGH))
            start = fits[-1].coef
        evidence = np.array([fit.evidence for fit in fits])
        at = int(evidence.argmin())
        strength = fits[at].strength
        if 0 < at < len(fits) - 1:
            # The vertex of the parabola through the best and its neighbours, on a log scale.
            before, here, after = evidence[at - 1 : at + 2]
            shift = (before - after) / (2 * (before - 2 * here + after))
            strength *= (fits[at + 1].strength / strength) ** float(np.clip(shift, -1, 1))
        return self.fit(float(strength), fits[at].coef, FINE)

    def fit(self, strength: float, start: Floats, tolerance: float) -> PenalisedFit:
        """Newton's method; steps are halved until the objective falls."""
        penalty = strength * self.penalty
        coef = self.turn.T @ start
        objective = self._objective(coef, penalty)
        converged, n_iter = False, 0
        while not converged and n_iter < MAX_ITERATIONS:
            n_iter += 1
            p = 1 / (1 + np.exp(-np.clip(self.design @ coef, -700, 700)))
            gradient = self.design.T @ (self.weight * p) - self.statistic + penalty * coef
            curvature = (self.design * (self.weight * p * (1 - p))[:, None]).T @ self.design
            curvature += np.diag(penalty)
            # Equal sizes on the diagonal: strengths differ by many orders of magnitude.
            size = np.sqrt(np.maximum(np.diag(curvature), 1e-300))
            curvature /= np.outer(size, size)
            curvature += JITTER * np.eye(len(coef))
            step = -np.linalg.solve(curvature, gradient / size) / size
            decrement = float(-gradient @ step)
            if decrement <= tolerance * self.total:
                converged = True
                coef = coef + step
                break
            for _ in range(40):
                value = self._objective(coef + step, penalty)
                if value <= objective + 1e-14 * abs(objective):
                    break
                step = step / 2
            else:  # it cannot fall any further in float64
                converged = decrement <= 1e-9 * self.total
                break
            coef, objective = coef + step, value
        half_log_determinant = np.linalg.slogdet(curvature)[1] / 2 + np.log(size).sum()
        prior = self.rank / 2 * np.log(strength) if strength > 0 else 0.0
        evidence = float(objective + half_log_determinant - prior)
        found = self.turn @ coef
        return PenalisedFit(found, objective, evidence, strength, converged, n_iter)

    def _objective(self, coef: Floats, penalty: Floats) -> float:
        softplus = self.weight @ np.logaddexp(0.0, self.design @ coef)
        return float(softplus - self.statistic @ coef + penalty @ coef**2 / 2)
