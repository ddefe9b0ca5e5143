"""A picture of what the ENIR authors' measure makes of ties."""

from __future__ import annotations

from trueodds.numerics.reliability_bins import equal_count_sums
from trueodds_studies._optional import need
from trueodds_studies._papers._enir_simulated import calibrated, simulated_scores
from trueodds_studies._report import Figure

__all__ = ["cut_ties_figure"]

N_GROUPS = 10


def cut_ties_figure(source: str) -> Figure:
    """Ten groups of isotonic regression's forecasts for a linear SVM, ties cut in both ways."""
    pyplot = need("matplotlib.pyplot")
    scores = simulated_scores(source, "linear", 0)
    p, y = calibrated("IsoRegC", scores), scores["y_test"]
    figure, axes = pyplot.subplots(1, 2, figsize=(9.0, 3.4), sharey=True, layout="constrained")
    for ax, by_label in zip(axes, (True, False), strict=True):
        sums = equal_count_sums(p, y, None, N_GROUPS, by_label=by_label)
        frequency, forecast = sums.positive / sums.weight, sums.prob / sums.weight
        place = range(1, N_GROUPS + 1)
        ax.bar(place, frequency, color="#9ecae1", label="frequency of positives")
        ax.plot(place, forecast, "o", color="#d55e00", label="mean forecast")
        error = abs(sums.prob - sums.positive).sum() / sums.weight.sum()
        way = "cut by label (the authors' program)" if by_label else "shared out"
        ax.set(title=f"Ties {way}: ECE {error:.3f}", xlabel="group of equal count", xticks=place)
    axes[0].set_ylim(0, 1.05)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2)
    title = (
        "Isotonic regression of a linear SVM's margins on circular classes: the same forecasts, "
        "with ties cut by label and with ties shared out"
    )
    return Figure.of("ties", title, figure)
