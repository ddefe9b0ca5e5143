"""Coverage of the intervals that evaluate and report print, of bands, and the size of tests.

    python benchmarks/coverage/interval_coverage.py [--samples 400] [--part figures classes]

``figures`` draws samples of 50, 500 and 5,000 rows with 2% and 30% events, of a calibrated model
and of one whose log-odds are 1.5 times too large and shifted by 0.2. It counts how often the 90%
interval of each figure contains the value of the population, which follows from the known
probabilities. Samples that raise a ``FewEventsWarning`` are left out and counted. ``classes`` does
the same with three classes. ``bands`` is about 90% consistency bands, ``tests`` about
``calibration_test`` at 5%; both use 1,000 rows. Figures and classes take about 8 CPU minutes.

Other intervals have separate scripts: ``positive_rate.py``, ``guaranteed_thresholds.py``,
``group_thresholds.py``, ``group_intervals.py``, ``probability_intervals.py`` and
``monitor_coverage.py``.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numpy as np
from scipy.special import expit, logit

from trueodds import metrics
from trueodds.decisions import decision_curve
from trueodds.decisions._costs import costs_by_ratio
from trueodds.exceptions import FewEventsWarning
from trueodds.metrics import (
    calibration_test,
    compare_metric,
    confidence_interval,
    group_test,
    reliability_curve,
)

ROWS = 1000
POPULATION = 1_000_000
SIZES = (50, 500, 5000)
RATES = {0.02: -4.55, 0.3: -1.14}
"""The mean of the log-odds for a share of events; their standard deviation is 1.3."""
DRAWS = 200
RATIO = 5.0
"""Cost of a miss over that of a false alarm."""
MODELS = {"calibrated": (1.0, 0.0), "overconfident": (1.5, 0.2)}


def rows(rng, n, center, model):
    """Probabilities of a model, true probabilities, and probabilities of another model."""
    slope, shift = MODELS[model]
    z = rng.normal(center, 1.3, n)
    other = z + rng.normal(0, 0.5, n)
    return expit(slope * z + shift), expit(z), expit(other)


def mean_loss(name, p, q):
    if name == "log_loss":
        return float(-(q * np.log(p) + (1 - q) * np.log1p(-p)).mean())
    return float((q * (1 - p) ** 2 + (1 - q) * p**2).mean())


def area(p, q):
    order = np.argsort(p)
    p, q = p[order], q[order]
    below = np.cumsum(1 - q) - (1 - q) / 2
    return float((q * below).sum() / (q.sum() * (1 - q).sum()))


def fit_logistic(p, q, *, slope):
    """Intercept, or slope, of the population by Newton's method."""
    z = logit(p)
    design = np.stack([np.ones(len(p)), z], axis=1) if slope else np.ones((len(p), 1))
    offset, beta = (0.0 if slope else z), np.zeros(design.shape[1])
    for _ in range(30):
        m = expit(offset + design @ beta)
        beta += np.linalg.solve((design.T * (m * (1 - m))) @ design, design.T @ (q - m))
    return float(beta[-1])


def debiased(p, q, n_bins=15):
    edges = np.quantile(p, np.arange(1, n_bins) / n_bins)
    index = np.searchsorted(edges, p, side="right")
    gap = np.bincount(index, p - q) / np.bincount(index)
    return float(np.sqrt((gap**2).mean()))


def benefit(p, q, t):
    acted = p >= t
    return float((q * acted).mean() - t / (1 - t) * ((1 - q) * acted).mean())


def values_of_the_population(p, q, other, rate):
    brier, f = mean_loss("brier_score", p, q), q.mean()
    part = slice(0, 100_000)
    twice = np.concatenate([p[part], p[part]])
    curve = metrics.curve_errors(
        np.repeat([1, 0], len(p[part])),
        twice,
        sample_weight=np.concatenate([q[part], 1 - q[part]]),
    )
    act = 1 / (1 + RATIO)

    def cost(score):
        acted = score >= act
        return float(((1 - q) * acted).mean() + RATIO * (q * ~acted).mean())

    return {
        "log-loss": mean_loss("log_loss", p, q),
        "Brier score": brier,
        "scaled Brier score": 1 - brier / (f * (1 - f)),
        "C statistic": area(p, q),
        "O:E": f / p.mean(),
        "calibration intercept": fit_logistic(p, q, slope=False),
        "calibration slope": fit_logistic(p, q, slope=True),
        "debiased calibration error": debiased(p, q),
        "ICI": curve.ici,
        "ECI": curve.eci,
        "difference of log-losses": mean_loss("log_loss", p, q) - mean_loss("log_loss", other, q),
        "difference of Brier scores": brier - mean_loss("brier_score", other, q),
        "difference of C statistics": area(p, q) - area(other, q),
        "frequency in a group": f,
        "net benefit": benefit(p, q, 2 * rate),
        "net benefit of treating all": f - 2 * rate / (1 - 2 * rate) * (1 - f),
        "interventions avoided": float(
            ((1 - q) * (p < 2 * rate)).mean()
            - (1 - 2 * rate) / (2 * rate) * (q * (p < 2 * rate)).mean()
        ),
        "saving of costs": cost(p) - cost(other),
    }


def intervals(y, p, other, rate, seed):
    found = {}
    for name, metric in {
        "log-loss": metrics.log_loss,
        "Brier score": metrics.brier_score,
        "scaled Brier score": metrics.scaled_brier_score,
        "C statistic": metrics.c_statistic,
        "O:E": metrics.observed_expected_ratio,
        "calibration intercept": metrics.calibration_intercept,
        "calibration slope": metrics.calibration_slope,
        "debiased calibration error": metrics.debiased_calibration_error,
    }.items():
        interval = confidence_interval(metric, y, p)
        found[name] = interval.low, interval.high
    table = metrics.validation_report(y, p, n_resamples=DRAWS, random_state=seed)
    for name in ("ici", "eci"):
        figure = getattr(table, name)
        found[name.upper()] = figure.low, figure.high
    for name, metric in {
        "difference of log-losses": metrics.log_loss,
        "difference of Brier scores": metrics.brier_score,
        "difference of C statistics": metrics.c_statistic,
    }.items():
        compared = compare_metric(metric, y, p, other)
        found[name] = compared.low, compared.high
    group = group_test(y, p, ["all"] * len(y), classes=[0, 1])[0]
    found["frequency in a group"] = group.observed_low, group.observed_high
    curve = decision_curve(y, p, thresholds=[2 * rate], classes=[0, 1])
    line = curve.models["model"]
    found["net benefit"] = line.low[0], line.high[0]
    found["interventions avoided"] = line.avoided_low[0], line.avoided_high[0]
    found["net benefit of treating all"] = curve.treat_all.low[0], curve.treat_all.high[0]
    costs = costs_by_ratio(y, {"p": p, "other": other}, baseline="p", weights=None, level=0.9)
    at = int(np.argmin(np.abs(costs.ratio - RATIO)))
    found["saving of costs"] = tuple(float(end[at]) for end in costs.saving["other"])
    return found


def figures(samples):
    columns, warned = {}, {}
    start = time.process_time()
    for model in MODELS:
        for rate, center in RATES.items():
            rng = np.random.default_rng(7)
            whole = values_of_the_population(*rows(rng, POPULATION, center, model), rate)
            for n in SIZES:
                key = f"{n:,}, {100 * rate:g}%, {model}"
                missed, tried = {name: [0, 0] for name in whole}, 0
                used = 0
                while used < samples and tried < 4 * samples:
                    tried += 1
                    p, q, other = rows(rng, n, center, model)
                    y = (rng.random(n) < q).astype(int)
                    if not 10 <= y.sum() <= n - 10:
                        continue
                    used += 1
                    for name, (low, high) in intervals(y, p, other, rate, tried).items():
                        missed[name][0] += whole[name] < low
                        missed[name][1] += whole[name] > high
                warned[key] = 1 - used / tried
                columns[key] = {
                    name: (1 - sum(count) / used, *(c / used for c in count))
                    for name, count in missed.items()
                    if used >= samples
                }
                print(f"{key}: {time.process_time() - start:.0f} s", flush=True)
    show(columns, warned)


def show(columns, warned):
    """A table in Markdown: the coverage in %, and the misses on either side if it is not 87–93."""
    names = list(next(cells for cells in columns.values() if cells))
    print("| 90% intervals, in % | " + " | ".join(columns) + " |")
    print("|---" * (len(columns) + 1) + "|")
    for name in names:
        cells = []
        for key in columns:
            found = columns[key].get(name)
            cells.append("–" if found is None else f"{100 * found[0]:.0f}")
        print(f"| {name} | " + " | ".join(cells) + " |")
    if warned:
        shares = " | ".join(f"{100 * share:.0f}" for share in warned.values())
        print(f"| *samples with a warning* | {shares} |")
    for name in names:
        for key, cells in columns.items():
            if name in cells and not 0.87 <= cells[name][0] <= 0.93:
                _, below, above = cells[name]
                print(
                    f"# {name}, {key}: true value below in {100 * below:.1f}%, "
                    f"above in {100 * above:.1f}%"
                )


def classes(samples):
    """Three classes; log-odds of two models are right, and 1.5 times too large."""
    columns = {}
    for power, model in ((1.0, "calibrated"), (1.5, "overconfident")):
        rng = np.random.default_rng(7)

        def draw(n, rng=rng, power=power):
            q = rng.dirichlet([2, 1, 1], n)
            p = q**power
            return p / p.sum(axis=1, keepdims=True), q

        p, q = draw(POPULATION)
        top = p.argmax(axis=1)
        confidence, right = p.max(axis=1), q[np.arange(len(q)), top]
        whole = {
            "log_loss": float(-(q * np.log(p)).sum(axis=1).mean()),
            "brier_score": float(
                (q * ((p**2).sum(axis=1, keepdims=True) + 1 - 2 * p)).sum() / len(q)
            ),
            "accuracy": float(right.mean()),
            "debiased_calibration_error": debiased(confidence, right),
        }
        for n in SIZES:
            missed, used = {name: [0, 0] for name in whole}, 0
            while used < samples:
                p, q = draw(n)
                y = (rng.random((n, 1)) >= np.cumsum(q, axis=1)).sum(axis=1).clip(0, 2)
                hits = (p.argmax(axis=1) == y).sum()
                if not 10 <= hits <= n - 10:
                    continue
                used += 1
                found = metrics.evaluate_classes(y, p, classes=[0, 1, 2]).metrics
                for name, value in whole.items():
                    missed[name][0] += value < found[name].low
                    missed[name][1] += value > found[name].high
            columns[f"{n:,}, {model}"] = {
                name: (1 - sum(count) / used, *(c / used for c in count))
                for name, count in missed.items()
            }
    show(columns, {})


def charcoal(rng, n):
    """Section 3 of the charcoal grill paper: right below one half, too high above."""
    p = rng.random(n)
    z = logit(p)
    return p, expit(np.where(z > 0, z / 5, z))


def overconfident(rng, n):
    """Log-odds twice as large as they should be."""
    z = rng.normal(0, 1.5, n)
    return expit(2 * z), expit(z)


def rare(rng, n):
    """Few positives, and probabilities that are too high."""
    p = rng.beta(0.6, 6, n)
    return p, expit(0.8 * logit(np.clip(p, 1e-9, None)) - 0.5)


GENERATORS = (charcoal, overconfident, rare)


def bands(repetitions):
    print(f"90% consistency bands of calibrated models, n = {ROWS}: share of points within")
    for strategy in ("uniform", "quantile", "corp", "smooth"):
        for generator in GENERATORS:
            rng = np.random.default_rng(7)
            inside = []
            for seed in range(repetitions):
                p, _ = generator(rng, ROWS)
                y = (rng.random(ROWS) < p).astype(int)
                curve = reliability_curve(
                    y, p, strategy=strategy, n_resamples=200, random_state=seed
                )
                value = np.interp(curve.band_x, curve.prob_pred, curve.prob_true)
                within = (value >= curve.band_low) & (value <= curve.band_high)
                inside.append(within.mean())
            print(
                f"  {strategy:28s} {generator.__name__:14s} {100 * np.mean(inside):5.1f}%",
                flush=True,
            )


def tests(repetitions):
    print(f"tests at 5%, calibrated models, n = {ROWS}: share rejected")
    for method in ("spiegelhalter", "ece", "mce", "rms"):
        for generator in GENERATORS:
            rng = np.random.default_rng(7)
            rejected = 0
            for seed in range(repetitions):
                p, _ = generator(rng, ROWS)
                y = (rng.random(ROWS) < p).astype(int)
                result = calibration_test(y, p, method=method, n_resamples=199, random_state=seed)
                rejected += result.p_value <= 0.05
            print(
                f"  {method:28s} {generator.__name__:14s} {100 * rejected / repetitions:5.1f}%",
                flush=True,
            )


PARTS = {"figures": figures, "classes": classes, "bands": bands, "tests": tests}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--samples", type=int, default=400)
    parser.add_argument("--part", nargs="+", choices=PARTS, default=["figures", "classes"])
    chosen = parser.parse_args()
    warnings.simplefilter("ignore", FewEventsWarning)
    for part in chosen.part:
        PARTS[part](chosen.samples)


if __name__ == "__main__":
    main()
