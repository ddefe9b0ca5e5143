"""Tables, diagrams and verdicts of the beta study."""

from __future__ import annotations

from typing import Any

from trueodds.compare import average_ranks, friedman_test, nemenyi, wilcoxon_signed_rank
from trueodds_studies._diagrams import critical_difference_figure, significantly_better
from trueodds_studies._papers._beta_numbers import (
    COLUMNS,
    FRIEDMAN,
    PAPER_RANKS,
    SETS,
    sets_at_hand,
    table_2,
    table_2_ranks,
)
from trueodds_studies._report import Claim, Figure, ReportContent, Table, beside
from trueodds_studies._study import Results, pick_rows

__all__ = ["report"]

MODEL_NAMES = {"naive-bayes": "naive Bayes", "ada-o": "Ada-O", "ada-s": "Ada-S"}
LOSSES = {"log_loss": "log-loss", "brier_score": "Brier score"}
MAIN = list(COLUMNS)
PARAMETRIC = ["uncalibrated", "logistic", "beta", "beta-am", "beta-ab"]
VARIANTS = ["beta", "beta-am", "beta-ab"]
FIGURES = {
    "figure 4": ("log_loss", MAIN),
    "figure 5": ("brier_score", MAIN),
    "figure 6": ("log_loss", PARAMETRIC),
    "figure 7": ("brier_score", PARAMETRIC),
}
CLOSE = 0.03
OTHER_COPIES = {
    "letter": "`letter` has 20,000 rows (the paper's 35,000 hold 15,000 of them twice)",
    "shuttle": "`shuttle` has 58,000 rows (the paper's 101,500 hold 43,500 of them twice)",
}


def report(results: Results) -> ReportContent:
    """Judge the paper's claims on whatever sets were at hand."""
    tables = {
        (loss, model): results.table(loss, rows="set", columns="method", part="cv", model=model)
        for loss in LOSSES
        for model in MODEL_NAMES
    }
    ada_o, paper = tables["log_loss", "ada-o"], table_2()
    return ReportContent(
        summary=_summary(results, ada_o),
        claims=[
            *_against_logistic(tables),
            *_order(results, ada_o, paper),
            *_against_others(tables),
            *_variants(tables),
            *_base_models(results, tables),
        ],
        items=[
            "## Table 2: log-loss with Ada-O",
            _ranks_under_table_2(ada_o),
            beside("Table 2", ada_o[MAIN], paper, mean=True),
            _separable_folds(results, ada_o, paper),
            "## Figures 4 to 7",
            _friedman_table(tables),
            *_diagrams(tables),
            "## The other settings",
            *_other_tables(tables),
        ],
    )


def _summary(results: Results, table: Any) -> str:
    absent = [name for name in SETS if name not in table.index]
    missing = [name for name in absent if name not in sets_at_hand()]
    repeats = int(results.frame["repeat"].max()) + 1
    copies = [words for name, words in OTHER_COPIES.items() if name in table.index]
    text = (
        f"{len(table)} of the paper's 41 data sets, {repeats} × 5-fold cross-validation (the "
        "paper: 10 × 5), three inner folds, three base models (Gaussian naive Bayes, and 200 "
        "boosted stumps with the probabilities of the original AdaBoost, Ada-O, and of SAMME, "
        "Ada-S), six methods."
    )
    if missing:
        text += f" Missing, because no copy is at hand: {', '.join(f'`{m}`' for m in missing)}."
    if len(absent) > len(missing):
        text += f" {len(absent) - len(missing)} larger sets are left out of this profile."
    if copies:
        text += f" Other copies than the paper's: {'; '.join(copies)}."
    return text + (
        "\n\nThe authors' published program decides what the paper leaves open: outer folds are "
        "stratified by the original classes, the uncalibrated are averages of the three inner "
        "models too, scores stay 2.2e-16 and probabilities 1e-16 away from 0 and 1, and logistic "
        "calibration works on the raw scores. On separable calibration folds maximum likelihood "
        "has no optimum; labels smoothed by 1e-10 stand for the program's penalty of 1e-11. Ada-S "
        "has the probabilities of today's scikit-learn: 1/(1 + exp(−2F/Σα)); the paper's was "
        "the release of 2016, which may differ. Methods are compared by average ranks over the "
        "sets; p-values are Nemenyi's unless another test is named."
    )


def _against_logistic(tables: dict[tuple[str, str], Any]) -> list[Claim]:
    claims = []
    for loss, words in LOSSES.items():
        for model in ("naive-bayes", "ada-o"):
            table = tables[loss, model][MAIN]
            better, figures = significantly_better(table, "beta", "logistic")
            pair = wilcoxon_signed_rank(table["beta"], table["logistic"])
            claims.append(
                Claim(
                    f"Beta is significantly better than logistic on {MODEL_NAMES[model]} by "
                    f"{words}.",
                    "section 4, figures 4 and 5",
                    better,
                    f"{figures}; Wilcoxon p = {pair.p_value:.2g}",
                )
            )
    for loss, words in LOSSES.items():
        table = tables[loss, "ada-s"][MAIN]
        better, figures = significantly_better(table, "beta", "logistic")
        worse, _ = significantly_better(table, "logistic", "beta")
        claims.append(
            Claim(
                f"On Ada-S beta and logistic are comparable by {words}.",
                "section 4, figures 4 and 5",
                not better and not worse,
                figures,
            )
        )
    return claims


def _order(results: Results, ours: Any, paper: Any) -> list[Claim]:
    ranks = dict(zip(MAIN, average_ranks(ours[MAIN]).ranks, strict=True))
    by_paper = sorted(MAIN, key=PAPER_RANKS.__getitem__)
    common = [name for name in ours.index if name in paper.index]
    gaps = (ours.loc[common, MAIN] - paper.loc[common, MAIN]).abs()
    close = gaps <= CLOSE
    far = gaps.stack()[lambda gap: gap > CLOSE].sort_values(ascending=False)
    by_method = ", ".join(f"{method} {close[method].mean():.0%}" for method in MAIN)
    largest = ", ".join(f"{name} {method} {gap:.2f}" for (name, method), gap in far[:4].items())
    noise = _noise_of_splits(results).loc[common, MAIN].stack()
    chance = int((far <= 2 * noise.reindex(far.index)).sum())
    return [
        Claim(
            "The order of the ranks: " + ", ".join(by_paper) + ".",
            "Table 2",
            sorted(MAIN, key=ranks.__getitem__) == by_paper,
            ", ".join(f"{m} {ranks[m]:.2f} (paper {PAPER_RANKS[m]:.2f})" for m in by_paper)
            + f". The last two differ by {ranks[by_paper[3]] - ranks[by_paper[2]]:.3f}, in the "
            f"paper by {PAPER_RANKS[by_paper[3]] - PAPER_RANKS[by_paper[2]]:.2f}; the critical "
            f"difference is {nemenyi(ours[MAIN]).critical_difference:.2f}",
        ),
        Claim(
            f"Table 2 cell by cell: within {CLOSE} on at least 75 % of the cells.",
            "Table 2",
            bool(close.to_numpy().mean() >= 0.75),
            f"{int(close.to_numpy().sum())} of {close.size} cells "
            f"({close.to_numpy().mean():.0%}): {by_method}. Largest gaps: {largest or 'none'}. Of "
            f"the {len(far)} other cells {chance} are within what other splits would change (two "
            "standard errors, from our repeats), the rest are unexplained",
        ),
    ]


def _noise_of_splits(results: Results) -> Any:
    """Standard errors of the differences between our cells and the paper's, by random splits alone.

    Ours from the spread of our repeats; the paper's, of ten repeats, from the same spread.
    """
    lines = pick_rows(results.frame, part="cv", model="ada-o")
    means = lines.groupby(["set", "method", "repeat"])["log_loss"].mean()
    spread = means.groupby(["set", "method"]).std()
    n_repeats = lines["repeat"].nunique()
    return (spread * (1 / n_repeats + 1 / 10) ** 0.5).unstack("method")


def _against_others(tables: dict[tuple[str, str], Any]) -> list[Claim]:
    best, worst = [], []
    for model in ("naive-bayes", "ada-o"):
        for rival in ("uncalibrated", "isotonic", "logistic"):
            better, figures = significantly_better(tables["log_loss", model][MAIN], "beta", rival)
            best.append((better, f"{MODEL_NAMES[model]}, {rival}: {figures}"))
    for (loss, model), table in tables.items():
        for rival in ("uncalibrated", "isotonic", "logistic"):
            better, figures = significantly_better(table[MAIN], rival, "beta")
            if better:
                worst.append(f"{rival} on {MODEL_NAMES[model]} by {LOSSES[loss]}: {figures}")
    par = []
    for model in ("naive-bayes", "ada-o"):
        table = tables["brier_score", model][MAIN]
        either = [significantly_better(table, *pair) for pair in _both("beta", "isotonic")]
        par.append((not any(better for better, _ in either), f"{MODEL_NAMES[model]}: "
                    f"{either[0][1]}"))  # fmt: skip
    return [
        Claim(
            "By log-loss beta is significantly better than all other methods on naive Bayes and "
            "Ada-O.",
            "section 4, figure 4",
            all(better for better, _ in best),
            "; ".join(figures for _, figures in best),
        ),
        Claim(
            "No other method is ever significantly better than beta.",
            "section 4, figures 4 and 5",
            not worst,
            "; ".join(worst) or "none in the six settings",
        ),
        Claim(
            "By Brier score beta is on par with isotonic on naive Bayes and Ada-O.",
            "section 4, figure 5",
            all(same for same, _ in par),
            "; ".join(figures for _, figures in par),
        ),
    ]


def _both(a: str, b: str) -> tuple[tuple[str, str], tuple[str, str]]:
    return (a, b), (b, a)


def _variants(tables: dict[tuple[str, str], Any]) -> list[Claim]:
    beaten, listed = [], []
    for (loss, model), table in tables.items():
        ranks = nemenyi(table[PARAMETRIC]).ranks
        shown = {m: ranks.ranks[ranks.methods.index(m)] for m in VARIANTS}
        words = " / ".join(f"{shown[m]:.2f}" for m in VARIANTS)
        listed.append(f"{MODEL_NAMES[model]}, {LOSSES[loss]}: {words}")
        for rival in VARIANTS[1:]:
            better, figures = significantly_better(table[PARAMETRIC], rival, "beta")
            if better:
                beaten.append(f"{rival} on {MODEL_NAMES[model]} by {LOSSES[loss]}: {figures}")
    return [
        Claim(
            "Of the three variants the one with three parameters is the best or not significantly "
            "worse than the best, in all settings.",
            "section 4, figures 6 and 7",
            not beaten,
            "; ".join(beaten) or "never beaten; ranks of abm / am / ab: " + "; ".join(listed),
        )
    ]


def _base_models(results: Results, tables: dict[tuple[str, str], Any]) -> list[Claim]:
    raw = pick_rows(results.frame, part="cv", method="uncalibrated").groupby("model")
    excess = (raw["confidence"].mean() - raw["accuracy"].mean()).to_dict()
    claims = [
        Claim(
            "Ada-O, like naive Bayes, pushes probabilities to the extremes; Ada-S pulls them "
            "towards ½.",
            "section 4",
            excess["ada-o"] > 0 and excess["naive-bayes"] > 0 and excess["ada-s"] < 0,
            "mean of max(p, 1 − p) less accuracy: "
            + ", ".join(f"{MODEL_NAMES[model]} {excess[model]:+.3f}" for model in MODEL_NAMES),
        )
    ]
    worse = {
        MODEL_NAMES[model]: int((tables["log_loss", model]["logistic"]
                                 > tables["log_loss", model]["uncalibrated"]).sum())
        for model in MODEL_NAMES
    }  # fmt: skip
    n = len(tables["log_loss", "ada-o"])
    claims.append(
        Claim(
            "Logistic calibration can make probabilities worse than they were.",
            "section 2.4, figure 2",
            any(worse.values()),
            f"by log-loss, of {n} sets: "
            + ", ".join(f"{count} on {model}" for model, count in worse.items()),
        )
    )
    return claims


def _ranks_under_table_2(ours: Any) -> Table:
    rows = [
        ["ours", *average_ranks(ours[MAIN]).ranks],
        ["paper, as printed", *(PAPER_RANKS[m] for m in MAIN)],
        [f"paper, on our {len(ours)} sets", *table_2_ranks().loc[ours.index, MAIN].mean()],
    ]
    return Table("Average ranks", ["", *MAIN], [[r[0], *map(float, r[1:])] for r in rows], digits=2)


def _separable_folds(results: Results, ours: Any, paper: Any) -> Table:
    """What the choice made for separable folds does to Table 2."""
    platt = results.table("log_loss", rows="set", columns="method", part="separable")
    other = ours[MAIN].assign(beta=platt["beta-platt"], logistic=platt["logistic-platt"])
    rows: list[list[Any]] = []
    for words, table in (("labels smoothed by 1e-10", ours[MAIN]), ("Platt's targets", other)):
        ranks = map(float, average_ranks(table).ranks)
        close = ((table - paper.loc[table.index, MAIN]).abs() <= CLOSE).mean()
        better, figures = significantly_better(table, "beta", "logistic")
        share = f"{close['beta']:.0%} of beta, {close['logistic']:.0%} of logistic"
        rows.append([words, *ranks, share, "yes" if better else "no", figures])
    heads = ["on separable folds", *(f"rank of {m}" for m in MAIN), f"cells within {CLOSE}"]
    return Table(
        "What separable folds do",
        [*heads, "beta better than logistic", "figures"],
        rows,
        digits=2,
        note=(
            "Where a calibration fold is separable, maximum likelihood has no optimum. The "
            "authors' program then gives nearly 0 and 1, which the smoothing by 1e-10 imitates; "
            "the library by itself uses Platt's targets, which are safer and differ on the easiest "
            "sets. Ada-O, log-loss."
        ),
    )


def _friedman_table(tables: dict[tuple[str, str], Any]) -> Table:
    rows = []
    for (figure, loss, model), printed in FRIEDMAN.items():
        table = tables[loss, model][FIGURES[figure][1]]
        test = friedman_test(table)
        ranks = sorted(zip(test.ranks.ranks, test.ranks.methods, strict=True))
        shown = ", ".join(f"{name} {rank:.2f}" for rank, name in ranks)
        p = f"{test.chi_square_p_value:.1e}"
        rows.append([figure, MODEL_NAMES[model], LOSSES[loss], p, f"{printed:.1e}", shown])
    heads = ["figure", "model", "loss", "Friedman p", "p (paper)", "average ranks"]
    return Table("Friedman tests", heads, rows)


def _diagrams(tables: dict[tuple[str, str], Any]) -> list[Figure]:
    figures = []
    for name, (loss, methods) in FIGURES.items():
        panels = {MODEL_NAMES[model]: tables[loss, model][methods] for model in MODEL_NAMES}
        title = f"{name.capitalize()} again: {LOSSES[loss]}, critical differences"
        figures.append(critical_difference_figure(name.replace(" ", "-"), title, panels))
    return figures


def _other_tables(tables: dict[tuple[str, str], Any]) -> list[Table]:
    found = []
    for (loss, model), table in tables.items():
        rows = [
            [name, *map(float, line)]
            for name, line in zip(table.index, table.to_numpy(), strict=True)
        ]
        rows.append(["average rank", *map(float, average_ranks(table).ranks)])
        title = f"{LOSSES[loss].capitalize()} with {MODEL_NAMES[model]}"
        found.append(Table(title, ["data set", *table.columns], rows))
    return found
