"""How much of the calibration trees paper each profile runs.

The paper has ten runs of 10-fold cross-validation everywhere. ``standard`` has all of them with
naive Bayes; with the other learners it gives up runs, and then folds of the first, where a fold
takes long. ``full`` gives up nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from trueodds_studies.papers.trees.numbers import MODELS

__all__ = ["PROFILES", "fold_seconds", "folds_of", "sets_of"]

N_RUNS = N_FOLDS = 10
QUICK_SETS = ("credit-rating", "tic-tac-toe", "vote")
UNKNOWN = 600.0

# Folds in the standard profile / CPU seconds of one, all methods together, measured on one core:
# naive Bayes, stumps, boosted trees, SVMs. "-" was not measured; colposcopy, of which there is no
# copy at hand, is a guess.
_PLAN = """
audiology        100/0.12  10/1.8    2/2.7     5/0.8
bankruptcy       100/0.42  10/2.6    0/-       0/-
colposcopy       100/0.05  10/0.2    10/0.8    5/0.5
credit-rating    100/0.055 10/0.19   10/0.63   5/1.1
cylinder-bands   100/0.092 10/0.23   10/6.7    5/2.5
german-credit    100/0.063 10/0.23   10/0.75   2/1.6
hand-postures    100/1.5   10/4.8    0/-       0/-
htru2            100/0.32  10/2.1    0/-       0/-
kr-vs-kp         100/0.12  10/0.61   10/1.3    0/-
led24            100/0.7   10/5.2    0/-       0/-
mfeat-factors    100/1.4   10/5      0/-       0/-
mfeat-fourier    100/0.91  10/5.4    0/-       0/-
mfeat-karhunen   100/0.62  10/4.8    0/-       0/-
mfeat-morph      100/0.69  10/1.8    0/-       4/1.4
mfeat-pixel      100/0.95  10/3.8    0/-       0/-
mice-protein     100/0.29  10/2.8    0/-       4/0.78
news-popularity  100/2     10/4.3    0/-       0/-
nursery          100/0.69  10/3.8    0/-       0/-
optdigits        100/2.9   10/4.7    0/-       0/-
page-blocks      100/1.7   10/1.8    0/-       0/-
pendigits        100/7.5   5/7.1     0/-       0/-
phishing         100/0.13  10/0.42   10/1.4    4/0.84
pima-diabetes    100/0.046 10/0.19   10/0.42   5/0.66
segment          100/0.49  10/1.6    0/-       4/1.7
shuttle          100/22    1/26      0/-       0/-
sick             100/0.16  10/0.62   10/1.2    0/-
spambase         100/0.49  10/1.2    0/-       0/-
taiwan-credit    100/3.5   10/4.9    0/-       0/-
tic-tac-toe      100/0.037 10/0.21   10/0.65   5/1.6
vote             100/0.032 10/0.18   10/0.35   5/0.43
vowel            100/0.57  10/1.4    0/-       5/1.5
yeast            100/0.49  10/1.2    0/-       4/1.8
"""

PROFILES = {
    "quick": f"at most one run of 10-fold cross-validation on {len(QUICK_SETS)} small sets",
    "standard": "all rows of every set; the paper's 100 folds with naive Bayes, with the other "
    "learners as many as fit into the time (the report's tables list them)",
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
