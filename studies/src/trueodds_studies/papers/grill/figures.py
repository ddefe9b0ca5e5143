"""Pictures of the charcoal grill study."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds_studies._optional import need
from trueodds_studies._report import Figure
from trueodds_studies._study import pick_rows
from trueodds_studies.papers.grill.judge import Readings, count, wide
from trueodds_studies.papers.grill.numbers import FIGURE_BINS, MEASURES, paper_table

__all__ = ["figure_9", "functions_figure", "reliability_figure", "samples_figure"]

BLUE, RED, GRAY = "#0072b2", "#d55e00", "0.6"
TOO_HIGH, TOO_LOW = "#e8a27c", "#56b4e9"
NAMES = {
    "original": "original (figure 1)",
    "temperature": "temperature (2)",
    "platt": "Platt (3)",
    "isotonic": "isotonic (4)",
    "CGS-2-withbias": "2 coals (6)",
    "CGS-3-withbias": "3 coals (6)",
    "CGS-5-withbias": "5 coals (8)",
}
SOLVERS = ("the paper's solver", "our solver")


def reliability_figure(rows: Any) -> Figure:
    """Figures 1 to 4, 6 and 8."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(
        2, len(NAMES), figsize=(13, 4.2), sharex=True, sharey=True, layout="constrained"
    )
    both = pick_rows(rows, solver=["none", "paper"])
    for line, side in zip(axes, ("train", "held out"), strict=True):
        for ax, (method, title) in zip(line, NAMES.items(), strict=True):
            some = pick_rows(both, side=side, method=method)
            width = 1 / FIGURE_BINS.get(method, 10)
            left = some["bin"].to_numpy() * width
            rate, forecast = some["rate"].to_numpy(), some["forecast"].to_numpy()
            ax.bar(left, rate, width, align="edge", color=BLUE, edgecolor="white", lw=0.5)
            color = np.where(forecast > rate, TOO_HIGH, TOO_LOW)
            ax.bar(left, forecast - rate, width, bottom=rate, align="edge", color=color,
                   edgecolor="white", lw=0.5)  # fmt: skip
            ax.plot([0, 1], [0, 1], color="black", lw=0.8)
            gap = np.abs(rate - forecast)
            ece = 100 * float((some["share"].to_numpy() * gap).sum())
            text = f"{ece:.2f} / {100 * gap.mean():.2f}"
            ax.text(0.04, 0.93, text, transform=ax.transAxes, va="top", fontsize=8)
            ax.set(xlim=(0, 1), ylim=(0, 1))
            if side == "train":
                ax.set_title(title, fontsize=9)
        line[0].set_ylabel(f"{side}\nshare of positives")
    figure.supxlabel("forecast, ten bins; figure 8: twenty", fontsize=9)
    title = (
        "Figures 1 to 4, 6 and 8 again: reliability diagrams of one sample, with the paper's "
        "solver. The gap to the mean prediction is orange if that is too high and light blue "
        "if it is too low; weighted / unweighted ECE in %"
    )
    return Figure.of("reliability", title, figure)


def functions_figure(rows: Any) -> Figure:
    """Figures 5 and 7."""
    pyplot = need("matplotlib.pyplot")
    curves = pick_rows(rows, side="curve")
    figure, axes = pyplot.subplots(2, 3, figsize=(9.5, 5.6), sharex=True, layout="constrained")
    isotonic = pick_rows(curves, method="isotonic")
    axes[1, 0].plot(isotonic["score"], isotonic["forecast"], color="black", lw=1.2)
    axes[1, 0].set(title="isotonic (figure 5)", ylabel="calibrated score", xlabel="score")
    axes[0, 0].axis("off")
    for column, coals in ((1, 2), (2, 3)):
        for solver, words, color in zip(("paper", "joint"), SOLVERS, (BLUE, RED), strict=True):
            some = pick_rows(curves, method=f"CGS-{coals}-withbias", solver=solver)
            for ax, what in ((axes[0, column], "heat"), (axes[1, column], "forecast")):
                ax.plot(some["score"], some[what], color=color, lw=1.4, label=words)
        axes[0, column].set(title=f"{coals} coals (figure 7)", ylabel="temperature", ylim=(0, 6))
        axes[1, column].set(xlabel="score", ylabel="calibrated score")
    score = isotonic["score"].to_numpy()
    odds = np.log(score / (1 - score))
    true = 1 / (1 + np.exp(-np.where(odds > 0, odds / 5, odds)))
    for ax in axes[1]:
        ax.plot(score, true, color=GRAY, lw=1, ls="--", label="truth")
        ax.set(xlim=(0, 1), ylim=(0, 1))
    for ax in axes[0, 1:]:
        ax.plot(score, np.where(odds > 0, 5, 1), color=GRAY, lw=1, ls="--")
    figure.legend(*axes[1, 1].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    title = (
        "Figures 5 and 7 again: what isotonic regression and coals (with bias) make of a score, "
        "and the temperature at it"
    )
    return Figure.of("functions", title, figure)


def samples_figure(table: Readings) -> Figure:
    """Draw the ECE of every sample and the printed cell."""
    pyplot = need("matplotlib.pyplot")
    printed = paper_table("synthetic", "T = 5")
    names = list(printed.index)
    figure, axes = pyplot.subplots(1, 2, figsize=(9.5, 4.6), sharey=True, layout="constrained")
    for ax, (measure, words) in zip(axes, MEASURES.items(), strict=True):
        for frame, label, color, shift in zip(
            table, SOLVERS, (BLUE, RED), (0.16, -0.16), strict=True
        ):
            values = wide(frame, measure)
            for place, name in enumerate(names):
                if color == RED and not name.startswith("CGS"):
                    continue
                height = np.full(len(values), -place + shift)
                style = {"ms": 3.5, "alpha": 0.55, "mew": 0, "color": color}
                style["label"] = label if name == names[-1] else None
                ax.plot(values[name], height, "o", **style)
        ax.plot(printed[measure], -np.arange(len(names)), "k|", ms=12, mew=1.6, label="printed")
        ax.set(xlabel=words, xlim=(0, None))
        ax.set_yticks(-np.arange(len(names)), names)
        ax.grid(axis="x", alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3)
    title = f"Table 1 and our {count(table.paper)} samples: each dot is one, the bar is printed"
    return Figure.of("table-1", title, figure)


def figure_9(synthetic: Readings) -> Figure:
    """Draw figure 9 with the paper's solver above and ours below."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(
        2, 2, figsize=(9.5, 7), sharex=True, sharey=True, layout="constrained"
    )
    for line, frame, solver in zip(axes, synthetic, SOLVERS, strict=True):
        for ax, (measure, words) in zip(line, MEASURES.items(), strict=True):
            _draw_by_temperature(ax, frame, measure)
            ax.set_title(f"{words}, {solver}", fontsize=10)
            ax.grid(alpha=0.3)
        line[0].set_ylabel(f"mean over samples ({count(frame)})")
    for ax in axes[1]:
        ax.set_xlabel("temperature that corrupts scores above 0.5")
    axes[0, 0].set_ylim(bottom=0)
    handles = axes[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside right center", frameon=False)
    title = (
        "Figure 9 again: held-out ECE by corrupting temperature, with the paper's solver and with "
        "ours; bars are two standard errors"
    )
    return Figure.of("figure-9", title, figure)


def _draw_by_temperature(ax: Any, frame: Any, measure: str) -> None:
    kept = frame[~frame["method"].str.endswith("nobias") & (frame["method"] != "CGS-1-withbias")]
    grouped = kept.groupby(["method", "temperature"], sort=False)[measure]
    means, errors = grouped.mean(), grouped.std() / grouped.count() ** 0.5
    for i, name in enumerate(kept["method"].drop_duplicates()):
        grill = name.startswith("CGS")
        values = means[name]
        label = "platt = CGS-1" if name == "platt" else name
        ax.errorbar(range(len(values)), values, yerr=2 * errors[name], color=f"C{i}", label=label,
                    ms=4, lw=1.3, elinewidth=0.7, marker="s" if grill else "o",
                    ls="-" if grill else "--")  # fmt: skip
    ticks = [f"{t:g}" for t in kept["temperature"].drop_duplicates()]
    ax.set_xticks(range(len(ticks)), ticks)
