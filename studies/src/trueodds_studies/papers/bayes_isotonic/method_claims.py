"""Claims of the paper about its method (abstract, section 4), and its open question.

They are judged on synthetic scores, where the true map is known.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from trueodds_studies._report import Claim, Table, by_readings
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.bayes_isotonic.extras import FREE, TRUE_MAPS
from trueodds_studies.papers.bayes_isotonic.findings import Gap
from trueodds_studies.papers.bayes_isotonic.synthetic import true_map
from trueodds_studies.papers.bayes_isotonic.verdicts import judged_leads

__all__ = ["merged_table", "method_claims"]

FLAT = 1e-9
"""A grid step that rises by less is on a plateau."""


def method_claims(results: Results) -> list[Claim]:
    """Priors, bounds, smoothness, time."""
    maps = _maps(results)
    return [
        _smoothness(maps),
        _raggedness(maps),
        _bad_prior(results),
        _dominated(results),
        _good_estimate(maps),
        _linear_time(results),
    ]


def _gap(values: Any) -> Gap:
    n = len(values)
    return Gap(float(values.mean()), float(values.std() / math.sqrt(n)) if n > 1 else math.inf, n)


def _maps(results: Results) -> Any:
    """Samples (n, replicate) × methods, each cell a map on the grid."""
    lines = pick_rows(results.frame, part="posterior")
    groups = lines.groupby(["n", "replicate", "method"], sort=False)["probability"]
    return groups.apply(np.asarray).unstack("method")


def _flat(maps: Any, method: str, n: int) -> Any:
    """Share of the grid on plateaus, sample by sample."""
    return maps.loc[n][method].map(lambda p: float(np.mean(np.diff(p) < FLAT)))


def _smoothness(maps: Any) -> Claim:
    gaps, words = [], []
    for n in (100, 1000):
        rough, smooth = (_flat(maps, method, n) for method in ("iso", "bayes-iso"))
        gaps.append(_gap(rough - smooth))
        words.append(f"{n} rows: isotonic {rough.mean():.0%}, Bayes-Iso {smooth.mean():.0%}")
    claim = Claim(
        "Bayes-Iso adds smoothness.",
        "abstract",
        True,
        f"share of the scores on plateaus, {len(maps.loc[100])} samples, {'; '.join(words)}",
    )
    return judged_leads(claim, gaps)


def _raggedness(maps: Any) -> Claim:
    gaps, words = [], []
    for n in (100, 1000):
        plain, corrected = (_flat(maps, method, n) for method in ("iso", "iso-platt"))
        gaps.append(_gap(plain - corrected))
        words.append(f"{n} rows: {plain.mean():.0%} and {corrected.mean():.0%}")
    smoother = any(gap.sign > 0 for gap in gaps)
    return Claim(
        "Label smoothing does not reduce the raggedness of isotonic calibration.",
        "abstract",
        not smoother,
        "share of the scores on plateaus without and with Platt's correction, " + "; ".join(words),
        "refuted" if smoother else None,
    )


def _bad_prior(results: Results) -> Claim:
    lines = pick_rows(results.frame, part="prior")
    wide = lines.pivot(index=["true", "replicate"], columns="method", values="distance")
    toward = lines[lines["method"] == "sorted"].groupby("true")["distance_of_diagonal"].mean()
    gaps, words = [], []
    for name in TRUE_MAPS:
        here = wide.loc[name]
        gap = _gap(here["sorted"] - here["paper"])
        if name != "diagonal":
            gaps.append(gap)
        words.append(
            f"{name} {here['sorted'].mean():.3f} (the paper's prior {here['paper'].mean():.3f}; "
            f"difference {gap}; the diagonal itself {toward[name]:.3f})"
        )
    claim = Claim(
        "With sorted uniform numbers as prior a map off the diagonal is almost impossible to "
        "learn.",
        "section 4.2, figure 4",
        True,
        "distance of the posterior mean from the true map, 200 rows: "
        + "; ".join(words)
        + "; judged: significantly further off than with the paper's prior on both maps off the "
        "diagonal",
    )
    return judged_leads(claim, gaps)


def _dominated(results: Results) -> Claim:
    lines = pick_rows(results.frame, part="posterior", method=[FREE, "bayes-iso"])
    heaviest = lines.groupby(["n", "replicate", "method"])["heaviest"].first().unstack("method")
    gaps = [_gap((heaviest[FREE] - heaviest["bayes-iso"]).loc[n]) for n in (100, 1000)]
    means = heaviest.groupby("n").mean()
    words = "; ".join(
        f"{n} rows: {means.loc[n, FREE]:.2f} without, {means.loc[n, 'bayes-iso']:.2f} with"
        for n in (100, 1000)
    )
    claim = Claim(
        "Without bounds the estimate is dominated by very few maps.",
        "section 4.3",
        True,
        f"weight of the heaviest of 10,000 maps: {words}",
    )
    return judged_leads(claim, gaps)


def _good_estimate(maps: Any) -> Claim:
    """Judge whether its distance from the unbounded mean is less than the error of that mean."""
    scores, true = true_map()
    grid = np.linspace(0, 1, len(maps.iloc[0]["chains"]))

    def distance(first: Any, second: Any) -> float:
        gap = np.interp(scores, grid, first) - (
            np.interp(scores, grid, second) if len(second) == len(grid) else second
        )
        return float(np.sqrt(np.mean(gap**2)))

    def judge(method: str) -> Claim:
        gaps, words = [], []
        for n in (100, 1000):
            here = maps.loc[n]
            apart = here.apply(lambda row: distance(row[method], row["chains"]), axis=1)
            off = here["chains"].map(lambda p: distance(p, true))
            gaps.append(_gap(off - apart))
            words.append(f"{n} rows: {apart.mean():.4f}, from the true map {off.mean():.4f}")
        claim = Claim(
            "Between bounds the estimate of the posterior mean with the original prior is "
            "reasonably good.",
            "section 4.3",
            True,
            "root mean square distance from the mean of the chains, which need no bounds, "
            + "; ".join(words)
            + "; judged: nearer to it than it is to the true map",
        )
        return judged_leads(claim, gaps)

    readings = {"text": judge("bayes-iso-text"), "program": judge("bayes-iso")}
    return by_readings(readings, program="program")


def _linear_time(results: Results) -> Claim:
    times = pick_rows(results.frame, part="time").pivot(
        index="n", columns="maps", values="milliseconds"
    )
    few, many = sorted(times.columns)
    rows = sorted(times.index)
    by_maps = math.log(times.loc[rows[-1], many] / times.loc[rows[-1], few]) / math.log(many / few)
    by_rows = math.log(times.loc[rows[-1], many] / times.loc[rows[-2], many]) / math.log(
        rows[-1] / rows[-2]
    )
    good = max(by_maps, by_rows) <= 1.25
    shown = ", ".join(f"{n:.0f} rows {times.loc[n, many]:.0f} ms" for n in rows)
    return Claim(
        "A fit takes O(s·n) time for s maps and n rows.",
        "section 4",
        good,
        f"{many:.0f} maps: {shown}; exponent of the last step {by_rows:.2f}, of the number of maps "
        f"({few:.0f} to {many:.0f}) {by_maps:.2f}; judged: at most 1.25",
        None if good else "solver",
    )


def merged_table(results: Results) -> Table:
    """The paper's future work: bins of 1000 consecutive ranks, merged."""
    lines = pick_rows(results.frame, part="merged")
    rows: list[list[Any]] = []
    for n, here in lines.groupby("n", sort=True):
        wide = here.pivot(index="replicate", columns="method", values="log_loss_excess")
        brier = here.pivot(index="replicate", columns="method", values="brier_excess")
        seconds = here.groupby("method")["cpu_seconds"].median()
        for method in ("bayes-iso", "merged", "chains", "iso-platt"):
            if method not in wide:
                continue
            gap = _gap(wide[method] - wide["chains"])
            against = (
                "" if method == "chains" else f"{1000 * gap.mean:+.2f} ± {1000 * gap.error:.2f}"
            )
            rows.append(
                [
                    f"{int(n):,}", method, f"{1000 * wide[method].mean():.2f}",
                    f"{1000 * brier[method].mean():.2f}", against, f"{seconds[method]:.2g}",
                ]
            )  # fmt: skip
    heads = ["rows", "method", "log-loss", "Brier score", "log-loss less chains'", "CPU seconds"]
    return Table(
        "Bins of 1000 ranks, merged",
        heads,
        rows,
        note="The paper's future work: a map for each bin of 1000 consecutive ranks, merged into "
        "one (here by isotonic regression of the joined maps). 1000 × the expected loss above that "
        f"of the true probabilities, means of {lines['replicate'].nunique()} samples, ± standard "
        "errors of paired differences.",
    )
