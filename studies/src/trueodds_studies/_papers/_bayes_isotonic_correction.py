"""What the paper says of Platt's correction and of over-confidence (section 3), judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueodds.compare import friedman_test
from trueodds_studies._optional import need
from trueodds_studies._papers._bayes_isotonic_findings import (
    CHANCE,
    LOSSES,
    NINE,
    PAIRS,
    Findings,
    Ranking,
    Share,
)
from trueodds_studies._papers._bayes_isotonic_numbers import CORRECTION, SIZES
from trueodds_studies._papers._bayes_isotonic_verdicts import (
    READINGS,
    above,
    by_both,
    by_set_of,
    claim_of,
    judged_leads,
)
from trueodds_studies._report import Claim

__all__ = ["correction_claims"]

OFTEN = 0.25


def correction_claims(found: Findings) -> list[Claim]:
    """Section 3 and figures 2 and 3."""
    return [*_correction_claims(found), *_infinite(found), *_confidence_claims(found)]


# Section 3: Platt's correction.


def _correction_claims(found: Findings) -> list[Claim]:
    judges = {"iso": _helps(0.9), "enir": _helps(0.9), "log": _helps(0.5), "beta": _half_helps}
    lead = f"means of {found.n_folds('iso')} folds (paper: 25): "
    judged = [
        by_both(partial(_correction, found, method, judge), *READINGS)
        for method, judge in judges.items()
    ]
    return [replace(claim, evidence=lead + claim.evidence) for claim in judged]


Shares = dict[str, Share]
"""Improved cases by loss."""


def _correction(
    found: Findings, method: str, judge: Callable[[Claim, Shares], Claim], program: bool
) -> Claim:
    shares = {
        loss: Share.of([found.improved(method, loss, n, program=program) for n in SIZES])
        for loss in LOSSES
    }
    words = "; ".join(
        f"{words} {shares[loss].cases} of {shares[loss].total} cases, {shares[loss]}"
        f"{_printed(method, loss)} [least on {shares[loss].least}]"
        for loss, words in LOSSES.items()
    )
    if method in ("iso", "enir"):
        words += f". {_size_of_change(found, method, program)}"
    return judge(claim_of(method, True, words), shares)


def _helps(limit: float) -> Callable[[Claim, Shares], Claim]:
    """In more than so many cases, by both losses."""

    def judge(claim: Claim, shares: Shares) -> Claim:
        return above(claim, [(share, limit, None) for share in shares.values()])

    return judge


def _half_helps(claim: Claim, shares: Shares) -> Claim:
    """More than half of the cases by log-loss, about half by Brier score."""
    brier, log = shares["brier_score"], shares["log_loss"]
    half = brier.sign(0.5) == 0 or abs(brier.mean - 0.5) < 0.1
    if log.mean > 0.5 and half:
        return claim
    if log.sign(0.5) < 0 or not half:
        return replace(claim, verdict=False, reason="refuted")
    return replace(claim, verdict="inconclusive", reason="data")


def _printed(method: str, loss: str) -> str:
    if (method, loss) not in CORRECTION:
        return ""
    return " (paper: {} of {})".format(*CORRECTION[method, loss])


def _size_of_change(found: Findings, method: str, program: bool) -> str:
    """How large the changes are: where a 0 or 1 was wrong the gain is large, else all is small."""
    names = (method, f"{method}-platt")
    tables = [found.panel("log_loss", n, names, program=program) for n in SIZES]
    change = np.concatenate([t[names[1]] - t[names[0]] for t in tables])
    falls, rises = change[change < 0], change[change >= 0]
    words = [f"falls by {-np.median(falls):.2g} where it falls"] if len(falls) else []
    words += [f"rises by {np.median(rises):.2g} where it rises"] if len(rises) else []
    return f"In the median log-loss {' and '.join(words)}"


def _infinite(found: Findings) -> list[Claim]:
    """How many fits say that something is impossible which happens in the test rows."""
    notes = {
        "iso": "",
        "enir": "; ENIR's program, in the paper's experiments as here, draws every bin towards the "
        "scores in it, which mostly keeps it off 0 and 1 (`smoothing=None` does not)",
    }
    judged = []
    for method, note in notes.items():
        shares = [(found.folds("impossible", n)[method].dropna() > 0).mean() for n in SIZES]
        often = float(np.mean(shares)) > OFTEN
        words = ", ".join(
            f"{n} instances {share:.0%}" for n, share in zip(SIZES, shares, strict=True)
        )
        judged.append(
            claim_of(
                f"infinite-{method}",
                often,
                f"of single fits: {words}{note}; judged: {OFTEN:.0%} of all fits",
                None if often else "solver",
            )
        )
    return judged


# Section 3: over- and under-confidence.


def _confidence_claims(found: Findings) -> list[Claim]:
    def judged(judge: Callable[[Findings, Ranking], Claim]) -> Claim:
        return by_both(
            lambda program: judge(found, "_by_map" if program else ""),
            "By the ranking of scores",
            "By that of calibrated probabilities, as in the authors' program",
        )

    return [judged(_moved), judged(_over_confident), judged(_balance), judged(_most_equal)]


def _shown(ends: Any, methods: Sequence[str]) -> dict[str, str]:
    return {
        m: f"{m} {ends.loc[m, 'over-over']:.0%} / {ends.loc[m, 'under-under']:.0%}" for m in methods
    }


def _moved(found: Findings, ranking: Ranking) -> Claim:
    methods = [m for m in NINE if m != "bayes-iso"]
    ends = found.mean_ends(methods, ranking)
    moved = [
        ends.loc[f"{m}-platt", "over-over"] <= ends.loc[m, "over-over"]
        and ends.loc[f"{m}-platt", "under-under"] >= ends.loc[m, "under-under"]
        for m in PAIRS
    ]
    shown = _shown(ends, methods)
    return claim_of(
        "moved",
        all(moved),
        "over-over / under-under, all sizes: "
        + ", ".join(f"{shown[m]} → {shown[f'{m}-platt']}" for m in PAIRS),
        None if all(moved) else "data",
    )


def _over_confident(found: Findings, ranking: Ranking) -> Claim:
    """More pairs over-confident at both ends than under-confident at both, as figure 3 counts."""
    leads, words = [], []
    for method in ("iso", "enir"):
        kinds = [found.over(n, (method,), ranking) for n in SIZES]
        balance = [low[method].astype(int) + high[method].astype(int) - 1 for low, high in kinds]
        gap = by_set_of(need("pandas").concat(balance))
        leads.append(gap)
        both = found.mean_ends((method,), ranking)
        words.append(
            f"{_shown(both, (method,))[method]} (difference {100 * gap.mean:+.0f} ± "
            f"{100 * gap.error:.0f} points)"
        )
    claim = claim_of("over", True, "over-over / under-under, all sizes: " + ", ".join(words))
    return judged_leads(claim, leads, "measure")


def _balance(found: Findings, ranking: Ranking) -> Claim:
    """Friedman's test on the number of over-confident ends of each pair and size."""
    tables = []
    for n in SIZES:
        low, high = found.over(n, NINE, ranking)
        tables.append(low.astype(float) + high.astype(float))
    test = friedman_test(need("pandas").concat(tables), better="lower")
    ends = found.mean_ends(NINE, ranking)["over-over"]
    good = bool(test.chi_square_p_value < 0.05)
    return claim_of(
        "varies",
        good,
        f"over-confident at both ends: from {ends.min():.0%} ({ends.idxmin()}) to "
        f"{ends.max():.0%} ({ends.idxmax()}); Friedman's test of the number of over-confident "
        f"ends, p = {test.chi_square_p_value:.1g}",
        None if good else "data",
    )


def _most_equal(found: Findings, ranking: Ranking) -> Claim:
    ends = found.mean_ends(NINE, ranking)
    distance = (ends["over-over"] - ends["under-under"]).abs().sort_values(kind="stable")
    good = bool(distance.index[0] == "bayes-iso")
    words = "difference between the shares over-over and under-under: " + ", ".join(
        f"{m} {value:.2f}" for m, value in distance.items()
    )
    if good:
        return claim_of("equal", True, words)
    lead, error = _lead_of(found, str(distance.index[0]), ranking)
    beaten = lead > CHANCE * error
    return claim_of(
        "equal",
        False if beaten else "inconclusive",
        f"{words}; {distance.index[0]} leads Bayes-Iso by {lead:.2f} ± {error:.2f} (jackknife over "
        "sets)",
        "refuted" if beaten else "data",
    )


def _lead_of(found: Findings, method: str, ranking: Ranking) -> tuple[float, float]:
    """By how much a method's shares are more equal than those of Bayes-Iso, and its error."""
    balances = []
    for n in SIZES:
        low, high = found.over(n, (method, "bayes-iso"), ranking)
        balances.append(low.astype(float) + high.astype(float) - 1)
    table = need("pandas").concat(balances)

    def lead(rows: Any) -> float:
        return float(abs(rows["bayes-iso"].mean()) - abs(rows[method].mean()))

    names = table.index.get_level_values(0)
    without = np.array([lead(table[names != name]) for name in dict.fromkeys(names)])
    k = len(without)
    return lead(table), float(np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2)))
