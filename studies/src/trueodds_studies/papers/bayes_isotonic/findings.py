"""The numbers that tables, figures and claims of the Bayesian isotonic study share."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import copy
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, Literal

from trueodds_studies._optional import need
from trueodds_studies._significance import significant_sign, units_needed
from trueodds_studies._study import Results, pick_rows
from trueodds_studies.papers.bayes_isotonic.numbers import SIZES

__all__ = [
    "CHANCE",
    "COMPARED",
    "KINDS",
    "LOSSES",
    "NINE",
    "OWN",
    "PAIRS",
    "PROGRAM",
    "RIVALS",
    "Findings",
    "Gap",
    "Ranking",
    "Reading",
    "Share",
    "in_words",
    "own_name",
]

LOSSES = {"brier_score": "Brier score", "log_loss": "log-loss"}
PAIRS = ("iso", "enir", "log", "beta")
"""Methods that the paper runs with and without Platt's correction."""
COMPARED = ("bayes-iso", "enir-platt", "iso-platt", "beta(-platt)", "log-platt")
RIVALS = ("iso-platt", "enir-platt")
"""The other non-parametric methods of Table 2."""
NINE = (*PAIRS, *(f"{method}-platt" for method in PAIRS), "bayes-iso")
"""The methods of figure 3."""
PROGRAM = {name: f"{name}-program" for name in ("enir-platt", "beta", "beta-platt")}
"""The variant of a method in the authors' program."""
UNSMOOTHED = {"enir": "enir-text", "enir-platt": "enir-text-platt"}
"""ENIR as its own paper's text describes it, without smoothing."""
Reading = Literal["text", "program", "ENIR without smoothing"]
OWN: dict[Reading, dict[str, str]] = {
    "text": {},
    "program": PROGRAM,
    "ENIR without smoothing": UNSMOOTHED,
}
"""The variant of a method in each reading."""
KINDS = ("over-over", "over-under", "under-under")
CHANCE = 1.96
"""Standard errors that chance exceeds in 5% of cases."""
MANY = 10_000
Ranking = Literal["", "_by_map"]
"""Ends of the ranking by the model's scores, as in the paper's text, or by the map's."""


def in_words(needed: int) -> str:
    """How many sets or samples it would take."""
    return f"{needed:,}" if needed <= MANY else f"more than {MANY:,}"


def own_name(name: str, loss: str, *, reading: Reading = "text") -> str:
    """The method that a name of Table 1 and figure 7 stands for, in which beta is two."""
    if "(" in name:
        name = "beta" if loss == "brier_score" else "beta-platt"
    return OWN[reading].get(name, name)


@dataclass(frozen=True)
class Gap:
    """A mean difference between two methods over synthetic samples, and its standard error."""

    mean: float
    error: float
    n: int

    @property
    def sign(self) -> int:
        """+1 or −1 if it is more than chance, else 0."""
        return significant_sign(self.mean, self.error, self.n)

    @property
    def needed(self) -> int:
        """Samples with which a difference as large as this one would be seen in 80%."""
        return units_needed(self.mean, self.error, self.n)

    def __str__(self) -> str:
        return f"{self.mean:+.4f} ± {self.error:.4f}"


@dataclass(frozen=True)
class Share:
    """A share of cases, and its standard error from the spread between sets."""

    mean: float
    error: float
    n_sets: int
    cases: int
    total: int
    least: str = ""
    """The set with the lowest share, that share, and the share of all others."""

    @classmethod
    def of(cls, tables: Sequence[Any]) -> Share:
        """Return the share of all cases in boolean series whose index begins with the set."""
        cases = need("pandas").concat(list(tables)).astype(float)
        by_set = cases.groupby(level=0).mean()
        n = len(by_set)
        error = float(by_set.std() / math.sqrt(n)) if n > 1 else math.inf
        others = cases[cases.index.get_level_values(0) != by_set.idxmin()].mean()
        least = f"{by_set.idxmin()}, {by_set.min():.0%}" + (
            f"; others {others:.0%}" if n > 1 else ""
        )
        return cls(float(cases.mean()), error, n, int(cases.sum()), len(cases), least)

    def sign(self, limit: float) -> int:
        """+1 (−1) if it is above (below) the limit by more than chance, else 0."""
        return significant_sign(self.mean - limit, self.error, self.n_sets)

    def sets_to_tell(self, paper: float, limit: float) -> int:
        """Sets with which the paper's share would be told from the limit in 80% of studies."""
        return units_needed(paper - limit, self.error, self.n_sets)

    def __str__(self) -> str:
        spread = f" ± {100 * self.error:.0f}" if math.isfinite(self.error) else ""
        return f"{100 * self.mean:.0f}{spread}%"


class Findings:
    """Results, averaged over folds before any comparison, as in the paper.

    Attributes
    ----------
    rows : pandas.DataFrame
        Losses of synthetic samples.
    real : pandas.DataFrame or None
        All rows of the real data.
    """

    def __init__(self, results: Results) -> None:
        frame = results.frame
        rows = pick_rows(frame, part="synthetic")
        self.n_replicates = int(rows["replicate"].nunique())
        self.rows = rows.assign(n=rows["n"].astype(int))
        self.curves = pick_rows(frame, part="curves")
        runs = pick_rows(frame, part="runs")
        self.runs = runs.assign(n=runs["n"].astype(int))
        self.real: Any = None
        if "set" in frame.columns and (frame["part"] == "real").any():
            real = pick_rows(frame, part="real")
            self.real = real.assign(size=real["size"].astype(int))
            self._confidence = pick_rows(frame, part="confidence")
        self.folds = cache(self._folds)

    # Synthetic samples.

    @cached_property
    def synthetic(self) -> dict[str, Any]:
        """For each loss, samples (size, replicate) × methods."""
        return {
            loss: self.rows.pivot(index=["n", "replicate"], columns="method", values=loss)
            for loss in LOSSES
        }

    def sample_losses(self, loss: str, n: int, names: Sequence[str] = COMPARED) -> Any:
        """Samples × methods, under the names of Table 1."""
        own = [own_name(name, loss) for name in names]
        return self.synthetic[loss].loc[n][own].set_axis(list(names), axis=1)

    def order(self, loss: str, n: int) -> list[str]:
        """The methods of Table 1 by their mean loss, the best first."""
        return list(self.sample_losses(loss, n).mean().sort_values(kind="stable").index)

    def gap(self, loss: str, n: int, first: str, second: str) -> Gap:
        """By how much the loss of the second exceeds that of the first."""
        table = self.sample_losses(loss, n, (first, second))
        excess = table[second] - table[first]
        return Gap(float(excess.mean()), float(excess.std() / math.sqrt(len(excess))), len(excess))

    # Real data.

    @property
    def n_pairs(self) -> int:
        """Pairs of a set and a model."""
        return len(self.real[["set", "model"]].drop_duplicates())

    def n_folds(self, method: str) -> int:
        """How many of the 25 folds a method was run on."""
        rows = self.real[self.real["method"] == method]
        return len(rows[["outer", "inner"]].drop_duplicates())

    def _folds(self, value: str, size: int) -> Any:
        rows = self.real[self.real["size"] == size]
        index = ["set", "model", "outer", "inner"]
        return rows.pivot(index=index, columns="method", values=value)

    def on_folds_of(self, method: str) -> Findings:
        """The same findings from the folds of one method alone."""
        folds = self.real.loc[self.real["method"] == method, ["outer", "inner"]].drop_duplicates()
        few = copy(self)
        few.real = self.real.merge(folds, on=["outer", "inner"])
        few.folds = cache(few._folds)
        return few

    def means(self, value: str, size: int, methods: Sequence[str]) -> Any:
        """Pairs × methods: means over the folds that all of these methods have."""
        table = self.folds(value, size)[list(dict.fromkeys(methods))].dropna()
        return table.groupby(level=["set", "model"], sort=False).mean()

    def improved(self, method: str, loss: str, size: int, *, reading: Reading = "text") -> Any:
        """For each pair, whether Platt's correction lowers the loss."""
        raw, corrected = (
            own_name(name, loss, reading=reading) for name in (method, f"{method}-platt")
        )
        table = self.means(loss, size, (raw, corrected))
        return table[corrected] < table[raw]

    def panel(
        self, loss: str, size: int, names: Sequence[str] = COMPARED, *, reading: Reading = "text"
    ) -> Any:
        """Pairs × the methods of figure 7, or others."""
        own = [own_name(name, loss, reading=reading) for name in names]
        return self.means(loss, size, own)[own].set_axis(list(names), axis=1)

    def confidence_excess(self) -> Any:
        """Pairs × methods with 100 rows: mean of max(p, 1 − p) less the accuracy.

        A method is underconfident if it is negative.
        """
        index = ["set", "model", "outer", "inner"]
        folds = self._confidence.pivot(index=index, columns="method", values="sureness").dropna()
        return folds.groupby(level=["set", "model"], sort=False).mean()

    def over(self, size: int, methods: Sequence[str], ranking: Ranking) -> tuple[Any, Any]:
        """Return whether methods are overconfident at the low and at the high end, by pair."""
        low, high = (
            self.means(f"{end}_excess{ranking}", size, methods) > 0 for end in ("low", "high")
        )
        return low, high

    def ends(self, size: int, methods: Sequence[str] = NINE, ranking: Ranking = "") -> Any:
        """Return shares of pairs that are over- or underconfident at the ends, by method."""
        low, high = self.over(size, methods, ranking)
        both = {"over-over": low & high, "over-under": low ^ high, "under-under": ~low & ~high}
        return need("pandas").DataFrame({kind: both[kind].mean() for kind in KINDS})

    def mean_ends(self, methods: Sequence[str] = NINE, ranking: Ranking = "") -> Any:
        """The same, averaged over the three sizes."""
        return sum(self.ends(n, methods, ranking) for n in SIZES) / len(SIZES)

    def flagged(self, size: int = 3000, method: str = "bayes-iso") -> Any:
        """Folds in which one sampled map outweighs all others together."""
        return self.folds("heaviest", size)[method].dropna() > 0.5

    def won(
        self, loss: str, size: int, method: str = "bayes-iso", *, reading: Reading = "text"
    ) -> Any:
        """For each pair, whether a method is better than Iso-Platt and ENIR-Platt."""
        return _ahead(self.panel(loss, size, (method, *RIVALS), reading=reading), method)

    def won_unflagged(self, loss: str, *, reading: Reading = "text") -> dict[str, Any]:
        """The same at 3000 without flagged cases, read as pairs and as folds."""
        flagged, names = self.flagged(), ["bayes-iso", *RIVALS]
        won = self.won(loss, 3000, reading=reading)
        mostly = flagged.groupby(level=["set", "model"], sort=False).mean() >= 0.5
        own = [own_name(name, loss, reading=reading) for name in names]
        folds = self.folds(loss, 3000)[own].set_axis(names, axis=1).dropna()
        kept = folds[~flagged.reindex(folds.index)].groupby(level=["set", "model"]).mean()
        return {
            "pairs": won[~mostly.reindex(won.index)],
            "folds": _ahead(kept, "bayes-iso"),
        }


def _ahead(table: Any, method: str) -> Any:
    return table[method] < table[list(RIVALS)].min(axis=1)
