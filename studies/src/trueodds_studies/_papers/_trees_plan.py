"""How much of the calibration trees paper each profile runs.

The paper has ten runs of 10-fold cross-validation everywhere. ``standard`` gives up runs, and then
folds of the first, where a fold takes long; ``full`` gives up nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from trueodds_studies._papers._trees_numbers import MODELS

__all__ = ["PROFILES", "fold_seconds", "folds_of", "sets_of"]

N_RUNS = N_FOLDS = 10
QUICK_SETS = ("credit-rating", "tic-tac-toe", "vote")
UNKNOWN = 600.0

# Folds in the standard profile / CPU seconds of one, all methods together, measured on one core:
# naive Bayes, stumps, boosted trees, SVMs. "-" was not measured.
_PLAN = """
audiology        10/0.15   10/1.8    0/-       0/-
bankruptcy       10/0.48   10/2.6    0/-       0/-
colposcopy       0/-       0/-       0/-       0/-
credit-rating    10/0.048  0/-       0/-       0/-
cylinder-bands   10/0.073  0/-       0/-       0/-
german-credit    10/0.06   0/-       0/-       0/-
hand-postures    10/2.2    10/4.8    0/-       0/-
htru2            10/0.56   0/-       0/-       0/-
kr-vs-kp         10/0.14   0/-       0/-       0/-
led24            10/0.73   10/5.2    0/-       0/-
mfeat-factors    10/1.8    10/5      0/-       0/-
mfeat-fourier    10/1.3    10/5.4    0/-       0/-
mfeat-karhunen   10/0.92   10/4.8    0/-       0/-
mfeat-morph      10/0.87   0/-       0/-       0/-
mfeat-pixel      10/1.2    10/3.8    0/-       0/-
mice-protein     10/0.36   10/2.8    0/-       0/-
news-popularity  10/2.5    10/4.3    0/-       0/-
nursery          10/1.3    8/3.7     0/-       0/-
optdigits        10/6.1    10/4.7    0/-       0/-
page-blocks      10/2.9    10/1.8    0/-       0/-
pendigits        0/-       0/-       0/-       0/-
phishing         10/0.13   0/-       0/-       0/-
pima-diabetes    10/0.044  0/-       0/-       0/-
segment          10/0.93   10/1.6    0/-       0/-
shuttle          1/40      1/26      0/-       0/-
sick             10/0.26   0/-       0/-       0/-
spambase         10/0.71   0/-       0/-       0/-
taiwan-credit    10/5.1    10/4.9    0/-       0/-
tic-tac-toe      10/0.031  0/-       0/-       0/-
vote             10/0.033  0/-       0/-       0/-
vowel            10/0.8    0/-       0/-       0/-
yeast            10/0.74   0/-       0/-       0/-
"""

PROFILES = {
    "quick": f"at most one run of 10-fold cross-validation on {len(QUICK_SETS)} small sets",
    "standard": "all rows of every set; as many of the paper's 100 folds as fit into the time, "
    "most with naive Bayes and on small sets (the report's tables list them)",
    "full": "ten runs of 10-fold cross-validation on every set, as in the paper",
}

_CELLS = {
    line.split()[0]: {
        model: cell.split("/") for model, cell in zip(MODELS, line.split()[1:], strict=True)
    }
    for line in _PLAN.strip().splitlines()
}


def fold_seconds(model: str, name: str) -> float:
    """CPU seconds of a fold, all methods together."""
    seconds = _CELLS[name][model][1]
    return UNKNOWN if seconds == "-" else float(seconds)


def sets_of(profile: str, at_hand: Sequence[str]) -> list[str]:
    """The sets of a profile."""
    return [name for name in at_hand if profile != "quick" or name in QUICK_SETS]


def folds_of(profile: str, model: str, name: str) -> list[tuple[int, int]]:
    """Runs and folds: (repeat, fold)."""
    n = N_RUNS * N_FOLDS if profile == "full" else int(_CELLS[name][model][0])
    if profile == "quick":
        n = min(n, N_FOLDS)
    return [divmod(number, N_FOLDS) for number in range(n)]
