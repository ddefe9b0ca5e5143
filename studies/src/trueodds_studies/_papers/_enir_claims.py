"""Verdicts of the ENIR study: each claim of the paper, and what our results say to it."""

from __future__ import annotations

from typing import Any, Literal

from trueodds.compare import RelativeGain, friedman_test, holm, relative_gain_interval
from trueodds_studies._papers._enir_numbers import INTERVALS, MEASURES, METHODS, MODELS, SUPERIOR
from trueodds_studies._report import Claim

__all__ = [
    "MODEL_NAMES",
    "TABLE_OF",
    "Gains",
    "Tables",
    "against",
    "better",
    "gain_of",
    "interval",
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


def real_claims(tables: Tables, gains: Gains) -> list[Claim]:
    """What the paper says about real data."""
    return [*_gain_claims(gains), *_rank_claims(tables), *_overall_claims(tables)]


def better(measure: str) -> Literal["lower", "higher"]:
    """Whether the measure is a loss or a score."""
    return "higher" if measure in ("AUC", "ACC") else "lower"


def simulated_claims(tables: dict[str, Any]) -> list[Claim]:
    """What the paper says about simulated data."""
    linear, quadratic = tables["linear"], tables["quadratic"]

    def shown(table: Any, measures: tuple[str, ...], first: str, second: str) -> str:
        pairs = (f"{m} {table.loc[m, first]:.2f} and {table.loc[m, second]:.2f}" for m in measures)
        return f"{first} and {second}: " + ", ".join(pairs)

    def ahead(table: Any, measures: tuple[str, ...], slack: float = 0.0) -> bool:
        gaps = [
            (table.loc[m, "ENIR"] - table.loc[m, "IsoRegC"]) * (1 if better(m) == "higher" else -1)
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
            shown(linear, errors, "ENIR", "IsoRegC")
            + ". Isotonic regression is calibrated on its own training data by construction; it "
            "cannot rank here, which ECE does not see",
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
        ),
    ]


def gain_of(table: Any) -> RelativeGain:
    """Equation 10, where the base classifier's measure is not 0."""
    used = table[table["base"] > 0]
    return relative_gain_interval(used["ENIR"], used["base"])


def interval(gain: RelativeGain) -> str:
    """As text."""
    return f"[{gain.low:+.3f}, {gain.high:+.3f}]"


def _gain_claims(gains: Gains) -> list[Claim]:
    def listed(measure: str, models: tuple[str, ...] = MODELS) -> str:
        return ", ".join(f"{model} {interval(gains[model, measure])}" for model in models)

    claims = [
        Claim(
            "By AUC ENIR does not differ significantly from the base classifiers.",
            "Table II",
            all(gains[model, "AUC"].low <= 0 <= gains[model, "AUC"].high for model in MODELS),
            listed("AUC"),
        ),
        Claim(
            "At 95 % confidence ENIR loses no more than 1 % of the AUC.",
            "section IV.C",
            all(gains[model, "AUC"].low >= -0.0105 for model in MODELS),  # as printed: −0.010
            listed("AUC"),
        ),
        *(
            Claim(
                f"ENIR improves the accuracy of {MODEL_NAMES[model]}.",
                "Table II",
                gains[model, "ACC"].low > 0,
                listed("ACC", (model,)),
            )
            for model in ("LR", "NB")
        ),
        *(
            Claim(
                f"ENIR improves the {measure} of all three classifiers.",
                "Table II",
                all(gains[model, measure].high < 0 for model in MODELS),
                listed(measure),
            )
            for measure in ("RMSE", "ECE", "MCE")
        ),
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
        )
    )
    return claims


def against(table: Any, measure: str, rival: str) -> tuple[int, str]:
    """+1 if ENIR is significantly better than the rival, −1 if worse, 0 if neither; the figures."""
    way = better(measure)
    part = table[list(METHODS)]
    whole = friedman_test(part, better=way)
    found = holm(part, better=way, control="ENIR", alpha=ALPHA)
    pair = next(c for c in found.comparisons if rival in (c.first, c.second))
    ranks = dict(zip(found.ranks.methods, found.ranks.ranks, strict=True))
    figures = (
        f"ranks {ranks['ENIR']:.2f} and {ranks[rival]:.2f}, F_F p = {whole.f_p_value:.2g}, Holm p "
        f"= {pair.adjusted_p_value:.2g}"
    )
    if whole.f_p_value > ALPHA or not pair.rejected:
        return 0, figures
    return (1 if ranks["ENIR"] < ranks[rival] else -1), figures


def _rank_claims(tables: Tables) -> list[Claim]:
    claims = []
    for model, where in TABLE_OF.items():
        name = MODEL_NAMES[model]
        exempt = [] if model == "NB" else ["MCE"]
        words = "in everything" if model == "NB" else "except by MCE"
        best, listed = [], []
        for measure in MEASURES:
            found = friedman_test(tables[model, measure][list(METHODS)], better=better(measure))
            ranks = dict(zip(found.ranks.methods, found.ranks.ranks, strict=True))
            best.append(measure in exempt or ranks["ENIR"] <= min(ranks.values()))
            listed.append(f"{measure} " + " / ".join(f"{ranks[m]:.2f}" for m in METHODS))
        claims.append(
            Claim(
                f"With {name} ENIR has the best average rank {words}.",
                where,
                all(best),
                "IsoRegC / BBQ / ENIR: " + ", ".join(listed),
            )
        )
        for measure, rival in SUPERIOR[model]:
            sign, figures = against(tables[model, measure], measure, rival)
            text = f"With {name} ENIR is significantly better than {rival} by {measure}."
            claims.append(Claim(text, where, sign > 0, figures))
        others = [(m, r) for m in MEASURES for r in METHODS[:2] if (m, r) not in SUPERIOR[model]]
        signs = {pair: against(tables[model, pair[0]], *pair) for pair in others}
        differ = [
            f"{'better' if sign > 0 else 'worse'} than {rival} by {measure} ({figures})"
            for (measure, rival), (sign, figures) in signs.items()
            if sign
        ]
        claims.append(
            Claim(
                f"With {name} the other {len(others)} comparisons show no significant difference.",
                where,
                not differ,
                "; ".join(differ) or f"none of {len(others)}",
            )
        )
    return claims


def _overall_claims(tables: Tables) -> list[Claim]:
    worse: dict[bool, list[str]] = {True: [], False: []}
    wins = 0
    for (model, measure), table in tables.items():
        for rival in METHODS[:2]:
            sign, figures = against(table, measure, rival)
            wins += sign > 0
            if sign < 0:
                kind = measure in ("AUC", "ACC")
                worse[kind].append(f"{rival}, {MODEL_NAMES[model]}, {measure}: {figures}")
    total, printed = 2 * len(tables), sum(map(len, SUPERIOR.values()))
    kinds = {True: "discrimination (AUC, accuracy)", False: "calibration (ECE, MCE, RMSE)"}
    return [
        *(
            Claim(
                f"By {words} ENIR is never significantly worse than IsoRegC or BBQ.",
                "section IV.C",
                not worse[kind],
                "; ".join(worse[kind]) or "never",
            )
            for kind, words in kinds.items()
        ),
        Claim(
            "On real data ENIR is commonly significantly better than the other methods.",
            "abstract",
            wins >= printed / 2,
            f"in {wins} of {total} comparisons (paper: {printed}); judged: at least half of the "
            "paper's number",
        ),
        Claim(
            "ENIR takes O(N log N) time.",
            "Table VII",
            None,
            "a study has no timings; `benchmarks/enir_speed.py` measures it",
        ),
    ]
