"""Draw which method to use, and the evidence for it, from the results of the studies.

Usage: python docs/pictures/decision.py [STUDIES_FOLDER]

STUDIES_FOLDER holds what these commands leave in it, with TRUEODDS_DATA naming the folder of data:

    for name in beta bayes-isotonic enir trees grill; do
        trueodds study $name --profile standard --output STUDIES_FOLDER/$name
    done
    python benchmarks/choices/auto_ranks.py STUDIES_FOLDER/auto-ranks.jsonl

From it docs/studies/decision.csv is computed (decision_evidence.py says how); without it that file
is read. Then docs/images/decision.png and docs/images/decision-evidence.png are drawn, and the
numbers printed.
"""

import sys
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl
import numpy as np
import pandas as pd
from decision_evidence import TIE, compute

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.patches import FancyBboxPatch

DOCS = Path(__file__).parents[1]
EXTRACT = DOCS / "studies" / "decision.csv"

INK, PALE, BLUE, LEAF, GRAY = "#111111", "#f3f3f3", "#0b4f8a", "#dcebf7", "#4d4d4d"
WIDTH = 5.4  # inches; text of 9.5 points is then legible on a phone
DPI = 200


class Leaf(NamedTuple):
    """One answer: the comparison that decides it, and words around the result."""

    when: str
    panel: str
    measure: str = "log-loss"
    evidence: str = "{sets} data sets"


class Question(NamedTuple):
    """What to ask, where it leads, and the answer that leads to the next question."""

    text: str
    leaves: tuple[Leaf, ...]
    otherwise: str = "no"


ROWS = "{sets} data sets, {pairs} models"
NETWORKS = "{sets} networks, {pairs} splits"

LADDER = (
    Question(
        "How many classes?",
        (
            Leaf("≈ 10", "classes-10", evidence=NETWORKS),
            Leaf("≈ 100", "classes-100", evidence=NETWORKS),
        ),
        "two",
    ),
    Question(
        "Naive Bayes (or as\nsimple a model),\nattributes at hand?",
        (Leaf("yes", "tree-naive-bayes", "RMSE"),),
    ),
    Question(
        "Can a higher score\nmean a lower\nprobability?",
        (Leaf("yes", "ranking-wrong", "RMSE", "{groups} simulated samples"),),
    ),
    Question("Must the map be\na short formula?", (Leaf("yes", "formula"),)),
    Question(
        "How many rows\nto calibrate on?",
        tuple(Leaf(n, f"rows-{n}", evidence=ROWS) for n in ("100", "1000", "3000")),
    ),
)
CHARTS = (
    ("About 10 classes", LADDER[0].leaves[0]),
    ("About 100 classes", LADDER[0].leaves[1]),
    ("Naive Bayes, attributes at hand", LADDER[1].leaves[0]),
    ("The same with boosted trees", Leaf("", "tree-boosted-trees", "RMSE")),
    ("A higher score, a lower probability", LADDER[2].leaves[0]),
    ("A short formula", LADDER[3].leaves[0]),
    ("100 rows to calibrate on", LADDER[4].leaves[0]),
    ("1000 rows to calibrate on", LADDER[4].leaves[1]),
    ("3000 rows to calibrate on", LADDER[4].leaves[2]),
    ("All methods, up to 900 rows", Leaf("", "auto", evidence=ROWS)),
)


def panel_of(evidence, leaf):
    chosen = (evidence["panel"] == leaf.panel) & (evidence["measure"] == leaf.measure)
    return evidence[chosen].reset_index(drop=True)


def len_of(evidence, name):
    """The number of pairs of a comparison."""
    return int(evidence.loc[evidence["panel"] == name, "pairs"].iloc[0])


def recommended(panel):
    """The lowest and those that tie with it."""
    return " or ".join(panel.loc[panel["recommended"], "method"])


def first_behind(panel):
    rest = panel[~panel["recommended"]]
    if rest.empty:
        return "none is behind by 2 s.e."
    row = rest.iloc[0]
    return f"next: {row['method']} +{row['above']:.4f} ± {row['error']:.4f}"


def under(panel, leaf):
    counts = panel[["sets", "groups", "pairs"]].iloc[0]
    words = leaf.evidence.format(**counts)
    return f"{leaf.measure}, " + words.replace("1 networks", "1 network")


def canvas(height):
    """A figure whose axes count inches from the top left."""
    figure = plt.figure(figsize=(WIDTH, height))
    ax = figure.add_axes((0, 0, 1, 1))
    ax.set(xlim=(0, WIDTH), ylim=(height, 0))
    ax.axis("off")
    return figure, ax


def box(ax, x, y, width, height, *, face, edge):
    style = "round,pad=0,rounding_size=0.08"
    ax.add_patch(
        FancyBboxPatch((x, y), width, height, boxstyle=style, fc=face, ec=edge, linewidth=1.3)
    )


def arrow(ax, start, end):
    line = {"arrowstyle": "-|>", "color": INK, "linewidth": 1.4, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", end, start, arrowprops=line)


def draw_leaf(ax, x, y, height, lines):
    """A name, what is behind it, and where that was seen."""
    box(ax, x, y, WIDTH - 0.1 - x, height, face=LEAF, edge=BLUE)
    name, next_best, source = lines
    size = 12.5 if len(name) <= 22 else 10.5
    kwargs = {"va": "center"}
    ax.text(x + 0.1, y + 0.2, name, fontsize=size, fontweight="bold", color=BLUE, **kwargs)
    ax.text(x + 0.1, y + 0.42, next_best, fontsize=9.5, color=INK, **kwargs)
    ax.text(x + 0.1, y + 0.62, source, fontsize=9.5, color=GRAY, **kwargs)


def draw_tree(evidence, path):
    """Questions downwards on the left, answers on the right."""
    leaf_height, gap, rung, left, right, wide_ = 0.78, 0.08, 0.24, 0.1, 2.6, 1.86
    heights = [len(question.leaves) * (leaf_height + gap) - gap for question in LADDER]
    figure, ax = canvas(0.1 + sum(heights) + rung * len(LADDER) + 1.32)
    y = 0.1
    for question, height in zip(LADDER, heights, strict=True):
        box(ax, left, y, wide_, height, face=PALE, edge=INK)
        words = {"ha": "center", "va": "center", "linespacing": 1.25, "color": INK}
        center = (left + wide_ / 2, y + height / 2)
        ax.text(*center, question.text, fontsize=11, fontweight="bold", **words)
        for i, leaf in enumerate(question.leaves):
            top = y + i * (leaf_height + gap)
            middle = top + leaf_height / 2
            arrow(ax, (left + wide_, middle), (right, middle))
            ax.text(
                (left + wide_ + right) / 2 - 0.03, middle - 0.13, leaf.when, fontsize=10, **words
            )
            panel = panel_of(evidence, leaf)
            lines = (recommended(panel), first_behind(panel), under(panel, leaf))
            draw_leaf(ax, right, top, leaf_height, lines)
        y += height + rung
        if question is not LADDER[-1]:
            arrow(ax, (center[0], y - rung), (center[0], y))
            ax.text(center[0] + 0.22, y - rung / 2, question.otherwise, fontsize=10, **words)
    auto = panel_of(evidence, Leaf("", "auto"))
    row = auto[auto["method"] == "AutoCalibrator"].iloc[0]
    box(ax, left, y, WIDTH - 0.2, 0.55, face="white", edge=INK)
    gap = f"{row['above']:.4f} ± {row['error']:.4f}"
    rather = f"behind {auto['method'][0]} by {gap} log-loss ({row['sets']} data sets)"
    ax.text(left + 0.1, y + 0.17, "Rather not decide?", fontsize=11, fontweight="bold", va="center")
    name = {"fontsize": 12.5, "fontweight": "bold", "color": BLUE, "va": "center"}
    ax.text(left + 1.93, y + 0.17, "AutoCalibrator", **name)
    ax.text(left + 0.1, y + 0.39, rather, fontsize=9.5, color=INK, va="center")
    kept, of = (len_of(evidence, name) for name in ("rows-3000", "rows-3000-all"))
    notes = (
        "“or”: no difference beyond 2 standard errors.  next: the first method\n"
        'really behind, ± 1 standard error.  * with label_smoothing="platt".\n'
        f"By rows: without {of - kept} of {of} models, whose ranking was wrong."
    )
    ax.text(left, y + 0.66, notes, fontsize=9.5, color=GRAY, va="top", linespacing=1.35)
    figure.savefig(path, dpi=DPI, facecolor="white")
    plt.close(figure)


def draw_chart(figure, ax, top, panel):
    """Methods downwards; how far each is above the lowest, ± 2 standard errors."""
    finite = panel[np.isfinite(panel["above"])]
    step, height = 0.19, figure.get_figheight()
    chart = figure.add_axes(
        (
            1.95 / WIDTH,
            1 - (top + step * len(panel)) / height,
            2.05 / WIDTH,
            step * len(panel) / height,
        )
    )
    # What is far beyond the first that is behind is an arrow; its number stands beside it.
    first = finite.loc[~finite["recommended"], "above"].min()
    shown = finite[finite["above"] <= 15 * first]
    limit = 1.08 * (shown["above"] + TIE * shown["error"]).max()
    chart.axvline(0, color=INK, linewidth=1)
    for i, row in panel.iterrows():
        color, face = (BLUE, BLUE) if row["recommended"] else (GRAY, "white")
        weight = "bold" if row["recommended"] else "normal"
        y = top + step * (i + 0.5)
        text = {"fontsize": 9.5, "va": "center"}
        name = {"ha": "right", "color": BLUE if row["recommended"] else INK, "fontweight": weight}
        ax.text(1.8, y, row["method"], **name, **text)
        if np.isinf(row["above"]):
            number = f"infinite in {row['infinite']} of {row['pairs']}"
            ax.text(2.2, y, number, color=GRAY, **text)
            continue
        number = f"+{row['above']:.4f} ± {row['error']:.4f}" if i else "lowest"
        ax.text(4.06, y, number, color=INK, **text)
        if i < len(shown):
            bar = TIE * row["error"]
            chart.plot([row["above"] - bar, row["above"] + bar], [i, i], color=color, linewidth=2)
            chart.plot(row["above"], i, "o", mec=color, mfc=face, markersize=6, mew=1.5)
        else:
            chart.plot(limit * 0.97, i, ">", color=color, markersize=7)
    chart.set(xlim=(-0.06 * limit, limit), ylim=(len(panel) - 0.5, -0.5))
    chart.axis("off")
    return top + step * len(panel)


def draw_evidence(evidence, path):
    """One chart for each leaf, below each other."""
    panels = [panel_of(evidence, leaf) for _, leaf in CHARTS]
    figure, ax = canvas(0.75 + sum(0.19 * len(panel) + 0.62 for panel in panels))
    notes = (
        "How far each method is above the lowest. Bars: ± 2 standard errors;\n"
        "one that reaches the line is a tie (blue). Numbers: ± 1 standard error.\n"
        '* with label_smoothing="platt". Triangles: far beyond the scale.'
    )
    ax.text(0.1, 0.08, notes, fontsize=9.5, color=INK, va="top", linespacing=1.35)
    y = 0.75
    for (title, leaf), panel in zip(CHARTS, panels, strict=True):
        ax.plot([0.1, WIDTH - 0.1], [y, y], color="#bbbbbb", linewidth=0.8)
        ax.text(0.1, y + 0.15, title, fontsize=11, fontweight="bold", color=INK, va="center")
        ax.text(0.1, y + 0.35, under(panel, leaf), fontsize=9.5, color=GRAY, va="center")
        y = draw_chart(figure, ax, y + 0.47, panel) + 0.15
    figure.savefig(path, dpi=DPI, facecolor="white")
    plt.close(figure)


def main():
    if len(sys.argv) > 2:
        sys.exit(__doc__)
    if len(sys.argv) == 2:
        compute(Path(sys.argv[1])).to_csv(EXTRACT, index=False, float_format="%.6g")
    evidence = pd.read_csv(EXTRACT)
    draw_tree(evidence, DOCS / "images" / "decision.png")
    draw_evidence(evidence, DOCS / "images" / "decision-evidence.png")
    for (panel, measure), rows in evidence.groupby(["panel", "measure"], sort=False):
        groups, pairs = rows[["groups", "pairs"]].iloc[0]
        print(f"\n{panel}, {measure}: {groups} groups, {pairs} pairs")
        columns = ["method", "above", "error", "recommended", "infinite", "below"]
        print(rows[columns].to_string(index=False))


if __name__ == "__main__":
    main()
