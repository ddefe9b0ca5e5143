"""How much of the calibration trees paper each profile runs.

The paper has ten runs of 10-fold cross-validation everywhere. ``standard`` has all of them with
naive Bayes; with the other learners it gives up runs, and then folds of the first, where a fold
takes long. ``full`` gives up nothing.
"""

from __future__ import annotations

from collections.abc import Sequence

from trueodds_studies._papers._trees_numbers import MODELS

__all__ = ["PROFILES", "fold_seconds", "folds_of", "sets_of"]

N_RUNS = N_FOLDS = 10
QUICK_SETS = ("credit-rating", "tic-tac-toe", "vote")
UNKNOWN = 600.0

# Folds in the standard profile / CPU seconds of one, all methods together, measured on one core:
# naive Bayes, stumps, boosted trees, SVMs. "-" was not measured; colposcopy, of which there is no
# copy at hand, is a guess.
_PLAN = """
audiology        100/0.13  10/1.8    2/2.7     5/0.8
bankruptcy       100/0.46  10/2.6    0/-       0/-
colposcopy       100/0.05  10/0.2    10/0.8    5/0.5
credit-rating    100/0.041 10/0.19   10/0.63   5/1.1
cylinder-bands   100/0.071 10/0.23   10/6.7    5/2.5
german-credit    100/0.046 10/0.23   10/0.75   2/1.6
hand-postures    100/2.2   10/4.8    0/-       0/-
htru2            100/0.44  10/2.1    0/-       0/-
kr-vs-kp         100/0.12  10/0.61   10/1.3    0/-
led24            100/0.73  10/5.2    0/-       0/-
mfeat-factors    100/1.8   10/5      0/-       0/-
mfeat-fourier    100/1.3   10/5.4    0/-       0/-
mfeat-karhunen   100/0.83  10/4.8    0/-       0/-
mfeat-morph      100/1.1   10/1.8    0/-       4/1.4
mfeat-pixel      100/1.2   10/3.8    0/-       0/-
mice-protein     100/0.35  10/2.8    0/-       4/0.78
news-popularity  100/2.5   10/4.3    0/-       0/-
nursery          100/1.3   10/3.8    0/-       0/-
optdigits        100/6.1   10/4.7    0/-       0/-
page-blocks      100/2.9   10/1.8    0/-       0/-
pendigits        100/14    5/7.1     0/-       0/-
phishing         100/0.12  10/0.42   10/1.4    4/0.84
pima-diabetes    100/0.034 10/0.19   10/0.42   5/0.66
segment          100/0.77  10/1.6    0/-       4/1.7
shuttle          100/40    1/26      0/-       0/-
sick             100/0.2   10/0.62   10/1.2    0/-
spambase         100/0.65  10/1.2    0/-       0/-
taiwan-credit    100/5.1   10/4.9    0/-       0/-
tic-tac-toe      100/0.026 10/0.21   10/0.65   5/1.6
vote             100/0.023 10/0.18   10/0.35   5/0.43
vowel            100/0.73  10/1.4    0/-       5/1.5
yeast            100/0.69  10/1.2    0/-       4/1.8
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
