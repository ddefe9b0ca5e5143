"""Verdicts of the beta study on what is not a rank: base models, maps, small samples, time."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.stats import norm

from trueodds_studies._papers._beta_claims import LOSSES
from trueodds_studies._papers._beta_extras import COPIES, FIGURE_2, SIZES
from trueodds_studies._papers._beta_numbers import SETS
from trueodds_studies._papers._beta_ranks import MODEL_NAMES, Tables, paired
from trueodds_studies._papers._beta_time import time_claims
from trueodds_studies._report import Claim, Verdict
from trueodds_studies._study import Results, pick_rows

__all__ = ["SMALL", "more_claims", "size_gaps", "small_sets"]

SMALL = 1000
"""Sets of at most so many rows are the smaller ones: about two thirds of the 41."""
ALMOST = 0.05
"""How far on average a map may be from the identity to be almost it."""
HEAVY = 1.0
"""Skewness from which on a distribution is called highly skewed by the usual rule."""


def more_claims(results: Results, tables: Tables) -> list[Claim]:
    """All of them, in the order of the paper."""
    return [
        *_base_models(results, tables),
        *_figure_2(results, tables),
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
    skewed = {
        model: min(median.loc[model, "skew_negatives"], -median.loc[model, "skew_positives"])
        for model in ("naive-bayes", "ada-o")
    }
    worse = {
        name: int((tables["log_loss", m]["logistic"] > tables["log_loss", m]["uncalibrated"]).sum())
        for m, name in MODEL_NAMES.items()
    }
    names = {**MODEL_NAMES, "ada-s": "Ada-S (SAMME)", "ada-s-r": "Ada-S (SAMME.R)"}
    return [
        Claim(
            "Ada-O, like naive Bayes, pushes probabilities to the extremes; Ada-S pulls them "
            "towards ½.",
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
            min(skewed.values()) > HEAVY,
            "median skewness over the sets of negatives' and positives' scores: "
            + ", ".join(
                f"{names[model]} {median.loc[model, 'skew_negatives']:+.2f} and "
                f"{median.loc[model, 'skew_positives']:+.2f}"
                for model in median.index
            )
            + f" (judged: naive Bayes and Ada-O beyond ±{HEAVY:.0f})",
            None if min(skewed.values()) > HEAVY else "criterion",
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
    """The figure shows one split; here is each fold's map."""
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
            f"log-loss beyond the truth's: {means}; beta is nearer in {ahead} of {len(same)} "
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
    """Those lines of a table whose sets are the smaller ones."""
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
    """How many such sets would show a difference like this one in 80 % of studies."""
    if p <= 0.05 or median <= 0 or p >= 0.99:
        return ""
    needed = n_sets * ((1.96 + 0.8416) / float(norm.isf(p / 2))) ** 2
    return f" ({needed:,.0f} such sets would show it in 80 % of studies)"


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
