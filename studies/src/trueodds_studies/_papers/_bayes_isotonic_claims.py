"""The claims of the Bayesian isotonic paper, judged."""

from __future__ import annotations

from trueodds_studies._papers._bayes_isotonic_comparison import comparison_claims
from trueodds_studies._papers._bayes_isotonic_correction import correction_claims
from trueodds_studies._papers._bayes_isotonic_findings import Findings
from trueodds_studies._papers._bayes_isotonic_synthetic import synthetic_claims
from trueodds_studies._papers._bayes_isotonic_verdicts import TEXTS
from trueodds_studies._report import Claim

__all__ = ["claims"]


def claims(found: Findings) -> list[Claim]:
    """All of them, those on synthetic scores first."""
    judged = synthetic_claims(found)
    if found.real is None:
        return [*judged, *(_untested(key) for key in TEXTS)]
    return [*judged, *correction_claims(found), *comparison_claims(found)]


def _untested(key: str) -> Claim:
    return Claim(*TEXTS[key], None, "no real set in this run", "data")
