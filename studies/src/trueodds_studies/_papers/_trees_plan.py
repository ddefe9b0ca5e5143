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

BUDGET = {"naive-bayes": 45.0, "stumps": 15.0, "boosted-trees": 15.0, "svm": 8.0}
"""CPU seconds for each set."""
PATIENT = {"naive-bayes": 150.0, "stumps": 75.0}
"""Tables 2 and 3 have all folds of one run where they take no longer than this."""
LEAST_FOLDS = 2

# CPU seconds of one fold with naive Bayes, stumps, boosted trees and SVMs, all three methods
# included, on one core; "-" takes minutes.
_SECONDS = """
audiology        0.12  2.0   12    1.5
bankruptcy       0.5   2.3   12    -
colposcopy       0.05  0.2   0.8   0.5
credit-rating    0.05  0.2   0.6   1.5
cylinder-bands   0.06  0.25  0.8   1.5
german-credit    0.06  0.25  0.8   3
hand-postures    2.9   5     40    -
htru2            0.95  1.7   8     -
kr-vs-kp         0.25  0.5   1.5   -
led24            8     3.5   9     -
mfeat-factors    2.5   5     25    6
mfeat-fourier    1.5   6     45    4
mfeat-karhunen   1.5   5     35    4
mfeat-morph      0.9   1.2   4     2
mfeat-pixel      1.5   4     25    8
mice-protein     0.6   4     30    2
news-popularity  2     7     35    -
nursery          1.2   2     6     -
optdigits        8     6     20    -
page-blocks      3.1   2.5   8     4
pendigits        13.8  6     25    -
phishing         0.1   0.4   1     2
pima-diabetes    0.05  0.2   0.8   1
segment          0.9   2.5   10    2
shuttle          40    20    60    -
sick             0.3   0.5   1.5   -
spambase         0.9   2     6     -
taiwan-credit    4.4   6     20    -
tic-tac-toe      0.03  0.15  0.3   1.5
vote             0.02  0.1   0.3   0.4
vowel            0.85  1.2   6     1
yeast            0.45  1.2   4     2
"""

PROFILES = {
    "quick": f"one run of 10-fold cross-validation on {len(QUICK_SETS)} small sets",
    "standard": "all rows of every set, and of the ten runs of 10-fold cross-validation as many as "
    f"fit into {BUDGET['naive-bayes']:.0f} (naive Bayes), {BUDGET['stumps']:.0f} (stumps), "
    f"{BUDGET['boosted-trees']:.0f} (trees) or {BUDGET['svm']:.0f} (SVMs) CPU seconds for each "
    "set; where one run does not fit, some of its folds",
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
    runs, seconds = N_RUNS, fold_seconds(model, name)
    if profile != "full":
        n_folds = int(BUDGET[model] / seconds)
        runs = min(n_folds // N_FOLDS, 1 if profile == "quick" else N_RUNS)
        if model in PATIENT and N_FOLDS * seconds <= PATIENT[model]:
            runs = max(runs, 1)
        if runs == 0:
            least = LEAST_FOLDS if model in PATIENT or n_folds else 0
            return [(0, fold) for fold in range(max(n_folds, least))]
    return [(repeat, fold) for repeat in range(runs) for fold in range(N_FOLDS)]
