"""Charcoal Grill Scaling on the paper's synthetic scores: what the study of the paper leaves open.

    python benchmarks/choices/charcoal_synthetic.py factor
        the factor before λ: on the ten seeds it was chosen on, and on 20 seeds from 100 on
    python benchmarks/choices/charcoal_synthetic.py methods [seeds]
        every method by temperature (figure 9), drawn into docs/images/charcoal-figure9.png

1000 uniform probabilities p are labeled by equation 5: z = ln(p/(1 − p)) is right up to 0 and is
divided by T above. Held out: the 10⁵ midpoints of an even grid of p with the true probabilities
instead of labels, which the paper's sampled points approximate. ECE in %, ten bins of equal width;
unweighted: the mean over bins that are not empty. Log-loss in nats.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy.special import expit, logit

from trueodds import CharcoalGrillCalibrator, IdentityCalibrator
from trueodds.calibrators import all_calibrators
from trueodds.calibrators._charcoal_grill.fit import PULL
from trueodds.exceptions import TrueoddsWarning

N_FIT = 1000
HELD_OUT = 10**5
FACTORS = (1, 20, 100)
TEMPERATURES = (1.1, 1.5, 2.0, 3.0, 5.0, 10.0)


def true_probability(p: np.ndarray, temperature: float) -> np.ndarray:
    z = logit(p)
    return expit(np.where(z > 0, z / temperature, z))


def sample(seed: int, temperature: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    p = rng.uniform(size=N_FIT)
    return p, (rng.uniform(size=N_FIT) < true_probability(p, temperature)).astype(int)


def measure(q: np.ndarray, true: np.ndarray) -> tuple[float, float, float]:
    """Weighted and unweighted ECE in %, and the expected log-loss."""
    bins = np.minimum((10 * q).astype(np.intp), 9)
    count = np.bincount(bins, minlength=10)
    gap = np.abs(np.bincount(bins, q - true, 10))
    used = count > 0
    safe = np.clip(q, 1e-12, 1 - 1e-12)  # isotonic regression gives exact 0 and 1
    loss = -np.mean(true * np.log(safe) + (1 - true) * np.log1p(-safe))
    return 100 * gap.sum() / len(q), 100 * float((gap[used] / count[used]).mean()), float(loss)


def figure_methods() -> dict[str, Callable[[], object]]:
    """Every method that needs a score alone, and 2, 3 and 5 coals.

    One-vs-rest is for several classes, and on two classes matrix scaling is vector scaling.
    """
    methods: dict[str, Callable[[], object]] = {"original": IdentityCalibrator}
    for name, method in all_calibrators().items():
        if name not in ("identity", "charcoal_grill", "group", "one_vs_rest", "tree", "matrix"):
            methods[name.replace("_", " ")] = method
    for n in (2, 3, 5):
        methods[f"{n} coals"] = lambda n=n: CharcoalGrillCalibrator(n_components=n)
    return methods


def run(
    methods: dict[str, Callable[[], object]], temperature: float, seeds: range
) -> dict[str, np.ndarray]:
    """(seeds, 3) measures for each method."""
    grid = (np.arange(HELD_OUT) + 0.5) / HELD_OUT
    true = true_probability(grid, temperature)
    rows: dict[str, list[tuple[float, float, float]]] = {name: [] for name in methods}
    for seed in seeds:
        p, y = sample(seed, temperature)
        for name, make in methods.items():
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", TrueoddsWarning)
                fitted = make().fit(p, y)
            rows[name].append(measure(fitted.predict_proba(grid)[:, 1], true))
    return {name: np.array(values) for name, values in rows.items()}


def factor() -> None:
    """Weighted ECE by the factor before λ, that of ``regularization``: widths are fixed."""
    methods: dict[str, Callable[[], object]] = {}
    for times in FACTORS:
        for bias in (False, True):
            for n in (2, 3):
                methods[f"{times}: {n} coals, {'bias' if bias else 'no bias'}"] = (
                    lambda n=n, bias=bias, lam=0.01 * times / PULL: CharcoalGrillCalibrator(
                        n_components=n, bias=bias, regularization=lam
                    )
                )
    chosen, fresh = (run(methods, 5.0, seeds) for seeds in (range(10), range(100, 120)))
    print("| factor: model | weighted ECE, seeds 0 to 9 | seeds 100 to 119 | log-loss, both |")
    print("|---|---|---|---|")
    for name in methods:
        both = chosen[name], fresh[name]
        cells = [f"{v[:, 0].mean():.2f} ± {v[:, 0].std(ddof=1):.2f}" for v in both]
        losses = ", ".join(f"{v[:, 2].mean():.4f}" for v in both)
        print(f"| {name} | {cells[0]} | {cells[1]} | {losses} |")


def every_method(seeds: range) -> None:
    means: dict[str, list[np.ndarray]] = {}
    for temperature in TEMPERATURES:
        for name, values in run(figure_methods(), temperature, seeds).items():
            means.setdefault(name, []).append(values.mean(axis=0))
    print("| method | " + " | ".join(f"T = {t:g}" for t in TEMPERATURES) + " |")
    print("|---|" + "---|" * len(TEMPERATURES))
    for name, rows in means.items():
        print(f"| {name} | " + " | ".join(f"{w:.2f} / {u:.2f}" for w, u, _ in rows) + " |")
    draw({name: np.array(rows) for name, rows in means.items()}, len(seeds))


def draw(means: dict[str, np.ndarray], seeds: int) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(10.5, 4.6), sharey=True, layout="constrained")
    words = ("weighted ECE, %", "unweighted ECE, %")
    for column, (ax, word) in enumerate(zip(axes, words, strict=True)):
        colors = plt.get_cmap("tab20").colors
        for color, (name, rows) in zip(colors, means.items(), strict=False):
            ours = "coals" in name
            ax.plot(
                TEMPERATURES,
                rows[:, column],
                marker="s" if ours else "o",
                ms=4 if ours else 3,
                lw=2.2 if ours else 1.0,
                ls="-" if ours else "--",
                color=color,
                label=name,
            )
        ax.set(xscale="log", xlabel="temperature that corrupts scores above 0.5", ylim=(0, 15))
        ax.set_title(word, fontsize=10)
        ax.set_xticks(TEMPERATURES, [f"{t:g}" for t in TEMPERATURES])
        ax.minorticks_off()
        ax.grid(alpha=0.3)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside right center", frameon=False)
    axes[0].set_ylabel(f"mean of {seeds} seeds")
    figure.savefig(Path(__file__).parents[2] / "docs/images/charcoal-figure9.png", dpi=110)


if __name__ == "__main__":
    part, *count = sys.argv[1:]
    if part == "factor":
        factor()
    else:
        every_method(range(int(count[0]) if count else 5))
