"""How claims on real data are worded and judged: by shares of cases, leads, and two readings."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from trueodds_studies._report import Claim, by_text_or_program
from trueodds_studies.papers.bayes_isotonic.findings import Gap, Share, in_words

__all__ = ["READINGS", "TEXTS", "above", "by_both", "by_set_of", "claim_of", "judged_leads"]

READINGS = ("Methods as in the text", "As in the authors' program")
TEXTS = {
    "iso": ("Platt's correction improves isotonic calibration in more than 90% of cases.",
            "abstract, section 3, figure 2"),
    "enir": ("Platt's correction improves ENIR in more than 90% of cases.",
             "abstract, section 3, figure 2"),
    "log": ("Platt's correction is of benefit to logistic calibration.", "section 3, figure 2"),
    "beta": ("For beta calibration the correction is useful for log-loss only; by Brier score it "
             "improves about half of the cases.", "section 3, figure 2"),
    "infinite-iso": ("Isotonic calibration often has an infinite log-loss.", "section 2"),
    "infinite-enir": ("So does ENIR.", "section 2"),
    "moved": ("Platt's correction makes over-confidence at both ends rarer and under-confidence at "
              "both ends more frequent.", "section 3, figure 3"),
    "over": ("Isotonic calibration and ENIR tend to be over-confident.", "abstract, figure 3"),
    "varies": ("The balance between over- and under-confidence varies significantly across "
               "methods.", "section 3, figure 3"),
    "equal": ("Bayes-Iso has the most equal shares of over- and under-confidence.",
              "section 3, figure 3"),
    "majority": ("Bayes-Iso is the best non-parametric method in the majority of cases at every "
                 "size.", "section 5.3, Table 2"),
    "falls": ("In particular with few rows: its share falls with the size.",
              "section 5.3, Table 2"),
    "flags": ("With more rows one sampled map more often outweighs all others.",
              "section 5.3"),
    "unflagged": ("Without flagged cases its share at 3000 is higher.", "section 5.3, Table 2"),
    "tied": ("Bayes-Iso is best or tied with the best for all sizes and losses.",
             "abstract, section 5.3, figure 7"),
    "parametric": ("Parametric methods are better with few rows, non-parametric ones with many.",
                   "section 5.3, figure 7"),
    "accurate": ("There are cases with few rows and a very accurate model in which Bayes-Iso "
                 "is too under-confident compared with ENIR-Platt and Iso-Platt.", "section 5.3"),
}  # fmt: skip
"""The claims, and where they are in the paper."""


def claim_of(key: str, verdict: Any, evidence: str, reason: Any = None) -> Claim:
    """One of the claims with its verdict."""
    return Claim(*TEXTS[key], verdict, evidence, reason)


def by_both(judge: Callable[[bool], Claim], text: str, program: str) -> Claim:
    """Judge by the text; if that does not confirm the claim, by the authors' program too."""
    first = judge(False)
    if first.word == "confirmed":
        return first
    second = judge(True)
    if second == first:
        return first
    both = replace(first, evidence=f"{text}: {first.evidence}. {program}: {second.evidence}")
    return by_text_or_program(both, second)


def above(claim: Claim, shares: Sequence[tuple[Share, float, float | None]]) -> Claim:
    """Judge that every share is above its limit.

    Each comes with the limit and the paper's share (None if it prints none), which says how many
    sets it would take to see it.
    """
    below = [item for item in shares if item[0].mean <= item[1]]
    if not below:
        return claim
    if any(share.sign(limit) < 0 for share, limit, _ in below):
        return replace(claim, verdict=False, reason="refuted")
    share, limit, paper = max(below, key=lambda item: _sets_to_tell(*item))
    expected = share.mean if paper is None else paper
    words = (
        f"{claim.evidence}; to tell {expected:.0%} from {limit:.0%} in 80% of studies takes "
        f"{in_words(_sets_to_tell(share, limit, paper))} such sets"
    )
    return replace(claim, verdict="inconclusive", evidence=words, reason="data")


def _sets_to_tell(share: Share, limit: float, paper: float | None) -> int:
    return share.sets_to_tell(share.mean if paper is None else paper, limit)


def by_set_of(values: Any) -> Gap:
    """A mean over pairs, with the standard error that the spread between sets gives."""
    by_set = values.groupby(level=0).mean()
    n = len(by_set)
    error = float(by_set.std() / math.sqrt(n)) if n > 1 else math.inf
    return Gap(float(by_set.mean()), error, n)


def judged_leads(claim: Claim, leads: Sequence[Gap], reason: Any) -> Claim:
    """Confirmed if all leads are positive; refuted if one is negative by more than chance."""
    if all(gap.mean > 0 for gap in leads):
        return claim
    if any(gap.sign < 0 for gap in leads):
        return replace(claim, verdict=False, reason="refuted")
    finite = [gap for gap in leads if math.isfinite(gap.error)]
    needed = max((gap.needed for gap in finite if gap.mean <= 0), default=10**9)
    words = (
        f"{claim.evidence}; {in_words(needed)} such sets would tell a difference of this size in "
        "80% of studies"
    )
    return replace(claim, verdict="inconclusive", evidence=words, reason=reason)
