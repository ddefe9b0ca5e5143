"""How much of the calibration trees paper each profile runs.

The paper has ten runs of 10-fold cross-validation everywhere. ``standard`` has all of them where
the time of a fold was measured, and the first run elsewhere. ``full`` has all of them.
"""

from __future__ import annotations

from collections.abc import Sequence

from trueodds_studies.papers.trees.numbers import MODELS

__all__ = ["PROFILES", "fold_seconds", "folds_of", "sets_of"]

N_RUNS = N_FOLDS = 10
QUICK_SETS = ("credit-rating", "tic-tac-toe", "vote")
UNKNOWN = 30.0

# CPU seconds of a fold, all methods together, measured on one core: naive Bayes, stumps, boosted
# trees, SVMs. "-" was not measured; colposcopy, of which there is no copy at hand, is a guess.
_SECONDS = """
audiology        0.12   1.8    2.7    0.8
bankruptcy       0.42   2.6    -      -
colposcopy       0.05   0.2    0.8    0.5
credit-rating    0.055  0.19   0.63   1.1
cylinder-bands   0.092  0.23   6.7    2.5
german-credit    0.063  0.23   0.75   1.6
hand-postures    1.5    4.8    -      -
htru2            0.32   2.1    -      -
kr-vs-kp         0.12   0.61   1.3    -
led24            0.7    5.2    -      -
mfeat-factors    1.4    5      -      -
mfeat-fourier    0.91   5.4    -      -
mfeat-karhunen   0.62   4.8    -      -
mfeat-morph      0.69   1.8    -      1.4
mfeat-pixel      0.95   3.8    -      -
mice-protein     0.29   2.8    -      0.78
news-popularity  2      4.3    -      -
nursery          0.69   3.8    -      -
optdigits        2.9    4.7    -      -
page-blocks      1.7    1.8    -      -
pendigits        7.5    7.1    -      -
phishing         0.13   0.42   1.4    0.84
pima-diabetes    0.046  0.19   0.42   0.66
segment          0.49   1.6    -      1.7
shuttle          22     26     -      -
sick             0.16   0.62   1.2    -
spambase         0.49   1.2    -      -
taiwan-credit    3.5    4.9    -      -
tic-tac-toe      0.037  0.21   0.65   1.6
vote             0.032  0.18   0.35   0.43
vowel            0.57   1.4    -      1.5
yeast            0.49   1.2    -      1.8
"""

PROFILES = {
    "quick": f"one run of 10-fold cross-validation on {len(QUICK_SETS)} small sets",
    "standard": "ten runs of 10-fold cross-validation on every set, as in the paper; one run where "
    "boosted trees or SVMs take long",
    "full": "ten runs of 10-fold cross-validation on every set, as in the paper",
}

_CELLS = {
    line.split()[0]: dict(zip(MODELS, line.split()[1:], strict=True))
    for line in _SECONDS.strip().splitlines()
}


def fold_seconds(model: str, name: str) -> float:
    """CPU seconds of a fold, all methods together."""
    seconds = _CELLS[name][model]
    return UNKNOWN if seconds == "-" else float(seconds)


def sets_of(profile: str, at_hand: Sequence[str]) -> list[str]:
    """The sets of a profile."""
    return [name for name in at_hand if profile != "quick" or name in QUICK_SETS]


def folds_of(profile: str, model: str, name: str) -> list[tuple[int, int]]:
    """Runs and folds: (repeat, fold)."""
    measured = fold_seconds(model, name) < UNKNOWN
    runs = N_RUNS if profile == "full" or (profile == "standard" and measured) else 1
    n = runs * N_FOLDS
    return [divmod(number, N_FOLDS) for number in range(n)]
