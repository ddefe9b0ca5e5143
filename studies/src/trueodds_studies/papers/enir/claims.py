"""Verdicts of the ENIR study: each claim of the paper, judged by our results.

Claims are judged by the measures of the paper's text and by those of the authors' program. Both
are computed as means over folds, and from all folds of a run together. A further reading has ENIR
as the text describes it.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from scipy.stats import binomtest, t as student

from trueodds_studies._diagrams import is_greater_better
from trueodds_studies._report import Claim, Reason, by_readings
from trueodds_studies._significance import by_signs, significant_sign
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.enir.extras import SMALL
from trueodds_studies.papers.enir.numbers import (
    INTERVALS,
    MEASURES,
    METHODS,
    MODELS,
    SINGLE_FOLDS,
    SUPERIOR,
)
from trueodds_studies.stats import RelativeGain, friedman_test, holm, relative_gain_interval

__all__ = [
    "MODEL_NAMES",
    "TABLE_OF",
    "Gains",
    "Tables",
    "against",
    "gain_of",
    "interval",
    "judged",
    "other_claims",
    "real_claims",
    "simulated_claims",
]

Tables = dict[tuple[str, str], Any]
"""Sets × methods for each base classifier and measure."""
Gains = dict[tuple[str, str], RelativeGain]
ALPHA = 0.05
TABLE_OF = {"LR": "Table IV", "SVM": "Table V", "NB": "Table VI"}
MODEL_NAMES = {"LR": "logistic regression", "SVM": "SVM", "NB": "naive Bayes"}
PRINTED = 0.0101
"""One unit of the last digit in Table I, and rounding."""
LIKELY = 2.24 + 0.84
"""Standard errors between two ranks that Holm's first step (two rivals, 5%) sees in 80%."""


def judged(readings: dict[str, list[Claim]]) -> list[Claim]:
    """Return one verdict on each claim: by the text's measures, or else by the program's."""
    return [
        by_readings(dict(zip(readings, claims, strict=True)), program="program")
        for claims in zip(*readings.values(), strict=True)
    ]


def real_claims(tables: Tables, gains: Gains) -> list[Claim]:
    """The paper's claims about real data."""
    return [*_gain_claims(gains), *_rank_claims(tables), *_overall_claims(tables)]


Runs = dict[tuple[str, str], Any]
"""Runs × methods for each kernel and measure."""


def simulated_claims(runs: Runs) -> list[Claim]:
    """The paper's claims about simulated data."""
    overall, errors = ("AUC", "ACC", "RMSE"), ("ECE", "MCE")
    lift = {m: (runs["linear", "AUC"][m] - runs["linear", "AUC"]["base"]).mean() for m in METHODS}
    behind = [
        measure
        for measure in MEASURES
        for lead, _, _ in [_lead(runs["quadratic", measure], measure)]
        if lead <= -PRINTED
    ]
    return [
        _ahead(
            runs,
            overall,
            "On a linear SVM of circular classes ENIR outperforms IsoRegC by AUC, accuracy and "
            "RMSE.",
        ),
        _ahead(runs, errors, "It does so by ECE and MCE too."),
        Claim(
            "IsoRegC improves discrimination only to a limited degree, ENIR and BBQ much more.",
            "section IV.B",
            bool(lift["IsoRegC"] < 0.6 * min(lift["ENIR"], lift["BBQ"])),
            "AUC over the SVM's: " + ", ".join(f"{m} {gain:+.2f}" for m, gain in lift.items()),
        ),
        Claim(
            "On a quadratic SVM ENIR performs as well as or better than IsoRegC (all five "
            "measures, to the printed 0.01).",
            "Table I (b)",
            not behind,
            _leads(runs, "quadratic", MEASURES),
            "measure" if behind else None,
        ),
    ]


def _lead(table: Any, measure: str) -> tuple[float, float, int]:
    """By how much ENIR is better than IsoRegC: mean over runs, standard error, runs."""
    gap = (table["ENIR"] - table["IsoRegC"]) * (1 if is_greater_better(measure) else -1)
    return float(gap.mean()), float(gap.std() / math.sqrt(len(gap))), len(gap)


def _leads(runs: Runs, kernel: str, measures: tuple[str, ...]) -> str:
    words = []
    for measure in measures:
        table = runs[kernel, measure]
        lead, error, _ = _lead(table, measure)
        words.append(
            f"{measure} {table['ENIR'].mean():.3f} and {table['IsoRegC'].mean():.3f} (better by "
            f"{lead:+.3f} ± {error:.3f})"
        )
    return "ENIR and IsoRegC: " + ", ".join(words)


def _ahead(runs: Runs, measures: tuple[str, ...], text: str) -> Claim:
    """Judge whether ENIR is better than IsoRegC on the linear SVM by each of the measures."""
    signs = [significant_sign(*_lead(runs["linear", measure], measure)) for measure in measures]
    return by_signs(
        Claim(
            text,
            "Table I (a)",
            None,
            _leads(runs, "linear", measures),
        ),
        signs,
    )


def gain_of(table: Any) -> RelativeGain:
    """Equation 10, where the base classifier's measure is not 0."""
    used = table[table["base"] > 0]
    return relative_gain_interval(used["ENIR"], used["base"], level=0.95)


def interval(gain: RelativeGain) -> str:
    """As text."""
    return f"[{gain.low:+.3f}, {gain.high:+.3f}]"


def _gain_claims(gains: Gains) -> list[Claim]:
    def listed(measure: str, models: tuple[str, ...] = MODELS) -> str:
        return ", ".join(f"{model} {interval(gains[model, measure])}" for model in models)

    areas = [gains[model, "AUC"] for model in MODELS]
    same = all(gain.low <= 0 <= gain.high for gain in areas)
    direction: Reason = "refuted" if any(gain.high < 0 for gain in areas) else "learner"
    kept = all(gain.low >= -0.0105 for gain in areas)  # as printed: −0.010
    claims = [
        Claim(
            "By AUC ENIR does not differ significantly from the base classifiers.",
            "Table II",
            same,
            listed("AUC"),
            None if same else direction,
        ),
        Claim(
            "At 95% confidence ENIR loses no more than 1% of the AUC.",
            "section IV.C",
            kept or ("inconclusive" if all(gain.high >= -0.0105 for gain in areas) else False),
            listed("AUC"),
            None if kept else "data",
        ),
        *(_improvement(gains, "ACC", (model,)) for model in ("LR", "NB")),
        *(_improvement(gains, measure, MODELS) for measure in ("RMSE", "ECE", "MCE")),
    ]
    apart = [
        f"{model} {measure} {interval(gain)}, paper [{low:+.3f}, {high:+.3f}]"
        for (model, measure), gain in gains.items()
        for low, high in [INTERVALS[model][measure]]
        if gain.high < low or gain.low > high
    ]
    claims.append(
        Claim(
            "The intervals of Table II themselves: ours overlap them.",
            "Table II",
            not apart,
            f"{len(gains) - len(apart)} of {len(gains)} overlap"
            + (f"; apart: {'; '.join(apart)}" if apart else ""),
            "learner" if apart else None,
        )
    )
    return claims


def _improvement(gains: Gains, measure: str, models: tuple[str, ...]) -> Claim:
    """Judge whether ENIR improves a measure of each of some base classifiers."""
    sign = 1 if is_greater_better(measure) else -1
    ends = {model: sorted((sign * gains[model, measure].low, sign * gains[model, measure].high))
            for model in models}  # fmt: skip
    names = "all three classifiers" if len(models) > 1 else MODEL_NAMES[models[0]]
    words = "accuracy" if measure == "ACC" else measure
    claim = Claim(
        f"ENIR improves the {words} of {names}.",
        "Table II",
        True,
        ", ".join(f"{model} {interval(gains[model, measure])}" for model in models),
    )
    if all(low > 0 for low, _ in ends.values()):
        return claim
    if any(high < 0 for _, high in ends.values()):
        return replace(claim, verdict=False, reason="refuted")
    evidence = claim.evidence
    if all(low + high > 0 for low, high in ends.values()):
        # An interval reaches 1.96 standard errors to either side.
        needed = max(
            gains[model, measure].n_sets * ((1.96 + 0.84) / 1.96 * (high - low) / (high + low)) ** 2
            for model, (low, high) in ends.items()
        )
        evidence += f"; {math.ceil(needed)} such sets would show it in 80%"
    return replace(claim, verdict="inconclusive", evidence=evidence, reason="data")


class Duel(NamedTuple):
    """ENIR against one method."""

    sign: int  # +1 if ENIR is significantly better, −1 if worse, 0 if neither
    lead: float  # by how much its average rank is better
    n_sets: int
    figures: str

    @property
    def needed(self) -> int:
        """Sets on which a lead as large as this one would probably be significant."""
        standard_error = math.sqrt(1 / self.n_sets)  # k(k + 1)/6N of three methods
        return math.ceil(self.n_sets * (LIKELY * standard_error / self.lead) ** 2)


def against(table: Any, measure: str, rival: str) -> Duel:
    """Friedman's test, then Holm's procedure with ENIR as control."""
    way = is_greater_better(measure)
    part = table[list(METHODS)]
    whole = friedman_test(part, greater_is_better=way)
    found = holm(part, greater_is_better=way, control="ENIR", alpha=ALPHA)
    pair = next(c for c in found.comparisons if rival in (c.first, c.second))
    ranks = dict(zip(found.ranks.methods, found.ranks.ranks, strict=True))
    figures = (
        f"ranks {ranks['ENIR']:.2f} and {ranks[rival]:.2f}, F_F p = {whole.f_p_value:.2g}, Holm p "
        f"= {pair.adjusted_p_value:.2g}"
    )
    lead = float(ranks[rival] - ranks["ENIR"])
    significant = whole.f_p_value <= ALPHA and pair.rejected
    sign = 0 if not significant else 1 if lead > 0 else -1
    return Duel(sign, lead, len(part), figures)


def _superiority(name: str, where: str, measure: str, rival: str, duel: Duel) -> Claim:
    text = f"With {name} ENIR is significantly better than {rival} by {measure}."
    if duel.sign > 0:
        return Claim(text, where, True, duel.figures)
    if duel.sign < 0:
        return Claim(text, where, False, duel.figures, "refuted")
    needed = f"; {duel.needed} such sets would show it in 80%" if duel.lead > 0 else ""
    return Claim(text, where, "inconclusive", duel.figures + needed, "data")


def _best_rank(tables: Tables, model: str, where: str) -> Claim:
    exempt, words = ([], "in everything") if model == "NB" else (["MCE"], "except by MCE")
    listed, behind, beaten = [], False, False
    for measure in MEASURES:
        table = tables[model, measure]
        found = friedman_test(table[list(METHODS)], greater_is_better=is_greater_better(measure))
        ranks = dict(zip(found.ranks.methods, found.ranks.ranks, strict=True))
        listed.append(f"{measure} " + " / ".join(f"{ranks[m]:.2f}" for m in METHODS))
        if measure not in exempt:
            behind |= bool(ranks["ENIR"] > min(ranks.values()))
            beaten |= any(against(table, measure, rival).sign < 0 for rival in METHODS[:2])
    return Claim(
        f"With {MODEL_NAMES[model]} ENIR has the best average rank {words}.",
        where,
        not behind or (False if beaten else "inconclusive"),
        "IsoRegC / BBQ / ENIR: " + ", ".join(listed),
        "refuted" if beaten else "data" if behind else None,
    )


def _rank_claims(tables: Tables) -> list[Claim]:
    claims = []
    for model, where in TABLE_OF.items():
        name = MODEL_NAMES[model]
        claims.append(_best_rank(tables, model, where))
        for measure, rival in SUPERIOR[model]:
            duel = against(tables[model, measure], measure, rival)
            claims.append(_superiority(name, where, measure, rival, duel))
        others = [(m, r) for m in MEASURES for r in METHODS[:2] if (m, r) not in SUPERIOR[model]]
        duels = {pair: against(tables[model, pair[0]], *pair) for pair in others}
        differ = [
            f"{'better' if duel.sign > 0 else 'worse'} than {rival} by {measure} ({duel.figures})"
            for (measure, rival), duel in duels.items()
            if duel.sign
        ]
        claims.append(
            Claim(
                f"With {name} the other {len(others)} comparisons show no significant difference.",
                where,
                not differ,
                "; ".join(differ) or f"none of {len(others)}",
                "learner" if differ else None,
            )
        )
    return claims


def _overall_claims(tables: Tables) -> list[Claim]:
    worse: dict[bool, list[str]] = {True: [], False: []}
    wins = 0
    for (model, measure), table in tables.items():
        for rival in METHODS[:2]:
            duel = against(table, measure, rival)
            wins += duel.sign > 0
            if duel.sign < 0:
                kind = measure in ("AUC", "ACC")
                worse[kind].append(f"{rival}, {MODEL_NAMES[model]}, {measure}: {duel.figures}")
    total, printed = 2 * len(tables), sum(map(len, SUPERIOR.values()))
    losses = sum(map(len, worse.values()))
    p = float(binomtest(min(wins, losses), wins + losses).pvalue) if wins + losses else 1.0
    common = wins >= printed / 2 and wins > losses and p <= ALPHA
    kinds = {True: "discrimination (AUC, accuracy)", False: "calibration (ECE, MCE, RMSE)"}
    return [
        Claim(
            "On real data ENIR is commonly significantly better than the other methods.",
            "abstract",
            common,
            f"better in {wins} and worse in {losses} of {total} comparisons (paper: {printed} and "
            f"0), sign test p = {p:.2g}; judged: at least half of the paper's number, and "
            "significantly more wins than losses",
            None if common else "refuted" if losses > wins and p <= ALPHA else "measure",
        ),
        *(
            Claim(
                f"ENIR is never significantly worse than IsoRegC or BBQ: by {words}.",
                "abstract, section IV.C",
                not worse[kind],
                "; ".join(worse[kind]) or "never",
                "refuted" if worse[kind] else None,
            )
            for kind, words in kinds.items()
        ),
    ]


# Claims outside the tables -----------------------------------------------------------------------

SIMILAR = 0.01
"""Distances from the true curve are quite similar if they differ by less."""
LINEARITHMIC = 1.25
"""Largest exponent of N that counts as N log N, whose exponent is 1.08 to 1.10."""


def other_claims(results: Results) -> list[Claim]:
    """ABB, Platt's method, and running times."""
    parts = set(results.frame["part"])
    claims = [_similar(results)] if "binning" in parts else []
    claims += _platt(results)
    return claims + (_times(results) if "time" in parts else [])


def _similar(results: Results) -> Claim:
    """Whether intervals of the difference between ABB and BBQ lie within ±0.01 everywhere."""
    lines = pick_rows(results.frame, part="binning")
    wide = lines.pivot(index=["curve", "n", "replicate"], columns="method", values="distance")
    gap = wide["ABB"] - wide["BBQ"]
    groups = gap.groupby(["curve", "n"], sort=False)
    mean, error, count = groups.mean(), groups.std() / groups.size() ** 0.5, groups.size()
    apart, unclear = [], []
    for key in mean.index:
        reach = float(student.isf(0.025, count[key] - 1)) * error[key]
        words = f"{key[0]}, {key[1]:.0f} rows {mean[key]:+.3f} ± {error[key]:.3f}"
        if abs(mean[key]) - reach > SIMILAR:
            apart.append(words)
        elif abs(mean[key]) + reach > SIMILAR:
            unclear.append(words)
    shown = "; ".join(
        f"{curve} " + ", ".join(f"{mean[curve, n]:+.3f} ± {error[curve, n]:.3f}" for n in SMALL)
        for curve in dict.fromkeys(mean.index.get_level_values(0))
    )
    return Claim(
        "Even for small data sets ABB performs quite similarly to BBQ.",
        "section IV",
        False if apart else "inconclusive" if unclear else True,
        "distance from the true curve (root mean square), ABB less BBQ, with "
        f"{', '.join(map(str, SMALL))} rows: {shown}; judged: 95% intervals within ±{SIMILAR}",
        "refuted" if apart else "data" if unclear else None,
    )


def _platt(results: Results) -> list[Claim]:
    claims = []
    for method in ("IsoRegC", "BBQ"):
        signs, words = [], []
        for model in MODELS:
            for measure in ("RMSE", "ECE"):
                table = results.table(
                    measure, rows="set", columns="method", part="real", model=model,
                    fold=SINGLE_FOLDS,
                )  # fmt: skip
                gap = table["Platt"] - table[method]
                mean, error = float(gap.mean()), float(gap.std() / math.sqrt(len(gap)))
                signs.append(significant_sign(mean, error, len(gap)))
                words.append(f"{model} {measure} {mean:+.4f} ± {error:.4f}")
        claims.append(
            by_signs(
                Claim(
                    f"{method} is superior to Platt's method (why it was left out).",
                    "section IV",
                    None,
                    f"Platt less {method}, means over sets: {', '.join(words)}",
                ),
                signs,
            )
        )
    return claims


def _times(results: Results) -> list[Claim]:
    lines = pick_rows(results.frame, part="time").set_index("n")
    fit, one = lines["fit_milliseconds"], lines["predict_microseconds"]
    sizes = sorted(lines.index)
    first, last = sizes[-2:]
    exponent = math.log(fit[last] / fit[first]) / math.log(last / first)
    ratio = float(one.max() / one.min())
    return [
        Claim(
            "ENIR takes O(N log N) time.",
            "abstract, Table VII",
            exponent <= LINEARITHMIC,
            ", ".join(f"{n:,.0f} rows {fit[n]:.3g} ms" for n in sizes)
            + f"; exponent of the last step {exponent:.2f} (judged: at most {LINEARITHMIC})",
            None if exponent <= LINEARITHMIC else "refuted",
        ),
        Claim(
            "A prediction can take O(1) time.",
            "footnote 1",
            ratio <= 2,
            "one prediction after a fit of "
            + ", ".join(f"{n:,.0f} rows {one[n]:.3g} µs" for n in sizes)
            + " (judged: at most twice as long); the ensemble is one map, nothing is cached",
            None if ratio <= 2 else "solver",
        ),
    ]
