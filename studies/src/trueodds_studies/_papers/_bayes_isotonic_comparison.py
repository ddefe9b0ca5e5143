"""What the paper says of Bayes-Iso and other methods on real data (section 5.3), judged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from trueodds_studies._diagrams import significantly_better
from trueodds_studies._papers import _bayes_isotonic_verdicts as verdicts
from trueodds_studies._papers._bayes_isotonic_findings import (
    LOSSES,
    RIVALS,
    Findings,
    Share,
)
from trueodds_studies._papers._bayes_isotonic_numbers import FLAGGED, SIZES, TABLE_2
from trueodds_studies._report import Claim

__all__ = ["comparison_claims"]

ACCURATE = 0.95


def comparison_claims(found: Findings) -> list[Claim]:
    """Table 2 and figure 7."""

    def judged(judge: Callable[[Findings, bool], Claim]) -> Claim:
        return verdicts.by_both(lambda program: judge(found, program), *verdicts.READINGS)

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
        f"{LOSSES[loss]}, {n}: {share} (paper {TABLE_2[loss][str(n)]} %)"
        for (loss, n), share in shares.items()
    )
    printed = [(share, 0.5, TABLE_2[loss][str(n)] / 100) for (loss, n), share in shares.items()]
    return verdicts.above(verdicts.claim_of("majority", True, words), printed)


def _falling(found: Findings, program: bool) -> Claim:
    good, words = True, []
    for loss, name in LOSSES.items():
        means = [float(found.won(loss, n, program=program).mean()) for n in SIZES]
        good &= means[0] > means[1] > means[2]
        words.append(f"{name}: " + " → ".join(f"{mean:.0%}" for mean in means))
    return verdicts.claim_of("falls", good, "; ".join(words), None if good else "data")


def _flags(found: Findings) -> Claim:
    shares = {n: float(found.flagged(n).mean()) for n in SIZES}
    good = shares[100] <= shares[1000] <= shares[3000] and shares[100] < shares[3000]
    return verdicts.claim_of(
        "flags",
        good,
        ", ".join(f"{n}: {share:.0%} of fits" for n, share in shares.items())
        + f" (paper at 3000: {FLAGGED} % of cases)",
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
            + f" (paper {TABLE_2[loss]['3000']} → {TABLE_2[loss]['3000 LH']} %)"
        )
    n_flagged = f"{found.flagged().mean():.0%} of fits flagged (paper {FLAGGED} %)"
    good = bool(rises) and all(rises)
    verdict: Any = None if not rises or not found.flagged().any() else good
    return verdicts.claim_of(
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
    return verdicts.claim_of("tied", all(tied), "; ".join(words), None if all(tied) else "refuted")


def _parametric_first(found: Findings, program: bool) -> Claim:
    leads, words = [], []
    for loss, name in LOSSES.items():
        gaps = []
        for n in (100, 3000):
            ranks = found.panel(loss, n, program=program).rank(axis=1)
            free = ranks[list(RIVALS)].mean(axis=1)
            gaps.append(
                verdicts.by_set_of(ranks[["beta(-platt)", "log-platt"]].mean(axis=1) - free)
            )
        leads += [replace(gaps[0], mean=-gaps[0].mean), gaps[1]]
        words.append(
            f"{name}: {gaps[0].mean:+.2f} ± {gaps[0].error:.2f} at 100, {gaps[1].mean:+.2f} ± "
            f"{gaps[1].error:.2f} at 3000"
        )
    lead = "mean rank of beta and logistic less that of isotonic and ENIR, corrected: "
    return verdicts.judged_leads(
        verdicts.claim_of("parametric", True, lead + "; ".join(words)), leads, "data"
    )


def _accurate_models(found: Findings) -> Claim:
    """The paper names an example: that there are such cases, and most of them there."""
    accuracy = found.means("accuracy", 100, ["bayes-iso"])["bayes-iso"]
    sure = found.sureness().reindex(accuracy.index)
    timid = (sure["bayes-iso"] < 0) & (sure["bayes-iso"] < sure[list(RIVALS)].min(axis=1))
    cases = timid & ~found.won("log_loss", 100).reindex(accuracy.index).astype(bool)
    sharp = accuracy >= ACCURATE
    if not sharp.any() or sharp.all():
        words = f"no pairs on both sides of an accuracy of {ACCURATE:.0%}"
        return verdicts.claim_of("accurate", None, words, "data")
    good = bool(cases[sharp].any() and cases[sharp].mean() > cases[~sharp].mean())
    examples = ", ".join(f"{name} with {model}" for name, model in cases[sharp & cases].index[:4])
    return verdicts.claim_of(
        "accurate",
        good,
        "with 100 instances Bayes-Iso has a higher log-loss than one of the two, is less sure than "
        "it is right (mean of max(p, 1 − p) below the share of right forecasts), and less sure "
        f"than both, on {int(cases[sharp].sum())} of {int(sharp.sum())} pairs with an accuracy of "
        f"at least {ACCURATE:.0%}"
        + (f" (such as {examples})" if examples else "")
        + f", and on {int(cases[~sharp].sum())} of {int((~sharp).sum())} others",
        None if good else "data",
    )
