"""Verdicts of the ENIR study: each claim of the paper, and what our results say to it.

Claims are judged twice, by the measures of the paper's text and by those of the authors' program.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, NamedTuple

from trueodds.stats import RelativeGain, friedman_test, holm, relative_gain_interval
from trueodds_studies._diagrams import is_greater_better
from trueodds_studies._report import Claim, by_text_or_program
from trueodds_studies.papers.enir.numbers import INTERVALS, MEASURES, METHODS, MODELS, SUPERIOR

__all__ = [
    "MODEL_NAMES",
    "TABLE_OF",
    "Gains",
    "Tables",
    "against",
    "gain_of",
    "interval",
    "judged",
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


def judged(by_text: list[Claim], by_program: list[Claim]) -> list[Claim]:
    """One verdict on each claim: what the text's measures say, or else the program's."""
    found = []
    for text, program in zip(by_text, by_program, strict=True):
        if text.word == "confirmed" or text == program:
            found.append(text)
            continue
        both = f"by the text's measures: {text.evidence}; by the program's: {program.evidence}"
        found.append(by_text_or_program(replace(text, evidence=both), program))
    return found


def real_claims(tables: Tables, gains: Gains) -> list[Claim]:
    """What the paper says about real data."""
    return [*_gain_claims(gains), *_rank_claims(tables), *_overall_claims(tables)]


def simulated_claims(tables: dict[str, Any]) -> list[Claim]:
    """What the paper says about simulated data."""
    linear, quadratic = tables["linear"], tables["quadratic"]

    def shown(table: Any, measures: tuple[str, ...], first: str, second: str) -> str:
        pairs = (f"{m} {table.loc[m, first]:.2f} and {table.loc[m, second]:.2f}" for m in measures)
        return f"{first} and {second}: " + ", ".join(pairs)

    def ahead(table: Any, measures: tuple[str, ...], slack: float = 0.0) -> bool:
        gaps = [
            (table.loc[m, "ENIR"] - table.loc[m, "IsoRegC"]) * (1 if is_greater_better(m) else -1)
            for m in measures
        ]
        return all(gap > -slack if slack else gap > 0 for gap in gaps)

    overall, errors = ("AUC", "ACC", "RMSE"), ("ECE", "MCE")
    lift = {m: linear.loc["AUC", m] - linear.loc["AUC", "base"] for m in METHODS}
    return [
        Claim(
            "On a linear SVM of circular classes ENIR outperforms IsoRegC by AUC, accuracy and "
            "RMSE.",
            "Table I (a)",
            ahead(linear, overall),
            shown(linear, overall, "ENIR", "IsoRegC"),
        ),
        Claim(
            "It does so by ECE and MCE too.",
            "Table I (a)",
            ahead(linear, errors),
            shown(linear, errors, "ENIR", "IsoRegC"),
            None if ahead(linear, errors) else "measure",
        ),
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
            ahead(quadratic, MEASURES, slack=PRINTED),
            shown(quadratic, MEASURES, "ENIR", "IsoRegC"),
            None if ahead(quadratic, MEASURES, slack=PRINTED) else "measure",
        ),
    ]


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
    kept = all(gain.low >= -0.0105 for gain in areas)  # as printed: −0.010
    claims = [
        Claim(
            "By AUC ENIR does not differ significantly from the base classifiers.",
            "Table II",
            same,
            listed("AUC"),
            None if same else "learner",
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
    """That ENIR improves a measure of some base classifiers, each by itself."""
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
    if all(low + high > 0 for low, high in ends.values()):
        # An interval reaches 1.96 standard errors to either side.
        needed = max(
            gains[model, measure].n_sets * ((1.96 + 0.84) / 1.96 * (high - low) / (high + low)) ** 2
            for model, (low, high) in ends.items()
        )
        evidence = f"{claim.evidence}; {math.ceil(needed)} such sets would show it in 80%"
        return replace(claim, verdict="inconclusive", evidence=evidence, reason="data")
    return replace(claim, verdict=False, reason="learner")


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
    if duel.lead > 0:
        figures = f"{duel.figures}; {duel.needed} such sets would show it in 80%"
        return Claim(text, where, "inconclusive", figures, "data")
    return Claim(text, where, False, duel.figures, "learner")


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
    kinds = {True: "discrimination (AUC, accuracy)", False: "calibration (ECE, MCE, RMSE)"}
    return [
        *(
            Claim(
                f"By {words} ENIR is never significantly worse than IsoRegC or BBQ.",
                "section IV.C",
                not worse[kind],
                "; ".join(worse[kind]) or "never",
                "refuted" if worse[kind] else None,
            )
            for kind, words in kinds.items()
        ),
        Claim(
            "On real data ENIR is commonly significantly better than the other methods.",
            "abstract",
            wins >= printed / 2,
            f"in {wins} of {total} comparisons (paper: {printed}); judged: at least half of the "
            "paper's number",
            None if wins >= printed / 2 else "criterion",
        ),
        Claim(
            "ENIR takes O(N log N) time.",
            "Table VII",
            None,
            "not here, because a report must be the same on every machine; "
            "`benchmarks/speed/calibration_time.py` measures it, with all of Table VII, and its "
            "figures are on ENIR's page",
            "protocol",
        ),
    ]
