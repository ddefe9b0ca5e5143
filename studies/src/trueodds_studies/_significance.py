"""The one rule of significance of all studies.

A claim that something is better is *confirmed* if the difference is significant in the claimed
direction, *not confirmed (refuted)* if it is significant in the other, and *inconclusive*
otherwise. Where a paper names its test (Nemenyi's, Holm's, the corrected t-test, the sign test),
that test decides. Everywhere else it is Student's t-test over independent units (data sets,
samples, splits), two-sided, at 5%.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from scipy.stats import t

from trueodds_studies._report import Claim

__all__ = [
    "ALPHA", "POWER", "by_signs", "significant_sign", "units_needed", "verdict_of_signs",
]  # fmt: skip

ALPHA = 0.05
POWER = 1.96 + 0.84
"""Standard errors at which 80% of studies see a difference."""
NEVER = 10**9


def significant_sign(mean: float, error: float, n: int) -> int:
    """+1 or −1 if a mean of n independent units differs significantly from 0, else 0.

    Parameters
    ----------
    mean, error : float
        The mean and its standard error.
    n : int
        Number of units; one unit is never significant.

    Examples
    --------
    >>> from trueodds_studies._significance import significant_sign
    >>> significant_sign(-3.0, 1.0, 10), significant_sign(2.1, 1.0, 10), significant_sign(9, 1, 1)
    (-1, 0, 0)
    """
    if n < 2 or not math.isfinite(error) or mean == 0:
        return 0
    threshold = float(t.isf(ALPHA / 2, n - 1)) * error
    return int(math.copysign(1, mean)) if abs(mean) > threshold else 0


def units_needed(mean: float, error: float, n: int) -> int:
    """Units with which 80% of studies would see a difference as large as this one."""
    if mean == 0 or not math.isfinite(error):
        return NEVER
    return min(NEVER, math.ceil(n * (POWER * error / mean) ** 2))


def verdict_of_signs(signs: Sequence[int]) -> bool | None:
    """True if all are +1 (confirmed), False if one is −1 (refuted), None if it is open."""
    if any(sign < 0 for sign in signs):
        return False
    return True if all(sign > 0 for sign in signs) else None


def by_signs(claim: Claim, signs: Sequence[int]) -> Claim:
    """The claim with the verdict of the signs of all differences that it is about."""
    verdict = verdict_of_signs(signs)
    if verdict:
        return replace(claim, verdict=True, reason=None)
    if verdict is False:
        return replace(claim, verdict=False, reason="refuted")
    return replace(claim, verdict="inconclusive", reason="data")
