"""Verdicts of the beta study on figures 4 to 7, Table 2 and the supplement's accuracy.

Each claim is judged twice: by the paper's text (maximum likelihood; Ada-S is SAMME) and by the
authors' program (liblinear; Ada-S is SAMME.R).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

from trueodds.compare import average_ranks, friedman_test, nemenyi
from trueodds_studies._papers._beta_numbers import (
    AUTHORS_RANKS,
    COLUMNS,
    PAPER_RANKS,
    PARAMETRIC,
    table_2,
)
from trueodds_studies._papers._beta_ranks import MODEL_NAMES, Duel, Tables, better, duel, paired
from trueodds_studies._report import Claim, Reason, Verdict

__all__ = ["CLOSE", "LOSSES", "judged", "rank_claims", "table_2_claims"]

LOSSES = {"log_loss": "log-loss", "brier_score": "Brier score"}
MAIN, VARIANTS = list(COLUMNS), {"beta": "abm", "beta-am": "a = b", "beta-ab": "m = ½"}
CLOSE = 0.03
BY_SOLVER = ("naive Bayes by", "Ada-O by", "Table 2", "The order of the ranks", "and Ada-O.")
"""Words of claims that are not about Ada-S."""
BY_PROGRAM: Verdict = "confirmed with the authors' measure"


def judged(by_text: list[Claim], by_program: list[Claim]) -> list[Claim]:
    """One verdict on each claim: by the text, or else by the program, with both readings' figures.

    Where Ada-S is not concerned the readings differ by the solver alone.
    """
    found = []
    for text, program in zip(by_text, by_program, strict=True):
        claim = text
        if program.evidence != text.evidence:
            both = f"{text.evidence}. *Program:* {program.evidence}"
            claim = replace(text, evidence=both)
        if text.word != "confirmed":
            cause: Reason = "solver" if any(map(text.text.__contains__, BY_SOLVER)) else "learner"
            if program.word == "confirmed":
                claim = replace(claim, verdict=BY_PROGRAM, reason=cause)
            elif program.word == "inconclusive":
                claim = replace(claim, verdict="inconclusive", reason=program.reason)
        found.append(claim)
    return found


def rank_claims(tables: Tables) -> list[Claim]:
    """What the paper says about ranks, in the order of section 4 and the conclusions."""
    return [
        *(_against_logistic(tables, loss, m) for loss in LOSSES for m in ("naive-bayes", "ada-o")),
        *(_comparable(tables, loss) for loss in LOSSES),
        _better_than_all(tables),
        _never_beaten(tables),
        _on_par(tables),
        _reversed(tables),
        _variants(tables),
        *(_outperforms(tables, version) for version in VARIANTS),
        _especially(tables),
        *_accuracy(tables),
    ]


def _against_logistic(tables: Tables, loss: str, model: str) -> Claim:
    table = tables[loss, model][MAIN]
    found = duel(table, loss, "beta", "logistic")
    p = paired(table["beta"], table["logistic"])[2]
    text = f"Beta is significantly better than logistic on {MODEL_NAMES[model]} by {LOSSES[loss]}."
    return _superiority(text, "section 4, figures 4 and 5", [found], f"Wilcoxon p = {p:.2g}")


def _superiority(text: str, where: str, duels: list[Duel], more: str = "") -> Claim:
    """That the first of each pair is significantly better."""
    short = [found for found in duels if found.sign <= 0]
    figures = "; ".join([*(found.figures for found in duels), *([more] if more else [])])
    if not short:
        return Claim(text, where, True, figures)
    if any(found.sign < 0 for found in short):
        return Claim(text, where, False, figures, "refuted")
    weakest = min(short, key=lambda found: found.lead)
    return Claim(text, where, "inconclusive", f"{figures}; {weakest.power}", "data")


def _comparable(tables: Tables, loss: str) -> Claim:
    found = duel(tables[loss, "ada-s"][MAIN], loss, "beta", "logistic")
    return Claim(
        f"On Ada-S beta is better than logistic by {LOSSES[loss]}, but not significantly.",
        "section 4, figures 4 and 5",
        found.sign == 0 if found.lead > 0 else ("inconclusive" if found.sign == 0 else False),
        f"{found.figures}, critical difference {found.critical:.2f}",
        None if found.lead > 0 and found.sign == 0 else "learner" if found.sign else "data",
    )


def _better_than_all(tables: Tables) -> Claim:
    duels = {
        (model, rival): duel(tables["log_loss", model][MAIN], "log_loss", "beta", rival)
        for model in ("naive-bayes", "ada-o")
        for rival in ("uncalibrated", "isotonic", "logistic")
    }
    claim = _superiority(
        "By log-loss beta is significantly better than all other methods on naive Bayes and Ada-O.",
        "section 4, figure 4",
        list(duels.values()),
    )
    listed = "; ".join(f"{MODEL_NAMES[m]}, {r}: {d.figures}" for (m, r), d in duels.items())
    short = [d for d in duels.values() if d.sign <= 0]
    power = f"; {min(short, key=lambda d: d.lead).power}" if short else ""
    return replace(claim, evidence=listed + power)


def _never_beaten(tables: Tables) -> Claim:
    beaten = []
    for loss in LOSSES:
        for model in MODEL_NAMES:
            for rival in ("uncalibrated", "isotonic", "logistic"):
                found = duel(tables[loss, model][MAIN], loss, "beta", rival)
                if found.sign < 0:
                    beaten.append(f"{rival}, {MODEL_NAMES[model]}, {LOSSES[loss]}: {found.figures}")
    return Claim(
        "No other method is ever significantly better than beta.",
        "section 4, figures 4 and 5",
        not beaten,
        "; ".join(beaten) or "none in the six settings",
        "refuted" if beaten else None,
    )


def _on_par(tables: Tables) -> Claim:
    duels = {
        model: duel(tables["brier_score", model][MAIN], "brier_score", "beta", "isotonic")
        for model in ("naive-bayes", "ada-o")
    }
    differ = [found for found in duels.values() if found.sign]
    return Claim(
        "By Brier score beta is on par with isotonic on naive Bayes and Ada-O.",
        "section 4, figure 5",
        not differ,
        "; ".join(f"{MODEL_NAMES[model]}: {found.figures}" for model, found in duels.items()),
        "refuted" if differ else None,
    )


def _reversed(tables: Tables) -> Claim:
    """The conclusions say it of the Brier score at large, so one setting decides nothing."""
    duels = {
        model: duel(tables["brier_score", model][MAIN], "brier_score", "isotonic", "beta")
        for model in MODEL_NAMES
    }
    listed = "; ".join(
        f"{MODEL_NAMES[model]} {found.first:.2f} and {found.second:.2f} ({_authors_pair(model)})"
        for model, found in duels.items()
    )
    significant = [found for found in duels.values() if found.sign]
    verdict: bool | Verdict = "inconclusive"
    if all(found.lead > 0 for found in duels.values()):
        verdict = not significant
    elif any(found.sign < 0 for found in significant):
        verdict = False
    needed = [found.needed for found in duels.values() if found.needed]
    power = f"; {max(needed):,} sets would tell them apart where isotonic leads" if needed else ""
    return Claim(
        "By Brier score isotonic is better than beta, not significantly.",
        "section 5",
        verdict,
        f"ranks of isotonic and beta: {listed}; the authors' own have it on Ada-S alone{power}",
        None if verdict is True else "refuted" if verdict is False else "data",
    )


def _authors_pair(model: str) -> str:
    ranks = dict(zip(COLUMNS, AUTHORS_RANKS["brier_score", model][0], strict=True))
    return f"authors {ranks['isotonic']:.2f} and {ranks['beta']:.2f}"


def _variants(tables: Tables) -> Claim:
    beaten, listed = [], []
    for loss in LOSSES:
        for model in MODEL_NAMES:
            table = tables[loss, model][list(PARAMETRIC)]
            ranks = dict(zip(PARAMETRIC, average_ranks(table).ranks, strict=True))
            words = " / ".join(f"{ranks[m]:.2f}" for m in VARIANTS)
            listed.append(f"{MODEL_NAMES[model]}, {LOSSES[loss]}: {words}")
            for rival in ("beta-am", "beta-ab"):
                found = duel(table, loss, "beta", rival)
                if found.sign < 0:
                    beaten.append(f"{rival}, {MODEL_NAMES[model]}, {LOSSES[loss]}: {found.figures}")
    return Claim(
        "Of the three variants the one with three parameters is the best or not significantly "
        "worse than the best, in all settings.",
        "section 4, figures 6 and 7",
        not beaten,
        "; ".join(beaten) or "ranks of abm / a = b / m = ½: " + "; ".join(listed),
        "refuted" if beaten else None,
    )


def _outperforms(tables: Tables, version: str) -> Claim:
    """Over all six settings together; none of them alone is what the sentence is about."""
    leads, worse, better_in, listed = [], [], 0, []
    for loss in LOSSES:
        for model in MODEL_NAMES:
            table = tables[loss, model][list(PARAMETRIC)]
            found = duel(table, loss, version, "logistic")
            ranks = table.rank(axis=1)
            leads.append(ranks["logistic"] - ranks[version])
            better_in += found.sign > 0
            authors = dict(zip(PARAMETRIC, AUTHORS_RANKS[loss, model][1], strict=True))
            listed.append(
                f"{MODEL_NAMES[model]}, {LOSSES[loss]} {found.lead:+.2f} (authors "
                f"{authors['logistic'] - authors[version]:+.2f})"
            )
            if found.sign < 0:
                worse.append(f"{MODEL_NAMES[model]}, {LOSSES[loss]}")
    overall = sum(leads) / len(leads)
    mean, _, p = paired(0 * overall, overall)
    behind = f"significantly behind: {'; '.join(worse)}" if worse else "never significantly behind"
    verdict: bool | Verdict = "inconclusive"
    if p <= 0.05:
        verdict = mean > 0 and not worse
    return Claim(
        f"All versions of beta outperform logistic: the version {VARIANTS[version]}.",
        "section 5, figures 6 and 7",
        verdict,
        f"lead in rank over logistic, all six settings together {mean:+.2f} (Wilcoxon over the "
        f"sets: p = {p:.2g}), significant in {better_in} of 6, {behind}. By setting: "
        + "; ".join(listed),
        None if verdict is True else "refuted" if verdict is False else "data",
    )


def _especially(tables: Tables) -> Claim:
    leads = {
        (loss, model): duel(tables[loss, model][MAIN], loss, "beta", "logistic").lead
        for loss in LOSSES
        for model in MODEL_NAMES
    }
    holds = all(
        leads[loss, model] > leads[loss, "ada-s"]
        for loss in LOSSES
        for model in ("naive-bayes", "ada-o")
    )
    listed = "; ".join(
        f"{LOSSES[loss]}: "
        + ", ".join(f"{MODEL_NAMES[model]} {leads[loss, model]:.2f}" for model in MODEL_NAMES)
        for loss in LOSSES
    )
    return Claim(
        "Beta is preferable to logistic especially if the model has pushed the scores towards the "
        "extremes (naive Bayes and Ada-O, not Ada-S).",
        "section 4",
        holds or "inconclusive",
        f"lead in average rank: {listed}",
        None if holds else "data",
    )


def _accuracy(tables: Tables) -> list[Claim]:
    table = tables["accuracy", "naive-bayes"][MAIN]
    duels = {
        method: duel(table, "accuracy", method, "uncalibrated")
        for method in ("beta", "isotonic", "logistic")
    }
    first = _superiority(
        "By accuracy beta, isotonic and logistic are significantly better than no calibration on "
        "naive Bayes.",
        "authors' results of the supplement",
        list(duels.values()),
    )
    listed = "; ".join(f"{method}: {found.figures}" for method, found in duels.items())
    short = [found for found in duels.values() if found.sign <= 0]
    power = f"; {min(short, key=lambda d: d.lead).power}" if short else ""
    claims = [replace(first, evidence=listed + power)]
    for model, printed in (("ada-o", 0.83), ("ada-s", 0.74)):
        table = tables["accuracy", model][MAIN]
        test = friedman_test(table, better=better("accuracy"))
        ranks = ", ".join(f"{m} {r:.2f}" for m, r in zip(MAIN, test.ranks.ranks, strict=True))
        same = test.chi_square_p_value > 0.05
        claims.append(
            Claim(
                f"By accuracy no two methods differ significantly on {MODEL_NAMES[model]}.",
                "authors' results of the supplement",
                same,
                f"Friedman p = {test.chi_square_p_value:.2g} (authors {printed}); {ranks}",
                None if same else "refuted",
            )
        )
    return claims


def table_2_claims(ours: Any, noise: Any) -> list[Claim]:
    """The order of the ranks under Table 2, and its cells.

    Parameters
    ----------
    ours : pandas.DataFrame
        Log-loss with Ada-O, sets × methods.
    noise : pandas.DataFrame
        Standard errors of the differences between our cells and the paper's by random splits.
    """
    ranks = dict(zip(MAIN, average_ranks(ours[MAIN]).ranks, strict=True))
    by_paper = sorted(MAIN, key=PAPER_RANKS.__getitem__)
    critical = nemenyi(ours[MAIN]).critical_difference
    upset = [(a, b) for a, b in pairwise(by_paper) if ranks[a] >= ranks[b]]
    verdict: bool | Verdict = not upset
    evidence = ", ".join(f"{m} {ranks[m]:.2f} (paper {PAPER_RANKS[m]:.2f})" for m in by_paper)
    if upset:
        opposite = any(ranks[a] - ranks[b] >= critical for a, b in upset)
        verdict = False if opposite else "inconclusive"
        a, b = upset[0]
        lead = PAPER_RANKS[b] - PAPER_RANKS[a]
        here = duel(ours[MAIN], "log_loss", a, b)
        sets = replace(here, first=PAPER_RANKS[a], second=PAPER_RANKS[b]).needed
        evidence += (
            f". {a.capitalize()} and {b} differ by {abs(ranks[a] - ranks[b]):.3f}, in the paper by "
            f"{lead:.2f}; both are ties within the critical difference of {critical:.2f}, and "
            f"{sets:,} sets would be needed to see a difference of {lead:.2f} in 80 % of studies"
        )
    return [
        Claim(
            "The order of the ranks: " + ", ".join(by_paper) + ".",
            "Table 2",
            verdict,
            evidence,
            None if verdict is True else "refuted" if verdict is False else "data",
        ),
        _cells(ours, noise),
    ]


def _cells(ours: Any, noise: Any) -> Claim:
    paper = table_2()
    common = [name for name in ours.index if name in paper.index]
    gaps = (ours.loc[common, MAIN] - paper.loc[common, MAIN]).abs()
    close = gaps <= CLOSE
    far = gaps.stack()[lambda gap: gap > CLOSE].sort_values(ascending=False)
    by_method = ", ".join(f"{method} {close[method].mean():.0%}" for method in MAIN)
    largest = ", ".join(f"{name} {method} {gap:.2f}" for (name, method), gap in far[:4].items())
    chance = int((far <= 2 * noise.loc[common, MAIN].stack().reindex(far.index)).sum())
    share = float(close.to_numpy().mean())
    return Claim(
        f"Table 2 cell by cell: within {CLOSE} on at least 75 % of the cells.",
        "Table 2",
        share >= 0.75,
        f"{int(close.to_numpy().sum())} of {close.size} cells ({share:.0%}): {by_method}. Largest "
        f"gaps: {largest or 'none'}. Of the {len(far)} other cells {chance} are within what other "
        "splits would change (two standard errors, from our repeats)",
        None if share >= 0.75 else "learner",
    )
