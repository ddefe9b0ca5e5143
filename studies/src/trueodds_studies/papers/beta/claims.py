"""Verdicts of the beta study on figures 4 to 7, Table 2 and the supplement's accuracy.

Each claim is judged twice: by the paper's text (maximum likelihood; Ada-S is SAMME) and by the
authors' program (liblinear; Ada-S is SAMME.R).
"""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
from scipy.stats import norm

from trueodds_studies._diagrams import is_greater_better
from trueodds_studies._report import Claim, Reason, Verdict, by_readings
from trueodds_studies._significance import by_signs, significant_sign
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.beta.extras import COPIES, FIGURE_2, SIZES
from trueodds_studies.papers.beta.numbers import (
    AUTHORS_RANKS,
    COLUMNS,
    PAPER_RANKS,
    PARAMETRIC,
    SETS,
    authors_table,
    table_2,
)
from trueodds_studies.papers.beta.ranks import MODEL_NAMES, Duel, Tables, duel, paired
from trueodds_studies.papers.beta.running_time import time_claims
from trueodds_studies.papers.beta.theory import theory_claims
from trueodds_studies.stats import average_ranks, friedman_test, nemenyi

__all__ = [
    "CLOSE",
    "LOSSES",
    "SMALL",
    "judged",
    "more_claims",
    "rank_claims",
    "size_gaps",
    "small_sets",
    "table_2_claims",
]

LOSSES = {"log_loss": "log-loss", "brier_score": "Brier score"}
MAIN, VARIANTS = list(COLUMNS), {"beta": "abm", "beta-am": "a = b", "beta-ab": "m = 0.5"}
CLOSE = 0.03
BY_SOLVER = ("naive Bayes by", "Ada-O by", "Table 2", "The order of the ranks", "and Ada-O.")
"""Words of claims that are not about Ada-S."""


def judged(by_text: list[Claim], by_program: list[Claim]) -> list[Claim]:
    """Return one verdict on each claim, by the text or else by the program, with both readings.

    Claims that are not about Ada-S differ between the readings by the solver alone.
    """
    found = []
    for text, program in zip(by_text, by_program, strict=True):
        cause: Reason = "solver" if any(map(text.text.__contains__, BY_SOLVER)) else "learner"
        both = {"text": text, "program": program}
        found.append(by_readings(both, program="program", reason=cause))
    return found


def rank_claims(tables: Tables) -> list[Claim]:
    """The paper's claims about ranks, in the order of section 4 and the conclusions."""
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
    """Judge whether the first of each pair is significantly better."""
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
    """The conclusions state it for the Brier score in general, so one setting decides nothing."""
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
        "; ".join(beaten) or "ranks of abm / a = b / m = 0.5: " + "; ".join(listed),
        "refuted" if beaten else None,
    )


def _outperforms(tables: Tables, version: str) -> Claim:
    """Judge all six settings together, because the sentence is about no single one."""
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
    """Compare the lead in rank over logistic with that on Ada-S, set by set (Student's t-test)."""
    ranks = {
        (loss, model): tables[loss, model][MAIN].rank(axis=1)
        for loss in LOSSES
        for model in MODEL_NAMES
    }
    leads = {key: table["logistic"] - table["beta"] for key, table in ranks.items()}
    signs, words = [], []
    for loss in LOSSES:
        for model in ("naive-bayes", "ada-o"):
            gap = leads[loss, model] - leads[loss, "ada-s"]
            mean, error = float(gap.mean()), float(gap.std() / len(gap) ** 0.5)
            signs.append(significant_sign(mean, error, len(gap)))
            words.append(
                f"{LOSSES[loss]}, {MODEL_NAMES[model]} {leads[loss, model].mean():.2f}, Ada-S "
                f"{leads[loss, 'ada-s'].mean():.2f} ({mean:+.2f} ± {error:.2f})"
            )
    return by_signs(
        Claim(
            "Beta is preferable to logistic especially if the model has pushed the scores towards "
            "the extremes (naive Bayes and Ada-O, not Ada-S).",
            "section 4",
            None,
            f"lead in average rank: {'; '.join(words)}",
        ),
        signs,
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
        theirs = authors_table("accuracy", model).loc[table.index, MAIN]
        own = friedman_test(theirs, greater_is_better=is_greater_better("accuracy"))
        test = friedman_test(table, greater_is_better=is_greater_better("accuracy"))
        ranks = ", ".join(f"{m} {r:.2f}" for m, r in zip(MAIN, test.ranks.ranks, strict=True))
        same = test.chi_square_p_value > 0.05
        claims.append(
            Claim(
                f"By accuracy no two methods differ significantly on {MODEL_NAMES[model]}.",
                "authors' results of the supplement",
                same,
                f"Friedman p = {test.chi_square_p_value:.2g} on {len(table)} sets (authors "
                f"{printed} on 41, {own.chi_square_p_value:.2g} on the same {len(table)}); {ranks}",
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
            f"{sets:,} sets would be needed to see a difference of {lead:.2f} in 80% of studies"
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
        f"Table 2 cell by cell: within {CLOSE} on at least 75% of the cells.",
        "Table 2",
        share >= 0.75,
        f"{int(close.to_numpy().sum())} of {close.size} cells ({share:.0%}): {by_method}. Largest "
        f"gaps: {largest or 'none'}. Of the {len(far)} other cells {chance} are within what other "
        "splits would change (two standard errors, from our repeats)",
        None if share >= 0.75 else "learner",
    )


# Claims about other things than ranks -----------------------------------------------------------
# Base models, maps, small samples, running time.

SMALL = 1000
"""Most rows of a smaller set; about two thirds of the 41 sets are smaller."""
ALMOST = 0.05
"""Mean distance up to which a map is almost the identity."""
HEAVY = 0.5
"""Skewness up to which a distribution is nearly symmetric."""


def more_claims(results: Results, tables: Tables) -> list[Claim]:
    """Return these claims in the order of the paper."""
    return [
        *_base_models(results, tables),
        *_figure_2(results, tables),
        *theory_claims(),
        *_section_3_2(results),
        _signs(results),
        *_small(results, tables),
        *time_claims(results),
    ]


def _base_models(results: Results, tables: Tables) -> list[Claim]:
    raw = pick_rows(results.frame, part="cv", method="uncalibrated").groupby("model")
    excess = (raw["confidence"].mean() - raw["accuracy"].mean()).to_dict()
    scores = pick_rows(results.frame, part="scores")
    by_set = scores.groupby(["model", "set"])[["skew_negatives", "skew_positives"]].mean()
    median = by_set.groupby("model").median()
    skewed = _skewed(by_set)
    worse = {
        name: int((tables["log_loss", m]["logistic"] > tables["log_loss", m]["uncalibrated"]).sum())
        for m, name in MODEL_NAMES.items()
    }
    names = {**MODEL_NAMES, "ada-s": "Ada-S (SAMME)", "ada-s-r": "Ada-S (SAMME.R)"}
    return [
        Claim(
            "Ada-O, like naive Bayes, pushes probabilities to the extremes; Ada-S pulls them "
            "towards 0.5.",
            "section 4",
            min(excess["ada-o"], excess["naive-bayes"])
            > 0
            > max(excess["ada-s"], excess["ada-s-r"]),
            "mean of max(p, 1 − p) less accuracy: "
            + ", ".join(f"{names[model]} {gap:+.3f}" for model, gap in excess.items()),
        ),
        Claim(
            "The scores of each class by naive Bayes and AdaBoost are heavily skewed.",
            "abstract",
            skewed[0],
            "median skewness over the sets of negatives' and positives' scores: "
            + ", ".join(
                f"{names[model]} {median.loc[model, 'skew_negatives']:+.2f} and "
                f"{median.loc[model, 'skew_positives']:+.2f}"
                for model in median.index
            )
            + f"; {skewed[1]}",
            None if skewed[0] else "criterion",
        ),
        Claim(
            "Logistic calibration can make probabilities worse than they were.",
            "section 2.4, figure 2",
            any(worse.values()),
            f"by log-loss, of {len(tables['log_loss', 'ada-o'])} sets: "
            + ", ".join(f"{count} on {model}" for model, count in worse.items()),
            None if any(worse.values()) else "data",
        ),
    ]


def _skewed(by_set: Any) -> tuple[bool, str]:
    """Whether the skewness of each class is beyond that of a nearly symmetric distribution.

    Logistic calibration assumes normal scores, whose skewness is 0.
    """
    holds, words = True, []
    for model in ("naive-bayes", "ada-o"):
        for column, sign in (("skew_negatives", 1), ("skew_positives", -1)):
            values = sign * by_set.loc[model, column]
            p = paired(0 * values + HEAVY, values)[2]  # skewness has heavy tails itself
            holds &= float(values.median()) > HEAVY and p <= 0.05
            share = f"{(values > HEAVY).mean():.0%} (p = {p:.2g})"
            words.append(f"{MODEL_NAMES[model]} {column.removeprefix('skew_')} {share}")
    return bool(holds), (
        f"sets beyond ±{HEAVY}, up to which a distribution is called nearly symmetric: "
        f"{', '.join(words)}; judged: all four significantly beyond it (Wilcoxon over the sets)"
    )


def _figure_2(results: Results, tables: Tables) -> list[Claim]:
    maps = pick_rows(results.frame, part="map")
    maps = maps[maps["method"] != "empirical"]
    left, right = FIGURE_2
    texts = {
        left: f"Figure 2, left (`{left}`): beta is an inverse sigmoid, nearer to isotonic than "
        "logistic.",
        right: f"Figure 2, right (`{right}`): beta is almost the identity.",
    }
    claims = []
    for name, text in texts.items():
        here = pick_rows(maps, set=name)
        if not len(here):
            claims.append(Claim(text, "section 2.4", None, "not in this profile", "data"))
        elif name == left:
            claims.append(_inverse_sigmoid(text, _mean_map(here)))
        else:
            claims.append(_almost_identity(text, here))
    losses = tables["log_loss", "ada-o"]
    text = "There beta does not make matters worse than they were, logistic does."
    if right not in losses.index:
        return [*claims, Claim(text, "section 2.4", None, "not in this profile", "data")]
    line = losses.loc[right]
    holds = bool(line["beta"] <= line["uncalibrated"] < line["logistic"])
    shown = ", ".join(f"{m} {line[m]:.3f}" for m in ("uncalibrated", "beta", "logistic"))
    evidence = f"log-loss of new rows, `{right}`: {shown}"
    return [*claims, Claim(text, "section 2.4", holds, evidence, None if holds else "data")]


def _mean_map(here: Any) -> Any:
    return here.pivot_table(index="score", columns="method", values="probability")


def _inverse_sigmoid(text: str, wide: Any) -> Claim:
    s = wide.index.to_numpy()
    away = {m: float(np.abs(wide[m] - wide["isotonic"]).mean()) for m in ("beta", "logistic")}
    quarter, three = (float(np.interp(at, s, wide["beta"])) for at in (0.25, 0.75))
    holds = quarter > 0.25 and three < 0.75 and away["beta"] < away["logistic"]
    evidence = (
        f"mean of the folds' maps: beta takes 0.25 to {quarter:.2f} and 0.75 to {three:.2f}; mean "
        f"distance from isotonic's: beta {away['beta']:.3f}, logistic {away['logistic']:.3f}"
    )
    return Claim(text, "section 2.4", holds, evidence, None if holds else "criterion")


def _almost_identity(text: str, here: Any) -> Claim:
    """Judge the map of each fold; the figure shows one split."""
    folds = (
        here.groupby(["repeat", "fold"])
        if "fold" in here and here["fold"].notna().any()
        else [("", here)]
    )
    distances = []
    for _, part in folds:
        wide = _mean_map(part)
        distances.append(float(np.abs(wide["beta"] - wide.index.to_numpy()).mean()))
    near = sum(distance <= ALMOST for distance in distances)
    verdict: bool | Verdict = near == len(distances) or ("inconclusive" if near else False)
    evidence = (
        f"mean distance from the identity of each fold's map: {min(distances):.3f} to "
        f"{max(distances):.3f}, at most {ALMOST} in {near} of {len(distances)}; the set has 90 "
        "positives, and the paper shows one split (its own map is 0.044 away)"
    )
    return Claim(text, "section 2.4", verdict, evidence, None if verdict is True else "protocol")


def _section_3_2(results: Results) -> list[Claim]:
    lines = pick_rows(results.frame, part="copies")
    excess = lines.pivot_table(index=["k", "replicate"], columns="method", values="excess")
    shown, found = [], []
    for k in COPIES[1:]:
        fits = pick_rows(lines, k=k, method="beta")
        for name, truth in (("a", 1 / k), ("b", 1 / k), ("c", 0.0)):
            mean, error = float(fits[name].mean()), float(fits[name].std() / len(fits) ** 0.5)
            found.append(abs(mean - truth) <= 3 * error)
            shown.append(f"k = {k}: {name} = {mean:.3f} ± {error:.3f} (right: {truth:g})")
    same = excess.xs(1, level="k")
    _, ahead, p = paired(same["beta"], same["logistic"])
    means = ", ".join(f"{m} {same[m].mean():.4f}" for m in ("uncalibrated", "beta", "logistic"))
    ahead_by = float(same["logistic"].mean() - same["beta"].mean())
    keeps: bool | Verdict = "inconclusive" if p > 0.05 else ahead_by > 0
    return [
        Claim(
            "Where naive Bayes takes k copies of a calibrated feature for independent, beta "
            "calibration is exactly right with a = b = 1/k and c = 0.",
            "section 3.2",
            all(found),
            f"means of {same.shape[0]} samples of 1,000 rows: {'; '.join(shown)}",
            None if all(found) else "criterion",
        ),
        Claim(
            "Logistic calibration uncalibrates calibrated scores; beta keeps them.",
            "section 3.2",
            keeps,
            f"log-loss above that of the true probabilities: {means}; beta is nearer in {ahead} "
            f"of {len(same)} "
            f"samples, Wilcoxon p = {p:.2g}",
            None if keeps is True else "data" if keeps else "refuted",
        ),
    ]


def _signs(results: Results) -> Claim:
    lines = pick_rows(results.frame, part="scores", model=["naive-bayes", "ada-o", "ada-s-r"])
    sums = lines.groupby("model")[["fits", "negative", "negative_by_program"]].sum()
    names = {**MODEL_NAMES, "ada-s-r": "Ada-S (SAMME.R)"}
    listed = "; ".join(
        f"{names[model]} {int(row['negative'])} of {int(row['fits'])} by maximum likelihood, "
        f"{int(row['negative_by_program'])} by the authors' solver"
        for model, row in sums.iterrows()
    )
    never = not sums["negative_by_program"].any()
    return Claim(
        "A negative a or b never happened in the experiments.",
        "section 3.3",
        never,
        f"fits of abm without the constraint: {listed}. The program drops such a coefficient "
        "silently, and the calibrators here do too",
        None if never else "refuted",
    )


def small_sets(table: Any) -> Any:
    """Return the lines of a table with the smaller sets."""
    return table.loc[[name for name in table.index if SETS[name] <= SMALL]]


def _small(results: Results, tables: Tables) -> list[Claim]:
    claims = []
    for loss, words in LOSSES.items():
        figures, signs = [], []
        for model, name in MODEL_NAMES.items():
            few = small_sets(tables[loss, model])
            mean, ahead, p = paired(few["beta"], few["isotonic"])
            median = float((few["isotonic"] - few["beta"]).median())
            signs.append(0 if p > 0.05 else 1 if median > 0 else -1)
            figures.append(
                f"{name}: better on {ahead} of {len(few)}, by {mean:+.4f} on average, Wilcoxon p = "
                f"{p:.2g}{_sets_needed(p, median, len(few))}"
            )
        verdict: bool | Verdict = "inconclusive"
        if min(signs) < 0:
            verdict = False
        elif min(signs) > 0:
            verdict = True
        claims.append(
            Claim(
                f"On the smaller sets (at most {SMALL:,} rows) beta is better than isotonic by "
                f"{words}.",
                "introduction, section 5",
                verdict,
                "; ".join(figures),
                None if verdict is True else "refuted" if verdict is False else "data",
            )
        )
    return [*claims, *_few_rows(results)]


def _sets_needed(p: float, median: float, n_sets: int) -> str:
    """Return how many such sets would show this difference in 80% of studies."""
    if p <= 0.05 or median <= 0 or p >= 0.99:
        return ""
    needed = n_sets * ((1.96 + 0.8416) / float(norm.isf(p / 2))) ** 2
    return f" ({needed:,.0f} such sets would show it in 80% of studies)"


def size_gaps(results: Results, loss: str) -> Any:
    """Isotonic's loss less beta's by rows (columns), one line for each set and model."""
    lines = pick_rows(results.frame, part="size")
    means = lines.pivot_table(index=["set", "model"], columns=["method", "n"], values=loss)
    return means["isotonic"] - means["beta"]


def _few_rows(results: Results) -> list[Claim]:
    if not len(pick_rows(results.frame, part="size")):
        text = "Isotonic overfits on few rows, where beta is the better choice."
        return [Claim(text, "section 5", None, "no large set in this profile", "data")]
    claims = []
    for loss, words in LOSSES.items():
        gaps = size_gaps(results, loss)
        first, last = gaps[SIZES[0]], gaps[SIZES[-1]]
        _, ahead, p = paired(0 * first, first)
        falls = paired(last, first)
        shrinks = falls[2] <= 0.05 and falls[0] > 0
        verdict: bool | Verdict = "inconclusive"
        if p <= 0.05:
            verdict = shrinks if first.median() > 0 else False
        listed = ", ".join(f"{n} rows {gaps[n].mean():+.4f}" for n in SIZES)
        claims.append(
            Claim(
                f"Isotonic overfits on few rows: by {words} beta is ahead of it there, and less "
                "so with more rows.",
                "introduction, section 5",
                verdict,
                f"large sets calibrated on few of their rows, isotonic less beta: {listed}; with "
                f"{SIZES[0]} rows beta is ahead on {ahead} of {len(first)} (p = {p:.2g})",
                None if verdict is True else "refuted" if verdict is False else "data",
            )
        )
    return claims
