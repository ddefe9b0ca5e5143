"""The claims of the Bayesian isotonic paper, judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueodds.stats import friedman_test
from trueodds_studies._diagrams import significantly_better
from trueodds_studies._optional import need
from trueodds_studies._report import Claim
from trueodds_studies.papers.bayes_isotonic.findings import (
    CHANCE,
    LOSSES,
    NINE,
    PAIRS,
    RIVALS,
    Findings,
    Ranking,
    Share,
)
from trueodds_studies.papers.bayes_isotonic.numbers import CORRECTION, FLAGGED, SIZES, TABLE_2
from trueodds_studies.papers.bayes_isotonic.synthetic import synthetic_claims
from trueodds_studies.papers.bayes_isotonic.verdicts import (
    READINGS,
    TEXTS,
    above,
    by_both,
    by_set_of,
    claim_of,
    judged_leads,
)

__all__ = ["claims", "comparison_claims", "correction_claims"]


def claims(found: Findings) -> list[Claim]:
    """All of them, those on synthetic scores first."""
    judged = synthetic_claims(found)
    if found.real is None:
        return [*judged, *(_untested(key) for key in TEXTS)]
    return [*judged, *correction_claims(found), *comparison_claims(found)]


def _untested(key: str) -> Claim:
    return Claim(*TEXTS[key], None, "no real set in this run", "data")


# Platt's correction ------------------------------------------------------------------------------
# What the paper says of Platt's correction and of over-confidence (section 3), judged.

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
        words = ", ".join(f"{n} rows {share:.0%}" for n, share in zip(SIZES, shares, strict=True))
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
    test = friedman_test(need("pandas").concat(tables))
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


# Bayes-Iso against the others --------------------------------------------------------------------
# What the paper says of Bayes-Iso and other methods on real data (section 5.3), judged.

ACCURATE = 0.95


def comparison_claims(found: Findings) -> list[Claim]:
    """Table 2 and figure 7."""

    def judged(judge: Callable[[Findings, bool], Claim]) -> Claim:
        return by_both(lambda program: judge(found, program), *READINGS)

    return [
        judged(_majority),
        judged(_falling),
        _flags(found),
        judged(_unflagged),
        judged(_best_or_tied),
        judged(_parametric_first),
        _accurate_models(found),
    ]


def _majority(found: Findings, program: bool) -> Claim:
    shares = {
        (loss, n): Share.of([found.won(loss, n, program=program)]) for loss in LOSSES for n in SIZES
    }
    words = "; ".join(
        f"{LOSSES[loss]}, {n}: {share} (paper {TABLE_2[loss][str(n)]}%)"
        for (loss, n), share in shares.items()
    )
    printed = [(share, 0.5, TABLE_2[loss][str(n)] / 100) for (loss, n), share in shares.items()]
    return above(claim_of("majority", True, words), printed)


def _falling(found: Findings, program: bool) -> Claim:
    good, words = True, []
    for loss, name in LOSSES.items():
        means = [float(found.won(loss, n, program=program).mean()) for n in SIZES]
        good &= means[0] > means[1] > means[2]
        words.append(f"{name}: " + " → ".join(f"{mean:.0%}" for mean in means))
    return claim_of("falls", good, "; ".join(words), None if good else "data")


def _flags(found: Findings) -> Claim:
    shares = {n: float(found.flagged(n).mean()) for n in SIZES}
    good = shares[100] <= shares[1000] <= shares[3000] and shares[100] < shares[3000]
    return claim_of(
        "flags",
        good,
        ", ".join(f"{n}: {share:.0%} of fits" for n, share in shares.items())
        + f" (paper at 3000: {FLAGGED}% of cases)",
        None if good else "data",
    )


def _unflagged(found: Findings, program: bool) -> Claim:
    words, rises = [], []
    for loss, name in LOSSES.items():
        all_cases = Share.of([found.won(loss, 3000, program=program)])
        unflagged = found.won_unflagged(loss, program=program)
        kept = {kind: Share.of([won]) for kind, won in unflagged.items() if len(won)}
        rises += [share.mean > all_cases.mean for share in kept.values()]
        words.append(
            f"{name}: {all_cases} → "
            + ", ".join(f"{share} without flagged {kind}" for kind, share in kept.items())
            + f" (paper {TABLE_2[loss]['3000']} → {TABLE_2[loss]['3000 LH']}%)"
        )
    n_flagged = f"{found.flagged().mean():.0%} of fits flagged (paper {FLAGGED}%)"
    good = bool(rises) and all(rises)
    verdict: Any = None if not rises or not found.flagged().any() else good
    return claim_of(
        "unflagged", verdict, f"{'; '.join(words)}; {n_flagged}", None if good else "data"
    )


def _best_or_tied(found: Findings, program: bool) -> Claim:
    tied, words = [], []
    for loss, name in LOSSES.items():
        for n in SIZES:
            panel = found.panel(loss, n, program=program)
            ranks = panel.rank(axis=1).mean()
            best = str(ranks.idxmin())
            beaten, figures = significantly_better(panel, best, "bayes-iso")
            tied.append(best == "bayes-iso" or not beaten)
            words.append(
                f"{name}, {n}: best, rank {ranks[best]:.2f}"
                if best == "bayes-iso"
                else f"{name}, {n}: {best} is best, {figures}"
            )
    return claim_of("tied", all(tied), "; ".join(words), None if all(tied) else "refuted")


def _parametric_first(found: Findings, program: bool) -> Claim:
    leads, words = [], []
    for loss, name in LOSSES.items():
        gaps = []
        for n in (100, 3000):
            ranks = found.panel(loss, n, program=program).rank(axis=1)
            free = ranks[list(RIVALS)].mean(axis=1)
            gaps.append(by_set_of(ranks[["beta(-platt)", "log-platt"]].mean(axis=1) - free))
        leads += [replace(gaps[0], mean=-gaps[0].mean), gaps[1]]
        words.append(
            f"{name}: {gaps[0].mean:+.2f} ± {gaps[0].error:.2f} at 100, {gaps[1].mean:+.2f} ± "
            f"{gaps[1].error:.2f} at 3000"
        )
    lead = "mean rank of beta and logistic less that of isotonic and ENIR, corrected: "
    return judged_leads(claim_of("parametric", True, lead + "; ".join(words)), leads, "data")


def _accurate_models(found: Findings) -> Claim:
    """The paper names an example: that there are such cases, and most of them there."""
    accuracy = found.means("accuracy", 100, ["bayes-iso"])["bayes-iso"]
    sure = found.sureness().reindex(accuracy.index)
    timid = (sure["bayes-iso"] < 0) & (sure["bayes-iso"] < sure[list(RIVALS)].min(axis=1))
    cases = timid & ~found.won("log_loss", 100).reindex(accuracy.index).astype(bool)
    sharp = accuracy >= ACCURATE
    if not sharp.any() or sharp.all():
        words = f"no pairs on both sides of an accuracy of {ACCURATE:.0%}"
        return claim_of("accurate", None, words, "data")
    good = bool(cases[sharp].any() and cases[sharp].mean() > cases[~sharp].mean())
    examples = ", ".join(f"{name} with {model}" for name, model in cases[sharp & cases].index[:4])
    return claim_of(
        "accurate",
        good,
        "with 100 rows Bayes-Iso has a higher log-loss than one of the two, is underconfident "
        "(mean of max(p, 1 − p) below its accuracy), and less confident than both, on "
        f"{int(cases[sharp].sum())} of {int(sharp.sum())} pairs with an accuracy of "
        f"at least {ACCURATE:.0%}"
        + (f" (such as {examples})" if examples else "")
        + f", and on {int(cases[~sharp].sum())} of {int((~sharp).sum())} others",
        None if good else "data",
    )
