"""The claims of the Bayesian isotonic paper, judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from trueodds_studies._diagrams import significantly_better
from trueodds_studies._optional import need
from trueodds_studies._report import Claim
from trueodds_studies._significance import significant_sign
from trueodds_studies.papers.bayes_isotonic.findings import (
    LOSSES,
    NINE,
    PAIRS,
    RIVALS,
    Findings,
    Gap,
    Ranking,
    Reading,
    Share,
)
from trueodds_studies.papers.bayes_isotonic.numbers import CORRECTION, FLAGGED, SIZES, TABLE_2
from trueodds_studies.papers.bayes_isotonic.synthetic import synthetic_claims
from trueodds_studies.papers.bayes_isotonic.verdicts import (
    TEXTS,
    above,
    by_each,
    by_set_of,
    claim_of,
    judged_leads,
)
from trueodds_studies.stats import friedman_test

__all__ = ["claims", "comparison_claims", "correction_claims"]


def claims(found: Findings) -> list[Claim]:
    """Return all claims, those on synthetic scores first."""
    judged = synthetic_claims(found)
    if found.real is None:
        return [*judged, *(_untested(key) for key in TEXTS)]
    return [*judged, *correction_claims(found), *comparison_claims(found)]


def _untested(key: str) -> Claim:
    return Claim(*TEXTS[key], None, "no real set in this run", "data")


# Platt's correction ------------------------------------------------------------------------------
# Claims about Platt's correction and overconfidence (section 3).

OFTEN = 0.25
ABOUT = 0.1
"""Largest distance from 0.5 of a share that is about half."""


def correction_claims(found: Findings) -> list[Claim]:
    """Section 3 and figures 2 and 3."""
    return [*_correction_claims(found), *_infinite(found), *_confidence_claims(found)]


# Section 3: Platt's correction.


READINGS: dict[str, Reading] = {"text": "text", "program": "program"}
WITH_UNSMOOTHED: dict[str, Reading] = {
    **READINGS,
    "ENIR without smoothing": "ENIR without smoothing",
}


def _correction_claims(found: Findings) -> list[Claim]:
    limits = {"iso": 0.9, "enir": 0.9, "log": 0.5, "beta": 0.5}
    return [
        by_each(
            partial(_correction, found, method, loss, limit),
            WITH_UNSMOOTHED if method == "enir" else READINGS,
        )
        for method, limit in limits.items()
        for loss in ("log_loss", "brier_score")
    ]


def _correction(found: Findings, method: str, loss: str, limit: float, reading: Reading) -> Claim:
    share = Share.of([found.improved(method, loss, n, reading=reading) for n in SIZES])
    words = (
        f"means of {found.n_folds('iso')} folds (paper: 25): {share.cases} of {share.total} cases, "
        f"{share}{_printed(method, loss)} [least on {share.least}]"
    )
    if loss == "log_loss" and method in ("iso", "enir"):
        words += f". {_size_of_change(found, method, reading)}"
    claim = claim_of(f"{method}-{loss}", True, words)
    if (method, loss) == ("beta", "brier_score"):
        half = share.sign(0.5) == 0 or abs(share.mean - 0.5) < ABOUT
        return claim if half else replace(claim, verdict=False, reason="refuted")
    return above(claim, [(share, limit, None)])


def _printed(method: str, loss: str) -> str:
    if (method, loss) not in CORRECTION:
        return ""
    return " (paper: {} of {})".format(*CORRECTION[method, loss])


def _size_of_change(found: Findings, method: str, reading: Reading) -> str:
    """Return the size of the changes; the gain is large where a 0 or 1 was wrong."""
    names = (method, f"{method}-platt")
    tables = [found.panel("log_loss", n, names, reading=reading) for n in SIZES]
    change = np.concatenate([t[names[1]] - t[names[0]] for t in tables])
    falls, rises = change[change < 0], change[change >= 0]
    words = [f"falls by {-np.median(falls):.2g} where it falls"] if len(falls) else []
    words += [f"rises by {np.median(rises):.2g} where it rises"] if len(rises) else []
    return f"In the median log-loss {' and '.join(words)}"


def _infinite(found: Findings) -> list[Claim]:
    """Judge the share of fits that give a probability of 0 to a label of the test rows."""

    def judge(key: str, method: str) -> Claim:
        shares = [(found.folds("impossible", n)[method].dropna() > 0).mean() for n in SIZES]
        often = float(np.mean(shares)) > OFTEN
        words = ", ".join(f"{n} rows {share:.0%}" for n, share in zip(SIZES, shares, strict=True))
        return claim_of(
            f"infinite-{key}",
            often,
            f"of single fits: {words}; judged: {OFTEN:.0%} of all fits",
            None if often else "solver",
        )

    # The text of ENIR's paper has no smoothing; its program, which the authors used, has.
    variants = {"text": "enir-text", "program": "enir"}
    return [judge("iso", "iso"), by_each(partial(judge, "enir"), variants)]


# Section 3: over- and underconfidence.


def _confidence_claims(found: Findings) -> list[Claim]:
    rankings: dict[str, Ranking] = {"text": "", "program": "_by_map"}

    def judged(judge: Callable[[Findings, Ranking], Claim]) -> Claim:
        return by_each(partial(judge, found), rankings)

    return [
        judged(_moved),
        *(judged(partial(_over_confident, method=method)) for method in ("iso", "enir")),
        judged(_reduces),
        judged(_balance),
        judged(_most_equal),
    ]


def _shown(ends: Any, methods: Sequence[str]) -> dict[str, str]:
    return {
        m: f"{m} {ends.loc[m, 'over-over']:.0%} / {ends.loc[m, 'under-under']:.0%}" for m in methods
    }


def _moved(found: Findings, ranking: Ranking) -> Claim:
    """Judge whether the balance falls with every method, and no share moves the other way."""
    methods = [m for m in NINE if m != "bayes-iso"]
    ends = found.mean_ends(methods, ranking)
    against = [
        m
        for m in PAIRS
        if ends.loc[f"{m}-platt", "over-over"] > ends.loc[m, "over-over"]
        or ends.loc[f"{m}-platt", "under-under"] < ends.loc[m, "under-under"]
    ]
    gaps = {
        m: by_set_of(_balance_of(found, m, ranking) - _balance_of(found, f"{m}-platt", ranking))
        for m in PAIRS
    }
    shown = _shown(ends, methods)
    words = (
        f"over-over / under-under, all sizes, {found.n_folds('iso')} folds: "
        + ", ".join(f"{shown[m]} → {shown[f'{m}-platt']}" for m in PAIRS)
        + "; balance "
        + ", ".join(f"{m} {-100 * g.mean:+.0f} ± {100 * g.error:.0f}" for m, g in gaps.items())
    )
    if against:
        return claim_of("moved", "inconclusive", f"{words}; not {', '.join(against)}", "data")
    return judged_leads(claim_of("moved", True, words), list(gaps.values()))


def _balance_of(found: Findings, method: str, ranking: Ranking) -> Any:
    """Return 1 where a method is overconfident at both ends, −1 where underconfident at both."""
    kinds = [found.over(n, (method,), ranking) for n in SIZES]
    ends = [low[method].astype(int) + high[method].astype(int) - 1 for low, high in kinds]
    return need("pandas").concat(ends, keys=SIZES, names=["size"]).reorder_levels([1, 2, 0])


def _over_confident(found: Findings, ranking: Ranking, *, method: str) -> Claim:
    """Judge whether more pairs are over- than underconfident at both ends, as in figure 3."""
    gap = by_set_of(_balance_of(found, method, ranking))
    both = found.mean_ends((method,), ranking)
    words = (
        f"over-over / under-under, all sizes, {found.n_folds(method)} folds: "
        f"{_shown(both, (method,))[method]} (difference {100 * gap.mean:+.0f} ± "
        f"{100 * gap.error:.0f} points)"
    )
    return judged_leads(claim_of(f"over-{method}", True, words), [gap])


def _reduces(found: Findings, ranking: Ranking) -> Claim:
    """Bayes-Iso against isotonic calibration without correction, on the same folds."""
    few = found.on_folds_of("bayes-iso")
    gap = by_set_of(_balance_of(few, "iso", ranking) - _balance_of(few, "bayes-iso", ranking))
    shown = _shown(few.mean_ends(("iso", "bayes-iso"), ranking), ("iso", "bayes-iso"))
    words = (
        f"over-over / under-under, all sizes, {few.n_folds('bayes-iso')} folds: {shown['iso']}, "
        f"{shown['bayes-iso']}; the balance moves by {-100 * gap.mean:+.0f} ± "
        f"{100 * gap.error:.0f} points"
    )
    return judged_leads(claim_of("reduces", True, words), [gap])


def _balance(found: Findings, ranking: Ranking) -> Claim:
    """Friedman's test on the number of overconfident ends of each pair and size."""
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
        f"overconfident at both ends, {found.n_folds('bayes-iso')} folds: from "
        f"{ends.min():.0%} ({ends.idxmin()}) to "
        f"{ends.max():.0%} ({ends.idxmax()}); Friedman's test of the number of overconfident "
        f"ends, p = {test.chi_square_p_value:.1g}",
        None if good else "data",
    )


def _most_equal(found: Findings, ranking: Ranking) -> Claim:
    ends = found.mean_ends(NINE, ranking)
    distance = (ends["over-over"] - ends["under-under"]).abs().sort_values(kind="stable")
    good = bool(distance.index[0] == "bayes-iso")
    lead_in = "difference between the shares over-over and under-under, folds of Bayes-Iso "
    words = f"{lead_in}({found.n_folds('bayes-iso')}): " + ", ".join(
        f"{m} {value:.2f}" for m, value in distance.items()
    )
    if good:
        return claim_of("equal", True, words)
    lead, error = _lead_of(found, str(distance.index[0]), ranking)
    beaten = significant_sign(lead, error, len(found.real["set"].unique())) > 0
    return claim_of(
        "equal",
        False if beaten else "inconclusive",
        f"{words}; {distance.index[0]} leads Bayes-Iso by {lead:.2f} ± {error:.2f} (jackknife over "
        "sets)",
        "refuted" if beaten else "data",
    )


def _lead_of(found: Findings, method: str, ranking: Ranking) -> tuple[float, float]:
    """Return how much more equal a method's shares are than those of Bayes-Iso, and its error."""
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
# Claims about Bayes-Iso and other methods on real data (section 5.3).

ACCURATE = 0.95


def comparison_claims(found: Findings) -> list[Claim]:
    """Table 2 and figure 7."""

    def judged(judge: Callable[[Findings, Reading], Claim]) -> Claim:
        return by_each(partial(judge, found), WITH_UNSMOOTHED)

    return [
        judged(_majority),
        judged(_falling),
        _flags(found),
        *(judged(partial(_unflagged, loss=loss)) for loss in LOSSES),
        judged(_best_or_tied),
        *(judged(partial(_parametric_with_few, loss=loss)) for loss in LOSSES),
        judged(_free_with_many),
        _accurate_models(found),
    ]


def _majority(found: Findings, reading: Reading) -> Claim:
    shares = {
        (loss, n): Share.of([found.won(loss, n, reading=reading)]) for loss in LOSSES for n in SIZES
    }
    words = f"{found.n_folds('bayes-iso')} folds: " + "; ".join(
        f"{LOSSES[loss]}, {n}: {share} (paper {TABLE_2[loss][str(n)]}%)"
        for (loss, n), share in shares.items()
    )
    printed = [(share, 0.5, TABLE_2[loss][str(n)] / 100) for (loss, n), share in shares.items()]
    return above(claim_of("majority", True, words), printed)


def _falling(found: Findings, reading: Reading) -> Claim:
    """From 100 rows to 3000, by pairs that both sizes have."""
    leads, words = [], []
    for loss, name in LOSSES.items():
        won = {n: found.won(loss, n, reading=reading).astype(float) for n in SIZES}
        gap = by_set_of((won[100] - won[3000]).dropna())
        leads.append(gap)
        words.append(
            f"{name}: "
            + " → ".join(f"{won[n].mean():.0%}" for n in SIZES)
            + f" (falls by {100 * gap.mean:.0f} ± {100 * gap.error:.0f} points)"
        )
    return judged_leads(claim_of("falls", True, "; ".join(words)), leads)


def _flags(found: Findings) -> Claim:
    flagged = {n: found.flagged(n).astype(float) for n in SIZES}
    rise = by_set_of((flagged[3000] - flagged[100]).dropna())
    words = (
        ", ".join(f"{n}: {values.mean():.0%} of fits" for n, values in flagged.items())
        + f" (paper at 3000: {FLAGGED}% of cases; rises by {100 * rise.mean:.0f} ± "
        f"{100 * rise.error:.0f} points)"
    )
    return judged_leads(claim_of("flags", True, words), [rise])


def _unflagged(found: Findings, reading: Reading, *, loss: str) -> Claim:
    """Whether flagged pairs are won less often; their mean decides by jackknife over sets."""
    key = f"unflagged-{loss}"
    won = found.won(loss, 3000, reading=reading).astype(float)
    kept = found.won_unflagged(loss, reading=reading)
    all_cases = Share.of([won])
    shares = {kind: Share.of([cases]) for kind, cases in kept.items() if len(cases)}
    words = (
        f"{all_cases} → "
        + ", ".join(f"{share} without flagged {kind}" for kind, share in shares.items())
        + f" (paper {TABLE_2[loss]['3000']} → {TABLE_2[loss]['3000 LH']}%); "
        f"{found.flagged().mean():.0%} of fits flagged (paper {FLAGGED}%)"
    )
    if not shares or not found.flagged().any() or len(kept["pairs"]) == len(won):
        return claim_of(key, None, words, "data")
    pairs = kept["pairs"].astype(float)
    rise = jackknife(won, pairs)
    words += (
        f"; rises by {100 * rise.mean:.0f} ± {100 * rise.error:.0f} points (jackknife over sets)"
    )
    return judged_leads(claim_of(key, True, words), [rise])


def jackknife(every: Any, some: Any) -> Gap:
    """Return how much the mean of some cases exceeds that of all, and its error over sets."""
    names = list(dict.fromkeys(every.index.get_level_values(0)))

    def rise(left_out: str | None) -> float:
        means = [c[c.index.get_level_values(0) != left_out].mean() for c in (every, some)]
        return float(means[1] - means[0])

    without = np.array([rise(name) for name in names])
    k = len(names)
    error = float(np.sqrt((k - 1) / k * np.sum((without - without.mean()) ** 2)))
    return Gap(rise(None), error, k)


def _best_or_tied(found: Findings, reading: Reading) -> Claim:
    tied, words = [], []
    for loss, name in LOSSES.items():
        for n in SIZES:
            panel = found.panel(loss, n, reading=reading)
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


def _parametric_lead(found: Findings, loss: str, n: int, reading: Reading) -> Gap:
    """Mean rank of corrected isotonic and ENIR less that of beta and logistic."""
    ranks = found.panel(loss, n, reading=reading).rank(axis=1)
    free = ranks[list(RIVALS)].mean(axis=1)
    return by_set_of(free - ranks[["beta(-platt)", "log-platt"]].mean(axis=1))


RANK_LEAD = "mean rank of isotonic and ENIR, corrected, less that of beta and logistic"


def _parametric_with_few(found: Findings, reading: Reading, *, loss: str) -> Claim:
    gap = _parametric_lead(found, loss, 100, reading)
    words = f"{RANK_LEAD}: {gap.mean:+.2f} ± {gap.error:.2f} at 100"
    return judged_leads(claim_of(f"few-{loss}", True, words), [gap])


def _free_with_many(found: Findings, reading: Reading) -> Claim:
    gaps = {loss: _parametric_lead(found, loss, 3000, reading) for loss in LOSSES}
    words = f"{RANK_LEAD}, at 3000: " + "; ".join(
        f"{LOSSES[loss]} {gap.mean:+.2f} ± {gap.error:.2f}" for loss, gap in gaps.items()
    )
    leads = [replace(gap, mean=-gap.mean) for gap in gaps.values()]
    return judged_leads(claim_of("many", True, words), leads)


def _accurate_models(found: Findings) -> Claim:
    """Judge whether such cases exist and are most frequent there; the paper names an example."""
    accuracy = found.means("accuracy", 100, ["bayes-iso"])["bayes-iso"]
    sure = found.confidence_excess().reindex(accuracy.index)
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
        "counted with 100 rows: Bayes-Iso has a higher log-loss than one of the two, is "
        "underconfident (mean of max(p, 1 − p) below its accuracy), and less confident than both. "
        f"This holds for {int(cases[sharp].sum())} of {int(sharp.sum())} pairs with an accuracy of "
        f"at least {ACCURATE:.0%}"
        + (f" (such as {examples})" if examples else "")
        + f", and for {int(cases[~sharp].sum())} of {int((~sharp).sum())} others",
        None if good else "data",
    )
