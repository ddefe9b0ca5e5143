"""Tables, pictures and verdicts of the calibration trees study."""

from __future__ import annotations

from trueodds_studies._optional import need
from trueodds_studies._papers._trees_claims import (
    ALPHA,
    NAMES,
    RIVALS,
    SUBSTITUTES,
    TABLE_OF,
    Compared,
    all_claims,
    artificial,
    wdl,
)
from trueodds_studies._papers._trees_numbers import (
    METHODS,
    MODELS,
    SETS,
    SIGN_TESTS,
    sets_at_hand,
)
from trueodds_studies._report import Figure, ReportContent, Table
from trueodds_studies._study import Results, pick_rows

__all__ = ["FIGURE_5", "report"]

FIGURE_5 = ("credit-rating", "kr-vs-kp", "nursery-two", "sick", "vote")


def report(results: Results) -> ReportContent:
    """Judge the paper's claims on whatever sets were at hand."""
    present = set(results.frame["model"].dropna())
    found = {model: Compared(results, model) for model in MODELS if model in present}
    return ReportContent(
        summary=_summary(found),
        claims=all_claims(results, found),
        items=[
            "## Tables 2 to 5",
            *(_rmse_table(one) for one in found.values()),
            "## Table 6",
            _sign_table(found),
            "## Figure 5",
            *_figure_5(results),
            "## The artificial example (section 4.3)",
            _artificial_table(results),
        ],
    )


def _summary(found: dict[str, Compared]) -> str:
    parts = [
        f"{NAMES[m]} on {len(one.rmse)} sets, {one.n_repeats} × {one.n_folds} folds"
        for m, one in found.items()
    ]
    absent = [name for name in SETS if name not in sets_at_hand()]
    used = found["naive-bayes"].rmse.index
    others = [words for name, words in SUBSTITUTES.items() if name in used]
    text = (
        f"Of the paper's 32 data sets: {'; '.join(parts)}. Folds are those of a stratified 10-fold "
        "cross-validation (the paper: all ten, ten times); five inner folds give the scores to "
        "calibrate, and a model of the whole training part the scores of the test rows."
    )
    if absent:
        text += f" No copy at hand: {', '.join(f'`{name}`' for name in absent)}."
    if others:
        text += f" Other data than the paper's: {'; '.join(others)}."
    return text + (
        " Profiles below full take a stratified sample of 1000 rows of larger sets and fewer of "
        "the ten folds: all of them with naive Bayes on sets of at most five classes, otherwise "
        "five. They boost only on sets of at most five classes and 6000 rows, and run SVMs only on "
        "sets of two classes and at most 1000 rows."
        "\n\nSubstitutes: naive Bayes follows Weka's. Boosting is scikit-learn's "
        "`HistGradientBoostingClassifier`, 100 stumps or trees of depth 3 for each class: Newton "
        "steps on the log-loss as in LogitBoost, but with binned attributes, and steps halved and "
        "damped (`l2_regularization=1`), because nothing bounds them as LogitBoost's limit on its "
        "response does (whole steps diverge on `sick`, `segment` and `page-blocks`; of five "
        "settings tried on single splits of seven of these sets, "
        "by the RMSE of the uncalibrated probabilities, this one was stable on all); REPTrees "
        "choose splits by variance, these by the gain of the step. SVMs are LIBSVM's through "
        "scikit-learn, with the paper's grid. PCT is "
        "`TreeCalibrator`, PS `LogisticCalibrator` (maximum likelihood on log-odds, Platt's "
        "targets only if separable), IR `IsotonicCalibrator`."
        f"\n\nSignificance: corrected resampled t-test over the folds, p < {ALPHA}, as in the "
        "paper, but with fewer folds and so less power: fewer wins and losses are to be expected. "
        "Sign tests are exact binomial without draws (the paper's p-values are normal "
        "approximations)."
    )


def _artificial_table(results: Results) -> Table:
    table = artificial(results)
    note = (
        "RMSE on 10,000 new rows; 1000 rows of `trueodds_studies.datasets.make_regions`, whose "
        "regions are ours: the paper shows its own in a picture only."
    )
    rows = [[method, float(mean)] for method, mean in table.mean().items()]
    return Table("A constant classifier", ["method", "RMSE"], rows, digits=4, note=note)


def _rmse_table(one: Compared) -> Table:
    circle = {1: " •", -1: " ◦", 0: ""}
    rows: list[list[str | float]] = []
    for name in one.rmse.index:
        row: list[str | float] = [name]
        for method in METHODS:
            for frame, marks in ((one.rmse, one.marks), (one.paper, one.paper_marks)):
                sign = int(marks.loc[name, method]) if method in RIVALS else 0
                row.append(f"{frame.loc[name, method]:.3f}{circle[sign]}")
        rows.append(row)
    means = [f"{f[m].mean():.3f}" for m in METHODS for f in (one.rmse, one.paper)]
    rows.append(["mean", *means])
    heads = [head for m in METHODS for head in (m, f"{m} (paper)")]
    return Table(
        f"{TABLE_OF[one.model]}: RMSE with {NAMES[one.model]}",
        ["data set", *heads],
        rows,
        note="• PCT is significantly better than this method, ◦ significantly worse.",
    )


def _sign_table(found: dict[str, Compared]) -> Table:
    rows: list[list[str]] = []
    for model, one in found.items():
        for rival in RIVALS:
            wins, draws, losses, p = SIGN_TESTS[model, rival]
            ours = one.signs(rival)
            printed = one.signs(rival, one.paper_marks)
            rows.append([
                NAMES[model], rival, wdl(ours), f"{ours.p_value:.2g}", f"{wins}-{draws}-{losses}",
                f"{p:.2g}", wdl(printed),
            ])  # fmt: skip
    heads = ["base learner", "against", "W-D-L", "p", "W-D-L (paper)", "p (paper)"]
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
