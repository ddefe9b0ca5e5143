"""Verdicts of the calibration trees study: Tables 2 to 6, and the text about them."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from scipy.special import ndtr

from trueodds_studies._optional import need
from trueodds_studies._report import Claim, Reason, Verdict
from trueodds_studies._significance import by_signs, significant_sign, verdict_of_signs
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.trees.artificial import artificial_claims
from trueodds_studies.papers.trees.compared import (
    CLOSE,
    NAMES,
    RIVAL_NAMES,
    RIVALS,
    SUBSTITUTES,
    TABLE_OF,
    Compared,
    wdl,
)
from trueodds_studies.papers.trees.numbers import METHODS, MODELS, SETS, SIGN_TESTS
from trueodds_studies.papers.trees.svm_example import example_claim
from trueodds_studies.stats import SignTest, sign_test

__all__ = ["figure_claims", "table_claims", "variant_claims"]

ENOUGH = 0.8
"""Smallest share of a table's cells that must be close."""
IDENTICAL = 0.005
"""Two RMSE are "almost identical" if they differ by less."""
PAPER_FOLDS, ENOUGH_FOLDS = 100, 10


def table_claims(found: dict[str, Compared]) -> list[Claim]:
    """The paper's claims about its tables, Table 6 first."""
    claims = [_sign_claim(found.get(model), model, rival) for rival in RIVALS for model in MODELS]
    claims += [_never_worse(found.get(model), model) for model in MODELS]
    if "naive-bayes" in found:
        claims.append(_superior(found["naive-bayes"]))
    claims += [_cells(one) for one in found.values()]
    return [*claims, *_average_claims(found), *_draws(found)]


def _not_run(text: str, where: str) -> Claim:
    return Claim(text, where, None, "not run in this profile", "protocol")


def _sign_claim(one: Compared | None, model: str, rival: str) -> Claim:
    wins, draws, losses, p = SIGN_TESTS[model, rival]
    level = 0.05 if p > 0.01 else 0.01
    text = (
        f"With {NAMES[model]} PCT has significantly more wins than losses against "
        f"{RIVAL_NAMES[rival]} (sign test, p < {level})."
    )
    if one is None:
        return _not_run(text, "Table 6")
    ours, printed = one.signs(rival), one.signs(rival, one.paper_marks)
    by_means = sign_test(one.rmse["PCT"], one.rmse[rival])
    verdict, reason, more = _judge_signs(one, ours, printed, level)
    return Claim(
        text,
        "Table 6",
        verdict,
        f"significant wins, draws, losses {wdl(ours)}, p = {ours.normal_p_value:.2g} (exact "
        f"{ours.p_value:.2g}); paper {wins}-{draws}-{losses}, on our {len(one.tested)} sets "
        f"{wdl(printed)}; by means alone {wdl(by_means)}, p = {by_means.normal_p_value:.2g}{more}",
        reason,
    )


def _judge_signs(
    one: Compared, ours: SignTest, printed: SignTest, level: float
) -> tuple[Verdict, Reason | None, str]:
    significant = ours.normal_p_value < level
    if significant and ours.wins > ours.losses:
        return "confirmed", None, ""
    if significant:
        return "not confirmed", "refuted", ""
    if printed.normal_p_value >= level:
        few = f"; on these sets not even the paper's own circles give p < {level}"
        return "not tested", "protocol", few
    needed = next(w for w in range(1, 50) if 2 * ndtr(-math.sqrt(w)) < level)
    power = f"; it would take {needed} wins without a loss"
    short = int((one.folds < PAPER_FOLDS).sum())
    if short:
        power += f", and {short} sets have fewer folds here than the paper's 100"
    return "inconclusive", "protocol" if short else "learner", power


def _lost(one: Compared, rivals: tuple[str, ...]) -> list[tuple[str, str]]:
    return [(rival, name) for rival in rivals for name in one.marks.index[one.marks[rival] < 0]]


def _cell(one: Compared, name: str, rival: str) -> str:
    ours, paper = one.rmse.loc[name], one.paper.loc[name]
    return (
        f"{name} (PCT {ours['PCT']:.3f}, {rival} {ours[rival]:.3f}; paper {paper['PCT']:.3f}, "
        f"{paper[rival]:.3f})"
    )


def _never_worse(one: Compared | None, model: str) -> Claim:
    rivals = ("PS",) if model == "naive-bayes" else RIVALS
    words = " or ".join(RIVAL_NAMES[rival] for rival in rivals)
    text = f"With {NAMES[model]} PCT is never significantly worse than {words}."
    if one is None:
        return _not_run(text, TABLE_OF[model])
    lost = _lost(one, rivals)
    shown = "; ".join(_cell(one, name, rival) for rival, name in lost)
    tested = int((one.folds >= ENOUGH_FOLDS).sum())
    if lost:
        return Claim(text, one.table, False, shown, _reason_of_losses(one, lost))
    enough = tested >= len(SETS) / 2
    return Claim(
        text,
        one.table,
        True if enough else "inconclusive",
        f"never on {len(one.tested)} sets with at least two folds, of which {tested} have at least "
        f"{ENOUGH_FOLDS} folds" + ("" if enough else f"; it would take {len(SETS) // 2}"),
        None if enough else "protocol",
    )


def _reason_of_losses(one: Compared, lost: list[tuple[str, str]]) -> Reason:
    """Refute only with the paper's variant of the other method, on the paper's data."""
    same = [(rival, name) for rival, name in lost if name not in SUBSTITUTES]
    if not same:
        return "data"
    if all(one.gaps.loc[name, rival] > CLOSE for rival, name in same):
        return "solver"
    return "refuted"


def _superior(one: Compared) -> Claim:
    """Judge three sets on which isotonic regression is better than PCT."""
    named = list(one.paper_marks.index[one.paper_marks["IR"] < 0])
    lower = [name for name in named if one.rmse.loc[name, "IR"] < one.rmse.loc[name, "PCT"]]
    here = [name for _, name in _lost(one, ("IR",))]
    verdict: Verdict | None = None
    if named:
        significant = set(named) <= set(here)
        verdict = "confirmed" if significant else "inconclusive" if lower else "not confirmed"
    off = [name for name in named if name not in here]
    reason: Reason = "data" if set(off) <= set(SUBSTITUTES) else "protocol"
    return Claim(
        "With naive Bayes isotonic regression is superior on three sets (led24, optdigits, yeast).",
        one.table,
        verdict,
        f"lower on {len(lower)} of {len(named)}: "
        + "; ".join(_cell(one, name, "IR") for name in named)
        + f"; significantly better here on: {', '.join(here) or 'none'}",
        None if verdict == "confirmed" else reason,
    )


def _cells(one: Compared) -> Claim:
    gaps = one.gaps
    close = gaps <= CLOSE
    own = close.loc[one.own_data].to_numpy()
    share = float(close.to_numpy().mean())
    by_method = ", ".join(f"{method} {int(close[method].sum())}" for method in METHODS)
    far = gaps.stack().sort_values(ascending=False)[:5]
    largest = ", ".join(f"{name} {method} {gap:.3f}" for (name, method), gap in far.items())
    return Claim(
        f"{one.table} cell by cell: within {CLOSE} on at least {ENOUGH:.0%} of the cells.",
        one.table,
        share >= ENOUGH,
        f"{int(close.to_numpy().sum())} of {close.size} cells of {len(close)} sets ({share:.0%}; "
        f"{by_method} of {len(close)} each), on the paper's own data {int(own.sum())} of "
        f"{own.size} ({own.mean():.0%}); largest gaps: {largest}. {_same_signs(one)}",
        None if share >= ENOUGH else "learner",
    )


def _same_signs(one: Compared) -> str:
    """Return how many of the paper's circles are found again."""
    same = again = total = 0
    for rival in RIVALS:
        for name, sign in one.paper_marks[rival].items():
            if sign:
                total += 1
                same += (one.rmse.loc[name, "PCT"] < one.rmse.loc[name, rival]) == (sign > 0)
                again += name in one.marks.index and one.marks.loc[name, rival] == sign
    return (
        f"Of {total} differences that the paper calls significant {same} have the same sign here "
        f"and {again} are significant"
    )


def _average_claims(found: dict[str, Compared]) -> list[Claim]:
    means = {model: one.rmse.mean() for model, one in found.items()}
    listed = "; ".join(
        f"{NAMES[model]} {' / '.join(f'{mean[m]:.4f}' for m in METHODS)} "
        f"({len(found[model].rmse)} sets)"
        for model, mean in means.items()
    )
    signs = []
    for one in found.values():
        for rival in RIVALS:
            gap = one.rmse[rival] - one.rmse["PCT"]
            signs.append(
                significant_sign(float(gap.mean()), float(gap.std() / len(gap) ** 0.5), len(gap))
            )
    lower = verdict_of_signs(signs)
    few = [
        NAMES[model]
        for model in MODELS
        if model not in found or len(found[model].rmse) < len(SETS) / 2
    ]
    verdict: Verdict = "inconclusive" if few or lower is None else "confirmed"
    if lower is False:
        verdict = "not confirmed"
    gain = {
        model: float((1 - one.rmse["PCT"] / one.rmse[list(RIVALS)].min(axis=1)).median())
        for model, one in found.items()
    }
    others = [gain[model] for model in gain if model != "naive-bayes"]
    most = gain["naive-bayes"] > max(others) if others and "naive-bayes" in gain else None
    shown = ", ".join(f"{NAMES[model]} {value:+.1%}" for model, value in gain.items())
    return [
        Claim(
            "PCT has a lower RMSE on average than both other methods, with every base learner.",
            "abstract, section 6",
            verdict,
            f"means over sets, PCT / PS / IR: {listed}; significantly lower in "
            f"{sum(sign > 0 for sign in signs)} of {len(signs)} comparisons (Student's t-test over "
            "sets)" + (f"; fewer than {len(SETS) // 2} sets: {', '.join(few)}" if few else ""),
            None if verdict == "confirmed" else "refuted" if lower is False else "protocol",
        ),
        Claim(
            "PCT gains most with naive Bayes.",
            "section 5.1.2",
            most,
            f"median reduction of RMSE against the better of PS and IR: {shown}",
            None if most else "protocol",
        ),
    ]


def _draws(found: dict[str, Compared]) -> list[Claim]:
    gaps: list[float] = []
    single: list[float] = []
    other: list[float] = []
    for one in found.values():
        for name, mark in one.marks["PS"].items():
            if mark:
                other.append(one.leaves[name])
                continue
            gaps.append(abs(float(one.rmse.loc[name, "PCT"] - one.rmse.loc[name, "PS"])))
            single.append(one.leaves[name])
    if not gaps:
        return []
    median, near = float(np.median(gaps)), float(np.mean(np.array(gaps) < IDENTICAL))
    share, elsewhere = float(np.mean(single)), float(np.mean(other)) if other else math.nan
    wins = "" if math.isnan(elsewhere) else f", {elsewhere:.0%} where the difference is significant"
    return [
        _judged_draw(
            "Draws with Platt scaling tend to have almost identical RMSE.",
            median < IDENTICAL,
            f"{len(gaps)} draws: median difference {median:.4f}, below {IDENTICAL} in {near:.0%} "
            f"of them; judged: a median below {IDENTICAL}",
        ),
        _judged_draw(
            "There the tree was likely pruned back to its root.",
            share > 0.5,
            f"{share:.0%} of the trees of draws have one leaf{wins}; judged: more than half",
        ),
    ]


def _judged_draw(text: str, holds: bool, evidence: str) -> Claim:
    return Claim(text, "section 5.1.2", holds, evidence, None if holds else "criterion")


# Log-odds and pruning ----------------------------------------------------------------------------


def variant_claims(results: Results) -> list[Claim]:
    """Judge two choices of the method, each against the tree without it, on naive Bayes."""
    texts = {
        "PCT-raw": (
            "The error falls if probabilities are first turned into log-odds.",
            "section 4.1, equation 4",
        ),
        "PCT-error": ("RMSE is a better criterion for pruning than the error rate.", "section 4.2"),
    }
    if "variants" not in set(results.frame["part"]):
        return [_not_run(*words) for words in texts.values()]
    return [_variant(results, method, *words) for method, words in texts.items()]


def _variant(results: Results, method: str, text: str, where: str) -> Claim:
    """PCT against a variant on the folds that both have; Student's t-test over sets."""
    lines = pick_rows(results.frame, part=["cv", "variants"], model="naive-bayes")
    wide = lines.pivot_table(
        index=["set", "repeat", "fold"], columns="method", values="rmse", sort=False
    )[["PCT", method]].dropna()
    means = wide.groupby("set", sort=False).mean()
    gap = means[method] - means["PCT"]
    error = float(gap.std() / len(gap) ** 0.5)
    return by_signs(
        Claim(
            text,
            where,
            None,
            f"RMSE without it less RMSE with it: {gap.mean():+.4f} ± {error:.4f} on {len(gap)} "
            f"sets (median {gap.median():+.4f}), higher on {int((gap > 0).sum())}; largest "
            + ", ".join(f"{name} {value:+.3f}" for name, value in gap.nlargest(2).items())
            + ", least "
            + ", ".join(f"{name} {value:+.3f}" for name, value in gap.nsmallest(2).items()),
        ),
        [significant_sign(float(gap.mean()), error, len(gap))],
    )


# Figures -----------------------------------------------------------------------------------------
# Verdicts of the calibration trees study on figures 2, 4 and 5.

LINES = ("base", *METHODS)


def figure_claims(results: Results) -> list[Claim]:
    """The paper's claims about its figures."""
    parts = set(results.frame["part"])
    claims = [example_claim(results)] if "rdg1" in parts else []
    claims += artificial_claims(results) if "artificial" in parts else []
    return claims + (_reliability_claims(results) if "reliability" in parts else [])


def _curves(results: Results) -> tuple[Any, Any]:
    """Sets × methods: distance from the diagonal by weight, and how often it is crossed."""
    lines = pick_rows(results.frame, part="reliability")
    gap = lines["observed"] - lines["predicted"]
    lines = lines.assign(gap=gap, size=gap.abs() * lines["weight"])
    groups = lines.groupby(["set", "method"], sort=False)
    distance = groups["size"].sum() / groups["weight"].sum()
    crossings = groups["gap"].agg(_sign_changes)
    return distance.unstack("method")[list(LINES)], crossings.unstack("method")[list(LINES)]


def _shapes(results: Results) -> Any:
    """Sets × methods: correlation of deviations from the diagonal with naive Bayes's, by rank."""
    lines = pick_rows(results.frame, part="reliability")
    lines = lines.assign(gap=lines["observed"] - lines["predicted"])
    grid = (np.arange(30) + 0.5) / 30

    def by_rank(rows: Any) -> Any:
        ranks = (rows["weight"].cumsum() - rows["weight"] / 2) / rows["weight"].sum()
        return np.interp(grid, ranks, rows["gap"])

    found: dict[str, dict[str, float]] = {}
    for name, rows in lines.groupby("set", sort=False):
        curves = {method: by_rank(part) for method, part in rows.groupby("method")}
        found[str(name)] = {
            method: _correlation(curves[method], curves["base"]) for method in METHODS
        }
    return need("pandas").DataFrame(found).T


def _correlation(first: Any, second: Any) -> float:
    """Return the correlation; 0 if one of them is constant."""
    if np.ptp(first) == 0 or np.ptp(second) == 0:
        return 0.0
    return float(np.corrcoef(first, second)[0, 1])


def _sign_changes(gaps: Any) -> int:
    signs = np.sign(gaps.to_numpy())
    return int((signs[1:] * signs[:-1] < 0).sum())


def _reliability_claims(results: Results) -> list[Claim]:
    distance, crossings = _curves(results)
    shown = "; ".join(
        f"{name} {' / '.join(f'{line[m]:.3f}' for m in LINES)}"
        for name, line in distance.iterrows()
    )
    words = f"mean distance from the diagonal, naive Bayes / PCT / PS / IR: {shown}"
    n = len(distance)
    poor = distance["base"] > distance["PCT"]
    closer = distance["PS"] < distance["base"]
    shape = _shapes(results)
    kept = (shape["PS"] > 0) & (shape["PS"] > shape["PCT"])
    jagged = crossings["IR"] >= crossings["PS"]
    means = distance.mean()
    return [
        _figure_5(
            "The probabilities of naive Bayes are poorly calibrated on all five sets.",
            bool(poor.all()),
            f"{words}; judged: further from the diagonal than PCT's on every set",
        ),
        _figure_5(
            "The curve of Platt scaling is typically closer to the diagonal than the original, "
            "but keeps some of its shape, which the curve of PCT does not.",
            bool(closer.sum() > n / 2 and kept.sum() > n / 2),
            f"closer than the original on {int(closer.sum())} of {n} sets; correlation of the "
            "deviations from the diagonal with the original's, bin by bin, PS / PCT: "
            + "; ".join(
                f"{name} {line['PS']:.2f} / {line['PCT']:.2f}" for name, line in shape.iterrows()
            )
            + "; judged: closer, and positively correlated and more so than PCT's, on most sets",
        ),
        _figure_5(
            "Isotonic regression crosses the diagonal many times.",
            bool(jagged.sum() > n / 2),
            "crossings, naive Bayes / PCT / PS / IR: "
            + "; ".join(
                f"{name} {' / '.join(str(int(line[m])) for m in LINES)}"
                for name, line in crossings.iterrows()
            )
            + "; judged: at least as many as Platt scaling's on most sets",
        ),
        _figure_5(
            "PCT generally follows the diagonal closely, in comparison with the others.",
            bool(means["PCT"] == means.min()),
            "mean distance over the sets: "
            + ", ".join(f"{m} {means[m]:.3f}" for m in LINES)
            + "; judged: the least. Smoothness is for the eye",
        ),
    ]


def _figure_5(text: str, holds: bool, evidence: str) -> Claim:
    return Claim(text, "section 5.2, figure 5", holds, evidence, None if holds else "criterion")
