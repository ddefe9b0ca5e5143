"""Our RMSE compared with the paper's, for each base learner, and the significant differences."""

from __future__ import annotations

from typing import Any

import numpy as np

from trueodds.stats import corrected_resampled_t_test
from trueodds_studies._optional import need
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.trees.numbers import METHODS, MODELS, paper_table
from trueodds_studies.stats import SignTest, sign_test

__all__ = [
    "ALPHA",
    "CLOSE",
    "NAMES",
    "RIVALS",
    "RIVAL_NAMES",
    "SUBSTITUTES",
    "TABLE_OF",
    "Compared",
    "wdl",
]

RIVALS = METHODS[1:]
RIVAL_NAMES = {"PS": "Platt scaling", "IR": "isotonic regression"}
NAMES = {
    "naive-bayes": "naive Bayes",
    "stumps": "boosted stumps",
    "boosted-trees": "boosted trees",
    "svm": "SVMs",
}
TABLE_OF = dict(zip(MODELS, ("Table 2", "Table 3", "Table 4", "Table 5"), strict=True))
ALPHA = 0.01
CLOSE = 0.02
N_FOLDS = 10
SUBSTITUTES = {
    "bankruptcy": "`bankruptcy` is the fifth year's file (5910 rows; the paper's third has 10,503)",
    "cylinder-bands": "`cylinder-bands` has 540 rows (the paper prints 512)",
    "hand-postures": "`hand-postures` is a part (11,022 of 78,095 rows, 3 of 5 classes)",
    "led24": "`led24` is generated anew",
    "news-popularity": "`news-popularity` is a part (14,828 of 39,644 rows)",
}


class Compared:
    """One base learner.

    Attributes
    ----------
    rmse, paper : pandas.DataFrame
        Sets × methods.
    marks, paper_marks : pandas.DataFrame
        Sets × rivals: 1 where PCT is significantly better, −1 where it is significantly worse.
        Ours leave out sets with one fold, which no test can judge.
    tested : pandas.Index
        Sets with at least two folds.
    folds : pandas.Series
        Number of folds that each set was run on.
    leaves : dict
        Share of trees that are one leaf, by set.
    """

    def __init__(self, results: Results, model: str) -> None:
        pandas = need("pandas")
        lines = pick_rows(results.frame, part="cv", model=model)
        self.model = model
        self.rmse = results.table("rmse", rows="set", columns="method", part="cv", model=model)
        wide = lines.pivot_table(
            index=["set", "repeat", "fold"], columns="method", values="rmse", sort=False
        )
        self.folds = wide.groupby("set", sort=False).size()
        self.tested = self.folds[self.folds >= 2].index
        self.marks = pandas.DataFrame(0, index=self.tested, columns=list(RIVALS))
        for name in self.tested:
            for rival in RIVALS:
                self.marks.loc[name, rival] = _mark(wide.loc[name, "PCT"], wide.loc[name, rival])
        self.paper, self.paper_marks = (frame.loc[self.rmse.index] for frame in paper_table(model))
        trees = lines[lines["method"] == "PCT"].groupby("set")["n_leaves"]
        self.leaves = {name: float((group == 1).mean()) for name, group in trees}

    @property
    def table(self) -> str:
        """Its name in the paper."""
        return TABLE_OF[self.model]

    @property
    def own_data(self) -> list[str]:
        """Sets with the paper's data."""
        return [name for name in self.rmse.index if name not in SUBSTITUTES]

    @property
    def gaps(self) -> Any:
        """|ours − paper|."""
        return (self.rmse[list(METHODS)] - self.paper).abs()

    def signs(self, rival: str, marks: Any = None) -> SignTest:
        """The sign test of significant wins and losses, as in Table 6."""
        column = (self.marks if marks is None else marks.loc[self.tested])[rival]
        return sign_test(-column, np.zeros(len(column)), draws="drop")

    def protocol(self) -> str:
        """Return how many sets were run on how many folds."""
        parts = [
            f"{int(count)} set{'' if count == 1 else 's'} {_runs(int(folds))}"
            for folds, count in self.folds.value_counts().sort_index(ascending=False).items()
        ]
        return ", ".join(parts)


def _runs(folds: int) -> str:
    if folds % N_FOLDS == 0:
        return f"{folds // N_FOLDS} × {N_FOLDS}"
    return "one fold" if folds == 1 else f"{folds} folds"


def _mark(ours: Any, rival: Any) -> int:
    test = corrected_resampled_t_test(ours, rival, n_train=N_FOLDS - 1, n_test=1)
    return int(-np.sign(test.difference)) if test.p_value < ALPHA else 0


def wdl(test: SignTest) -> str:
    """Wins, draws and losses as text."""
    return f"{test.wins}-{test.draws}-{test.losses}"
