"""Who is ahead: win rates, gains over the base model, and paired differences over sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from statistics import median
from typing import Any

import numpy as np

from contest.methods import BASE
from contest.results import Row

LOSSES = ("brier", "log_loss")
HARM = 0.002
"""Log-loss above the base model's from which a method has done harm."""


@dataclass(frozen=True)
class Table:
    """One loss of every method in every experiment; NaN where a method failed."""

    methods: list[str]
    experiments: list[str]
    sets: list[str]
    sizes: list[int]
    losses: dict[str, np.ndarray]  # (experiments, methods)
    seconds: np.ndarray

    def take(self, which: np.ndarray) -> Table:
        """Some of the experiments."""
        rows = np.flatnonzero(which)
        return Table(
            self.methods,
            [self.experiments[i] for i in rows],
            [self.sets[i] for i in rows],
            [self.sizes[i] for i in rows],
            {name: values[rows] for name, values in self.losses.items()},
            self.seconds[rows],
        )


@dataclass(frozen=True)
class Standing:
    """One line of the leaderboard."""

    method: str
    win_rate: dict[str, float]
    gain: dict[str, float]
    worse: dict[str, float]
    harmed: float
    seconds: float
    failures: int


@dataclass(frozen=True)
class Difference:
    """By how much a rival's loss is higher than ours, over sets."""

    rival: str
    mean: float
    standard_error: float
    sets_ahead: int
    n_sets: int


def table_of(rows: list[Row], methods: list[str]) -> tuple[Table, dict[str, int]]:
    """The table of the base model's experiments; and how many those have that lack some.

    A method without a row in some experiment is left out of the table: its rates would be those of
    other experiments. One that failed everywhere does not apply, and is left out as well.
    """
    known = {(row["experiment"], row["method"]): row for row in rows}
    base = sorted((row for row in rows if row["method"] == BASE), key=lambda r: r["experiment"])
    kept, incomplete = [], {}
    for method in methods:
        found = [known.get((row["experiment"], method)) for row in base]
        present = [row for row in found if row is not None]
        if len(present) < len(base):
            incomplete[method] = len(present)
        elif any(row["error"] is None for row in present):
            kept.append(method)

    def column(key: str) -> np.ndarray:
        cells = [[known[row["experiment"], method][key] for method in kept] for row in base]
        return np.array(cells, dtype=float).reshape(len(base), len(kept))

    table = Table(
        kept,
        [row["experiment"] for row in base],
        [row["set"] for row in base],
        [row["n"] for row in base],
        {name: column(name) for name in LOSSES},
        column("fit_seconds") + column("predict_seconds"),
    )
    return table, incomplete


def win_rates(losses: np.ndarray) -> np.ndarray:
    """Mean share of the other methods beaten; ties count half, a failure (NaN) loses."""
    values = np.where(np.isnan(losses), np.inf, losses)
    n_methods = values.shape[1]
    if n_methods < 2:
        return np.full(n_methods, np.nan)
    beaten = np.zeros_like(values)
    for j in range(n_methods):
        other = values[:, [j]]
        beaten += (values < other) + 0.5 * (values == other)
    # Each method ties with itself.
    return ((beaten - 0.5) / (n_methods - 1)).mean(axis=0)


def filled(table: Table, loss: str) -> np.ndarray:
    """Losses, with that of the base model where a method failed: one would be left with it."""
    values = table.losses[loss]
    return np.where(np.isnan(values), values[:, [table.methods.index(BASE)]], values)


def standings(table: Table) -> list[Standing]:
    """All methods, the highest mean of the two win rates first."""
    rates = {loss: win_rates(table.losses[loss]) for loss in LOSSES}
    base = table.methods.index(BASE)
    gains = {loss: filled(table, loss)[:, [base]] - filled(table, loss) for loss in LOSSES}
    lines = []
    for j, method in enumerate(table.methods):
        times = table.seconds[:, j]
        known = times[~np.isnan(times)]
        lines.append(
            Standing(
                method,
                {loss: float(rates[loss][j]) for loss in LOSSES},
                {loss: float(gains[loss][:, j].mean()) for loss in LOSSES},
                {loss: float((gains[loss][:, j] < 0).mean()) for loss in LOSSES},
                float((gains["log_loss"][:, j] < -HARM).mean()),
                float(median(known)) if len(known) else math.nan,
                int(np.isnan(table.losses["brier"][:, j]).sum()),
            )
        )
    return sorted(lines, key=lambda line: -sum(line.win_rate.values()))


def over_sets(values: np.ndarray, sets: list[str]) -> tuple[float, float, np.ndarray]:
    """Mean of the sets' means, its standard error, and the means.

    Experiments of one set share its rows: they are no independent observations, sets are.
    """
    names = np.array(sets)
    means = np.array([values[names == name].mean() for name in sorted(set(sets))])
    error = means.std(ddof=1) / math.sqrt(len(means)) if len(means) > 1 else math.nan
    return float(means.mean()), float(error), means


def differences(table: Table, ours: str, loss: str) -> list[Difference]:
    """Our method against every other, the closest rival first."""
    values = filled(table, loss)
    mine = values[:, table.methods.index(ours)]
    lines = []
    for j, rival in enumerate(table.methods):
        if rival != ours:
            mean, error, means = over_sets(values[:, j] - mine, table.sets)
            lines.append(Difference(rival, mean, error, int((means > 0).sum()), len(means)))
    return sorted(lines, key=lambda line: line.mean)


def by_size(table: Table) -> dict[int, Table]:
    """The table of each number of rows."""
    sizes: Any = np.array(table.sizes)
    return {int(n): table.take(sizes == n) for n in np.unique(sizes)}
