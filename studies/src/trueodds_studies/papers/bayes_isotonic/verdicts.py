"""Wording and verdicts of claims on real data: by shares of cases, leads, and readings."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from trueodds_studies._report import Claim, by_readings
from trueodds_studies._significance import by_signs, verdict_of_signs
from trueodds_studies.papers.bayes_isotonic.findings import Gap, Share, in_words

__all__ = ["TEXTS", "above", "by_each", "by_set_of", "claim_of", "judged_leads"]

_FIGURE_2 = "section 3, figure 2"
TEXTS = {
    "iso-log_loss": ("Platt's correction improves isotonic calibration in more than 90% of cases: "
                     "by log-loss.", f"abstract, {_FIGURE_2}"),
    "iso-brier_score": ("… by Brier score.", f"abstract, {_FIGURE_2}"),
    "enir-log_loss": ("Platt's correction improves ENIR in more than 90% of cases: by log-loss.",
                      f"abstract, {_FIGURE_2}"),
    "enir-brier_score": ("… by Brier score.", f"abstract, {_FIGURE_2}"),
    "log-log_loss": ("Platt's correction is of benefit to logistic calibration: by log-loss.",
                     _FIGURE_2),
    "log-brier_score": ("… by Brier score.", _FIGURE_2),
    "beta-log_loss": ("For beta calibration the correction is useful for log-loss.", _FIGURE_2),
    "beta-brier_score": ("By Brier score it improves about half of the cases.", _FIGURE_2),
    "infinite-iso": ("Isotonic calibration often has an infinite log-loss.", "section 2"),
    "infinite-enir": ("So does ENIR.", "section 2"),
    "moved": ("Platt's correction makes overconfidence at both ends rarer and underconfidence at "
              "both ends more frequent.", "section 3, figure 3"),
    "over-iso": ("Isotonic calibration tends to be overconfident.", "abstract, figure 3"),
    "over-enir": ("ENIR tends to be overconfident.", "abstract, figure 3"),
    "reduces": ("Bayes-Iso reduces overconfidence without label smoothing.", "abstract"),
    "varies": ("The balance between over- and underconfidence varies significantly across "
               "methods.", "section 3, figure 3"),
    "equal": ("Bayes-Iso has the most equal shares of over- and underconfidence.",
              "section 3, figure 3"),
    "majority": ("Bayes-Iso is the best non-parametric method in the majority of cases at every "
                 "size.", "section 5.3, Table 2"),
    "falls": ("In particular with few rows: its share falls with the size.",
              "section 5.3, Table 2"),
    "flags": ("With more rows one sampled map more often outweighs all others.",
              "section 5.3"),
    "unflagged-brier_score": ("Without flagged cases its share at 3000 is higher: by Brier score.",
                              "section 5.3, Table 2"),
    "unflagged-log_loss": ("… by log-loss.", "section 5.3, Table 2"),
    "tied": ("Bayes-Iso is best or tied with the best for all sizes and losses.",
             "abstract, section 5.3, figure 7"),
    "few-brier_score": ("Parametric methods are better with few rows: by Brier score.",
                        "section 5.3, figure 7"),
    "few-log_loss": ("… by log-loss.", "section 5.3, figure 7"),
    "many": ("Non-parametric methods are better with many rows.", "section 5.3, figure 7"),
    "accurate": ("There are cases with few rows and a very accurate model in which Bayes-Iso "
                 "is too underconfident compared with ENIR-Platt and Iso-Platt.", "section 5.3"),
}  # fmt: skip
"""The claims, and where they are in the paper."""


def claim_of(key: str, verdict: Any, evidence: str, reason: Any = None) -> Claim:
    """One of the claims with its verdict."""
    return Claim(*TEXTS[key], verdict, evidence, reason)


def by_each(judge: Callable[[Any], Claim], readings: Mapping[str, Any]) -> Claim:
    """Judge by each reading: the text's first, then the authors' program."""
    claims = {name: judge(reading) for name, reading in readings.items()}
    return by_readings(claims, program="program" if "program" in claims else None)


def above(claim: Claim, shares: Sequence[tuple[Share, float, float | None]]) -> Claim:
    """Judge whether every share is significantly above its limit.

    Each comes with the limit and the paper's share (None if it prints none), from which the needed
    number of sets follows.
    """
    signs = [share.sign(limit) for share, limit, _ in shares]
    verdict = verdict_of_signs(signs)
    if verdict:
        return claim
    if verdict is False:
        return replace(claim, verdict=False, reason="refuted")
    open_ = [item for item, sign in zip(shares, signs, strict=True) if sign == 0]
    share, limit, paper = max(open_, key=lambda item: _sets_to_tell(*item))
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


def judged_leads(claim: Claim, leads: Sequence[Gap]) -> Claim:
    """Confirm if all leads are significant; refute if one is significantly negative."""
    found = by_signs(claim, [gap.sign for gap in leads])
    if found.word != "inconclusive":
        return found
    needed = max(gap.needed for gap in leads if gap.sign == 0)
    words = (
        f"{claim.evidence}; {in_words(needed)} such sets would tell a difference of this size in "
        "80% of studies"
    )
    return replace(found, evidence=words)
