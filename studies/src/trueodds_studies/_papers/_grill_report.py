"""Tables and the figure of the charcoal grill study."""

from __future__ import annotations

from typing import Any

from trueodds_studies._optional import need
from trueodds_studies._papers._grill_claims import by_temperature, claims, count, means_of
from trueodds_studies._papers._grill_numbers import MEASURES, PAPER_TASKS, paper_table
from trueodds_studies._report import Figure, ReportContent, Table
from trueodds_studies._study import Results, pick_rows

__all__ = ["report"]

SUBSTITUTES = {
    "stocknet-movement": (
        "Stocknet's scores are not public: a neural network (64 hidden units, 40 epochs) on prices "
        "and numbers of tweets of the same stocks and dates, 656 rows to fit and 1008 to test as "
        "in the paper"
    ),
    "creditcard-casecontrol": (
        "of the fraud data all 492 frauds and 22,857 of the 284,315 legitimate rows, which count "
        "12.44 times each, in the forest, the calibration and the ECE"
    ),
    "nn-mnist-mlp": "another network on MNIST",
    "nn-cifar100-densenet-bc100": "DenseNet-BC-100 on CIFAR-100",
    "nn-cifar10-vgg16": "VGG-16 on CIFAR-10 in place of SVHN",
    "nn-cifar10-wideresnet16-4": "WideResNet-16-4 on CIFAR-10 in place of SVHN",
}


def report(results: Results) -> ReportContent:
    """Judge the paper's claims on whatever sets were at hand."""
    synthetic = pick_rows(results.frame, part="synthetic")
    table_1 = pick_rows(synthetic, temperature=5.0)
    solver = pick_rows(results.frame, part="solver")
    real = {}
    if "set" in results.frame:
        real = {
            name: pick_rows(results.frame, set=name)
            for name in PAPER_TASKS
            if name in set(results.frame["set"])
        }
    return ReportContent(
        summary=_summary(table_1, solver, real),
        claims=claims(synthetic, solver, real),
        items=[
            "## Table 1: synthetic scores",
            _beside("Table 1", table_1, "synthetic", "T = 5"),
            _solver_table(table_1, solver),
            "## Figure 9: how bad the scores are",
            _figure_9(synthetic),
            *(_figure_9_table(synthetic, measure) for measure in MEASURES),
            "## Tables 2 and 3: real scores",
            *(_real_table(name, frame) for name, frame in real.items()),
        ],
    )


def _summary(table_1: Any, solver: Any, real: dict[str, Any]) -> str:
    text = (
        f"Synthetic scores: {count(table_1)} samples of 1000 at each of six temperatures (the "
        "paper: one), measured on 10⁵ points with known probabilities (the paper: 10⁶ labelled "
        "points). Methods are this library's; coals are also fitted by the paper's own "
        f"optimisation, on {count(solver)} of the samples at T = 5. ECE has ten bins of equal "
        "width and is in %; with several classes all pairs of a row and a class are pooled. "
        "*Lower* in a verdict means by more than two standard errors of the paired differences "
        "between samples or splits; splits of one set are not "
        "independent, and three of them say little about their own spread."
    )
    if real:
        n = count(next(iter(real.values())))
        listed = "; ".join(f"`{name}`: {SUBSTITUTES[name]}" for name in real)
        text += (
            f"\n\nReal scores (with `TRUEODDS_DATA` naming the folder of data): {n} splits or "
            f"seeds (the paper: one). Substitutes: {listed}."
        )
    missing = [name for name in PAPER_TASKS if name not in real]
    if missing:
        names = ", ".join(f"`{name}`" for name in missing)
        text += f"\n\nNot in this run, because not at hand or not in the profile: {names}."
    return text


def _beside(title: str, frame: Any, part: str, task: str, note: str = "") -> Table:
    """Means ± standard deviations of one sample, and the paper's."""
    paper = paper_table(part, task)
    rows: list[list[Any]] = []
    by_method = frame.groupby("method", sort=False)
    means, spread = (by_method[[*MEASURES, "log_loss"]].agg(f) for f in ("mean", "std"))
    for name in means.index:
        line: list[Any] = [name]
        for measure in MEASURES:
            digits = 3 if means[measure].min() < 0.5 else 2
            text = f"{means.loc[name, measure]:.{digits}f}"
            if spread.loc[name, measure] == spread.loc[name, measure]:
                text += f" ± {spread.loc[name, measure]:.{digits}f}"
            line += [text, f"{paper.loc[name, measure]:g}"]
        rows.append([*line, float(means.loc[name, "log_loss"])])
    heads = [head for words in MEASURES.values() for head in (words, f"{words} (paper)")]
    note = f"{note} Ours: mean ± standard deviation of {count(frame)}.".strip()
    return Table(title, ["method", *heads, "log-loss"], rows, digits=4, note=note)


def _real_table(name: str, frame: Any) -> Table:
    task = PAPER_TASKS[name]
    part = "networks" if name.startswith("nn-") else "binary"
    note = f"Beside the paper's {task}; {SUBSTITUTES[name]}."
    return _beside(f"`{name}`", frame, part, task, note)


def _solver_table(table: Any, solver: Any) -> Table:
    same = table[table["replicate"].isin(set(solver["replicate"]))]
    columns = {"this library's": same, "the paper's": solver}
    rows = []
    for name in solver["method"].drop_duplicates():
        line = [means_of(f, m)[name] for m in (*MEASURES, "log_loss") for f in columns.values()]
        rows.append([name, *line])
    words = [*MEASURES.values(), "log-loss"]
    heads = [f"{word}, {who} solver" for word in words for who in columns]
    note = f"The same {count(solver)} samples, T = 5."
    return Table("The paper's solver", ["method", *heads], rows, note=note)


def _figure_9_table(synthetic: Any, measure: str) -> Table:
    wide = by_temperature(synthetic, measure)
    rows = [[name, *map(float, wide[name])] for name in wide.columns]
    heads = ["method", *(f"T = {t:g}" for t in wide.index)]
    return Table(f"Figure 9: {MEASURES[measure]}", heads, rows, digits=2)


def _figure_9(synthetic: Any) -> Figure:
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 2, figsize=(9.5, 4.2), sharey=True, layout="constrained")
    for ax, (measure, words) in zip(axes, MEASURES.items(), strict=True):
        wide = by_temperature(synthetic, measure)
        wide = wide.drop(columns="CGS-1-withbias").rename(columns={"platt": "platt = CGS-1"})
        for i, name in enumerate(wide.columns):
            grill = name.startswith("CGS")
            ax.plot(range(len(wide)), wide[name], color=f"C{i}", label=name, ms=4,
                    marker="s" if grill else "o", ls="-" if grill else "--")  # fmt: skip
        ax.set(xlabel="temperature that corrupts scores above ½", title=words)
        ax.set_xticks(range(len(wide)), [f"{t:g}" for t in wide.index])
        ax.grid(alpha=0.3)
    axes[0].set_ylim(bottom=0)
    axes[0].set_ylabel(f"mean of {count(synthetic)} samples")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    return Figure.of("figure-9", "Figure 9 again: held-out ECE by corrupting temperature", figure)
