"""How often guarantees of thresholds fail, and on how many rows they act.

    python benchmarks/coverage/guaranteed_thresholds.py [--resamples N] [--mapie N] [--anytime N]

For one model of each set in the folder ``TRUEODDS_ARENA`` (``binary/SET@MODEL.npz``; at most 20
sets), the default calibrator learns from the first 1,000 rows. The remaining rows are a population
whose error rates are known. Samples of 500 of its rows (with replacement) give a threshold for
errors of at most half of the negatives' share, with 90% confidence. MAPIE's risk controller
(``pip install mapie``) gets the first of these samples, with its default correction and with
fixed-sequence testing; ``--mapie 0`` leaves it out. ``--anytime`` is the number of samples that get
a threshold whose guarantee holds at all sample sizes together.
"""

from __future__ import annotations

import argparse
import os
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from trueodds import AutoCalibrator
from trueodds.decisions import guaranteed_threshold

N_FIT, N_SAMPLE, N_SETS, CONFIDENCE = 1000, 500, 20, 0.9
Rule = Callable[[Any, Any, float], float | None]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--resamples", type=int, default=1000)
    parser.add_argument("--mapie", type=int, default=200, help="Samples that MAPIE gets.")
    parser.add_argument("--anytime", type=int, default=0, help="Samples for the anytime guarantee.")
    options = parser.parse_args()
    folder = os.environ.get("TRUEODDS_ARENA")
    if not folder:
        sys.exit("TRUEODDS_ARENA must name the folder of predictions.")
    rules: dict[str, tuple[Rule, int]] = {"trueodds": (ours, options.resamples)}
    if options.anytime:
        rules["anytime"] = (always, options.anytime)
    if options.mapie:
        rules["MAPIE, default"] = (mapie("bonferroni_holm"), options.mapie)
        rules["MAPIE, fixed sequence"] = (mapie("fixed_sequence"), options.mapie)
    sums: dict[str, list[tuple[float, float, float]]] = {name: [] for name in rules}
    print(
        f"| set | limit | best share | {' | '.join(f'{name}: broken, share' for name in rules)} |"
    )
    print("|---" * (3 + len(rules)) + "|")
    for name, p, y in populations(Path(folder)):
        limit = float((1 - y).mean() / 2)
        cells = []
        best = best_share(p, y, limit)
        for rule, (choose, samples) in rules.items():
            broken, share = judge(choose, p, y, limit, samples, zlib.crc32(name.encode()))
            sums[rule].append((broken, share, samples))
            cells.append(f"{100 * broken:.1f}%, {100 * share:.1f}%")
        print(
            f"| {name} | {100 * limit:.1f}% | {100 * best:.1f}% | {' | '.join(cells)} |", flush=True
        )
    means = []
    for found in sums.values():
        broken, share, _ = np.mean(found, axis=0)
        means.append(f"{100 * broken:.1f}%, {100 * share:.1f}%")
    print(f"| mean | | | {' | '.join(means)} |")
    allowed = 1 - CONFIDENCE
    for rule, found in sums.items():
        error = np.sqrt(allowed * CONFIDENCE / found[0][2])
        worst = max(b for b, _, _ in found)
        print(
            f"{rule}: largest share of failed guarantees {100 * worst:.1f}%; "
            f"allowed {100 * allowed:.0f}% ± {100 * 2 * error:.1f}% (two standard errors)"
        )


def populations(folder: Path) -> Iterator[tuple[str, Any, Any]]:
    """One model a set, of the sets with enough rows, calibrated."""
    seen: set[str] = set()
    for file in sorted((folder / "binary").glob("*.npz")):
        source = file.stem.partition("@")[0]
        if source in seen or len(seen) == N_SETS:
            continue
        with np.load(file, allow_pickle=False) as data:
            p, y = data["p"], data["y"].astype(int)
        if len(y) < 3 * N_FIT or not 0.02 < y.mean() < 0.98:
            continue
        seen.add(source)
        fitted = AutoCalibrator().fit(
            p[:N_FIT],
            y[:N_FIT],
        )
        yield file.stem, fitted.predict_proba(p[N_FIT:])[:, 1], y[N_FIT:]


def best_share(p: Any, y: Any, limit: float) -> float:
    """The largest share that a threshold may act on, if the error rates were known."""
    order = np.argsort(-p, kind="stable")
    errors = np.cumsum(1 - y[order]) / np.arange(1, len(y) + 1)
    ends = np.append(p[order][1:] < p[order][:-1], True)
    legal = np.flatnonzero((errors <= limit) & ends)
    return float((legal[-1] + 1) / len(y)) if len(legal) else 0.0


def judge(
    choose: Rule, p: Any, y: Any, limit: float, samples: int, seed: int
) -> tuple[float, float]:
    """Share of samples whose guarantee fails, and the mean share acted on."""
    rng = np.random.default_rng(seed)
    broken, shares = 0, []
    for _ in range(samples):
        rows = rng.integers(0, len(p), N_SAMPLE)
        threshold = choose(p[rows], y[rows], limit)
        act = p >= threshold
        shares.append(act.mean())
        broken += bool(act.any() and 1 - y[act].mean() > limit)
    return broken / samples, float(np.mean(shares))


def ours(p: Any, y: Any, limit: float) -> float | None:
    """The threshold of this library."""
    found = guaranteed_threshold(y, p, at_most=limit, confidence=CONFIDENCE, classes=[0, 1])
    return found.threshold


def always(p: Any, y: Any, limit: float) -> float | None:
    """The threshold whose guarantee holds at all sample sizes together."""
    return guaranteed_threshold(
        y, p, at_most=limit, confidence=CONFIDENCE, classes=[0, 1], anytime=True
    ).threshold


def mapie(correction: str) -> Rule:
    """MAPIE's controller of precision on its own grid of 100 thresholds."""
    import warnings

    from mapie.risk_control import BinaryClassificationController

    def choose(p: Any, y: Any, limit: float) -> float | None:
        controller = BinaryClassificationController(
            lambda X: np.column_stack([1 - X[:, 0], X[:, 0]]),
            risk="precision",
            target_level=1 - limit,
            confidence_level=CONFIDENCE,
            fwer_method=correction,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            controller.calibrate(p[:, None], y)
        found = controller.best_predict_param
        return None if found is None else float(found)

    return choose


if __name__ == "__main__":
    main()
