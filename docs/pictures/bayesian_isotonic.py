"""Pictures of Bayesian isotonic calibration, after figures 4 to 6 of Allikivi and Kull (2019).

python docs/pictures/bayesian_isotonic.py [folder for the pictures]
"""

from __future__ import annotations

import sys
import warnings
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt
from scipy.stats import beta

from trueodds import (
    BayesianIsotonicCalibrator,
    BetaCalibrator,
    IsotonicCalibrator,
    LogisticCalibrator,
)
from trueodds.calibrators._bayesian_isotonic.bounds import isotonic_bounds
from trueodds.exceptions import TrueoddsWarning
from trueodds.kernels.bayesian_isotonic import draw_maps
from trueodds.plots import CalibrationMapDisplay
from trueodds.table import ScoreTable
from trueodds_studies.papers.enir import AuthorsENIR

BLUE, RED, GREEN = "#0072B2", "#D55E00", "#009E73"
GRID = np.linspace(0.001, 0.999, 500)


def sample(n, seed):
    """Section 5.1 of the paper: half of the positives score high, half look like negatives."""
    rng = np.random.default_rng([n, seed])
    y = np.arange(n) < n // 2
    upper = rng.random(n) < 0.5
    rises = np.where(upper, rng.beta(30, 3, n), rng.beta(1.5, 3, n))
    return np.where(y, rises, rng.beta(1, 3, n)), y


def truth(scores):
    positive = (beta.pdf(scores, 1.5, 3) + beta.pdf(scores, 30, 3)) / 2
    return positive / (positive + beta.pdf(scores, 1, 3))


def draw_prior(folder):
    """Figure 4: a bad prior, the prior, and the prior between bounds."""
    ranks, maps = 100, 200
    sorted_uniforms = np.sort(np.random.default_rng(0).random((maps, ranks)), axis=1)
    table = ScoreTable.from_arrays(*sample(ranks, 0))
    lower, upper = isotonic_bounds(table.n_neg, table.n_pos, "authors")
    panels = {
        "A  sorted uniform numbers": sorted_uniforms,
        "B  the prior": draw_maps(np.zeros(ranks), np.ones(ranks), np.arange(maps), seed=0),
        "C  the prior between bounds": draw_maps(lower, upper, np.arange(maps), seed=0),
    }
    figure, axes = plt.subplots(1, 3, figsize=(9.6, 3.3), sharey=True, layout="constrained")
    x = np.linspace(0, 1, ranks)
    for ax, (title, drawn) in zip(axes, panels.items(), strict=True):
        ax.plot(x, drawn.T, color=BLUE, lw=0.5, alpha=0.25)
        ax.set_title(title, loc="left", fontsize="medium")
        ax.set_xlabel("rank of the score")
    axes[2].plot(x, lower, color=GREEN, lw=1.5)
    axes[2].plot(x, upper, color=GREEN, lw=1.5, label="bounds")
    axes[2].legend(frameon=False, loc="lower right")
    axes[0].set_ylabel("probability")
    figure.savefig(folder / "bayesian-isotonic-prior.png", dpi=110)


def draw_replicates(folder):
    """Figure 5: ten data sets of 1000, six methods."""
    methods = {
        "Bayesian isotonic": BayesianIsotonicCalibrator(),
        "isotonic (Platt)": IsotonicCalibrator(label_smoothing="platt"),
        "ENIR (Platt)": AuthorsENIR(label_smoothing="platt"),
        "Bayesian isotonic (importance)": BayesianIsotonicCalibrator(sampler="importance"),
        "beta (Platt)": BetaCalibrator(label_smoothing="platt"),
        "logistic (Platt)": LogisticCalibrator(label_smoothing="platt"),
    }
    figure, axes = plt.subplots(
        2, 3, figsize=(9.6, 6.2), sharex=True, sharey=True, layout="constrained"
    )
    for ax, (name, calibrator) in zip(axes.flat, methods.items(), strict=True):
        for seed in range(10):
            ax.plot(GRID, calibrator.fit(*sample(1000, seed)).map_(GRID), color=BLUE, lw=0.8)
        ax.plot(GRID, truth(GRID), color=RED, lw=1.5, ls="--", label="true curve")
        ax.set_title(name, loc="left", fontsize="medium")
    axes[0, 0].legend(frameon=False)
    for ax in axes[1]:
        ax.set_xlabel("score")
    for ax in axes[:, 0]:
        ax.set_ylabel("calibrated probability")
    figure.savefig(folder / "bayesian-isotonic-replicates.png", dpi=110)


def draw_runs(folder):
    """Figure 6: ten runs on one data set of each size, by both samplers."""
    sizes = (100, 1000, 10_000)
    figure, axes = plt.subplots(
        2, 3, figsize=(9.6, 6.2), sharex=True, sharey=True, layout="constrained"
    )
    for column, n in enumerate(sizes):
        data = sample(n, 0)
        for ax, sampler in zip(axes[:, column], ("importance", "mcmc"), strict=True):
            sizes_of_runs = []
            for seed in range(10):
                calibrator = BayesianIsotonicCalibrator(
                    sampler=sampler, random_state=seed, n_jobs=2
                ).fit(*data)
                ax.plot(GRID, calibrator.map_(GRID), color=BLUE, lw=0.7)
                sizes_of_runs.append(calibrator.effective_sample_size_)
            if sampler == "importance":
                for bound in calibrator.posterior_.bounds:
                    ax.plot(calibrator.map_.x, bound, color=GREEN, lw=1, alpha=0.8)
            ax.plot(GRID, truth(GRID), color=RED, lw=1.3, ls="--")
            words = f"{sampler}, N = {n:,}\neffective sample size {np.median(sizes_of_runs):.0f}"
            ax.set_title(words, loc="left", fontsize="medium")
    for ax in axes[1]:
        ax.set_xlabel("score")
    for ax in axes[:, 0]:
        ax.set_ylabel("calibrated probability")
    axes[0, 0].plot([], [], color=BLUE, label="ten runs")
    axes[0, 0].plot([], [], color=GREEN, label="bounds")
    axes[0, 0].plot([], [], color=RED, ls="--", label="true curve")
    axes[0, 0].legend(frameon=False, fontsize="small")
    figure.savefig(folder / "bayesian-isotonic-runs.png", dpi=110)


def draw_bands(folder):
    """Bands that narrow as data come in, and draws of the map."""
    figure, axes = plt.subplots(
        1, 3, figsize=(9.6, 3.9), sharex=True, sharey=True, layout="constrained"
    )
    for ax, n in zip(axes, (100, 1000, 10_000), strict=True):
        scores, y = sample(n, 1)
        calibrator = BayesianIsotonicCalibrator().fit(scores, y)
        display = CalibrationMapDisplay.from_calibrator(calibrator, name="posterior mean")
        display.plot(ax, legend=False)
        for drawn in calibrator.sample_maps(5):
            ax.plot(GRID, drawn(GRID), color="0.35", lw=0.6)
        ax.plot([], [], color="0.35", lw=0.6, label="five draws")
        ax.plot(GRID, truth(GRID), color=RED, lw=1.3, ls="--", label="true curve")
        ax.set_title(f"N = {n:,}", loc="left", fontsize="medium")
        ax.set_xlabel("score")
        if n > 100:
            ax.set_ylabel("")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=5, frameon=False)
    figure.savefig(folder / "bayesian-isotonic-bands.png", dpi=110)


def main():
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parents[1] / "images"
    folder.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TrueoddsWarning)  # importance sampling, at 10⁴
        for draw in (draw_prior, draw_replicates, draw_runs, draw_bands):
            draw(folder)


if __name__ == "__main__":
    main()
