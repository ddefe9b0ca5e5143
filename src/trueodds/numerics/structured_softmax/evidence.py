r"""Variances of the blocks by the evidence, and the evidence of a whole model.

MacKay's fixed point: a block with coefficients θ and γ = Σ(1 − Σ_{ii}/v) well-determined directions
has variance ‖θ‖²/γ. A scaled inverse-χ² prior of ν pseudo-observations at v₀ pulls it to
(‖θ‖² + ν·v₀)/(γ + ν), so that a block without evidence keeps its prior variance. The evidence is
Laplace's,

.. math:: \ln p(y) ≈ \ln p(y | θ) - ½ Σ θ²/v - ½ \ln\det(H + V^{-1}) - ½ Σ \ln v.

D. J. C. MacKay (1992), Bayesian interpolation, equations 26 to 32.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.structured_softmax.blocks import Block, Design
from trueodds.numerics.structured_softmax.newton import Posterior
from trueodds.numerics.structured_softmax.rows import ClassRows

__all__ = ["ModelFit", "fit_by_evidence", "prior_variances"]

SHARED_VARIANCE = 0.1
"""Slopes of shared features: changes of a third either way (0.1 = 0.32²)."""
BLOCK_VARIANCE = 0.5
"""All coefficients of a class's block together, times the width of the member: the sum over j of
W_kj·z_j then has a variance that does not grow with the number of classes."""
PSEUDO_OBSERVATIONS = 10.0
"""How many coefficients' worth the prior variance of a block counts."""
LEAST_VARIANCE = 1e-6
ROUNDS = 4
SETTLED = 0.05
"""Variances that change by less than a twentieth have settled."""
ROUGH, FINE = 3e-2, 1e-3
"""What a step may still gain, in nats, before variances are set and at the end."""


@dataclass(frozen=True, eq=False)
class ModelFit:
    """The most probable parameters, the logarithm of the evidence, and the blocks' variances."""

    theta: Floats
    evidence: float
    variances: Floats
    converged: bool


def prior_variances(n_classes: int, width: float) -> Floats:
    """The prior variance of each block, by :class:`Block`."""
    diagonal = width * BLOCK_VARIANCE / n_classes
    others = diagonal / (n_classes - 1)
    result = np.empty(len(Block))
    result[Block.SHARED] = SHARED_VARIANCE
    result[[Block.INTERCEPT, Block.LOG_DIAGONAL, Block.PROBABILITY_DIAGONAL]] = diagonal
    result[[Block.LOG_OTHERS, Block.PROBABILITY_OTHERS]] = others
    return result


def fit_by_evidence(rows: ClassRows, design: Design, widths: tuple[float, ...]) -> list[ModelFit]:
    """Fit one model for each width of the prior; each starts where the one before ended."""
    theta = np.zeros(len(design.blocks))
    posterior = Posterior(design, rows.counts, rows.weight, theta)
    return [_fit_width(posterior, prior_variances(rows.n_classes, width)) for width in widths]


def _fit_width(posterior: Posterior, prior: Floats) -> ModelFit:
    blocks = posterior.design.blocks
    variances = prior.copy()
    for _ in range(ROUNDS - 1):
        posterior.climb(1 / variances[blocks], ROUGH)
        before, variances = variances, _updated(posterior, variances, prior)
        if np.abs(np.log(variances / before)).max() < SETTLED:
            break
    precision = 1 / variances[blocks]
    converged = posterior.climb(precision, FINE)
    posterior.refresh()
    half_log_det = float(np.log(np.diagonal(posterior.factor(precision))).sum())
    evidence = posterior.value(precision) - half_log_det + 0.5 * float(np.log(precision).sum())
    return ModelFit(posterior.theta.copy(), evidence, variances, converged)


def _updated(posterior: Posterior, variances: Floats, prior: Floats) -> Floats:
    from scipy.linalg.lapack import dpotri  # slow to import

    blocks, theta = posterior.design.blocks, posterior.theta
    inverse, _ = dpotri(posterior.factor(1 / variances[blocks]), lower=True)
    size = np.bincount(blocks, minlength=len(Block))
    left = np.bincount(blocks, np.diagonal(inverse), len(Block)) / variances
    squares = np.bincount(blocks, theta**2, len(Block))
    nu = PSEUDO_OBSERVATIONS
    result = (squares + nu * prior) / (np.maximum(size - left, 0) + nu)
    return np.asarray(np.maximum(result, LEAST_VARIANCE))
