"""How much of the calibration trees paper each profile runs.

The paper has ten runs of 10-fold cross-validation everywhere. ``standard`` keeps what a budget
allows for each set and base learner: first it gives up runs, then folds, then the set.
"""

from __future__ import annotations

from collections.abc import Sequence

from trueodds_studies._papers._trees_numbers import MODELS

__all__ = ["PROFILES", "fold_seconds", "folds_of", "sets_of"]

N_RUNS = N_FOLDS = 10
QUICK_SETS = ("credit-rating", "tic-tac-toe", "vote")

BUDGET = {"naive-bayes": 1000.0, "stumps": 40.0, "boosted-trees": 30.0, "svm": 20.0}
"""CPU seconds for each set; all ten runs of naive Bayes are within it everywhere."""

# CPU seconds of one fold with naive Bayes, stumps, boosted trees and SVMs, measured on one core;
# "-" was not measured, because it takes minutes.
_SECONDS = """
"""

PROFILES = {
    "quick": f"one run of 10-fold cross-validation on {len(QUICK_SETS)} small sets",
    "standard": "all rows of every set; ten runs of 10-fold cross-validation with naive Bayes, and "
    "with the other base learners as many of the ten runs, or of the ten folds of one, as fit "
    f"into {BUDGET['stumps']:.0f} (stumps), {BUDGET['boosted-trees']:.0f} (trees) or "
    f"{BUDGET['svm']:.0f} (SVMs) CPU seconds for each set",
    "full": "ten runs of 10-fold cross-validation on every set, as in the paper",
}

_TABLE = {
    line.split()[0]: dict(zip(MODELS, line.split()[1:], strict=True))
    for line in _SECONDS.strip().splitlines()
}


def fold_seconds(model: str, name: str) -> float:
    """CPU seconds of a fold, all methods together."""
    cell = _TABLE[name][model]
    return 600.0 if cell == "-" else float(cell)


def sets_of(profile: str, at_hand: Sequence[str]) -> list[str]:
    """The sets of a profile."""
    return [name for name in at_hand if profile != "quick" or name in QUICK_SETS]


def folds_of(profile: str, model: str, name: str) -> list[tuple[int, int]]:
    """Runs and folds: (repeat, fold)."""
    n_folds = int(BUDGET[model] / fold_seconds(model, name))
    runs = 1 if profile == "quick" else min(n_folds // N_FOLDS, N_RUNS)
    if profile == "full":
        runs = N_RUNS
    if runs:
        return [(repeat, fold) for repeat in range(runs) for fold in range(N_FOLDS)]
    return [(0, fold) for fold in range(n_folds if n_folds > 1 else 0)]
