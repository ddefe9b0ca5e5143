"""Tables and pictures of the calibration trees study."""

from __future__ import annotations

from trueodds_studies._optional import need
from trueodds_studies._report import Figure, ReportContent, Table
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.trees.artificial import artificial_items
from trueodds_studies.papers.trees.claims import figure_claims, table_claims, variant_claims
from trueodds_studies.papers.trees.compared import (
    ALPHA,
    CLOSE,
    NAMES,
    RIVALS,
    SUBSTITUTES,
    Compared,
    wdl,
)
from trueodds_studies.papers.trees.numbers import (
    METHODS,
    MODELS,
    SETS,
    SIGN_TESTS,
    sets_at_hand,
)
from trueodds_studies.papers.trees.svm_example import example_items

__all__ = ["FIGURE_5", "report"]

FIGURE_5 = ("credit-rating", "kr-vs-kp", "nursery-two", "sick", "vote")


def report(results: Results) -> ReportContent:
    """Judge the paper's claims on the available sets."""
    present = set(results.frame["model"].dropna())
    found = {model: Compared(results, model) for model in MODELS if model in present}
    parts = set(results.frame["part"])
    items: list[Table | Figure | str] = [
        "## Tables 2 to 5",
        _cells_figure(found),
        *(_rmse_table(one) for one in found.values()),
        "## Table 6",
        _sign_table(found),
    ]
    if "rdg1" in parts:
        items += ["## Figures 2 and 3", *example_items(results)]
    if "reliability" in parts:
        items += ["## Figure 5", *_figure_5(results)]
    if "artificial" in parts:
        items += ["## The artificial example (section 4.3)", *artificial_items(results)]
    return ReportContent(
        summary=_summary(found),
        claims=[*table_claims(found), *variant_claims(results), *figure_claims(results)],
        items=items,
    )


def _summary(found: dict[str, Compared]) -> str:
    runs = "\n".join(f"- {NAMES[m]}: {one.protocol()}." for m, one in found.items())
    used = {name for one in found.values() for name in one.rmse.index}
    absent = [name for name in SETS if name not in sets_at_hand()]
    others = [words for name, words in SUBSTITUTES.items() if name in used]
    text = (
        f"{len(used)} of the paper's 32 data sets with all their rows. Five inner folds give the "
        "scores to calibrate, and a model of the whole training part the scores of the test rows. "
        "The paper has 10 × 10-fold cross-validation everywhere; here the running time limits the "
        f"folds:\n\n{runs}\n\n"
    )
    if absent:
        text += f"No copy is available of {', '.join(f'`{name}`' for name in absent)}. "
    if others:
        text += "These data differ from the paper's:\n\n"
        text += "\n".join(f"- {words}." for words in others)
    return text + (
        "\n\n**Base learners** follow Weka's programs. Naive Bayes multiplies probabilities as "
        "Weka does, so that unlikely classes get exactly 0. For each class, LogitBoost grows "
        "100 stumps, or 100 unpruned REPTrees of depth 3, with responses within ±3. Stumps "
        "have a third branch for missing values. REPTrees have a branch for every nominal "
        "value and split rows without a value. SVMs are LIBSVM's through scikit-learn, on "
        "features scaled to [0, 1], with the paper's grid; the paper does not name the "
        "program. All features are used, because the paper counts them. These include features "
        "that identify a row (`cylinder-bands`) or the class (`mice-protein`). This was "
        "decided after looking at the cells of `cylinder-bands` in Table 4, where REPTrees "
        "split on such a number."
        "\n\n**Calibration.** PCT is `TreeCalibrator` with the folds of the authors' program; "
        "PS is `LogisticCalibrator` with Platt's targets, IR `IsotonicCalibrator`. PCT and PS "
        "use the same log-odds. As in the authors' program, probabilities of exactly 0 and 1 "
        "count as 0.00001 and 0.99999 and no others change, so 0 ranks above 1e-100. With two "
        "classes PS uses the log-odds of the first; the other column is not its mirror image "
        "(`spambase`: 0.34 and 0.42, paper 0.337; chosen after looking at this cell). With "
        "several classes PS and IR are one-vs-rest, each with its own column. The paper does "
        "not describe Platt scaling for several classes; its PS with naive Bayes is often "
        "worse than ours."
        f"\n\n**Significance**: corrected resampled t-test over the folds, p < {ALPHA}, as in "
        "the paper; with fewer folds it has less power. Sign tests are two-sided, by the "
        "normal approximation without draws, which gives the paper's p-values; exact ones are "
        "shown too. Reasons: *protocol*, fewer sets or folds; *data*, other data; *learner*, "
        "unknown details of the base learner; *solver*, another fit in the paper's program; "
        "*criterion*, our rule for verbal claims; *refuted*, the opposite is significant."
    )


def _cells_figure(found: dict[str, Compared]) -> Figure:
    """Every cell of the tables: ours against the paper's."""
    pyplot = need("matplotlib.pyplot")
    colors = dict(zip(METHODS, ("#d55e00", "#0072b2", "#009e73"), strict=True))
    figure, axes = pyplot.subplots(
        1, len(found), figsize=(2.9 * len(found) + 0.4, 3.7), sharey=True, layout="constrained",
        squeeze=False,
    )  # fmt: skip
    for ax, one in zip(axes[0], found.values(), strict=True):
        ax.fill_between([0, 0.52], [-CLOSE, 0.52 - CLOSE], [CLOSE, 0.52 + CLOSE], color="0.9", lw=0)
        for method, color in colors.items():
            ax.plot(
                one.paper[method], one.rmse[method], "o", color=color, ms=3.5, alpha=0.8,
                label=method,
            )  # fmt: skip
        ax.set(xlim=(0, 0.52), ylim=(0, 0.52), aspect="equal", xlabel="paper")
        ax.set_title(f"{one.table}: {NAMES[one.model]}", fontsize=9)
    axes[0][0].set_ylabel("here")
    axes[0][0].legend(fontsize=8, frameon=False)
    title = f"RMSE in every cell of Tables 2 to 5; gray: within {CLOSE} of the paper"
    return Figure.of("cells", title, figure)


def _rmse_table(one: Compared) -> Table:
    circle = {1: " •", -1: " ◦", 0: ""}
    rows: list[list[str | float]] = []
    for name in one.rmse.index:
        row: list[str | float] = [name]
        for method in METHODS:
            for frame, marks in ((one.rmse, one.marks), (one.paper, one.paper_marks)):
                known = method in RIVALS and name in marks.index
                sign = int(marks.loc[name, method]) if known else 0
                row.append(f"{frame.loc[name, method]:.3f}{circle[sign]}")
        rows.append([*row, str(one.folds[name])])
    means = [f"{f[m].mean():.3f}" for m in METHODS for f in (one.rmse, one.paper)]
    rows.append(["mean", *means, ""])
    heads = [head for m in METHODS for head in (m, f"{m} (paper)")]
    return Table(
        f"{one.table}: RMSE with {NAMES[one.model]}",
        ["data set", *heads, "folds"],
        rows,
        note="• PCT is significantly better than this method, ◦ significantly worse. A set with "
        "one fold is not tested.",
    )


def _sign_table(found: dict[str, Compared]) -> Table:
    rows: list[list[str]] = []
    for model, one in found.items():
        for rival in RIVALS:
            wins, draws, losses, p = SIGN_TESTS[model, rival]
            ours = one.signs(rival)
            printed = one.signs(rival, one.paper_marks)
            rows.append([
                NAMES[model], rival, wdl(ours), f"{ours.normal_p_value:.2g}", f"{ours.p_value:.2g}",
                f"{wins}-{draws}-{losses}", f"{p:.2g}", wdl(printed),
            ])  # fmt: skip
    heads = ["base learner", "against", "W-D-L", "p", "exact p", "W-D-L (paper)", "p (paper)"]
    note = "Significant wins, draws and losses of PCT; last, the paper's on the sets run here."
    return Table("Sign tests", [*heads, "paper, our sets"], rows, note=note)


def _figure_5(results: Results) -> list[Figure]:
    pyplot = need("matplotlib.pyplot")
    lines = pick_rows(results.frame, part="reliability")
    names = list(lines["set"].drop_duplicates())
    columns = {"base": "naive Bayes", "PS": "Platt scaling", "IR": "isotonic", "PCT": "PCT"}
    figure, axes = pyplot.subplots(
        len(names), 4, figsize=(9, 2.2 * len(names) + 0.4), sharex=True, sharey=True,
        layout="constrained", squeeze=False,
    )  # fmt: skip
    for number, (row, name) in enumerate(zip(axes, names, strict=True)):
        for ax, (method, heading) in zip(row, columns.items(), strict=True):
            points = pick_rows(lines, set=name, method=method)
            ax.plot([0, 1], [0, 1], color="0.7", lw=1)
            ax.plot(points["predicted"], points["observed"], "o-", color="#0072b2", ms=3, lw=1)
            ax.set(aspect="equal", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
            if number == 0:
                ax.set_title(heading, fontsize=10)
        row[0].set_ylabel(f"{name}\nfrequency", fontsize=9)
    for ax in axes[-1]:
        ax.set_xlabel("probability", fontsize=9)
    title = (
        "Figure 5 again: reliability diagrams of naive Bayes, at most 30 bins of equal frequency"
    )
    return [Figure.of("figure-5", title, figure)]
