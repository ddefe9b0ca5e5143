"""The report of the beta study: tables, diagrams, and the two readings of the paper."""

from __future__ import annotations

from typing import Any

from scipy.stats import t as student

from trueodds_studies._diagrams import critical_difference_figure, is_greater_better
from trueodds_studies._report import Claim, Figure, ReportContent, Table, beside
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.beta import figures
from trueodds_studies.papers.beta.claims import (
    CLOSE,
    LOSSES,
    SMALL,
    judged,
    more_claims,
    rank_claims,
    small_sets,
    table_2_claims,
)
from trueodds_studies.papers.beta.numbers import (
    AUTHORS_RANKS,
    COLUMNS,
    FRIEDMAN,
    PAPER_RANKS,
    PARAMETRIC,
    SETS,
    authors_table,
    sets_at_hand,
    table_2,
    table_2_ranks,
)
from trueodds_studies.papers.beta.ranks import MODEL_NAMES, Tables, duel, paired
from trueodds_studies.papers.beta.running_time import time_table
from trueodds_studies.stats import average_ranks, friedman_test

__all__ = ["all_claims", "readings", "report"]

MAIN = list(COLUMNS)
MEASURES = {**LOSSES, "accuracy": "accuracy"}
FIGURES = {
    "figure 4": ("log_loss", MAIN),
    "figure 5": ("brier_score", MAIN),
    "figure 6": ("log_loss", list(PARAMETRIC)),
    "figure 7": ("brier_score", list(PARAMETRIC)),
}
WITHIN = {"log_loss": 0.03, "brier_score": 0.01, "accuracy": 0.01}
OTHER_COPIES = {
    "letter": "`letter` has 20,000 rows (the paper's 35,000 hold 15,000 of them twice)",
    "shuttle": "`shuttle` has 58,000 rows (the paper's 101,500 hold 43,500 of them twice)",
}
SAME = 1e-9


def report(results: Results) -> ReportContent:
    """Judge the paper's claims on the available sets."""
    text, program = readings(results)
    ada_o = text["log_loss", "ada-o"]
    return ReportContent(
        summary=_summary(results, ada_o),
        claims=all_claims(results),
        items=[
            "## Figures 1 to 3",
            figures.logistic_curves(),
            *figures.maps_of_two_sets(results),
            figures.beta_curves(),
            figures.score_densities(),
            "## Table 2: log-loss with Ada-O",
            _ranks_under_table_2(text, program),
            beside("Table 2", ada_o[MAIN], table_2(), mean=True),
            _separable_folds(results, ada_o),
            "## Text and program",
            _two_readings(text, program),
            _cells_by_reading(text, program),
            "## Figures 4 to 7",
            _friedman_table(text, program),
            *_diagrams(text, ""),
            *_diagrams(program, "by-program"),
            "## Accuracy",
            _accuracy_table(text, program),
            "## Small samples",
            _small_table(text),
            *figures.few_rows(results),
            "## Running time",
            time_table(results),
            "## The Brier score as what is minimized",
            *_future_work(results),
            "## The other settings",
            *_other_tables(text),
        ],
    )


def all_claims(results: Results) -> list[Claim]:
    """Every claim of the paper with its verdict."""
    text, program = readings(results)
    noise = _noise_of_splits(results)
    by_text, by_program = (
        [*table_2_claims(tables["log_loss", "ada-o"], noise), *rank_claims(tables)]
        for tables in (text, program)
    )
    return [*judged(by_text, by_program), *more_claims(results, text)]


def readings(results: Results) -> tuple[Tables, Tables]:
    """Tables as the text describes the experiment, and as the authors' program ran it."""
    text, program = {}, {}
    for measure in MEASURES:
        for model in MODEL_NAMES:
            text[measure, model] = results.table(
                measure, rows="set", columns="method", part="cv", model=model
            )
            ran = "ada-s-r" if model == "ada-s" else model
            shared = results.table(measure, rows="set", columns="method", part="cv", model=ran)
            theirs = results.table(measure, rows="set", columns="method", part="program", model=ran)
            program[measure, model] = shared.assign(**{name: theirs[name] for name in theirs})
    return text, program


def _summary(results: Results, table: Any) -> str:
    absent = [name for name in SETS if name not in table.index]
    missing = [name for name in absent if name not in sets_at_hand()]
    repeats = int(pick_rows(results.frame, part="cv")["repeat"].max()) + 1
    copies = [words for name, words in OTHER_COPIES.items() if name in table.index]
    text = (
        f"{len(table)} of the paper's 41 data sets, {repeats} × 5-fold cross-validation (the "
        "paper: 10 × 5), three inner folds, three base models, six methods. The base models "
        "are Gaussian naive Bayes and 200 boosted stumps with the probabilities of the "
        "original AdaBoost (Ada-O) and of scikit-learn's (Ada-S)."
    )
    if missing:
        text += f" Missing, because no copy is available: {', '.join(f'`{m}`' for m in missing)}."
    if len(absent) > len(missing):
        text += f" {len(absent) - len(missing)} larger sets are left out of this profile."
    if copies:
        text += f" Copies that differ from the paper's: {'; '.join(copies)}."
    return text + (
        "\n\nDetails that the paper leaves open follow the authors' published program. "
        "Features are standardized, and outer folds are stratified by the original classes. "
        "Uncalibrated scores are averages of the three inner models too. Log-loss clips "
        "probabilities at 1e-16, logistic calibration uses the raw scores, and beta "
        "calibration clips scores at 2.2e-16. On separable calibration folds maximum "
        "likelihood has no optimum; labels smoothed by 1e-10 replace the program's penalty of "
        "1e-11."
        "\n\n**Two readings.** The paper's text and the program that made its figures differ "
        "in two things, and both are run. *Ada-S*: the text describes SAMME; the program ran "
        "scikit-learn's default of 2016, SAMME.R. *Solver*: the text describes maximum "
        "likelihood; the program used liblinear with a tolerance of 1e-4, which may stop "
        "early. A claim is judged by the text (SAMME, full maximum likelihood). If that does "
        "not confirm it, it is judged by the program, whose figures are shown too. *Confirmed "
        "with the authors' measure* then means with their learner or solver; the reason names "
        "which. The "
        "authors' own numbers for all tables and diagrams are those of their repository "
        "(`github.com/REFRAME/betacal`), whose Friedman tests have the p-values of the captions."
        "\n\nMethods are compared as in the paper: average ranks over the sets, Friedman's test, "
        "then Nemenyi's, whose p-values are shown unless another test is named. "
        "*Inconclusive*: the claim is about a difference, and the ranks differ by less than "
        "the critical difference; the number of sets that would show it in 80% of studies is "
        "given. Reasons: "
        "*data*, too few sets; *learner* and *solver*, see above; *criterion*, our rule for "
        "verbal claims; *refuted*, the opposite is significant."
    )


def _noise_of_splits(results: Results) -> Any:
    """Standard errors of the differences between our cells and the paper's, by random splits alone.

    Both come from the spread of our repeats; the paper has ten.
    """
    lines = pick_rows(results.frame, part="cv", model="ada-o")
    means = lines.groupby(["set", "method", "repeat"])["log_loss"].mean()
    spread = means.groupby(["set", "method"]).std()
    n_repeats = lines["repeat"].nunique()
    return (spread * (1 / n_repeats + 1 / 10) ** 0.5).unstack("method")


def _ranks_under_table_2(text: Tables, program: Tables) -> Table:
    ours, ran = (tables["log_loss", "ada-o"][MAIN] for tables in (text, program))
    rows = [
        ["ours, maximum likelihood", *average_ranks(ours).ranks],
        ["ours, the authors' solver", *average_ranks(ran).ranks],
        ["paper, as printed", *(PAPER_RANKS[m] for m in MAIN)],
        [f"paper, on our {len(ours)} sets", *table_2_ranks().loc[ours.index, MAIN].mean()],
    ]
    return Table("Average ranks", ["", *MAIN], [[r[0], *map(float, r[1:])] for r in rows], digits=2)


def _separable_folds(results: Results, ours: Any) -> Table:
    """Show how Table 2 depends on the treatment of separable folds."""
    platt = results.table("log_loss", rows="set", columns="method", part="separable")
    other = ours[MAIN].assign(beta=platt["beta-platt"], logistic=platt["logistic-platt"])
    paper = table_2()
    rows: list[list[Any]] = []
    for words, table in (("labels smoothed by 1e-10", ours[MAIN]), ("Platt's targets", other)):
        ranks = map(float, average_ranks(table).ranks)
        close = ((table - paper.loc[table.index, MAIN]).abs() <= CLOSE).mean()
        found = duel(table, "log_loss", "beta", "logistic")
        share = f"{close['beta']:.0%} of beta, {close['logistic']:.0%} of logistic"
        rows.append([words, *ranks, share, "yes" if found.sign > 0 else "no", found.figures])
    heads = ["on separable folds", *(f"rank of {m}" for m in MAIN), f"cells within {CLOSE}"]
    return Table(
        "What separable folds do",
        [*heads, "beta better than logistic", "figures"],
        rows,
        digits=2,
        note=(
            "Where a calibration fold is separable, maximum likelihood has no optimum. The "
            "authors' program then gives nearly 0 and 1, which the smoothing by 1e-10 "
            "imitates. By default the library uses Platt's targets, which are safer and differ "
            "on the easiest sets. Ada-O, log-loss."
        ),
    )


def _two_readings(text: Tables, program: Tables) -> str:
    moved, means = {}, []
    for model in ("naive-bayes", "ada-o"):  # the same learner in both readings
        gap = program["log_loss", model] - text["log_loss", model]
        means.append(float(gap.mean().abs().max()))
        for (name, method), value in gap.abs().stack().items():
            moved[f"{method} on {MODEL_NAMES[model]}, `{name}`"] = float(value)
    largest = max(moved, key=moved.__getitem__)
    tic_tac = ""
    if "tic-tac" in text["log_loss", "ada-s"].index:
        cells = [tables["log_loss", "ada-s"].loc["tic-tac", "beta"] for tables in (program, text)]
        theirs = authors_table("log_loss", "ada-s").loc["tic-tac", "beta"]
        tic_tac = (
            f"On `tic-tac`, for example, beta ends at a log-loss of {theirs:.2f} in their files, "
            f"{cells[0]:.2f} with SAMME.R and {cells[1]:.2f} with SAMME. "
        )
    return (
        "The learner explains the authors' numbers: SAMME.R instead of SAMME reproduces their "
        "Ada-S. The table counts cells (sets × six methods) within 0.03 of the authors' by "
        "log-loss, and within 0.01 by Brier score and by accuracy. "
        f"{tic_tac}The solver matters little: it moves the mean log-loss over the sets by at "
        f"most {max(means):.4f} and a single cell by up to {moved[largest]:.3f} ({largest}). The "
        "largest changes come from calibration folds that are separable or nearly so."
    )


def _cells_by_reading(text: Tables, program: Tables) -> Table:
    rows: list[list[Any]] = []
    for model, name in MODEL_NAMES.items():
        for measure, words in MEASURES.items():
            line: list[Any] = [name, words]
            for tables in (text, program):
                ours = tables[measure, model]
                theirs = authors_table(measure, model).loc[ours.index, list(ours.columns)]
                gap = (ours - theirs).abs()
                close = float((gap <= WITHIN[measure]).to_numpy().mean())
                line += [f"{close:.0%}", float(gap.to_numpy().mean())]
            rows.append(line)
    heads = ["model", "measure", "text: close", "mean gap", "program: close", "mean gap"]
    own = text["log_loss", "naive-bayes"]["isotonic"]
    ours = float(own.mean())
    theirs = float(authors_table("log_loss", "naive-bayes").loc[own.index, "isotonic"].mean())
    note = (
        "Isotonic's log-loss is the least repeatable, because each wrong 0 costs 36.8. With naive "
        f"Bayes its mean is {ours:.3f} here and {theirs:.3f} in the authors' files, which we "
        "cannot explain: with their ranks beta is further ahead of it."
    )
    return Table("Cells close to the authors'", heads, rows, digits=4, note=note)


def _friedman_table(text: Tables, program: Tables) -> Table:
    rows = []
    for (figure, loss, model), printed in FRIEDMAN.items():
        methods = FIGURES[figure][1]
        line = [figure, MODEL_NAMES[model], LOSSES[loss]]
        for tables in (text, program):
            test = friedman_test(tables[loss, model][methods])
            line += [f"{test.chi_square_p_value:.1e}", _ranked(methods, test.ranks.ranks)]
        theirs = AUTHORS_RANKS[loss, model][0 if methods == MAIN else 1]
        rows.append([*line, f"{printed:.1e}", _ranked(methods, theirs)])
    heads = ["figure", "model", "loss", "text: p", "ranks", "program: p", "ranks", "paper: p"]
    return Table("Friedman tests and average ranks", [*heads, "authors' ranks"], rows)


def _ranked(methods: Any, ranks: Any) -> str:
    ordered = sorted(zip(map(float, ranks), methods, strict=True))
    return ", ".join(f"{name} {rank:.2f}" for rank, name in ordered)


def _diagrams(tables: Tables, suffix: str) -> list[Figure]:
    found = []
    for name, (loss, methods) in FIGURES.items():
        panels = {MODEL_NAMES[model]: tables[loss, model][methods] for model in MODEL_NAMES}
        reading = " with the authors' learner and solver" if suffix else ""
        title = f"{name.capitalize()} again{reading}: {LOSSES[loss]}, critical differences"
        file = "-".join([name.replace(" ", "-"), *([suffix] if suffix else [])])
        found.append(critical_difference_figure(file, title, panels))
    return found


def _accuracy_table(text: Tables, program: Tables) -> Table:
    rows: list[list[Any]] = []
    for model, name in MODEL_NAMES.items():
        sources = {"text": text["accuracy", model], "program": program["accuracy", model]}
        theirs = authors_table("accuracy", model).loc[sources["text"].index]
        for source, table in {**sources, "authors": theirs}.items():
            test = friedman_test(table[MAIN], greater_is_better=is_greater_better("accuracy"))
            means = [float(table[m].mean()) for m in MAIN]
            ranks = _ranked(MAIN, test.ranks.ranks)
            rows.append([name, source, *means, f"{test.chi_square_p_value:.2g}", ranks])
    return Table(
        "Accuracy",
        ["model", "numbers", *MAIN, "Friedman p", "average ranks"],
        rows,
        digits=4,
        note=(
            "The supplement evaluates accuracy; the paper's text claims nothing of it. Means over "
            "the sets; the authors' are those of the same sets in their repository, to four digits."
        ),
    )


def _small_table(text: Tables) -> Table:
    rows: list[list[Any]] = []
    for measure, words in MEASURES.items():
        for model, name in MODEL_NAMES.items():
            few = small_sets(text[measure, model])
            sign = -1 if measure == "accuracy" else 1
            rest = text[measure, model].drop(index=few.index)
            line: list[Any] = [words, name]
            for part in (few, rest):
                if len(part) < 2:
                    line += ["", None, ""]
                    continue
                mean, ahead, p = paired(sign * part["beta"], sign * part["isotonic"])
                line += [f"{ahead} of {len(part)}", mean, f"{p:.2g}"]
            rows.append(line)
    heads = ["measure", "model", f"better, ≤ {SMALL:,} rows", "by", "p", "better, larger"]
    note = "Beta against isotonic: sets on which it is better, mean difference, Wilcoxon's test."
    return Table("Beta against isotonic by size", [*heads, "by", "p"], rows, digits=4, note=note)


def _ranked_with_brier(results: Results) -> tuple[Table, str]:
    """Figure 5 with beta fitted by Brier score among the methods."""
    repeats = list(pick_rows(results.frame, part="brier")["repeat"].unique())
    rows: list[list[Any]] = []
    words = []
    for model in ("naive-bayes", "ada-o", "ada-s-r"):
        name = MODEL_NAMES.get(model, "Ada-S (SAMME.R)")
        own = results.table(
            "brier_score", rows="set", columns="method", part="cv", model=model, repeat=repeats
        )
        brier = results.table(
            "brier_score", rows="set", columns="method", part="brier", model=model
        )
        table = own[MAIN].assign(**{"beta-brier": brier["beta-brier"]}).dropna()
        ranks = average_ranks(table)
        by_name = dict(zip(ranks.methods, map(float, ranks.ranks), strict=True))
        found = duel(table, "brier_score", "beta-brier", "isotonic")
        gap = 1000 * (table["isotonic"] - table["beta-brier"])
        reach = float(student.isf(0.025, len(gap) - 1) * gap.std() / len(gap) ** 0.5)
        interval = f"{gap.mean():+.2f} [{gap.mean() - reach:+.2f}, {gap.mean() + reach:+.2f}]"
        before = duel(own[MAIN], "brier_score", "beta", "isotonic")
        rows.append(
            [name, *(by_name[m] for m in (*MAIN, "beta-brier")), f"{found.p:.2g}", interval]
        )
        words.append(
            f"{name} {before.first - before.second:+.2f}, {found.first - found.second:+.2f}"
        )
    heads = ["model", *MAIN, "beta-brier", "p of beta-brier and isotonic"]
    table = Table(
        "Figure 5 with beta fitted by Brier score",
        [*heads, "1000 × Brier score, isotonic less beta-brier"],
        rows,
        digits=2,
        note=f"Average ranks by Brier score of five methods, {len(repeats)} × 5 folds, Nemenyi's "
        "p, and the mean difference over the sets with its 95% interval (Student).",
    )
    return table, "; ".join(words)


def _future_work(results: Results) -> list[Table | str]:
    """Compare beta fitted by Brier score and by maximum likelihood, on the same folds."""
    repeats = list(pick_rows(results.frame, part="brier")["repeat"].unique())
    rows: list[list[Any]] = []
    words = []
    for model in ("naive-bayes", "ada-o", "ada-s-r"):
        name = MODEL_NAMES.get(model, "Ada-S (SAMME.R)")
        for measure, label in MEASURES.items():
            sign = -1 if measure == "accuracy" else 1
            beta, brier = (
                results.table(
                    measure, rows="set", columns="method", part=part, model=model, repeat=repeats
                )[method]
                for part, method in (("cv", "beta"), ("brier", "beta-brier"))
            )
            difference = sign * (beta - brier)
            ahead = int((difference > SAME).sum())
            behind = int((difference < -SAME).sum())
            p = paired(sign * brier, sign * beta)[2]
            gain = float(difference.mean())
            means = [float(beta.mean()), float(brier.mean())]
            rows.append([name, label, *means, ahead, behind, f"{p:.2g}"])
            if measure == "brier_score":
                side = "lowers" if gain > 0 else "raises"
                weight = "significantly" if p <= 0.05 else "not significantly"
                words.append(f"on {name} it {side} the mean by {abs(gain):.5f}, {weight}")
    table = Table(
        "Beta by maximum likelihood and by Brier score",
        [
            "model",
            "measure",
            "by log-loss",
            "by Brier",
            "better on",
            "worse on",
            "Wilcoxon p",
        ],
        rows,
        digits=5,
        note=(
            f'Means over the sets, {len(repeats)} × 5 folds; `BetaCalibrator(loss="brier")`, all '
            "else as in Table 2."
        ),
    )
    intro = (
        "The paper proposes as future work to minimize the Brier score instead of log-loss. It "
        "is shown here in addition to the paper's methods, in none of their rankings. By the "
        "Brier score "
        f"itself, {'; '.join(words)}."
    )
    ranked, leads = _ranked_with_brier(results)
    question = (
        "Does the loss explain isotonic's lead by Brier score? The table ranks beta fitted by "
        "Brier score among the methods of figure 5. Isotonic's lead in rank over beta, and over "
        f"beta fitted by Brier score: {leads}."
    )
    return [intro, table, question, ranked]


def _other_tables(tables: Tables) -> list[Table]:
    found = []
    for (measure, model), table in tables.items():
        rows = [
            [name, *map(float, line)]
            for name, line in zip(table.index, table.to_numpy(), strict=True)
        ]
        ranks = average_ranks(table, greater_is_better=is_greater_better(measure)).ranks
        rows.append(["average rank", *map(float, ranks)])
        title = f"{MEASURES[measure].capitalize()} with {MODEL_NAMES[model]}"
        found.append(Table(title, ["data set", *table.columns], rows))
    return found
