"""Pictures of the ENIR study: relative gains, and ties in the authors' measure."""

from __future__ import annotations

import numpy as np

from trueodds.numerics.reliability_bins import equal_count_sums
from trueodds_studies._optional import need
from trueodds_studies._report import Figure
from trueodds_studies.papers.enir.authors import groups_cut_by_label
from trueodds_studies.papers.enir.claims import MODEL_NAMES, Gains
from trueodds_studies.papers.enir.numbers import INTERVALS, MEASURES, MODELS
from trueodds_studies.papers.enir.simulated import calibrated, simulated_scores

__all__ = ["cut_ties_figure", "gain_figure"]

N_GROUPS = 10


def cut_ties_figure(source: str) -> Figure:
    """Ten groups of isotonic regression's forecasts for a linear SVM, ties cut in both ways."""
    pyplot = need("matplotlib.pyplot")
    scores = simulated_scores(source, "linear", 0)
    p, y = calibrated("IsoRegC", scores), scores["y_test"]
    figure, axes = pyplot.subplots(1, 2, figsize=(9.0, 3.4), sharey=True, layout="constrained")
    sums = equal_count_sums(p, y, np.ones(len(p)), N_GROUPS)
    shared = sums.prob / sums.weight, sums.positive / sums.weight
    groups = groups_cut_by_label(y, p, N_GROUPS)
    cut = tuple(np.array([values[rows].mean() for rows in groups]) for values in (p, y))
    ways = {"cut by label (the authors' program)": cut, "shared out": shared}
    for ax, (way, (forecast, frequency)) in zip(axes, ways.items(), strict=True):
        place = range(1, N_GROUPS + 1)
        ax.bar(place, frequency, color="#9ecae1", label="frequency of positives")
        ax.plot(place, forecast, "o", color="#d55e00", label="mean forecast")
        error = np.average(abs(forecast - frequency), weights=sums.weight)
        ax.set(title=f"Ties {way}: ECE {error:.3f}", xlabel="group of equal count", xticks=place)
    axes[0].set_ylim(0, 1.05)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title = (
        "Isotonic regression of a linear SVM's decision values on circular classes: the same "
        "predictions, with ties cut by label and with ties shared"
    )
    return Figure.of("ties", title, figure)


def gain_figure(gains: Gains) -> Figure:
    """Table II as a picture."""
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.5), sharey=True, layout="constrained")
    for ax, model in zip(axes, MODELS, strict=True):
        for place, measure in enumerate(MEASURES):
            gain = gains[model, measure]
            both = (((gain.low, gain.high), 0.14, "#0072b2", "ours"),
                    (INTERVALS[model][measure], -0.14, "0.55", "paper"))  # fmt: skip
            for (low, high), shift, color, label in both:
                middle = (low + high) / 2
                style = {"fmt": "o", "ms": 4, "capsize": 3, "color": color}
                style["label"] = label if place == 0 else None
                ax.errorbar(middle, -place + shift, xerr=(high - low) / 2, **style)
        ax.axvline(0, color="black", lw=0.8)
        ax.set(title=MODEL_NAMES[model], xlabel="relative gain")
        ax.set_yticks(-np.arange(len(MEASURES)), MEASURES)
        ax.grid(axis="x", alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title = (
        "Table II as a picture, by the authors' measures: 95% intervals of the relative gain of "
        "ENIR, ours and the paper's"
    )
    return Figure.of("gain", title, figure)
