"""False alarms and power of every test of calibration in the product, by simulation.

    python benchmarks/coverage/test_size_and_power.py --output docs/tests.md   # 6 CPU minutes
    python benchmarks/coverage/test_size_and_power.py --share 0.1              # a tenth of them

Labels are drawn from the probabilities themselves (false alarms), or from probabilities with other
log-odds (power). The page is written whole: edit it here.
"""

# ruff: noqa: E501  # lines of the page

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit, logit

from trueodds import CalibrationMonitor, ScoreTable
from trueodds.exceptions import InputError
from trueodds.metrics import (
    brier_score,
    calibration_band,
    calibration_test,
    compare_metric,
    evaluate_counts,
    group_test,
)
from trueodds.metrics._exact_test import exact_test

LEVEL = 0.05
SCORES: dict[str, Callable[[np.random.Generator, int], Any]] = {
    "distinct": lambda rng, n: expit(rng.normal(-0.5, 1.5, n)),
    "tied": lambda rng, n: rng.choice([0.1, 0.3, 0.5, 0.7, 0.9], n),
    "percent": lambda rng, n: np.clip(np.round(rng.beta(1, 5, n), 2), 0.01, 0.99),
    "rare": lambda rng, n: rng.beta(0.5, 50, n),
    "saturated": lambda rng, n: rng.choice([0.001, 0.01, 0.95, 0.99, 0.999], n),
}
MEANING = {
    "distinct": "all different, log-odds normal with mean −0.5 and standard deviation 1.5",
    "tied": "0.1, 0.3, 0.5, 0.7 or 0.9",
    "percent": "whole percent, most of them small",
    "rare": "all different, 1% on average",
    "saturated": "0.001, 0.01, 0.95, 0.99 or 0.999",
}
SAMPLES = {50: 1000, 200: 1000, 1000: 1000, 10_000: 400, 100_000: 100}
GROUPS = 10
GROUP_SAMPLES = {5: 1000, 20: 1000, 100: 600, 500: 300, 5000: 100}
DRAWN = ("ece", "mce", "rms")
FAST = ("exact", "mean", "slope", "Spiegelhalter", "Cox", "Hosmer–Lemeshow")
DEPARTURES = {
    "log-odds 0.25 too high": lambda z: z - 0.25,
    "log-odds 1.25 times too large": lambda z: z / 1.25,
}


def p_values(y: Any, p: Any) -> dict[str, float]:
    """The tests that need no draws; 1 where a test is not defined."""
    both = [0, 1]
    found = exact_test(ScoreTable.from_codes(p, y))
    values = {"exact": found.p_value, "mean": found.mean}
    values["slope"] = 1.0 if found.slope is None else found.slope
    for name in ("spiegelhalter", "cox", "hosmer_lemeshow"):
        try:
            values[name] = calibration_test(y, p, method=name, classes=both).p_value
        except InputError:  # no slope: one class, or perfectly separated ones
            values[name] = 1.0
    return {name: values[key] for name, key in zip(FAST, values, strict=True)}


def drawn_p_values(y: Any, p: Any, seed: int) -> dict[str, float]:
    """The tests that redraw labels."""
    options = {"classes": [0, 1], "n_resamples": 99, "random_state": seed}
    return {name: calibration_test(y, p, method=name, **options).p_value for name in DRAWN}


def shares(
    samples: int, n: int, scores: str, truth: Callable[[Any], Any] | None, rng: Any, drawn: bool
) -> dict[str, tuple[float, int]]:
    """How often each test rejects, and of how many samples."""
    counts: dict[str, int] = {}
    with_draws = samples // 3 if drawn else 0
    for sample in range(samples):
        p = SCORES[scores](rng, n)
        y = rng.random(n) < (p if truth is None else expit(truth(logit(p))))
        found = p_values(y, p)
        if sample < with_draws:
            found |= drawn_p_values(y, p, sample)
        for name, p_value in found.items():
            counts[name] = counts.get(name, 0) + (p_value < LEVEL)
    sizes = {name: with_draws if name in DRAWN else samples for name in counts}
    return {name: (count / sizes[name], sizes[name]) for name, count in counts.items()}


def family_share(samples: int, size: int, scores: str, rng: Any) -> float:
    """How often any of ten calibrated groups is flagged."""
    group = np.repeat(np.arange(GROUPS), size).astype(str)
    alarms = 0
    for _ in range(samples):
        p = SCORES[scores](rng, len(group))
        alarms += any(g.flagged for g in group_test(rng.random(len(p)) < p, p, group))
    return alarms / samples


def group_power(samples: int, size: int, truth: Callable[[Any], Any], rng: Any) -> float:
    """How often the one group of ten that is off is flagged."""
    group = np.repeat(np.arange(GROUPS), size).astype(str)
    found = 0
    for _ in range(samples):
        p = SCORES["distinct"](rng, len(group))
        y = rng.random(len(p)) < np.where(group == "3", expit(truth(logit(p))), p)
        found += any(g.flagged and g.value == "3" for g in group_test(y, p, group))
    return found / samples


def others(share: float, rng: Any) -> Iterator[tuple[str, str, float, float, int]]:
    """Tests of other kinds: what, on what, level, share of false alarms, samples."""
    for n in (200, 2000):
        samples = max(20, round(300 * share))
        count = 0
        for _ in range(samples):
            p = SCORES["distinct"](rng, n)
            low, high = calibration_band(rng.random(n) < p, p).interval(p)
            count += bool(((low > p) | (high < p)).any())
        yield "`calibration_band` leaves the diagonal", f"{n:,} rows", 0.1, count / samples, samples
    for scores in ("distinct", "rare"):
        samples = max(20, round(300 * share))
        count = 0
        for _ in range(samples):
            p = SCORES[scores](rng, 5000)
            count += CalibrationMonitor().update(p, rng.random(5000) < p).alarm
        rows = f"{scores}, looked at after each of 5,000 rows"
        yield "alarm of `CalibrationMonitor`", rows, LEVEL, count / samples, samples
    for n in (50, 200, 1000):
        samples = max(20, round(300 * share))
        count = 0
        for sample in range(samples):
            # Two forecasts that are equally wrong.
            z = rng.normal(-0.5, 1.5, n)
            a, b = (expit(z + rng.normal(0, 0.5, n)) for _ in range(2))
            y = rng.random(n) < expit(z)
            options = {"n_resamples": 199, "random_state": sample}
            count += compare_metric(brier_score, y, a, b, **options).p_value < LEVEL
        yield "`compare_metric` of Brier scores", f"{n:,} rows", LEVEL, count / samples, samples
    for n in (50, 1000):
        samples = max(20, round(600 * share))
        count = 0
        for _ in range(samples):
            prob = rng.dirichlet([0.5, 0.5, 0.5], n)
            y = (prob.cumsum(axis=1) > rng.random((n, 1))).argmax(axis=1)
            count += calibration_test(y, prob, classes=[0, 1, 2]).p_value < LEVEL
        what = "Spiegelhalter's test of three classes (`evaluate_classes`)"
        yield what, f"{n:,} rows", LEVEL, count / samples, samples
    for scores in ("percent", "rare"):
        samples = max(20, round(200 * share))
        count = 0
        for _ in range(samples):
            p = SCORES[scores](rng, 100)
            table = ScoreTable.from_codes(p, rng.random(100) < p)
            count += evaluate_counts(table, n_resamples=20).finding().startswith("Not calibrated")
        yield (
            "verdict of `evaluate`: “Not calibrated”",
            f"{scores}, 100 rows",
            LEVEL,
            (count / samples),
            samples,
        )


def limit(level: float, samples: int) -> float:
    """The level and two standard errors."""
    return level + 2 * float(np.sqrt(level * (1 - level) / samples))


def cell(share: float, samples: int, level: float = LEVEL) -> str:
    """A share in per cent; bold if it is above the level by more than two standard errors."""
    text = f"{100 * share:.1f}"
    return f"**{text}**" if share > limit(level, samples) else text


def table(header: list[str], rows: list[list[str]]) -> list[str]:
    """A table of Markdown."""
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return [*lines, *("| " + " | ".join(row) + " |" for row in rows), ""]


def page(share: float) -> Iterator[str]:
    """The lines of the page."""
    rng = np.random.default_rng(0)
    above: dict[str, list[str]] = {}
    cells = 0
    rows = []
    for scores in SCORES:
        for n, most in SAMPLES.items():
            samples = max(20, round(most * share))
            found = shares(samples, n, scores, None, rng, drawn=n <= 1000)
            for name, (value, size) in found.items():
                cells += 1
                if value > limit(LEVEL, size):
                    above.setdefault(name, []).append(f"{scores}, {n:,}")
            shown = [cell(*found[name]) if name in found else "–" for name in (*FAST, *DRAWN)]
            rows.append([scores, f"{n:,}", *shown])
            print(rows[-1], file=sys.stderr, flush=True)
    yield from table(["scores", "rows", *FAST, *DRAWN], rows)
    yield f"{sum(map(len, above.values()))} of {cells} cells are bold. For a test at exactly 5%, chance makes"
    yield "about one cell in 40 bold."
    yield ""
    yield from (f"- {name}: {'; '.join(where)}." for name, where in above.items())
    yield ""
    yield "## Groups"
    yield "Percentage of samples in which `group_test`, `trueodds evaluate --group` or the report flags any of"
    yield f"{GROUPS} calibrated groups:"
    yield ""
    rows = []
    for scores in SCORES:
        row = []
        for size, most in GROUP_SAMPLES.items():
            samples = max(20, round(most * share))
            row.append(cell(family_share(samples, size, scores, rng), samples))
        rows.append([scores, *row])
        print(rows[-1], file=sys.stderr, flush=True)
    yield from table(["scores", *(f"{size:,} rows each" for size in GROUP_SAMPLES)], rows)
    yield "## Other tests"
    rows = []
    for what, where, level, found, samples in others(share, rng):
        rows.append([what, where, f"{100 * level:g}", cell(found, samples, level)])
        print(rows[-1], file=sys.stderr, flush=True)
    yield from table(["test", "samples of", "level (%)", "false alarms (%)"], rows)
    yield "`compare_metric` is a bootstrap and needs about 200 rows."
    yield ""
    yield "## Power"
    yield "Percentage of samples in which a test rejects at the 5% level:"
    yield ""
    rows = []
    for departure, truth in DEPARTURES.items():
        for scores in ("distinct", "rare"):
            for n in (200, 1000, 10_000):
                samples = max(20, round(150 * share))
                found = shares(samples, n, scores, truth, rng, drawn=n <= 1000)
                shown = [
                    f"{100 * found[name][0]:.0f}" if name in found else "–"
                    for name in (*FAST, *DRAWN)
                ]
                rows.append([departure, scores, f"{n:,}", *shown])
                print(rows[-1], file=sys.stderr, flush=True)
    yield from table(["scores are", "scores", "rows", *FAST, *DRAWN], rows)
    yield f"Percentage of samples in which `group_test` flags the one of {GROUPS} groups that is miscalibrated"
    yield "(distinct scores):"
    yield ""
    rows = []
    for departure, truth in DEPARTURES.items():
        row = []
        for size in (100, 500, 2000):
            samples = max(20, round(100 * share))
            row.append(f"{100 * group_power(samples, size, truth, rng):.0f}")
        rows.append([departure, *row])
    yield from table(["the group's scores are", "100 rows", "500 rows", "2,000 rows"], rows)


HEAD = """# Calibration tests: false alarms and power
A test at the 5% level may reject calibration in at most 5 of 100 samples of a calibrated model. This page
measures that for every calibration test of the library. In the samples, each label is drawn from its
probability. Cells are the percentage of samples with p < 0.05. A **bold** cell is above 5% by more than
two standard errors.

```sh
python benchmarks/coverage/test_size_and_power.py --output docs/tests.md  # {minutes} CPU minutes
```

"""
GUIDE = """
**Use `exact` for decisions.** It keeps its level for every kind of scores and number of rows. It is the
p-value of `trueodds evaluate`, of the report and of `calibration_test(method="exact")`. It combines exact
tests of `mean`, `slope` and, with 200 or more rows, up to five bins (Bonferroni over the three).

Spiegelhalter's, Cox's and the Hosmer–Lemeshow test are approximations. Where they are bold, their p-values
are too small, so no verdict on two classes uses them. `ece`, `mce` and `rms` redraw the labels (99 draws
here). A dash marks a cell that was not measured.

"""


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--share", type=float, default=1.0, help="of the samples")
    parser.add_argument("--output", type=Path, default=None)
    options = parser.parse_args()
    begin = time.process_time()
    lines = list(page(options.share))
    minutes = f"{(time.process_time() - begin) / 60:.0f}"
    kinds = table(["scores", "probabilities"], [list(kind) for kind in MEANING.items()])
    text = HEAD.format(minutes=minutes) + "\n".join(kinds) + GUIDE + "\n".join(lines)
    if options.output is None:
        sys.stdout.write(text)
    else:
        options.output.write_text(text.rstrip() + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
