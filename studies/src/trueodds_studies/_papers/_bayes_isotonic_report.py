"""Tables and figures of the Bayesian isotonic study."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.numerics.isotonic_bounds import isotonic_bounds
from trueodds_studies._diagrams import critical_difference_figure
from trueodds_studies._optional import need
from trueodds_studies._papers._bayes_isotonic_claims import (
    COMPARED,
    LOSSES,
    PAIRS,
    Findings,
    claims,
)
from trueodds_studies._papers._bayes_isotonic_numbers import FLAGGED, SETS, SIZES, TABLE_2, table_1
from trueodds_studies._report import Figure, ReportContent, Table, beside
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.datasets import make_beta_mixture

__all__ = ["report"]

COLOURS = {"over-over": "#c44e52", "over-under": "#cccccc", "under-under": "#4c72b0"}


def report(results: Results) -> ReportContent:
    """Judge the paper's claims on whatever sets were at hand."""
    found = Findings(results)
    items: list[Table | Figure | str] = [
        "## Table 1: synthetic scores",
        _table_1(found),
        "## Figures 4 to 6",
        _figure_4(),
        _figure_5(pick_rows(results.frame, part="curves")),
        _figure_6(pick_rows(results.frame, part="runs")),
    ]
    if found.real is not None:
        items += [
            "## Figures 2 and 3: Platt's correction",
            _figure_2(found),
            _figure_3(found),
            "Equal counts as under-confident, as in the paper's definition: of isotonic "
            "calibration that is frequent where both the map and all labels at an end are 0 or 1.",
            "## Table 2: against other non-parametric methods",
            _table_2(found),
            "## Figure 7: all methods",
            *_figure_7(found),
            _ranks(found),
        ]
    return ReportContent(_summary(found), claims(found), items)


def _summary(found: Findings) -> str:
    text = (
        f"Synthetic scores: {found.n_replicates} samples of each size (the paper: 10), 10⁵ test "
        "rows each; exactly half of the rows are positive. `bayes-iso` is the authors' sampler "
        "with 10,000 maps within the limits of their program; `chains`, the library's default, "
        "samples the posterior without these limits and is shown beside it, never in its place."
    )
    if found.real is None:
        return text + "\n\nNone of the real sets is at hand."
    frame = found.real
    used = list(frame["set"].unique())
    missing = [name for name, ours in SETS.items() if ours not in used]
    return text + (
        f"\n\nReal scores (with `TRUEODDS_DATA` naming the folder of data): "
        f"{len(used)} of the paper's 17 sets with {frame['model'].nunique()} of "
        f"its nine models ({', '.join(frame['model'].unique())}), {found.n_pairs} pairs of a set "
        f"and a model (the paper: 153), {found.n_folds} of the 25 combinations of outer and inner "
        f"folds. Not used (not at hand or not in the profile): {', '.join(missing) or 'none'}. "
        "Substitutes: `SEA50-regenerated` has other rows of the same generator; "
        "`creditcard-casecontrol` has all frauds but only 8 % of the legitimate rows (2.1 % "
        "positives). Models have scikit-learn's present defaults, which differ from those of 2019 "
        "(100 trees in a forest, not 10). Subsamples are stratified; margins of the SVM become "
        "scores by the logistic function; log-loss keeps probabilities 1e-15 away from 0 and 1. "
        "Losses are averaged over the folds of a pair before pairs are counted or ranked; pairs "
        "with the same set are not independent, which the paper's tests ignore and so do ours."
    )


def _table_1(found: Findings) -> Table:
    paper = table_1()
    ours = paper * np.nan
    for n in (100, 3000):
        for loss, word in (("brier_score", "Brier"), ("log_loss", "log-loss")):
            ours[f"{word}, {n}"] = found.table_1(loss, n)
    for n in (100, 3000):
        for loss, word in (("brier_score", "Brier"), ("log_loss", "log-loss")):
            ours.loc["chains", f"{word}, {n}"] = found.synthetic[loss].loc[n, "chains"]
    note = "Beta without correction for the Brier score and with it for log-loss, as in the paper."
    return beside("Table 1", ours, paper, digits=4, rows="method", note=note)


def _table_2(found: Findings) -> Table:
    rows: list[list[Any]] = []
    for loss, words in LOSSES.items():
        for method in ("bayes-iso", "chains"):
            shares = found.wins(loss, method)
            for column, share in shares.items():
                paper = f"{TABLE_2[loss][column]} %" if method == "bayes-iso" else ""
                rows.append([words, method, column, f"{share:.0%}", paper])
    flagged = found.flagged
    note = (
        "Pairs where it is better than both Iso-Platt and ENIR-Platt. 3000 LH: without the "
        f"{int(flagged.sum())} of {len(flagged)} pairs ({flagged.mean():.0%}; paper: {FLAGGED} %) "
        "where one sampled map outweighs all others together."
    )
    return Table("Table 2", ["loss", "method", "size", "ours", "paper"], rows, note=note)


def _ranks(found: Findings) -> Table:
    rows: list[list[Any]] = []
    for (loss, n), panel in found.panels(chains=True).items():
        ranks = panel.rank(axis=1).mean()
        rows.append([f"{LOSSES[loss]}, {n}", *(float(ranks[m]) for m in [*COMPARED, "chains"])])
    note = (
        "The same with the library's chains as a sixth method: average ranks over pairs. Beta "
        "without correction for the Brier score and with it for log-loss."
    )
    heads = ["loss, size", *COMPARED, "chains"]
    return Table("Ranks with chains", heads, rows, digits=2, note=note)


def _figure_7(found: Findings) -> list[Figure]:
    figures = []
    for loss, words in LOSSES.items():
        panels = {
            f"{words}, {n} instances": panel
            for (other, n), panel in found.panels().items()
            if other == loss
        }
        name = f"figure-7-{loss.replace('_', '-')}"
        title = f"Figure 7 again: {words}, critical differences"
        figures.append(critical_difference_figure(name, title, panels))
    return figures


def _figure_2(found: Findings) -> Figure:
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 4, figsize=(9.5, 3), sharey=True, layout="constrained")
    for ax, method in zip(axes, PAIRS, strict=True):
        for i, (loss, words) in enumerate(LOSSES.items()):
            shares = [100 * found.improved(method, loss, n).mean() for n in SIZES]
            ax.bar(np.arange(3) + 0.4 * i, shares, 0.38, label=words, color=f"C{i}")
        ax.set_xticks(np.arange(3) + 0.2, [str(n) for n in SIZES])
        ax.axhline(50, color="black", lw=0.8, ls=":")
        ax.set(title=method, xlabel="instances", ylim=(0, 100))
    axes[0].set_ylabel("improved pairs, %")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=2,
                  frameon=False)  # fmt: skip
    title = "Figure 2 again: pairs that Platt's correction improves"
    return Figure.of("figure-2", title, figure)


def _figure_3(found: Findings) -> Figure:
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.6), sharey=True, layout="constrained")
    for ax, n in zip(axes, SIZES, strict=True):
        shares = 100 * found.ends(n)
        left = np.zeros(len(shares))
        for kind, colour in COLOURS.items():
            ax.barh(shares.index, shares[kind], left=left, color=colour, label=kind)
            left += shares[kind].to_numpy()
        ax.set(title=f"{n} instances", xlabel="pairs, %", xlim=(0, 100))
    axes[0].invert_yaxis()
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=3,
                  frameon=False)  # fmt: skip
    title = "Figure 3 again: over- and under-confidence at the two ends of the ranking"
    return Figure.of("figure-3", title, figure)


def _figure_4() -> Figure:
    """Drawn here and now: no data but one synthetic sample, for the limits."""
    from trueodds.kernels.isotonic_importance import draw_maps

    pyplot = need("matplotlib.pyplot")
    data = make_beta_mixture(100, random_state=0)
    y = data.y[np.argsort(data.scores)].astype(np.float64)
    bounds = isotonic_bounds(1 - y, y, "paper")
    sorted_uniform = np.sort(np.random.default_rng(0).random((200, 100)), axis=1)
    unbounded = (np.zeros(100), np.ones(100))
    panels = {
        "A: sorted uniform numbers": sorted_uniform,
        "B: the prior": draw_maps(*unbounded, np.arange(200), 0),
        "C: the prior between limits": draw_maps(*bounds, np.arange(200), 0),
    }
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.2), sharey=True, layout="constrained")
    ranks = np.arange(100) / 99
    for ax, (words, maps) in zip(axes, panels.items(), strict=True):
        ax.plot(ranks, maps.T, color="C0", lw=0.4, alpha=0.4)
        ax.set(title=words, xlabel="relative rank", xlim=(0, 1), ylim=(0, 1))
    for bound in bounds:
        axes[2].plot(ranks, bound, color="C2", lw=2)
    axes[0].set_ylabel("probability")
    return Figure.of("figure-4", "Figure 4 again: 200 maps from each of three priors", figure)


def _truth() -> tuple[Any, Any]:
    data = make_beta_mixture(20_000, random_state=0)
    order = np.argsort(data.scores)
    return data.scores[order], data.probability[order]


def _figure_5(curves: Any) -> Figure:
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(2, 3, figsize=(9.5, 5.6), sharex=True, sharey=True,
                                   layout="constrained")  # fmt: skip
    for ax, (method, lines) in zip(axes.flat, curves.groupby("method", sort=False), strict=True):
        for _, line in lines.groupby("replicate"):
            ax.plot(line["score"], line["probability"], color="C0", lw=0.8)
        ax.plot(*_truth(), color="C3", ls="--")
        ax.set(title=method, xlim=(0, 1), ylim=(0, 1))
    figure.supxlabel("score")
    figure.supylabel("probability")
    n = curves["replicate"].nunique()
    title = f"Figure 5 again: maps of {n} samples of 1000 (blue) and the true map (red)"
    return Figure.of("figure-5", title, figure)


def _figure_6(runs: Any) -> Figure:
    pyplot = need("matplotlib.pyplot")
    figure, axes = pyplot.subplots(1, 3, figsize=(9.5, 3.4), sharey=True, layout="constrained")
    for ax, (n, lines) in zip(axes, runs.groupby("n"), strict=True):
        for _, line in lines.groupby("run"):
            ax.plot(line["score"], line["probability"], color="C0", lw=0.8)
        for bound in ("lower", "upper"):
            ax.plot(line["score"], line[bound], color="C2")
        ax.plot(*_truth(), color="C3", ls="--")
        ax.set(title=f"{int(n)} instances", xlabel="score", xlim=(0, 1), ylim=(0, 1))
    axes[0].set_ylabel("probability")
    title = (
        f"Figure 6 again: {runs['run'].nunique()} runs of Bayes-Iso on the same data (blue), its "
        "limits (green), the true map (red)"
    )
    return Figure.of("figure-6", title, figure)
