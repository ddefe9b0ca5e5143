"""The models that a Bayesian structured calibrator averages, and their weights.

Members: the scores as they are; a temperature; and structured softmaxes on two bases, with three
widths of the prior each. A member's weight is proportional to exp(evidence/5).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from trueodds.inputs import Floats
from trueodds.numerics.structured_softmax.base import (
    Base,
    fit_mixing_base,
    fit_plain_base,
    temperature_evidence,
)
from trueodds.numerics.structured_softmax.blocks import Coefficients, layout_for, make_design
from trueodds.numerics.structured_softmax.evidence import fit_by_evidence
from trueodds.numerics.structured_softmax.features import N_SHARED
from trueodds.numerics.structured_softmax.rows import ClassRows

__all__ = ["Member", "fit_pool", "pool_weights"]

WIDTHS = (4.0, 32.0, 256.0)
"""Prior variances of the blocks, in multiples of those of :mod:`~.evidence`. Variances move towards
what the data says in any case; factors of 8 apart, one of three priors is never far off."""
PATIENCE = 5.0
"""By what the evidence is divided. Laplace's is off by some nats, and rows of a calibration set are
not quite independent: weights as sure as evidence itself would pick one member by its error."""
NEGLIGIBLE = 1e-3
"""Members of less weight are left out: a map is to be written, read and run."""


@dataclass(frozen=True, eq=False)
class Member:
    """A model of the pool; without a base it leaves the scores as they are."""

    evidence: float
    base: Base | None = None
    coefficients: Coefficients | None = None
    converged: bool = True


def fit_pool(rows: ClassRows, *, as_they_are: bool = True) -> tuple[list[Member], Floats]:
    """The members that count, and their weights.

    ``as_they_are`` is whether the scores are probabilities, so that they may be left alone.
    """
    members = [_identity(rows) if as_they_are else Member(-np.inf)]
    plain = fit_plain_base(rows)
    k = rows.n_classes
    nothing = Coefficients(np.zeros(k), np.zeros(k), np.zeros(0), np.zeros(N_SHARED))
    members.append(Member(temperature_evidence(rows, plain), plain, nothing))
    layout = layout_for(k)
    widths = WIDTHS[:1] if layout == "shared" else WIDTHS  # they are those of other blocks
    for base in (plain, fit_mixing_base(rows)):
        design = make_design(rows, base, layout)
        for fit in fit_by_evidence(rows, design, widths):
            coefficients = design.coefficients(fit.theta)
            members.append(Member(fit.evidence, base, coefficients, fit.converged))
    weights = pool_weights(np.array([member.evidence for member in members]))
    kept = np.flatnonzero(weights)
    return [members[i] for i in kept], weights[kept]


def _identity(rows: ClassRows) -> Member:
    seen = rows.counts > 0
    with np.errstate(divide="ignore"):  # of what was said to be impossible, and was seen
        return Member(float(np.sum(rows.counts[seen] * np.log(rows.p[seen]))))


def pool_weights(evidence: Floats) -> Floats:
    """Weights of members by their evidence; 0 for those that do not count.

    The first one leaves the scores as they are. The best of the others always counts, for it alone
    says how probable a forecast of exactly 0 is.
    """
    weights = np.exp((evidence - evidence.max()) / PATIENCE)
    weights /= weights.sum()
    kept = weights >= NEGLIGIBLE
    kept[1 + int(np.argmax(evidence[1:]))] = True
    weights = np.where(kept, np.maximum(weights, 1e-300), 0.0)
    return np.asarray(weights / weights.sum())
