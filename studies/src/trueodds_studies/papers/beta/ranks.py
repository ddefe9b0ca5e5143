"""Two methods of the beta study against each other, by the paper's tests."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from trueodds_studies._diagrams import is_greater_better
from trueodds_studies.stats import friedman_test, nemenyi, wilcoxon_signed_rank

__all__ = ["MODEL_NAMES", "Duel", "Tables", "duel", "paired"]

Tables = dict[tuple[str, str], Any]
"""Sets × methods for each measure and base model."""
MODEL_NAMES = {"naive-bayes": "naive Bayes", "ada-o": "Ada-O", "ada-s": "Ada-S"}
ALPHA = 0.05
POWER = 0.8416
"""Standard errors beyond the threshold at which 80% of studies find a difference."""


@dataclass(frozen=True)
class Duel:
    """Average ranks of two methods among several: Friedman's test, then Nemenyi's."""

    first: float
    second: float
    p: float
    critical: float
    significant: bool
    n_sets: int
    n_methods: int

    @property
    def lead(self) -> float:
        """By how much the first method's rank is better."""
        return self.second - self.first

    @property
    def sign(self) -> int:
        """+1 if the first is significantly better, −1 if worse, 0 if they tie."""
        return 0 if not self.significant else 1 if self.lead > 0 else -1

    @property
    def needed(self) -> int | None:
        """Sets on which a lead as large as this one would be significant in 80% of studies."""
        if self.lead <= 0:
            return None
        error = math.sqrt(self.n_methods * (self.n_methods + 1) / (6 * self.n_sets))
        threshold = self.critical / error
        return math.ceil(self.n_sets * ((threshold + POWER) * error / self.lead) ** 2)

    @property
    def figures(self) -> str:
        """Ranks and p-value as text."""
        p = f"p = {self.p:.2g}" if self.p >= 1e-15 else "p < 1e-15"
        return f"ranks {self.first:.2f} and {self.second:.2f}, {p}"

    @property
    def power(self) -> str:
        """Return how many sets would distinguish the two."""
        if self.needed is None:
            return f"they tie within the critical difference of {self.critical:.2f}"
        return f"{self.needed:,} such sets would show it in 80% of studies"


def duel(table: Any, measure: str, first: str, second: str) -> Duel:
    """Compare two columns of a table of sets × methods."""
    way = is_greater_better(measure)
    whole = friedman_test(table, greater_is_better=way).chi_square_p_value
    test = nemenyi(table, greater_is_better=way, alpha=ALPHA)
    a, b = (test.ranks.methods.index(name) for name in (first, second))
    ours, theirs = (float(test.ranks.ranks[i]) for i in (a, b))
    return Duel(
        first=ours,
        second=theirs,
        p=float(test.p_values[a, b]),
        critical=test.critical_difference,
        significant=whole <= ALPHA and abs(ours - theirs) >= test.critical_difference,
        n_sets=len(table),
        n_methods=table.shape[1],
    )


def paired(first: Any, second: Any) -> tuple[float, int, float]:
    """Mean difference second − first, sets on which it is positive, and Wilcoxon's p-value."""
    difference = second - first
    p = wilcoxon_signed_rank(first, second).p_value if difference.any() else 1.0
    return float(difference.mean()), int((difference > 0).sum()), float(p)
